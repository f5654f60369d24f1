# `posse-terminal` のメッセージ。

## rows

task-row-root = ルート
task-row-model = モデルの応答待ち
task-row-thinking = 思考中
task-row-asking = { $tool } を要求中
task-row-retry = { $seconds } 秒後に再試行: { $why }
task-row-rate-limited = レート制限
task-row-http-status = HTTP { $status }
task-row-no-progress = 応答が進まない
task-row-connection = 接続失敗
task-row-bad-reply = 不正な応答
task-row-approve = 承認待ち: { $call }
task-row-question = 質問: { $question }
task-row-lease = { $paths } のリース待ち
task-row-queued = 待機中
task-row-queued-after = 待機中: { $tasks } の後
task-row-delegating = 委任中
task-row-resumed = 再開
task-row-interrupted = 中断
task-row-verifying = { $command } を検証中
task-row-reporting = 報告中
task-row-refused = { $tool } は拒否されました: { $why }
task-row-failed = { $tool } が失敗: { $why }
task-row-turn = ターン { $turn }/{ $turns_max }
task-row-context = ctx { $percent }%
task-row-tokens = { $count } tok
task-row-turn-limit = ターン上限
task-row-call-limit = ツール呼び出し上限
task-row-budget-limit = 予算を使い切りました
task-row-context-limit = コンテキストが満杯
task-row-output-limit = 出力上限で打ち切り
task-row-time-limit = 時間切れ
task-row-stalled = 成功した呼び出しなし
task-row-cancelled = キャンセル
task-row-model-failed = モデルの失敗
task-row-no-answer = 回答なし
task-row-dependency-failed = 前のタスクが失敗
task-row-output-invalid = 回答がスキーマに合いません
task-row-verify-failed = 検証に失敗
task-row-writing =
    { $n ->
       *[other] 執筆中、{ $count } 文字
    }
task-row-waits = { $n } 個のサブエージェントを待機中
task-row-queued-place = 待機中: { $place } 番目、{ $slots } 中 { $running } 実行中
task-row-folded =
    { $state ->
        [input] 入力待ち { $n }
        [working] 実行中 { $n }
        [failed] 失敗 { $n }
        [queued] 待機中 { $n }
        [completed] 完了 { $n }
       *[other] サブエージェント { $n }
    }
task-row-folded-more =
    { $state ->
        [input] ほか入力待ち { $n }
        [working] ほか実行中 { $n }
        [failed] ほか失敗 { $n }
        [queued] ほか待機中 { $n }
        [completed] ほか完了 { $n }
       *[other] ほか { $n }
    }

## keys

live-keys-one = ? キー   q 実行したまま離れる   Ctrl-C 停止
live-keys-tree = ↑↓ Enter 開く   s 指示   c 中止   q 離れる   ? キー
live-keys-tree-stay = ↑↓ Enter 開く   s 指示   c 中止   ? キー
live-keys-one-stay = ? キー   Ctrl-C 停止
live-keys-answer = a { $task } に回答

## end of a run

task-end-completed = { $took } で完了
task-end-partial = { $took } で一部のみ
task-end-failed = { $took } で失敗
task-end-cancelled = { $took } でキャンセル
task-end-interrupted = { $took } で中断
task-end-turn-limit = ターン上限 ({ $n })
task-end-no-file = 変更されたファイルなし
task-end-new = 新規
task-end-deleted = 削除
task-end-more-files = ほか { $n }
task-end-turns = { $n } ターン
task-end-cost-with = { $cost }（サブエージェント { $n } 個を含む）
task-end-files = { $n } ファイル変更: { $files }

## approval card

card-wants = { $task } { $agent } が求めています: { $call }
card-wants-run = { $task } { $agent } が実行を求めています: { $command }
card-keys = y 一度   t このタスク   s セッション   n 拒否と理由   d 全体   Esc 後で
card-because = 理由: { $reason }
card-asks = { $task } の質問: { $question }
card-answer = 回答:
card-why = 理由は? (Enter で理由なし)
card-above = 呼び出し全体は上に表示されています
card-approved-in = { $left } 後に自動で承認
card-denied-in = { $left } 後に自動で拒否
card-approved-once = 一度だけ承認: { $call } ({ $task })
card-approved-task = このタスクで承認: { $call } ({ $task })
card-approved-session = セッションで承認: { $call } ({ $task })
card-denied = 拒否: { $call } ({ $task })
card-hidden = ほか { $n } 行: d で表示

## prompt

prompt-pasted = { $n } 行を貼り付け
prompt-search = 検索
prompt-search-nothing = 見つかりません
picker-hint = 入力して検索 · Ctrl-A すべてのプロジェクト
picker-nothing = 見つかりません
usage-heading = 使い方:
usage-commands = コマンド
usage-options = オプション
usage-arguments = 引数
usage-global = 全体のオプション
usage-model = モデル
usage-rights = 権限
usage-limits = 上限
usage-examples = 例
usage-help = ヘルプを表示する
usage-version = バージョンを表示する
usage-unknown-argument = 引数 `{ $argument }` はありません
usage-unknown-command = `{ $command }` というコマンドはありません
usage-missing = 必要な引数がありません: { $arguments }
usage-conflict = `{ $argument }` は `{ $other }` と同時に使えません
usage-twice = `{ $argument }` が 2 回指定されています
usage-value-missing = `{ $argument }` には値が必要です
usage-value-unknown = `{ $value }` は `{ $argument }` の値ではありません
usage-value-wrong = `{ $value }` は `{ $argument }` の値ではありません: { $why }
usage-run-it = タスクとして実行するには: { $command }
usage-help-hint = `{ $command } --help` で一覧を表示します
completions-install =
    インストール:
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   (compinit の後)
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = ログインのテストが不安定なのはなぜ？
example-fix = 失敗しているテストを直して
example-summary = これらのコミットのリリースノートを書いて
example-message = 古い名前のままにして
example-answer = 2 番目を使って
usage-work = 作業
usage-look = 確認
usage-configure = 設定
usage-serve = 提供と保守
