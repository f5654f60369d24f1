# Messages of `posse-cli`.

## language.rs

language-unknown = warning: there is no language `{ $unknown }`; there are: { $names }

## commands.rs

runtime-not-started = the runtime cannot start

## commands/agents.rs

agents-not-trusted = { $untrusted } not trusted: look at them with `posse agents check`, then let them run with `posse trust`
warning = warning: { $text }
no-place-for-agents = there is no place for agents of yours: HOME is not set
no-place-for-agents-hint = set HOME, or leave out --user
exists-edit-it = it exists; edit it, or choose another name
check-writable = check that you may write there and that the disk has room
agent-shadows = from now on it stands before the agent `{ $name }` of { $other }
agent-is-shadowed = here it does not count: the agent `{ $name }` of { $other } stands before it
seen-everywhere = seen by posse in every directory
seen-here = seen by posse in this directory and below
format-unknown = there is no format `{ $format }`
export-excess = `{ $agent }` would have more rights in the format { $format }: { $excess }
export-excess-hint = choose another format, or write it all the same with --force
nothing-overwritten = nothing that exists is overwritten
export-lost = lost: { $text }
export-read-as = { $format } reads it as { $file }

## commands/approvals.rs

no-approvals = nothing waits for an answer
approval-none-of-task = `{ $task }` waits for no approval
approvals-of-task = `{ $task }` waits for several approvals: { $ids }
approvals-of-task-hint = `posse approvals list` shows them
approvals-footer = posse approvals show ID · approve ID · deny ID
approval-other-hash = `{ $id }` is about another call than the one with this hash
approval-now = { $id } is { $state }
approvals-watching = waiting for questions; Ctrl-C ends

## commands/agents/view.rs

no-tools = no tools

## commands/chat.rs

chat-banner = { $model } · /help, /quit or Ctrl-D · the conversation is `{ $session_id }`
chat-command-unknown = there is no command `{ $command }` and nothing was sent; /help lists the commands, and a line that begins with a space is a message whatever follows
chat-not-verified = the commands of `verify` are not run in a conversation
chat-mode-not-kept = the mode of the next message cannot be kept
chat-mode-names = the modes are `/mode plan`, `/mode ask` and `/mode auto`
chat-resume-what = `--resume` without a task needs a terminal to choose one
chat-resume-what-hint = name a task: `posse chat --resume ID`, or take the last one: `posse chat --continue`
chat-none = there is no conversation of this project to continue
chat-none-hint = `posse chat` begins one; `posse chat --resume` lists those of other projects with Ctrl-A
chat-left = chat { $id } is kept: posse chat --continue
chat-model-changed = { $model } answers from the next message on
chat-needs-screen = `{ $command }` needs a terminal
chat-flag-fixed = `{ $flag }` cannot be changed in a conversation that goes on: it keeps what it was begun with
chat-flag-fixed-hint = leave `{ $flag }` out, or begin a new conversation without `--resume`
message-unreadable = the next message cannot be read

## mode.rs
mode-of-review = a review only reads: its mode is always `plan`

## commands/context.rs

context-list-hint = `posse context list` shows what there is
context-version-hint = `posse context read` shows what it is now; `--expect` takes that version
no-snapshots = no snapshots yet; `posse context snapshot LABEL` takes one
keys-not-there = not there: { $names }
context-used = session { $session } · { $keys } · { $size }
input-not-text = standard input cannot be read as text

## commands/drive.rs

screen-not-opened = the terminal cannot be used
end-resume = resume: posse tasks resume { $id }
end-try-again = try again: posse tasks resume { $id }
run-interrupted = interrupted; posse tasks resume { $task } continues it with everything it delegated
task-left = { $id } goes on: posse tasks watch { $id }
task-interrupted = { $signal } ended this process; `{ $task }` is interrupted, not cancelled
task-interrupted-hint = `posse tasks resume { $task }` continues it with everything it delegated
signals-unavailable = signals cannot be received
goes-on-with-worker = { $left } goes on with: posse worker --local --until-idle
schema-unsatisfied = does not satisfy the schema: { $error }
in-doubt-call = in doubt: { $call } (call { $key }) may or may not have happened
verify-failed = verify failed: { $command } · { $ending }
answer-is-empty = the answer was empty
turn-limit-reached = turn limit ({ $turns }) reached

