//! The only code that knows how tools are made and called.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_runtime::ports::{Tool, ToolContext, ToolInput, ToolOutput};
use posse_sandbox::protected::FileProtection;
use posse_sandbox::workspace::Workspace;
use posse_tools::files::toolset;
use posse_tools::skill::SkillCatalog;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A workspace `root` inside a directory that also has a file the tools must never reach.
pub struct Place {
    pub outside: tempfile::TempDir,
    pub root: PathBuf,
}

pub const SECRET: &str = "the secret outside";

impl Place {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(outside.path().join("secret.txt"), SECRET).unwrap();
        let place = Self { outside, root };
        for (path, content) in files {
            place.put(path, content);
        }
        place
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.root.join(path)).unwrap()).unwrap()
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    /// Every name below the root, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                names.push(entry.path().strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned());
            }
        }
        names.sort();
        names
    }

    pub fn task(&self) -> Task {
        self.task_with(&[]).0
    }

    pub fn task_with(&self, roots: &[PathBuf]) -> (Task, Vec<String>) {
        let workspace = Workspace::open(&self.root).unwrap();
        let (skills, warnings) = SkillCatalog::load(&workspace, roots, posse_definitions::matter);
        (Task::new(toolset(workspace, skills)), warnings)
    }
}

/// The tools of one task.
pub struct Task {
    pub tools: Vec<Arc<dyn Tool>>,
    pub room: usize,
    pub cancel: CancellationToken,
    pub grant: Grant,
    runtime: tokio::runtime::Runtime,
}

impl Task {
    fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let grant = Grant::root([], 0);
        Self { tools, room: 50_000, cancel: CancellationToken::new(), grant, runtime }
    }

    pub fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.call_as("test", tool, arguments)
    }

    /// A call by one of several tasks that share these tools.
    pub fn call_as(&self, session: &str, tool: &str, arguments: Value) -> ToolOutput {
        let tool = self.tools.iter().find(|t| t.spec().name == tool).expect("the tool exists");
        let context = ToolContext {
            task: TaskId::root(session),
            grant: Arc::new(self.grant.clone()),
            cancel: self.cancel.clone(),
            time_left: Duration::from_secs(60),
            output_bytes_max: self.room,
            run: None,
            fence: None,
        };
        let input = ToolInput {
            key: CallKey { turn: 1, index: 0 },
            arguments: &arguments.to_string(),
            idempotency_key: "key",
            context: &context,
        };
        self.runtime.block_on(tool.call(input))
    }

    #[track_caller]
    pub fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments);
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    #[track_caller]
    pub fn refused(&self, tool: &str, arguments: Value, why: &str) -> String {
        let output = self.call(tool, arguments);
        assert!(output.is_error, "was not refused: {}", output.text);
        assert!(output.changed.is_empty());
        assert!(output.text.contains(why), "expected `{why}` in: {}", output.text);
        output.text
    }
}

/// The tools for a directory that exists already.
pub fn task_in(root: &Path) -> Task {
    task_without(root, &[])
}

/// The same where the operator opened protected names.
pub fn task_with(root: &Path, protection: &FileProtection) -> Task {
    Task::new(toolset(Workspace::open_with(root, &[], protection).unwrap(), SkillCatalog::default()))
}

/// The same where some places are closed.
pub fn task_without(root: &Path, closed: &[PathBuf]) -> Task {
    Task::new(toolset(Workspace::open_without(root, closed).unwrap(), SkillCatalog::default()))
}
