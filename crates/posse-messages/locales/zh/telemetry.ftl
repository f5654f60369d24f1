# 简体中文。术语表见 core.ftl。

log-level-invalid = `{ $shown }` 不是日志级别：off, error, warn, info, debug, trace 或 posse_models=debug
telemetry-no-thread = 无法为遥测启动线程
collector-slow = 它没有及时接收
spans-lost = 遥测：{ $offered } 个 span 中有 { $lost } 个未送达 { $collector }：{ $why }
collector-silent = { $seconds } 秒内没有应答
spans-rejected = 收集器拒绝了其中 { $rejected } 个
otlp-endpoint-invalid = 无法使用 OTLP 端点：{ $why }
otlp-endpoint-invalid-hint = 端点形如 `http://localhost:4318`
payloads-without-log = 警告：没有 --log 时 --debug-payloads 不起作用
no-grpc = 警告：不会发送跟踪数据：要求的是 gRPC，而 Posse 使用基于 HTTP 和 JSON 的 OTLP
log-level-hint = 它是配置中 `[log]` 下的 `level`，或 POSSE_LOG
log-not-opened = 警告：无法打开日志 { $path }：{ $why }
log-not-written = 警告：无法写入日志 { $path }：{ $why }
hook-failed = 警告：`{ $event }` 的钩子失败：{ $why }
hook-dropped = 警告：略过了 `{ $event }` 的一个钩子：等待的太多
hook-timed-out = 未在 { $seconds } 秒内结束
hook-empty = `command` 为空
hooks-not-started = 警告：无法启动钩子：{ $why }
otlp-headers-invalid = 无法读取 OTEL_EXPORTER_OTLP_HEADERS
otlp-headers-invalid-hint = 形如 `authorization=Bearer%20KEY,x-team=a`
