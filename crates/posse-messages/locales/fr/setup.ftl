# Messages de `posse-setup`.

mode-plan = plan · lit seulement
mode-ask = ask · demande avant chaque modification et chaque commande
mode-ask-edits = ask · demande avant chaque modification
mode-auto = auto · modifications et commandes sans demander
mode-auto-edits = auto · modifications sans demander
mode-no-terminal = il n'y a pas de terminal : --mode auto modifie et exécute des commandes
mode-no-screen = ce terminal ne peut pas demander (dumb, ou plus petit que 40×8) : --mode auto modifie et exécute des commandes
mode-bubblewrap = bac à sable bubblewrap, { $network }
mode-bubblewrap-closed = bac à sable bubblewrap, { $network } ; `sandbox.top` est fermé
mode-landlock = bac à sable Landlock, { $network } ; les commandes ne créent rien à la racine de l'espace de travail (installez bubblewrap)
mode-unconfined = les commandes ne sont pas confinées
mode-no-network = pas de réseau
mode-network = réseau { $reach }
mode-sandbox-off = pas de commandes : `sandbox.tier` vaut `off` (--allow bash les exécute sans confinement)
mode-commands-denied = pas de commandes : la configuration les refuse
mode-no-sandbox = pas de commandes : rien ne peut les confiner ici ; installez bubblewrap 0.8 (`posse doctor` dit pourquoi)
mode-plan-allows-no = `{ $tool }` modifie quelque chose, et le mode `plan` ne fait que lire
mode-plan-allows-no-hint = utilisez --mode ask ou --mode auto, ou retirez --allow
temperature-range = un nombre de 0 à 2
private-address-invalid = `{ $raw }` n'est pas une adresse comme `127.0.0.1:8080`
hooks-too-many = { $most } hooks au maximum sont permis
project-cannot-set = { $path } : un projet ne peut pas fixer `{ $key }`
project-cannot-script = { $path } : `{ $key }` ne peut pas être un modèle `scripted:` dans un projet
project-cannot-hint = mettez-le dans la configuration de l'utilisateur, ou passez `--config { $path }` si vous faites confiance à ce fichier
foreign-project-file = { $path } appartient à un autre utilisateur et n'est pas lu ; `--config { $path }` le lit
file-unreadable = { $path } est illisible
file-unreadable-hint = vérifiez le chemin et ses droits
not-a-price = { $path } : `prices."{ $model }"` : { $wrong } n'est pas un prix
session-tools-invalid = `session.tools` : { $why }
no-place-for-tasks = il n'y a pas d'endroit où garder les tâches : HOME n'est pas définie
no-place-for-tasks-hint = définissez HOME, ou indiquez un répertoire avec --state
effort-invalid = doit être low, medium, high ou max
dollars-invalid = un montant en dollars américains est supérieur à zéro, par exemple 0.50
no-config-directory = il n'y a pas de répertoire pour la configuration : ni HOME ni XDG_CONFIG_HOME n'est défini
tool-broken = l'outil `{ $name }` est inutilisable : { $why }
config-not-a-table = `{ $key }` est une valeur, pas une table
config-key-invalid = `{ $key }` n'est pas le nom d'un réglage
config-key-hint = écrivez-le avec des points, comme `limits.max_turns` ; entre guillemets une partie avec d'autres caractères
config-secret = `{ $key }` mettrait un secret dans la configuration
config-secret-hint = `posse setup` enregistre une clé dans un fichier que vous seul pouvez lire ; `api_key_env` nomme une variable
config-not-set = `{ $key }` n'est pas défini
config-list-hint = `posse config list` montre ce qui est défini
span-range = il faut de 1 seconde à { $most }
posse-inside-posse = ce Posse a été lancé par une tâche qui ne peut pas déléguer
posse-inside-posse-hint = faites le travail dans la tâche elle-même, ou déléguez depuis la tâche au-dessus
topic-terminal = terminal
agent-or-file-unknown = aucun agent ni fichier d'agent ne s'appelle `{ $unknown }`
agents-list-hint = `posse agents list` montre ce qu'il y a
standing-broken = sans confiance, et ne peut pas s'exécuter en l'état
standing-not-trusted = sans confiance : `posse trust` le laisse s'exécuter
standing-not-ours = appartient à un autre utilisateur et ne peut recevoir la confiance
field-mapped = converti : { $into }
field-ignored = ignoré : { $why }
costs-in-list = { $tokens } dans une liste d'agents
hidden-from-models = les modèles ne le voient pas ; une personne peut le nommer avec --agent
costs-when-listed = { $tokens } chaque fois que les agents sont énumérés à un modèle
doctor-no-configuration = aucune ; `posse init` en écrit une, la vôtre serait { $user }
doctor-no-keys = aucune dans l'environnement
doctor-key-unreadable = { $file } est illisible ou vide ; `posse setup` enregistre une clé
doctor-key-wins = { $file } (prime sur { $variable })
doctor-key-none = sans clé
doctor-model-not-asked = { $model }, non interrogé (--online interroge)
doctor-answered = { $model } a répondu en { $seconds } s · sa clé liste { $models } modèles
doctor-answered-unlisted = { $model } a répondu en { $seconds } s · ses modèles ne sont pas listés : { $why }
doctor-lists-nothing = { $provider } ne liste aucun modèle, aucun n'a donc été interrogé
doctor-confinement = fichiers : chemins de l'espace de travail vérifiés par le noyau · commandes : { $commands }
doctor-mode = dans un terminal { $here }, sans { $elsewhere }
doctor-unprotected = {" "}· non protégé : { $names } (`sandbox.unprotected`)
doctor-approvals-default = appels sur lesquels les fichiers d'agents interrogent
doctor-approvals-unattended = refusés ici ; à un terminal, vous êtes interrogé
doctor-approvals-listed = les appels de `approvals.allow` s'exécutent sans demander, tous les autres sont refusés
doctor-approvals-deny = refusés sans demander
doctor-approvals-ask = vous êtes interrogé ; { $default } après { $seconds } s sans réponse
doctor-sandbox-network = réseau : { $network }
doctor-top-open = l'espace de travail est modifiable sauf les noms protégés
doctor-top-closed = rien de nouveau à la racine de l'espace de travail (bubblewrap l'ouvre)
doctor-sandbox-hint = ou mettez `tier = "off"` sous `[sandbox]` dans la configuration de l'utilisateur
doctor-sandbox-off = (`sandbox.tier` vaut `off`)
doctor-only-with-allow = seulement avec --allow : { $names }
doctor-delegation =
    profondeur { $depth } · jusqu'à { $running_max ->
        [one] { $running_max } tâche en cours
       *[other] { $running_max } tâches en cours
    } par délégant, { $beyond } · jusqu'à { $open_max ->
        [one] { $open_max } tâche ouverte
       *[other] { $open_max } tâches ouvertes
    }
