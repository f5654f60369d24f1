# Messages of `posse-mcp` and `posse-cli` about MCP servers that agents use.

## client.rs

mcp-server-name-invalid = `{ $name }` is no name for an MCP server: letters, digits, `-` and `_`, at most { $most }, no `__`

## client/lines.rs, client/http.rs

mcp-answer-not-understood = its answer is not one of the protocol

## client/definition.rs

mcp-tool-twice = the tool `{ $tool }` is described more than once and is not used
mcp-tools-too-many = the tool `{ $tool }` is not used: a server has at most { $most } tools, and 1 MiB to describe them
mcp-tool-unusable = the tool `{ $tool }` cannot be used: { $why }
mcp-tool-name-taken = another tool of this server is called `{ $name }` here already
mcp-tool-nameless = it has no name that can be written in letters and digits
mcp-schema-too-large = its schema has more than { $most } bytes
mcp-tool-headers-invalid = what it says about headers (`x-mcp-header`) does not keep to the protocol

## client/connection.rs

mcp-list-endless = its list of tools has more than { $most } pages
mcp-wants-input = it wants a model's answer or a list of directories before it goes on, which no server gets
mcp-asks-endlessly = it asked { $most } times for something before it would answer
mcp-server-ended = it ended
mcp-last-words = { $why }; it last wrote: { $last }

## client/oauth.rs, client/oauth/*.rs

mcp-sign-in-needed = it wants that somebody signs in
mcp-sign-in-hint = sign in with `posse servers login { $server }`
mcp-scopes-needed = it wants more than was granted: { $scopes }
mcp-scopes-withheld = it wants { $scopes }, which was asked for and does not satisfy it; signing in again would not help
mcp-scopes-withheld-hint = whoever runs the server has to give this account more
mcp-token-not-renewed = what it is told about who asks could not be renewed: { $why }
mcp-token-not-renewed-hint = try again later, or sign in anew with `posse servers login { $server }`
mcp-sign-in-failed = nobody was signed in: { $why }
mcp-key-unusable = the private key cannot be used: it has to be one of P-256 or RSA, as `-----BEGIN PRIVATE KEY-----`
mcp-grant-refused = refused with status { $status }: { $words }
mcp-other-issuer = `{ $other }` grants for it, and the configuration says `{ $issuer }`
mcp-cannot-listen = the browser has nowhere to come back to: { $why }
mcp-no-sign-in = it does not say how, and never wanted it
mcp-not-registered-hint = register Posse there by hand, and name `oauth.client_id` in the server's configuration
mcp-nobody-signed-in = nobody came back within { $minutes } minutes
mcp-browser-done = Posse has what it needs. You can close this window.
mcp-browser-unexpected = Posse does not wait for this.
mcp-other-state = this is not the answer to this question
mcp-other-state-hint = begin anew, and use the address that was printed last
mcp-sign-in-refused = it was refused: { $words }

## client/server.rs

mcp-remark = MCP server `{ $server }`: { $text }
mcp-call-cancelled = cancelled; the server was told, and the call may or may not have happened
mcp-cancelled-before = cancelled before anything was called
mcp-call-too-long = no answer within { $seconds } s; the call was cancelled and may or may not have happened
mcp-tool-changed = its description of `{ $tool }` is not the one that was accepted, so nothing was called. Trying again does not help: a person has to look at it with `posse servers show { $server }`
mcp-tool-gone = it has no tool `{ $tool }` any more
mcp-session-over = the session is over
mcp-server-given-up = it failed { $times } times and is not started again in this session
mcp-start-too-long = it was not ready within { $seconds } s
mcp-server-unavailable-hint = `posse servers` shows all of them and how each is started
mcp-tool-new-remark = MCP server `{ $server }` has a new tool `{ $tool }`, which is not used; look at it with `posse servers show { $server }`, say yes with `posse servers accept { $server }`
mcp-tool-changed-remark = MCP server `{ $server }` changed what it says about `{ $tool }`, which is not used any more; look at it with `posse servers show { $server }`, say yes with `posse servers accept { $server }`
mcp-tool-gone-remark = MCP server `{ $server }` has no tool `{ $tool }` any more; look at it with `posse servers show { $server }`, say yes with `posse servers accept { $server }`

