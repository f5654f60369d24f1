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
