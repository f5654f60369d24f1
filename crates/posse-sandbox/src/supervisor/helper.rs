//! The helper process: one per call, single-threaded, a few megabytes. It starts the command, keeps the two ends of
//! its output, and lets nothing survive: neither the command, nor the runtime if that dies.
//!
//! Descriptor 0 is the control socket, 1 is what becomes the command's standard input, 2 what becomes its standard output if that is
//! not kept here. The end of file on the control socket means that nobody waits any more. `PR_SET_PDEATHSIG` would be simpler and is wrong: it fires when the
//! *thread* that started the helper ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitStatus};

use super::handover;
use super::kept_bytes::KeptBytes;
use super::tree::{self, ChildWait};
use crate::apply::{NOT_CONFINED, SandboxWorkspace};
use crate::bubblewrap::{self, CONFINE};
use crate::confinement::ProcessConfinement;
use crate::set_aside::SetAside;

use super::{
    CANCEL, CommandEnd, CommandStop, DRAIN, GRACE, HEAD_MAX, HelperPlan, LOST, QUIET, ReportHeader,
    StreamCounts, StreamMode, TAIL_MAX,
};

const CONTROL: RawFd = 0;
const COMMAND_STDIN: RawFd = 1;
/// Standard output of an attached command; unused otherwise.
const COMMAND_STDOUT: RawFd = 2;
/// Time to wait for killed processes before looking for more.
const REAP_TIME: Duration = Duration::from_millis(10);
/// Exit code of shells for a program that cannot be run.
const NOT_RUN: i32 = 126;

/// Entry point of the `posse` binary as a helper: the first argument selects the mode, the rest is the command.
/// Call it before anything else, above all before a thread starts.
pub fn supervise_main(mut arguments: impl Iterator<Item = OsString>) -> ! {
    if arguments.next().unwrap_or_default() == CONFINE {
        let why = confine(arguments);
        // It goes where the command's own messages would.
        let _ = writeln!(io::stderr(), "{why}");
        std::process::exit(NOT_RUN);
    }
    // Without a report the runtime knows that the helper failed and cleans up itself.
    std::process::exit(i32::from(supervise(arguments).is_err()))
}

fn supervise(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    isolate()?;
    let plan = handover::receive(control())?;
    let program = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let begun = Instant::now();
    let signals = child_signals()?;
    let (streams, started) = start(&plan, program, arguments.collect());
    let StartedChild { child, aside } = match started {
        Ok(started) => started,
        Err(end) => return report(ReportHeader { end, ..ReportHeader::default() }, streams),
    };
    let mut watch =
        HelperWatch { plan: &plan, child, signals, streams, end: None, children: ChildWait::Some };
    let why = watch.until_over(begun);
    // Also when watching failed: whatever happens, nothing is left behind.
    let ended = watch.end_all();
    // Nothing of the command runs any more, and this happens also if nobody waits for it.
    let set_aside = aside.map(|aside| aside.undo()).unwrap_or_default();
    let why = why?;
    let header = ReportHeader {
        end: watch.end.unwrap_or(CommandEnd::Unknown),
        stop: match why {
            WakeReason::Ended => None,
            WakeReason::Stopped(stop) => Some(stop),
            WakeReason::Abandoned => return Ok(()),
        },
        duration_ms: begun.elapsed().as_millis() as u64,
        stopped: ended.found.iter().filter(|process| process.pid != child.as_raw_nonzero().get()).count()
            as u32,
        survivors: ended.survivors,
        set_aside,
        helper_peak_kb: peak_kb(),
        ..ReportHeader::default()
    };
    report(header, watch.streams)
}

fn control() -> BorrowedFd<'static> {
    // SAFETY: the runtime starts us with this descriptor open, and nothing closes it before the report.
    unsafe { BorrowedFd::borrow_raw(CONTROL) }
}

