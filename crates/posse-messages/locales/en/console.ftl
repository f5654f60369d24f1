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
run-asks-keys = a types an answer
run-cancel = cancel { $task }? y cancels it, any other key does not
run-leaving = leaves when this step is done   q leaves now   Esc stays
run-not-done = not done: { $why }
run-typed-keys = Enter sends   Esc drops it
run-top-failed = the full screen failed
run-limited = { $provider } is rate limited until { $time }; { $n } tasks wait
run-help =
    ↑↓ selects a task   Enter opens it   s steers it   c cancels it   Esc deselects
    a answers a question or an approval   q leaves the task running in the background
    Ctrl-T shows thinking   Ctrl-L repaints   Ctrl-Z suspends   Ctrl-C stops, to be resumed
approved-elsewhere = approved by { $by }
denied-elsewhere = denied by { $by }

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
chat-banner-mode = posse { $version } · { $mode }
chat-banner-place = { $place } · / commands · @ files and agents · ? keys
chat-kept = chat { $id } is kept: posse chat --resume { $id }
chat-not-while-working = wait for the answer, or stop it with Esc
chat-ended-early = { $status }: { $reason }{ $detail }
chat-no-change = no file was changed
chat-diff-cut = the rest: posse tasks diff { $id }
chat-menu-agent = agent
chat-does-agents = agents to delegate to
chat-does-clear = begin a new conversation
chat-does-cost = cost of this conversation, by agent and model
chat-does-diff = file changes of this conversation
chat-does-exit = leave; the conversation is kept
chat-does-help = list the commands
chat-does-mode = plan, ask or auto
chat-does-tasks = tasks of this conversation
chat-does-undo = take back the file changes of the last message
chat-attached-agent = asks the agent { $agent }
chat-attached-path = { $path } is not text or too large ({ $kib } KiB): only its path was sent
chat-attached-part = attached { $kib } KiB of { $path } ({ $all } KiB)
chat-attached-file =
    { $n ->
        [one] attached { $path } ({ $n } line)
       *[other] attached { $path } ({ $n } lines)
    }
chat-mode-usage = the modes are `/mode plan`, `/mode ask` and `/mode auto`
card-question-keys = or type an answer   Esc later
card-answered = answered { $task }: { $text }
chat-put-off =
    { $n ->
        [one] { $n } question waits · Tab answers
       *[other] { $n } questions wait · Tab answers
    }
chat-steer-next = ↳ goes as the next message: { $text }
chat-error = error
chat-hint = hint: { $hint }
chat-warning = warning: { $text }
chat-no-command = there is no command `{ $command }` and nothing was sent; /help lists the commands
chat-does-compact = continue from a summary
chat-does-context = what fills the window
chat-does-export = write the transcript as Markdown to a file
chat-does-model = change the model of the messages that follow
chat-does-resume = continue an earlier conversation
chat-context-share = context { $percent }%
chat-context-tokens = context { $tokens } tokens
chat-cost-tree =
    { $n ->
        [one] { $cost } with { $n } subagent
       *[other] { $cost } with { $n } subagents
    }
chat-state-open = open elsewhere
chat-state-interrupted = interrupted
chat-age = { $age } ago
chat-turns =
    { $n ->
        [one] { $n } turn
       *[other] { $n } turns
    }
chat-resume-title = Resume a chat of { $place }
chat-resume-all = Resume a chat of any project
chat-none-here = there is no earlier conversation of this project
chat-resumed = · continues { $id } with { $model }
chat-model-title = Choose a model
chat-model-hint = type to search · Enter takes · Esc keeps the model
chat-model-now = in use
chat-model-usage = the model is { $model }; `/model provider:model` changes it
chat-model-chosen = · { $model } answers
chat-model-next = · { $model } answers from the next message on, and reads the whole conversation anew ({ $used } tokens); subagents at work keep their model
chat-model-too-small = { $model } cannot take over: the conversation has { $used } tokens, its window { $window }; /compact first
chat-compact-nothing = there is nothing to sum up yet
chat-compacting = · asks for a summary; the conversation then continues from it
chat-not-compacted = there is no summary, so the conversation goes on as it was
chat-compacted = · summed up: { $before } tokens became { $after }; all of it stays in { $old }: posse tasks show { $old }
chat-shell-not-started = the shell could not be started: { $why }
chat-shell-stopped = stopped; nothing of it goes with the next message
chat-shell-hidden =
    { $n ->
        [one] { $n } line before
       *[other] { $n } lines before
    }
chat-shell-exit = exit code { $code }
chat-shell-sent =
    { $n ->
        [one] · { $ending }, { $n } line goes with the next message
       *[other] · { $ending }, { $n } lines go with the next message
    }
