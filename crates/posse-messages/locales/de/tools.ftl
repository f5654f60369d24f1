# Deutsch. Das Glossar steht in core.ftl.

count-binary-files =
    { $n ->
        [one] { $shown } Binärdatei
       *[other] { $shown } Binärdateien
    }
count-bytes =
    { $n ->
        [one] { $shown } Byte
       *[other] { $shown } Bytes
    }
count-directories =
    { $n ->
        [one] { $shown } Verzeichnis
       *[other] { $shown } Verzeichnisse
    }
count-entries =
    { $n ->
        [one] { $shown } Eintrag
       *[other] { $shown } Einträge
    }
count-files =
    { $n ->
        [one] { $shown } Datei
       *[other] { $shown } Dateien
    }
count-lines =
    { $n ->
        [one] { $shown } Zeile
       *[other] { $shown } Zeilen
    }
count-matches =
    { $n ->
        [one] { $shown } Treffer
       *[other] { $shown } Treffer
    }
count-places =
    { $n ->
        [one] { $shown } Stelle
       *[other] { $shown } Stellen
    }
count-skills =
    { $n ->
        [one] { $shown } Skill
       *[other] { $shown } Skills
    }
bash-arguments-invalid = die Argumente sind ungültig: { $why }
command-empty = `command` ist leer
command-with-nul = `command` enthält ein NUL-Zeichen, das keinem Programm übergeben werden kann
command-too-long = `command` hat { $length } Bytes, höchstens { $command_max } sind möglich; schreibe eine Skriptdatei und führe sie aus
command-cancelled-before =
    { $what ->
        [tool] abgebrochen, bevor das Werkzeug gestartet wurde
       *[command] abgebrochen, bevor der Befehl gestartet wurde
    }
command-without-time =
    { $what ->
        [tool] es ist keine Zeit übrig: das Werkzeug wurde nicht gestartet
       *[command] es ist keine Zeit übrig: der Befehl wurde nicht gestartet
    }
nothing-printed = (keine Ausgabe)
standard-error = Standardfehlerausgabe:
standard-error-hidden = [{ $bytes } Bytes der Standardfehlerausgabe werden nicht gezeigt]
odd-bytes = [{ $odd_bytes } gezeigte Bytes sind kein UTF-8; sie stehen als \xNN da]
command-timed-out =
    { $what ->
        [tool] Zeit abgelaufen: das Werkzeug und alles, was es gestartet hat, wurde nach { $ms } ms beendet; Ausgabe bis dahin:
       *[command] Zeit abgelaufen: der Befehl und alles, was er gestartet hat, wurde nach { $ms } ms beendet; Ausgabe bis dahin:
    }
command-lease-lost = beendet: die Aufgabe hat das Recht verloren, dort zu schreiben, oder ihr Prozess war zu lange still. Was begonnen war, kann da sein; lies die Dateien, bevor etwas wiederholt wird
command-cancelled =
    { $what ->
        [tool] abgebrochen: das Werkzeug und alles, was es gestartet hat, wurde beendet; Ausgabe bis dahin:
       *[command] abgebrochen: der Befehl und alles, was er gestartet hat, wurde beendet; Ausgabe bis dahin:
    }
command-exit-code = Exit-Code { $code }
command-signalled = durch Signal { $signal } beendet
command-not-started =
    { $what ->
        [tool] das Werkzeug konnte nicht gestartet werden: { $why }
       *[command] der Befehl konnte nicht gestartet werden: { $why }
    }
command-ending-unknown =
    { $what ->
        [tool] es ist nicht bekannt, wie das Werkzeug geendet hat
       *[command] es ist nicht bekannt, wie der Befehl geendet hat
    }
background-stopped =
    { $what ->
        [tool] { $n ->
            [one] {"["}{ $n } Hintergrundprozess wurde beendet, als das Werkzeug endete]
           *[other] {"["}{ $n } Hintergrundprozesse wurden beendet, als das Werkzeug endete]
        }
       *[command] { $n ->
            [one] {"["}{ $n } Hintergrundprozess wurde beendet, als der Befehl endete]
           *[other] {"["}{ $n } Hintergrundprozesse wurden beendet, als der Befehl endete]
        }
    }
