//! Examples below the help of each command. Command lines are the same in every language, except for the words of a
//! person in them.

use posse_messages::say;

/// Catalog key of a command, and its examples. `{task}` and its like are words of a person.
// flat table
const EXAMPLES: &[(&str, &[&str])] = &[
    ("help", &["posse", "posse run \"{task}\"", "posse demo"]),
    (
        "help-run",
        &[
            "posse run \"{task}\"",
            "posse run --allow bash --verify 'cargo test' --timeout 20m \"{fix}\"",
            "git log -5 -p | posse run \"{summary}\"",
        ],
    ),
    (
        "help-chat",
        &[
            "posse chat",
            "posse chat --continue",
            "posse chat --agent reviewer --model anthropic:claude-sonnet-4-5",
        ],
    ),
    ("help-review", &["posse review", "posse review --base main --fail-on high"]),
    ("help-demo", &["posse demo"]),
    ("help-setup", &["posse setup", "posse setup anthropic < key.txt"]),
    ("help-models", &["posse models", "posse models anthropic --matching sonnet"]),
    ("help-config", &["posse config set model anthropic:claude-sonnet-4-5", "posse config list"]),
    ("help-config-get", &["posse config get limits.max_turns"]),
    (
        "help-config-set",
        &["posse config set limits.max_turns 50", "posse config set --project limits.max_cost_usd 2.0"],
    ),
    ("help-config-unset", &["posse config unset limits.max_turns"]),
    ("help-config-edit", &["posse config edit"]),
    ("help-config-path", &["posse config path"]),
    ("help-config-list", &["posse config list"]),
    ("help-init", &["posse init"]),
    ("help-doctor", &["posse doctor", "posse doctor --online"]),
    ("help-agents", &["posse agents list", "posse agents new reviewer"]),
    ("help-agents-list", &["posse agents list", "posse agents list --allow bash"]),
    ("help-agents-show", &["posse agents show reviewer"]),
    ("help-agents-check", &["posse agents check", "posse agents check .claude/agents/reviewer.md"]),
    ("help-agents-new", &["posse agents new reviewer", "posse agents new --user reviewer"]),
    ("help-agents-schema", &["posse agents schema > agent.schema.json"]),
    ("help-agents-export", &["posse agents export reviewer --to claude --out .claude/agents/reviewer.md"]),
    ("help-trust", &["posse trust", "posse trust --list", "posse trust --revoke"]),
    ("help-tasks", &["posse tasks list", "posse tasks show k3v9"]),
    ("help-tasks-list", &["posse tasks list", "posse tasks list --status interrupted --limit 5"]),
    ("help-tasks-show", &["posse tasks show k3v9", "posse tasks show k3v9 --result 3.0"]),
    (
        "help-tasks-export",
        &[
            "posse tasks export k3v9 --tree --out task.jsonl",
            "posse tasks export k3v9 --html --out task.html",
        ],
    ),
    (
        "help-tasks-resume",
        &["posse tasks resume k3v9", "posse tasks resume k3v9 --max-turns 20 --timeout 1h"],
    ),
    ("help-tasks-watch", &["posse tasks watch k3v9"]),
    ("help-tasks-diff", &["posse tasks diff k3v9"]),
    ("help-tasks-undo", &["posse tasks undo k3v9"]),
    ("help-tasks-apply", &["posse tasks apply k3v9"]),
    ("help-tasks-discard", &["posse tasks discard k3v9"]),
    ("help-tasks-cancel", &["posse tasks cancel k3v9"]),
    ("help-tasks-send", &["posse tasks send k3v9 \"{message}\""]),
    ("help-tasks-answer", &["posse tasks answer k3v9", "posse tasks answer k3v9 \"{answer}\""]),
    ("help-tasks-approve", &["posse tasks approve k3v9"]),
    ("help-tasks-delete", &["posse tasks delete k3v9 p6ip"]),
    ("help-top", &["posse top", "posse top --all", "posse top k3v9"]),
    ("help-cost", &["posse cost --since 7d", "posse cost --by agent"]),
    ("help-gc", &["posse gc --dry-run", "posse gc --older-than 30d"]),
    ("help-leases", &["posse leases"]),
    ("help-leases-release", &["posse leases release k3v9"]),
    ("help-worker", &["posse worker --local", "posse worker --local --until-idle"]),
    ("help-servers", &["posse servers", "posse servers show github"]),
    ("help-servers-show", &["posse servers show github --start"]),
    ("help-servers-accept", &["posse servers accept github"]),
    ("help-servers-login", &["posse servers login github"]),
    ("help-servers-logout", &["posse servers logout github"]),
    (
        "help-mcp",
        &["posse mcp", "posse mcp --write 'src/**' --allow bash", "posse mcp --http 127.0.0.1:8808"],
    ),
    ("help-mcp-install", &["posse mcp install --host claude-code --write"]),
    ("help-mcp-doctor", &["posse mcp doctor"]),
    ("help-serve", &["posse serve", "posse serve --write 'src/**' --listen 127.0.0.1:8080"]),
    ("help-tokens", &["posse tokens login", "posse tokens add phone --scope approve --scope steer"]),
    ("help-tokens-add", &["posse tokens add ci --expires 90d"]),
    ("help-tokens-list", &["posse tokens list"]),
    ("help-tokens-revoke", &["posse tokens revoke phone"]),
    ("help-tokens-login", &["posse tokens login --url https://posse.example"]),
    ("help-approvals", &["posse approvals list", "posse approvals watch"]),
    ("help-approvals-list", &["posse approvals list", "posse approvals list --newest 10"]),
    ("help-approvals-show", &["posse approvals show a7"]),
    (
        "help-approvals-approve",
        &["posse approvals approve a7", "posse approvals approve a7 --scope task --expires 1h"],
    ),
    ("help-approvals-deny", &["posse approvals deny a7 --reason \"{message}\""]),
    ("help-approvals-watch", &["posse approvals watch"]),
    ("help-context", &["posse context list", "posse context read findings"]),
    ("help-context-list", &["posse context list", "posse context list --session k3v9"]),
    ("help-context-read", &["posse context read findings"]),
    (
        "help-context-write",
        &["posse context write decision \"{answer}\"", "posse context write log - --ttl 2h"],
    ),
    ("help-context-wait", &["posse context wait findings --timeout 5m"]),
    ("help-context-delete", &["posse context delete findings"]),
    ("help-context-history", &["posse context history findings --versions 5"]),
    (
        "help-context-snapshot",
        &["posse context snapshot before_merge", "posse context snapshot before_merge --restore"],
    ),
    ("help-sessions", &["posse sessions list"]),
    ("help-sessions-list", &["posse sessions list --limit 5"]),
    ("help-sessions-archive", &["posse sessions archive k3v9"]),
    ("help-sessions-delete", &["posse sessions delete k3v9"]),
    ("help-completions", &["posse completions bash > ~/.local/share/bash-completion/completions/posse"]),
    ("help-help", &["posse help tasks list", "posse help --man ~/.local/share/man/man1"]),
];

