# 简体中文。术语表见 core.ftl。

count-binary-files =
    { $n ->
       *[other] { $shown } 个二进制文件
    }
count-bytes =
    { $n ->
       *[other] { $shown } 字节
    }
count-directories =
    { $n ->
       *[other] { $shown } 个目录
    }
count-entries =
    { $n ->
       *[other] { $shown } 个条目
    }
count-files =
    { $n ->
       *[other] { $shown } 个文件
    }
count-lines =
    { $n ->
       *[other] { $shown } 行
    }
count-matches =
    { $n ->
       *[other] { $shown } 处匹配
    }
count-places =
    { $n ->
       *[other] { $shown } 处
    }
count-skills =
    { $n ->
       *[other] { $shown } 个技能
    }
bash-arguments-invalid = 参数无效：{ $why }
command-empty = `command` 为空
command-with-nul = `command` 含有 NUL 字符，无法传给任何程序
command-too-long = `command` 有 { $length } 字节，最多 { $command_max }；请写成脚本文件再运行
command-cancelled-before =
    { $what ->
        [tool] 在工具启动之前已取消
       *[command] 在命令启动之前已取消
    }
command-without-time =
    { $what ->
        [tool] 没有剩余时间：工具未启动
       *[command] 没有剩余时间：命令未启动
    }
nothing-printed = （无输出）
standard-error = 标准错误：
standard-error-hidden = [标准错误的 { $bytes } 字节未显示]
odd-bytes = [显示的 { $odd_bytes } 字节不是 UTF-8，以 \xNN 表示]
command-timed-out =
    { $what ->
        [tool] 超时：工具及其启动的一切在 { $ms } 毫秒后被停止；此前的输出：
       *[command] 超时：命令及其启动的一切在 { $ms } 毫秒后被停止；此前的输出：
    }
command-lease-lost = 已停止：任务失去了在该处写入的权利，或其进程沉默过久。已开始的内容可能已存在；重复任何操作前请先读取文件
command-cancelled =
    { $what ->
        [tool] 已取消：工具及其启动的一切已被停止；此前的输出：
       *[command] 已取消：命令及其启动的一切已被停止；此前的输出：
    }
command-exit-code = 退出码 { $code }
command-signalled = 被信号 { $signal } 终止
command-not-started =
    { $what ->
        [tool] 工具无法启动：{ $why }
       *[command] 命令无法启动：{ $why }
    }
command-ending-unknown =
    { $what ->
        [tool] 不清楚工具是如何结束的
       *[command] 不清楚命令是如何结束的
    }
background-stopped =
    { $what ->
        [tool] {"["}工具结束时停止了 { $n } 个后台进程]
       *[command] {"["}命令结束时停止了 { $n } 个后台进程]
    }
