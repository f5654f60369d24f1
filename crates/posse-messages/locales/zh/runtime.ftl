# 简体中文。术语表见 core.ftl。

cancel-without-end = `{ $id }` 被取消后没有结束
conversation-broken = `{ $id }` 的对话已损坏：{ $fault }
task-out-of-time = 任务 `{ $id }` 已用完 { $seconds } 秒
task-out-of-time-hint = 请给它更多时间：--timeout { $seconds }
task-out-of-turns = 任务 `{ $id }` 已用完全部 { $turns } 轮
task-out-of-turns-hint = 请给它更多轮次：--max-turns { $turns }
there-are-none = 这里一个也没有
there-are = 可用的有：{ $names }
write-paths-not-within = 写入路径 { $own } 不在 { $outer } 之内
write-paths-not-within-hint = 任务只能得到委派者及其智能体可以写入的路径
lease-waits = 正在等待其写入路径空闲：{ $holders }
lease-waits-command = 正在等待 `{ $task }` 的一个可能在那里写入的命令结束
run-while-stopping = 任务即将停止；未执行任何操作
run-not-decidable = 无法判断是否可以执行（{ $why }）；未执行任何操作
lease-lost-silent = 该任务沉默过久，失去了写入路径：{ $holders }；未执行任何操作
write-not-decidable = 无法判断是否可以写入（{ $why }）；未写入任何内容
agent-not-found = 没有名为 `{ $name }` 的智能体
approval-not-found = 没有名为 `{ $id }` 的审批请求
no-tool-exists = `{ $agent }` 的工具在这里都不存在：{ $tools }
output-schema-invalid = 输出模式不是有效的 JSON Schema:{ $why }
output-schema-invalid-hint = 请更正该智能体的 `output_schema`
no-outcome = 没有结果
delegation-too-deep = 这里不能再向下委派
delegation-too-deep-hint = 请自己完成该任务
no-worktrees = 这里无法创建工作树
no-worktrees-hint = 请不带 `isolation: worktree` 委派
nobody-delegates = 本会话中没有以此名义委派者
price-unknown = `{ $unpriced }` 的价格未知，因此无法遵守费用上限
price-unknown-hint = 请在配置中添加其价格，或改用其他模型
task-too-large = 任务约有 { $size } 个 token，上限为 { $task_tokens_max }
task-too-large-hint = 请把细节写入 shared_context，并在任务中写明其键
outcome-lost = 其结果没有记录下来
agent-exists = 智能体 `{ $name }` 已存在
agent-exists-hint = 请换一个名称，或使用 `overwrite: true` 定义
facade-unknown = 没有可用于委派的工具 `{ $wanted }`
answer-shortened = [已缩短：全文保存为 { $id } 的结果]
answer-note = [注：{ $warning }]
session-closed = 会话已关闭
agent-timed-out = 子智能体 "{ $name }" 超过 { $seconds }s 的时限，已被停止。
agent-failed = 子智能体 "{ $name }" 失败：{ $why }
so-far = 到此为止的内容：
agent-type-unknown = 未知的子智能体类型:"{ $name }"。可用的有：{ $names }
investigation-without-task = 任务过于简短。请说明：调查什么、在哪里查找、返回什么。
investigation-too-brief = 任务过于简短（至少 { $task_chars_min } 个字符）。请说明：调查【什么】、在【哪里】查找、返回【什么】。
investigations-limit = 子智能体数量已达上限（{ $per_session_max }）。其余调查请直接使用工具。
subagent-failed = 子智能体失败：{ $why }
tool-calls-limit-reached = 已达到工具调用上限；以下内容可能不完整
subagent-timed-out = 子智能体超过 { $seconds }s 的时限。请拆分为更小的任务。
partial-findings = 部分发现：
stopped-early = 提前停止：{ $why }。
tool-calls-made = 工具调用次数：{ $tool_calls }
launch-description = 启动自主智能体
launch-missing-description = 必须提供智能体描述
launch-missing-prompt = 必须提供智能体提示词
launch-invalid-json = JSON 参数无效
launch-resource-limit = 已达到并发智能体数量上限
launch-creation-failed = 创建智能体失败
launch-limit = 已达到并发任务数量上限。请等待其他任务完成。
launched =
    子智能体启动成功

    并行任务启动成功：
    - 任务标识：{ $id }（又名 { $alias }）
    - 描述：{ $description }
    - 优先级：{ $priority }
    - 写入权限：{ $writes ->
        [yes] 有
       *[no] 无
    }
    - 最长执行时间：{ $seconds }s

    该任务正在并行运行。你可以继续其他工作。
    稍后收取其结果：{"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-failed-hint = 创建并行任务失败：{ $message }({ $hint })
launch-failed = 创建并行任务失败：{ $message }
parameters-invalid = 参数无效：{ $errors }
parameters-missing-json = JSON 中缺少必需的参数
parameter-missing = 必需参数 '{ $name }' 缺少值。{ $why }。请带上 description 和 prompt 再次调用 subagent。
parameter-not-closed = 必需参数 '{ $name }' 缺少值：<{ $name }> 没有闭合。
description-not-text = description 为必需项，且必须是字符串
description-too-short = description 至少要有 3 个字符
description-too-long = description 应为 3 到 5 个词
prompt-not-text = prompt 为必需项，且必须是字符串
prompt-too-short = prompt 至少要有 10 个字符
write-permissions-not-boolean = writePermissions 必须是布尔值
write-paths-not-list = allowedWritePaths 必须是数组
write-path-not-text = allowedWritePaths[{ $index }] 必须是字符串
write-paths-missing = 使用 writePermissions 时必须指定 allowedWritePaths
execution-time-not-number = maxExecutionTime 必须是数字
execution-time-out-of-range = maxExecutionTime 必须在 1000 到 300000 毫秒之间（1 到 300 秒）
priority-unknown = priority 必须是 'low'、'normal' 或 'high'
task-not-yours = `{ $task }` 不是你的任务
task-not-yours-hint = `list_tasks` 会列出现有任务
nobody-to-ask = 没有人可以询问；请选择最可能符合要求的做法，并在回答中说明
question-unreadable = 无法读取该问题：{ $why }
no-answer-default = { $deadline } 秒内没有得到回答；请按你的默认方案继续：{ $default }
no-answer = { $deadline } 秒内没有得到回答；请选择最可能符合要求的做法，并在回答中说明
nobody-to-tell = 没有人可以告知
nobody-waited = 没有人在等待回答
task-running-since = `{ $id }` 仍在运行，{ $seconds } 秒内 { $turns } 轮
still-at-work = 仍在工作：请再次调用 wait，或先做别的事
ended-before-cancel = 它在取消之前就已结束
messages-unread = `{ $id }` 尚未读取最近的消息
messages-unread-hint = 请等它完成下一轮
task-not-ended = `{ $id }` 尚未结束
task-not-ended-hint = 请等待它，或查看其状态
agents-unusable = 这里无法使用：{ $names }
agents-not-shown = 还有 { $left_out } 个未显示：请用 `query` 按词查找
field-missing = 缺少字段 `{ $field }`
see-description-hint = 请参阅工具的说明
system-prompt-too-large = 系统提示词约有 { $size } 个 token，上限为 { $prompt_tokens_max }
system-prompt-too-large-hint = 只保留指令；知识由工具提供
tool-not-there = 没有工具 `{ $unknown }`
answer-truncated = [已截断 — 完整回答超过 { $result_tokens_max } 个 token 的上限]
no-details = 没有详情
answer-was-empty = 最终回答为空
turns-exceeded = 超过最大轮次，仍未给出最终回答
model-failed = 模型 API 错误：{ $detail }
action-unknown = 没有操作 `{ $action }`
max-cost-invalid = `max_cost_usd` 必须大于零
tool-twice = 有两个工具名为 `{ $own }`
tool-twice-hint = 请给每个工具起不同的名称
tool-crashed = internal_error：工具 `{ $name }` 崩溃（{ $panic }）。这是工具的缺陷，不是你的调用有误
tool-schema-broken = 该工具自身的模式已损坏，无法调用
arguments-misfit = 参数不符合该工具的模式，未执行任何操作：
nested-nowhere = 没有它所属的运行
nested-too-deep = 已达到子智能体的最大深度（{ $depth }）。不能再启动更多子智能体。
prompt-required = 必须提供 prompt
nested-misconfigured = 子智能体配置错误：{ $why }
nested-failed = 子智能体错误：{ $why }
nested-prompt-too-large = 系统提示词约有 { $size } 个 token，上限为 { $system_tokens_max }
nested-without-outcome = `{ $id }` 没有结果
tool-execution-error = 第 { $turns } 轮工具执行错误：{ $detail }
findings-kept = [已以 `{ $key }` 保存到共享上下文]
findings-not-kept = [未保存到共享上下文：{ $why }]

tasks-write-nothing = 从这里委派的任务不能写入
agent-cannot-write = `{ $agent }` 在没有其定义所列 { $tools } 的情况下工作：{ $advice }
