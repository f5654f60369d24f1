//! What hosts are offered: the tools of the session under their own names, and companions that only look. A tool with many actions cannot
//! be marked as one that only looks, and hosts run what is so marked side by side and without asking.

use std::sync::Arc;
use std::time::Duration;

use posse_core::arguments::ArgumentReader;
use posse_core::grant::Grant;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_core::tool_names::suggestion;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::delegation::{ResultRequest, WaitRequest};
use posse_runtime::session::facades::{Facade, SessionFacades};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Longest wait of one call, in seconds: hosts end calls that take much longer.
const WAIT_S_MAX: u64 = 45;

/// One tool that hosts can be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostTool {
    Subagent,
    Wait,
    Result,
    List,
    SharedContext,
    RunSubagent,
}

/// Effects that the tasks of a server can have, as far as their grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskReach {
    /// Changes files or anything else.
    pub writes: bool,
    /// Talks to hosts or servers elsewhere.
    pub goes_out: bool,
}

impl TaskReach {
    /// Summarizes the effects of the granted tools. A process can connect out if the grant has a network.
    pub fn of<'a>(
        grant: &Grant,
        specs: impl Iterator<Item = &'a ToolSpec>,
        goes_out: impl Fn(&str) -> bool,
    ) -> Self {
        let given: Vec<&ToolSpec> = specs.filter(|spec| grant.offers(&spec.name, spec.effect)).collect();
        Self {
            writes: given.iter().any(|spec| spec.effect != ToolEffect::Pure),
            goes_out: !grant.network().is_none() && given.iter().any(|spec| goes_out(&spec.name)),
        }
    }
}

impl HostTool {
    /// Selects the facades behind the offered tools, and those with which tasks delegate further.
    pub fn facades(offers: &[HostTool], configured: &SessionFacades) -> SessionFacades {
        let offered = |facade: Facade| match facade {
            Facade::Subagent | Facade::SharedContext => true,
            Facade::RunSubagent => offers.contains(&HostTool::RunSubagent) || configured.has(facade),
            Facade::Agent | Facade::Launch => configured.has(facade),
        };
        Facade::ALL.iter().copied().filter(|facade| offered(*facade)).collect()
    }

    pub const ALL: [HostTool; 6] = [
        HostTool::Subagent,
        HostTool::Wait,
        HostTool::Result,
        HostTool::List,
        HostTool::SharedContext,
        HostTool::RunSubagent,
    ];

    /// Tools offered by default: everything needed to delegate, in few tokens.
    pub const USUAL: [HostTool; 5] =
        [HostTool::Subagent, HostTool::Wait, HostTool::Result, HostTool::List, HostTool::SharedContext];