processes-survive = [{ $n } 个进程无法停止，可能仍在运行]
protected-appeared = [期间出现了受保护的文件：{ $paths }。请在回答中说明：在任何程序使用它们之前，需要有人检查]
protected-set-aside = [命令在工作区顶层创建了受保护的文件，这是不允许的，它们已被改名：{ $paths }。请在回答中说明]
old-string-empty = `old_string` 为空；请给出要替换的文本，或用 `write` 新建文件
strings-are-the-same = `old_string` 与 `new_string` 相同，不会有任何改变
edit-no-file = 没有 `{ $path }`；请用 `write` 创建，或用 `glob` 查找其名称
edit-too-large = `{ $path }` 超过 { $max }，对此工具来说过大
old-string-missing = `old_string` 不在 `{ $path }` 中；{ $nearest }
old-string-ambiguous = `old_string` 在 `{ $path }` 中出现 { $n } 次（{ $lines }）；请加上相邻的行以指明其中一处，或设置 `replace_all`
result-too-large = 结果将有 { $size }，超过 { $max }
lines-listed = 第 { $listed } 行
lines-listed-more = 第 { $listed } 行及另外 { $more } 处
edited = 已编辑 `{ $path }`：{ $place }
also-replaced = 还替换了：{ $lines }（改动前的行号）
hard-links = 该文件有 { $links } 个硬链接；只有这个名称具有新内容
lines-more = [还有 { $lines }]
line-numbers-included = 它以 `read` 显示的行号开头；行号不属于文件，请去掉
only-white-space = 它只有空白；请按 `read` 显示的内容原样复制
white-space-differs = 但第 { $line } 行与它只有空白不同（空格、制表符、缩进、换行）。文件在该处的内容：
case-differs = 但第 { $line } 行与它只有大小写不同；请按 `read` 显示的内容原样复制
first-line-differs = 它的第一行是文件的第 { $first } 行，但文件的第 { $differs } 行与它的第 { $own } 行不同；请从那里重新读取
no-similar-text-shorter = 没有找到相似的文本；请用更短的片段，并按 `read` 显示的内容原样复制
no-similar-text = 没有找到相似的文本；请按 `read` 显示的内容原样复制
tool-failed-inside = 工具 `{ $tool }` 内部出错；这是工具的缺陷，不是调用有误
arguments-wrong = `{ $tool }` 的参数有误：{ $message }；它接受：{ $fields }
no-file-matches = 没有文件匹配 `{ $pattern }`
files-more = … 还有 { $more }，改动时间更早；请使用更严格的模式或 `path`
glob-length = 模式长度须在 1 到 { $pattern_bytes_max } 字节之间
glob-with-parent = 模式中含有 `..`；不能列出工作区之外的文件
glob-outside = 模式位于工作区之外；模式相对于 `{ $root }`
glob-invalid = 该模式不是有效的 glob:{ $cause }
regex-invalid =
    该模式不是此工具能理解的正则表达式：{ $cause }
    要按字面搜索特殊字符，请用反斜杠转义；匹配不会跨行
