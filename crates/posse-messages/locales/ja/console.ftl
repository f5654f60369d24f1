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
run-asks = { $task } の質問: { $question }
run-asks-keys = a で回答を入力
run-cancel = { $task } を中止しますか? y で中止、他のキーで取り消し
run-leaving = このステップが終わると離れます   q ですぐに離れる   Esc で残る
run-not-done = 実行できませんでした: { $why }
run-help =
    ↑↓ タスクを選択   s 指示   c 中止   Esc 選択解除
    a 質問や承認に回答   q バックグラウンドで実行したまま離れる
    Ctrl-T 思考を表示   Ctrl-L 再描画   Ctrl-Z 一時停止   Ctrl-C 停止 (再開可能)
approved-elsewhere = { $by } が承認
denied-elsewhere = { $by } が拒否
card-because = 理由: { $reason }

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
chat-why = 理由は? (Enter で理由なし)
chat-text-void = 回答が途切れたため、書き直しています
chat-thought = { $seconds } 秒考えました (Ctrl-T で表示)
chat-working = 作業中
chat-working-line = { $action }、{ $seconds }秒 · Esc 停止 · Enter で待機列へ
chat-stopping = 停止中
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } 失敗: { $why }
chat-call-lines = { $call } ({ $n } 行)
chat-echo-more = ほか { $n } 行
chat-stopped = 停止しました
chat-stopped-changed = 停止しました · { $n } 個のファイルを変更、/undo で元に戻せます
