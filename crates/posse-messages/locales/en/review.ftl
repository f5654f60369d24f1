# Messages of `posse-review`: `localized!` for errors, `fixed!` for what only models read.

## findings.rs

review-place-outside = not a line of the diff
review-place-missing = there is no such file or line
review-dropped-form = because it is no object
review-dropped-severity = because its severity cannot be read
review-dropped-file = because it names no file
review-dropped-text = because it has neither a title nor an explanation
review-dropped = finding { $number } of the answer was dropped, { $why }: { $excerpt }
review-no-findings = no findings

## report.rs

review-unfinished = The review was not finished
review-of = Review of { $files }
review-of-partial = Partial review of { $files }
review-suggestion = Suggestion:
review-stopped-early = the review stopped early ({ $reason }); this is what it had found
review-gate-closed =
    { $n ->
        [one] fails `--fail-on { $severity }` with { $n } finding
       *[other] fails `--fail-on { $severity }` with { $n } findings
    }
review-unseen =
    { $lines ->
        [one] not seen: { $lines } line of the diff, in { $files }
       *[other] not seen: { $lines } lines of the diff, in { $files }
    }
review-cut = the diff is too large to be given whole; cut: { $names }. Review less at once: posse review PATH…
review-cut-more = the diff is too large to be given whole; cut: { $names } and { $more } more. Review less at once: posse review PATH…
review-uncounted =
    { $n ->
        [one] { $n } finding as grave as `{ $severity }` names no existing file or line and does not count; `--fail-on-unplaced` counts it
       *[other] { $n } findings as grave as `{ $severity }` name no existing file or line and do not count; `--fail-on-unplaced` counts them
    }
