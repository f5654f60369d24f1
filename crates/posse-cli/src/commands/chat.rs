//! `posse chat`: each message continues the same conversation, which is a stored task and can be resumed. A terminal gets a
//! screen; piped lines and `--json` are served line by line.

mod attach;
mod screen;

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

use posse_console::ConsoleIo;
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::driver::ResumeMode;
use posse_runtime::session::fresh_id;

use super::drive::{ProgressView, RunKind, RunSession, RunView, RunWork, WorkEnd};
use super::run::{self, LeadAgent};
use super::tasks::TakenUp;
use crate::args::{ChatArgs, GlobalArgs, RunOptions};
use crate::mode::ModeChoice;
use crate::setup::Setup;
use crate::signals::EndSignals;
use crate::{retention, terminal};

pub async fn run(global: &GlobalArgs, mut args: ChatArgs) -> Result<ExitCode> {
    if args.how.common.read_only {
        args.how.mode = Some(WorkMode::Plan);
    }
    let mut talk = match &args.resume {
        Some(wanted) => {
            refuse_what_is_fixed(&args.how)?;
            ChatSession::take_up(TakenUp::find(global, wanted).await?)
        }
        None => {
            let setup = Setup::load(global)?;
            setup.meet_servers(&args.how).await;
            ChatSession::begin(setup, &args.how)?
        }
    };
    talk.check(&args.how)?;
    if let Some(io) = terminal_of(global) {
        return screen::ScreenChat::open(global, args.how, talk, io)?.run().await;
    }
    let mut code = ExitCode::SUCCESS;
    let ChatSession { lead, session_id, .. } = &talk;
    terminal::note(&say!("chat-banner", model = lead.agent.model, session_id));
    talk.tell_mode(&args.how, global.json)?;
    let mut end = EndSignals::listen()?;
    loop {
        let line = tokio::select! {
            line = read_line() => line?,
            // No task is running, and the conversation can be resumed.
            signal = end.recv() => return Ok(ExitCode::from(signal.exit_code())),
        };
        let Some(line) = line else { break };
        match ChatInput::parse(&line) {
            ChatInput::Message => {}
            ChatInput::Quit => break,
            ChatInput::Help => {
                terminal::note(&say!("chat-help"));
                continue;
            }
            ChatInput::Mode(word) => {
                match WorkMode::from_wire(word) {
                    Some(mode) => {
                        args.how.mode = Some(mode);
                        talk.lead.mode_changed = talk.id.is_some();
                        talk.tell_mode(&args.how, global.json)?;
                    }
                    None => terminal::note(&say!("chat-mode-usage")),
                }
                continue;
            }
            ChatInput::Unknown(command) => {
                let command = visible(prefix(command, 40));
                terminal::note(&say!("chat-command-unknown", command));
                continue;
            }
        }
        // A session per message: Ctrl-C stops an answer, not the conversation.
        let view = RunView { progress: ProgressView::Shown, json: global.json, kind: RunKind::Message };
        let room = talk.room(&args.how, view)?;
        let began = Instant::now();
        let work = talk.work(line);
        let task = talk.root();
        // A message ends with an outcome: Ctrl-C cancels it.
        let WorkEnd::Ended(outcome) = room.work(work).await? else { break };
        code = room.ended(&task, &talk.lead.agent, &outcome, began).await.conclude().await;
    }
    close(global, &talk).await;
    Ok(code)
}

/// Ends what the conversation started.
async fn close(global: &GlobalArgs, talk: &ChatSession) {
    talk.setup().close_servers().await;
    retention::apply_later(global, &talk.setup().config.store, &talk.setup().state);
}

/// Returns the terminal that a conversation can use for input and output.
fn terminal_of(global: &GlobalArgs) -> Option<ConsoleIo> {
    let is_shown = !global.json && std::io::stdout().is_terminal() && terminal::is_attended();
    is_shown.then(terminal::screen).flatten()
}

