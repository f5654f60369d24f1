# 日本語。用語集は core.ftl にある。

cancel-without-end = `{ $id }` はキャンセルしても終了しません
conversation-broken = `{ $id }` の会話が壊れています: { $fault }
task-out-of-time = タスク `{ $id }` は { $seconds } 秒を使い切りました
task-out-of-time-hint = 時間を増やしてください: --timeout { $seconds }
task-out-of-turns = タスク `{ $id }` は { $turns } ターンをすべて使い切りました
task-out-of-turns-hint = 増やしてください: --max-turns { $turns }
there-are-none = ここには何もありません
there-are = 使えるもの: { $names }
write-paths-not-within = 書き込みパス { $own } は { $outer } の範囲内にありません
write-paths-not-within-hint = タスクに渡せるのは、委任元とそのエージェントが書き込める範囲だけです
lease-waits = 書き込みパスが空くのを待っています: { $holders }
lease-waits-command = そこに書き込む可能性のある `{ $task }` のコマンドが終わるのを待っています
run-while-stopping = タスクは停止するところです。何も実行されていません
run-not-decidable = 実行してよいか判断できません（{ $why }）。何も実行されていません
lease-lost-silent = このタスクは長く応答がなかったため、書き込みパスを失いました: { $holders }。何も実行されていません
write-not-decidable = 書き込んでよいか判断できません（{ $why }）。何も書き込まれていません
agent-not-found = `{ $name }` という名前のエージェントはありません
approval-not-found = `{ $id }` という承認依頼はありません
no-tool-exists = `{ $agent }` のツールはここにはひとつもありません: { $tools }
output-schema-invalid = 出力スキーマが JSON Schema ではありません: { $why }
output-schema-invalid-hint = エージェントの `output_schema` を修正してください
no-outcome = 結果がありません
delegation-too-deep = ここではこれ以上深く委任できません
delegation-too-deep-hint = タスクを自分で行ってください
no-worktrees = ここではワークツリーを作れません
no-worktrees-hint = `isolation: worktree` なしで委任してください
nobody-delegates = このセッションにはこの名前で委任する者がいません
price-unknown = `{ $unpriced }` の価格が不明なため、費用の上限を守れません
price-unknown-hint = 設定に価格を追加するか、別のモデルを使ってください
task-too-large = タスクは約 { $size } トークンで、上限は { $task_tokens_max } です
task-too-large-hint = 詳細を shared_context に書き、タスクにはそのキーを書いてください
outcome-lost = 結果が記録されていません
agent-exists = エージェント `{ $name }` はすでにあります
agent-exists-hint = 別の名前を選ぶか、`overwrite: true` を付けて定義してください
facade-unknown = 委任に使えるツール `{ $wanted }` はありません
answer-shortened = [省略: 全文は { $id } の結果として保存されています]
answer-note = [注: { $warning }]
session-closed = セッションは閉じています
agent-timed-out = サブエージェント "{ $name }" は { $seconds }s の制限時間を超えたため停止されました。
agent-failed = サブエージェント "{ $name }" は失敗しました: { $why }
so-far = それまでの内容:
agent-type-unknown = 不明なサブエージェントの種類: "{ $name }"。使えるもの: { $names }
investigation-without-task = タスクが短すぎます。何を調べるか、どこを見るか、何を返すかを書いてください。
investigation-too-brief = タスクが短すぎます（{ $task_chars_min } 文字以上必要）。「何を」調べ、「どこを」見て、「何を」返すかを書いてください。
investigations-limit = サブエージェントの上限（{ $per_session_max }）に達しました。残りの調査にはツールを直接使ってください。
subagent-failed = サブエージェントが失敗しました: { $why }
tool-calls-limit-reached = ツール呼び出しの上限に達しました。以下は不完全な可能性があります
subagent-timed-out = サブエージェントは { $seconds }s の制限時間を超えました。タスクを小さく分けてください。
partial-findings = 途中までの調査結果:
stopped-early = 途中で停止: { $why }。
tool-calls-made = ツール呼び出し: { $tool_calls }
launch-description = 自律エージェントを起動
launch-missing-description = エージェントの説明が必要です
launch-missing-prompt = エージェントのプロンプトが必要です
launch-invalid-json = JSON パラメーターが無効です
launch-resource-limit = 同時に実行できるエージェント数の上限に達しました
launch-creation-failed = エージェントを作成できませんでした
launch-limit = 同時に実行できるタスク数の上限に達しました。ほかのタスクの完了を待ってください。
launched =
    サブエージェントを起動しました

    並列タスクを起動しました:
    - タスク ID: { $id }（別名 { $alias }）
    - 説明: { $description }
    - 優先度: { $priority }
    - 書き込み権限: { $writes ->
        [yes] あり
       *[no] なし
    }
    - 最大実行時間: { $seconds }s

    タスクは並列に実行されています。ほかの作業を続けられます。
    結果はあとで回収してください: {"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-failed-hint = 並列タスクを作成できませんでした: { $message }({ $hint })
launch-failed = 並列タスクを作成できませんでした: { $message }
parameters-invalid = パラメーターが無効です: { $errors }
parameters-missing-json = JSON に必須パラメーターがありません
parameter-missing = 必須パラメーター '{ $name }' の値がありません。{ $why }。description と prompt を付けて subagent をもう一度呼び出してください。
parameter-not-closed = 必須パラメーター '{ $name }' の値がありません: <{ $name }> が閉じていません。
description-not-text = description は必須で、文字列でなければなりません
description-too-short = description は 3 文字以上でなければなりません
description-too-long = description は 3〜5 語にしてください
prompt-not-text = prompt は必須で、文字列でなければなりません
prompt-too-short = prompt は 10 文字以上でなければなりません
write-permissions-not-boolean = writePermissions は真偽値でなければなりません
write-paths-not-list = allowedWritePaths は配列でなければなりません
write-path-not-text = allowedWritePaths[{ $index }] は文字列でなければなりません
write-paths-missing = writePermissions には allowedWritePaths の指定が必要です
execution-time-not-number = maxExecutionTime は数値でなければなりません
execution-time-out-of-range = maxExecutionTime は 1000〜300000 ms(1〜300 秒)でなければなりません
priority-unknown = priority は 'low'、'normal'、'high' のいずれかです
task-not-yours = `{ $task }` はあなたのタスクではありません
task-not-yours-hint = `list_tasks` でタスクの一覧を確認できます
nobody-to-ask = 質問できる相手がいません。最も望まれそうなものを選び、回答でそのことを伝えてください
question-unreadable = 質問を読み取れません: { $why }
no-answer-default = { $deadline } 秒以内に回答がありませんでした。既定の方針で続けてください: { $default }
no-answer = { $deadline } 秒以内に回答がありませんでした。最も望まれそうなものを選び、回答でそのことを伝えてください
nobody-to-tell = 伝える相手がいません
nobody-waited = 回答を待っている者はいませんでした
task-running-since = `{ $id }` はまだ実行中です。{ $seconds } 秒で { $turns } ターン
still-at-work = まだ作業中です。もう一度 wait を呼び出すか、その間にほかの作業をしてください
ended-before-cancel = キャンセルの前に終了していました
messages-unread = `{ $id }` は直前のメッセージをまだ読んでいません
messages-unread-hint = 次のターンが終わるまで待ってください
task-not-ended = `{ $id }` はまだ終了していません
task-not-ended-hint = 終了を待つか、状態を確認してください
agents-unusable = ここでは使えません: { $names }
agents-not-shown = ほかに { $left_out } 個が表示されていません。`query` で語を検索してください
field-missing = フィールド `{ $field }` がありません
see-description-hint = ツールの説明を参照してください
system-prompt-too-large = システムプロンプトは約 { $size } トークンで、上限は { $prompt_tokens_max } です
system-prompt-too-large-hint = 指示だけを残し、知識はツールから得るようにしてください
tool-not-there = ツール `{ $unknown }` はありません
answer-truncated = [切り詰め — 全文は { $result_tokens_max } トークンの上限を超えています]
no-details = 詳細なし
answer-was-empty = 最終回答が空でした
turns-exceeded = 最終回答のないまま最大ターン数を超えました
model-failed = モデル API のエラー: { $detail }
action-unknown = アクション `{ $action }` はありません
max-cost-invalid = `max_cost_usd` は 0 より大きくなければなりません
tool-twice = `{ $own }` という名前のツールが 2 つあります
tool-twice-hint = ツールごとに別の名前を付けてください
tool-crashed = internal_error: ツール `{ $name }` が異常終了しました（{ $panic }）。これはツールの不具合で、呼び出しの誤りではありません
tool-schema-broken = ツール自身のスキーマが壊れているため、呼び出せません
arguments-misfit = 引数がツールのスキーマに合いません。何も実行されていません:
nested-nowhere = 属する実行がありません
nested-too-deep = サブエージェントの最大の深さ（{ $depth }）に達しました。これ以上は起動できません。
prompt-required = prompt は必須です
nested-misconfigured = サブエージェントの設定エラー: { $why }
nested-failed = サブエージェントのエラー: { $why }
nested-prompt-too-large = システムプロンプトは約 { $size } トークンで、上限は { $system_tokens_max } です
nested-without-outcome = `{ $id }` には結果がありません
tool-execution-error = ターン { $turns } でのツール実行エラー: { $detail }
findings-kept = [共有コンテキストに `{ $key }` として保存しました]
findings-not-kept = [共有コンテキストに保存できませんでした: { $why }]

tasks-write-nothing = ここから委任されるタスクは書き込めません
agent-cannot-write = `{ $agent }` は、その定義が挙げる { $tools } なしで動きます: { $advice }
