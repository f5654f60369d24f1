# Deutsch. Das Glossar steht in core.ftl.

language-unknown = Warnung: es gibt keine Sprache `{ $unknown }`; es gibt: { $names }
many-errors =
    { $n ->
        [one] { $n } Fehler
       *[other] { $n } Fehler
    }
many-files =
    { $n ->
        [one] { $n } Datei
       *[other] { $n } Dateien
    }
many-keys =
    { $n ->
        [one] { $n } Schlüssel
       *[other] { $n } Schlüssel
    }
many-tasks =
    { $n ->
        [one] { $n } Aufgabe
       *[other] { $n } Aufgaben
    }
many-tokens =
    { $n ->
        [one] { $n } Token
       *[other] { $n } Token
    }
many-tools =
    { $n ->
        [one] { $n } Werkzeug
       *[other] { $n } Werkzeuge
    }
many-turns =
    { $n ->
        [one] { $n } Runde
       *[other] { $n } Runden
    }
many-warnings =
    { $n ->
        [one] { $n } Warnung
       *[other] { $n } Warnungen
    }
runtime-not-started = die Laufzeitumgebung kann nicht starten
agents-not-trusted = { $untrusted } nicht vertraut: sieh sie mit `posse agents check` an und lass sie dann mit `posse trust` laufen
warning = Warnung: { $text }
no-place-for-agents = es gibt keinen Ort für eigene Agenten: HOME ist nicht gesetzt
no-place-for-agents-hint = setze HOME oder lass --user weg
exists-edit-it = sie existiert; bearbeite sie oder wähle einen anderen Namen
check-writable = prüfe, ob du dort schreiben darfst und der Datenträger Platz hat
agent-shadows = ab jetzt steht er vor dem Agenten `{ $name }` aus { $other }
agent-is-shadowed = hier zählt er nicht: der Agent `{ $name }` aus { $other } steht vor ihm
no-approvals = nichts wartet auf eine Antwort
approval-none-of-task = `{ $task }` wartet auf keine Freigabe
approvals-of-task = `{ $task }` wartet auf mehrere Freigaben: { $ids }
approvals-of-task-hint = `posse approvals list` zeigt sie
approvals-footer = posse approvals show ID · approve ID · deny ID
approval-other-hash = bei `{ $id }` geht es um einen anderen Aufruf als den mit diesem Hash
approval-now = { $id }: { $state }
approvals-watching = wartet auf Fragen; Strg-C beendet
seen-everywhere = posse sieht ihn in jedem Verzeichnis
seen-here = posse sieht ihn in diesem Verzeichnis und darunter
format-unknown = es gibt kein Format `{ $format }`
export-excess = `{ $agent }` hätte im Format { $format } mehr Rechte: { $excess }
export-excess-hint = wähle ein anderes Format oder schreibe ihn trotzdem mit --force
nothing-overwritten = was existiert, wird nicht überschrieben
export-lost = verloren: { $text }
export-read-as = { $format } liest ihn als { $file }
no-tools = keine Werkzeuge
chat-banner = { $model } · /help, /quit oder Strg-D · das Gespräch ist `{ $session_id }`
chat-command-unknown = es gibt keinen Befehl `{ $command }`, nichts wurde gesendet; /help zeigt die Befehle, und eine Zeile, die mit einem Leerzeichen beginnt, ist immer eine Nachricht
chat-not-verified = die Befehle von `verify` laufen in einem Gespräch nicht
chat-mode-not-kept = der Modus der nächsten Nachricht kann nicht aufbewahrt werden
chat-mode-names = die Modi sind `/mode plan`, `/mode ask` und `/mode auto`
chat-resume-what = `--resume` ohne Aufgabe braucht ein Terminal, um eine zu wählen
chat-resume-what-hint = nennen Sie eine Aufgabe: `posse chat --resume ID`, oder nehmen Sie die letzte: `posse chat --continue`
chat-none = in diesem Projekt gibt es keine Unterhaltung fortzusetzen
chat-none-hint = `posse chat` beginnt eine; `posse chat --resume` zeigt mit Strg-A die anderer Projekte
chat-left = Unterhaltung { $id } bleibt erhalten: posse chat --continue
chat-model-changed = { $model } antwortet ab der nächsten Nachricht
chat-needs-screen = `{ $command }` braucht ein Terminal
chat-flag-fixed = `{ $flag }` kann in einem laufenden Gespräch nicht geändert werden: es behält, womit es begonnen wurde
chat-flag-fixed-hint = lass `{ $flag }` weg oder beginne ein neues Gespräch ohne `--resume`
message-unreadable = die nächste Nachricht ist nicht lesbar
mode-of-review = eine Prüfung liest nur: ihr Modus ist immer `plan`
context-list-hint = `posse context list` zeigt, was es gibt
context-version-hint = `posse context read` zeigt den jetzigen Stand; `--expect` nimmt diese Version
no-snapshots = noch keine Schnappschüsse; `posse context snapshot LABEL` macht einen
keys-not-there = nicht vorhanden: { $names }
context-used = Sitzung { $session } · { $keys } · { $size }
input-not-text = die Standardeingabe ist nicht als Text lesbar
screen-not-opened = das Terminal lässt sich nicht benutzen
end-resume = fortsetzen: posse tasks resume { $id }
end-try-again = noch einmal: posse tasks resume { $id }
run-interrupted = unterbrochen; posse tasks resume { $task } setzt die Aufgabe mit allem fort, was sie delegiert hat
task-left = { $id } läuft weiter: posse tasks watch { $id }
task-interrupted = { $signal } hat diesen Prozess beendet; `{ $task }` ist unterbrochen, nicht abgebrochen
task-interrupted-hint = `posse tasks resume { $task }` setzt sie fort, mit allem, was sie delegiert hat
signals-unavailable = Signale können nicht empfangen werden
goes-on-with-worker = { $left } geht weiter mit: posse worker --local --until-idle
schema-unsatisfied = erfüllt das Schema nicht: { $error }
in-doubt-call = im Zweifel: { $call } (Aufruf { $key }) ist vielleicht geschehen, vielleicht nicht
verify-failed = Prüfung gescheitert: { $command } · { $ending }
answer-is-empty = die Antwort war leer
turn-limit-reached = Rundengrenze ({ $turns }) erreicht
file-written = { $file } geschrieben
check-writable-here = prüfe, ob du hier schreiben darfst und der Datenträger Platz hat
init-next = als Nächstes: posse doctor, den Agenten lesen und mit `posse trust` laufen lassen, dann posse run "…"
task-empty = die Aufgabe ist leer
task-empty-hint = sage, was zu tun ist: posse run "Warum ist der Login-Test instabil?"
task-unreadable = die Aufgabe ist von der Standardeingabe nicht lesbar
task-input-too-large = die Aufgabe auf der Standardeingabe ist größer als 1 MiB
task-input-too-large-hint = lege die Einzelheiten in eine Datei im Arbeitsbereich und nenne sie in der Aufgabe
task-detached = läuft im Hintergrund weiter: posse tasks watch { $task } verfolgt sie, posse tasks cancel { $task } beendet sie
session-deleted-told = der gemeinsame Kontext von { $session } ist gelöscht; Aufgaben und Journale bleiben
session-archived-told = { $session } ist archiviert: der gemeinsame Kontext kann gelesen, aber nicht geändert werden
no-sessions-here = hier gibt es keine Sitzungen
run-starts-one = `posse run "…"` beginnt eine
no-sessions-yet = noch keine Sitzungen; `posse run "…"` beginnt eine
task-is-driven = `{ $task }` wird gerade von Prozess { $process } geführt
task-is-driven-hint = warte darauf oder beende zuerst diesen Prozess
no-tasks-yet = noch keine Aufgaben; `posse run "…"` beginnt eine
no-task-like-that = so eine Aufgabe gibt es nicht
no-tasks-here = noch keine Aufgaben in { $place }; `--all` listet die anderer Projekte
tasks-of-project = { $tasks } von { $place }
task-waits-for-approval = wartet auf Freigabe: posse approvals show { $approval }
many-subagents =
    { $n ->
        [one] 1 Subagent
       *[other] { $n } Subagenten
    }
