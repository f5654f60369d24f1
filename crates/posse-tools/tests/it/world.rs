//! What the tests share: a workspace, the tools over it, and a view of the processes of a task.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_runtime::ports::{Tool, ToolContext, ToolInput, ToolOutput};
use posse_sandbox::Sandbox;
use posse_sandbox::launch::{CommandEnvironment, ProcessLauncher};
use posse_sandbox::supervisor::{Supervisor, WorkDirectory};
use posse_tools::bash::BashTool;
use tokio_util::sync::CancellationToken;

pub struct World {
    pub dir: tempfile::TempDir,
    pub context: ToolContext,
    pub launch: ProcessLauncher,
}

pub fn supervisor() -> Supervisor {
    Supervisor { program: PathBuf::from(crate::SUPERVISOR), args: Vec::new() }
}

pub fn context(task: &str) -> ToolContext {
    ToolContext {
        task: TaskId::root(task),
        grant: Arc::new(Grant::root([], 0)),
        cancel: CancellationToken::new(),
        time_left: Duration::from_secs(600),
        output_bytes_max: 50_000,
        run: None,
        fence: None,
    }
}

impl World {
    /// `name` marks the task, so it has to differ between tests.
    pub fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let launch = ProcessLauncher {
            supervisor: supervisor(),
            directory: WorkDirectory::Path(dir.path().to_owned()),
            environment: CommandEnvironment::new(environment, vec![], vec![]),
            sandbox: Sandbox::off(),
            is_told: Arc::default(),
        };
        Self { dir, context: context(&format!("{name}-{}", std::process::id())), launch }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub async fn bash(&self, command: &str) -> ToolOutput {
        self.bash_with(serde_json::json!({ "command": command })).await
    }

    pub async fn bash_with(&self, arguments: serde_json::Value) -> ToolOutput {
        self.call(&BashTool::new(self.launch.clone()), &arguments.to_string()).await
    }

    pub async fn call(&self, tool: &dyn Tool, arguments: &str) -> ToolOutput {
        let key = CallKey { turn: 1, index: 0 };
        tool.call(ToolInput { key, arguments, idempotency_key: "key-7", context: &self.context }).await
    }

    /// Living processes that carry the mark of this world's task, their helpers included.
    pub fn alive(&self) -> Vec<i32> {
        alive(self.context.task.as_str())
    }

    pub fn assert_nothing_is_left(&self) {
        let left = self.alive();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Waits until a command has come so far that it made this file.
    pub async fn until_exists(&self, name: &str) {
        let path = self.path().join(name);
        until(|| path.exists()).await;
    }
}

pub fn alive(task: &str) -> Vec<i32> {
    let mark = format!("POSSE_TASK={task}");
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    })
    .collect()
}

/// Tells whether tier T2 can be tested here.
pub fn has_bubblewrap() -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|place| place.join("bwrap").is_file())
}

/// Longer than anything takes on a busy machine; only a test that fails waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until there is something to see.
pub async fn until(condition: impl FnMut() -> bool) {
    assert!(holds_within(PATIENCE, condition).await, "it did not happen in time");
}

pub async fn holds_within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + time;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
}
