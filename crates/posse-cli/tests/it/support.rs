//! A place to run `posse` in, and ways to watch it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

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

    /// A script, as the model reference that plays it.
    pub fn script(&self, text: &str) -> String {
        format!("scripted:{}", self.write("script.yaml", text).display())
    }

    /// `posse` with nothing of this process's environment but the path to programs.
    pub fn posse<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
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
        let ran = self.run(["tasks", "list", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    }

    /// The records of a task's journal.
    pub fn journal(&self, task: &str) -> Vec<Value> {
        let ran = self.run(["tasks", "show", task, "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json().into_iter().skip(1).collect()
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
}

impl Running {
    /// Starts it and reads its standard output line by line.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, lines, seen: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is not waited for yet, so the id is still its own.
        assert_eq!(unsafe { libc::kill(self.id() as i32, signal) }, 0);
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
        let mut stderr = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
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
