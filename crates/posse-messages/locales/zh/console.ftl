# `posse-console` 的消息。
