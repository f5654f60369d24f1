//! A run that is watched while it works.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use posse_core::Result;
use posse_core::event::EventEntry;
use posse_core::id::TaskId;
use posse_core::outcome::Outcome;
use posse_core::{Error, ErrorCode};
use posse_runtime::ports::{Delta, Observer};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::agent::Agent;
use crate::answer::AgentAnswer;
use crate::compose::{CancelOnDrop, SessionKind};

/// A run that [`Agent::stream`] started: a [`Stream`] of what happens in it. Dropping it cancels the run.
///
/// ```no_run
/// use posse::prelude::*;
/// # async fn example() -> posse::Result<()> {
/// let mut run = Agent::new("openai:gpt-5")?.stream("Tell a story.");
/// while let Some(event) = run.next().await {
///     if let StreamEvent::Text(text) = event? {
///         print!("{text}");
///     }
/// }
/// let answer = run.finish().await?;
/// # Ok(()) }
/// ```
pub struct RunStream {
    /// Events that were not read yet. The run's own limits bound how many there are.
    events: mpsc::UnboundedReceiver<StreamEvent>,
    run: RunState,
    /// The error that ended the run, until it was shown.
    failure: Option<Error>,
    _cancel: Option<CancelOnDrop>,
}

enum RunState {
    Running(JoinHandle<Result<Arc<Outcome>>>),
    Ended(Result<Arc<Outcome>>),
}

/// Something that happens in a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// A piece of the answer. Text before a tool call is a remark of the model.
    Text(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// An attempt at the model call failed: the text and thinking since the last [`Event::TurnStarted`](crate::Event) are void.
    Restarted,
    /// A fact about the run or one of its subagents.
    Event(EventEntry),
}

impl RunStream {
    pub(crate) fn start(agent: Agent, task: String) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let agent = agent.observer(StreamObserver { sender });
        let composed =
            agent.compose(SessionKind::Run, &[]).and_then(|session| Ok((session, agent.snapshot()?)));
        match composed {
            Ok((session, lead)) => {
                let core = session.core.clone();
                let run = tokio::spawn(async move { core.run(lead, task, Vec::new(), Vec::new()).await });
                let cancel = Some(CancelOnDrop(session.stop));
                Self { events, run: RunState::Running(run), failure: None, _cancel: cancel }
            }
            Err(e) => Self { events, run: RunState::Ended(Err(e.clone())), failure: Some(e), _cancel: None },
        }
    }

    /// Waits for the next event; `None` when the run has ended. An error is the last item.
    pub async fn next(&mut self) -> Option<Result<StreamEvent>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Waits for the end and returns the answer. Fails unless the run completed.
    pub async fn finish(self) -> Result<AgentAnswer> {
        AgentAnswer::of(self.outcome().await?)
    }

    /// Waits for the end and returns how the run ended, whether it completed or not.
    pub async fn outcome(mut self) -> Result<Arc<Outcome>> {
        match &mut self.run {
            RunState::Running(run) => joined(run.await),
            RunState::Ended(outcome) => outcome.clone(),
        }
    }
}

fn joined(ended: Result<Result<Arc<Outcome>>, tokio::task::JoinError>) -> Result<Arc<Outcome>> {
    ended.unwrap_or_else(|e| Err(Error::new(ErrorCode::Internal, e.to_string())))
}

impl Stream for RunStream {
    type Item = Result<StreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(Some(Ok(event)));
        }
        if let RunState::Running(run) = &mut self.run {
            let Poll::Ready(ended) = Pin::new(run).poll(context) else { return Poll::Pending };
            let outcome = joined(ended);
            self.failure = outcome.as_ref().err().cloned();
            self.run = RunState::Ended(outcome);
        }
        // The run may have sent an event since the channel was polled.
        match self.events.try_recv() {
            Ok(event) => Poll::Ready(Some(Ok(event))),
            Err(_) => Poll::Ready(self.failure.take().map(Err)),
        }
    }
}

/// Observer that sends events and deltas to the stream. Failed sends are ignored: a dropped stream has cancelled the run.
struct StreamObserver {
    sender: mpsc::UnboundedSender<StreamEvent>,
}

impl Observer for StreamObserver {
    fn event(&self, entry: &EventEntry) {
        let _ = self.sender.send(StreamEvent::Event(entry.clone()));
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        if !task.is_root() {
            return;
        }
        let event = match delta {
            Delta::Text(text) => StreamEvent::Text(text.to_owned()),
            Delta::Thinking(text) => StreamEvent::Thinking(text.to_owned()),
            Delta::Restarted { .. } => StreamEvent::Restarted,
            Delta::ToolCall { .. } | Delta::ToolArguments { .. } | Delta::Paused { .. } => return,
        };
        let _ = self.sender.send(event);
    }
}
