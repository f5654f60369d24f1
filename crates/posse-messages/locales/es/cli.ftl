# Español. El glosario está en core.ftl.

language-unknown = aviso: no hay ningún idioma `{ $unknown }`; hay: { $names }
many-errors =
    { $n ->
        [one] { $n } error
       *[other] { $n } errores
    }
many-files =
    { $n ->
        [one] { $n } archivo
       *[other] { $n } archivos
    }
many-keys =
    { $n ->
        [one] { $n } clave
       *[other] { $n } claves
    }
many-tasks =
    { $n ->
        [one] { $n } tarea
       *[other] { $n } tareas
    }
many-tokens =
    { $n ->
        [one] { $n } token
       *[other] { $n } tokens
    }
many-tools =
    { $n ->
        [one] { $n } herramienta
       *[other] { $n } herramientas
    }
many-turns =
    { $n ->
        [one] { $n } turno
       *[other] { $n } turnos
    }
many-warnings =
    { $n ->
        [one] { $n } aviso
       *[other] { $n } avisos
    }
runtime-not-started = no se puede iniciar el entorno de ejecución
agents-not-trusted = { $untrusted } sin confianza: míralos con `posse agents check` y luego permite que se ejecuten con `posse trust`
warning = aviso: { $text }
no-place-for-agents = no hay lugar para tus agentes: HOME no está definida
no-place-for-agents-hint = define HOME u omite --user
exists-edit-it = ya existe; edítalo o elige otro nombre
check-writable = comprueba que puedes escribir ahí y que hay espacio en el disco
agent-shadows = a partir de ahora va antes que el agente `{ $name }` de { $other }
agent-is-shadowed = aquí no cuenta: el agente `{ $name }` de { $other } va antes
no-approvals = nada espera una respuesta
approval-none-of-task = `{ $task }` no espera ninguna aprobación
approvals-of-task = `{ $task }` espera varias aprobaciones: { $ids }
approvals-of-task-hint = `posse approvals list` las muestra
approvals-footer = posse approvals show ID · approve ID · deny ID
approval-other-hash = `{ $id }` trata de otra llamada distinta de la de este hash
approval-now = { $id }: { $state }
approvals-watching = a la espera de preguntas; Ctrl-C termina
seen-everywhere = posse lo ve en cualquier directorio
seen-here = posse lo ve en este directorio y por debajo
format-unknown = no hay ningún formato `{ $format }`
export-excess = `{ $agent }` tendría más permisos en el formato { $format }: { $excess }
export-excess-hint = elige otro formato o escríbelo de todos modos con --force
nothing-overwritten = no se sobrescribe nada de lo que existe
export-lost = se pierde: { $text }
export-read-as = { $format } lo lee como { $file }
no-tools = sin herramientas
chat-banner = { $model } · /help, /quit o Ctrl-D · la conversación es `{ $session_id }`
chat-command-unknown = no hay ningún comando `{ $command }` y no se envió nada; /help muestra los comandos, y una línea que empieza por un espacio es siempre un mensaje
chat-not-verified = los comandos de `verify` no se ejecutan en una conversación
chat-mode-not-kept = no se puede conservar el modo del próximo mensaje
chat-mode-names = los modos son `/mode plan`, `/mode ask` y `/mode auto`
chat-resume-what = `--resume` sin tarea necesita una terminal para elegir una
chat-resume-what-hint = indique una tarea: `posse chat --resume ID`, o tome la última: `posse chat --continue`
chat-none = no hay ninguna conversación de este proyecto que continuar
chat-none-hint = `posse chat` empieza una; `posse chat --resume` muestra las de otros proyectos con Ctrl-A
chat-left = la conversación { $id } se conserva: posse chat --continue
chat-model-changed = { $model } responde desde el mensaje siguiente
chat-needs-screen = `{ $command }` necesita una terminal
chat-flag-fixed = `{ $flag }` no se puede cambiar en una conversación que continúa: conserva aquello con lo que empezó
chat-flag-fixed-hint = omite `{ $flag }` o empieza una conversación nueva sin `--resume`
message-unreadable = no se puede leer el siguiente mensaje
mode-of-review = una revisión solo lee: su modo es siempre `plan`
context-list-hint = `posse context list` muestra lo que hay
context-version-hint = `posse context read` muestra cómo está ahora; `--expect` toma esa versión
no-snapshots = aún no hay instantáneas; `posse context snapshot LABEL` toma una
keys-not-there = no están: { $names }
context-used = sesión { $session } · { $keys } · { $size }
input-not-text = la entrada estándar no se puede leer como texto
screen-not-opened = no se puede usar la terminal
end-resume = reanudar: posse tasks resume { $id }
end-try-again = reintentar: posse tasks resume { $id }
run-interrupted = interrumpida; posse tasks resume { $task } la continúa con todo lo que delegó
task-left = { $id } continúa: posse tasks watch { $id }
task-interrupted = { $signal } terminó este proceso; `{ $task }` quedó interrumpida, no cancelada
task-interrupted-hint = `posse tasks resume { $task }` la continúa con todo lo que delegó
signals-unavailable = no se pueden recibir señales
goes-on-with-worker = { $left } continúa con: posse worker --local --until-idle
schema-unsatisfied = no cumple el esquema: { $error }
in-doubt-call = en duda: { $call } (llamada { $key }) pudo haber ocurrido o no
verify-failed = verificación fallida: { $command } · { $ending }
answer-is-empty = la respuesta estaba vacía
turn-limit-reached = se alcanzó el límite de turnos ({ $turns })
file-written = { $file } escrito
check-writable-here = comprueba que puedes escribir aquí y que hay espacio en el disco
init-next = a continuación: posse doctor, lee el agente y permite que se ejecute con `posse trust`, luego posse run "…"
task-empty = la tarea está vacía
task-empty-hint = di qué hay que hacer: posse run "¿Por qué es inestable la prueba de login?"
task-unreadable = no se puede leer la tarea de la entrada estándar
task-input-too-large = la tarea de la entrada estándar supera 1 MiB
task-input-too-large-hint = pon los detalles en un archivo del espacio de trabajo y nómbralo en la tarea
task-detached = continúa en segundo plano: posse tasks watch { $task } la sigue, posse tasks cancel { $task } la termina
session-deleted-told = el contexto compartido de { $session } está eliminado; sus tareas y diarios permanecen
session-archived-told = { $session } está archivada: su contexto compartido se puede leer, pero no cambiar
no-sessions-here = aquí no hay sesiones
run-starts-one = `posse run "…"` inicia una
no-sessions-yet = aún no hay sesiones; `posse run "…"` inicia una
task-is-driven = el proceso { $process } está conduciendo `{ $task }`
task-is-driven-hint = espéralo o termina antes ese proceso
no-tasks-yet = aún no hay tareas; `posse run "…"` inicia una
no-task-like-that = no hay ninguna tarea así
no-tasks-here = aún no hay tareas en { $place }; `--all` muestra las de otros proyectos
tasks-of-project = { $tasks } de { $place }
task-waits-for-approval = espera aprobación: posse approvals show { $approval }
many-subagents =
    { $n ->
        [one] 1 subagente
       *[other] { $n } subagentes
    }
