//! The Tasks extension (SEP-2663): for clients that support it, a call that would wait for a task returns its
//! ID instead. These are the session's tasks, so they are in the store and survive a restart of either side.

use std::sync::Arc;

use posse_core::context::wire::utc;
use posse_runtime::session::HostSession;
use rmcp::model::{
    CreateTaskResult, DetailedTask, ErrorData, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bounded::{BoundedCall, perform, result};

const POLL_MS: u64 = 2_000;

/// Starts the task of a call. The error is the call's answer if it started no task.
pub async fn begin(
    hosted: &Arc<HostSession>,
    call: BoundedCall,
) -> Result<CreateTaskResult, rmcp::model::CallToolResult> {
    let BoundedCall { offer, arguments, key, .. } = call;
    let mut under_way = {
        let (hosted, key) = (hosted.clone(), key.clone());
        tokio::spawn(async move { perform(&hosted, offer, arguments, &key, CancellationToken::new()).await })
    };
    let mut look = tokio::time::interval(std::time::Duration::from_millis(5));
    loop {
        tokio::select! {
            biased;
            ended = &mut under_way => {
                let Some(id) = hosted.begun_by(&key) else {
                    return Err(ended.map_or_else(|e| super::bounded::failed(&e.to_string()), result));
                };
                return Ok(CreateTaskResult::new(plain(hosted, id.short()).await));
            }
            _ = look.tick() => {
                if let Some(id) = hosted.begun_by(&key) {
                    return Ok(CreateTaskResult::new(plain(hosted, id.short()).await));
                }
            }
        }
    }
}

async fn plain(hosted: &HostSession, id: &str) -> Task {
    let (created, updated) = match hosted.row(id).await {
        Ok(row) => (row.created_ms, row.updated_ms),
        Err(_) => (0, 0),
    };
    Task::new(id, TaskStatus::Working, utc(created), utc(updated)).with_poll_interval_ms(POLL_MS)
}

/// Returns a task's state, with its result once it has completed.
pub async fn get(hosted: &HostSession, id: &str) -> Result<GetTaskResult, ErrorData> {
    let status = status(hosted, id).await?;
    let payload = match status["status"].as_str() {
        Some("running") => TaskPayload::Working,
        Some("completed") => {
            let text = call(hosted, json!({ "action": "result", "task_id": id, "limit": 20_000 })).await;
            let answered = serde_json::to_value(result(text)).unwrap_or_default();
            TaskPayload::Completed { result: object(answered) }
        }
        _ if status["reason"] == "cancelled" => TaskPayload::Cancelled,
        _ => {
            let message = status["error"].as_str().unwrap_or("failed");
            TaskPayload::Failed { error: object(json!({ "code": -32603, "message": message })) }
        }
    };
    let mut task = plain(hosted, id).await;
    task.status_message = status["activity"].as_str().map(str::to_owned);
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Cancels a task.
pub async fn cancel(hosted: &HostSession, id: &str) -> Result<(), ErrorData> {
    status(hosted, id).await?;
    // A task that has ended stays unchanged.
    call(hosted, json!({ "action": "cancel", "task_id": id })).await;
    Ok(())
}

async fn status(hosted: &HostSession, id: &str) -> Result<Value, ErrorData> {
    let tasks = hosted.tasks().await.map_err(|e| ErrorData::internal_error(e.english(), None))?;
    let task = tasks.into_iter().find(|task| task.id.short() == id);
    task.map(|task| task.status).ok_or_else(|| ErrorData::invalid_params("there is no such task", None))
}

async fn call(hosted: &HostSession, arguments: Value) -> posse_runtime::ports::ToolOutput {
    hosted.call("subagent", &arguments.to_string(), "tasks", CancellationToken::new()).await
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
