# Español. El glosario está en core.ftl.

cancel-without-end = `{ $id }` no termina al cancelarse
conversation-broken = la conversación de `{ $id }` está dañada: { $fault }
task-out-of-time = la tarea `{ $id }` ha agotado sus { $seconds } s
task-out-of-time-hint = dale más: --timeout { $seconds }
task-out-of-turns = la tarea `{ $id }` ha agotado sus turnos ({ $turns })
task-out-of-turns-hint = dale más: --max-turns { $turns }
there-are-none = aquí no hay ninguno
there-are = hay: { $names }
write-paths-not-within = las rutas de escritura { $own } no están dentro de { $outer }
write-paths-not-within-hint = una tarea solo puede recibir lo que pueden escribir quien delega y su agente
lease-waits = espera a que sus rutas de escritura estén libres: { $holders }
lease-waits-command = espera a que acabe un comando de `{ $task }` que puede escribir ahí
run-while-stopping = la tarea debe detenerse; no se ejecutó nada
run-not-decidable = no se puede saber si esto se puede ejecutar ({ $why }); no se ejecutó nada
lease-lost-silent = esta tarea calló demasiado tiempo y perdió sus rutas de escritura: { $holders }; no se ejecutó nada
write-not-decidable = no se puede saber si esto se puede escribir ({ $why }); no se escribió nada
agent-not-found = ningún agente se llama `{ $name }`
approval-not-found = ninguna solicitud se llama `{ $id }`
no-tool-exists = ninguna de las herramientas de `{ $agent }` existe aquí: { $tools }
output-schema-invalid = el esquema de salida no es un JSON Schema: { $why }
output-schema-invalid-hint = corrige `output_schema` del agente
no-outcome = no tiene resultado
delegation-too-deep = aquí no se delega a mayor profundidad
delegation-too-deep-hint = haz la tarea tú mismo
no-worktrees = aquí no se pueden crear árboles de trabajo
no-worktrees-hint = delega sin `isolation: worktree`
nobody-delegates = nadie delega con este nombre en esta sesión
price-unknown = no se conoce el precio de `{ $unpriced }`, así que no se puede respetar un límite de coste
price-unknown-hint = añade su precio a la configuración o usa otro modelo
task-too-large = la tarea tiene unos { $size } tokens, el límite es { $task_tokens_max }
task-too-large-hint = escribe los detalles en shared_context y nombra la clave en la tarea
outcome-lost = su resultado no quedó registrado
agent-exists = ya existe un agente `{ $name }`
agent-exists-hint = elige otro nombre o defínelo con `overwrite: true`
facade-unknown = no hay ninguna herramienta `{ $wanted }` con la que delegar
answer-shortened = [abreviado: el texto completo se conserva como resultado de { $id }]
answer-note = [nota: { $warning }]
session-closed = la sesión está cerrada
agent-timed-out = El subagente "{ $name }" superó el límite de { $seconds }s y fue detenido.
agent-failed = El subagente "{ $name }" falló: { $why }
so-far = Lo que tenía hasta entonces:
agent-type-unknown = Tipo de subagente desconocido: "{ $name }". Disponibles: { $names }
investigation-without-task = La tarea es demasiado breve. Incluye: qué investigar, dónde buscar, qué devolver.
investigation-too-brief = La tarea es demasiado breve (se necesitan { $task_chars_min } caracteres o más). Incluye: QUÉ investigar, DÓNDE buscar, QUÉ devolver.
investigations-limit = Se alcanzó el máximo de subagentes ({ $per_session_max }). Usa directamente las herramientas para las demás investigaciones.
subagent-failed = El subagente falló: { $why }
tool-calls-limit-reached = se alcanzó el límite de llamadas a herramientas; lo que sigue puede estar incompleto
subagent-timed-out = El subagente superó el límite de { $seconds }s. Divide la tarea en otras más pequeñas.
partial-findings = Hallazgos parciales:
stopped-early = Detenido antes de tiempo: { $why }.
tool-calls-made = Llamadas a herramientas: { $tool_calls }
launch-description = Lanzar un agente autónomo
launch-missing-description = Falta la descripción del agente
launch-missing-prompt = Falta el prompt del agente
launch-invalid-json = Parámetros JSON no válidos
launch-resource-limit = Se alcanzó el máximo de agentes simultáneos
launch-creation-failed = No se pudo crear el agente
launch-limit = Se alcanzó el máximo de tareas simultáneas. Espera a que terminen otras tareas.
launched =
    Subagente lanzado correctamente

    Tarea paralela lanzada correctamente:
    - Tarea: { $id } (también { $alias })
    - Descripción: { $description }
    - Prioridad: { $priority }
    - Permiso de escritura: { $writes ->
        [yes] sí
       *[no] no
    }
    - Tiempo máximo de ejecución: { $seconds }s

    La tarea se ejecuta ahora en paralelo. Puedes seguir con otro trabajo.
    Recoge su resultado más tarde: {"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-failed-hint = No se pudo crear la tarea paralela: { $message } ({ $hint })
launch-failed = No se pudo crear la tarea paralela: { $message }
parameters-invalid = Parámetros no válidos: { $errors }
parameters-missing-json = Faltan parámetros obligatorios en el JSON
parameter-missing = Falta el valor del parámetro obligatorio '{ $name }'. { $why }. Llama a subagent de nuevo con description y prompt.
parameter-not-closed = Falta el valor del parámetro obligatorio '{ $name }': <{ $name }> no está cerrado.
description-not-text = description es obligatorio y debe ser una cadena
description-too-short = description debe tener al menos 3 caracteres
description-too-long = description debería tener de 3 a 5 palabras
prompt-not-text = prompt es obligatorio y debe ser una cadena
prompt-too-short = prompt debe tener al menos 10 caracteres
write-permissions-not-boolean = writePermissions debe ser un booleano
write-paths-not-list = allowedWritePaths debe ser una lista
write-path-not-text = allowedWritePaths[{ $index }] debe ser una cadena
write-paths-missing = writePermissions exige indicar allowedWritePaths
execution-time-not-number = maxExecutionTime debe ser un número
execution-time-out-of-range = maxExecutionTime debe estar entre 1000 y 300000 ms (de 1 a 300 segundos)
priority-unknown = priority debe ser 'low', 'normal' o 'high'
task-not-yours = `{ $task }` no es una tarea tuya
task-not-yours-hint = `list_tasks` muestra las tareas que hay
nobody-to-ask = no hay a quién preguntar; elige lo más probable y dilo en tu respuesta
question-unreadable = no se puede leer la pregunta: { $why }
no-answer-default = no llegó respuesta en { $deadline } s; sigue con tu valor por defecto: { $default }
no-answer = no llegó respuesta en { $deadline } s; elige lo más probable y dilo en tu respuesta
nobody-to-tell = no hay a quién avisar
nobody-waited = nadie esperaba una respuesta
task-running-since = `{ $id }` sigue en ejecución, { $turns } turnos en { $seconds } s
still-at-work = sigue trabajando: llama a wait de nuevo o haz otra cosa mientras tanto
ended-before-cancel = ya había terminado antes de la cancelación
messages-unread = `{ $id }` aún no ha leído sus últimos mensajes
messages-unread-hint = espera a que complete su próximo turno
task-not-ended = `{ $id }` aún no ha terminado
task-not-ended-hint = espérala o consulta su estado
agents-unusable = no se pueden usar aquí: { $names }
agents-not-shown = { $left_out } más no se muestran: usa `query` para buscar palabras
field-missing = falta el campo `{ $field }`
see-description-hint = consulta la descripción de la herramienta
system-prompt-too-large = el prompt de sistema tiene unos { $size } tokens, el límite es { $prompt_tokens_max }
system-prompt-too-large-hint = conserva las instrucciones; que las herramientas aporten el conocimiento
tool-not-there = no hay ninguna herramienta `{ $unknown }`
answer-truncated = [recortado — la respuesta completa supera el límite de { $result_tokens_max } tokens]
no-details = sin detalles
answer-was-empty = La respuesta final estaba vacía
turns-exceeded = Se superó el máximo de turnos sin producir una respuesta final
model-failed = Error de la API del modelo: { $detail }
action-unknown = no hay ninguna acción `{ $action }`
max-cost-invalid = `max_cost_usd` debe ser mayor que cero
tool-twice = dos herramientas se llaman `{ $own }`
tool-twice-hint = da a cada herramienta su propio nombre
tool-crashed = internal_error: la herramienta `{ $name }` falló ({ $panic }). Es un error de la herramienta, no de tu llamada
tool-schema-broken = el propio esquema de la herramienta está dañado; no se puede llamar
arguments-misfit = los argumentos no se ajustan al esquema de la herramienta, no se ejecutó nada:
nested-nowhere = no hay ninguna ejecución de la que formar parte
nested-too-deep = Se alcanzó la profundidad máxima de subagentes ({ $depth }). No se pueden lanzar más.
prompt-required = prompt es obligatorio
nested-misconfigured = Error de configuración del subagente: { $why }
nested-failed = Error del subagente: { $why }
nested-prompt-too-large = el prompt de sistema tiene unos { $size } tokens, el límite es { $system_tokens_max }
nested-without-outcome = `{ $id }` no tiene resultado
tool-execution-error = Error al ejecutar herramientas en el turno { $turns }: { $detail }
findings-kept = [guardado en el contexto compartido como `{ $key }`]
findings-not-kept = [no guardado en el contexto compartido: { $why }]

tasks-write-nothing = las tareas que se delegan desde aquí no pueden escribir
agent-cannot-write = `{ $agent }` trabaja sin { $tools }, que su definición nombra: { $advice }
