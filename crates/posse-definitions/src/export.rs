//! Writes a definition as a file of any format and reports what that format cannot express. A format that
//! cannot express the rights exactly gets fewer rights.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use posse_core::agent::Effort;
use posse_core::definition::{ApprovalSetting, DefinedLimits, Definition, Format, Isolation, TOOLS, TaskIn};
use posse_core::grant::{AccessLevel, RuleVerdict};
use posse_core::pattern::ToolPattern;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::formats::{copilot, each_once};
use crate::frontmatter::shown;
use crate::node::{YamlEntry, YamlNode};

/// An exported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    pub file_name: String,
    pub text: String,
    /// The settings that the file lacks, in words.
    pub lost: Vec<String>,
    /// The reason why the exported agent would have more rights than the definition allows, if the format
    /// cannot express fewer.
    pub excess: Option<String>,
}

/// Exports a definition in the given format.
pub fn export(definition: &Definition, to: Format) -> ExportedFile {
    use Format::{Acai, Copilot, Factory, Gemini, OpenHands, Pi};
    let rights = FlatRights::of(definition);
    let mut out = ExportWriter { d: definition, rights, keys: Vec::new(), lost: Vec::new(), excess: None };
    if to != Format::Native {
        out.rights.keep_known(to);
        out.rights.keep_from_writing(definition);
        out.rights.keep_from_reading_and_reaching(definition);
        out.rights.spell_out_denials();
    }
    if !matches!(to, Format::Native | Format::Claude | Format::Opencode) {
        out.rights.drop_arguments();
    }
    let says_read_only =
        matches!(to, Format::Native | Format::Claude | Format::Codex | Format::Qwen | Format::Cursor);
    if definition.rights.access == AccessLevel::ReadOnly && !says_read_only {
        out.rights.keep_reading();
    }
    if matches!(to, Acai | Gemini | Copilot | OpenHands | Pi | Factory) {
        out.rights.only_tools();
    }
    if matches!(to, Format::Opencode | Format::Copilot) {
        out.rights.join_edit_and_write();
    }
    if to == Format::OpenHands {
        out.rights.join_for_file_editor();
    }
    let (file_name, text) = match to {
        Format::Native => (format!("{}.md", definition.name), native(&mut out)),
        Format::Codex => (format!("{}.toml", definition.name), codex(&mut out)),
        other => {
            other_keys(&mut out, other);
            let suffix = if other == Format::Copilot { ".agent.md" } else { ".md" };
            (format!("{}{suffix}", definition.name), markdown(&OrderedKeys(&out.keys), &definition.prompt))
        }
    };
    let mut lost = out.lost;
    lost.extend(out.rights.notes.iter().cloned());
    lost.extend(unsaid(definition, to));
    ExportedFile { file_name, text, lost, excess: out.excess }
}

/// The file being written.
struct ExportWriter<'a> {
    d: &'a Definition,
    rights: FlatRights,
    keys: Vec<(&'static str, YamlNode)>,
    lost: Vec<String>,
    excess: Option<String>,
}

impl ExportWriter<'_> {
    /// Returns whether the definition restricts anything, for formats that cannot express how.
    fn is_restricted(&self) -> bool {
        let rights = &self.d.rights;
        rights.access == AccessLevel::ReadOnly
            || rights.write_paths.is_some()
            || rights.read_roots.is_some()
            || rights.network.is_some()
            || self.rights.tools.is_some()
            || !self.rights.deny.is_empty()
    }

    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.keys.push((key, YamlNode::from(value.into())));
    }

    fn put_some<V: Into<Value>>(&mut self, key: &'static str, value: Option<V>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn put_list(&mut self, key: &'static str, list: Vec<String>) {
        self.put_some(key, (!list.is_empty()).then_some(list));
    }

    fn put_map(&mut self, key: &'static str, map: serde_json::Map<String, Value>) {
        self.put_some(key, (!map.is_empty()).then_some(map));
    }

    fn put_if(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.put(key, true);
        }
    }
}

/// Rights as plain lists, for formats without ordered rules. Never more than the definition grants.
struct FlatRights {
    tools: Option<Vec<ToolPattern>>,
    deny: Vec<ToolPattern>,
    notes: Vec<String>,
    /// Set when the definition's rules alone no longer describe these rights.
    beyond_rules: bool,
}

