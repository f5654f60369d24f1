# Español. El glosario está en core.ftl.

git-path-not-text = git respondió con una ruta que no es texto
git-change-unknown = git describió un cambio de una forma desconocida
worktree-no-repository = `{ $workspace }` no está en un árbol de trabajo de git, así que no se puede crear otro a partir de él
worktree-no-repository-hint = ejecuta `git init` allí o trabaja sin `isolation: worktree`
no-git-above = no hay ningún `.git` por encima
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
apply-broke-off =
    { $done ->
        [one] { $why }; antes se aplicó { $done } archivo
       *[other] { $why }; antes se aplicaron { $done } archivos
    }
apply-broke-off-hint = aplica de nuevo: lo hecho se deja como está y sigue el resto
git-no-object = git no tiene el objeto { $name }
conflict-repository = es un repositorio propio, que un parche no contiene
apply-protected = no se aplicó nada: la tarea cambió archivos que configuran programas o guardan secretos: { $paths }
apply-protected-hint = míralos con `posse tasks diff`; `--protected` los aplica también
worktree-too-many-files = un árbol de trabajo de este repositorio tendría { $count } archivos
worktree-too-large = un árbol de trabajo de este repositorio tendría más de { $gib } GiB
worktree-too-much-hint = haz que git ignore lo que no es parte del proyecto o trabaja sin árbol de trabajo

git-unreadable = no se puede leer
git-missing = git no está instalado o no está en el PATH
git-missing-hint = instala git 2.31 o posterior
git-not-started = no se puede iniciar
git-too-slow = tardó más de { $seconds } s
git-failed = `git { $what }` falló: { $why }
review-no-repository = { $place } no está en un repositorio git
review-no-repository-hint = `posse review` mira los cambios de un árbol de trabajo git: inícialo en uno
git-no-temporary = no hay lugar para un directorio temporal
review-base-unknown = `{ $base }` no es un commit de este repositorio
review-commit-unknown-hint = indique un commit, por ejemplo `--commit HEAD~1`
review-path-unknown = `{ $path }` no existe, y git no conoce nada con ese nombre
review-path-unknown-hint = las rutas cuentan desde el directorio actual
review-base-unknown-hint = nombra una rama, una etiqueta o un commit, por ejemplo `--base main`
review-no-commit = aún no hay ningún commit con el que comparar
review-no-commit-hint = omite `--base`
review-no-common-commit = `{ $base }` y HEAD no tienen ningún commit en común
review-no-common-commit-hint = en un clon superficial, trae antes más historial

worktree-not-worked-on = no se pudo trabajar en un árbol de trabajo
worktree-gone = el árbol de trabajo de `{ $task }` ya no existe
