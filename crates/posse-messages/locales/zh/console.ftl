# `posse-console` 的消息。

## run

run-thought = 思考了 { $seconds } 秒 (Ctrl-T 显示)
run-text-void = 回复中断,正在重新生成
run-steer = 引导 { $task }:
run-steer-queued = ↳ 已排队: { $text }
run-steer-delivered = ↳ 已在第 { $turn } 轮送达: { $text }
run-steer-missed = ↳ 太迟了,任务已结束: { $text }
run-steer-full = ↳ 未发送,未读消息太多: { $text }
run-answer = 回答 { $task }:
run-answered = 已回答: { $text }
run-answer-late = 该问题已关闭
run-asks-keys = a 输入回答
run-cancel = 取消 { $task }? y 取消,其他键不取消
run-leaving = 此步骤完成后离开   q 立即离开   Esc 留下
run-not-done = 未执行: { $why }
run-typed-keys = Enter 发送   Esc 放弃
run-top-failed = 全屏显示失败
run-limited = { $provider } 限流至 { $time };{ $n } 个任务在等待
run-help =
    ↑↓ 选择任务   Enter 打开   s 引导   c 取消   Esc 取消选择
    a 回答问题或审批   q 让任务在后台继续运行
    Ctrl-T 显示思考   Ctrl-L 重绘   Ctrl-Z 挂起   Ctrl-C 停止,可恢复
approved-elsewhere = 已由 { $by } 批准
denied-elsewhere = 已由 { $by } 拒绝

## notices

notice-approval = { $task } { $agent } 等待你批准 { $tool }
notice-question = { $task } 有一个问题
notice-end = 运行已结束
## chat

chat-again-leaves = 再按一次 Ctrl-C 退出
chat-paste-cut = 粘贴内容过大，已省略一部分
chat-keys =
    Enter 发送   Alt-Enter 换行   Esc 停止   ↑↓ 历史   Ctrl-R 搜索   Tab 补全   Shift-Tab 模式
    / 命令   @ 文件和代理   ! 终端   Ctrl-T 思考   Ctrl-L 重绘   Ctrl-C、Ctrl-D 退出
