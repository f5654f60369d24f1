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
run-asks = { $task } demande : { $question }
run-asks-keys = a écrit une réponse
run-cancel = annuler { $task } ? y annule, toute autre touche non
run-leaving = quitte à la fin de cette étape   q tout de suite   Échap reste
run-not-done = non exécuté : { $why }
run-help =
    ↑↓ choisit une tâche   s la guide   c l’annule   Échap désélectionne
    a répond à une question ou une approbation   q laisse la tâche tourner en arrière-plan
    Ctrl-T affiche la réflexion   Ctrl-L redessine   Ctrl-Z suspend   Ctrl-C arrête, à reprendre
approved-elsewhere = approuvé par { $by }
denied-elsewhere = refusé par { $by }
card-because = raison : { $reason }

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
chat-why = pourquoi ? (Entrée sans raison)
chat-text-void = la réponse s'est interrompue ; elle est réécrite
chat-thought = a réfléchi { $seconds }s (Ctrl-T l'affiche)
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
