//! A copy of a git work tree for one task: made of the files as they are now, uncommitted and untracked ones included, without a
//! change to the repository they come from. What the task changed is kept as a patch until a person applies or discards it.
//!
//! The copy is a repository of its own that borrows the objects of the other one, so history is there to look at. See `git`
//! for what is never run.

mod apply;
mod copy;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde::{Deserialize, Serialize};

use crate::git::{GitCall, HardenedGit, RepositoryPaths, find_root};
use crate::view::read_regular;

pub use self::apply::AppliedChanges;

/// The directory with the worktrees of all tasks.
#[derive(Debug, Clone)]
pub struct GitWorktrees {
    root: PathBuf,
    git: HardenedGit,
}

/// The worktree of one task: `tree` is what the task sees, `git` its repository, `changes.patch` what it changed.
pub struct GitWorktree {
    root: PathBuf,
    git: HardenedGit,
    about: WorktreeRecord,
}

/// Metadata of a worktree; written last, so a worktree without it is incomplete.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WorktreeRecord {
    /// The work tree that it was made of.
    origin: PathBuf,
    /// The workspace below that, empty if it is the same.
    below: PathBuf,
    /// The tree of the files as they were.
    base: String,
    #[serde(default)]
    applied: bool,
}

/// A file that is different from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedFile {
    path: PathBuf,
    before: Option<ChangeSide>,
    after: Option<ChangeSide>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangeSide {
    kind: ChangedKind,
    object: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangedKind {
    File,
    Program,
    Link,
    /// Another repository: its files are not ours.
    Repository,
}

/// Git attributes that keep files byte for byte, whatever the tree says.
const ATTRIBUTES: &str = "* -text !eol -filter -ident -working-tree-encoding !diff !merge\n";
const CONFIGURATION: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n\tsymlinks = true\n\
    \tautocrlf = false\n\tquotePath = false\n\tlogAllRefUpdates = false\n";

impl GitWorktrees {
    /// Below the state directory. `path` is where programs are looked for.
    pub fn new(root: PathBuf, path: OsString) -> Self {
        let git = HardenedGit::new(path);
        let git = git.set("core.attributesFile", "/dev/null").set("core.excludesFile", "/dev/null");
        Self { root, git }
    }

    /// Copies the work tree that the workspace is in. Of a task that has a worktree already, that one.
    pub fn make(&self, task: &TaskId, workspace: &Path) -> Result<GitWorktree> {
        if let Some(made) = self.find(task)? {
            return Ok(made);
        }
        let root = self.directory_of(task);
        let origin = WorktreeOrigin::find(&self.git, workspace)?;
        // Without its description it was never finished, and nothing worked in it.
        remove(&root)?;
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&root).map_err(|e| failed("make", &root, e))?;
        self.prepare(&root, &origin)?;
        let files = origin.files(&self.git, &root)?;
        let files = copy::copy(&origin.top, &root.join("tree"), files)?;
        let base = self.commit(&root, &origin, &files)?;
        // Also if everything in there is ignored.
        let workspace = root.join("tree").join(&origin.below);
        fs::create_dir_all(&workspace).map_err(|e| failed("make", &workspace, e))?;
        let about = WorktreeRecord { origin: origin.top, below: origin.below, base, applied: false };
        let made = GitWorktree { root, git: self.git.clone(), about };
        made.write_down()?;
        Ok(made)
    }

    /// Finds the worktree of a task.
    pub fn find(&self, task: &TaskId) -> Result<Option<GitWorktree>> {
        let root = self.directory_of(task);
        let about = match fs::read(root.join("about.json")) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|e| failed("read", &root, e))?,
        };
        let about = serde_json::from_slice(&about).map_err(|e| failed("read", &root, e.into()))?;
        Ok(Some(GitWorktree { root, git: self.git.clone(), about }))
    }

    /// The tasks of a session whose changes are neither applied nor discarded.
    pub fn kept(&self, session: &str) -> Vec<TaskId> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut kept: Vec<TaskId> = names
            .map(TaskId::from_store)
            .filter(|task| task.session() == session)
            .filter(|task| self.find(task).is_ok_and(|made| made.is_some_and(|made| !made.is_applied())))
            .collect();
        kept.sort();
        kept
    }

    /// Tells whether the worktree of a task holds changes. If that cannot be checked, it counts as changed.
    pub fn has_changes(&self, task: &TaskId) -> bool {
        match self.find(task) {
            Ok(None) => false,
            Ok(Some(made)) => made.keep().map_or(true, |changed| !changed.is_empty()),
            Err(_) => true,
        }
    }

    /// Removes the worktree of a task, if it has one.
    pub fn discard(&self, task: &TaskId) -> Result<()> {
        self.find(task)?.map_or(Ok(()), GitWorktree::discard)
    }

    fn directory_of(&self, task: &TaskId) -> PathBuf {
        self.root.join(task.as_str())
    }

    /// Makes the repository of the copy.
    fn prepare(&self, root: &Path, origin: &WorktreeOrigin) -> Result<()> {
        let repository = root.join("git");
        let format = format!("--object-format={}", origin.format);
        self.git.call(root, &["init", "--quiet", "--bare", "--template=", &format, "git"]).output()?;
        let config = fs::read_to_string(repository.join("config")).unwrap_or_default();
        write(&root.join("config"), own_configuration(&config).as_bytes())?;
        arrange(root)?;
        let alternates = [origin.objects.as_os_str().as_bytes(), b"\n"].concat();
        fs::create_dir_all(repository.join("objects/info")).map_err(|e| failed("make", root, e))?;
        write(&repository.join("objects/info/alternates"), &alternates)?;
        write(&repository.join("info/exclude"), &origin.exclude)
    }

    /// Takes the files of the copy as the one commit after those of the origin.
    fn commit(&self, root: &Path, origin: &WorktreeOrigin, files: &[PathBuf]) -> Result<String> {
        let (repository, tree) = (root.join("git"), root.join("tree"));
        let mut list = Vec::new();
        for file in files {
            list.extend_from_slice(file.as_os_str().as_bytes());
            list.push(0);
        }
        let add = ["add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"];
        if !files.is_empty() {
            inside(&self.git, root, &add).input(list).output()?;
        }
        let base = inside(&self.git, root, &["write-tree"]).line()?;
        let mut commit = vec!["commit-tree", "-m", "The files as they were when the task began", &base];
        if let Some(head) = &origin.head {
            commit.extend(["-p", head]);
        }
        let commit = inside(&self.git, root, &commit)
            .with("GIT_AUTHOR_NAME", "posse")
            .with("GIT_AUTHOR_EMAIL", "posse@localhost")
            .with("GIT_COMMITTER_NAME", "posse")
            .with("GIT_COMMITTER_EMAIL", "posse@localhost")
            .line()?;
        inside(&self.git, root, &["update-ref", "HEAD", &commit]).output()?;
        if !files.is_empty() {
            fs::copy(repository.join("index"), root.join("base.index"))
                .map_err(|e| failed("copy", root, e))?;
        }
        write(&tree.join(".git"), format!("gitdir: {}\n", repository.display()).as_bytes())?;
        Ok(base)
    }
}