/// Tools that Posse and other tools share. Their list replaces "all" when some tool has to be left out.
const KNOWN: &[&str] = &[
    "read",
    "write",
    "edit",
    "bash",
    "grep",
    "glob",
    "ls",
    "skill",
    "subagent",
    "web_search",
    "fetch",
    "todo_write",
];

impl FlatRights {
    fn of(d: &Definition) -> Self {
        let (tools, deny) = (d.rights.tools.clone(), d.rights.deny.clone());
        let mut flat = Self { tools, deny, notes: Vec::new(), beyond_rules: false };
        let takes_all = |rule: &posse_core::grant::GrantRule| {
            rule.verdict != RuleVerdict::Allow
                && rule.pattern.name() == "*"
                && rule.pattern.argument().is_none()
        };
        let from = d.rights.rules.iter().rposition(takes_all);
        let after = &d.rights.rules[from.map_or(0, |at| at + 1)..];
        let allowed: Vec<ToolPattern> = after
            .iter()
            .filter(|rule| rule.verdict == RuleVerdict::Allow)
            .map(|rule| rule.pattern.clone())
            .collect();
        for rule in after.iter().filter(|rule| rule.verdict != RuleVerdict::Allow) {
            if !flat.deny.contains(&rule.pattern) {
                flat.deny.push(rule.pattern.clone());
            }
        }
        for pattern in &allowed {
            if flat.deny.iter().any(|denied| denied.names(pattern.name())) {
                flat.notes.push(format!("the exception that allows `{pattern}`"));
            }
        }
        if from.is_some() {
            let own = flat.tools.take();
            let kept = |p: &ToolPattern| {
                own.as_ref().is_none_or(|own| own.iter().any(|o| o.names(p.name()) && o.argument().is_none()))
            };
            flat.tools = Some(allowed.into_iter().filter(kept).collect());
        }
        if d.rights.rules.iter().any(|rule| rule.verdict == RuleVerdict::Ask) {
            flat.notes.push("asking a person before some calls: they are refused instead".to_owned());
        }
        flat
    }

    /// Keeps only tools that both sides know, because an unknown name may mean something else there.
    fn keep_known(&mut self, to: Format) {
        let is_known = |name: &str| match name.strip_prefix("mcp__") {
            Some(rest) if rest.starts_with('_') => false,
            // Copilot would read a server with the name of a tool set as that set.
            Some(rest) => to != Format::Copilot || !copilot::SETS.iter().any(|set| rest.starts_with(set)),
            None => {
                name == "*" || KNOWN.contains(&name) || (to == Format::Acai && name_in(to, name).is_some())
            }
        };
        let notes = &mut self.notes;
        if let Some(tools) = &mut self.tools {
            tools.retain(|pattern| {
                let known = is_known(pattern.name());
                if !known {
                    notes.push(format!("the tool {}", shown(&pattern.to_string())));
                }
                known
            });
        }
    }

    /// Removes all write tools, because other formats cannot limit writes to paths. Commands could write too,
    /// so `bash` goes as well.
    fn keep_from_writing(&mut self, d: &Definition) {
        if d.rights.write_paths.is_none() {
            return;
        }
        self.beyond_rules = true;
        self.notes.push("that it may write some files: it could write all of them there".to_owned());
        self.deny.extend(["edit", "write", "bash"].map(ToolPattern::tool));
        self.take_denied_from_list();
    }

    /// Removes tools that could read outside the roots or reach other hosts.
    fn keep_from_reading_and_reaching(&mut self, d: &Definition) {
        let some = |names: &[&str]| names.iter().map(|name| ToolPattern::tool(name)).collect::<Vec<_>>();
        if d.rights.read_roots.is_some() {
            self.notes.push("that it may read some files: it could read all of them there".to_owned());
            self.deny.extend(some(&["read", "edit", "grep", "glob", "ls", "directory_tree", "bash"]));
        }
        if d.rights.network.as_ref().is_some_and(|network| !network.is_full()) {
            self.deny.extend(some(&["bash", "web*", "fetch", "mcp__*"]));
        }
        if d.rights.read_roots.is_some() || d.rights.network.is_some() {
            self.beyond_rules = true;
            self.deny = each_once(std::mem::take(&mut self.deny));
            self.take_denied_from_list();
        }
    }

