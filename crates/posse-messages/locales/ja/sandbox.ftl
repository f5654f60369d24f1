# 日本語。用語集は core.ftl にある。

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
workspace-failed-hint = ワークスペースは、入ることのできる既存のディレクトリでなければなりません
openat2-missing = このシステムではディレクトリ配下のファイルを安全に開けません（openat2: { $cause }）
openat2-missing-hint = ファイルツールには Linux 5.6 以降と、openat2 を許可するサンドボックスが必要です
sandbox-write-opens = `sandbox.write`: `{ $path }` はコマンドに `{ $secret }` を開放してしまいます
sandbox-write-opens-hint = 代わりにその隣のものを指定してください
sandbox-unprotected-unknown = `sandbox.unprotected`: `{ $name }` は保護された名前ではありません
sandbox-unprotected-unknown-hint = 保護された名前は docs/protected.md にあります。そこにあるとおりに書いてください
