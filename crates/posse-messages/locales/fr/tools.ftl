# Français. Le glossaire est dans core.ftl.

tool-env-withheld = { $manifest } : `env` : `{ $name }` contient une clé qu'aucun outil ne reçoit
tool-env-withheld-hint = retirez-la de `env`
tool-env-not-passed = { $manifest } : `env` : `{ $name }` n'est pas transmise à un outil d'un projet
tool-env-not-passed-hint = ajoutez `{ $name }` à `env` sous `[bash]` dans votre propre configuration si les commandes peuvent l'avoir, ou retirez-la de `env`
tool-program-outside = { $manifest } : `command` : `{ $program }` n'est pas dans le projet
tool-program-outside-hint = un outil d'un projet lance un programme du projet, ou un programme trouvé dans `PATH`
tools-too-many = { $directory } contient { $count } outils ; seuls les { $tools_max } premiers sont chargés
manifest-too-large = { $path } : { $size } octets, { $manifest_bytes_max } au plus sont permis
choose-another-name = choisissez un autre nom
tool-description-missing = doit dire ce que fait l'outil : le modèle ne voit rien d'autre
tool-name-invalid = `{ $name }` n'est pas formé de 1 à { $name_max } caractères parmi a-z, 0-9 et `_`
tool-is-built-in = `{ $name }` est un outil intégré
tool-stands-for-built-in = `{ $name }` est un autre nom de l'outil intégré `{ $meant }`
tool-stands-for = `{ $name }` est un autre nom de `{ $meant }`
tool-schema-not-object = doit être un objet JSON Schema
tool-schema-type = doit avoir `"type": "object"` : les arguments sont toujours un objet
tool-properties-not-object = `properties` doit être un objet
tool-required-not-names = `required` doit être une liste de noms
variable-invalid = `{ $name }` n'est pas un nom de variable ; indiquez des noms, pas des valeurs
between-1-and = doit être compris entre 1 et { $most }
program-missing = doit nommer un programme, par exemple ["./run.sh"]
contains-nul = contient un caractère NUL
program-not-executable = `{ $first }` n'est pas un fichier exécutable ; `chmod +x` le rend exécutable
tool-defined-twice = { $manifest } : l'outil `{ $name }` est déjà défini par { $earlier }
tool-defined-twice-hint = renommez ou supprimez l'un des deux
skills-not-used = les skills de `{ $root }` ne sont pas utilisés : { $why }
skills-folder-large = `{ $folder }` a plus de { $folder_entries_max } entrées ; toutes n'ont pas été examinées
skill-not-used = le skill de `{ $place }` n'est pas utilisé : { $why }
skill-name-unusable = le skill de `{ $place }` a un nom inutilisable ; le nom de son dossier est utilisé
skill-without-description = le skill `{ $skill_name }` de `{ $place }` n'a pas de description
skill-shadowed = le skill `{ $skill_name }` de `{ $place }` est écarté : `{ $kept }` porte le même nom et vient avant
skills-too-many = le skill `{ $skill_name }` est écarté : il y en a déjà { $skills_max }
supervisor-silent = il n'a pas répondu à temps
supervisor-without-report = il s'est terminé sans rapport
supervisor-lost = le superviseur de la commande a été perdu : { $how } ; { $ended } processus de la commande ont été terminés
supervisor-lost-hint = la commande a peut-être fait une partie de son travail ; elle ne doit ni tuer ni arrêter son processus parent
supervisor-not-started = impossible de lancer le superviseur `{ $program }` : { $error }
supervisor-not-started-hint = vérifiez que le répertoire de travail existe et qu'il reste des processus et des descripteurs de fichier
workspace-failed =
    { $what ->
        [open] impossible d'ouvrir l'espace de travail `{ $root }` : { $cause }
       *[resolve] impossible de résoudre l'espace de travail `{ $root }` : { $cause }
    }
worktree-failed =
    { $what ->
        [copy] impossible de copier `{ $path }` : { $cause }
        [describe] impossible de décrire `{ $path }` : { $cause }
        [find] impossible de trouver `{ $path }` : { $cause }
        [make] impossible de créer `{ $path }` : { $cause }
        [read] impossible de lire `{ $path }` : { $cause }
        [remove] impossible de supprimer `{ $path }` : { $cause }
       *[write] impossible d'écrire `{ $path }` : { $cause }
    }
git-change-unknown = git a décrit une modification d'une façon inconnue
worktree-no-repository = `{ $workspace }` n'est pas dans un arbre de travail git, on ne peut donc pas en créer un autre à partir de lui
worktree-no-repository-hint = exécutez-y `git init`, ou travaillez sans `isolation: worktree`
no-git-above = il n'y a pas de `.git` au-dessus
worktree-too-many-files = un arbre de travail de ce dépôt aurait { $count } fichiers
worktree-too-large = un arbre de travail de ce dépôt aurait plus de { $gib } Gio
worktree-too-much-hint = faites ignorer par git ce qui n'est pas du projet, ou travaillez sans arbre de travail
worktree-git-failed = `git { $what }` a échoué ({ $code }) : { $errors }
git-path-not-text = git a répondu par un chemin qui n'est pas du texte
git-not-found = le programme `git` est introuvable
git-not-run = git ne peut pas être exécuté : { $cause }
git-not-run-hint = installez git, ou travaillez sans arbre de travail
git-endless = git ne s'est pas terminé en { $seconds } s
apply-conflicts = rien n'a été appliqué, à cause de conflits dans { $conflicts }
apply-conflicts-more = rien n'a été appliqué, à cause de conflits dans { $conflicts } et { $more } autres
apply-conflicts-hint = les modifications sont dans { $place } : accordez les deux côtés là ou dans vos fichiers, puis appliquez de nouveau
conflict-gone = la tâche l'a modifié, et il n'est plus là
conflict-deleted = la tâche l'a supprimé, et il a été modifié
conflict-kind = les deux côtés ont changé sa nature
conflict-places =
    { $places ->
        [one] { $places } endroit a été modifié des deux côtés
       *[other] { $places } endroits ont été modifiés des deux côtés
    }
conflict-binary = les deux côtés l'ont modifié, et ce n'est pas du texte
conflict-repository = c'est un dépôt à part, qu'un patch ne contient pas
apply-broke-off =
    { $done ->
        [one] { $why } ; { $done } fichier a été appliqué avant
       *[other] { $why } ; { $done } fichiers ont été appliqués avant
    }
apply-broke-off-hint = appliquez de nouveau : ce qui est fait reste tel quel, le reste suit
git-no-object = git n'a pas d'objet { $name }
apply-protected = rien n'a été appliqué : la tâche a modifié des fichiers qui configurent des programmes ou contiennent des secrets : { $paths }
apply-protected-hint = regardez-les avec `posse tasks diff` ; `--protected` les applique aussi
workspace-failed-hint = l'espace de travail doit être un répertoire existant où vous pouvez entrer
openat2-missing = ce système ne peut pas ouvrir de fichiers en sécurité sous un répertoire (openat2 : { $cause })
openat2-missing-hint = les outils de fichiers exigent Linux 5.6 ou plus récent et un bac à sable qui permet openat2
