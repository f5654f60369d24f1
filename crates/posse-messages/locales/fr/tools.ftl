# Français. Le glossaire est dans core.ftl.

count-binary-files =
    { $n ->
        [one] { $shown } fichier binaire
       *[other] { $shown } fichiers binaires
    }
count-bytes =
    { $n ->
        [one] { $shown } octet
       *[other] { $shown } octets
    }
count-directories =
    { $n ->
        [one] { $shown } répertoire
       *[other] { $shown } répertoires
    }
count-entries =
    { $n ->
        [one] { $shown } entrée
       *[other] { $shown } entrées
    }
count-files =
    { $n ->
        [one] { $shown } fichier
       *[other] { $shown } fichiers
    }
count-lines =
    { $n ->
        [one] { $shown } ligne
       *[other] { $shown } lignes
    }
count-matches =
    { $n ->
        [one] { $shown } correspondance
       *[other] { $shown } correspondances
    }
count-places =
    { $n ->
        [one] { $shown } endroit
       *[other] { $shown } endroits
    }
count-skills =
    { $n ->
        [one] { $shown } skill
       *[other] { $shown } skills
    }
bash-arguments-invalid = les arguments ne sont pas valides : { $why }
command-empty = `command` est vide
command-with-nul = `command` contient un caractère NUL, qu'aucun programme ne peut recevoir
command-too-long = `command` a { $length } octets, { $command_max } au plus sont possibles ; écrivez un script et exécutez-le
command-cancelled-before =
    { $what ->
        [tool] annulé avant le lancement de l'outil
       *[command] annulé avant le lancement de la commande
    }
command-without-time =
    { $what ->
        [tool] il ne reste plus de temps : l'outil n'a pas été lancé
       *[command] il ne reste plus de temps : la commande n'a pas été lancée
    }
nothing-printed = (aucune sortie)
standard-error = erreur standard :
standard-error-hidden = [{ $bytes } octets de l'erreur standard ne sont pas montrés]
odd-bytes = [{ $odd_bytes } octets montrés ne sont pas de l'UTF-8 ; ils figurent sous la forme \xNN]
command-timed-out =
    { $what ->
        [tool] délai dépassé : l'outil et tout ce qu'il avait lancé ont été arrêtés après { $ms } ms ; sortie jusque-là :
       *[command] délai dépassé : la commande et tout ce qu'elle avait lancé ont été arrêtés après { $ms } ms ; sortie jusque-là :
    }
command-lease-lost = arrêté : la tâche a perdu le droit d'écrire à cet endroit, ou son processus est resté muet trop longtemps. Ce qui était commencé peut être là ; lisez les fichiers avant de répéter quoi que ce soit
command-cancelled =
    { $what ->
        [tool] annulé : l'outil et tout ce qu'il avait lancé ont été arrêtés ; sortie jusque-là :
       *[command] annulé : la commande et tout ce qu'elle avait lancé ont été arrêtés ; sortie jusque-là :
    }
command-exit-code = code de sortie { $code }
command-signalled = terminé par le signal { $signal }
command-not-started =
    { $what ->
        [tool] l'outil n'a pas pu être lancé : { $why }
       *[command] la commande n'a pas pu être lancée : { $why }
    }
command-ending-unknown =
    { $what ->
        [tool] on ne sait pas comment l'outil s'est terminé
       *[command] on ne sait pas comment la commande s'est terminée
    }
background-stopped =
    { $what ->
        [tool] { $n ->
            [one] {"["}{ $n } processus d'arrière-plan a été arrêté à la fin de l'outil]
           *[other] {"["}{ $n } processus d'arrière-plan ont été arrêtés à la fin de l'outil]
        }
       *[command] { $n ->
            [one] {"["}{ $n } processus d'arrière-plan a été arrêté à la fin de la commande]
           *[other] {"["}{ $n } processus d'arrière-plan ont été arrêtés à la fin de la commande]
        }
    }
