# Deutsch. Glossar: task = Aufgabe, agent = Agent, grant = Berechtigung, budget = Budget, session = Sitzung,
# shared context = gemeinsamer Kontext, key = Schlüssel, value = Wert, tool = Werkzeug, call = Aufruf, turn = Runde, run = Lauf,
# snapshot = Schnappschuss, workspace = Arbeitsbereich, store = Speicher, journal = Journal, prompt = Prompt, model = Modell.
# Namen von Feldern, Aktionen, Werkzeugen und Befehlen bleiben, wie sie sind.

depends-on-unknown = `{ $unknown }` in depends_on ist keine Aufgabe dieser Sitzung
depends-on-unknown-hint = eine Aufgabe kann nur von Aufgaben abhängen, die vor ihr gestartet wurden
open-tasks-limit = { $open_max } Aufgaben laufen oder sind nicht abgeholt, mehr sind nicht erlaubt (`[session] max_open_tasks`)
open-tasks-limit-hint = hole einige ab oder brich sie ab; `list_tasks` zeigt sie
tasks-running-limit =
    { $running ->
        [one] es läuft schon { $running } Aufgabe, mehr sind nicht erlaubt (`[session] max_running`)
       *[other] es laufen schon { $running } Aufgaben, mehr sind nicht erlaubt (`[session] max_running`)
    }