many-sessions =
    { $n ->
        [one] 1 Sitzung
       *[other] { $n } Sitzungen
    }
column-state = ZUSTAND
column-agent = AGENT
column-task = AUFGABE
column-tasks = AUFGABEN
column-project = PROJEKT
column-turns = RUNDEN
column-cost = KOSTEN
column-model = MODELL
column-day = TAG
column-input = EINGABE
column-cached = CACHE
column-output = AUSGABE
column-about = ZWECK
sessions-of-project = { $sessions } von { $place }
no-sessions-of-project = noch keine Sitzungen in { $place }; `--all` listet die anderer Projekte
task-tool-gone = `{ $task }` bekam das Werkzeug `{ $missing }`, das es nicht mehr gibt
task-tool-gone-hint = `posse doctor` im Arbeitsbereich der Aufgabe zeigt, welche Werkzeuge es gibt und was mit anderen nicht stimmt
result-unknown = `{ $id }` hat kein Ergebnis `{ $key }`
result-unknown-hint = Ergebnisse sind als TURN.INDEX nummeriert, etwa 3.0
cancel-had-ended = sie war schon beendet
cancel-not-yet = Prozess { $process } wurde benachrichtigt und hat sie noch nicht beendet
cancel-too-late = sie endete, bevor sie abgebrochen werden konnte
message-empty = die Nachricht ist leer
message-queued = die Aufgabe liest sie vor ihrer nächsten Runde
message-delivered = die Aufgabe hat sie gelesen, in Runde { $turn }
resume-had-completed = `{ $task }` war schon fertig: nichts läuft, dies ist ihre Antwort
message-missed = zu spät, die Aufgabe war beendet
question-none = `{ $task }` fragt nichts
nobody-drives = niemand führt `{ $id }` jetzt; weiter geht es mit: posse tasks resume { $id }
nothing-runs = keine Aufgabe dieses Projekts läuft
screen-failed = der Bildschirm ist ausgefallen
changes-kept-apart = die Änderungen von { $task } liegen getrennt: posse tasks diff { $task } zeigt sie, posse tasks apply { $task } führt sie zusammen
worktree-used-up = der Arbeitsbaum von `{ $task }` ist nicht mehr da: er wurde übernommen oder verworfen
worktree-used-up-hint = beginne eine neue Aufgabe
patch-not-yet = von `{ $task }` gibt es noch keinen Patch ({ $path })
patch-not-yet-hint = er wird geschrieben, wenn die Aufgabe endet
task-changed-nothing = `{ $task }` hat nichts geändert
undo-restored = { $path } wiederhergestellt
undo-removed = { $path } entfernt
undo-would-restore = würde { $path } wiederherstellen
undo-would-remove = würde { $path } entfernen
undo-nothing = { $path } ist schon wie vorher
undo-kept = { $path } behalten: { $why }
undo-apart = `{ $task }` hat in einem eigenen Arbeitsbaum gearbeitet, den es nicht mehr gibt
patch-not-written = der Patch kann nicht ausgegeben werden
changes-applied-before = was `{ $task }` geändert hat, wurde schon übernommen
change-written = geschrieben      { $name }
change-merged = zusammengeführt  { $name }
changes-applied = in { $origin } übernommen; der Patch bleibt, der Arbeitsbaum wurde entfernt
patch-removed = der Patch von `{ $task }` wurde entfernt; was übernommen wurde, bleibt
changes-removed = was `{ $task }` geändert hat, wurde entfernt
task-without-worktree = `{ $task }` hat keinen Arbeitsbaum
task-without-worktree-hint = nur Aufgaben mit `isolation: worktree` haben einen, bis er verworfen wird; einer ohne Änderungen wird entfernt
task-at-work =
    { $what ->
        [apply] `{ $task }` arbeitet noch: ihre Änderungen können nicht übernommen werden
        [undo] `{ $task }` arbeitet noch: ihre Änderungen können nicht zurückgenommen werden
       *[discard] `{ $task }` arbeitet noch: ihre Änderungen können nicht verworfen werden
    }
