# 日本語。用語集は core.ftl にある。

log-level-invalid = `{ $shown }` はログレベルではありません: off, error, warn, info, debug, trace, または posse_models=debug
telemetry-no-thread = テレメトリー用のスレッドを開始できません
collector-slow = 時間内に受け取られませんでした
spans-lost = テレメトリー: { $offered } 個中 { $lost } 個のスパンが { $collector } に届きませんでした: { $why }
collector-silent = { $seconds } 秒以内に応答がありません
spans-rejected = コレクターがそのうち { $rejected } 個を拒否しました
otlp-endpoint-invalid = OTLP エンドポイントを使えません: { $why }
otlp-endpoint-invalid-hint = エンドポイントは `http://localhost:4318` のような形です
payloads-without-log = 警告: --debug-payloads は --log がなければ効果がありません
no-grpc = 警告: トレースは送信されません。gRPC が指定されていますが、Posse が使うのは HTTP と JSON による OTLP です
log-level-hint = 設定の `[log]` の `level` か、POSSE_LOG です
log-not-opened = 警告: ログ { $path } を開けません: { $why }
log-not-written = 警告: ログ { $path } に書き込めません: { $why }
hook-failed = 警告: `{ $event }` のフックが失敗しました: { $why }
hook-dropped = 警告: `{ $event }` のフックを省きました: 待ちが多すぎます
hook-timed-out = { $seconds } 秒以内に終わりませんでした
hook-empty = `command` が空です
hooks-not-started = 警告: フックを開始できません: { $why }
otlp-headers-invalid = OTEL_EXPORTER_OTLP_HEADERS を読み取れません
otlp-headers-invalid-hint = `authorization=Bearer%20KEY,x-team=a` のような形です
