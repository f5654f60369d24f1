//! Runs a command so that nothing of it survives: not a background child, not a daemon that left its session, not when
//! the runtime is killed. The work is done by a helper process per call (`helper`); this side starts it and waits.
//!
//! The helper is the same binary started again with a hidden argument, so nothing has to be installed beside it.

mod handover;
mod helper;
mod kept_bytes;
mod tree;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::leases::{LeaseGuard, LeaseHolding};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

pub use self::helper::supervise_main;
use crate::confinement::ProcessConfinement;

/// Bytes kept of the beginning and of the end of a stream: more than a model can use, little enough to hold for
/// hundreds of calls at once.
const HEAD_MAX: usize = 64 * 1024;
const TAIL_MAX: usize = 64 * 1024;
/// Time to clean up after a command was asked to end.
const GRACE: Duration = Duration::from_millis(500);
/// Time for background children that hold the output to write after the command ended,
const DRAIN: Duration = Duration::from_secs(2);
/// and how long they may be silent meanwhile.
const QUIET: Duration = Duration::from_millis(200);
/// Extra time before a helper counts as lost.
const SLACK: Duration = Duration::from_secs(2);
/// No wait is without an end, whatever a caller says.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The helper writes a few hundred bytes of header and two streams.
const REPORT_MAX: u64 = 64 * 1024 + 2 * (HEAD_MAX + TAIL_MAX) as u64;

/// Environment variable that marks every process of a task, for the sweep after a crash.
pub const TASK_MARK: &str = "POSSE_TASK";
/// Environment variable with the epoch of the driver that started the process. A sweep spares the processes of later epochs.
const EPOCH_MARK: &str = "POSSE_EPOCH";
/// Environment variable that marks every process of one call, for the case that its helper is lost.
const CALL_MARK: &str = "POSSE_CALL";

/// Command line that starts the helper.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// An absolute path; `/proc/self/exe` for a program that calls [`supervise_main`] itself.
    pub program: PathBuf,
    /// Hidden arguments that make the program call [`supervise_main`] with the arguments after them.
    pub args: Vec<OsString>,
}

/// One command to run. It cannot be printed: its environment and its input may hold secrets.
pub struct CommandJob {
    pub task: TaskId,
    pub program: OsString,
    pub args: Vec<OsString>,
    pub directory: WorkDirectory,
    /// All of the command's environment, apart from our marks.
    pub environment: Vec<(OsString, OsString)>,
    pub stdin: Vec<u8>,
    pub streams: StreamMode,
    pub timeout: Duration,
    pub confinement: ProcessConfinement,
    /// Lease check for writes of the command, where others could come to write the same files.
    pub pulse: Option<LeasePulse>,
}

impl CommandJob {
    /// The epoch of the driver that runs the job; 0 outside of a task.
    fn epoch(&self) -> u64 {
        self.pulse.as_ref().map_or(0, |pulse| pulse.0.epoch())
    }
}

/// The signs of life that a helper gets. Without one for half as long as a holder of leases may be silent, it ends the command: this
/// process may be stopped, and somebody else holds by then what the command writes. What counts as a sign is at most a quarter of
/// that old, so the command is ended before the lease is.
#[derive(Clone)]
pub struct LeasePulse(Arc<LeaseGuard>);

impl LeasePulse {
    /// Creates a pulse from a lease guard.
    pub fn of(fence: Arc<LeaseGuard>) -> Self {
        Self(fence)
    }

    fn patience(&self) -> Duration {
        self.0.silence() / 2
    }

    /// Returns the interval of lease checks.
    fn interval(&self) -> Duration {
        (self.0.silence() / 16).min(Duration::from_secs(1))
    }

    /// Waits for the next check and returns the message for the helper.
    async fn next(&self) -> Option<&'static [u8]> {
        tokio::time::sleep(self.interval()).await;
        match self.0.holding().await {
            LeaseHolding::Held => Some(BEAT),
            LeaseHolding::Doubtful => None,
            LeaseHolding::Lost => Some(LOST),
        }
    }
}

/// Messages on a helper's control socket.
const CANCEL: &[u8] = b"k";
const BEAT: &[u8] = b"b";
const LOST: &[u8] = b"l";

/// Working directory of a command.
#[derive(Debug, Clone)]
pub enum WorkDirectory {
    Path(PathBuf),
    /// An open directory: it stays the same one when somebody renames or replaces its path.
    Open(Arc<OwnedFd>),
}

