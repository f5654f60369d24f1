# Français. Le glossaire est dans core.ftl.

review-place-outside = ce n'est pas une ligne du diff
review-place-missing = ce fichier ou cette ligne n'existe pas
review-dropped-form = car ce n'est pas un objet
review-dropped-severity = car sa gravité est illisible
review-dropped-file = car il ne nomme aucun fichier
review-dropped-text = car il n'a ni titre ni explication
review-dropped = le constat { $number } de la réponse a été écarté, { $why } : { $excerpt }
review-no-findings = aucun constat
review-unfinished = La revue n'a pas été achevée
review-of = Revue de { $files }
review-of-partial = Relecture partielle de { $files }
review-suggestion = Suggestion :
review-stopped-early = la relecture s'est arrêtée trop tôt ({ $reason }) ; voici ce qu'elle avait trouvé
review-gate-closed =
    { $n ->
        [one] échoue à `--fail-on { $severity }` pour { $n } constat
       *[other] échoue à `--fail-on { $severity }` pour { $n } constats
    }
review-unseen =
    { $lines ->
        [one] non vu : { $lines } ligne du diff, dans { $files }
       *[other] non vu : { $lines } lignes du diff, dans { $files }
    }
review-cut = le diff est trop grand pour être donné en entier ; coupé : { $names }. Relisez moins à la fois : posse review PATH…
review-cut-more = le diff est trop grand pour être donné en entier ; coupé : { $names } et { $more } autres. Relisez moins à la fois : posse review PATH…
review-uncounted =
    { $n ->
        [one] { $n } constat de gravité `{ $severity }` ou plus ne nomme ni fichier ni ligne qui existe et ne compte pas ; `--fail-on-unplaced` le compte
       *[other] { $n } constats de gravité `{ $severity }` ou plus ne nomment ni fichier ni ligne qui existe et ne comptent pas ; `--fail-on-unplaced` les compte
    }
