# Messages of `posse-runtime`.

## driver/resume.rs

cancel-without-end = `{ $id }` does not end when it is cancelled
conversation-broken = the conversation of `{ $id }` is broken: { $fault }
task-out-of-time = the task `{ $id }` has used all of its { $seconds } s
task-out-of-time-hint = give it more: --timeout { $seconds }
task-out-of-turns = the task `{ $id }` has used all of its turns ({ $turns })
task-out-of-turns-hint = give it more: --max-turns { $turns }
mode-of-subagent = the task `{ $id }` is a subagent's and keeps the mode of its orchestrator

## ports.rs

there-are-none = there are none here
there-are = there are: { $names }
agent-not-found = no agent is called `{ $name }`

## leases.rs

write-paths-not-within = the write paths { $own } are not within { $outer }
write-paths-not-within-hint = a task can be given only what whoever delegates, and its agent, may write

## ports.rs

approval-not-found = no approval is called `{ $id }`

## resolve.rs

no-tool-exists = none of the tools of `{ $agent }` exists here: { $tools }

## schema.rs

output-schema-invalid = the output schema is no JSON Schema: { $why }
output-schema-invalid-hint = correct `output_schema` of the agent

## session.rs

delegation-too-deep-hint = do the task yourself
nobody-delegates = nobody in this session delegates under this name
task-too-large = the task has about { $size } tokens, the limit is { $task_tokens_max }
task-too-large-hint = write the details to shared_context and name the key in the task

## session.rs

no-worktrees = no worktrees can be made here
no-worktrees-hint = delegate without `isolation: worktree`

## session/agents.rs

agent-exists = an agent `{ $name }` exists already
agent-exists-hint = choose another name, or define it with `overwrite: true`
agent-built-in-hint = it comes with Posse and is never replaced: choose another name, with `extends: "{ $name }"` for a variant of it

## session/facades.rs

facade-unknown = there is no tool `{ $wanted }` to delegate with

## session/facades/launch.rs

launch-description = Launch autonomous agent
launch-missing-description = Agent description is required
launch-missing-prompt = Agent prompt is required
launch-invalid-json = Invalid JSON parameters
launch-resource-limit = Maximum concurrent agents limit reached
launch-creation-failed = Failed to create agent

## session/facades/launch/parameters.rs

parameter-missing = Missing value for required parameter '{ $name }'. { $why }. Call subagent again with a description and a prompt.

## session/family.rs

task-not-yours = `{ $task }` is no task of yours
task-not-yours-hint = `list_tasks` shows the tasks there are

## delegation.rs

task-running-since =
    { $turns ->
        [one] `{ $id }` is still running, { $turns } turn in { $seconds } s
       *[other] `{ $id }` is still running, { $turns } turns in { $seconds } s
    }
messages-unread = `{ $id }` has not read its last messages yet
messages-unread-hint = wait until it has made its next turn
task-not-ended = `{ $id }` has not ended yet
task-not-ended-hint = wait for it, or look at its status

## delegation/define.rs

agents-defined = defined in this session: { $names }
system-prompt-too-large = the system prompt has about { $size } tokens, the limit is { $prompt_tokens_max }
system-prompt-too-large-hint = keep instructions; let tools provide knowledge
tool-not-there = there is no tool `{ $unknown }`

## toolbox.rs

tool-twice = two tools are called `{ $own }`
tool-twice-hint = give each tool its own name

## subagent.rs of the library

nested-prompt-too-large = the system prompt has about { $size } tokens, the limit is { $system_tokens_max }
answer-not-typed = the answer does not fit its type: { $why }
agent-without-model = the agent has no model of its own
tool-arguments-no-object = the arguments of the tool `{ $tool }` are not an object

## session/writing.rs

tasks-write-nothing = tasks that are delegated from here may not write
model-price-unknown = the price of `{ $model }` is not known, so a cost limit cannot be kept
model-price-unknown-hint = add `[prices."{ $model }"]` with `input` and `output` in USD per million tokens to your configuration

## lookup.rs

task-unknown = no task is called `{ $task }`
tasks-list-hint = `posse tasks list` shows what there is
tasks-alike = several tasks begin with `{ $wanted }`
give-more-of-id = give more of the id
session-unknown = no session is called `{ $shown }`
session-unknown-hint = `posse sessions list` shows what there is; the state directory decides where it looks
sessions-alike = several sessions begin with `{ $shown }`

## worker.rs

driver-crashed = a task crashed its driver