task-at-work-hint = warte darauf
task-was-interrupted =
    { $what ->
        [apply] `{ $task }` wurde unterbrochen: ihre Änderungen können nicht übernommen werden
       *[discard] `{ $task }` wurde unterbrochen: ihre Änderungen können nicht verworfen werden
    }
task-was-interrupted-hint = setze sie mit `posse tasks resume { $task }` fort oder beende sie mit `posse tasks cancel { $task }`
no-project-to-trust = hier ist kein Projekt, dem zu vertrauen wäre
no-project-to-trust-hint = gehe in das Verzeichnis eines Projekts
project-without-agents = dieses Projekt hat keine Agenten
extends-untrusted = `{ $name }` läuft noch nicht: er erweitert { $path }, dem nicht vertraut wird
trust-inside-task = dies ist ein Befehl aus einer Aufgabe von Posse, und nur ein Mensch kann Dateien vertrauen
trust-inside-task-hint = bitte den Menschen, `posse trust` auszuführen
worker-gave-up = konnte nicht weiterführen: { $tasks }
worker-gave-up-hint = die Zeilen oben sagen, warum; `posse tasks resume` oder `posse tasks cancel` klärt jede davon
no-leases = niemand hält eine Schreibreservierung; Aufgaben mit `write_paths` halten eine, solange sie laufen
lease-not-held = `{ $task }` hält keine Schreibreservierung
lease-not-held-hint = `posse leases` zeigt, wer eine hält
lease-in-use = `{ $task }` wird von Prozess { $process } geführt und schreibt vielleicht gerade { $paths }
lease-in-use-hint = warte darauf oder beende sie mit `posse tasks cancel { $task }`; `posse leases release { $task } --force` nimmt ihr die Reservierung, während sie arbeitet
lease-taken-away = WARNUNG: `{ $task }` arbeitet. Ihre Schreibzugriffe auf { $paths } werden ab jetzt abgelehnt, es sei denn, sie bekommt die Reservierung wieder; ein Befehl von ihr wird binnen ein, zwei Sekunden angehalten
lease-released = { $paths } von `{ $task }` freigegeben
worker-stopped = angehalten; was in Arbeit war, führt der nächste Worker weiter
worker-idle = nichts weiterzuführen: keine Aufgabe ist unterbrochen oder wartet auf einen Worker
worker-not-started = es konnte kein Worker im Hintergrund gestartet werden
not-taken-up = nicht übernommen
file-too-large = { $path } ist größer als 1 MiB
plain-note = Hinweis: { $note }
directory-unreadable = das aktuelle Verzeichnis ist nicht lesbar
stdout-failed = Fehler: in die Standardausgabe kann nicht geschrieben werden: { $why }
answer-not-written = die Antwort kann nicht in die Standardausgabe geschrieben werden: { $why }
error-because = weil: { $cause }
error-hint = Tipp: { $hint }
tokens-of = { $tokens } von { $most } Token
turns-shown =
    { $n ->
        [one] { $n } Runde
       *[other] { $n } Runden
    }
