# Messages of `posse-setup`.

mode-plan = plan · reads only
mode-ask = ask · asks before every edit and command
mode-ask-edits = ask · asks before every edit
mode-auto = auto · edits and commands run without asking
mode-auto-edits = auto · edits without asking
mode-no-terminal = there is no terminal: --mode auto edits and runs commands
mode-no-screen = this terminal cannot ask (dumb, or smaller than 40×8): --mode auto edits and runs commands
mode-bubblewrap = sandbox bubblewrap, { $network }
mode-bubblewrap-closed = sandbox bubblewrap, { $network }; `sandbox.top` is closed
mode-landlock = sandbox Landlock, { $network }; commands make nothing new at the top of the workspace (install bubblewrap)
mode-unconfined = commands are not confined
mode-no-network = no network
mode-network = network { $reach }
mode-sandbox-off = no commands: `sandbox.tier` is `off` (--allow bash runs them unconfined)
mode-commands-denied = no commands: the configuration denies them
mode-no-sandbox = no commands: nothing can confine them here; install bubblewrap 0.8 (`posse doctor` says why)
mode-plan-allows-no = `{ $tool }` changes something, and the mode `plan` only reads
mode-plan-allows-no-hint = use --mode ask or --mode auto, or leave --allow out
temperature-range = a number from 0 to 2
private-address-invalid = `{ $raw }` is no address such as `127.0.0.1:8080`
hooks-too-many = at most { $most } hooks are allowed
project-cannot-set = { $path }: `{ $key }` cannot be set by a project
project-cannot-script = { $path }: `{ $key }` cannot be a `scripted:` model in a project
project-cannot-hint = put it into the user's configuration, or pass `--config { $path }` if you trust this file
foreign-project-file = { $path } belongs to another user and is not read; `--config { $path }` reads it
file-unreadable = { $path } cannot be read
file-unreadable-hint = check the path and its permissions
not-a-price = { $path }: `prices."{ $model }"`: { $wrong } is not a price
session-tools-invalid = `session.tools`: { $why }
no-place-for-tasks = there is no place to keep tasks: HOME is not set
no-place-for-tasks-hint = set HOME, or name a directory with --state
effort-invalid = must be low, medium, high or max
dollars-invalid = an amount in US dollars is above zero, such as 0.50
no-config-directory = there is no directory for the configuration: neither HOME nor XDG_CONFIG_HOME is set
tool-broken = the tool `{ $name }` cannot be used: { $why }
config-not-a-table = `{ $key }` is a value, not a table
config-key-invalid = `{ $key }` is not the name of a setting
config-key-hint = write it with dots, such as `limits.max_turns`; put quotes around a part with other characters
config-secret = `{ $key }` would put a secret into the configuration
config-secret-hint = `posse setup` stores a key in a file that only you can read; `api_key_env` names a variable
config-not-set = `{ $key }` is not set
config-list-hint = `posse config list` shows what is set
span-range = it must be from 1 second to { $most }
posse-inside-posse = this Posse was started by a task that may not delegate
posse-inside-posse-hint = do the work in the task itself, or delegate from the task above it
topic-terminal = terminal
agent-or-file-unknown = no agent and no file of an agent is called `{ $unknown }`
agents-list-hint = `posse agents list` shows what there is
standing-broken = not trusted, and cannot run as it is
standing-not-trusted = not trusted: `posse trust` lets it run
standing-not-ours = belongs to another user and cannot be trusted
field-mapped = mapped: { $into }
field-ignored = ignored: { $why }
costs-in-list = { $tokens } in a list of agents
hidden-from-models = models do not see it; a person can name it with --agent
costs-when-listed = { $tokens } whenever agents are listed to a model
doctor-no-configuration = none; `posse init` writes one, yours would be { $user }
doctor-no-keys = none seen in the environment
doctor-key-unreadable = { $file } cannot be read or is empty; `posse setup` stores a key
doctor-key-wins = { $file } (wins over { $variable })
doctor-key-none = no key
doctor-model-not-asked = { $model }, not asked (--online asks)
doctor-answered = { $model } answered in { $seconds } s · its key lists { $models } models
doctor-answered-unlisted = { $model } answered in { $seconds } s · its models are not listed: { $why }
doctor-lists-nothing = { $provider } lists no models, so none was asked
doctor-confinement = files: kernel-checked paths inside the workspace · commands: { $commands }
doctor-mode = at a terminal { $here }, without one { $elsewhere }
doctor-unprotected = {" "}· not protected: { $names } (`sandbox.unprotected`)
doctor-approvals-default = calls that agent files ask about
doctor-approvals-unattended = refused here; at a terminal you are asked
doctor-approvals-listed = calls in `approvals.allow` run without asking, all others are refused
doctor-approvals-deny = refused without asking
doctor-approvals-ask = you are asked; { $default } after { $seconds } s without an answer
doctor-sandbox-network = network: { $network }
doctor-top-open = the workspace is writable but for protected names
doctor-top-closed = nothing new at the top of the workspace (bubblewrap opens it)
doctor-sandbox-hint = or set `tier = "off"` under `[sandbox]` in the user's configuration
doctor-sandbox-off = (`sandbox.tier` is `off`)
doctor-only-with-allow = only with --allow: { $names }
doctor-delegation =
    depth { $depth } · up to { $running_max ->
        [one] { $running_max } running task
       *[other] { $running_max } running tasks
    } per parent, { $beyond } · up to { $open_max ->
        [one] { $open_max } open task
       *[other] { $open_max } open tasks
    }
doctor-limit-rejects = more are refused
doctor-limit-queues = more are queued
doctor-not-trusted = { $untrusted } not trusted: posse trust
doctor-agents = { $usable } of { $all } can be used
doctor-agents-check = posse agents check tells about each
doctor-to-delegate = { $parts } · { $total } to delegate
doctor-store = { $path } · { $tasks } · { $size } · integrity ok
doctor-retention-none = kept until `posse gc` or `posse tasks delete`
doctor-retention-age = tasks go { $age } after they ended
doctor-retention-size = the oldest go when the store is larger than { $size }
doctor-retention-last = last `posse gc`: { $age } ago, { $tasks } deleted
state-warning = warning
state-ready = ready
state-disabled = disabled
state-not-trusted = not trusted
none = none
row-agent = agent
row-standing = standing
row-hidden-by = hidden by
row-shadows = shadows
row-model = model
row-tools = tools
row-not-given = not given
row-rule = rule
row-costs = costs
row-name = name
row-from = from
row-description = description
row-verify = verify
row-limits = limits
row-note = note
agent-version = { $name } (version { $version }, { $state })
standing-trusted = trusted
field-honoured = honoured
guard-rail = a pattern that denies a command is a guard rail, not a wall: what a command reaches is decided by the sandbox
topic-version = version
topic-configuration = configuration
topic-model = model
topic-keys = keys
topic-online = online
topic-base-url = base URL
topic-confinement = confinement
topic-mode = mode
topic-tools = tools
topic-delegation = delegation
topic-agents = agents
topic-prompt-tokens = prompt tokens
topic-store = store
topic-retention = retention
topic-log = log
topic-traces = traces
agent-file-look = see `posse agents check { $name }`
agent-file-look-more =
    { $n ->
        [one] { $n } more: `posse agents check { $name }`
       *[other] { $n } more: `posse agents check { $name }`
    }

