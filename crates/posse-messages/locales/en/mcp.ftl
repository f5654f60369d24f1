# Messages of `posse-mcp`.

## server.rs

mcp-loop-crashed = the loop that talks with the host crashed
mcp-tool-unknown = no tool for hosts is called `{ $name }`
mcp-address-unusable = cannot listen on { $address }
mcp-address-unusable-hint = another program may be there; port 0 takes any that is free
mcp-your-answer = Your answer
mcp-your-decision = Your decision

## sampling.rs

host-model-unavailable = no connected host lends its model
host-model-unavailable-hint = `model: host` works in `posse mcp`, with a host that offers sampling; name another model, or `fallback_models` that follow it
mcp-install-unreadable = { $file } cannot be read as what { $host } takes, so it was not changed
mcp-install-unreadable-hint = `posse mcp install` without --write prints what to add
mcp-install-nowhere = there is no home directory to write to
mcp-doctor-silent = the server did not answer { $method } within { $seconds } seconds
mcp-doctor-not-started = the server could not be started

## files.rs

cannot-be-written = { $path } cannot be written
