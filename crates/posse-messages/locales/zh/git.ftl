# 简体中文。术语表见 core.ftl。

git-path-not-text = git 返回的路径不是文本
git-change-unknown = git 以未知的方式描述了一处更改
worktree-no-repository = `{ $workspace }` 不在 git 工作树中，无法由它创建工作树
worktree-no-repository-hint = 请在那里运行 `git init`，或不使用 `isolation: worktree`
no-git-above = 其上没有 `.git`
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
apply-conflicts = 因有冲突，未应用任何更改：{ $conflicts }
apply-conflicts-more = 因有冲突，未应用任何更改：{ $conflicts }，另有 { $more } 处
apply-conflicts-hint = 更改位于 { $place }：请在那里或在你的文件中使两边一致，然后再次应用
conflict-gone = 任务更改了它，而它已不存在
conflict-deleted = 任务删除了它，而它已被更改
conflict-kind = 两边都更改了它的类型
conflict-places = 有 { $places } 处在两边都被更改
conflict-binary = 两边都更改了它，而它不是文本
apply-broke-off = { $why }；此前已应用 { $done } 个文件
apply-broke-off-hint = 请再次应用：已完成的保持不变，其余继续
git-no-object = git 没有对象 { $name }
conflict-repository = 它是独立的仓库，补丁不包含它
apply-protected = 未应用任何更改：任务更改了配置程序或含有机密的文件：{ $paths }
apply-protected-hint = 请用 `posse tasks diff` 查看；`--protected` 会一并应用
worktree-too-many-files = 该仓库的工作树会有 { $count } 个文件
worktree-too-large = 该仓库的工作树会超过 { $gib } GiB
worktree-too-much-hint = 请让 git 忽略不属于项目的内容，或不使用工作树

git-unreadable = 无法读取
git-missing = 未安装 git，或不在 PATH 中
git-missing-hint = 请安装 git 2.31 或更新版本
git-not-started = 无法启动
git-too-slow = 用时超过 { $seconds } 秒
git-failed = `git { $what }` 失败：{ $why }
review-no-repository = { $place } 不在 git 仓库中
review-no-repository-hint = `posse review` 查看 git 工作树的改动：请在其中启动
git-no-temporary = 没有放置临时目录的位置
review-base-unknown = `{ $base }` 不是此仓库的提交
review-commit-unknown-hint = 请指定一个提交，例如 `--commit HEAD~1`
review-path-unknown = `{ $path }` 不存在，git 也不知道这个名称
review-path-unknown-hint = 路径从当前目录算起
review-base-unknown-hint = 请指定分支、标签或提交，例如 `--base main`
review-no-commit = 还没有可比较的提交
review-no-commit-hint = 请去掉 `--base`
review-no-common-commit = `{ $base }` 与 HEAD 没有共同的提交
review-no-common-commit-hint = 在浅克隆中，请先获取更多历史

worktree-not-worked-on = 无法处理工作树
worktree-gone = `{ $task }` 的工作树已不存在
