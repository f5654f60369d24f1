//! Running git on a repository that somebody else may have prepared. Only plumbing is used that starts no program of the
//! repository: no hook, no file-system monitor, no filter, no external diff. Where file contents meet git, it is in a
//! git directory of our own, whose configuration is ours.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

/// A repository can make git wait for ever, with a pipe in the place of a file that it reads.
const TIME_MAX: Duration = Duration::from_secs(120);
/// Limit on git's output unless a call says less; a list of a million files is smaller.
const OUTPUT_BYTES_MAX: u64 = 512 << 20;
/// Limit on git's error messages.
const ERRORS_BYTES_MAX: u64 = 1 << 20;

/// Wins over what a repository says. `core.fsmonitor` and hooks are programs; the rest keeps git from starting others.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.sshCommand=false",
    "core.editor=false",
    "core.pager=cat",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    // None: before every setting, also one for a single protocol.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
];

/// A git that gets nothing of our environment, no network and no prompt, and takes no lock.
#[derive(Debug, Clone)]
pub struct HardenedGit {
    /// Search path for programs.
    path: OsString,
    /// `key=value`, after ours.
    settings: Vec<String>,
    environment: Vec<(OsString, OsString)>,
}

/// One call.
pub(crate) struct GitCall<'a> {
    git: &'a HardenedGit,
    directory: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    bytes_max: u64,
}

/// Output of one git command.
pub(crate) struct GitAnswer {
    pub code: i32,
    pub output: Vec<u8>,
    /// There was more output than the call allowed. What git would have said at its end is not known.
    pub is_cut: bool,
    pub errors: String,
}

impl HardenedGit {
    /// Creates a git that searches programs in `path` and reads no configuration of the user.
    pub fn new(path: OsString) -> Self {
        let environment = vec![("GIT_CONFIG_GLOBAL".into(), "/dev/null".into())];
        Self { path, settings: Vec::new(), environment }
    }

    /// Creates a git that also reads the user's configuration, found by these variables (`HOME`, `XDG_CONFIG_HOME`).
    pub fn of_user(path: OsString, variables: Vec<(OsString, OsString)>) -> Self {
        Self { path, settings: Vec::new(), environment: variables }
    }

    /// Overrides a setting.
    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push(format!("{key}={value}"));
        self
    }

    /// Sets an environment variable of all calls.
    pub(crate) fn with(mut self, variable: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((variable.into(), value.into()));
        self
    }

    /// Prepares a call in a directory.
    pub(crate) fn call(&self, directory: &Path, arguments: &[&str]) -> GitCall<'_> {
        GitCall {
            git: self,
            directory: directory.to_owned(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            input: Vec::new(),
            bytes_max: OUTPUT_BYTES_MAX,
        }
    }
}

