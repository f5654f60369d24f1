//! Requests of delegation, parsed from the arguments of a call.

use std::time::Duration;

use posse_core::arguments::{ActionFields, ArgumentReader};
use posse_core::board::{Priority, SpawnTerms};
use posse_core::budget::BudgetCaps;
use posse_core::definition::Isolation;
use posse_core::grant::Rights;
use posse_core::id::AgentName;
use posse_core::lease::OnConflict;
use posse_core::task::{TaskBounds, TaskRequest};
use posse_core::text::estimate_tokens;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::{Map, Value, json};

use super::define::TURNS_MAX;
use super::wire::set;

/// The actions of the tool, each with its fields.
pub const ACTIONS: &[ActionFields] = &[
    ActionFields { action: "list_agents", fields: &["query"] },
    ActionFields {
        action: "define",
        fields: &[
            "name",
            "description",
            "system_prompt",
            "tools",
            "model",
            "max_turns",
            "extends",
            "system_prompt_append",
            "overwrite",
        ],
    },
    ActionFields { action: "spawn", fields: SPAWN },
    ActionFields { action: "status", fields: &["task_id", "wait_ms"] },
    ActionFields { action: "collect", fields: &["task_id", "wait_ms"] },
    ActionFields { action: "wait", fields: &["task_ids", "mode", "timeout_ms"] },
    ActionFields { action: "cancel", fields: &["task_id"] },
    ActionFields { action: "send", fields: &["task_id", "message"] },
    ActionFields { action: "answer", fields: &["task_id", "answer"] },
    ActionFields { action: "result", fields: &["task_id", "offset", "limit"] },
    ActionFields { action: "events", fields: &["task_id", "since"] },
    ActionFields { action: "list_tasks", fields: &[] },
];

const SPAWN: &[&str] = &[
    "agent",
    "task",
    "context",
    "priority",
    "depends_on",
    "queue",
    "max_turns",
    "max_tool_calls",
    "timeout_ms",
    "max_input_tokens",
    "max_output_tokens",
    "max_cost_usd",
    "write_paths",
    "on_conflict",
    "isolation",
    "output_schema",
    "verify",
    "detached",
];

/// The optional fields of a spawn; a launch takes them too.
pub const SPAWN_OPTIONS: &[&str] = SPAWN.split_at(2).1;

pub const PRIORITIES: &[(&str, Priority)] =
    &[("low", Priority::Low), ("normal", Priority::Normal), ("high", Priority::High)];

/// Longest description of an agent, in characters: one line that says what it is for.
const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Longest context of a task; it is counted separately from the task.
const CONTEXT_TOKENS_MAX: u64 = 20_000;
/// Maximum commands, tasks or paths that one field may list.
const LISTED_MAX: usize = 100;

/// One request: an action and its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum DelegationRequest {
    ListAgents { query: Option<String> },
    Define(Box<DefineRequest>),
    Spawn(Box<TaskRequest>),
    Status(PollRequest),
    Collect(PollRequest),
    Wait(WaitRequest),
    Cancel { task_id: String },
    Send { task_id: String, message: String },
    Answer { task_id: String, answer: String },
    Result(ResultRequest),
    Events { task_id: String, since: u64 },
    ListTasks,
}

/// A question about one task that may wait for its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PollRequest {
    pub task_id: String,
    /// Longest wait; zero answers at once.
    pub wait: Duration,
}

impl PollRequest {
    /// Creates a poll that does not wait.
    pub fn now(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), wait: Duration::ZERO }
    }
}

/// A wait for the ends of several tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitRequest {
    /// `None`: all whose end no wait has reported yet.
    pub task_ids: Option<Vec<String>>,
    pub mode: WaitMode,
    /// `None`: 30 seconds.
    pub timeout: Option<Duration>,
}

impl WaitRequest {
    /// Reads `task_ids` and `mode`. The timeout has another unit at each tool.
    pub fn read(reader: &ArgumentReader) -> Result<Self> {
        let modes = [("any", WaitMode::Any), ("all", WaitMode::All)];
        Ok(Self {
            task_ids: reader.texts("task_ids")?,
            mode: reader.choice("mode", &modes)?.unwrap_or_default(),
            timeout: None,
        })
    }
}

/// A page of a task's full text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultRequest {
    pub task_id: String,
    /// Character to begin at.
    pub offset: usize,
    /// Characters of the page; `None`: 4,000.
    pub limit: Option<usize>,
}

