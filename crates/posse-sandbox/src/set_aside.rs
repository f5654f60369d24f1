//! Where the top of the workspace is open to commands, the kernel keeps what is protected and there. What is protected and was
//! not there is taken away again when the command has ended: programs look for it at the top.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, OFlags, RenameFlags};

use crate::apply::SandboxWorkspace;
use crate::confinement::SandboxWalls;
use crate::launch::SHOWN_MAX;
use crate::protected::FileProtection;
use crate::survey::open_beneath;

/// Suffix of files that were set aside, which no program looks for; a number follows if needed.
pub(crate) const ENDING: &str = ".set-aside";
const TRIES: u32 = 100;

pub(crate) struct SetAside {
    here: SandboxWorkspace,
    protection: FileProtection,
    before: BTreeSet<PathBuf>,
}

impl SetAside {
    /// `None` where the top is closed, or the workspace is a copy that a person looks at first.
    pub fn of(walls: &SandboxWalls, here: SandboxWorkspace) -> Option<Self> {
        if !walls.opens_top() || walls.is_private_copy {
            return None;
        }
        let protection = walls.protection.clone();
        let there = protected_at_top(&here, &protection).into_iter();
        let before = there.chain(walls.write.guarded.iter().cloned()).collect();
        Some(Self { here, protection, before })
    }

    /// Some of what was set aside, by its new name. What could not be is still there under its own name.
    pub fn undo(&self) -> Vec<String> {
        let now = protected_at_top(&self.here, &self.protection).into_iter();
        let made = now.filter(|path| !self.before.contains(path));
        let mut names: Vec<PathBuf> = made.filter_map(|path| rename(&self.here, &path)).collect();
        names.truncate(SHOWN_MAX);
        names.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

/// Gives a file another name in its directory, and returns that. No link on the way is followed: commands of other tasks
/// may be changing the workspace just now.
pub(crate) fn rename(here: &SandboxWorkspace, path: &Path) -> Option<PathBuf> {
    let (above, name) = (path.parent()?, path.file_name()?);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = open_beneath(&here.open, above, flags).ok()?;
    let mut names = (0..TRIES).map(|number| {
        let mut new = OsString::from(name);
        new.push(ENDING);
        if number > 0 {
            new.push(format!("-{number}"));
        }
        new
    });
    let flags = RenameFlags::NOREPLACE;
    let new = names.find(|new| rustix::fs::renameat_with(&open, name, &open, new, flags).is_ok());
    new.map(|new| above.join(new))
}

/// Protected names at the top, and those further down whose first name is at the top.
fn protected_at_top(here: &SandboxWorkspace, protection: &FileProtection) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = names(here, Path::new(""));
    while let Some(path) = next.pop() {
        if protection.guards(&path) {
            found.push(path);
        } else if protection.begins(&path) {
            next.extend(names(here, &path));
        }
    }
    found
}

fn names(here: &SandboxWorkspace, directory: &Path) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = open_beneath(&here.open, directory, flags).and_then(Dir::new);
    let entries = open.into_iter().flatten().flatten();
    let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    names.filter(|name| name != "." && name != "..").map(|name| directory.join(name)).collect()
}
