# Español. El glosario está en core.ftl.

cancel-without-end = `{ $id }` no termina al cancelarse
conversation-broken = la conversación de `{ $id }` está dañada: { $fault }
task-out-of-time = la tarea `{ $id }` ha agotado sus { $seconds } s
task-out-of-time-hint = dale más: --timeout { $seconds }
task-out-of-turns = la tarea `{ $id }` ha agotado sus turnos ({ $turns })
task-out-of-turns-hint = dale más: --max-turns { $turns }
mode-of-subagent = la tarea `{ $id }` es de un subagente y conserva el modo de su orquestador
there-are-none = aquí no hay ninguno
there-are = hay: { $names }
write-paths-not-within = las rutas de escritura { $own } no están dentro de { $outer }
write-paths-not-within-hint = una tarea solo puede recibir lo que pueden escribir quien delega y su agente
agent-not-found = ningún agente se llama `{ $name }`
approval-not-found = ninguna solicitud se llama `{ $id }`
no-tool-exists = ninguna de las herramientas de `{ $agent }` existe aquí: { $tools }
output-schema-invalid = el esquema de salida no es un JSON Schema: { $why }
output-schema-invalid-hint = corrige `output_schema` del agente
delegation-too-deep-hint = haz la tarea tú mismo
no-worktrees = aquí no se pueden crear árboles de trabajo
no-worktrees-hint = delega sin `isolation: worktree`
nobody-delegates = nadie delega con este nombre en esta sesión
task-too-large = la tarea tiene unos { $size } tokens, el límite es { $task_tokens_max }
task-too-large-hint = escribe los detalles en shared_context y nombra la clave en la tarea
agent-exists = ya existe un agente `{ $name }`
agent-exists-hint = elige otro nombre o defínelo con `overwrite: true`
agent-built-in-hint = viene con Posse y nunca se sustituye: elige otro nombre, con `extends: "{ $name }"` para una variante
facade-unknown = no hay ninguna herramienta `{ $wanted }` con la que delegar
launch-description = Lanzar un agente autónomo
launch-missing-description = Falta la descripción del agente
launch-missing-prompt = Falta el prompt del agente
launch-invalid-json = Parámetros JSON no válidos
launch-resource-limit = Se alcanzó el máximo de agentes simultáneos
launch-creation-failed = No se pudo crear el agente
parameter-missing = Falta el valor del parámetro obligatorio '{ $name }'. { $why }. Llama a subagent de nuevo con description y prompt.
task-not-yours = `{ $task }` no es una tarea tuya
task-not-yours-hint = `list_tasks` muestra las tareas que hay
task-running-since =
    { $turns ->
        [one] `{ $id }` sigue en ejecución, { $turns } turno en { $seconds } s
       *[other] `{ $id }` sigue en ejecución, { $turns } turnos en { $seconds } s
    }
messages-unread = `{ $id }` aún no ha leído sus últimos mensajes
messages-unread-hint = espera a que complete su próximo turno
task-not-ended = `{ $id }` aún no ha terminado
task-not-ended-hint = espérala o consulta su estado
agents-defined = definidos en esta sesión: { $names }
system-prompt-too-large = el prompt de sistema tiene unos { $size } tokens, el límite es { $prompt_tokens_max }
system-prompt-too-large-hint = conserva las instrucciones; que las herramientas aporten el conocimiento
tool-not-there = no hay ninguna herramienta `{ $unknown }`
tool-twice = dos herramientas se llaman `{ $own }`
tool-twice-hint = da a cada herramienta su propio nombre
nested-prompt-too-large = el prompt de sistema tiene unos { $size } tokens, el límite es { $system_tokens_max }
answer-not-typed = la respuesta no encaja en su tipo: { $why }
agent-without-model = el agente no tiene modelo propio
tool-arguments-no-object = los argumentos de la herramienta `{ $tool }` no son un objeto

tasks-write-nothing = las tareas que se delegan desde aquí no pueden escribir
model-price-unknown = no se conoce el precio de `{ $model }`, así que no se puede respetar un límite de coste
model-price-unknown-hint = añade `[prices."{ $model }"]` con `input` y `output` en USD por millón de tokens a tu configuración
task-unknown = ninguna tarea se llama `{ $task }`
tasks-list-hint = `posse tasks list` muestra las que hay
tasks-alike = varias tareas empiezan por `{ $wanted }`
give-more-of-id = indica más del identificador
session-unknown = ninguna sesión se llama `{ $shown }`
session-unknown-hint = `posse sessions list` muestra las que hay; el directorio de estado decide dónde se busca
sessions-alike = varias sesiones empiezan por `{ $shown }`
driver-crashed = una tarea hizo fallar a su conductor
