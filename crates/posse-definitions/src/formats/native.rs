//! Our own format, `.posse/agents/<name>.md`. `schema` documents each key.

use posse_core::definition::{ApprovalSetting, Definition, Isolation, TaskIn};
use posse_core::grant::{AccessLevel, NetworkGrant};
use posse_core::id::AgentName;
use posse_core::lease::WritePaths;

use super::{FieldNeed, *};

/// Reads the keys of this format.
pub fn apply(f: &mut FieldReader, d: &mut Definition) {
    description(f, d, FieldNeed::Strict);
    model(f, d, "model", model_names::any);
    fallback_models(f, d, "fallback_models", model_names::any);
    tools(f, d, "tools", as_written);
    denied(f, d, "disallowed_tools", as_written);
    effort(f, d, "effort");
    temperature(f, d);
    turns(f, d, "max_turns");
    d.limits.tool_calls = f.whole("max_tool_calls", 1..=100_000).and_then(|calls| u32::try_from(calls).ok());
    d.limits.wall_s = f.whole("timeout", 1..=DAY_S);
    budget(f, d);
    extends(f, d);
    d.prompt_append = f.text("system_prompt_append");
    write_paths(f, d);
    d.rights.read_roots = f.texts("read_roots");
    network(f, d);
    use ApprovalSetting::{Ask, Auto, Deny};
    d.approval = f.plain_word("approval", &[("ask", Ask), ("deny", Deny), ("auto", Auto)]);
    let levels = [("read-only", AccessLevel::ReadOnly), ("whole", AccessLevel::Whole)];
    d.rights.access = f.plain_word("access", &levels).unwrap_or_default();
    output_schema(f, d);
    verify(f, d);
    mcp_servers(f, d, "mcp_servers");
    skills(f, d);
    color(f, d);
    background(f, d, "background");
    d.mode.hidden = f.flag("hidden").unwrap_or_default();
    let kinds = [("none", Isolation::None), ("worktree", Isolation::Worktree)];
    d.mode.isolation = f.plain_word("isolation", &kinds).unwrap_or_default();
    let inherited = if d.extends.is_some() { None } else { Some(TaskIn::System) };
    d.task_in = f.plain_word("task_in", &[("system", TaskIn::System), ("user", TaskIn::User)]).or(inherited);
}

/// Reads the write paths, and rejects invalid ones now instead of at the start of a task.
fn write_paths(f: &mut FieldReader, d: &mut Definition) {
    d.rights.write_paths = f.texts("write_paths");
    let named = d.rights.write_paths.as_ref().filter(|paths| !paths.is_empty());
    if let Some(Err(e)) = named.map(|paths| WritePaths::parse("", paths)) {
        f.fail("write_paths", format!("`write_paths`: {}", e.message()), e.advice());
    }
}

fn budget(f: &mut FieldReader, d: &mut Definition) {
    let Some(mut inner) = f.inner("budget") else { return };
    d.limits.cost_micros = inner.number("max_cost_usd", 0.0..=USD_MAX).map(usd_to_micros);
    d.limits.input_tokens = inner.whole("max_input_tokens", 1..=u64::MAX);
    d.limits.output_tokens = inner.whole("max_output_tokens", 1..=u64::MAX);
    f.merge_inner("budget", inner);
}

fn extends(f: &mut FieldReader, d: &mut Definition) {
    let Some(raw) = f.text("extends") else { return };
    match AgentName::parse(&raw) {
        Ok(name) if name == d.name => f.fail("extends", localized!("extends-itself"), None),
        Ok(name) => d.extends = Some(name),
        Err(e) => f.fail("extends", format!("`extends`: {}", e.message()), e.advice()),
    }
}

fn network(f: &mut FieldReader, d: &mut Definition) {
    let hosts = match f.value("network") {
        None => return,
        Some(YamlNode::Text(word)) if word.trim() == "full" => return,
        Some(YamlNode::Text(word)) if word.trim() == "none" => {
            f.mapped("network", localized!("into-no-network"));
            Vec::new()
        }
        Some(YamlNode::Text(_) | YamlNode::List(_)) => match f.texts("network") {
            Some(hosts) => hosts,
            None => return,
        },
        Some(other) => return f.reject("network", &other.kind(), &localized!("allowed-network")),
    };
    // A word such as `off` would be taken for a host that does not exist.
    if let Some(word) = hosts.iter().find(|host| *host != "localhost" && !host.contains(['.', ':', '*'])) {
        return f.reject("network", &shown(word).into(), &localized!("allowed-network"));
    }
    match NetworkGrant::parse(&hosts) {
        Ok(network) => d.rights.network = Some(network),
        Err(e) => f.fail("network", e.message().map(|why| format!("`network`: {why}")), e.advice()),
    }
}

fn output_schema(f: &mut FieldReader, d: &mut Definition) {
    match f.value("output_schema") {
        None => {}
        Some(YamlNode::Map(entries)) => d.answer.output_schema = Some(YamlNode::Map(entries).to_json()),
        Some(other) => {
            f.reject("output_schema", &other.kind(), &localized!("allowed-schema"));
        }
    }
}

/// Reads the verify commands. A command can contain commas, so one text is one command.
fn verify(f: &mut FieldReader, d: &mut Definition) {
    let commands = match f.value("verify") {
        None => return,
        Some(YamlNode::Text(command)) => vec![command],
        Some(YamlNode::List(_)) => f.texts("verify").unwrap_or_default(),
        Some(other) => f.refuse("verify", &other.kind(), &localized!("allowed-commands")).unwrap_or_default(),
    };
    d.answer.verify = commands;
}
