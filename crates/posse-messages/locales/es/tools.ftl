# Español. El glosario está en core.ftl.

count-binary-files =
    { $n ->
        [one] { $shown } archivo binario
       *[other] { $shown } archivos binarios
    }
count-bytes =
    { $n ->
        [one] { $shown } byte
       *[other] { $shown } bytes
    }
count-directories =
    { $n ->
        [one] { $shown } directorio
       *[other] { $shown } directorios
    }
count-entries =
    { $n ->
        [one] { $shown } entrada
       *[other] { $shown } entradas
    }
count-files =
    { $n ->
        [one] { $shown } archivo
       *[other] { $shown } archivos
    }
count-lines =
    { $n ->
        [one] { $shown } línea
       *[other] { $shown } líneas
    }
count-matches =
    { $n ->
        [one] { $shown } coincidencia
       *[other] { $shown } coincidencias
    }
count-places =
    { $n ->
        [one] { $shown } lugar
       *[other] { $shown } lugares
    }
count-skills =
    { $n ->
        [one] { $shown } skill
       *[other] { $shown } skills
    }
bash-arguments-invalid = los argumentos no son válidos: { $why }
command-empty = `command` está vacío
command-with-nul = `command` contiene un carácter NUL, que no se puede pasar a ningún programa
command-too-long = `command` tiene { $length } bytes y { $command_max } es el máximo; escribe un script y ejecútalo
command-cancelled-before =
    { $what ->
        [tool] cancelado antes de iniciar la herramienta
       *[command] cancelado antes de iniciar el comando
    }
command-without-time =
    { $what ->
        [tool] no queda tiempo: la herramienta no se inició
       *[command] no queda tiempo: el comando no se inició
    }
nothing-printed = (sin salida)
standard-error = error estándar:
standard-error-hidden = [no se muestran { $bytes } bytes del error estándar]
odd-bytes = [{ $odd_bytes } bytes mostrados no son UTF-8; aparecen como \xNN]
command-timed-out =
    { $what ->
        [tool] tiempo agotado: la herramienta y todo lo que inició se detuvieron a los { $ms } ms; salida hasta entonces:
       *[command] tiempo agotado: el comando y todo lo que inició se detuvieron a los { $ms } ms; salida hasta entonces:
    }
command-lease-lost = detenido: la tarea perdió el derecho a escribir allí, o su proceso estuvo callado demasiado tiempo. Lo que había empezado puede estar ahí; lee los archivos antes de repetir nada
command-cancelled =
    { $what ->
        [tool] cancelado: la herramienta y todo lo que inició se detuvieron; salida hasta entonces:
       *[command] cancelado: el comando y todo lo que inició se detuvieron; salida hasta entonces:
    }
command-exit-code = código de salida { $code }
command-signalled = terminado por la señal { $signal }
command-not-started =
    { $what ->
        [tool] no se pudo iniciar la herramienta: { $why }
       *[command] no se pudo iniciar el comando: { $why }
    }
command-ending-unknown =
    { $what ->
        [tool] no se sabe cómo terminó la herramienta
       *[command] no se sabe cómo terminó el comando
    }
background-stopped =
    { $what ->
        [tool] { $n ->
            [one] {"["}se detuvo { $n } proceso en segundo plano al terminar la herramienta]
           *[other] {"["}se detuvieron { $n } procesos en segundo plano al terminar la herramienta]
        }
       *[command] { $n ->
            [one] {"["}se detuvo { $n } proceso en segundo plano al terminar el comando]
           *[other] {"["}se detuvieron { $n } procesos en segundo plano al terminar el comando]
        }
    }
