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
