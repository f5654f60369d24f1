//! The conversation with the person: messages, commands, and what is said about them.

mod looks;

use std::collections::BTreeSet;
use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_core::text::{estimate_tokens, prefix, visible};
use posse_core::{ErrorCode, Result};
use posse_messages::say;
use posse_runtime::driver::ContextUse;
use posse_runtime::lookup::find_task;
use posse_runtime::session::Session;
use posse_terminal::prompt::{ListPicker, MenuEntry, MenuSources, PickerAction, PickerEntry};
use posse_terminal::rows::{RowState, figures};
use posse_terminal::style::StyledLine;

use super::attach::{AttachedMessage, attach};
use super::commands::{ChatCommand, ChatInput};
use super::compact;
use super::host::{ChatHost, OpenedSession};
use super::known::{ChatScope, chats, last_exchange};
use super::screen::{ChatScreen, ChatStatus, ChatWish};
use super::shell::{ShellCommand, ShellOutput};
use super::thread::{ChatThread, ChatWork};

/// Lines of a shell command's output that are printed.
const OUTPUT_LINES_MAX: usize = 40;

/// Beginning of a conversation at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatOpening {
    /// A new one.
    Fresh,
    /// One that was taken up: its last exchange is printed.
    Resumed,
    /// One that the person chooses from a list.
    Choose,
}

/// A conversation with its screen.
pub struct ChatTalk<H> {
    host: H,
    thread: ChatThread,
    screen: ChatScreen,
    status: ChatStatus,
    /// Problems that were told; each message finds them again.
    told: BTreeSet<String>,
    is_working: bool,
}

/// The next thing to do after a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatStep {
    GoOn,
    Leave,
}

/// End of one message.
struct EndedMessage {
    outcome: Arc<Outcome>,
    /// Messages that came too late for it.
    late: Vec<String>,
    step: ChatStep,
}

impl<H: ChatHost> ChatTalk<H> {
    /// Opens a conversation on a screen.
    pub fn new(host: H, thread: ChatThread, screen: ChatScreen) -> Self {
        let (status, told) = (ChatStatus::default(), BTreeSet::new());
        Self { host, thread, screen, status, told, is_working: false }
    }

    /// Returns the program behind the conversation.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Returns the task of a reply that is under way.
    pub fn working_on(&self) -> Option<TaskId> {
        self.is_working.then(|| self.thread.root())
    }

    /// Gives the terminal back, and returns the program and the conversation.
    pub fn close(self) -> (H, ChatThread) {
        self.screen.close();
        (self.host, self.thread)
    }

    /// Serves the person until they leave.
    pub async fn run(&mut self, version: &str, opening: ChatOpening) -> Result<()> {
        let mode = self.host.mode_line()?;
        self.screen.note(&say!("chat-banner-mode", version, mode));
        let place = self.host.short_path(&self.host.workspace().display().to_string());
        self.screen.note(&say!("chat-banner-place", place));
        self.offer();
        self.refresh().await;
        let first = match opening {
            ChatOpening::Fresh => Ok(()),
            ChatOpening::Resumed => self.show_last_exchange().await,
            ChatOpening::Choose => self.choose_chat().await,
        };
        self.tell(first);
        loop {
            let wish = self.screen.next().await;
            match self.serve(wish).await {
                Ok(ChatStep::GoOn) => {}
                Ok(ChatStep::Leave) => return Ok(()),
                Err(e) if e.code() == ErrorCode::Interrupted => return Err(e),
                Err(e) => self.screen.tell(&e),
            }
        }
    }

    fn tell(&mut self, done: Result<()>) {
        if let Err(e) = done {
            self.screen.tell(&e);
        }
    }

    async fn serve(&mut self, wish: ChatWish) -> Result<ChatStep> {
        match wish {
            ChatWish::Leave => Ok(ChatStep::Leave),
            ChatWish::Stop => Ok(ChatStep::GoOn),
            ChatWish::NextMode => {
                let next = self.host.mode()?.next();
                self.change_mode(next).await.map(|()| ChatStep::GoOn)
            }
            ChatWish::Submit(text) | ChatWish::Command(text) => match ChatInput::parse(&text) {
                ChatInput::Message => self.converse(text).await,
                ChatInput::Shell(command) => self.run_shell(command).await,
                ChatInput::Command(command, rest) => {
                    self.screen.echo(&text);
                    self.command(command, rest).await
                }
                ChatInput::Unknown(word) => {
                    self.screen.note(&say!("chat-no-command", command = visible(prefix(word, 40))));
                    Ok(ChatStep::GoOn)
                }
            },
        }
    }

