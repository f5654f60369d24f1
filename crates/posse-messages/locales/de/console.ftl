# Meldungen von `posse-console`.
