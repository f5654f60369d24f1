//! What a model asks the tool for.

use std::time::Duration;

use posse_core::board::{Priority, Terms};
use posse_core::budget::Caps;
use posse_core::definition::Isolation;
use posse_core::grant::Rights;
use posse_core::id::AgentName;
use posse_core::lease::OnConflict;
use posse_core::task::{Bounds, TaskRequest};
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde::Deserialize;
use serde_json::Value;

pub const ACTIONS: &[&str] = &[
    "list_agents",
    "define",
    "spawn",
    "status",
    "collect",
    "wait",
    "cancel",
    "send",
    "answer",
    "result",
    "events",
    "list_tasks",
];

pub enum Request {
    ListAgents { query: Option<String> },
    Define(Box<Define>),
    Spawn(Box<TaskRequest>),
    Status { task_id: String },
    Collect { task_id: String },
    Wait { task_ids: Option<Vec<String>>, mode: Mode, timeout: Option<Duration> },
    Cancel { task_id: String },
    Send { task_id: String, message: String },
    Answer { task_id: String, answer: String },
    Result { task_id: String, offset: usize, limit: Option<usize> },
    Events { task_id: String, since: u64 },
    ListTasks {},
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Any,
    All,
}

#[derive(Deserialize)]
pub struct Define {
    pub name: String,
    pub description: Option<String>,
    pub system_prompt: Option<String>,
    pub system_prompt_append: Option<String>,
    pub extends: Option<String>,
    pub tools: Option<Vec<String>>,
    pub model: Option<String>,
    pub max_turns: Option<u32>,
    #[serde(default)]
    pub overwrite: bool,
}

impl Define {
    pub fn agent_name(&self) -> Result<AgentName> {
        AgentName::parse(&self.name)
    }
}

#[derive(Deserialize)]
struct Spawn {
    agent: String,
    task: String,
    context: Option<String>,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    depends_on: Vec<String>,
    queue: Option<bool>,
    max_turns: Option<u32>,
    max_tool_calls: Option<u32>,
    timeout_ms: Option<u64>,
    max_input_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    max_cost_usd: Option<f64>,
    write_paths: Option<Vec<String>>,
    #[serde(default)]
    on_conflict: OnConflict,
    #[serde(default)]
    isolation: Isolation,
    output_schema: Option<Value>,
    #[serde(default)]
    verify: Vec<String>,
    #[serde(default)]
    detached: bool,
}

#[derive(Deserialize)]
struct OfTask {
    task_id: String,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
    #[serde(default)]
    since: u64,
}

#[derive(Deserialize)]
struct Wait {
    task_ids: Option<Vec<String>>,
    #[serde(default)]
    mode: Mode,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Send {
    task_id: String,
    message: String,
}

#[derive(Deserialize)]
struct Answer {
    task_id: String,
    answer: String,
}

impl Request {
    pub fn parse(arguments: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(arguments).map_err(|e| invalid(&e))?;
        let action = value["action"].as_str().unwrap_or_default().to_owned();
        Ok(match action.as_str() {
            "list_agents" => Request::ListAgents { query: value["query"].as_str().map(str::to_owned) },
            "define" => Request::Define(Box::new(read(value)?)),
            "spawn" => Request::Spawn(Box::new(read::<Spawn>(value)?.into_request()?)),
            "status" => Request::Status { task_id: read::<OfTask>(value)?.task_id },
            "collect" => Request::Collect { task_id: read::<OfTask>(value)?.task_id },
            "cancel" => Request::Cancel { task_id: read::<OfTask>(value)?.task_id },
            "wait" => {
                let Wait { task_ids, mode, timeout_ms } = read(value)?;
                Request::Wait { task_ids, mode, timeout: timeout_ms.map(Duration::from_millis) }
            }
            "send" => {
                let Send { task_id, message } = read(value)?;
                Request::Send { task_id, message }
            }
            "answer" => {
                let Answer { task_id, answer } = read(value)?;
                Request::Answer { task_id, answer }
            }
            "result" => {
                let OfTask { task_id, offset, limit, .. } = read(value)?;
                Request::Result { task_id, offset, limit }
            }
            "events" => {
                let OfTask { task_id, since, .. } = read(value)?;
                Request::Events { task_id, since }
            }
            "list_tasks" => Request::ListTasks {},
            other => {
                let text = localized!("action-unknown", action = prefix(other, 80));
                return Err(Error::new(ErrorCode::InvalidAction, text)
                    .hint(localized!("there-are", names = ACTIONS.join(", "))));
            }
        })
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|e| invalid(&e))
}

fn invalid(e: &serde_json::Error) -> Error {
    Error::new(ErrorCode::InvalidRequest, e.to_string()).hint(localized!("see-description-hint"))
}

impl Spawn {
    fn into_request(self) -> Result<TaskRequest> {
        let cost_micros = match self.max_cost_usd {
            Some(usd) if usd.is_finite() && usd > 0.0 => Some((usd * 1e6) as u64),
            Some(_) => {
                return Err(Error::new(ErrorCode::InvalidRequest, localized!("max-cost-invalid")));
            }
            None => None,
        };
        let caps =
            Caps { input_tokens: self.max_input_tokens, output_tokens: self.max_output_tokens, cost_micros };
        Ok(TaskRequest {
            agent: self.agent,
            task: self.task,
            context: self.context,
            terms: Terms {
                priority: self.priority,
                depends_on: self.depends_on,
                queue: self.queue,
                lease: false,
            },
            bounds: Bounds {
                turns: self.max_turns,
                tool_calls: self.max_tool_calls,
                file_operations: None,
                wall_ms: self.timeout_ms,
                process_bytes: None,
                caps,
            },
            turns_usual: None,
            rights: Rights { write_paths: self.write_paths, ..Rights::default() },
            on_conflict: self.on_conflict,
            isolation: self.isolation,
            output_schema: self.output_schema,
            verify: self.verify,
            detached: self.detached,
            key: None,
        })
    }
}
