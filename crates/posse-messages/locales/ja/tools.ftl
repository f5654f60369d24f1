# 日本語。用語集は core.ftl にある。

count-binary-files =
    { $n ->
       *[other] バイナリファイル { $shown } 個
    }
count-bytes =
    { $n ->
       *[other] { $shown } バイト
    }
count-directories =
    { $n ->
       *[other] ディレクトリ { $shown } 個
    }
count-entries =
    { $n ->
       *[other] エントリー { $shown } 個
    }
count-files =
    { $n ->
       *[other] ファイル { $shown } 個
    }
count-lines =
    { $n ->
       *[other] { $shown } 行
    }
count-matches =
    { $n ->
       *[other] { $shown } 件の一致
    }
count-places =
    { $n ->
       *[other] { $shown } か所
    }
count-skills =
    { $n ->
       *[other] スキル { $shown } 個
    }
bash-arguments-invalid = 引数が無効です: { $why }
command-empty = `command` が空です
command-with-nul = `command` に NUL 文字が含まれています。どのプログラムにも渡せません
command-too-long = `command` は { $length } バイトあり、上限は { $command_max } です。スクリプトファイルを書いて実行してください
command-cancelled-before =
    { $what ->
        [tool] ツールの開始前にキャンセルされました
       *[command] コマンドの開始前にキャンセルされました
    }
command-without-time =
    { $what ->
        [tool] 残り時間がありません: ツールは開始されませんでした
       *[command] 残り時間がありません: コマンドは開始されませんでした
    }
nothing-printed = （出力なし）
standard-error = 標準エラー:
standard-error-hidden = [標準エラーの { $bytes } バイトは表示されていません]
odd-bytes = [表示された { $odd_bytes } バイトは UTF-8 ではなく、\xNN と表されています]
command-timed-out =
    { $what ->
        [tool] 時間切れ: ツールとそれが起動したものは { $ms } ms 後に停止されました。それまでの出力:
       *[command] 時間切れ: コマンドとそれが起動したものは { $ms } ms 後に停止されました。それまでの出力:
    }
command-lease-lost = 停止されました: タスクがそこに書き込む権利を失ったか、プロセスの沈黙が長すぎました。途中までの結果が残っている可能性があります。何かを繰り返す前にファイルを読んでください
command-cancelled =
    { $what ->
        [tool] キャンセル: ツールとそれが起動したものは停止されました。それまでの出力:
       *[command] キャンセル: コマンドとそれが起動したものは停止されました。それまでの出力:
    }
command-exit-code = 終了コード { $code }
command-signalled = シグナル { $signal } で終了
command-not-started =
    { $what ->
        [tool] ツールを開始できませんでした: { $why }
       *[command] コマンドを開始できませんでした: { $why }
    }
command-ending-unknown =
    { $what ->
        [tool] ツールがどう終了したか不明です
       *[command] コマンドがどう終了したか不明です
    }
background-stopped =
    { $what ->
        [tool] {"["}ツールの終了時にバックグラウンドプロセス { $n } 個を停止しました]
       *[command] {"["}コマンドの終了時にバックグラウンドプロセス { $n } 個を停止しました]
    }