state-error = Fehler
row-hidden = verborgen
agent-next = als Nächstes: ausfüllen und mit `posse agents check { $name }` ansehen
agent-next-trust = als Nächstes: ausfüllen, mit `posse agents check { $name }` ansehen, dann `posse trust`
trusted-before = schon vertraut
trusted-now = jetzt vertraut
trusted-not-ours = gehört einem anderen Benutzer: nicht vertraut
trusted-not-broken = hat Fehler: nicht vertraut
project-not-trusted-any-more = { $project } wird nicht mehr vertraut
project-was-not-trusted = { $project } wurde nicht vertraut
init-project = von jedem posse-Befehl in diesem Projekt gelesen
init-agent = ein Agent zum Ausprobieren: posse run --agent reviewer "…"
init-written = geschrieben
init-exists = existiert, bleibt wie sie ist
stopped-after = { $reason } nach { $seconds }s
continue-with = weiter: posse tasks resume { $id }{ $more }      voller Text: posse tasks show { $id }
resumes-with = setzt auch fort, was mit ihr angehalten wurde: { $tasks }
many-trees =
    { $n ->
        [one] { $n } Baum
       *[other] { $n } Bäumen
    }
gc-no-rule = nichts sagt, welche Aufgaben gelöscht werden sollen
gc-no-rule-hint = `posse gc --older-than 30d`, oder `max_age` oder `max_size` unter `[store]` in deiner Konfiguration setzen
gc-needs-rewrite = der Platz ist für neue Aufgaben frei, aber noch nicht zurückgegeben: dieser Speicher muss einmal neu geschrieben werden, was laufende Aufgaben aufhielte. `posse gc` noch einmal ausführen, wenn keine läuft
gc-not-started = alte Aufgaben wurden nicht gelöscht: { $why }
task-inside-tree = `{ $task }` ist Teil eines Baums, und ein Baum wird ganz gelöscht
task-inside-tree-hint = `posse tasks delete { $root }` löscht ihn ganz
stdin-silent = die Standardeingabe ist eine Pipe, auf der innerhalb von 1 s nichts kam: die Aufgabe beginnt ohne sie. Um darauf zu warten, den Befehl mit `-` beenden: posse run "Was ist fehlgeschlagen?" -
stdin-unreadable = die Standardeingabe kann nicht gelesen werden
session-none-of-project = keine Sitzung dieses Projekts
session-none-of-project-hint = `posse sessions list` zeigt die anderer Projekte, und `--session ID` nennt eine
chat-help =
    /help   zeigt dies
    /mode   plan, ask oder auto: was die nächsten Nachrichten ändern dürfen
    /model  ein anderes Modell für die nächsten Nachrichten, als provider:model
    /quit   beendet das Gespräch, wie Strg-D; mit `posse chat --resume` kann es fortgesetzt werden
    Strg-C  hält eine Antwort an
    Alles andere wird an das Modell gesendet.
