//! The store as its users see it: one process, several processes, killed processes, full and damaged disks.

mod catalog;
mod child;
mod conformance;
mod context;
mod crash;
mod files;
mod full_disk;
mod processes;
mod retention;

use std::path::PathBuf;

use posse_store::SqliteStore;
use tempfile::TempDir;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state").join("posse.db");
    (directory, path)
}

fn open(path: &std::path::Path) -> SqliteStore {
    SqliteStore::open(path).unwrap()
}
