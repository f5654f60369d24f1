# Messages de `posse-terminal`.

## rows

task-row-root = racine
task-row-model = attend le modèle
task-row-thinking = réfléchit
task-row-asking = demande { $tool }
task-row-retry = nouvel essai dans { $seconds }s : { $why }
task-row-rate-limited = débit limité
task-row-http-status = HTTP { $status }
task-row-no-progress = aucun progrès
task-row-connection = connexion échouée
task-row-bad-reply = réponse invalide
task-row-approve = approuver : { $call }
task-row-question = demande : { $question }
task-row-lease = attend le bail { $paths }
task-row-queued = en file d'attente
task-row-queued-after = en file : après { $tasks }
task-row-delegating = délègue
task-row-resumed = reprise
task-row-interrupted = interrompue
task-row-verifying = vérifie { $command }
task-row-reporting = rend compte
task-row-refused = { $tool } refusé : { $why }
task-row-failed = { $tool } a échoué : { $why }
task-row-turn = tour { $turn }/{ $turns_max }
task-row-context = ctx { $percent }%
task-row-tokens = { $count } tok
task-row-turn-limit = limite de tours
task-row-call-limit = limite d'appels d'outils
task-row-budget-limit = budget épuisé
task-row-context-limit = fenêtre de contexte pleine
task-row-output-limit = coupée par la limite de sortie
task-row-time-limit = temps écoulé
task-row-stalled = aucun appel n'a réussi
task-row-cancelled = annulée
task-row-model-failed = le modèle a échoué
task-row-no-answer = pas de réponse
task-row-dependency-failed = une tâche précédente a échoué
task-row-output-invalid = la réponse ne respecte pas le schéma
task-row-verify-failed = échec de la vérification
task-row-writing =
    { $n ->
        [one] écrit, { $count } caractère
       *[other] écrit, { $count } caractères
    }
task-row-waits =
    { $n ->
        [one] attend { $n } sous-agent
       *[other] attend { $n } sous-agents
    }
task-row-queued-place = en file : n° { $place }, { $running } sur { $slots } tournent
task-row-folded =
    { $state ->
        [input] { $n } attendent une réponse
        [working] { $n } en cours
        [failed] { $n } échouées
        [queued] { $n } en file
        [completed] { $n } terminées
       *[other] { $n } sous-agents
    }
task-row-folded-more =
    { $state ->
        [input] { $n } autres attendent une réponse
        [working] { $n } autres en cours
        [failed] { $n } autres échouées
        [queued] { $n } autres en file
        [completed] { $n } autres terminées
       *[other] { $n } autres
    }

## keys

live-keys-one = ? touches   q laisser tourner   Ctrl-C arrêter
live-keys-tree = ↑↓ Entrée ouvrir   s guider   c annuler   q quitter   ? touches
live-keys-tree-stay = ↑↓ Entrée ouvrir   s guider   c annuler   ? touches
live-keys-one-stay = ? touches   Ctrl-C arrêter
live-keys-answer = a répondre à { $task }

## end of a run

task-end-completed = terminée en { $took }
task-end-partial = partielle après { $took }
task-end-failed = échec après { $took }
task-end-cancelled = annulée après { $took }
task-end-interrupted = interrompue après { $took }
task-end-turn-limit = limite de tours ({ $n })
task-end-no-file = aucun fichier n'a été modifié
task-end-new = nouveau
task-end-deleted = supprimé
task-end-more-files = { $n } de plus
task-end-turns =
    { $n ->
        [one] { $n } tour
       *[other] { $n } tours
    }
task-end-cost-with =
    { $n ->
        [one] { $cost } avec { $n } sous-agent
       *[other] { $cost } avec { $n } sous-agents
    }
task-end-files =
    { $n ->
        [one] { $n } fichier modifié : { $files }
       *[other] { $n } fichiers modifiés : { $files }
    }

## approval card

card-wants = { $task } { $agent } veut { $call }
card-wants-run = { $task } { $agent } veut exécuter : { $command }
card-keys = y une fois   t cette tâche   s session   n non, et pourquoi   d tout   Esc plus tard
card-because = raison : { $reason }
card-asks = { $task } demande : { $question }
card-answer = réponse :
card-why = pourquoi ? (Entrée sans raison)
card-above = l’appel entier est affiché au-dessus
card-approved-in = approuvé d'office dans { $left }
card-denied-in = refusé d'office dans { $left }
card-approved-once = approuvé une fois : { $call } ({ $task })
card-approved-task = approuvé pour cette tâche : { $call } ({ $task })
card-approved-session = approuvé pour la session : { $call } ({ $task })
card-denied = refusé : { $call } ({ $task })
card-hidden =
    { $n ->
        [one] { $n } ligne de plus : d la montre
       *[other] { $n } lignes de plus : d les montre
    }

## prompt

prompt-pasted =
    { $n ->
        [one] { $n } ligne collée
       *[other] { $n } lignes collées
    }
prompt-search = chercher
prompt-search-nothing = introuvable
picker-hint = tapez pour chercher · Ctrl-A tous les projets
picker-nothing = rien trouvé
usage-heading = Utilisation :
usage-commands = Commandes
usage-options = Options
usage-arguments = Arguments
usage-global = Options globales
usage-model = Modèle
usage-rights = Droits
usage-limits = Limites
usage-examples = Exemples
usage-help = Afficher l'aide
usage-version = Afficher la version
usage-unknown-argument = il n'y a pas d'argument `{ $argument }`
usage-unknown-command = `{ $command }` n'est pas une commande
usage-missing = ces arguments manquent : { $arguments }
usage-conflict = `{ $argument }` ne peut pas être utilisé avec `{ $other }`
usage-twice = `{ $argument }` est indiqué deux fois
usage-value-missing = `{ $argument }` exige une valeur
usage-value-unknown = `{ $value }` n'est pas une valeur de `{ $argument }`
usage-value-wrong = `{ $value }` n'est pas une valeur de `{ $argument }` : { $why }
usage-run-it = pour l'exécuter comme tâche : { $command }
usage-help-hint = `{ $command } --help` montre ce qu'il y a
completions-install =
    Installer :
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   (après compinit)
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = Pourquoi le test de connexion échoue-t-il parfois ?
example-fix = Corrige le test qui échoue
example-summary = Rédige les notes de version de ces commits
example-message = Garde l'ancien nom
example-answer = Prends la deuxième
usage-work = Travailler
usage-look = Consulter
usage-configure = Configurer
usage-serve = Servir et entretenir
