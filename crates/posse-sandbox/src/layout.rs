//! From what a task may write to the places a kernel can be told about: directories with all that is below them, and
//! files that exist. A place that holds something protected is not given as a whole; what lies beside that is.

use std::collections::VecDeque;
use std::fs::{self, DirEntry};
use std::path::{Component, Path, PathBuf};

use posse_core::pattern::{CallSubject, PatternFit, PatternPurpose};

use crate::confinement::SandboxWalls;
use crate::protected::FileProtection;
use crate::survey::is_bulk;

/// Entries that a glob with a pattern in the middle is compared with.
const COMPARED_MAX: usize = 4_096;
/// Places in one list. A directory with more entries than this is not opened entry by entry.
const PLACES_MAX: usize = 8_192;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SandboxLayout {
    /// With everything below.
    pub read: Vec<PathBuf>,
    /// Directories that are read only in part.
    pub names: Vec<PathBuf>,
    /// For each list, relative to the workspace; what may be written is in all of them.
    pub write: Vec<Vec<PathBuf>>,
    /// Protected or closed, and there; relative to the workspace and sorted.
    pub guarded: Vec<PathBuf>,
}

impl SandboxLayout {
    /// Computes the readable and writable paths of a command.
    pub fn of(walls: &SandboxWalls, workspace: &Path) -> Result<Self, String> {
        let mut layout = SandboxLayout::default();
        let own = walls.read.instead.clone().unwrap_or_else(|| vec![workspace.to_owned()]);
        for root in walls.read.roots.iter().chain(&own) {
            layout.open_for_reading(root, workspace, &walls.read.closed);
        }
        layout.place_writing(walls, workspace)?;
        Ok(layout)
    }

    /// Recomputes the writable paths.
    pub fn place_writing(&mut self, walls: &SandboxWalls, workspace: &Path) -> Result<(), String> {
        let closed = walls.read.closed.iter().filter_map(|closed| closed.strip_prefix(workspace).ok());
        self.guarded = walls.write.guarded.iter().cloned().chain(closed.map(Path::to_owned)).collect();
        self.guarded.sort();
        self.write.clear();
        let inside = walls.write.always.iter().filter_map(|path| path.strip_prefix(workspace).ok());
        let also: Vec<PathBuf> = inside.map(Path::to_owned).collect();
        // What the operator opens by name is open.
        self.guarded.retain(|guarded| !also.iter().any(|also| guarded.starts_with(also)));
        for path in also.iter().filter(|path| path.extension().is_none()) {
            make_directory(workspace, path, &walls.protection);
        }
        let everything = vec!["**".to_owned()];
        let lists =
            if walls.write.globs.is_empty() { std::slice::from_ref(&everything) } else { &walls.write.globs };
        for globs in lists {
            let mut places = Vec::new();
            for wanted in globs
                .iter()
                .filter(|_| walls.writes())
                .flat_map(|glob| resolve(glob, workspace, &walls.protection))
            {
                self.open_for_writing(workspace, &wanted, walls, &mut places);
            }
            if places.len() > PLACES_MAX {
                return Err(format!(
                    "the workspace has more than {PLACES_MAX} entries side by side with a protected one, too many to \
                     open one by one"
                ));
            }
            places.extend(also.iter().cloned());
            self.write.push(places);
        }
        Ok(())
    }

    /// Opens a path for reading, judged by its resolved path.
    fn open_for_reading(&mut self, root: &Path, workspace: &Path, closed: &[PathBuf]) {
        let Ok(real) = fs::canonicalize(root) else { return };
        // A worktree lies in our own state directory, of which nothing else is to be seen.
        let is_own = |closed: &Path| real.starts_with(workspace) && workspace.starts_with(closed);
        if closed.iter().any(|closed| real.starts_with(closed) && !is_own(closed)) {
            return;
        }
        if !closed.iter().any(|closed| closed.starts_with(&real)) {
            self.read.push(root.to_owned());
            return;
        }
        self.names.push(real.clone());
        for entry in entries(&real).filter(|entry| !is_link(entry)) {
            self.open_for_reading(&entry.path(), workspace, closed);
        }
    }

