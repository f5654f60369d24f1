# Español. Glosario: task = tarea, agent = agente, grant = permiso, budget = presupuesto, session = sesión,
# shared context = contexto compartido, key = clave, value = valor, tool = herramienta, call = llamada, turn = turno,
# run = ejecución, snapshot = instantánea, workspace = espacio de trabajo, store = almacén, journal = diario, model = modelo.
# Los nombres de campos, acciones, herramientas y comandos no se traducen.

depends-on-unknown = `{ $unknown }` en depends_on no es una tarea de esta sesión
depends-on-unknown-hint = una tarea solo puede depender de tareas lanzadas antes que ella
open-tasks-limit = hay { $open_max } tareas en ejecución o sin recoger, que es el máximo (`[session] max_open_tasks`)
open-tasks-limit-hint = recoge o cancela algunas primero; `list_tasks` las muestra
tasks-running-limit =
    { $running ->
        [one] ya hay { $running } tarea en ejecución, que es el máximo (`[session] max_running`)
       *[other] ya hay { $running } tareas en ejecución, que es el máximo (`[session] max_running`)
    }
tasks-running-limit-hint = recoge una tarea terminada o espera a una, o lánzala con `queue: true`
task-still-running = `{ $id }` sigue en ejecución
task-waits-for = `{ $id }` espera a { $waits_for }
task-waits-for-place = `{ $id }` espera un lugar libre
task-waits-for-lease = `{ $id }` espera a que sus rutas de escritura estén libres
collect-later-hint = haz otra cosa y recógela más tarde
task-not-tracked = aquí no se sigue ninguna tarea `{ $shown }`
task-never-spawned = nunca se lanzó en esta sesión
task-already-collected = already_collected: `result` conserva el texto completo
key-invalid = `{ $key }` no es una clave
key-shape-hint = usa de 1 a 64 caracteres de a-z, 0-9 y `_`, con un solo prefijo como máximo antes de dos puntos, como `inv:findings`
name-shape-hint = usa de 1 a 64 caracteres de a-z, 0-9 y `_`
label-invalid = `{ $label }` no es una etiqueta de instantánea
value-is-large = el valor tiene unos { $tokens } tokens de { $value_tokens_max } como máximo; resúmelo más
value-too-large = el valor tiene unos { $tokens } tokens, el límite es { $value_tokens_max }
value-too-large-hint = resúmelo o repártelo en varias claves
context-full = las otras claves ocupan { $used } tokens, este valor tiene { $tokens } y una sesión admite { $total_tokens_max } como máximo
context-keys-full = la sesión ya tiene { $keys } claves y no caben más
snapshot-exists = ya existe una instantánea `{ $label }`
snapshot-exists-hint = elige otra etiqueta
snapshots-full = la sesión ya tiene { $snapshots_max } instantáneas
session-archived = la sesión `{ $session }` está archivada
session-archived-hint = se puede leer, pero no cambiar. Una ejecución nueva, o el servidor MCP al reiniciarse, tiene una sesión nueva
session-context-deleted = el contexto compartido de la sesión `{ $session }` fue eliminado
session-context-deleted-hint = continúa sin él. Una ejecución nueva, o el servidor MCP al reiniciarse, tiene una sesión nueva
session-not-found = no hay ninguna sesión `{ $session }`
session-not-found-hint = `posse sessions list` muestra las que hay
session-id-invalid = `{ $session }` no es un identificador de sesión
session-id-invalid-hint = usa de 1 a 64 caracteres de a-z, A-Z, 0-9, `_` y `-`
key-not-found = no hay ninguna clave `{ $key }`
key-not-found-hint = `list_keys` muestra las que hay
snapshot-not-found = no hay ninguna instantánea `{ $label }`
snapshot-not-found-hint = `posse context snapshot` muestra las que hay
version-conflict = `{ $key }` tiene ahora la versión { $version }, escrita por { $written_by }
version-conflict-hint = léela, incorpora los cambios y escribe con esa versión como `expected_version`
version-conflict-missing = `{ $key }` no existe ahora; su versión es 0
version-conflict-missing-hint = escribe con `expected_version` 0 para crearla
context-full-hint = elimina lo que ya no haga falta o escribe valores más cortos
keys-too-many = `keys` tiene más de { $keys_max } claves
versions-too-few = `versions` es al menos 1
ttl-out-of-range = `ttl_s` está entre 1 y { $ttl_s_max } segundos
ttl-out-of-range-hint = omítelo si el valor debe permanecer
agent-name-invalid = `{ $name }` no es un nombre de agente
agent-name-invalid-hint = usa de 1 a 64 caracteres de a-z, 0-9, `_` y `-`
approval-unreadable = no se puede leer una solicitud de aprobación del almacén
approval-closed = no se puede responder a `{ $id }`: { $why }
approvals-list-hint = `posse approvals list` muestra lo que espera una respuesta
approval-was-answered = ya se respondió ({ $state }, { $by })
approval-overdue = su tiempo ha terminado y vale la respuesta por defecto
approval-task-ended = su tarea ha terminado
approval-not-allowing = `{ $id }` no permite la llamada: su estado es { $state }
approval-mismatch = `{ $id }` trata de otra llamada distinta de esta
approval-mismatch-hint = `posse approvals show` muestra de qué trata, con su hash
approval-wants = { $agent } quiere llamar a `{ $tool }`: { $why }
approval-about = tarea { $way } · llamada { $key } · solicitud { $id }
approval-bytes = { $bytes } bytes · sha256 { $hash }
approval-covers = una respuesta para algo más que esta llamada abarca: { $covers }
journal-without-start = un diario debe empezar con el inicio de su tarea
record-unreadable = no se puede leer un registro del diario
write-path-empty = la ruta de escritura `{ $shown }` está vacía
write-path-too-long = la ruta de escritura `{ $shown }` es demasiado larga
write-path-control-character = la ruta de escritura `{ $shown }` contiene un carácter de control
write-path-not-relative = la ruta de escritura `{ $shown }` no es relativa al espacio de trabajo
write-path-goes-up = la ruta de escritura `{ $shown }` contiene `..`
write-path-hint = las rutas de escritura son globs dentro del espacio de trabajo, como `src/**` o `docs/*.md`
write-paths-too-many = { $count } rutas de escritura superan las { $paths_max } permitidas
write-paths-too-many-hint = nombra directorios en lugar de archivos
lease-conflict = No se pueden obtener los bloqueos de archivos. Conflictos: { $places }
lease-conflict-hint = { $holders }; espera a que termine o elige otras rutas
lease-holder = `{ $task }` tiene { $paths }
lease-after-end = `{ $task }` ha terminado, así que no puede tener una reserva de escritura
tool-pattern-invalid = `{ $pattern }` no nombra ninguna herramienta: { $why }
tool-pattern-invalid-hint = escribe un nombre como Read, un patrón como mcp__github__* o una llamada como Bash(git *)
pattern-empty = está vacío
pattern-too-long = es demasiado largo
pattern-control-character = contiene un carácter de control
pattern-not-closed = el paréntesis no está cerrado
pattern-name-invalid = un nombre lleva letras, cifras, `_`, `-`, `.`, `/` y `*`
pattern-no-name = no hay ningún nombre entre los paréntesis
journal-two-starts = un diario tiene dos inicios
verify-too-many = hay { $count } comandos de verificación y se ejecutan { $commands_max } como máximo
verify-too-many-hint = ponlos en un script
verify-command-invalid = `{ $shown }` no es un comando de verificación: está vacío, contiene un NUL o es demasiado largo
verify-command-invalid-hint = un comando tiene de 1 a { $command_bytes_max } bytes
verify-not-allowed = el resultado no se puede verificar con `{ $shown }`: { $why }
verify-not-allowed-hint = los comandos de verificación solo se ejecutan para quien puede usar `bash`: permítelo (`--allow bash`) u omite `verify`
hosts-too-many = una red tiene 1000 hosts como máximo
host-invalid = `{ $shown }` no nombra ningún host: { $why }
host-invalid-hint = escribe un host como docs.rs, o *.docs.rs para los que están debajo, sin `https://`
not-a-port = esto no es un puerto
below-a-number = no hay nada debajo de un número
audience-pattern-hint = nombra participantes como en `written_by`, por ejemplo `subagent:researcher:*`; `*` son todos
audience-too-many = `{ $name }` tiene más de { $patterns_max } patrones
audience-pattern-invalid = `{ $pattern }` en `{ $name }` no es un patrón de participantes
key-not-readable = no puedes leer `{ $key }`
key-not-writable = no puedes escribir ni eliminar `{ $key }`
key-denied-hint = continúa sin ella o pregunta a quien delegó en ti; usa otra clave para lo que encontraste
keys-empty = `keys` está vacío
keys-empty-hint = nombra al menos una clave que esperar
known-version-stray = `known_versions` tiene `{ $key }`, que no está entre `keys`
wait-out-of-range = `timeout_s` está entre 1 y { $wait_s_max }
run-incomplete = la ejecución no se completó: { $why }

## grant.rs

agent-exposed = puede leer datos privados (`{ $looks }`), lee textos no fiables y puede enviar datos fuera (`{ $reaches }`): una instrucción inyectada podría filtrar datos; da una de estas a otro agente
