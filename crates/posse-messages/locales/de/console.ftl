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
