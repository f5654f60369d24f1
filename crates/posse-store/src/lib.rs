//! Tasks and their journals in one SQLite file.
//!
//! Owns the file, its schema and the one connection that writes to it. Knows neither models nor tools; of a record it
//! reads only what listings show (status, turns, tokens) and keeps the rest as bytes.

mod commit;
mod fault;
mod log;
mod open;
mod reader;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::ports::{BoxFuture, NewTask, Store, TaskRow};

use crate::commit::{Job, Written};
use crate::reader::Reader;
use crate::writer::Writer;

pub use crate::open::Health;

/// How patient a store is.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long a write waits for other processes before it fails with `STORE_BUSY`. A transaction takes
    /// milliseconds, so whoever holds the lock for this long is stopped or hangs.
    pub busy_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { busy_max: Duration::from_secs(15) }
    }
}

/// A store in a file. Several processes may have the same file open.
///
/// Dropping the store waits until everything queued was written.
pub struct SqliteStore {
    path: PathBuf,
    // The reader goes first, so that the writer is the last to close the file and folds the log back into it.
    reader: Reader,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the store, creating the file and its directory for this user alone if they are absent.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Settings::default())
    }

    pub fn open_with(path: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        let path = open::prepare_file(path.as_ref())?;
        let connection = open::connect(&path, settings.busy_max)?;
        let reader = Reader::new(path.clone());
        let writer = Writer::start(connection, path.clone(), settings.busy_max)?;
        Ok(Self { path, reader, writer })
    }

    /// Where the file is, with the links of its directory resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file and compares it with its own indexes. Takes time in proportion to its size.
    pub async fn integrity(&self) -> Result<()> {
        self.reader.read(open::integrity).await
    }
}

/// Looks at a store without changing it: the schema is known and the file is sound.
pub fn check(path: impl AsRef<Path>) -> Result<Health> {
    open::check(path.as_ref())
}

impl Store for SqliteStore {
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>> {
        let answer = self.writer.write(Job::create(task));
        Box::pin(async move { answer.wait().await.map(drop) })
    }

    fn append(&self, task: &TaskId, epoch: u64, records: Vec<Record>) -> BoxFuture<'static, Result<()>> {
        let answer = self.writer.send(Job::append(task.clone(), epoch, &records));
        Box::pin(async move { answer.wait().await.map(drop) })
    }

    fn append_now(&self, task: &TaskId, epoch: u64, records: Vec<Record>) -> BoxFuture<'static, Result<()>> {
        let answer = self.writer.write(Job::append(task.clone(), epoch, &records));
        Box::pin(async move { answer.wait().await.map(drop) })
    }

    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>> {
        let answer = self.writer.write(Job::claim(task.clone(), owner.to_owned()));
        Box::pin(async move {
            match answer.wait().await? {
                Written::Epoch(epoch) => Ok(epoch),
                Written::Records => unreachable!("a claim writes an epoch"),
            }
        })
    }

    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>> {
        let task = task.clone();
        Box::pin(self.reader.read(move |connection, path| reader::records(connection, path, &task)))
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>> {
        let task = task.clone();
        Box::pin(self.reader.read(move |connection, path| reader::task(connection, path, &task)))
    }

    fn tasks(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        Box::pin(self.reader.read(move |connection, path| reader::tasks(connection, path, limit)))
    }
}
