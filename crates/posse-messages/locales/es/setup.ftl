# Mensajes de `posse-setup`.

mode-plan = plan · solo lee
mode-ask = ask · pregunta antes de cada edición y cada comando
mode-ask-edits = ask · pregunta antes de cada edición
mode-auto = auto · ediciones y comandos sin preguntar
mode-auto-edits = auto · ediciones sin preguntar
mode-no-terminal = no hay terminal: --mode auto edita y ejecuta comandos
mode-no-screen = esta terminal no puede preguntar (dumb o menor que 40×8): --mode auto edita y ejecuta comandos
mode-bubblewrap = sandbox bubblewrap, { $network }
mode-bubblewrap-closed = sandbox bubblewrap, { $network }; `sandbox.top` está cerrado
mode-landlock = sandbox Landlock, { $network }; los comandos no crean nada en la raíz del espacio de trabajo (instala bubblewrap)
mode-unconfined = los comandos no están confinados
mode-no-network = sin red
mode-network = red { $reach }
mode-sandbox-off = sin comandos: `sandbox.tier` es `off` (--allow bash los ejecuta sin confinar)
mode-commands-denied = sin comandos: la configuración los deniega
mode-no-sandbox = sin comandos: nada puede confinarlos aquí; instala bubblewrap 0.8 (`posse doctor` dice por qué)
mode-plan-allows-no = `{ $tool }` cambia algo, y el modo `plan` solo lee
mode-plan-allows-no-hint = usa --mode ask o --mode auto, o quita --allow
temperature-range = un número de 0 a 2
private-address-invalid = `{ $raw }` no es una dirección como `127.0.0.1:8080`
hooks-too-many = se permiten como máximo { $most } hooks
project-cannot-set = { $path }: un proyecto no puede fijar `{ $key }`
project-cannot-script = { $path }: `{ $key }` no puede ser un modelo `scripted:` en un proyecto
project-cannot-hint = ponlo en la configuración del usuario o pasa `--config { $path }` si confías en este archivo
foreign-project-file = { $path } pertenece a otro usuario y no se lee; `--config { $path }` lo lee
file-unreadable = no se puede leer { $path }
file-unreadable-hint = comprueba la ruta y sus permisos
not-a-price = { $path }: `prices."{ $model }"`: { $wrong } no es un precio
session-tools-invalid = `session.tools`: { $why }
no-place-for-tasks = no hay lugar donde guardar tareas: HOME no está definida
no-place-for-tasks-hint = define HOME o indica un directorio con --state
effort-invalid = debe ser low, medium, high o max
dollars-invalid = una cantidad en dólares estadounidenses es mayor que cero, por ejemplo 0.50
no-config-directory = no hay directorio para la configuración: ni HOME ni XDG_CONFIG_HOME están definidos
tool-broken = la herramienta `{ $name }` no se puede usar: { $why }
config-not-a-table = `{ $key }` es un valor, no una tabla
config-key-invalid = `{ $key }` no es el nombre de un ajuste
config-key-hint = escríbelo con puntos, como `limits.max_turns`; entre comillas las partes con otros caracteres
config-secret = `{ $key }` pondría un secreto en la configuración
config-secret-hint = `posse setup` guarda una clave en un archivo que solo tú puedes leer; `api_key_env` nombra una variable
config-not-set = `{ $key }` no está definido
config-list-hint = `posse config list` muestra lo que está definido
span-range = debe estar entre 1 segundo y { $most }
posse-inside-posse = este Posse fue iniciado por una tarea que no puede delegar
posse-inside-posse-hint = haz el trabajo en la propia tarea, o delega desde la tarea superior
topic-terminal = terminal
agent-or-file-unknown = ningún agente ni archivo de agente se llama `{ $unknown }`
agents-list-hint = `posse agents list` muestra los que hay
standing-broken = sin confianza, y no puede ejecutarse tal como está
standing-not-trusted = sin confianza: `posse trust` permite que se ejecute
standing-not-ours = pertenece a otro usuario y no se puede confiar en él
field-mapped = convertido: { $into }
field-ignored = ignorado: { $why }
costs-in-list = { $tokens } en una lista de agentes
hidden-from-models = los modelos no lo ven; una persona puede nombrarlo con --agent
costs-when-listed = { $tokens } cada vez que se enumeran los agentes a un modelo
doctor-no-configuration = ninguna; `posse init` escribe una, la tuya sería { $user }
doctor-no-keys = ninguna en el entorno
doctor-key-unreadable = { $file } no se puede leer o está vacío; `posse setup` guarda una clave
doctor-key-wins = { $file } (prevalece sobre { $variable })
doctor-key-none = sin clave
doctor-model-not-asked = { $model }, sin consultar (--online consulta)
doctor-answered = { $model } respondió en { $seconds } s · su clave muestra { $models } modelos
doctor-answered-unlisted = { $model } respondió en { $seconds } s · no se listan sus modelos: { $why }
doctor-lists-nothing = { $provider } no lista modelos, así que no se consultó ninguno
doctor-confinement = archivos: rutas dentro del espacio de trabajo comprobadas por el kernel · comandos: { $commands }
doctor-mode = en una terminal { $here }, sin ella { $elsewhere }
doctor-unprotected = {" "}· sin protección: { $names } (`sandbox.unprotected`)
doctor-approvals-default = llamadas por las que preguntan los archivos de agentes
doctor-approvals-unattended = rechazadas aquí; en un terminal se te pregunta
doctor-approvals-listed = las llamadas de `approvals.allow` se ejecutan sin preguntar, las demás se rechazan
doctor-approvals-deny = rechazadas sin preguntar
doctor-approvals-ask = se te pregunta; { $default } tras { $seconds } s sin respuesta
doctor-sandbox-network = red: { $network }
doctor-top-open = el espacio de trabajo es escribible salvo los nombres protegidos
doctor-top-closed = nada nuevo en la raíz del espacio de trabajo (bubblewrap la abre)
doctor-sandbox-hint = o pon `tier = "off"` en `[sandbox]` de la configuración del usuario
doctor-sandbox-off = (`sandbox.tier` es `off`)
doctor-only-with-allow = solo con --allow: { $names }
doctor-delegation =
    profundidad { $depth } · hasta { $running_max ->
        [one] { $running_max } tarea en curso
       *[other] { $running_max } tareas en curso
    } por quien delega, { $beyond } · hasta { $open_max ->
        [one] { $open_max } tarea abierta
       *[other] { $open_max } tareas abiertas
    }
