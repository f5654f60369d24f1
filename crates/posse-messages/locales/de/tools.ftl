# Deutsch. Das Glossar steht in core.ftl.

tool-env-withheld = { $manifest }: `env`: `{ $name }` enthält einen Schlüssel, den kein Werkzeug bekommt
tool-env-withheld-hint = entferne es aus `env`
tool-env-not-passed = { $manifest }: `env`: `{ $name }` wird an ein Werkzeug eines Projekts nicht weitergegeben
tool-env-not-passed-hint = trage `{ $name }` bei `env` unter `[bash]` in deiner eigenen Konfiguration ein, wenn Befehle es haben dürfen, oder entferne es aus `env`
tool-program-outside = { $manifest }: `command`: `{ $program }` ist nicht im Projekt
tool-program-outside-hint = ein Werkzeug eines Projekts startet ein Programm des Projekts oder eines, das in `PATH` gefunden wird
tools-too-many = { $directory } enthält { $count } Werkzeuge; nur die ersten { $tools_max } werden geladen
manifest-too-large = { $path }: { $size } Bytes, erlaubt sind höchstens { $manifest_bytes_max }
choose-another-name = wähle einen anderen Namen
tool-description-missing = muss sagen, was das Werkzeug tut: etwas anderes sieht das Modell nicht
tool-name-invalid = `{ $name }` besteht nicht aus 1 bis { $name_max } Zeichen aus a-z, 0-9 und `_`
tool-is-built-in = `{ $name }` ist ein eingebautes Werkzeug
tool-stands-for-built-in = `{ $name }` ist ein anderer Name für das eingebaute `{ $meant }`
tool-stands-for = `{ $name }` ist ein anderer Name für `{ $meant }`
tool-schema-not-object = muss ein JSON-Schema-Objekt sein
tool-schema-type = muss `"type": "object"` haben: Argumente sind immer ein Objekt
tool-properties-not-object = `properties` muss ein Objekt sein
tool-required-not-names = `required` muss eine Liste von Namen sein
variable-invalid = `{ $name }` ist kein Name einer Variablen; nenne Namen, keine Werte
between-1-and = muss zwischen 1 und { $most } liegen
program-missing = muss ein Programm nennen, zum Beispiel ["./run.sh"]
contains-nul = enthält ein NUL-Zeichen
program-not-executable = `{ $first }` ist keine ausführbare Datei; `chmod +x` macht sie dazu
tool-defined-twice = { $manifest }: das Werkzeug `{ $name }` ist schon in { $earlier } definiert
tool-defined-twice-hint = benenne eines der beiden um oder entferne es
skills-not-used = Skills in `{ $root }` werden nicht benutzt: { $why }
skills-folder-large = `{ $folder }` hat mehr als { $folder_entries_max } Einträge; nicht alle wurden angesehen
skill-not-used = Skill in `{ $place }` wird nicht benutzt: { $why }
skill-name-unusable = Skill in `{ $place }` hat einen unbrauchbaren Namen; der Name des Ordners wird benutzt
skill-without-description = Skill `{ $skill_name }` in `{ $place }` hat keine Beschreibung
skill-shadowed = Skill `{ $skill_name }` in `{ $place }` wird ausgelassen: `{ $kept }` hat denselben Namen und kommt zuerst
skills-too-many = Skill `{ $skill_name }` wird ausgelassen: es gibt schon { $skills_max }
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
worktree-failed =
    { $what ->
        [copy] `{ $path }` kann nicht kopiert werden: { $cause }
        [describe] `{ $path }` kann nicht beschrieben werden: { $cause }
        [find] `{ $path }` kann nicht gefunden werden: { $cause }
        [make] `{ $path }` kann nicht angelegt werden: { $cause }
        [read] `{ $path }` kann nicht gelesen werden: { $cause }
        [remove] `{ $path }` kann nicht entfernt werden: { $cause }
       *[write] `{ $path }` kann nicht geschrieben werden: { $cause }
    }
git-change-unknown = git hat eine Änderung auf unbekannte Weise beschrieben
worktree-no-repository = `{ $workspace }` liegt in keinem git-Arbeitsbaum, also kann keiner daraus angelegt werden
worktree-no-repository-hint = führe dort `git init` aus oder arbeite ohne `isolation: worktree`
no-git-above = darüber gibt es kein `.git`
worktree-too-many-files = ein Arbeitsbaum dieses Repositorys hätte { $count } Dateien
worktree-too-large = ein Arbeitsbaum dieses Repositorys hätte mehr als { $gib } GiB
worktree-too-much-hint = lass git ignorieren, was nicht zum Projekt gehört, oder arbeite ohne Arbeitsbaum
worktree-git-failed = `git { $what }` ist gescheitert ({ $code }): { $errors }
git-path-not-text = git hat einen Pfad genannt, der kein Text ist
git-not-found = das Programm `git` wurde nicht gefunden
git-not-run = git kann nicht ausgeführt werden: { $cause }
git-not-run-hint = installiere git oder arbeite ohne Arbeitsbaum
git-endless = git war nach { $seconds } s nicht fertig
apply-conflicts = nichts wurde übernommen, wegen Konflikten in { $conflicts }
apply-conflicts-more = nichts wurde übernommen, wegen Konflikten in { $conflicts } und { $more } weiteren
apply-conflicts-hint = die Änderungen liegen in { $place }: bring beide Seiten dort oder in deinen Dateien in Einklang und übernimm sie dann erneut
conflict-gone = die Aufgabe hat sie geändert, und sie ist nicht mehr da
conflict-deleted = die Aufgabe hat sie gelöscht, und sie wurde geändert
conflict-kind = beide Seiten haben geändert, was es ist
conflict-places =
    { $places ->
        [one] { $places } Stelle wurde auf beiden Seiten geändert
       *[other] { $places } Stellen wurden auf beiden Seiten geändert
    }
conflict-binary = beide Seiten haben sie geändert, und sie ist kein Text
conflict-repository = es ist ein eigenes Repository, das ein Patch nicht enthält
apply-broke-off =
    { $done ->
        [one] { $why }; davor wurde { $done } Datei übernommen
       *[other] { $why }; davor wurden { $done } Dateien übernommen
    }
apply-broke-off-hint = übernimm erneut: was getan ist, bleibt, der Rest folgt
git-no-object = git hat kein Objekt { $name }
apply-protected = nichts wurde übernommen: die Aufgabe hat Dateien geändert, die Programme einstellen oder Geheimnisse enthalten: { $paths }
apply-protected-hint = sieh sie dir mit `posse tasks diff` an; `--protected` übernimmt auch sie
workspace-failed-hint = der Arbeitsbereich muss ein vorhandenes Verzeichnis sein, das du betreten darfst
openat2-missing = dieses System kann Dateien unterhalb eines Verzeichnisses nicht sicher öffnen (openat2: { $cause })
openat2-missing-hint = Dateiwerkzeuge brauchen Linux 5.6 oder neuer und eine Sandbox, die openat2 zulässt
