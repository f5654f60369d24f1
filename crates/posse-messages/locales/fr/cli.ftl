# Français. Le glossaire est dans core.ftl.

language-unknown = avertissement : il n'y a pas de langue `{ $unknown }` ; il y a : { $names }
many-errors =
    { $n ->
        [one] { $n } erreur
       *[other] { $n } erreurs
    }
many-files =
    { $n ->
        [one] { $n } fichier
       *[other] { $n } fichiers
    }
many-keys =
    { $n ->
        [one] { $n } clé
       *[other] { $n } clés
    }
many-tasks =
    { $n ->
        [one] { $n } tâche
       *[other] { $n } tâches
    }
many-tokens =
    { $n ->
        [one] { $n } token
       *[other] { $n } tokens
    }
many-tools =
    { $n ->
        [one] { $n } outil
       *[other] { $n } outils
    }
many-turns =
    { $n ->
        [one] { $n } tour
       *[other] { $n } tours
    }
many-warnings =
    { $n ->
        [one] { $n } avertissement
       *[other] { $n } avertissements
    }
runtime-not-started = l'environnement d'exécution ne peut pas démarrer
agents-not-trusted = { $untrusted } sans confiance : regardez-les avec `posse agents check`, puis laissez-les s'exécuter avec `posse trust`
warning = avertissement : { $text }
no-place-for-agents = il n'y a pas de place pour vos agents : HOME n'est pas définie
no-place-for-agents-hint = définissez HOME, ou omettez --user
exists-edit-it = il existe ; modifiez-le ou choisissez un autre nom
check-writable = vérifiez que vous pouvez y écrire et que le disque a de la place
agent-shadows = désormais il passe avant l'agent `{ $name }` de { $other }
agent-is-shadowed = ici il ne compte pas : l'agent `{ $name }` de { $other } passe avant
no-approvals = rien n'attend de réponse
approval-none-of-task = `{ $task }` n’attend aucune approbation
approvals-of-task = `{ $task }` attend plusieurs approbations : { $ids }
approvals-of-task-hint = `posse approvals list` les affiche
approvals-footer = posse approvals show ID · approve ID · deny ID
approval-other-hash = `{ $id }` concerne un autre appel que celui de ce hash
approval-now = { $id } : { $state }
approvals-watching = en attente de questions ; Ctrl-C termine
seen-everywhere = posse le voit dans tous les répertoires
seen-here = posse le voit dans ce répertoire et au-dessous
format-unknown = il n'y a pas de format `{ $format }`
export-excess = `{ $agent }` aurait davantage de droits dans le format { $format } : { $excess }
export-excess-hint = choisissez un autre format, ou écrivez-le quand même avec --force
nothing-overwritten = rien de ce qui existe n'est écrasé
export-lost = perdu : { $text }
export-read-as = { $format } le lit sous le nom { $file }
no-tools = aucun outil
chat-banner = { $model } · /help, /quit ou Ctrl-D · la conversation est `{ $session_id }`
chat-command-unknown = il n'y a pas de commande `{ $command }` et rien n'a été envoyé ; /help montre les commandes, et une ligne qui commence par une espace est toujours un message
chat-not-verified = les commandes de `verify` ne sont pas exécutées dans une conversation
chat-mode-not-kept = le mode du prochain message ne peut pas être conservé
chat-mode-names = les modes sont `/mode plan`, `/mode ask` et `/mode auto`
chat-resume-what = `--resume` sans tâche a besoin d’un terminal pour en choisir une
chat-resume-what-hint = nommez une tâche : `posse chat --resume ID`, ou prenez la dernière : `posse chat --continue`
chat-none = il n’y a pas de conversation de ce projet à reprendre
chat-none-hint = `posse chat` en commence une ; `posse chat --resume` montre celles d’autres projets avec Ctrl-A
chat-left = la conversation { $id } est conservée : posse chat --continue
chat-model-changed = { $model } répond à partir du message suivant
chat-needs-screen = `{ $command }` a besoin d’un terminal
chat-flag-fixed = `{ $flag }` ne peut pas être changé dans une conversation qui continue : elle garde ce avec quoi elle a commencé
chat-flag-fixed-hint = omettez `{ $flag }`, ou commencez une nouvelle conversation sans `--resume`
message-unreadable = le message suivant est illisible
mode-of-review = une revue ne fait que lire : son mode est toujours `plan`
context-list-hint = `posse context list` montre ce qu'il y a
context-version-hint = `posse context read` montre l'état actuel ; `--expect` prend cette version
no-snapshots = pas encore d'instantanés ; `posse context snapshot LABEL` en prend un
keys-not-there = absentes : { $names }
context-used = session { $session } · { $keys } · { $size }
input-not-text = l'entrée standard n'est pas lisible comme texte
screen-not-opened = le terminal ne peut pas être utilisé
end-resume = reprendre : posse tasks resume { $id }
end-try-again = réessayer : posse tasks resume { $id }
run-interrupted = interrompue ; posse tasks resume { $task } la continue avec tout ce qu’elle a délégué
task-left = { $id } continue : posse tasks watch { $id }
task-interrupted = { $signal } a mis fin à ce processus ; `{ $task }` est interrompue, pas annulée
task-interrupted-hint = `posse tasks resume { $task }` la reprend avec tout ce qu'elle a délégué
signals-unavailable = les signaux ne peuvent pas être reçus
goes-on-with-worker = { $left } se poursuit avec : posse worker --local --until-idle
schema-unsatisfied = ne satisfait pas le schéma : { $error }
in-doubt-call = en doute : { $call } (appel { $key }) a peut-être eu lieu, ou non
verify-failed = vérification échouée : { $command } · { $ending }
answer-is-empty = la réponse était vide
turn-limit-reached = limite de tours ({ $turns }) atteinte
file-written = { $file } écrit
check-writable-here = vérifiez que vous pouvez écrire ici et que le disque a de la place
init-next = ensuite : posse doctor, lisez l'agent et laissez-le s'exécuter avec `posse trust`, puis posse run "…"
task-empty = la tâche est vide
task-empty-hint = dites ce qu'il faut faire : posse run "Pourquoi le test de connexion est-il instable ?"
task-unreadable = la tâche ne peut pas être lue sur l'entrée standard
task-input-too-large = la tâche sur l'entrée standard dépasse 1 Mio
task-input-too-large-hint = mettez les détails dans un fichier de l'espace de travail et nommez-le dans la tâche
task-detached = continue en arrière-plan : posse tasks watch { $task } la suit, posse tasks cancel { $task } y met fin
session-deleted-told = le contexte partagé de { $session } est supprimé ; ses tâches et journaux restent
session-archived-told = { $session } est archivée : son contexte partagé peut être lu, mais pas modifié
no-sessions-here = il n'y a pas de sessions ici
run-starts-one = `posse run "…"` en commence une
no-sessions-yet = pas encore de sessions ; `posse run "…"` en commence une
task-is-driven = `{ $task }` est conduite par le processus { $process }
task-is-driven-hint = attendez-la, ou terminez d'abord ce processus
no-tasks-yet = pas encore de tâches ; `posse run "…"` en commence une
no-task-like-that = aucune tâche de ce genre
no-tasks-here = pas encore de tâches dans { $place } ; `--all` liste celles des autres projets
tasks-of-project = { $tasks } de { $place }
task-waits-for-approval = attend une approbation : posse approvals show { $approval }
many-subagents =
    { $n ->
        [one] 1 sous-agent
       *[other] { $n } sous-agents
    }