/// A typed line: a message for the model or a slash command.
#[derive(Debug, PartialEq)]
enum ChatInput<'a> {
    Message,
    Help,
    Quit,
    /// The mode that was named.
    Mode(&'a str),
    Unknown(&'a str),
}

impl<'a> ChatInput<'a> {
    /// Parses a line. A command is a slash and one word of letters, so a path is a message.
    fn parse(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default();
        let is_command = line.starts_with('/')
            && word.len() > 1
            && word[1..].chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        match word {
            _ if !is_command => ChatInput::Message,
            "/help" => ChatInput::Help,
            "/quit" | "/exit" => ChatInput::Quit,
            "/mode" => ChatInput::Mode(words.next().unwrap_or_default()),
            other => ChatInput::Unknown(other),
        }
    }
}

struct ChatSession {
    /// `None` before the first message.
    id: Option<TaskId>,
    session_id: String,
    lead: LeadAgent,
    place: SessionSource,
}

/// Source of the sessions: this directory's setup, or an earlier task.
enum SessionSource {
    New(Box<Setup>),
    Earlier(Box<TakenUp>),
}

impl ChatSession {
    fn begin(setup: Setup, how: &RunOptions) -> Result<Self> {
        let found = setup.tools()?;
        setup.refuse_contradiction(how, &found)?;
        let mut lead = run::lead(&setup, how, &found)?;
        if !lead.verify.is_empty() {
            lead.notes.push(say!("chat-not-verified"));
        }
        Ok(Self { id: None, session_id: fresh_id(), lead, place: SessionSource::New(Box::new(setup)) })
    }

    fn take_up(taken_up: TakenUp) -> Self {
        let id = taken_up.row.id.clone();
        let (session_id, lead) = (id.session().to_owned(), LeadAgent::of(taken_up.start.agent.clone()));
        Self { id: Some(id), session_id, lead, place: SessionSource::Earlier(Box::new(taken_up)) }
    }

    /// Fails before the first prompt if no model could answer.
    fn check(&self, how: &RunOptions) -> Result<()> {
        let caps = match &self.place {
            SessionSource::New(setup) => setup.caps(how),
            SessionSource::Earlier(taken_up) => taken_up.caps(how),
        };
        run::check_model(&*self.setup().models(how)?, &self.lead.agent, &caps)
    }

    fn setup(&self) -> &Setup {
        match &self.place {
            SessionSource::New(setup) => setup,
            SessionSource::Earlier(taken_up) => &taken_up.setup,
        }
    }

    /// Announces the mode of the messages that follow.
    fn tell_mode(&self, how: &RunOptions, json: bool) -> Result<()> {
        let (choice, grant) = self.mode_and_grant(how)?;
        self.setup().tell_mode(choice, &grant, json);
        Ok(())
    }

    /// Returns the mode of the next message.
    fn mode(&self, how: &RunOptions) -> Result<WorkMode> {
        let (choice, grant) = self.mode_and_grant(how)?;
        Ok(choice.mode.min(WorkMode::of(&grant)))
    }

    /// Describes the mode of the next message and its sandbox.
    fn mode_line(&self, how: &RunOptions) -> Result<String> {
        let (choice, grant) = self.mode_and_grant(how)?;
        Ok(self.setup().mode_line(choice, &grant))
    }

    fn mode_and_grant(&self, how: &RunOptions) -> Result<(ModeChoice, Grant)> {
        match &self.place {
            SessionSource::New(setup) => {
                let found = setup.tools()?;
                let choice = setup.mode(how, &found)?;
                let grant = setup.grant(how, choice.mode, &found)?;
                Ok((choice, grant.keep(&self.lead.agent.rights)))
            }
            SessionSource::Earlier(taken_up) => taken_up.mode(how.mode),
        }
    }

    /// Begins another conversation in the same place.
    fn renew(&mut self, global: &GlobalArgs, how: &RunOptions) -> Result<()> {
        if let SessionSource::Earlier(taken_up) = &self.place {
            let setup = Setup::load_in(global, taken_up.setup.workspace.clone())?;
            *self = Self::begin(setup, how)?;
        }
        (self.id, self.session_id) = (None, fresh_id());
        Ok(())
    }

    /// Returns the task of the conversation, also before it exists.
    fn root(&self) -> TaskId {
        self.id.clone().unwrap_or_else(|| TaskId::root(&self.session_id))
    }

    /// Makes the work of the next message. From then on the conversation exists.
    fn work(&mut self, text: String) -> RunWork {
        match self.id.clone() {
            Some(id) => RunWork::GoOn { id, onward: ResumeMode::Message(text) },
            None => {
                self.id = Some(TaskId::root(&self.session_id));
                RunWork::Start {
                    agent: Box::new(self.lead.agent.clone()),
                    task: text,
                    verify: Vec::new(),
                    notes: self.lead.notes.clone(),
                    delivery: None,
                }
            }
        }
    }

    fn room(&self, how: &RunOptions, view: RunView<'_>) -> Result<RunSession> {
        match &self.place {
            SessionSource::New(setup) => {
                run::room(setup, how, setup.tools()?, &self.lead, self.session_id.clone(), view)
            }
            SessionSource::Earlier(taken_up) => taken_up.room(how, view),
        }
    }
}

/// Refuses flags that cannot change an existing conversation, instead of ignoring them.
fn refuse_what_is_fixed(how: &RunOptions) -> Result<()> {
    let fixed = [
        ("--model", how.common.model.is_some()),
        ("--agent", how.agent.is_some()),
        ("--allow", !how.common.allow.is_empty()),
        ("--max-turns", how.max_turns.is_some()),
        ("--timeout", how.timeout.is_some()),
        ("--effort", how.effort.is_some()),
        ("--no-stream", how.no_stream),
    ];
    let Some((flag, _)) = fixed.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let text = say!("chat-flag-fixed", flag);
    Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("chat-flag-fixed-hint", flag)))
}

/// Longest line that is read; more belongs in a file.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reads the next message, skipping empty lines; `None` at the end of input.
async fn read_line() -> Result<Option<String>> {
    let read = tokio::task::spawn_blocking(|| {
        loop {
            let mut line = String::new();
            // A lock per line: what was read ahead stays in the shared buffer.
            if std::io::Read::take(std::io::stdin().lock(), LINE_BYTES_MAX).read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end_matches(['\n', '\r']);
            if !line.trim().is_empty() {
                return Ok(Some(line.to_owned()));
            }
        }
    });
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| {
        Error::new(ErrorCode::Io, say!("message-unreadable")).caused_by(e)
    };
    read.await.map_err(|e| failed(e.into()))?.map_err(|e: std::io::Error| failed(e.into()))
}

#[cfg(test)]
mod tests {
    use super::ChatInput;

    #[test]
    fn a_command_is_a_slash_and_a_word() {
        for (line, said) in [
            ("/help", ChatInput::Help),
            ("/quit ", ChatInput::Quit),
            ("/quit now", ChatInput::Quit),
            ("/mode plan", ChatInput::Mode("plan")),
            ("/mode", ChatInput::Mode("")),
            ("/model gpt-5", ChatInput::Unknown("/model")),
            ("/Quit", ChatInput::Unknown("/Quit")),
            ("/etc/hosts is odd", ChatInput::Message),
            (" /tmp is full", ChatInput::Message),
            ("/", ChatInput::Message),
            ("// why?", ChatInput::Message),
            ("what does /quit do?", ChatInput::Message),
        ] {
            assert_eq!(ChatInput::parse(line), said, "{line}");
        }
    }
}
