//! The screen of a conversation: finished text above, the prompt below it, and below that the work under way and a status line.
//!
//! [`ChatScreen::next`] paints, serves approvals, questions and messages to the running task, and returns what the person wants
//! the caller to do. The prompt is free at any time: while a reply is written, Enter queues a message for it.

use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::driver::ContextUse;
use posse_runtime::ports::{MessageReceipt, Observer, QuestionAnswer, SteeringMessage, Store};
use posse_terminal::dialog::DialogLayout;
use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};
use posse_terminal::markdown::wrap_words;
use posse_terminal::prompt::{
    HistoryFile, ListPicker, MenuSources, PickerAction, PromptAction, PromptEditor,
};
use posse_terminal::rows::RowState;
use posse_terminal::style::{StyledLine, SymbolSet, TextStyle};
use tokio::time::Instant;

use super::state::{ChatLooks, ChatObserver, QuestionChange};
use super::view;
use crate::cards::{CardDeck, CardEffect};
use crate::console::{Console, ConsoleEvent, ConsoleEvents};
use crate::run::by_operator;

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
    /// Contents of the next request, without what is typed.
    pub context: ContextUse,
    /// Cost so far with subagents, in millionths of a dollar; `None` if a part of it is not known.
    pub cost_micros: Option<u64>,
    /// Number of subagents so far.
    pub subagents: u64,
}

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
    pub(super) watched: Arc<ChatObserver>,
    desk: ChatDesk,
    pub(super) root: TaskId,
    pub(super) console: Console,
    events: ConsoleEvents,
    pub(super) editor: PromptEditor,
    history: HistoryFile,
    pub(super) status: ChatStatus,
    /// Start of the reply under way.
    pub(super) working_ms: Option<u64>,
    pub(super) is_stopping: bool,
    /// Messages for the running task whose delivery is not known yet.
    pub(super) queued: Vec<SteeringMessage>,
    /// Messages that came too late for it.
    missed: Vec<String>,
    pub(super) cards: CardDeck,
    /// Command of the person that is under way instead of a reply.
    pub(super) command: Option<String>,
    pub(super) hint: Option<(String, u64)>,
    interrupted_ms: Option<u64>,
    pub(super) focus: ChatFocus,
    painted: Option<Instant>,
    clock: Instant,
    sent: u64,
}

/// Part of the screen that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatFocus {
    Prompt,
    /// The card above the prompt, by Tab.
    Card,
}

impl ChatScreen {
    /// Opens the screen of the conversation `root`.
    pub fn new(
        (console, events): (Console, ConsoleEvents),
        root: TaskId,
        looks: ChatLooks,
        desk: ChatDesk,
        history: HistoryFile,
    ) -> Self {
        let watched = Arc::new(ChatObserver::new(root.clone(), looks, console.size().columns));
        Self {
            watched,
            desk,
            root,
            console,
            events,
            editor: PromptEditor::new(history.load()),
            history,
            status: ChatStatus::default(),
            working_ms: None,
            is_stopping: false,
            queued: Vec::new(),
            missed: Vec::new(),
            cards: CardDeck::default(),
            command: None,
            hint: None,
            interrupted_ms: None,
            focus: ChatFocus::Prompt,
            painted: None,
            clock: Instant::now(),
            sent: 0,
        }
    }

    /// Keeps a text that was sent or discarded, before anything is done with it.
    fn keep(&self, text: &str) {
        // A history that cannot be written costs a convenience, not the message.
        let _ = self.history.append(text);
    }

