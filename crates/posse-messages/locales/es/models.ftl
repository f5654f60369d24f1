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
