# Français. Le glossaire est dans core.ftl.

not-a-model-reference = `{ $reference }` n'est pas une référence de modèle
names-no-provider = `{ $reference }` ne nomme aucun fournisseur
begins-without-provider = `{ $reference }` ne commence pas par un fournisseur
names-no-model = `{ $reference }` ne nomme aucun modèle
line-number = ligne { $line }
write-model-reference = écrivez `provider:model`
did-you-mean-model = vouliez-vous dire `{ $provider }:{ $reference }` ?
write-model-reference-example = écrivez `provider:model`, par exemple `anthropic:claude-sonnet-4-5`
provider-shape-hint = un fournisseur se compose de a-z, 0-9, `-` et `_`
price-entry-hint = une entrée est `"model" = {"{"} input = 3.0, output = 15.0 {"}"}`, en dollars par million de tokens
price-unsound = le prix de `{ $model }` n'est pas une somme d'argent
price-unsound-hint = les prix sont des nombres à partir de 0
base-url-hint = une URL de base ressemble à `https://api.example.com/v1`
base-url-unreadable = l'URL de base est illisible : { $why }
base-url-scheme = l'URL de base doit commencer par `http://` ou `https://`
base-url-password = l'URL de base ne doit contenir ni utilisateur ni mot de passe
header-name-invalid = `{ $name }` n'est pas un nom d'en-tête
header-value-invalid = la valeur de l'en-tête `{ $name }` ne peut pas être envoyée
recording-too-large = l'enregistrement `{ $path }` a plus de { $recording_bytes_max } octets
recording-line-invalid = { $origin }:{ $line } : ce n'est pas un échange enregistré : { $why }
recording-without-model = { $origin } : rien n'a été enregistré pour le modèle `{ $model }`
recording-unreadable = impossible d'ouvrir l'enregistrement `{ $path }` : { $error }
script-too-large = { $name } : le script a { $bytes } octets, { $script_bytes_max } au plus
script-unreadable = impossible de lire le script `{ $shown }` : { $why }
script-unreadable-hint = écrivez le modèle sous la forme `scripted:path/to/file.yaml#role`
script-is-list = le script est une liste d'étapes et n'a pas de rôle `{ $role }`
script-is-list-hint = omettez le rôle, ou placez la liste sous une clé
script-no-role = le script n'a pas de rôle `{ $role }`
script-roles = il a { $names }
script-several-roles = le script a plusieurs rôles
script-name-role = nommez l'un de { $names } après `#`
script-shape-hint = un script est une liste d'étapes avec `text`, `calls`, `fail`, etc., ou une table de rôles vers de telles listes
ollama-hint = OLLAMA_HOST est définie : nommez un de ses modèles, par exemple `--model ollama:qwen3`
no-model-hint = définissez ANTHROPIC_API_KEY, OPENAI_API_KEY ou GEMINI_API_KEY, ou nommez un modèle avec `--model provider:name` (`--model ollama:qwen3` n'exige pas de clé). `posse demo` n'exige ni clé ni réseau
no-model = aucun modèle n'est configuré
provider-without-url = `providers.{ $provider }` exige une `base_url`
provider-without-url-hint = là où commence son API, par exemple "https://llm.example/v1"
provider-needs-key = `{ $provider }` exige une clé et { $name } n'est pas définie
provider-needs-key-hint = export { $name }=… ; s'il n'en veut pas, omettez `api_key_env` de `[providers.{ $provider }]` ou mettez-le à ""
provider-needs-key-demo-hint = export { $name }=…, ou essayez `posse demo`, qui n'en exige pas
key-file-hint = `api_key_file` dans `[providers.{ $provider }]` nomme un fichier qui ne contient que la clé
provider-without-wire = `providers.{ $provider }` exige un `wire`
provider-without-wire-hint = l'un de anthropic, openai, openai-compatible, openai-responses, gemini
model-ambiguous = plusieurs fournisseurs configurés proposent `{ $model }`
model-ambiguous-hint = indiquez lequel : { $choices }
provider-unknown = aucun fournisseur ne s'appelle `{ $provider }`
key-file-unreadable = la clé de `{ $provider }` : { $path } est illisible
key-file-empty = la clé de `{ $provider }` : { $path } est vide
did-you-mean = vouliez-vous dire `{ $name }` ?
providers-there-are = il y a : { $names } ; les autres vont dans `[providers.{ $provider }]` de votre configuration
provider-probe-failed = { $provider } n'a pas répondu : { $why }
provider-key-refused-hint = vérifiez la clé, et qu'elle donne accès à ce modèle
provider-models-hint = `posse models` montre ce qu'il y a
provider-quota-hint = le compte n'a plus de crédit
provider-connection-hint = vérifiez le réseau, le proxy et l'URL de base
