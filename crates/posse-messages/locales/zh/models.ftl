# 简体中文。术语表见 core.ftl。

not-a-model-reference = `{ $reference }` 不是模型引用
names-no-provider = `{ $reference }` 没有指明提供方
begins-without-provider = `{ $reference }` 不以提供方开头
names-no-model = `{ $reference }` 没有指明模型
line-number = 第 { $line } 行
write-model-reference = 请写成 `provider:model`
did-you-mean-model = 您是指 `{ $provider }:{ $reference }` 吗?
write-model-reference-example = 请写成 `provider:model`，例如 `anthropic:claude-sonnet-4-5`
provider-shape-hint = 提供方名称由 a-z、0-9、`-` 和 `_` 组成
price-entry-hint = 条目形如 `"model" = {"{"} input = 3.0, output = 15.0 {"}"}`，单位为美元每百万 token
price-unsound = `{ $model }` 的价格不是金额
price-unsound-hint = 价格是不小于 0 的数字
base-url-hint = 基础 URL 形如 `https://api.example.com/v1`
base-url-unreadable = 无法读取基础 URL:{ $why }
base-url-scheme = 基础 URL 必须以 `http://` 或 `https://` 开头
base-url-password = 基础 URL 不得包含用户名或密码
header-name-invalid = `{ $name }` 不是标头名称
header-value-invalid = 标头 `{ $name }` 的值无法发送
recording-too-large = 录制文件 `{ $path }` 超过 { $recording_bytes_max } 字节
recording-line-invalid = { $origin }：{ $line }：不是录制的交互：{ $why }
recording-without-model = { $origin }：没有为模型 `{ $model }` 录制任何内容
recording-unreadable = 无法打开录制文件 `{ $path }`：{ $error }
script-too-large = { $name }：脚本有 { $bytes } 字节，最多 { $script_bytes_max }
script-unreadable = 无法读取脚本 `{ $shown }`：{ $why }
script-unreadable-hint = 请把模型写成 `scripted:path/to/file.yaml#role`
script-is-list = 脚本是步骤列表，没有角色 `{ $role }`
script-is-list-hint = 请省略角色，或把列表放在某个键之下
script-no-role = 脚本中没有角色 `{ $role }`
script-roles = 它有 { $names }
script-several-roles = 脚本有多个角色
script-name-role = 请在 `#` 之后写明 { $names } 之一
script-shape-hint = 脚本是带有 `text`、`calls`、`fail` 等的步骤列表，或由角色到这种列表的映射
ollama-hint = 已设置 OLLAMA_HOST：请指定其中一个模型，例如 `--model ollama:qwen3`
no-model-hint = 请设置 ANTHROPIC_API_KEY、OPENAI_API_KEY 或 GEMINI_API_KEY，或用 `--model provider:name` 指定模型（`--model ollama:qwen3` 不需要密钥）。`posse demo` 既不需要密钥也不需要网络
no-model = 未配置模型
provider-without-url = `providers.{ $provider }` 需要 `base_url`
provider-without-url-hint = 其 API 的起始地址，例如 "https://llm.example/v1"
provider-needs-key = `{ $provider }` 需要密钥，而 { $name } 未设置
provider-needs-key-hint = export { $name }=…；若不需要密钥，请从 `[providers.{ $provider }]` 中去掉 `api_key_env` 或将其设为 ""
provider-needs-key-demo-hint = export { $name }=…，或试试不需要密钥的 `posse demo`
key-file-hint = `[providers.{ $provider }]` 中的 `api_key_file` 指定一个只含密钥的文件
provider-without-wire = `providers.{ $provider }` 需要 `wire`
provider-without-wire-hint = anthropic, openai, openai-compatible, openai-responses, gemini 之一
model-ambiguous = 多个已配置的提供方都提供 `{ $model }`
model-ambiguous-hint = 请写明是哪一个:{ $choices }
provider-unknown = 没有名为 `{ $provider }` 的提供方
key-file-unreadable = `{ $provider }` 的密钥：无法读取 { $path }
key-file-empty = `{ $provider }` 的密钥：{ $path } 为空
did-you-mean = 您是指 `{ $name }` 吗?
providers-there-are = 可用的有：{ $names }；其他的写入配置的 `[providers.{ $provider }]`
provider-probe-failed = { $provider } 没有应答：{ $why }
provider-key-refused-hint = 请检查密钥，以及它是否可以使用此模型
provider-models-hint = `posse models` 显示可用的模型
provider-quota-hint = 账户余额不足
provider-connection-hint = 请检查网络、代理和基础 URL
