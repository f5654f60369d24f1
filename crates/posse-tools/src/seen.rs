//! What each task knows of the files it read or wrote: enough to notice that somebody else changed one since. What one
//! task read gives no other task the right to overwrite it. The table is not kept over a restart; then the model is told to read again, which is always right.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::id::TaskId;
use posse_sandbox::workspace::show;
use rustix::fs::Stat;
use sha2::{Digest, Sha256};

/// Files remembered over all tasks; the one noted longest ago is forgotten first. Forgetting only costs a read.
const FILES_MAX: usize = 4096;

/// SHA-256 in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Identifies a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentStamp {
    Content([u8; 32]),
    /// For files too large to hash on every read.
    Metadata {
        size: i64,
        changed_ns: i128,
        inode: u64,
    },
}

impl ContentStamp {
    /// Hashes the content.
    pub fn of_content(content: &[u8]) -> Self {
        ContentStamp::Content(Sha256::digest(content).into())
    }

    /// Builds a stamp from file metadata.
    pub fn of_metadata(stat: &Stat) -> Self {
        let changed_ns = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        ContentStamp::Metadata { size: stat.st_size, changed_ns, inode: stat.st_ino }
    }
}

#[derive(Default)]
pub(crate) struct SeenFiles(Mutex<SeenTable>);

#[derive(Default)]
struct SeenTable {
    files: HashMap<(TaskId, PathBuf), SeenVersion>,
    sights: u64,
}

struct SeenVersion {
    stamp: ContentStamp,
    turn: u32,
    order: u64,
}

impl SeenFiles {
    /// Remembers the version of a file that a task has read.
    pub fn note(&self, task: &TaskId, path: &Path, stamp: ContentStamp, turn: u32) {
        let mut table = self.table();
        table.sights += 1;
        let order = table.sights;
        table.files.insert((task.clone(), path.to_owned()), SeenVersion { stamp, turn, order });
        if table.files.len() > FILES_MAX {
            let oldest = table.files.iter().min_by_key(|(_, sight)| sight.order).map(|(key, _)| key.clone());
            oldest.and_then(|key| table.files.remove(&key));
        }
    }

    /// May a file that now has this stamp be overwritten by this task?
    pub fn check(&self, task: &TaskId, path: &Path, now: &ContentStamp) -> Result<(), String> {
        match self.table().files.get(&(task.clone(), path.to_owned())) {
            Some(sight) if sight.stamp == *now => Ok(()),
            Some(sight) => Err(format!(
                "`{}` changed since you read it in turn {}; nothing was written. Read it again, then \
                 repeat the change on its present content",
                show(path),
                sight.turn
            )),
            None => Err(format!(
                "`{}` exists and you have not read it in this run; nothing was written. Read it first",
                show(path)
            )),
        }
    }

    fn table(&self) -> MutexGuard<'_, SeenTable> {
        // The table is whole after every statement, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_forgets_the_oldest_file_first() {
        let seen = SeenFiles::default();
        let (task, stamp) = (TaskId::root("test"), ContentStamp::of_content(b"x"));
        for number in 0..=FILES_MAX {
            seen.note(&task, Path::new(&number.to_string()), stamp.clone(), 1);
        }
        assert!(seen.check(&task, Path::new("0"), &stamp).unwrap_err().contains("have not read it"));
        assert!(seen.check(&task, Path::new("1"), &stamp).is_ok());
        assert_eq!(seen.table().files.len(), FILES_MAX);
    }
}