many-sessions =
    { $n ->
        [one] 1 sesión
       *[other] { $n } sesiones
    }
column-state = ESTADO
column-agent = AGENTE
column-task = TAREA
column-tasks = TAREAS
column-project = PROYECTO
column-turns = TURNOS
column-cost = COSTE
column-model = MODELO
column-day = DÍA
column-input = ENTRADA
column-cached = CACHÉ
column-output = SALIDA
column-about = SOBRE
sessions-of-project = { $sessions } de { $place }
no-sessions-of-project = aún no hay sesiones en { $place }; `--all` muestra las de otros proyectos
task-tool-gone = a `{ $task }` se le dio la herramienta `{ $missing }`, que ya no está
task-tool-gone-hint = `posse doctor` en su espacio de trabajo muestra qué herramientas hay y qué les pasa a las otras
result-unknown = `{ $id }` no tiene ningún resultado `{ $key }`
result-unknown-hint = los resultados se numeran TURN.INDEX, por ejemplo 3.0
cancel-had-ended = ya había terminado
cancel-not-yet = se avisó al proceso { $process } y aún no la ha terminado
cancel-too-late = terminó antes de poder cancelarla
message-empty = el mensaje está vacío
message-queued = la tarea lo lee antes de su próximo turno
message-delivered = la tarea lo ha leído, en el turno { $turn }
resume-had-completed = `{ $task }` ya había terminado: no se ejecuta nada, esta es su respuesta
message-missed = demasiado tarde, la tarea había terminado
question-none = `{ $task }` no pregunta nada
nobody-drives = nadie conduce `{ $id }` ahora; continúa con: posse tasks resume { $id }
nothing-runs = no hay ninguna tarea de este proyecto en curso
screen-failed = la pantalla falló
changes-kept-apart = los cambios de { $task } se guardan aparte: posse tasks diff { $task } los muestra, posse tasks apply { $task } los incorpora
worktree-used-up = el árbol de trabajo de `{ $task }` ya no existe: se aplicó o se descartó
worktree-used-up-hint = inicia una tarea nueva
patch-not-yet = aún no hay parche de `{ $task }` ({ $path })
patch-not-yet-hint = se escribe cuando la tarea termina
task-changed-nothing = `{ $task }` no cambió nada
undo-restored = { $path }: restaurado
undo-removed = { $path }: eliminado
undo-would-restore = { $path }: se restauraría
undo-would-remove = { $path }: se eliminaría
undo-nothing = { $path } ya está como antes
undo-kept = { $path } se conserva: { $why }
undo-apart = `{ $task }` trabajó en su propio árbol de trabajo, que ya no existe
patch-not-written = no se puede escribir el parche
changes-applied-before = lo que `{ $task }` cambió ya se aplicó antes
change-written = escrito   { $name }
change-merged = fusionado { $name }
changes-applied = aplicado en { $origin }; el parche se conserva, el árbol de trabajo se eliminó
patch-removed = se eliminó el parche de `{ $task }`; lo aplicado se queda
changes-removed = se eliminó lo que `{ $task }` cambió
task-without-worktree = `{ $task }` no tiene árbol de trabajo
task-without-worktree-hint = solo lo tienen las tareas con `isolation: worktree`, hasta que se descarta; uno sin cambios se elimina
task-at-work =
    { $what ->
        [apply] `{ $task }` está trabajando: no se pueden aplicar sus cambios
        [undo] `{ $task }` está trabajando: no se pueden deshacer sus cambios
       *[discard] `{ $task }` está trabajando: no se pueden descartar sus cambios
    }