impl ResultRequest {
    /// Reads `task_id`, `offset` and `limit`.
    pub fn read(reader: &ArgumentReader) -> Result<Self> {
        let size = |name: &str, least: u64| {
            let size = reader.integer(name, least..=u64::MAX)?;
            Ok::<_, Error>(size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)))
        };
        Ok(Self {
            task_id: reader.words("task_id")?,
            offset: size("offset", 0)?.unwrap_or_default(),
            limit: size("limit", 1)?,
        })
    }
}

/// Completion mode of `wait`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WaitMode {
    #[default]
    Any,
    All,
}

/// Fields of `define`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefineRequest {
    pub name: String,
    pub description: Option<String>,
    pub system_prompt: Option<String>,
    pub system_prompt_append: Option<String>,
    pub extends: Option<String>,
    pub tools: Option<Vec<String>>,
    pub model: Option<String>,
    /// As requested; values out of bounds are clamped with a warning.
    pub max_turns: Option<i128>,
    pub overwrite: bool,
}

impl DefineRequest {
    /// Parses the agent's name.
    pub fn agent_name(&self) -> Result<AgentName> {
        AgentName::parse(&self.name)
    }

    /// Reads the arguments of a definition that was accepted before, also by an older version with other fields.
    pub fn recall(arguments: Value) -> Result<Self> {
        let fields = match arguments {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self::read(&ArgumentReader::of_tool("define", fields))
    }

    fn read(reader: &ArgumentReader) -> Result<Self> {
        Ok(Self {
            name: reader.needed("name", reader.text("name")?)?,
            description: reader.text("description")?,
            system_prompt: reader.text("system_prompt")?,
            system_prompt_append: reader.text("system_prompt_append")?,
            extends: reader.text("extends")?,
            tools: reader.texts("tools")?,
            model: reader.text("model")?,
            max_turns: reader.any_integer("max_turns", 1..=TURNS_MAX.into())?,
            overwrite: reader.truth("overwrite")?.unwrap_or_default(),
        })
    }

    /// Prints the arguments, for `recall` in another process.
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = json!({ "name": self.name, "overwrite": self.overwrite });
        let texts = [
            ("description", &self.description),
            ("system_prompt", &self.system_prompt),
            ("system_prompt_append", &self.system_prompt_append),
            ("extends", &self.extends),
            ("model", &self.model),
        ];
        for (name, text) in texts {
            set(&mut fields, name, text.as_ref());
        }
        set(&mut fields, "tools", self.tools.as_ref());
        let turns = self.max_turns.map(|turns| turns.clamp(1, TURNS_MAX.into()) as u32);
        set(&mut fields, "max_turns", turns);
        fields
    }

    /// Refuses empty or too long texts.
    fn check(self, reader: &ArgumentReader) -> Result<Self> {
        for name in ["description", "system_prompt", "system_prompt_append", "extends", "model"] {
            reader.optional_words(name)?;
        }
        if self.extends.is_none() {
            reader.needed("description", self.description.as_ref())?;
            reader.needed("system_prompt", self.system_prompt.as_ref())?;
        }
        let chars = self.description.as_ref().map_or(0, |description| description.chars().count());
        if chars > DESCRIPTION_CHARS_MAX {
            let text =
                format!("description: it has {chars} characters, the limit is {DESCRIPTION_CHARS_MAX}");
            return Err(Error::new(ErrorCode::InvalidRequest, text).hint(
                "say in one line what the agent is for; instructions go into `system_prompt`".to_owned(),
            ));
        }
        Ok(self)
    }
}

impl DelegationRequest {
    /// Reads the arguments of the `subagent` tool.
    pub fn read(arguments: Map<String, Value>) -> Result<Self> {
        let reader = ArgumentReader::of_action(arguments, ACTIONS)?;
        let task_id = || reader.words("task_id");
        let count = |name: &str| reader.integer(name, 0..=u64::MAX);
        let milliseconds = |name: &str| Ok::<_, Error>(count(name)?.map(Duration::from_millis));
        let poll = || {
            Ok::<_, Error>(PollRequest {
                task_id: task_id()?,
                wait: milliseconds("wait_ms")?.unwrap_or_default(),
            })
        };
        Ok(match reader.action() {
            "list_agents" => Self::ListAgents { query: reader.text("query")? },
            "define" => Self::Define(Box::new(DefineRequest::read(&reader)?.check(&reader)?)),
            "spawn" => {
                let (agent, task) = (reader.words("agent")?, reader.words("task")?);
                let request = TaskRequest { agent, task, ..TaskRequest::default() };
                Self::Spawn(Box::new(SpawnOptions::read(&reader)?.apply(request)))
            }
            "status" => Self::Status(poll()?),
            "collect" => Self::Collect(poll()?),
            "cancel" => Self::Cancel { task_id: task_id()? },
            "wait" => {
                let wait = WaitRequest::read(&reader)?;
                Self::Wait(WaitRequest { timeout: milliseconds("timeout_ms")?, ..wait })
            }
            "send" => Self::Send { task_id: task_id()?, message: reader.words("message")? },
            "answer" => {
                Self::Answer { task_id: task_id()?, answer: reader.needed("answer", reader.text("answer")?)? }
            }
            "result" => Self::Result(ResultRequest::read(&reader)?),
            "events" => Self::Events { task_id: task_id()?, since: count("since")?.unwrap_or_default() },
            "list_tasks" => Self::ListTasks,
            other => unreachable!("`{other}` is in the table of actions"),
        })
    }
}

