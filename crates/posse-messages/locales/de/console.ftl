# Meldungen von `posse-console`.

## run

run-thought = { $seconds }s nachgedacht (Strg-T zeigt es)
run-text-void = die Antwort brach ab; sie wird neu geschrieben
run-steer = { $task } lenken:
run-steer-queued = ↳ eingereiht: { $text }
run-steer-delivered = ↳ zugestellt in Runde { $turn }: { $text }
run-steer-missed = ↳ zu spät, die Aufgabe ist beendet: { $text }
run-steer-full = ↳ nicht gesendet, zu viele Nachrichten sind ungelesen: { $text }
run-answer = { $task } antworten:
run-answered = beantwortet: { $text }
run-answer-late = die Frage war nicht mehr offen
run-asks-keys = a schreibt eine Antwort
run-cancel = { $task } abbrechen? y bricht ab, jede andere Taste nicht
run-leaving = verlässt die Aufgabe nach diesem Schritt   q sofort   Esc bleibt
run-not-done = nicht ausgeführt: { $why }
run-typed-keys = Enter sendet   Esc verwirft
run-top-failed = der Vollbildschirm ist ausgefallen
run-limited = { $provider } begrenzt Anfragen bis { $time }; { $n } Aufgaben warten
run-help =
    ↑↓ wählt eine Aufgabe   Enter öffnet sie   s lenkt sie   c bricht sie ab   Esc hebt die Wahl auf
    a beantwortet eine Frage oder Genehmigung   q lässt die Aufgabe im Hintergrund laufen
    Strg-T zeigt Gedanken   Strg-L zeichnet neu   Strg-Z hält an   Strg-C stoppt, zum Fortsetzen
approved-elsewhere = genehmigt von { $by }
denied-elsewhere = abgelehnt von { $by }

## notices

notice-approval = { $task } { $agent } wartet auf Genehmigung von { $tool }
notice-question = { $task } hat eine Frage
notice-end = der Lauf ist beendet
## chat

chat-again-leaves = noch einmal Strg-C beendet
chat-paste-cut = das Eingefügte war zu groß; ein Teil fehlt
chat-keys =
    Enter sendet   Alt-Enter neue Zeile   Esc hält an   ↑↓ Verlauf   Strg-R Suche   Tab ergänzt   Umschalt-Tab Modus
    / Befehle   @ Dateien und Agenten   ! Shell   Strg-T Denken   Strg-L neu zeichnen   Strg-C, Strg-D beenden
chat-steer-queued = ↳ vorgemerkt: { $text }
chat-steer-delivered = ↳ zugestellt in Runde { $turn }: { $text }
chat-steer-late = ↳ zu spät, als nächste Nachricht gesendet: { $text }
chat-steer-full = ↳ nicht gesendet, zu viele ungelesene Nachrichten: { $text }
chat-notice-approval = { $task } wartet auf Ihre Freigabe von { $tool }
chat-notice-end = die Antwort ist da
chat-tab-answers = Tab antwortet
chat-working = arbeitet
chat-working-line = { $action }, { $seconds }s · Esc hält an · Enter merkt Getipptes vor
chat-stopping = hält an
chat-mode-next = { $mode } (Umschalt-Tab)
chat-call-failed = { $call } gescheitert: { $why }
chat-call-lines = { $call } ({ $n } Zeilen)
chat-echo-more = { $n } weitere Zeilen
chat-stopped = angehalten
chat-stopped-changed =
    { $n ->
        [one] angehalten · { $n } Datei geändert, /undo nimmt es zurück
       *[other] angehalten · { $n } Dateien geändert, /undo nimmt es zurück
    }
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / Befehle · @ Dateien und Agenten · ? Tasten
chat-kept = die Unterhaltung { $id } bleibt erhalten: posse chat --resume { $id }
chat-not-while-working = warten Sie auf die Antwort, oder halten Sie sie mit Esc an
chat-ended-early = { $status }: { $reason }{ $detail }
chat-no-change = keine Datei wurde geändert
chat-diff-cut = der Rest: posse tasks diff { $id }
chat-menu-agent = Agent
chat-does-agents = Agenten, an die delegiert wird
chat-does-clear = neue Unterhaltung beginnen
chat-does-cost = Kosten dieser Unterhaltung, je Agent und Modell
chat-does-diff = Dateiänderungen dieser Unterhaltung
chat-does-exit = beenden; die Unterhaltung bleibt erhalten
chat-does-help = Befehle auflisten
chat-does-mode = plan, ask oder auto
chat-does-tasks = Aufgaben dieser Unterhaltung
chat-does-undo = Dateiänderungen der letzten Nachricht zurücknehmen
chat-attached-agent = fragt den Agenten { $agent }
chat-attached-path = { $path } ist kein Text oder zu groß ({ $kib } KiB): nur der Pfad wurde gesendet
chat-attached-part = { $kib } KiB von { $path } angehängt ({ $all } KiB)
chat-attached-file =
    { $n ->
        [one] { $path } angehängt ({ $n } Zeile)
       *[other] { $path } angehängt ({ $n } Zeilen)
    }
