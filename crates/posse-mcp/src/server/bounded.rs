//! One call of a host, from its arguments to its answer. No call lasts longer than hosts wait for; a task that does is named in the answer.

use std::sync::Arc;
use std::time::Duration;

use posse_core::state::TaskState;
use posse_runtime::delegation::{DelegationCall, ToolReply, tasks_json};
use posse_runtime::session::{HostSession, PrintedReply};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::tools::{CompanionRequest, HostTool};

/// The shortest life that a host gives a call is 60 seconds, whatever progress is reported.
pub const CALL_MAX: Duration = Duration::from_secs(45);
/// Hosts that count the time since the last progress are content with this.
const PROGRESS: Duration = Duration::from_secs(10);
/// Time for a cancelled call to answer.
const GRACE: Duration = Duration::from_secs(2);

/// Receiver of progress notifications.
pub struct ProgressListener {
    pub peer: Peer<RoleServer>,
    pub token: ProgressToken,
}

pub struct BoundedCall {
    pub offer: HostTool,
    pub arguments: JsonObject,
    /// Identity of this call; the same if it is sent again.
    pub key: String,
    pub listener: Option<ProgressListener>,
    /// The host does not want the answer any more.
    pub cancelled: CancellationToken,
    /// This process is about to end.
    pub leaving: CancellationToken,
    /// When the host asked.
    pub began: Instant,
}

/// Makes the call. It goes on by itself when nobody waits for its answer any more.
pub async fn answer(hosted: &Arc<HostSession>, call: BoundedCall) -> CallToolResult {
    let BoundedCall { offer, arguments, key, listener, cancelled, leaving, began } = call;
    let cancel = CancellationToken::new();
    let mut under_way = {
        let (hosted, key, cancel) = (hosted.clone(), key.clone(), cancel.clone());
        tokio::spawn(async move { perform(&hosted, offer, arguments, &key, &cancel).await })
    };
    let mut tick = tokio::time::interval_at(began + PROGRESS, PROGRESS);
    let interrupted = loop {
        tokio::select! {
            biased;
            ended = &mut under_way => return ended.unwrap_or_else(|e| crashed(&e)),
            () = cancelled.cancelled() => break true,
            () = leaving.cancelled() => break false,
            () = tokio::time::sleep_until(began + CALL_MAX) => break false,
            _ = tick.tick() => {
                if let Some(listener) = &listener {
                    listener.notify(hosted, began).await;
                }
            }
        }
    };
    let begun = hosted.begun_by(&key).filter(|_| offer.leaves_a_task());
    match begun {
        Some(task) if interrupted => {
            if let Ok(delegation) = hosted.delegation().await {
                // A task that has ended meanwhile stays as it is.
                let _ = delegation.cancel(task.short()).await;
            }
        }
        Some(task) => return still_running(task.short()),
        None => cancel.cancel(),
    }
    match tokio::time::timeout(GRACE, under_way).await {
        Ok(ended) => ended.unwrap_or_else(|e| crashed(&e)),
        Err(_) => failed("this call took too long and was ended"),
    }
}

impl ProgressListener {
    async fn notify(&self, hosted: &HostSession, began: Instant) {
        let tasks = hosted.tasks().await.unwrap_or_default();
        let at_work = tasks.iter().filter_map(|task| Some((task, task.running()?)));
        let lines: Vec<String> = at_work
            .take(8)
            .map(|(task, running)| {
                let activity = running.activity.as_deref().unwrap_or_default();
                let text = format!("{} {} turn {} {activity}", task.id.short(), task.agent, task.turns);
                text.trim_end().to_owned()
            })
            .collect();
        let progress = ProgressNotificationParam::new(self.token.clone(), began.elapsed().as_secs_f64())
            .with_message(lines.join(" · "));
        // A host that does not listen is not told; the answer comes all the same.
        let _ = self.peer.notify_progress(progress).await;
    }
}

/// Performs a call and prints its answer.
pub async fn perform(
    hosted: &HostSession,
    offer: HostTool,
    arguments: JsonObject,
    key: &str,
    cancel: &CancellationToken,
) -> CallToolResult {
    let call = hosted.call(key, cancel);
    let reply = match offer {
        HostTool::Subagent => hosted.subagent(arguments, call).await,
        HostTool::SharedContext => hosted.shared_context(arguments, call).await,
        HostTool::RunSubagent => hosted.run_subagent(arguments, call).await,
        HostTool::Wait | HostTool::Result | HostTool::List => {
            match CompanionRequest::read(offer, arguments) {
                Ok(request) => {
                    answer_companion(hosted, request, call).await.unwrap_or_else(|e| ToolReply::failed(&e))
                }
                Err(e) => ToolReply::mistaken(&e),
            }
        }
    };
    result(hosted.print(reply))
}

/// Performs a request of a companion, which only looks.
async fn answer_companion(
    hosted: &HostSession,
    request: CompanionRequest,
    call: DelegationCall<'_>,
) -> Result<ToolReply, posse_core::Error> {
    let delegation = hosted.delegation().await?;
    Ok(ToolReply::object(match request {
        CompanionRequest::Wait(request) => delegation.wait(request, call).await?.to_json(),
        CompanionRequest::Result(request) => {
            let page = delegation.result(&request).await?;
            merged(page.report.to_json(), page.to_json())
        }
        CompanionRequest::List { agents, tasks, query } => {
            let agents = agents.then(|| delegation.list_agents(query.as_deref()).to_json());
            let tasks = tasks.then(|| tasks_json(&delegation.list_tasks()));
            merged(agents.unwrap_or_default(), tasks.unwrap_or_default())
        }
    }))
}

/// Joins the members of two objects.
fn merged(first: Value, second: Value) -> Value {
    let members = [first, second].into_iter().filter_map(|value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().collect())
}

/// Builds the result of a call. It has the same facts in both forms: no host shows both once.
pub fn result(reply: PrintedReply) -> CallToolResult {
    let structured = reply.object.unwrap_or_else(|| json!({ "text": reply.text }));
    let content = vec![ContentBlock::text(reply.text)];
    let mut result = match reply.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = Some(structured);
    result
}

fn still_running(id: &str) -> CallToolResult {
    let note = format!("still running: call subagent_wait with {id}");
    let object = json!({ "task_id": id, "status": TaskState::Running.wire(), "note": note });
    result(PrintedReply { text: object.to_string(), object: Some(object), is_error: false })
}

pub fn failed(why: &str) -> CallToolResult {
    result(PrintedReply { text: why.to_owned(), object: None, is_error: true })
}

fn crashed(e: &tokio::task::JoinError) -> CallToolResult {
    failed(&format!("INTERNAL: {e}"))
}