filter-invalid = `glob` 不是有效的 glob:{ $cause }
file-type-unknown = 没有文件类型 `{ $kind }`；请使用 ripgrep 认识的名称（rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml ...），或改用 `glob`
no-match = 没有匹配 `{ $pattern }` 的内容
matches-more-in = 还有 { $matches }，位于 { $files }
more-files = 还有 { $files }
files-more-with = 还有 { $files }，含 { $matches }
narrow-search = … { $more }；请用 `path`、`glob` 或更严格的模式缩小范围
skipped = 已跳过 { $files }
not-searched = 无法搜索 { $files }
line-part = [共 { $size } 字节，显示 { $from }-{ $to }]
cannot-list = 无法列出 `{ $path }`：{ $cause }
entry-gone = （已消失）
entry-special = （管道、套接字或设备）
directory-empty = `{ $path }` 是空目录
entries-more = … 还有 { $left_out }；可用 `glob` 加模式查看其中一部分
entries-more-at-least = … 至少还有 { $left_out }；可用 `glob` 加模式查看其中一部分
tree-more = … 此深度内还有 { $left_out }；请指定 `path` 或更小的 `depth`
tree-not-opened = 深度 { $depth } 处的 { $closed } 未展开（以 … 标记）
output-left-out = [共 { $total } 字节，省略 { $left_out }]
tool-env-withheld = { $manifest }：`env`：`{ $name }` 含有不提供给任何工具的密钥
tool-env-withheld-hint = 请将它从 `env` 中移除
tool-env-not-passed = { $manifest }：`env`：`{ $name }` 不会传给项目的工具
tool-env-not-passed-hint = 如果命令可以拥有它，请把 `{ $name }` 加到你自己配置中 `[bash]` 的 `env`，否则将它从 `env` 中移除
tool-program-outside = { $manifest }：`command`：`{ $program }` 不在项目中
tool-program-outside-hint = 项目的工具只能运行项目中的程序，或在 `PATH` 中找到的程序
tools-too-many = { $directory } 中有 { $count } 个工具；只加载前 { $tools_max } 个
manifest-too-large = { $path }：{ $size } 字节，最多允许 { $manifest_bytes_max }
choose-another-name = 请换一个名称
tool-description-missing = 必须说明工具的用途：模型看不到别的内容
tool-name-invalid = `{ $name }` 不是由 a-z、0-9 和 `_` 组成的 1 到 { $name_max } 个字符
tool-is-built-in = `{ $name }` 是内置工具
tool-stands-for-built-in = `{ $name }` 是内置工具 `{ $meant }` 的别名
tool-stands-for = `{ $name }` 是 `{ $meant }` 的别名
tool-schema-not-object = 必须是 JSON Schema 对象
tool-schema-type = 必须有 `"type": "object"`：参数总是对象
tool-properties-not-object = `properties` 必须是对象
tool-required-not-names = `required` 必须是名称列表
variable-invalid = `{ $name }` 不是变量名；请列出名称而不是值
between-1-and = 须在 1 到 { $most } 之间
program-missing = 必须指定程序，例如 ["./run.sh"]
contains-nul = 含有 NUL 字符
program-not-executable = `{ $first }` 不是可执行文件；`chmod +x` 可使其可执行
tool-defined-twice = { $manifest }：工具 `{ $name }` 已由 { $earlier } 定义
tool-defined-twice-hint = 请重命名或移除其中一个
path-protected = `{ $path }` 受保护：配置程序或保存机密的文件（此处为 `{ $name }`）不由工具写入。未写入任何内容。请在回答中说明应作何改动，以便由人来完成
limit-zero = `limit` 为 0，无法显示任何行；请省略它或至少给 1
cannot-read = 无法读取 `{ $path }`：{ $cause }
file-empty = [`{ $path }` 是空文件]
file-binary = [`{ $path }` 是 { $size } 的二进制文件，无法以文本显示]
offset-past-end = `offset` { $first } 超出末尾：`{ $path }` 共 { $lines }
call-cancelled = 该调用已取消
line-cut = [该行被截断：共 { $total } 字节，显示 { $shown }]
lines-remain = 显示第 { $first }-{ $last } 行，共 { $total } 行；剩余 { $lines }({ $bytes })
bytes-remain = 显示第 { $first }-{ $last } 行；剩余 { $bytes }
read-on-offset = { $remain }；继续读取：同一路径，offset { $next }
read-on = { $remain }；继续读取：{"{"}"path":{ $path },"offset":{ $next }{"}"}
crlf-kept = 行尾为 CRLF;`edit` 会保留它，请在参数中写普通换行
some-not-utf8 = 部分字节不是 UTF-8，显示为 �
path-is-workspace = 该路径就是工作区本身（目录）；请指定其中的文件
path-is-link = `{ $path }` 是指向 `{ $target }` 的符号链接；未写入任何内容。若文件在工作区内，请使用文件自身的路径
write-failed =
    { $what ->
        [create] 无法在 `{ $path }` 旁创建文件：{ $cause }；文件未改变
        [lock] 无法锁定 `{ $path }` 所在目录：{ $cause }；文件未改变
        [replace] 无法用新内容替换 `{ $path }`：{ $cause }；文件未改变
       *[write] 无法写入 `{ $path }`：{ $cause }；文件未改变
    }
