//! A process that is killed at any instant: what it was told is durable is there afterwards.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_runtime::ports::{JournalStore, NewTask};
use posse_testkit::store_suite::{new_task, replied};

use crate::child::{Other, say};
use crate::{block_on, open, place};

const KILLS: u32 = 30;
const TASKS: u32 = 3;

/// The child's part: a few tasks append without end and say what was acknowledged.
pub fn append_forever(path: &Path, session: &str) {
    let store = Arc::new(open(path));
    block_on(async {
        let mut running = tokio::task::JoinSet::new();
        for number in 1..=TASKS {
            let (store, id) = (Arc::clone(&store), TaskId::child(session, number));
            running.spawn(async move {
                store.create(NewTask { id: id.clone(), ..new_task("unused") }).await.unwrap();
                for nth in 1.. {
                    store.append(&id, 1, &[numbered(nth)]).await.unwrap();
                    say(format_args!("{number} {nth}"));
                }
            });
        }
        running.join_all().await;
    });
}

/// Records of many sizes, so that a kill meets pages in every state.
fn numbered(nth: u64) -> Record {
    let length = (nth.wrapping_mul(2_654_435_761) % 9_000) as usize;
    replied(&"x".repeat(length), nth, nth)
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let (_directory, path) = place();
    for generation in 0..KILLS {
        let session = format!("g{generation}");
        let mut child = Other::start("append forever", &path, &session);
        let mut acknowledged: HashMap<u32, u64> = HashMap::new();
        let mut note = |line: String| {
            let (task, nth) = line.split_once(' ').unwrap();
            acknowledged.insert(task.parse().unwrap(), nth.parse().unwrap());
        };
        for _ in 0..fastrand::usize(1..60) {
            note(child.hear().expect("the child appends until it is killed"));
        }
        child.process.kill().unwrap();
        // What it had said before it died counts too.
        while let Some(line) = child.hear() {
            note(line);
        }
        block_on(verify(&path, &session, &acknowledged));
    }
    let (_other, fresh) = place();
    drop(open(&fresh));
    let schema = |path| posse_store::check(path).unwrap().schema;
    assert_eq!(schema(&path), schema(&fresh));
}

/// Opening a store for the first time takes several steps on disk; dying between any two must not spoil it.
#[test]
fn a_process_killed_while_it_creates_the_store_leaves_one_that_opens() {
    // Each step is seen by a file that exists with at least so many bytes.
    let steps = [("db", 0), ("db", 1), ("db-wal", 0), ("db-wal", 1)];
    for (extension, bytes) in steps.iter().cycle().take(12) {
        let (_directory, path) = place();
        let mut child = Other::start("append forever", &path, "s");
        let file = path.with_extension(extension);
        while !std::fs::metadata(&file).is_ok_and(|data| data.len() >= *bytes) {
            assert!(child.process.try_wait().unwrap().is_none(), "the child ended by itself");
        }
        child.process.kill().unwrap();
        child.process.wait().unwrap();
        let store = open(&path);
        block_on(async {
            store.integrity().await.unwrap();
            store.create(new_task("after")).await.unwrap();
        });
    }
}

async fn verify(path: &Path, session: &str, acknowledged: &HashMap<u32, u64>) {
    let store = open(path);
    store.integrity().await.unwrap();
    for (number, count) in acknowledged {
        let records = store.records(&TaskId::child(session, *number)).await.unwrap();
        let kept = records.len() as u64 - 1;
        assert!(kept >= *count, "{session}: task {number} has {kept} of {count} acknowledged records");
        for (record, nth) in records[1..].iter().zip(1..) {
            assert!(*record == numbered(nth), "{session}: record {nth} of task {number} is another one");
        }
        let row = store.task(&TaskId::child(session, *number)).await.unwrap();
        assert_eq!(u64::from(row.turns()), kept, "the row and the journal were written together");
    }
}