## commands/export.rs

file-written = { $file } written

## commands/init.rs

check-writable-here = check that you may write here and that the disk has room
init-next = next: posse doctor, read the agent and let it run with `posse trust`, then posse run "…"

## commands/run.rs

task-empty = the task is empty
task-empty-hint = say what to do: posse run "Why is the login test flaky?"
task-unreadable = the task cannot be read from standard input
task-input-too-large = the task on standard input is larger than 1 MiB
task-input-too-large-hint = put the details into a file in the workspace and name it in the task
task-detached = continues in the background: posse tasks watch { $task } follows it, posse tasks cancel { $task } ends it

## commands/sessions.rs

session-deleted-told = the shared context of { $session } is deleted; its tasks and journals stay
session-archived-told = { $session } is archived: its shared context can be read and not be changed
no-sessions-here = there are no sessions here
run-starts-one = `posse run "…"` starts one
no-sessions-yet = no sessions yet; `posse run "…"` starts one
task-is-driven = `{ $task }` is being driven by process { $process }
task-is-driven-hint = wait for it, or end that process first

## commands/tasks.rs

no-tasks-yet = no tasks yet; `posse run "…"` starts one
no-task-like-that = no task is like that
no-tasks-here = no tasks in { $place } yet; `--all` lists those of other projects
tasks-of-project = { $tasks } of { $place }
task-waits-for-approval = waits for approval: posse approvals show { $approval }
many-subagents =
    { $n ->
        [one] 1 subagent
       *[other] { $n } subagents
    }
many-sessions =
    { $n ->
        [one] 1 session
       *[other] { $n } sessions
    }
column-state = STATE
column-agent = AGENT
column-task = TASK
column-tasks = TASKS
column-project = PROJECT
column-turns = TURNS
column-cost = COST
column-model = MODEL
column-day = DAY
column-input = INPUT
column-cached = CACHED
column-output = OUTPUT
column-about = ABOUT
sessions-of-project = { $sessions } of { $place }
no-sessions-of-project = no sessions in { $place } yet; `--all` lists those of other projects
task-tool-gone = `{ $task }` was given the tool `{ $missing }`, which is not there any more
task-tool-gone-hint = `posse doctor` in its workspace shows which tools there are and what is wrong with others
result-unknown = `{ $id }` has no result `{ $key }`
result-unknown-hint = results are numbered TURN.INDEX, such as 3.0

## commands/tasks/cancel.rs

cancel-had-ended = it had ended before
cancel-not-yet = process { $process } was told and has not ended it yet
cancel-too-late = it ended before it could be cancelled

## commands/tasks/message.rs

message-empty = the message is empty
message-queued = the task reads it before its next turn
message-delivered = the task has read it, at turn { $turn }
resume-had-completed = `{ $task }` had completed: nothing runs, this is its answer
message-missed = too late, the task had ended
question-none = `{ $task }` asks nothing

## commands/tasks/watch.rs

nobody-drives = nobody drives `{ $id }` now; it goes on with: posse tasks resume { $id }
nothing-runs = no task of this project is running
screen-failed = the screen failed
changes-kept-apart = the changes of { $task } are kept apart: posse tasks diff { $task } shows them, posse tasks apply { $task } merges them

## commands/tasks/apart.rs

worktree-used-up = the worktree of `{ $task }` is gone: it was applied or discarded
worktree-used-up-hint = start a new task
patch-not-yet = there is no patch of `{ $task }` yet ({ $path })
patch-not-yet-hint = it is written when the task ends
task-changed-nothing = `{ $task }` changed nothing
undo-restored = restored { $path }
undo-removed = removed { $path }
undo-would-restore = would restore { $path }
undo-would-remove = would remove { $path }
undo-nothing = { $path } is as it was before
undo-kept = kept { $path }: { $why }
undo-apart = `{ $task }` worked in a worktree of its own, which is gone
patch-not-written = the patch cannot be written
changes-applied-before = what `{ $task }` changed was applied before
change-written = written { $name }
change-merged = merged  { $name }
changes-applied = applied to { $origin }; the patch is kept, the worktree was removed
patch-removed = removed the patch of `{ $task }`; what was applied stays
changes-removed = removed what `{ $task }` changed
task-without-worktree = `{ $task }` has no worktree
task-without-worktree-hint = only tasks with `isolation: worktree` have one, until it is discarded; one that changed nothing is removed
task-at-work =
    { $what ->
        [apply] `{ $task }` is at work: cannot apply its changes
        [undo] `{ $task }` is at work: cannot take its changes back
       *[discard] `{ $task }` is at work: cannot discard its changes
    }
