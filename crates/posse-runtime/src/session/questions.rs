//! Tools of a child for talking to its parent while it runs: questions and progress reports.

use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_core::Result;
use posse_core::fact::LiveFact;
use posse_core::text::prefix;
use posse_core::tool::{ToolEffect, ToolSpec};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::task::LiveTask;
use crate::context::now_ms;
use crate::ports::{BoxFuture, NewQuestion, QuestionState, TaskQuestion, Tool, ToolInput, ToolOutput};

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
            // A call that is repeated after a crash finds its question, and its answer, in the store.
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

    fn writes_files(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let asking = self.session.upgrade().and_then(|session| {
                let task = session.find_task(&input.context.task).filter(|task| !task.alone)?;
                Some((session, task))
            });
            let Some((session, task)) = asking else {
                return ToolOutput::error(
                    "there is nobody to ask; choose what is most likely wanted and say so in your answer",
                );
            };
            let ask: AskArguments = match serde_json::from_str(input.arguments) {
                Ok(ask) => ask,
                Err(e) => return ToolOutput::error(format!("the question cannot be read: {e}")),
            };
            let deadline =
                Duration::from_secs(ask.deadline_s.unwrap_or(DEADLINE_USUAL_S).min(DEADLINE_MAX_S));
            let wait = deadline.min(input.context.time_left);
            let question = NewQuestion {
                task: task.id.clone(),
                key: input.idempotency_key.to_owned(),
                text: prefix(&ask.question, TEXT_BYTES_MAX).to_owned(),
                options: ask.options.iter().map(|option| prefix(option, 200).to_owned()).collect(),
                asked_ms: now_ms(),
            };
            match answer_to(&session, &task, question, wait, &input.context.cancel).await {
                Err(e) => ToolOutput::error(e.english()),
                Ok(QuestionEnd::Answered(text)) => ToolOutput::text(text),
                Ok(QuestionEnd::Cancelled) if task.stop.is_from_above() => {
                    ToolOutput::error("nobody answered: the parent ended or was cancelled")
                }
                Ok(QuestionEnd::Cancelled) => ToolOutput::error("nobody answered: this task was cancelled"),
                Ok(QuestionEnd::Overdue) => overdue(wait, ask.default.as_deref()),
            }
        })
    }
}

/// End of waiting for an answer.
enum QuestionEnd {
    Answered(String),
    /// The asking task or its parent was stopped.
    Cancelled,
    Overdue,
}

/// Makes the result of a question that nobody answered in time.
fn overdue(wait: Duration, default: Option<&str>) -> ToolOutput {
    let seconds = wait.as_secs();
    match default {
        Some(default) => {
            ToolOutput::text(format!("no answer came within {seconds} s; go on with your default: {default}"))
        }
        None => ToolOutput::error(format!(
            "no answer came within {seconds} s; choose what is most likely wanted and say so in your answer"
        )),
    }
}

/// Asks a question and waits for its answer, which may come from any process.
async fn answer_to(
    session: &Session,
    task: &LiveTask,
    question: NewQuestion,
    wait: Duration,
    cancel: &CancellationToken,
) -> Result<QuestionEnd> {
    let TaskQuestion { question, state } = session.sources.store.ask_question(question).await?;
    if let QuestionState::Answered(text) = state {
        return Ok(QuestionEnd::Answered(text));
    }
    let id = question.id;
    let observers = &session.watchers.observers;
    observers.fact(&task.id, &question.fact());
    let answer = task.ask(question);
    let end = tokio::select! {
        answered = answer => answered.map_or(QuestionEnd::Overdue, QuestionEnd::Answered),
        () = cancel.cancelled() => QuestionEnd::Cancelled,
        () = tokio::time::sleep(wait) => QuestionEnd::Overdue,
    };
    task.show_question(None);
    observers.fact(&task.id, &LiveFact::QuestionClosed { id });
    if let QuestionEnd::Answered(_) = end {
        return Ok(end);
    }
    // Another process may have answered first.
    match session.sources.store.close_question(&task.id, id).await?.state {
        QuestionState::Answered(text) => Ok(QuestionEnd::Answered(text)),
        QuestionState::Open | QuestionState::Closed => Ok(end),
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

    fn writes_files(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let task = self.session.upgrade().and_then(|session| session.find_task(&input.context.task));
            let arguments: serde_json::Value = serde_json::from_str(input.arguments).unwrap_or_default();
            let message = arguments["message"].as_str().unwrap_or_default();
            match task {
                Some(task) => {
                    task.note_progress(prefix(message, 500).to_owned());
                    ToolOutput::text("noted")
                }
                None => ToolOutput::error("there is nobody to tell"),
            }
        })
    }
}