    async fn command(&mut self, command: ChatCommand, rest: &str) -> Result<ChatStep> {
        match command {
            ChatCommand::Exit => return Ok(ChatStep::Leave),
            ChatCommand::Compact => return self.compact().await,
            ChatCommand::Clear => self.clear().await?,
            ChatCommand::Mode => match WorkMode::from_wire(rest) {
                Some(mode) => self.change_mode(mode).await?,
                None => self.screen.note(&say!("chat-mode-usage")),
            },
            ChatCommand::Model => self.model(rest).await?,
            ChatCommand::Resume if rest.is_empty() => self.choose_chat().await?,
            ChatCommand::Resume => {
                let store = self.host.store();
                let id =
                    find_task(&*store, rest, |path| self.host.is_here(&path.to_string_lossy())).await?.id;
                self.resume(&id).await?;
            }
            ChatCommand::Undo => self.undo().await?,
            ChatCommand::Export => self.export(rest).await?,
            ChatCommand::Context => {
                self.refresh().await;
                self.show_context();
            }
            ChatCommand::Agents
            | ChatCommand::Cost
            | ChatCommand::Diff
            | ChatCommand::Help
            | ChatCommand::Tasks => {
                self.look(command).await?;
            }
        }
        Ok(ChatStep::GoOn)
    }

    /// Sends a message, and after it the messages that came too late for its answer.
    async fn converse(&mut self, text: String) -> Result<ChatStep> {
        let mut next = Some(text);
        while let Some(text) = next {
            self.screen.echo(&text);
            let message = self.attach(&text);
            let ended = self.send(&message).await?;
            self.report(&ended.outcome).await;
            if let ChatStep::Leave = ended.step {
                return Ok(ended.step);
            }
            next = (!ended.late.is_empty()).then(|| ended.late.join("\n\n"));
        }
        Ok(ChatStep::GoOn)
    }

    fn attach(&mut self, text: &str) -> String {
        let agents = self.host.agents();
        let is_agent = |word: &str| agents.iter().any(|(name, _)| name == word);
        let AttachedMessage { text, notes } = attach(text, is_agent, |path| self.host.read_file(path));
        notes.iter().for_each(|note| self.screen.note(&format!("· {note}")));
        text
    }

