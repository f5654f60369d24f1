# What `posse-runtime` says. A message is said with `say!`, or with `fixed!` if it is part of a record.

## driver.rs

run-cancelled = the run was cancelled
run-out-of-time = the run's time is over
model-client-crashed = internal_error: the model client crashed ({ $panic })

## driver/calls.rs

tool-given-up = the tool did not end when it was told to, and was given up
call-in-doubt = in doubt: the process that made this call ended before its outcome was written down. It may or may not have happened, and it was not repeated. Check its effect before you decide whether to make the call again
no-output = (no output)

## driver/approval.rs

approval-stopped = its task was stopped
approval-passed-over = the conversation went on without it
refused-no-reason = refused: no
refused-with-reason = refused: { $reason }
refused-by-person = refused: a person said no
refused-unanswered = refused: { $why }, and nobody answered in time
refused-by-policy = refused: { $why }, and { $policy }
nobody-is-asked = nobody is asked here

## driver/judge.rs

the-answer = the answer
schema-broken = the schema itself is broken: { $why }
bash-withdrawn = `bash` is not allowed to this task any more
no-verifier = this session runs no commands to verify a result
command-given-up = it did not end when it was told to, and was given up
verifier-crashed = internal_error: the verifier crashed ({ $panic })

## driver/resume.rs

cancel-without-end = `{ $id }` does not end when it is cancelled
conversation-broken = the conversation of `{ $id }` is broken: { $fault }
task-out-of-time = the task `{ $id }` has used all of its { $seconds } s
task-out-of-time-hint = give it more: --timeout { $seconds }
task-out-of-turns = the task `{ $id }` has used all of its turns ({ $turns })
task-out-of-turns-hint = give it more: --max-turns { $turns }

## ports.rs

there-are-none = there are none here
there-are = there are: { $names }
agent-not-found = no agent is called `{ $name }`

## leases.rs

write-paths-not-within = the write paths { $own } are not within { $outer }
write-paths-not-within-hint = a task can be given only what whoever delegates, and its agent, may write
lease-waits = waits until its write paths are free: { $holders }
lease-lost-silent = this task was silent for too long and lost its write paths: { $holders }; nothing was run
write-not-decidable = whether this may be written cannot be told ({ $why }); nothing was written
lease-waits-command = waits until a command of `{ $task }` is over that may write there
run-while-stopping = the task is to stop; nothing was run
run-not-decidable = whether this may be run cannot be told ({ $why }); nothing was run

## ports.rs

approval-not-found = no approval is called `{ $id }`

## resolve.rs

no-tool-exists = none of the tools of `{ $agent }` exists here: { $tools }
definition-lowered = `{ $agent }` asks for { $name } { $asked } and gets { $given }
tools-missing = `{ $agent }` asks for tools that do not exist here: { $tools }
billed-above-bound = the budget is exceeded ({ $overrun }): the provider counted { $input_billed } input and { $output_billed } output tokens for a call that should take at most { $input } and { $output }
default-model-unpriced = the price of `{ $model }` is not known, so the limit on the cost could not be kept
candidate-unusable = `{ $candidate }` cannot be used ({ $why }), so `{ $first }` is used
model-unusable = the model `{ $candidate }` of `{ $name }` cannot be used ({ $why }), so `{ $model }` is used

## schema.rs

and-more = and { $more } more
output-schema-invalid = the output schema is no JSON Schema: { $why }
output-schema-invalid-hint = correct `output_schema` of the agent

## session.rs

no-outcome = it has no outcome
dependency-ended-before = one that ended before
delegation-too-deep-hint = do the task yourself
reservation-hint = ask for less, or wait until running tasks have ended and given back what they reserved
tree-running-limit = { $running_max } tasks are running in this session, which is the most
tree-running-limit-hint = do the task yourself, or wait until some of them have ended
dependency-failed = { $because_of } did not complete
child-cancelled = { $id } was still running when its orchestrator ended, and was cancelled
orchestrator-ended = its orchestrator ended
children-go-on = These tasks were stopped together with you and go on now: { $tasks }. Ignore what an earlier result says about their end.
nobody-delegates = nobody in this session delegates under this name
price-unknown = the price of `{ $unpriced }` is not known, so a cost limit cannot be kept
price-unknown-hint = add its price to the configuration, or use another model
task-too-large = the task has about { $size } tokens, the limit is { $task_tokens_max }
task-too-large-hint = write the details to shared_context and name the key in the task

## session.rs

