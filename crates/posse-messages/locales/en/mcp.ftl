# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = the loop that talks with the host crashed
mcp-tool-unknown = no tool for hosts is called `{ $name }`
mcp-call-over = this call took too long and was ended
mcp-still-running = still running: call subagent_wait with { $id }
mcp-still-opening = the session is not open yet: MCP servers that its agents use are being asked for their tools. Call again in a moment
mcp-address-unusable = cannot listen on { $address }
mcp-address-unusable-hint = another program may be there; port 0 takes any that is free
mcp-your-answer = Your answer
mcp-your-decision = Your decision

## sampling.rs

host-model-unavailable = no connected host lends its model
host-model-unavailable-hint = `model: host` works in `posse mcp`, with a host that offers sampling; name another model, or `fallback_models` that follow it
host-lends-nothing = no connected host lends its model
host-never-came = no host that lends its model was connected for { $seconds } s
host-refused = the host did not lend its model: { $why }
host-silent = the host gave no answer in { $seconds } s
host-answer-unreadable = the answer of the host is no message of a model
host-content-left-out = the host's model answered with something that is not text
host-asked-again-unpaid = the host that was asked has gone, and another one cannot be asked: { $missing }
