//! What somebody asks for when they delegate. Every way to delegate makes one of these.

use serde_json::Value;

use crate::board::SpawnTerms;
use crate::budget::BudgetCaps;
use crate::definition::Isolation;
use crate::grant::Rights;
use crate::lease::OnConflict;
use crate::limits::Limits;

/// Stands in a prompt where the context of a task goes, when there is none.
pub const CONTEXT_PLACEHOLDER: &str = "No additional context provided";

/// Does any task; for those that name no agent.
pub const GENERAL: &str = "general";
/// Looks into one question and changes nothing.
pub const INVESTIGATOR: &str = "investigator";

/// Returns the agent that delegation arguments name, the same for every tool. Rules look at the same name, so no
/// other argument may choose an agent.
pub fn agent_named(arguments: &serde_json::Map<String, Value>) -> Option<&str> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    // `null` says nothing: some hosts fill in every field.
    let has = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
    let usual = match has("action") {
        false if has("prompt") || has("_text") => Some(GENERAL),
        false if has("task") => Some(INVESTIGATOR),
        _ => None,
    };
    text("agent").or_else(|| text("type")).or(usual)
}

/// A request to start a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskRequest {
    pub agent: String,
    pub task: String,
    /// System prompt instead of the agent's own.
    pub system: Option<String>,
    /// Context the caller passes on; counted apart from the task.
    pub context: Option<String>,
    pub terms: SpawnTerms,
    /// Limits the caller asks for. Where the agent's limits are lower, the caller is told.
    pub bounds: TaskBounds,
    /// Bounds of the tool that the request came through. Nobody asked for them, so nobody is told where others are lower.
    pub door: DoorBounds,
    /// Restrictions beyond those of the agent.
    pub rights: Rights,
    /// If somebody else holds its write paths.
    pub on_conflict: OnConflict,
    /// Works in a git worktree of its own, also if its agent does not ask for that.
    pub isolation: Isolation,
    pub output_schema: Option<Value>,
    /// Commands that must succeed before it counts as done, beside those of its agent.
    pub verify: Vec<String>,
    /// Goes on when whoever spawned it ends.
    pub detached: bool,
    /// The result comes with the announcement of the end; it is not collected.
    pub pushed: bool,
    /// The same for every attempt at one spawn: the second one gets the task of the first.
    pub key: Option<String>,
}

/// Bounds that a delegation tool sets for every task that comes through it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoorBounds {
    pub bounds: TaskBounds,
    /// Longest task text in tokens; `None`: as the session does.
    pub task_tokens_max: Option<u64>,
    /// Turns when its agent does not say; `None`: as the session does.
    pub default_turns: Option<u32>,
}

/// Bounds of one task, within those of its agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskBounds {
    pub turns: Option<u32>,
    pub tool_calls: Option<u32>,
    /// Files it may look at and change.
    pub file_operations: Option<u32>,
    pub wall_ms: Option<u64>,
    /// Bytes of memory of each process.
    pub process_bytes: Option<u64>,
    pub caps: BudgetCaps,
}

/// A bound that was lowered: its name, what was asked for and what is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredBound {
    pub name: &'static str,
    pub asked: u64,
    pub given: u64,
}

impl LoweredBound {
    pub fn if_lower(name: &'static str, asked: Option<u64>, given: Option<u64>) -> Option<Self> {
        let (asked, given) = (asked?, given?);
        (asked > given).then_some(Self { name, asked, given })
    }
}

impl TaskBounds {
    /// Bounds that ask for more than there is.
    pub fn lowered(&self, limits: &Limits, caps: &BudgetCaps) -> Vec<LoweredBound> {
        let (turns, calls) = (self.turns.map(u64::from), self.tool_calls.map(u64::from));
        let all = [
            LoweredBound::if_lower("max_turns", turns, Some(limits.turns_max.into())),
            LoweredBound::if_lower("max_tool_calls", calls, Some(limits.tool_calls_max.into())),
            LoweredBound::if_lower("timeout_ms", self.wall_ms, Some(limits.wall_ms_max)),
            LoweredBound::if_lower("max_input_tokens", self.caps.input_tokens, caps.input_tokens),
            LoweredBound::if_lower("max_output_tokens", self.caps.output_tokens, caps.output_tokens),
            LoweredBound::if_lower("max_cost_usd", self.caps.cost_micros, caps.cost_micros),
        ];
        all.into_iter().flatten().collect()
    }

    /// The agent's limits, as far as this task may use them.
    pub fn narrow(&self, limits: &Limits) -> Limits {
        let least = |asked: Option<u32>, has: u32| asked.map_or(has, |asked| asked.min(has));
        Limits {
            turns_max: least(self.turns, limits.turns_max),
            tool_calls_max: least(self.tool_calls, limits.tool_calls_max),
            file_operations_max: least(self.file_operations, limits.file_operations_max),
            wall_ms_max: self.wall_ms.map_or(limits.wall_ms_max, |asked| asked.min(limits.wall_ms_max)),
            process_bytes_max: self.process_bytes.into_iter().chain(limits.process_bytes_max).min(),
            ..limits.clone()
        }
    }
}
