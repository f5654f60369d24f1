//! The Tasks extension (SEP-2663): for clients that support it, a call that would wait for a task returns its
//! ID instead. These are the session's tasks, so they are in the store and survive a restart of either side.

use std::sync::Arc;

use posse_core::context::wire::utc;
use posse_core::outcome::OutcomeStatus;
use posse_core::state::TaskState;
use posse_runtime::delegation::{ResultRequest, TaskReport, ToolReply};
use posse_runtime::session::HostSession;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, ErrorData, GetTaskResult, JsonObject, Task, TaskPayload,
    TaskStatus,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bounded::{BoundedCall, failed, perform, result};

const POLL_MS: u64 = 2_000;
/// Characters of the result that comes with a completed task.
const RESULT_CHARS: usize = 20_000;

/// Starts the task of a call. The error is the call's answer if it started no task.
pub async fn begin(hosted: &Arc<HostSession>, call: BoundedCall) -> Result<CreateTaskResult, CallToolResult> {
    let BoundedCall { offer, arguments, key, .. } = call;
    let under_way = {
        let (hosted, key) = (hosted.clone(), key.clone());
        let cancel = CancellationToken::new();
        tokio::spawn(async move { perform(&hosted, offer, arguments, &key, &cancel).await })
    };
    let begun = tokio::select! {
        biased;
        begun = hosted.begun(&key) => begun,
        ended = under_way => match hosted.begun_by(&key) {
            Some(begun) => begun,
            None => return Err(ended.unwrap_or_else(|e| failed(&e.to_string()))),
        },
    };
    Ok(CreateTaskResult::new(plain(hosted, begun.short()).await))
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
    let report = find(hosted, id).await?;
    let payload = match report.state() {
        TaskState::Running => TaskPayload::Working,
        TaskState::Ended(OutcomeStatus::Completed) => {
            let page =
                ResultRequest { task_id: id.to_owned(), limit: Some(RESULT_CHARS), ..Default::default() };
            let page = async { hosted.delegation().await?.result(&page).await };
            let reply = match page.await {
                Ok(page) => ToolReply::object(page.to_json()),
                Err(e) => ToolReply::failed(&e),
            };
            let answered = serde_json::to_value(result(hosted.print(reply))).unwrap_or_default();
            TaskPayload::Completed { result: object(answered) }
        }
        TaskState::Ended(OutcomeStatus::Cancelled) => TaskPayload::Cancelled,
        TaskState::Ended(OutcomeStatus::Partial | OutcomeStatus::Failed) => {
            let message = report.failure().unwrap_or_default();
            TaskPayload::Failed { error: object(json!({ "code": -32603, "message": message })) }
        }
    };
    let mut task = plain(hosted, id).await;
    task.status_message = report.running().and_then(|running| running.activity.clone());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Cancels a task.
pub async fn cancel(hosted: &HostSession, id: &str) -> Result<(), ErrorData> {
    find(hosted, id).await?;
    if let Ok(delegation) = hosted.delegation().await {
        // A task that has ended stays unchanged.
        let _ = delegation.cancel(id).await;
    }
    Ok(())
}

async fn find(hosted: &HostSession, id: &str) -> Result<TaskReport, ErrorData> {
    let tasks = hosted.tasks().await.map_err(|e| ErrorData::internal_error(e.english(), None))?;
    let task = tasks.into_iter().find(|task| task.id.short() == id);
    task.ok_or_else(|| ErrorData::invalid_params("there is no such task", None))
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
