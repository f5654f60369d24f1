//! Cost of an append beside the plain alternative, a transaction for each record on one shared connection.
//!
//!     cargo run --release -p posse-store --example append_rate [directory]
//!
//! Appends of about 4 KB: one task alone, then eight and fifty at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::ports::{JournalStore, NewTask};
use posse_store::SqliteStore;
use posse_testkit::store_suite::{new_task, replied};
use rusqlite::{Connection, params};

/// Appends of all tasks together, a multiple of each number of tasks.
const APPENDS: u32 = 2_000;
const TEXT_BYTES: usize = 4_000;

fn main() {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(directory).expect("the directory can be written to");
    let path = directory.path().join("posse.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    for what in ["create", "open"] {
        let started = Instant::now();
        let store = SqliteStore::open(&path).expect("the store opens");
        let opened = started.elapsed();
        drop(store);
        eprintln!("{what:>6}: {opened:?}, and close: {:?}", started.elapsed() - opened);
    }
    for tasks in [1, 8, 50] {
        runtime.block_on(measure(&path, tasks));
        runtime.block_on(measure_plain(&directory.path().join("plain.db"), tasks));
    }
}

/// Appends through the writer thread of the store.
async fn measure(path: &Path, tasks: u32) {
    let store = Arc::new(SqliteStore::open(path).expect("the store opens"));
    let watch = Stopwatch::start();
    let mut running = tokio::task::JoinSet::new();
    for number in 1..=tasks {
        let (store, id) = (Arc::clone(&store), TaskId::child(&format!("s{tasks}"), number));
        running.spawn(async move {
            store.create(NewTask { id: id.clone(), ..new_task("unused") }).await.expect("created");
            for turn in 0..APPENDS / tasks {
                store.append(&id, 1, &[record(turn)]).await.expect("appended");
            }
        });
    }
    running.join_all().await;
    watch.stop("writer thread", tasks);
}

/// Appends with one transaction each, with the same durability and none of the checks.
async fn measure_plain(path: &Path, tasks: u32) {
    let connection = Connection::open(path).expect("the file opens");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS journal (task TEXT, position INTEGER, record BLOB, PRIMARY KEY (task, position))",
        )
        .expect("the table is made");
    let connection = Arc::new(Mutex::new(connection));
    let watch = Stopwatch::start();
    let mut running = tokio::task::JoinSet::new();
    for number in 1..=tasks {
        let (connection, id) = (Arc::clone(&connection), TaskId::child(&format!("s{tasks}"), number));
        running.spawn(async move {
            for turn in 0..APPENDS / tasks {
                let record = record(turn).encode();
                insert(&connection.lock().expect("nobody panicked"), &id, turn, &record).expect("inserted");
                tokio::task::yield_now().await;
            }
        });
    }
    running.join_all().await;
    watch.stop("plain", tasks);
}

fn insert(connection: &Connection, id: &TaskId, turn: u32, record: &[u8]) -> rusqlite::Result<usize> {
    let mut insert = connection.prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3)")?;
    insert.execute(params![id.as_str(), turn, record])
}

fn record(turn: u32) -> Record {
    replied(&"x".repeat(TEXT_BYTES), u64::from(turn), 1)
}

struct Stopwatch {
    started: Instant,
    cpu: Duration,
}

impl Stopwatch {
    fn start() -> Self {
        Self { started: Instant::now(), cpu: cpu_time() }
    }

    fn stop(&self, name: &str, tasks: u32) {
        let (elapsed, cpu) = (self.started.elapsed(), cpu_time().saturating_sub(self.cpu));
        let rate = f64::from(APPENDS) / elapsed.as_secs_f64();
        eprintln!("{tasks:>3} tasks, {name:<14}{rate:>7.0} appends/s, {:>8.1?} CPU each", cpu / APPENDS);
    }
}

/// User and system time of this process so far.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
}
