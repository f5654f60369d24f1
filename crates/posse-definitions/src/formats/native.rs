//! Our own files, `.posse/agents/<name>.md`. `schema` documents each key.

use posse_core::definition::{Approval, Definition, Isolation, TaskIn};
use posse_core::grant::Access;
use posse_core::id::AgentName;
use posse_core::pattern::ToolPattern;

use super::{Need, *};

/// What could reach the network. A command cannot be kept from it by its text, so `network: none` takes `bash` too.
const NO_NETWORK: &[&str] = &["bash", "web*", "mcp__*"];

pub fn apply(f: &mut Fields, d: &mut Definition) {
    description(f, d, Need::Strict);
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
    d.rights.write_paths = f.texts("write_paths");
    network(f, d);
    d.approval = f.word(
        "approval",
        &[("ask", Approval::Ask, ""), ("deny", Approval::Deny, ""), ("auto", Approval::Auto, "")],
    );
    let access = f.word("access", &[("read-only", Access::ReadOnly, ""), ("whole", Access::Whole, "")]);
    d.rights.access = access.unwrap_or_default();
    output_schema(f, d);
    verify(f, d);
    mcp_servers(f, d, "mcp_servers");
    skills(f, d);
    color(f, d);
    background(f, d, "background");
    d.mode.hidden = f.flag("hidden").unwrap_or_default();
    isolation(f, d);
    let inherited = if d.extends.is_some() { None } else { Some(TaskIn::System) };
    d.task_in =
        f.word("task_in", &[("system", TaskIn::System, ""), ("user", TaskIn::User, "")]).or(inherited);
}

fn budget(f: &mut Fields, d: &mut Definition) {
    let Some(mut inner) = f.inner("budget") else { return };
    d.limits.cost_micros = inner.number("max_cost_usd", 0.0..=USD_MAX).map(usd_to_micros);
    d.limits.input_tokens = inner.whole("max_input_tokens", 1..=u64::MAX);
    d.limits.output_tokens = inner.whole("max_output_tokens", 1..=u64::MAX);
    f.give_back("budget", inner);
}

fn extends(f: &mut Fields, d: &mut Definition) {
    let Some(raw) = f.text("extends") else { return };
    match AgentName::parse(&raw) {
        Ok(name) if name == d.name => f.fail("extends", "an agent cannot extend itself", None),
        Ok(name) => d.extends = Some(name),
        Err(e) => f.fail("extends", format!("`extends`: {}", e.message()), e.advice()),
    }
}

fn network(f: &mut Fields, d: &mut Definition) {
    let is_off = f.word(
        "network",
        &[
            ("full", false, ""),
            (
                "none",
                true,
                "no `bash`, no web and no MCP tools: this version cannot keep a command off the network",
            ),
        ],
    );
    if is_off == Some(true) {
        let off = NO_NETWORK.iter().map(|name| ToolPattern::tool(name));
        d.rights.deny = each_once(d.rights.deny.drain(..).chain(off).collect());
    }
}

fn output_schema(f: &mut Fields, d: &mut Definition) {
    match f.value("output_schema") {
        None => {}
        Some(Node::Map(entries)) => d.output_schema = Some(Node::Map(entries).to_json()),
        Some(other) => {
            f.reject("output_schema", other.kind(), "a JSON Schema, written as a map");
        }
    }
}

/// A command can contain commas: one text is one command.
fn verify(f: &mut Fields, d: &mut Definition) {
    let commands = match f.value("verify") {
        None => return,
        Some(Node::Text(command)) => vec![command],
        Some(Node::List(_)) => f.texts("verify").unwrap_or_default(),
        Some(other) => {
            f.refuse("verify", other.kind(), "a command or a list of commands").unwrap_or_default()
        }
    };
    d.verify = commands;
}

fn isolation(f: &mut Fields, d: &mut Definition) {
    let isolation =
        f.word("isolation", &[("none", Isolation::None, ""), ("worktree", Isolation::Worktree, "")]);
    d.isolation = isolation.unwrap_or_default();
    if d.isolation == Isolation::Worktree {
        f.unused("isolation", NO_WORKTREE);
    }
}
