# Français. Le glossaire est dans core.ftl.

cancel-without-end = `{ $id }` ne se termine pas quand on l'annule
conversation-broken = la conversation de `{ $id }` est endommagée : { $fault }
task-out-of-time = la tâche `{ $id }` a épuisé ses { $seconds } s
task-out-of-time-hint = donnez-lui plus de temps : --timeout { $seconds }
task-out-of-turns = la tâche `{ $id }` a épuisé ses tours ({ $turns })
task-out-of-turns-hint = donnez-lui-en plus : --max-turns { $turns }
mode-of-subagent = la tâche `{ $id }` est celle d'un sous-agent et garde le mode de son orchestrateur
there-are-none = il n'y en a aucun ici
there-are = il y a : { $names }
write-paths-not-within = les chemins d'écriture { $own } ne sont pas dans { $outer }
write-paths-not-within-hint = une tâche ne peut recevoir que ce que peuvent écrire celui qui délègue et son agent
agent-not-found = aucun agent ne s'appelle `{ $name }`
approval-not-found = aucune demande ne s'appelle `{ $id }`
no-tool-exists = aucun des outils de `{ $agent }` n'existe ici : { $tools }
output-schema-invalid = le schéma de sortie n'est pas un JSON Schema : { $why }
output-schema-invalid-hint = corrigez `output_schema` de l'agent
delegation-too-deep-hint = faites la tâche vous-même
no-worktrees = aucun arbre de travail ne peut être créé ici
no-worktrees-hint = déléguez sans `isolation: worktree`
nobody-delegates = personne ne délègue sous ce nom dans cette session
task-too-large = la tâche a environ { $size } tokens, la limite est { $task_tokens_max }
task-too-large-hint = écrivez les détails dans shared_context et nommez la clé dans la tâche
agent-exists = un agent `{ $name }` existe déjà
agent-exists-hint = choisissez un autre nom ou définissez-le avec `overwrite: true`
agent-built-in-hint = il est fourni avec Posse et n'est jamais remplacé : choisissez un autre nom, avec `extends: "{ $name }"` pour une variante
facade-unknown = il n'y a pas d'outil `{ $wanted }` pour déléguer
launch-description = Lancer un agent autonome
launch-missing-description = La description de l'agent est requise
launch-missing-prompt = Le prompt de l'agent est requis
launch-invalid-json = Paramètres JSON non valides
launch-resource-limit = Nombre maximal d'agents simultanés atteint
launch-creation-failed = Échec de la création de l'agent
parameter-missing = Il manque une valeur pour le paramètre requis '{ $name }'. { $why }. Appelez de nouveau subagent avec description et prompt.
task-not-yours = `{ $task }` n'est pas une de vos tâches
task-not-yours-hint = `list_tasks` montre les tâches qui existent
task-running-since =
    { $turns ->
        [one] `{ $id }` est encore en cours, { $turns } tour en { $seconds } s
       *[other] `{ $id }` est encore en cours, { $turns } tours en { $seconds } s
    }
messages-unread = `{ $id }` n'a pas encore lu ses derniers messages
messages-unread-hint = attendez qu'elle ait fait son prochain tour
task-not-ended = `{ $id }` n'est pas encore terminée
task-not-ended-hint = attendez-la ou regardez son état
agents-defined = définis dans cette session : { $names }
system-prompt-too-large = le prompt système a environ { $size } tokens, la limite est { $prompt_tokens_max }
system-prompt-too-large-hint = gardez les consignes ; laissez les outils fournir les connaissances
tool-not-there = il n'y a pas d'outil `{ $unknown }`
tool-twice = deux outils s'appellent `{ $own }`
tool-twice-hint = donnez à chaque outil son propre nom
nested-prompt-too-large = le prompt système a environ { $size } tokens, la limite est { $system_tokens_max }
answer-not-typed = la réponse ne correspond pas à son type : { $why }
agent-without-model = l'agent n'a pas de modèle propre
tool-arguments-no-object = les arguments de l'outil `{ $tool }` ne sont pas un objet

tasks-write-nothing = les tâches déléguées d'ici ne peuvent pas écrire
model-price-unknown = le prix de `{ $model }` n'est pas connu, une limite de coût ne peut donc pas être respectée
model-price-unknown-hint = ajoutez `[prices."{ $model }"]` avec `input` et `output` en USD par million de tokens à votre configuration
task-unknown = aucune tâche ne s'appelle `{ $task }`
tasks-list-hint = `posse tasks list` montre ce qu'il y a
tasks-alike = plusieurs tâches commencent par `{ $wanted }`
give-more-of-id = donnez-en davantage de l'identifiant
session-unknown = aucune session ne s'appelle `{ $shown }`
session-unknown-hint = `posse sessions list` montre ce qu'il y a ; le répertoire d'état décide où l'on cherche
sessions-alike = plusieurs sessions commencent par `{ $shown }`
driver-crashed = une tâche a fait planter son conducteur