impl WorkDirectory {
    /// Resolves the current path of the directory.
    pub fn place(&self) -> io::Result<PathBuf> {
        match self {
            WorkDirectory::Path(path) => std::fs::canonicalize(path),
            WorkDirectory::Open(_) => std::fs::read_link(self.path()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        match self {
            WorkDirectory::Path(path) => path.clone(),
            WorkDirectory::Open(fd) => PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())),
        }
    }
}

/// Handling of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamMode {
    /// Standard output and standard error are one stream in order of arrival, as on a terminal.
    Merged,
    Separate,
    /// The starter talks with the command; only standard error is kept, as `out` of the report.
    Attached,
}

/// End and output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReport {
    pub end: CommandEnd,
    /// Why we ended it, if we did.
    pub stop: Option<CommandStop>,
    pub out: StreamOutput,
    /// Empty for merged streams.
    pub err: StreamOutput,
    pub duration: Duration,
    /// Processes, apart from the command itself, that were still there and were killed.
    pub stopped: u32,
    /// Processes that could not be killed.
    pub survivors: u32,
    /// Protected files that were made meanwhile at the top of the workspace, by the names they have got instead.
    pub set_aside: Vec<String>,
    /// Protected files that were made meanwhile further down, where the kernel cannot be told about names.
    pub appeared: Vec<String>,
    /// The most memory the helper had.
    pub helper_peak_kb: u64,
}

/// Ways in which a command can end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    /// The program could not be started.
    NotStarted {
        errno: i32,
    },
    /// The kernel did not hold it to what it may do, so it was not started.
    Refused {
        why: String,
    },
    /// It could not be ended, so there is no status.
    #[default]
    Unknown,
}

/// Reasons why we ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandStop {
    TimedOut,
    Cancelled,
    /// The task may not write any more where the command could.
    Lost,
}

/// The two ends of a stream. Nothing is missing between them if their lengths add up to `total`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamOutput {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    pub total: u64,
}

/// Instructions for the helper besides the command, sent as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct HelperPlan {
    timeout_ms: u64,
    /// Longest silence of the pulse, if there is one.
    patience_ms: Option<u64>,
    streams: StreamMode,
    confinement: ProcessConfinement,
}

/// The first part of the helper's report; the kept bytes follow.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ReportHeader {
    end: CommandEnd,
    stop: Option<CommandStop>,
    streams: Vec<StreamCounts>,
    duration_ms: u64,
    stopped: u32,
    survivors: u32,
    set_aside: Vec<String>,
    helper_peak_kb: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct StreamCounts {
    total: u64,
    head: usize,
    tail: usize,
}

/// The first argument of a helper that finds its plan on its control socket.
const SUPERVISE: &str = "supervise";

/// The hidden first argument of a program that is its own supervisor.
pub const ARGUMENT: &str = "__supervise";

impl Supervisor {
    /// The running program again. Its `main` begins with: if the first argument is [`ARGUMENT`], call
    /// [`supervise_main`] with the arguments after it.
    pub fn same_program() -> Self {
        // Not the path of the binary: that may be another one after an upgrade.
        Self { program: "/proc/self/exe".into(), args: vec![ARGUMENT.into()] }
    }

    /// Runs a command to its end, its timeout or the cancellation, whichever is first; then nothing of it is left.
    /// Dropping the future ends everything too, only that nobody learns how it went.
    pub async fn run(&self, job: CommandJob, cancel: &CancellationToken) -> Result<CommandReport> {
        self.begin_run(job)?.finish(cancel).await
    }

    /// Starts a command of [`Supervisor::run`]. An error means that nothing of it was run.
    pub(crate) fn begin_run(&self, job: CommandJob) -> Result<RunningCommand> {
        let failed = |error| not_started(&self.program, error);
        let ends = CommandEnds { stdin: command_stdin(&job.stdin).map_err(failed)?, stdout: Stdio::null() };
        self.begin(job, ends).map_err(failed)
    }

    /// Starts a command that one talks with through its standard input and output. It lasts as a command of [`Supervisor::run`]
    /// does: to its end, its timeout or until the [`Started`] is cancelled or dropped.
    pub(crate) fn attach(&self, mut job: CommandJob) -> Result<(CommandPipes, RunningCommand)> {
        let attach = || {
            let (stdin, to_command) = io::pipe()?;
            let (from_command, stdout) = io::pipe()?;
            job.streams = StreamMode::Attached;
            let running = self.begin(job, CommandEnds { stdin: stdin.into(), stdout: stdout.into() })?;
            let to_command = pipe::Sender::from_owned_fd(to_command.into())?;
            let from_command = pipe::Receiver::from_owned_fd(from_command.into())?;
            io::Result::Ok((CommandPipes { to_command, from_command }, running))
        };
        attach().map_err(|error| not_started(&self.program, error))
    }