/// The optional fields of a spawn, of any tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpawnOptions {
    pub context: Option<String>,
    pub priority: Option<Priority>,
    pub depends_on: Vec<String>,
    pub queue: Option<bool>,
    pub bounds: TaskBounds,
    pub write_paths: Option<Vec<String>>,
    pub on_conflict: OnConflict,
    pub isolation: Isolation,
    pub output_schema: Option<Value>,
    pub verify: Vec<String>,
    pub detached: bool,
}

impl SpawnOptions {
    pub fn read(reader: &ArgumentReader) -> Result<Self> {
        Ok(Self {
            context: context(reader)?,
            priority: reader.choice("priority", PRIORITIES)?,
            depends_on: listed(reader, "depends_on")?.unwrap_or_default(),
            queue: reader.truth("queue")?,
            bounds: bounds(reader)?,
            write_paths: listed(reader, "write_paths")?,
            on_conflict: reader
                .choice("on_conflict", &[("fail", OnConflict::Fail), ("wait", OnConflict::Wait)])?
                .unwrap_or_default(),
            isolation: reader
                .choice("isolation", &[("none", Isolation::None), ("worktree", Isolation::Worktree)])?
                .unwrap_or_default(),
            output_schema: reader.object("output_schema")?,
            verify: listed(reader, "verify")?.unwrap_or_default(),
            detached: reader.truth("detached")?.unwrap_or_default(),
        })
    }

    /// Applies the fields that are set to a request.
    pub fn apply(self, request: TaskRequest) -> TaskRequest {
        let terms = SpawnTerms {
            priority: self.priority.unwrap_or(request.terms.priority),
            depends_on: self.depends_on,
            queue: self.queue.or(request.terms.queue),
            lease: false,
        };
        let write_paths = self.write_paths.or(request.rights.write_paths);
        TaskRequest {
            context: self.context,
            terms,
            bounds: self.bounds,
            rights: Rights { write_paths, ..request.rights },
            on_conflict: self.on_conflict,
            isolation: self.isolation,
            output_schema: self.output_schema.or(request.output_schema),
            verify: self.verify,
            detached: self.detached,
            ..request
        }
    }
}

fn context(reader: &ArgumentReader) -> Result<Option<String>> {
    let context = reader.text("context")?;
    let size = context.as_deref().map_or(0, estimate_tokens);
    if size > CONTEXT_TOKENS_MAX {
        let text = format!("context: it has about {size} tokens, the limit is {CONTEXT_TOKENS_MAX}");
        return Err(Error::new(ErrorCode::TaskTooLarge, text).hint(localized!("task-too-large-hint")));
    }
    Ok(context)
}

fn bounds(reader: &ArgumentReader) -> Result<TaskBounds> {
    let count = |name: &str, least: u64| reader.integer(name, least..=u64::MAX);
    let small = |name: &str, least: u64| {
        Ok::<_, Error>(count(name, least)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
    };
    Ok(TaskBounds {
        turns: small("max_turns", 1)?,
        tool_calls: small("max_tool_calls", 0)?,
        wall_ms: count("timeout_ms", 1)?,
        caps: BudgetCaps {
            input_tokens: count("max_input_tokens", 0)?,
            output_tokens: count("max_output_tokens", 0)?,
            cost_micros: reader.positive("max_cost_usd")?.map(|usd| (usd * 1e6) as u64),
        },
        ..TaskBounds::default()
    })
}

fn listed(reader: &ArgumentReader, name: &str) -> Result<Option<Vec<String>>> {
    let list = reader.texts(name)?;
    match &list {
        Some(list) if list.len() > LISTED_MAX => {
            let text = format!("{name}: it lists more than {LISTED_MAX}");
            Err(Error::new(ErrorCode::InvalidRequest, text))
        }
        Some(list) if list.iter().any(|item| item.trim().is_empty()) => {
            Err(Error::new(ErrorCode::InvalidRequest, format!("{name}: one of its items is empty")))
        }
        Some(_) | None => Ok(list),
    }
}