demo-banner = Posse-Vorführung · Modell nach Skript, kein Schlüssel, kein Netz · Zustand in { $state }
demo-end =
    Die Aufgaben: posse tasks list --state { $state }

    Das war die Aufzeichnung eines Modells. Mit einem echten:
      export ANTHROPIC_API_KEY=…      (oder OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST)
      posse run "Warum ist der Login-Test instabil?"
demo-shared-context = gemeinsamer Kontext: { $entries }
config-changed = `{ $key }` geändert in { $file }
config-absent = (nicht vorhanden)
config-unchanged = in { $file } wurde nichts geändert
config-editor-failed = der Editor `{ $editor }` ist gescheitert
config-editor-hint = setze VISUAL oder EDITOR
config-edit-kept = nichts wurde geändert; dein Text steht in { $file }
config-default = `{ $key }` ist nicht gesetzt; dies ist der Standardwert
config-no-default = `{ $key }` ist nicht gesetzt und hat keinen festen Standardwert
config-edit-no-terminal = der Editor `{ $editor }` braucht ein Terminal
config-edit-no-terminal-hint = `posse config path` zeigt die Dateien, `posse config set` ändert eine Einstellung
models-none = kein Anbieter ist eingerichtet
models-none-hint = `posse setup` richtet einen ein
models-column-model = MODELL
models-column-context = KONTEXT
models-column-input = EINGABE/M
models-column-output = AUSGABE/M
models-note = Modelle: { $n } · Preise in US-Dollar je Million Token, aus der eingebauten Tabelle oder `[prices]`; `$?` ist unbekannt, `*` die Vorgabe
setup-no-model = Es ist kein Modell eingerichtet.
setup-which-provider = Welcher Anbieter?
setup-ask-key = Schlüssel für { $provider }:{" "}
setup-ask-url = Basis-URL:{" "}
setup-ask-model = Modell:{" "}
setup-models = Modelle: { $names }
setup-answered = ✓ Antwort nach { $seconds } s · { $models } Modelle · Vorgabe { $model }
setup-stored = ✓ gespeichert in { $file } (nur du kannst es lesen)
setup-configured = ✓ gespeichert in { $file }
setup-next = `posse` beginnt ein Gespräch; `posse demo` zeigt eine ganze Delegation ohne Schlüssel
setup-with-config = `posse setup` ändert deine eigene Konfiguration und nimmt kein --config
setup-needs-provider = ohne Terminal muss der Anbieter genannt werden
setup-needs-provider-hint = posse setup anthropic < key.txt
setup-needs-url = nenne die Adresse des Servers mit --base-url
setup-needs-key = auf der Standardeingabe kam kein Schlüssel für { $provider }
usage-did-you-mean = meintest du `{ $name }`?
usage-values = es gibt: { $names }
man-pages-written = die Manpages stehen in { $directory }
review-nothing = keine Änderungen: nichts zu begutachten
review-nothing-within = keine Änderungen im Genannten: nichts zu begutachten
review-nothing-since = keine Änderungen seit `{ $base }`: nichts zu begutachten
review-nothing-since-within = keine Änderungen seit `{ $base }` im Genannten: nichts zu begutachten
review-nothing-staged = nichts ist vorgemerkt: nichts zu begutachten
review-nothing-commit = der Commit `{ $commit }` ändert nichts: nichts zu begutachten
key-was-deleted = gelöscht: { $key }
context-wait-over = die Zeit ist um: nichts wurde geschrieben oder gelöscht
cost-no-name = (ohne Antwort)
cost-total = gesamt
cost-unpriced = für { $tokens } ist kein Preis bekannt: trage ihn unter `[prices]` in deiner Konfiguration ein

## commands/mcp.rs

