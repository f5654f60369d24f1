//! A conversation at a terminal: the screen, the messages it sends, and the commands that begin with a slash.

use std::process::ExitCode;
use std::sync::Arc;

use posse_console::chat::{ChatDesk, ChatLooks, ChatScreen, ChatStatus, ChatWish};
use posse_console::{Console, ConsoleIo};
use posse_core::mode::WorkMode;
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{AgentLookup, JournalStore, Observer, TaskFilter, TaskQuery};
use posse_sandbox::workspace::Workspace;
use posse_store::SqliteStore;
use posse_terminal::prompt::{MenuEntry, MenuSources};
use posse_terminal::style::{AnsiColor, StyledLine, TextStyle};
use posse_tools::edits::{self, EditSpan, undo};

use super::super::drive::{ProgressView, RunKind, RunView};
use super::super::tasks::undo as undo_lines;
use super::attach::attach;
use super::{ChatInput, ChatSession};
use crate::args::{GlobalArgs, RunOptions};
use crate::prompt_history::HistoryFile;
use crate::render::price;
use crate::signals::EndSignals;
use crate::terminal;

/// Files that the menu offers.
const FILES_MAX: usize = 20_000;
/// Lines of a diff that are printed; `posse tasks diff` prints all.
const DIFF_LINES_MAX: usize = 400;

/// Commands with their explanation.
fn commands() -> Vec<MenuEntry> {
    vec![
        MenuEntry::new("/agents", say!("chat-does-agents")),
        MenuEntry::new("/clear", say!("chat-does-clear")),
        MenuEntry::new("/cost", say!("chat-does-cost")),
        MenuEntry::new("/diff", say!("chat-does-diff")),
        MenuEntry::new("/exit", say!("chat-does-exit")),
        MenuEntry::new("/help", say!("chat-does-help")),
        MenuEntry::new("/mode", say!("chat-does-mode")),
        MenuEntry::new("/tasks", say!("chat-does-tasks")),
        MenuEntry::new("/undo", say!("chat-does-undo")),
    ]
}

/// A conversation with its screen.
pub(super) struct ScreenChat<'a> {
    global: &'a GlobalArgs,
    how: RunOptions,
    talk: ChatSession,
    screen: ChatScreen,
    store: Arc<SqliteStore>,
    agents: Vec<String>,
    end: EndSignals,
}

/// The next thing to do after a wish.
enum ChatStep {
    GoOn,
    Leave,
}

impl<'a> ScreenChat<'a> {
    /// Takes the terminal.
    pub(super) fn open(
        global: &'a GlobalArgs,
        how: RunOptions,
        talk: ChatSession,
        io: ConsoleIo,
    ) -> Result<Self> {
        let (store, end) = (talk.setup().store()?, EndSignals::listen()?);
        let options = terminal::looks();
        let looks = ChatLooks { palette: options.palette, symbols: options.symbols };
        let failed = |e| Error::new(ErrorCode::Io, say!("chat-no-screen")).caused_by(e);
        let console = Console::open(io, options).map_err(failed)?;
        let desk = ChatDesk { store: store.clone(), owner: owner::owner() };
        let file = HistoryFile::in_state(&talk.setup().state);
        let history = file.load();
        let keep = Box::new(move |entry: &str| {
            // A history that cannot be written costs a convenience, not the message.
            let _ = file.append(entry);
        });
        let screen = ChatScreen::new(console, talk.root(), looks, desk, (history, keep));
        let listed = talk.setup().agents(&how).list();
        let agents = listed.iter().map(|agent| agent.name.to_string()).collect();
        let mut chat = Self { global, how, talk, screen, store, agents, end };
        chat.offer();
        Ok(chat)
    }

    /// Serves the person until they leave.
    pub(super) async fn run(mut self) -> Result<ExitCode> {
        let mode = self.talk.mode_line(&self.how)?;
        self.screen.note(&say!("chat-banner-mode", version = env!("CARGO_PKG_VERSION"), mode));
        let place = self.talk.setup().workspace.display().to_string();
        self.screen.note(&say!("chat-banner-place", place));
        self.update_status()?;
        let left = loop {
            let wish = tokio::select! {
                wish = self.screen.next() => wish,
                signal = self.end.recv() => break Ok(ExitCode::from(signal.exit_code())),
            };
            match self.serve(wish).await {
                Ok(ChatStep::GoOn) => {}
                Ok(ChatStep::Leave) => break Ok(ExitCode::SUCCESS),
                Err(e) if e.code() == ErrorCode::Interrupted => break Err(e),
                Err(e) => self.tell(&e),
            }
        };
        let Self { screen, talk, .. } = self;
        screen.close();
        if let Some(id) = &talk.id {
            terminal::note(&say!("chat-kept", id));
        }
        super::close(self.global, &talk).await;
        left
    }