task-at-work-hint = wait for it
task-was-interrupted =
    { $what ->
        [apply] `{ $task }` was interrupted: cannot apply its changes
       *[discard] `{ $task }` was interrupted: cannot discard its changes
    }
task-was-interrupted-hint = go on with `posse tasks resume { $task }`, or end it with `posse tasks cancel { $task }`

## commands/trust.rs

no-project-to-trust = there is no project here to trust
no-project-to-trust-hint = go to a project's directory
project-without-agents = this project has no agents
extends-untrusted = `{ $name }` does not run yet: it extends { $path }, which is not trusted
trust-inside-task = this is a command of a task of Posse, and only a person can trust files
trust-inside-task-hint = ask the person to run `posse trust`

## commands/worker.rs

worker-gave-up = could not go on with { $tasks }
worker-gave-up-hint = the lines above say why; `posse tasks resume` or `posse tasks cancel` settles each of them
worker-stopped = stopped; what was under way goes on with the next worker
worker-idle = nothing to go on with: no task is interrupted or waits for a worker
worker-not-started = no background worker could be started
not-taken-up = not taken up

## commands/leases.rs

no-leases = nobody holds a write lease; tasks with `write_paths` do while they run
lease-not-held = `{ $task }` holds no write lease
lease-not-held-hint = `posse leases` shows who does
lease-in-use = `{ $task }` is driven by process { $process } and may be writing { $paths }
lease-in-use-hint = wait for it, or end it with `posse tasks cancel { $task }`; `posse leases release { $task } --force` takes the lease away while it works
lease-taken-away = WARNING: `{ $task }` is at work. Its writes to { $paths } are refused from now on, unless it gets the lease again; a command of it is stopped within a second or two
lease-released = released { $paths } of `{ $task }`

## config.rs

file-too-large = { $path } is larger than 1 MiB

## render/plain.rs

plain-note = note: { $note }

## setup.rs

directory-unreadable = the current directory cannot be read

## terminal.rs

stdout-failed = error: standard output cannot be written: { $why }
answer-not-written = the answer cannot be written to standard output: { $why }
error-because = because: { $cause }
error-hint = hint: { $hint }

## render.rs

tokens-of = { $tokens } of { $most } tokens
turns-shown =
    { $n ->
        [one] { $n } turn
       *[other] { $n } turns
    }
many-errors =
    { $n ->
        [one] { $n } error
       *[other] { $n } errors
    }
many-files =
    { $n ->
        [one] { $n } file
       *[other] { $n } files
    }
many-keys =
    { $n ->
        [one] { $n } key
       *[other] { $n } keys
    }
many-tasks =
    { $n ->
        [one] { $n } task
       *[other] { $n } tasks
    }
many-tokens =
    { $n ->
        [one] { $n } token
       *[other] { $n } tokens
    }
many-tools =
    { $n ->
        [one] { $n } tool
       *[other] { $n } tools
    }
many-turns =
    { $n ->
        [one] { $n } turn
       *[other] { $n } turns
    }
many-warnings =
    { $n ->
        [one] { $n } warning
       *[other] { $n } warnings
    }

## words of listings and pages

