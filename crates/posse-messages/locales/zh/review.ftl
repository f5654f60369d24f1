# 简体中文。术语表见 core.ftl。

review-place-outside = 不是差异中的行
review-place-missing = 没有这样的文件或行
review-dropped-form = 因为它不是对象
review-dropped-severity = 因为无法读取其严重程度
review-dropped-file = 因为它没有指明文件
review-dropped-text = 因为它既没有标题也没有说明
review-dropped = 回答中的第 { $number } 条发现已被舍弃，{ $why }：{ $excerpt }
review-no-findings = 没有发现问题
review-unfinished = 审查未完成
review-of = 审查 { $files }
review-of-partial = { $files }的部分评审
review-suggestion = 建议：
review-stopped-early = 评审提前停止（{ $reason }）；以下是已发现的问题
review-gate-closed = 因 { $n } 条发现未通过 `--fail-on { $severity }`
review-unseen = 未查看：差异中的 { $lines } 行，位于 { $files }
review-cut = 差异过大，无法整体给出；已截断：{ $names }。请一次审查更少的内容：posse review PATH…
review-cut-more = 差异过大，无法整体给出；已截断：{ $names } 等另外 { $more } 个。请一次审查更少的内容：posse review PATH…
review-uncounted = 有 { $n } 条严重程度不低于 `{ $severity }` 的发现没有指向存在的文件或行，不计入；`--fail-on-unplaced` 会计入
