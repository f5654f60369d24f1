# 日本語。用語集は core.ftl にある。

git-path-not-text = git がテキストでないパスを返しました
git-change-unknown = git が変更を未知の形式で示しました
worktree-no-repository = `{ $workspace }` は git のワークツリー内にないため、そこからワークツリーを作れません
worktree-no-repository-hint = そこで `git init` を実行するか、`isolation: worktree` なしで作業してください
no-git-above = 上位に `.git` がありません
worktree-failed =
    { $what ->
        [copy] `{ $path }` をコピーできません: { $cause }
        [describe] `{ $path }` の情報を書き出せません: { $cause }
        [find] `{ $path }` が見つかりません: { $cause }
        [make] `{ $path }` を作れません: { $cause }
        [read] `{ $path }` を読み取れません: { $cause }
        [remove] `{ $path }` を削除できません: { $cause }
       *[write] `{ $path }` に書き込めません: { $cause }
    }
apply-conflicts = 競合のため何も適用されていません: { $conflicts }
apply-conflicts-more = 競合のため何も適用されていません: { $conflicts }、ほか { $more } 件
apply-conflicts-hint = 変更は { $place } にあります。そこか自分のファイルで両者を一致させてから、もう一度適用してください
conflict-gone = タスクが変更しましたが、もう存在しません
conflict-deleted = タスクが削除しましたが、その間に変更されています
conflict-kind = 両者が種類を変えています
conflict-places = 両者が変更した箇所が { $places } か所あります
conflict-binary = 両者が変更しており、テキストではありません
apply-broke-off = { $why }。それまでに { $done } 個のファイルが適用されました
apply-broke-off-hint = もう一度適用してください。済んだものはそのまま、残りが続きます
git-no-object = git にオブジェクト { $name } がありません
conflict-repository = 独立したリポジトリなので、パッチに含まれません
apply-protected = 何も適用されていません。タスクが、プログラムの設定や秘密情報を含むファイルを変更しました: { $paths }
apply-protected-hint = `posse tasks diff` で確認してください。`--protected` を付けるとそれらも適用します
worktree-too-many-files = このリポジトリのワークツリーはファイルが { $count } 個になります
worktree-too-large = このリポジトリのワークツリーは { $gib } GiB を超えます
worktree-too-much-hint = プロジェクトに属さないものを git で無視するか、ワークツリーなしで作業してください

git-unreadable = 読み取れません
git-missing = git がインストールされていないか、PATH にありません
git-missing-hint = git 2.31 以降をインストールしてください
git-not-started = 開始できません
git-too-slow = { $seconds } 秒を超えました
git-failed = `git { $what }` が失敗しました: { $why }
review-no-repository = { $place } は git リポジトリの中にありません
review-no-repository-hint = `posse review` は git の作業ツリーの変更を調べます。その中で実行してください
git-no-temporary = 一時ディレクトリを置く場所がありません
review-base-unknown = `{ $base }` はこのリポジトリのコミットではありません
review-commit-unknown-hint = `--commit HEAD~1` のようにコミットを指定してください
review-path-unknown = `{ $path }` は存在せず、git にもその名前のものはありません
review-path-unknown-hint = パスは現在のディレクトリから数えます
review-base-unknown-hint = `--base main` のようにブランチ、タグ、コミットを指定してください
review-no-commit = 比較するコミットがまだありません
review-no-commit-hint = `--base` を外してください
review-no-common-commit = `{ $base }` と HEAD に共通のコミットがありません
review-no-common-commit-hint = シャロークローンでは、先に履歴をさらに取得してください

worktree-not-worked-on = ワークツリーを操作できませんでした
worktree-gone = `{ $task }` のワークツリーはもうありません
