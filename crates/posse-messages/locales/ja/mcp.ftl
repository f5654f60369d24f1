# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = ホストと通信するループが異常終了しました
mcp-tool-unknown = `{ $name }` というホスト向けツールはありません
mcp-address-unusable = { $address } で待ち受けできません
mcp-address-unusable-hint = 別のプログラムが使用中かもしれません。ポート 0 なら空いているポートが選ばれます
mcp-your-answer = 回答
mcp-your-decision = 判断

## sampling.rs

host-model-unavailable = 接続中のホストにモデルを貸すものがありません
host-model-unavailable-hint = `model: host` は sampling を提供するホストと `posse mcp` で使えます。別のモデルか、後に続く `fallback_models` を指定してください
mcp-install-unreadable = { $file } を { $host } の形式として読めないため、変更しませんでした
mcp-install-unreadable-hint = --write なしの `posse mcp install` が、追加する内容を表示します
mcp-install-nowhere = 書き込み先のホームディレクトリがありません
mcp-doctor-silent = サーバーは { $method } に { $seconds } 秒以内に応答しませんでした
mcp-doctor-not-started = サーバーを起動できませんでした
cannot-be-written = { $path } に書き込めません
