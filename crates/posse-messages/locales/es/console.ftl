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
