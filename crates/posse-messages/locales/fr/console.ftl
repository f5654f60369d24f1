# Messages de `posse-console`.

## run

run-thought = a réfléchi { $seconds }s (Ctrl-T l’affiche)
run-text-void = la réponse s’est interrompue ; elle est réécrite
run-steer = guider { $task } :
run-steer-queued = ↳ en file : { $text }
run-steer-delivered = ↳ remis au tour { $turn } : { $text }
run-steer-missed = ↳ trop tard, la tâche est terminée : { $text }
run-steer-full = ↳ non envoyé, trop de messages non lus : { $text }
run-answer = répondre à { $task } :
run-answered = répondu : { $text }
run-answer-late = la question n’était plus ouverte
run-asks-keys = a écrit une réponse
run-cancel = annuler { $task } ? y annule, toute autre touche non
run-leaving = quitte à la fin de cette étape   q tout de suite   Échap reste
run-not-done = non exécuté : { $why }
run-typed-keys = Entrée envoie   Échap abandonne
run-top-failed = le plein écran a échoué
run-limited = { $provider } limite les requêtes jusqu’à { $time } ; { $n } tâches attendent
run-help =
    ↑↓ choisit une tâche   Entrée l’ouvre   s la guide   c l’annule   Échap désélectionne
    a répond à une question ou une approbation   q laisse la tâche tourner en arrière-plan
    Ctrl-T affiche la réflexion   Ctrl-L redessine   Ctrl-Z suspend   Ctrl-C arrête, à reprendre
approved-elsewhere = approuvé par { $by }
denied-elsewhere = refusé par { $by }

## notices

notice-approval = { $task } { $agent } attend votre approbation de { $tool }
notice-question = { $task } a une question
notice-end = l’exécution est terminée
## chat

chat-again-leaves = Ctrl-C encore une fois quitte
chat-paste-cut = le texte collé était trop grand ; une partie manque
chat-keys =
    Entrée envoie   Alt-Entrée nouvelle ligne   Échap arrête   ↑↓ historique   Ctrl-R cherche   Tab complète   Maj-Tab mode
    / commandes   @ fichiers et agents   ! shell   Ctrl-T réflexion   Ctrl-L redessine   Ctrl-C, Ctrl-D quittent
chat-steer-queued = ↳ en attente : { $text }
chat-steer-delivered = ↳ remis au tour { $turn } : { $text }
chat-steer-late = ↳ trop tard, envoyé comme message suivant : { $text }
chat-steer-full = ↳ non envoyé, trop de messages non lus : { $text }
chat-notice-approval = { $task } attend votre accord pour { $tool }
chat-notice-end = la réponse est là
chat-tab-answers = Tab répond
chat-working = au travail
chat-working-line = { $action }, { $seconds }s · Échap arrête · Entrée met en attente
chat-stopping = arrêt
chat-mode-next = { $mode } (Maj-Tab)
chat-call-failed = { $call } a échoué : { $why }
chat-call-lines = { $call } ({ $n } lignes)
chat-echo-more = { $n } lignes de plus
chat-stopped = arrêté
chat-stopped-changed =
    { $n ->
        [one] arrêté · { $n } fichier modifié, /undo l'annule
       *[other] arrêté · { $n } fichiers modifiés, /undo les annule
    }
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / commandes · @ fichiers et agents · ? touches
chat-kept = la conversation { $id } est conservée : posse chat --resume { $id }
chat-not-while-working = attendez la réponse, ou arrêtez-la avec Échap
chat-ended-early = { $status } : { $reason }{ $detail }
chat-no-change = aucun fichier n'a été modifié
chat-diff-cut = la suite : posse tasks diff { $id }
chat-menu-agent = agent
chat-does-agents = agents auxquels déléguer
chat-does-clear = commencer une nouvelle conversation
chat-does-cost = coût de cette conversation, par agent et modèle
chat-does-diff = modifications de fichiers de cette conversation
chat-does-exit = quitter ; la conversation est conservée
chat-does-help = lister les commandes
chat-does-mode = plan, ask ou auto
chat-does-tasks = tâches de cette conversation
chat-does-undo = annuler les modifications de fichiers du dernier message
chat-attached-agent = demande à l'agent { $agent }
chat-attached-path = { $path } n'est pas du texte ou est trop grand ({ $kib } Kio) : seul son chemin a été envoyé
chat-attached-part = { $kib } Kio de { $path } joints ({ $all } Kio)
chat-attached-file =
    { $n ->
        [one] { $path } joint ({ $n } ligne)
       *[other] { $path } joint ({ $n } lignes)
    }
