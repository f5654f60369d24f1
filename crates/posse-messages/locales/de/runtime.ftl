# Deutsch. Das Glossar steht in core.ftl.

cancel-without-end = `{ $id }` endet nicht, obwohl abgebrochen wurde
conversation-broken = das Gespräch von `{ $id }` ist beschädigt: { $fault }
task-out-of-time = die Aufgabe `{ $id }` hat ihre { $seconds } s aufgebraucht
task-out-of-time-hint = gib ihr mehr Zeit: --timeout { $seconds }
task-out-of-turns = die Aufgabe `{ $id }` hat alle ihre Runden ({ $turns }) aufgebraucht
task-out-of-turns-hint = gib ihr mehr: --max-turns { $turns }
mode-of-subagent = die Aufgabe `{ $id }` gehört einem Unteragenten und behält den Modus ihres Orchestrators
there-are-none = hier gibt es keine
there-are = es gibt: { $names }
write-paths-not-within = die Schreibpfade { $own } liegen nicht innerhalb von { $outer }
write-paths-not-within-hint = eine Aufgabe bekommt nur, was der Delegierende und ihr Agent schreiben dürfen
agent-not-found = kein Agent heißt `{ $name }`
approval-not-found = keine Anfrage heißt `{ $id }`
no-tool-exists = keines der Werkzeuge von `{ $agent }` gibt es hier: { $tools }
output-schema-invalid = das Ausgabeschema ist kein JSON-Schema: { $why }
output-schema-invalid-hint = berichtige `output_schema` des Agenten
delegation-too-deep-hint = erledige die Aufgabe selbst
no-worktrees = hier können keine Arbeitsbäume angelegt werden
no-worktrees-hint = delegiere ohne `isolation: worktree`
nobody-delegates = unter diesem Namen delegiert niemand in dieser Sitzung
task-too-large = die Aufgabe hat etwa { $size } Token, erlaubt sind { $task_tokens_max }
task-too-large-hint = schreibe die Einzelheiten in shared_context und nenne den Schlüssel in der Aufgabe
agent-exists = einen Agenten `{ $name }` gibt es schon
agent-exists-hint = wähle einen anderen Namen oder definiere ihn mit `overwrite: true`
agent-built-in-hint = er gehört zu Posse und wird nie ersetzt: wähle einen anderen Namen, mit `extends: "{ $name }"` für eine Variante
facade-unknown = es gibt kein Werkzeug `{ $wanted }` zum Delegieren
launch-description = Autonomen Agenten starten
launch-missing-description = Die Beschreibung des Agenten fehlt
launch-missing-prompt = Der Prompt des Agenten fehlt
launch-invalid-json = Ungültige JSON-Parameter
launch-resource-limit = Höchstzahl gleichzeitiger Agenten erreicht
launch-creation-failed = Agent konnte nicht erstellt werden
parameter-missing = Für den erforderlichen Parameter '{ $name }' fehlt ein Wert. { $why }. Rufe subagent noch einmal mit description und prompt auf.
task-not-yours = `{ $task }` ist keine deiner Aufgaben
task-not-yours-hint = `list_tasks` zeigt, welche Aufgaben es gibt
task-running-since =
    { $turns ->
        [one] `{ $id }` läuft noch, { $turns } Runde in { $seconds } s
       *[other] `{ $id }` läuft noch, { $turns } Runden in { $seconds } s
    }
messages-unread = `{ $id }` hat die letzten Nachrichten noch nicht gelesen
messages-unread-hint = warte, bis die nächste Runde gelaufen ist
task-not-ended = `{ $id }` ist noch nicht beendet
task-not-ended-hint = warte darauf oder sieh dir den Status an
agents-defined = in dieser Sitzung definiert: { $names }
system-prompt-too-large = der System-Prompt hat etwa { $size } Token, erlaubt sind { $prompt_tokens_max }
system-prompt-too-large-hint = behalte die Anweisungen; Wissen sollen Werkzeuge liefern
tool-not-there = es gibt kein Werkzeug `{ $unknown }`
tool-twice = zwei Werkzeuge heißen `{ $own }`
tool-twice-hint = gib jedem Werkzeug einen eigenen Namen
nested-prompt-too-large = der System-Prompt hat etwa { $size } Token, erlaubt sind { $system_tokens_max }
answer-not-typed = die Antwort passt nicht zu ihrem Typ: { $why }
agent-without-model = der Agent hat kein eigenes Modell
tool-arguments-no-object = die Argumente des Werkzeugs `{ $tool }` sind kein Objekt

tasks-write-nothing = Aufgaben, die von hier übertragen werden, dürfen nicht schreiben
model-price-unknown = der Preis von `{ $model }` ist nicht bekannt, daher kann keine Kostengrenze eingehalten werden
model-price-unknown-hint = trage `[prices."{ $model }"]` mit `input` und `output` in USD je Million Token in deine Konfiguration ein
task-unknown = keine Aufgabe heißt `{ $task }`
tasks-list-hint = `posse tasks list` zeigt, was es gibt
tasks-alike = mehrere Aufgaben beginnen mit `{ $wanted }`
give-more-of-id = gib mehr von der Kennung an
session-unknown = keine Sitzung heißt `{ $shown }`
session-unknown-hint = `posse sessions list` zeigt, was es gibt; das Zustandsverzeichnis entscheidet, wo gesucht wird
sessions-alike = mehrere Sitzungen beginnen mit `{ $shown }`
driver-crashed = eine Aufgabe hat ihren Treiber zum Absturz gebracht
