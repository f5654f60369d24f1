# Deutsch. Das Glossar steht in core.ftl.

cancel-without-end = `{ $id }` endet nicht, obwohl abgebrochen wurde
conversation-broken = das Gespräch von `{ $id }` ist beschädigt: { $fault }
task-out-of-time = die Aufgabe `{ $id }` hat ihre { $seconds } s aufgebraucht
task-out-of-time-hint = gib ihr mehr Zeit: --timeout { $seconds }
task-out-of-turns = die Aufgabe `{ $id }` hat alle ihre Runden ({ $turns }) aufgebraucht
task-out-of-turns-hint = gib ihr mehr: --max-turns { $turns }
there-are-none = hier gibt es keine
there-are = es gibt: { $names }
write-paths-not-within = die Schreibpfade { $own } liegen nicht innerhalb von { $outer }
write-paths-not-within-hint = eine Aufgabe bekommt nur, was der Delegierende und ihr Agent schreiben dürfen
lease-waits = wartet, bis ihre Schreibpfade frei sind: { $holders }
lease-waits-command = wartet, bis ein Befehl von `{ $task }` vorbei ist, der dort schreiben kann
run-while-stopping = die Aufgabe soll anhalten; nichts wurde ausgeführt
run-not-decidable = ob dies ausgeführt werden darf, lässt sich nicht feststellen ({ $why }); nichts wurde ausgeführt
lease-lost-silent = diese Aufgabe war zu lange still und hat ihre Schreibpfade verloren: { $holders }; nichts wurde ausgeführt
write-not-decidable = ob hier geschrieben werden darf, lässt sich nicht feststellen ({ $why }); nichts wurde geschrieben
agent-not-found = kein Agent heißt `{ $name }`
approval-not-found = keine Anfrage heißt `{ $id }`
no-tool-exists = keines der Werkzeuge von `{ $agent }` gibt es hier: { $tools }
output-schema-invalid = das Ausgabeschema ist kein JSON-Schema: { $why }
output-schema-invalid-hint = berichtige `output_schema` des Agenten
no-outcome = es liegt kein Ergebnis vor
delegation-too-deep = tiefer wird hier nicht delegiert
delegation-too-deep-hint = erledige die Aufgabe selbst
no-worktrees = hier können keine Arbeitsbäume angelegt werden
no-worktrees-hint = delegiere ohne `isolation: worktree`
nobody-delegates = unter diesem Namen delegiert niemand in dieser Sitzung
price-unknown = der Preis von `{ $unpriced }` ist nicht bekannt, daher kann keine Kostengrenze eingehalten werden
price-unknown-hint = trage den Preis in die Konfiguration ein oder nimm ein anderes Modell
task-too-large = die Aufgabe hat etwa { $size } Token, erlaubt sind { $task_tokens_max }
task-too-large-hint = schreibe die Einzelheiten in shared_context und nenne den Schlüssel in der Aufgabe
outcome-lost = das Ergebnis wurde nicht festgehalten
agent-exists = einen Agenten `{ $name }` gibt es schon
agent-exists-hint = wähle einen anderen Namen oder definiere ihn mit `overwrite: true`
facade-unknown = es gibt kein Werkzeug `{ $wanted }` zum Delegieren
answer-shortened = [gekürzt: der ganze Text ist als Ergebnis von { $id } gespeichert]
answer-note = [Hinweis: { $warning }]
session-closed = die Sitzung ist geschlossen
agent-timed-out = Subagent "{ $name }" hat die Zeitgrenze von { $seconds }s überschritten und wurde beendet.
agent-failed = Subagent "{ $name }" ist gescheitert: { $why }
so-far = Bis dahin lag vor:
agent-type-unknown = Unbekannter Subagent-Typ: "{ $name }". Verfügbar: { $names }
investigation-without-task = Die Aufgabe ist zu knapp. Nenne: was zu untersuchen ist, wo gesucht werden soll, was zurückkommen soll.
investigation-too-brief = Die Aufgabe ist zu knapp (mindestens { $task_chars_min } Zeichen). Nenne: WAS zu untersuchen ist, WO gesucht werden soll, WAS zurückkommen soll.
investigations-limit = Die Höchstzahl an Subagenten ({ $per_session_max }) ist erreicht. Nutze für weitere Untersuchungen die Werkzeuge direkt.
subagent-failed = Subagent gescheitert: { $why }
tool-calls-limit-reached = die Grenze der Werkzeugaufrufe wurde erreicht; das Folgende kann unvollständig sein
subagent-timed-out = Subagent hat die Zeitgrenze von { $seconds }s überschritten. Teile die Aufgabe auf.
partial-findings = Bisherige Erkenntnisse:
stopped-early = Vorzeitig beendet: { $why }.
tool-calls-made = Werkzeugaufrufe: { $tool_calls }
launch-description = Autonomen Agenten starten
launch-missing-description = Die Beschreibung des Agenten fehlt
launch-missing-prompt = Der Prompt des Agenten fehlt
launch-invalid-json = Ungültige JSON-Parameter
launch-resource-limit = Höchstzahl gleichzeitiger Agenten erreicht
launch-creation-failed = Agent konnte nicht erstellt werden
launch-limit = Die Höchstzahl gleichzeitiger Aufgaben ist erreicht. Bitte warte, bis andere Aufgaben beendet sind.
launched =
    Subagent erfolgreich gestartet

    Parallele Aufgabe erfolgreich gestartet:
    - Aufgabe: { $id } (auch { $alias })
    - Beschreibung: { $description }
    - Priorität: { $priority }
    - Schreibrechte: { $writes ->
        [yes] ja
       *[no] nein
    }
    - Längste Laufzeit: { $seconds }s

    Die Aufgabe läuft jetzt parallel. Du kannst mit anderer Arbeit weitermachen.
    Hole das Ergebnis später ab: {"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-failed-hint = Parallele Aufgabe konnte nicht erstellt werden: { $message } ({ $hint })
launch-failed = Parallele Aufgabe konnte nicht erstellt werden: { $message }
parameters-invalid = Ungültige Parameter: { $errors }
parameters-missing-json = Im JSON fehlen erforderliche Parameter
parameter-missing = Für den erforderlichen Parameter '{ $name }' fehlt ein Wert. { $why }. Rufe subagent noch einmal mit description und prompt auf.
parameter-not-closed = Für den erforderlichen Parameter '{ $name }' fehlt ein Wert: <{ $name }> ist nicht geschlossen.
description-not-text = description ist erforderlich und muss ein String sein
description-too-short = description muss mindestens 3 Zeichen haben
description-too-long = description sollte 3 bis 5 Wörter haben
prompt-not-text = prompt ist erforderlich und muss ein String sein
prompt-too-short = prompt muss mindestens 10 Zeichen haben
write-permissions-not-boolean = writePermissions muss ein Boolean sein
write-paths-not-list = allowedWritePaths muss ein Array sein
write-path-not-text = allowedWritePaths[{ $index }] muss ein String sein
write-paths-missing = writePermissions verlangt, dass allowedWritePaths angegeben ist
execution-time-not-number = maxExecutionTime muss eine Zahl sein
execution-time-out-of-range = maxExecutionTime muss zwischen 1000 und 300000 ms liegen (1 bis 300 Sekunden)
priority-unknown = priority muss 'low', 'normal' oder 'high' sein
task-not-yours = `{ $task }` ist keine deiner Aufgaben
task-not-yours-hint = `list_tasks` zeigt, welche Aufgaben es gibt
nobody-to-ask = niemand kann gefragt werden; wähle, was am wahrscheinlichsten gewünscht ist, und sage das in deiner Antwort
question-unreadable = die Frage ist nicht lesbar: { $why }
no-answer-default = innerhalb von { $deadline } s kam keine Antwort; mach mit deiner Vorgabe weiter: { $default }
no-answer = innerhalb von { $deadline } s kam keine Antwort; wähle, was am wahrscheinlichsten gewünscht ist, und sage das in deiner Antwort
nobody-to-tell = niemand kann benachrichtigt werden
nobody-waited = niemand hat auf eine Antwort gewartet
task-running-since = `{ $id }` läuft noch, { $turns } Runden in { $seconds } s
still-at-work = noch in Arbeit: rufe wait noch einmal auf oder erledige inzwischen etwas anderes
ended-before-cancel = sie war schon vor dem Abbruch beendet
messages-unread = `{ $id }` hat die letzten Nachrichten noch nicht gelesen
messages-unread-hint = warte, bis die nächste Runde gelaufen ist
task-not-ended = `{ $id }` ist noch nicht beendet
task-not-ended-hint = warte darauf oder sieh dir den Status an
agents-unusable = hier nicht benutzbar: { $names }
agents-not-shown = { $left_out } weitere werden nicht gezeigt: suche mit `query` nach Wörtern
field-missing = das Feld `{ $field }` fehlt
see-description-hint = siehe die Beschreibung des Werkzeugs
system-prompt-too-large = der System-Prompt hat etwa { $size } Token, erlaubt sind { $prompt_tokens_max }
system-prompt-too-large-hint = behalte die Anweisungen; Wissen sollen Werkzeuge liefern
tool-not-there = es gibt kein Werkzeug `{ $unknown }`
answer-truncated = [gekürzt — die volle Antwort überschreitet { $result_tokens_max } Token]
no-details = keine Einzelheiten
answer-was-empty = Die abschließende Antwort war leer
turns-exceeded = Höchstzahl an Runden erreicht, ohne dass eine abschließende Antwort vorliegt
model-failed = Fehler der Modell-API: { $detail }
action-unknown = es gibt keine Aktion `{ $action }`
max-cost-invalid = `max_cost_usd` muss größer als null sein
tool-twice = zwei Werkzeuge heißen `{ $own }`
tool-twice-hint = gib jedem Werkzeug einen eigenen Namen
tool-crashed = internal_error: das Werkzeug `{ $name }` ist abgestürzt ({ $panic }). Das ist ein Fehler des Werkzeugs, nicht deines Aufrufs
tool-schema-broken = das Schema des Werkzeugs selbst ist fehlerhaft; es kann nicht aufgerufen werden
arguments-misfit = die Argumente passen nicht zum Schema des Werkzeugs, nichts wurde ausgeführt:
nested-nowhere = es gibt keinen Lauf, zu dem er gehören könnte
nested-too-deep = Größte Tiefe für Subagenten ({ $depth }) erreicht. Es können keine weiteren gestartet werden.
prompt-required = prompt ist erforderlich
nested-misconfigured = Fehler in der Konfiguration des Subagenten: { $why }
nested-failed = Fehler des Subagenten: { $why }
nested-prompt-too-large = der System-Prompt hat etwa { $size } Token, erlaubt sind { $system_tokens_max }
nested-without-outcome = `{ $id }` hat kein Ergebnis
tool-execution-error = Fehler bei der Werkzeugausführung in Runde { $turns }: { $detail }
findings-kept = [im gemeinsamen Kontext als `{ $key }` aufbewahrt]
findings-not-kept = [nicht im gemeinsamen Kontext aufbewahrt: { $why }]

tasks-write-nothing = Aufgaben, die von hier übertragen werden, dürfen nicht schreiben
agent-cannot-write = `{ $agent }` arbeitet ohne { $tools }, die seine Definition nennt: { $advice }
