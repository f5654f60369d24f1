//! `posse chat`: each message continues the same conversation, which is a stored task and can be resumed. A terminal gets a
//! screen; piped lines and `--json` are served line by line.

mod host;
mod kept;

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

use posse_console::chat::{
    ChatCommand, ChatDesk, ChatHost, ChatInput, ChatLooks, ChatOpening, ChatScope, ChatScreen, ChatTalk,
    ChatThread, ChatWork, newest_chat,
};
use posse_console::{Console, ConsoleIo};
use posse_core::journal::start_of;
use posse_core::mode::WorkMode;
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::liveness as owner;
use posse_runtime::ports::Store;
use posse_terminal::prompt::HistoryFile;

use self::host::SetupHost;
use super::drive::{ProgressView, RunKind, RunView, RunWork, WorkEnd};
use super::tasks::TakenUp;
use crate::args::{ChatArgs, GlobalArgs, RunOptions};
use crate::setup::{self, Setup, in_project};
use crate::signals::EndSignals;
use crate::{retention, terminal};

pub async fn run(global: &GlobalArgs, mut args: ChatArgs) -> Result<ExitCode> {
    if args.how.common.read_only {
        args.how.mode = Some(WorkMode::Plan);
    }
    let io = terminal_of(global);
    let (mut opening, earlier) = earlier(global, &args, io.is_some()).await?;
    let (mut host, mut thread) = match earlier {
        Some(wanted) => {
            let taken_up = TakenUp::find(global, &wanted).await?;
            let mut thread = ChatThread::resumed(taken_up.row.id.clone());
            args.how.mode = args.how.mode.or_else(|| kept::of(&taken_up.setup.state, &taken_up.row.id));
            if args.how.mode.is_some() {
                thread.change_mode();
            }
            opening = ChatOpening::Resumed;
            (SetupHost::take_up(global, args.how, taken_up)?, thread)
        }
        None => {
            let setup = Setup::load(global)?;
            if opening == ChatOpening::Choose && setup.configured_model(&args.how)?.is_none() {
                args.how.common.model = newest_model(&*setup.store()?).await?;
            }
            setup.meet_servers(&args.how).await;
            (SetupHost::begin(global, args.how, setup)?, ChatThread::fresh())
        }
    };
    if let Some(choice) = host.asked_model()? {
        host.use_model(&choice);
        thread.change_model(choice);
    }
    // A conversation that is chosen has its own model.
    if opening != ChatOpening::Choose {
        host.check()?;
    }
    match io {
        Some(io) => on_screen(global, host, thread, (io, opening)).await,
        None => in_lines(global, host, thread).await,
    }
}

/// Returns how the conversation begins, and the task that it continues.
async fn earlier(
    global: &GlobalArgs,
    args: &ChatArgs,
    has_screen: bool,
) -> Result<(ChatOpening, Option<String>)> {
    if args.resume.is_some() || args.continues {
        refuse_what_is_fixed(&args.how)?;
    }
    match &args.resume {
        Some(Some(wanted)) => return Ok((ChatOpening::Resumed, Some(wanted.clone()))),
        Some(None) if has_screen => return Ok((ChatOpening::Choose, None)),
        Some(None) => {
            let e = Error::new(ErrorCode::InvalidRequest, say!("chat-resume-what"));
            return Err(e.hint(say!("chat-resume-what-hint")));
        }
        None if !args.continues => return Ok((ChatOpening::Fresh, None)),
        None => {}
    }
    let store = setup::store(global)?;
    let here = in_project(&std::env::current_dir().unwrap_or_default());
    let is_here = |workspace: &str| here(workspace.as_ref());
    match newest_chat(&*store, ChatScope::Project(&is_here)).await? {
        Some(id) => Ok((ChatOpening::Resumed, Some(id.to_string()))),
        None => Err(Error::new(ErrorCode::TaskNotFound, say!("chat-none")).hint(say!("chat-none-hint"))),
    }
}

/// Returns the model of the newest conversation, for a list of conversations where no model is configured.
async fn newest_model(store: &dyn Store) -> Result<Option<String>> {
    let Some(id) = newest_chat(store, ChatScope::All).await? else { return Ok(None) };
    Ok(Some(start_of(&store.records(&id).await?)?.agent.model))
}

