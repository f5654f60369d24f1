# Messages of `posse-telemetry`.

## log/json_lines.rs

log-level-invalid = `{ $shown }` is no log level: off, error, warn, info, debug, trace, or posse_models=debug

## otlp.rs

telemetry-no-thread = no thread can be started for telemetry
collector-slow = it did not take them in time
spans-lost = telemetry: { $lost } of { $offered } spans did not get to { $collector }: { $why }
collector-silent = no answer within { $seconds } s
spans-rejected = the collector rejected { $rejected } of them

## otlp/http.rs

otlp-endpoint-invalid = the OTLP endpoint cannot be used: { $why }
otlp-endpoint-invalid-hint = an endpoint looks like `http://localhost:4318`
payloads-without-log = warning: --debug-payloads does nothing without --log
no-grpc = warning: no traces are sent: gRPC is asked for, and Posse speaks OTLP over HTTP with JSON
log-level-hint = it is `level` under `[log]` in your configuration, or POSSE_LOG
log-not-opened = warning: the log { $path } cannot be opened: { $why }
log-not-written = warning: the log { $path } cannot be written: { $why }
hook-failed = warning: the hook for `{ $event }` failed: { $why }
hook-dropped = warning: a hook for `{ $event }` was left out: too many wait
hook-timed-out = it did not end within { $seconds } s
hook-empty = `command` is empty
hooks-not-started = warning: hooks cannot be started: { $why }
otlp-headers-invalid = OTEL_EXPORTER_OTLP_HEADERS cannot be read
otlp-headers-invalid-hint = it looks like `authorization=Bearer%20KEY,x-team=a`