chat-steer-queued = ↳ 已排队: { $text }
chat-steer-delivered = ↳ 第 { $turn } 轮已送达: { $text }
chat-steer-late = ↳ 太迟，作为下一条消息发送: { $text }
chat-steer-full = ↳ 未发送，未读消息过多: { $text }
chat-notice-approval = { $task } 等待您批准 { $tool }
chat-notice-end = 回答已完成
chat-tab-answers = Tab 回答
chat-working = 工作中
chat-working-line = { $action }，{ $seconds }秒 · Esc 停止 · Enter 排队输入
chat-stopping = 正在停止
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } 失败: { $why }
chat-call-lines = { $call } ({ $n } 行)
chat-echo-more = 还有 { $n } 行
chat-stopped = 已停止
chat-stopped-changed = 已停止 · 更改了 { $n } 个文件，/undo 可撤销
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / 命令 · @ 文件和代理 · ? 按键
chat-kept = 对话 { $id } 已保留: posse chat --resume { $id }
chat-not-while-working = 请等待回答，或按 Esc 停止
chat-ended-early = { $status }: { $reason }{ $detail }
chat-no-change = 没有文件被更改
chat-diff-cut = 其余部分: posse tasks diff { $id }
chat-menu-agent = 代理
chat-does-agents = 可委派的代理
chat-does-clear = 开始新的对话
chat-does-cost = 本次对话的费用 (按代理和模型)
chat-does-diff = 本次对话的文件更改
chat-does-exit = 退出；对话会保留
chat-does-help = 列出命令
chat-does-mode = plan、ask 或 auto
chat-does-tasks = 本次对话的任务
chat-does-undo = 撤销上一条消息的文件更改
chat-attached-agent = 请求代理 { $agent }
chat-attached-path = { $path } 不是文本或过大 ({ $kib } KiB)：只发送了路径
chat-attached-part = 已附加 { $path } 的 { $kib } KiB (共 { $all } KiB)
chat-attached-file = 已附加 { $path } ({ $n } 行)
chat-mode-usage = 模式有 `/mode plan`、`/mode ask` 和 `/mode auto`
card-question-keys = 或输入回答   Esc 稍后
card-answered = 已回答 { $task }: { $text }
chat-put-off = { $n } 个问题等待回答 · Tab 回答
chat-steer-next = ↳ 作为下一条消息发送: { $text }
chat-error = 错误
chat-hint = 提示: { $hint }
chat-warning = 警告: { $text }
chat-no-command = 没有命令 `{ $command }`，未发送任何内容；/help 会列出命令
chat-does-compact = 从摘要继续
chat-does-context = 窗口的占用情况
chat-does-export = 把对话以 Markdown 写入文件
chat-does-model = 更改后续消息的模型
chat-does-resume = 继续以前的对话
chat-context-share = 上下文 { $percent }%
chat-context-tokens = 上下文 { $tokens } 词元
chat-cost-tree = { $cost } (含 { $n } 个子代理)
chat-state-open = 在别处打开
chat-state-interrupted = 已中断
chat-age = { $age } 前
chat-turns = { $n } 轮
chat-resume-title = 继续 { $place } 的对话
chat-resume-all = 继续任一项目的对话
chat-none-here = 此项目没有以前的对话
chat-resumed = · 使用 { $model } 继续 { $id }
chat-model-title = 选择模型
chat-model-hint = 输入以搜索 · Enter 选择 · Esc 保持不变
chat-model-now = 使用中
chat-model-usage = 当前模型是 { $model }；用 `/model provider:model` 更改
chat-model-chosen = · 由 { $model } 回答
chat-model-next = · 从下一条消息起由 { $model } 回答，并重新读取整个对话 ({ $used } 词元)；正在工作的子代理保持原模型
chat-model-too-small = { $model } 无法接手：对话有 { $used } 词元，而其窗口为 { $window }；请先 /compact
chat-compact-nothing = 还没有可总结的内容
chat-compacting = · 正在请求摘要；对话随后从摘要继续
chat-not-compacted = 没有摘要，对话照旧继续
chat-compacted = · 已总结：{ $before } 词元变为 { $after }；全部内容保留在 { $old }：posse tasks show { $old }
chat-shell-not-started = 无法启动 shell：{ $why }
chat-shell-stopped = 已停止；不会随下一条消息发送
chat-shell-hidden = 前面还有 { $n } 行
chat-shell-exit = 退出码 { $code }
chat-shell-sent = · { $ending }，{ $n } 行将随下一条消息发送
chat-shell-sent-part = · { $ending }，{ $n } 行的开头和结尾将随下一条消息发送
chat-context-title = { $model }：{ $used } / { $window } 词元，{ $percent }%
chat-context-title-open = { $model }：{ $used } 词元，窗口未知
chat-context-system = 系统提示
chat-context-tools = 工具
chat-context-messages = 消息
chat-context-results = 工具结果
chat-context-free = 空闲
chat-context-hint = /compact 从摘要继续
chat-export-head = 对话 `{ $id }`，{ $agent }，{ $models }，开始于 { $began }，{ $n } 轮。
chat-export-failed = {" "}失败：{ $why }
chat-exported = · 已写入 { $file }，仅您可读
chat-not-exported = 无法写入 `{ $file }`：{ $why }
chat-not-exported-hint = 请指定一个新文件：`/export notes.md`
chat-no-tasks = 还没有任何内容
chat-column-agent = 代理
chat-column-does = 职责
chat-column-id = ID
chat-column-state = 状态
chat-column-task = 任务
chat-column-turns = 轮次
chat-column-cost = 费用
chat-column-model = 模型
chat-column-tasks = 任务数
chat-column-input = 输入
chat-column-output = 输出
chat-column-total = 合计
chat-shell-word = !命令
chat-does-shell = 在您的 shell 中运行；其输出随下一条消息发送
chat-export-summary = 供另一个对话继续的摘要：
record-model-chosen = 模型改为 { $model }

## top

