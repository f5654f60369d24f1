# Messages of `posse-console`.