changed-during-call = `{ $path }` 在此次调用期间被他人改动；未写入任何内容。请重新读取，再对当前内容重做改动
not-confirmed = `{ $path }` 已写入，但磁盘没有确认：{ $cause }；请读取以查看实际内容
changed-since = 自你在第 { $turn } 轮读取后，`{ $path }` 已改变；未写入任何内容。请重新读取，再对当前内容重做改动
not-read = `{ $path }` 已存在，而你在本次运行中尚未读取它；未写入任何内容。请先读取
skills-not-used = `{ $root }` 中的技能未使用：{ $why }
skills-folder-large = `{ $folder }` 的条目超过 { $folder_entries_max } 个；未全部查看
skill-not-used = `{ $place }` 中的技能未使用：{ $why }
skill-name-unusable = `{ $place }` 中的技能名称不可用；改用其文件夹名称
skill-without-description = `{ $place }` 中的技能 `{ $skill_name }` 没有说明
skill-shadowed = `{ $place }` 中的技能 `{ $skill_name }` 被忽略：`{ $kept }` 名称相同且在前
skills-too-many = 技能 `{ $skill_name }` 被忽略：已有 { $skills_max } 个
skills-without-description = 其他技能（无说明）：{ $names }
skills-more = 还有 { $skills }；用错误的名称调用即可看到名称
no-skills = 没有技能
skill-not-found = 没有技能 `{ $name }`；可用的有：{ $names }
skill-files-more = … 还有 { $files }
skill-folder = 文件夹 `{ $folder }`
skill-folder-outside = 工作区之外的文件夹；请用此工具的 `file` 读取其中的文件
skill-other-files = [{ $place }；其他文件：]
skill-left-out = [共 { $total }，此处省略 { $left_out }]
skill-no-files = [{ $place }；没有其他文件]
skill-file-too-large = `{ $path }` 超过 { $max }
supervisor-silent = 它没有及时响应
supervisor-without-report = 它未报告就结束了
supervisor-lost = 命令的监管进程丢失：{ $how }；已终止该命令的 { $ended } 个进程
supervisor-lost-hint = 该命令可能已完成部分工作；它不得终止或暂停其父进程
supervisor-not-started = 无法启动监管进程 `{ $program }`：{ $error }
supervisor-not-started-hint = 请检查工作目录是否存在，以及进程和文件描述符是否还有余量
thought-empty = 思考内容为空；请写下你要思考的事
verify-timed-out = { $seconds } 秒后超时
walk-cancelled = 提前取消：结果不完整
walk-too-many = 在 { $max } 后停止：结果不完整；请指定更小的目录
walk-too-deep = { $depth_max } 层以下的 { $closed } 未进入；请指定更深的 `path`
walk-unreadable = 无法读取 { $entries }
walk-refused = 已略去此任务不得查看的 { $entries }
workspace-failed =
    { $what ->
        [open] 无法打开工作区 `{ $root }`：{ $cause }
       *[resolve] 无法解析工作区 `{ $root }`：{ $cause }
    }
worktree-failed =
    { $what ->
        [copy] 无法复制 `{ $path }`：{ $cause }
        [describe] 无法描述 `{ $path }`：{ $cause }
        [find] 找不到 `{ $path }`：{ $cause }
        [make] 无法创建 `{ $path }`：{ $cause }
        [read] 无法读取 `{ $path }`：{ $cause }
        [remove] 无法删除 `{ $path }`：{ $cause }
       *[write] 无法写入 `{ $path }`：{ $cause }
    }
