//! The screen of a conversation: finished text above, the prompt below it, and below that the work under way and a status line.
//!
//! [`ChatScreen::next`] paints, serves approvals and messages to the running task, and returns what the person wants the caller to
//! do. The prompt is free at any time: while a reply is written, Enter queues a message for it.

mod asking;
mod calls;
mod state;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{MessageReceipt, Observer, SteeringMessage, Store};
use posse_terminal::keys::{KeyEvent, KeyModifiers};
use posse_terminal::prompt::{
    ListPicker, MenuSources, PickerAction, PromptAction, PromptEditor, PromptHistory,
};
use posse_terminal::rows::RowState;
use posse_terminal::style::{StyledLine, TextStyle};
use tokio::time::Instant;

use self::asking::{CardStep, OpenCard};
pub use self::state::ChatLooks;
use self::state::ChatObserver;
use crate::console::{Console, ConsoleEvent, ConsoleEvents};

/// Time between two layouts while text streams in; the painter draws at most as often.
const LAYOUT_INTERVAL: Duration = Duration::from_millis(80);
/// Interval of clocks and receipts.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// A reply that took longer calls for attention at its end.
const LONG_REPLY_MS: u64 = 10_000;
/// Time in which a second Ctrl-C leaves.
const LEAVE_MS: u64 = 2_000;
/// Longest part of a message in a receipt, in characters.
const RECEIPT_CHARACTERS: usize = 60;

/// Something that the person wants and the screen cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatWish {
    /// A text was sent while no reply was under way: a message or a command.
    Submit(String),
    /// A command was sent while a reply is under way.
    Command(String),
    /// Stop the reply under way.
    Stop,
    /// Leave the conversation.
    Leave,
    /// Change to the next mode.
    NextMode,
}

/// Facts of the status line that only the caller knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatStatus {
    /// Model of the next message, without its provider.
    pub model: String,
    /// Mode of the next message.
    pub mode: Option<WorkMode>,
}

/// Keeps a text that was sent or discarded, before anything is done with it.
pub type KeepEntry = Box<dyn Fn(&str) + Send>;

/// Store and owner that the screen serves.
#[derive(Clone)]
pub struct ChatDesk {
    /// Store of the tasks.
    pub store: Arc<dyn Store>,
    /// Identifies this process in the keys of messages.
    pub owner: String,
}

/// The screen of a conversation.
pub struct ChatScreen {
    watched: Arc<ChatObserver>,
    desk: ChatDesk,
    root: TaskId,
    console: Console,
    events: ConsoleEvents,
    editor: PromptEditor,
    keep: KeepEntry,
    status: ChatStatus,
    /// Start of the reply under way.
    working_ms: Option<u64>,
    is_stopping: bool,
    /// Messages for the running task whose delivery is not known yet.
    queued: Vec<SteeringMessage>,
    /// Messages that came too late for it.
    missed: Vec<String>,
    cards: VecDeque<OpenCard>,
    hint: Option<(String, u64)>,
    interrupted_ms: Option<u64>,
    focus: ChatFocus,
    painted: Option<Instant>,
    clock: Instant,
    sent: u64,
}

/// Part of the screen that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatFocus {
    Prompt,
    /// The approval above the prompt, by Tab.
    Card,
}

impl ChatScreen {
    /// Opens the screen of the conversation `root`.
    pub fn new(
        (console, events): (Console, ConsoleEvents),
        root: TaskId,
        looks: ChatLooks,
        desk: ChatDesk,
        (history, keep): (PromptHistory, KeepEntry),
    ) -> Self {
        let watched = Arc::new(ChatObserver::new(root.clone(), looks, console.size().columns));
        Self {
            watched,
            desk,
            root,
            console,
            events,
            editor: PromptEditor::new(history),
            keep,
            status: ChatStatus::default(),
            working_ms: None,
            is_stopping: false,
            queued: Vec::new(),
            missed: Vec::new(),
            cards: VecDeque::new(),
            hint: None,
            interrupted_ms: None,
            focus: ChatFocus::Prompt,
            painted: None,
            clock: Instant::now(),
            sent: 0,
        }
    }

