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