    fn begin(&self, mut job: CommandJob, ends: CommandEnds) -> io::Result<RunningCommand> {
        job.timeout = job.timeout.min(TIMEOUT_MAX);
        let call = call_mark();
        let (child, control) = self.start(&job, &call, ends)?;
        let patience = job.timeout + GRACE + DRAIN + tree::KILL_TIME + SLACK;
        Ok(RunningCommand { helper: HelperProcess { child, call }, control, patience, pulse: job.pulse })
    }

    fn start(&self, job: &CommandJob, call: &str, ends: CommandEnds) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let plan = HelperPlan {
            timeout_ms: u64::try_from(job.timeout.as_millis()).unwrap_or(u64::MAX),
            patience_ms: job.pulse.as_ref().map(|pulse| pulse.patience().as_millis() as u64),
            streams: job.streams,
            confinement: job.confinement.for_helper(),
        };
        handover::send(&ours, &plan, &job.confinement.rulesets)?;
        let helper = Command::new(&self.program)
            .args(&self.args)
            .arg(SUPERVISE)
            .arg(&job.program)
            .args(&job.args)
            .current_dir(job.directory.path())
            .env_clear()
            .envs(job.environment.iter().map(|(name, value)| (name, value)))
            .env(TASK_MARK, job.task.as_str())
            .env(EPOCH_MARK, job.epoch().to_string())
            .env(CALL_MARK, call)
            .stdin(OwnedFd::from(theirs))
            .stdout(ends.stdin)
            .stderr(ends.stdout)
            .spawn()?;
        Ok((helper, UnixStream::from_std(ours)?))
    }
}

/// Standard input of the command, and its standard output unless that is kept. The helper has them as 1 and 2.
struct CommandEnds {
    stdin: Stdio,
    stdout: Stdio,
}

/// Our ends of what a command reads and writes.
#[derive(Debug)]
pub struct CommandPipes {
    pub to_command: pipe::Sender,
    pub from_command: pipe::Receiver,
}

/// A command under way. Nothing of it is left when this is finished or dropped.
pub(crate) struct RunningCommand {
    helper: HelperProcess,
    control: UnixStream,
    patience: Duration,
    pulse: Option<LeasePulse>,
}

impl RunningCommand {
    /// Waits for the end of the command, or ends it when it is cancelled. An error means that the helper was lost, so nobody
    /// knows how far the command came.
    pub async fn finish(mut self, cancel: &CancellationToken) -> Result<CommandReport> {
        let Some(bytes) = converse(self.control, self.patience, cancel, self.pulse.as_ref()).await else {
            return Err(self.helper.lost(&localized!("supervisor-silent")).await);
        };
        let Some(report) = CommandReport::parse(&bytes) else {
            return Err(self.helper.lost(&localized!("supervisor-without-report")).await);
        };
        // It has nothing left to do but exit; if it does not, dropping it makes sure of that.
        let _ = tokio::time::timeout(SLACK, self.helper.child.wait()).await;
        Ok(report)
    }
}

/// Ends the processes that drivers of a task before this epoch left behind, and returns how many there were. The caller has
/// claimed the task at `epoch`, so these drivers are dead or fenced. Processes of later epochs are spared: by now another
/// driver may be at work. It reads `/proc` and may take two seconds: not for an async thread.
pub fn sweep(task: &TaskId, epoch: u64) -> u32 {
    let mark = format!("{TASK_MARK}={task}");
    end_matching(|process| {
        let environment = environment(process.pid);
        has_mark(&environment, &mark) && epoch_in(&environment) < epoch
    })
}

/// The epoch that a process is marked with. A missing or unparsable mark counts as 0: the oldest there is.
fn epoch_in(environment: &[u8]) -> u64 {
    let value = |entry: &[u8]| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        (name == EPOCH_MARK).then(|| value.parse().ok())?
    };
    environment.split(|byte| *byte == 0).find_map(value).unwrap_or(0)
}