chat-shell-sent-part = · { $ending }, the beginning and the end of { $n } lines go with the next message
chat-context-title = { $model }: { $used } of { $window } tokens, { $percent }%
chat-context-title-open = { $model }: { $used } tokens, its window is not known
chat-context-system = system prompt
chat-context-tools = tools
chat-context-messages = messages
chat-context-results = tool results
chat-context-free = free
chat-context-hint = /compact continues from a summary
chat-export-head =
    { $n ->
        [one] Conversation `{ $id }` with { $agent } on { $models }, begun { $began }, { $n } turn.
       *[other] Conversation `{ $id }` with { $agent } on { $models }, begun { $began }, { $n } turns.
    }
chat-export-failed = {" "}failed: { $why }
chat-exported = · wrote { $file }, readable by you only
chat-not-exported = `{ $file }` cannot be written: { $why }
chat-not-exported-hint = name a new file: `/export notes.md`
chat-no-tasks = nothing was said yet
chat-column-agent = AGENT
chat-column-does = DOES
chat-column-id = ID
chat-column-state = STATE
chat-column-task = TASK
chat-column-turns = TURNS
chat-column-cost = COST
chat-column-model = MODEL
chat-column-tasks = TASKS
chat-column-input = INPUT
chat-column-output = OUTPUT
chat-column-total = total
chat-shell-word = !command
chat-does-shell = run it in your shell; its output goes with the next message
chat-export-summary = A summary, from which another conversation continues:
record-model-chosen = model changed to { $model }

## top

top-needs-input = NEEDS INPUT { $n }
top-working = WORKING { $n }
top-completed = COMPLETED { $n }
top-count =
    { $state ->
        [queued] { $n } queued
        [interrupted] { $n } interrupted
        [partial] { $n } partial
        [failed] { $n } failed
       *[cancelled] { $n } cancelled
    }
top-all-projects = all projects
top-running = { $n } running
top-spent = { $price }/24h
top-foot-split = s steer  a answer  c cancel  y copy  q quit
top-asks-approval = waits for your approval: a answers
top-asks-question = asks: { $question } (a answers)
top-hints = / search   A all projects   ? keys
top-hints-all = / search   A this project   ? keys
top-foot-list = ↑↓ Enter open   s steer   a answer   c cancel   y copy   q quit
top-foot-pane = ↑↓ scroll   o results   / find   s steer   a answer   Esc back
top-foot-close = any key closes
top-pane-transcript = transcript
top-pane-diff = diff
top-pane-context = shared context
top-pane-limits = limits
top-following = following
top-position = line { $line } of { $lines }
top-holds = holds lease { $paths }
top-loading = reading the store …
top-empty = no tasks yet
top-empty-here = no recent tasks of this project · A shows all projects
top-nothing-found = no task contains `{ $search }` · Esc clears the search
top-folded = +{ $n }
top-turn = turn { $turn }
top-lines =
    { $n ->
        [one] 1 line
       *[other] { $n } lines
    }
top-more-lines =
    { $n ->
        [one] … 1 more line (o)
       *[other] … { $n } more lines (o)
    }
top-earlier = … earlier turns: posse tasks show
top-model-failed = the model failed: { $why }
top-approved-by = approved by { $by }
top-denied-by = denied by { $by }
top-resumed = resumed by another process
top-withdrawn = no longer allowed: { $tools }
top-budget-spent = budget used up: { $shortfall }
top-cancel-asked = cancel was requested
top-schema-unmet = the answer does not fit the schema: { $errors }
top-ended-completed = completed
top-ended-partial = partial
top-ended-failed = failed
top-ended-cancelled = cancelled
top-patch-cut = … the rest: posse tasks diff
top-no-changes = no file was changed
top-no-context = the shared context is empty
top-context-head = v{ $version } · { $tokens } tok · { $by } · { $ago } ago
top-value-cut = … { $bytes } more bytes: posse context get
top-used-of = { $used } of { $most }
top-token-counts = { $input } in · { $output } out
top-limit-model = model
top-limit-turns = turns
top-limit-time = time
top-limit-context = context
top-limit-tokens = tokens
top-limit-cost = cost
top-limit-tree-tokens = tokens of the tree
top-limit-tree-cost = cost of the tree
top-limit-cap = budget
top-no-cap = no limit
top-limit-sandbox = sandbox
top-limit-workspace = workspace
top-limit-lease = lease
top-lease-since = { $paths } for { $since }
top-prompt-search = /
top-prompt-steer = message to { $task }:
top-prompt-answer = answer:
top-cancel-ask =
    { $n ->
        [0] cancel { $task }? y yes   n no
        [one] cancel { $task } and 1 subagent? y yes   n no
       *[other] cancel { $task } and { $n } subagents? y yes   n no
    }