chat-mode-usage = die Modi sind `/mode plan`, `/mode ask` und `/mode auto`
card-question-keys = oder eine Antwort tippen   Esc später
card-answered = { $task } beantwortet: { $text }
chat-put-off =
    { $n ->
        [one] { $n } Frage wartet · Tab antwortet
       *[other] { $n } Fragen warten · Tab antwortet
    }
chat-steer-next = ↳ geht als nächste Nachricht: { $text }
chat-error = Fehler
chat-hint = Hinweis: { $hint }
chat-warning = Warnung: { $text }
chat-no-command = es gibt keinen Befehl `{ $command }`, nichts wurde gesendet; /help zeigt die Befehle
chat-does-compact = mit einer Zusammenfassung fortfahren
chat-does-context = was das Fenster füllt
chat-does-export = das Gespräch als Markdown in eine Datei schreiben
chat-does-model = das Modell der folgenden Nachrichten wechseln
chat-does-resume = eine frühere Unterhaltung fortsetzen
chat-context-share = Kontext { $percent } %
chat-context-tokens = Kontext { $tokens } Token
chat-cost-tree =
    { $n ->
        [one] { $cost } mit { $n } Subagenten
       *[other] { $cost } mit { $n } Subagenten
    }
chat-state-open = anderswo offen
chat-state-interrupted = unterbrochen
chat-age = vor { $age }
chat-turns =
    { $n ->
        [one] { $n } Runde
       *[other] { $n } Runden
    }
chat-resume-title = Unterhaltung in { $place } fortsetzen
chat-resume-all = Unterhaltung eines beliebigen Projekts fortsetzen
chat-none-here = es gibt keine frühere Unterhaltung in diesem Projekt
chat-resumed = · setzt { $id } mit { $model } fort
chat-model-title = Modell wählen
chat-model-hint = tippen sucht · Enter übernimmt · Esc behält das Modell
chat-model-now = in Gebrauch
chat-model-usage = das Modell ist { $model }; `/model provider:model` wechselt es
chat-model-chosen = · { $model } antwortet
chat-model-next = · { $model } antwortet ab der nächsten Nachricht und liest die ganze Unterhaltung neu ({ $used } Token); Subagenten bei der Arbeit behalten ihr Modell
chat-model-too-small = { $model } kann nicht übernehmen: die Unterhaltung hat { $used } Token, sein Fenster { $window }; zuerst /compact
chat-compact-nothing = es gibt noch nichts zusammenzufassen
chat-compacting = · bittet um eine Zusammenfassung; die Unterhaltung geht damit weiter
chat-not-compacted = es gibt keine Zusammenfassung, die Unterhaltung geht weiter wie bisher
chat-compacted = · zusammengefasst: aus { $before } Token wurden { $after }; alles bleibt in { $old }: posse tasks show { $old }
chat-shell-not-started = die Shell konnte nicht gestartet werden: { $why }
chat-shell-stopped = angehalten; nichts davon geht mit der nächsten Nachricht
chat-shell-hidden =
    { $n ->
        [one] { $n } Zeile davor
       *[other] { $n } Zeilen davor
    }
