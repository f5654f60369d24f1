# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = la boucle qui parle avec l'hôte s'est arrêtée brutalement
mcp-tool-unknown = aucun outil pour les hôtes ne s'appelle `{ $name }`
mcp-address-unusable = impossible d'écouter sur { $address }
mcp-address-unusable-hint = un autre programme s'y trouve peut-être ; le port 0 prend n'importe quel port libre
mcp-your-answer = Votre réponse
mcp-your-decision = Votre décision

## sampling.rs

host-model-unavailable = aucun hôte connecté ne prête son modèle
host-model-unavailable-hint = `model: host` fonctionne dans `posse mcp`, avec un hôte qui offre le sampling ; nommez un autre modèle, ou des `fallback_models` qui le suivent
