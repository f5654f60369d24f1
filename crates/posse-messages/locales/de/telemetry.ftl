# Deutsch. Das Glossar steht in core.ftl.

log-level-invalid = `{ $shown }` ist keine Protokollstufe: off, error, warn, info, debug, trace oder posse_models=debug
telemetry-no-thread = für die Telemetrie kann kein Thread gestartet werden
collector-slow = er hat sie nicht rechtzeitig angenommen
spans-lost = Telemetrie: { $lost } von { $offered } Spans kamen nicht bei { $collector } an: { $why }
collector-silent = keine Antwort innerhalb von { $seconds } s
spans-rejected = der Kollektor hat { $rejected } davon abgelehnt
otlp-endpoint-invalid = der OTLP-Endpunkt kann nicht benutzt werden: { $why }
otlp-endpoint-invalid-hint = ein Endpunkt sieht aus wie `http://localhost:4318`
