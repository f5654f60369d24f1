# 日本語。用語集は core.ftl にある。

log-level-invalid = `{ $shown }` はログレベルではありません: off, error, warn, info, debug, trace, または posse_models=debug
telemetry-no-thread = テレメトリー用のスレッドを開始できません
collector-slow = 時間内に受け取られませんでした
spans-lost = テレメトリー: { $offered } 個中 { $lost } 個のスパンが { $collector } に届きませんでした: { $why }
collector-silent = { $seconds } 秒以内に応答がありません
spans-rejected = コレクターがそのうち { $rejected } 個を拒否しました
otlp-endpoint-invalid = OTLP エンドポイントを使えません: { $why }
otlp-endpoint-invalid-hint = エンドポイントは `http://localhost:4318` のような形です
