# `posse-console` のメッセージ。

## run

run-thought = { $seconds }秒考えました (Ctrl-T で表示)
run-text-void = 返答が途切れたため、書き直しています
run-steer = { $task } への指示:
run-steer-queued = ↳ 送信待ち: { $text }
run-steer-delivered = ↳ ターン { $turn } で届きました: { $text }
run-steer-missed = ↳ 間に合いませんでした。タスクは終了しています: { $text }
run-steer-full = ↳ 送信できません。未読のメッセージが多すぎます: { $text }
run-answer = { $task } への回答:
run-answered = 回答しました: { $text }
run-answer-late = 質問はすでに閉じられています
run-asks-keys = a で回答を入力
run-cancel = { $task } を中止しますか? y で中止、他のキーで取り消し
run-leaving = このステップが終わると離れます   q ですぐに離れる   Esc で残る
run-not-done = 実行できませんでした: { $why }
run-typed-keys = Enter 送信   Esc 破棄
run-top-failed = 全画面の表示に失敗しました
run-limited = { $provider } は { $time } までレート制限中です。{ $n } 件のタスクが待機しています
run-help =
    ↑↓ タスクを選択   Enter 開く   s 指示   c 中止   Esc 選択解除
    a 質問や承認に回答   q バックグラウンドで実行したまま離れる
    Ctrl-T 思考を表示   Ctrl-L 再描画   Ctrl-Z 一時停止   Ctrl-C 停止 (再開可能)
approved-elsewhere = { $by } が承認
denied-elsewhere = { $by } が拒否

## notices

notice-approval = { $task } { $agent } が { $tool } の承認を待っています
notice-question = { $task } から質問があります
notice-end = 実行が終了しました
## chat

chat-again-leaves = もう一度 Ctrl-C で終了
chat-paste-cut = 貼り付けが大きすぎるため、一部を省きました
chat-keys =
    Enter 送信   Alt-Enter 改行   Esc 停止   ↑↓ 履歴   Ctrl-R 検索   Tab 補完   Shift-Tab モード
    / コマンド   @ ファイルとエージェント   ! シェル   Ctrl-T 思考   Ctrl-L 再描画   Ctrl-C、Ctrl-D 終了
