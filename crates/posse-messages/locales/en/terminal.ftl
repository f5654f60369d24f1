# Messages of `posse-terminal`.

## rows

task-row-root = root
task-row-model = waiting for the model
task-row-thinking = thinking
task-row-asking = asking for { $tool }
task-row-retry = retry in { $seconds }s: { $why }
task-row-rate-limited = rate limited
task-row-http-status = HTTP { $status }
task-row-no-progress = no progress
task-row-connection = connection failed
task-row-bad-reply = invalid reply
task-row-approve = approve: { $call }
task-row-question = asks: { $question }
task-row-lease = waits for lease { $paths }
task-row-queued = queued
task-row-queued-after = queued: after { $tasks }
task-row-delegating = delegating
task-row-resumed = resumed
task-row-interrupted = interrupted
task-row-verifying = verifying { $command }
task-row-reporting = reporting
task-row-refused = { $tool } refused: { $why }
task-row-failed = { $tool } failed: { $why }
task-row-turn = turn { $turn }/{ $turns_max }
task-row-context = ctx { $percent }%
task-row-tokens = { $count } tok
task-row-turn-limit = turn limit
task-row-call-limit = tool call limit
task-row-budget-limit = budget used up
task-row-context-limit = context window full
task-row-output-limit = cut off by the output limit
task-row-time-limit = out of time
task-row-stalled = no call succeeded
task-row-cancelled = cancelled
task-row-model-failed = the model failed
task-row-no-answer = no answer
task-row-dependency-failed = a task before it failed
task-row-output-invalid = the answer does not fit the schema
task-row-verify-failed = verification failed
task-row-writing =
    { $n ->
        [one] writing, 1 character
       *[other] writing, { $count } characters
    }
task-row-waits =
    { $n ->
        [one] waits for { $n } subagent
       *[other] waits for { $n } subagents
    }
task-row-queued-place =
    { $place ->
        [1] queued: 1st, { $running } of { $slots } run
        [2] queued: 2nd, { $running } of { $slots } run
        [3] queued: 3rd, { $running } of { $slots } run
       *[other] queued: no. { $place }, { $running } of { $slots } run
    }
task-row-folded =
    { $state ->
        [input] { $n } need input
        [working] { $n } working
        [failed] { $n } failed
        [queued] { $n } queued
        [completed] { $n } completed
       *[other] { $n } subagents
    }
task-row-folded-more =
    { $state ->
        [input] { $n } more need input
        [working] { $n } more working
        [failed] { $n } more failed
        [queued] { $n } more queued
        [completed] { $n } more completed
       *[other] { $n } more
    }

## keys

live-keys-one = ? keys   q leave it running   Ctrl-C stop
live-keys-tree = ↑↓ Enter open   s steer   c cancel   q leave   ? keys
live-keys-tree-stay = ↑↓ Enter open   s steer   c cancel   ? keys
live-keys-one-stay = ? keys   Ctrl-C stop
live-keys-answer = a answer { $task }

## end of a run

task-end-completed = completed in { $took }
task-end-partial = partial after { $took }
task-end-failed = failed after { $took }
task-end-cancelled = cancelled after { $took }
task-end-interrupted = interrupted after { $took }
task-end-turn-limit = turn limit ({ $n })
task-end-no-file = no file was changed
task-end-new = new
task-end-deleted = deleted
task-end-more-files = { $n } more
task-end-turns =
    { $n ->
        [one] { $n } turn
       *[other] { $n } turns
    }
task-end-cost-with =
    { $n ->
        [one] { $cost } with { $n } subagent
       *[other] { $cost } with { $n } subagents
    }
task-end-files =
    { $n ->
        [one] { $n } file changed: { $files }
       *[other] { $n } files changed: { $files }
    }

## approval card

card-wants = { $task } { $agent } wants to { $call }
card-wants-run = { $task } { $agent } wants to run: { $command }
card-keys = y once   t this task   s session   n no, say why   d whole diff   Esc later
card-because = because: { $reason }
card-asks = { $task } asks: { $question }
card-answer = answer:
card-why = why? (Enter without a reason)
card-above = the whole call is printed above
card-approved-in = approved by itself in { $left }
card-denied-in = denied by itself in { $left }
card-approved-once = approved once: { $call } ({ $task })
card-approved-task = approved for this task: { $call } ({ $task })
card-approved-session = approved for the session: { $call } ({ $task })
card-denied = denied: { $call } ({ $task })
card-hidden =
    { $n ->
        [one] { $n } more line: d shows it
       *[other] { $n } more lines: d shows them
    }

## prompt

prompt-pasted =
    { $n ->
        [one] pasted { $n } line
       *[other] pasted { $n } lines
    }
prompt-search = search
prompt-search-nothing = not found
picker-hint = type to search · Ctrl-A all projects
picker-nothing = nothing found
usage-heading = Usage:
usage-commands = Commands
usage-options = Options
usage-arguments = Arguments
usage-global = Global options
usage-model = Model
usage-rights = Rights
usage-limits = Limits
usage-examples = Examples
usage-help = Print help
usage-version = Print version
usage-unknown-argument = there is no argument `{ $argument }`
usage-unknown-command = `{ $command }` is not a command
usage-missing = these arguments are missing: { $arguments }
usage-conflict = `{ $argument }` cannot be used together with `{ $other }`
usage-twice = `{ $argument }` is given twice
usage-value-missing = `{ $argument }` needs a value
usage-value-unknown = `{ $value }` is no value of `{ $argument }`
usage-value-wrong = `{ $value }` is no value of `{ $argument }`: { $why }
usage-run-it = to run it as a task: { $command }
usage-help-hint = `{ $command } --help` shows what there is
completions-install =
    Install:
      bash  echo 'source <(posse completions bash)' >> ~/.bashrc
      zsh   echo 'source <(posse completions zsh)' >> ~/.zshrc   (after compinit)
      fish  posse completions fish > ~/.config/fish/completions/posse.fish
example-task = Why is the login test flaky?
example-fix = Fix the failing test
example-summary = Write release notes for these commits
example-message = Keep the old name
example-answer = Use the second one
usage-work = Work
usage-look = Look
usage-configure = Configure
usage-serve = Serve and maintain
