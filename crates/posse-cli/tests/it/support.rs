//! A place to run `posse` in, and ways to watch it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use posse_core::journal::Record;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_store::SqliteStore;
use serde_json::Value;

/// Longer than anything takes on a busy machine; only a test that fails waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A home, a workspace and a state directory of one test's own.
pub struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for dir in [place.home(), place.workspace()] {
            fs::create_dir(dir).unwrap();
        }
        place
    }

    /// For commands that do what a command in a sandbox cannot, such as making a file at the top of the workspace.
    pub fn unconfined(self) -> Self {
        self.write("home/.config/posse/config.toml", "[sandbox]\ntier = \"off\"\n");
        self
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Writes a file below the root and returns its path.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The same for a program that can be run.
    pub fn write_program(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A script, as the model reference that plays it.
    pub fn script(&self, text: &str) -> String {
        format!("scripted:{}", self.write("script.yaml", text).display())
    }

    /// `posse` as a person at a terminal has it: a `run` or `chat` that names no mode is one in `auto`. Tests have no
    /// terminal, where it would be `plan`.
    pub fn posse<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut args: Vec<&str> = args.into_iter().collect();
        let is_new = args.first().is_some_and(|command| ["run", "chat"].contains(command));
        if is_new && !args.iter().any(|arg| ["--mode", "--read-only", "--resume"].contains(arg)) {
            args.splice(1..1, ["--mode", "auto"]);
        }
        self.posse_as_is(args)
    }

    /// `posse` with nothing of this process's environment but the path to programs, and exactly these arguments.
    pub fn posse_as_is<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posse"));
        command
            .args(args)
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.home())
            .env("POSSE_STATE", self.state())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Ran {
        Ran::of(self.posse(args))
    }

    pub fn tasks(&self) -> Vec<Value> {
        let ran = self.run(["tasks", "list", "--all", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    }

    /// The records of a task's journal.
    pub fn journal(&self, task: &str) -> Vec<Value> {
        let ran = self.run(["tasks", "show", task, "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json().into_iter().skip(1).collect()
    }

    /// Every task in the store with its records; none if there is no store yet.
    pub fn stored(&self) -> Vec<(TaskRow, Vec<Record>)> {
        let path = self.state().join("posse.db");
        if !path.exists() {
            return Vec::new();
        }
        let store = SqliteStore::open(path).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut tasks = Vec::new();
            for row in store.tasks(u32::MAX).await.unwrap() {
                let records = store.records(&row.id).await.unwrap();
                tasks.push((row, records));
            }
            store.integrity().await.unwrap();
            tasks
        })
    }

    /// Every file below the root that contains this text.
    pub fn files_with(&self, text: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.root().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                } else if contains(&fs::read(entry.path()).unwrap(), text) {
                    found.push(entry.path());
                }
            }
        }
        found
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// What a finished `posse` left.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    /// The exit code, or the negative number of the signal that ended it.
    pub code: i32,
}

impl Ran {
    pub fn of(mut command: Command) -> Self {
        Self::from_output(command.output().unwrap())
    }

    /// For tests that play a provider at the same time.
    pub async fn beside(command: Command) -> Self {
        tokio::task::spawn_blocking(move || Self::of(command)).await.unwrap()
    }

    pub fn from_output(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let ran = Self {
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap()),
        };
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        ran
    }

    /// The lines of standard output, each of them JSON.
    pub fn json(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line} ({e}): {self:?}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The result envelope, which is the last line.
    pub fn envelope(&self) -> Value {
        let last = self.json().pop().unwrap_or_else(|| panic!("no output: {self:?}"));
        assert_eq!(last["type"], "result", "{self:?}");
        last
    }
}

/// A `posse` that is under way. It does not outlive the test.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it in a process group of its own, as a shell does, and reads what it writes.
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (child.stderr.take().unwrap(), stderr.clone());
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                into.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self { child, lines, seen: Vec::new(), stderr, stderr_reader: Some(reader) }
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is not waited for yet, so the id is still its own.
        assert_eq!(unsafe { libc::kill(self.id() as i32, signal) }, 0);
    }

    /// What a terminal does on Ctrl-C: it tells everyone in the foreground.
    pub fn press_ctrl_c(&self) {
        // SAFETY: as above; the group is named after its first process.
        assert_eq!(unsafe { libc::kill(-(self.id() as i32), libc::SIGINT) }, 0);
    }

    /// Reads until a line of JSON satisfies the test.
    pub fn until(&mut self, test: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let value: Value = serde_json::from_str(&line).unwrap();
                    self.seen.push(line);
                    if test(&value) {
                        return value;
                    }
                }
                Err(e) => panic!("the line never came ({e}): {:#?}", self.seen),
            }
        }
    }

    /// Waits until it has closed its output, for so long at most. `false` if it is still there then.
    pub fn ends_within(&mut self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    pub fn end(mut self) -> Ran {
        assert!(self.ends_within(PATIENCE), "it never ended: {:#?}", self.seen);
        self.stderr_reader.take().unwrap().join().unwrap();
        let stderr = self.stderr.lock().unwrap().clone();
        let status = self.child.wait().unwrap();
        let stdout = self.seen.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
        Ran::from_output(Output { status, stdout, stderr })
    }

    /// Ends it as the kernel does when memory is short.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is something to see.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Living processes that carry the mark of a task, their helpers included.
pub fn processes_of(task: &str) -> Vec<String> {
    marked_processes(&[task]).into_iter().map(|(_, command)| command.replace('\0', " ")).collect()
}

/// Process ids of the supervisors that watch calls of these tasks. A command looks like its supervisor until it is executed, but is
/// its child.
pub fn supervisors_of(tasks: &[&str]) -> Vec<i32> {
    let is_supervisor = |command: &str| command.split('\0').any(|part| part == "__supervise");
    let marked = marked_processes(tasks);
    let is_child = |id: i32| parent_of(id).is_none_or(|parent| marked.iter().any(|(id, _)| *id == parent));
    let supervisors = marked.iter().filter(|(id, command)| is_supervisor(command) && !is_child(*id));
    supervisors.map(|(id, _)| *id).collect()
}

/// `None` for a process that has ended.
fn parent_of(process: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Id and command line of each living process that carries the mark of one of these tasks.
fn marked_processes(tasks: &[&str]) -> Vec<(i32, String)> {
    let marks: Vec<String> = tasks.iter().map(|task| format!("POSSE_TASK={task}")).collect();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_marked = |variable: &[u8]| marks.iter().any(|mark| mark.as_bytes() == variable);
        if environment.split(|byte| *byte == 0).any(is_marked) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push((id, String::from_utf8_lossy(&command).into_owned()));
        }
    }
    found
}