chat-steer-queued = ↳ 待機中: { $text }
chat-steer-delivered = ↳ ターン { $turn } で配信: { $text }
chat-steer-late = ↳ 間に合わず、次のメッセージとして送信: { $text }
chat-steer-full = ↳ 未読が多すぎるため送信していません: { $text }
chat-notice-approval = { $task } が { $tool } の承認を待っています
chat-notice-end = 回答ができました
chat-tab-answers = Tab で回答
chat-working = 作業中
chat-working-line = { $action }、{ $seconds }秒 · Esc 停止 · Enter で待機列へ
chat-stopping = 停止中
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } 失敗: { $why }
chat-call-lines = { $call } ({ $n } 行)
chat-echo-more = ほか { $n } 行
chat-stopped = 停止しました
chat-stopped-changed = 停止しました · { $n } 個のファイルを変更、/undo で元に戻せます
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / コマンド · @ ファイルとエージェント · ? キー
chat-kept = 会話 { $id } は保存されています: posse chat --resume { $id }
chat-not-while-working = 回答を待つか、Esc で停止してください
chat-ended-early = { $status }: { $reason }{ $detail }
chat-no-change = 変更されたファイルはありません
chat-diff-cut = 続き: posse tasks diff { $id }
chat-menu-agent = エージェント
chat-does-agents = 委任できるエージェント
chat-does-clear = 新しい会話を始める
chat-does-cost = この会話の費用 (エージェントとモデル別)
chat-does-diff = この会話のファイル変更
chat-does-exit = 終了 (会話は保存されます)
chat-does-help = コマンドの一覧
chat-does-mode = plan、ask または auto
chat-does-tasks = この会話のタスク
chat-does-undo = 最後のメッセージのファイル変更を元に戻す
chat-attached-agent = エージェント { $agent } に依頼します
chat-attached-path = { $path } はテキストでないか大きすぎます ({ $kib } KiB)。パスだけを送りました
chat-attached-part = { $path } の { $kib } KiB を添付しました (全体 { $all } KiB)
chat-attached-file = { $path } を添付しました ({ $n } 行)
chat-mode-usage = モードは `/mode plan`、`/mode ask`、`/mode auto` です
card-question-keys = または回答を入力   Esc 後で
card-answered = { $task } に回答: { $text }
chat-put-off = { $n } 件の質問が待っています · Tab で回答
chat-steer-next = ↳ 次のメッセージとして送信: { $text }
chat-error = エラー
chat-hint = ヒント: { $hint }
chat-warning = 警告: { $text }
chat-no-command = コマンド `{ $command }` はなく、何も送信されませんでした。コマンドは /help で確認できます
chat-does-compact = 要約から続ける
chat-does-context = ウィンドウの内訳
chat-does-export = 会話を Markdown でファイルに書き出す
chat-does-model = 次のメッセージからモデルを変更
chat-does-resume = 以前の会話を続ける
chat-context-share = コンテキスト { $percent }%
chat-context-tokens = コンテキスト { $tokens } トークン
chat-cost-tree = { $cost } (サブエージェント { $n } 件を含む)
chat-state-open = 別の場所で使用中
chat-state-interrupted = 中断
chat-age = { $age } 前
chat-turns = { $n } ターン
chat-resume-title = { $place } の会話を続ける
chat-resume-all = すべてのプロジェクトの会話から続ける
chat-none-here = このプロジェクトの以前の会話はありません
chat-resumed = · { $id } を { $model } で続けます
chat-model-title = モデルを選択
chat-model-hint = 入力して検索 · Enter で決定 · Esc で変更しない
chat-model-now = 使用中
chat-model-usage = モデルは { $model } です。`/model provider:model` で変更します
chat-model-chosen = · { $model } が回答します
chat-model-next = · 次のメッセージから { $model } が回答し、会話全体を読み直します ({ $used } トークン)。作業中のサブエージェントのモデルは変わりません
chat-model-too-small = { $model } には引き継げません。会話は { $used } トークン、ウィンドウは { $window } です。先に /compact を使ってください
chat-compact-nothing = まだ要約するものがありません
chat-compacting = · 要約を作成し、そこから会話を続けます
chat-not-compacted = 要約がないため、会話はそのまま続きます
chat-compacted = · 要約しました: { $before } トークンが { $after } になりました。全体は { $old } に残ります: posse tasks show { $old }
chat-shell-not-started = シェルを起動できません: { $why }
chat-shell-stopped = 停止しました。次のメッセージには付きません
chat-shell-hidden = その前に { $n } 行
chat-shell-exit = 終了コード { $code }
chat-shell-sent = · { $ending }、{ $n } 行が次のメッセージに付きます
chat-shell-sent-part = · { $ending }、{ $n } 行の先頭と末尾が次のメッセージに付きます
chat-context-title = { $model }: { $window } トークン中 { $used }、{ $percent }%
chat-context-title-open = { $model }: { $used } トークン、ウィンドウは不明です
chat-context-system = システムプロンプト
chat-context-tools = ツール
chat-context-messages = メッセージ
chat-context-results = ツールの結果
chat-context-free = 空き
chat-context-hint = /compact で要約から続けます
chat-export-head = 会話 `{ $id }`、{ $agent }、{ $models }、開始 { $began }、{ $n } ターン。
chat-export-failed = {" "}失敗: { $why }
chat-exported = · { $file } を書き出しました (本人のみ読み取り可)
chat-not-exported = `{ $file }` に書き込めません: { $why }
chat-not-exported-hint = 新しいファイル名を指定してください: `/export notes.md`
chat-no-tasks = まだ何も話していません
chat-column-agent = エージェント
chat-column-does = 役割
chat-column-id = ID
chat-column-state = 状態
chat-column-task = タスク
chat-column-turns = ターン
chat-column-cost = 費用
chat-column-model = モデル
chat-column-tasks = タスク数
chat-column-input = 入力
chat-column-output = 出力
chat-column-total = 合計
chat-shell-word = !コマンド
chat-does-shell = シェルで実行し、出力を次のメッセージに付ける
chat-export-summary = 別の会話が続けるための要約:
record-model-chosen = モデルを { $model } に変更

## top