    /// Expands patterns such as `web*` to the tools that they cover, because other formats have no such
    /// patterns. MCP tools cannot be enumerated; denying them turns "all" into a list of the other tools.
    fn spell_out_denials(&mut self) {
        let denies_servers = |pattern: &ToolPattern| pattern.argument().is_none() && pattern.names("mcp__");
        if self.deny.iter().any(denies_servers) {
            self.list_instead();
            self.take_denied_from_list();
        }
        let mut spelled: Vec<ToolPattern> = Vec::new();
        for pattern in self.deny.drain(..) {
            let is_wide = pattern.name().contains('*') && pattern.argument().is_none();
            let meant = KNOWN
                .iter()
                .filter(|name| is_wide && pattern.names(name))
                .map(|name| ToolPattern::tool(name));
            let meant: Vec<ToolPattern> = meant.collect();
            let servers = pattern.name().starts_with("mcp__") && pattern.name() != "mcp__*";
            if !is_wide || servers {
                spelled.push(pattern);
            } else {
                spelled.extend(meant.into_iter().filter(|tool| !spelled.contains(tool)).collect::<Vec<_>>());
            }
        }
        spelled.dedup();
        self.deny = spelled;
    }

    /// Replaces "all" by a list of the known tools.
    fn list_instead(&mut self) {
        if self.tools.is_none() {
            self.beyond_rules = true;
            self.notes.push("that it has every other tool: the known ones are listed instead".to_owned());
            self.tools = Some(KNOWN.iter().map(|name| ToolPattern::tool(name)).collect());
        }
    }

    fn take_denied_from_list(&mut self) {
        let deny = &self.deny;
        let whole = |denied: &&ToolPattern| denied.argument().is_none();
        if let Some(tools) = &mut self.tools {
            if tools.iter().any(|pattern| pattern.name() == "*") && deny.iter().any(|denied| whole(&denied)) {
                tools.retain(|pattern| pattern.name() != "*");
                tools.extend(KNOWN.iter().map(|name| ToolPattern::tool(name)));
            }
            tools.retain(|pattern| !deny.iter().filter(whole).any(|denied| denied.names(pattern.name())));
        }
    }

    /// Joins the file tools. OpenHands has one tool that reads, edits and writes; without all three rights
    /// the agent gets none of it.
    fn join_for_file_editor(&mut self) {
        let Some(tools) = &mut self.tools else { return };
        let has = |name: &str| tools.iter().any(|pattern| pattern.names(name));
        let whole = has("read") && has("edit") && has("write");
        let some = has("read") || has("edit") || has("write");
        tools.retain(|pattern| match pattern.name() {
            "read" => whole,
            "bash" | "grep" | "glob" | "*" => true,
            _ => false,
        });
        if some && !whole {
            self.notes.push("that it may read or write files: there, one tool does both".to_owned());
        }
    }

    /// Removes arguments, for formats that allow a tool as a whole or not at all.
    fn drop_arguments(&mut self) {
        let notes = &mut self.notes;
        if let Some(tools) = &mut self.tools {
            tools.retain(|pattern| {
                if pattern.argument().is_some() {
                    notes.push(format!("that it may call `{pattern}`: other calls could not be refused"));
                }
                pattern.argument().is_none()
            });
        }
        for pattern in self.deny.iter_mut().filter(|pattern| pattern.argument().is_some()) {
            notes.push(format!("that only `{pattern}` is refused: the whole tool is"));
            *pattern = ToolPattern::tool(pattern.name());
        }
        self.deny.dedup();
    }

    /// Keeps only reading tools, for formats without a read-only setting.
    fn keep_reading(&mut self) {
        const READING: &[&str] = &["read", "grep", "glob", "ls", "directory_tree", "think"];
        self.tools = Some(match self.tools.take() {
            None => ["read", "grep", "glob", "ls"].map(ToolPattern::tool).to_vec(),
            Some(tools) => tools.into_iter().filter(|pattern| READING.contains(&pattern.name())).collect(),
        });
    }

    /// Keeps only the given tools and MCP tools, for formats without others.
    fn keep_only(&mut self, theirs: &[&str]) {
        if let Some(tools) = &mut self.tools {
            tools.retain(|pattern| theirs.contains(&pattern.name()) || pattern.name().starts_with("mcp__"));
        }
    }

    /// Joins `edit` and `write`, for formats in which they are one right: without both the agent gets
    /// neither.
    fn join_edit_and_write(&mut self) {
        let Some(tools) = &mut self.tools else { return };
        let has = |name: &str| tools.iter().any(|pattern| pattern.names(name));
        if has("edit") != has("write") {
            tools.retain(|pattern| !matches!(pattern.name(), "edit" | "write"));
            self.notes.push("that it may edit or write: there, one is also the other".to_owned());
        }
    }

