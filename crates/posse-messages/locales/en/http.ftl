# Messages of `posse-http`.

## extract.rs, door.rs

http-invalid = the request is not valid: { $what }
http-unauthenticated = the token is missing, wrong, expired or revoked
http-not-json = the body has to be JSON, with `Content-Type: application/json`
http-too-large = the body is larger than { $most } bytes
http-host-malformed = a request needs exactly one `Host`, as host or host:port
http-host-foreign = the `Host` is not this server
http-origin-foreign = the request comes from a page of another site
http-origin-missing = a change with a cookie needs the `Origin` that browsers send
http-too-many-failures = too many requests with a wrong token or code came from this address
http-too-many-requests = this token made too many requests
http-connections-used-up = the server has no connection left
http-scope-missing = the token `{ $name }` lacks the scope `{ $scope }`
http-no-route = there is no such route
http-no-method = the route does not have this method
http-no-call = the task `{ $id }` has no call `{ $call }`
http-no-lease = the task `{ $id }` holds no lease
http-lease-in-use = a living process holds the lease of `{ $id }`
http-lease-in-use-hint = cancel the task, or send `force` to take the lease away
http-no-session = there is no such session
http-code-unknown = the login code is unknown, expired or used
http-code-unknown-hint = run `posse tokens login` for a new link
http-address-unusable = cannot listen on { $address }
http-address-unusable-hint = choose another address or port with `--listen`
http-tls-unusable = the TLS file `{ $path }` cannot be used
token-name-invalid = the name of a token has letters, digits, `-`, `_` and `.`
token-name-hint = it has at most { $most } characters
token-exists = there is a token `{ $name }` already
token-exists-hint = choose another name, or run `posse tokens revoke { $name }` first
token-file-unreadable = the tokens in `{ $path }` cannot be read
token-file-unwritable = the tokens in `{ $path }` cannot be written
tokens-too-many = there are { $most } tokens already
no-random-numbers = the system gives no random numbers
http-unreadable-answer = the answer of `{ $path }` cannot be read: { $why }