processes-survive = [{ $n } procesos no se pudieron detener y quizá sigan en ejecución]
protected-appeared = [entretanto aparecieron archivos protegidos: { $paths }. Dilo en tu respuesta: una persona tiene que mirarlos antes de que un programa los use]
protected-set-aside = [en la raíz del espacio de trabajo se crearon archivos protegidos, lo que los comandos no pueden hacer, y ahora tienen otro nombre: { $paths }. Dilo en tu respuesta]
old-string-empty = `old_string` está vacío; indica el texto que se debe reemplazar o usa `write` para crear un archivo
strings-are-the-same = `old_string` y `new_string` son iguales, así que nada cambiaría
edit-no-file = no existe `{ $path }`; usa `write` para crearlo o `glob` para encontrar su nombre
edit-too-large = `{ $path }` supera { $max }, demasiado grande para esta herramienta
old-string-missing = `old_string` no está en `{ $path }`; { $nearest }
old-string-ambiguous = `old_string` aparece { $n } veces en `{ $path }` ({ $lines }); añade líneas vecinas para señalar una de ellas o activa `replace_all`
result-too-large = el resultado tendría { $size }, más de { $max }
lines-listed = líneas { $listed }
lines-listed-more = líneas { $listed } y { $more } más
edited = editado `{ $path }`: { $place }
also-replaced = también reemplazado en { $lines } (números anteriores al cambio)
hard-links = el archivo tenía { $links } enlaces duros; solo este nombre tiene el contenido nuevo
lines-more = [{ $lines } más]
line-numbers-included = empieza con números de línea como los muestra `read`; no forman parte del archivo, quítalos
only-white-space = es solo espacio en blanco; cópialo exactamente como lo muestra `read`
white-space-differs = pero la línea { $line } difiere solo en el espacio en blanco (espacios, tabuladores, sangría, saltos de línea). El archivo dice ahí:
case-differs = pero la línea { $line } difiere solo en mayúsculas y minúsculas; cópiala exactamente como la muestra `read`
first-line-differs = su primera línea es la línea { $first } del archivo, pero la línea { $differs } del archivo difiere de su línea { $own }; vuelve a leer desde ahí
no-similar-text-shorter = no se encontró ningún texto parecido; usa un fragmento más corto y cópialo exactamente como lo muestra `read`
no-similar-text = no se encontró ningún texto parecido; cópialo exactamente como lo muestra `read`
tool-failed-inside = la herramienta `{ $tool }` falló internamente; es un error de la herramienta, no de la llamada
arguments-wrong = argumentos incorrectos para `{ $tool }`: { $message }; admite: { $fields }
no-file-matches = ningún archivo coincide con `{ $pattern }`
files-more = … { $more } más, modificados hace más tiempo; usa un patrón más estricto o un `path`
glob-length = el patrón debe tener entre 1 y { $pattern_bytes_max } bytes
glob-with-parent = el patrón contiene `..`; no se pueden listar archivos fuera del espacio de trabajo
glob-outside = el patrón está fuera del espacio de trabajo; los patrones son relativos a `{ $root }`
glob-invalid = el patrón no es un glob: { $cause }
regex-invalid =
    el patrón no es una expresión regular que esta herramienta entienda: { $cause }
    Escapa los caracteres especiales con una barra invertida para buscarlos literalmente; una coincidencia nunca abarca varias líneas
