# Français. Le glossaire est dans core.ftl.

git-path-not-text = git a répondu par un chemin qui n'est pas du texte
git-change-unknown = git a décrit une modification d'une façon inconnue
worktree-no-repository = `{ $workspace }` n'est pas dans un arbre de travail git, on ne peut donc pas en créer un autre à partir de lui
worktree-no-repository-hint = exécutez-y `git init`, ou travaillez sans `isolation: worktree`
no-git-above = il n'y a pas de `.git` au-dessus
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
apply-broke-off =
    { $done ->
        [one] { $why } ; { $done } fichier a été appliqué avant
       *[other] { $why } ; { $done } fichiers ont été appliqués avant
    }
apply-broke-off-hint = appliquez de nouveau : ce qui est fait reste tel quel, le reste suit
git-no-object = git n'a pas d'objet { $name }
conflict-repository = c'est un dépôt à part, qu'un patch ne contient pas
apply-protected = rien n'a été appliqué : la tâche a modifié des fichiers qui configurent des programmes ou contiennent des secrets : { $paths }
apply-protected-hint = regardez-les avec `posse tasks diff` ; `--protected` les applique aussi
worktree-too-many-files = un arbre de travail de ce dépôt aurait { $count } fichiers
worktree-too-large = un arbre de travail de ce dépôt aurait plus de { $gib } Gio
worktree-too-much-hint = faites ignorer par git ce qui n'est pas du projet, ou travaillez sans arbre de travail

git-unreadable = il est illisible
git-missing = git n'est pas installé, ou pas dans le PATH
git-missing-hint = installez git 2.31 ou plus récent
git-not-started = il ne peut pas être lancé
git-too-slow = il a pris plus de { $seconds } s
git-failed = `git { $what }` a échoué : { $why }
review-no-repository = { $place } n'est pas dans un dépôt git
review-no-repository-hint = `posse review` regarde les changements d'un arbre de travail git : lancez-le dans un tel arbre
git-no-temporary = il n'y a pas de place pour un répertoire temporaire
review-base-unknown = `{ $base }` n'est pas un commit de ce dépôt
review-commit-unknown-hint = nommez un commit, par exemple `--commit HEAD~1`
review-path-unknown = `{ $path }` n'existe pas, et git ne connaît rien de ce nom
review-path-unknown-hint = les chemins comptent à partir du répertoire courant
review-base-unknown-hint = nommez une branche, une étiquette ou un commit, par exemple `--base main`
review-no-commit = il n'y a pas encore de commit à comparer
review-no-commit-hint = omettez `--base`
review-no-common-commit = `{ $base }` et HEAD n'ont aucun commit en commun
review-no-common-commit-hint = dans un clone superficiel, récupérez d'abord davantage d'historique

worktree-not-worked-on = impossible de travailler sur un arbre de travail
worktree-gone = l'arbre de travail de `{ $task }` n'existe plus