impl GitWorktree {
    /// Returns the directory the task works in.
    pub fn workspace(&self) -> PathBuf {
        self.root.join("tree").join(&self.about.below)
    }

    /// The work tree that it was made of.
    pub fn origin(&self) -> &Path {
        &self.about.origin
    }

    /// Returns the path of the saved patch.
    pub fn patch(&self) -> PathBuf {
        self.root.join("changes.patch")
    }

    /// Tells whether the changes were applied.
    pub fn is_applied(&self) -> bool {
        self.about.applied
    }

    /// Writes down what is different now, and names the files relative to the workspace. What is ignored is not kept.
    pub fn keep(&self) -> Result<Vec<String>> {
        if self.about.applied {
            return Ok(Vec::new());
        }
        let now = self.tree_now()?;
        let patch = [
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            &self.about.base,
            &now,
        ];
        let patch = inside(&self.git, &self.root, &patch).output()?;
        write(&self.patch(), &patch)?;
        Ok(self.changed(&now)?.iter().map(|changed| self.seen_from_workspace(&changed.path)).collect())
    }

    /// Removes everything, the patch included.
    pub fn discard(self) -> Result<()> {
        remove(&self.root)
    }

    fn tree_now(&self) -> Result<String> {
        arrange(&self.root)?;
        let (base, index) = (self.root.join("base.index"), self.root.join("keep.index"));
        match fs::copy(&base, &index) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                // There was no file in it when it was made.
                let _ = fs::remove_file(&index);
            }
            copied => drop(copied.map_err(|e| failed("copy", &base, e))?),
        }
        let git = |arguments: &[&str]| {
            inside(&self.git, &self.root, arguments).with("GIT_INDEX_FILE", &index).output()
        };
        git(&["add", "--all", "--", "."])?;
        let tree = git(&["write-tree"])?;
        Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
    }

    fn changed(&self, now: &str) -> Result<Vec<ChangedFile>> {
        let raw = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", &self.about.base, now];
        let raw = inside(&self.git, &self.root, &raw).output()?;
        let mut fields = raw.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let mut found = Vec::new();
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            let words: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, ..] = words[..] else {
                return Err(Error::new(ErrorCode::Io, localized!("git-change-unknown")));
            };
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            found.push(ChangedFile {
                path,
                before: ChangeSide::of(old_mode, old),
                after: ChangeSide::of(new_mode, new),
            });
        }
        Ok(found)
    }

    fn seen_from_workspace(&self, path: &Path) -> String {
        match path.strip_prefix(&self.about.below) {
            Ok(below) => below.to_string_lossy().into_owned(),
            Err(_) => {
                let up = "../".repeat(self.about.below.components().count());
                format!("{up}{}", path.to_string_lossy())
            }
        }
    }

    fn write_down(&self) -> Result<()> {
        let about = serde_json::to_vec(&self.about).map_err(|e| failed("describe", &self.root, e.into()))?;
        write(&self.root.join("about.json"), &about)
    }
}

