# Messages of `posse-core`.

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

## pattern.rs

tool-pattern-invalid = `{ $pattern }` names no tool: { $why }
tool-pattern-invalid-hint = write a name such as Read, a pattern such as mcp__github__*, or a call such as Bash(git *)
pattern-empty = it is empty
pattern-too-long = it is too long
pattern-control-character = it contains a control character
pattern-not-closed = the parenthesis is not closed
pattern-name-invalid = a name has letters, digits, `_`, `-`, `.`, `/` and `*`
pattern-no-name = there is no name in the parentheses

## run/replay.rs

journal-two-starts = a journal has two starts

## verify.rs

verify-too-many = there are { $count } commands to verify with, at most { $commands_max } are run
verify-too-many-hint = put them into a script
verify-command-invalid = `{ $shown }` is no command to verify with: it is empty, has a NUL, or is too long
verify-command-invalid-hint = a command has 1 to { $command_bytes_max } bytes
verify-not-allowed = the result cannot be verified with `{ $shown }`: { $why }
verify-not-allowed-hint = commands that verify a result are run only for those who may use `bash`: allow it (`--mode auto`, or `--allow bash` without a sandbox), or leave `verify` out

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

## outcome.rs

run-incomplete = the run did not complete: { $why }

## grant.rs

agent-exposed = it can read private data (`{ $looks }`), reads untrusted text, and can send data out (`{ $reaches }`): an injected instruction could leak data; give one of these to another agent

## spans.rs

span-invalid = a span is a whole number with a unit: 90s, 45m, 12h, 30d, 8w or 1h30m
span-or-seconds-invalid = a time is a number of seconds, or whole numbers with units: 90, 90s, 45m, 12h or 1h30m
span-seconds = { $n } s
span-minutes = { $n } min
span-hours = { $n } h
span-days = { $n } days

## sizes.rs

size-invalid = a size is a whole number with a unit: 500MB, 2GB or 1GiB

## material.rs

stdin-taken = { $size } from standard input go with the task
stdin-cut = { $size } on standard input: the beginning and the end of it, { $shown }, go with the task
stdin-endless = standard input goes on after { $size }: the beginning and the end of that, { $shown }, go with the task

## refusal.rs

refused-by-agent-file = the file of the agent `{ $agent }` does not give it
refused-by-flag = left out by the mode `plan`; --mode ask or --mode auto allow it
refused-by-configuration = `deny` in your configuration names it
refused-to-allow = to allow: posse run --allow { $tools } …
refused-tools = refused: { $tools } · { $advice }

## tool_names.rs

tool-to-allow-unknown = there is no tool `{ $unknown }` to allow or to deny
