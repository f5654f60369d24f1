//! The `shared_context` tool: the session's shared memory, for tasks that are granted it.

use std::sync::{Arc, Weak};

use posse_core::Result;
use posse_core::arguments::parse_object;
use posse_core::context::wire::{ContextAnswer, ContextRequest, WaitResult};
use posse_core::id::TaskId;
use posse_core::tool::{ToolEffect, ToolSpec};
use serde_json::{Map, Value};

use super::Session;
use crate::context::{ContextCaller, perform};
use crate::delegation::{DelegationCall, ToolReply};
use crate::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

struct SharedContextTool {
    session: Weak<Session>,
    spec: ToolSpec,
}

pub(super) fn tool(session: Weak<Session>) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: "shared_context".to_owned(),
        description: include_str!("../../prompts/shared_context_tool.md").trim_end().to_owned(),
        input_schema: include_str!("../../prompts/shared_context_tool.schema.json").to_owned(),
        // The call's key is an idempotency key: a write that is repeated after a crash changes nothing.
        effect: ToolEffect::Idempotent,
    };
    Arc::new(SharedContextTool { session, spec })
}

impl Tool for SharedContextTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        false
    }

    /// Each action has its own fields and error messages.
    fn checks_arguments(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(crate::session::SESSION_CLOSED);
            };
            match parse_object(input.arguments) {
                Ok(arguments) => {
                    respond(&session, &input.context.task, arguments, DelegationCall::of(&input)).await.into()
                }
                Err(e) => ToolReply::mistaken(&e).into(),
            }
        })
    }
}

/// Performs a call of the `shared_context` tool by a task.
pub(super) async fn respond(
    session: &Session,
    task: &TaskId,
    arguments: Map<String, Value>,
    call: DelegationCall<'_>,
) -> ToolReply {
    let request = match ContextRequest::read(arguments) {
        Ok(request) => request,
        Err(e) => return ToolReply::mistaken(&e),
    };
    match answer(session, task, request, call).await {
        Ok(answer) => ToolReply::object(answer.to_json()),
        Err(e) => ToolReply { pending: false, ..ToolReply::failed(&e) },
    }
}

async fn answer(
    session: &Session,
    task: &TaskId,
    request: ContextRequest,
    call: DelegationCall<'_>,
) -> Result<ContextAnswer> {
    let participant = session.participant(task);
    let caller =
        ContextCaller { session: &session.id, participant: &participant, idempotency_key: Some(call.key) };
    let answered = perform(&*session.sources.store, caller, request);
    // Only a wait takes time, and it is bounded by the caller's.
    tokio::select! {
        biased;
        answer = answered => answer,
        () = call.cancel.cancelled() => Ok(ContextAnswer::Waited(WaitResult::default())),
        () = tokio::time::sleep(call.time_left) => Ok(ContextAnswer::Waited(WaitResult::default())),
    }
}