/// Leaves everything of the runtime behind but the two descriptors it was given.
fn isolate() -> io::Result<()> {
    // SAFETY: only plain descriptors of this process are closed, and nothing here has opened one yet.
    if unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Fails only if we lead a group already, which is as good.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The command runs as the same user and must not be able to trace or read its supervisor.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// A descriptor that becomes readable when a child has ended.
fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by `sigemptyset` before use; the descriptor is new and owned by nobody else.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        // If the runtime's parent ignored this signal, the kernel would reap our children behind our back.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

struct StartedChild {
    child: Pid,
    /// Renamed files to restore when the command has ended.
    aside: Option<SetAside>,
}

fn start(
    plan: &HelperPlan,
    program: OsString,
    arguments: Vec<OsString>,
) -> (Vec<CapturedStream>, Result<StartedChild, CommandEnd>) {
    let mut streams = Vec::new();
    let started = command(plan, program, arguments).map_err(|why| CommandEnd::Refused { why }).and_then(
        |(command, aside)| {
            let child = spawn(plan, command, &mut streams).map_err(not_started)?;
            Ok(StartedChild { child, aside })
        },
    );
    (streams, started)
}

fn not_started(error: io::Error) -> CommandEnd {
    match error.raw_os_error() {
        Some(NOT_CONFINED) => CommandEnd::Refused { why: "the kernel did not accept the sandbox".to_owned() },
        errno => CommandEnd::NotStarted { errno: errno.unwrap_or(0) },
    }
}

/// Builds the process to start: the confined command, or bubblewrap with this program inside.
fn command(
    plan: &HelperPlan,
    program: OsString,
    arguments: Vec<OsString>,
) -> Result<(Command, Option<SetAside>), String> {
    let confinement = &plan.confinement;
    if let Some(walls) = &confinement.walls
        && let Some(bubblewrap) = &walls.bubblewrap
    {
        let helper = std::fs::read_link("/proc/self/exe").map_err(|cause| cause.to_string())?;
        let here = SandboxWorkspace::current()?;
        let (view, inside) = bubblewrap::arguments(confinement, walls, &here, &helper)?;
        let inside = handover::inherited(&inside).map_err(|cause| cause.to_string())?;
        let mut command = Command::new(bubblewrap);
        command.args(view).arg(inside).arg(program).args(arguments);
        return Ok((command, SetAside::of(walls, here)));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    hold(&mut command, confinement)?;
    Ok((command, None))
}

fn hold(command: &mut Command, confinement: &ProcessConfinement) -> Result<(), String> {
    let fence = confinement.fence()?;
    // SAFETY: it makes only async-signal-safe system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || fence.apply());
    }
    Ok(())
}

/// Inside of the name spaces: becomes the command. Returns, with the reason, only if it could not.
fn confine(mut arguments: impl Iterator<Item = OsString>) -> String {
    let confined =
        handover::inherit(&arguments.next().unwrap_or_default()).map_err(|cause| cause.to_string());
    let mut command = Command::new(arguments.next().unwrap_or_default());
    let held = confined.and_then(|confinement| hold(command.args(arguments), &confinement));
    if let Err(why) = held {
        return format!("refused: {why}. The command was not run");
    }
    match not_started(command.exec()) {
        CommandEnd::Refused { why } => format!("refused: {why}. The command was not run"),
        CommandEnd::NotStarted { errno } => {
            format!("the command could not be started: {}", io::Error::from_raw_os_error(errno))
        }
        CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } | CommandEnd::Unknown => {
            "the command could not be started".to_owned()
        }
    }
}

fn spawn(plan: &HelperPlan, mut command: Command, streams: &mut Vec<CapturedStream>) -> io::Result<Pid> {
    // SAFETY: the runtime starts us with this descriptor open, and this is its only owner.
    let stdin = unsafe { OwnedFd::from_raw_fd(COMMAND_STDIN) };
    let mut kept = || {
        let (reader, writer) = io::pipe()?;
        streams.push(CapturedStream::new(reader.into())?);
        io::Result::Ok(OwnedFd::from(writer))
    };
    let (out, err) = match plan.streams {
        StreamMode::Merged => {
            let writer = kept()?;
            (writer.try_clone()?, writer)
        }
        StreamMode::Separate => (kept()?, kept()?),
        // SAFETY: as above.
        StreamMode::Attached => (unsafe { OwnedFd::from_raw_fd(COMMAND_STDOUT) }, kept()?),
    };
    command.stdin(Stdio::from(stdin)).stdout(out).stderr(err).process_group(0);
    // SAFETY: it makes only async-signal-safe system calls and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            default_signals();
            Ok(())
        });
    }
    let child = command.spawn()?;
    Pid::from_raw(child.id() as i32).ok_or_else(|| io::ErrorKind::Other.into())
}

/// The command gets a shell's usual signals, whatever the runtime was started with.
fn default_signals() {
    // SAFETY: plain system calls on an initialised set.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        for signal in [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGPIPE,
            libc::SIGCHLD,
            libc::SIGXFSZ,
        ] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

