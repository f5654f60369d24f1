# Messages of `posse-models`.

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

## http.rs

base-url-hint = a base URL looks like `https://api.example.com/v1`
base-url-unreadable = the base URL cannot be read: { $why }
base-url-scheme = the base URL must start with `http://` or `https://`
base-url-password = the base URL must not contain a user or a password
header-name-invalid = `{ $name }` is not a header name
header-value-invalid = the value of header `{ $name }` cannot be sent

## record.rs

recording-too-large = the recording `{ $path }` has more than { $recording_bytes_max } bytes
recording-line-invalid = { $origin }:{ $line }: not a recorded exchange: { $why }
recording-without-model = { $origin }: nothing was recorded for the model `{ $model }`
recording-unreadable = cannot open the recording `{ $path }`: { $error }

## scripted.rs

script-too-large = { $name }: the script has { $bytes } bytes, at most { $script_bytes_max }
script-unreadable = cannot read the script `{ $shown }`: { $why }
script-unreadable-hint = write the model as `scripted:path/to/file.yaml#role`
script-is-list = the script is a list of steps and has no role `{ $role }`
script-is-list-hint = leave the role out, or put the list under a key
script-no-role = the script has no role `{ $role }`
script-roles = it has { $names }
script-several-roles = the script has several roles
script-name-role = name one of { $names } behind `#`
script-shape-hint = a script is a list of steps with `text`, `calls`, `fail` and so on, or a map from roles to such lists

## providers.rs

ollama-hint = OLLAMA_HOST is set: name one of its models, such as `--model ollama:qwen3`
no-model-hint = set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with `--model provider:name` (`--model ollama:qwen3` needs no key). `posse demo` needs neither key nor network
no-model = no model is configured
provider-without-url = `providers.{ $provider }` needs a `base_url`
provider-without-url-hint = where its API begins, such as "https://llm.example/v1"
provider-needs-key = `{ $provider }` needs a key and { $name } is not set
provider-needs-key-hint = export { $name }=…; if it wants none, leave `api_key_env` out of `[providers.{ $provider }]` or make it ""
provider-needs-key-demo-hint = export { $name }=…, or try `posse demo`, which needs none
key-file-hint = `api_key_file` in `[providers.{ $provider }]` names a file that holds the key alone
provider-without-wire = `providers.{ $provider }` needs a `wire`
provider-without-wire-hint = one of anthropic, openai, openai-compatible, openai-responses, gemini
model-ambiguous = several configured providers serve `{ $model }`
model-ambiguous-hint = write which one: { $choices }
provider-unknown = no provider is called `{ $provider }`
key-file-unreadable = the key of `{ $provider }`: { $path } cannot be read
key-file-empty = the key of `{ $provider }`: { $path } is empty
did-you-mean = did you mean `{ $name }`?
providers-there-are = there are: { $names }; others go into `[providers.{ $provider }]` of your configuration
provider-probe-failed = { $provider } did not answer: { $why }
provider-key-refused-hint = check the key, and that it may use this model
provider-models-hint = `posse models` shows what it has
provider-quota-hint = the account has no credit left
provider-connection-hint = check the network, a proxy, and the base URL