processes-survive = [{ $n } Prozesse konnten nicht beendet werden und laufen vielleicht noch]
protected-appeared = [geschützte Dateien sind inzwischen entstanden: { $paths }. Sag es in deiner Antwort: ein Mensch muss sie ansehen, bevor ein Programm sie benutzt]
protected-set-aside = [oben im Arbeitsverzeichnis wurden geschützte Dateien angelegt, was Befehle nicht dürfen; sie heißen jetzt anders: { $paths }. Sag es in deiner Antwort]
old-string-empty = `old_string` ist leer; gib den zu ersetzenden Text an oder lege mit `write` eine neue Datei an
strings-are-the-same = `old_string` und `new_string` sind gleich, es würde sich nichts ändern
edit-no-file = es gibt kein `{ $path }`; lege es mit `write` an oder suche den Namen mit `glob`
edit-too-large = `{ $path }` ist größer als { $max } und damit zu groß für dieses Werkzeug
old-string-missing = `old_string` steht nicht in `{ $path }`; { $nearest }
old-string-ambiguous = `old_string` kommt in `{ $path }` { $n }-mal vor ({ $lines }); nimm Nachbarzeilen hinzu, um eine Stelle zu bezeichnen, oder setze `replace_all`
result-too-large = das Ergebnis hätte { $size }, mehr als { $max }
lines-listed = Zeilen { $listed }
lines-listed-more = Zeilen { $listed } und { $more } weitere
edited = `{ $path }` bearbeitet: { $place }
also-replaced = außerdem ersetzt: { $lines } (Nummern vor der Änderung)
hard-links = die Datei hatte { $links } harte Links; nur dieser Name hat den neuen Inhalt
lines-more = [{ $lines } mehr]
line-numbers-included = er beginnt mit Zeilennummern, wie `read` sie zeigt; sie gehören nicht zur Datei, lass sie weg
only-white-space = er besteht nur aus Leerraum; übernimm ihn genau so, wie `read` ihn zeigt
white-space-differs = aber Zeile { $line } weicht davon nur im Leerraum ab (Leerzeichen, Tabulatoren, Einrückung, Zeilenumbrüche). In der Datei steht dort:
case-differs = aber Zeile { $line } weicht davon nur in Groß- und Kleinschreibung ab; übernimm sie genau so, wie `read` sie zeigt
first-line-differs = die erste Zeile ist Zeile { $first } der Datei, aber Zeile { $differs } der Datei weicht von der { $own }. Zeile ab; lies von dort an neu
no-similar-text-shorter = kein ähnlicher Text wurde gefunden; nimm ein kürzeres Stück und übernimm es genau so, wie `read` es zeigt
no-similar-text = kein ähnlicher Text wurde gefunden; übernimm ihn genau so, wie `read` ihn zeigt
tool-failed-inside = das Werkzeug `{ $tool }` ist intern gescheitert; das ist ein Fehler des Werkzeugs, nicht des Aufrufs
arguments-wrong = falsche Argumente für `{ $tool }`: { $message }; möglich sind: { $fields }
no-file-matches = keine Datei passt auf `{ $pattern }`
files-more = … { $more } mehr, vor längerer Zeit geändert; nimm ein strengeres Muster oder einen `path`
glob-length = das Muster muss zwischen 1 und { $pattern_bytes_max } Bytes haben
glob-with-parent = das Muster enthält `..`; Dateien außerhalb des Arbeitsbereichs können nicht aufgelistet werden
glob-outside = das Muster liegt außerhalb des Arbeitsbereichs; Muster sind relativ zu `{ $root }`
glob-invalid = das Muster ist kein Glob: { $cause }
regex-invalid =
    das Muster ist kein regulärer Ausdruck, den dieses Werkzeug versteht: { $cause }
    Stelle Sonderzeichen einen Backslash voran, um sie wörtlich zu suchen; ein Treffer reicht nie über Zeilen hinweg
