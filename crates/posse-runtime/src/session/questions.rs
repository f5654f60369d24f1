//! What a child can say to whoever delegated to it while it works: ask a question, report how far it is.

use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_core::text::prefix;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_messages::fixed;
use serde::Deserialize;

use super::Session;
use crate::ports::{BoxFuture, Tool, ToolInput, ToolOutput};

/// Default time to wait for an answer.
const DEADLINE_USUAL_S: u64 = 120;
const DEADLINE_MAX_S: u64 = 3_600;
const TEXT_BYTES_MAX: usize = 4_000;

pub(super) fn tools(session: &Weak<Session>) -> [Arc<dyn Tool>; 2] {
    let spec = |name: &str, description: &str, input_schema: &str, effect| ToolSpec {
        name: name.to_owned(),
        description: description.trim_end().to_owned(),
        input_schema: input_schema.to_owned(),
        effect,
    };
    [
        Arc::new(AskParent {
            session: session.clone(),
            // Asked again after a crash: nobody has answered the first time.
            spec: spec("ask_parent", ASK, ASK_SCHEMA, ToolEffect::Idempotent),
        }),
        Arc::new(ReportProgress {
            session: session.clone(),
            spec: spec("report_progress", REPORT, REPORT_SCHEMA, ToolEffect::Idempotent),
        }),
    ]
}

const ASK: &str = include_str!("../../prompts/ask_parent_tool.md");
const ASK_SCHEMA: &str = r#"{"type":"object","properties":{"question":{"type":"string","minLength":1,"description":"One question, with what you know already."},"options":{"type":"array","items":{"type":"string"},"maxItems":10,"description":"Possible answers, if there are a few."},"default":{"type":"string","description":"What you will do if no answer comes in time."},"deadline_s":{"type":"integer","minimum":1,"maximum":3600,"description":"Seconds to wait. 120 unless given."}},"required":["question"]}"#;
const REPORT: &str = include_str!("../../prompts/report_progress_tool.md");
const REPORT_SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string","minLength":1,"description":"One sentence."}},"required":["message"]}"#;

struct AskParent {
    session: Weak<Session>,
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct AskArguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
    default: Option<String>,
    deadline_s: Option<u64>,
}

impl Tool for AskParent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let task = self.session.upgrade().and_then(|session| session.find_task(&input.context.task));
            let Some(task) = task.filter(|task| !task.alone) else {
                let text = fixed!("nobody-to-ask");
                return ToolOutput::error(text);
            };
            let ask: AskArguments = match serde_json::from_str(input.arguments) {
                Ok(ask) => ask,
                Err(e) => return ToolOutput::error(fixed!("question-unreadable", why = e)),
            };
            let deadline = ask.deadline_s.unwrap_or(DEADLINE_USUAL_S).min(DEADLINE_MAX_S);
            let wait = Duration::from_secs(deadline).min(input.context.time_left);
            let options = ask.options.iter().map(|option| prefix(option, 200).to_owned()).collect();
            let answer = task.ask(prefix(&ask.question, TEXT_BYTES_MAX).to_owned(), options);
            let answered = tokio::select! {
                answered = answer => answered.ok(),
                () = input.context.cancel.cancelled() => None,
                () = tokio::time::sleep(wait) => None,
            };
            task.close_question();
            match (answered, ask.default) {
                (Some(text), _) => ToolOutput::text(text),
                (None, Some(default)) => ToolOutput::text(fixed!("no-answer-default", deadline, default)),
                (None, None) => ToolOutput::error(fixed!("no-answer", deadline)),
            }
        })
    }
}

struct ReportProgress {
    session: Weak<Session>,
    spec: ToolSpec,
}

impl Tool for ReportProgress {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let task = self.session.upgrade().and_then(|session| session.find_task(&input.context.task));
            let arguments: serde_json::Value = serde_json::from_str(input.arguments).unwrap_or_default();
            let message = arguments["message"].as_str().unwrap_or_default();
            match task {
                Some(task) => {
                    task.report(prefix(message, 500).to_owned());
                    ToolOutput::text("noted")
                }
                None => ToolOutput::error(fixed!("nobody-to-tell")),
            }
        })
    }
}
