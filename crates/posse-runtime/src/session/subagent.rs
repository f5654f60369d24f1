//! The `subagent` tool: what an orchestrator can do with the tasks of its session. The requests and answers of the five
//! core actions are those of the seed specification §3.

mod define;
mod report;
mod request;

use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_core::board::CancelOutcome;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::tool::{DELEGATION, ToolEffect, ToolSpec};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, localized};
use serde_json::{Map, Value, json};

use super::Session;
use super::adopt::BegunTasks;
use super::facades::{Facade, SessionFacades, check_room, launch};
use super::family::ChildTasks;
use super::task::{LiveTask, TaskStage};
use crate::inbox::{InboxMessage, MessageReceipt};
use crate::ports::{BoxFuture, CallProposal, ResultDelivery, Tool, ToolContext, ToolInput, ToolOutput};
pub(super) use define::{define_again, recalled};
use report::RETRY_AFTER_MS;
use report::collected;
pub(super) use report::{announcement, failure, loose_end, status};
pub(super) use request::{ACTIONS, SPAWN_OPTIONS, SpawnOptions};
use request::{SubagentRequest, WaitMode};

/// Longest wait of one call: hosts end calls that take much longer.
const WAIT_MAX: Duration = Duration::from_secs(45);
const WAIT_USUAL: Duration = Duration::from_secs(30);
/// Time for a cancelled task to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);
/// Characters of one page of a result.
const PAGE_MAX: usize = 20_000;
const PAGE_USUAL: usize = 4_000;
/// From so many results that nobody collected on, a spawn says so.
const UNCOLLECTED_NOTED: usize = 10;

const DESCRIPTION: &str = include_str!("../../prompts/subagent_tool.md");
const SCHEMA: &str = include_str!("../../prompts/subagent_tool.schema.json");
/// Left out of the description where there is no shared context.
const SHARED_CONTEXT_ADVICE: &str = " Put larger context into shared_context and name the key in the task.";
const LAUNCH_DESCRIPTION: &str = include_str!("../../prompts/launch_tool.md");
const LAUNCH_SCHEMA: &str = include_str!("../../prompts/launch_tool.schema.json");

pub(super) struct SubagentTool {
    session: Weak<Session>,
    spec: ToolSpec,
}

impl SubagentTool {
    /// Creates the `subagent` tool.
    pub fn new(session: Weak<Session>, facades: &SessionFacades) -> Self {
        let (mut description, mut schema) = (DESCRIPTION.trim_end().to_owned(), SCHEMA.to_owned());
        if !facades.has(Facade::SharedContext) {
            description = description.replacen(SHARED_CONTEXT_ADVICE, "", 1);
        }
        if facades.has(Facade::Launch) {
            description = format!("{description}\n\n{}", LAUNCH_DESCRIPTION.trim_end());
            schema = with_launch(&schema);
        }
        let spec = ToolSpec {
            name: DELEGATION.to_owned(),
            description,
            input_schema: schema,
            // A call that is made again after a crash has the same key and gets the same task.
            effect: ToolEffect::Idempotent,
        };
        Self { session, spec }
    }
}

impl Tool for SubagentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Two ways to call it, each with its own words for what is wrong.
    fn checks_arguments(&self) -> bool {
        true
    }

    fn propose(&self, input: &ToolInput<'_>) -> std::result::Result<CallProposal, ToolOutput> {
        let arguments: Map<String, Value> = serde_json::from_str(input.arguments).unwrap_or_default();
        let Some(session) = self.session.upgrade() else { return Ok(CallProposal::default()) };
        if launch::is_meant(&arguments) {
            return launch::propose(&session, input, &arguments);
        }
        match SubagentRequest::parse(input.arguments) {
            Ok(SubagentRequest::Spawn(request)) => check_room(&session, input, &request.terms)
                .map_err(|e| ToolOutput::error(wire_error(&e).to_string())),
            Ok(_) => Ok(CallProposal::default()),
            Err(e) => Err(ToolOutput::mistake(wire_error(&e).to_string())),
        }
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(session) = self.session.upgrade() else {
                return ToolOutput::error(fixed!("session-closed"));
            };
            let arguments: Map<String, Value> = serde_json::from_str(input.arguments).unwrap_or_default();
            if launch::is_meant(&arguments) {
                return launch::launch(&session, &input, &arguments).await;
            }
            let request = match SubagentRequest::parse(input.arguments) {
                Ok(request) => request,
                Err(e) => return ToolOutput::mistake(wire_error(&e).to_string()),
            };
            let polls = request.is_poll();
            match answer(&session, &input, request).await {
                Ok(answer) => {
                    let pending = polls && (answer["status"] == "running" || answer["timed_out"] == true);
                    ToolOutput { pending, ..ToolOutput::text(answer.to_string()) }
                }
                Err(e) => {
                    let pending = e.code() == ErrorCode::TaskNotReady;
                    ToolOutput { pending, ..ToolOutput::error(wire_error(&e).to_string()) }
                }
            }
        })
    }
}