many-sessions =
    { $n ->
        [one] 1 session
       *[other] { $n } sessions
    }
column-state = ÉTAT
column-agent = AGENT
column-task = TÂCHE
column-tasks = TÂCHES
column-project = PROJET
column-turns = TOURS
column-cost = COÛT
column-model = MODÈLE
column-day = JOUR
column-input = ENTRÉE
column-cached = CACHE
column-output = SORTIE
column-about = OBJET
sessions-of-project = { $sessions } de { $place }
no-sessions-of-project = pas encore de sessions dans { $place } ; `--all` liste celles des autres projets
task-tool-gone = `{ $task }` avait reçu l'outil `{ $missing }`, qui n'existe plus
task-tool-gone-hint = `posse doctor` dans son espace de travail montre les outils présents et ce qui ne va pas avec les autres
result-unknown = `{ $id }` n'a pas de résultat `{ $key }`
result-unknown-hint = les résultats sont numérotés TURN.INDEX, par exemple 3.0
cancel-had-ended = elle était déjà terminée
cancel-not-yet = le processus { $process } a été prévenu et ne l'a pas encore terminée
cancel-too-late = elle s'est terminée avant de pouvoir être annulée
message-empty = le message est vide
message-queued = la tâche le lit avant son prochain tour
message-delivered = la tâche l’a lu, au tour { $turn }
resume-had-completed = `{ $task }` était déjà terminée : rien ne s’exécute, voici sa réponse
message-missed = trop tard, la tâche était terminée
question-none = `{ $task }` ne demande rien
nobody-drives = personne ne conduit `{ $id }` maintenant ; elle se poursuit avec : posse tasks resume { $id }
nothing-runs = aucune tâche de ce projet n'est en cours
screen-failed = l'écran a échoué
changes-kept-apart = les modifications de { $task } sont gardées à part : posse tasks diff { $task } les montre, posse tasks apply { $task } les fusionne
worktree-used-up = l'arbre de travail de `{ $task }` n'existe plus : il a été appliqué ou abandonné
worktree-used-up-hint = commencez une nouvelle tâche
patch-not-yet = il n'y a pas encore de patch de `{ $task }` ({ $path })
patch-not-yet-hint = il est écrit quand la tâche se termine
task-changed-nothing = `{ $task }` n'a rien modifié
undo-restored = { $path } rétabli
undo-removed = { $path } supprimé
undo-would-restore = { $path } serait rétabli
undo-would-remove = { $path } serait supprimé
undo-nothing = { $path } est déjà comme avant
undo-kept = { $path } conservé : { $why }
undo-apart = `{ $task }` a travaillé dans son propre arbre de travail, qui n'existe plus
patch-not-written = le patch ne peut pas être écrit
changes-applied-before = ce que `{ $task }` a modifié a déjà été appliqué
change-written = écrit     { $name }
change-merged = fusionné  { $name }
changes-applied = appliqué dans { $origin } ; le patch est conservé, l'arbre de travail a été supprimé
patch-removed = le patch de `{ $task }` a été supprimé ; ce qui a été appliqué reste
changes-removed = ce que `{ $task }` a modifié a été supprimé
task-without-worktree = `{ $task }` n'a pas d'arbre de travail
task-without-worktree-hint = seules les tâches avec `isolation: worktree` en ont un, jusqu'à ce qu'il soit abandonné ; un arbre sans modification est supprimé
task-at-work =
    { $what ->
        [apply] `{ $task }` est au travail : ses modifications ne peuvent pas être appliquées
        [undo] `{ $task }` est au travail : ses modifications ne peuvent pas être annulées
       *[discard] `{ $task }` est au travail : ses modifications ne peuvent pas être abandonnées
    }
