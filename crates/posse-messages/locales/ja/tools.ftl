# 日本語。用語集は core.ftl にある。

tool-env-withheld = { $manifest }: `env`: `{ $name }` にはどのツールにも渡さないキーが入っています
tool-env-withheld-hint = `env` から取り除いてください
tool-env-not-passed = { $manifest }: `env`: `{ $name }` はプロジェクトのツールには渡されません
tool-env-not-passed-hint = コマンドに渡してよければ自分の設定の `[bash]` の `env` に `{ $name }` を加え、そうでなければ `env` から取り除いてください
tool-program-outside = { $manifest }: `command`: `{ $program }` はプロジェクトの中にありません
tool-program-outside-hint = プロジェクトのツールが実行できるのは、プロジェクトのプログラムか `PATH` にあるプログラムです
tools-too-many = { $directory } にはツールが { $count } 個ありますが、読み込まれるのは最初の { $tools_max } 個だけです
manifest-too-large = { $path }: { $size } バイトあり、上限は { $manifest_bytes_max } です
choose-another-name = 別の名前を選んでください
tool-description-missing = ツールが何をするかを書かなければなりません。モデルにはそれしか見えません
tool-name-invalid = `{ $name }` は a-z、0-9、`_` の 1〜{ $name_max } 文字ではありません
tool-is-built-in = `{ $name }` は組み込みツールです
tool-stands-for-built-in = `{ $name }` は組み込みの `{ $meant }` の別名です
tool-stands-for = `{ $name }` は `{ $meant }` の別名です
tool-schema-not-object = JSON Schema のオブジェクトでなければなりません
tool-schema-type = `"type": "object"` が必要です。引数は常にオブジェクトです
tool-properties-not-object = `properties` はオブジェクトでなければなりません
tool-required-not-names = `required` は名前のリストでなければなりません
variable-invalid = `{ $name }` は変数名ではありません。値ではなく名前を書いてください
between-1-and = 1〜{ $most } でなければなりません
program-missing = プログラムを指定しなければなりません。例: ["./run.sh"]
contains-nul = NUL 文字が含まれています
program-not-executable = `{ $first }` は実行可能ファイルではありません。`chmod +x` で実行可能になります
tool-defined-twice = { $manifest }: ツール `{ $name }` はすでに { $earlier } で定義されています
tool-defined-twice-hint = どちらかの名前を変えるか、削除してください
skills-not-used = `{ $root }` のスキルは使われません: { $why }
skills-folder-large = `{ $folder }` には { $folder_entries_max } を超えるエントリーがあり、すべては確認していません
skill-not-used = `{ $place }` のスキルは使われません: { $why }
skill-name-unusable = `{ $place }` のスキルの名前は使えないため、フォルダー名を使います
skill-without-description = `{ $place }` のスキル `{ $skill_name }` には説明がありません
skill-shadowed = `{ $place }` のスキル `{ $skill_name }` は除外されます: 同じ名前の `{ $kept }` が先にあります
skills-too-many = スキル `{ $skill_name }` は除外されます: すでに { $skills_max } 個あります
supervisor-silent = 時間内に応答しませんでした
supervisor-without-report = 報告せずに終了しました
supervisor-lost = コマンドの監視プロセスが失われました: { $how }。コマンドのプロセス { $ended } 個を終了させました
supervisor-lost-hint = コマンドは作業の一部を終えた可能性があります。親プロセスを終了させたり停止させたりしてはいけません
supervisor-not-started = 監視プロセス `{ $program }` を開始できません: { $error }
supervisor-not-started-hint = 作業ディレクトリが存在し、プロセスとファイル記述子に余裕があるか確認してください
workspace-failed =
    { $what ->
        [open] ワークスペース `{ $root }` を開けません: { $cause }
       *[resolve] ワークスペース `{ $root }` を解決できません: { $cause }
    }
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
git-change-unknown = git が変更を未知の形式で示しました
worktree-no-repository = `{ $workspace }` は git のワークツリー内にないため、そこからワークツリーを作れません
worktree-no-repository-hint = そこで `git init` を実行するか、`isolation: worktree` なしで作業してください
no-git-above = 上位に `.git` がありません
worktree-too-many-files = このリポジトリのワークツリーはファイルが { $count } 個になります
worktree-too-large = このリポジトリのワークツリーは { $gib } GiB を超えます
worktree-too-much-hint = プロジェクトに属さないものを git で無視するか、ワークツリーなしで作業してください
worktree-git-failed = `git { $what }` が失敗しました（{ $code }）: { $errors }
git-path-not-text = git がテキストでないパスを返しました
git-not-found = プログラム `git` が見つかりません
git-not-run = git を実行できません: { $cause }
git-not-run-hint = git をインストールするか、ワークツリーなしで作業してください
git-endless = git が { $seconds } 秒以内に終わりませんでした
apply-conflicts = 競合のため何も適用されていません: { $conflicts }
apply-conflicts-more = 競合のため何も適用されていません: { $conflicts }、ほか { $more } 件
apply-conflicts-hint = 変更は { $place } にあります。そこか自分のファイルで両者を一致させてから、もう一度適用してください
conflict-gone = タスクが変更しましたが、もう存在しません
conflict-deleted = タスクが削除しましたが、その間に変更されています
conflict-kind = 両者が種類を変えています
conflict-places = 両者が変更した箇所が { $places } か所あります
conflict-binary = 両者が変更しており、テキストではありません
conflict-repository = 独立したリポジトリなので、パッチに含まれません
apply-broke-off = { $why }。それまでに { $done } 個のファイルが適用されました
apply-broke-off-hint = もう一度適用してください。済んだものはそのまま、残りが続きます
git-no-object = git にオブジェクト { $name } がありません
apply-protected = 何も適用されていません。タスクが、プログラムの設定や秘密情報を含むファイルを変更しました: { $paths }
apply-protected-hint = `posse tasks diff` で確認してください。`--protected` を付けるとそれらも適用します
workspace-failed-hint = ワークスペースは、入ることのできる既存のディレクトリでなければなりません
openat2-missing = このシステムではディレクトリ配下のファイルを安全に開けません（openat2: { $cause }）
openat2-missing-hint = ファイルツールには Linux 5.6 以降と、openat2 を許可するサンドボックスが必要です