/// The command's standard input: a file in memory, so that no writer has to be waited for.
fn command_stdin(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(std::fs::File::open("/dev/null")?.into());
    }
    let mut file = std::fs::File::from(rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Waits for the report and passes a cancellation on. `None`: the helper took longer than it possibly can.
async fn converse(
    mut control: UnixStream,
    patience: Duration,
    cancel: &CancellationToken,
    pulse: Option<&LeasePulse>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (reader, mut writer) = control.split();
    let mut reader = reader.take(REPORT_MAX);
    let reading = reader.read_to_end(&mut bytes);
    tokio::pin!(reading);
    let patience = tokio::time::sleep(patience);
    tokio::pin!(patience);
    let mut is_asked = false;
    let next = || async move {
        match pulse {
            Some(pulse) => pulse.next().await,
            None => std::future::pending().await,
        }
    };
    let told = next();
    tokio::pin!(told);
    loop {
        tokio::select! {
            biased;
            // A connection reset is a helper that died: what came before is not a whole report.
            _ = &mut reading => break,
            () = &mut patience => return None,
            () = cancel.cancelled(), if !is_asked => {
                is_asked = true;
                let _ = writer.write_all(CANCEL).await;
                patience.as_mut().reset(tokio::time::Instant::now() + GRACE + tree::KILL_TIME + SLACK);
            }
            word = &mut told => {
                if let Some(word) = word {
                    let _ = writer.write_all(word).await;
                }
                told.set(next());
            }
        }
    }
    Some(bytes)
}

/// A helper under way. When it is dropped its control socket is closed, which makes it end everything.
struct HelperProcess {
    child: Child,
    call: String,
}

impl HelperProcess {
    /// The command may have killed or stopped its supervisor. Then we end by its marks what we can find.
    async fn lost(mut self, how: &LocalizedText) -> Error {
        let session = self.child.id();
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(SLACK, self.child.wait()).await;
        let mark = format!("{CALL_MARK}={}", self.call);
        let is_of_call = move |process: &tree::TreeProcess| {
            session.is_some_and(|session| process.session == session as i32)
                || has_mark(&environment(process.pid), &mark)
        };
        let ended = tokio::task::spawn_blocking(move || end_matching(is_of_call)).await.unwrap_or(0);
        Error::new(ErrorCode::Internal, localized!("supervisor-lost", how, ended))
            .hint(localized!("supervisor-lost-hint"))
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // A stopped helper would not notice that the socket was closed. `id` is `None` once it was reaped.
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id as i32)) {
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
    }
}

/// Ends the processes that match, with everything below them.
fn end_matching(matches: impl Fn(&tree::TreeProcess) -> bool) -> u32 {
    let me = std::process::id() as i32;
    let scan = || -> Vec<tree::TreeProcess> {
        let all = tree::processes();
        let marked: Vec<tree::TreeProcess> = all.iter().filter(|process| matches(process)).copied().collect();
        let roots: Vec<i32> = marked.iter().map(|process| process.pid).collect();
        let below = tree::descendants(&all, &roots);
        let alive = |process: &tree::TreeProcess| process.is_alive() && process.pid != me;
        marked.into_iter().chain(below).filter(alive).collect()
    };
    // These are nobody's children of ours, so looking is all we can do: more than once, because one look can miss some.
    let is_over = || {
        std::thread::sleep(Duration::from_millis(5));
        (0..3).all(|_| scan().is_empty())
    };
    tree::end(scan, is_over).found.len() as u32
}

/// The environment that a process was started with; empty if it cannot be read.
fn environment(pid: i32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

fn has_mark(environment: &[u8], mark: &str) -> bool {
    environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

/// Different for every call of every process on this machine.
fn call_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{}-{}-{nanos}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn not_started(program: &std::path::Path, error: io::Error) -> Error {
    Error::new(ErrorCode::Io, localized!("supervisor-not-started", program = program.display(), error))
        .hint(localized!("supervisor-not-started-hint"))
        .caused_by(error)
}

impl CommandReport {
    /// `None` unless the report is whole.
    fn parse(bytes: &[u8]) -> Option<CommandReport> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (header, mut body) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let header: ReportHeader = serde_json::from_slice(header).ok()?;
        let mut outputs = Vec::new();
        for counts in header.streams.iter().take(2) {
            let (head, rest) = body.split_at_checked(counts.head)?;
            let (tail, rest) = rest.split_at_checked(counts.tail)?;
            outputs.push(StreamOutput { head: head.to_vec(), tail: tail.to_vec(), total: counts.total });
            body = rest;
        }
        let mut outputs = outputs.into_iter();
        Some(CommandReport {
            end: header.end,
            stop: header.stop,
            out: outputs.next().unwrap_or_default(),
            err: outputs.next().unwrap_or_default(),
            duration: Duration::from_millis(header.duration_ms),
            stopped: header.stopped,
            survivors: header.survivors,
            set_aside: header.set_aside,
            // To be found by whoever knows what was there before.
            appeared: Vec::new(),
            helper_peak_kb: header.helper_peak_kb,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cut_off_or_garbled_report_is_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(CommandReport::parse(&bytes), None);
            bytes.splice(0..0, 4u32.to_le_bytes());
            prop_assert_eq!(CommandReport::parse(&bytes), None);
        }
    }
}