top-needs-input = 入力待ち { $n }
top-working = 実行中 { $n }
top-completed = 完了 { $n }
top-count =
    { $state ->
        [queued] 待機 { $n }
        [interrupted] 中断 { $n }
        [partial] 一部 { $n }
        [failed] 失敗 { $n }
       *[cancelled] 中止 { $n }
    }
top-all-projects = 全プロジェクト
top-running = { $n } 件実行中
top-spent = { $price }/24h
top-foot-split = s 指示  a 回答  c 中止  y コピー  q 終了
top-asks-approval = 承認待ち: a で回答
top-asks-question = 質問: { $question } (a で回答)
top-hints = / 検索   A 全プロジェクト   ? キー
top-hints-all = / 検索   A このプロジェクト   ? キー
top-foot-list = ↑↓ Enter 開く   s 指示   a 回答   c 中止   y コピー   q 終了
top-foot-pane = ↑↓ 移動   o 結果   / 検索   s 指示   Esc 戻る
top-foot-close = どのキーでも閉じる
top-pane-transcript = 会話
top-pane-diff = 差分
top-pane-context = 共有コンテキスト
top-pane-limits = 制限
top-following = 追従中
top-position = { $lines } 行中 { $line }
top-holds = リース保持: { $paths }
top-loading = 読み込み中 …
top-empty = タスクはまだありません
top-empty-here = このプロジェクトの最近のタスクはありません · A で全プロジェクト
top-nothing-found = `{ $search }` を含むタスクはありません · Esc で検索を消す
top-folded = +{ $n }
top-turn = ターン { $turn }
top-lines = { $n } 行
top-more-lines = … ほか { $n } 行 (o)
top-earlier = … 以前のターン: posse tasks show
top-model-failed = モデルが失敗: { $why }
top-approved-by = { $by } が承認
top-denied-by = { $by } が拒否
top-resumed = 別のプロセスが再開
top-withdrawn = 許可取り消し: { $tools }
top-budget-spent = 予算切れ: { $shortfall }
top-cancel-asked = 中止が要求された
top-schema-unmet = 回答がスキーマに合わない: { $errors }
top-ended-completed = 完了
top-ended-partial = 一部完了
top-ended-failed = 失敗
top-ended-cancelled = 中止
top-patch-cut = … 続き: posse tasks diff
top-no-changes = 変更されたファイルはありません
top-no-context = 共有コンテキストは空です
top-context-head = v{ $version } · { $tokens } tok · { $by } · { $ago } 前
top-value-cut = … ほか { $bytes } バイト: posse context get
top-used-of = { $most } 中 { $used }
top-token-counts = 入力 { $input } · 出力 { $output }
top-limit-model = モデル
top-limit-turns = ターン
top-limit-time = 時間
top-limit-context = コンテキスト
top-limit-tokens = トークン
top-limit-cost = 費用
top-limit-tree-tokens = ツリーのトークン
top-limit-tree-cost = ツリーの費用
top-limit-cap = 予算
top-no-cap = 制限なし
top-limit-sandbox = サンドボックス
top-limit-workspace = ワークスペース
top-limit-lease = リース
top-lease-since = { $paths }、{ $since } 前から
top-prompt-search = /
top-prompt-steer = { $task } への指示:
top-prompt-answer = 回答:
top-cancel-ask =
    { $n ->
        [0] { $task } を中止しますか? y はい   n いいえ
       *[other] { $task } とサブエージェント { $n } 件を中止しますか? y はい   n いいえ
    }
