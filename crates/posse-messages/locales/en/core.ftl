# What `posse-core` says. A message is said with `say!`, or with `fixed!` if it is part of a record.

## board.rs

depends-on-unknown = `{ $unknown }` in depends_on is no task of this session
depends-on-unknown-hint = a task can depend on tasks that were spawned before it
open-tasks-limit = { $open_max } tasks are running or not collected, which is the most (`[session] max_open_tasks`)
open-tasks-limit-hint = collect or cancel some of them first; `list_tasks` shows them
task-still-running = `{ $id }` is still running
task-waits-for = `{ $id }` waits for { $waits_for }
task-waits-for-place = `{ $id }` waits for a place
task-waits-for-lease = `{ $id }` waits until its write paths are free
collect-later-hint = do something else and collect it later
task-not-tracked = no task `{ $shown }` is tracked here
task-never-spawned = it was never spawned in this session
task-already-collected = already_collected: `result` still has the full text
tasks-running-limit =
    { $running ->
        [one] { $running } task is already running, which is the most (`[session] max_running`)
       *[other] { $running } tasks are already running, which is the most (`[session] max_running`)
    }
tasks-running-limit-hint = collect a finished task or wait for one, or spawn with `queue: true`

## budget.rs

overrun-cost = ${ $spent } spent of ${ $limit }
overrun-tokens = { $spent } { $kind } spent of { $limit }
shortfall-cost = the next call needs up to ${ $wanted }, ${ $left } is left
shortfall-tokens = the next call needs up to { $wanted } { $kind }, { $left } are left
reservation-cost = its budget of up to ${ $wanted } cannot be reserved: ${ $left } is left
reservation-tokens = its budget of up to { $wanted } { $kind } cannot be reserved: { $left } are left

## context.rs