processes-survive = [{ $n } processus n'ont pas pu être arrêtés et tournent peut-être encore]
protected-appeared = [des fichiers protégés sont apparus entre-temps : { $paths }. Dis-le dans ta réponse : une personne doit les regarder avant qu'un programme les utilise]
protected-set-aside = [des fichiers protégés ont été créés à la racine de l'espace de travail, ce que les commandes ne peuvent pas faire, et portent maintenant un autre nom : { $paths }. Dis-le dans ta réponse]
old-string-empty = `old_string` est vide ; donnez le texte à remplacer, ou utilisez `write` pour créer un fichier
strings-are-the-same = `old_string` et `new_string` sont identiques, rien ne changerait
edit-no-file = `{ $path }` n'existe pas ; utilisez `write` pour le créer, ou `glob` pour trouver son nom
edit-too-large = `{ $path }` dépasse { $max }, trop grand pour cet outil
old-string-missing = `old_string` n'est pas dans `{ $path }` ; { $nearest }
old-string-ambiguous = `old_string` apparaît { $n } fois dans `{ $path }` ({ $lines }) ; ajoutez des lignes voisines pour en désigner une, ou activez `replace_all`
result-too-large = le résultat aurait { $size }, plus de { $max }
lines-listed = lignes { $listed }
lines-listed-more = lignes { $listed } et { $more } de plus
edited = `{ $path }` modifié : { $place }
also-replaced = aussi remplacé : { $lines } (numéros avant la modification)
hard-links = le fichier avait { $links } liens physiques ; seul ce nom a le nouveau contenu
lines-more = [{ $lines } de plus]
line-numbers-included = il commence par des numéros de ligne tels que `read` les montre ; ils ne font pas partie du fichier, retirez-les
only-white-space = ce n'est que de l'espace blanc ; copiez-le exactement comme `read` le montre
white-space-differs = mais la ligne { $line } n'en diffère que par l'espace blanc (espaces, tabulations, indentation, sauts de ligne). Le fichier contient à cet endroit :
case-differs = mais la ligne { $line } n'en diffère que par la casse ; copiez-la exactement comme `read` la montre
first-line-differs = sa première ligne est la ligne { $first } du fichier, mais la ligne { $differs } du fichier diffère de sa ligne { $own } ; relisez à partir de là
no-similar-text-shorter = aucun texte semblable n'a été trouvé ; prenez un extrait plus court et copiez-le exactement comme `read` le montre
no-similar-text = aucun texte semblable n'a été trouvé ; copiez-le exactement comme `read` le montre
tool-failed-inside = l'outil `{ $tool }` a échoué en interne ; c'est un défaut de l'outil, pas de l'appel
arguments-wrong = arguments incorrects pour `{ $tool }` : { $message } ; il accepte : { $fields }
no-file-matches = aucun fichier ne correspond à `{ $pattern }`
files-more = … { $more } de plus, modifiés moins récemment ; utilisez un motif plus strict ou un `path`
glob-length = le motif doit avoir entre 1 et { $pattern_bytes_max } octets
glob-with-parent = le motif contient `..` ; les fichiers hors de l'espace de travail ne peuvent pas être listés
glob-outside = le motif est hors de l'espace de travail ; les motifs sont relatifs à `{ $root }`
glob-invalid = le motif n'est pas un glob : { $cause }
regex-invalid =
    le motif n'est pas une expression régulière que cet outil comprend : { $cause }
    Échappez les caractères spéciaux par une barre oblique inverse pour les chercher littéralement ; une correspondance ne s'étend jamais sur plusieurs lignes
filter-invalid = `glob` n'est pas un glob : { $cause }
file-type-unknown = il n'y a pas de type de fichier `{ $kind }` ; utilisez un nom que ripgrep connaît (rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml ...), ou `glob` à la place
no-match = aucune correspondance pour `{ $pattern }`
matches-more-in = { $matches } de plus dans { $files }
more-files = { $files } de plus
files-more-with = { $files } de plus avec { $matches }
narrow-search = … { $more } ; affinez la recherche avec `path`, `glob` ou un motif plus strict
skipped = ignoré : { $files }
not-searched = recherche impossible dans { $files }
line-part = [octets { $from }-{ $to } sur { $size }]
cannot-list = impossible de lister `{ $path }` : { $cause }
entry-gone = (disparu)
entry-special = (tube, socket ou périphérique)
directory-empty = `{ $path }` est un répertoire vide
entries-more = … { $left_out } de plus ; utilisez `glob` avec un motif pour en voir une partie
entries-more-at-least = … au moins { $left_out } de plus ; utilisez `glob` avec un motif pour en voir une partie
tree-more = … { $left_out } de plus à cette profondeur ; indiquez un `path` ou une `depth` plus petite
tree-not-opened = { $closed } à la profondeur { $depth } non ouverts (marqués …)
output-left-out = [{ $left_out } octets sur { $total } omis]
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
path-protected = `{ $path }` est protégé : les fichiers qui configurent des programmes ou contiennent des secrets (ici `{ $name }`) ne sont pas écrits par des outils. Rien n'a été écrit. Dites dans votre réponse ce qu'il faudrait y changer, pour qu'une personne le fasse
limit-zero = `limit` vaut 0, aucune ligne ne pourrait être montrée ; omettez-le ou donnez au moins 1
cannot-read = impossible de lire `{ $path }` : { $cause }
file-empty = [`{ $path }` est un fichier vide]
file-binary = [`{ $path }` est un fichier binaire de { $size } ; il ne peut pas être montré comme texte]
offset-past-end = `offset` { $first } est au-delà de la fin : `{ $path }` a { $lines }
call-cancelled = l'appel a été annulé
line-cut = [ligne coupée : { $shown } octets sur { $total } montrés]
lines-remain = lignes { $first }-{ $last } sur { $total } montrées ; il reste { $lines } ({ $bytes })
bytes-remain = lignes { $first }-{ $last } montrées ; il reste { $bytes }
read-on-offset = { $remain } ; pour lire la suite : le même chemin avec offset { $next }
read-on = { $remain } ; pour lire la suite : {"{"}"path":{ $path },"offset":{ $next }{"}"}
crlf-kept = les lignes finissent par CRLF ; `edit` le conserve, écrivez des fins de ligne simples dans ses arguments
some-not-utf8 = certains octets ne sont pas de l'UTF-8 et sont montrés comme �
path-is-workspace = le chemin est l'espace de travail lui-même, qui est un répertoire ; nommez un fichier qu'il contient
path-is-link = `{ $path }` est un lien symbolique vers `{ $target }` ; rien n'a été écrit. Utilisez le chemin du fichier lui-même s'il est dans l'espace de travail
write-failed =
    { $what ->
        [create] impossible de créer un fichier à côté de `{ $path }` : { $cause } ; le fichier est inchangé
        [lock] impossible de verrouiller le répertoire de `{ $path }` : { $cause } ; le fichier est inchangé
        [replace] impossible de mettre le nouveau contenu à la place de `{ $path }` : { $cause } ; le fichier est inchangé
       *[write] impossible d'écrire `{ $path }` : { $cause } ; le fichier est inchangé
    }
changed-during-call = `{ $path }` a été modifié par quelqu'un d'autre pendant cet appel ; rien n'a été écrit. Relisez-le, puis refaites la modification sur son contenu actuel
not-confirmed = `{ $path }` a été écrit, mais le disque ne l'a pas confirmé : { $cause } ; lisez-le pour voir ce qu'il contient
changed-since = `{ $path }` a changé depuis que vous l'avez lu au tour { $turn } ; rien n'a été écrit. Relisez-le, puis refaites la modification sur son contenu actuel
not-read = `{ $path }` existe et vous ne l'avez pas lu dans cette exécution ; rien n'a été écrit. Lisez-le d'abord
skills-not-used = les skills de `{ $root }` ne sont pas utilisés : { $why }
skills-folder-large = `{ $folder }` a plus de { $folder_entries_max } entrées ; toutes n'ont pas été examinées
skill-not-used = le skill de `{ $place }` n'est pas utilisé : { $why }
skill-name-unusable = le skill de `{ $place }` a un nom inutilisable ; le nom de son dossier est utilisé
skill-without-description = le skill `{ $skill_name }` de `{ $place }` n'a pas de description
skill-shadowed = le skill `{ $skill_name }` de `{ $place }` est écarté : `{ $kept }` porte le même nom et vient avant
skills-too-many = le skill `{ $skill_name }` est écarté : il y en a déjà { $skills_max }
skills-without-description = autres skills, sans description : { $names }
skills-more = { $skills } de plus ; appelez avec un nom erroné pour voir les noms
no-skills = il n'y a pas de skills
skill-not-found = il n'y a pas de skill `{ $name }` ; il y a : { $names }
skill-files-more = … { $files } de plus
skill-folder = dossier `{ $folder }`
skill-folder-outside = dossier hors de l'espace de travail ; lisez ses fichiers avec `file` de cet outil
skill-other-files = [{ $place } ; autres fichiers :]
skill-left-out = [{ $left_out } sur { $total } omis ici]
skill-no-files = [{ $place } ; pas d'autres fichiers]
skill-file-too-large = `{ $path }` a plus de { $max }
supervisor-silent = il n'a pas répondu à temps
supervisor-without-report = il s'est terminé sans rapport
supervisor-lost = le superviseur de la commande a été perdu : { $how } ; { $ended } processus de la commande ont été terminés
supervisor-lost-hint = la commande a peut-être fait une partie de son travail ; elle ne doit ni tuer ni arrêter son processus parent
supervisor-not-started = impossible de lancer le superviseur `{ $program }` : { $error }
supervisor-not-started-hint = vérifiez que le répertoire de travail existe et qu'il reste des processus et des descripteurs de fichier
thought-empty = la réflexion est vide ; écrivez ce à quoi vous voulez réfléchir
verify-timed-out = délai dépassé après { $seconds } s
walk-cancelled = annulé avant la fin : le résultat est incomplet
walk-too-many = arrêté après { $max } : le résultat est incomplet ; indiquez un répertoire plus petit
walk-too-deep = { $closed } au-delà de { $depth_max } niveaux non parcourus ; indiquez un `path` plus profond
walk-unreadable = lecture impossible : { $entries }
walk-refused = omis car cette tâche ne peut pas le consulter : { $entries }
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
path-empty = le chemin est vide ; donnez un chemin relatif à l'espace de travail, ou `.` pour sa racine
path-with-nul = le chemin contient un caractère NUL, qu'aucun nom de fichier ne peut avoir
path-too-long = le chemin a { $bytes } octets ; le plus long permis en a { $path_bytes_max }
name-too-long = un nom du chemin a { $bytes } octets ; le plus long permis en a { $name_bytes_max }
path-with-parent = `{ $path }` contient `..`, ce qui n'est pas accepté ; écrivez le chemin depuis la racine de l'espace de travail `{ $root }`
path-outside = `{ $path }` est hors de l'espace de travail ; les chemins sont relatifs à `{ $root }`
path-is-directory = `{ $path }` est un répertoire ; utilisez l'outil `ls` ou `directory_tree` pour voir ce qu'il contient
path-not-regular = `{ $path }` n'est pas un fichier ordinaire (c'est un tube, un socket ou un périphérique)
place-unknown = impossible de savoir où se trouve `{ $path }` : { $cause } ; rien n'a été écrit
place-refused = `{ $path }` est en réalité `{ $place }` : { $why }
place-closed = `{ $place }` contient des clés ou des sessions de la personne, ou appartient à Posse ; aucun outil ne l'ouvre
link-leads-out = `{ $shown }` mène hors de l'espace de travail par un lien symbolique, ce qui est refusé ; seuls les fichiers sous `{ $root }` peuvent être utilisés
link-refused = `{ $shown }` est ou contient un lien symbolique qui ne peut pas être suivi ici (une boucle, un lien de /proc, ou le nom lui-même est un lien)
no-such-path = `{ $shown }` n'existe pas dans l'espace de travail ; utilisez `ls` ou `glob` pour trouver le bon nom (un lien symbolique sans cible compte comme absent)
part-not-directory = une partie de `{ $shown }` qui devrait être un répertoire n'en est pas un
is-directory = `{ $shown }` est un répertoire
no-permission = pas le droit d'ouvrir `{ $shown }`
path-too-long-here = `{ $shown }` est un chemin trop long
path-moving = `{ $shown }` n'a cessé d'être déplacé pendant l'ouverture ; réessayez
no-openat2 = openat2 manque à ce système, aucun fichier ne peut donc être ouvert en sécurité
no-space = il n'y a plus de place sur le disque pour `{ $shown }`
cannot-open = impossible d'ouvrir `{ $shown }` : { $other }
path-bytes = { $short }… ({ $bytes } octets)
content-too-large = le contenu a { $size } ; { $max } au plus peuvent être écrits en un appel
content-same = `{ $path }` a déjà exactement ce contenu ({ $size })
file-replaced = `{ $path }` remplacé ({ $size } ; avant : { $old })
file-created = `{ $path }` créé ({ $size })
size-and-lines = { $bytes }, { $lines }
sandbox-denied-top = [bac à sable { $tier } : sont fermés aux commandes les nouvelles entrées à la racine de l'espace de travail, .git, les fichiers protégés, le répertoire personnel et ce que la tâche ne peut pas écrire ; l'outil `write` crée des fichiers. Opérateur : docs/sandbox.md]
sandbox-denied = [bac à sable { $tier } : sont fermés aux commandes les fichiers protégés, le répertoire personnel et ce que la tâche ne peut pas écrire. Opérateur : docs/sandbox.md]
sandbox-no-network = [bac à sable { $tier } : les commandes n'ont pas de réseau ici. Opérateur : docs/sandbox.md]
sandbox-some-ports = [bac à sable { $tier } : le réseau des commandes est { $reach }, et les noms ne sont pas résolus. Opérateur : docs/sandbox.md]