    /// Removes denied tools from the list, for formats without a deny list.
    fn only_tools(&mut self) {
        if !self.deny.is_empty() {
            self.list_instead();
            self.take_denied_from_list();
        }
    }
}

fn native(out: &mut ExportWriter<'_>) -> String {
    let d = out.d;
    let limits = &d.limits;
    out.put("name", d.name.as_str());
    out.put("description", d.description.as_str());
    out.put_some("model", d.model.candidates.first().cloned());
    out.put_list("fallback_models", d.model.candidates.get(1..).unwrap_or_default().to_vec());
    out.put_some("tools", out.rights.tools.as_deref().map(texts));
    out.put_list("disallowed_tools", texts(&out.rights.deny));
    out.put_some("effort", d.model.effort.map(Effort::wire));
    out.put_some("temperature", temperature(d));
    out.put_some("max_turns", limits.turns);
    out.put_some("max_tool_calls", limits.tool_calls);
    out.put_some("timeout", limits.wall_s);
    let budget = [
        ("max_cost_usd", limits.cost_micros.map(|micros| json!(micros as f64 / 1e6))),
        ("max_input_tokens", limits.input_tokens.map(Value::from)),
        ("max_output_tokens", limits.output_tokens.map(Value::from)),
    ];
    let budget = budget.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    out.put_map("budget", budget.collect());
    out.put_some("extends", d.extends.as_ref().map(ToString::to_string));
    out.put_some("system_prompt_append", d.prompt_append.clone());
    out.put_some("write_paths", d.rights.write_paths.clone());
    out.put_some("read_roots", d.rights.read_roots.clone());
    out.put_some(
        "network",
        d.rights.network.as_ref().map(|network| match network.is_none() {
            true => Value::from("none"),
            false => Value::from(Vec::<String>::from(network.clone())),
        }),
    );
    out.put_some(
        "approval",
        d.approval.map(|approval| match approval {
            ApprovalSetting::Ask => "ask",
            ApprovalSetting::Deny => "deny",
            ApprovalSetting::Auto => "auto",
        }),
    );
    out.put_some("access", (d.rights.access == AccessLevel::ReadOnly).then_some("read-only"));
    out.put_some("output_schema", d.answer.output_schema.clone().filter(Value::is_object));
    out.put_list("verify", d.answer.verify.clone());
    out.put_map("mcp_servers", d.mcp_servers.clone().into_iter().collect());
    out.put_list("skills", d.kept.skills.clone());
    out.put_some("color", d.kept.color.clone());
    out.put_if("background", d.mode.background);
    out.put_if("hidden", d.mode.hidden);
    out.put_some("isolation", (d.mode.isolation == Isolation::Worktree).then_some("worktree"));
    out.put_some(
        "task_in",
        d.task_in.map(|place| match place {
            TaskIn::System => "system",
            TaskIn::User => "user",
        }),
    );
    markdown(&OrderedKeys(&out.keys), &d.prompt)
}

