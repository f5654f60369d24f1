//! The changes of a work tree, found by a git that runs nothing of the repository.
//!
//! A repository's configuration can name programs for nearly everything: filters, hooks, a file system monitor, external
//! diffs. Switching them off one by one would miss the next. So git looks at the work tree from a directory of ours
//! that has no configuration but what is known to be data, with the repository's index and objects. The repository itself
//! is only asked where things are and which commit a name means, which starts nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_tools::scratch::ScratchDirectory;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::diff::{FileDiff, parse, quoted};
use crate::models::process_env;

/// A diff beyond this is no review any more; what is left out is said.
const PATCH_BYTES_MAX: u64 = 16 << 20;
/// Names, settings and messages.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// New files that are looked at; more are rather a directory that should be ignored.
const UNTRACKED_MAX: usize = 300;
/// Of one file; a larger one was hardly written by hand.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);
/// Settings that say how files are compared, and name no program.
const DATA: &[&str] = &[
    "core.autocrlf",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.trustctime",
];

pub struct ReviewRepository {
    /// The work tree.
    pub root: PathBuf,
    here: PathBuf,
    /// The configuration and the directory that stand in for the repository's.
    _stand_in: ScratchDirectory,
    isolated: Vec<(OsString, OsString)>,
    plain: Vec<(OsString, OsString)>,
}

/// Which changes are reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewScope {
    /// Everything that differs from the last commit: staged, not staged and new.
    Uncommitted,
    /// Everything since the work branched off this commit, uncommitted changes included.
    Since(String),
    /// The index against the last commit.
    Staged,
    /// One commit against its first parent.
    Commit(String),
}

/// What there is to review.
#[derive(Debug)]
pub struct ReviewChanges {
    pub files: Vec<FileDiff>,
    /// What was not looked at, and why.
    pub notes: Vec<String>,
}

