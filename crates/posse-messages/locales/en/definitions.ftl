# Messages of `posse-definitions`.

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

## watch.rs

no-thread = no thread can be started
trust-list-locked = another process holds its lock

## places/find.rs, registry

place-remark = { $path } { $why }
file-remark = the file { $why }
place-agents-missing = its agents are not available
place-beyond-home = the agents in { $path } do not count here: the project would contain your home directory
place-beyond-home-hint = start Posse outside of your home directory, or move them
place-skipped = { $path }: { $more } more were skipped
place-skipped-hint = the remarks above say why
place-not-directory = is not a directory
place-unreadable = cannot be read: { $cause }
place-unresolved = cannot be resolved: { $cause }
place-leads-out = is a link that leads out of the project and is not followed
place-is-link = is a link and is not followed
place-is-link-hint = put the file itself there
place-too-many-names = is not read to its end: there are more than { $most } names
place-too-many-names-hint = move what is no agent elsewhere
place-too-deep = is deeper than { $most } levels and is not entered
place-too-deep-hint = move it up
place-too-many-agents = { $path } and what follows is not read: there are more than { $most } agents
place-too-many-agents-hint = remove agents that nobody uses
place-is-note = has no frontmatter and is taken for a note to people
place-is-note-hint = rename it if it is an agent
place-irregular = is { $kind }, not a regular file
place-irregular-hint = put a regular file there
place-unopened = cannot be opened: { $cause }
place-unopened-hint = check that this user may read it
place-foreign-link = is a link to a file of somebody else
place-too-large = is larger than { $most } bytes
place-too-large-hint = make it smaller
place-sum-too-large = is not read: there are more than { $most } bytes of agents
kind-pipe = a named pipe
kind-socket = a socket
kind-device = a device
kind-directory = a directory
kind-link = a link
kind-unknown = something unknown
place-bug = could not be read because of a bug in Posse
place-bug-hint = please report it with the file
extends-missing = it extends `{ $name }`, and there is no such agent
extends-circle = what it extends is a circle: { $names }
extends-too-many = it extends more than { $most } agents, one after another
file-without-agent = the file holds no agent
extends-unusable = it extends `{ $name }`, which cannot be used: { $why } ({ $path })
extends-hint = correct `extends`
twin-hint = give each a name of its own, or remove one
twin-second = { $path } has the same name and does not count
twin-first = does not count: { $path } has the same name and comes first

## frontmatter.rs, read.rs

file-bytes = the file has { $bytes } bytes, at most { $most } are read
file-bytes-hint = a definition is a prompt and a few keys; put long material into files that the agent reads
file-not-utf8 = the file is not UTF-8: byte { $column } of line { $line } is part of no character
file-not-utf8-hint = save the file as UTF-8
file-nul = the file contains a NUL byte
file-nul-hint = is it a text file?
front-open = the frontmatter is not closed
front-open-hint = end it with a line of `---`
front-bytes = the frontmatter has { $bytes } bytes, at most { $most } are read
front-bytes-hint = the prompt belongs below the second `---`
front-keys-many = there are more than { $most } keys
front-not-keys = the frontmatter is { $kind }, not keys with values
front-keys-hint = write `key: value` on each line
front-not-yaml = the frontmatter is not YAML ({ $why }); it was read line by line
front-not-yaml-hint = put a value that contains `: ` or begins with a sign into quotes
front-too-much = the frontmatter is not read: it nests or repeats more than any definition needs
key-twice = { $key } stands twice, on line { $first } and on line { $second }
key-twice-in-map = { $key } stands twice in one map, the second time on line { $second }
line-without-key = { $shown } is not read: no key stands before it
front-no-key = the frontmatter has no key
right-below = { $inner } stands below { $key } and may not belong there
right-below-hint = begin the line of a key at its first column
file-not-toml = the file is not TOML: { $why }
no-frontmatter = there is no frontmatter: the file does not say what the agent is called and what it is for
no-frontmatter-hint = begin the file with `---`, keys such as `name` and `description`, and `---`
nul-character =
    { $what ->
        [prompt] the prompt contains a NUL character
       *[description] the description contains a NUL character
    }
