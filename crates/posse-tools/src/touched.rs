//! Files that a command changed: the workspace is looked at before it runs and after it has ended. Ignored files do not count,
//! and neither does `.git`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use posse_core::edits::{ChangeKind, FileChange};
use posse_runtime::ports::ToolContext;
use posse_sandbox::launch::{FinishedProcess, NotRun, ProcessLauncher};
use posse_sandbox::supervisor::CommandJob;
use posse_sandbox::workspace::Workspace;
use rustix::fs::AtFlags;
use tokio_util::sync::CancellationToken;

use crate::walk::{EntryKind, WalkEntry, WalkOptions, walk};

/// Looking at so many files takes a tenth of a second; in a larger workspace nobody looks.
const FILES_MAX: usize = 50_000;

/// Changed files of one command that are named.
const NAMED_MAX: usize = 1_000;

/// Runs a process and names the files of the workspace that are different afterwards.
pub(crate) async fn run_watched(
    launch: &ProcessLauncher,
    job: CommandJob,
    context: &ToolContext,
) -> (Result<FinishedProcess, NotRun>, Vec<FileChange>) {
    let place = job.directory.place().ok();
    let before = census(place.clone()).await;
    let ran = launch.run(job, context).await;
    let Some(before) = before else {
        // The same note before every command would hide the others.
        if !launch.is_told.swap(true, Ordering::Relaxed) {
            let note = "the workspace has more than 50,000 files, or cannot be read: which of them commands \
                        change is not told";
            context.note(note.to_owned());
        }
        return (ran, Vec::new());
    };
    let mut changed = match census(place).await {
        Some(after) => before.compare(&after),
        None => Vec::new(),
    };
    if changed.len() > NAMED_MAX {
        context.note(format!("a command changed {} files; the first {NAMED_MAX} are named", changed.len()));
        changed.truncate(NAMED_MAX);
    }
    (ran, changed)
}

/// Takes a census on a blocking thread: it looks at many files.
async fn census(place: Option<PathBuf>) -> Option<FileCensus> {
    let place = place?;
    tokio::task::spawn_blocking(move || FileCensus::take(&place)).await.ok().flatten()
}

/// The files of a workspace at one moment.
struct FileCensus(HashMap<PathBuf, FileMark>);

/// Differs after every write, rename and change of rights. Nobody but the kernel sets the change time.
#[derive(PartialEq, Eq)]
struct FileMark {
    changed: (i64, i64),
    size: i64,
    inode: u64,
}

impl FileCensus {
    /// Looks at every file; `None` if there are too many, or the workspace cannot be read.
    fn take(root: &Path) -> Option<Self> {
        let workspace = Workspace::open(root).ok()?;
        let directory = workspace.open_directory(Path::new("")).ok()?;
        let (mut files, enough) = (HashMap::new(), CancellationToken::new());
        let options = WalkOptions { hidden: true, ..WalkOptions::default() };
        let report = walk(&workspace, Path::new(""), directory, options, &enough, &mut |entry| {
            if let Some(mark) = FileMark::of(entry) {
                files.insert(entry.path.to_owned(), mark);
            }
            if files.len() > FILES_MAX {
                enough.cancel();
            }
        });
        (!report.cancelled && !report.too_many).then_some(Self(files))
    }

    /// Returns the paths that differ from the later snapshot.
    fn compare(&self, later: &Self) -> Vec<FileChange> {
        let there = later.0.iter().filter_map(|(path, mark)| match self.0.get(path) {
            None => Some((path, ChangeKind::Created)),
            Some(before) if before != mark => Some((path, ChangeKind::Modified)),
            Some(_) => None,
        });
        let gone = self.0.keys().filter(|path| !later.0.contains_key(*path));
        let all = there.chain(gone.map(|path| (path, ChangeKind::Deleted)));
        let mut changes: Vec<FileChange> = all
            .map(|(path, kind)| FileChange { kind, ..FileChange::named(path.to_string_lossy()) })
            .collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }
}

impl FileMark {
    fn of(entry: &WalkEntry<'_>) -> Option<Self> {
        if !matches!(entry.kind, EntryKind::File | EntryKind::Link) || is_ours(entry) {
            return None;
        }
        let stat = rustix::fs::statat(entry.directory, entry.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX));
        Some(Self { changed, size: stat.st_size, inode: stat.st_ino })
    }
}

/// A file of `Target::replace` that is about to take the place of another.
fn is_ours(entry: &WalkEntry<'_>) -> bool {
    let name = entry.name.to_string_lossy();
    name.starts_with(".posse-") && name.ends_with(".tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_made_changed_and_removed_are_named_and_ignored_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for name in ["kept", "changed", "removed", ".hidden", "target/x", ".git/x"] {
            write(name, "1");
        }
        write(".gitignore", "target\n");
        let before = FileCensus::take(directory.path()).unwrap();
        for name in ["changed", ".hidden", "target/x", "target/y", ".git/x", "src/new", ".posse-1-2.tmp"] {
            write(name, "22");
        }
        std::fs::remove_file(directory.path().join("removed")).unwrap();
        let after = FileCensus::take(directory.path()).unwrap();
        let named: Vec<_> = before.compare(&after).into_iter().map(|c| (c.path, c.kind)).collect();
        let expected = [
            (".hidden", ChangeKind::Modified),
            ("changed", ChangeKind::Modified),
            ("removed", ChangeKind::Deleted),
            ("src/new", ChangeKind::Created),
        ];
        assert_eq!(named, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }
}