/// A launch has no action.
fn with_launch(schema: &str) -> String {
    let parse = |text: &str| -> Map<String, Value> {
        serde_json::from_str(text).expect("our own schemas are objects; a test reads them")
    };
    let mut schema = parse(schema);
    schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(parse(LAUNCH_SCHEMA));
    }
    Value::Object(schema).to_string()
}

/// An error as a tool's answer shows it to a model.
pub fn wire_error(error: &Error) -> Value {
    let mut value = json!({ "error": error.code().wire(), "message": error.message().english() });
    if let Some(hint) = error.advice() {
        value["hint"] = json!(hint.english());
    }
    if error.code() == ErrorCode::TaskNotReady {
        value["retry_after_ms"] = json!(RETRY_AFTER_MS);
    }
    value
}

async fn answer(session: &Arc<Session>, input: &ToolInput<'_>, request: SubagentRequest) -> Result<Value> {
    let (context, key) = (input.context, input.idempotency_key);
    let family = session.family(&context.task)?;
    match request {
        SubagentRequest::ListAgents { query } => Ok(define::listing(session, &family, query.as_deref())),
        SubagentRequest::Define(request) => {
            let name = request.agent_name()?;
            let before = session.defined().get(&name).cloned();
            let answer = define::define(session, Some(&family.parent), *request, key)?;
            let is_kept = answer["unchanged"] == true;
            if family.parent.outside
                && !is_kept
                && let Err(e) = session.keep(&name, input.arguments).await
            {
                // What would be gone with this process was not defined.
                let mut defined = session.defined();
                before
                    .map(|before| defined.insert(name.clone(), before))
                    .unwrap_or_else(|| defined.remove(&name));
                return Err(e);
            }
            Ok(answer)
        }
        SubagentRequest::Spawn(mut request) => {
            request.key = Some(key.to_owned());
            spawn(session, &family, *request).await
        }
        SubagentRequest::Status { task_id, wait } => {
            session.catch_up(&family, &task_id).await?;
            let task = family.tracked(&task_id)?;
            let progress = task.settled(bounded(wait, context), &context.cancel).await;
            if progress.done.is_some() {
                task.set_told();
            }
            Ok(status(&task, &progress))
        }
        SubagentRequest::Collect { task_id, wait } => {
            collect(session, &family, &task_id, bounded(wait, context), input).await
        }
        SubagentRequest::Wait { task_ids, mode, timeout } => {
            wait(session, &family, task_ids, mode, timeout, context).await
        }
        SubagentRequest::Cancel { task_id } => {
            session.catch_up(&family, &task_id).await?;
            cancel(session, &family, &task_id).await
        }
        SubagentRequest::Send { task_id, message } => send(&family, &task_id, message, key),
        SubagentRequest::Answer { task_id, answer } => {
            let answered = family.tracked(&task_id)?.answer(answer);
            let note = if answered { "answered".to_owned() } else { fixed!("nobody-waited") };
            Ok(json!({ "task_id": task_id, "answered": answered, "note": note }))
        }
        SubagentRequest::Result { task_id, offset, limit } => {
            result(session, &family, &task_id, offset, limit).await
        }
        SubagentRequest::Events { task_id, since } => {
            let (events, next) = family.task(&task_id)?.events(since);
            Ok(json!({ "task_id": task_id, "events": events, "next": next }))
        }
        SubagentRequest::ListTasks {} => {
            let tasks = family.tasks().into_iter().map(|(task, tracked)| {
                let mut value = status(&task, &task.progress());
                if !tracked {
                    value["collected"] = json!(true);
                }
                value
            });
            Ok(json!({ "tasks": tasks.collect::<Vec<_>>() }))
        }
    }
}