task-at-work-hint = espérala
task-was-interrupted =
    { $what ->
        [apply] `{ $task }` se interrumpió: no se pueden aplicar sus cambios
       *[discard] `{ $task }` se interrumpió: no se pueden descartar sus cambios
    }
task-was-interrupted-hint = continúala con `posse tasks resume { $task }` o termínala con `posse tasks cancel { $task }`
no-project-to-trust = aquí no hay ningún proyecto en el que confiar
no-project-to-trust-hint = ve al directorio de un proyecto
project-without-agents = este proyecto no tiene agentes
extends-untrusted = `{ $name }` aún no se ejecuta: extiende { $path }, en el que no se confía
trust-inside-task = este es un comando de una tarea de Posse, y solo una persona puede confiar en archivos
trust-inside-task-hint = pide a la persona que ejecute `posse trust`
worker-gave-up = no se pudo continuar con { $tasks }
worker-gave-up-hint = las líneas de arriba dicen por qué; `posse tasks resume` o `posse tasks cancel` resuelve cada una
no-leases = nadie tiene una reserva de escritura; las tareas con `write_paths` la tienen mientras se ejecutan
lease-not-held = `{ $task }` no tiene ninguna reserva de escritura
lease-not-held-hint = `posse leases` muestra quién la tiene
lease-in-use = el proceso { $process } conduce `{ $task }` y puede estar escribiendo { $paths }
lease-in-use-hint = espérala o termínala con `posse tasks cancel { $task }`; `posse leases release { $task } --force` le quita la reserva mientras trabaja
lease-taken-away = ATENCIÓN: `{ $task }` está trabajando. Sus escrituras en { $paths } se rechazan desde ahora, salvo que obtenga de nuevo la reserva; un comando suyo se detiene en uno o dos segundos
lease-released = liberado { $paths } de `{ $task }`
worker-stopped = detenido; lo que estaba en curso lo continúa el siguiente worker
worker-idle = nada que continuar: ninguna tarea está interrumpida ni espera a un worker
worker-not-started = no se pudo iniciar ningún worker en segundo plano
not-taken-up = no se retomó
file-too-large = { $path } supera 1 MiB
plain-note = nota: { $note }
directory-unreadable = no se puede leer el directorio actual
stdout-failed = error: no se puede escribir en la salida estándar: { $why }
answer-not-written = la respuesta no se puede escribir en la salida estándar: { $why }
error-because = porque: { $cause }
error-hint = sugerencia: { $hint }
tokens-of = { $tokens } de { $most } tokens
turns-shown =
    { $n ->
        [one] { $n } turno
       *[other] { $n } turnos
    }