fn codex(out: &mut ExportWriter<'_>) -> String {
    let d = out.d;
    out.put("name", d.name.as_str());
    out.put("description", d.description.as_str());
    model(out, &["openai", "openai-responses"]);
    out.put_some(
        "model_reasoning_effort",
        d.model.effort.map(|effort| if effort == Effort::Max { "xhigh" } else { effort.wire() }),
    );
    if out.is_restricted() {
        out.put("sandbox_mode", "read-only");
    }
    out.put_some(
        "approval_policy",
        match d.approval {
            Some(ApprovalSetting::Deny) => Some("never"),
            Some(ApprovalSetting::Ask) => Some("on-request"),
            Some(ApprovalSetting::Auto) | None => None,
        },
    );
    out.put("developer_instructions", d.prompt.as_str());
    let wants_servers = |tools: &Vec<ToolPattern>| tools.iter().any(|pattern| pattern.name().contains('*'));
    if !d.mcp_servers.is_empty() && d.rights.tools.as_ref().is_none_or(wants_servers) {
        // TOML has no null, so a server given only by name is left out.
        let servers: serde_json::Map<String, Value> = d
            .mcp_servers
            .iter()
            .filter(|(_, server)| !has_null(server))
            .map(|(name, server)| (name.clone(), server.clone()))
            .collect();
        out.put("mcp_servers", servers);
    }
    no_tools(out);
    toml::to_string(&OrderedKeys(&out.keys)).unwrap_or_default()
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(entries) => entries.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Writes the keys of every Markdown format except our own. Each arm lists the keys of one format.
fn other_keys(out: &mut ExportWriter<'_>, to: Format) {
    let d = out.d;
    if !matches!(to, Format::Opencode | Format::Copilot) {
        out.put("name", d.name.as_str());
    }
    if let (Format::Copilot, Some(name)) = (to, &d.kept.display_name) {
        out.put("name", name.as_str());
    }
    out.put("description", d.description.as_str());
    match to {
        Format::Native | Format::Codex => {}
        Format::Acai => {
            model(out, &[]);
            listed_with_commas(out, to);
            out.put_some("timeout", d.limits.wall_s.map(|seconds| seconds.min(3_600)));
        }
        Format::Claude => claude(out),
        Format::Opencode => opencode(out),
        Format::Gemini => {
            out.put_some("display_name", d.kept.display_name.clone());
            model(out, &["gemini"]);
            only_tools(out, to);
            out.put_some("temperature", temperature(d));
            out.put_some("max_turns", d.limits.turns);
            out.put_some("timeout_mins", d.limits.wall_s.map(|seconds| seconds.div_ceil(60)));
            mcp_servers(out, "mcp_servers");
        }
        Format::Copilot => {
            copilot_models(out);
            only_tools(out, to);
            out.put_if("disable-model-invocation", d.mode.hidden);
            mcp_servers(out, "mcp-servers");
        }
        Format::Qwen => {
            model(out, &["openai"]);
            lists(out, to);
            refuse_if_empty(out);
            out.put_some("approvalMode", mode(d, "plan", "yolo", "bubble"));
            out.put_some("maxTurns", d.limits.turns);
            if let Some(seconds) = d.limits.wall_s {
                out.put("runConfig", json!({ "max_time_minutes": seconds.div_ceil(60) }));
            }
            out.put_some("color", d.kept.color.clone());
            out.put_if("background", d.mode.background);
            mcp_servers(out, "mcpServers");
        }
        Format::Cursor => {
            model(out, &["anthropic", "openai", "gemini"]);
            out.put_if("readonly", out.is_restricted());
            out.put_if("is_background", d.mode.background);
            no_tools(out);
        }
        Format::OpenHands => {
            model(out, &[]);
            only_tools(out, to);
            out.put_some("max_iteration_per_run", d.limits.turns);
            out.put_some("max_budget_per_run", d.limits.cost_micros.map(|micros| micros as f64 / 1e6));
            if d.approval == Some(ApprovalSetting::Ask) {
                out.put("permission_mode", "always_confirm");
            }
            mcp_servers(out, "mcp_servers");
        }
        Format::Pi => {
            model(out, &[]);
            out.rights.keep_only(&["read", "bash", "edit", "write", "grep", "glob", "ls"]);
            listed_with_commas(out, to);
            out.put_some(
                "thinking",
                d.model.effort.map(|effort| if effort == Effort::Max { "xhigh" } else { effort.wire() }),
            );
            out.put_some("timeoutMs", d.limits.wall_s.map(|seconds| seconds.saturating_mul(1_000)));
            out.put_some("turnBudget", d.limits.turns);
            out.put_if("async", d.mode.background);
        }
        Format::Factory => {
            model(out, &["anthropic", "openai", "gemini"]);
            only_tools(out, to);
            out.put_some("reasoningEffort", d.model.effort.map(Effort::wire));
        }
        Format::Goose => {
            model(out, &["anthropic", "openai", "gemini"]);
            if out.is_restricted() {
                out.excess =
                    Some("goose cannot say which tools an agent may use, so it would have all".to_owned());
            }
            no_tools(out);
        }
    }
}

fn claude(out: &mut ExportWriter<'_>) {
    let d = out.d;
    model(out, &["anthropic"]);
    lists(out, Format::Claude);
    out.put_some("effort", d.model.effort.map(Effort::wire));
    out.put_some(
        "permissionMode",
        mode(d, "plan", "bypassPermissions", "default").filter(|mode| *mode != "default"),
    );
    out.put_some("maxTurns", d.limits.turns);
    out.put_list("skills", d.kept.skills.clone());
    mcp_servers(out, "mcpServers");
    out.put_if("background", d.mode.background);
    out.put_some("isolation", (d.mode.isolation == Isolation::Worktree).then_some("worktree"));
    out.put_some("color", d.kept.color.clone());
}

fn opencode(out: &mut ExportWriter<'_>) {
    let d = out.d;
    out.put("mode", "subagent");
    if let Some(reference) = d.model.candidates.first() {
        match reference.split_once(':') {
            Some((provider, model)) => {
                let provider = match provider {
                    "gemini" => "google",
                    "openai-responses" => "openai",
                    other => other,
                };
                out.put("model", format!("{provider}/{model}"));
            }
            None => out.lost.push(format!("the model `{reference}`, an alias of ours")),
        }
    }
    out.put_some("reasoningEffort", d.model.effort.map(Effort::wire));
    out.put_some("temperature", temperature(d));
    out.put_some("steps", d.limits.turns);
    out.put_if("hidden", d.mode.hidden);
    out.put_if("disable", d.mode.disabled);
    out.put_some("color", d.kept.color.clone());
    let permission = permission(out);
    if !permission.0.is_empty() {
        out.keys.push(("permission", permission.node()));
    }
    out.put_map("options", d.model.options.clone().into_iter().collect());
}

fn permission(out: &mut ExportWriter<'_>) -> OpencodePermission {
    let rights = &out.d.rights;
    let mut permission = OpencodePermission::default();
    let as_written = !rights.rules.is_empty()
        && rights.tools.is_none()
        && rights.access == AccessLevel::Whole
        && !out.rights.beyond_rules;
    let deny = if as_written {
        // opencode's own rule syntax loses nothing.
        out.rights.notes.clear();
        rights.rules.iter().for_each(|rule| permission.rule(&rule.pattern, rule.verdict));
        &rights.deny
    } else {
        if let Some(tools) = &out.rights.tools {
            permission.add("*", None, RuleVerdict::Deny);
            tools.iter().for_each(|pattern| permission.allow(pattern));
        }
        &out.rights.deny
    };
    deny.iter().for_each(|pattern| permission.rule(pattern, RuleVerdict::Deny));
    permission
}

/// opencode's rules: a key, then its patterns in order.
#[derive(Default)]
struct OpencodePermission(Vec<(String, Vec<(String, RuleVerdict)>)>);

impl OpencodePermission {
    fn rule(&mut self, pattern: &ToolPattern, verdict: RuleVerdict) {
        let key = match pattern.name() {
            "write" => "edit",
            "subagent" => "task",
            "ls" => "list",
            "fetch" => "webfetch",
            "web_search" => "websearch",
            name => name,
        };
        let key = match key.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => format!("{server}_{tool}"),
            None => key.to_owned(),
        };
        self.add(&key, pattern.argument(), verdict);
    }

    fn allow(&mut self, pattern: &ToolPattern) {
        if pattern.argument().is_some() && !self.0.iter().any(|(key, _)| key == pattern.name()) {
            self.rule(&ToolPattern::tool(pattern.name()), RuleVerdict::Deny);
        }
        self.rule(pattern, RuleVerdict::Allow);
    }

    /// Adds a rule. The last rule wins, so a repeated key moves to the end.
    fn add(&mut self, key: &str, argument: Option<&str>, verdict: RuleVerdict) {
        let mut rules = match self.0.iter().position(|(known, _)| known == key) {
            Some(at) => self.0.remove(at).1,
            None => Vec::new(),
        };
        match argument {
            None => rules = vec![("*".to_owned(), verdict)],
            Some(argument) => {
                rules.retain(|(known, _)| known != argument);
                rules.push((argument.to_owned(), verdict));
            }
        }
        self.0.push((key.to_owned(), rules));
    }

    fn node(&self) -> YamlNode {
        let word = |verdict: RuleVerdict| match verdict {
            RuleVerdict::Allow => "allow",
            RuleVerdict::Ask => "ask",
            RuleVerdict::Deny => "deny",
        };
        let entry = |key: &str, value: YamlNode| YamlEntry { key: key.to_owned(), line: 0, value };
        let rules = |rules: &[(String, RuleVerdict)]| match rules {
            [(argument, verdict)] if argument == "*" => YamlNode::Text(word(*verdict).to_owned()),
            several => YamlNode::Map(
                several
                    .iter()
                    .map(|(argument, verdict)| entry(argument, YamlNode::Text(word(*verdict).to_owned())))
                    .collect(),
            ),
        };
        YamlNode::Map(self.0.iter().map(|(key, patterns)| entry(key, rules(patterns))).collect())
    }
}

