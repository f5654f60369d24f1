//! No space left: the write fails with `DISK_FULL`, nothing of it is visible, reading goes on, and writing works
//! again when there is space.

use std::path::Path;
use std::process::Command;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::ports::JournalStore;
use posse_store::SqliteStore;
use posse_testkit::store_suite::{new_task, replied};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::child::{Other, say};
use crate::{block_on, open, place};

const FILE_BYTES_MAX: u64 = 800 * 1024;

/// The child's part: no file of this process may grow beyond the limit, until it is lifted.
pub fn fill(path: &Path) {
    let limit = |bytes| setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    limit(Some(FILE_BYTES_MAX));
    block_on(until_full(path, || limit(None)));
    say("done");
}

/// What was acknowledged until there was no more space.
async fn fill_up(store: &SqliteStore, id: &TaskId) -> Vec<Record> {
    store.create(new_task(id.as_str())).await.unwrap();
    let mut kept = Vec::new();
    let refused = loop {
        let record = replied(&"x".repeat(10_000), kept.len() as u64, 1);
        match store.append(id, 1, &[record.clone(), record.clone()]).await {
            Ok(()) => kept.extend([record.clone(), record]),
            Err(e) => break e,
        }
        assert!(kept.len() < 10_000, "the disk never became full");
    };
    assert_eq!(refused.code(), ErrorCode::DiskFull, "{refused:?}");
    assert!(kept.len() > 10, "only {} records fitted", kept.len());
    kept
}

async fn until_full(path: &Path, make_space: impl FnOnce()) {
    let store = open(path);
    let id = TaskId::root("s");
    let mut kept = fill_up(&store, &id).await;
    assert!(store.records(&id).await.unwrap()[1..] == kept, "exactly what was acknowledged is there");
    assert_eq!(store.task(&id).await.unwrap().turns() as usize, kept.len());
    store.integrity().await.unwrap();

    make_space();
    let last = replied("fits now", 1, 1);
    store.append(&id, 1, std::slice::from_ref(&last)).await.unwrap();
    kept.push(last);
    assert!(store.records(&id).await.unwrap()[1..] == kept);
    store.integrity().await.unwrap();
    drop(store);
    assert_eq!(posse_store::check(path).unwrap().tasks, 1);
}

#[test]
fn a_file_that_may_not_grow_fails_the_append_and_nothing_else() {
    let (_directory, path) = place();
    // The signal that comes with the limit would end the process; ignoring it is inherited.
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#]).arg(std::env::current_exe().unwrap());
    assert_eq!(Other::start_under(shell, "fill", &path, "").hear_all(), ["done"]);
}

/// The child's part: it may write no byte to any file, and reads.
pub fn read_unwritable(path: &Path) {
    setrlimit(Resource::Fsize, Rlimit { current: Some(0), maximum: None }).unwrap();
    assert_eq!(SqliteStore::open(path).err().map(|e| e.code()), Some(ErrorCode::DiskFull));
    let (store, refusal) = SqliteStore::open_to_read(path).unwrap();
    let id = TaskId::root("s");
    block_on(async {
        let refused = store.append(&id, 1, &[replied("x", 1, 1)]).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::DiskFull, "{refused:?}");
        assert_eq!(refusal.unwrap().code(), ErrorCode::DiskFull);
        say(store.records(&id).await.unwrap().len());
    });
}

#[test]
fn a_store_that_cannot_be_written_is_read_with_its_log_or_without() {
    let (directory, path) = place();
    let id = TaskId::root("s");
    let store = open(&path);
    let write = |n| block_on(store.append(&id, 1, &[replied("x", n, 1)])).unwrap();
    block_on(store.create(new_task(id.as_str()))).unwrap();
    (0..3).for_each(write);
    // What a killed process leaves: a log, and no index of it.
    let left = directory.path().join("left").join("posse.db");
    std::fs::create_dir(left.parent().unwrap()).unwrap();
    for file in ["posse.db", "posse.db-wal"] {
        std::fs::copy(path.with_file_name(file), left.with_file_name(file)).unwrap();
    }
    assert!(std::fs::metadata(left.with_file_name("posse.db-wal")).unwrap().len() > 0);
    drop(store);
    for place in [&left, &path] {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#]).arg(std::env::current_exe().unwrap());
        let said = Other::start_under(shell, "read", place, "").hear_all();
        assert_eq!(said, ["4"], "{}", place.display());
    }
    // Nothing was lost by reading.
    assert_eq!(block_on(open(&left).records(&id)).unwrap().len(), 4);
}

/// The same with a real full file system, where this user may mount one; the test above needs no rights.
#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_fails_the_append_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path()) else {
        eprintln!("this user may not mount a file system; only the file size limit was tested");
        return;
    };
    block_on(until_full(&disk.0.join("state").join("posse.db"), || disk.enlarge()));
}

/// Where the log cannot be copied into the store, nothing of it is given up.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_is_closed_when_the_disk_is_full_has_everything_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path()) else {
        eprintln!("this user may not mount a file system");
        return;
    };
    let (path, id) = (disk.0.join("state").join("posse.db"), TaskId::root("s"));
    let store = open(&path);
    let kept = block_on(fill_up(&store, &id));
    drop(store);
    let log = std::fs::read(path.with_file_name("posse.db-wal")).unwrap();
    assert_ne!(log[..32], [0; 32], "the log was given up");
    disk.enlarge();
    let store = open(&path);
    assert!(block_on(store.records(&id)).unwrap()[1..] == kept);
    block_on(store.integrity()).unwrap();
}

#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }

    fn enlarge(&self) {
        let enlarged = Command::new("mount").args(["-o", "remount,size=8m"]).arg(&self.0).status();
        assert!(enlarged.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