task-at-work-hint = attendez-la
task-was-interrupted =
    { $what ->
        [apply] `{ $task }` a été interrompue : ses modifications ne peuvent pas être appliquées
       *[discard] `{ $task }` a été interrompue : ses modifications ne peuvent pas être abandonnées
    }
task-was-interrupted-hint = poursuivez-la avec `posse tasks resume { $task }`, ou terminez-la avec `posse tasks cancel { $task }`
no-project-to-trust = il n'y a pas ici de projet à qui faire confiance
no-project-to-trust-hint = allez dans le répertoire d'un projet
project-without-agents = ce projet n'a pas d'agents
extends-untrusted = `{ $name }` ne s'exécute pas encore : il étend { $path }, qui n'a pas la confiance
trust-inside-task = ceci est une commande d'une tâche de Posse, et seule une personne peut faire confiance à des fichiers
trust-inside-task-hint = demandez à la personne d'exécuter `posse trust`
worker-gave-up = impossible de poursuivre { $tasks }
worker-gave-up-hint = les lignes ci-dessus disent pourquoi ; `posse tasks resume` ou `posse tasks cancel` règle chacune
no-leases = personne ne détient de réservation d'écriture ; les tâches avec `write_paths` en ont une tant qu'elles s'exécutent
lease-not-held = `{ $task }` ne détient aucune réservation d'écriture
lease-not-held-hint = `posse leases` montre qui en détient une
lease-in-use = `{ $task }` est conduite par le processus { $process } et écrit peut-être { $paths }
lease-in-use-hint = attendez-la, ou terminez-la avec `posse tasks cancel { $task }` ; `posse leases release { $task } --force` lui retire la réservation pendant qu'elle travaille
lease-taken-away = ATTENTION : `{ $task }` est au travail. Ses écritures dans { $paths } sont refusées désormais, sauf si elle obtient de nouveau la réservation ; une commande de sa part est arrêtée en une ou deux secondes
lease-released = { $paths } de `{ $task }` libéré
worker-stopped = arrêté ; le prochain worker poursuivra ce qui était en cours
worker-idle = rien à poursuivre : aucune tâche n'est interrompue ni n'attend un worker
worker-not-started = aucun worker n'a pu être lancé en arrière-plan
not-taken-up = non reprise
file-too-large = { $path } dépasse 1 Mio
plain-note = note : { $note }
directory-unreadable = le répertoire courant est illisible
stdout-failed = erreur : impossible d'écrire sur la sortie standard : { $why }
answer-not-written = la réponse ne peut pas être écrite sur la sortie standard : { $why }
error-because = car : { $cause }
error-hint = conseil : { $hint }
tokens-of = { $tokens } sur { $most } tokens
turns-shown =
    { $n ->
        [one] { $n } tour
       *[other] { $n } tours
    }
