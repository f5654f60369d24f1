//! Typed delegation: everything that a parent can do with the tasks it delegates. The `subagent` tool, the MCP server and
//! the library call these functions. JSON is read in `request` and printed in `wire`, nowhere else.

mod answer;
mod define;
mod report;
mod request;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use posse_core::board::CancelOutcome;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::task::TaskRequest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use tokio_util::sync::CancellationToken;

use crate::context::now_ms;
use crate::inbox::InboxMessage;
use crate::journal::read_events;
use crate::ports::{
    MessageReceipt, QuestionAnswer, QuestionHandler, ResultDelivery, SteeringMessage, ToolInput,
};
use crate::session::Session;
use crate::session::adopt::BegunTasks;
use crate::session::children::ChildTasks;
use crate::session::facades::delegate;
use crate::session::task::{LiveTask, TaskStage};

pub use answer::{
    AgentCard, AgentListing, AnswerReceipt, CancelReport, DefineReceipt, DelegationAnswer, EventPage,
    ListedTask, ResultPage, SendReceipt, SpawnReceipt, WaitReport,
};
pub(crate) use define::{define_again, recalled};
pub use report::{PendingApproval, RunningTask, TaskPhase, TaskReport};
pub(crate) use report::{announcement, failure, has_result, leftover_warnings};
pub(crate) use request::{ACTIONS, SPAWN_OPTIONS, SpawnOptions};
pub use request::{DefineRequest, DelegationRequest, PollRequest, ResultRequest, WaitMode, WaitRequest};
pub use wire::{ReplyContent, ToolReply, tasks_json, wire_error, wire_status};

/// Longest wait of one call: hosts end calls that take much longer.
pub const WAIT_MAX: Duration = Duration::from_secs(45);
const WAIT_USUAL: Duration = Duration::from_secs(30);
/// Time for a cancelled task to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);
/// Characters of one page of a result.
const PAGE_MAX: usize = 20_000;
const PAGE_USUAL: usize = 4_000;
/// Number of uncollected results from which a spawn warns.
const UNCOLLECTED_NOTED: usize = 10;
/// Records that one `events` answer covers: some 40 kB of events at most.
const EVENTS_MAX: usize = 200;

/// Delegation by one parent: the session's own task, a child that may delegate, or a host.
#[derive(Clone)]
pub struct Delegation {
    session: Arc<Session>,
    children: Arc<ChildTasks>,
}

/// The call that a request belongs to.
#[derive(Debug, Clone, Copy)]
pub struct DelegationCall<'a> {
    /// The same for every attempt at this call, in any process.
    pub key: &'a str,
    /// Ends a wait early.
    pub cancel: &'a CancellationToken,
    /// Time that the caller has for this call.
    pub time_left: Duration,
}

impl<'a> DelegationCall<'a> {
    pub fn of(input: &'a ToolInput<'_>) -> Self {
        let context = input.context;
        Self { key: input.idempotency_key, cancel: &context.cancel, time_left: context.time_left }
    }
}