    async fn serve(&mut self, wish: ChatWish) -> Result<ChatStep> {
        match wish {
            ChatWish::Leave => Ok(ChatStep::Leave),
            ChatWish::Stop => Ok(ChatStep::GoOn),
            ChatWish::NextMode => self.next_mode().map(|()| ChatStep::GoOn),
            ChatWish::Submit(text) | ChatWish::Command(text) => match ChatInput::parse(&text) {
                ChatInput::Message => self.converse(text).await,
                ChatInput::Quit => Ok(ChatStep::Leave),
                ChatInput::Mode(word) => {
                    match WorkMode::from_wire(word) {
                        Some(mode) => self.set_mode(mode)?,
                        None => self.screen.note(&say!("chat-mode-usage")),
                    }
                    Ok(ChatStep::GoOn)
                }
                ChatInput::Help => {
                    self.help();
                    Ok(ChatStep::GoOn)
                }
                ChatInput::Unknown(command) => self.command(command).await.map(|()| ChatStep::GoOn),
            },
        }
    }

    /// Sends a message, and after it the messages that came too late for its answer.
    async fn converse(&mut self, text: String) -> Result<ChatStep> {
        let mut next = Some(text);
        while let Some(text) = next {
            self.screen.echo(&text);
            let (late, step) = self.answer(text).await?;
            if let ChatStep::Leave = step {
                return Ok(step);
            }
            next = (!late.is_empty()).then(|| late.join("\n\n"));
        }
        Ok(ChatStep::GoOn)
    }

    /// Sends one message and waits for its answer. The person can steer it, stop it or leave meanwhile.
    async fn answer(&mut self, text: String) -> Result<(Vec<String>, ChatStep)> {
        let workspace = Workspace::open_with(
            &self.talk.setup().workspace,
            self.talk.setup().sandbox.closed(),
            self.talk.setup().sandbox.protection(),
        )?;
        let message = attach(&text, &workspace, &self.agents);
        message.notes.iter().for_each(|note| self.screen.note(&format!("· {note}")));
        let observer: Arc<dyn Observer> = self.screen.observer();
        let view =
            RunView { progress: ProgressView::Watched(&observer), json: false, kind: RunKind::Message };
        let room = self.talk.room(&self.how, view)?;
        let work = self.talk.work(message.text);
        self.screen.begin();
        let mut working = std::pin::pin!(room.perform(work));
        let mut step = ChatStep::GoOn;
        let outcome = loop {
            let wish = tokio::select! {
                outcome = &mut working => break outcome,
                wish = self.screen.next() => wish,
                signal = self.end.recv() => {
                    return Err(signal.interrupt(&self.talk.root()));
                }
            };
            match wish {
                ChatWish::Stop => room.session.stop().now.cancel(),
                ChatWish::Leave => {
                    step = ChatStep::Leave;
                    room.session.stop().now.cancel();
                }
                ChatWish::NextMode | ChatWish::Submit(_) | ChatWish::Command(_) => {
                    self.screen.note(&say!("chat-not-while-working"));
                }
            }
        };
        let shown = outcome.as_ref().map_or("", |outcome| outcome.text.as_str());
        let late = self.screen.end(shown).await;
        self.talk.lead.mode_changed = false;
        self.report(&*outcome?);
        Ok((late, step))
    }

    /// Prints how an answer ended, unless it simply was given.
    fn report(&mut self, outcome: &Outcome) {
        match (outcome.status(), outcome.stop) {
            (OutcomeStatus::Completed, _) => {}
            (_, StopReason::Cancelled) => self.screen.tell_stopped(outcome.changed_files.len()),
            (status, stop) => {
                let detail = outcome.detail.as_deref().unwrap_or_default();
                let reason = stop.wire().replace('_', " ");
                self.screen.note(&say!("chat-ended-early", status = status.wire(), reason, detail));
            }
        }
        for warning in &outcome.warnings {
            self.screen.note(&say!("warning", text = warning));
        }
    }

    async fn command(&mut self, command: &str) -> Result<()> {
        match command {
            "/agents" => {
                for agent in self.talk.setup().agents(&self.how).list() {
                    self.screen.note(&format!("  {}  {}", agent.name, first_line(&agent.description)));
                }
            }
            "/tasks" | "/cost" => self.tasks().await?,
            "/clear" => self.clear()?,
            "/diff" => self.diff().await?,
            "/undo" => self.undo().await?,
            other => self.screen.note(&say!("chat-command-unknown", command = visible(prefix(other, 40)))),
        }
        Ok(())
    }