agents-list-empty = the list of agents is empty
entry-not-agent = an entry of the list is not an agent
no-prompt = there is no prompt: the agent knows only its task
no-prompt-hint = write it below the frontmatter
hidden-character =
    { $what ->
        [prompt] the prompt contains the invisible character { $code }
       *[description] the description contains the invisible character { $code }
    }
hidden-character-hint = look at the file in an editor that shows it before you trust it
no-rules = no rules

## formats/opencode.rs

rules-in-order = rules, the last that fits: { $rules }

## formats.rs

no-hooks = this version runs no hooks of agents
no-memory = this version keeps no memory between tasks
servers-of-session = servers of the session: the operator allows their tools, with `--allow mcp__NAME`
no-skills-beforehand = this version loads no skills beforehand
vendors-own = it belongs to the vendor's own interface
file-description-missing = `description` is missing: it tells a model when to ask this agent
file-description-bytes = `description` has { $count } bytes, at most { $most }
file-description-characters = `description` has { $count } characters, at most { $most }
file-description-hint = what the agent should do belongs below the frontmatter
file-description-costs = `description` costs about { $tokens } tokens in every request that offers this agent
entry-left-out = { $why }; the entry is left out
tools-unreadable-hint = put a comma between two tools; `[]` is none
found-list-not-names = a list with something else than names
allowed-names = a name or a list of names
allowed-model = a name of a model
found-long-list = a long list
allowed-names-most = at most { $most } names
fallback-unused = it needs `model`: the parent's model has its own
fallback-needs-model = `{ $key }` needs `model`
effort-least = effort `low`, the least there is
allowed-server-entries = names or maps of servers
allowed-servers = a map of servers
no-colours = this version shows agents without colours
always-background = every delegated task runs in the background
initial-prompt-unused = it is for the main conversation, not for a subagent
project-instructions-unused = project instructions are not put before an agent's prompt
tools-there = there is `tools`
allowed-tools-counts = Claude Code calls this key `tools` and ignores `allowedTools`; here it counts
into-approval-session = approval: as the session does; never more than the operator grants
into-approval-auto = approval: auto; never more than the operator grants
into-approval-deny = approval: deny; what would be asked for is refused
into-approval-risky = approval: ask; here every change counts as a risk
into-prompt = the prompt
instructions-missing = `developer_instructions` is missing: it is the prompt
into-access-workspace = access: whole, inside the workspace
into-access-bounded = access: whole; no wider than the operator grants
tasks-have-numbers = tasks are named by their number
no-own-sandbox = commands are not confined by a sandbox of their own
features-unused = the tools of an agent are in its list of tools
no-provider-takes-it = no provider here takes it
no-web-search = this version has no web search
no-model-there = there is no `model`
path-names-agent = the path of the file names the agent
into-hidden-primary = hidden: a person can name it, models cannot
into-options = options for the provider
into-option = an option for the provider
body-is-prompt = the text below the frontmatter is the prompt
sign-not-replaced = `{ $sign }` is not replaced here: the model sees it as it stands
tool-sign-not-replaced = `#tool:…` in the prompt is not replaced: the model sees it as it stands
no-such-effort = no effort is called so
found-map-not-flags = a map with something else than true and false
allowed-map-of-flags = a map from names to true or false
found-map-with = a map with { $name }
allowed-map-of-tools = a map from names of tools to true or false
found-says-else = { $kind } that says something else
allowed-permission = allow, ask, deny, a map from tools to these or to maps from patterns to these, or a list of rules with `action`, `resource` and `effect`
permissions-counts = opencode calls this key `permission`; here it counts
home-not-replaced = `~` and `$HOME` in a pattern are not replaced: paths are compared inside the workspace
rules-without-tools = { $rules }; `external_directory` and `doom_loop` are no tools: the workspace is the boundary for files
seconds-whole = { $seconds } seconds
whole-system-prompt = the prompt of an agent is the whole system prompt
depth-of-operator = the operator sets how deep delegation goes
one-name = an agent has one name
tools-have-bounds = each tool has its own bound
into-name = the name `{ $name }`
package-not-name = { $shown } cannot be part of a name: { $why }
into-shown-name = the name that is shown; the file names the agent
into-parents-tools = whatever the parent has
every-agent-named = a person can name every agent
agent-left-out = { $shown } is left out: { $why }
may-ask = may ask { $names }
may-ask-nobody = may ask nobody
needs-a2a = this agent runs on another machine and needs A2A, which this version does not speak
no-a2a = this version does not speak A2A
recipe-only = it belongs to a recipe; goose does not read it in an agent either
at-most-usd = at most ${ $usd }
run-shortens = long conversations are shortened by the run itself
extends-itself = an agent cannot extend itself
into-no-network = no `fetch`, no web and no MCP tools; no `bash` unless the kernel confines it
allowed-network = `full`, `none`, or a list of hosts such as docs.rs
allowed-schema = a JSON Schema, written as a map
allowed-commands = a command or a list of commands