chat-shell-exit = Exit-Code { $code }
chat-shell-sent =
    { $n ->
        [one] · { $ending }, { $n } Zeile geht mit der nächsten Nachricht
       *[other] · { $ending }, { $n } Zeilen gehen mit der nächsten Nachricht
    }
chat-shell-sent-part = · { $ending }, Anfang und Ende von { $n } Zeilen gehen mit der nächsten Nachricht
chat-context-title = { $model }: { $used } von { $window } Token, { $percent } %
chat-context-title-open = { $model }: { $used } Token, sein Fenster ist nicht bekannt
chat-context-system = System-Prompt
chat-context-tools = Werkzeuge
chat-context-messages = Nachrichten
chat-context-results = Werkzeugergebnisse
chat-context-free = frei
chat-context-hint = /compact fährt mit einer Zusammenfassung fort
chat-export-head =
    { $n ->
        [one] Unterhaltung `{ $id }` mit { $agent } auf { $models }, begonnen { $began }, { $n } Runde.
       *[other] Unterhaltung `{ $id }` mit { $agent } auf { $models }, begonnen { $began }, { $n } Runden.
    }
chat-export-failed = {" "}gescheitert: { $why }
chat-exported = · { $file } geschrieben, nur für Sie lesbar
chat-not-exported = `{ $file }` kann nicht geschrieben werden: { $why }
chat-not-exported-hint = nennen Sie eine neue Datei: `/export notes.md`
chat-no-tasks = es wurde noch nichts gesagt
chat-column-agent = AGENT
chat-column-does = AUFGABE
chat-column-id = ID
chat-column-state = ZUSTAND
chat-column-task = AUFGABE
chat-column-turns = RUNDEN
chat-column-cost = KOSTEN
chat-column-model = MODELL
chat-column-tasks = AUFGABEN
chat-column-input = EINGABE
chat-column-output = AUSGABE
chat-column-total = gesamt
chat-shell-word = !Befehl
chat-does-shell = in Ihrer Shell ausführen; die Ausgabe geht mit der nächsten Nachricht
chat-export-summary = Eine Zusammenfassung, mit der eine andere Unterhaltung fortfährt:
record-model-chosen = Modell gewechselt: { $model }

## top

top-needs-input = BRAUCHT EINGABE { $n }
top-working = ARBEITET { $n }
top-completed = FERTIG { $n }
top-count =
    { $state ->
        [queued] { $n } warten
        [interrupted] { $n } unterbrochen
        [partial] { $n } teilweise
        [failed] { $n } fehlgeschlagen
       *[cancelled] { $n } abgebrochen
    }
top-all-projects = alle Projekte
top-running = { $n } laufen
top-spent = { $price }/24h
top-foot-split = s lenken  a antworten  c abbrechen  q Ende
top-asks-approval = wartet auf Ihre Genehmigung: a antwortet
top-asks-question = fragt: { $question } (a antwortet)
top-hints = / suchen   A alle Projekte   ? Tasten
top-hints-all = / suchen   A dieses Projekt   ? Tasten
top-foot-list = ↑↓ Enter öffnen   s lenken   a antworten   c abbrechen   q Ende
top-foot-pane = ↑↓ blättern   o Ergebnisse   / suchen   s lenken   Esc zurück
top-foot-close = jede Taste schließt
top-pane-transcript = Verlauf
top-pane-diff = Änderungen
top-pane-context = gemeinsamer Kontext
top-pane-limits = Grenzen
top-following = folgt
top-position = Zeile { $line } von { $lines }
top-holds = hält { $paths }
top-loading = liest den Speicher …
top-empty = noch keine Aufgaben
top-empty-here = keine neueren Aufgaben dieses Projekts · A zeigt alle Projekte
top-nothing-found = keine Aufgabe enthält `{ $search }` · Esc löscht die Suche
top-folded = +{ $n }
top-turn = Runde { $turn }
top-lines =
    { $n ->
        [one] 1 Zeile
       *[other] { $n } Zeilen
    }