## posse-cli: servers.rs

mcp-server-unknown = there is no MCP server `{ $name }` here
mcp-server-twice = the MCP server `{ $server }` of { $origin } is not used: another one has this name
mcp-elsewhere = reached over HTTP
mcp-origin-operator = your configuration
mcp-file-not-trusted = { $path } names MCP servers and is not trusted as it is now; they are not used
mcp-file-not-trusted-hint = `posse trust` shows them and trusts the file as it is
mcp-file-not-ours = it is no file of yours
mcp-file-without-servers = it has no object `mcpServers`

## posse-cli: servers/entry.rs

mcp-command-or-url = it needs either a `command` or a `url`
mcp-variable-withheld = `{ $variable }` holds a provider's key, which no server gets
mcp-variable-missing = the variable `{ $variable }` is not set
mcp-variable-not-given = it wants the variable `{ $variable }`, which is not there or which servers of a project do not get
mcp-variable-not-given-hint = name the server in your own configuration, with `env_from`
mcp-transport-unknown = Posse speaks stdio and streamable HTTP, not `{ $kind }`
mcp-url-invalid = its `url` is no address such as `https://example.com/mcp`
mcp-secret-in-the-clear = headers and tokens go over https, or to this machine
mcp-header-invalid = `{ $header }` is no header
mcp-oauth-proof = `oauth` with `grant = "client_credentials"` needs either `client_secret_env` or `private_key_env`, and a key is for that alone
mcp-oauth-client = `oauth` needs `client_id` for whoever has a secret or a key
mcp-oauth-document = `{ $url }` is no address of a document over https
mcp-oauth-and-token = it has either `oauth` or a token, not both
mcp-oauth-elsewhere = `oauth` is for servers with a `url`

## posse-cli: servers/memory.rs

mcp-memory-unusable = what was accepted of this server cannot be read ({ $path }: { $why }), so none of its tools is used
mcp-memory-unusable-hint = remove the file to get to know the server anew
mcp-sign-in-unusable = what this server is told about who asks cannot be used ({ $path }: { $why })
mcp-sign-in-unusable-hint = remove the file and sign in anew
mcp-sign-in-damaged = it is damaged

## posse-cli: commands/servers.rs

mcp-no-servers = no MCP servers are named here: `[mcp.servers.NAME]` in your configuration, or a project's .mcp.json
mcp-nothing-waits = nothing of `{ $server }` waits for a yes
mcp-accepted = { $count } changes of `{ $server }` are accepted
mcp-change-new = `{ $server }` has a new tool `{ $tool }`:
mcp-change-changed = `{ $server }` changed `{ $tool }`:
mcp-change-gone = `{ $server }` has no `{ $tool }` any more:

## posse-cli: commands/servers/login.rs

mcp-signed-in-now = { $server }: { $until } · { $tools } tools
mcp-signed-out-now = what `{ $server }` was told about who asks is forgotten here; it may still count there
mcp-was-not-signed-in = nobody was signed in to `{ $server }`
mcp-nobody-signs-in = nobody signs in to `{ $server }`: it is a program here, or its token is in the configuration
mcp-sign-in-there = Sign in to `{ $server }` in a browser, at this address:
mcp-paste-here = If the browser is on another machine, paste the address that it was sent to in the end here.
mcp-nothing-pasted = no address came from standard input

## posse-cli: commands/doctor.rs, commands/trust.rs

topic-servers = MCP servers
trust-servers = { $path } · MCP servers · { $state }

## posse-cli: commands/agents/check.rs

row-server = server

## registry/view.rs

mcp-state-unknown = never asked
mcp-state-changed = { $tools } tools, { $changes } changes wait for a yes
mcp-state-known = { $tools } tools
mcp-sign-in-wanted = wants that you sign in: `posse servers login { $server }`
mcp-sign-in-ended = the sign-in ended: `posse servers login { $server }`
mcp-signed-in-until = signed in until { $end }
mcp-signed-in = signed in
