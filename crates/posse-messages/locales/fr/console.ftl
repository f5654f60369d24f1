# Messages de `posse-console`.
