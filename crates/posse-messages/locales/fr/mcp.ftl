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
mcp-install-unreadable = { $file } n'est pas lisible comme ce que { $host } accepte ; il n'a pas été changé
mcp-install-unreadable-hint = `posse mcp install` sans --write affiche ce qu'il faut ajouter
mcp-install-nowhere = il n'y a pas de répertoire personnel où écrire
mcp-doctor-silent = le serveur n'a pas répondu à { $method } en { $seconds } secondes
mcp-doctor-not-started = le serveur n'a pas pu être lancé
cannot-be-written = impossible d'écrire { $path }
