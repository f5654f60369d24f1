//! Usage and cost.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::SpendingSum;

/// Key by which spending is summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageGroup {
    #[default]
    Agent,
    Model,
    /// Local time of the server.
    Day,
    Workspace,
    /// A session's own task with everything below it.
    Tree,
}

/// Span and grouping of spending.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// `agent` unless given.
    pub by: Option<UsageGroup>,
    /// Spent at this instant or later.
    #[param(format = DateTime)]
    pub since: Option<String>,
}

/// Spending of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageLine {
    /// Empty where nobody is named, such as the model of a call without a reply.
    pub name: String,
    pub spending: SpendingSum,
    /// Input tokens that the provider's cache served.
    pub cached_tokens: u64,
}

/// Spending by group, the most expensive first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageReport {
    pub by: UsageGroup,
    pub items: Vec<UsageLine>,
    pub total: UsageLine,
}