async fn spawn(
    session: &Session,
    family: &ChildTasks,
    request: posse_core::task::TaskRequest,
) -> Result<Value> {
    let task = session.spawn(&family.parent.id, request).await?;
    let mut value = json!({ "task_id": task.id.short(), "agent": task.agent, "status": "running" });
    let progress = task.progress();
    if let Some(error) = progress.done.as_ref().and_then(failure) {
        value["status"] = json!("failed");
        value["error"] = json!(error);
    } else if progress.stage == TaskStage::Waiting {
        value["queued"] = json!(true);
    }
    let mut warnings = task.start.notes.clone();
    let uncollected = family.uncollected();
    if uncollected >= UNCOLLECTED_NOTED && !family.parent.outside {
        warnings.push(format!("{uncollected} finished tasks are not collected"));
    }
    if !warnings.is_empty() {
        value["warnings"] = json!(warnings);
    }
    Ok(value)
}

/// Longest wait of one call.
fn bounded(wait: Duration, context: &ToolContext) -> Duration {
    wait.min(WAIT_MAX).min(context.time_left)
}

/// Gives a result to one request. The same request made again gets the same answer: the first one may have been lost on its way.
async fn collect(
    session: &Session,
    family: &Arc<ChildTasks>,
    id: &str,
    wait: Duration,
    input: &ToolInput<'_>,
) -> Result<Value> {
    let key = input.idempotency_key;
    if let Some(answer) = family.task(id).ok().and_then(|task| task.answer_to(key)) {
        return Ok(answer);
    }
    let delivery = session.catch_up(family, id).await?;
    if delivery == (ResultDelivery::Collected { by: key.to_owned() }) {
        let task = family.task(id)?;
        return Ok(collected(&task, &task.progress()));
    }
    let task = family.tracked(id)?;
    let progress = task.settled(wait, &input.context.cancel).await;
    if progress.done.is_some() && family.parent.outside {
        let by = ResultDelivery::Collected { by: key.to_owned() };
        let now = session.store.deliver(&task.id, by.clone()).await?;
        if now == by {
            // Whoever lost may have taken it off the board already.
            let _ = family.collect(id);
            return Ok(task.collected_by(key, collected(&task, &progress)));
        }
        family.note_delivery(task.id.short(), &now);
    }
    let task = family.collect(id).map_err(|e| match (e.code(), progress.stage) {
        (ErrorCode::TaskNotReady, TaskStage::Running) => {
            let text = localized!("task-running-since", id, turns = progress.turns, seconds = task.seconds());
            Error::new(ErrorCode::TaskNotReady, text).hint(localized!("collect-later-hint"))
        }
        _ => e,
    })?;
    Ok(task.collected_by(key, collected(&task, &task.progress())))
}