/// Serves the person at a terminal.
async fn on_screen(
    global: &GlobalArgs,
    host: SetupHost<'_>,
    thread: ChatThread,
    (io, opening): (ConsoleIo, ChatOpening),
) -> Result<ExitCode> {
    let mut end = EndSignals::listen()?;
    let options = terminal::looks();
    let looks = ChatLooks { palette: options.palette, symbols: options.symbols };
    let failed = |e| Error::new(ErrorCode::Io, say!("chat-no-screen")).caused_by(e);
    let console = Console::open(io, options).map_err(failed)?;
    let desk = ChatDesk { store: host.store(), owner: owner::owner() };
    let history = HistoryFile::in_state(&host.setup().state);
    let screen = ChatScreen::new(console, thread.root(), looks, desk, history);
    let mut talk = ChatTalk::new(host, thread, screen);
    let left = tokio::select! {
        left = talk.run(env!("CARGO_PKG_VERSION"), opening) => left.map(|()| ExitCode::SUCCESS),
        // A reply under way is left as `kill -9` would leave it; without one, nothing is to be resumed.
        signal = end.recv() => match talk.working_on() {
            Some(task) => Err(signal.interrupt(&task)),
            None => Ok(ExitCode::from(signal.exit_code())),
        },
    };
    let (host, thread) = talk.close();
    if let Some(id) = thread.id() {
        terminal::note(&say!("chat-left", id = id.short()));
    }
    close(global, &host).await;
    left
}

/// Serves lines of standard input.
async fn in_lines(global: &GlobalArgs, mut host: SetupHost<'_>, mut thread: ChatThread) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let (model, session_id) = (&host.agent().model, thread.session());
    terminal::note(&say!("chat-banner", model, session_id));
    host.tell_mode(global.json)?;
    let mut end = EndSignals::listen()?;
    loop {
        let line = tokio::select! {
            line = read_line() => line?,
            // No task is running, and the conversation can be resumed.
            signal = end.recv() => return Ok(ExitCode::from(signal.exit_code())),
        };
        let Some(line) = line else { break };
        match ChatInput::parse(&line) {
            ChatInput::Message | ChatInput::Shell(_) => {}
            ChatInput::Command(ChatCommand::Exit, _) => break,
            ChatInput::Command(command, rest) => {
                if let Err(e) = command_line(&mut host, &mut thread, (command, rest), global.json) {
                    terminal::error(&e);
                }
                continue;
            }
            ChatInput::Unknown(word) => {
                terminal::note(&say!("chat-command-unknown", command = visible(prefix(word, 40))));
                continue;
            }
        }
        // A session per message: Ctrl-C stops an answer, not the conversation.
        let view = RunView { progress: ProgressView::Shown, json: global.json, kind: RunKind::Message };
        let regrants = thread.mode_changed();
        let room = host.room(thread.session(), regrants, view)?;
        let began = Instant::now();
        let agent = host.agent().clone();
        let work = match thread.next(&line) {
            ChatWork::GoOn { id, onward } => RunWork::GoOn { id, onward },
            ChatWork::Start { text, delivery } => RunWork::Start {
                agent: Box::new(agent.clone()),
                task: text,
                verify: Vec::new(),
                notes: host.notes(),
                delivery: Some(delivery),
            },
        };
        let task = thread.root();
        // A message ends with an outcome: Ctrl-C cancels it.
        let WorkEnd::Ended(outcome) = room.work(work).await? else { break };
        thread.sent();
        if regrants {
            host.keep_mode(&task, None)?;
        }
        code = room.ended(&task, &agent, &outcome, began).await.conclude().await;
    }
    close(global, &host).await;
    Ok(code)
}

/// Serves a command without a screen.
fn command_line(
    host: &mut SetupHost<'_>,
    thread: &mut ChatThread,
    (command, rest): (ChatCommand, &str),
    json: bool,
) -> Result<()> {
    match command {
        ChatCommand::Help => terminal::note(&say!("chat-help")),
        ChatCommand::Mode => match WorkMode::from_wire(rest) {
            Some(mode) => {
                host.set_mode(mode);
                thread.change_mode();
                if let Some(id) = thread.id() {
                    host.keep_mode(id, Some(mode))?;
                }
                host.tell_mode(json)?;
            }
            None => terminal::note(&say!("chat-mode-names")),
        },
        ChatCommand::Model if !rest.is_empty() => {
            let choice = host.find_model(rest)?;
            host.use_model(&choice);
            terminal::note(&say!("chat-model-changed", model = choice.model));
            thread.change_model(choice);
        }
        other => terminal::note(&say!("chat-needs-screen", command = other.word())),
    }
    Ok(())
}

/// Ends what the conversation started.
async fn close(global: &GlobalArgs, host: &SetupHost<'_>) {
    host.setup().close_servers().await;
    retention::apply_later(global, &host.setup().config.store, &host.setup().state);
}

/// Returns the terminal that a conversation can use for input and output.
fn terminal_of(global: &GlobalArgs) -> Option<ConsoleIo> {
    let is_shown = !global.json && std::io::stdout().is_terminal() && terminal::is_attended();
    is_shown.then(terminal::screen).flatten()
}

/// Refuses flags that cannot change an existing conversation, instead of ignoring them.
fn refuse_what_is_fixed(how: &RunOptions) -> Result<()> {
    let fixed = [
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