impl ReviewRepository {
    pub async fn open(here: &Path) -> Result<Self> {
        let is_root = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
        let Some(root) = here.ancestors().find(is_root) else {
            let text = say!("review-no-repository", place = here.display());
            return Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("review-no-repository-hint")));
        };
        let plain = plain(root);
        let asked = ["objects", "index", "info/exclude"].into_iter().flat_map(|what| ["--git-path", what]);
        let places = ["rev-parse", "--path-format=absolute", "--show-object-format", "--git-dir"];
        let answer = ReviewGit::new(&plain, root).args(places).args(asked).text().await?;
        let [format, git_dir, objects, index, exclude] = answer.lines().collect::<Vec<_>>()[..] else {
            return Err(failed("rev-parse", &say!("git-odd-answer")));
        };
        let stand_in = stand_in(format, Path::new(git_dir), Path::new(exclude))
            .map_err(|e| failed("diff", &say!("git-no-temporary")).caused_by(e))?;
        let settings = ReviewGit::new(&plain, root).args(["config", "--list", "-z"]).text().await?;
        let mut isolated = plain.clone();
        let mut set = |name: &str, value: &OsStr| isolated.push((name.into(), value.to_owned()));
        set("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null"));
        set("GIT_DIR", stand_in.path().as_os_str());
        set("GIT_WORK_TREE", root.as_os_str());
        set("GIT_INDEX_FILE", OsStr::new(index));
        set("GIT_OBJECT_DIRECTORY", OsStr::new(objects));
        isolated.extend(as_environment(&data_settings(&settings)));
        let (root, here) = (root.to_owned(), here.to_owned());
        Ok(Self { root, here, _stand_in: stand_in, isolated, plain })
    }

    /// The changes in a scope, below these paths if there are any.
    pub async fn changes(&self, scope: &ReviewScope, paths: &[PathBuf]) -> Result<ReviewChanges> {
        let compared = self.compared(scope).await?;
        let compared: Vec<&str> = compared.iter().map(String::as_str).collect();
        self.check(&compared, paths).await?;
        let mut notes = Vec::new();
        let patch = self.look([DIFF, &compared, &["--"]].concat(), paths).output(PATCH_BYTES_MAX).await?;
        let mut files = parse(&patch.bytes);
        if patch.is_cut {
            let mib = PATCH_BYTES_MAX >> 20;
            let last = files.last().map_or_else(String::new, |file| format!(" ({})", quoted(&file.path)));
            notes
                .push(format!("the diff is larger than {mib} MiB; what comes after that{last} was not read"));
        }
        match scope {
            ReviewScope::Uncommitted | ReviewScope::Since(_) => {
                self.add_untracked(paths, &mut files, &mut notes).await?
            }
            ReviewScope::Staged | ReviewScope::Commit(_) => {}
        }
        Ok(ReviewChanges { files, notes })
    }

    /// What `git diff` is told to compare.
    async fn compared(&self, scope: &ReviewScope) -> Result<Vec<String>> {
        Ok(match scope {
            ReviewScope::Uncommitted => vec![self.last_commit().await?],
            ReviewScope::Since(base) => vec![self.branched_off(base).await?],
            ReviewScope::Staged => vec!["--cached".to_owned(), self.last_commit().await?],
            ReviewScope::Commit(name) => {
                let commit = self.known_commit(name).await?;
                let parent = match self.commit(&format!("{commit}^1")).await? {
                    Some(parent) => parent,
                    None => self.empty_tree().await?,
                };
                vec![parent, commit]
            }
        })
    }

    async fn last_commit(&self) -> Result<String> {
        match self.commit("HEAD").await? {
            Some(head) => Ok(head),
            None => self.empty_tree().await,
        }
    }

    async fn known_commit(&self, name: &str) -> Result<String> {
        self.commit(name).await?.ok_or_else(|| {
            Error::new(ErrorCode::InvalidRequest, say!("review-base-unknown", base = name))
                .hint(say!("review-commit-unknown-hint"))
        })
    }

    async fn add_untracked(
        &self,
        paths: &[PathBuf],
        files: &mut Vec<FileDiff>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let untracked = self.look(OTHERS.to_vec(), paths).output(ANSWER_BYTES_MAX).await?;
        let mut names: Vec<&[u8]> = untracked.bytes.split(|byte| *byte == 0).collect();
        // After the last name comes nothing, or half a name.
        names.pop();
        let too_many = names.len().saturating_sub(UNTRACKED_MAX);
        if too_many > 0 || untracked.is_cut {
            notes.push(format!(
                "there are {} new files, of which {UNTRACKED_MAX} were looked at; put what is not yours into .gitignore",
                if untracked.is_cut { "very many".to_owned() } else { names.len().to_string() },
            ));
        }
        for name in names.into_iter().take(UNTRACKED_MAX) {
            files.push(self.untracked(name));
        }
        Ok(())
    }

    /// A path that is neither there nor anything to git is a wrong spelling, not a path without changes.
    async fn check(&self, compared: &[&str], paths: &[PathBuf]) -> Result<()> {
        let is_there = |path: &PathBuf| self.here.join(path).symlink_metadata().is_ok();
        for path in paths.iter().filter(|path| !is_there(path)) {
            let one = std::slice::from_ref(path);
            let known = self.look(vec!["ls-files", "--cached", "--"], one);
            let changed = self.look([DIFF, &["--name-only"], compared, &["--"]].concat(), one);
            let is_empty = |output: GitOutput| output.bytes.is_empty();
            if is_empty(known.output(ANSWER_BYTES_MAX).await?)
                && is_empty(changed.output(ANSWER_BYTES_MAX).await?)
            {
                let text = say!("review-path-unknown", path = path.display());
                return Err(
                    Error::new(ErrorCode::InvalidRequest, text).hint(say!("review-path-unknown-hint"))
                );
            }
        }
        Ok(())
    }

    async fn branched_off(&self, base: &str) -> Result<String> {
        let unknown = |text: String| Error::new(ErrorCode::InvalidRequest, text);
        let Some(named) = self.commit(base).await? else {
            return Err(unknown(say!("review-base-unknown", base)).hint(say!("review-base-unknown-hint")));
        };
        let Some(head) = self.commit("HEAD").await? else {
            return Err(unknown(say!("review-no-commit")).hint(say!("review-no-commit-hint")));
        };
        let asked = ReviewGit::new(&self.plain, &self.root).args(["merge-base", &named, &head]);
        let output = asked.run(ANSWER_BYTES_MAX).await?;
        if output.succeeded {
            return Ok(String::from_utf8_lossy(output.bytes.trim_ascii()).into_owned());
        }
        if !output.complaint.is_empty() {
            return Err(failed("merge-base", &output.reason()));
        }
        Err(unknown(say!("review-no-common-commit", base)).hint(say!("review-no-common-commit-hint")))
    }

    /// The commit that a name means, if there is one.
    async fn commit(&self, name: &str) -> Result<Option<String>> {
        let wanted = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let output = ReviewGit::new(&self.plain, &self.root).args(args).run(ANSWER_BYTES_MAX).await?;
        let found = output.bytes.trim_ascii();
        let id = std::str::from_utf8(found).ok().filter(|id| output.succeeded && !id.is_empty());
        Ok(id.map(str::to_owned))
    }

    /// What a repository without a commit is compared with.
    async fn empty_tree(&self) -> Result<String> {
        let made = ReviewGit::new(&self.isolated, &self.root).args(["hash-object", "-t", "tree", "--stdin"]);
        Ok(made.text().await?.trim().to_owned())
    }

    /// Paths are the person's, so they count from where they are.
    fn look(&self, args: Vec<&str>, paths: &[PathBuf]) -> ReviewGit {
        let from = if paths.is_empty() { &self.root } else { &self.here };
        ReviewGit::new(&self.isolated, from).args(args).args(paths)
    }

    fn untracked(&self, name: &[u8]) -> FileDiff {
        let path = String::from_utf8_lossy(name).into_owned();
        match read_regular(&self.root.join(OsStr::from_bytes(name))) {
            Ok(Some(bytes)) => FileDiff::added(path, &bytes),
            Ok(None) => FileDiff::unseen(path, "no regular file, or a very large one"),
            Err(e) => FileDiff::unseen(path, &format!("cannot be read: {e}")),
        }
    }
}