/// Without ids: those whose end no wait has reported yet.
async fn wait(
    session: &Session,
    family: &Arc<ChildTasks>,
    ids: Option<Vec<String>>,
    mode: WaitMode,
    timeout: Option<Duration>,
    context: &ToolContext,
) -> Result<Value> {
    let tasks = match ids {
        Some(ids) => {
            for id in &ids {
                session.catch_up(family, id).await?;
            }
            ids.iter().map(|id| family.task(id)).collect::<Result<_>>()?
        }
        None => family.unreported(),
    };
    let enough = |tasks: &[Arc<LiveTask>]| {
        let asks = tasks.iter().any(|task| task.progress().question.is_some());
        let ended = tasks.iter().filter(|task| task.is_done()).count();
        asks || tasks.is_empty()
            || match mode {
                WaitMode::Any => ended > 0,
                WaitMode::All => ended == tasks.len(),
            }
    };
    let until = tokio::time::Instant::now() + bounded(timeout.unwrap_or(WAIT_USUAL), context);
    let mut changes: Vec<_> = tasks.iter().map(|task| task.changes()).collect();
    while !enough(&tasks) {
        let mut all: Vec<_> = changes.iter_mut().map(|change| Box::pin(change.changed())).collect();
        let any = std::future::poll_fn(|cx| {
            let ready = all.iter_mut().any(|change| change.as_mut().poll(cx).is_ready());
            if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        tokio::select! {
            () = any => {}
            () = context.cancel.cancelled() => break,
            () = tokio::time::sleep_until(until) => break,
        }
    }
    let (ended, running): (Vec<Arc<LiveTask>>, Vec<_>) =
        tasks.iter().cloned().partition(|task| task.is_done());
    session.report(family, &ended).await?;
    let shown =
        |tasks: &[Arc<LiveTask>]| tasks.iter().map(|task| status(task, &task.progress())).collect::<Vec<_>>();
    let timed_out = !enough(&tasks);
    let mut value = json!({ "finished": shown(&ended), "running": shown(&running), "timed_out": timed_out });
    if timed_out {
        value["hint"] = json!(fixed!("still-at-work"));
    } else if tasks.is_empty() {
        value["note"] = json!(fixed!("nothing-to-wait-for"));
    }
    Ok(value)
}

impl Session {
    /// Brings what is known of a host's task up to date with the store, where other processes may have delegated, read or collected
    /// it. An orchestrator's own tasks are known to it alone.
    async fn catch_up(&self, family: &Arc<ChildTasks>, id: &str) -> Result<ResultDelivery> {
        let own = family.own_id(id);
        let number = own.strip_prefix("t_").and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|_| family.parent.outside) else {
            return Ok(ResultDelivery::Unreported);
        };
        let row = match self.store.task(&TaskId::child(&self.id, number)).await {
            Err(e) if e.code() == ErrorCode::TaskNotFound => return Ok(ResultDelivery::Unreported),
            row => row?,
        };
        let delivery = row.delivery.clone();
        if family.task(&own).is_ok() {
            family.note_delivery(&own, &delivery);
        } else if row.status != "running" && row.parent.as_ref() == Some(&family.parent.id) {
            self.bring_back(family, vec![row], |_| false, &BegunTasks::default(), false).await?;
        }
        Ok(delivery)
    }

    /// Notes that the text of a task was read.
    async fn mark_read(&self, family: &ChildTasks, task: &LiveTask) -> Result<()> {
        if family.is_unread(task) && family.parent.outside {
            self.store.deliver(&task.id, ResultDelivery::Read).await?;
        }
        family.note_delivery(task.id.short(), &ResultDelivery::Read);
        Ok(())
    }

    /// Notes that a wait has named the end of these tasks.
    async fn report(&self, family: &ChildTasks, ended: &[Arc<LiveTask>]) -> Result<()> {
        for task in ended {
            if !task.set_reported() && family.parent.outside {
                self.store.deliver(&task.id, ResultDelivery::Reported).await?;
            }
        }
        Ok(())
    }
}

async fn cancel(session: &Session, family: &Arc<ChildTasks>, id: &str) -> Result<Value> {
    let (task, met) = session.cancel(family, id, &fixed!("before-it-began")).await?;
    if met == CancelOutcome::Running {
        // What does not end in time is still being stopped; its status says so.
        let _ = tokio::time::timeout(CANCEL_WAIT, task.done()).await;
    }
    let progress = task.progress();
    if progress.done.is_some() {
        task.set_told();
    }
    let mut value = collected(&task, &progress);
    if let CancelOutcome::Ended(_) = met {
        value["note"] = json!(fixed!("ended-before-cancel"));
    }
    Ok(value)
}

fn send(family: &ChildTasks, id: &str, text: String, key: &str) -> Result<Value> {
    let task = family.tracked(id)?;
    let receipt = task.inbox.send(InboxMessage { key: key.to_owned(), text });
    let mut value = json!({ "task_id": id });
    value["receipt"] = match receipt {
        MessageReceipt::Queued => json!("queued"),
        MessageReceipt::Delivered { turn } => {
            value["turn"] = json!(turn);
            json!("delivered")
        }
        MessageReceipt::Missed => json!("missed"),
        MessageReceipt::Full => {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("messages-unread", id))
                .hint(localized!("messages-unread-hint")));
        }
    };
    Ok(value)
}

/// One page of the full text, from the store: it is there however long ago the task ended.
async fn result(
    session: &Session,
    family: &Arc<ChildTasks>,
    id: &str,
    offset: usize,
    limit: Option<usize>,
) -> Result<Value> {
    session.catch_up(family, id).await?;
    let task = family.task(id)?;
    let Some(done) = task.progress().done else {
        return Err(Error::new(ErrorCode::TaskNotReady, localized!("task-not-ended", id))
            .hint(localized!("task-not-ended-hint")));
    };
    let text = match done {
        Ok(outcome) => outcome.text.clone(),
        Err(_) => stored_text(session, &task.id).await?,
    };
    session.mark_read(family, &task).await?;
    let limit = limit.unwrap_or(PAGE_USUAL).clamp(1, PAGE_MAX);
    let total = text.chars().count();
    let page: String = text.chars().skip(offset).take(limit).collect();
    let end = offset.saturating_add(page.chars().count());
    let next = (end < total).then_some(end);
    Ok(json!({ "task_id": id, "text": page, "offset": offset, "next_offset": next, "total_chars": total }))
}

async fn stored_text(session: &Session, id: &TaskId) -> Result<String> {
    let records = session.store.records(id).await?;
    let text = records.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome.text.clone()),
        _ => None,
    });
    Ok(text.unwrap_or_default())
}