/// Writes the first model if the target format can name it.
fn model(out: &mut ExportWriter<'_>, providers: &[&str]) {
    let candidates = &out.d.model.candidates;
    let Some(first) = candidates.first() else { return };
    match first.split_once(':') {
        Some((provider, model)) if providers.contains(&provider) => out.put("model", model),
        None => out.put("model", first.as_str()),
        Some(_) if providers.is_empty() => out.put("model", first.as_str()),
        Some(_) => out.lost.push(format!("the model `{}`", first.escape_debug())),
    }
    if candidates.len() > 1 {
        out.lost.push("the models to try after the first".to_owned());
    }
}

fn copilot_models(out: &mut ExportWriter<'_>) {
    let names: Vec<&str> = out
        .d
        .model
        .candidates
        .iter()
        .map(|reference| reference.split_once(':').map_or(reference.as_str(), |(_, model)| model))
        .collect();
    match names.as_slice() {
        [] => {}
        [one] => out.put("model", *one),
        several => out.put("model", several.to_vec()),
    }
}

fn temperature(d: &Definition) -> Option<f64> {
    // Via its shortest text: 0.2 instead of 0.20000000298.
    d.model.temperature.and_then(|number| number.to_string().parse().ok())
}

fn mcp_servers(out: &mut ExportWriter<'_>, key: &'static str) {
    out.put_map(key, out.d.mcp_servers.clone().into_iter().collect());
}