processes-survive = [プロセス { $n } 個を停止できず、まだ動いている可能性があります]
protected-appeared = [保護されたファイルが途中で現れました: { $paths }。回答でそのことを伝えてください。プログラムが使う前に人が確認する必要があります]
protected-set-aside = [ワークスペースの最上位に保護されたファイルが作られました。コマンドには許されていないため、名前を変えました: { $paths }。回答でそのことを伝えてください]
old-string-empty = `old_string` が空です。置き換えるテキストを指定するか、`write` で新しいファイルを作ってください
strings-are-the-same = `old_string` と `new_string` が同じなので、何も変わりません
edit-no-file = `{ $path }` はありません。`write` で作るか、`glob` で名前を探してください
edit-too-large = `{ $path }` は { $max } を超えており、このツールで編集するには大きすぎます
old-string-missing = `old_string` は `{ $path }` にありません。{ $nearest }
old-string-ambiguous = `old_string` は `{ $path }` に { $n } 回現れます（{ $lines }）。前後の行を加えてひとつに絞るか、`replace_all` を指定してください
result-too-large = 結果は { $size } となり、{ $max } を超えます
lines-listed = 行 { $listed }
lines-listed-more = 行 { $listed } ほか { $more } か所
edited = `{ $path }` を編集しました: { $place }
also-replaced = ほかにも置き換えました: { $lines }（変更前の行番号）
hard-links = このファイルにはハードリンクが { $links } 個あり、この名前だけが新しい内容を持ちます
lines-more = [あと { $lines }]
line-numbers-included = `read` が表示する行番号で始まっています。行番号はファイルの一部ではないので取り除いてください
only-white-space = 空白だけです。`read` の表示どおりに写してください
white-space-differs = ただし { $line } 行目とは空白（スペース、タブ、インデント、改行）だけが異なります。ファイルの該当箇所:
case-differs = ただし { $line } 行目とは大文字と小文字だけが異なります。`read` の表示どおりに写してください
first-line-differs = 最初の行はファイルの { $first } 行目ですが、ファイルの { $differs } 行目が { $own } 行目と異なります。そこから読み直してください
no-similar-text-shorter = 似たテキストは見つかりませんでした。もっと短い部分を使い、`read` の表示どおりに写してください
no-similar-text = 似たテキストは見つかりませんでした。`read` の表示どおりに写してください
tool-failed-inside = ツール `{ $tool }` が内部で失敗しました。これはツールの不具合で、呼び出しの誤りではありません
arguments-wrong = `{ $tool }` の引数が誤っています: { $message }。使えるもの: { $fields }
no-file-matches = `{ $pattern }` に一致するファイルはありません
files-more = … あと { $more }（更新がより古いもの）。パターンを厳しくするか `path` を指定してください
glob-length = パターンは 1〜{ $pattern_bytes_max } バイトでなければなりません
glob-with-parent = パターンに `..` が含まれています。ワークスペースの外のファイルは一覧できません
glob-outside = パターンがワークスペースの外です。パターンは `{ $root }` からの相対です
glob-invalid = パターンが glob ではありません: { $cause }
regex-invalid =
    このツールが理解できる正規表現ではありません: { $cause }
    特殊文字を文字どおりに検索するにはバックスラッシュでエスケープしてください。一致が複数行にまたがることはありません
filter-invalid = `glob` が glob ではありません: { $cause }
file-type-unknown = ファイルの種類 `{ $kind }` はありません。ripgrep が知っている名前（rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml ...）か、代わりに `glob` を使ってください
no-match = `{ $pattern }` に一致するものはありません
matches-more-in = あと { $matches }({ $files })
more-files = あと { $files }
files-more-with = あと { $files }({ $matches })
narrow-search = … { $more }。`path`、`glob`、またはより厳しいパターンで絞り込んでください
skipped = スキップ: { $files }
not-searched = 検索できませんでした: { $files }
line-part = [{ $size } バイト中 { $from }-{ $to }]
cannot-list = `{ $path }` を一覧できません: { $cause }
entry-gone = （なくなりました）
entry-special = （パイプ、ソケット、またはデバイス）
directory-empty = `{ $path }` は空のディレクトリです
entries-more = … あと { $left_out }。一部を見るにはパターンを付けて `glob` を使ってください
entries-more-at-least = … 少なくともあと { $left_out }。一部を見るにはパターンを付けて `glob` を使ってください
tree-more = … この深さにあと { $left_out }。`path` を指定するか `depth` を小さくしてください
tree-not-opened = 深さ { $depth } の{ $closed }は開いていません（… の印）
output-left-out = [{ $total } バイト中 { $left_out } バイトを省略]
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
path-protected = `{ $path }` は保護されています。プログラムを設定するファイルや秘密を含むファイル（ここでは `{ $name }`）にツールは書き込みません。何も書き込まれていません。人が変更できるよう、何を変えるべきかを回答で伝えてください
limit-zero = `limit` が 0 なので 1 行も表示できません。省略するか 1 以上を指定してください
cannot-read = `{ $path }` を読み取れません: { $cause }
file-empty = [`{ $path }` は空のファイルです]
file-binary = [`{ $path }` は { $size } のバイナリファイルで、テキストとして表示できません]
offset-past-end = `offset` { $first } は終わりを超えています: `{ $path }` は { $lines }です
call-cancelled = 呼び出しはキャンセルされました
line-cut = [行を省略: { $total } バイト中 { $shown } バイトを表示]
lines-remain = 全 { $total } 行のうち { $first }-{ $last } 行を表示。残り { $lines }({ $bytes })
bytes-remain = { $first }-{ $last } 行を表示。残り { $bytes }
read-on-offset = { $remain }。続きを読むには: 同じパスで offset { $next }
read-on = { $remain }。続きを読むには: {"{"}"path":{ $path },"offset":{ $next }{"}"}
crlf-kept = 行末は CRLF です。`edit` はそれを保つので、引数には通常の改行を書いてください
some-not-utf8 = 一部のバイトは UTF-8 ではなく、� と表示されています
path-is-workspace = パスがワークスペース自体（ディレクトリ）です。その中のファイルを指定してください
path-is-link = `{ $path }` は `{ $target }` へのシンボリックリンクです。何も書き込まれていません。ワークスペース内にあるなら、ファイル自体のパスを使ってください
write-failed =
    { $what ->
        [create] `{ $path }` の隣にファイルを作れません: { $cause }。ファイルは変更されていません
        [lock] `{ $path }` のディレクトリをロックできません: { $cause }。ファイルは変更されていません
        [replace] `{ $path }` を新しい内容に置き換えられません: { $cause }。ファイルは変更されていません
       *[write] `{ $path }` に書き込めません: { $cause }。ファイルは変更されていません
    }