filter-invalid = `glob` ist kein Glob: { $cause }
file-type-unknown = es gibt keinen Dateityp `{ $kind }`; nimm einen Namen, den ripgrep kennt (rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml ...), oder stattdessen `glob`
no-match = kein Treffer für `{ $pattern }`
matches-more-in = { $matches } mehr in { $files }
more-files = { $files } mehr
files-more-with = { $files } mehr mit { $matches }
narrow-search = … { $more }; grenze die Suche mit `path`, `glob` oder einem strengeren Muster ein
skipped = übersprungen: { $files }
not-searched = nicht durchsuchbar: { $files }
line-part = [Bytes { $from }-{ $to } von { $size }]
cannot-list = `{ $path }` kann nicht aufgelistet werden: { $cause }
entry-gone = (verschwunden)
entry-special = (Pipe, Socket oder Gerät)
directory-empty = `{ $path }` ist ein leeres Verzeichnis
entries-more = … { $left_out } mehr; nimm `glob` mit einem Muster, um einige davon zu sehen
entries-more-at-least = … mindestens { $left_out } mehr; nimm `glob` mit einem Muster, um einige davon zu sehen
tree-more = … { $left_out } mehr in dieser Tiefe; nenne einen `path` oder eine kleinere `depth`
tree-not-opened = { $closed } in Tiefe { $depth } nicht geöffnet (mit … markiert)
output-left-out = [{ $left_out } von { $total } Bytes ausgelassen]
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
path-protected = `{ $path }` ist geschützt: Dateien, die Programme konfigurieren oder Geheimnisse enthalten (hier `{ $name }`), werden von Werkzeugen nicht geschrieben. Nichts wurde geschrieben. Sage in deiner Antwort, was dort zu ändern ist, damit ein Mensch es tun kann
limit-zero = `limit` ist 0, so könnte keine Zeile gezeigt werden; lass es weg oder gib mindestens 1 an
cannot-read = `{ $path }` kann nicht gelesen werden: { $cause }
file-empty = [`{ $path }` ist eine leere Datei]
file-binary = [`{ $path }` ist eine Binärdatei mit { $size }; sie kann nicht als Text gezeigt werden]
offset-past-end = `offset` { $first } liegt hinter dem Ende: `{ $path }` hat { $lines }
call-cancelled = der Aufruf wurde abgebrochen
line-cut = [Zeile gekürzt: { $shown } von { $total } Bytes gezeigt]
lines-remain = Zeilen { $first }-{ $last } von { $total } gezeigt; es bleiben { $lines } ({ $bytes })
bytes-remain = Zeilen { $first }-{ $last } gezeigt; es bleiben { $bytes }
read-on-offset = { $remain }; zum Weiterlesen: derselbe Pfad mit offset { $next }
read-on = { $remain }; zum Weiterlesen: {"{"}"path":{ $path },"offset":{ $next }{"}"}
crlf-kept = Zeilen enden mit CRLF; `edit` behält das bei, schreibe in den Argumenten einfache Zeilenenden
some-not-utf8 = einige Bytes sind kein UTF-8 und werden als � gezeigt
path-is-workspace = der Pfad ist der Arbeitsbereich selbst, also ein Verzeichnis; nenne eine Datei darin
path-is-link = `{ $path }` ist ein symbolischer Link auf `{ $target }`; nichts wurde geschrieben. Nimm den Pfad der Datei selbst, wenn sie im Arbeitsbereich liegt
write-failed =
    { $what ->
        [create] neben `{ $path }` kann keine Datei angelegt werden: { $cause }; die Datei ist unverändert
        [lock] das Verzeichnis von `{ $path }` kann nicht gesperrt werden: { $cause }; die Datei ist unverändert
        [replace] der neue Inhalt kann nicht an die Stelle von `{ $path }` gesetzt werden: { $cause }; die Datei ist unverändert
       *[write] `{ $path }` kann nicht geschrieben werden: { $cause }; die Datei ist unverändert
    }