fn mode(d: &Definition, plan: &'static str, auto: &'static str, ask: &'static str) -> Option<&'static str> {
    match (d.rights.access, d.approval) {
        (AccessLevel::ReadOnly, _) => Some(plan),
        (AccessLevel::Whole, Some(ApprovalSetting::Auto)) => Some(auto),
        (AccessLevel::Whole, Some(ApprovalSetting::Ask)) => Some(ask),
        (AccessLevel::Whole, Some(ApprovalSetting::Deny)) => Some("dontAsk"),
        (AccessLevel::Whole, None) => None,
    }
}

/// Writes the allow and deny lists, for formats that have both.
fn lists(out: &mut ExportWriter<'_>, to: Format) {
    let spelled =
        |tools: &Vec<ToolPattern>| tools.iter().map(|tool| spelled(tool, to)).collect::<Vec<String>>();
    let (tools, deny) = (out.rights.tools.as_ref().map(spelled), spelled(&out.rights.deny));
    out.put_some("tools", tools);
    out.put_list("disallowedTools", deny);
}

/// Reports the lost tool lists, for formats that have none.
fn no_tools(out: &mut ExportWriter<'_>) {
    if out.rights.tools.is_some() || !out.rights.deny.is_empty() {
        out.lost.push("which tools it may use".to_owned());
    }
}

fn only_tools(out: &mut ExportWriter<'_>, to: Format) {
    if let Some(tools) = &out.rights.tools {
        let mut tools: Vec<String> = tools.iter().map(|tool| spelled(tool, to)).collect();
        tools.dedup();
        out.put("tools", tools);
    }
}

/// Writes the tools as one comma-separated text.
fn listed_with_commas(out: &mut ExportWriter<'_>, to: Format) {
    if let Some(tools) = &out.rights.tools {
        let tools: Vec<String> = tools.iter().map(|tool| spelled(tool, to)).collect();
        out.put("tools", tools.join(", "));
    }
    refuse_if_empty(out);
}

/// Reports an empty list as excess, for formats that read it as no list and grant all tools.
fn refuse_if_empty(out: &mut ExportWriter<'_>) {
    if out.rights.tools.as_ref().is_some_and(Vec::is_empty) {
        out.excess = Some(
            "an empty list of tools is read as no list there, so the agent would have all tools".to_owned(),
        );
    }
}

fn texts(patterns: &[ToolPattern]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}

/// Names of our tools in other formats, by the format's wire name.
static TOOL_NAMES: LazyLock<BTreeMap<String, BTreeMap<String, String>>> =
    LazyLock::new(|| toml::from_str(include_str!("tool_names.toml")).expect("the table is parsed by a test"));

fn name_in(to: Format, tool: &str) -> Option<&'static str> {
    TOOL_NAMES.get(to.wire())?.get(tool).map(String::as_str)
}