changed-during-call = `{ $path }` はこの呼び出しの間にほかの誰かが変更しました。何も書き込まれていません。読み直して、現在の内容に変更を加えてください
not-confirmed = `{ $path }` は書き込まれましたが、ディスクが確認しませんでした: { $cause }。内容を読んで確かめてください
changed-since = `{ $path }` はターン { $turn } で読んだあとに変更されました。何も書き込まれていません。読み直して、現在の内容に変更を加えてください
not-read = `{ $path }` は存在しますが、この実行でまだ読んでいません。何も書き込まれていません。先に読んでください
skills-not-used = `{ $root }` のスキルは使われません: { $why }
skills-folder-large = `{ $folder }` には { $folder_entries_max } を超えるエントリーがあり、すべては確認していません
skill-not-used = `{ $place }` のスキルは使われません: { $why }
skill-name-unusable = `{ $place }` のスキルの名前は使えないため、フォルダー名を使います
skill-without-description = `{ $place }` のスキル `{ $skill_name }` には説明がありません
skill-shadowed = `{ $place }` のスキル `{ $skill_name }` は除外されます: 同じ名前の `{ $kept }` が先にあります
skills-too-many = スキル `{ $skill_name }` は除外されます: すでに { $skills_max } 個あります
skills-without-description = ほかのスキル（説明なし）: { $names }
skills-more = あと { $skills }。誤った名前で呼び出すと名前が分かります
no-skills = スキルはありません
skill-not-found = スキル `{ $name }` はありません。使えるもの: { $names }
skill-files-more = … あと { $files }
skill-folder = フォルダー `{ $folder }`
skill-folder-outside = ワークスペースの外のフォルダー。ファイルはこのツールの `file` で読んでください
skill-other-files = [{ $place }。ほかのファイル:]
skill-left-out = [{ $total }中 { $left_out } をここで省略]
skill-no-files = [{ $place }。ほかのファイルはありません]
skill-file-too-large = `{ $path }` は { $max }を超えています
supervisor-silent = 時間内に応答しませんでした
supervisor-without-report = 報告せずに終了しました
supervisor-lost = コマンドの監視プロセスが失われました: { $how }。コマンドのプロセス { $ended } 個を終了させました
supervisor-lost-hint = コマンドは作業の一部を終えた可能性があります。親プロセスを終了させたり停止させたりしてはいけません
supervisor-not-started = 監視プロセス `{ $program }` を開始できません: { $error }
supervisor-not-started-hint = 作業ディレクトリが存在し、プロセスとファイル記述子に余裕があるか確認してください
thought-empty = 考えが空です。考えたいことを書いてください
verify-timed-out = { $seconds } 秒で時間切れ
walk-cancelled = 途中でキャンセルされました: 結果は不完全です
walk-too-many = { $max }で停止しました: 結果は不完全です。もっと小さいディレクトリを指定してください
walk-too-deep = { $depth_max } 階層より下の{ $closed }には入っていません。もっと深い `path` を指定してください
walk-unreadable = 読み取れませんでした: { $entries }
walk-refused = このタスクが見てはならないため省きました: { $entries }
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
path-empty = パスが空です。ワークスペースからの相対パスか、ルートを表す `.` を指定してください
path-with-nul = パスに NUL 文字が含まれています。ファイル名には使えません
path-too-long = パスは { $bytes } バイトあり、上限は { $path_bytes_max } です
name-too-long = パス中の名前が { $bytes } バイトあり、上限は { $name_bytes_max } です
path-with-parent = `{ $path }` には使えない `..` が含まれています。ワークスペースのルート `{ $root }` からのパスを書いてください
path-outside = `{ $path }` はワークスペースの外です。パスは `{ $root }` からの相対です
path-is-directory = `{ $path }` はディレクトリです。中を見るにはツール `ls` か `directory_tree` を使ってください
path-not-regular = `{ $path }` は通常のファイルではありません（パイプ、ソケット、またはデバイス）
place-unknown = `{ $path }` の場所が分かりません: { $cause }。何も書き込まれていません
place-refused = `{ $path }` の実体は `{ $place }` です: { $why }
place-closed = `{ $place }` には利用者の鍵やセッションがあるか、Posse 自身のものです。どのツールも開きません
link-leads-out = `{ $shown }` はシンボリックリンクでワークスペースの外に出るため拒否されます。使えるのは `{ $root }` の下のファイルだけです
link-refused = `{ $shown }` は、ここではたどれないシンボリックリンクであるか、それを含んでいます（ループ、/proc のリンク、または名前自体がリンク）
no-such-path = ワークスペースに `{ $shown }` はありません。`ls` か `glob` で正しい名前を探してください（リンク先のないシンボリックリンクは存在しないものとして扱われます）
part-not-directory = `{ $shown }` のディレクトリであるべき部分がディレクトリではありません
is-directory = `{ $shown }` はディレクトリです
no-permission = `{ $shown }` を開く権限がありません
path-too-long-here = `{ $shown }` はパスとして長すぎます
path-moving = `{ $shown }` は開いている間に移動し続けました。もう一度試してください
no-openat2 = このシステムには openat2 がないため、ファイルを安全に開けません
no-space = `{ $shown }` のためのディスク容量がありません
cannot-open = `{ $shown }` を開けません: { $other }
path-bytes = { $short }…({ $bytes } バイト)
content-too-large = 内容は { $size }で、1 回の呼び出しで書けるのは { $max }までです
content-same = `{ $path }` はすでにこの内容です（{ $size }）
file-replaced = `{ $path }` を置き換えました（{ $size }、以前: { $old }）
file-created = `{ $path }` を作成しました（{ $size }）
size-and-lines = { $bytes }、{ $lines }
sandbox-denied-top = [サンドボックス { $tier }: コマンドは、ワークスペース直下の新しい項目、.git、保護されたファイル、ホームディレクトリ、タスクが書けない場所を使えません。ファイルは `write` ツールで作れます。運用者向け: docs/sandbox.md]
sandbox-denied = [サンドボックス { $tier }: コマンドは、保護されたファイル、ホームディレクトリ、タスクが書けない場所を使えません。運用者向け: docs/sandbox.md]
sandbox-no-network = [サンドボックス { $tier }: ここではコマンドはネットワークを使えません。運用者向け: docs/sandbox.md]
sandbox-some-ports = [サンドボックス { $tier }: コマンドのネットワークは { $reach } で、名前は解決されません。運用者向け: docs/sandbox.md]