top-more-lines =
    { $n ->
        [one] … 1 weitere Zeile (o)
       *[other] … { $n } weitere Zeilen (o)
    }
top-earlier = … frühere Runden: posse tasks show
top-model-failed = das Modell ist gescheitert: { $why }
top-approved-by = genehmigt von { $by }
top-denied-by = abgelehnt von { $by }
top-resumed = von einem anderen Prozess fortgesetzt
top-withdrawn = nicht mehr erlaubt: { $tools }
top-budget-spent = Budget aufgebraucht: { $shortfall }
top-cancel-asked = Abbruch wurde verlangt
top-schema-unmet = die Antwort passt nicht zum Schema: { $errors }
top-ended-completed = fertig
top-ended-partial = teilweise
top-ended-failed = fehlgeschlagen
top-ended-cancelled = abgebrochen
top-patch-cut = … der Rest: posse tasks diff
top-no-changes = keine Datei wurde geändert
top-no-context = der gemeinsame Kontext ist leer
top-context-head = v{ $version } · { $tokens } Tok. · { $by } · vor { $ago }
top-value-cut = … { $bytes } weitere Bytes: posse context get
top-used-of = { $used } von { $most }
top-token-counts = { $input } ein · { $output } aus
top-limit-model = Modell
top-limit-turns = Runden
top-limit-time = Zeit
top-limit-context = Kontext
top-limit-tokens = Token
top-limit-cost = Kosten
top-limit-tree-tokens = Token des Baums
top-limit-tree-cost = Kosten des Baums
top-limit-cap = Budget
top-no-cap = keine Grenze
top-limit-sandbox = Sandbox
top-limit-workspace = Arbeitsbereich
top-limit-lease = Reservierung
top-lease-since = { $paths } seit { $since }
top-prompt-search = /
top-prompt-steer = Nachricht an { $task }:
top-prompt-answer = Antwort:
top-cancel-ask =
    { $n ->
        [0] { $task } abbrechen? y ja   n nein
        [one] { $task } und 1 Subagenten abbrechen? y ja   n nein
       *[other] { $task } und { $n } Subagenten abbrechen? y ja   n nein
    }
top-cancelling = bricht { $task } ab …
top-cancelled = { $task } ist abgebrochen
top-cancel-not-yet = { $task } soll enden und hat es noch nicht
top-has-ended = { $task } ist beendet
top-nothing-asked = keine Aufgabe wartet auf eine Antwort
top-answered = { $task } geantwortet
top-answered-elsewhere = der Aufruf wurde anderswo beantwortet
top-steer-queued = für { $task } eingereiht: gelesen in der nächsten Runde
top-steer-delivered = { $task } hat sie in Runde { $turn } gelesen
top-steer-missed = zu spät: { $task } war schon fertig
top-steer-full = { $task } hat zu viele ungelesene Nachrichten
top-copied = { $bytes } Bytes kopiert
top-mouse-on = die Maus blättert und wählt hier
top-mouse-off = die Maus gehört dem Terminal: Text wie gewohnt markieren
top-card-page =
    { $n ->
        [one] 1 weitere Zeile   y nächste Seite   n nein, mit Grund   Esc später
       *[other] { $n } weitere Zeilen   y nächste Seite   n nein, mit Grund   Esc später
    }
