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
run-asks = { $task } 提问: { $question }
run-asks-keys = a 输入回答
run-cancel = 取消 { $task }? y 取消,其他键不取消
run-leaving = 此步骤完成后离开   q 立即离开   Esc 留下
run-not-done = 未执行: { $why }
run-help =
    ↑↓ 选择任务   s 引导   c 取消   Esc 取消选择
    a 回答问题或审批   q 让任务在后台继续运行
    Ctrl-T 显示思考   Ctrl-L 重绘   Ctrl-Z 挂起   Ctrl-C 停止,可恢复
approved-elsewhere = 已由 { $by } 批准
denied-elsewhere = 已由 { $by } 拒绝
card-because = 原因: { $reason }

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
chat-why = 为什么？(Enter 不填理由)
chat-text-void = 回复中断，正在重写
chat-thought = 思考了 { $seconds } 秒 (Ctrl-T 显示)
chat-working = 工作中
chat-working-line = { $action }，{ $seconds }秒 · Esc 停止 · Enter 排队输入
chat-stopping = 正在停止
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } 失败: { $why }
chat-call-lines = { $call } ({ $n } 行)
chat-echo-more = 还有 { $n } 行
chat-stopped = 已停止
chat-stopped-changed = 已停止 · 更改了 { $n } 个文件，/undo 可撤销
