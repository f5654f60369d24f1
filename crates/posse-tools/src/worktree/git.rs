//! Running git on a repository that somebody else may have prepared. Only plumbing is used that starts no program of the
//! repository: no hook, no file-system monitor, no filter, no external diff. Where file contents meet git, it is in a
//! repository of our own, whose configuration is ours.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

/// A repository can make git wait for ever, with a pipe in the place of a file that it reads.
const TIME_MAX: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(2);
/// Limit on git's output; a list of a million files is smaller.
const OUTPUT_BYTES_MAX: u64 = 512 << 20;

/// Wins over what a repository says. `core.fsmonitor` and hooks are programs; the rest keeps git from starting others.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.editor=false",
    "core.pager=cat",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
];

#[derive(Debug, Clone)]
pub(crate) struct HardenedGit {
    /// Search path for programs.
    path: OsString,
}

/// One call.
pub(crate) struct GitCall<'a> {
    git: &'a HardenedGit,
    directory: &'a Path,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
}

pub(crate) struct GitAnswer {
    pub code: i32,
    pub output: Vec<u8>,
    pub errors: String,
}

impl HardenedGit {
    /// Creates a git that searches programs in `path`.
    pub fn new(path: OsString) -> Self {
        Self { path }
    }

    /// Prepares a call in a directory.
    pub fn call<'a>(&'a self, directory: &'a Path, arguments: &[&str]) -> GitCall<'a> {
        let arguments = arguments.iter().map(OsString::from).collect();
        GitCall { git: self, directory, arguments, environment: Vec::new(), input: Vec::new() }
    }
}

impl GitCall<'_> {
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

    /// Runs git and returns its output; fails unless it succeeds.
    pub fn output(self) -> Result<Vec<u8>> {
        let what = self.arguments.first().cloned().unwrap_or_default();
        let answer = self.run()?;
        match answer.code {
            0 => Ok(answer.output),
            code => Err(Error::new(
                ErrorCode::Io,
                localized!("worktree-git-failed", what = what.display(), code, errors = answer.errors.trim()),
            )),
        }
    }

    /// Runs git and returns its output without the line ending.
    pub fn line(self) -> Result<String> {
        let output = self.output()?;
        let text = String::from_utf8(output)
            .map_err(|e| Error::new(ErrorCode::Io, localized!("git-path-not-text")).caused_by(e))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs git.
    pub fn run(self) -> Result<GitAnswer> {
        let failed = |e: std::io::Error| {
            let text = match e.kind() {
                std::io::ErrorKind::NotFound => localized!("git-not-found"),
                _ => localized!("git-not-run", cause = e),
            };
            Error::new(ErrorCode::IsolationUnavailable, text).hint(localized!("git-not-run-hint"))
        };
        let mut child = self.command().spawn().map_err(failed)?;
        let input = self.input;
        let stdin = child.stdin.take();
        let writer = std::thread::spawn(move || {
            // A program that ends early does not read everything.
            let _ = stdin.map(|mut stdin| stdin.write_all(&input));
        });
        let output = read_aside(child.stdout.take());
        let errors = read_aside(child.stderr.take());
        let code = wait(&mut child).map_err(failed)?;
        let _ = writer.join();
        let output = output.join().unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors.join().unwrap_or_default()).into_owned();
        match code {
            Some(code) => Ok(GitAnswer { code, output, errors }),
            None => Err(Error::new(ErrorCode::Io, localized!("git-endless", seconds = TIME_MAX.as_secs()))),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(find(&self.git.path, "git"));
        command.arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(&self.arguments)
            .current_dir(self.directory)
            .env_clear()
            .env("PATH", &self.git.path)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            // None: before every setting, also one for a single protocol.
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (variable, value) in &self.environment {
            command.env(variable, value);
        }
        command
    }
}

/// The program of an absolute directory of the path: never one of the directory we are in.
fn find(path: &OsStr, program: &str) -> PathBuf {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut found = directories.map(|directory| directory.join(program)).filter(|file| file.is_file());
    found.next().unwrap_or_else(|| Path::new("/nonexistent").join(program))
}

fn read_aside(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// `None`: it took too long and was ended.
fn wait(child: &mut Child) -> std::io::Result<Option<i32>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        if began.elapsed() > TIME_MAX {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S09 Seen to fail without `GIT_ALLOW_PROTOCOL`.
    #[test]
    fn a_repository_cannot_allow_a_protocol_that_is_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let git = HardenedGit::new(std::env::var_os("PATH").unwrap_or_default());
        let run = |arguments: &[&str]| git.call(dir.path(), arguments).run().unwrap();
        assert_eq!(run(&["init", "-q", "."]).code, 0);
        assert_eq!(run(&["config", "protocol.ext.allow", "always"]).code, 0);
        let answer = run(&["ls-remote", "ext::sh -c touch% ran"]);
        assert_ne!(answer.code, 0);
        assert!(answer.errors.contains("not allowed"), "{}", answer.errors);
        assert!(!dir.path().join("ran").exists());
    }
}