state-error = erreur
row-hidden = caché
agent-next = ensuite : remplissez-le et regardez-le avec `posse agents check { $name }`
agent-next-trust = ensuite : remplissez-le, regardez-le avec `posse agents check { $name }`, puis `posse trust`
trusted-before = déjà de confiance
trusted-now = désormais de confiance
trusted-not-ours = appartient à un autre utilisateur : sans confiance
trusted-not-broken = comporte des erreurs : sans confiance
project-not-trusted-any-more = { $project } n'a plus la confiance
project-was-not-trusted = { $project } n'avait pas la confiance
init-project = lu par chaque commande posse de ce projet
init-agent = un agent à essayer : posse run --agent reviewer "…"
init-written = écrit
init-exists = existe, laissé tel quel
stopped-after = { $reason } après { $seconds }s
continue-with = continuer : posse tasks resume { $id }{ $more }      texte complet : posse tasks show { $id }
resumes-with = reprend aussi ce qui a été arrêté avec elle : { $tasks }
many-trees =
    { $n ->
        [one] { $n } arbre
       *[other] { $n } arbres
    }
gc-no-rule = rien ne dit quelles tâches supprimer
gc-no-rule-hint = `posse gc --older-than 30d`, ou définissez `max_age` ou `max_size` sous `[store]` dans votre configuration
gc-needs-rewrite = l'espace est libre pour de nouvelles tâches, mais pas encore rendu : ce stockage doit être réécrit une fois, ce qui retarderait les tâches en cours. Relancez `posse gc` quand il n'y en a aucune
gc-not-started = les anciennes tâches n'ont pas été supprimées : { $why }
task-inside-tree = `{ $task }` fait partie d'un arbre, et un arbre est supprimé en entier
task-inside-tree-hint = `posse tasks delete { $root }` le supprime en entier
stdin-silent = l'entrée standard est un tube sur lequel rien n'est venu en 1 s : la tâche commence sans elle. Pour l'attendre, terminez la commande par `-` : posse run "Qu'est-ce qui a échoué ?" -
stdin-unreadable = l'entrée standard ne peut pas être lue
session-none-of-project = aucune session de ce projet
session-none-of-project-hint = `posse sessions list` montre celles d'autres projets, et `--session ID` en désigne une
chat-help =
    /help   montre ceci
    /mode   plan, ask ou auto : ce que les prochains messages peuvent changer
    /model  un autre modèle pour les prochains messages, sous la forme provider:model
    /quit   termine la conversation, comme Ctrl-D ; on la reprend avec `posse chat --resume`
    Ctrl-C  arrête une réponse
    Tout le reste est envoyé au modèle.