filter-invalid = `glob` no es un glob: { $cause }
file-type-unknown = no hay ningún tipo de archivo `{ $kind }`; usa un nombre que ripgrep conozca (rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml ...) o `glob` en su lugar
no-match = ninguna coincidencia con `{ $pattern }`
matches-more-in = { $matches } más en { $files }
more-files = { $files } más
files-more-with = { $files } más con { $matches }
narrow-search = … { $more }; acota la búsqueda con `path`, `glob` o un patrón más estricto
skipped = omitido: { $files }
not-searched = no se pudo buscar en { $files }
line-part = [bytes { $from }-{ $to } de { $size }]
cannot-list = no se puede listar `{ $path }`: { $cause }
entry-gone = (desapareció)
entry-special = (tubería, socket o dispositivo)
directory-empty = `{ $path }` es un directorio vacío
entries-more = … { $left_out } más; usa `glob` con un patrón para ver algunas
entries-more-at-least = … al menos { $left_out } más; usa `glob` con un patrón para ver algunas
tree-more = … { $left_out } más en esta profundidad; indica un `path` o una `depth` menor
tree-not-opened = { $closed } en la profundidad { $depth } sin abrir (marcados con …)
output-left-out = [{ $left_out } de { $total } bytes omitidos]
tool-env-withheld = { $manifest }: `env`: `{ $name }` contiene una clave que no se da a ninguna herramienta
tool-env-withheld-hint = quítala de `env`
tool-env-not-passed = { $manifest }: `env`: `{ $name }` no se pasa a una herramienta de un proyecto
tool-env-not-passed-hint = añade `{ $name }` a `env` bajo `[bash]` en tu propia configuración si los comandos pueden tenerla, o quítala de `env`
tool-program-outside = { $manifest }: `command`: `{ $program }` no está en el proyecto
tool-program-outside-hint = una herramienta de un proyecto ejecuta un programa del proyecto o uno que se encuentra en `PATH`
tools-too-many = { $directory } contiene { $count } herramientas; solo se cargan las primeras { $tools_max }
manifest-too-large = { $path }: { $size } bytes, se permiten { $manifest_bytes_max } como máximo
choose-another-name = elige otro nombre
tool-description-missing = debe decir qué hace la herramienta: el modelo no ve nada más
tool-name-invalid = `{ $name }` no tiene de 1 a { $name_max } caracteres de a-z, 0-9 y `_`
tool-is-built-in = `{ $name }` es una herramienta incorporada
tool-stands-for-built-in = `{ $name }` es otro nombre de la herramienta incorporada `{ $meant }`
tool-stands-for = `{ $name }` es otro nombre de `{ $meant }`
tool-schema-not-object = debe ser un objeto JSON Schema
tool-schema-type = debe tener `"type": "object"`: los argumentos son siempre un objeto
tool-properties-not-object = `properties` debe ser un objeto
tool-required-not-names = `required` debe ser una lista de nombres
variable-invalid = `{ $name }` no es un nombre de variable; indica nombres, no valores
between-1-and = debe estar entre 1 y { $most }
program-missing = debe nombrar un programa, por ejemplo ["./run.sh"]
contains-nul = contiene un carácter NUL
program-not-executable = `{ $first }` no es un archivo ejecutable; `chmod +x` lo hace ejecutable
tool-defined-twice = { $manifest }: la herramienta `{ $name }` ya está definida en { $earlier }
tool-defined-twice-hint = renombra o elimina una de las dos
path-protected = `{ $path }` está protegido: las herramientas no escriben archivos que configuran programas o guardan secretos (aquí `{ $name }`). No se escribió nada. Di en tu respuesta qué habría que cambiar ahí para que lo haga una persona
limit-zero = `limit` es 0, así que no se podría mostrar ninguna línea; omítelo o indica al menos 1
cannot-read = no se puede leer `{ $path }`: { $cause }
file-empty = [`{ $path }` es un archivo vacío]
file-binary = [`{ $path }` es un archivo binario de { $size }; no se puede mostrar como texto]
offset-past-end = `offset` { $first } está más allá del final: `{ $path }` tiene { $lines }
call-cancelled = la llamada fue cancelada
line-cut = [línea cortada: se muestran { $shown } de { $total } bytes]
lines-remain = se muestran las líneas { $first }-{ $last } de { $total }; quedan { $lines } ({ $bytes })
bytes-remain = se muestran las líneas { $first }-{ $last }; quedan { $bytes }
read-on-offset = { $remain }; para seguir leyendo: la misma ruta con offset { $next }
read-on = { $remain }; para seguir leyendo: {"{"}"path":{ $path },"offset":{ $next }{"}"}
crlf-kept = las líneas terminan en CRLF; `edit` lo conserva, escribe saltos de línea simples en sus argumentos
some-not-utf8 = algunos bytes no son UTF-8 y se muestran como �
path-is-workspace = la ruta es el propio espacio de trabajo, que es un directorio; nombra un archivo dentro de él
path-is-link = `{ $path }` es un enlace simbólico a `{ $target }`; no se escribió nada. Usa la ruta del propio archivo si está dentro del espacio de trabajo
write-failed =
    { $what ->
        [create] no se puede crear un archivo junto a `{ $path }`: { $cause }; el archivo no ha cambiado
        [lock] no se puede bloquear el directorio de `{ $path }`: { $cause }; el archivo no ha cambiado
        [replace] no se puede poner el contenido nuevo en lugar de `{ $path }`: { $cause }; el archivo no ha cambiado
       *[write] no se puede escribir `{ $path }`: { $cause }; el archivo no ha cambiado
    }
