# 简体中文。术语表见 core.ftl。

log-level-invalid = `{ $shown }` 不是日志级别：off, error, warn, info, debug, trace 或 posse_models=debug
telemetry-no-thread = 无法为遥测启动线程
collector-slow = 它没有及时接收
spans-lost = 遥测：{ $offered } 个 span 中有 { $lost } 个未送达 { $collector }：{ $why }
collector-silent = { $seconds } 秒内没有应答
spans-rejected = 收集器拒绝了其中 { $rejected } 个
otlp-endpoint-invalid = 无法使用 OTLP 端点：{ $why }
otlp-endpoint-invalid-hint = 端点形如 `http://localhost:4318`