/// Spells a tool as the format does.
fn spelled(pattern: &ToolPattern, to: Format) -> String {
    let server = pattern.name().strip_prefix("mcp__");
    match (to, server.and_then(|rest| rest.split_once("__"))) {
        (Format::Copilot, Some((server, tool))) => return format!("{server}/{tool}"),
        (Format::Pi, Some((server, "*"))) => return format!("mcp:{server}"),
        (Format::Pi, Some((server, tool))) => return format!("mcp:{server}/{tool}"),
        _ => {}
    }
    if let (Format::Gemini, Some(rest)) = (to, server) {
        return format!("mcp_{}", rest.replacen("__", "_", 1));
    }
    let name = name_in(to, pattern.name()).unwrap_or(pattern.name());
    match pattern.argument() {
        Some(argument) => format!("{name}({argument})"),
        None => name.to_owned(),
    }
}

/// Lists the settings that the format has no key for.
fn unsaid(d: &Definition, to: Format) -> Vec<String> {
    use Format::{
        Acai, Claude, Codex, Copilot, Cursor, Factory, Gemini, Native, OpenHands, Opencode, Pi, Qwen,
    };
    let limits = &d.limits;
    let aspects: &[(bool, &str, &[Format])] = &[
        (d.extends.is_some(), "what it extends", &[Native]),
        (d.prompt_append.is_some(), "the text after the prompt", &[Native]),
        (d.model.effort.is_some(), "the effort", &[Native, Claude, Opencode, Codex, Pi, Factory]),
        (d.model.temperature.is_some(), "the temperature", &[Native, Opencode, Gemini]),
        (!d.model.options.is_empty(), "options for the provider", &[Opencode]),
        (limits.turns.is_some(), "the most turns", &[Native, Claude, Opencode, Gemini, Qwen, OpenHands, Pi]),
        (limits.wall_s.is_some(), "the time limit", &[Native, Acai, Gemini, Qwen, Pi]),
        (limits.cost_micros.is_some(), "the most dollars", &[Native, OpenHands]),
        (has_other_limits(limits), "the most tool calls and tokens", &[Native]),
        (d.rights.write_paths.is_some(), "where it may write", &[Native]),
        (d.rights.read_roots.is_some(), "where it may read", &[Native]),
        (d.rights.network.is_some(), "which hosts it may reach", &[Native]),
        (d.approval.is_some(), "who is asked", &[Native, Claude, Codex, Qwen, OpenHands]),
        (d.answer.output_schema.is_some(), "the form of the answer", &[Native]),
        (!d.answer.verify.is_empty(), "the commands that check the result", &[Native]),
        (
            !d.mcp_servers.is_empty(),
            "its MCP servers",
            &[Native, Claude, Gemini, Copilot, Codex, Qwen, OpenHands],
        ),
        (!d.kept.skills.is_empty(), "its skills", &[Native, Claude]),
        (d.kept.color.is_some(), "its colour", &[Native, Claude, Opencode, Qwen]),
        (d.mode.background, "that it runs in the background", &[Native, Claude, Qwen, Cursor, Pi]),
        (d.mode.hidden, "that it is hidden", &[Native, Opencode, Copilot]),
        (d.mode.disabled, "that it is switched off", &[Opencode]),
        (d.mode.isolation == Isolation::Worktree, "its own worktree", &[Native, Claude]),
        (d.kept.display_name.is_some(), "the name that is shown", &[Gemini, Copilot]),
        (d.prompt.contains(TOOLS), "the list of its tools in the prompt", &[Native, Acai]),
        (
            d.task_in == Some(TaskIn::System) && !d.prompt.contains("{{task}}"),
            "that the task stands in the prompt",
            &[Native, Acai],
        ),
    ];
    let missing = aspects.iter().filter(|(present, _, formats)| *present && !formats.contains(&to));
    let mut lost: Vec<String> = missing.map(|(_, what, _)| (*what).to_owned()).collect();
    lost.extend(d.kept.extra.keys().map(|key| format!("the key {}", shown(key))));
    lost
}

fn has_other_limits(limits: &DefinedLimits) -> bool {
    limits.tool_calls.is_some() || limits.input_tokens.is_some() || limits.output_tokens.is_some()
}

fn markdown(keys: &impl Serialize, prompt: &str) -> String {
    // The keys hold only texts and numbers, which YAML can always represent.
    let front = serde_saphyr::to_string(keys).unwrap_or_default();
    format!("---\n{}\n---\n{prompt}\n", front.trim_end())
}

/// Keys in insertion order.
struct OrderedKeys<'a>(&'a [(&'static str, YamlNode)]);

impl Serialize for OrderedKeys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