changed-during-call = otro cambió `{ $path }` durante esta llamada; no se escribió nada. Léelo de nuevo y repite el cambio sobre su contenido actual
not-confirmed = `{ $path }` se escribió, pero el disco no lo confirmó: { $cause }; léelo para ver qué contiene
changed-since = `{ $path }` cambió desde que lo leíste en el turno { $turn }; no se escribió nada. Léelo de nuevo y repite el cambio sobre su contenido actual
not-read = `{ $path }` existe y no lo has leído en esta ejecución; no se escribió nada. Léelo primero
skills-not-used = no se usan los skills de `{ $root }`: { $why }
skills-folder-large = `{ $folder }` tiene más de { $folder_entries_max } entradas; no se miraron todas
skill-not-used = no se usa el skill de `{ $place }`: { $why }
skill-name-unusable = el skill de `{ $place }` tiene un nombre inservible; se usa el nombre de su carpeta
skill-without-description = el skill `{ $skill_name }` de `{ $place }` no tiene descripción
skill-shadowed = el skill `{ $skill_name }` de `{ $place }` se omite: `{ $kept }` tiene el mismo nombre y va primero
skills-too-many = el skill `{ $skill_name }` se omite: ya hay { $skills_max }
skills-without-description = más skills, sin descripción: { $names }
skills-more = { $skills } más; llama con un nombre incorrecto para ver los nombres
no-skills = no hay skills
skill-not-found = no hay ningún skill `{ $name }`; hay: { $names }
skill-files-more = … { $files } más
skill-folder = carpeta `{ $folder }`
skill-folder-outside = carpeta fuera del espacio de trabajo; lee sus archivos con `file` de esta herramienta
skill-other-files = [{ $place }; otros archivos:]
skill-left-out = [{ $left_out } de { $total } omitidos aquí]
skill-no-files = [{ $place }; sin otros archivos]
skill-file-too-large = `{ $path }` tiene más de { $max }
supervisor-silent = no respondió a tiempo
supervisor-without-report = terminó sin informe
supervisor-lost = se perdió el supervisor del comando: { $how }; se terminaron { $ended } procesos del comando
supervisor-lost-hint = el comando puede haber hecho parte de su trabajo; no debe terminar ni detener a su proceso padre
supervisor-not-started = no se puede iniciar el supervisor `{ $program }`: { $error }
supervisor-not-started-hint = comprueba que el directorio de trabajo existe y que quedan procesos y descriptores de archivo
thought-empty = el pensamiento está vacío; escribe lo que quieres pensar
verify-timed-out = tiempo agotado tras { $seconds } s
walk-cancelled = cancelado antes del final: el resultado está incompleto
walk-too-many = detenido tras { $max }: el resultado está incompleto; indica un directorio más pequeño
walk-too-deep = { $closed } por debajo de { $depth_max } niveles sin recorrer; indica un `path` más profundo
walk-unreadable = no se pudo leer: { $entries }
walk-refused = omitido porque esta tarea no puede mirarlo: { $entries }
workspace-failed =
    { $what ->
        [open] no se puede abrir el espacio de trabajo `{ $root }`: { $cause }
       *[resolve] no se puede resolver el espacio de trabajo `{ $root }`: { $cause }
    }
worktree-failed =
    { $what ->
        [copy] no se puede copiar `{ $path }`: { $cause }
        [describe] no se puede describir `{ $path }`: { $cause }
        [find] no se puede encontrar `{ $path }`: { $cause }
        [make] no se puede crear `{ $path }`: { $cause }
        [read] no se puede leer `{ $path }`: { $cause }
        [remove] no se puede eliminar `{ $path }`: { $cause }
       *[write] no se puede escribir `{ $path }`: { $cause }
    }
git-change-unknown = git describió un cambio de una forma desconocida
worktree-no-repository = `{ $workspace }` no está en un árbol de trabajo de git, así que no se puede crear otro a partir de él
worktree-no-repository-hint = ejecuta `git init` allí o trabaja sin `isolation: worktree`
no-git-above = no hay ningún `.git` por encima
worktree-too-many-files = un árbol de trabajo de este repositorio tendría { $count } archivos
worktree-too-large = un árbol de trabajo de este repositorio tendría más de { $gib } GiB
worktree-too-much-hint = haz que git ignore lo que no es parte del proyecto o trabaja sin árbol de trabajo
worktree-git-failed = `git { $what }` falló ({ $code }): { $errors }
git-path-not-text = git respondió con una ruta que no es texto
git-not-found = no se encontró el programa `git`
git-not-run = no se puede ejecutar git: { $cause }
git-not-run-hint = instala git o trabaja sin árbol de trabajo
git-endless = git no terminó en { $seconds } s
apply-conflicts = no se aplicó nada, por conflictos en { $conflicts }
apply-conflicts-more = no se aplicó nada, por conflictos en { $conflicts } y { $more } más
apply-conflicts-hint = los cambios están en { $place }: haz que ambos lados coincidan allí o en tus archivos y aplica de nuevo
conflict-gone = la tarea lo cambió y ya no está
conflict-deleted = la tarea lo eliminó y entretanto se cambió
conflict-kind = ambos lados cambiaron lo que es
conflict-places =
    { $places ->
        [one] { $places } lugar cambió en ambos lados
       *[other] { $places } lugares cambiaron en ambos lados
    }
