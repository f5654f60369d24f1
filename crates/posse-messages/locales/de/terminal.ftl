# Meldungen von `posse-terminal`.

## rows

task-row-root = Wurzel
task-row-model = wartet auf das Modell
task-row-thinking = denkt
task-row-asking = fragt nach { $tool }
task-row-retry = neuer Versuch in { $seconds }s: { $why }
task-row-rate-limited = Ratenlimit
task-row-http-status = HTTP { $status }
task-row-no-progress = kein Fortschritt
task-row-connection = Verbindung gescheitert
task-row-bad-reply = ungültige Antwort
task-row-approve = genehmigen: { $call }
task-row-question = fragt: { $question }
task-row-lease = wartet auf die Schreibpfade { $paths }
task-row-queued = in der Warteschlange
task-row-queued-after = wartet: nach { $tasks }
task-row-delegating = delegiert
task-row-resumed = fortgesetzt
task-row-interrupted = unterbrochen
task-row-verifying = prüft { $command }
task-row-reporting = berichtet
task-row-refused = { $tool } abgelehnt: { $why }
task-row-failed = { $tool } schlug fehl: { $why }
task-row-turn = Runde { $turn }/{ $turns_max }
task-row-context = Ktx { $percent }%
task-row-tokens = { $count } Tok
task-row-turn-limit = Rundengrenze
task-row-call-limit = Grenze der Werkzeugaufrufe
task-row-budget-limit = Budget aufgebraucht
task-row-context-limit = Kontextfenster voll
task-row-output-limit = durch die Ausgabegrenze gekürzt
task-row-time-limit = Zeit abgelaufen
task-row-stalled = kein Aufruf gelang
task-row-cancelled = abgebrochen
task-row-model-failed = das Modell ist ausgefallen
task-row-no-answer = keine Antwort
task-row-dependency-failed = eine Aufgabe davor schlug fehl
task-row-output-invalid = die Antwort passt nicht zum Schema
task-row-verify-failed = Prüfung fehlgeschlagen
task-row-writing =
    { $n ->
        [one] schreibt, 1 Zeichen
       *[other] schreibt, { $count } Zeichen
    }
task-row-waits =
    { $n ->
        [one] wartet auf { $n } Subagenten
       *[other] wartet auf { $n } Subagenten
    }
task-row-queued-place = wartet: Platz { $place }, { $running } von { $slots } laufen
task-row-folded =
    { $state ->
        [input] { $n } brauchen Eingabe
        [working] { $n } arbeiten
        [failed] { $n } fehlgeschlagen
        [queued] { $n } warten
        [completed] { $n } fertig
       *[other] { $n } Subagenten
    }
task-row-folded-more =
    { $state ->
        [input] { $n } weitere brauchen Eingabe
        [working] { $n } weitere arbeiten
        [failed] { $n } weitere fehlgeschlagen
        [queued] { $n } weitere warten
        [completed] { $n } weitere fertig
       *[other] { $n } weitere
    }

## keys

live-keys-one = ? Tasten   q weiterlaufen lassen   Strg-C anhalten
live-keys-tree = ↑↓ Enter öffnen   s lenken   c abbrechen   q verlassen   ? Tasten
live-keys-tree-stay = ↑↓ Enter öffnen   s lenken   c abbrechen   ? Tasten
live-keys-one-stay = ? Tasten   Strg-C anhalten
live-keys-answer = a { $task } antworten

## end of a run

task-end-completed = fertig in { $took }
task-end-partial = unvollständig nach { $took }
task-end-failed = fehlgeschlagen nach { $took }
task-end-cancelled = abgebrochen nach { $took }
task-end-interrupted = unterbrochen nach { $took }
task-end-turn-limit = Rundengrenze ({ $n })
task-end-no-file = keine Datei wurde geändert
task-end-new = neu
task-end-deleted = gelöscht
task-end-more-files = { $n } weitere
task-end-turns =
    { $n ->
        [one] { $n } Runde
       *[other] { $n } Runden
    }
task-end-cost-with =
    { $n ->
        [one] { $cost } mit { $n } Subagenten
       *[other] { $cost } mit { $n } Subagenten
    }
task-end-files =
    { $n ->
        [one] { $n } Datei geändert: { $files }
       *[other] { $n } Dateien geändert: { $files }
    }

## approval card

card-wants = { $task } { $agent } möchte { $call }
card-wants-run = { $task } { $agent } möchte ausführen: { $command }
card-keys = y einmal   t diese Aufgabe   s Sitzung   n nein, mit Grund   d alles   Esc später
card-because = Grund: { $reason }
card-asks = { $task } fragt: { $question }
card-answer = Antwort:
card-why = warum? (Enter ohne Grund)
card-above = der ganze Aufruf steht oben
card-approved-in = wird in { $left } von selbst genehmigt
card-denied-in = wird in { $left } von selbst abgelehnt
card-approved-once = einmal genehmigt: { $call } ({ $task })
card-approved-task = für diese Aufgabe genehmigt: { $call } ({ $task })
card-approved-session = für die Sitzung genehmigt: { $call } ({ $task })
card-denied = abgelehnt: { $call } ({ $task })
card-hidden =
    { $n ->
        [one] { $n } weitere Zeile: d zeigt sie
       *[other] { $n } weitere Zeilen: d zeigt sie
    }

## prompt

prompt-pasted =
    { $n ->
        [one] { $n } Zeile eingefügt
       *[other] { $n } Zeilen eingefügt
    }
prompt-search = Suche
prompt-search-nothing = nicht gefunden
picker-hint = tippen sucht · Strg-A alle Projekte
picker-nothing = nichts gefunden
usage-heading = Aufruf:
usage-commands = Befehle
usage-options = Optionen
usage-arguments = Argumente
usage-global = Allgemeine Optionen
usage-model = Modell
usage-rights = Rechte
usage-limits = Grenzen
usage-examples = Beispiele
usage-help = Diese Hilfe zeigen
usage-version = Die Version zeigen
usage-unknown-argument = es gibt kein Argument `{ $argument }`
usage-unknown-command = `{ $command }` ist kein Befehl
usage-missing = diese Argumente fehlen: { $arguments }
usage-conflict = `{ $argument }` kann nicht zusammen mit `{ $other }` benutzt werden
usage-twice = `{ $argument }` ist zweimal angegeben
usage-value-missing = `{ $argument }` braucht einen Wert
usage-value-unknown = `{ $value }` ist kein Wert für `{ $argument }`
usage-value-wrong = `{ $value }` ist kein Wert für `{ $argument }`: { $why }
usage-run-it = als Aufgabe ausführen: { $command }
usage-help-hint = `{ $command } --help` zeigt, was es gibt
completions-install =
    Einrichten:
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   (nach compinit)
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = Warum ist der Login-Test unzuverlässig?
example-fix = Repariere den fehlschlagenden Test
example-summary = Schreibe Versionshinweise zu diesen Commits
example-message = Behalte den alten Namen
example-answer = Nimm das zweite
usage-work = Arbeiten
usage-look = Nachsehen
usage-configure = Einrichten
usage-serve = Bereitstellen und pflegen
