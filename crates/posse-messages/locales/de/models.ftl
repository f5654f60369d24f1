# Deutsch. Das Glossar steht in core.ftl.

not-a-model-reference = `{ $reference }` ist keine Modellangabe
names-no-provider = `{ $reference }` nennt keinen Anbieter
begins-without-provider = `{ $reference }` beginnt nicht mit einem Anbieter
names-no-model = `{ $reference }` nennt kein Modell
line-number = Zeile { $line }
write-model-reference = schreibe `provider:model`
did-you-mean-model = meintest du `{ $provider }:{ $reference }`?
write-model-reference-example = schreibe `provider:model`, zum Beispiel `anthropic:claude-sonnet-4-5`
provider-shape-hint = ein Anbieter besteht aus a-z, 0-9, `-` und `_`
price-entry-hint = ein Eintrag ist `"model" = {"{"} input = 3.0, output = 15.0 {"}"}`, in Dollar je Million Token
price-unsound = der Preis von `{ $model }` ist kein Geldbetrag
price-unsound-hint = Preise sind Zahlen ab 0
base-url-hint = eine Basis-URL sieht aus wie `https://api.example.com/v1`
base-url-unreadable = die Basis-URL ist nicht lesbar: { $why }
base-url-scheme = die Basis-URL muss mit `http://` oder `https://` beginnen
base-url-password = die Basis-URL darf keinen Benutzer und kein Passwort enthalten
header-name-invalid = `{ $name }` ist kein Name für einen Header
header-value-invalid = der Wert des Headers `{ $name }` kann nicht gesendet werden
recording-too-large = die Aufzeichnung `{ $path }` hat mehr als { $recording_bytes_max } Bytes
recording-line-invalid = { $origin }:{ $line }: kein aufgezeichneter Austausch: { $why }
recording-without-model = { $origin }: für das Modell `{ $model }` wurde nichts aufgezeichnet
recording-unreadable = die Aufzeichnung `{ $path }` kann nicht geöffnet werden: { $error }
script-too-large = { $name }: das Skript hat { $bytes } Bytes, erlaubt sind { $script_bytes_max }
script-unreadable = das Skript `{ $shown }` kann nicht gelesen werden: { $why }
script-unreadable-hint = schreibe das Modell als `scripted:path/to/file.yaml#role`
script-is-list = das Skript ist eine Liste von Schritten und hat keine Rolle `{ $role }`
script-is-list-hint = lass die Rolle weg oder stelle die Liste unter einen Schlüssel
script-no-role = das Skript hat keine Rolle `{ $role }`
script-roles = es hat { $names }
script-several-roles = das Skript hat mehrere Rollen
script-name-role = nenne eine von { $names } hinter `#`
script-shape-hint = ein Skript ist eine Liste von Schritten mit `text`, `calls`, `fail` und so weiter, oder eine Zuordnung von Rollen zu solchen Listen
ollama-hint = OLLAMA_HOST ist gesetzt: nenne eines der Modelle, etwa `--model ollama:qwen3`
no-model-hint = setze ANTHROPIC_API_KEY, OPENAI_API_KEY oder GEMINI_API_KEY, oder nenne ein Modell mit `--model provider:name` (`--model ollama:qwen3` braucht keinen Schlüssel). `posse demo` braucht weder Schlüssel noch Netz
no-model = kein Modell ist konfiguriert
provider-without-url = `providers.{ $provider }` braucht eine `base_url`
provider-without-url-hint = wo die API beginnt, etwa "https://llm.example/v1"
provider-needs-key = `{ $provider }` braucht einen Schlüssel, und { $name } ist nicht gesetzt
provider-needs-key-hint = export { $name }=…; wenn keiner nötig ist, lass `api_key_env` aus `[providers.{ $provider }]` weg oder setze es auf ""
provider-needs-key-demo-hint = export { $name }=…, oder probiere `posse demo`, das keinen braucht
key-file-hint = `api_key_file` in `[providers.{ $provider }]` nennt eine Datei, die nur den Schlüssel enthält
provider-without-wire = `providers.{ $provider }` braucht ein `wire`
provider-without-wire-hint = eines von anthropic, openai, openai-compatible, openai-responses, gemini
model-ambiguous = mehrere eingerichtete Anbieter bedienen `{ $model }`
model-ambiguous-hint = schreib, welcher gemeint ist: { $choices }
provider-unknown = kein Anbieter heißt `{ $provider }`
key-file-unreadable = der Schlüssel von `{ $provider }`: { $path } ist nicht lesbar
key-file-empty = der Schlüssel von `{ $provider }`: { $path } ist leer
did-you-mean = meintest du `{ $name }`?
providers-there-are = es gibt: { $names }; andere gehören in `[providers.{ $provider }]` deiner Konfiguration
provider-probe-failed = { $provider } hat nicht geantwortet: { $why }
provider-key-refused-hint = prüfe den Schlüssel und ob er dieses Modell benutzen darf
provider-models-hint = `posse models` zeigt, was es dort gibt
provider-quota-hint = das Konto hat kein Guthaben mehr
provider-connection-hint = prüfe Netzwerk, Proxy und Basis-URL