chat-mode-usage = les modes sont `/mode plan`, `/mode ask` et `/mode auto`
card-question-keys = ou tapez une réponse   Échap plus tard
card-answered = répondu à { $task } : { $text }
chat-put-off =
    { $n ->
        [one] { $n } question attend · Tab répond
       *[other] { $n } questions attendent · Tab répond
    }
chat-steer-next = ↳ part comme message suivant : { $text }
chat-error = erreur
chat-hint = conseil : { $hint }
chat-warning = avertissement : { $text }
chat-no-command = il n'y a pas de commande `{ $command }` et rien n'a été envoyé ; /help montre les commandes
chat-does-compact = continuer à partir d’un résumé
chat-does-context = ce qui remplit la fenêtre
chat-does-export = écrire la conversation en Markdown dans un fichier
chat-does-model = changer le modèle des messages suivants
chat-does-resume = reprendre une conversation antérieure
chat-context-share = contexte { $percent } %
chat-context-tokens = contexte { $tokens } tokens
chat-cost-tree =
    { $n ->
        [one] { $cost } avec { $n } sous-agent
       *[other] { $cost } avec { $n } sous-agents
    }
chat-state-open = ouverte ailleurs
chat-state-interrupted = interrompue
chat-age = il y a { $age }
chat-turns =
    { $n ->
        [one] { $n } tour
       *[other] { $n } tours
    }
chat-resume-title = Reprendre une conversation de { $place }
chat-resume-all = Reprendre une conversation de n’importe quel projet
chat-none-here = il n’y a pas de conversation antérieure dans ce projet
chat-resumed = · reprend { $id } avec { $model }
chat-model-title = Choisir un modèle
chat-model-hint = tapez pour chercher · Entrée choisit · Échap garde le modèle
chat-model-now = utilisé
chat-model-usage = le modèle est { $model } ; `/model provider:model` le change
chat-model-chosen = · { $model } répond
chat-model-next = · { $model } répond à partir du message suivant et relit toute la conversation ({ $used } tokens) ; les sous-agents au travail gardent leur modèle
chat-model-too-small = { $model } ne peut pas prendre la suite : la conversation a { $used } tokens, sa fenêtre { $window } ; d’abord /compact
chat-compact-nothing = il n’y a encore rien à résumer
chat-compacting = · demande un résumé ; la conversation continue ensuite à partir de lui
chat-not-compacted = il n’y a pas de résumé, la conversation continue comme avant
chat-compacted = · résumé : { $before } tokens sont devenus { $after } ; tout reste dans { $old } : posse tasks show { $old }
chat-shell-not-started = le shell n’a pas pu être lancé : { $why }
chat-shell-stopped = arrêté ; rien n’en part avec le message suivant
chat-shell-hidden =
    { $n ->
        [one] { $n } ligne avant
       *[other] { $n } lignes avant
    }
chat-shell-exit = code de sortie { $code }
chat-shell-sent =
    { $n ->
        [one] · { $ending }, { $n } ligne part avec le message suivant
       *[other] · { $ending }, { $n } lignes partent avec le message suivant
    }
chat-shell-sent-part = · { $ending }, le début et la fin de { $n } lignes partent avec le message suivant
chat-context-title = { $model } : { $used } sur { $window } tokens, { $percent } %
chat-context-title-open = { $model } : { $used } tokens, sa fenêtre n’est pas connue
chat-context-system = prompt système
chat-context-tools = outils
chat-context-messages = messages
chat-context-results = résultats d’outils
chat-context-free = libre
chat-context-hint = /compact continue à partir d’un résumé
chat-export-head =
    { $n ->
        [one] Conversation `{ $id }` avec { $agent } sur { $models }, commencée { $began }, { $n } tour.
       *[other] Conversation `{ $id }` avec { $agent } sur { $models }, commencée { $began }, { $n } tours.
    }
chat-export-failed = {" "}a échoué : { $why }
chat-exported = · { $file } écrit, lisible par vous seul
chat-not-exported = `{ $file }` ne peut pas être écrit : { $why }
chat-not-exported-hint = nommez un nouveau fichier : `/export notes.md`
chat-no-tasks = rien n’a encore été dit
chat-column-agent = AGENT
chat-column-does = RÔLE
chat-column-id = ID
chat-column-state = ÉTAT
chat-column-task = TÂCHE
chat-column-turns = TOURS
chat-column-cost = COÛT
chat-column-model = MODÈLE
chat-column-tasks = TÂCHES
chat-column-input = ENTRÉE
chat-column-output = SORTIE
chat-column-total = total
chat-shell-word = !commande
chat-does-shell = l’exécuter dans votre shell ; sa sortie part avec le message suivant
chat-export-summary = Un résumé, à partir duquel une autre conversation continue :
record-model-chosen = modèle changé : { $model }