state-error = error
row-hidden = hidden
agent-next = next: fill it in, look at it with `posse agents check { $name }`
agent-next-trust = next: fill it in, look at it with `posse agents check { $name }`, then `posse trust`
trusted-before = trusted before
trusted-now = trusted now
trusted-not-ours = belongs to another user: not trusted
trusted-not-broken = has errors: not trusted
project-not-trusted-any-more = { $project } is not trusted any more
project-was-not-trusted = { $project } was not trusted
init-project = read by every posse command in this project
init-agent = an agent to try: posse run --agent reviewer "…"
init-written = written
init-exists = exists, left as it is
stopped-after = { $reason } after { $seconds }s
continue-with = continue: posse tasks resume { $id }{ $more }      full text: posse tasks show { $id }
resumes-with = it also continues what was stopped with it: { $tasks }
many-trees =
    { $n ->
        [one] { $n } tree
       *[other] { $n } trees
    }
gc-no-rule = nothing says which tasks to delete
gc-no-rule-hint = `posse gc --older-than 30d`, or set `max_age` or `max_size` below `[store]` in your configuration
gc-needs-rewrite = the space is free for new tasks, but not given back yet: this store has to be rewritten once, which would hold up tasks that run. Run `posse gc` again when none does
gc-not-started = old tasks were not deleted: { $why }
task-inside-tree = `{ $task }` is part of a tree, and a tree is deleted whole
task-inside-tree-hint = `posse tasks delete { $root }` deletes all of it
stdin-silent = standard input is a pipe on which nothing came within 1 s: the task begins without it. To wait for it, end the command with `-`: posse run "What failed?" -
stdin-unreadable = standard input cannot be read
session-none-of-project = no session of this project
session-none-of-project-hint = `posse sessions list` shows those of other projects, and `--session ID` names one
chat-help =
    /help   shows this
    /mode   plan, ask or auto: what the next messages may change
    /model  another model for the next messages, as provider:model
    /quit   ends the conversation, as Ctrl-D does; it can be taken up again with `posse chat --resume`
    Ctrl-C  stops an answer
    Everything else is sent to the model.
demo-banner = Posse demo · scripted model, no key, no network · state in { $state }
demo-end =
    Its tasks: posse tasks list --state { $state }

    That was a recording of a model. With a real one:
      export ANTHROPIC_API_KEY=…      (or OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST)
      posse run "Why is the login test flaky?"
demo-shared-context = shared context: { $entries }

## help.rs

config-changed = changed `{ $key }` in { $file }
config-absent = (not there)
config-unchanged = nothing was changed in { $file }
config-editor-failed = the editor `{ $editor }` failed
config-editor-hint = set VISUAL or EDITOR
config-edit-kept = nothing was changed; your text is in { $file }
config-default = `{ $key }` is not set; this is the default
config-no-default = `{ $key }` is not set and has no fixed default
config-edit-no-terminal = the editor `{ $editor }` needs a terminal
config-edit-no-terminal-hint = `posse config path` shows the files, `posse config set` changes a setting
models-none = no provider is set up
models-none-hint = `posse setup` sets one up
models-column-model = MODEL
models-column-context = CONTEXT
models-column-input = INPUT/M
models-column-output = OUTPUT/M
models-note = models: { $n } · prices in US dollars per million tokens, from a built-in table or `[prices]`; `$?` is unknown, `*` the default
setup-no-model = No model is configured.
setup-which-provider = Which provider?
setup-ask-key = Key for { $provider }:{" "}
setup-ask-url = Base URL:{" "}
setup-ask-model = Model:{" "}
setup-models = models: { $names }
setup-answered = ✓ answered in { $seconds } s · { $models } models · default { $model }
setup-stored = ✓ saved in { $file } (only you can read it)
setup-configured = ✓ saved in { $file }
setup-next = `posse` starts a chat; `posse demo` shows a whole delegation without a key
setup-with-config = `posse setup` changes your own configuration and takes no --config
setup-needs-provider = without a terminal, name the provider
setup-needs-provider-hint = posse setup anthropic < key.txt
setup-needs-url = name the address of the server with --base-url
setup-needs-key = no key for { $provider } came on standard input
usage-did-you-mean = did you mean `{ $name }`?
usage-values = there are: { $names }
man-pages-written = man pages are in { $directory }

## commands/review/report.rs