git-change-unknown = git 以未知的方式描述了一处更改
worktree-no-repository = `{ $workspace }` 不在 git 工作树中，无法由它创建工作树
worktree-no-repository-hint = 请在那里运行 `git init`，或不使用 `isolation: worktree`
no-git-above = 其上没有 `.git`
worktree-too-many-files = 该仓库的工作树会有 { $count } 个文件
worktree-too-large = 该仓库的工作树会超过 { $gib } GiB
worktree-too-much-hint = 请让 git 忽略不属于项目的内容，或不使用工作树
worktree-git-failed = `git { $what }` 失败（{ $code }）：{ $errors }
git-path-not-text = git 返回的路径不是文本
git-not-found = 找不到程序 `git`
git-not-run = 无法运行 git：{ $cause }
git-not-run-hint = 请安装 git，或不使用工作树
git-endless = git 未在 { $seconds } 秒内结束
apply-conflicts = 因有冲突，未应用任何更改：{ $conflicts }
apply-conflicts-more = 因有冲突，未应用任何更改：{ $conflicts }，另有 { $more } 处
apply-conflicts-hint = 更改位于 { $place }：请在那里或在你的文件中使两边一致，然后再次应用
conflict-gone = 任务更改了它，而它已不存在
conflict-deleted = 任务删除了它，而它已被更改
conflict-kind = 两边都更改了它的类型
conflict-places = 有 { $places } 处在两边都被更改
conflict-binary = 两边都更改了它，而它不是文本
conflict-repository = 它是独立的仓库，补丁不包含它
apply-broke-off = { $why }；此前已应用 { $done } 个文件
apply-broke-off-hint = 请再次应用：已完成的保持不变，其余继续
git-no-object = git 没有对象 { $name }
apply-protected = 未应用任何更改：任务更改了配置程序或含有机密的文件：{ $paths }
apply-protected-hint = 请用 `posse tasks diff` 查看；`--protected` 会一并应用
workspace-failed-hint = 工作区必须是你可以进入的现有目录
openat2-missing = 此系统无法在目录下安全地打开文件（openat2:{ $cause }）
openat2-missing-hint = 文件工具需要 Linux 5.6 或更新版本，以及允许 openat2 的沙箱
path-empty = 路径为空；请给出相对于工作区的路径，或用 `.` 表示其根目录
path-with-nul = 路径含有 NUL 字符，文件名中不能有它
path-too-long = 路径有 { $bytes } 字节；最长允许 { $path_bytes_max }
name-too-long = 路径中的一个名称有 { $bytes } 字节；最长允许 { $name_bytes_max }
path-with-parent = `{ $path }` 含有不被接受的 `..`；请从工作区根目录 `{ $root }` 写起
path-outside = `{ $path }` 位于工作区之外；路径相对于 `{ $root }`
path-is-directory = `{ $path }` 是目录；请用工具 `ls` 或 `directory_tree` 查看其中内容
path-not-regular = `{ $path }` 不是普通文件（而是管道、套接字或设备）
place-unknown = 无法确定 `{ $path }` 的位置：{ $cause }；未写入任何内容
place-refused = `{ $path }` 实际上是 `{ $place }`：{ $why }
place-closed = `{ $place }` 存有用户的密钥或会话，或属于 Posse 自身；任何工具都不会打开它
link-leads-out = `{ $shown }` 经符号链接指向工作区之外，已拒绝；只能使用 `{ $root }` 之下的文件
link-refused = `{ $shown }` 是或包含此处无法跟随的符号链接（循环、/proc 的链接，或名称本身是链接）
no-such-path = 工作区中没有 `{ $shown }`；请用 `ls` 或 `glob` 查找正确的名称（目标缺失的符号链接视为不存在）
part-not-directory = `{ $shown }` 中应为目录的部分不是目录
is-directory = `{ $shown }` 是目录
no-permission = 没有权限打开 `{ $shown }`
path-too-long-here = `{ $shown }` 作为路径过长
path-moving = `{ $shown }` 在打开时一直被移动；请重试
no-openat2 = 此系统缺少 openat2，无法安全地打开任何文件
no-space = 磁盘上没有空间存放 `{ $shown }`
cannot-open = 无法打开 `{ $shown }`：{ $other }
path-bytes = { $short }…({ $bytes } 字节)
content-too-large = 内容有 { $size }；一次调用最多写入 { $max }
content-same = `{ $path }` 的内容已与此完全相同（{ $size }）
file-replaced = 已替换 `{ $path }`({ $size }；之前：{ $old })
file-created = 已创建 `{ $path }`({ $size })
size-and-lines = { $bytes }，{ $lines }
sandbox-denied-top = [沙箱 { $tier }：命令不能使用工作区顶层的新条目、.git、受保护的文件、主目录以及任务不可写的位置；可用工具 `write` 创建文件。操作者见 docs/sandbox.md]
sandbox-denied = [沙箱 { $tier }：命令不能使用受保护的文件、主目录以及任务不可写的位置。操作者见 docs/sandbox.md]
sandbox-no-network = [沙箱 { $tier }：命令在此没有网络。操作者见 docs/sandbox.md]
sandbox-some-ports = [沙箱 { $tier }：命令的网络为 { $reach }，且不解析名称。操作者见 docs/sandbox.md]