key-invalid = `{ $key }` is not a key
key-shape-hint = use 1 to 64 characters of a-z, 0-9 and `_`, with at most one prefix before a colon, such as `inv:findings`
name-shape-hint = use 1 to 64 characters of a-z, 0-9 and `_`
label-invalid = `{ $label }` is not a label of a snapshot
value-is-large = the value has about { $tokens } tokens of at most { $value_tokens_max }; distil it further
value-too-large = the value has about { $tokens } tokens, the limit is { $value_tokens_max }
value-too-large-hint = distil it, or split it over several keys
context-full = the other keys hold { $used } tokens, this value has { $tokens }, and a session holds at most { $total_tokens_max }
context-keys-full = the session has { $keys } keys already, and no more are possible
snapshot-exists = there is a snapshot `{ $label }` already
snapshot-exists-hint = choose another label
snapshots-full = the session has { $snapshots_max } snapshots already
session-archived = the session `{ $session }` is archived
session-archived-hint = it can be read and not be changed. A new run, or the MCP server once it is restarted, has a fresh session
session-context-deleted = the shared context of the session `{ $session }` was deleted
session-context-deleted-hint = go on without it. A new run, or the MCP server once it is restarted, has a fresh session
session-not-found = there is no session `{ $session }`
session-not-found-hint = `posse sessions list` shows what there is
session-id-invalid = `{ $session }` is not a session id
session-id-invalid-hint = use 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`
key-not-found = there is no key `{ $key }`
key-not-found-hint = `list_keys` shows what there is
snapshot-not-found = there is no snapshot `{ $label }`
snapshot-not-found-hint = `posse context snapshot` shows what there is
version-conflict = `{ $key }` has version { $version } now, written by { $written_by }
version-conflict-hint = read it, take over what changed, and write with that version as `expected_version`
version-conflict-missing = `{ $key }` does not exist now; its version is 0
version-conflict-missing-hint = write with `expected_version` 0 to create it
context-full-hint = delete what is no longer needed, or write shorter values

## context/wire.rs

keys-too-many = `keys` has more than { $keys_max } keys
versions-too-few = `versions` is at least 1
ttl-out-of-range = `ttl_s` is between 1 and { $ttl_s_max } seconds
ttl-out-of-range-hint = leave it out for a value that stays

## grant.rs

refused-command = { $why } (this is about `{ $command }`)
refused-read-only = this task may only look: `{ $tool }` could change something
delegation-too-deep = Max sub-agent depth ({ $depth_max }) reached. Cannot spawn further sub-agents.
refused-not-granted = the tool `{ $tool }` is not granted to this task; granted: { $allowed }
refused-other-calls = `{ $tool }` is allowed to this task only for: { $allowed }
refused-denied = this task must not call `{ $pattern }`
refused-by-rule = a rule of this agent denies `{ $pattern }`
refused-write-path = this task may write only here: { $places }
refused-command-writes = this task may write only here: { $places }, and a command is not held to that
refused-in-doubt = { $why } ({ $doubt })

## id.rs

agent-name-invalid = `{ $name }` is not an agent name
agent-name-invalid-hint = use 1 to 64 characters of a-z, 0-9, `_` and `-`

## approval.rs

approval-unreadable = an approval in the store cannot be read
approval-closed = `{ $id }` cannot be answered: { $why }
approvals-list-hint = `posse approvals list` shows what waits for an answer
approval-was-answered = it was { $state } by { $by }
approval-overdue = its time is over, and its default counts
approval-task-ended = its task has ended
approval-not-allowing = `{ $id }` does not allow the call: it is { $state }
approval-mismatch = `{ $id }` is about another call than this one
approval-mismatch-hint = `posse approvals show` shows what it is about, with its hash
approval-mode-denies = nobody is asked here (`approvals.mode` is `deny`)
approval-not-listed = nobody is asked here, and it is not among `approvals.allow`
approval-unattended = nobody can be asked here
approval-wants = { $agent } wants to call `{ $tool }`: { $why }
approval-about = task { $way } · call { $key } · approval { $id }
approval-bytes = { $bytes } bytes · sha256 { $hash }
approval-covers = an answer for more than this call covers: { $covers }

## journal.rs

journal-without-start = a journal must begin with the start of its task
record-unreadable = a journal record cannot be read

## lease.rs

write-path-empty = the write path `{ $shown }` is empty
write-path-too-long = the write path `{ $shown }` is too long
write-path-control-character = the write path `{ $shown }` contains a control character
write-path-not-relative = the write path `{ $shown }` is not relative to the workspace
write-path-goes-up = the write path `{ $shown }` contains `..`
write-path-hint = write paths are globs below the workspace, such as `src/**` or `docs/*.md`
write-paths-too-many = { $count } write paths are more than the { $paths_max } there may be
write-paths-too-many-hint = name directories instead of files
lease-conflict = Cannot acquire file locks. Conflicts: { $places }
lease-conflict-hint = { $holders }; wait until it has ended, or choose other paths
lease-holder = `{ $task }` holds { $paths }
lease-after-end = `{ $task }` has ended, so it can hold no write lease
write-driven-elsewhere = another process drives this task now (epoch { $current }, this was { $epoch }); nothing was written
write-lease-lost = the lease on this task's write paths was lost meanwhile; nothing was written. Read the file again, then repeat the change on its present content
write-outside-paths = `{ $path }` is not in this task's write paths: { $paths }; nothing was written
write-leased = `{ $path }` is leased to another task: { $holder }; nothing was written. Wait until that task has ended, or leave the file to it

## message.rs

arguments-not-object = arguments must be a JSON object, found { $found }
arguments-key-twice = the key `{ $repeated }` appears twice

## output.rs

answer-not-json = the answer is not JSON: { $why }
answer-many-json = the answer has { $count } JSON values; exactly one is wanted

## pattern.rs

tool-pattern-invalid = `{ $pattern }` names no tool: { $why }
tool-pattern-invalid-hint = write a name such as Read, a pattern such as mcp__github__*, or a call such as Bash(git *)
pattern-empty = it is empty
pattern-too-long = it is too long
pattern-control-character = it contains a control character
pattern-not-closed = the parenthesis is not closed
pattern-name-invalid = a name has letters, digits, `_`, `-`, `.`, `/` and `*`
pattern-no-name = there is no name in the parentheses

## run.rs

budget-spent-report = The budget does not allow another step ({ $shortfall }).
tools-withdrawn-note = not allowed any more: { $names }
tools-withdrawn = You are not allowed to use these tools any more: { $names }.
announced-call-missing = the model announced a tool call and made none; asking again
answer-empty-nudge = Your last message had no text. Give your answer to the task now.
only-mistakes = { $mistakes } turns in a row had only wrong tool calls
turns-limit-report = This is the last of your { $turns_max } turns.
tool-calls-max = { $tool_calls_max ->
        [one] the limit is 1 tool call
       *[other] the limit is { $tool_calls_max } tool calls
    }
tool-calls-limit-report = The limit of { $tool_calls_max } tool calls is reached.
report-now = { $why } You cannot call tools any more. Report now: what you found and did, and what is still open.
report-now-json = { $why } You cannot call tools any more. Answer now with what you have: only JSON that satisfies the schema, without a fence and without any other text.
not-run-stopped = not run: the task was stopped
stop-reason-unknown = unknown stop reason `{ $raw }`
paused-too-often = paused too often
announced-call-missing-twice = a tool call was announced twice and not made
answer-cut-off = the answer was still cut off after { $continuations ->
        [one] 1 continuation
       *[other] { $continuations } continuations
    }

continue-answer = Your answer was cut off by the output limit. Continue exactly where it stopped, without repeating anything.
go-on = You may go on with the task from where you stopped.
seconds = { $n } s

## run/context.rs

context-full-report = The conversation fills the model's context window.
window-full = the conversation fills the model's context window
context-refused = the provider refused the conversation's length
result-left-out = [left out to save context: { $bytes } bytes from `{ $tool }`. The full text is kept as result { $key } of this task; make the call again if you need it]

## run/cycle.rs

cycle-stopped =
    { $period ->
        [1] the same calls were made { $times } times with the same results
       *[other] the same { $period } turns of calls were made { $times } times with the same results
    }
cycle-warning =
    { $period ->
        [1] note: the same calls were made { $times } times with the same results. Try something else or give your answer; at { $stop_at } times the task is ended
       *[other] note: the same { $period } turns of calls were made { $times } times with the same results. Try something else or give your answer; at { $stop_at } times the task is ended
    }

## run/judge.rs

json-taken-out = the JSON of the answer stood { $wrapping }, and was taken out
answer-normalized =
    { $count ->
        [one] { $count } value of the answer was rewritten to satisfy the output schema: { $places }
       *[other] { $count } values of the answer were rewritten to satisfy the output schema: { $places }
    }
verified-without-tools = nothing was done with tools; the commands that verify the result passed without
result-not-verified = the result was not verified: the task ended before that
answer-not-schema = the answer does not satisfy the output schema
repair = Your answer is not what was asked for: it has to be JSON that satisfies the schema. What is wrong:
repair-schema = The schema: { $schema }
repair-reply = Reply with only the corrected JSON, without a fence and without any other text.
correct = You said that the task is done, so the result was checked in the workspace. This failed:
correct-reply = Correct what is wrong, then give your whole answer again. The check is made once more.

## run/plan.rs

tool-unknown = there is no tool `{ $name }`; you have: { $known }
refused = refused: { $why }
arguments-unusable = the arguments are not usable, nothing was run: { $why }
calls-per-turn-limit = not run: at most { $most } calls per turn
tool-calls-limit = not run: the limit of { $most } tool calls is reached
arguments-truncated = truncated: your output limit cut this call off inside its arguments, nothing was run. Make the call again with shorter arguments, or split the work into several calls

## run/replay.rs

journal-two-starts = a journal has two starts

## verify.rs

exit-code = exit code { $code }
not-run = not run: { $why }
verify-too-many = there are { $count } commands to verify with, at most { $commands_max } are run
verify-too-many-hint = put them into a script
verify-command-invalid = `{ $shown }` is no command to verify with: it is empty, has a NUL, or is too long
verify-command-invalid-hint = a command has 1 to { $command_bytes_max } bytes
verify-not-allowed = the result cannot be verified with `{ $shown }`: { $why }
verify-not-allowed-hint = commands that verify a result are run only for those who may use `bash`: allow it (`--allow bash`), or leave `verify` out

## text.rs

bytes-left-out = [{ $left_out } of { $bytes } bytes left out here]

## run.rs

some-calls = some calls
rights-withdrawn = You have fewer rights than before. Not allowed any more: { $names }.

## grant.rs

refused-must-not-ask = `{ $tool }` could change something, and this task must not ask for that
refused-no-network = this task has no network
refused-command-network = this task may reach only: { $network }, and a command is not held to that
refused-tool-network = this task may reach only: { $network }, and `{ $tool }` is not held to that
refused-no-address = there is no address
refused-address = this task may reach only: { $network }, not { $address }
asks-may-change = `{ $tool }` could change something, which needs a person's yes
refused-and-must-not-ask = { $why }, and this task must not ask

## grant/rights.rs

asks-pattern = `{ $pattern }` needs a person's yes
agent-exposed = it can look at what is private (`{ $looks }`), reads what strangers wrote, and can send it away (`{ $reaches }`): a text it reads could make it do so; give one of these to another agent
refused-not-asked = { $why }, and nobody was asked about this place; name it itself
refused-read-path = this task may read only here: { $places }
refused-command-reads = this task may read only here: { $places }, and a command is not held to that

## run/plan.rs


## grant/network.rs

hosts-too-many = a network has at most 1000 hosts
host-invalid = `{ $shown }` names no host: { $why }
host-invalid-hint = write a host such as docs.rs, or *.docs.rs for those below it, without `https://`
not-a-port = this is no port
below-a-number = nothing is below a number

## context/audience.rs

audience-pattern-hint = name participants as in `written_by`, such as `subagent:researcher:*`; `*` is everyone
audience-too-many = `{ $name }` has more than { $patterns_max } patterns
audience-pattern-invalid = `{ $pattern }` in `{ $name }` is no pattern of participants
key-not-readable = `{ $key }` is not for you to read
key-not-writable = `{ $key }` is not for you to write or delete
key-denied-hint = go on without it, or ask whoever delegated to you; use another key for what you found

## context/wire.rs

keys-empty = `keys` is empty
keys-empty-hint = name at least one key to wait for
known-version-stray = `known_versions` has `{ $key }`, which is not among `keys`
wait-out-of-range = `timeout_s` is between 1 and { $wait_s_max }

## arguments.rs

action-missing = action: it is missing
action-unknown = action: there is no { $found }
actions-there-are = there are: { $names }
action-takes-no-field = `{ $action }` does not take `{ $name }`
action-takes = `{ $action }` takes: { $fields }
action-takes-nothing = `{ $action }` takes no fields
action-needs-field = `{ $action }` needs `{ $name }`
arguments-not-json = arguments: they are not valid JSON
field-near = did you mean `{ $name }`?
field-misfit = { $name }: expected { $expected }, found { $found }
field-empty = { $name }: it is empty
expected-text = a string
expected-texts = a list of strings
expected-truth = true or false
expected-integer = an integer from { $least } to { $most }
expected-integer-from = an integer of { $least } or more
expected-integers = an object of integers
expected-positive = a number above 0
expected-object = an object
expected-arguments = an object
expected-choice = one of { $choices }
found-list = a list
found-object = an object
found-text = a long string
