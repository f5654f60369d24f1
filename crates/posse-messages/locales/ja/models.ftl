# 日本語。用語集は core.ftl にある。

not-a-model-reference = `{ $reference }` はモデルの指定ではありません
names-no-provider = `{ $reference }` にプロバイダーがありません
begins-without-provider = `{ $reference }` はプロバイダーで始まっていません
names-no-model = `{ $reference }` にモデルがありません
line-number = { $line } 行目
write-model-reference = `provider:model` の形で書いてください
did-you-mean-model = `{ $provider }:{ $reference }` のことですか?
write-model-reference-example = `provider:model` の形で書いてください。例: `anthropic:claude-sonnet-4-5`
provider-shape-hint = プロバイダーに使えるのは a-z、0-9、`-`、`_` です
price-entry-hint = 項目は `"model" = {"{"} input = 3.0, output = 15.0 {"}"}` の形で、単位は 100 万トークンあたりのドルです
price-unsound = `{ $model }` の価格が金額ではありません
price-unsound-hint = 価格は 0 以上の数値です
base-url-hint = ベース URL は `https://api.example.com/v1` のような形です
base-url-unreadable = ベース URL を読み取れません: { $why }
base-url-scheme = ベース URL は `http://` か `https://` で始まらなければなりません
base-url-password = ベース URL にユーザー名やパスワードを含めることはできません
header-name-invalid = `{ $name }` はヘッダー名ではありません
header-value-invalid = ヘッダー `{ $name }` の値は送信できません
recording-too-large = 記録 `{ $path }` は { $recording_bytes_max } バイトを超えています
recording-line-invalid = { $origin }:{ $line }: 記録されたやり取りではありません: { $why }
recording-without-model = { $origin }: モデル `{ $model }` の記録がありません
recording-unreadable = 記録 `{ $path }` を開けません: { $error }
script-too-large = { $name }: スクリプトは { $bytes } バイトあり、上限は { $script_bytes_max } です
script-unreadable = スクリプト `{ $shown }` を読み取れません: { $why }
script-unreadable-hint = モデルは `scripted:path/to/file.yaml#role` の形で書いてください
script-is-list = スクリプトはステップのリストで、ロール `{ $role }` はありません
script-is-list-hint = ロールを省くか、リストをキーの下に置いてください
script-no-role = スクリプトにロール `{ $role }` はありません
script-roles = あるのは { $names } です
script-several-roles = スクリプトには複数のロールがあります
script-name-role = `#` のあとに { $names } のいずれかを書いてください
script-shape-hint = スクリプトは `text`、`calls`、`fail` などを持つステップのリストか、ロールからそのリストへの対応表です
ollama-hint = OLLAMA_HOST が設定されています。`--model ollama:qwen3` のようにモデルを指定してください
no-model-hint = ANTHROPIC_API_KEY、OPENAI_API_KEY、GEMINI_API_KEY のいずれかを設定するか、`--model provider:name` でモデルを指定してください（`--model ollama:qwen3` にキーは不要）。`posse demo` にはキーもネットワークも不要です
no-model = モデルが設定されていません
provider-without-url = `providers.{ $provider }` には `base_url` が必要です
provider-without-url-hint = API の始まりの URL です。例: "https://llm.example/v1"
provider-needs-key = `{ $provider }` にはキーが必要ですが、{ $name } が設定されていません
provider-needs-key-hint = export { $name }=…。キーが不要なら `[providers.{ $provider }]` の `api_key_env` を省くか "" にしてください
provider-needs-key-demo-hint = export { $name }=…、またはキーの要らない `posse demo` を試してください
key-file-hint = `[providers.{ $provider }]` の `api_key_file` には、キーだけを書いたファイルを指定します
provider-without-wire = `providers.{ $provider }` には `wire` が必要です
provider-without-wire-hint = anthropic, openai, openai-compatible, openai-responses, gemini のいずれか
model-ambiguous = 設定された複数のプロバイダーが `{ $model }` を提供しています
model-ambiguous-hint = どれか指定してください: { $choices }
provider-unknown = `{ $provider }` という名前のプロバイダーはありません
key-file-unreadable = `{ $provider }` のキー: { $path } を読み取れません
key-file-empty = `{ $provider }` のキー: { $path } が空です
did-you-mean = `{ $name }` のことですか?
providers-there-are = 使えるもの: { $names }。ほかは設定の `[providers.{ $provider }]` に書いてください
provider-probe-failed = { $provider } が応答しませんでした: { $why }
provider-key-refused-hint = キーと、そのキーでこのモデルを使えるかを確認してください
provider-models-hint = `posse models` で一覧を表示します
provider-quota-hint = アカウントの残高がありません
provider-connection-hint = ネットワーク、プロキシ、ベース URL を確認してください