    /// Returns the observer of the conversation's sessions.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.watched.clone()
    }

    /// Changes to another conversation.
    pub fn switch(&mut self, root: TaskId) {
        self.watched.lock().switch(root.clone());
        self.root = root;
        self.cards.clear();
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
        let width = self.columns();
        self.print(text.lines().flat_map(|line| view::wrapped(&visible(line), width)).collect());
    }

    /// Prints a text of our own behind the mark of a state.
    pub fn mark(&mut self, state: RowState, text: &str) {
        let symbols = self.symbols();
        let mut first = StyledLine::new();
        first.push(state.mark(symbols), state.style());
        first.push(" ", TextStyle::PLAIN);
        let text = symbols.adapt(&visible(text)).into_owned();
        let width = self.columns().saturating_sub(1);
        let lines = wrap_words(&text, TextStyle::PLAIN, (first, StyledLine::plain("  ")), width);
        self.print(lines);
    }

    /// Prints text as Markdown, as a reply would be.
    pub fn print_text(&mut self, text: &str) {
        self.watched.lock().print_answer(text);
        self.painted = None;
    }

    /// Prints a message of the person.
    pub fn echo(&mut self, text: &str) {
        let lines = view::echoed(text, self.console.size().columns);
        self.print([StyledLine::new()].into_iter().chain(lines).collect());
    }

    /// Prints an error with its hint.
    pub fn tell(&mut self, error: &Error) {
        self.note(&format!("{}[{}]: {}", say!("chat-error"), error.code(), error.message()));
        if let Some(hint) = error.advice() {
            self.note(&format!("  {}", say!("chat-hint", hint)));
        }
    }

    /// Returns the width of the terminal.
    pub fn columns(&self) -> usize {
        self.console.size().columns
    }

    /// Returns the characters of marks.
    pub fn symbols(&self) -> SymbolSet {
        self.watched.lock().looks.symbols
    }

    /// Tells the screen that a message is being answered.
    pub fn begin(&mut self) {
        self.watched.lock().begin();
        (self.working_ms, self.is_stopping) = (Some(now_ms()), false);
        self.painted = None;
    }

    /// Tells the screen that a command of the person is under way. Messages wait for its end.
    pub fn begin_command(&mut self, command: &str) {
        self.command = Some(view::shortened(command, RECEIPT_CHARACTERS));
        self.begin();
    }

    /// Tells the screen that the command has ended. Returns the messages that were typed meanwhile.
    pub fn end_command(&mut self) -> Vec<String> {
        (self.command, self.working_ms, self.is_stopping) = (None, None, false);
        self.painted = None;
        std::mem::take(&mut self.missed)
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

    /// Reads the calls and questions that wait for the person.
    async fn learn(&mut self) {
        let asked = self.watched.lock().take_asked();
        for id in asked {
            if let Ok(parked) = self.desk.store.approval(&id).await
                && parked.is_open()
            {
                let (task, tool) = (parked.request.task.short(), &parked.request.tool);
                self.console.ring(&say!("chat-notice-approval", task, tool));
                self.cards.push_approval(parked, now_ms());
            }
        }
        let (closed, questions) = {
            let mut watched = self.watched.lock();
            (watched.take_closed(), watched.take_questions())
        };
        self.cards.close_approvals(&closed);
        for change in questions {
            match change {
                QuestionChange::Asked(task, asked) => {
                    self.console.ring(&say!("notice-question", task = task.short()));
                    self.cards.push_question(&task, &asked, now_ms());
                }
                QuestionChange::Closed(task) => self.cards.close_questions(&task),
            }
        }
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
                if !self.cards.paste(&text) && !self.editor.paste(&text) {
                    self.note(&say!("chat-paste-cut"));
                }
            }
            ConsoleEvent::Key(key) => return self.key(key).await,
        }
        None
    }

    /// Tells whether a key belongs to the card: it takes none while the prompt holds text, unless Tab gave it the keys.
    fn is_for_card(&self, key: &KeyEvent) -> bool {
        let has_keys = self.editor.is_empty() || self.focus == ChatFocus::Card;
        let is_command = key.modifiers.contains(KeyModifiers::CONTROL) && !self.cards.is_typing();
        let takes_it = self.cards.is_armed(now_ms()) || key.code == KeyCode::Esc && self.cards.is_shown();
        takes_it && has_keys && !is_command
    }

    async fn key(&mut self, key: KeyEvent) -> Option<ChatWish> {
        if self.is_for_card(&key) {
            // Ctrl-C stops, whatever has the keys.
            let is_interrupt =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            return if is_interrupt {
                self.interrupt()
            } else {
                self.card_key(&key).await;
                None
            };
        }
        match self.editor.key(key) {
            PromptAction::Taken => None,
            PromptAction::Submit(text) => self.submit(text).await,
            PromptAction::Discard(text) => {
                self.keep(&text);
                None
            }
            PromptAction::Stop => self.stop(),
            PromptAction::Interrupt => self.interrupt(),
            PromptAction::Leave => Some(ChatWish::Leave),
            PromptAction::NextMode => Some(ChatWish::NextMode),
            PromptAction::Focus => {
                let has_cards = self.cards.reopen(now_ms()) || self.cards.is_shown();
                self.focus = if has_cards { ChatFocus::Card } else { ChatFocus::Prompt };
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
        if key.code == KeyCode::Tab && !self.cards.is_typing() {
            self.focus = ChatFocus::Prompt;
            return;
        }
        let layout = self.dialog_layout();
        let effect = self.cards.key(key, &layout, now_ms());
        match effect {
            CardEffect::Open => {}
            CardEffect::Print(lines) => self.print(lines),
            CardEffect::Decided { approval, hash, answer, receipt } => {
                self.focus = ChatFocus::Prompt;
                let answered = self.desk.store.answer(&approval, &hash, by_operator(answer)).await;
                self.receipt(receipt, answered.map(drop));
            }
            CardEffect::Replied { task, text, receipt } => {
                self.focus = ChatFocus::Prompt;
                self.sent += 1;
                let key = format!("chat/{}/{}/{}", self.desk.owner, now_ms(), self.sent);
                let answered = self.desk.store.answer_question(QuestionAnswer { task, key, text }).await;
                let closed = || Error::new(ErrorCode::InvalidRequest, say!("run-answer-late"));
                self.receipt(receipt, answered.and_then(|asked| asked.map(drop).ok_or_else(closed)));
            }
        }
        if !self.cards.is_shown() {
            self.focus = ChatFocus::Prompt;
        }
    }

    /// Prints what became of an answer.
    fn receipt(&mut self, receipt: StyledLine, answered: Result<()>) {
        match answered {
            Ok(()) => self.print(vec![receipt]),
            Err(e) => self.note(&visible(e.message())),
        }
    }

    async fn submit(&mut self, text: String) -> Option<ChatWish> {
        self.keep(&text);
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

    /// Returns the space that a card has: the prompt, the work under way and the status keep theirs.
    pub(super) fn dialog_layout(&self) -> DialogLayout {
        let layout = self.layout();
        let rows_max = layout.rows_max().saturating_sub(4).max(4);
        DialogLayout { columns: layout.size.columns, rows_max, symbols: layout.symbols }
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
        if self.is_stopping || self.command.is_some() {
            let short = view::shortened(&text, RECEIPT_CHARACTERS);
            self.note(&say!("chat-steer-next", text = short));
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
        let text = if changed > 0 { say!("chat-stopped-changed", n = changed) } else { say!("chat-stopped") };
        self.mark(RowState::Cancelled, &text);
    }
}