    fn open_for_writing(
        &self,
        workspace: &Path,
        path: &Path,
        walls: &SandboxWalls,
        places: &mut Vec<PathBuf>,
    ) {
        let (opens_top, leased) = (walls.opens_top(), &walls.write.leased);
        let guarded = self.first_guarded(path);
        if places.len() > PLACES_MAX
            || leased.iter().any(|leased| path.starts_with(leased))
            || walls.protection.guards(path)
            || guarded.is_some_and(|guarded| path == guarded)
        {
            return;
        }
        let is_top = path.as_os_str().is_empty();
        // What is leased and not there yet could be made in a directory that is given as a whole.
        let holds_leased = leased.iter().any(|leased| leased.starts_with(path));
        let as_a_whole = !holds_leased && if is_top { opens_top } else { guarded.is_none() || opens_top };
        if as_a_whole {
            places.push(path.to_owned());
            return;
        }
        for entry in entries(&workspace.join(path)).filter(|entry| !is_link(entry)) {
            self.open_for_writing(workspace, &path.join(entry.file_name()), walls, places);
        }
    }

    /// Returns the first protected path at or below this one.
    fn first_guarded(&self, path: &Path) -> Option<&Path> {
        let after = self.guarded.partition_point(|guarded| guarded.as_path() < path);
        self.guarded.get(after).map(PathBuf::as_path).filter(|guarded| guarded.starts_with(path))
    }
}

/// Expands a glob in this workspace to relative paths.
fn resolve(glob: &str, workspace: &Path, protection: &FileProtection) -> Vec<PathBuf> {
    let glob = match glob.strip_prefix('/') {
        None => glob.to_owned(),
        Some(_) => match Path::new(glob).strip_prefix(workspace) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => return Vec::new(),
        },
    };
    let parts: Vec<&str> = glob.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Vec::new();
    }
    let plain = parts.iter().take_while(|part| !part.contains(['*', '?'])).count();
    let (start, rest) = parts.split_at(plain);
    let start: PathBuf = start.iter().collect();
    match rest {
        [] => vec![start],
        ["**"] | ["*"] | ["**", "*"] => {
            make_directory(workspace, &start, protection);
            vec![start]
        }
        _ => matching(workspace, &start, &parts.join("/")),
    }
}

/// Existing entries only: the kernel cannot be told about names.
fn matching(workspace: &Path, start: &Path, glob: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = VecDeque::from([start.to_owned()]);
    let mut compared = 0;
    while let Some(directory) = next.pop_front().filter(|_| compared < COMPARED_MAX) {
        for entry in entries(&workspace.join(&directory)).filter(|entry| !is_link(entry)) {
            compared += 1;
            let path = directory.join(entry.file_name());
            let subject = CallSubject::Path(path.to_string_lossy().into_owned());
            if subject.fit(glob, PatternPurpose::Give) == PatternFit::Surely {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_bulk(&entry.file_name()) {
                next.push_back(path);
            }
        }
    }
    found
}

/// A task that may write below a directory may have it, but could not make it where it may not write. Not behind a link
/// and not in a protected place; if it cannot be made, there is one place less to write to.
fn make_directory(workspace: &Path, path: &Path, protection: &FileProtection) {
    if protection.find(path).is_some() {
        return;
    }
    let mut so_far = workspace.to_owned();
    for part in path.components() {
        let Component::Normal(name) = part else { return };
        so_far.push(name);
        match fs::symlink_metadata(&so_far) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return,
            Err(_) if fs::create_dir(&so_far).is_ok() => {}
            Err(_) => return,
        }
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// Tells whether the entry is a link. Its target is given by its own name or not at all.
fn is_link(entry: &DirEntry) -> bool {
    entry.file_type().map_or(true, |kind| kind.is_symlink())
}