    /// Sends one message and waits for its answer. The person can steer it, stop it or leave meanwhile.
    async fn send(&mut self, text: &str) -> Result<EndedMessage> {
        let observer = self.screen.observer();
        let regrants = self.thread.mode_changed();
        let OpenedSession { session, problems } =
            self.host.open(self.thread.session(), regrants, Some(observer))?;
        self.tell_problems(problems);
        let work = self.thread.next(text);
        let (agent, notes) = (self.host.agent().clone(), self.host.notes());
        self.is_working = true;
        self.screen.begin();
        let (outcome, step) = {
            let mut working = std::pin::pin!(perform(&session, agent, notes, work, regrants));
            let mut step = ChatStep::GoOn;
            let outcome = loop {
                let wish = tokio::select! {
                    outcome = &mut working => break outcome,
                    wish = self.screen.next() => wish,
                };
                match wish {
                    ChatWish::Stop => session.stop().now.cancel(),
                    ChatWish::Leave => {
                        step = ChatStep::Leave;
                        session.stop().now.cancel();
                    }
                    ChatWish::Command(text) => self.look_while_working(&text).await,
                    ChatWish::NextMode | ChatWish::Submit(_) => {
                        self.screen.note(&say!("chat-not-while-working"));
                    }
                }
            };
            (outcome, step)
        };
        self.is_working = false;
        let shown = outcome.as_ref().map_or("", |outcome| outcome.text.as_str());
        let late = self.screen.end(shown).await;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(e) => {
                if self.host.store().task(&self.thread.root()).await.is_err() {
                    self.thread.not_begun();
                }
                return Err(e);
            }
        };
        self.thread.sent();
        if regrants {
            let forgotten = self.host.keep_mode(&self.thread.root(), None);
            self.tell(forgotten);
        }
        self.refresh().await;
        Ok(EndedMessage { outcome, late, step })
    }

    /// Serves a command that changes nothing; others wait for the answer.
    async fn look_while_working(&mut self, text: &str) {
        match ChatInput::parse(text) {
            ChatInput::Command(
                command @ (ChatCommand::Agents
                | ChatCommand::Cost
                | ChatCommand::Diff
                | ChatCommand::Help
                | ChatCommand::Tasks),
                _,
            ) => {
                let done = self.look(command).await;
                self.tell(done);
            }
            _ => self.screen.note(&say!("chat-not-while-working")),
        }
    }

    fn tell_problems(&mut self, problems: Vec<String>) {
        for problem in problems {
            if self.told.insert(problem.clone()) {
                self.screen.note(&say!("chat-warning", text = problem));
            }
        }
    }

    /// Prints how an answer ended, unless it simply was given.
    async fn report(&mut self, outcome: &Outcome) {
        match (outcome.status(), outcome.stop) {
            (OutcomeStatus::Completed, _) => {}
            (_, StopReason::Cancelled) => {
                let changed = self.host.changed_files(&self.thread.root()).await.unwrap_or_default();
                self.screen.tell_stopped(changed);
            }
            (status, stop) => {
                let reason = stop.wire().replace('_', " ");
                let detail = outcome.detail.as_ref().map(|detail| format!(" · {detail}"));
                let detail = detail.unwrap_or_default();
                let text = say!("chat-ended-early", status = status.wire(), reason, detail);
                let state =
                    if status == OutcomeStatus::Failed { RowState::Failed } else { RowState::Partial };
                self.screen.mark(state, &text);
            }
        }
        // Those of earlier messages are among them.
        self.tell_problems(outcome.warnings.clone());
    }

    /// Runs a shell command of the person. Its output goes with the next message.
    async fn run_shell(&mut self, command: &str) -> Result<ChatStep> {
        self.screen.echo(&format!("!{command}"));
        let started = ShellCommand::start(&self.host.shell(), self.host.workspace(), command);
        let started = match started {
            Ok(started) => started,
            Err(e) => {
                self.screen.note(&say!("chat-shell-not-started", why = e));
                return Ok(ChatStep::GoOn);
            }
        };
        self.screen.begin_command(command);
        let mut step = ChatStep::GoOn;
        let output = {
            let mut running = std::pin::pin!(started.wait());
            loop {
                let wish = tokio::select! {
                    output = &mut running => break Some(output),
                    wish = self.screen.next() => wish,
                };
                match wish {
                    ChatWish::Stop => break None,
                    ChatWish::Leave => {
                        step = ChatStep::Leave;
                        break None;
                    }
                    ChatWish::Command(text) => self.look_while_working(&text).await,
                    ChatWish::NextMode | ChatWish::Submit(_) => {
                        self.screen.note(&say!("chat-not-while-working"));
                    }
                }
            }
        };
        let typed = self.screen.end_command();
        match output {
            Some(output) => self.take_output(command, &output),
            None => self.screen.note(&say!("chat-shell-stopped")),
        }
        if step == ChatStep::GoOn && !typed.is_empty() {
            return self.converse(typed.join("\n\n")).await;
        }
        self.refresh().await;
        Ok(step)
    }

    fn take_output(&mut self, command: &str, output: &ShellOutput) {
        let shown: Vec<&str> = output.text.lines().collect();
        let hidden = shown.len().saturating_sub(OUTPUT_LINES_MAX);
        let line = |text: &&str| StyledLine::plain(format!("  {}", visible(text).replace('\t', "    ")));
        if hidden > 0 {
            self.screen.note(&format!("  {}", say!("chat-shell-hidden", n = hidden)));
        }
        self.screen.print(shown[hidden..].iter().map(line).collect());
        let (ending, n) = (output.ending.as_str(), output.lines());
        self.screen.note(&match output.is_cut() {
            true => say!("chat-shell-sent-part", ending, n),
            false => say!("chat-shell-sent", ending, n),
        });
        self.thread.enclose(output.enclosure(command));
    }

    /// Begins another conversation; the old one stays.
    async fn clear(&mut self) -> Result<()> {
        let old = self.thread.id().cloned();
        self.renew(ChatThread::fresh())?;
        if let Some(id) = old {
            self.screen.note(&say!("chat-kept", id));
        }
        self.refresh().await;
        Ok(())
    }

    /// Changes to another conversation in the same place. The model stays.
    fn renew(&mut self, thread: ChatThread) -> Result<()> {
        let choice = self.host.agent().chosen_model();
        self.host.renew()?;
        self.host.use_model(&choice);
        self.thread = thread;
        self.screen.switch(self.thread.root());
        Ok(())
    }

    /// Has the conversation summed up, and begins a new one with the summary.
    async fn compact(&mut self) -> Result<ChatStep> {
        let Some(old) = self.thread.id().cloned() else {
            self.screen.note(&say!("chat-compact-nothing"));
            return Ok(ChatStep::GoOn);
        };
        let before = figures::count(self.status.context.total());
        self.screen.note(&say!("chat-compacting"));
        let EndedMessage { outcome, late, step } = self.send(compact::REQUEST).await?;
        if outcome.status() != OutcomeStatus::Completed || outcome.text.trim().is_empty() {
            self.report(&outcome).await;
            self.screen.note(&say!("chat-not-compacted"));
            return Ok(step);
        }
        let summary = compact::enclosure(&old, &outcome.text);
        let after = figures::count(estimate_tokens(&summary));
        self.renew(ChatThread::continued(old.clone(), summary))?;
        self.screen.note(&say!("chat-compacted", before, after, old = old.short()));
        self.refresh().await;
        match late.is_empty() || step == ChatStep::Leave {
            true => Ok(step),
            false => self.converse(late.join("\n\n")).await,
        }
    }

    async fn change_mode(&mut self, mode: WorkMode) -> Result<()> {
        self.host.set_mode(mode);
        self.thread.change_mode();
        self.refresh().await;
        match self.thread.id() {
            Some(id) => self.host.keep_mode(id, Some(mode)),
            None => Ok(()),
        }
    }

    /// Changes the model, or lets the person choose one.
    async fn model(&mut self, wanted: &str) -> Result<()> {
        let chosen = match wanted {
            "" => self.choose_model().await,
            reference => Some(reference.to_owned()),
        };
        let Some(reference) = chosen else { return Ok(()) };
        let choice = self.host.find_model(&reference)?;
        let (model, used) = (choice.model.as_str(), self.status.context.total());
        if let Some(window) = choice.limits.context_window.filter(|window| used >= *window) {
            let (used, window) = (figures::count(used), figures::count(window));
            self.screen.note(&say!("chat-model-too-small", model, used, window));
            return Ok(());
        }
        self.host.use_model(&choice);
        let note = match self.thread.id() {
            Some(_) => say!("chat-model-next", model, used = figures::count(used)),
            None => say!("chat-model-chosen", model),
        };
        self.screen.note(&note);
        self.thread.change_model(choice);
        self.refresh().await;
        Ok(())
    }

    async fn choose_model(&mut self) -> Option<String> {
        let known = self.host.known_models();
        let now = self.host.agent().model.clone();
        if known.is_empty() {
            self.screen.note(&say!("chat-model-usage", model = now));
            return None;
        }
        let entries = known.into_iter().map(|model| PickerEntry {
            state: if model.reference == now { say!("chat-model-now") } else { String::new() },
            title: model.reference.clone(),
            key: model.reference,
            figures: model.facts,
            ..PickerEntry::default()
        });
        let mut picker =
            ListPicker::new(say!("chat-model-title"), entries.collect()).hinting(say!("chat-model-hint"));
        loop {
            match self.screen.pick(&mut picker).await {
                PickerAction::Chosen(reference) => return Some(reference),
                PickerAction::Cancelled => return None,
                PickerAction::Taken | PickerAction::ToggleAll => {}
            }
        }
    }

    /// Lets the person choose a conversation, and takes it up.
    async fn choose_chat(&mut self) -> Result<()> {
        let mut is_all = false;
        let mut picker = ListPicker::default();
        loop {
            let (title, entries) = self.chat_entries(is_all).await?;
            if entries.is_empty() && !is_all {
                self.screen.note(&say!("chat-none-here"));
                return Ok(());
            }
            picker.replace(title, entries);
            match self.screen.pick(&mut picker).await {
                PickerAction::ToggleAll => is_all = !is_all,
                PickerAction::Cancelled => return Ok(()),
                PickerAction::Chosen(id) => return self.resume(&TaskId::from_store(id)).await,
                PickerAction::Taken => {}
            }
        }
    }

    async fn chat_entries(&self, is_all: bool) -> Result<(String, Vec<PickerEntry>)> {
        let is_here = |workspace: &str| self.host.is_here(workspace);
        let scope = if is_all { ChatScope::All } else { ChatScope::Project(&is_here) };
        let mut found = chats(&*self.host.store(), scope).await?;
        found.retain(|chat| Some(&chat.row.id) != self.thread.id());
        let project = |workspace: &str| match is_all {
            true => self.host.short_path(workspace),
            false => String::new(),
        };
        let title = match is_all {
            true => say!("chat-resume-all"),
            false => {
                let place = self.host.short_path(&self.host.workspace().display().to_string());
                say!("chat-resume-title", place)
            }
        };
        Ok((title, found.iter().map(|chat| chat.entry(project(&chat.workspace))).collect()))
    }

    /// Takes up a stored conversation and shows where it stopped.
    async fn resume(&mut self, id: &TaskId) -> Result<()> {
        // Warnings about its configuration are printed below what is on the screen.
        self.screen.suspended(self.host.resume(id)).await?;
        if let Some(old) = self.thread.id().filter(|old| *old != id) {
            self.screen.note(&say!("chat-kept", id = old));
        }
        self.thread = ChatThread::resumed(id.clone());
        if let Some(mode) = self.host.kept_mode(id) {
            self.host.set_mode(mode);
            self.thread.change_mode();
        }
        self.screen.switch(id.clone());
        self.offer();
        self.refresh().await;
        self.show_last_exchange().await
    }

    async fn show_last_exchange(&mut self) -> Result<()> {
        let Some(id) = self.thread.id().cloned() else { return Ok(()) };
        let records = self.host.store().records(&id).await?;
        let last = last_exchange(&records);
        self.screen.echo(&last.message);
        if !last.reply.is_empty() {
            self.screen.print_text(&last.reply);
        }
        self.screen.note(&say!("chat-resumed", id = id.short(), model = self.host.agent().model));
        Ok(())
    }

    /// Takes back the file changes of the last message.
    async fn undo(&mut self) -> Result<()> {
        let lines = match self.thread.id() {
            Some(id) => self.host.undo(id).await?,
            None => Vec::new(),
        };
        if lines.is_empty() {
            self.screen.note(&say!("chat-no-change"));
        }
        lines.iter().for_each(|line| self.screen.note(line));
        Ok(())
    }

    /// Finds out what the status line says.
    async fn refresh(&mut self) {
        let model = self.host.agent().model.rsplit([':', '/']).next().unwrap_or_default().to_owned();
        let mode = self.host.mode().ok();
        let context = self.context().await.unwrap_or(self.status.context);
        let total = match self.thread.id() {
            Some(id) => self.host.store().tree_total(id).await.ok(),
            None => None,
        };
        let total = total.unwrap_or_default();
        self.status = ChatStatus {
            model,
            mode,
            context,
            cost_micros: (total.unpriced_tokens == 0).then_some(total.cost_micros),
            subagents: total.tasks.saturating_sub(1),
        };
        self.screen.set_status(self.status.clone());
    }

    /// Measures the next request, with what is enclosed.
    async fn context(&mut self) -> Result<ContextUse> {
        let OpenedSession { session, problems } =
            self.host.open(self.thread.session(), self.thread.mode_changed(), None)?;
        self.tell_problems(problems);
        let mut context = match self.thread.id() {
            Some(id) => session.context_use(id).await?,
            None => session.opening_context(self.host.agent().clone())?,
        };
        // A model that was chosen since is not in the journal yet.
        context.window = self.host.agent().limits.context_window;
        context.messages += self.thread.enclosed_tokens();
        Ok(context)
    }

    /// Fills the menus.
    fn offer(&mut self) {
        let agents = self.host.agents();
        let agents = agents.iter().map(|(name, _)| MenuEntry::new(name, say!("chat-menu-agent")));
        let files = self.host.files();
        self.screen.offer(MenuSources { commands: ChatCommand::menu(), files, agents: agents.collect() });
    }
}

/// Performs the work of a message in a session.
async fn perform(
    session: &Session,
    agent: Agent,
    notes: Vec<String>,
    work: ChatWork,
    regrants: bool,
) -> Result<Arc<Outcome>> {
    match work {
        ChatWork::Start { text, delivery } => {
            session.run_with_delivery(agent, text, Vec::new(), notes, Some(delivery)).await
        }
        ChatWork::GoOn { id, onward } if regrants => session.resume_regranted(id, onward).await,
        ChatWork::GoOn { id, onward } => session.resume(id, onward).await,
    }
}