no-worktrees = no worktrees can be made here
no-worktrees-hint = delegate without `isolation: worktree`

## session/adopt.rs

a-dependency = a task it depends on
outcome-lost = its outcome was not written down

## session/agents.rs

agent-exists = an agent `{ $name }` exists already
agent-exists-hint = choose another name, or define it with `overwrite: true`
agent-built-in-hint = it comes with Posse and is never replaced: choose another name, with `extends: "{ $name }"` for a variant of it

## session/attend.rs

somebody-cancelled = somebody cancelled it

## session/facades.rs

facade-unknown = there is no tool `{ $wanted }` to delegate with
answer-shortened = [shortened: the whole text is kept as the result of { $id }]
answer-note = [note: { $warning }]

## session/facades/agent.rs

session-closed = the session is closed
agent-timed-out = Subagent "{ $name }" timed out after { $seconds }s and was stopped.
agent-failed = Subagent "{ $name }" failed: { $why }
so-far = What it had so far:
agent-type-unknown = Unknown subagent type: "{ $name }". Available: { $names }

## session/facades/investigate.rs

investigation-without-task = Task too brief. Include: what to investigate, where to look, what to return.
investigation-too-brief = Task too brief ({ $task_chars_min }+ chars needed). Include: WHAT to investigate, WHERE to look, WHAT to return.
investigations-limit = Maximum subagents ({ $per_session_max }) reached. Use direct tools for remaining investigations.
subagent-failed = Subagent failed: { $why }
tool-calls-limit-reached = the limit of tool calls was reached; what follows may be incomplete
subagent-timed-out = Subagent timed out after { $seconds }s. Break into smaller tasks.
partial-findings = Partial findings:
stopped-early = Stopped early: { $why }.
tool-calls-made = Tool calls made: { $tool_calls }

## session/facades/launch.rs

launch-description = Launch autonomous agent
launch-missing-description = Agent description is required
launch-missing-prompt = Agent prompt is required
launch-invalid-json = Invalid JSON parameters
launch-resource-limit = Maximum concurrent agents limit reached
launch-creation-failed = Failed to create agent
launch-limit = Maximum concurrent tasks limit reached. Please wait for other tasks to complete.
launched =
    Successfully launched subagent

    Successfully launched parallel task:
    - Task ID: { $id } (also { $alias })
    - Description: { $description }
    - Priority: { $priority }
    - Write Permissions: { $writes ->
        [yes] Yes
       *[no] No
    }
    - Max Execution Time: { $seconds }s

    { $waits ->
        [yes] The task is queued: it starts when there is a place and all that it waits for is done.
       *[no] The task is now running in parallel.
    } You can continue with other work.
    Collect its result later: {"{"}"action":"collect","task_id":"{ $id }"{"}"}
launch-warning = Warning: { $warning }
launch-failed-hint = Failed to create parallel task: { $message } ({ $hint })
launch-failed = Failed to create parallel task: { $message }

## session/facades/launch/parameters.rs

parameters-invalid = Invalid parameters: { $errors }
parameters-missing-json = Missing required parameters in JSON
parameter-missing = Missing value for required parameter '{ $name }'. { $why }. Call subagent again with a description and a prompt.
parameter-not-closed = Missing value for required parameter '{ $name }': <{ $name }> is not closed.
description-not-text = Description is required and must be a string
description-too-short = Description must be at least 3 characters
description-too-long = Description should be 3-5 words
prompt-not-text = Prompt is required and must be a string
prompt-too-short = Prompt must be at least 10 characters
write-permissions-not-boolean = writePermissions must be a boolean
write-paths-not-list = allowedWritePaths must be an array
write-path-not-text = allowedWritePaths[{ $index }] must be a string
write-paths-missing = writePermissions requires allowedWritePaths to be specified
execution-time-not-number = maxExecutionTime must be a number
execution-time-out-of-range = maxExecutionTime must be between 1000-300000 ms (1-300 seconds)
parameter-inside-text = '{ $name }' stands beside `_text`, not inside of it
parameter-twice = '{ $name }' is given twice
parameters-synonyms = { $one } and { $other } mean the same; give one of them
text-outside-tags = text outside of the tags: "{ $shown }". { $near }
priority-unknown = priority must be 'low', 'normal', or 'high'

## session/family.rs

task-not-yours = `{ $task }` is no task of yours
task-not-yours-hint = `list_tasks` shows the tasks there are

## session/questions.rs

