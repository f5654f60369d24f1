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
run-asks = { $task } pregunta: { $question }
run-asks-keys = a escribe una respuesta
run-cancel = ¿cancelar { $task }? y la cancela, cualquier otra tecla no
run-leaving = se deja al terminar este paso   q ahora mismo   Esc se queda
run-not-done = no se hizo: { $why }
run-help =
    ↑↓ elige una tarea   s la orienta   c la cancela   Esc quita la elección
    a responde a una pregunta o aprobación   q deja la tarea en segundo plano
    Ctrl-T muestra el razonamiento   Ctrl-L redibuja   Ctrl-Z suspende   Ctrl-C detiene, se puede reanudar
approved-elsewhere = aprobado por { $by }
denied-elsewhere = denegado por { $by }
card-because = motivo: { $reason }

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
chat-why = ¿por qué? (Enter sin motivo)
chat-text-void = la respuesta se interrumpió; se escribe de nuevo
chat-thought = pensó { $seconds }s (Ctrl-T lo muestra)
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
