# 简体中文。术语表见 core.ftl。

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
skills-not-used = `{ $root }` 中的技能未使用：{ $why }
skills-folder-large = `{ $folder }` 的条目超过 { $folder_entries_max } 个；未全部查看
skill-not-used = `{ $place }` 中的技能未使用：{ $why }
skill-name-unusable = `{ $place }` 中的技能名称不可用；改用其文件夹名称
skill-without-description = `{ $place }` 中的技能 `{ $skill_name }` 没有说明
skill-shadowed = `{ $place }` 中的技能 `{ $skill_name }` 被忽略：`{ $kept }` 名称相同且在前
skills-too-many = 技能 `{ $skill_name }` 被忽略：已有 { $skills_max } 个
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
