# Deutsch. Das Glossar steht in core.ftl.

review-place-outside = keine Zeile des Diffs
review-place-missing = diese Datei oder Zeile gibt es nicht
review-dropped-form = weil er kein Objekt ist
review-dropped-severity = weil sein Schweregrad nicht lesbar ist
review-dropped-file = weil er keine Datei nennt
review-dropped-text = weil er weder Titel noch Erklärung hat
review-dropped = Befund { $number } der Antwort wurde weggelassen, { $why }: { $excerpt }
review-no-findings = keine Befunde
review-unfinished = Die Begutachtung wurde nicht abgeschlossen
review-of = Begutachtung von { $files }
review-of-partial = Unvollständige Begutachtung von { $files }
review-suggestion = Vorschlag:
review-stopped-early = die Begutachtung endete vorzeitig ({ $reason }); das hatte sie bis dahin gefunden
review-gate-closed =
    { $n ->
        [one] scheitert an `--fail-on { $severity }` mit { $n } Befund
       *[other] scheitert an `--fail-on { $severity }` mit { $n } Befunden
    }
review-unseen =
    { $lines ->
        [one] nicht gesehen: { $lines } Zeile des Diffs, in { $files }
       *[other] nicht gesehen: { $lines } Zeilen des Diffs, in { $files }
    }
review-cut = der Diff ist zu groß, um ganz übergeben zu werden; gekürzt: { $names }. Begutachte weniger auf einmal: posse review PATH…
review-cut-more = der Diff ist zu groß, um ganz übergeben zu werden; gekürzt: { $names } und { $more } weitere. Begutachte weniger auf einmal: posse review PATH…
review-uncounted =
    { $n ->
        [one] { $n } Befund ab `{ $severity }` nennt keine vorhandene Datei oder Zeile und zählt nicht; `--fail-on-unplaced` zählt ihn mit
       *[other] { $n } Befunde ab `{ $severity }` nennen keine vorhandene Datei oder Zeile und zählen nicht; `--fail-on-unplaced` zählt sie mit
    }