top-needs-input = 需要输入 { $n }
top-working = 进行中 { $n }
top-completed = 已完成 { $n }
top-count =
    { $state ->
        [queued] 排队 { $n }
        [interrupted] 中断 { $n }
        [partial] 部分 { $n }
        [failed] 失败 { $n }
       *[cancelled] 取消 { $n }
    }
top-all-projects = 所有项目
top-running = { $n } 个在运行
top-spent = { $price }/24h
top-foot-split = s 引导  a 回答  c 取消  y 复制  q 退出
top-asks-approval = 等待您的批准：a 回答
top-asks-question = 询问：{ $question }（a 回答）
top-hints = / 搜索   A 所有项目   ? 按键
top-hints-all = / 搜索   A 本项目   ? 按键
top-foot-list = ↑↓ Enter 打开   s 引导   a 回答   c 取消   y 复制   q 退出
top-foot-pane = ↑↓ 滚动   o 结果   / 查找   s 引导   Esc 返回
top-foot-close = 按任意键关闭
top-pane-transcript = 对话
top-pane-diff = 改动
top-pane-context = 共享上下文
top-pane-limits = 限制
top-following = 跟随中
top-position = 第 { $line } 行，共 { $lines } 行
top-holds = 持有租约 { $paths }
top-loading = 正在读取 …
top-empty = 还没有任务
top-empty-here = 本项目没有近期任务 · A 显示所有项目
top-nothing-found = 没有任务包含 `{ $search }` · Esc 清除搜索
top-folded = +{ $n }
top-turn = 第 { $turn } 轮
top-lines = { $n } 行
top-more-lines = … 还有 { $n } 行 (o)
top-earlier = … 更早的轮次：posse tasks show
top-model-failed = 模型失败：{ $why }
top-approved-by = 由 { $by } 批准
top-denied-by = 由 { $by } 拒绝
top-resumed = 由另一个进程继续
top-withdrawn = 不再允许：{ $tools }
top-budget-spent = 预算用尽：{ $shortfall }
top-cancel-asked = 已请求取消
top-schema-unmet = 回答不符合模式：{ $errors }
top-ended-completed = 已完成
top-ended-partial = 部分完成
top-ended-failed = 失败
top-ended-cancelled = 已取消
top-patch-cut = … 其余：posse tasks diff
top-no-changes = 没有文件被更改
top-no-context = 共享上下文为空
top-context-head = v{ $version } · { $tokens } tok · { $by } · { $ago } 前
top-value-cut = … 还有 { $bytes } 字节：posse context get
top-used-of = { $used } / { $most }
top-token-counts = 输入 { $input } · 输出 { $output }
top-limit-model = 模型
top-limit-turns = 轮次
top-limit-time = 时间
top-limit-context = 上下文
top-limit-tokens = token
top-limit-cost = 费用
top-limit-tree-tokens = 整棵树的 token
top-limit-tree-cost = 整棵树的费用
top-limit-cap = 预算
top-no-cap = 无限制
top-limit-sandbox = 沙箱
top-limit-workspace = 工作区
top-limit-lease = 租约
top-lease-since = { $paths }，已 { $since }
top-prompt-search = /
top-prompt-steer = 给 { $task } 的消息：
top-prompt-answer = 回答：
top-cancel-ask =
    { $n ->
        [0] 取消 { $task }？ y 是   n 否
       *[other] 取消 { $task } 和 { $n } 个子代理？ y 是   n 否
    }