    pub fn name(self) -> &'static str {
        match self {
            HostTool::Subagent => "subagent",
            HostTool::Wait => "subagent_wait",
            HostTool::Result => "subagent_result",
            HostTool::List => "subagent_list",
            HostTool::SharedContext => "shared_context",
            HostTool::RunSubagent => "run_subagent",
        }
    }

    /// A list of names, `all`, or nothing for the usual ones.
    pub fn parse_list(names: &[String]) -> Result<Vec<HostTool>> {
        if names.is_empty() {
            return Ok(Self::USUAL.to_vec());
        }
        if names.iter().any(|name| name == "all") {
            return Ok(Self::ALL.to_vec());
        }
        let mut offers = names.iter().map(|name| Self::parse(name)).collect::<Result<Vec<_>>>()?;
        offers.sort_unstable();
        offers.dedup();
        Ok(offers)
    }

    fn parse(name: &str) -> Result<HostTool> {
        Self::find(name).ok_or_else(|| {
            let known: Vec<&str> =
                std::iter::once("all").chain(Self::ALL.iter().map(|offer| offer.name())).collect();
            Error::new(ErrorCode::InvalidTool, localized!("mcp-tool-unknown", name))
                .hint(suggestion(name, &known))
        })
    }

    pub fn find(name: &str) -> Option<HostTool> {
        Self::ALL.into_iter().find(|offer| offer.name() == name)
    }

    /// The tool of the session that does the work.
    pub fn session_tool(self) -> &'static str {
        match self {
            HostTool::Subagent | HostTool::Wait | HostTool::Result | HostTool::List => "subagent",
            HostTool::SharedContext => "shared_context",
            HostTool::RunSubagent => "run_subagent",
        }
    }

    /// Tells whether the call waits for a task that goes on without it.
    pub fn leaves_a_task(self) -> bool {
        self == HostTool::RunSubagent
    }

    pub fn describe(self, spec: &ToolSpec, reach: TaskReach) -> Tool {
        let description = match self {
            HostTool::Subagent => {
                format!("{}\n\n{}", include_str!("../../prompts/subagent_lead.md").trim_end(), spec.description)
            }
            HostTool::SharedContext | HostTool::RunSubagent => spec.description.clone(),
            HostTool::Wait => {
                "Wait until delegated tasks have ended or one asks something; returns after 45 seconds at most. Changes nothing. \
                 Without task_ids: the next end that it has not reported yet. `running` tasks go on: call it again."
                    .to_owned()
            }
            HostTool::Result => {
                "Read what a delegated task answered: its status and its full text, page by page, as often as you ask. Changes \
                 nothing. TASK_NOT_READY means: call subagent_wait first."
                    .to_owned()
            }
            HostTool::List => {
                "List the agents that can be delegated to and the tasks that were delegated from this directory, also in earlier \
                 sessions, with their status. Changes nothing."
                    .to_owned()
            }
        };
        let input = match self {
            HostTool::Subagent | HostTool::SharedContext | HostTool::RunSubagent => {
                serde_json::from_str(&spec.input_schema).unwrap_or_default()
            }
            HostTool::Wait => json!({
                "type": "object",
                "properties": {
                    "task_ids": { "type": "array", "items": { "type": "string" }, "description": "such as [\"t_01\"]; all whose end was not reported yet if left out" },
                    "mode": { "type": "string", "enum": ["any", "all"], "description": "return when any or all of them have ended; any if left out" },
                    "timeout_s": { "type": "integer", "minimum": 0, "maximum": WAIT_S_MAX, "description": "30 if left out" }
                }
            }),
            HostTool::Result => json!({
                "type": "object",
                "properties": {
                    "task_id": { "type": "string", "description": "the id that spawn returned, such as t_01" },
                    "offset": { "type": "integer", "minimum": 0, "description": "character to begin at" },
                    "limit": { "type": "integer", "minimum": 1, "description": "characters, 4000 if left out, at most 20000" }
                },
                "required": ["task_id"]
            }),
            HostTool::List => json!({
                "type": "object",
                "properties": {
                    "what": { "type": "string", "enum": ["agents", "tasks"], "description": "both if left out" },
                    "query": { "type": "string", "description": "words to look for in names and descriptions of agents" }
                }
            }),
        };
        Tool::new(self.name(), description, object(input))
            .with_title(self.title())
            .with_raw_output_schema(object(self.output_schema()))
            .with_annotations(self.annotations(reach))
    }

    fn title(self) -> &'static str {
        match self {
            HostTool::Subagent => "Delegate to a subagent",
            HostTool::Wait => "Wait for subagents",
            HostTool::Result => "Read a subagent's result",
            HostTool::List => "List subagents and their tasks",
            HostTool::SharedContext => "Shared context",
            HostTool::RunSubagent => "Investigate with a subagent",
        }
    }

    /// Hints by which hosts decide whether to ask a person first: a tool that starts tasks says what these can do.
    fn annotations(self, reach: TaskReach) -> ToolAnnotations {
        let TaskReach { writes, goes_out } = reach;
        let (read_only, destructive, idempotent, open_world) = match self {
            // A command that writes can reach whatever its sandbox does.
            HostTool::Subagent => (false, writes, false, writes || goes_out),
            HostTool::Wait | HostTool::Result | HostTool::List => (true, false, true, false),
            HostTool::SharedContext => (false, false, false, false),
            // The investigator only looks.
            HostTool::RunSubagent => (true, false, false, goes_out),
        };
        ToolAnnotations::with_title(self.title())
            .read_only(read_only)
            .destructive(destructive)
            .idempotent(idempotent)
            .open_world(open_world)
    }

    /// Schema of every answer. Nothing is required, because an error has other members.
    fn output_schema(self) -> Value {
        let text = || json!({ "type": "string" });
        let list = || json!({ "type": "array", "items": { "type": "object" } });
        let mut properties = json!({ "error": text(), "message": text(), "hint": text(), "note": text() });
        let more = match self {
            HostTool::Subagent => json!({
                "task_id": text(), "agent": text(), "status": text(), "turns_used": { "type": "integer" },
                "result": {}, "partial_result": text(), "agents": list(), "tasks": list(), "finished": list(), "running": list()
            }),
            HostTool::Wait => {
                json!({ "finished": list(), "running": list(), "timed_out": { "type": "boolean" } })
            }
            HostTool::Result => json!({
                "task_id": text(), "agent": text(), "status": text(), "text": text(),
                "offset": { "type": "integer" }, "next_offset": {}, "total_chars": { "type": "integer" }
            }),
            HostTool::List => json!({ "agents": list(), "tasks": list() }),
            HostTool::SharedContext => {
                json!({ "key": text(), "value": {}, "version": { "type": "integer" }, "keys": { "type": "array" } })
            }
            HostTool::RunSubagent => json!({ "text": text(), "task_id": text(), "status": text() }),
        };
        if let (Value::Object(all), Value::Object(more)) = (&mut properties, more) {
            all.extend(more);
        }
        json!({ "type": "object", "properties": properties })
    }
}

