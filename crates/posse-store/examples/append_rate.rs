//! What an append costs: `cargo run --release -p posse-store --example append_rate [directory]`.
//!
//! Plays tasks of 200 turns with two appends of about 4 KB each turn, first one task alone, then eight at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::id::TaskId;
use posse_runtime::ports::{NewTask, Store};
use posse_store::SqliteStore;
use posse_testkit::store_suite::{new_task, replied};

const TURNS: u32 = 200;

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
    for tasks in [1, 8] {
        runtime.block_on(measure(&path, tasks));
    }
}

async fn measure(path: &Path, tasks: u32) {
    let store = Arc::new(SqliteStore::open(path).expect("the store opens"));
    let (started, cpu) = (Instant::now(), cpu_time());
    let mut running = tokio::task::JoinSet::new();
    for number in 1..=tasks {
        let (store, id) = (Arc::clone(&store), TaskId::child(&format!("s{tasks}"), number));
        running.spawn(async move {
            store.create(NewTask { id: id.clone(), ..new_task("unused") }).await.expect("created");
            for turn in 0..TURNS * 2 {
                let record = replied(&"x".repeat(4_000), u64::from(turn), 1);
                store.append(&id, 1, &[record]).await.expect("appended");
            }
        });
    }
    running.join_all().await;
    let appends = tasks * TURNS * 2;
    let (elapsed, cpu) = (started.elapsed(), cpu_time().saturating_sub(cpu));
    eprintln!(
        "{tasks} tasks: {appends} appends in {elapsed:?}, {:.0}/s, {:?} each, {:?} CPU each",
        f64::from(appends) / elapsed.as_secs_f64(),
        elapsed / appends * tasks,
        cpu / appends
    );
}

/// User and system time of this process so far.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
}
