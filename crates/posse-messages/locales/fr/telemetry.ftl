# Français. Le glossaire est dans core.ftl.

log-level-invalid = `{ $shown }` n'est pas un niveau de journal : off, error, warn, info, debug, trace ou posse_models=debug
telemetry-no-thread = aucun fil ne peut être lancé pour la télémétrie
collector-slow = il ne les a pas pris à temps
spans-lost = télémétrie : { $lost } spans sur { $offered } ne sont pas parvenus à { $collector } : { $why }
collector-silent = pas de réponse en { $seconds } s
spans-rejected = le collecteur en a rejeté { $rejected }
otlp-endpoint-invalid = le point d'accès OTLP est inutilisable : { $why }
otlp-endpoint-invalid-hint = un point d'accès ressemble à `http://localhost:4318`