conflict-binary = ambos lados lo cambiaron y no es texto
conflict-repository = es un repositorio propio, que un parche no contiene
apply-broke-off =
    { $done ->
        [one] { $why }; antes se aplicó { $done } archivo
       *[other] { $why }; antes se aplicaron { $done } archivos
    }
apply-broke-off-hint = aplica de nuevo: lo hecho se deja como está y sigue el resto
git-no-object = git no tiene el objeto { $name }
apply-protected = no se aplicó nada: la tarea cambió archivos que configuran programas o guardan secretos: { $paths }
apply-protected-hint = míralos con `posse tasks diff`; `--protected` los aplica también
workspace-failed-hint = el espacio de trabajo debe ser un directorio existente al que puedas entrar
openat2-missing = este sistema no puede abrir archivos de forma segura bajo un directorio (openat2: { $cause })
openat2-missing-hint = las herramientas de archivos necesitan Linux 5.6 o posterior y un sandbox que permita openat2
path-empty = la ruta está vacía; indica una ruta relativa al espacio de trabajo, o `.` para su raíz
path-with-nul = la ruta contiene un carácter NUL, que ningún nombre de archivo puede tener
path-too-long = la ruta tiene { $bytes } bytes; la más larga permitida tiene { $path_bytes_max }
name-too-long = un nombre de la ruta tiene { $bytes } bytes; el más largo permitido tiene { $name_bytes_max }
path-with-parent = `{ $path }` contiene `..`, que no se acepta; escribe la ruta desde la raíz del espacio de trabajo `{ $root }`
path-outside = `{ $path }` está fuera del espacio de trabajo; las rutas son relativas a `{ $root }`
path-is-directory = `{ $path }` es un directorio; usa la herramienta `ls` o `directory_tree` para ver qué contiene
path-not-regular = `{ $path }` no es un archivo normal (es una tubería, un socket o un dispositivo)
place-unknown = no se puede saber dónde está `{ $path }`: { $cause }; no se escribió nada
place-refused = `{ $path }` es en realidad `{ $place }`: { $why }
place-closed = `{ $place }` guarda claves o sesiones de la persona, o es del propio Posse; ninguna herramienta lo abre
link-leads-out = `{ $shown }` sale del espacio de trabajo por un enlace simbólico, lo cual se rechaza; solo se pueden usar archivos bajo `{ $root }`
link-refused = `{ $shown }` es o contiene un enlace simbólico que aquí no se puede seguir (un bucle, un enlace de /proc, o el propio nombre es un enlace)
no-such-path = no existe `{ $shown }` en el espacio de trabajo; usa `ls` o `glob` para encontrar el nombre correcto (un enlace simbólico sin destino cuenta como inexistente)
part-not-directory = una parte de `{ $shown }` que debería ser un directorio no lo es
is-directory = `{ $shown }` es un directorio
no-permission = sin permiso para abrir `{ $shown }`
path-too-long-here = `{ $shown }` es una ruta demasiado larga
path-moving = `{ $shown }` se movía mientras se abría; inténtalo de nuevo
no-openat2 = a este sistema le falta openat2, así que no se puede abrir ningún archivo de forma segura
no-space = no queda espacio en el disco para `{ $shown }`
cannot-open = no se puede abrir `{ $shown }`: { $other }
path-bytes = { $short }… ({ $bytes } bytes)
content-too-large = el contenido tiene { $size }; se pueden escribir { $max } como máximo en una llamada
content-same = `{ $path }` ya tiene exactamente este contenido ({ $size })
file-replaced = reemplazado `{ $path }` ({ $size }; antes: { $old })
file-created = creado `{ $path }` ({ $size })
size-and-lines = { $bytes }, { $lines }
sandbox-denied-top = [sandbox { $tier }: los comandos no tienen acceso a entradas nuevas en lo más alto del espacio de trabajo, .git, archivos protegidos, el directorio personal ni lo que la tarea no puede escribir; la herramienta `write` crea archivos. Operador: docs/sandbox.md]
sandbox-denied = [sandbox { $tier }: los comandos no tienen acceso a archivos protegidos, el directorio personal ni lo que la tarea no puede escribir. Operador: docs/sandbox.md]
sandbox-no-network = [sandbox { $tier }: aquí los comandos no tienen red. Operador: docs/sandbox.md]
sandbox-some-ports = [sandbox { $tier }: la red de los comandos es { $reach } y no se resuelven nombres. Operador: docs/sandbox.md]