state-error = error
row-hidden = oculto
agent-next = a continuación: rellénalo y míralo con `posse agents check { $name }`
agent-next-trust = a continuación: rellénalo, míralo con `posse agents check { $name }` y luego `posse trust`
trusted-before = ya era de confianza
trusted-now = ahora es de confianza
trusted-not-ours = pertenece a otro usuario: sin confianza
trusted-not-broken = tiene errores: sin confianza
project-not-trusted-any-more = ya no se confía en { $project }
project-was-not-trusted = no se confiaba en { $project }
init-project = lo lee cada comando de posse en este proyecto
init-agent = un agente para probar: posse run --agent reviewer "…"
init-written = escrito
init-exists = existe, se deja como está
stopped-after = { $reason } tras { $seconds }s
continue-with = continuar: posse tasks resume { $id }{ $more }      texto completo: posse tasks show { $id }
resumes-with = también continúa lo que se detuvo con ella: { $tasks }
many-trees =
    { $n ->
        [one] { $n } árbol
       *[other] { $n } árboles
    }
gc-no-rule = nada dice qué tareas borrar
gc-no-rule-hint = `posse gc --older-than 30d`, o define `max_age` o `max_size` bajo `[store]` en tu configuración
gc-needs-rewrite = el espacio queda libre para tareas nuevas, pero aún no se ha devuelto: este almacén debe reescribirse una vez, lo que detendría las tareas en curso. Ejecuta `posse gc` otra vez cuando no haya ninguna
gc-not-started = no se borraron las tareas antiguas: { $why }
task-inside-tree = `{ $task }` es parte de un árbol, y un árbol se borra entero
task-inside-tree-hint = `posse tasks delete { $root }` lo borra entero
stdin-silent = la entrada estándar es una tubería en la que no llegó nada en 1 s: la tarea empieza sin ella. Para esperarla, termina la orden con `-`: posse run "¿Qué falló?" -
stdin-unreadable = no se puede leer la entrada estándar
session-none-of-project = no hay ninguna sesión de este proyecto
session-none-of-project-hint = `posse sessions list` muestra las de otros proyectos, y `--session ID` nombra una
chat-help =
    /help   muestra esto
    /mode   plan, ask o auto: lo que los próximos mensajes pueden cambiar
    /model  otro modelo para los próximos mensajes, como provider:model
    /quit   termina la conversación, como Ctrl-D; se puede retomar con `posse chat --resume`
    Ctrl-C  detiene una respuesta
    Todo lo demás se envía al modelo.
