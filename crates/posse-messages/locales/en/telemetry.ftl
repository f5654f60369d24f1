# What `posse-telemetry` says. A message is said with `say!`, or with `fixed!` if it is part of a record.

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