impl GitCall<'_> {
    /// Adds paths as the last arguments.
    pub fn paths(mut self, paths: &[PathBuf]) -> Self {
        self.arguments.extend(paths.iter().map(OsString::from));
        self
    }

    /// Sets an environment variable.
    pub fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((variable, value.into()));
        self
    }

    /// Sets the standard input.
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Limits the output.
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// Runs git and returns its output; fails unless it succeeds and the output is whole.
    pub fn output(self) -> Result<Vec<u8>> {
        let what = self.what();
        let answer = self.some_output()?;
        match answer.is_cut {
            false => Ok(answer.output),
            true => Err(failed(&what, localized!("git-unreadable"))),
        }
    }

    /// Runs git and returns its output, cut if it is too long; fails unless git succeeds.
    pub fn some_output(self) -> Result<GitAnswer> {
        let what = self.what();
        let answer = self.run()?;
        if answer.is_cut || answer.code == 0 { Ok(answer) } else { Err(answer.failure(&what)) }
    }

    /// Runs git and returns its output without the line ending.
    pub fn line(self) -> Result<String> {
        let output = self.output()?;
        let text = String::from_utf8(output)
            .map_err(|e| Error::new(ErrorCode::Io, localized!("git-path-not-text")).caused_by(e))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs git.
    pub fn run(mut self) -> Result<GitAnswer> {
        let what = self.what();
        let mut child = self.command().spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Error::new(ErrorCode::Io, localized!("git-missing")).hint(localized!("git-missing-hint"))
            }
            _ => failed(&what, localized!("git-not-started")).caused_by(e),
        })?;
        let (input, stdin) = (std::mem::take(&mut self.input), child.stdin.take());
        let writer = std::thread::spawn(move || {
            // A program that ends early does not read everything.
            let _ = stdin.map(|mut stdin| stdin.write_all(&input));
        });
        // Beyond the limit nobody reads, so git ends there.
        let output = read_aside(child.stdout.take(), self.bytes_max + 1);
        let errors = read_aside(child.stderr.take(), ERRORS_BYTES_MAX);
        let code = wait(&mut child).map_err(|e| failed(&what, localized!("git-unreadable")).caused_by(e))?;
        let _ = writer.join();
        let mut output = output.join().unwrap_or_default();
        let is_cut = output.len() as u64 > self.bytes_max;
        output.truncate(self.bytes_max as usize);
        let errors = String::from_utf8_lossy(&errors.join().unwrap_or_default()).trim().to_owned();
        match code {
            Some(code) => Ok(GitAnswer { code, output, is_cut, errors }),
            None => Err(failed(&what, localized!("git-too-slow", seconds = TIME_MAX.as_secs()))),
        }
    }

    /// The command of git.
    fn what(&self) -> String {
        self.arguments.first().map_or_else(String::new, |what| what.display().to_string())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(find(&self.git.path, "git"));
        command.arg("--no-pager");
        for setting in SETTINGS.iter().copied().chain(self.git.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", &self.git.path)
            .envs(ENVIRONMENT.iter().copied())
            .envs(self.git.environment.iter().map(|(variable, value)| (variable, value)))
            .envs(self.environment.iter().map(|(variable, value)| (variable, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl GitAnswer {
    /// The error of a call that failed, in git's words.
    pub fn failure(&self, what: &str) -> Error {
        let said = self.errors.lines().next().unwrap_or("no reason given");
        failed(what, visible(said.strip_prefix("fatal: ").unwrap_or(said)).into_owned().into())
    }
}

pub(crate) fn failed(what: &str, why: LocalizedText) -> Error {
    Error::new(ErrorCode::Io, localized!("git-failed", what, why))
}

/// Paths of the parts of a repository.
pub(crate) struct RepositoryPaths {
    pub git_dir: PathBuf,
    pub index: PathBuf,
    pub objects: PathBuf,
    pub exclude: PathBuf,
    /// The hash of its objects.
    pub format: String,
}

impl RepositoryPaths {
    /// Asks git about the repository whose `.git` is in `root`.
    pub fn find(git: &HardenedGit, root: &Path) -> Result<Self> {
        // A broken repository must not make git use one further up.
        let above = root.parent().unwrap_or(root);
        let ask = |what: &[&str]| {
            let call = git.call(root, &[&["rev-parse", "--path-format=absolute"], what].concat());
            call.with("GIT_CEILING_DIRECTORIES", above).line()
        };
        let place = |what: &str| ask(&["--git-path", what]).map(PathBuf::from);
        Ok(Self {
            git_dir: ask(&["--git-dir"])?.into(),
            index: place("index")?,
            objects: place("objects")?,
            exclude: place("info/exclude")?,
            format: ask(&["--show-object-format"])?,
        })
    }
}

/// Finds the top of the work tree that a directory is in. What a repository says about where its files are is not believed: they
/// are where its `.git` is.
pub fn find_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok())
}

/// The program of an absolute directory of the path: never one of the directory we are in.
fn find(path: &OsStr, program: &str) -> PathBuf {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut found = directories.map(|directory| directory.join(program)).filter(|file| file.is_file());
    found.next().unwrap_or_else(|| Path::new("/nonexistent").join(program))
}

fn read_aside(stream: Option<impl Read + Send + 'static>, bytes_max: u64) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(bytes_max).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the exit code. `None`: it took too long and was ended.
fn wait(child: &mut Child) -> io::Result<Option<i32>> {
    let ended = ends_within(child, TIME_MAX);
    if !matches!(ended, Ok(true)) {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok(ended?.then(|| status.code().unwrap_or(-1)))
}

fn ends_within(child: &Child, time: Duration) -> io::Result<bool> {
    let process = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let deadline = Instant::now() + time;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        match rustix::event::poll(&mut [PollFd::new(&process, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git() -> HardenedGit {
        HardenedGit::new(std::env::var_os("PATH").unwrap_or_default())
    }

    // S09 Seen to fail without `GIT_ALLOW_PROTOCOL`.
    #[test]
    fn a_repository_cannot_allow_a_protocol_that_is_a_program() {
        let (dir, git) = (tempfile::tempdir().unwrap(), git());
        let run = |arguments: &[&str]| git.call(dir.path(), arguments).run().unwrap();
        assert_eq!(run(&["init", "-q", "."]).code, 0);
        assert_eq!(run(&["config", "protocol.ext.allow", "always"]).code, 0);
        let answer = run(&["ls-remote", "ext::sh -c touch% ran"]);
        assert_ne!(answer.code, 0);
        assert!(answer.errors.contains("not allowed"), "{}", answer.errors);
        assert!(!dir.path().join("ran").exists());
    }

    #[test]
    fn output_beyond_the_limit_is_cut_and_no_answer_where_all_is_wanted() {
        let (dir, git) = (tempfile::tempdir().unwrap(), git());
        let call = || {
            let call = git.call(dir.path(), &["hash-object", "--stdin"]);
            call.input(b"content".to_vec()).at_most(10)
        };
        assert_eq!(git.call(dir.path(), &["hash-object", "--stdin"]).line().unwrap().len(), 40);
        let cut = call().some_output().unwrap();
        assert!(cut.is_cut && cut.output.len() == 10);
        assert!(call().output().is_err());
    }
}