doctor-limit-rejects = les autres sont refusées
doctor-limit-queues = les autres attendent dans la file
doctor-not-trusted = { $untrusted } sans confiance : posse trust
doctor-agents = { $usable } sur { $all } utilisables
doctor-agents-check = posse agents check renseigne sur chacun
doctor-to-delegate = { $parts } · { $total } pour déléguer
doctor-store = { $path } · { $tasks } · { $size } · intègre
doctor-retention-none = conservées jusqu'à `posse gc` ou `posse tasks delete`
doctor-retention-age = les tâches partent { $age } après leur fin
doctor-retention-size = les plus anciennes partent quand le stockage dépasse { $size }
doctor-retention-last = dernier `posse gc` : il y a { $age }, { $tasks } supprimée(s)
state-warning = avertissement
state-ready = prêt
state-disabled = désactivé
state-not-trusted = sans confiance
none = aucun
row-agent = agent
row-standing = statut
row-hidden-by = masqué par
row-shadows = masque
row-model = modèle
row-tools = outils
row-not-given = non donné
row-rule = règle
row-costs = coût
row-name = nom
row-from = de
row-description = description
row-verify = vérifier
row-limits = limites
row-note = note
agent-version = { $name } (version { $version }, { $state })
standing-trusted = de confiance
field-honoured = respecté
guard-rail = un motif qui refuse une commande est un garde-fou, pas un mur : c'est le bac à sable qui décide de ce qu'une commande atteint
topic-version = version
topic-configuration = configuration
topic-model = modèle
topic-keys = clés
topic-online = en ligne
topic-base-url = URL de base
topic-confinement = confinement
topic-mode = mode
topic-tools = outils
topic-delegation = délégation
topic-agents = agents
topic-prompt-tokens = tokens prompt
topic-store = stockage
topic-retention = conservation
topic-log = journal
topic-traces = traces
agent-file-look = voir `posse agents check { $name }`
agent-file-look-more =
    { $n ->
        [one] { $n } autre : `posse agents check { $name }`
       *[other] { $n } autres : `posse agents check { $name }`
    }
