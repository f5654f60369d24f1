//! The changes of a work tree, found by a git that runs nothing of the repository.
//!
//! A repository's configuration can name programs for nearly everything: filters, hooks, a file system monitor, external
//! diffs. Switching them off one by one would miss the next. So git looks at the work tree from a directory of ours
//! that has no configuration but what is known to be data, with the repository's index and objects. The repository itself
//! is only asked where things are and which commit a name means, which starts nothing.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_sandbox::scratch::ScratchDirectory;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::diff::{FileDiff, parse, quoted};
use crate::git::{GitCall, HardenedGit, RepositoryPaths, failed, find_root};

/// Longest diff that is read; the rest is reported as left out.
const PATCH_BYTES_MAX: u64 = 16 << 20;
/// Longest output of other commands: names, settings, messages.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Untracked files that are read; more suggest a directory that should be ignored.
const UNTRACKED_MAX: usize = 300;
/// Largest file that is read; a larger one was hardly written by hand.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Settings that affect comparison and name no program.
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

pub struct RepositoryView {
    /// Root of the work tree.
    pub root: PathBuf,
    here: PathBuf,
    /// Directory and configuration that stand in for the repository's.
    _stand_in: ScratchDirectory,
    isolated: HardenedGit,
    plain: HardenedGit,
}

/// Scope of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeScope {
    /// Everything that differs from the last commit: staged, not staged and new.
    Uncommitted,
    /// Everything since the work branched off this commit, uncommitted changes included.
    Since(String),
    /// The index against the last commit.
    Staged,
    /// One commit against its first parent.
    Commit(String),
}

/// Changes to review.
#[derive(Debug)]
pub struct ChangeSet {
    pub files: Vec<FileDiff>,
    /// Files left out, each with the reason.
    pub notes: Vec<String>,
}

