//! One call of a host, from its arguments to its answer. No call lasts longer than hosts wait for; a task that does is named in the answer.

use std::sync::Arc;
use std::time::Duration;

use posse_core::arguments::ArgumentReader;
use posse_messages::fixed;
use posse_runtime::ports::ToolOutput;
use posse_runtime::session::{HostSession, wire_error};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::tools::HostTool;

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
        tokio::spawn(async move { perform(&hosted, offer, arguments, &key, cancel).await })
    };
    let mut tick = tokio::time::interval_at(began + PROGRESS, PROGRESS);
    let interrupted = loop {
        tokio::select! {
            biased;
            ended = &mut under_way => return ended.map_or_else(|e| crashed(&e), result),
            () = cancelled.cancelled() => break true,
            () = leaving.cancelled() => break false,
            () = tokio::time::sleep_until(began + CALL_MAX) => break false,
            _ = tick.tick() => {
                if let Some(listener) = &listener {
                    listener.tell(hosted, began).await;
                }
            }
        }
    };
    let begun = hosted.begun_by(&key).filter(|_| offer.leaves_a_task());
    match begun {
        Some(task) if interrupted => {
            let arguments = json!({ "action": "cancel", "task_id": task.short() }).to_string();
            hosted.call("subagent", &arguments, &format!("{key}/cancel"), CancellationToken::new()).await;
        }
        Some(task) => return still_running(task.short()),
        None => cancel.cancel(),
    }
    match tokio::time::timeout(GRACE, under_way).await {
        Ok(ended) => ended.map_or_else(|e| crashed(&e), result),
        Err(_) => failed(&fixed!("mcp-call-over")),
    }
}

impl ProgressListener {
    async fn tell(&self, hosted: &HostSession, began: Instant) {
        let tasks = hosted.tasks().await.unwrap_or_default();
        let at_work = tasks.iter().filter(|task| task.status["status"] == "running");
        let lines: Vec<String> = at_work
            .take(8)
            .map(|task| {
                let activity = task.status["activity"].as_str().unwrap_or_default();
                let text = format!(
                    "{} {} turn {} {activity}",
                    task.id.short(),
                    task.agent,
                    task.status["turns_used"]
                );
                text.trim_end().to_owned()
            })
            .collect();
        let progress = ProgressNotificationParam::new(self.token.clone(), began.elapsed().as_secs_f64())
            .with_message(lines.join(" · "));
        // A host that does not listen is not told; the answer comes all the same.
        let _ = self.peer.notify_progress(progress).await;
    }
}

pub async fn perform(
    hosted: &HostSession,
    offer: HostTool,
    arguments: JsonObject,
    key: &str,
    cancel: CancellationToken,
) -> ToolOutput {
    let one = async |action: Value| hosted.call("subagent", &action.to_string(), key, cancel.clone()).await;
    let reader = ArgumentReader::of_tool(offer.name(), arguments.clone());
    if let Err(e) = offer.check(&reader) {
        return ToolOutput::mistake(wire_error(&e).to_string());
    }
    match offer {
        HostTool::Subagent | HostTool::SharedContext | HostTool::RunSubagent => {
            let arguments = Value::Object(arguments).to_string();
            hosted.call(offer.session_tool(), &arguments, key, cancel).await
        }
        HostTool::Wait => one(wait_for(arguments)).await,
        HostTool::Result => {
            let text = one(with_action("result", arguments.clone())).await;
            let Some(id) = arguments.get("task_id").filter(|_| !text.is_error) else { return text };
            let status = one(json!({ "action": "wait", "task_ids": [id], "timeout_ms": 0 })).await;
            let finished = parsed(&status.text)["finished"][0].take();
            merged(finished, parsed(&text.text))
        }
        HostTool::List => {
            let wanted = arguments.get("what").filter(|wanted| !wanted.is_null());
            let wants = |what: &str| wanted.is_none_or(|wanted| wanted == what);
            let mut both = Value::Object(Map::new());
            for (what, action) in [("agents", "list_agents"), ("tasks", "list_tasks")] {
                if wants(what) {
                    let mut asked = json!({ "action": action });
                    if what == "agents" {
                        asked["query"] = arguments.get("query").cloned().unwrap_or_default();
                    }
                    let listed = one(asked).await;
                    if listed.is_error {
                        return listed;
                    }
                    both = parsed(&merged(both, parsed(&listed.text)).text);
                }
            }
            ToolOutput::text(both.to_string())
        }
    }
}

fn wait_for(mut arguments: JsonObject) -> Value {
    // It was found to be a whole number.
    if let Some(seconds) = arguments.remove("timeout_s").and_then(|seconds| seconds.as_f64()) {
        let seconds = seconds as u64;
        arguments.insert("timeout_ms".to_owned(), json!(seconds.saturating_mul(1000)));
    }
    with_action("wait", arguments)
}

fn with_action(action: &str, mut arguments: JsonObject) -> Value {
    arguments.insert("action".to_owned(), json!(action));
    Value::Object(arguments)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn merged(first: Value, second: Value) -> ToolOutput {
    let mut all = first.as_object().cloned().unwrap_or_default();
    all.extend(second.as_object().cloned().unwrap_or_default());
    ToolOutput::text(Value::Object(all).to_string())
}

/// The same facts in both forms: no host shows both once.
pub fn result(output: ToolOutput) -> CallToolResult {
    let structured = match serde_json::from_str(&output.text) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => json!({ "text": output.text }),
    };
    let content = vec![ContentBlock::text(output.text)];
    let mut result = match output.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = Some(structured);
    result
}

fn still_running(id: &str) -> CallToolResult {
    let note = fixed!("mcp-still-running", id);
    result(ToolOutput::text(json!({ "task_id": id, "status": "running", "note": note }).to_string()))
}

pub fn failed(why: &str) -> CallToolResult {
    result(ToolOutput::error(why.to_owned()))
}

fn crashed(e: &tokio::task::JoinError) -> CallToolResult {
    failed(&format!("INTERNAL: {e}"))
}
