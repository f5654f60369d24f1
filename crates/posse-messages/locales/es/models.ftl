# Español. El glosario está en core.ftl.

not-a-model-reference = `{ $reference }` no es una referencia de modelo
names-no-provider = `{ $reference }` no nombra ningún proveedor
begins-without-provider = `{ $reference }` no empieza por un proveedor
names-no-model = `{ $reference }` no nombra ningún modelo
line-number = línea { $line }
write-model-reference = escribe `provider:model`
did-you-mean-model = ¿quisiste decir `{ $provider }:{ $reference }`?
write-model-reference-example = escribe `provider:model`, por ejemplo `anthropic:claude-sonnet-4-5`
provider-shape-hint = un proveedor se compone de a-z, 0-9, `-` y `_`
price-entry-hint = una entrada es `"model" = {"{"} input = 3.0, output = 15.0 {"}"}`, en dólares por millón de tokens
price-unsound = el precio de `{ $model }` no es una cantidad de dinero
price-unsound-hint = los precios son números a partir de 0
base-url-hint = una URL base tiene la forma `https://api.example.com/v1`
base-url-unreadable = no se puede leer la URL base: { $why }
base-url-scheme = la URL base debe empezar por `http://` o `https://`
base-url-password = la URL base no debe contener usuario ni contraseña
header-name-invalid = `{ $name }` no es un nombre de cabecera
header-value-invalid = no se puede enviar el valor de la cabecera `{ $name }`
recording-too-large = la grabación `{ $path }` tiene más de { $recording_bytes_max } bytes
recording-line-invalid = { $origin }:{ $line }: no es un intercambio grabado: { $why }
recording-without-model = { $origin }: no se grabó nada para el modelo `{ $model }`
recording-unreadable = no se puede abrir la grabación `{ $path }`: { $error }
script-too-large = { $name }: el guion tiene { $bytes } bytes, el máximo es { $script_bytes_max }
script-unreadable = no se puede leer el guion `{ $shown }`: { $why }
script-unreadable-hint = escribe el modelo como `scripted:path/to/file.yaml#role`
script-is-list = el guion es una lista de pasos y no tiene el rol `{ $role }`
script-is-list-hint = omite el rol o pon la lista bajo una clave
script-no-role = el guion no tiene el rol `{ $role }`
script-roles = tiene { $names }
script-several-roles = el guion tiene varios roles
script-name-role = nombra uno de { $names } tras `#`
script-shape-hint = un guion es una lista de pasos con `text`, `calls`, `fail`, etc., o un mapa de roles a esas listas
ollama-hint = OLLAMA_HOST está definida: nombra uno de sus modelos, por ejemplo `--model ollama:qwen3`
no-model-hint = define ANTHROPIC_API_KEY, OPENAI_API_KEY o GEMINI_API_KEY, o nombra un modelo con `--model provider:name` (`--model ollama:qwen3` no necesita clave). `posse demo` no necesita ni clave ni red
no-model = no hay ningún modelo configurado
provider-without-url = `providers.{ $provider }` necesita una `base_url`
provider-without-url-hint = donde empieza su API, por ejemplo "https://llm.example/v1"
provider-needs-key = `{ $provider }` necesita una clave y { $name } no está definida
provider-needs-key-hint = export { $name }=…; si no quiere ninguna, omite `api_key_env` en `[providers.{ $provider }]` o ponlo a ""
provider-needs-key-demo-hint = export { $name }=…, o prueba `posse demo`, que no necesita ninguna
key-file-hint = `api_key_file` en `[providers.{ $provider }]` nombra un archivo que contiene solo la clave
provider-without-wire = `providers.{ $provider }` necesita un `wire`
provider-without-wire-hint = uno de anthropic, openai, openai-compatible, openai-responses, gemini
model-ambiguous = varios proveedores configurados ofrecen `{ $model }`
model-ambiguous-hint = escribe cuál: { $choices }
provider-unknown = ningún proveedor se llama `{ $provider }`
key-file-unreadable = la clave de `{ $provider }`: no se puede leer { $path }
key-file-empty = la clave de `{ $provider }`: { $path } está vacío
did-you-mean = ¿quisiste decir `{ $name }`?
providers-there-are = hay: { $names }; otros van en `[providers.{ $provider }]` de tu configuración
provider-probe-failed = { $provider } no respondió: { $why }
provider-key-refused-hint = comprueba la clave y que pueda usar este modelo
provider-models-hint = `posse models` muestra lo que hay
provider-quota-hint = la cuenta no tiene saldo
provider-connection-hint = comprueba la red, el proxy y la URL base
