# What `posse-definitions` says. A message is said with `say!`, or with `fixed!` if it is part of a record.

## registry/lookup.rs

no-agents-here = there are no agents here; write one in `.posse/agents/<name>.md`
agent-disabled = the agent `{ $name }` is disabled in { $path }
agent-disabled-hint = enable it there, or ask another agent
agent-not-ours = the agent `{ $name }` is not trusted: { $path } belongs to another user
agent-not-trusted = the agent `{ $name }` is not trusted: nobody has said yes to { $path } as it is now
agent-unusable = the agent `{ $name }` cannot be used ({ $path }): { $told }

## trust.rs

trust-writes-list = `posse trust` writes a new list
trust-list-unusable = the list of trusted files `{ $path }` { $why }, so nothing is trusted
trust-list-unopened = cannot be opened ({ $cause })
trust-list-unexamined = cannot be examined ({ $cause })
trust-list-irregular = is not a regular file
trust-list-writable = can be written by others
trust-list-unreadable = cannot be read ({ $cause })
trust-list-too-large = is too large
trust-list-damaged = is damaged ({ $cause })
trust-list-version = has version { $other }, which this program does not know
trust-list-unwritten = the list of trusted files `{ $path }` cannot be written
trust-list-not-json = a list cannot be written as JSON
trust-path-hint = rename the directory, or use --trust for one run
trust-path-not-utf8 = the path { $path } is not UTF-8, so it cannot be trusted
agents-there-are = There are: { $names }
agents-there-are-more = There are: { $names } and { $more } more
agent-hides = until then it hides the agent of that name from { $path }
agent-not-ours-hint = a person can make a copy of the file that is their own
agent-not-trusted-hint = a person can read the file and run `posse trust`
agent-not-trusted-broken-hint = the file has errors, and `posse trust` takes it only without them: `posse agents check { $name }` shows them
and-others = and { $more } more
correct-the-file = correct the file
agent-unusable-hint = { $advice }; `posse agents check` shows everything about it