top-cancelling = 正在取消 { $task } …
top-cancelled = { $task } 已取消
top-cancel-not-yet = 已通知 { $task } 结束，但尚未结束
top-has-ended = { $task } 已结束
top-nothing-asked = 没有任务在等待回答
top-answered = 已回答 { $task }
top-answered-elsewhere = 该调用已在别处得到回答
top-steer-queued = 已排队给 { $task }：下一轮读取
top-steer-delivered = { $task } 在第 { $turn } 轮读取
top-steer-missed = 太迟：{ $task } 已先结束
top-steer-full = { $task } 的未读消息过多
top-copied = 已复制 { $bytes } 字节
top-mouse-on = 鼠标在此滚动和选择
top-mouse-off = 鼠标交还终端：可照常选择文本
top-card-page = 还有 { $n } 行   y 下一页   n 拒绝并说明   Esc 稍后
top-card-end = 结尾   y 一次   t 此任务   s 会话   n 拒绝并说明   Esc 稍后
top-question-asks = { $task } { $agent } 询问：{ $question }
top-question-keys = 输入回答或其编号   Enter 发送   Esc 稍后
top-keys =
    ↑↓ j k | 选择任务；滚动面板
    Enter → | 进入面板；Esc 或 ← 返回
    1 2 3 4 Tab | 对话、改动、共享上下文、限制
    PgUp PgDn Home End | 翻页；在末尾跟随新内容
    Space | 显示已结束任务的子代理
    o | 显示或折叠结果和长消息
    / | 搜索任务；在面板中查找文本（n N 下一个、上一个）
    A | 所有项目，或回到本项目
    s | 引导：向运行中的任务发消息
    a | 回答批准请求或问题
    c | 取消任务及其子代理
    y | 复制回答、改动或 id（OSC 52）
    m | 把鼠标交还终端，或收回
    Ctrl-L Ctrl-Z | 重绘、暂停
    q Esc | 返回，再离开；任务继续运行
story-task = 任务
story-answer = 回答
story-from = 来自 { $parent }
story-approved = { $by }：{ $scope }
story-verify = 验证
many-calls = { $n } 次调用
many-finished-calls = { $n } 次已完成的调用
with-subagents = 连同子智能体共 { $tokens }，{ $price }
record-schema-met = 回答符合其模式
record-withdrawn = 不再允许：{ $tools }
record-regranted = 模式改为 { $mode }
record-budget-spent = 预算用尽：{ $shortfall }
record-cancelled = 已取消
record-resumed = 已恢复（纪元 { $epoch }）
plain-interrupted = 已中断
plain-steer-queued = 消息已排队
plain-steer-delivered = 消息已在第 { $turn } 轮送达
plain-steer-missed = 消息太迟：任务已结束
plain-started = 已开始 · { $agent } 使用 { $model }
plain-resumed = 已恢复 · 保留 { $kept }，存疑 { $in_doubt }
plain-turn = 第 { $turn } 轮 · { $tokens } · { $calls }
plain-model = 模型 { $kind }：{ $message }
plain-refused = { $tool } 被拒绝：{ $why }
plain-failed = { $tool } 在 { $millis } 毫秒后失败：{ $why }
plain-elided = 为节省上下文省略了 { $results } 个旧结果（{ $bytes } 字节）
plain-wrap-up = 要求报告：{ $reason }
plain-verify = 验证 { $command }
plain-verify-failed = 验证 { $command } 在 { $millis } 毫秒后失败：{ $ending }
record-model = 模型：{ $failure }
record-schema-unmet = 回答不符合其模式
change-new = 新建
change-deleted = 已删除
plain-changed = 已更改：{ $files }
plain-approval-waits = 等待批准 · { $call } · { $why } · posse approvals show { $approval }
story-answered = 已回答
approval-by = { $scope }，答复者 { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } · 答复者 { $by }（{ $scope }）· { $instant }
before-deleted = （删除前：v{ $version }）
until-instant = 至 { $end }
context-wrote = 已写入 { $entry }
context-deleted = 已删除 { $key } v{ $previous_version }
snapshot-taken = 快照 { $label } 有 { $keys }
context-restored = 已恢复：写入 { $written } 个，删除 { $deleted } 个
approved-in = { $left }后自动批准
denied-in = { $left }后自动拒绝
column-took = 耗时
column-tool = 工具
column-left = 剩余
column-call = 调用
tokens-shown = { $shown } 个 token
nobody-else = 没有其他人
audience-shown = 可读：{ $readers } · 可写：{ $writers }
column-id = ID
column-tokens = 令牌
column-age = 距今
column-keys = 键
column-title = 标题
column-process = 进程
column-paths = 路径
column-workspace = 工作区
state-archived = 已归档
state-open = 开放