top-card-end = Ende   y einmal   t diese Aufgabe   s Sitzung   n nein, mit Grund   Esc später
top-question-asks = { $task } { $agent } fragt: { $question }
top-question-keys = Antwort tippen oder die Nummer einer   Enter senden   Esc später
top-keys =
    ↑↓ j k | Aufgabe wählen; im Bereich blättern
    Enter → | in den Bereich gehen; Esc oder ← führt zurück
    1 2 3 4 Tab | Verlauf, Änderungen, gemeinsamer Kontext, Grenzen
    Bild↑↓ Pos1 Ende | seitenweise; am Ende folgt der Text dem Neuen
    Leertaste | Subagenten einer beendeten Aufgabe zeigen
    o | Ergebnisse und lange Nachrichten zeigen oder falten
    / | Aufgaben suchen; im Bereich Text finden (n N weiter, zurück)
    A | alle Projekte, oder wieder dieses
    s | lenken: einer laufenden Aufgabe schreiben
    a | Genehmigung oder Frage beantworten
    c | Aufgabe mit Subagenten abbrechen
    y | Antwort, Änderungen oder Kennung kopieren (OSC 52)
    m | Maus dem Terminal geben oder zurückholen
    Strg-L Strg-Z | neu zeichnen, anhalten
    q Esc | zurück, dann verlassen; Aufgaben laufen weiter
story-task = Aufgabe
story-answer = Antwort
story-from = von { $parent }
story-approved = { $by }: { $scope }
story-verify = Prüfung
many-calls =
    { $n ->
        [one] { $n } Aufruf
       *[other] { $n } Aufrufe
    }
many-finished-calls =
    { $n ->
        [one] { $n } beendeter Aufruf
       *[other] { $n } beendete Aufrufe
    }
with-subagents = { $tokens }, { $price } mit ihren Subagenten
record-schema-met = die Antwort erfüllt ihr Schema
record-withdrawn = nicht mehr erlaubt: { $tools }
record-regranted = Modus gewechselt: { $mode }
record-budget-spent = Budget aufgebraucht: { $shortfall }
record-cancelled = abgebrochen
record-resumed = fortgesetzt (Epoche { $epoch })
plain-interrupted = unterbrochen
plain-steer-queued = Nachricht eingereiht
plain-steer-delivered = Nachricht in Runde { $turn } zugestellt
plain-steer-missed = Nachricht zu spät: die Aufgabe ist beendet
plain-started = gestartet · { $agent } auf { $model }
plain-resumed = fortgesetzt · { $kept } behalten, { $in_doubt } im Zweifel
plain-turn = Runde { $turn } · { $tokens } · { $calls }
plain-model = Modell { $kind }: { $message }
plain-refused = { $tool } abgelehnt: { $why }
plain-failed = { $tool } nach { $millis } ms gescheitert: { $why }
plain-elided = { $results } alte Ergebnisse ({ $bytes } Bytes) ausgelassen, um Kontext zu sparen
plain-wrap-up = um Bericht gebeten: { $reason }
plain-verify = Prüfung { $command }
plain-verify-failed = Prüfung { $command } nach { $millis } ms gescheitert: { $ending }
record-model = Modell: { $failure }
record-schema-unmet = die Antwort erfüllt ihr Schema nicht
change-new = neu
change-deleted = gelöscht
plain-changed = geändert: { $files }
plain-approval-waits = wartet auf Genehmigung · { $call } · { $why } · posse approvals show { $approval }
story-answered = beantwortet
approval-by = { $scope } von { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } von { $by } ({ $scope }) am { $instant }
before-deleted = (vor dem Löschen: v{ $version })
until-instant = bis { $end }
context-wrote = geschrieben: { $entry }
context-deleted = gelöscht: { $key } v{ $previous_version }
snapshot-taken = Schnappschuss { $label } hat { $keys }
context-restored = wiederhergestellt: { $written } geschrieben, { $deleted } gelöscht
approved-in = in { $left } automatisch genehmigt
denied-in = in { $left } automatisch abgelehnt
column-took = DAUER
column-tool = WERKZEUG
column-left = REST
column-call = AUFRUF
tokens-shown = { $shown } Token
nobody-else = niemand sonst
audience-shown = lesbar für { $readers } · schreibbar für { $writers }
column-id = ID
column-tokens = TOKEN
column-age = ALTER
column-keys = SCHLÜSSEL
column-title = TITEL
column-process = PROZESS
column-paths = PFADE
column-workspace = ARBEITSBEREICH
state-archived = archiviert
state-open = offen
