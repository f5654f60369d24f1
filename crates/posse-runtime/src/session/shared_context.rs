//! The `shared_context` tool: the session's small memory, for whoever was given it.

use std::sync::{Arc, Weak};

use posse_core::Result;
use posse_core::context::wire::{ContextAnswer, ContextRequest, WaitResult};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_messages::fixed;

use super::{Session, subagent::wire_error};
use crate::context::{ContextCaller, perform};
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
        // The store knows the call's key: what was written before a crash is not written again.
        effect: ToolEffect::Idempotent,
    };
    Arc::new(SharedContextTool { session, spec })
}

impl Tool for SharedContextTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Each action has its own fields, and its own words for what is wrong with them.
    fn checks_arguments(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(fixed!("session-closed"));
            };
            let request = match ContextRequest::parse(input.arguments) {
                Ok(request) => request,
                Err(e) => return ToolOutput::mistake(wire_error(&e).to_string()),
            };
            match answer(&session, &input, request).await {
                Ok(answer) => ToolOutput::text(answer.to_json().to_string()),
                Err(e) => ToolOutput::error(wire_error(&e).to_string()),
            }
        })
    }
}

async fn answer(session: &Session, input: &ToolInput<'_>, request: ContextRequest) -> Result<ContextAnswer> {
    let participant = session.participant(&input.context.task);
    let caller = ContextCaller {
        session: &session.id,
        participant: &participant,
        idempotency_key: Some(input.idempotency_key),
    };
    let answered = perform(&*session.store, caller, request);
    // Only a wait takes time, and it is not worth more than the caller's.
    tokio::select! {
        biased;
        answer = answered => answer,
        () = input.context.cancel.cancelled() => Ok(ContextAnswer::Waited(WaitResult::default())),
        () = tokio::time::sleep(input.context.time_left) => Ok(ContextAnswer::Waited(WaitResult::default())),
    }
}