/// Returns the examples of a command below this heading.
pub fn of(key: &str, heading: &str) -> Option<String> {
    let lines = lines(key);
    let shown: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    let mut text = (!shown.is_empty()).then(|| format!("{heading}:\n{}", shown.join("\n")))?;
    if key == "help-completions" {
        text = format!("{}\n\n{text}", say!("completions-install"));
    }
    Some(text)
}

/// Returns the example command lines in the language of the process.
pub fn lines(key: &str) -> Vec<String> {
    let found = EXAMPLES.iter().find(|(known, _)| *known == key);
    found.into_iter().flat_map(|(_, lines)| *lines).map(|line| spoken(line)).collect()
}

/// Puts the words of a person into an example.
fn spoken(line: &str) -> String {
    let put = |line: String, mark: &str, text: fn() -> String| match line.contains(mark) {
        true => line.replace(mark, &text()),
        false => line,
    };
    let line = put(line.to_owned(), "{task}", || say!("example-task"));
    let line = put(line, "{fix}", || say!("example-fix"));
    let line = put(line, "{summary}", || say!("example-summary"));
    let line = put(line, "{message}", || say!("example-message"));
    put(line, "{answer}", || say!("example-answer"))
}

/// Returns the catalog keys of the commands that have examples.
pub fn keys() -> std::collections::BTreeSet<String> {
    EXAMPLES.iter().map(|(key, _)| (*key).to_owned()).collect()
}