/// A request of a companion tool, which only looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompanionRequest {
    Wait(WaitRequest),
    Result(ResultRequest),
    List { agents: bool, tasks: bool, query: Option<String> },
}

impl CompanionRequest {
    /// Reads the arguments of a companion; refuses those that it does not take.
    pub fn read(tool: HostTool, arguments: JsonObject) -> Result<Self> {
        let reader = ArgumentReader::of_tool(tool.name(), arguments);
        match tool {
            HostTool::Wait => {
                reader.check_fields(&["task_ids", "mode", "timeout_s"], |_| false)?;
                let timeout = reader.integer("timeout_s", 0..=WAIT_S_MAX)?.map(Duration::from_secs);
                Ok(Self::Wait(WaitRequest { timeout, ..WaitRequest::read(&reader)? }))
            }
            HostTool::Result => {
                reader.check_fields(&["task_id", "offset", "limit"], |_| false)?;
                Ok(Self::Result(ResultRequest::read(&reader)?))
            }
            _ => Self::list(&reader),
        }
    }

    fn list(reader: &ArgumentReader) -> Result<Self> {
        // Only agents are searched.
        let takes: &[&str] = match reader.value("what").is_some_and(|what| what == "tasks") {
            true => &["what"],
            false => &["what", "query"],
        };
        reader.check_fields(takes, |name| name == "query")?;
        let query = reader.text("query")?;
        let what = reader.choice("what", &[("agents", (true, false)), ("tasks", (false, true))])?;
        let (agents, tasks) = what.unwrap_or((true, true));
        Ok(Self::List { agents, tasks, query })
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(value.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured behavior of hosts: names cut, descriptions shortened to about 150 characters, tools with a choice at the top
    /// of their schema dropped, tools without annotations asked about.
    #[test]
    fn every_tool_survives_what_hosts_do_to_it() {
        let spec = ToolSpec {
            name: "subagent".to_owned(),
            description: "As the session says.".to_owned(),
            input_schema: r#"{"type": "object", "properties": {}}"#.to_owned(),
            effect: posse_core::tool::ToolEffect::Idempotent,
        };
        for offer in HostTool::ALL {
            let tool = offer.describe(&spec, TaskReach::default());
            assert!(tool.name.len() <= 40, "{}", tool.name);
            let annotations = tool.annotations.unwrap();
            assert!(annotations.read_only_hint.is_some() && annotations.open_world_hint.is_some());
            for schema in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
                assert_eq!(schema["type"], "object");
                for choice in ["anyOf", "oneOf", "allOf", "not", "enum"] {
                    assert!(!schema.contains_key(choice), "{}: {choice}", tool.name);
                }
            }
            let description = tool.description.unwrap();
            let first = description.split(['.', ';']).next().unwrap();
            assert!(first.chars().count() <= 150, "{}: {first}", tool.name);
        }
        assert!(include_str!("../../prompts/instructions.md").chars().count() <= 2_000);
    }

    #[test]
    fn a_list_of_tools_is_read_as_people_write_it() {
        let parse = |names: &[&str]| {
            HostTool::parse_list(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&[]).unwrap(), HostTool::USUAL);
        assert_eq!(parse(&["all"]).unwrap(), HostTool::ALL);
        assert_eq!(
            parse(&["subagent_wait", "subagent", "subagent"]).unwrap(),
            [HostTool::Subagent, HostTool::Wait]
        );
        let e = parse(&["subagnet"]).unwrap_err();
        assert!(e.code() == ErrorCode::InvalidTool && e.advice().unwrap().contains("run_subagent"), "{e}");
    }
}