demo-banner = Démonstration de Posse · modèle scénarisé, sans clé, sans réseau · état dans { $state }
demo-end =
    Ses tâches : posse tasks list --state { $state }

    C'était l'enregistrement d'un modèle. Avec un vrai :
      export ANTHROPIC_API_KEY=…      (ou OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST)
      posse run "Pourquoi le test de connexion est-il instable ?"
demo-shared-context = contexte partagé : { $entries }
config-changed = `{ $key }` modifié dans { $file }
config-absent = (absent)
config-unchanged = rien n'a changé dans { $file }
config-editor-failed = l'éditeur `{ $editor }` a échoué
config-editor-hint = définissez VISUAL ou EDITOR
config-edit-kept = rien n'a changé ; votre texte est dans { $file }
config-default = `{ $key }` n’est pas défini ; voici la valeur par défaut
config-no-default = `{ $key }` n’est pas défini et n’a pas de valeur par défaut fixe
config-edit-no-terminal = l’éditeur `{ $editor }` a besoin d’un terminal
config-edit-no-terminal-hint = `posse config path` montre les fichiers, `posse config set` change un réglage
models-none = aucun fournisseur n'est configuré
models-none-hint = `posse setup` en configure un
models-column-model = MODÈLE
models-column-context = CONTEXTE
models-column-input = ENTRÉE/M
models-column-output = SORTIE/M
models-note = modèles : { $n } · prix en dollars par million de tokens, de la table intégrée ou de `[prices]` ; `$?` est inconnu, `*` le modèle par défaut
setup-no-model = Aucun modèle n'est configuré.
setup-which-provider = Quel fournisseur ?
setup-ask-key = Clé pour { $provider } :{" "}
setup-ask-url = URL de base :{" "}
setup-ask-model = Modèle :{" "}
setup-models = modèles : { $names }
setup-answered = ✓ réponse en { $seconds } s · { $models } modèles · par défaut { $model }
setup-stored = ✓ enregistrée dans { $file } (vous seul pouvez la lire)
setup-configured = ✓ enregistré dans { $file }
setup-next = `posse` lance une conversation ; `posse demo` montre une délégation complète sans clé
setup-with-config = `posse setup` modifie votre propre configuration et n'accepte pas --config
setup-needs-provider = sans terminal, nommez le fournisseur
setup-needs-provider-hint = posse setup anthropic < key.txt
setup-needs-url = indiquez l'adresse du serveur avec --base-url
setup-needs-key = aucune clé pour { $provider } n'est arrivée sur l'entrée standard
usage-did-you-mean = vouliez-vous dire `{ $name }` ?
usage-values = il y a : { $names }
man-pages-written = les pages de manuel sont dans { $directory }
review-nothing = aucun changement : rien à relire
review-nothing-within = aucun changement dans ce qui est nommé : rien à relire
review-nothing-since = aucun changement depuis `{ $base }` : rien à relire
review-nothing-since-within = aucun changement depuis `{ $base }` dans ce qui est nommé : rien à relire
review-nothing-staged = rien n'est indexé : rien à relire
review-nothing-commit = le commit `{ $commit }` ne change rien : rien à relire
key-was-deleted = supprimé : { $key }
context-wait-over = le temps est écoulé : rien n'a été écrit ni supprimé
cost-no-name = (sans réponse)
cost-total = total
cost-unpriced = aucun prix connu pour { $tokens } : ajoutez-le sous `[prices]` dans votre configuration

## commands/mcp.rs