mcp-no-pipes = Standardeingabe und -ausgabe sind nicht benutzbar
serve-listening = erreichbar unter { $url }
serve-beyond-loopback = { $address } ist von anderen Maschinen erreichbar, und nichts würde die Tokens verschlüsseln
serve-beyond-loopback-hint = gib `--tls-cert` und `--tls-key` an, oder stelle einen Proxy mit TLS davor und sage `--behind-proxy --public-url https://…`
serve-ending = der Server wird beendet
public-url-invalid = `{ $url }` ist keine Adresse wie https://posse.example
token-shown-once = das Token `{ $name }` ({ $scopes }) wird nur jetzt gezeigt
token-unknown = es gibt kein Token `{ $name }`
token-unknown-hint = `posse tokens list` zeigt, welche es gibt
token-revoked = das Token `{ $name }` ist widerrufen
no-tokens = es gibt keine Tokens; `posse tokens add NAME` legt eines an
login-link-once = der Link funktioniert einmal, innerhalb von zehn Minuten
column-name = NAME
column-kind = ART
column-scopes = RECHTE
column-expires = LÄUFT AB
mcp-listening = erreichbar unter http://{ $address }{ $path } · Token: { $place }
mcp-handed-over = Aufgaben, die in einem eigenen Prozess weiterlaufen: { $count }
mcp-install-where = für { $host }, in { $file }:
mcp-key-offer = den Schlüssel in { $variable } geben die meisten Hosts nicht weiter. In { $file } ablegen, nur für dich lesbar? [Y/n]
mcp-key-declined = kein Schlüssel wurde abgelegt; schreib ihn nach { $file } und nenne die Datei als `api_key_file` in deiner Konfiguration
mcp-key-not-stored = der Schlüssel in { $variable } wurde nicht gespeichert, und die meisten Hosts reichen ihn nicht weiter: --store-key speichert ihn, nur für dich lesbar
mcp-key-stored = der Schlüssel steht jetzt in { $file }, nur für dich lesbar, und { $config } nennt ihn: die meisten Hosts geben ihre Umgebung nicht an Server weiter
mcp-key-by-hand = die meisten Hosts geben ihre Umgebung nicht an Server weiter: schreib den Schlüssel nach { $file } und setze `api_key_file` unter `[providers.{ $provider }]` in deiner Konfiguration
mcp-install-there = { $file } nennt `posse` schon; nichts wurde geändert
mcp-doctor-answers = antwortet auf { $method } in { $millis } ms
mcp-doctor-tools = Werkzeuge: { $names } (etwa { $tokens } Token)
mcp-doctor-agents = Agenten: { $names }
mcp-doctor-no-agents = so wie ein Host startet, ist kein Agent benutzbar: { $why }
mcp-doctor-no-agents-hint = die meisten Hosts geben ihre Umgebung nicht weiter: nenne Modell und `api_key_file` in der Konfiguration
mcp-writing-advice = ein Mensch kann Aufgaben schreiben lassen: `posse mcp --write PATHS` (etwa `'src/**'`, oder `'**'` für alles), `--allow TOOLS`, oder `write` unter `[mcp]` in der Konfiguration
mcp-doctor-rights = Werkzeuge der Aufgaben: { $names }
mcp-doctor-writes = Aufgaben dürfen schreiben: { $paths }
mcp-writes-nothing = Aufgaben dürfen lesen und nicht schreiben; { $advice }
files-changed = { $files } geändert: posse tasks diff { $task } zeigt sie
changes-more = und { $n } weitere

## commands/chat/screen.rs

chat-no-screen = das Terminal taugt nicht für eine Unterhaltung
story-more = posse tasks show { $task } --turn N zeigt eine Runde, --text die ganze Antwort
turn-unknown = `{ $id }` hat keine Runde { $turn }; es hat { $turns }
turn-unknown-hint = `posse tasks show { $id }` listet sie auf
answer-none-yet = `{ $task }` hat noch keine Antwort
store-only-read = Warnung: der Speicher ist nur zum Lesen geöffnet: { $why }
edited-by =
    { $n ->
        [one] { $task } { $agent }, Runde { $turns }
       *[other] { $task } { $agent }, Runden { $turns }
    }
doctor-no-terminal = keins: die Ausgabe sind Zeilen
doctor-colors = 16 Farben
doctor-no-colors = keine Farben
doctor-ascii = ASCII-Zeichen
doctor-no-room = zu klein für Ansichten: die Ausgabe sind Zeilen
doctor-tmux-escape = Esc wartet { $millis } ms; in tmux.conf: set -sg escape-time 10
doctor-tmux-unasked = tmux sagt nicht, wie lange Esc wartet
