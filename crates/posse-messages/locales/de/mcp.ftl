# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = die Schleife, die mit dem Host spricht, ist abgestürzt
mcp-tool-unknown = kein Werkzeug für Hosts heißt `{ $name }`
mcp-address-unusable = auf { $address } kann nicht gelauscht werden
mcp-address-unusable-hint = vielleicht ist dort ein anderes Programm; Port 0 nimmt irgendeinen freien
mcp-your-answer = Deine Antwort
mcp-your-decision = Deine Entscheidung

## sampling.rs

host-model-unavailable = kein verbundener Host leiht sein Modell
host-model-unavailable-hint = `model: host` geht in `posse mcp`, mit einem Host, der Sampling anbietet; nenne ein anderes Modell, oder `fallback_models`, die ihm folgen
mcp-install-unreadable = { $file } ist nicht lesbar als das, was { $host } nimmt, und wurde nicht geändert
mcp-install-unreadable-hint = `posse mcp install` ohne --write druckt, was hinzuzufügen ist
mcp-install-nowhere = es gibt kein Heimatverzeichnis, in das geschrieben werden könnte
mcp-doctor-silent = der Server antwortete auf { $method } nicht innerhalb von { $seconds } Sekunden
mcp-doctor-not-started = der Server konnte nicht gestartet werden
cannot-be-written = { $path } kann nicht geschrieben werden