impl Delegation {
    pub(crate) fn new(session: Arc<Session>, children: Arc<ChildTasks>) -> Self {
        Self { session, children }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn children_of(&self) -> &Arc<ChildTasks> {
        &self.children
    }

    /// Performs a request of any action.
    pub async fn perform(
        &self,
        request: DelegationRequest,
        call: DelegationCall<'_>,
    ) -> Result<DelegationAnswer> {
        Ok(match request {
            DelegationRequest::ListAgents { query } => {
                DelegationAnswer::Agents(self.list_agents(query.as_deref()))
            }
            DelegationRequest::Define(request) => {
                DelegationAnswer::Defined(self.define(*request, call.key).await?)
            }
            DelegationRequest::Spawn(request) => {
                let request = TaskRequest { key: Some(call.key.to_owned()), ..*request };
                DelegationAnswer::Spawned(self.spawn(request).await?)
            }
            DelegationRequest::Status(request) => {
                DelegationAnswer::Status(self.status(&request, call).await?)
            }
            DelegationRequest::Collect(request) => {
                DelegationAnswer::Collected(self.collect(&request, call).await?)
            }
            DelegationRequest::Wait(request) => DelegationAnswer::Waited(self.wait(request, call).await?),
            DelegationRequest::Cancel { task_id } => {
                DelegationAnswer::Cancelled(self.cancel(&task_id).await?)
            }
            DelegationRequest::Send { task_id, message } => {
                DelegationAnswer::Sent(self.send(&task_id, message, call.key).await?)
            }
            DelegationRequest::Answer { task_id, answer } => {
                DelegationAnswer::Answered(self.answer(&task_id, answer, call.key).await?)
            }
            DelegationRequest::Result(request) => DelegationAnswer::Result(self.result(&request).await?),
            DelegationRequest::Events { task_id, since } => {
                DelegationAnswer::Events(self.events(&task_id, since).await?)
            }
            DelegationRequest::ListTasks => DelegationAnswer::Tasks(self.list_tasks()),
        })
    }

    /// Lists the agents that this parent may delegate to, with the rights they would get. All words of the query must
    /// be in an agent's name or description.
    pub fn list_agents(&self, query: Option<&str>) -> AgentListing {
        define::listing(&self.session, &self.children.parent, query)
    }

    /// Defines an agent for this session. A definition that a later process could not recall is undone.
    pub async fn define(&self, request: DefineRequest, key: &str) -> Result<DefineReceipt> {
        let name = request.agent_name()?;
        let outside = self.children.parent.outside;
        let arguments = outside.then(|| request.to_json().to_string());
        let before = self.session.defined().get(&name).cloned();
        let receipt = define::define(&self.session, Some(&self.children.parent), request, key)?;
        if let Some(arguments) = arguments.filter(|_| !receipt.unchanged)
            && let Err(e) = self.session.keep(&name, &arguments).await
        {
            let mut defined = self.session.defined();
            match before {
                Some(before) => defined.insert(name, before),
                None => defined.remove(&name),
            };
            return Err(e);
        }
        Ok(receipt)
    }

    /// Starts a task, or queues it. The task is in the store when this returns.
    pub async fn spawn(&self, request: TaskRequest) -> Result<SpawnReceipt> {
        let task = self.session.spawn(&self.children, request).await?;
        let progress = task.progress();
        let uncollected = self.children.uncollected();
        Ok(SpawnReceipt {
            id: task.id.clone(),
            agent: task.agent.clone(),
            queued: progress.done.is_none() && progress.stage == TaskStage::Waiting,
            failure: progress.done.as_ref().and_then(failure),
            notes: task.start.notes.clone(),
            uncollected: (uncollected >= UNCOLLECTED_NOTED && !self.children.parent.outside)
                .then_some(uncollected),
        })
    }

    /// Reports on a task that was not collected yet.
    pub async fn status(&self, request: &PollRequest, call: DelegationCall<'_>) -> Result<TaskReport> {
        self.catch_up(&request.task_id).await?;
        let task = self.children.tracked(&request.task_id)?;
        let (wait, warnings) = bounded("wait_ms", request.wait, call);
        let progress = task.wait_settled(wait, call.cancel).await;
        if progress.done.is_some() {
            task.set_told();
        }
        Ok(TaskReport { warnings, ..TaskReport::from_task(&task, progress) })
    }

    /// Delivers a result to one call. A repeated call gets the same answer: the first one may have been lost.
    pub async fn collect(&self, request: &PollRequest, call: DelegationCall<'_>) -> Result<TaskReport> {
        let (id, children) = (request.task_id.as_str(), &self.children);
        let (wait, warnings) = bounded("wait_ms", request.wait, call);
        let report = |task: &LiveTask| TaskReport {
            warnings: warnings.clone(),
            ..TaskReport::from_task(task, task.progress())
        };
        if let Some(task) = children.task(id).ok().filter(|task| task.is_collected_by(call.key)) {
            return Ok(report(&task));
        }
        let by = ResultDelivery::Collected { by: call.key.to_owned() };
        if self.catch_up(id).await? == by {
            return Ok(report(&*children.task(id)?));
        }
        let task = children.tracked(id)?;
        let progress = task.wait_settled(wait, call.cancel).await;
        if progress.done.is_some() && children.parent.outside {
            let now = self.session.sources.store.deliver(&task.id, by.clone()).await?;
            if now == by {
                // Another call that lost its answer may have taken the task off the board already.
                let _ = children.collect(id);
                task.set_collected_by(call.key);
                return Ok(report(&task));
            }
            children.note_delivery(task.id.short(), &now);
        }
        let task = children.collect(id).map_err(|e| match (e.code(), progress.stage) {
            (ErrorCode::TaskNotReady, TaskStage::Running) => {
                let (turns, seconds) = (progress.turns, task.elapsed().as_secs());
                let text = localized!("task-running-since", id, turns, seconds);
                Error::new(ErrorCode::TaskNotReady, text).hint(localized!("collect-later-hint"))
            }
            _ => e,
        })?;
        task.set_collected_by(call.key);
        Ok(report(&task))
    }

    /// Waits until any or all of the tasks have ended, or one of them asks a question.
    pub async fn wait(&self, request: WaitRequest, call: DelegationCall<'_>) -> Result<WaitReport> {
        let tasks: Vec<Arc<LiveTask>> = match &request.task_ids {
            Some(ids) => {
                for id in ids {
                    self.catch_up(id).await?;
                }
                ids.iter().map(|id| self.children.task(id)).collect::<Result<_>>()?
            }
            None => self.children.unreported(),
        };
        let (timeout, warnings) = bounded("timeout_ms", request.timeout.unwrap_or(WAIT_USUAL), call);
        let until = tokio::time::Instant::now() + timeout;
        let mut changes: Vec<_> = tasks.iter().map(|task| task.changes()).collect();
        while !is_enough(&tasks, request.mode) {
            let any = select_all(changes.iter_mut().map(|change| Box::pin(change.changed())));
            tokio::select! {
                _ = any => {}
                () = call.cancel.cancelled() => break,
                () = tokio::time::sleep_until(until) => break,
            }
        }
        let (ended, running): (Vec<Arc<LiveTask>>, Vec<_>) =
            tasks.iter().cloned().partition(|task| task.is_done());
        for task in &ended {
            self.mark_reported(task).await?;
        }
        let reports = |tasks: &[Arc<LiveTask>]| tasks.iter().map(|task| task.report()).collect();
        let timed_out = !is_enough(&tasks, request.mode);
        Ok(WaitReport { finished: reports(&ended), running: reports(&running), timed_out, warnings })
    }

    /// Waits until a task has ended, however long that takes.
    pub async fn finished(&self, task_id: &str) -> Result<TaskReport> {
        let task = self.children.task(task_id)?;
        let progress = task.done().await;
        self.mark_reported(&task).await?;
        Ok(TaskReport::from_task(&task, progress))
    }

    /// Runs a task to its end, or until the call is cancelled. The result is delivered here and nowhere else. Without an
    /// `answer` the task cannot ask questions.
    pub async fn run(
        &self,
        request: TaskRequest,
        call: DelegationCall<'_>,
        answer: Option<&QuestionHandler>,
    ) -> Result<TaskReport> {
        Ok(delegate(self, call, request, answer).await?.task.report())
    }

    /// Cancels a task and waits a moment for its end.
    pub async fn cancel(&self, task_id: &str) -> Result<CancelReport> {
        self.catch_up(task_id).await?;
        let why = "before it began".to_owned();
        let (task, met) = self.session.cancel(&self.children, task_id, &why).await?;
        if met == CancelOutcome::Running {
            // A task that does not end in time is still being stopped; its status says so.
            let _ = tokio::time::timeout(CANCEL_WAIT, task.done()).await;
        }
        let report = task.report();
        if !report.state().is_running() {
            task.set_told();
        }
        Ok(CancelReport { task: report, had_ended: matches!(met, CancelOutcome::Ended(_)) })
    }

    /// Sends a steering message, which the task reads before its next turn, whichever process drives it.
    pub async fn send(&self, task_id: &str, text: String, key: &str) -> Result<SendReceipt> {
        let task = self.children.tracked(task_id)?;
        let (sent_ms, key) = (now_ms(), key.to_owned());
        let message =
            SteeringMessage { task: task.id.clone(), key: key.clone(), text: text.clone(), sent_ms };
        let receipt = self.session.sources.store.send_message(message).await?;
        match receipt {
            MessageReceipt::Queued => {
                self.session.take_in(&task.id, &task.inbox, InboxMessage::sent(key, text));
            }
            MessageReceipt::Delivered { .. } | MessageReceipt::Missed => {}
            MessageReceipt::Full => {
                return Err(Error::new(
                    ErrorCode::InvalidRequest,
                    localized!("messages-unread", id = task_id),
                )
                .hint(localized!("messages-unread-hint")));
            }
        }
        Ok(SendReceipt { task_id: task_id.to_owned(), receipt })
    }

    /// Answers the open question of a task, whichever process drives it.
    pub async fn answer(&self, task_id: &str, text: String, key: &str) -> Result<AnswerReceipt> {
        let task = self.children.tracked(task_id)?;
        let answer = QuestionAnswer { task: task.id.clone(), key: key.to_owned(), text: text.clone() };
        let answered = self.session.sources.store.answer_question(answer).await?;
        if let Some(answered) = &answered {
            task.deliver_answer(answered.question.id, text);
        }
        Ok(AnswerReceipt { task_id: task_id.to_owned(), answered: answered.is_some() })
    }

    /// Reads a page of a task's full text, however long ago the task ended.
    pub async fn result(&self, request: &ResultRequest) -> Result<ResultPage> {
        let id = request.task_id.as_str();
        self.catch_up(id).await?;
        let task = self.children.task(id)?;
        let report = task.report();
        let text = match &report.phase {
            TaskPhase::Running(_) => {
                return Err(Error::new(ErrorCode::TaskNotReady, localized!("task-not-ended", id))
                    .hint(localized!("task-not-ended-hint")));
            }
            TaskPhase::Ended(Ok(outcome)) => outcome.text.clone(),
            TaskPhase::Ended(Err(_)) => self.stored_text(&task.id).await?,
        };
        self.mark_read(&task).await?;
        let (offset, limit) = (request.offset, request.limit.unwrap_or(PAGE_USUAL).clamp(1, PAGE_MAX));
        let total_chars = text.chars().count();
        let page: String = text.chars().skip(offset).take(limit).collect();
        let end = offset.saturating_add(page.chars().count());
        let next_offset = (end < total_chars).then_some(end);
        Ok(ResultPage { task_id: id.to_owned(), report, text: page, offset, next_offset, total_chars })
    }

    async fn stored_text(&self, id: &TaskId) -> Result<String> {
        let records = self.session.sources.store.records(id).await?;
        let text = records.into_iter().rev().find_map(|record| match record {
            Record::Finished { outcome, .. } => Some(outcome.text.clone()),
            _ => None,
        });
        Ok(text.unwrap_or_default())
    }

    /// Returns events of a task from journal position `since` on, whichever process drives it.
    pub async fn events(&self, task_id: &str, since: u64) -> Result<EventPage> {
        let task = self.children.task(task_id)?;
        let (events, next) = read_events(&*self.session.sources.store, &task.id, since, EVENTS_MAX).await?;
        Ok(EventPage { task_id: task_id.to_owned(), events, next })
    }

    /// Lists every task of this parent.
    pub fn list_tasks(&self) -> Vec<ListedTask> {
        let listed = |(task, tracked): (Arc<LiveTask>, bool)| ListedTask {
            report: task.report(),
            collected: !tracked,
        };
        self.children.tasks().into_iter().map(listed).collect()
    }

    /// Refreshes a host's task from the store, where other processes may have delegated, read or collected it. An
    /// orchestrator's tasks are known to it alone.
    async fn catch_up(&self, id: &str) -> Result<ResultDelivery> {
        let (session, children) = (&self.session, &self.children);
        let own = children.own_id(id);
        let number = own.strip_prefix("t_").and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|_| children.parent.outside) else {
            return Ok(ResultDelivery::Unreported);
        };
        let row = match session.sources.store.task(&TaskId::child(session.id(), number)).await {
            Err(e) if e.code() == ErrorCode::TaskNotFound => return Ok(ResultDelivery::Unreported),
            row => row?,
        };
        let delivery = row.delivery.clone();
        if children.task(&own).is_ok() {
            session.refresh(children, &row).await;
        } else if !row.state.is_running() && row.parent.as_ref() == Some(&children.parent.id) {
            session.restore_children(children, vec![row], |_| false, &BegunTasks::default(), false).await?;
        }
        Ok(delivery)
    }

