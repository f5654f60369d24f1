# Deutsch. Das Glossar steht in core.ftl.

git-path-not-text = git hat einen Pfad genannt, der kein Text ist
git-change-unknown = git hat eine Änderung auf unbekannte Weise beschrieben
worktree-no-repository = `{ $workspace }` liegt in keinem git-Arbeitsbaum, also kann keiner daraus angelegt werden
worktree-no-repository-hint = führe dort `git init` aus oder arbeite ohne `isolation: worktree`
no-git-above = darüber gibt es kein `.git`
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
apply-broke-off =
    { $done ->
        [one] { $why }; davor wurde { $done } Datei übernommen
       *[other] { $why }; davor wurden { $done } Dateien übernommen
    }
apply-broke-off-hint = übernimm erneut: was getan ist, bleibt, der Rest folgt
git-no-object = git hat kein Objekt { $name }
conflict-repository = es ist ein eigenes Repository, das ein Patch nicht enthält
apply-protected = nichts wurde übernommen: die Aufgabe hat Dateien geändert, die Programme einstellen oder Geheimnisse enthalten: { $paths }
apply-protected-hint = sieh sie dir mit `posse tasks diff` an; `--protected` übernimmt auch sie
worktree-too-many-files = ein Arbeitsbaum dieses Repositorys hätte { $count } Dateien
worktree-too-large = ein Arbeitsbaum dieses Repositorys hätte mehr als { $gib } GiB
worktree-too-much-hint = lass git ignorieren, was nicht zum Projekt gehört, oder arbeite ohne Arbeitsbaum

git-unreadable = es ist nicht lesbar
git-missing = git ist nicht installiert oder nicht im PATH
git-missing-hint = installiere git 2.31 oder neuer
git-not-started = es kann nicht gestartet werden
git-too-slow = es dauerte länger als { $seconds } s
git-failed = `git { $what }` ist gescheitert: { $why }
review-no-repository = { $place } liegt in keinem Git-Repository
review-no-repository-hint = `posse review` betrachtet die Änderungen eines Git-Arbeitsbaums: starte es in einem
git-no-temporary = es gibt keinen Platz für ein temporäres Verzeichnis
review-base-unknown = `{ $base }` ist kein Commit dieses Repositorys
review-commit-unknown-hint = nennen Sie einen Commit, etwa `--commit HEAD~1`
review-path-unknown = `{ $path }` gibt es nicht, und git kennt nichts mit diesem Namen
review-path-unknown-hint = Pfade zählen ab dem aktuellen Verzeichnis
review-base-unknown-hint = nenne einen Branch, ein Tag oder einen Commit, etwa `--base main`
review-no-commit = es gibt noch keinen Commit zum Vergleichen
review-no-commit-hint = lass `--base` weg
review-no-common-commit = `{ $base }` und HEAD haben keinen gemeinsamen Commit
review-no-common-commit-hint = hole in einem flachen Klon zuerst mehr von der Geschichte

worktree-not-worked-on = an einem Arbeitsbaum konnte nicht gearbeitet werden
worktree-gone = der Arbeitsbaum von `{ $task }` ist nicht mehr da