impl ChangeSide {
    fn of(mode: &str, object: &str) -> Option<Self> {
        let kind = match mode {
            "100644" => ChangedKind::File,
            "100755" => ChangedKind::Program,
            "120000" => ChangedKind::Link,
            "160000" => ChangedKind::Repository,
            _ => return None,
        };
        Some(ChangeSide { kind, object: object.to_owned() })
    }
}

/// The repository that a workspace is in.
struct WorktreeOrigin {
    top: PathBuf,
    below: PathBuf,
    index: PathBuf,
    objects: PathBuf,
    head: Option<String>,
    format: String,
    exclude: Vec<u8>,
}

impl WorktreeOrigin {
    fn find(git: &HardenedGit, workspace: &Path) -> Result<Self> {
        let no_repository = |e: Error| {
            let text = localized!("worktree-no-repository", workspace = workspace.display());
            Error::new(ErrorCode::IsolationUnavailable, text)
                .hint(localized!("worktree-no-repository-hint"))
                .caused_by(e)
        };
        let workspace = fs::canonicalize(workspace).map_err(|e| failed("find", workspace, e))?;
        let no_git = || no_repository(Error::new(ErrorCode::Io, localized!("no-git-above")));
        let top = find_root(&workspace).ok_or_else(no_git)?.to_owned();
        let below = workspace.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let RepositoryPaths { index, objects, exclude, format, .. } =
            RepositoryPaths::find(git, &top).map_err(no_repository)?;
        let head = git.call(&top, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).line().ok();
        let exclude = read_regular(&exclude).ok().flatten().unwrap_or_default();
        Ok(Self { top, below, index, objects, head, format, exclude })
    }

    /// Tracked files and those that are neither tracked nor ignored. Listed with the index of the origin and our own
    /// configuration: what that of the origin says is not read.
    fn files(&self, git: &HardenedGit, root: &Path) -> Result<Vec<PathBuf>> {
        let list =
            ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--full-name"];
        let call = git.call(&self.top, &list);
        let call = call.with("GIT_DIR", root.join("git")).with("GIT_WORK_TREE", &self.top);
        let listed = call.with("GIT_INDEX_FILE", &self.index).output()?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))).collect())
    }
}

/// In the repository of our own.
fn inside<'a>(git: &'a HardenedGit, root: &Path, arguments: &[&str]) -> GitCall<'a> {
    // Relative names are those of the tree.
    git.call(&root.join("tree"), arguments)
        .with("GIT_DIR", root.join("git"))
        .with("GIT_WORK_TREE", root.join("tree"))
}

/// Whatever was done to it, before we use the repository it is configured as we want it.
fn arrange(root: &Path) -> Result<()> {
    let repository = root.join("git");
    fs::create_dir_all(repository.join("info")).map_err(|e| failed("make", &repository, e))?;
    let config = fs::read(root.join("config")).map_err(|e| failed("read", root, e))?;
    write(&repository.join("config"), &config)?;
    write(&repository.join("info/attributes"), ATTRIBUTES.as_bytes())
}

/// Keeps only the object format of the configuration that `git init` wrote.
fn own_configuration(made: &str) -> String {
    let format = made.lines().find(|line| line.trim_start().to_ascii_lowercase().starts_with("objectformat"));
    match format {
        None => CONFIGURATION.to_owned(),
        Some(format) => {
            let current = CONFIGURATION.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
            format!("{current}[extensions]\n{format}\n")
        }
    }
}

/// Puts a file in place that survives a crash, or nothing.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = path.with_extension("new");
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        path.parent().map_or(Ok(()), |parent| fs::File::open(parent)?.sync_all())
    });
    written.map_err(|e| failed("write", path, e))
}

fn remove(root: &Path) -> Result<()> {
    match fs::remove_dir_all(root) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", root, e)),
        _ => Ok(()),
    }
}

fn failed(what: &str, path: &Path, cause: std::io::Error) -> Error {
    Error::new(ErrorCode::Io, localized!("worktree-failed", what, path = path.display(), cause))
        .caused_by(cause)
}