doctor-limit-rejects = las demás se rechazan
doctor-limit-queues = las demás esperan en la cola
doctor-not-trusted = { $untrusted } sin confianza: posse trust
doctor-agents = se pueden usar { $usable } de { $all }
doctor-agents-check = posse agents check informa de cada uno
doctor-to-delegate = { $parts } · { $total } para delegar
doctor-store = { $path } · { $tasks } · { $size } · íntegro
doctor-retention-none = se conservan hasta `posse gc` o `posse tasks delete`
doctor-retention-age = las tareas se van { $age } después de terminar
doctor-retention-size = las más antiguas se van cuando el almacén supera { $size }
doctor-retention-last = último `posse gc`: hace { $age }, { $tasks } borradas
state-warning = aviso
state-ready = listo
state-disabled = desactivado
state-not-trusted = sin confianza
none = ninguna
row-agent = agente
row-standing = situación
row-hidden-by = oculto por
row-shadows = oculta
row-model = modelo
row-tools = herramientas
row-not-given = no se da
row-rule = regla
row-costs = coste
row-name = nombre
row-from = de
row-description = descripción
row-verify = verificar
row-limits = límites
row-note = nota
agent-version = { $name } (versión { $version }, { $state })
standing-trusted = de confianza
field-honoured = respetado
guard-rail = un patrón que deniega un comando es una barandilla, no un muro: lo que alcanza un comando lo decide el sandbox
topic-version = versión
topic-configuration = configuración
topic-model = modelo
topic-keys = claves
topic-online = en línea
topic-base-url = URL base
topic-confinement = confinamiento
topic-mode = modo
topic-tools = herramientas
topic-delegation = delegación
topic-agents = agentes
topic-prompt-tokens = tokens prompt
topic-store = almacén
topic-retention = retención
topic-log = registro
topic-traces = trazas
agent-file-look = véase `posse agents check { $name }`
agent-file-look-more =
    { $n ->
        [one] { $n } más: `posse agents check { $name }`
       *[other] { $n } más: `posse agents check { $name }`
    }
