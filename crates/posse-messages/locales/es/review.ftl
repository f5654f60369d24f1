# Español. El glosario está en core.ftl.

review-place-outside = no es una línea del diff
review-place-missing = no existe tal archivo o línea
review-dropped-form = porque no es un objeto
review-dropped-severity = porque su gravedad no se puede leer
review-dropped-file = porque no nombra ningún archivo
review-dropped-text = porque no tiene título ni explicación
review-dropped = se descartó el hallazgo { $number } de la respuesta, { $why }: { $excerpt }
review-no-findings = sin hallazgos
review-unfinished = La revisión no se terminó
review-of = Revisión de { $files }
review-of-partial = Revisión parcial de { $files }
review-suggestion = Sugerencia:
review-stopped-early = la revisión terminó antes de tiempo ({ $reason }); esto es lo que había encontrado
review-gate-closed =
    { $n ->
        [one] no supera `--fail-on { $severity }` por { $n } hallazgo
       *[other] no supera `--fail-on { $severity }` por { $n } hallazgos
    }
review-unseen =
    { $lines ->
        [one] sin ver: { $lines } línea del diff, en { $files }
       *[other] sin ver: { $lines } líneas del diff, en { $files }
    }
review-cut = el diff es demasiado grande para darlo entero; recortado: { $names }. Revisa menos a la vez: posse review PATH…
review-cut-more = el diff es demasiado grande para darlo entero; recortado: { $names } y { $more } más. Revisa menos a la vez: posse review PATH…
review-uncounted =
    { $n ->
        [one] { $n } hallazgo de gravedad `{ $severity }` o mayor no nombra un archivo o una línea existentes y no cuenta; `--fail-on-unplaced` lo cuenta
       *[other] { $n } hallazgos de gravedad `{ $severity }` o mayor no nombran un archivo o una línea existentes y no cuentan; `--fail-on-unplaced` los cuenta
    }
