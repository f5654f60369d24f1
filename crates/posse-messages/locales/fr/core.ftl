# Français. Glossaire : task = tâche, agent = agent, grant = droit, budget = budget, session = session,
# shared context = contexte partagé, key = clé, value = valeur, tool = outil, call = appel, turn = tour, run = exécution,
# snapshot = instantané, workspace = espace de travail, store = stockage, journal = journal, model = modèle.
# Les noms de champs, d'actions, d'outils et de commandes ne sont pas traduits.

depends-on-unknown = `{ $unknown }` dans depends_on n'est pas une tâche de cette session
depends-on-unknown-hint = une tâche ne peut dépendre que de tâches lancées avant elle
open-tasks-limit = { $open_max } tâches sont en cours ou non récupérées, c'est le maximum (`[session] max_open_tasks`)
open-tasks-limit-hint = récupérez ou annulez-en d'abord ; `list_tasks` les affiche
tasks-running-limit =
    { $running ->
        [one] { $running } tâche est déjà en cours, c'est le maximum (`[session] max_running`)
       *[other] { $running } tâches sont déjà en cours, c'est le maximum (`[session] max_running`)
    }
tasks-running-limit-hint = récupérez une tâche terminée ou attendez-en une, ou lancez avec `queue: true`
task-still-running = `{ $id }` est encore en cours
task-waits-for = `{ $id }` attend { $waits_for }
task-waits-for-place = `{ $id }` attend une place
task-waits-for-lease = `{ $id }` attend que ses chemins d'écriture soient libres
collect-later-hint = faites autre chose et récupérez-la plus tard
task-not-tracked = aucune tâche `{ $shown }` n'est suivie ici
task-never-spawned = elle n'a jamais été lancée dans cette session
task-already-collected = already_collected : `result` garde le texte complet
key-invalid = `{ $key }` n'est pas une clé
key-shape-hint = utilisez de 1 à 64 caractères parmi a-z, 0-9 et `_`, avec au plus un préfixe avant un deux-points, comme `inv:findings`
name-shape-hint = utilisez de 1 à 64 caractères parmi a-z, 0-9 et `_`
label-invalid = `{ $label }` n'est pas un nom d'instantané
value-is-large = la valeur a environ { $tokens } tokens sur { $value_tokens_max } au plus ; condensez-la davantage
value-too-large = la valeur a environ { $tokens } tokens, la limite est { $value_tokens_max }
value-too-large-hint = condensez-la ou répartissez-la sur plusieurs clés
context-full = les autres clés occupent { $used } tokens, cette valeur en a { $tokens }, et une session en contient au plus { $total_tokens_max }
context-keys-full = la session a déjà { $keys } clés et ne peut en avoir davantage
snapshot-exists = il existe déjà un instantané `{ $label }`
snapshot-exists-hint = choisissez un autre nom
snapshots-full = la session a déjà { $snapshots_max } instantanés
session-archived = la session `{ $session }` est archivée
session-archived-hint = elle peut être lue, mais pas modifiée. Une nouvelle exécution, ou le serveur MCP une fois redémarré, a une nouvelle session
session-context-deleted = le contexte partagé de la session `{ $session }` a été supprimé
session-context-deleted-hint = continuez sans lui. Une nouvelle exécution, ou le serveur MCP une fois redémarré, a une nouvelle session
session-not-found = il n'y a pas de session `{ $session }`
session-not-found-hint = `posse sessions list` montre celles qui existent
session-id-invalid = `{ $session }` n'est pas un identifiant de session
session-id-invalid-hint = utilisez de 1 à 64 caractères parmi a-z, A-Z, 0-9, `_` et `-`
key-not-found = il n'y a pas de clé `{ $key }`
key-not-found-hint = `list_keys` montre celles qui existent
snapshot-not-found = il n'y a pas d'instantané `{ $label }`
snapshot-not-found-hint = `posse context snapshot` montre ceux qui existent
version-conflict = `{ $key }` a maintenant la version { $version }, écrite par { $written_by }
version-conflict-hint = lisez-la, reprenez ce qui a changé et écrivez avec cette version comme `expected_version`
version-conflict-missing = `{ $key }` n'existe pas actuellement ; sa version est 0
version-conflict-missing-hint = écrivez avec `expected_version` 0 pour la créer
context-full-hint = supprimez ce qui ne sert plus ou écrivez des valeurs plus courtes
keys-too-many = `keys` a plus de { $keys_max } clés
versions-too-few = `versions` vaut au moins 1
ttl-out-of-range = `ttl_s` est compris entre 1 et { $ttl_s_max } secondes
ttl-out-of-range-hint = omettez-le si la valeur doit rester
agent-name-invalid = `{ $name }` n'est pas un nom d'agent
agent-name-invalid-hint = utilisez de 1 à 64 caractères parmi a-z, 0-9, `_` et `-`
approval-unreadable = une demande d'accord du stockage est illisible
approval-closed = on ne peut pas répondre à `{ $id }` : { $why }
approvals-list-hint = `posse approvals list` montre ce qui attend une réponse
approval-was-answered = une réponse a déjà été donnée ({ $state }, { $by })
approval-overdue = son délai est écoulé et la réponse par défaut compte
approval-task-ended = sa tâche est terminée
approval-not-allowing = `{ $id }` ne permet pas l'appel : son état est { $state }
approval-mismatch = `{ $id }` concerne un autre appel que celui-ci
approval-mismatch-hint = `posse approvals show` montre de quoi il s'agit, avec son hash
approval-wants = { $agent } veut appeler `{ $tool }` : { $why }
approval-about = tâche { $way } · appel { $key } · demande { $id }
approval-bytes = { $bytes } octets · sha256 { $hash }
approval-covers = une réponse pour plus que cet appel couvre : { $covers }
journal-without-start = un journal doit commencer par le début de sa tâche
record-unreadable = un enregistrement du journal est illisible
write-path-empty = le chemin d'écriture `{ $shown }` est vide
write-path-too-long = le chemin d'écriture `{ $shown }` est trop long
write-path-control-character = le chemin d'écriture `{ $shown }` contient un caractère de contrôle
write-path-not-relative = le chemin d'écriture `{ $shown }` n'est pas relatif à l'espace de travail
write-path-goes-up = le chemin d'écriture `{ $shown }` contient `..`
write-path-hint = les chemins d'écriture sont des globs sous l'espace de travail, comme `src/**` ou `docs/*.md`
write-paths-too-many = { $count } chemins d'écriture, c'est plus que les { $paths_max } permis
write-paths-too-many-hint = nommez des répertoires plutôt que des fichiers
lease-conflict = Impossible d'obtenir les verrous de fichiers. Conflits : { $places }
lease-conflict-hint = { $holders } ; attendez qu'elle soit terminée ou choisissez d'autres chemins
lease-holder = `{ $task }` détient { $paths }
lease-after-end = `{ $task }` est terminée et ne peut pas détenir de réservation d'écriture
tool-pattern-invalid = `{ $pattern }` ne désigne aucun outil : { $why }
tool-pattern-invalid-hint = écrivez un nom comme Read, un motif comme mcp__github__* ou un appel comme Bash(git *)
pattern-empty = il est vide
pattern-too-long = il est trop long
pattern-control-character = il contient un caractère de contrôle
pattern-not-closed = la parenthèse n'est pas fermée
pattern-name-invalid = un nom se compose de lettres, de chiffres, de `_`, `-`, `.`, `/` et `*`
pattern-no-name = il n'y a pas de nom entre les parenthèses
journal-two-starts = un journal a deux débuts
verify-too-many = il y a { $count } commandes de vérification, { $commands_max } au plus sont exécutées
verify-too-many-hint = regroupez-les dans un script
verify-command-invalid = `{ $shown }` n'est pas une commande de vérification : elle est vide, contient un NUL ou est trop longue
verify-command-invalid-hint = une commande a de 1 à { $command_bytes_max } octets
verify-not-allowed = le résultat ne peut pas être vérifié avec `{ $shown }` : { $why }
verify-not-allowed-hint = les commandes de vérification ne sont exécutées que pour qui peut utiliser `bash` : autorisez-le (`--allow bash`) ou omettez `verify`
hosts-too-many = un réseau a au plus 1000 hôtes
host-invalid = `{ $shown }` ne désigne aucun hôte : { $why }
host-invalid-hint = écrivez un hôte comme docs.rs, ou *.docs.rs pour ceux au-dessous, sans `https://`
not-a-port = ce n'est pas un port
below-a-number = il n'y a rien au-dessous d'un nombre
audience-pattern-hint = nommez les participants comme dans `written_by`, par exemple `subagent:researcher:*` ; `*` désigne tout le monde
audience-too-many = `{ $name }` a plus de { $patterns_max } motifs
audience-pattern-invalid = `{ $pattern }` dans `{ $name }` n'est pas un motif de participants
key-not-readable = vous ne pouvez pas lire `{ $key }`
key-not-writable = vous ne pouvez ni écrire ni supprimer `{ $key }`
key-denied-hint = continuez sans elle, ou demandez à qui vous a délégué ; utilisez une autre clé pour ce que vous avez trouvé
keys-empty = `keys` est vide
keys-empty-hint = nommez au moins une clé à attendre
known-version-stray = `known_versions` a `{ $key }`, qui n'est pas parmi `keys`
wait-out-of-range = `timeout_s` est compris entre 1 et { $wait_s_max }
run-incomplete = l'exécution n'a pas abouti : { $why }

## grant.rs

agent-exposed = il peut lire des données privées (`{ $looks }`), lit des textes non fiables et peut envoyer des données (`{ $reaches }`) : une instruction injectée pourrait faire fuiter des données ; donnez l'un d'eux à un autre agent
