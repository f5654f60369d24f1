# Mensajes de `posse-console`.

## run

run-thought = pensó { $seconds }s (Ctrl-T lo muestra)
run-text-void = la respuesta se interrumpió; se escribe de nuevo
run-steer = orientar { $task }:
run-steer-queued = ↳ en cola: { $text }
run-steer-delivered = ↳ entregado en el turno { $turn }: { $text }
run-steer-missed = ↳ demasiado tarde, la tarea terminó: { $text }
run-steer-full = ↳ no enviado, hay demasiados mensajes sin leer: { $text }
run-answer = responder a { $task }:
run-answered = respondida: { $text }
run-answer-late = la pregunta ya no estaba abierta
run-asks-keys = a escribe una respuesta
run-cancel = ¿cancelar { $task }? y la cancela, cualquier otra tecla no
run-leaving = se deja al terminar este paso   q ahora mismo   Esc se queda
run-not-done = no se hizo: { $why }
run-typed-keys = Enter envía   Esc lo descarta
run-top-failed = la pantalla completa falló
run-limited = { $provider } limita las peticiones hasta las { $time }; { $n } tareas esperan
run-help =
    ↑↓ elige una tarea   Enter la abre   s la orienta   c la cancela   Esc quita la elección
    a responde a una pregunta o aprobación   q deja la tarea en segundo plano
    Ctrl-T muestra el razonamiento   Ctrl-L redibuja   Ctrl-Z suspende   Ctrl-C detiene, se puede reanudar
approved-elsewhere = aprobado por { $by }
denied-elsewhere = denegado por { $by }

## notices

notice-approval = { $task } { $agent } espera tu aprobación de { $tool }
notice-question = { $task } tiene una pregunta
notice-end = la ejecución terminó
## chat

chat-again-leaves = Ctrl-C otra vez sale
chat-paste-cut = el texto pegado era demasiado grande; falta una parte
chat-keys =
    Enter envía   Alt-Enter línea nueva   Esc detiene   ↑↓ historial   Ctrl-R busca   Tab completa   Shift-Tab modo
    / comandos   @ archivos y agentes   ! shell   Ctrl-T razonamiento   Ctrl-L redibuja   Ctrl-C, Ctrl-D salir
chat-steer-queued = ↳ en cola: { $text }
chat-steer-delivered = ↳ entregado en el turno { $turn }: { $text }
chat-steer-late = ↳ demasiado tarde, enviado como mensaje siguiente: { $text }
chat-steer-full = ↳ no enviado, demasiados mensajes sin leer: { $text }
chat-notice-approval = { $task } espera su aprobación de { $tool }
chat-notice-end = la respuesta está lista
chat-tab-answers = Tab responde
chat-working = trabajando
chat-working-line = { $action }, { $seconds }s · Esc detiene · Enter pone en cola lo escrito
chat-stopping = deteniendo
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } falló: { $why }
chat-call-lines = { $call } ({ $n } líneas)
chat-echo-more = { $n } líneas más
chat-stopped = detenido
chat-stopped-changed =
    { $n ->
        [one] detenido · { $n } archivo cambiado, /undo lo deshace
       *[other] detenido · { $n } archivos cambiados, /undo los deshace
    }
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / comandos · @ archivos y agentes · ? teclas
chat-kept = la conversación { $id } se conserva: posse chat --resume { $id }
chat-not-while-working = espere la respuesta o deténgala con Esc
chat-ended-early = { $status }: { $reason }{ $detail }
chat-no-change = no se cambió ningún archivo
chat-diff-cut = el resto: posse tasks diff { $id }
chat-menu-agent = agente
chat-does-agents = agentes en los que delegar
chat-does-clear = empezar una conversación nueva
chat-does-cost = coste de esta conversación, por agente y modelo
chat-does-diff = cambios de archivos de esta conversación
chat-does-exit = salir; la conversación se conserva
chat-does-help = listar los comandos
chat-does-mode = plan, ask o auto
chat-does-tasks = tareas de esta conversación
chat-does-undo = deshacer los cambios de archivos del último mensaje
chat-attached-agent = pregunta al agente { $agent }
chat-attached-path = { $path } no es texto o es demasiado grande ({ $kib } KiB): solo se envió su ruta
chat-attached-part = adjuntados { $kib } KiB de { $path } ({ $all } KiB)
chat-attached-file =
    { $n ->
        [one] adjuntado { $path } ({ $n } línea)
       *[other] adjuntado { $path } ({ $n } líneas)
    }
