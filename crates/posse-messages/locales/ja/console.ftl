# `posse-console` のメッセージ。
