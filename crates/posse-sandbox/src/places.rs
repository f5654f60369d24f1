//! Which places of a machine a command may read when nobody says more: programs, libraries, toolchains, and what those
//! look up. Never where people keep what proves who they are. The names stand in `places/*.txt`, one per line.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Programs, libraries and what they ask the kernel for.
const SYSTEM: &str = include_str!("places/system.txt");

/// Not all of `/etc`: password hashes and the machine's own keys are there too, and the superuser owns them.
const ETC: &str = include_str!("places/etc.txt");

/// Toolchains and what they keep, below home.
const AT_HOME: &str = include_str!("places/home.txt");

/// Credentials, keys, sessions and histories, below home.
const CLOSED_AT_HOME: &str = include_str!("places/secrets.txt");

/// Lists the secret directories of a home directory.
pub fn closed_at_home(home: &Path) -> Vec<PathBuf> {
    CLOSED_AT_HOME.lines().map(|name| home.join(name)).collect()
}

/// Returns the credential files of a toolchain.
pub(crate) fn closed_in_toolchain(place: &Path) -> [PathBuf; 2] {
    let real = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    ["credentials", "credentials.toml"].map(|name| real.join(name))
}

/// Lists the existing system directories, the program search path and toolchains elsewhere.
pub(crate) fn default_read_roots(
    home: Option<&Path>,
    search: &OsStr,
    toolchains: &[PathBuf],
) -> Vec<PathBuf> {
    let system = SYSTEM.lines().map(PathBuf::from);
    let etc = ETC.lines().map(|name| Path::new("/etc").join(name));
    let at_home = home.into_iter().flat_map(|home| AT_HOME.lines().map(|name| home.join(name)));
    let mut all: Vec<PathBuf> = system.chain(etc).chain(at_home).collect();
    let named = std::env::split_paths(search).chain(toolchains.iter().cloned());
    for place in named.filter(|place| place.is_absolute() && !is_above(place, home)) {
        if !all.iter().any(|known| place.starts_with(known)) {
            all.push(place);
        }
    }
    all.retain(|path| path.exists());
    all
}

/// The root, home, or what home is in: a variable that names these means nothing of its own there.
fn is_above(place: &Path, home: Option<&Path>) -> bool {
    let real = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real))
}

/// Inside of a closed place, wherever links lead.
pub(crate) fn is_closed(path: &Path, closed: &[PathBuf]) -> bool {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    closed.iter().any(|closed| real.starts_with(closed) || path.starts_with(closed))
}

/// Returns the path as written and as resolved; it need not exist yet.
pub(crate) fn with_real(path: PathBuf) -> Vec<PathBuf> {
    let there = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let real = there.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
    match real {
        Some(real) if real != path => vec![path, real],
        _ => vec![path],
    }
}

/// Resolves a read root. A root that passes through a link of the workspace is dropped: a task could have created
/// it.
pub(crate) fn read_root(root: &Path, workspace: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(root).ok()?;
    let is_as_written = match real.strip_prefix(workspace) {
        Err(_) => !root.starts_with(workspace),
        Ok(inside) => {
            let above = root.ancestors().nth(inside.components().count())?;
            root.ends_with(inside) && fs::canonicalize(above).is_ok_and(|above| above == workspace)
        }
    };
    is_as_written.then_some(real)
}

/// A worktree that we made of somebody's work tree.
pub(crate) struct WorktreeCopy {
    pub repository: PathBuf,
}

impl WorktreeCopy {
    /// Returns the object directories the copy borrows from. The file is ours, and no task can write it.
    pub fn borrowed(&self) -> Vec<PathBuf> {
        let named = fs::read_to_string(self.repository.join("objects/info/alternates"));
        // A repository can have a link there that leads anywhere: only what is a store of objects is opened.
        let is_store = |place: &PathBuf| {
            place.file_name().is_some_and(|name| name == "objects")
                && place.parent().is_some_and(|git| git.join("HEAD").is_file() && git.join("refs").is_dir())
        };
        let named = named.unwrap_or_default();
        named.lines().filter_map(|line| fs::canonicalize(line).ok()).filter(is_store).collect()
    }
}

/// The copy that the workspace is in: `worktrees/TASK/tree` in a directory of our own, with `git` beside it. Nothing in the
/// copy says where that is, because a task can write there.
pub(crate) fn private_copy(workspace: &Path, closed: &[PathBuf]) -> Option<WorktreeCopy> {
    closed.iter().find_map(|closed| {
        let inside: Vec<_> = workspace.strip_prefix(closed).ok()?.components().collect();
        let [worktrees, task, tree, ..] = inside.as_slice() else { return None };
        let root = closed.join(worktrees).join(task);
        let is_copy = worktrees.as_os_str() == "worktrees" && tree.as_os_str() == "tree";
        is_copy.then(|| WorktreeCopy { repository: root.join("git") })
    })
}

/// Git's own directories, where they are not in the workspace: of the repository around it, or of the one that it is a
/// linked work tree of. A file in the workspace can name any directory, so that one has to name the workspace as well.
pub(crate) fn repository(workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(mine) = fs::metadata(workspace) else { return Vec::new() };
    for place in workspace.ancestors().take_while(|place| Some(*place) != home) {
        let git = place.join(".git");
        match fs::symlink_metadata(&git) {
            Ok(there) if there.uid() != mine.uid() => return Vec::new(),
            Ok(there) if there.is_dir() && place == workspace => return Vec::new(),
            Ok(there) if there.is_dir() => return vec![git],
            Ok(there) if there.is_file() => return linked(&git).unwrap_or_default(),
            Ok(_) => return Vec::new(),
            Err(_) => {}
        }
    }
    Vec::new()
}

fn linked(pointer: &Path) -> Option<Vec<PathBuf>> {
    const POINTER_BYTES_MAX: u64 = 8_192;
    let read = |path: &Path| {
        let size = fs::metadata(path).ok()?.len();
        (size <= POINTER_BYTES_MAX).then(|| fs::read_to_string(path).ok()).flatten()
    };
    let text = read(pointer)?;
    let named = pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let own = fs::canonicalize(named).ok()?;
    let back = fs::canonicalize(own.join(read(&own.join("gitdir"))?.trim())).ok()?;
    if back != fs::canonicalize(pointer).ok()? {
        return None;
    }
    let common = fs::canonicalize(own.join(read(&own.join("commondir"))?.trim())).ok()?;
    // The directory of a linked work tree is in the one that they share.
    own.starts_with(&common).then(|| vec![common])
}