chat-mode-usage = los modos son `/mode plan`, `/mode ask` y `/mode auto`
card-question-keys = o escriba una respuesta   Esc luego
card-answered = respondido a { $task }: { $text }
chat-put-off =
    { $n ->
        [one] { $n } pregunta espera · Tab responde
       *[other] { $n } preguntas esperan · Tab responde
    }
chat-steer-next = ↳ se envía como mensaje siguiente: { $text }
chat-error = error
chat-hint = sugerencia: { $hint }
chat-warning = aviso: { $text }
chat-no-command = no hay ningún comando `{ $command }` y no se envió nada; /help muestra los comandos
chat-does-compact = continuar a partir de un resumen
chat-does-context = qué llena la ventana
chat-does-export = escribir la conversación como Markdown en un archivo
chat-does-model = cambiar el modelo de los mensajes que siguen
chat-does-resume = continuar una conversación anterior
chat-context-share = contexto { $percent } %
chat-context-tokens = contexto { $tokens } tokens
chat-cost-tree =
    { $n ->
        [one] { $cost } con { $n } subagente
       *[other] { $cost } con { $n } subagentes
    }
chat-state-open = abierta en otro lugar
chat-state-interrupted = interrumpida
chat-age = hace { $age }
chat-turns =
    { $n ->
        [one] { $n } turno
       *[other] { $n } turnos
    }
chat-resume-title = Continuar una conversación de { $place }
chat-resume-all = Continuar una conversación de cualquier proyecto
chat-none-here = no hay ninguna conversación anterior de este proyecto
chat-resumed = · continúa { $id } con { $model }
chat-model-title = Elegir un modelo
chat-model-hint = escriba para buscar · Enter elige · Esc conserva el modelo
chat-model-now = en uso
chat-model-usage = el modelo es { $model }; `/model provider:model` lo cambia
chat-model-chosen = · responde { $model }
chat-model-next = · { $model } responde desde el mensaje siguiente y lee de nuevo toda la conversación ({ $used } tokens); los subagentes en marcha conservan su modelo
chat-model-too-small = { $model } no puede seguir: la conversación tiene { $used } tokens y su ventana { $window }; primero /compact
chat-compact-nothing = todavía no hay nada que resumir
chat-compacting = · pide un resumen; la conversación continúa después a partir de él
chat-not-compacted = no hay resumen, así que la conversación sigue como estaba
chat-compacted = · resumido: { $before } tokens pasaron a { $after }; todo se conserva en { $old }: posse tasks show { $old }
chat-shell-not-started = no se pudo iniciar la shell: { $why }
chat-shell-stopped = detenido; nada de ello va con el mensaje siguiente
chat-shell-hidden =
    { $n ->
        [one] { $n } línea antes
       *[other] { $n } líneas antes
    }
chat-shell-exit = código de salida { $code }
chat-shell-sent =
    { $n ->
        [one] · { $ending }, { $n } línea va con el mensaje siguiente
       *[other] · { $ending }, { $n } líneas van con el mensaje siguiente
    }
chat-shell-sent-part = · { $ending }, el principio y el final de { $n } líneas van con el mensaje siguiente
chat-context-title = { $model }: { $used } de { $window } tokens, { $percent } %
chat-context-title-open = { $model }: { $used } tokens, no se conoce su ventana
chat-context-system = prompt de sistema
chat-context-tools = herramientas
chat-context-messages = mensajes
chat-context-results = resultados
chat-context-free = libre
chat-context-hint = /compact continúa a partir de un resumen
chat-export-head =
    { $n ->
        [one] Conversación `{ $id }` con { $agent } en { $models }, iniciada { $began }, { $n } turno.
       *[other] Conversación `{ $id }` con { $agent } en { $models }, iniciada { $began }, { $n } turnos.
    }
chat-export-failed = {" "}falló: { $why }
chat-exported = · escrito { $file }, legible solo por usted
chat-not-exported = no se puede escribir `{ $file }`: { $why }
chat-not-exported-hint = indique un archivo nuevo: `/export notes.md`
chat-no-tasks = todavía no se ha dicho nada
chat-column-agent = AGENTE
chat-column-does = TAREA
chat-column-id = ID
chat-column-state = ESTADO
chat-column-task = TAREA
chat-column-turns = TURNOS
chat-column-cost = COSTE
chat-column-model = MODELO
chat-column-tasks = TAREAS
chat-column-input = ENTRADA
chat-column-output = SALIDA
chat-column-total = total
chat-shell-word = !comando
chat-does-shell = ejecutarlo en su shell; su salida va con el mensaje siguiente
chat-export-summary = Un resumen, a partir del cual continúa otra conversación:
record-model-chosen = modelo cambiado a { $model }

