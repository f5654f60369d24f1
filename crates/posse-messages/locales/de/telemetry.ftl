# Deutsch. Das Glossar steht in core.ftl.

log-level-invalid = `{ $shown }` ist keine Protokollstufe: off, error, warn, info, debug, trace oder posse_models=debug
telemetry-no-thread = für die Telemetrie kann kein Thread gestartet werden
collector-slow = er hat sie nicht rechtzeitig angenommen
spans-lost = Telemetrie: { $lost } von { $offered } Spans kamen nicht bei { $collector } an: { $why }
collector-silent = keine Antwort innerhalb von { $seconds } s
spans-rejected = der Kollektor hat { $rejected } davon abgelehnt
otlp-endpoint-invalid = der OTLP-Endpunkt kann nicht benutzt werden: { $why }
otlp-endpoint-invalid-hint = ein Endpunkt sieht aus wie `http://localhost:4318`
payloads-without-log = Warnung: --debug-payloads bewirkt ohne --log nichts
no-grpc = Warnung: es werden keine Traces gesendet: verlangt ist gRPC, und Posse spricht OTLP über HTTP mit JSON
log-level-hint = es ist `level` unter `[log]` in deiner Konfiguration, oder POSSE_LOG
log-not-opened = Warnung: das Protokoll { $path } kann nicht geöffnet werden: { $why }
log-not-written = Warnung: das Protokoll { $path } kann nicht geschrieben werden: { $why }
hook-failed = Warnung: der Hook für `{ $event }` ist fehlgeschlagen: { $why }
hook-dropped = Warnung: ein Hook für `{ $event }` wurde ausgelassen: zu viele warten
hook-timed-out = nicht innerhalb von { $seconds } s beendet
hook-empty = `command` ist leer
hooks-not-started = Warnung: Hooks lassen sich nicht starten: { $why }
otlp-headers-invalid = OTEL_EXPORTER_OTLP_HEADERS ist nicht lesbar
otlp-headers-invalid-hint = es sieht aus wie `authorization=Bearer%20KEY,x-team=a`