struct CapturedStream {
    /// `None` after its end.
    pipe: Option<File>,
    kept: KeptBytes,
    last_byte: Instant,
}

impl CapturedStream {
    fn new(pipe: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        let kept = KeptBytes::new(HEAD_MAX, TAIL_MAX);
        Ok(Self { pipe: Some(File::from(pipe)), kept, last_byte: Instant::now() })
    }

    /// One read. Returns whether there may be more.
    fn read(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut buffer = [0; 64 * 1024];
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(n) => {
                self.kept.push(&buffer[..n]);
                self.last_byte = Instant::now();
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.pipe = None,
        }
        false
    }
}

enum WakeReason {
    Ended,
    Stopped(CommandStop),
    /// The runtime is gone.
    Abandoned,
}

enum HelperStage {
    Running {
        until: Instant,
    },
    /// The command was asked to end.
    Ending {
        until: Instant,
        stop: CommandStop,
    },
    /// The command ended; what it started may still be writing.
    Draining {
        until: Instant,
    },
}

#[derive(PartialEq, Eq)]
enum ControlSignal {
    Quiet,
    /// The lease is still held.
    Beat,
    Stop,
    /// The lease was lost.
    Lost,
    Gone,
}

struct HelperWatch<'a> {
    plan: &'a HelperPlan,
    child: Pid,
    signals: OwnedFd,
    streams: Vec<CapturedStream>,
    end: Option<CommandEnd>,
    children: ChildWait,
}

impl HelperWatch<'_> {
    fn until_over(&mut self, begun: Instant) -> io::Result<WakeReason> {
        let mut stage = HelperStage::Running { until: begun + Duration::from_millis(self.plan.timeout_ms) };
        let patience = self.plan.patience_ms.map(Duration::from_millis);
        let mut heard = begun;
        loop {
            let lost_at = patience.map(|patience| heard + patience);
            let wake_at = self.wake_at(&stage);
            let control = self.wait(lost_at.map_or(wake_at, |lost_at| lost_at.min(wake_at)))?;
            let now = Instant::now();
            match control {
                ControlSignal::Gone => return Ok(WakeReason::Abandoned),
                // No time for it to clean up: that would be to write.
                ControlSignal::Lost => return Ok(WakeReason::Stopped(CommandStop::Lost)),
                ControlSignal::Beat => heard = now,
                ControlSignal::Quiet | ControlSignal::Stop
                    if lost_at.is_some_and(|lost_at| now >= lost_at) =>
                {
                    return Ok(WakeReason::Stopped(CommandStop::Lost));
                }
                ControlSignal::Quiet | ControlSignal::Stop => {}
            }
            stage = match stage {
                HelperStage::Running { .. } if self.end.is_some() => {
                    HelperStage::Draining { until: now + DRAIN }
                }
                HelperStage::Running { .. } if control == ControlSignal::Stop => {
                    self.ask_to_end(CommandStop::Cancelled)
                }
                HelperStage::Running { until } if now >= until => self.ask_to_end(CommandStop::TimedOut),
                HelperStage::Ending { until, stop } if self.end.is_some() || now >= until => {
                    return Ok(WakeReason::Stopped(stop));
                }
                HelperStage::Draining { .. }
                    if control == ControlSignal::Stop || self.is_drained(now, &stage) =>
                {
                    return Ok(WakeReason::Ended);
                }
                stage => stage,
            };
        }
    }

    fn ask_to_end(&self, stop: CommandStop) -> HelperStage {
        if self.plan.confinement.is_wrapped() {
            // What built the name spaces would end at once, and take the command with it.
            for process in tree::below(&tree::processes(), self.child.as_raw_nonzero().get(), 2) {
                process.signal(Signal::TERM);
            }
        } else {
            // The group may be gone already; then the next look at the children says so.
            let _ = rustix::process::kill_process_group(self.child, Signal::TERM);
        }
        HelperStage::Ending { until: Instant::now() + GRACE, stop }
    }

    fn quiet_since(&self) -> Option<Instant> {
        self.streams.iter().filter(|stream| stream.pipe.is_some()).map(|stream| stream.last_byte).max()
    }

    fn wake_at(&self, stage: &HelperStage) -> Instant {
        match stage {
            HelperStage::Running { until } | HelperStage::Ending { until, .. } => *until,
            HelperStage::Draining { until } => match self.quiet_since() {
                Some(since) => (*until).min(since.max(*until - DRAIN) + QUIET),
                None => Instant::now(),
            },
        }
    }

    /// Everyone closed the pipe, nobody is left to write to it, or whoever holds it has nothing to say.
    fn is_drained(&self, now: Instant, stage: &HelperStage) -> bool {
        self.quiet_since().is_none() || self.children == ChildWait::None || now >= self.wake_at(stage)
    }

    /// Waits for something to happen, at most until `deadline`, and takes it in.
    fn wait(&mut self, deadline: Instant) -> io::Result<ControlSignal> {
        let control = control();
        let mut watched = vec![control, self.signals.as_fd()];
        watched
            .extend(self.streams.iter().filter_map(|stream| stream.pipe.as_ref()).map(|pipe| pipe.as_fd()));
        let ready = poll(&watched, deadline)?;
        for stream in &mut self.streams {
            stream.read();
        }
        if ready[1] {
            self.reap();
        }
        if ready[0] { read_control(control) } else { Ok(ControlSignal::Quiet) }
    }

    fn reap(&mut self) {
        // The number of signals means nothing: several ends can come as one.
        let mut discarded = [0u8; 1024];
        while rustix::io::read(&self.signals, &mut discarded).is_ok_and(|n| n == discarded.len()) {}
        let (child, end) = (self.child, &mut self.end);
        self.children = tree::reap(|pid, status| {
            if pid == child {
                *end = Some(end_of(status));
            }
        });
    }

    fn reap_by(&mut self, deadline: Instant) -> ChildWait {
        self.reap();
        while self.children == ChildWait::Some && Instant::now() < deadline {
            // Failing to wait makes this a busy wait until the deadline, no more.
            let _ = poll(&[self.signals.as_fd()], deadline);
            self.reap();
        }
        self.children
    }

    fn end_all(&mut self) -> tree::EndedTree {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        self.reap();
        let scan = || tree::descendants(&tree::processes(), &[me]);
        let ended = if self.children == ChildWait::None {
            tree::EndedTree::default()
        } else {
            tree::end(scan, || self.reap_by(Instant::now() + REAP_TIME) == ChildWait::None)
        };
        for stream in &mut self.streams {
            // The writers are dead, so what is left is at most a pipe full; the bound is for a writer out of reach.
            let mut reads = 0;
            while reads < 64 && stream.read() {
                reads += 1;
            }
        }
        ended
    }
}