mcp-no-pipes = l'entrée et la sortie standard sont inutilisables
serve-listening = à l'écoute sur { $url }
serve-beyond-loopback = { $address } est accessible depuis d'autres machines, et rien ne chiffrerait les jetons
serve-beyond-loopback-hint = donnez `--tls-cert` et `--tls-key`, ou placez devant un proxy avec TLS et dites `--behind-proxy --public-url https://…`
serve-ending = le serveur s'arrête
public-url-invalid = `{ $url }` n'est pas une adresse comme https://posse.example
token-shown-once = le jeton `{ $name }` ({ $scopes }) n'est affiché que maintenant
token-unknown = il n'y a pas de jeton `{ $name }`
token-unknown-hint = `posse tokens list` montre ceux qui existent
token-revoked = le jeton `{ $name }` est révoqué
no-tokens = il n'y a pas de jetons ; `posse tokens add NAME` en crée un
login-link-once = le lien fonctionne une fois, pendant dix minutes
column-name = NOM
column-kind = TYPE
column-scopes = DROITS
column-expires = EXPIRE
mcp-listening = à l'écoute sur http://{ $address }{ $path } · jeton : { $place }
mcp-handed-over = tâches qui continuent dans leur propre processus : { $count }
mcp-install-where = pour { $host }, dans { $file } :
mcp-key-offer = la plupart des hôtes ne transmettent pas la clé de { $variable }. La ranger dans { $file }, lisible par vous seul ? [Y/n]
mcp-key-declined = aucune clé n'a été rangée ; mettez-la dans { $file } et nommez ce fichier comme `api_key_file` dans votre configuration
mcp-key-not-stored = la clé de { $variable } n'a pas été enregistrée, et la plupart des hôtes ne la transmettent pas : ajoutez --store-key pour l'enregistrer pour vous seul
mcp-key-stored = la clé est maintenant dans { $file }, lisible par vous seul, et { $config } la nomme : la plupart des hôtes ne transmettent pas leur environnement aux serveurs
mcp-key-by-hand = la plupart des hôtes ne transmettent pas leur environnement aux serveurs : mettez la clé dans { $file } et définissez `api_key_file` sous `[providers.{ $provider }]` dans votre configuration
mcp-install-there = { $file } nomme déjà `posse` ; rien n'a été changé
mcp-doctor-answers = répond à { $method } en { $millis } ms
mcp-doctor-tools = outils : { $names } (environ { $tokens } jetons)
mcp-doctor-agents = agents : { $names }
mcp-doctor-no-agents = tel qu'un hôte le lance, aucun agent n'est utilisable : { $why }
mcp-doctor-no-agents-hint = la plupart des hôtes ne transmettent pas leur environnement : indiquez un modèle et un `api_key_file` dans la configuration
mcp-writing-advice = une personne peut laisser les tâches écrire : `posse mcp --write PATHS` (par exemple `'src/**'`, ou `'**'` pour tout), `--allow TOOLS`, ou `write` sous `[mcp]` dans la configuration
mcp-doctor-rights = outils des tâches : { $names }
mcp-doctor-writes = les tâches peuvent écrire : { $paths }
mcp-writes-nothing = les tâches peuvent lire et non écrire ; { $advice }
files-changed = { $files } avec des modifications : posse tasks diff { $task } les montre
changes-more = et { $n } de plus

## commands/chat/screen.rs

chat-no-screen = le terminal ne convient pas à une conversation
story-more = posse tasks show { $task } --turn N montre un tour, --text toute la réponse
turn-unknown = `{ $id }` n'a pas de tour { $turn } ; elle en a { $turns }
turn-unknown-hint = `posse tasks show { $id }` les énumère
answer-none-yet = `{ $task }` n'a pas encore de réponse
store-only-read = avertissement : le magasin est ouvert en lecture seule : { $why }
edited-by =
    { $n ->
        [one] { $task } { $agent }, tour { $turns }
       *[other] { $task } { $agent }, tours { $turns }
    }
doctor-no-terminal = aucun : la sortie est en lignes
doctor-colors = 16 couleurs
doctor-no-colors = sans couleurs
doctor-ascii = marques ASCII
doctor-no-room = trop petit pour les écrans : la sortie est en lignes
doctor-tmux-escape = Esc attend { $millis } ms ; dans tmux.conf : set -sg escape-time 10
doctor-tmux-unasked = tmux ne dit pas combien de temps Esc attend
