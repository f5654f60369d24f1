# Mensajes de `posse-console`.