review-nothing = no changes: nothing to review
review-nothing-within = no changes in what was named: nothing to review
review-nothing-since = no changes since `{ $base }`: nothing to review
review-nothing-since-within = no changes since `{ $base }` in what was named: nothing to review
review-nothing-staged = nothing is staged: nothing to review
review-nothing-commit = the commit `{ $commit }` changes nothing: nothing to review

## commands/context.rs

key-was-deleted = deleted { $key }
context-wait-over = the time is over: nothing was written or deleted
cost-no-name = (without a reply)
cost-total = total
cost-unpriced = no price is known for { $tokens }: add it under `[prices]` in your configuration

## commands/mcp.rs

mcp-no-pipes = standard input and output cannot be used
serve-listening = listening on { $url }
serve-beyond-loopback = { $address } can be reached from other machines, and nothing would encrypt the tokens
serve-beyond-loopback-hint = give `--tls-cert` and `--tls-key`, or put a proxy with TLS in front and say `--behind-proxy --public-url https://…`
serve-ending = the server is ending
public-url-invalid = `{ $url }` is no address such as https://posse.example
token-shown-once = the token `{ $name }` ({ $scopes }) is shown only now
token-unknown = there is no token `{ $name }`
token-unknown-hint = `posse tokens list` shows those there are
token-revoked = the token `{ $name }` is revoked
no-tokens = there are no tokens; `posse tokens add NAME` makes one
login-link-once = the link works once, within ten minutes
column-name = NAME
column-kind = KIND
column-scopes = SCOPES
column-expires = EXPIRES
mcp-listening = listening on http://{ $address }{ $path } · token: { $place }
mcp-handed-over = tasks that go on in a process of their own: { $count }
mcp-install-where = for { $host }, in { $file }:
mcp-key-offer = the key in { $variable } is not passed on by most hosts. Store it in { $file }, readable for you alone? [Y/n]
mcp-key-declined = no key was stored; put it into { $file } and name that as `api_key_file` in your configuration
mcp-key-not-stored = the key in { $variable } was not stored, and most hosts do not pass it on: add --store-key to store it for you alone
mcp-key-stored = the key is now in { $file }, readable for you alone, and { $config } names it: most hosts keep the environment from the servers they start
mcp-key-by-hand = most hosts keep the environment from the servers they start: put the key into { $file } and set `api_key_file` under `[providers.{ $provider }]` in your configuration
mcp-install-there = { $file } names `posse` already; nothing was changed
mcp-doctor-answers = answers { $method } in { $millis } ms
mcp-doctor-tools = tools: { $names } (about { $tokens } tokens)
mcp-doctor-agents = agents: { $names }
mcp-doctor-no-agents = no agent can be used as a host starts it: { $why }
mcp-doctor-no-agents-hint = most hosts keep the environment to themselves: name a model and an `api_key_file` in the configuration
mcp-writing-advice = a person can let tasks write: `posse mcp --write PATHS` (such as `'src/**'`, or `'**'` for everything), `--allow TOOLS`, or `write` under `[mcp]` in the configuration
mcp-doctor-rights = tools of tasks: { $names }
mcp-doctor-writes = tasks may write: { $paths }
mcp-writes-nothing = tasks may look and not write; { $advice }
files-changed = changed { $files }: posse tasks diff { $task } shows them
changes-more = and { $n } more

## commands/chat/screen.rs

chat-no-screen = the terminal cannot be used for a conversation
story-more = posse tasks show { $task } --turn N shows one turn, --text the whole answer
turn-unknown = `{ $id }` has no turn { $turn }; it has { $turns }
turn-unknown-hint = `posse tasks show { $id }` lists them
answer-none-yet = `{ $task }` has no answer yet
store-only-read = warning: the store is open for reading only: { $why }
edited-by =
    { $n ->
        [one] { $task } { $agent }, turn { $turns }
       *[other] { $task } { $agent }, turns { $turns }
    }
doctor-no-terminal = none: output is lines
doctor-colors = 16 colors
doctor-no-colors = no colors
doctor-ascii = ASCII marks
doctor-no-room = too small for screens: output is lines
doctor-tmux-escape = Esc waits { $millis } ms; in tmux.conf: set -sg escape-time 10
doctor-tmux-unasked = tmux did not say how long Esc waits
