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
run-asks = { $task } fragt: { $question }
run-asks-keys = a schreibt eine Antwort
run-cancel = { $task } abbrechen? y bricht ab, jede andere Taste nicht
run-leaving = verlässt die Aufgabe nach diesem Schritt   q sofort   Esc bleibt
run-not-done = nicht ausgeführt: { $why }
run-help =
    ↑↓ wählt eine Aufgabe   s lenkt sie   c bricht sie ab   Esc hebt die Wahl auf
    a beantwortet eine Frage oder Genehmigung   q lässt die Aufgabe im Hintergrund laufen
    Strg-T zeigt Gedanken   Strg-L zeichnet neu   Strg-Z hält an   Strg-C stoppt, zum Fortsetzen
approved-elsewhere = genehmigt von { $by }
denied-elsewhere = abgelehnt von { $by }
card-because = Grund: { $reason }

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
chat-why = warum? (Enter ohne Grund)
chat-text-void = die Antwort brach ab; sie wird neu geschrieben
chat-thought = { $seconds }s gedacht (Strg-T zeigt es)
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
