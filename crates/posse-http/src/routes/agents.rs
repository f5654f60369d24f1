//! Agents of the project, and spending.

use axum::extract::State;
use posse_core::usage::SpendingTotal;
use posse_runtime::ports::{SpendingGroup, SpendingLine};

use crate::extract::{JsonReply, Params, Segment, bounded, instant};
use crate::problem::RouteResult;
use crate::state::ApiState;
use crate::summary::sum_view;
use crate::wire::{AgentDetail, AgentPage, AgentQuery, UsageGroup, UsageLine, UsageQuery, UsageReport};

/// Lists the agents of the server's project with the doctor's findings.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(AgentQuery),
    responses((status = 200, body = AgentPage)))]
pub async fn list(
    State(api): State<ApiState>,
    Params(query): Params<AgentQuery>,
) -> RouteResult<JsonReply<AgentPage>> {
    let words = bounded("q", query.q.as_deref(), 200)?.unwrap_or_default().to_lowercase();
    let mut items = api.host.agents().await?;
    items.retain(|agent| {
        let text = format!("{} {}", agent.name, agent.description).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    });
    Ok(JsonReply(AgentPage { items, workspace: api.host.workspace().to_owned() }))
}

/// Shows an agent with its prompt.
#[utoipa::path(get, path = "/v1/agents/{name}", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentDetail)))]
pub async fn show(
    State(api): State<ApiState>,
    Segment(name): Segment,
) -> RouteResult<JsonReply<AgentDetail>> {
    Ok(JsonReply(api.host.agent(&name).await?))
}

/// Sums up spending.
#[utoipa::path(get, path = "/v1/usage", tag = "agents", params(UsageQuery),
    responses((status = 200, body = UsageReport)))]
pub async fn usage(
    State(api): State<ApiState>,
    Params(query): Params<UsageQuery>,
) -> RouteResult<JsonReply<UsageReport>> {
    let (by, since_ms) = (query.by.unwrap_or_default(), instant("since", query.since.as_deref())?);
    let group = match by {
        UsageGroup::Agent => SpendingGroup::Agent,
        UsageGroup::Model => SpendingGroup::Model,
        UsageGroup::Day => SpendingGroup::Day,
        UsageGroup::Workspace => SpendingGroup::Workspace,
        UsageGroup::Tree => SpendingGroup::Session,
    };
    let lines = api.store.spending_by(group, since_ms).await?;
    // Counted by workspace: a task that used two models, or worked on two days, is still one task.
    let tasks = api.store.spending_by(SpendingGroup::Workspace, since_ms).await?;
    let mut total = SpendingTotal::default();
    lines.iter().for_each(|line| total.add(&line.total));
    total.tasks = tasks.iter().map(|line| line.total.tasks).sum();
    let cached_tokens = lines.iter().map(|line| line.cached_tokens).sum();
    let line = |line: SpendingLine| UsageLine {
        name: line.name,
        spending: sum_view(&line.total),
        cached_tokens: line.cached_tokens,
    };
    Ok(JsonReply(UsageReport {
        by,
        items: lines.into_iter().map(line).collect(),
        total: UsageLine { name: String::new(), spending: sum_view(&total), cached_tokens },
    }))
}