impl RepositoryView {
    /// Opens the repository whose work tree `here` is in. `temporary` is where temporary directories are made; `git_for` makes
    /// the git of the user, given the root of the work tree.
    pub fn open(here: &Path, temporary: &Path, git_for: impl FnOnce(&Path) -> HardenedGit) -> Result<Self> {
        let Some(root) = find_root(here) else {
            let text = localized!("review-no-repository", place = here.display());
            return Err(
                Error::new(ErrorCode::InvalidRequest, text).hint(localized!("review-no-repository-hint"))
            );
        };
        // A broken repository must not make git use one further up.
        let plain = git_for(root).with("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root));
        let paths = RepositoryPaths::find(&plain, root)?;
        let stand_in = stand_in(&paths, temporary)
            .map_err(|e| failed("diff", localized!("git-no-temporary")).caused_by(e))?;
        let settings =
            plain.call(root, &["config", "--list", "-z"]).at_most(ANSWER_BYTES_MAX).some_output()?;
        let isolated = plain
            .clone()
            .with("GIT_CONFIG_GLOBAL", "/dev/null")
            .with("GIT_DIR", stand_in.path())
            .with("GIT_WORK_TREE", root)
            .with("GIT_INDEX_FILE", paths.index)
            .with("GIT_OBJECT_DIRECTORY", paths.objects);
        let settings = data_settings(&String::from_utf8_lossy(&settings.output));
        let isolated = settings.into_iter().fold(isolated, |git, (key, value)| git.set(&key, &value));
        let (root, here) = (root.to_owned(), here.to_owned());
        Ok(Self { root, here, _stand_in: stand_in, isolated, plain })
    }

    /// Collects the changes in a scope, below `paths` if any are given.
    pub fn changes(&self, scope: &ChangeScope, paths: &[PathBuf]) -> Result<ChangeSet> {
        let compared = self.compared(scope)?;
        let compared: Vec<&str> = compared.iter().map(String::as_str).collect();
        self.check(&compared, paths)?;
        let mut notes = Vec::new();
        let patch = self
            .isolated_call(&[DIFF, &compared, &["--"]].concat(), paths)
            .at_most(PATCH_BYTES_MAX)
            .some_output()?;
        let mut files = parse(&patch.output);
        if patch.is_cut {
            let mib = PATCH_BYTES_MAX >> 20;
            let last = files.last().map_or_else(String::new, |file| format!(" ({})", quoted(&file.path)));
            notes
                .push(format!("the diff is larger than {mib} MiB; what comes after that{last} was not read"));
        }
        match scope {
            ChangeScope::Uncommitted | ChangeScope::Since(_) => {
                self.add_untracked(paths, &mut files, &mut notes)?
            }
            ChangeScope::Staged | ChangeScope::Commit(_) => {}
        }
        Ok(ChangeSet { files, notes })
    }

    /// Returns the arguments that tell `git diff` what to compare.
    fn compared(&self, scope: &ChangeScope) -> Result<Vec<String>> {
        Ok(match scope {
            ChangeScope::Uncommitted => vec![self.last_commit()?],
            ChangeScope::Since(base) => vec![self.branched_off(base)?],
            ChangeScope::Staged => vec!["--cached".to_owned(), self.last_commit()?],
            ChangeScope::Commit(name) => {
                let commit = self.known_commit(name)?;
                let parent = match self.commit(&format!("{commit}^1"))? {
                    Some(parent) => parent,
                    None => self.empty_tree()?,
                };
                vec![parent, commit]
            }
        })
    }

    fn last_commit(&self) -> Result<String> {
        match self.commit("HEAD")? {
            Some(head) => Ok(head),
            None => self.empty_tree(),
        }
    }

    fn known_commit(&self, name: &str) -> Result<String> {
        self.commit(name)?.ok_or_else(|| {
            Error::new(ErrorCode::InvalidRequest, localized!("review-base-unknown", base = name))
                .hint(localized!("review-commit-unknown-hint"))
        })
    }

    fn add_untracked(
        &self,
        paths: &[PathBuf],
        files: &mut Vec<FileDiff>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let untracked = self.isolated_call(OTHERS, paths).some_output()?;
        let mut names: Vec<&[u8]> = untracked.output.split(|byte| *byte == 0).collect();
        // The last part is empty or half a name.
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

    /// Refuses a path that neither exists nor is known to git: a misspelling, not a path without changes.
    fn check(&self, compared: &[&str], paths: &[PathBuf]) -> Result<()> {
        let is_there = |path: &PathBuf| self.here.join(path).symlink_metadata().is_ok();
        for path in paths.iter().filter(|path| !is_there(path)) {
            let one = std::slice::from_ref(path);
            let is_empty = |arguments: &[&str]| -> Result<bool> {
                Ok(self.isolated_call(arguments, one).some_output()?.output.is_empty())
            };
            if is_empty(&["ls-files", "--cached", "--"])?
                && is_empty(&[DIFF, &["--name-only"], compared, &["--"]].concat())?
            {
                let text = localized!("review-path-unknown", path = path.display());
                return Err(
                    Error::new(ErrorCode::InvalidRequest, text).hint(localized!("review-path-unknown-hint"))
                );
            }
        }
        Ok(())
    }

    fn branched_off(&self, base: &str) -> Result<String> {
        let refused = |text: LocalizedText, hint: LocalizedText| {
            Err(Error::new(ErrorCode::InvalidRequest, text).hint(hint))
        };
        let Some(named) = self.commit(base)? else {
            return refused(localized!("review-base-unknown", base), localized!("review-base-unknown-hint"));
        };
        let Some(head) = self.commit("HEAD")? else {
            return refused(localized!("review-no-commit"), localized!("review-no-commit-hint"));
        };
        let answer = self.plain.call(&self.root, &["merge-base", &named, &head]).run()?;
        if answer.code == 0 {
            return Ok(String::from_utf8_lossy(answer.output.trim_ascii()).into_owned());
        }
        if !answer.errors.is_empty() {
            return Err(answer.failure("merge-base"));
        }
        refused(localized!("review-no-common-commit", base), localized!("review-no-common-commit-hint"))
    }

    /// Resolves a name to a commit id, if there is one.
    fn commit(&self, name: &str) -> Result<Option<String>> {
        let wanted = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let answer = self.plain.call(&self.root, &arguments).run()?;
        let found = answer.output.trim_ascii();
        let id = std::str::from_utf8(found).ok().filter(|id| answer.code == 0 && !id.is_empty());
        Ok(id.map(str::to_owned))
    }

    /// Returns the empty tree, which a repository without commits is compared with.
    fn empty_tree(&self) -> Result<String> {
        self.isolated.call(&self.root, &["hash-object", "-t", "tree", "--stdin"]).line()
    }

    /// Prepares git in isolation. Paths are relative to where the person is.
    fn isolated_call<'a>(&'a self, arguments: &[&str], paths: &[PathBuf]) -> GitCall<'a> {
        let from = if paths.is_empty() { &self.root } else { &self.here };
        self.isolated.call(from, arguments).paths(paths).at_most(ANSWER_BYTES_MAX)
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

/// Reads a file of the work tree. A model chose the name, so it may be anything.
pub fn content_below(root: &Path, file: &str) -> Option<Vec<u8>> {
    let path = Path::new(file);
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    if file.is_empty() || file.contains('\0') || !path.components().all(is_plain) {
        return None;
    }
    // Only files that really lie below the root are read.
    let real = root.join(path).canonicalize().ok()?;
    real.starts_with(root.canonicalize().ok()?).then(|| read_regular(&real).ok())??
}

const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    // Otherwise a git inside each submodule would be asked.
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
];
const OTHERS: &[&str] = &["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--"];

/// Reads a regular file; `None` for anything else or one that is too large.
pub(crate) fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::LOOP) => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes))
}

/// Selects the settings that are plain data; the last value counts.
fn data_settings(listed: &str) -> Vec<(String, String)> {
    let entries = listed.split('\0').map(|entry| entry.split_once('\n').unwrap_or((entry, "true")));
    let known = entries.filter(|(key, _)| DATA.contains(key));
    known.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Creates an empty git directory without hooks, attributes or remotes, with the shared index parts and ignore file
/// of the real one.
fn stand_in(paths: &RepositoryPaths, temporary: &Path) -> io::Result<ScratchDirectory> {
    let dir = ScratchDirectory::make(temporary)?;
    for part in ["objects", "refs", "info"] {
        fs::create_dir(dir.path().join(part))?;
    }
    fs::write(dir.path().join("HEAD"), "ref: refs/heads/none\n")?;
    let (version, extension) = match paths.format.as_str() {
        "sha1" => (0, String::new()),
        other => (1, format!("[extensions]\n\tobjectFormat = {other}\n")),
    };
    let config = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extension}");
    fs::write(dir.path().join("config"), config)?;
    if let Ok(Some(names)) = read_regular(&paths.exclude) {
        fs::write(dir.path().join("info/exclude"), names)?;
    }
    for entry in fs::read_dir(&paths.git_dir)?.flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            std::os::unix::fs::symlink(entry.path(), dir.path().join(entry.file_name()))?;
        }
    }
    Ok(dir)
}