demo-banner = Demostración de Posse · modelo con guion, sin clave, sin red · estado en { $state }
demo-end =
    Sus tareas: posse tasks list --state { $state }

    Eso era la grabación de un modelo. Con uno de verdad:
      export ANTHROPIC_API_KEY=…      (u OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST)
      posse run "¿Por qué es inestable la prueba de login?"
demo-shared-context = contexto compartido: { $entries }
config-changed = `{ $key }` cambiado en { $file }
config-absent = (no existe)
config-unchanged = no se cambió nada en { $file }
config-editor-failed = el editor `{ $editor }` falló
config-editor-hint = define VISUAL o EDITOR
config-edit-kept = no se cambió nada; tu texto está en { $file }
config-default = `{ $key }` no está definido; este es el valor predeterminado
config-no-default = `{ $key }` no está definido y no tiene un valor predeterminado fijo
config-edit-no-terminal = el editor `{ $editor }` necesita un terminal
config-edit-no-terminal-hint = `posse config path` muestra los archivos, `posse config set` cambia un ajuste
models-none = no hay ningún proveedor configurado
models-none-hint = `posse setup` configura uno
models-column-model = MODELO
models-column-context = CONTEXTO
models-column-input = ENTRADA/M
models-column-output = SALIDA/M
models-note = modelos: { $n } · precios en dólares por millón de tokens, de la tabla incluida o `[prices]`; `$?` es desconocido, `*` el predeterminado
setup-no-model = No hay ningún modelo configurado.
setup-which-provider = ¿Qué proveedor?
setup-ask-key = Clave de { $provider }:{" "}
setup-ask-url = URL base:{" "}
setup-ask-model = Modelo:{" "}
setup-models = modelos: { $names }
setup-answered = ✓ respondió en { $seconds } s · { $models } modelos · predeterminado { $model }
setup-stored = ✓ guardada en { $file } (solo tú puedes leerla)
setup-configured = ✓ guardado en { $file }
setup-next = `posse` inicia un chat; `posse demo` muestra una delegación completa sin clave
setup-with-config = `posse setup` cambia tu propia configuración y no admite --config
setup-needs-provider = sin terminal, indica el proveedor
setup-needs-provider-hint = posse setup anthropic < key.txt
setup-needs-url = indica la dirección del servidor con --base-url
setup-needs-key = no llegó ninguna clave de { $provider } por la entrada estándar
usage-did-you-mean = ¿querías decir `{ $name }`?
usage-values = hay: { $names }
man-pages-written = las páginas de manual están en { $directory }
review-nothing = sin cambios: nada que revisar
review-nothing-within = sin cambios en lo indicado: nada que revisar
review-nothing-since = sin cambios desde `{ $base }`: nada que revisar
review-nothing-since-within = sin cambios desde `{ $base }` en lo indicado: nada que revisar
review-nothing-staged = no hay nada preparado: nada que revisar
review-nothing-commit = el commit `{ $commit }` no cambia nada: nada que revisar
key-was-deleted = eliminado: { $key }
context-wait-over = se acabó el tiempo: no se escribió ni se eliminó nada
cost-no-name = (sin respuesta)
cost-total = total
cost-unpriced = no se conoce el precio de { $tokens }: añádelo en `[prices]` de tu configuración

## commands/mcp.rs

