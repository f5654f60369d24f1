# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = el bucle que habla con el anfitrión ha fallado
mcp-tool-unknown = ninguna herramienta para anfitriones se llama `{ $name }`
mcp-address-unusable = no se puede escuchar en { $address }
mcp-address-unusable-hint = quizá haya otro programa allí; el puerto 0 toma cualquiera que esté libre
mcp-your-answer = Tu respuesta
mcp-your-decision = Tu decisión

## sampling.rs

host-model-unavailable = ningún anfitrión conectado presta su modelo
host-model-unavailable-hint = `model: host` funciona en `posse mcp`, con un anfitrión que ofrece sampling; nombra otro modelo, o `fallback_models` que le sigan
mcp-install-unreadable = { $file } no se puede leer como lo que { $host } acepta, así que no se cambió
mcp-install-unreadable-hint = `posse mcp install` sin --write imprime lo que hay que añadir
mcp-install-nowhere = no hay directorio personal en el que escribir
mcp-doctor-silent = el servidor no respondió a { $method } en { $seconds } segundos
mcp-doctor-not-started = el servidor no se pudo iniciar
cannot-be-written = no se puede escribir { $path }