changed-during-call = `{ $path }` wurde während dieses Aufrufs von jemand anderem geändert; nichts wurde geschrieben. Lies sie neu und wiederhole die Änderung am jetzigen Inhalt
not-confirmed = `{ $path }` wurde geschrieben, aber der Datenträger hat es nicht bestätigt: { $cause }; lies nach, was dort steht
changed-since = `{ $path }` hat sich geändert, seit du es in Runde { $turn } gelesen hast; nichts wurde geschrieben. Lies es neu und wiederhole die Änderung am jetzigen Inhalt
not-read = `{ $path }` existiert und wurde in diesem Lauf noch nicht gelesen; nichts wurde geschrieben. Lies es zuerst
skills-not-used = Skills in `{ $root }` werden nicht benutzt: { $why }
skills-folder-large = `{ $folder }` hat mehr als { $folder_entries_max } Einträge; nicht alle wurden angesehen
skill-not-used = Skill in `{ $place }` wird nicht benutzt: { $why }
skill-name-unusable = Skill in `{ $place }` hat einen unbrauchbaren Namen; der Name des Ordners wird benutzt
skill-without-description = Skill `{ $skill_name }` in `{ $place }` hat keine Beschreibung
skill-shadowed = Skill `{ $skill_name }` in `{ $place }` wird ausgelassen: `{ $kept }` hat denselben Namen und kommt zuerst
skills-too-many = Skill `{ $skill_name }` wird ausgelassen: es gibt schon { $skills_max }
skills-without-description = weitere Skills, ohne Beschreibung: { $names }
skills-more = { $skills } mehr; ein Aufruf mit falschem Namen zeigt die Namen
no-skills = es gibt keine Skills
skill-not-found = es gibt keinen Skill `{ $name }`; es gibt: { $names }
skill-files-more = … { $files } mehr
skill-folder = Ordner `{ $folder }`
skill-folder-outside = Ordner außerhalb des Arbeitsbereichs; lies seine Dateien mit `file` dieses Werkzeugs
skill-other-files = [{ $place }; weitere Dateien:]
skill-left-out = [{ $left_out } von { $total } hier ausgelassen]
skill-no-files = [{ $place }; keine weiteren Dateien]
skill-file-too-large = `{ $path }` hat mehr als { $max }
supervisor-silent = er hat nicht rechtzeitig geantwortet
supervisor-without-report = er endete ohne Bericht
supervisor-lost = die Aufsicht über den Befehl ging verloren: { $how }; { $ended } Prozesse des Befehls wurden beendet
supervisor-lost-hint = der Befehl kann einen Teil seiner Arbeit getan haben; er darf seinen Elternprozess nicht beenden oder anhalten
supervisor-not-started = die Aufsicht `{ $program }` kann nicht gestartet werden: { $error }
supervisor-not-started-hint = prüfe, ob das Arbeitsverzeichnis existiert und Prozesse und Dateideskriptoren frei sind
thought-empty = der Gedanke ist leer; schreibe auf, was du durchdenken willst
verify-timed-out = Zeit abgelaufen nach { $seconds } s
walk-cancelled = vor dem Ende abgebrochen: das Ergebnis ist unvollständig
walk-too-many = nach { $max } angehalten: das Ergebnis ist unvollständig; nenne ein kleineres Verzeichnis
walk-too-deep = { $closed } unterhalb von { $depth_max } Ebenen nicht betreten; nenne einen tieferen `path`
walk-unreadable = nicht lesbar: { $entries }
walk-refused = ausgelassen, weil diese Aufgabe nicht hineinsehen darf: { $entries }
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
path-empty = der Pfad ist leer; gib einen Pfad relativ zum Arbeitsbereich an, oder `.` für dessen Wurzel
path-with-nul = der Pfad enthält ein NUL-Zeichen, das kein Dateiname haben kann
path-too-long = der Pfad hat { $bytes } Bytes; der längste erlaubte hat { $path_bytes_max }
name-too-long = ein Name im Pfad hat { $bytes } Bytes; der längste erlaubte hat { $name_bytes_max }
path-with-parent = `{ $path }` enthält `..`, was nicht angenommen wird; schreibe den Pfad ab der Wurzel des Arbeitsbereichs `{ $root }`
path-outside = `{ $path }` liegt außerhalb des Arbeitsbereichs; Pfade sind relativ zu `{ $root }`
path-is-directory = `{ $path }` ist ein Verzeichnis; das Werkzeug `ls` oder `directory_tree` zeigt, was darin ist
path-not-regular = `{ $path }` ist keine reguläre Datei (sondern Pipe, Socket oder Gerät)
place-unknown = es lässt sich nicht feststellen, wo `{ $path }` liegt: { $cause }; nichts wurde geschrieben
place-refused = `{ $path }` liegt in Wirklichkeit bei `{ $place }`: { $why }
place-closed = `{ $place }` enthält Schlüssel oder Sitzungen der Person oder gehört Posse selbst; kein Werkzeug öffnet es
link-leads-out = `{ $shown }` führt über einen symbolischen Link aus dem Arbeitsbereich hinaus, was abgelehnt wird; nur Dateien unterhalb von `{ $root }` können benutzt werden
link-refused = `{ $shown }` ist oder enthält einen symbolischen Link, dem hier nicht gefolgt werden kann (eine Schleife, ein Link von /proc, oder der Name selbst ist ein Link)
no-such-path = es gibt kein `{ $shown }` im Arbeitsbereich; suche den richtigen Namen mit `ls` oder `glob` (ein symbolischer Link ohne Ziel zählt als nicht vorhanden)
part-not-directory = ein Teil von `{ $shown }`, der ein Verzeichnis sein müsste, ist keines
is-directory = `{ $shown }` ist ein Verzeichnis
no-permission = keine Berechtigung, `{ $shown }` zu öffnen
path-too-long-here = `{ $shown }` ist ein zu langer Pfad
path-moving = `{ $shown }` wurde beim Öffnen ständig verschoben; versuche es noch einmal
no-openat2 = diesem System fehlt openat2, daher kann keine Datei sicher geöffnet werden
no-space = auf dem Datenträger ist kein Platz für `{ $shown }`
cannot-open = `{ $shown }` kann nicht geöffnet werden: { $other }
path-bytes = { $short }… ({ $bytes } Bytes)
content-too-large = der Inhalt hat { $size }; höchstens { $max } können mit einem Aufruf geschrieben werden
content-same = `{ $path }` hat genau diesen Inhalt ({ $size })
file-replaced = `{ $path }` ersetzt ({ $size }; vorher: { $old })
file-created = `{ $path }` angelegt ({ $size })
size-and-lines = { $bytes }, { $lines }
sandbox-denied-top = [Sandbox { $tier }: Befehlen verschlossen sind neue Einträge ganz oben im Arbeitsbereich, .git, geschützte Dateien, das Heimatverzeichnis und was die Aufgabe nicht schreiben darf; das Werkzeug `write` legt Dateien an. Für den Betreiber: docs/sandbox.md]
sandbox-denied = [Sandbox { $tier }: Befehlen verschlossen sind geschützte Dateien, das Heimatverzeichnis und was die Aufgabe nicht schreiben darf. Für den Betreiber: docs/sandbox.md]
sandbox-no-network = [Sandbox { $tier }: Befehle haben hier kein Netz. Für den Betreiber: docs/sandbox.md]
sandbox-some-ports = [Sandbox { $tier }: das Netz der Befehle ist { $reach }, und Namen werden nicht aufgelöst. Für den Betreiber: docs/sandbox.md]