    fn help(&mut self) {
        for MenuEntry { value, note, .. } in commands() {
            self.screen.note(&format!("  {value:<9} {note}"));
        }
    }

    async fn tasks(&mut self) -> Result<()> {
        let of = TaskFilter::Session(self.talk.session_id.clone());
        let mut rows = self.store.find_tasks(TaskQuery::of(of)).await?;
        rows.reverse();
        if rows.is_empty() {
            self.screen.note(&say!("no-tasks-yet"));
        }
        for row in rows {
            let (id, state) = (row.id.short().to_owned(), row.state.wire());
            let turns = say!("many-turns", n = row.turns());
            let title = first_line(&row.title);
            let line = format!(
                "  {id:<10} {state:<10} {:<14} {turns:>9} {:>8}  {title}",
                row.agent,
                price(&row.total)
            );
            self.screen.note(&line);
        }
        Ok(())
    }

    /// Begins another conversation; the old one stays.
    fn clear(&mut self) -> Result<()> {
        if let Some(id) = self.talk.id.take() {
            self.screen.note(&say!("chat-kept", id));
        }
        self.talk.renew(self.global, &self.how)?;
        self.screen.switch(self.talk.root());
        self.update_status()
    }

    async fn diff(&mut self) -> Result<()> {
        if self.talk.id.is_none() {
            self.screen.note(&say!("chat-no-change"));
            return Ok(());
        }
        let id = self.talk.root();
        let edited = edits::gather(&*self.store, &id, EditSpan::Whole).await?;
        if edited.is_empty() {
            self.screen.note(&say!("chat-no-change"));
        }
        let diffs: String = edited.iter().filter_map(|file| file.diff()).collect();
        let mut lines: Vec<StyledLine> = diffs.lines().take(DIFF_LINES_MAX).map(diff_line).collect();
        if diffs.lines().count() > DIFF_LINES_MAX {
            lines.push(StyledLine::plain(say!("chat-diff-cut", id)));
        }
        self.screen.print(lines);
        Ok(())
    }

    /// Takes back the file changes of the last message.
    async fn undo(&mut self) -> Result<()> {
        if self.talk.id.is_none() {
            self.screen.note(&say!("chat-no-change"));
            return Ok(());
        }
        let id = self.talk.root();
        let plan = undo::plan(&*self.store, &id, EditSpan::LastMessage).await?;
        let steps = plan.perform(&*self.store).await?;
        if steps.is_empty() {
            self.screen.note(&say!("chat-no-change"));
        }
        steps.iter().for_each(|step| self.screen.note(&undo_lines::line(step, false)));
        Ok(())
    }

    fn next_mode(&mut self) -> Result<()> {
        let mode = self.talk.mode(&self.how)?.next();
        self.set_mode(mode)
    }

    fn set_mode(&mut self, mode: WorkMode) -> Result<()> {
        self.how.mode = Some(mode);
        self.talk.lead.mode_changed = self.talk.id.is_some();
        self.update_status()
    }

    fn update_status(&mut self) -> Result<()> {
        let model = self.talk.lead.agent.model.rsplit([':', '/']).next().unwrap_or_default().to_owned();
        let mode = Some(self.talk.mode(&self.how)?);
        self.screen.set_status(ChatStatus { model, mode });
        Ok(())
    }

    /// Fills the menus.
    fn offer(&mut self) {
        let workspace = Workspace::open(&self.talk.setup().workspace).ok();
        let files =
            workspace.map(|place| posse_tools::workspace_files(&place, FILES_MAX)).unwrap_or_default();
        let agents = self.agents.iter().map(|name| MenuEntry::new(name, say!("chat-menu-agent"))).collect();
        self.screen.offer(MenuSources { commands: commands(), files, agents });
    }

    fn tell(&mut self, error: &Error) {
        self.screen.note(&format!("{}[{}]: {}", say!("state-error"), error.code(), error.message()));
        if let Some(hint) = error.advice() {
            self.screen.note(&format!("  {}", say!("error-hint", hint)));
        }
    }
}

fn first_line(text: &str) -> String {
    visible(prefix(text.lines().next().unwrap_or_default(), 80)).into_owned()
}

fn diff_line(line: &str) -> StyledLine {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => TextStyle::BOLD,
        [b'+', ..] => TextStyle::colored(AnsiColor::Green),
        [b'-', ..] => TextStyle::colored(AnsiColor::Red),
        [b'@', b'@', ..] => TextStyle::colored(AnsiColor::Cyan),
        _ => TextStyle::PLAIN,
    };
    let mut out = StyledLine::new();
    out.push(&visible(line).replace('\t', "    "), style);
    out
}
