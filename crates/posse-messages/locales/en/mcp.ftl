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
