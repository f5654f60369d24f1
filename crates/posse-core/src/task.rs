//! What somebody asks for when they delegate. Every way to delegate makes one of these.

use serde_json::Value;

use crate::board::Terms;
use crate::budget::Caps;
use crate::limits::Limits;

/// Stands in a prompt where the context of a task goes, when there is none.
pub const NO_CONTEXT: &str = "No additional context provided";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskRequest {
    pub agent: String,
    pub task: String,
    /// What the caller knows already; counted apart from the task.
    pub context: Option<String>,
    pub terms: Terms,
    pub bounds: Bounds,
    /// Files may be written only here.
    pub write_paths: Option<Vec<String>>,
    pub output_schema: Option<Value>,
    /// Goes on when whoever spawned it ends.
    pub detached: bool,
    /// The same for every attempt at one spawn: the second one gets the task of the first.
    pub key: Option<String>,
}

/// Bounds of one task, within those of its agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    pub turns: Option<u32>,
    pub tool_calls: Option<u32>,
    pub wall_ms: Option<u64>,
    pub caps: Caps,
}

impl Bounds {
    /// The agent's limits, as far as this task may use them.
    pub fn narrow(&self, limits: &Limits) -> Limits {
        let least = |asked: Option<u32>, has: u32| asked.map_or(has, |asked| asked.min(has));
        Limits {
            turns_max: least(self.turns, limits.turns_max),
            tool_calls_max: least(self.tool_calls, limits.tool_calls_max),
            wall_ms_max: self.wall_ms.map_or(limits.wall_ms_max, |asked| asked.min(limits.wall_ms_max)),
            ..limits.clone()
        }
    }
}
