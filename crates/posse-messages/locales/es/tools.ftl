# Español. El glosario está en core.ftl.

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
skills-not-used = no se usan los skills de `{ $root }`: { $why }
skills-folder-large = `{ $folder }` tiene más de { $folder_entries_max } entradas; no se miraron todas
skill-not-used = no se usa el skill de `{ $place }`: { $why }
skill-name-unusable = el skill de `{ $place }` tiene un nombre inservible; se usa el nombre de su carpeta
skill-without-description = el skill `{ $skill_name }` de `{ $place }` no tiene descripción
skill-shadowed = el skill `{ $skill_name }` de `{ $place }` se omite: `{ $kept }` tiene el mismo nombre y va primero
skills-too-many = el skill `{ $skill_name }` se omite: ya hay { $skills_max }
supervisor-silent = no respondió a tiempo
supervisor-without-report = terminó sin informe
supervisor-lost = se perdió el supervisor del comando: { $how }; se terminaron { $ended } procesos del comando
supervisor-lost-hint = el comando puede haber hecho parte de su trabajo; no debe terminar ni detener a su proceso padre
supervisor-not-started = no se puede iniciar el supervisor `{ $program }`: { $error }
supervisor-not-started-hint = comprueba que el directorio de trabajo existe y que quedan procesos y descriptores de archivo
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
