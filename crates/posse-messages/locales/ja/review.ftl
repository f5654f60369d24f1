# 日本語。用語集は core.ftl にある。

review-place-outside = 差分の行ではありません
review-place-missing = そのようなファイルや行はありません
review-dropped-form = オブジェクトではないためです
review-dropped-severity = 重大度を読み取れないためです
review-dropped-file = ファイルが示されていないためです
review-dropped-text = タイトルも説明もないためです
review-dropped = 回答の指摘 { $number } は除外されました。{ $why }: { $excerpt }
review-no-findings = 指摘なし
review-unfinished = レビューは完了しませんでした
review-of = { $files }のレビュー
review-of-partial = { $files }の部分的なレビュー
review-suggestion = 提案:
review-stopped-early = レビューは途中で止まりました({ $reason })。それまでの指摘を示します
review-gate-closed = `--fail-on { $severity }` により不合格(指摘 { $n } 件)
review-unseen = 未確認: 差分の { $lines } 行({ $files })
review-cut = 差分が大きすぎて全体を渡せません。省略: { $names }。一度にレビューする量を減らしてください: posse review PATH…
review-cut-more = 差分が大きすぎて全体を渡せません。省略: { $names } ほか { $more } 件。一度にレビューする量を減らしてください: posse review PATH…
review-uncounted = `{ $severity }` 以上の指摘 { $n } 件は、存在するファイルや行を指していないため数えません。`--fail-on-unplaced` で数えます
