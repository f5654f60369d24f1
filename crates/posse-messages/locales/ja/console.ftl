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