## top

top-needs-input = ATTEND UNE RÉPONSE { $n }
top-working = EN COURS { $n }
top-completed = TERMINÉES { $n }
top-count =
    { $state ->
        [queued] { $n } en attente
        [interrupted] { $n } interrompues
        [partial] { $n } partielles
        [failed] { $n } échouées
       *[cancelled] { $n } annulées
    }
top-all-projects = tous les projets
top-running = { $n } en cours
top-spent = { $price }/24h
top-foot-split = s guider  a répondre  c annuler  q quitter
top-asks-approval = attend votre approbation : a répond
top-asks-question = demande : { $question } (a répond)
top-hints = / chercher   A tous les projets   ? touches
top-hints-all = / chercher   A ce projet   ? touches
top-foot-list = ↑↓ Entrée ouvrir   s guider   a répondre   c annuler   q quitter
top-foot-pane = ↑↓ défiler   o résultats   / chercher   s guider   Échap retour
top-foot-close = une touche ferme
top-pane-transcript = échanges
top-pane-diff = différences
top-pane-context = contexte partagé
top-pane-limits = limites
top-following = suit
top-position = ligne { $line } sur { $lines }
top-holds = détient { $paths }
top-loading = lecture du stockage …
top-empty = aucune tâche
top-empty-here = aucune tâche récente de ce projet · A montre tous les projets
top-nothing-found = aucune tâche ne contient `{ $search }` · Échap efface la recherche
top-folded = +{ $n }
top-turn = tour { $turn }
top-lines =
    { $n ->
        [one] { $n } ligne
       *[other] { $n } lignes
    }
top-more-lines =
    { $n ->
        [one] … { $n } ligne de plus (o)
       *[other] … { $n } lignes de plus (o)
    }
top-earlier = … tours précédents : posse tasks show
top-model-failed = le modèle a échoué : { $why }
top-approved-by = approuvé par { $by }
top-denied-by = refusé par { $by }
top-resumed = reprise par un autre processus
top-withdrawn = n’est plus permis : { $tools }
top-budget-spent = budget épuisé : { $shortfall }
top-cancel-asked = annulation demandée
top-schema-unmet = la réponse ne suit pas le schéma : { $errors }
top-ended-completed = terminée
top-ended-partial = partielle
top-ended-failed = échouée
top-ended-cancelled = annulée
top-patch-cut = … la suite : posse tasks diff
top-no-changes = aucun fichier modifié
top-no-context = le contexte partagé est vide
top-context-head = v{ $version } · { $tokens } jet. · { $by } · il y a { $ago }
top-value-cut = … { $bytes } octets de plus : posse context get
top-used-of = { $used } sur { $most }
top-token-counts = { $input } entrée · { $output } sortie
top-limit-model = modèle
top-limit-turns = tours
top-limit-time = temps
top-limit-context = contexte
top-limit-tokens = jetons
top-limit-cost = coût
top-limit-tree-tokens = jetons de l’arbre
top-limit-tree-cost = coût de l’arbre
top-limit-cap = budget
top-no-cap = sans limite
top-limit-sandbox = bac à sable
top-limit-workspace = espace de travail
top-limit-lease = réservation
top-lease-since = { $paths } depuis { $since }
top-prompt-search = /
top-prompt-steer = message à { $task } :
top-prompt-answer = réponse :
top-cancel-ask =
    { $n ->
        [0] annuler { $task } ? y oui   n non
        [one] annuler { $task } et { $n } sous-agent ? y oui   n non
       *[other] annuler { $task } et { $n } sous-agents ? y oui   n non
    }
top-cancelling = annulation de { $task } …
top-cancelled = { $task } est annulée
top-cancel-not-yet = { $task } doit finir et ne l’a pas encore fait
top-has-ended = { $task } est terminée
top-nothing-asked = aucune tâche n’attend de réponse
top-answered = réponse envoyée à { $task }
top-answered-elsewhere = l’appel a reçu une réponse ailleurs
top-steer-queued = en attente pour { $task } : lu au prochain tour
top-steer-delivered = { $task } l’a lu au tour { $turn }
top-steer-missed = trop tard : { $task } a fini avant
top-steer-full = { $task } a trop de messages non lus
top-copied = { $bytes } octets copiés
top-mouse-on = la souris défile et sélectionne ici
top-mouse-off = la souris est au terminal : sélectionnez du texte comme d’habitude
top-card-page =
    { $n ->
        [one] { $n } ligne de plus   y page suivante   n non, avec motif   Échap plus tard
       *[other] { $n } lignes de plus   y page suivante   n non, avec motif   Échap plus tard
    }
