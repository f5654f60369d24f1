//! The file itself: who may read it, and what is said when it cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::{Error, ErrorCode};
use posse_runtime::ports::JournalStore;
use posse_store::{SqliteStore, check};
use posse_testkit::store_suite::{asked, new_task, replied};

use crate::{block_on, open, place};

fn refused(path: &Path) -> Error {
    SqliteStore::open(path).err().expect("this file must be refused")
}

fn with_one_task(path: &Path) {
    let store = open(path);
    block_on(store.create(new_task("s"))).unwrap();
}

#[test]
fn the_directory_and_every_file_are_for_this_user_alone() {
    let (_directory, path) = place();
    let store = open(&path);
    block_on(store.create(new_task("s"))).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = path.parent().unwrap();
    assert_eq!(mode(directory), 0o700);
    let mut modes: Vec<(String, u32)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry.path())))
        .collect();
    modes.sort();
    let expected = ["posse.db", "posse.db-shm", "posse.db-wal"].map(|name| (name.to_owned(), 0o600));
    assert_eq!(modes, expected);
}

#[test]
fn a_link_in_place_of_the_file_is_refused_and_its_target_untouched() {
    let (directory, path) = place();
    let target = directory.path().join("target.db");
    fs::write(&target, "").unwrap();
    fs::create_dir(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let error = refused(&path);
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    assert!(error.message().contains("symbolic link"), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"");
}

#[test]
fn a_linked_directory_is_followed() {
    let (directory, path) = place();
    with_one_task(&path);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(path.parent().unwrap(), &link).unwrap();
    let linked = link.join("posse.db");
    assert_eq!(check(&linked).unwrap().tasks, 1);
    assert_eq!(block_on(open(&linked).tasks(10)).unwrap().len(), 1);
}

#[test]
fn a_newer_schema_is_refused_without_a_change() {
    let (_directory, path) = place();
    with_one_task(&path);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    for error in [refused(&path), check(&path).unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::StoreNewer);
        assert!(error.message().contains("99"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_of_another_program_is_refused_without_a_change() {
    let (_directory, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(refused(&path).code(), ErrorCode::StoreUnavailable);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_header_is_named_with_what_to_do() {
    let (_directory, path) = place();
    with_one_task(&path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[..16].copy_from_slice(b"this is not it!!");
    fs::write(&path, &bytes).unwrap();
    for error in [refused(&path), check(&path).unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::StoreCorrupt);
        assert!(error.message().contains("posse.db"), "{error}");
        assert!(error.advice().unwrap().contains(".recover"), "{error:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), bytes, "the damaged file is left for rescue");
}

#[test]
fn damage_inside_is_found_by_the_check() {
    let (_directory, path) = place();
    let store = open(&path);
    let id = TaskId::root("s");
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        store.append(&id, 1, &(1..=500).map(asked).collect::<Vec<_>>()).await.unwrap();
    });
    drop(store);
    assert_eq!(check(&path).unwrap().tasks, 1);
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 3 * 4_096..].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(check(&path).unwrap_err().code(), ErrorCode::StoreCorrupt);
    assert_eq!(block_on(open(&path).integrity()).unwrap_err().code(), ErrorCode::StoreCorrupt);
}

#[test]
fn a_place_that_cannot_be_written_is_named_with_a_hint() {
    let (directory, _) = place();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let mut places = vec![file.join("state").join("posse.db"), directory.path().to_owned()];
    if cfg!(target_os = "linux") {
        // Nobody can make a directory here, root included.
        places.push("/proc/posse-test/posse.db".into());
    }
    for place in places {
        let error = refused(&place);
        assert_eq!(error.code(), ErrorCode::StoreUnavailable, "{error:?}");
        assert!(error.message().contains(place.file_name().unwrap().to_str().unwrap()), "{error}");
        assert!(error.advice().is_some());
    }
}

#[test]
fn checking_a_store_that_does_not_exist_does_not_create_it() {
    let (_directory, path) = place();
    assert_eq!(check(&path).unwrap_err().code(), ErrorCode::StoreUnavailable);
    assert!(!path.parent().unwrap().exists());
}

/// More than SQLite's way to files writes at once.
fn long() -> Record {
    replied(&"x".repeat(300_000), 1, 1)
}

#[test]
fn a_commit_larger_than_one_write_is_written_whole() {
    let (_directory, path) = place();
    let (id, store) = (TaskId::root("s"), open(&path));
    block_on(store.create(new_task("s"))).unwrap();
    block_on(store.append(&id, 1, &[long()])).unwrap();
    drop(store);
    check(&path).unwrap();
    assert_eq!(block_on(open(&path).records(&id)).unwrap()[1..], [long()]);
}

#[test]
fn another_program_with_stock_sqlite_uses_the_store_at_the_same_time() {
    let (_directory, path) = place();
    let (id, store) = (TaskId::root("s"), open(&path));
    block_on(store.create(new_task("s"))).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    for turn in 1..=3 {
        block_on(store.append(&id, 1, &[asked(turn)])).unwrap();
        let rows: i64 = other.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, i64::from(turn) + 1);
        other.execute("UPDATE tasks SET title = ?1", [format!("changed {turn}")]).unwrap();
        assert_eq!(block_on(store.task(&id)).unwrap().title, format!("changed {turn}"));
    }
    drop(store);
    drop(other);
    check(&path).unwrap();
    assert_eq!(block_on(open(&path).records(&id)).unwrap()[1..], [asked(1), asked(2), asked(3)]);
}

#[test]
fn a_link_in_place_of_the_log_is_not_emptied() {
    let (directory, path) = place();
    let target = directory.path().join("target");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let log = path.with_file_name("posse.db-wal");
    let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|target, log| std::os::unix::fs::symlink(target, log), |target, log| fs::hard_link(target, log)];
    for link in links {
        // SQLite deletes a log that lies beside an empty file.
        let _ = (fs::remove_file(&path), fs::remove_file(&log));
        fs::write(&target, [7; 5_000]).unwrap();
        fs::write(&path, "").unwrap();
        link(&target, &log).unwrap();
        with_one_task(&path);
        assert!(fs::read(&target).unwrap() == [7; 5_000]);
    }
}