fn end_of(status: WaitStatus) -> CommandEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandEnd::Exited { code },
        (None, Some(signal)) => CommandEnd::Signalled { signal },
        (None, None) => CommandEnd::Unknown,
    }
}

fn read_control(control: BorrowedFd<'_>) -> io::Result<ControlSignal> {
    let mut heard = [0u8; 16];
    match rustix::io::read(control, &mut heard) {
        Ok(0) => Ok(ControlSignal::Gone),
        Ok(n) if heard[..n].contains(&LOST[0]) => Ok(ControlSignal::Lost),
        Ok(n) if heard[..n].contains(&CANCEL[0]) => Ok(ControlSignal::Stop),
        Ok(_) => Ok(ControlSignal::Beat),
        Err(rustix::io::Errno::INTR) => Ok(ControlSignal::Quiet),
        Err(_) => Ok(ControlSignal::Gone),
    }
}

/// Returns which descriptors are readable or at their end.
fn poll(watched: &[BorrowedFd<'_>], deadline: Instant) -> io::Result<Vec<bool>> {
    let mut entries: Vec<PollFd<'_>> = watched.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let left = deadline.saturating_duration_since(Instant::now());
    match rustix::event::poll(&mut entries, Timespec::try_from(left).ok().as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(entries.iter().map(|entry| !entry.revents().is_empty()).collect())
}

fn report(mut header: ReportHeader, streams: Vec<CapturedStream>) -> io::Result<()> {
    let mut body = Vec::new();
    let mut counts = Vec::new();
    for stream in streams {
        let total = stream.kept.total();
        let (head, tail) = stream.kept.into_parts();
        counts.push(StreamCounts { total, head: head.len(), tail: tail.len() });
        body.extend(head);
        body.extend(tail);
    }
    header.streams = counts;
    let header = serde_json::to_vec(&header)?;
    // SAFETY: nothing uses the control socket after this.
    let mut control = File::from(unsafe { OwnedFd::from_raw_fd(CONTROL) });
    control.write_all(&(header.len() as u32).to_le_bytes())?;
    control.write_all(&header)?;
    control.write_all(&body)
}

/// The most memory this process ever had. `getrusage` would count what the runtime had before `exec`.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}
