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