/// What a file of a work tree has now. The name is a model's, so it may be anything.
pub fn content_below(root: &Path, file: &str) -> Option<Vec<u8>> {
    let path = Path::new(file);
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    if file.is_empty() || file.contains('\0') || !path.components().all(is_plain) {
        return None;
    }
    // Little of it is told, and even that only of files that are really below.
    let real = root.join(path).canonicalize().ok()?;
    real.starts_with(root.canonicalize().ok()?).then(|| read_regular(&real).ok())??
}

const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    // Whether a submodule has changes of its own would be asked of a git inside it.
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
];
const OTHERS: &[&str] = &["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--"];

/// `None` for what is no regular file, or too large.
fn read_regular(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes))
}

/// What git is always told: nothing of our environment that it could act on, no network, no prompt, no lock.
fn plain(root: &Path) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    // Not a git that lies in the work tree.
    environment.push(("PATH".into(), crate::setup::search(&[root])));
    for name in ["HOME", "XDG_CONFIG_HOME"] {
        environment.extend(process_env(name).map(|value| (name.into(), value.into())));
    }
    let mut set = |name: &str, value: &OsStr| environment.push((name.into(), value.to_owned()));
    let above = root.parent().unwrap_or(root);
    // A broken repository must not make git take one further up for it.
    set("GIT_CEILING_DIRECTORIES", above.as_os_str());
    for (name, value) in [
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
    ] {
        set(name, OsStr::new(value));
    }
    environment.extend(as_environment(&[("safe.bareRepository".to_owned(), "explicit".to_owned())]));
    environment
}

/// Settings as git takes them from its environment, where they count before every file.
fn as_environment(settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let mut environment = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
    for (at, (key, value)) in settings.iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        environment.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    environment
}

/// Of all settings those that are data, as they are in force: the last one counts.
fn data_settings(listed: &str) -> Vec<(String, String)> {
    let entries = listed.split('\0').map(|entry| entry.split_once('\n').unwrap_or((entry, "true")));
    let known = entries.filter(|(key, _)| DATA.contains(key));
    let mut kept: Vec<(String, String)> =
        known.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    // Caches that the repository's index brings along are not believed.
    kept.extend(["core.fsmonitor", "core.untrackedCache"].map(|key| (key.to_owned(), "false".to_owned())));
    kept
}