## top

top-needs-input = ESPERA RESPUESTA { $n }
top-working = TRABAJANDO { $n }
top-completed = COMPLETADAS { $n }
top-count =
    { $state ->
        [queued] { $n } en cola
        [interrupted] { $n } interrumpidas
        [partial] { $n } parciales
        [failed] { $n } fallidas
       *[cancelled] { $n } canceladas
    }
top-all-projects = todos los proyectos
top-running = { $n } en curso
top-spent = { $price }/24h
top-foot-split = s guiar  a responder  c cancelar  q salir
top-asks-approval = espera su aprobación: a responde
top-asks-question = pregunta: { $question } (a responde)
top-hints = / buscar   A todos los proyectos   ? teclas
top-hints-all = / buscar   A este proyecto   ? teclas
top-foot-list = ↑↓ Enter abrir   s guiar   a responder   c cancelar   q salir
top-foot-pane = ↑↓ mover   o resultados   / buscar   s guiar   Esc volver
top-foot-close = cualquier tecla cierra
top-pane-transcript = conversación
top-pane-diff = cambios
top-pane-context = contexto compartido
top-pane-limits = límites
top-following = siguiendo
top-position = línea { $line } de { $lines }
top-holds = tiene la reserva { $paths }
top-loading = leyendo el almacén …
top-empty = aún no hay tareas
top-empty-here = no hay tareas recientes de este proyecto · A muestra todos los proyectos
top-nothing-found = ninguna tarea contiene `{ $search }` · Esc borra la búsqueda
top-folded = +{ $n }
top-turn = turno { $turn }
top-lines =
    { $n ->
        [one] 1 línea
       *[other] { $n } líneas
    }
top-more-lines =
    { $n ->
        [one] … 1 línea más (o)
       *[other] … { $n } líneas más (o)
    }
top-earlier = … turnos anteriores: posse tasks show
top-model-failed = el modelo falló: { $why }
top-approved-by = aprobado por { $by }
top-denied-by = denegado por { $by }
top-resumed = reanudada por otro proceso
top-withdrawn = ya no se permite: { $tools }
top-budget-spent = presupuesto agotado: { $shortfall }
top-cancel-asked = se pidió cancelar
top-schema-unmet = la respuesta no cumple el esquema: { $errors }
top-ended-completed = completada
top-ended-partial = parcial
top-ended-failed = fallida
top-ended-cancelled = cancelada
top-patch-cut = … el resto: posse tasks diff
top-no-changes = no se cambió ningún archivo
top-no-context = el contexto compartido está vacío
top-context-head = v{ $version } · { $tokens } tok · { $by } · hace { $ago }
top-value-cut = … { $bytes } bytes más: posse context get
top-used-of = { $used } de { $most }
top-token-counts = { $input } entrada · { $output } salida
top-limit-model = modelo
top-limit-turns = turnos
top-limit-time = tiempo
top-limit-context = contexto
top-limit-tokens = tokens
top-limit-cost = coste
top-limit-tree-tokens = tokens del árbol
top-limit-tree-cost = coste del árbol
top-limit-cap = presupuesto
top-no-cap = sin límite
top-limit-sandbox = sandbox
top-limit-workspace = espacio de trabajo
top-limit-lease = reserva
top-lease-since = { $paths } desde hace { $since }
top-prompt-search = /
top-prompt-steer = mensaje para { $task }:
top-prompt-answer = respuesta:
top-cancel-ask =
    { $n ->
        [0] ¿cancelar { $task }? y sí   n no
        [one] ¿cancelar { $task } y 1 subagente? y sí   n no
       *[other] ¿cancelar { $task } y { $n } subagentes? y sí   n no
    }
top-cancelling = cancelando { $task } …
top-cancelled = { $task } está cancelada
top-cancel-not-yet = { $task } debe terminar y aún no lo hizo
top-has-ended = { $task } ya terminó
top-nothing-asked = ninguna tarea espera respuesta
top-answered = respuesta enviada a { $task }
top-answered-elsewhere = la llamada se respondió en otro sitio
top-steer-queued = en cola para { $task }: se lee en su próximo turno
top-steer-delivered = { $task } lo leyó en el turno { $turn }
top-steer-missed = demasiado tarde: { $task } terminó antes
top-steer-full = { $task } tiene demasiados mensajes sin leer
top-copied = { $bytes } bytes copiados
top-mouse-on = el ratón desplaza y selecciona aquí
top-mouse-off = el ratón es del terminal: seleccione texto como siempre
top-card-page =
    { $n ->
        [one] 1 línea más   y página siguiente   n no, con motivo   Esc después
       *[other] { $n } líneas más   y página siguiente   n no, con motivo   Esc después
    }