    /// Records that the text of a task was read.
    async fn mark_read(&self, task: &LiveTask) -> Result<()> {
        if self.children.is_unread(task) && self.children.parent.outside {
            self.session.sources.store.deliver(&task.id, ResultDelivery::Read).await?;
        }
        self.children.note_delivery(task.id.short(), &ResultDelivery::Read);
        Ok(())
    }

    /// Records that a wait has reported the end of a task.
    async fn mark_reported(&self, task: &LiveTask) -> Result<()> {
        if !task.set_reported() && self.children.parent.outside {
            self.session.sources.store.deliver(&task.id, ResultDelivery::Reported).await?;
        }
        Ok(())
    }
}

/// Tells whether a wait is over: enough tasks have ended, or one asks a question.
fn is_enough(tasks: &[Arc<LiveTask>], mode: WaitMode) -> bool {
    let asks = tasks.iter().any(|task| task.progress().question.is_some());
    let ended = tasks.iter().filter(|task| task.is_done()).count();
    asks || tasks.is_empty()
        || match mode {
            WaitMode::Any => ended > 0,
            WaitMode::All => ended == tasks.len(),
        }
}

/// Returns the wait that one call gets, and a warning if it asked for more than the maximum.
fn bounded(name: &str, asked: Duration, call: DelegationCall<'_>) -> (Duration, Vec<String>) {
    let warning = (asked > WAIT_MAX).then(|| {
        let (asked, given) = (asked.as_millis().to_string(), WAIT_MAX.as_millis().to_string());
        format!("{name}: {asked} was lowered to {given}")
    });
    (asked.min(WAIT_MAX).min(call.time_left), warning.into_iter().collect())
}