/// A git directory without anything: no hooks, no attributes, no remotes. What it needs of the real one are parts of the
/// index and the names to ignore.
fn stand_in(format: &str, git_dir: &Path, exclude: &Path) -> std::io::Result<ScratchDirectory> {
    let dir = ScratchDirectory::make(&std::env::temp_dir())?;
    for part in ["objects", "refs", "info"] {
        fs::create_dir(dir.path().join(part))?;
    }
    fs::write(dir.path().join("HEAD"), "ref: refs/heads/none\n")?;
    let (version, extension) = match format {
        "sha1" => (0, String::new()),
        other => (1, format!("[extensions]\n\tobjectFormat = {other}\n")),
    };
    let config = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extension}");
    fs::write(dir.path().join("config"), config)?;
    if let Ok(Some(names)) = read_regular(exclude) {
        fs::write(dir.path().join("info/exclude"), names)?;
    }
    for entry in fs::read_dir(git_dir)?.flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            std::os::unix::fs::symlink(entry.path(), dir.path().join(entry.file_name()))?;
        }
    }
    Ok(dir)
}

struct ReviewGit {
    command: Command,
    /// Which of git's commands it is.
    what: String,
}

struct GitOutput {
    bytes: Vec<u8>,
    is_cut: bool,
    succeeded: bool,
    complaint: String,
}

impl GitOutput {
    /// Why it failed, in git's words.
    fn reason(&self) -> String {
        let said = self.complaint.lines().next().unwrap_or("no reason given");
        visible(said.strip_prefix("fatal: ").unwrap_or(said)).into_owned()
    }
}

impl ReviewGit {
    fn new(environment: &[(OsString, OsString)], directory: &Path) -> Self {
        let mut command = Command::new("git");
        command
            .arg("--no-pager")
            .current_dir(directory)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self { command, what: String::new() }
    }

    fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        for arg in args {
            if self.what.is_empty() {
                self.what = arg.as_ref().to_string_lossy().into_owned();
            }
            self.command.arg(arg);
        }
        self
    }

    async fn run(mut self, bytes_max: u64) -> Result<GitOutput> {
        let mut child = self.command.spawn().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorCode::Io, say!("git-missing")).hint(say!("git-missing-hint"))
            }
            _ => failed(&self.what, &say!("git-not-started")).caused_by(e),
        })?;
        let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let work = async {
            let ((bytes, is_cut), (complaint, _)) =
                tokio::try_join!(read_some(out, bytes_max), read_some(err, ANSWER_BYTES_MAX))?;
            // One that still has something to say is ended instead of heard out.
            let succeeded = if is_cut { true } else { child.wait().await?.success() };
            let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
            std::io::Result::Ok(GitOutput { bytes, is_cut, succeeded, complaint })
        };
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(output) => output.map_err(|e| failed(&self.what, &say!("git-unreadable")).caused_by(e)),
            Err(_) => Err(failed(&self.what, &say!("git-too-slow", seconds = PATIENCE.as_secs()))),
        }
    }

    /// What it prints, if it succeeds.
    async fn output(self, bytes_max: u64) -> Result<GitOutput> {
        let what = self.what.clone();
        let output = self.run(bytes_max).await?;
        if output.succeeded {
            return Ok(output);
        }
        Err(failed(&what, &output.reason()))
    }

    async fn text(self) -> Result<String> {
        let output = self.output(ANSWER_BYTES_MAX).await?;
        Ok(String::from_utf8_lossy(&output.bytes).into_owned())
    }
}

/// Whether it was cut, too. What is beyond is not read.
async fn read_some(from: impl AsyncRead + Unpin, max: u64) -> std::io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    from.take(max + 1).read_to_end(&mut bytes).await?;
    let is_cut = bytes.len() as u64 > max;
    bytes.truncate(max as usize);
    Ok((bytes, is_cut))
}

fn failed(what: &str, why: &str) -> Error {
    Error::new(ErrorCode::Io, say!("git-failed", what, why))
}
