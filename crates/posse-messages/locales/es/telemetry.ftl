# Español. El glosario está en core.ftl.

log-level-invalid = `{ $shown }` no es un nivel de registro: off, error, warn, info, debug, trace o posse_models=debug
telemetry-no-thread = no se puede iniciar un hilo para la telemetría
collector-slow = no los aceptó a tiempo
spans-lost = telemetría: { $lost } de { $offered } spans no llegaron a { $collector }: { $why }
collector-silent = sin respuesta en { $seconds } s
spans-rejected = el recolector rechazó { $rejected } de ellos
otlp-endpoint-invalid = no se puede usar el endpoint OTLP: { $why }
otlp-endpoint-invalid-hint = un endpoint tiene la forma `http://localhost:4318`
payloads-without-log = aviso: --debug-payloads no hace nada sin --log
no-grpc = aviso: no se envían trazas: se pide gRPC y Posse habla OTLP sobre HTTP con JSON
log-level-hint = es `level` en `[log]` de tu configuración, o POSSE_LOG
log-not-opened = aviso: no se puede abrir el registro { $path }: { $why }
log-not-written = aviso: no se puede escribir el registro { $path }: { $why }
hook-failed = aviso: falló el hook de `{ $event }`: { $why }
hook-dropped = aviso: se omitió un hook de `{ $event }`: hay demasiados en espera
hook-timed-out = no terminó en { $seconds } s
hook-empty = `command` está vacío
hooks-not-started = aviso: no se pueden iniciar los hooks: { $why }
otlp-headers-invalid = no se puede leer OTEL_EXPORTER_OTLP_HEADERS
otlp-headers-invalid-hint = tiene la forma `authorization=Bearer%20KEY,x-team=a`
