//! What the sandbox adds to a call of `bash`: the same command with and without tier T1, in turn, in a workspace with a
//! few hundred files. Fails above its bound. Run it in release mode: `cargo xtask bench` does. On a machine that is busy
//! otherwise every step waits; `chrt -f 50` in front of it lets it go first.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_runtime::ports::{Tool, ToolContext, ToolInput};
use posse_sandbox::launch::{CommandEnvironment, ProcessLauncher};
use posse_sandbox::supervisor::{ARGUMENT, Supervisor, WorkDirectory, supervise_main};
use posse_sandbox::{Sandbox, SandboxSettings, SandboxWish};
use posse_tools::bash::BashTool;
use tokio_util::sync::CancellationToken;

/// Odd, so that the median is one of the runs.
const RUNS: usize = 201;
const ADDED_MAX: Duration = Duration::from_millis(2);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == ARGUMENT) {
        supervise_main(arguments);
    }
    let workspace = std::env::temp_dir().join(format!("posse-sandbox-cost-{}", std::process::id()));
    fill(&workspace);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (without, with) = runtime.block_on(measure(&workspace));
    // Only a bench's own files.
    let _ = std::fs::remove_dir_all(&workspace);
    let added = with.time.saturating_sub(without.time);
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let verdict = if added <= ADDED_MAX { "ok" } else { "FAILED" };
    eprintln!(
        "{verdict:<8}{:6.2} ms (at most {})  what the sandbox (t1) adds to `bash`: {:.2} ms without, {:.2} ms with; of the processor: \
         {:.2} ms without, {:.2} ms with; medians of {RUNS}",
        milliseconds(added),
        ADDED_MAX.as_millis(),
        milliseconds(without.time),
        milliseconds(with.time),
        milliseconds(without.worked),
        milliseconds(with.worked),
    );
    if added <= ADDED_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// As large as a small project: what is looked through and opened before a command starts depends on it.
fn fill(workspace: &Path) {
    for directory in [".git/hooks", ".github/workflows", "docs", "tests/fixtures"].map(str::to_owned) {
        make(&workspace.join(directory), 3);
    }
    for module in 0..30 {
        make(&workspace.join(format!("src/module{module}")), 8);
    }
    make(workspace, 12);
    std::fs::write(workspace.join(".env"), "x").expect("a file");
}

fn make(directory: &Path, files: u32) {
    std::fs::create_dir_all(directory).expect("a directory");
    for file in 0..files {
        std::fs::write(directory.join(format!("file{file}.rs")), "fn main() {}\n").expect("a file");
    }
}

/// Of one call, or the medians of many.
#[derive(Clone, Copy)]
struct Cost {
    time: Duration,
    /// Of all processors, by this process and those it waited for.
    worked: Duration,
}

async fn measure(workspace: &Path) -> (Cost, Cost) {
    let settings = |wish| SandboxSettings {
        wish,
        home: std::env::var_os("HOME").map(Into::into),
        search: std::env::var_os("PATH").unwrap_or_default(),
        ..SandboxSettings::default()
    };
    let tool = |wish| {
        let all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        BashTool::new(ProcessLauncher {
            supervisor: Supervisor::same_program(),
            directory: WorkDirectory::Path(workspace.to_owned()),
            environment: CommandEnvironment::new(all, Vec::new(), Vec::new()),
            sandbox: Sandbox::new(settings(wish)),
            is_told: Arc::default(),
        })
    };
    let (off, held) = (tool(SandboxWish::Off), tool(SandboxWish::T1));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    call(&held).await;
    for _ in 0..RUNS {
        without.push(call(&off).await);
        with.push(call(&held).await);
    }
    (median(without), median(with))
}

async fn call(bash: &BashTool) -> Cost {
    let context = ToolContext {
        task: TaskId::root("cost"),
        grant: Arc::new(Grant::root([], 0)),
        cancel: CancellationToken::new(),
        time_left: Duration::from_secs(60),
        output_bytes_max: 50_000,
        run: None,
        fence: None,
    };
    let key = CallKey { turn: 1, index: 0 };
    let (began, before) = (Instant::now(), worked());
    let input =
        ToolInput { key, arguments: r#"{"command":"true"}"#, idempotency_key: "cost", context: &context };
    let output = bash.call(input).await;
    assert!(!output.is_error, "{}", output.text);
    Cost { time: began.elapsed(), worked: worked().saturating_sub(before) }
}

fn worked() -> Duration {
    let used = |who| {
        // SAFETY: the kernel fills in the structure.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut used);
            used
        };
        let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
        time(used.ru_utime) + time(used.ru_stime)
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

fn median(costs: Vec<Cost>) -> Cost {
    let middle = |of: fn(&Cost) -> Duration| {
        let mut times: Vec<Duration> = costs.iter().map(of).collect();
        times.sort();
        times[times.len() / 2]
    };
    Cost { time: middle(|cost| cost.time), worked: middle(|cost| cost.worked) }
}
