//! Hooks: commands of the user that run when something happens to a task.
//!
//! A hook observes. It runs in a thread of its own, one after the other, with a timeout and bounded output, so that it neither
//! delays nor breaks a task. It gets the event as JSON on standard input, without prompts and results.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use posse_core::event::{Event, EventEntry};
use posse_core::id::TaskId;
use posse_core::text::{prefix, visible};
use posse_messages::localized;
use posse_runtime::ports::Observer;
use serde::Deserialize;
use serde_json::{Value, json};

/// Hooks in one configuration.
pub const HOOKS_MAX: usize = 32;

/// Time of one run, unless the hook says another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs that wait. Further events are dropped: a hook that slow is of no use.
const QUEUE_MAX: usize = 64;

/// Output that is read, for the first line of a warning.
const OUTPUT_BYTES_MAX: u64 = 4 << 10;

/// Poll interval of a running command.
const LOOK: Duration = Duration::from_millis(5);

/// Tool by which a task asks its parent.
const ASK_PARENT: &str = "ask_parent";

/// One entry of `[[hooks]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    pub event: HookEvent,
    pub command: HookCommand,
    /// Seconds after which the command is ended, 10 if unset.
    #[serde(default)]
    pub timeout_s: Option<u16>,
    /// Also runs at the start and end of subagents, and after their tools.
    #[serde(default)]
    pub subagents: bool,
}

/// Events that a hook can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// A task begins, or goes on in another process.
    TaskStart,
    TaskEnd,
    /// A call waits for a person's decision.
    ApprovalRequested,
    /// A task asks its parent.
    Question,
    /// A tool call has its result.
    PostTool,
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum HookCommand {
    /// Run by `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl HookEvent {
    /// Returns the name in the configuration.
    pub fn wire(self) -> &'static str {
        match self {
            HookEvent::TaskStart => "task_start",
            HookEvent::TaskEnd => "task_end",
            HookEvent::ApprovalRequested => "approval_requested",
            HookEvent::Question => "question",
            HookEvent::PostTool => "post_tool",
        }
    }

    /// Returns the hook event of a task event, if any.
    fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Started { .. } | Event::Resumed { .. } => HookEvent::TaskStart,
            Event::Finished { .. } => HookEvent::TaskEnd,
            Event::ApprovalRequested { .. } => HookEvent::ApprovalRequested,
            // A task asks by calling this tool.
            Event::ToolStarted { tool, .. } if tool == ASK_PARENT => HookEvent::Question,
            Event::ToolFinished { .. } | Event::ToolRefused { .. } => HookEvent::PostTool,
            _ => return None,
        })
    }

    /// Tells whether a person is needed, whichever task it is.
    fn needs_person(self) -> bool {
        matches!(self, HookEvent::ApprovalRequested | HookEvent::Question)
    }
}

impl HookCommand {
    fn to_command(&self) -> Option<Command> {
        match self {
            HookCommand::Shell(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                Some(command)
            }
            HookCommand::Program(words) => {
                let (program, arguments) = words.split_first()?;
                let mut command = Command::new(program);
                command.args(arguments);
                Some(command)
            }
        }
    }
}

/// Observer that runs the hooks of the configuration. Dropping it waits for the runs that are queued.
pub struct HookObserver {
    hooks: Vec<HookConfig>,
    /// Own tasks of sessions that were seen: tasks below them are subagents.
    roots: Mutex<HashSet<String>>,
    queue: Option<SyncSender<HookRun>>,
    thread: Option<JoinHandle<()>>,
    note: fn(&str),
}

struct HookRun {
    /// Place of the hook in the configuration.
    hook: usize,
    line: String,
}

impl HookObserver {
    /// Starts the thread that runs the hooks. `note` shows a warning to the person.
    pub fn start(hooks: Vec<HookConfig>, note: fn(&str)) -> std::io::Result<Self> {
        let (queue, runs) = sync_channel(QUEUE_MAX);
        let known = hooks.clone();
        let thread = std::thread::Builder::new()
            .name("hooks".to_owned())
            .spawn(move || run_all(&known, &runs, note))?;
        Ok(Self { hooks, roots: Mutex::default(), queue: Some(queue), thread: Some(thread), note })
    }

    /// Tells whether a task was delegated by a task that this process has seen.
    fn is_subagent(&self, task: &TaskId) -> bool {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_str() == task.session() {
            // A session has one; a host of ours has few sessions.
            roots.insert(task.session().to_owned());
            return false;
        }
        roots.contains(task.session())
    }
}

impl Observer for HookObserver {
    fn event(&self, entry: &EventEntry) {
        let is_subagent = self.is_subagent(&entry.task_id);
        let Some(event) = HookEvent::of(&entry.event) else { return };
        let wants = |hook: &HookConfig| {
            hook.event == event && (!is_subagent || hook.subagents || event.needs_person())
        };
        for (hook, _) in self.hooks.iter().enumerate().filter(|(_, hook)| wants(hook)) {
            let mut value = serde_json::to_value(entry).unwrap_or(Value::Null);
            value["hook"] = json!(event.wire());
            let run = HookRun { hook, line: value.to_string() };
            if let Some(Err(TrySendError::Full(_))) = self.queue.as_ref().map(|queue| queue.try_send(run)) {
                (self.note)(&localized!("hook-dropped", event = event.wire()));
            }
        }
    }
}

impl Drop for HookObserver {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_all(hooks: &[HookConfig], runs: &Receiver<HookRun>, note: fn(&str)) {
    let mut told = HashSet::new();
    for HookRun { hook, line } in runs {
        let config = &hooks[hook];
        if let Err(why) = run(config, &line)
            // A hook that fails every time is reported once.
            && told.insert(hook)
        {
            note(&localized!("hook-failed", event = config.event.wire(), why = visible(&why)));
        }
    }
}

fn run(hook: &HookConfig, line: &str) -> Result<(), String> {
    let mut command = hook.command.to_command().ok_or_else(|| localized!("hook-empty").to_string())?;
    // A group of its own, so that a timeout ends what the command started.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let group = i32::try_from(child.id()).unwrap_or(0);
    let (input, text) = (child.stdin.take(), format!("{line}\n"));
    // A command that reads nothing must not hold this thread.
    std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let error = child.stderr.take();
    let (send, said) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut error) = error {
            let _ = (&mut error).take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
            let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
            let _ = std::io::copy(&mut error, &mut std::io::sink());
        }
    });
    let timeout = hook.timeout_s.map_or(TIMEOUT, |seconds| Duration::from_secs(seconds.max(1).into()));
    let Some(status) = wait(&mut child, timeout) else {
        end(group);
        let _ = child.wait();
        return Err(localized!("hook-timed-out", seconds = timeout.as_secs()).to_string());
    };
    if status.success() {
        return Ok(());
    }
    let said = said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    let first = said.lines().next().unwrap_or_default();
    Err(format!("{status} {}", prefix(first, 200)).trim_end().to_owned())
}

/// Waits for the end; `None` after the timeout.
fn wait(child: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if started.elapsed() < timeout => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Ends a process group.
fn end(group: i32) {
    if let Some(group) = rustix::process::Pid::from_raw(group) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
