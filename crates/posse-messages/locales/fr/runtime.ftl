# Français. Le glossaire est dans core.ftl.

cancel-without-end = `{ $id }` ne se termine pas quand on l'annule
conversation-broken = la conversation de `{ $id }` est endommagée : { $fault }
task-out-of-time = la tâche `{ $id }` a épuisé ses { $seconds } s
task-out-of-time-hint = donnez-lui plus de temps : --timeout { $seconds }
task-out-of-turns = la tâche `{ $id }` a épuisé ses tours ({ $turns })
task-out-of-turns-hint = donnez-lui-en plus : --max-turns { $turns }
there-are-none = il n'y en a aucun ici
there-are = il y a : { $names }
write-paths-not-within = les chemins d'écriture { $own } ne sont pas dans { $outer }
write-paths-not-within-hint = une tâche ne peut recevoir que ce que peuvent écrire celui qui délègue et son agent
lease-waits = attend que ses chemins d'écriture soient libres : { $holders }
lease-waits-command = attend la fin d'une commande de `{ $task }` qui peut y écrire
run-while-stopping = la tâche doit s'arrêter ; rien n'a été exécuté
run-not-decidable = on ne peut pas savoir si ceci peut être exécuté ({ $why }) ; rien n'a été exécuté
lease-lost-silent = cette tâche est restée silencieuse trop longtemps et a perdu ses chemins d'écriture : { $holders } ; rien n'a été exécuté
write-not-decidable = on ne peut pas savoir si ceci peut être écrit ({ $why }) ; rien n'a été écrit
agent-not-found = aucun agent ne s'appelle `{ $name }`
approval-not-found = aucune demande ne s'appelle `{ $id }`
no-tool-exists = aucun des outils de `{ $agent }` n'existe ici : { $tools }
output-schema-invalid = le schéma de sortie n'est pas un JSON Schema : { $why }
output-schema-invalid-hint = corrigez `output_schema` de l'agent
no-outcome = elle n'a pas de résultat
delegation-too-deep = on ne délègue pas plus profondément ici
delegation-too-deep-hint = faites la tâche vous-même
no-worktrees = aucun arbre de travail ne peut être créé ici
no-worktrees-hint = déléguez sans `isolation: worktree`
nobody-delegates = personne ne délègue sous ce nom dans cette session
price-unknown = le prix de `{ $unpriced }` n'est pas connu, une limite de coût ne peut donc pas être respectée
price-unknown-hint = ajoutez son prix à la configuration ou utilisez un autre modèle
task-too-large = la tâche a environ { $size } tokens, la limite est { $task_tokens_max }
task-too-large-hint = écrivez les détails dans shared_context et nommez la clé dans la tâche
outcome-lost = son résultat n'a pas été consigné
agent-exists = un agent `{ $name }` existe déjà
agent-exists-hint = choisissez un autre nom ou définissez-le avec `overwrite: true`
facade-unknown = il n'y a pas d'outil `{ $wanted }` pour déléguer
answer-shortened = [abrégé : le texte entier est conservé comme résultat de { $id }]
answer-note = [note : { $warning }]
session-closed = la session est fermée
agent-timed-out = Le sous-agent "{ $name }" a dépassé la limite de { $seconds }s et a été arrêté.
agent-failed = Le sous-agent "{ $name }" a échoué : { $why }
so-far = Ce qu'il avait jusque-là :
agent-type-unknown = Type de sous-agent inconnu : "{ $name }". Disponibles : { $names }
investigation-without-task = Tâche trop brève. Précisez : quoi examiner, où chercher, quoi renvoyer.
investigation-too-brief = Tâche trop brève (au moins { $task_chars_min } caractères). Précisez : QUOI examiner, OÙ chercher, QUOI renvoyer.
investigations-limit = Nombre maximal de sous-agents ({ $per_session_max }) atteint. Utilisez directement les outils pour la suite.
subagent-failed = Le sous-agent a échoué : { $why }
tool-calls-limit-reached = la limite d'appels d'outils a été atteinte ; ce qui suit peut être incomplet
subagent-timed-out = Le sous-agent a dépassé la limite de { $seconds }s. Découpez en tâches plus petites.
partial-findings = Constats partiels :
stopped-early = Arrêté prématurément : { $why }.
tool-calls-made = Appels d'outils : { $tool_calls }
launch-description = Lancer un agent autonome
launch-missing-description = La description de l'agent est requise
launch-missing-prompt = Le prompt de l'agent est requis
launch-invalid-json = Paramètres JSON non valides
launch-resource-limit = Nombre maximal d'agents simultanés atteint
launch-creation-failed = Échec de la création de l'agent
launch-limit = Nombre maximal de tâches simultanées atteint. Attendez la fin d'autres tâches.
launched =
    Sous-agent lancé avec succès

    Tâche parallèle lancée avec succès :
    - Tâche : { $id } (aussi { $alias })
    - Description : { $description }
    - Priorité : { $priority }
    - Droit d'écriture : { $writes ->
        [yes] oui
       *[no] non
    }
    - Durée maximale d'exécution : { $seconds }s

    La tâche s'exécute maintenant en parallèle. Vous pouvez poursuivre d'autres travaux.
    Récupérez son résultat plus tard : {"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-failed-hint = Échec de la création de la tâche parallèle : { $message } ({ $hint })
launch-failed = Échec de la création de la tâche parallèle : { $message }
parameters-invalid = Paramètres non valides : { $errors }
parameters-missing-json = Des paramètres requis manquent dans le JSON
parameter-missing = Il manque une valeur pour le paramètre requis '{ $name }'. { $why }. Appelez de nouveau subagent avec description et prompt.
parameter-not-closed = Il manque une valeur pour le paramètre requis '{ $name }' : <{ $name }> n'est pas fermé.
description-not-text = description est requis et doit être une chaîne
description-too-short = description doit avoir au moins 3 caractères
description-too-long = description devrait compter 3 à 5 mots
prompt-not-text = prompt est requis et doit être une chaîne
prompt-too-short = prompt doit avoir au moins 10 caractères
write-permissions-not-boolean = writePermissions doit être un booléen
write-paths-not-list = allowedWritePaths doit être un tableau
write-path-not-text = allowedWritePaths[{ $index }] doit être une chaîne
write-paths-missing = writePermissions exige que allowedWritePaths soit indiqué
execution-time-not-number = maxExecutionTime doit être un nombre
execution-time-out-of-range = maxExecutionTime doit être compris entre 1000 et 300000 ms (1 à 300 secondes)
priority-unknown = priority doit être 'low', 'normal' ou 'high'
task-not-yours = `{ $task }` n'est pas une de vos tâches
task-not-yours-hint = `list_tasks` montre les tâches qui existent
nobody-to-ask = il n'y a personne à qui demander ; choisissez ce qui est le plus probablement voulu et dites-le dans votre réponse
question-unreadable = la question est illisible : { $why }
no-answer-default = aucune réponse en { $deadline } s ; continuez avec votre valeur par défaut : { $default }
no-answer = aucune réponse en { $deadline } s ; choisissez ce qui est le plus probablement voulu et dites-le dans votre réponse
nobody-to-tell = il n'y a personne à prévenir
nobody-waited = personne n'attendait de réponse
task-running-since = `{ $id }` est encore en cours, { $turns } tours en { $seconds } s
still-at-work = encore au travail : rappelez wait ou faites autre chose entre-temps
ended-before-cancel = elle était terminée avant l'annulation
messages-unread = `{ $id }` n'a pas encore lu ses derniers messages
messages-unread-hint = attendez qu'elle ait fait son prochain tour
task-not-ended = `{ $id }` n'est pas encore terminée
task-not-ended-hint = attendez-la ou regardez son état
agents-unusable = inutilisables ici : { $names }
agents-not-shown = { $left_out } autres ne sont pas montrés : utilisez `query` pour chercher des mots
field-missing = le champ `{ $field }` manque
see-description-hint = voyez la description de l'outil
system-prompt-too-large = le prompt système a environ { $size } tokens, la limite est { $prompt_tokens_max }
system-prompt-too-large-hint = gardez les consignes ; laissez les outils fournir les connaissances
tool-not-there = il n'y a pas d'outil `{ $unknown }`
answer-truncated = [tronqué — la réponse complète dépasse la limite de { $result_tokens_max } tokens]
no-details = pas de détails
answer-was-empty = La réponse finale était vide
turns-exceeded = Nombre maximal de tours dépassé sans réponse finale
model-failed = Erreur de l'API du modèle : { $detail }
action-unknown = il n'y a pas d'action `{ $action }`
max-cost-invalid = `max_cost_usd` doit être supérieur à zéro
tool-twice = deux outils s'appellent `{ $own }`
tool-twice-hint = donnez à chaque outil son propre nom
tool-crashed = internal_error : l'outil `{ $name }` a planté ({ $panic }). C'est un défaut de l'outil, pas de votre appel
tool-schema-broken = le schéma de l'outil lui-même est défectueux ; il ne peut pas être appelé
arguments-misfit = les arguments ne correspondent pas au schéma de l'outil, rien n'a été exécuté :
nested-nowhere = il n'y a pas d'exécution dont il ferait partie
nested-too-deep = Profondeur maximale de sous-agents ({ $depth }) atteinte. Impossible d'en lancer d'autres.
prompt-required = prompt est requis
nested-misconfigured = Erreur de configuration du sous-agent : { $why }
nested-failed = Erreur du sous-agent : { $why }
nested-prompt-too-large = le prompt système a environ { $size } tokens, la limite est { $system_tokens_max }
nested-without-outcome = `{ $id }` n'a pas de résultat
tool-execution-error = Erreur d'exécution d'outil au tour { $turns } : { $detail }
findings-kept = [conservé dans le contexte partagé sous `{ $key }`]
findings-not-kept = [non conservé dans le contexte partagé : { $why }]

tasks-write-nothing = les tâches déléguées d'ici ne peuvent pas écrire
agent-cannot-write = `{ $agent }` travaille sans { $tools }, que sa définition nomme : { $advice }
