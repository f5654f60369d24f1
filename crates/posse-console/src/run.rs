//! The screen of a run: streamed text above a live tree, keys that steer it, questions that a person answers.
//!
//! [`RunScreen`] observes the session. [`RunScreen::attend`] paints and serves the keys until the run ends or the person ends the
//! watching; dropping its future restores the terminal.

mod keys;
mod state;
mod view;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::approval::{ApprovalAnswer, ApprovalVerdict, DecidedBy};
use posse_core::edits::FileChange;
use posse_core::event::EventEntry;
use posse_core::fact::LiveFact;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{
    Delta, MessageReceipt, ObservedPayload, Observer, QuestionAnswer, SteeringMessage, Store,
};
use posse_terminal::dialog::DialogAnswer;
use posse_terminal::painter::TerminalSize;
use posse_terminal::style::StyledLine;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub use self::state::{RunEnd, RunLooks};
use self::state::{RunRequest, RunState, SentMessage};
use crate::console::{Console, ConsoleEvent, ConsoleEvents};
use crate::top::TopDoor;

/// Name of the person who answers at a terminal.
pub const OPERATOR: &str = "operator";

/// Time between two layouts while text streams in; the painter draws at most as often.
const LAYOUT_INTERVAL: Duration = Duration::from_millis(80);
/// Interval of clocks, receipts and questions.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// A run that took longer calls for attention at its end.
const LONG_RUN_MS: u64 = 10_000;

/// Observer of a session that a person watches.
pub struct RunScreen {
    state: Mutex<RunState>,
    changed: Notify,
    /// True while `top` has the terminal.
    away: watch::Sender<bool>,
    began_ms: u64,
}

/// Session that a screen serves.
#[derive(Clone)]
pub struct RunDesk {
    /// Store of the tasks.
    pub store: Arc<dyn Store>,
    /// Identifies this process in the keys of messages.
    pub owner: String,
    /// The person here is asked about calls.
    pub asks: bool,
    /// Shows one task on a full screen.
    pub door: Option<TopDoor>,
}

impl RunScreen {
    /// Creates the screen of a task and everything below it.
    pub fn new(root: TaskId, looks: RunLooks, size: TerminalSize) -> Self {
        let state = Mutex::new(RunState::new(root, looks, size));
        Self { state, changed: Notify::new(), away: watch::Sender::new(false), began_ms: now_ms() }
    }

    /// Watches another task than the topmost one of the session. Called before its first event.
    pub fn watch(&self, task: &TaskId) {
        let mut state = self.lock();
        if state.tree.root() != task {
            *state = RunState::new(task.clone(), state.looks, state.size);
        }
    }

