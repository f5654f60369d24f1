# Français. Le glossaire est dans core.ftl.

log-level-invalid = `{ $shown }` n'est pas un niveau de journal : off, error, warn, info, debug, trace ou posse_models=debug
telemetry-no-thread = aucun fil ne peut être lancé pour la télémétrie
collector-slow = il ne les a pas pris à temps
spans-lost = télémétrie : { $lost } spans sur { $offered } ne sont pas parvenus à { $collector } : { $why }
collector-silent = pas de réponse en { $seconds } s
spans-rejected = le collecteur en a rejeté { $rejected }
otlp-endpoint-invalid = le point d'accès OTLP est inutilisable : { $why }
otlp-endpoint-invalid-hint = un point d'accès ressemble à `http://localhost:4318`
payloads-without-log = avertissement : --debug-payloads ne fait rien sans --log
no-grpc = avertissement : aucune trace n'est envoyée : gRPC est demandé, et Posse parle OTLP sur HTTP avec JSON
log-level-hint = c'est `level` sous `[log]` dans votre configuration, ou POSSE_LOG
log-not-opened = avertissement : le journal { $path } ne peut pas être ouvert : { $why }
log-not-written = avertissement : le journal { $path } ne peut pas être écrit : { $why }
hook-failed = avertissement : le hook de `{ $event }` a échoué : { $why }
hook-dropped = avertissement : un hook de `{ $event }` a été omis : trop sont en attente
hook-timed-out = il ne s’est pas terminé en { $seconds } s
hook-empty = `command` est vide
hooks-not-started = avertissement : les hooks ne peuvent pas démarrer : { $why }
otlp-headers-invalid = OTEL_EXPORTER_OTLP_HEADERS est illisible
otlp-headers-invalid-hint = cela ressemble à `authorization=Bearer%20KEY,x-team=a`
