# Español. El glosario está en core.ftl.

log-level-invalid = `{ $shown }` no es un nivel de registro: off, error, warn, info, debug, trace o posse_models=debug
telemetry-no-thread = no se puede iniciar un hilo para la telemetría
collector-slow = no los aceptó a tiempo
spans-lost = telemetría: { $lost } de { $offered } spans no llegaron a { $collector }: { $why }
collector-silent = sin respuesta en { $seconds } s
spans-rejected = el recolector rechazó { $rejected } de ellos
otlp-endpoint-invalid = no se puede usar el endpoint OTLP: { $why }
otlp-endpoint-invalid-hint = un endpoint tiene la forma `http://localhost:4318`
