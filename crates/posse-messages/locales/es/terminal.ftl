# Mensajes de `posse-terminal`.

## rows

task-row-root = raíz
task-row-model = esperando al modelo
task-row-thinking = pensando
task-row-asking = pide { $tool }
task-row-retry = reintento en { $seconds }s: { $why }
task-row-rate-limited = límite de peticiones
task-row-http-status = HTTP { $status }
task-row-no-progress = sin avance
task-row-connection = conexión fallida
task-row-bad-reply = respuesta no válida
task-row-approve = aprobar: { $call }
task-row-question = pregunta: { $question }
task-row-lease = espera la reserva de { $paths }
task-row-queued = en cola
task-row-queued-after = en cola: tras { $tasks }
task-row-delegating = delegando
task-row-resumed = reanudada
task-row-interrupted = interrumpida
task-row-verifying = verificando { $command }
task-row-reporting = informando
task-row-refused = { $tool } rechazado: { $why }
task-row-failed = { $tool } falló: { $why }
task-row-turn = turno { $turn }/{ $turns_max }
task-row-context = ctx { $percent }%
task-row-tokens = { $count } tok
task-row-turn-limit = límite de turnos
task-row-call-limit = límite de llamadas
task-row-budget-limit = presupuesto agotado
task-row-context-limit = ventana de contexto llena
task-row-output-limit = cortada por el límite de salida
task-row-time-limit = sin tiempo
task-row-stalled = ninguna llamada tuvo éxito
task-row-cancelled = cancelada
task-row-model-failed = el modelo falló
task-row-no-answer = sin respuesta
task-row-dependency-failed = falló una tarea anterior
task-row-output-invalid = la respuesta no cumple el esquema
task-row-verify-failed = falló la verificación
task-row-writing =
    { $n ->
        [one] escribiendo, 1 carácter
       *[other] escribiendo, { $count } caracteres
    }
task-row-waits =
    { $n ->
        [one] espera a { $n } subagente
       *[other] espera a { $n } subagentes
    }
task-row-queued-place = en cola: n.º { $place }, corren { $running } de { $slots }
task-row-folded =
    { $state ->
        [input] { $n } esperan respuesta
        [working] { $n } en marcha
        [failed] { $n } fallidas
        [queued] { $n } en cola
        [completed] { $n } completadas
       *[other] { $n } subagentes
    }
task-row-folded-more =
    { $state ->
        [input] { $n } más esperan respuesta
        [working] { $n } más en marcha
        [failed] { $n } más fallidas
        [queued] { $n } más en cola
        [completed] { $n } más completadas
       *[other] { $n } más
    }

## keys

live-keys-one = ? teclas   q dejar en marcha   Ctrl-C detener
live-keys-tree = ↑↓ Enter abrir   s guiar   c cancelar   q salir   ? teclas
live-keys-tree-stay = ↑↓ Enter abrir   s guiar   c cancelar   ? teclas
live-keys-one-stay = ? teclas   Ctrl-C detener
live-keys-answer = a responder a { $task }

## end of a run

task-end-completed = completada en { $took }
task-end-partial = parcial tras { $took }
task-end-failed = fallida tras { $took }
task-end-cancelled = cancelada tras { $took }
task-end-interrupted = interrumpida tras { $took }
task-end-turn-limit = límite de turnos ({ $n })
task-end-no-file = no se cambió ningún archivo
task-end-new = nuevo
task-end-deleted = borrado
task-end-more-files = { $n } más
task-end-turns =
    { $n ->
        [one] { $n } turno
       *[other] { $n } turnos
    }
task-end-cost-with =
    { $n ->
        [one] { $cost } con { $n } subagente
       *[other] { $cost } con { $n } subagentes
    }
task-end-files =
    { $n ->
        [one] { $n } archivo cambiado: { $files }
       *[other] { $n } archivos cambiados: { $files }
    }

## approval card

card-wants = { $task } { $agent } quiere { $call }
card-wants-run = { $task } { $agent } quiere ejecutar: { $command }
card-keys = y una vez   t esta tarea   s sesión   n no, y por qué   d todo   Esc luego
card-because = motivo: { $reason }
card-asks = { $task } pregunta: { $question }
card-answer = respuesta:
card-why = ¿por qué? (Intro sin motivo)
card-above = la llamada completa está arriba
card-approved-in = se aprueba sola en { $left }
card-denied-in = se rechaza sola en { $left }
card-approved-once = aprobado una vez: { $call } ({ $task })
card-approved-task = aprobado para esta tarea: { $call } ({ $task })
card-approved-session = aprobado para la sesión: { $call } ({ $task })
card-denied = rechazado: { $call } ({ $task })
card-hidden =
    { $n ->
        [one] { $n } línea más: d la muestra
       *[other] { $n } líneas más: d las muestra
    }

## prompt

prompt-pasted =
    { $n ->
        [one] { $n } línea pegada
       *[other] { $n } líneas pegadas
    }
prompt-search = buscar
prompt-search-nothing = no encontrado
picker-hint = escriba para buscar · Ctrl-A todos los proyectos
picker-nothing = no se encontró nada
usage-heading = Uso:
usage-commands = Comandos
usage-options = Opciones
usage-arguments = Argumentos
usage-global = Opciones globales
usage-model = Modelo
usage-rights = Permisos
usage-limits = Límites
usage-examples = Ejemplos
usage-help = Mostrar la ayuda
usage-version = Mostrar la versión
usage-unknown-argument = no hay ningún argumento `{ $argument }`
usage-unknown-command = `{ $command }` no es un comando
usage-missing = faltan estos argumentos: { $arguments }
usage-conflict = `{ $argument }` no se puede usar junto con `{ $other }`
usage-twice = `{ $argument }` se indica dos veces
usage-value-missing = `{ $argument }` necesita un valor
usage-value-unknown = `{ $value }` no es un valor de `{ $argument }`
usage-value-wrong = `{ $value }` no es un valor de `{ $argument }`: { $why }
usage-run-it = para ejecutarlo como tarea: { $command }
usage-help-hint = `{ $command } --help` muestra lo que hay
completions-install =
    Instalar:
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   (después de compinit)
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = ¿Por qué falla a veces la prueba de inicio de sesión?
example-fix = Arregla la prueba que falla
example-summary = Escribe las notas de versión de estos commits
example-message = Conserva el nombre antiguo
example-answer = Usa la segunda
usage-work = Trabajar
usage-look = Consultar
usage-configure = Configurar
usage-serve = Servir y mantener
