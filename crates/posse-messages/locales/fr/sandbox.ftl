# Français. Le glossaire est dans core.ftl.

supervisor-silent = il n'a pas répondu à temps
supervisor-without-report = il s'est terminé sans rapport
supervisor-lost = le superviseur de la commande a été perdu : { $how } ; { $ended } processus de la commande ont été terminés
supervisor-lost-hint = la commande a peut-être fait une partie de son travail ; elle ne doit ni tuer ni arrêter son processus parent
supervisor-not-started = impossible de lancer le superviseur `{ $program }` : { $error }
supervisor-not-started-hint = vérifiez que le répertoire de travail existe et qu'il reste des processus et des descripteurs de fichier
workspace-failed =
    { $what ->
        [open] impossible d'ouvrir l'espace de travail `{ $root }` : { $cause }
       *[resolve] impossible de résoudre l'espace de travail `{ $root }` : { $cause }
    }
workspace-failed-hint = l'espace de travail doit être un répertoire existant où vous pouvez entrer
openat2-missing = ce système ne peut pas ouvrir de fichiers en sécurité sous un répertoire (openat2 : { $cause })
openat2-missing-hint = les outils de fichiers exigent Linux 5.6 ou plus récent et un bac à sable qui permet openat2
sandbox-write-opens = `sandbox.write` : `{ $path }` ouvrirait `{ $secret }` aux commandes
sandbox-write-opens-hint = nommez plutôt ce qui se trouve à côté
sandbox-unprotected-unknown = `sandbox.unprotected` : `{ $name }` n'est pas un nom protégé
sandbox-unprotected-unknown-hint = docs/protected.md énumère les noms protégés ; écrivez-en un exactement comme il y figure