## names.rs

name-missing = `name` is missing
name-missing-hint = the frontmatter needs `name` and `description`
name-missing-write = write `name: { $stem }`
name-not-file = `name` is `{ $name }`, the file is called { $file }
name-not-file-hint = both must be the same
name-skipped = { $shown } begins with `-` or contains `:`: Claude Code skips such a file
not-a-name = { $shown } is not a name: { $why }
file-name-hint = call the file by 1 to 64 characters of a-z, 0-9, `_` and `-`
name-empty = it is empty
name-control-character = it contains a control character
name-like-path = it looks like a path
agent-name-too-long = it is longer than { $most } bytes
name-odd-character = it contains a character that names do not have

## fields.rs

kind-empty = empty
kind-flag = true or false
kind-number = a number
kind-text = a text
kind-list = a list
kind-map = a map
field-rejected = `{ $key }` is { $found }; it can be { $allowed }
field-can-be = it can be { $allowed }
allowed-tools = a list, `[]` for none; without the key all
allowed-value = a value
allowed-text = a text; put it into quotes
found-empty-text = an empty text
allowed-list = a list, `[]` for none
found-list-with = a list with { $kind }
allowed-texts = a list of texts
allowed-texts-or-commas = a list of texts, or one text with commas
found-list-of = a list of { $count }
allowed-entries = at most { $most } entries
allowed-number = a number from { $least } to { $most }
allowed-whole = a whole number from { $least } to { $most }
inner-key-unknown = { $shown } is ignored: not a key of this format
key-unknown = not a key of this format
key-unknown-near = not a key of this format; did you mean `{ $near }`?
right-unknown = { $shown } is not a key of this format and takes nothing away
field-is-reason = it is the reason why this agent cannot be used
key-respelled = { $shown } was read as `{ $key }`
key-respelled-hint = write it as the format does

## inspect.rs

denied-by-configuration = { $tool }: denied by your configuration
only-with-allow = { $tool }: only with --allow { $tool }
changes-nothing = changes nothing
asks-before-change = asks before every change
writes-only = writes only { $paths }
reads-only = reads only { $paths }
connects-only = connects only to { $network }
project-agent-unknown = no agent of this project is called `{ $agent }`
project-agent-unknown-hint = `posse agents list` shows what there is; nothing was trusted

## lazy.rs

project-agents-not-trusted = { $agents } of this project not trusted and not used: `posse agents check` shows them, `posse trust` lets them run
many-agents =
    { $n ->
        [one] { $n } agent
       *[other] { $n } agents
    }