nobody-to-ask = there is nobody to ask; choose what is most likely wanted and say so in your answer
question-unreadable = the question cannot be read: { $why }
no-answer-default = no answer came within { $deadline } s; go on with your default: { $default }
no-answer = no answer came within { $deadline } s; choose what is most likely wanted and say so in your answer
nobody-to-tell = there is nobody to tell

## session/subagent.rs

nobody-waited = nobody was waiting for an answer
task-running-since =
    { $turns ->
        [one] `{ $id }` is still running, { $turns } turn in { $seconds } s
       *[other] `{ $id }` is still running, { $turns } turns in { $seconds } s
    }
still-at-work = still at work: call wait again, or do something else meanwhile
child-ended = Task { $id } ({ $agent }) has ended: { $status }.
child-failed = Task { $id } ({ $agent }) has ended: { $status }. { $why }
child-result-how = `subagent` with action collect and task_id { $id } gives its result, action result its full text.
child-result-rest = `subagent` with action result and task_id { $id } gives the rest.
child-uncollected = { $id } ({ $agent }) ended as { $status }, and its result was not collected; `posse tasks show` has it
nothing-to-wait-for = nothing is running, and every end was reported before
before-it-began = before it began
ended-before-cancel = it had ended before the cancel
messages-unread = `{ $id }` has not read its last messages yet
messages-unread-hint = wait until it has made its next turn
task-not-ended = `{ $id }` has not ended yet
task-not-ended-hint = wait for it, or look at its status

## session/subagent/define.rs

agents-defined = defined in this session: { $names }
agents-not-shown = { $left_out } more are not shown: use `query` to look for words
turns-clamped = max_turns: { $asked } was clamped to { $given }; it can be 1 to { $turns_max }
delegation-removed = `subagent` was removed from `tools`: subagents may not delegate here (max_depth is { $depth_max })
system-prompt-too-large = the system prompt has about { $size } tokens, the limit is { $prompt_tokens_max }
system-prompt-too-large-hint = keep instructions; let tools provide knowledge
tool-not-there = there is no tool `{ $unknown }`

## session/subagent/report.rs

answer-truncated = [truncated — full response exceeded { $result_tokens_max } token limit]
ended-by-tool-calls = it made as many tool calls as it may
ended-by-budget = its budget is used up
ended-by-context = the model's window is full
ended-cut-off = its answer was cut off by the output limit
ended-by-time = its time is over
ended-stalled = none of its calls came to anything
ended-cancelled = it was told to end before it had answered
ended-by-model = the model could not be asked
ended-refused = the model refused to answer
ended-by-dependency = a task that it depends on did not complete
ended-invalid = its answer does not fit the output schema
ended-unverified = a command that checks its result failed
answer-was-empty = The final response was empty
turns-exceeded = Max turns exceeded without producing a final response
model-failed = Model API error: { $detail }

## toolbox.rs

tool-twice = two tools are called `{ $own }`
tool-twice-hint = give each tool its own name
tool-crashed = internal_error: the tool `{ $name }` crashed ({ $panic }). This is a bug of the tool, not of your call
tool-schema-broken = the tool's own schema is broken; it cannot be called
arguments-misfit = the arguments do not fit the tool's schema, nothing was run:

## subagent.rs of the library

nested-nowhere = there is no run to be part of
prompt-required = prompt is required
nested-misconfigured = Sub-agent configuration error: { $why }
nested-failed = Sub-agent error: { $why }
nested-prompt-too-large = the system prompt has about { $size } tokens, the limit is { $system_tokens_max }
nested-without-outcome = `{ $id }` has no outcome

## session/subagent/report.rs

tool-execution-error = Tool execution error in turn { $turns }: { $detail }
findings-kept = [kept in shared context as `{ $key }`]
findings-not-kept = [not kept in shared context: { $why }]

## session/subagent/request.rs

context-too-large = context: it has about { $size } tokens, the limit is { $tokens_max }
description-too-large = description: it has { $chars } characters, the limit is { $chars_max }
description-too-large-hint = say in one line what the agent is for; instructions go into `system_prompt`
list-too-long = { $name }: it lists more than { $listed_max }
list-has-empty = { $name }: one of its items is empty

## session/shortfall.rs

agent-cannot-write = `{ $agent }` works without { $tools }, which its definition names: { $advice }
agent-lacks-tools = `{ $agent }` works without { $tools }, which its definition names: not granted here
bound-lowered = { $name }: { $asked } was lowered to { $given }

## session/writing.rs

tasks-write-nothing = tasks that are delegated from here may not write