tasks-running-limit-hint = hole eine beendete Aufgabe ab oder warte auf eine, oder starte mit `queue: true`
task-still-running = `{ $id }` läuft noch
task-waits-for = `{ $id }` wartet auf { $waits_for }
task-waits-for-place = `{ $id }` wartet auf einen freien Platz
task-waits-for-lease = `{ $id }` wartet, bis ihre Schreibpfade frei sind
collect-later-hint = erledige etwas anderes und hole das Ergebnis später ab
task-not-tracked = hier wird keine Aufgabe `{ $shown }` geführt
task-never-spawned = sie wurde in dieser Sitzung nie gestartet
task-already-collected = already_collected: `result` hat weiterhin den vollen Text
key-invalid = `{ $key }` ist kein Schlüssel
key-shape-hint = erlaubt sind 1 bis 64 Zeichen aus a-z, 0-9 und `_`, mit höchstens einem Präfix vor einem Doppelpunkt, etwa `inv:findings`
name-shape-hint = erlaubt sind 1 bis 64 Zeichen aus a-z, 0-9 und `_`
label-invalid = `{ $label }` ist kein Name für einen Schnappschuss
value-is-large = der Wert hat etwa { $tokens } von höchstens { $value_tokens_max } Token; fasse ihn knapper
value-too-large = der Wert hat etwa { $tokens } Token, erlaubt sind { $value_tokens_max }
value-too-large-hint = fasse ihn knapper oder verteile ihn auf mehrere Schlüssel
context-full = die anderen Schlüssel belegen { $used } Token, dieser Wert hat { $tokens }, und eine Sitzung fasst höchstens { $total_tokens_max }
context-keys-full = die Sitzung hat schon { $keys } Schlüssel, mehr sind nicht möglich
snapshot-exists = es gibt schon einen Schnappschuss `{ $label }`
snapshot-exists-hint = wähle einen anderen Namen
snapshots-full = die Sitzung hat schon { $snapshots_max } Schnappschüsse
session-archived = die Sitzung `{ $session }` ist archiviert
session-archived-hint = sie kann gelesen, aber nicht geändert werden. Ein neuer Lauf hat eine frische Sitzung, ebenso der MCP-Server nach einem Neustart
session-context-deleted = der gemeinsame Kontext der Sitzung `{ $session }` wurde gelöscht
session-context-deleted-hint = mach ohne ihn weiter. Ein neuer Lauf hat eine frische Sitzung, ebenso der MCP-Server nach einem Neustart
session-not-found = es gibt keine Sitzung `{ $session }`
session-not-found-hint = `posse sessions list` zeigt, welche es gibt
session-id-invalid = `{ $session }` ist keine Sitzungskennung
session-id-invalid-hint = erlaubt sind 1 bis 64 Zeichen aus a-z, A-Z, 0-9, `_` und `-`
key-not-found = es gibt keinen Schlüssel `{ $key }`
key-not-found-hint = `list_keys` zeigt, welche es gibt
snapshot-not-found = es gibt keinen Schnappschuss `{ $label }`
snapshot-not-found-hint = `posse context snapshot` zeigt, welche es gibt
version-conflict = `{ $key }` hat jetzt Version { $version }, geschrieben von { $written_by }
version-conflict-hint = lies den Wert, übernimm die Änderungen und schreibe mit dieser Version als `expected_version`
version-conflict-missing = `{ $key }` gibt es jetzt nicht; die Version ist 0
version-conflict-missing-hint = schreibe mit `expected_version` 0, um ihn anzulegen
context-full-hint = lösche, was nicht mehr gebraucht wird, oder schreibe kürzere Werte
keys-too-many = `keys` hat mehr als { $keys_max } Schlüssel
versions-too-few = `versions` ist mindestens 1
ttl-out-of-range = `ttl_s` liegt zwischen 1 und { $ttl_s_max } Sekunden
ttl-out-of-range-hint = lass es weg, wenn der Wert bleiben soll
agent-name-invalid = `{ $name }` ist kein Name für einen Agenten
agent-name-invalid-hint = erlaubt sind 1 bis 64 Zeichen aus a-z, 0-9, `_` und `-`
approval-unreadable = eine Anfrage im Speicher ist nicht lesbar
approval-closed = `{ $id }` kann nicht beantwortet werden: { $why }
approvals-list-hint = `posse approvals list` zeigt, was auf eine Antwort wartet
approval-was-answered = sie wurde schon beantwortet ({ $state }, { $by })
approval-overdue = ihre Zeit ist um, und die Vorgabe gilt
approval-task-ended = ihre Aufgabe ist beendet
approval-not-allowing = `{ $id }` erlaubt den Aufruf nicht: Zustand { $state }
approval-mismatch = bei `{ $id }` geht es um einen anderen Aufruf als diesen
approval-mismatch-hint = `posse approvals show` zeigt, worum es geht, mit dem Hash
approval-wants = { $agent } möchte `{ $tool }` aufrufen: { $why }
approval-about = Aufgabe { $way } · Aufruf { $key } · Anfrage { $id }
approval-bytes = { $bytes } Bytes · sha256 { $hash }
approval-covers = eine Antwort für mehr als diesen Aufruf umfasst: { $covers }
journal-without-start = ein Journal muss mit dem Start seiner Aufgabe beginnen
record-unreadable = ein Eintrag des Journals ist nicht lesbar
write-path-empty = der Schreibpfad `{ $shown }` ist leer
write-path-too-long = der Schreibpfad `{ $shown }` ist zu lang
write-path-control-character = der Schreibpfad `{ $shown }` enthält ein Steuerzeichen
write-path-not-relative = der Schreibpfad `{ $shown }` ist nicht relativ zum Arbeitsbereich
write-path-goes-up = der Schreibpfad `{ $shown }` enthält `..`
write-path-hint = Schreibpfade sind Globs unterhalb des Arbeitsbereichs, etwa `src/**` oder `docs/*.md`
write-paths-too-many = { $count } Schreibpfade sind mehr als die erlaubten { $paths_max }
write-paths-too-many-hint = nenne Verzeichnisse statt Dateien
lease-conflict = Die Dateisperren sind nicht zu bekommen. Konflikte: { $places }
lease-conflict-hint = { $holders }; warte, bis sie beendet ist, oder wähle andere Pfade
lease-holder = `{ $task }` hält { $paths }
lease-after-end = `{ $task }` ist beendet und kann keine Schreibreservierung halten
tool-pattern-invalid = `{ $pattern }` bezeichnet kein Werkzeug: { $why }
tool-pattern-invalid-hint = schreibe einen Namen wie Read, ein Muster wie mcp__github__* oder einen Aufruf wie Bash(git *)
pattern-empty = es ist leer
pattern-too-long = es ist zu lang
pattern-control-character = es enthält ein Steuerzeichen
pattern-not-closed = die Klammer ist nicht geschlossen
pattern-name-invalid = ein Name besteht aus Buchstaben, Ziffern, `_`, `-`, `.`, `/` und `*`
pattern-no-name = in den Klammern steht kein Name
journal-two-starts = ein Journal hat zwei Anfänge
verify-too-many = es gibt { $count } Prüfbefehle, höchstens { $commands_max } werden ausgeführt
verify-too-many-hint = fasse sie in einem Skript zusammen
verify-command-invalid = `{ $shown }` ist kein Prüfbefehl: er ist leer, enthält ein NUL-Zeichen oder ist zu lang
verify-command-invalid-hint = ein Befehl hat 1 bis { $command_bytes_max } Bytes
verify-not-allowed = das Ergebnis kann nicht mit `{ $shown }` geprüft werden: { $why }
verify-not-allowed-hint = Prüfbefehle laufen nur für den, der `bash` benutzen darf: erlaube es (`--allow bash`) oder lass `verify` weg
hosts-too-many = ein Netz hat höchstens 1000 Hosts
host-invalid = `{ $shown }` bezeichnet keinen Host: { $why }
host-invalid-hint = schreibe einen Host wie docs.rs oder *.docs.rs für die darunter, ohne `https://`
not-a-port = das ist kein Port
below-a-number = unter einer Zahl liegt nichts
audience-pattern-hint = nenne Teilnehmer wie in `written_by`, etwa `subagent:researcher:*`; `*` sind alle
audience-too-many = `{ $name }` hat mehr als { $patterns_max } Muster
audience-pattern-invalid = `{ $pattern }` in `{ $name }` ist kein Muster für Teilnehmer
key-not-readable = `{ $key }` darfst du nicht lesen
key-not-writable = `{ $key }` darfst du nicht schreiben oder löschen
key-denied-hint = mach ohne ihn weiter oder frage, wer dir die Aufgabe gegeben hat; nimm einen anderen Schlüssel für das Gefundene
keys-empty = `keys` ist leer
keys-empty-hint = nenne mindestens einen Schlüssel, auf den gewartet wird
known-version-stray = `known_versions` hat `{ $key }`, das nicht unter `keys` ist
wait-out-of-range = `timeout_s` liegt zwischen 1 und { $wait_s_max }
run-incomplete = der Lauf wurde nicht abgeschlossen: { $why }

## grant.rs

agent-exposed = er kann private Daten lesen (`{ $looks }`), liest Texte Fremder und kann Daten hinaussenden (`{ $reaches }`): eine eingeschleuste Anweisung könnte Daten verraten; gib eines davon einem anderen Agenten
