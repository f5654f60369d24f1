# Messages of `posse-console`.

## run

run-thought = thought for { $seconds }s (Ctrl-T shows it)
run-text-void = the reply broke off; it is written again
run-steer = steer { $task }:
run-steer-queued = ↳ queued: { $text }
run-steer-delivered = ↳ delivered at turn { $turn }: { $text }
run-steer-missed = ↳ too late, the task has ended: { $text }
run-steer-full = ↳ not sent, too many messages are unread: { $text }
run-answer = answer { $task }:
run-answered = answered: { $text }
run-answer-late = the question was no longer open
run-asks = { $task } asks: { $question }
run-asks-keys = a types an answer
run-cancel = cancel { $task }? y cancels it, any other key does not
run-leaving = leaves when this step is done   q leaves now   Esc stays
run-not-done = not done: { $why }
run-help =
    ↑↓ selects a task   s steers it   c cancels it   Esc deselects
    a answers a question or an approval   q leaves the task running in the background
    Ctrl-T shows thinking   Ctrl-L repaints   Ctrl-Z suspends   Ctrl-C stops, to be resumed
approved-elsewhere = approved by { $by }
denied-elsewhere = denied by { $by }
card-because = because: { $reason }

## notices

notice-approval = { $task } { $agent } waits for your approval of { $tool }
notice-question = { $task } has a question
notice-end = the run has ended
## chat

chat-again-leaves = Ctrl-C again leaves
chat-paste-cut = the paste was too large; a part of it was left out
chat-keys =
    Enter send   Alt-Enter new line   Esc stop   ↑↓ history   Ctrl-R search   Tab complete   Shift-Tab mode
    / commands   @ files and agents   ! shell   Ctrl-T thinking   Ctrl-L repaint   Ctrl-C, Ctrl-D leave
chat-steer-queued = ↳ queued: { $text }
chat-steer-delivered = ↳ delivered at turn { $turn }: { $text }
chat-steer-late = ↳ too late, sent as the next message: { $text }
chat-steer-full = ↳ not sent, too many messages are unread: { $text }
chat-notice-approval = { $task } waits for your approval of { $tool }
chat-notice-end = the answer is there
chat-tab-answers = Tab answers
chat-why = why? (Enter without a reason)
chat-text-void = the reply broke off; it is written again
chat-thought = thought for { $seconds }s (Ctrl-T shows it)
chat-working = working
chat-working-line = { $action }, { $seconds }s · Esc stops · Enter queues what you type
chat-stopping = stopping
chat-mode-next = { $mode } (Shift-Tab)
chat-call-failed = { $call } failed: { $why }
chat-call-lines = { $call } ({ $n } lines)
chat-echo-more = { $n } more lines
chat-stopped = stopped
chat-stopped-changed =
    { $n ->
        [one] stopped · { $n } file changed, /undo takes it back
       *[other] stopped · { $n } files changed, /undo takes them back
    }
