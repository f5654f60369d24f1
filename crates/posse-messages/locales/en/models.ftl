# What `posse-models` says. A message is said with `say!`, or with `fixed!` if it is part of a record.

## assemble.rs

reply-too-many-parts = the reply has more than { $parts_max } parts

## body.rs

tool-schema-not-json = the schema of tool `{ $tool }` is not JSON
output-schema-not-json = the output schema is not JSON

## catalogue.rs

not-a-model-reference = `{ $reference }` is not a model reference
names-no-provider = `{ $reference }` names no provider
begins-without-provider = `{ $reference }` does not begin with a provider
names-no-model = `{ $reference }` names no model
line-number = line { $line }
write-model-reference = write `provider:model`
did-you-mean-model = did you mean `{ $provider }:{ $reference }`?
write-model-reference-example = write `provider:model`, for example `anthropic:claude-sonnet-4-5`
provider-shape-hint = a provider is made of a-z, 0-9, `-` and `_`
price-entry-hint = an entry is `"model" = {"{"} input = 3.0, output = 15.0 {"}"}`, in dollars per million tokens
price-unsound = the price of `{ $model }` is not a sum of money
price-unsound-hint = prices are numbers of 0 or more

## exchange.rs

json-unexpected = not the expected JSON (column { $column })
reply-cut-off = the reply was cut off before it said how it ends
no-end-marker = the stream ended without its end marker
usage-too-small = the provider reports fewer tokens than the bytes that were exchanged can have; tokens are estimated
usage-estimated = the provider's usage report is missing or nonsense; tokens are estimated
answer-is-page = the answer is a web page, not a reply: { $why }
not-streamed = the provider sent the whole reply at once although a stream was asked for
stream-event-too-large = an event of the stream is larger than { $bytes } bytes
stream-not-utf8 = { $damaged } events of the stream had bytes that are not UTF-8
reply-unreadable = the reply cannot be read: { $why }
provider-refused-content = the provider refused the request because of its content

## failure.rs

answer-without-body = the answer has no body
nothing-answers = nothing answers here, check the base URL: { $message }

## fallback.rs

default-model = the model { $from } does not exist, so { $to } is used: { $why }
fell-back = fell back from { $from } to { $to }: { $kind }

## gemini.rs

prompt-blocked = the provider blocked the prompt: { $reason }
provider-refused = the provider refused: { $finish }
output-unusable = the model's output was unusable: { $finish }

## http.rs

key-is-from = the key is from { $origin }
no-key-sent-because = no key was sent: { $why }
no-key-sent = no key was sent
base-url-hint = a base URL looks like `https://api.example.com/v1`
base-url-unreadable = the base URL cannot be read: { $why }
base-url-scheme = the base URL must start with `http://` or `https://`
base-url-password = the base URL must not contain a user or a password
header-name-invalid = `{ $name }` is not a header name
header-value-invalid = the value of header `{ $name }` cannot be sent
call-url-unusable = the URL of the call cannot be used: { $why }
key-unsendable = the key contains characters that cannot be sent
answer-compressed = the answer is compressed (`{ $encoding }`) although we asked for plain
endpoint-redirects = the endpoint redirects elsewhere; set the base URL to where it really is
tls-unusable = TLS cannot be set up: { $why }
reply-too-large = the reply is larger than { $reply_bytes_max } bytes

## openai_responses.rs

last-event-empty = the last event has no response
reply-too-many-items = the reply has more than { $items_max } items

## record.rs

reply-not-recorded = this reply is missing in the recording: { $why }
recording-too-large = the recording `{ $path }` has more than { $recording_bytes_max } bytes
recording-line-invalid = { $origin }:{ $line }: not a recorded exchange: { $why }
recording-without-model = { $origin }: nothing was recorded for the model `{ $model }`
exchange-differs = exchange { $number } differs in { $difference }
exchanges-all-given = all { $count } exchanges were given
recording-no-answer = the recording of `{ $model }` has no answer to this request: { $why }
differs-message = message { $common } (from 0) of { $now }
differs-count = the number of messages: it has { $recorded }, the request { $now }
recording-unreadable = cannot open the recording `{ $path }`: { $error }

## retry.rs

other-call-limited = another call was rate limited; the limit resets in { $resets }
no-turn-within = no turn within { $time }: { $under_way } calls are under way
resets-too-late = it resets in { $resets }, and we wait at most { $most }
gave-up = gave up after { $attempts } attempts
not-asked-again = not asked again after { $failure }: { $missing }
in-seconds = { $seconds } s

## scripted.rs

script-too-large = { $name }: the script has { $bytes } bytes, at most { $script_bytes_max }
script-unreadable = cannot read the script `{ $shown }`: { $why }
step-is-empty = a step needs one of `text`, `thinking`, `calls`, `fail`, `stop`
step-fails-and-calls = a step with `fail` cannot have `calls`
step-repeats-nothing = `repeat_until` looks at results, so the step needs `calls`
step-repeat-max = `repeat_max` needs `repeat_until`
script-unreadable-hint = write the model as `scripted:path/to/file.yaml#role`
script-no-step = has no step { $number }
script-failed = the script `{ $script }` { $what }
script-cannot-play = cannot play step { $number }: { $what }
script-repeated = played step { $number } { $most } times and no result contains `{ $wanted }`
script-says-so = the script `{ $script }` says so
script-calls-left-out = left out { $count } scripted calls: this turn may not use tools
placeholder-open = a placeholder `{"{"}result:` has no `{"}"}`
placeholder-no-result = `{ $which }` does not begin with a result number
placeholder-no-turn = `{ $which }` does not begin with a turn number
placeholder-missing = there is no result for `{"{"}result:{ $which }{"}"}`
placeholder-not-json = the result for `{"{"}result:{ $which }{"}"}` is not JSON
placeholder-nothing = there is nothing at `{"{"}result:{ $which }{"}"}`
script-is-list = the script is a list of steps and has no role `{ $role }`
script-is-list-hint = leave the role out, or put the list under a key
script-no-role = the script has no role `{ $role }`
script-roles = it has { $names }
script-several-roles = the script has several roles
script-name-role = name one of { $names } behind `#`
script-shape-hint = a script is a list of steps with `text`, `calls`, `fail` and so on, or a map from roles to such lists

## watch.rs

call-too-long = the call took longer than { $seconds } s
no-bytes = no bytes for { $seconds } s
no-progress = bytes arrive, but nothing of the answer for { $seconds } s
