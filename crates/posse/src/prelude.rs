//! The names that most programs use: `use posse::prelude::*`.

pub use crate::{
    Agent, AgentAnswer, ApprovalDecision, Approver, AutoApprove, Event, Session, StreamEvent, SubAgent,
    TaskHandle, ToolError, tool,
};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