mcp-no-pipes = la entrada y la salida estándar no se pueden usar
serve-listening = a la escucha en { $url }
serve-beyond-loopback = { $address } es accesible desde otras máquinas, y nada cifraría los tokens
serve-beyond-loopback-hint = indica `--tls-cert` y `--tls-key`, o pon delante un proxy con TLS e indica `--behind-proxy --public-url https://…`
serve-ending = el servidor está terminando
public-url-invalid = `{ $url }` no es una dirección como https://posse.example
token-shown-once = el token `{ $name }` ({ $scopes }) se muestra solo ahora
token-unknown = no hay ningún token `{ $name }`
token-unknown-hint = `posse tokens list` muestra los que hay
token-revoked = el token `{ $name }` está revocado
no-tokens = no hay tokens; `posse tokens add NAME` crea uno
login-link-once = el enlace funciona una vez, durante diez minutos
column-name = NOMBRE
column-kind = TIPO
column-scopes = PERMISOS
column-expires = CADUCA
mcp-listening = a la escucha en http://{ $address }{ $path } · token: { $place }
mcp-handed-over = tareas que continúan en un proceso propio: { $count }
mcp-install-where = para { $host }, en { $file }:
mcp-key-offer = la mayoría de los hosts no transmiten la clave de { $variable }. ¿Guardarla en { $file }, legible solo para ti? [Y/n]
mcp-key-declined = no se guardó ninguna clave; ponla en { $file } y nombra ese archivo como `api_key_file` en tu configuración
mcp-key-not-stored = la clave de { $variable } no se guardó, y la mayoría de los hosts no la transmiten: añade --store-key para guardarla solo para ti
mcp-key-stored = la clave está ahora en { $file }, legible solo para ti, y { $config } la nombra: la mayoría de los hosts no pasan su entorno a los servidores
mcp-key-by-hand = la mayoría de los hosts no pasan su entorno a los servidores: pon la clave en { $file } y define `api_key_file` en `[providers.{ $provider }]` de tu configuración
mcp-install-there = { $file } ya nombra `posse`; no se cambió nada
mcp-doctor-answers = responde a { $method } en { $millis } ms
mcp-doctor-tools = herramientas: { $names } (unos { $tokens } tokens)
mcp-doctor-agents = agentes: { $names }
mcp-doctor-no-agents = tal como lo inicia un anfitrión, ningún agente es utilizable: { $why }
mcp-doctor-no-agents-hint = la mayoría de los anfitriones no pasan su entorno: indica un modelo y un `api_key_file` en la configuración
mcp-writing-advice = una persona puede permitir que las tareas escriban: `posse mcp --write PATHS` (por ejemplo `'src/**'`, o `'**'` para todo), `--allow TOOLS`, o `write` bajo `[mcp]` en la configuración
mcp-doctor-rights = herramientas de las tareas: { $names }
mcp-doctor-writes = las tareas pueden escribir: { $paths }
mcp-writes-nothing = las tareas pueden leer y no escribir; { $advice }
files-changed = { $files } con cambios: posse tasks diff { $task } los muestra
changes-more = y { $n } más

## commands/chat/screen.rs

chat-no-screen = la terminal no sirve para una conversación
story-more = posse tasks show { $task } --turn N muestra un turno, --text toda la respuesta
turn-unknown = `{ $id }` no tiene turno { $turn }; tiene { $turns }
turn-unknown-hint = `posse tasks show { $id }` los enumera
answer-none-yet = `{ $task }` aún no tiene respuesta
store-only-read = advertencia: el almacén está abierto solo para lectura: { $why }
edited-by =
    { $n ->
        [one] { $task } { $agent }, turno { $turns }
       *[other] { $task } { $agent }, turnos { $turns }
    }
doctor-no-terminal = ninguna: la salida son líneas
doctor-colors = 16 colores
doctor-no-colors = sin colores
doctor-ascii = marcas ASCII
doctor-no-room = demasiado pequeña para pantallas: la salida son líneas
doctor-tmux-escape = Esc espera { $millis } ms; en tmux.conf: set -sg escape-time 10
doctor-tmux-unasked = tmux no dice cuánto espera Esc
