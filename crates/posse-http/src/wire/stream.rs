//! Event pages and streams.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Events of a task to read.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Position to read from; `next` of the page before.
    pub since: Option<u64>,
    /// Journal records that the page covers, 200 unless given.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Events of a task, in the form of `docs/events.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskEvents {
    pub task_id: String,
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Position to read on from.
    pub next: u64,
    /// The journal has no further record now.
    pub at_end: bool,
}

/// Start of a task's stream.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TaskStreamQuery {
    /// Journal position to begin at, for a first connection; `Last-Event-ID` wins. 0 unless given.
    pub since: Option<u64>,
}

/// Start and scope of the stream over all tasks.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Id of the last event that the client has, for a first connection; `Last-Event-ID` wins. Without either, the
    /// stream begins now.
    #[param(max_length = 60)]
    pub after: Option<String>,
    /// Only tasks of this session.
    #[param(max_length = 100)]
    pub session: Option<String>,
    /// Only this task and everything below it.
    #[param(max_length = 200)]
    pub tree: Option<String>,
}