top-cancelling = { $task } を中止中 …
top-cancelled = { $task } を中止しました
top-cancel-not-yet = { $task } に終了を伝えましたが、まだ続いています
top-has-ended = { $task } は終了しています
top-nothing-asked = 回答を待つタスクはありません
top-answered = { $task } に回答しました
top-answered-elsewhere = 呼び出しは別の場所で回答されました
top-steer-queued = { $task } に送信済み: 次のターンで読まれます
top-steer-delivered = { $task } がターン { $turn } で読みました
top-steer-missed = 遅すぎました: { $task } は先に終了
top-steer-full = { $task } の未読メッセージが多すぎます
top-copied = { $bytes } バイトをコピー
top-mouse-on = マウスはここで移動と選択に使われます
top-mouse-off = マウスは端末のものです: 通常どおり選択できます
top-card-page = ほか { $n } 行   y 次のページ   n 拒否と理由   Esc 後で
top-card-end = 終わり   y 一度   t このタスク   s セッション   n 拒否と理由   Esc 後で
top-question-asks = { $task } { $agent } の質問: { $question }
top-question-keys = 回答または番号を入力   Enter 送信   Esc 後で
top-keys =
    ↑↓ j k | タスクを選ぶ、ペインを移動
    Enter → | ペインに入る。Esc または ← で戻る
    1 2 3 4 Tab | 会話、差分、共有コンテキスト、制限
    PgUp PgDn Home End | ページ移動。末尾では新しい内容に追従
    Space | 終了したタスクのサブエージェントを表示
    o | 結果と長いメッセージの表示、折りたたみ
    / | タスク検索。ペインでは文字検索 (n N 次、前)
    A | 全プロジェクト、またはこのプロジェクト
    s | 実行中のタスクに指示を送る
    a | 承認または質問に回答
    c | タスクとサブエージェントを中止
    y | 回答、差分、ID をコピー (OSC 52)
    m | マウスを端末に返す、または取り戻す
    Ctrl-L Ctrl-Z | 再描画、一時停止
    q Esc | 戻る、離れる。タスクは続きます
story-task = タスク
story-answer = 回答
story-from = { $parent } から
story-approved = { $by }: { $scope }
story-verify = 検証
many-calls = 呼び出し { $n } 件
many-finished-calls = 完了した呼び出し { $n } 件
with-subagents = サブエージェント込みで { $tokens }、{ $price }
record-schema-met = 回答はスキーマを満たしています
record-withdrawn = 許可されなくなりました: { $tools }
record-regranted = モードを { $mode } に変更
record-budget-spent = 予算切れ: { $shortfall }
record-cancelled = キャンセル
record-resumed = 再開（エポック { $epoch }）
plain-interrupted = 中断
plain-steer-queued = メッセージを待ち行列に追加
plain-steer-delivered = メッセージをターン { $turn } に配達
plain-steer-missed = メッセージは遅すぎました: タスクは終了しています
plain-started = 開始 · { $agent }({ $model })
plain-resumed = 再開 · 保持: { $kept }、不確か: { $in_doubt }
plain-turn = ターン { $turn } · { $tokens } · { $calls }
plain-model = モデル { $kind }: { $message }
plain-refused = { $tool } 拒否: { $why }
plain-failed = { $tool } は { $millis } ms で失敗: { $why }
plain-elided = コンテキスト節約のため古い結果 { $results } 件（{ $bytes } バイト）を省略
plain-wrap-up = 報告を要求: { $reason }
plain-verify = 検証 { $command }
plain-verify-failed = 検証 { $command } は { $millis } ms で失敗: { $ending }
record-model = モデル: { $failure }
record-schema-unmet = 回答はスキーマを満たしていません
change-new = 新規
change-deleted = 削除
plain-changed = 変更: { $files }
plain-approval-waits = 承認待ち · { $call } · { $why } · posse approvals show { $approval }
story-answered = 回答済み
approval-by = { $scope }、回答者 { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } · 回答者 { $by }（{ $scope }）· { $instant }
before-deleted = （削除前: v{ $version }）
until-instant = { $end } まで
context-wrote = 書き込みました: { $entry }
context-deleted = 削除しました: { $key } v{ $previous_version }
snapshot-taken = スナップショット { $label } には{ $keys }
context-restored = 復元: 書き込み { $written }、削除 { $deleted }
approved-in = { $left }後に自動的に承認されます
denied-in = { $left }後に自動的に拒否されます
column-took = 所要
column-tool = ツール
column-left = 残り
column-call = 呼び出し
tokens-shown = { $shown } トークン
nobody-else = ほかになし
audience-shown = 読み取り: { $readers } · 書き込み: { $writers }
column-id = ID
column-tokens = トークン
column-age = 経過
column-keys = キー
column-title = 題名
column-process = プロセス
column-paths = パス
column-workspace = 作業場所
state-archived = アーカイブ
state-open = 使用中