top-card-end = fin   y une fois   t cette tâche   s session   n non, avec motif   Échap plus tard
top-question-asks = { $task } { $agent } demande : { $question }
top-question-keys = tapez une réponse ou le numéro d’une   Entrée envoyer   Échap plus tard
top-keys =
    ↑↓ j k | choisir une tâche ; défiler le panneau
    Entrée → | entrer dans le panneau ; Échap ou ← revient
    1 2 3 4 Tab | échanges, différences, contexte partagé, limites
    PgPréc PgSuiv Début Fin | par pages ; la fin suit le nouveau
    Espace | montrer les sous-agents d’une tâche terminée
    o | montrer ou replier résultats et longs messages
    / | chercher des tâches ; dans un panneau, du texte (n N)
    A | tous les projets, ou celui-ci à nouveau
    s | guider : envoyer un message à une tâche en cours
    a | répondre à une approbation ou une question
    c | annuler une tâche et ses sous-agents
    y | copier la réponse, les différences ou l’id (OSC 52)
    m | rendre la souris au terminal, ou la reprendre
    Ctrl-L Ctrl-Z | redessiner, suspendre
    q Échap | retour, puis quitter ; les tâches continuent
story-task = tâche
story-answer = réponse
story-from = de { $parent }
story-approved = { $by } : { $scope }
story-verify = vérification
many-calls =
    { $n ->
        [one] { $n } appel
       *[other] { $n } appels
    }
many-finished-calls =
    { $n ->
        [one] { $n } appel terminé
       *[other] { $n } appels terminés
    }
with-subagents = { $tokens }, { $price } avec ses sous-agents
record-schema-met = la réponse satisfait son schéma
record-withdrawn = plus autorisé : { $tools }
record-regranted = mode changé : { $mode }
record-budget-spent = budget épuisé : { $shortfall }
record-cancelled = annulée
record-resumed = reprise (époque { $epoch })
plain-interrupted = interrompue
plain-steer-queued = message en file
plain-steer-delivered = message remis au tour { $turn }
plain-steer-missed = message trop tardif : la tâche est terminée
plain-started = commencée · { $agent } sur { $model }
plain-resumed = reprise · { $kept } conservés, { $in_doubt } en doute
plain-turn = tour { $turn } · { $tokens } · { $calls }
plain-model = modèle { $kind } : { $message }
plain-refused = { $tool } refusé : { $why }
plain-failed = { $tool } a échoué après { $millis } ms : { $why }
plain-elided = { $results } anciens résultats ({ $bytes } octets) omis pour économiser le contexte
plain-wrap-up = rapport demandé : { $reason }
plain-verify = vérification { $command }
plain-verify-failed = la vérification { $command } a échoué après { $millis } ms : { $ending }
record-model = modèle : { $failure }
record-schema-unmet = la réponse ne satisfait pas son schéma
change-new = nouveau
change-deleted = supprimé
plain-changed = modifié : { $files }
plain-approval-waits = attend une approbation · { $call } · { $why } · posse approvals show { $approval }
story-answered = a répondu
approval-by = { $scope } par { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } par { $by } ({ $scope }) le { $instant }
before-deleted = (avant sa suppression : v{ $version })
until-instant = jusqu'à { $end }
context-wrote = écrit : { $entry }
context-deleted = supprimé : { $key } v{ $previous_version }
snapshot-taken = l'instantané { $label } a { $keys }
context-restored = restauré : { $written } écrites, { $deleted } supprimées
approved-in = approuvé automatiquement dans { $left }
denied-in = refusé automatiquement dans { $left }
column-took = DURÉE
column-tool = OUTIL
column-left = RESTE
column-call = APPEL
tokens-shown = { $shown } tokens
nobody-else = personne d'autre
audience-shown = lisible par { $readers } · modifiable par { $writers }
column-id = ID
column-tokens = TOKENS
column-age = IL Y A
column-keys = CLÉS
column-title = TITRE
column-process = PROCESSUS
column-paths = CHEMINS
column-workspace = RÉPERTOIRE
state-archived = archivée
state-open = ouverte
