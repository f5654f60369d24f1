# `posse-terminal` 的消息。

## rows

task-row-root = 根任务
task-row-model = 等待模型
task-row-thinking = 正在思考
task-row-asking = 请求 { $tool }
task-row-retry = { $seconds } 秒后重试：{ $why }
task-row-rate-limited = 速率受限
task-row-http-status = HTTP { $status }
task-row-no-progress = 没有进展
task-row-connection = 连接失败
task-row-bad-reply = 回复无效
task-row-approve = 待批准：{ $call }
task-row-question = 提问：{ $question }
task-row-lease = 等待租约 { $paths }
task-row-queued = 排队中
task-row-queued-after = 排队中：在 { $tasks } 之后
task-row-delegating = 正在委派
task-row-resumed = 已恢复
task-row-interrupted = 已中断
task-row-verifying = 正在验证 { $command }
task-row-reporting = 正在报告
task-row-refused = { $tool } 被拒绝：{ $why }
task-row-failed = { $tool } 失败：{ $why }
task-row-turn = 轮次 { $turn }/{ $turns_max }
task-row-context = ctx { $percent }%
task-row-tokens = { $count } tok
task-row-turn-limit = 轮次上限
task-row-call-limit = 工具调用上限
task-row-budget-limit = 预算用完
task-row-context-limit = 上下文窗口已满
task-row-output-limit = 被输出上限截断
task-row-time-limit = 超时
task-row-stalled = 没有调用成功
task-row-cancelled = 已取消
task-row-model-failed = 模型失败
task-row-no-answer = 没有回答
task-row-dependency-failed = 前置任务失败
task-row-output-invalid = 回答不符合模式
task-row-verify-failed = 验证失败
task-row-writing =
    { $n ->
       *[other] 正在写，{ $count } 个字符
    }
task-row-waits = 等待 { $n } 个子智能体
task-row-queued-place = 排队中：第 { $place } 位，{ $slots } 个中 { $running } 个在运行
task-row-folded =
    { $state ->
        [input] { $n } 个需要输入
        [working] { $n } 个进行中
        [failed] { $n } 个失败
        [queued] { $n } 个排队
        [completed] { $n } 个完成
       *[other] { $n } 个子智能体
    }
task-row-folded-more =
    { $state ->
        [input] 另有 { $n } 个需要输入
        [working] 另有 { $n } 个进行中
        [failed] 另有 { $n } 个失败
        [queued] 另有 { $n } 个排队
        [completed] 另有 { $n } 个完成
       *[other] 另有 { $n } 个
    }

## keys

live-keys-one = ? 按键   q 离开并继续运行   Ctrl-C 停止
live-keys-tree = ↑↓ Enter 打开   s 引导   c 取消   q 离开   ? 按键
live-keys-tree-stay = ↑↓ Enter 打开   s 引导   c 取消   ? 按键
live-keys-one-stay = ? 按键   Ctrl-C 停止
live-keys-answer = a 回答 { $task }

## end of a run

task-end-completed = 用时 { $took } 完成
task-end-partial = { $took } 后部分完成
task-end-failed = { $took } 后失败
task-end-cancelled = { $took } 后取消
task-end-interrupted = { $took } 后中断
task-end-turn-limit = 轮次上限（{ $n }）
task-end-no-file = 没有更改文件
task-end-new = 新建
task-end-deleted = 已删除
task-end-more-files = 另外 { $n } 个
task-end-turns = { $n } 轮次
task-end-cost-with = { $cost }，含 { $n } 个子智能体
task-end-files = 更改了 { $n } 个文件：{ $files }

## approval card

card-wants = { $task } { $agent } 请求 { $call }
card-wants-run = { $task } { $agent } 想运行：{ $command }
card-keys = y 一次   t 此任务   s 会话   n 拒绝并说明   d 全部   Esc 稍后
card-because = 原因: { $reason }
card-asks = { $task } 提问: { $question }
card-answer = 回答:
card-why = 为什么?(直接回车表示无理由)
card-above = 完整的调用已显示在上方
card-approved-in = { $left } 后自动批准
card-denied-in = { $left } 后自动拒绝
card-approved-once = 批准一次：{ $call }（{ $task }）
card-approved-task = 为此任务批准：{ $call }（{ $task }）
card-approved-session = 为会话批准：{ $call }（{ $task }）
card-denied = 已拒绝：{ $call }（{ $task }）
card-hidden = 另有 { $n } 行：按 d 显示

## prompt

prompt-pasted = 已粘贴 { $n } 行
prompt-search = 搜索
prompt-search-nothing = 未找到
picker-hint = 输入以搜索 · Ctrl-A 所有项目
picker-nothing = 未找到
usage-heading = 用法：
usage-commands = 命令
usage-options = 选项
usage-arguments = 参数
usage-global = 全局选项
usage-model = 模型
usage-rights = 权限
usage-limits = 限制
usage-examples = 示例
usage-help = 显示帮助
usage-version = 显示版本
usage-unknown-argument = 没有参数 `{ $argument }`
usage-unknown-command = `{ $command }` 不是命令
usage-missing = 缺少这些参数：{ $arguments }
usage-conflict = `{ $argument }` 不能与 `{ $other }` 同时使用
usage-twice = `{ $argument }` 给出了两次
usage-value-missing = `{ $argument }` 需要一个值
usage-value-unknown = `{ $value }` 不是 `{ $argument }` 的值
usage-value-wrong = `{ $value }` 不是 `{ $argument }` 的值：{ $why }
usage-run-it = 作为任务运行：{ $command }
usage-help-hint = `{ $command } --help` 显示可用内容
completions-install =
    安装：
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   （在 compinit 之后）
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = 登录测试为什么不稳定？
example-fix = 修复失败的测试
example-summary = 为这些提交写发布说明
example-message = 保留旧名称
example-answer = 用第二个
usage-work = 工作
usage-look = 查看
usage-configure = 配置
usage-serve = 服务与维护