top-cancelling = cancelling { $task } …
top-cancelled = { $task } is cancelled
top-cancel-not-yet = { $task } was told to end and has not yet
top-has-ended = { $task } has ended
top-nothing-asked = no task waits for an answer
top-answered = answered { $task }
top-answered-elsewhere = the call was answered elsewhere
top-steer-queued = queued for { $task }: read at its next turn
top-steer-delivered = { $task } read it at turn { $turn }
top-steer-missed = too late: { $task } ended first
top-steer-full = { $task } has too many unread messages
top-copied = copied { $bytes } bytes
top-mouse-on = the mouse scrolls and selects here
top-mouse-off = the mouse is the terminal’s: select text as usual
top-card-page =
    { $n ->
        [one] 1 more line   y next page   n no, say why   Esc later
       *[other] { $n } more lines   y next page   n no, say why   Esc later
    }
top-card-end = end   y once   t this task   s session   n no, say why   Esc later
top-question-asks = { $task } { $agent } asks: { $question }
top-question-keys = type an answer, or the number of one   Enter send   Esc later
top-keys =
    ↑↓ j k | select a task; scroll the pane
    Enter → | go into the pane; Esc or ← goes back
    1 2 3 4 Tab | transcript, diff, shared context, limits
    PgUp PgDn Home End | page; the end follows what is new
    Space | show the subagents of an ended task
    o | show results and long messages, or fold them
    / | search tasks; in a pane, find text (n N next, previous)
    A | all projects, or this one again
    s | steer: send a message to a running task
    a | answer an approval or a question
    c | cancel a task and its subagents
    y | copy the answer, the diff or the id (OSC 52)
    m | give the mouse to the terminal, or take it back
    Ctrl-L Ctrl-Z | repaint, stop this job
    q Esc | back, then leave; tasks go on
story-task = task
story-answer = answer
story-from = from { $parent }
story-approved = { $by }: { $scope }
story-verify = verify
with-subagents = { $tokens }, { $price } with its subagents
record-schema-met = the answer satisfies its schema
record-withdrawn = not allowed any more: { $tools }
record-regranted = mode changed to { $mode }
record-budget-spent = budget spent: { $shortfall }
record-cancelled = cancelled
record-resumed = resumed (epoch { $epoch })
plain-interrupted = interrupted
plain-steer-queued = message queued
plain-steer-delivered = message delivered at turn { $turn }
plain-steer-missed = message too late: the task has ended
plain-started = started · { $agent } on { $model }
plain-resumed = resumed · { $kept } kept, { $in_doubt } in doubt
plain-turn = turn { $turn } · { $tokens } · { $calls }
plain-model = model { $kind }: { $message }
plain-refused = { $tool } refused: { $why }
plain-failed = { $tool } failed after { $millis } ms: { $why }
plain-elided = { $results } old results ({ $bytes } bytes) left out to save context
plain-wrap-up = asked to report: { $reason }
plain-verify = verify { $command }
plain-verify-failed = verify { $command } failed after { $millis } ms: { $ending }
many-calls =
    { $n ->
        [one] { $n } call
       *[other] { $n } calls
    }
many-finished-calls =
    { $n ->
        [one] { $n } finished call
       *[other] { $n } finished calls
    }
record-model = model: { $failure }
record-schema-unmet = the answer does not satisfy its schema
change-new = new
change-deleted = deleted
plain-changed = changed: { $files }
plain-approval-waits = waiting for approval · { $call } · { $why } · posse approvals show { $approval }
story-answered = answered
approval-by = { $scope } by { $by }
approval-is-open = open · { $left } ({ $deadline })
approval-is-answered = { $state } by { $by } ({ $scope }) at { $instant }
before-deleted = (before it was deleted: v{ $version })
until-instant = until { $end }
context-wrote = wrote { $entry }
context-deleted = deleted { $key } v{ $previous_version }
snapshot-taken = snapshot { $label } has { $keys }
context-restored = restored: { $written } written, { $deleted } deleted
approved-in = approved automatically in { $left }
denied-in = denied automatically in { $left }
column-took = TOOK
column-tool = TOOL
column-left = LEFT
column-call = CALL
tokens-shown = { $shown } tokens
nobody-else = nobody else
audience-shown = readable by { $readers } · writable by { $writers }
column-id = ID
column-tokens = TOKENS
column-age = AGE
column-keys = KEYS
column-title = TITLE
column-process = PROCESS
column-paths = PATHS
column-workspace = WORKSPACE
state-archived = archived
state-open = open
