//! Several processes on one file.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use posse_core::ErrorCode;
use posse_core::approval::ApprovalState;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_runtime::ports::{ApprovalStore, JournalStore};
use posse_store::{SqliteStore, StoreSettings};
use posse_testkit::approval_suite::{request, yes};
use posse_testkit::store_suite::{asked, finished, new_task};

use crate::child::{Other, say};
use crate::{block_on, open, place};

const PROCESSES: usize = 16;
const TRANSITIONS: u64 = 1_000;

const ROUNDS: usize = 40;
const OPENERS: usize = 6;

/// A task ends, and goes on again.
fn transition(number: u64) -> Record {
    if number % 2 == 1 {
        return finished(StopReason::TurnsExhausted, "half");
    }
    Record::Resumed {
        epoch: 1,
        turns_max: None,
        wall_ms_max: None,
        lost_tokens: 0,
        lost_cost_micros: None,
        elapsed_ms: number,
    }
}

/// The child's part: every transition is on disk before the next one.
pub fn transit(path: &Path, session: &str) {
    let store = open(path);
    let id = TaskId::root(session);
    block_on(async {
        store.create(new_task(session)).await.unwrap();
        for number in 1..=TRANSITIONS {
            if let Err(e) = store.append(&id, 1, &[transition(number)]).await {
                say(format_args!("transition {number}: {e}"));
            }
        }
    });
    say("done");
}

/// Whoever opens a new store while another makes its tables must not take it for a stranger's.
#[test]
fn a_new_store_is_opened_by_many_at_once() {
    for _ in 0..ROUNDS {
        let (_directory, path) = place();
        let gate = Barrier::new(OPENERS);
        thread::scope(|scope| {
            for _ in 0..OPENERS {
                scope.spawn(|| {
                    gate.wait();
                    open(&path)
                });
            }
        });
    }
}

#[test]
fn processes_that_start_and_write_at_once_lose_nothing_to_each_other() {
    let (_directory, path) = place();
    // They also race to create the file and its schema.
    let children: Vec<Other> =
        (0..PROCESSES).map(|n| Other::start("transit", &path, &format!("p{n}"))).collect();
    for child in children {
        assert_eq!(child.hear_all(), ["done"]);
    }
    let store = open(&path);
    block_on(async {
        store.integrity().await.unwrap();
        for n in 0..PROCESSES {
            let id = TaskId::root(&format!("p{n}"));
            let records = store.records(&id).await.unwrap();
            assert!(
                records[1..] == (1..=TRANSITIONS).map(transition).collect::<Vec<_>>(),
                "{id} is not whole"
            );
            assert_eq!(
                store.task(&id).await.unwrap().state.wire(),
                "running",
                "what the last transition says"
            );
        }
    });
}

#[test]
fn a_driver_that_was_replaced_from_another_process_is_fenced() {
    let (_directory, path) = place();
    let (first, second) = (open(&path), open(&path));
    let id = TaskId::root("s");
    block_on(async {
        first.create(new_task("s")).await.unwrap();
        assert_eq!(second.claim(&id, "second").await.unwrap(), 2);
        let refused = first.append(&id, 1, &[asked(1)]).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::OwnerLost);
        assert!(refused.message().contains("`second`"), "{refused}");
        second.append(&id, 2, &[asked(2)]).await.unwrap();
        assert_eq!(first.records(&id).await.unwrap()[1..], [asked(2)], "each sees what the other wrote");
    });
}

#[test]
fn a_lock_that_is_never_released_ends_in_store_busy_and_the_store_works_again_after_it() {
    let (_directory, path) = place();
    let store = SqliteStore::open_with(&path, StoreSettings { busy_max: Duration::from_millis(30) }).unwrap();
    let id = TaskId::root("s");
    let holder = rusqlite::Connection::open(&path).unwrap();
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = store.append(&id, 1, &[asked(1)]).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::StoreBusy);
        assert_eq!(store.records(&id).await.unwrap().len(), 1, "reading needs no lock");
        holder.execute_batch("ROLLBACK").unwrap();
        store.append(&id, 1, &[asked(2)]).await.unwrap();
        assert_eq!(store.records(&id).await.unwrap()[1..], [asked(2)]);
    });
}

const ANSWERERS: usize = 10;

/// The child's part: ten answers at once.
pub fn answer(path: &Path, name: &str) {
    let store = std::sync::Arc::new(open(path));
    let hash = request("s", 1).hash;
    block_on(async {
        let mut answering = tokio::task::JoinSet::new();
        for number in 0..ANSWERERS {
            let (store, hash, by) = (store.clone(), hash.clone(), format!("{name}.{number}"));
            answering.spawn(async move { (by.clone(), store.answer("a1", &hash, yes(&by)).await) });
        }
        while let Some(answered) = answering.join_next().await {
            match answered.unwrap() {
                (by, Ok(_)) => say(by),
                (_, Err(e)) => assert_eq!(e.code(), ErrorCode::ApprovalClosed),
            }
        }
    });
}

// G23 Seen to fail when `ParkedCall::answer` takes an answer after the first.
#[test]
fn of_a_hundred_answers_from_ten_processes_one_counts() {
    let (_directory, path) = place();
    let store = open(&path);
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        store.park(request("s", 1)).await.unwrap();
    });
    let children: Vec<Other> =
        (0..ANSWERERS).map(|n| Other::start("answer", &path, &format!("p{n}"))).collect();
    let won: Vec<String> = children.into_iter().flat_map(Other::hear_all).collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let parked = block_on(store.approval("a1")).unwrap();
    let ApprovalState::Answered(answer) = parked.state else { panic!("{parked:?}") };
    assert_eq!(answer.by.to_string(), won[0]);
}
