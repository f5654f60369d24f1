# Deutsch. Das Glossar steht in core.ftl.

supervisor-silent = er hat nicht rechtzeitig geantwortet
supervisor-without-report = er endete ohne Bericht
supervisor-lost = die Aufsicht über den Befehl ging verloren: { $how }; { $ended } Prozesse des Befehls wurden beendet
supervisor-lost-hint = der Befehl kann einen Teil seiner Arbeit getan haben; er darf seinen Elternprozess nicht beenden oder anhalten
supervisor-not-started = die Aufsicht `{ $program }` kann nicht gestartet werden: { $error }
supervisor-not-started-hint = prüfe, ob das Arbeitsverzeichnis existiert und Prozesse und Dateideskriptoren frei sind
workspace-failed =
    { $what ->
        [open] der Arbeitsbereich `{ $root }` kann nicht geöffnet werden: { $cause }
       *[resolve] der Arbeitsbereich `{ $root }` kann nicht aufgelöst werden: { $cause }
    }
workspace-failed-hint = der Arbeitsbereich muss ein vorhandenes Verzeichnis sein, das du betreten darfst
openat2-missing = dieses System kann Dateien unterhalb eines Verzeichnisses nicht sicher öffnen (openat2: { $cause })
openat2-missing-hint = Dateiwerkzeuge brauchen Linux 5.6 oder neuer und eine Sandbox, die openat2 zulässt
sandbox-write-opens = `sandbox.write`: `{ $path }` würde Befehlen `{ $secret }` öffnen
sandbox-write-opens-hint = nenne stattdessen, was daneben liegt
sandbox-unprotected-unknown = `sandbox.unprotected`: `{ $name }` ist kein geschützter Name
sandbox-unprotected-unknown-hint = docs/protected.md nennt die geschützten Namen; schreibe einen genau so wie dort