    /// Returns the observer of the conversation's sessions.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.watched.clone()
    }

    /// Changes to another conversation.
    pub fn switch(&mut self, root: TaskId) {
        self.watched.lock().switch(root.clone());
        self.root = root;
    }

    /// Sets the model and the mode of the next message.
    pub fn set_status(&mut self, status: ChatStatus) {
        self.status = status;
        self.painted = None;
    }

    /// Sets what menus offer.
    pub fn offer(&mut self, sources: MenuSources) {
        self.editor.offer(sources);
    }

    /// Prints lines above the prompt.
    pub fn print(&mut self, lines: Vec<StyledLine>) {
        self.watched.lock().lines.extend(lines);
        self.painted = None;
    }

    /// Prints texts of our own above the prompt.
    pub fn note(&mut self, text: &str) {
        let symbols = self.watched.lock().looks.symbols;
        let text = symbols.adapt(text).into_owned();
        self.print(text.lines().map(|line| StyledLine::plain(visible(line))).collect());
    }

    /// Prints text as Markdown, as a reply would be.
    pub fn print_text(&mut self, text: &str) {
        self.watched.lock().print_answer(text);
        self.painted = None;
    }

    /// Prints a message of the person.
    pub fn echo(&mut self, text: &str) {
        let lines = view::echoed(text, self.console.size().columns);
        self.print(lines);
    }

    /// Tells the screen that a message is being answered.
    pub fn begin(&mut self) {
        (self.working_ms, self.is_stopping) = (Some(now_ms()), false);
        self.painted = None;
    }

    /// Tells the screen that the message was answered, with the text of the outcome. Returns the messages that came too late
    /// for it.
    pub async fn end(&mut self, text: &str) -> Vec<String> {
        self.watched.lock().end(text);
        self.cards.clear();
        self.follow_messages().await;
        let late = std::mem::take(&mut self.queued);
        self.missed.extend(late.into_iter().map(|message| message.text));
        if self.working_ms.take().is_some_and(|since| now_ms().saturating_sub(since) >= LONG_REPLY_MS) {
            self.console.ring(&say!("chat-notice-end"));
        }
        (self.is_stopping, self.focus) = (false, ChatFocus::Prompt);
        self.painted = None;
        std::mem::take(&mut self.missed)
    }

    /// Paints and serves the keys until the person wants something.
    pub async fn next(&mut self) -> ChatWish {
        loop {
            self.serve().await;
            self.paint_when_due();
            let wait = if self.painted.is_some_and(|at| at.elapsed() < LAYOUT_INTERVAL) {
                LAYOUT_INTERVAL
            } else {
                CLOCK_INTERVAL
            };
            let watched = self.watched.clone();
            let wish = tokio::select! {
                event = self.events.recv() => {
                    self.painted = None;
                    match event {
                        Some(event) => self.take_event(event).await,
                        None => Some(ChatWish::Leave),
                    }
                }
                () = watched.changed.notified() => None,
                () = tokio::time::sleep(wait) => None,
            };
            if let Some(wish) = wish {
                return wish;
            }
        }
    }

    /// Shows a list in place of the prompt until the person chooses.
    pub async fn pick(&mut self, picker: &mut ListPicker) -> PickerAction {
        loop {
            let lines = self.watched.take_lines();
            self.console.commit(lines);
            let live = picker.lines(&self.layout());
            self.console.show(live.rows, live.cursor);
            match self.events.recv().await {
                None => return PickerAction::Cancelled,
                Some(ConsoleEvent::Key(key)) => match picker.key(key) {
                    PickerAction::Taken => {}
                    action => {
                        self.painted = None;
                        return action;
                    }
                },
                Some(ConsoleEvent::Paste(text)) => picker.paste(&text),
                Some(ConsoleEvent::Resize(size)) => self.watched.lock().resize(size.columns),
            }
        }
    }

    /// Gives the terminal to another program until the future ends.
    pub async fn suspended<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.console.suspend().await;
        let done = work.await;
        self.console.resume();
        self.painted = None;
        done
    }

    /// Prints what is finished and gives the terminal back.
    pub fn close(self) {
        let lines = self.watched.take_lines();
        self.console.commit(lines);
        self.console.close();
    }

    /// Looks after approvals and messages of the running task.
    async fn serve(&mut self) {
        self.learn().await;
        if self.clock.elapsed() >= CLOCK_INTERVAL {
            self.clock = Instant::now();
            self.follow_messages().await;
        }
        if self.hint.as_ref().is_some_and(|(_, until_ms)| now_ms() >= *until_ms) {
            self.hint = None;
        }
    }

    /// Reads the calls that wait for approval.
    async fn learn(&mut self) {
        let asked = self.watched.lock().take_asked();
        for id in asked {
            if let Ok(parked) = self.desk.store.approval(&id).await
                && parked.is_open()
            {
                let (task, tool) = (parked.request.task.short(), &parked.request.tool);
                self.console.ring(&say!("chat-notice-approval", task, tool));
                self.cards.push_back(OpenCard::new(parked, now_ms()));
            }
        }
        let closed = self.watched.lock().take_closed();
        self.cards.retain(|card| !closed.contains(card.id()));
    }

    fn paint_when_due(&mut self) {
        if self.painted.is_some_and(|at| at.elapsed() < LAYOUT_INTERVAL) {
            return;
        }
        let lines = self.watched.take_lines();
        let live = self.live_rows(now_ms());
        self.console.commit(lines);
        self.console.show(live.rows, live.cursor);
        self.painted = Some(Instant::now());
    }

    async fn take_event(&mut self, event: ConsoleEvent) -> Option<ChatWish> {
        match event {
            ConsoleEvent::Resize(size) => self.watched.lock().resize(size.columns),
            ConsoleEvent::Paste(text) => {
                if !self.editor.paste(&text) {
                    self.note(&say!("chat-paste-cut"));
                }
            }
            ConsoleEvent::Key(key) => return self.key(key).await,
        }
        None
    }

    /// Tells whether a key belongs to the approval: it takes none while the prompt holds text, unless Tab gave it the keys.
    fn is_for_card(&self, key: &KeyEvent) -> bool {
        let has_keys = self.editor.is_empty() || self.focus == ChatFocus::Card;
        !self.cards.is_empty() && has_keys && !key.modifiers.contains(KeyModifiers::CONTROL)
    }

    async fn key(&mut self, key: KeyEvent) -> Option<ChatWish> {
        if self.is_for_card(&key) {
            self.card_key(&key).await;
            return None;
        }
        match self.editor.key(key) {
            PromptAction::Taken => None,
            PromptAction::Submit(text) => self.submit(text).await,
            PromptAction::Discard(text) => {
                (self.keep)(&text);
                None
            }
            PromptAction::Stop => self.stop(),
            PromptAction::Interrupt => self.interrupt(),
            PromptAction::Leave => Some(ChatWish::Leave),
            PromptAction::NextMode => Some(ChatWish::NextMode),
            PromptAction::Focus => {
                self.focus = if self.cards.is_empty() { ChatFocus::Prompt } else { ChatFocus::Card };
                None
            }
            PromptAction::Repaint => {
                self.console.repaint();
                None
            }
            PromptAction::ToggleThinking => {
                self.watched.lock().toggle_thinking();
                None
            }
            PromptAction::ShowKeys => {
                self.note(&say!("chat-keys"));
                None
            }
        }
    }

    async fn card_key(&mut self, key: &KeyEvent) {
        let layout = self.layout();
        let rows_max = self.card_rows();
        let Some(card) = self.cards.front_mut() else { return };
        let step = card.key(key, layout.size.columns, rows_max, now_ms());
        match step {
            CardStep::Open => {}
            CardStep::Print => {
                let lines = card.whole(layout.size.columns);
                self.print(lines);
            }
            CardStep::Later => self.cards.rotate_left(1),
            CardStep::Prompt => self.focus = ChatFocus::Prompt,
            CardStep::Answered(answer) => {
                let Some(card) = self.cards.pop_front() else { return };
                self.focus = ChatFocus::Prompt;
                let receipt = card.receipt(&answer, layout.symbols);
                match self.desk.store.answer(card.id(), card.hash(), answer).await {
                    Ok(_) => self.print(vec![receipt]),
                    Err(e) => self.note(&visible(e.message())),
                }
            }
        }
    }

    async fn submit(&mut self, text: String) -> Option<ChatWish> {
        (self.keep)(&text);
        self.interrupted_ms = None;
        match self.working_ms {
            None => Some(ChatWish::Submit(text)),
            Some(_) if text.starts_with('/') || text.starts_with('!') => Some(ChatWish::Command(text)),
            Some(_) => {
                self.steer(text).await;
                None
            }
        }
    }

    fn stop(&mut self) -> Option<ChatWish> {
        let stops = self.working_ms.is_some() && !std::mem::replace(&mut self.is_stopping, true);
        stops.then_some(ChatWish::Stop)
    }

    fn interrupt(&mut self) -> Option<ChatWish> {
        if self.working_ms.is_some() {
            return self.stop();
        }
        let now_ms = now_ms();
        if self.interrupted_ms.is_some_and(|since| now_ms.saturating_sub(since) <= LEAVE_MS) {
            return Some(ChatWish::Leave);
        }
        self.interrupted_ms = Some(now_ms);
        self.hint = Some((say!("chat-again-leaves"), now_ms + LEAVE_MS));
        None
    }

    /// Queues a message for the running task.
    async fn steer(&mut self, text: String) {
        if self.is_stopping {
            self.missed.push(text);
            return;
        }
        self.sent += 1;
        let sent_ms = now_ms();
        let key = format!("chat/{}/{sent_ms}/{}", self.desk.owner, self.sent);
        let message = SteeringMessage { task: self.root.clone(), key, text, sent_ms };
        match self.desk.store.send_message(message.clone()).await {
            Ok(MessageReceipt::Queued) => self.queued.push(message),
            Ok(receipt) => self.receive(receipt, message.text),
            // The task is not in the store yet: it is for the next message.
            Err(_) => self.receive(MessageReceipt::Missed, message.text),
        }
    }

    /// Looks what became of queued messages.
    async fn follow_messages(&mut self) {
        for message in std::mem::take(&mut self.queued) {
            match self.desk.store.send_message(message.clone()).await {
                Ok(MessageReceipt::Queued) | Err(_) => self.queued.push(message),
                Ok(receipt) => self.receive(receipt, message.text),
            }
        }
    }

    fn receive(&mut self, receipt: MessageReceipt, text: String) {
        let short = view::shortened(&text, RECEIPT_CHARACTERS);
        match receipt {
            MessageReceipt::Queued => {}
            MessageReceipt::Delivered { turn } => {
                self.note(&say!("chat-steer-delivered", turn, text = short));
            }
            MessageReceipt::Missed => {
                self.note(&say!("chat-steer-late", text = short));
                self.missed.push(text);
            }
            MessageReceipt::Full => {
                self.note(&say!("chat-steer-full", text = short));
                self.editor.set_text(&text);
            }
        }
    }

    /// Prints the line about a reply that was stopped.
    pub fn tell_stopped(&mut self, changed: usize) {
        let symbols = self.watched.lock().looks.symbols;
        let text = if changed > 0 { say!("chat-stopped-changed", n = changed) } else { say!("chat-stopped") };
        let mut line = StyledLine::new();
        line.push(RowState::Cancelled.mark(symbols), RowState::Cancelled.style());
        line.push(&symbols.adapt(&format!(" {text}")), TextStyle::PLAIN);
        self.print(vec![line]);
    }
}
