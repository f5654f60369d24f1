# 简体中文。术语表见 core.ftl。

supervisor-silent = 它没有及时响应
supervisor-without-report = 它未报告就结束了
supervisor-lost = 命令的监管进程丢失：{ $how }；已终止该命令的 { $ended } 个进程
supervisor-lost-hint = 该命令可能已完成部分工作；它不得终止或暂停其父进程
supervisor-not-started = 无法启动监管进程 `{ $program }`：{ $error }
supervisor-not-started-hint = 请检查工作目录是否存在，以及进程和文件描述符是否还有余量
workspace-failed =
    { $what ->
        [open] 无法打开工作区 `{ $root }`：{ $cause }
       *[resolve] 无法解析工作区 `{ $root }`：{ $cause }
    }
workspace-failed-hint = 工作区必须是你可以进入的现有目录
openat2-missing = 此系统无法在目录下安全地打开文件（openat2:{ $cause }）
openat2-missing-hint = 文件工具需要 Linux 5.6 或更新版本，以及允许 openat2 的沙箱
sandbox-write-opens = `sandbox.write`：`{ $path }` 会把 `{ $secret }` 开放给命令
sandbox-write-opens-hint = 请改为指定它旁边的位置
sandbox-unprotected-unknown = `sandbox.unprotected`：`{ $name }` 不是受保护的名称
sandbox-unprotected-unknown-hint = docs/protected.md 列出了受保护的名称；请照原样填写