top-card-end = fin   y una vez   t esta tarea   s sesión   n no, con motivo   Esc después
top-question-asks = { $task } { $agent } pregunta: { $question }
top-question-keys = escriba una respuesta o el número de una   Enter enviar   Esc después
top-keys =
    ↑↓ j k | elegir una tarea; mover el panel
    Enter → | entrar en el panel; Esc o ← vuelve
    1 2 3 4 Tab | conversación, cambios, contexto compartido, límites
    RePág AvPág Inicio Fin | por páginas; al final sigue lo nuevo
    Espacio | mostrar los subagentes de una tarea terminada
    o | mostrar o plegar resultados y mensajes largos
    / | buscar tareas; en un panel, texto (n N siguiente, anterior)
    A | todos los proyectos, o este otra vez
    s | guiar: enviar un mensaje a una tarea en curso
    a | responder a una aprobación o pregunta
    c | cancelar una tarea y sus subagentes
    y | copiar la respuesta, los cambios o el id (OSC 52)
    m | dar el ratón al terminal, o recuperarlo
    Ctrl-L Ctrl-Z | redibujar, detener
    q Esc | volver, luego salir; las tareas continúan
story-task = tarea
story-answer = respuesta
story-from = de { $parent }
story-approved = { $by }: { $scope }
story-verify = verificación
many-calls =
    { $n ->
        [one] { $n } llamada
       *[other] { $n } llamadas
    }
many-finished-calls =
    { $n ->
        [one] { $n } llamada terminada
       *[other] { $n } llamadas terminadas
    }
with-subagents = { $tokens }, { $price } con sus subagentes
record-schema-met = la respuesta cumple su esquema
record-withdrawn = ya no permitido: { $tools }
record-regranted = modo cambiado a { $mode }
record-budget-spent = presupuesto agotado: { $shortfall }
record-cancelled = cancelada
record-resumed = reanudada (época { $epoch })
plain-interrupted = interrumpida
plain-steer-queued = mensaje en cola
plain-steer-delivered = mensaje entregado en el turno { $turn }
plain-steer-missed = mensaje tardío: la tarea ha terminado
plain-started = iniciada · { $agent } con { $model }
plain-resumed = reanudada · { $kept } conservadas, { $in_doubt } en duda
plain-turn = turno { $turn } · { $tokens } · { $calls }
plain-model = modelo { $kind }: { $message }
plain-refused = { $tool } rechazada: { $why }
plain-failed = { $tool } falló tras { $millis } ms: { $why }
plain-elided = { $results } resultados antiguos ({ $bytes } bytes) omitidos para ahorrar contexto
plain-wrap-up = se pidió un informe: { $reason }
plain-verify = verificación { $command }
plain-verify-failed = la verificación { $command } falló tras { $millis } ms: { $ending }
record-model = modelo: { $failure }
record-schema-unmet = la respuesta no cumple su esquema
change-new = nuevo
change-deleted = borrado
plain-changed = cambiado: { $files }
plain-approval-waits = espera aprobación · { $call } · { $why } · posse approvals show { $approval }
story-answered = respondido
approval-by = { $scope } por { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } por { $by } ({ $scope }) el { $instant }
before-deleted = (antes de eliminarse: v{ $version })
until-instant = hasta { $end }
context-wrote = escrito: { $entry }
context-deleted = eliminado: { $key } v{ $previous_version }
snapshot-taken = la instantánea { $label } tiene { $keys }
context-restored = restaurado: { $written } escritas, { $deleted } eliminadas
approved-in = se aprueba automáticamente en { $left }
denied-in = se deniega automáticamente en { $left }
column-took = DURÓ
column-tool = HERRAMIENTA
column-left = QUEDA
column-call = LLAMADA
tokens-shown = { $shown } tokens
nobody-else = nadie más
audience-shown = legible por { $readers } · escribible por { $writers }
column-id = ID
column-tokens = TOKENS
column-age = HACE
column-keys = CLAVES
column-title = TÍTULO
column-process = PROCESO
column-paths = RUTAS
column-workspace = DIRECTORIO
state-archived = archivada
state-open = abierta