    /// Paints and serves the keys until the person ends the watching. Dropping the future prints what is finished and gives
    /// the terminal back.
    pub async fn attend(&self, console: Console, mut events: ConsoleEvents, desk: &RunDesk) -> RunEnd {
        let painting = PaintedScreen { screen: self, console };
        let (mut painted, mut clock) = (None, Instant::now());
        loop {
            self.ask(desk).await;
            if clock.elapsed() >= CLOCK_INTERVAL {
                clock = Instant::now();
                self.follow_messages(desk).await;
            }
            if let Some(end) = self.serve(desk, &painting.console).await {
                return end;
            }
            let is_due = painted.is_none_or(|at: Instant| at.elapsed() >= LAYOUT_INTERVAL);
            if is_due {
                painting.paint();
                painted = Some(Instant::now());
            }
            let wait = if is_due { CLOCK_INTERVAL } else { LAYOUT_INTERVAL };
            tokio::select! {
                event = events.recv() => {
                    self.take_event(event);
                    // Keys are answered at once.
                    painted = None;
                }
                () = self.changed.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Waits until the person has left `top`, if it was opened here.
    pub async fn is_back(&self) {
        // An error means that the screen is gone, and with it `top`.
        let _ = self.away.subscribe().wait_for(|is_away| !is_away).await;
    }

    /// Tells what became of the messages whose tasks have ended.
    pub async fn settle_messages(&self, store: Arc<dyn Store>) {
        let desk = RunDesk { store, owner: String::new(), asks: false, door: None };
        self.follow_messages(&desk).await;
    }

    /// Prints an answer that was not streamed, before the screen is closed.
    pub fn print_answer(&self, text: &str) {
        self.lock().print_answer(text, now_ms());
    }

    /// Marks tasks as interrupted.
    pub fn interrupt(&self, tasks: &[TaskId]) {
        self.lock().interrupt(tasks);
    }

    /// Returns the text of the reply under way, or of the last one.
    pub fn text(&self) -> String {
        self.lock().answer.text().to_owned()
    }

    /// Returns the lines that were not printed, if the screen was never opened or is closed.
    pub fn take_lines(&self) -> Vec<StyledLine> {
        std::mem::take(&mut self.lock().lines)
    }

    /// Tells whether this note was printed while the task ran.
    pub fn has_told(&self, note: &str) -> bool {
        self.lock().told.contains(note)
    }

    /// Takes the net changes of the run, as its journal has them.
    pub fn settle_changes(&self, files: Vec<FileChange>) {
        self.lock().tree.settle_changes(files);
    }

    /// Lays out the block that stays after the run. `hints` are the commands that make sense now.
    pub fn ending(&self, hints: &[String]) -> Vec<StyledLine> {
        let state = self.lock();
        state.tree.ending(&state.tree_layout(usize::MAX), hints, now_ms())
    }

    fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_event(&self, event: Option<ConsoleEvent>) {
        let mut state = self.lock();
        match event {
            Some(ConsoleEvent::Key(key)) => state.key(&key, now_ms()),
            Some(ConsoleEvent::Paste(text)) => state.paste(&text),
            Some(ConsoleEvent::Resize(size)) => state.resize(size),
            None => {}
        }
    }

    /// Opens a dialog about each call that waits for the person here.
    async fn ask(&self, desk: &RunDesk) {
        let wanted = std::mem::take(&mut self.lock().wanted);
        for approval in wanted.iter().filter(|_| desk.asks) {
            if let Ok(parked) = desk.store.approval(approval).await
                && parked.is_open()
            {
                self.lock().open_approval(parked, now_ms());
            }
        }
    }

    /// Looks what became of messages.
    async fn follow_messages(&self, desk: &RunDesk) {
        let sent = self.lock().sent.clone();
        for message in sent {
            if let Ok(receipt) = self.send(desk, &message).await
                && receipt != MessageReceipt::Queued
            {
                let mut state = self.lock();
                state.sent.retain(|known| known.key != message.key);
                let text = receipt_text(receipt, &message.text);
                state.note(&message.task, &text);
            }
        }
    }

    /// Does what the keys asked for; returns the end of the watching if they asked for it.
    async fn serve(&self, desk: &RunDesk, console: &Console) -> Option<RunEnd> {
        let requests = {
            let mut state = self.lock();
            if state.can_leave_now(now_ms()) {
                return Some(RunEnd::Left);
            }
            std::mem::take(&mut state.requests)
        };
        for request in requests {
            let served = match request {
                RunRequest::End(end) => return Some(end),
                RunRequest::Repaint => {
                    console.repaint();
                    Ok(())
                }
                RunRequest::Ring(text) => {
                    console.ring(&text);
                    Ok(())
                }
                RunRequest::Open { task } => self.visit_top(desk, console, task).await,
                RunRequest::Answer { approval, hash, answer } => {
                    let answered = desk.store.answer(&approval, &hash, by_operator(answer)).await;
                    answered.map(drop).or_else(still_open)
                }
                RunRequest::Reply { task, text } => self.reply(desk, task, text).await,
                RunRequest::Steer { task, text } => self.steer(desk, task, text).await,
                RunRequest::Cancel { task } => desk.store.request_cancel(&task).await,
            };
            if let Err(e) = served {
                let mut state = self.lock();
                let root = state.tree.root().clone();
                state.note(&root, &say!("run-not-done", why = visible(e.message())));
            }
        }
        None
    }

    /// Gives the terminal to `top`, and takes it again when the person comes back.
    async fn visit_top(&self, desk: &RunDesk, console: &Console, task: TaskId) -> Result<()> {
        let Some(door) = &desk.door else { return Ok(()) };
        let tree = self.lock().tree.root().clone();
        console.suspend().await;
        self.away.send_replace(true);
        let shown = {
            let mut top = pin!(door.open_task(desk.store.clone(), tree, task));
            loop {
                tokio::select! {
                    shown = &mut top => break shown,
                    () = self.changed.notified() => {
                        self.ask(desk).await;
                        let notices = self.lock().take_notices();
                        notices.iter().for_each(|text| console.ring(text));
                    }
                }
            }
        };
        console.resume();
        self.lock().come_back(now_ms());
        self.away.send_replace(false);
        shown.map_err(|e| Error::new(ErrorCode::Io, say!("run-top-failed")).caused_by(e))
    }

    async fn reply(&self, desk: &RunDesk, task: TaskId, text: String) -> Result<()> {
        let key = format!("run/{}/{}", desk.owner, now_ms());
        let answer = QuestionAnswer { task: task.clone(), key, text: text.clone() };
        let asked = desk.store.answer_question(answer).await?;
        let mut state = self.lock();
        state.close_question(&task);
        let note = if asked.is_some() { say!("run-answered", text) } else { say!("run-answer-late") };
        state.note(&task, &note);
        Ok(())
    }

    async fn steer(&self, desk: &RunDesk, task: TaskId, text: String) -> Result<()> {
        let sent_ms = now_ms();
        let key = format!("run/{}/{sent_ms}", desk.owner);
        let message = SentMessage { task, key, text, sent_ms };
        let receipt = self.send(desk, &message).await?;
        let mut state = self.lock();
        let note = receipt_text(receipt, &message.text);
        state.note(&message.task, &note);
        if receipt == MessageReceipt::Queued {
            state.sent.push(message);
        }
        Ok(())
    }

    /// Sends a message; the same message again returns its receipt.
    async fn send(&self, desk: &RunDesk, message: &SentMessage) -> Result<MessageReceipt> {
        let SentMessage { task, key, text, sent_ms } = message.clone();
        desk.store.send_message(SteeringMessage { task, key, text, sent_ms }).await
    }
}

impl Observer for RunScreen {
    fn event(&self, entry: &EventEntry) {
        self.lock().observe(entry);
        self.changed.notify_one();
    }

    fn fact(&self, task: &TaskId, fact: &LiveFact) {
        self.lock().learn(task, fact, now_ms());
        self.changed.notify_one();
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        self.lock().stream(task, delta, now_ms());
        self.changed.notify_one();
    }

    fn payload(&self, task: &TaskId, payload: ObservedPayload<'_>) {
        self.lock().payload(task, payload, now_ms());
    }
}

/// A screen on a console; dropping it prints what is finished and closes the console.
struct PaintedScreen<'a> {
    screen: &'a RunScreen,
    console: Console,
}

impl PaintedScreen<'_> {
    fn paint(&self) {
        let mut state = self.screen.lock();
        let lines = std::mem::take(&mut state.lines);
        let (rows, cursor) = state.rows(now_ms());
        drop(state);
        self.console.commit(lines);
        self.console.show(rows, cursor);
    }
}

impl Drop for PaintedScreen<'_> {
    fn drop(&mut self) {
        let mut state = self.screen.lock();
        state.print_rest();
        let lines = std::mem::take(&mut state.lines);
        drop(state);
        // `top` may have the terminal.
        self.console.resume();
        self.console.commit(lines);
        if now_ms().saturating_sub(self.screen.began_ms) >= LONG_RUN_MS {
            self.console.ring(&say!("notice-end"));
        }
        self.console.close();
    }
}

/// Makes the answer of the person at the terminal.
pub fn by_operator(answer: DialogAnswer) -> ApprovalAnswer {
    let DialogAnswer { verdict, scope, reason } = answer;
    let scope = if verdict == ApprovalVerdict::Approve { scope } else { Default::default() };
    let by = DecidedBy::Person(OPERATOR.to_owned());
    ApprovalAnswer { scope, reason, ..ApprovalAnswer::new(verdict, by, now_ms()) }
}

/// An answer from elsewhere came first; the event of it says so.
fn still_open(e: Error) -> Result<()> {
    if e.code() == ErrorCode::ApprovalClosed { Ok(()) } else { Err(e) }
}

fn receipt_text(receipt: MessageReceipt, text: &str) -> String {
    let text = visible(text);
    match receipt {
        MessageReceipt::Queued => say!("run-steer-queued", text),
        MessageReceipt::Delivered { turn } => say!("run-steer-delivered", turn, text),
        MessageReceipt::Missed => say!("run-steer-missed", text),
        MessageReceipt::Full => say!("run-steer-full", text),
    }
}
