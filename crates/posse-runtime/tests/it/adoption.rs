//! What happens to tasks beside their own run: somebody wants them to end, their driver is gone or is somebody else.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_core::journal::{Record, start_of};
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_runtime::driver::{ResumeMode, end_cancelled};
use posse_runtime::observe::Observers;
use posse_runtime::ports::{JournalStore, TaskRow};
use posse_runtime::session::facades::Facade;
use posse_testkit::memory::MemoryStore;
use tokio::time::Instant;

use crate::facades::room;
use crate::session::{agent, results, session, session_of, session_where};

const WAITS: &str = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    helper:
      - {text: looked, delay_ms: 40000}
    "#;

async fn status(store: &MemoryStore, id: &TaskId) -> &'static str {
    store.task(id).await.unwrap().state.wire()
}

/// Runs the script, with a wish to cancel this task after ten seconds. Returns how the orchestrator ended, and when.
async fn cancelled_from_outside(id: &TaskId) -> (Arc<MemoryStore>, OutcomeStatus, Duration) {
    let store = Arc::new(MemoryStore::new());
    let session = session(WAITS, store.clone(), Observers::default());
    let began = Instant::now();
    let run = session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new());
    let wish = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        store.request_cancel(id).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(run, wish);
    (store, outcome.unwrap().status(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_cancel_is_heard_within_two_seconds() {
    let (root, child) = (TaskId::root("s1"), TaskId::child("s1", 1));
    for (cancelled, expected) in [(&root, OutcomeStatus::Cancelled), (&child, OutcomeStatus::Completed)] {
        let (store, ended, took) = cancelled_from_outside(cancelled).await;
        assert_eq!((ended, status(&store, &child).await), (expected, "cancelled"));
        assert!(took < Duration::from_secs(12), "{took:?}");
        assert_eq!(store.cancel_requests().await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_shows_that_it_lives_while_it_waits() {
    let store = Arc::new(MemoryStore::new());
    let session = session(WAITS, store.clone(), Observers::default());
    session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    // What the same run writes when its child is quick is what it writes without a beat.
    let quick = Arc::new(MemoryStore::new());
    let script = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    helper:
      - text: looked
    "#;
    let session = crate::session::session(script, quick.clone(), Observers::default());
    session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let beats = store.writes() - quick.writes();
    assert!((7..=8).contains(&beats), "one in five of forty seconds, and not {beats}");
}

/// Each state a process can leave behind when it dies, ended without a model.
#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_drives_can_be_ended_at_any_write() {
    let store = Arc::new(MemoryStore::new());
    let first = session(WAITS, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    for writes in 1..store.writes() {
        let left = store.as_of(writes);
        for row in left.tasks(9).await.unwrap() {
            let epoch = left.claim_from(&row.id, row.epoch, "other").await.unwrap();
            let outcome = end_cancelled(&left, &row.id, epoch, "nobody drives it", false).await.unwrap();
            let was_running = row.state.is_running();
            assert_eq!(was_running, outcome.stop == StopReason::Cancelled, "{writes}: {row:?}");
            let records = left.records(&row.id).await.unwrap();
            assert!(matches!(records.last(), Some(Record::Finished { .. })), "{writes}: {records:?}");
            assert_ne!(status(&left, &row.id).await, "running");
            let again = end_cancelled(&left, &row.id, epoch, "nobody drives it", false).await.unwrap();
            assert_eq!(again, outcome, "ending it again changes nothing");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_interrupted_without_time_left_ends_when_it_is_taken_up() {
    let store = Arc::new(MemoryStore::new());
    let first = session(WAITS, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let (left, root) = (Arc::new(store.as_of(1)), TaskId::root("s1"));
    let asked = Record::Asked { turn: 1, turns_max: 50, estimate: 1, elapsed_ms: 1_000_000_000_000 };
    left.append(&root, 1, &[asked]).await.unwrap();
    let second = session(WAITS, left.clone(), Observers::default());
    let finish = || ResumeMode::Finish { turns_max: None, wall_ms_max: None };
    let outcome = second.resume(root.clone(), finish()).await.unwrap();
    assert_eq!(outcome.stop, StopReason::DeadlinePassed);
    assert_ne!(status(&left, &root).await, "running");
    let third = session(WAITS, left, Observers::default());
    let refused = third.resume(root, finish()).await.unwrap_err();
    assert_eq!(
        refused.code(),
        ErrorCode::TaskNotResumable,
        "once it has ended, it needs more time: {refused}"
    );
}

const DETACHES: &str = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look, detached: true}}]
      - text: it goes on
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - calls: [{subagent: {action: collect, task_id: t_01}}]
      - text: collected
    helper:
      - {text: looked, delay_ms: 20000}
    "#;

#[tokio::test(start_paused = true)]
async fn a_detached_task_that_lives_elsewhere_is_followed_and_not_taken() {
    let store = Arc::new(MemoryStore::new());
    let first = session(DETACHES, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let child = TaskId::child("s1", 1);
    assert_eq!(first.left_running(), std::slice::from_ref(&child));
    // The first session still drives it, as another process would.
    let second = session_where(|_| true, DETACHES, store.clone(), Observers::default());
    let outcome = second.resume(TaskId::root("s1"), ResumeMode::Message("And?".to_owned())).await.unwrap();
    assert_eq!(outcome.text, "collected");
    let collected = results(&store).await.pop().unwrap();
    assert!(collected.text.contains("looked"), "{}", collected.text);
    assert_eq!(store.task(&child).await.unwrap().epoch, 1, "nobody else drove it");
}

#[tokio::test(start_paused = true)]
async fn a_detached_task_whose_driver_is_gone_goes_on_by_itself() {
    let store = Arc::new(MemoryStore::new());
    let first = session(DETACHES, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    // As the process that ends here leaves it.
    let left = Arc::new(store.snapshot());
    let child = TaskId::child("s1", 1);
    let alone = session(DETACHES, left.clone(), Observers::default());
    let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
    let outcome = alone.resume(child.clone(), onward).await.unwrap();
    assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "looked"));
    assert_eq!(status(&left, &child).await, "completed");
    assert_eq!(alone.left_running(), []);
}

// G9 Seen to fail with `claim` in place of `claim_from` in `Session::claim`.
#[tokio::test(start_paused = true)]
async fn of_two_processes_that_see_the_same_dead_owner_one_adopts_the_task() {
    let store = Arc::new(MemoryStore::new());
    let dies = session_of("dead", |_| true, DETACHES, store.clone(), Observers::default());
    dies.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let (left, child) = (Arc::new(store.snapshot()), TaskId::child("s1", 1));
    let lives = |row: &TaskRow| row.owner != "dead";
    let [one, two] =
        ["one", "two"].map(|owner| session_of(owner, lives, DETACHES, left.clone(), Observers::default()));
    let hosts = tokio::join!(one.host(agent("host", None), None), two.host(agent("host", None), None));
    let hosts = [hosts.0.unwrap(), hosts.1.unwrap()];
    tokio::time::sleep(Duration::from_secs(60)).await;
    let records = left.records(&child).await.unwrap();
    let resumed = records.iter().filter(|record| matches!(record, Record::Resumed { .. })).count();
    assert_eq!((resumed, status(&left, &child).await), (1, "completed"), "{records:?}");
    for host in hosts {
        assert_eq!(host.unfinished(), [], "both have heard of its end");
    }
}

fn finish() -> ResumeMode {
    ResumeMode::Finish { turns_max: None, wall_ms_max: None }
}

/// What is durable at the first write after which `is_there` holds.
async fn left_when(store: &MemoryStore, is_there: impl AsyncFn(&MemoryStore) -> bool) -> MemoryStore {
    for writes in 1..=store.writes() {
        let left = store.as_of(writes);
        if is_there(&left).await {
            return left;
        }
    }
    panic!("no write led there");
}

// G9 Seen to fail with the claim after the board: the child stayed `running` at epoch 2, and the orchestrator heard that it failed.
#[tokio::test(start_paused = true)]
async fn a_queued_child_whose_place_gets_free_while_it_is_adopted_runs_once() {
    let script = r#"
    boss:
      - calls:
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
          - subagent: {action: spawn, agent: helper, task: look, queue: true}
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: "{result:2.0}"
    helper:
      - {text: looked, delay_ms: 100}
    "#;
    let store = Arc::new(MemoryStore::new());
    let first = session(script, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let queued = TaskId::child("s1", 6);
    let left = Arc::new(left_when(&store, async |left| left.task(&queued).await.is_ok()).await);
    // Its siblings end before the answer to its claim is here.
    left.answer_late(queued.clone(), Duration::from_secs(10));
    let second = session(script, left.clone(), Observers::default());
    let outcome = second.resume(TaskId::root("s1"), finish()).await.unwrap();
    assert!(!outcome.text.contains("failed"), "{}", outcome.text);
    for row in left.tasks(9).await.unwrap() {
        assert_eq!(row.state.wire(), "completed", "{row:?}");
        let records = left.records(&row.id).await.unwrap();
        let ends = records.iter().filter(|record| matches!(record, Record::Finished { .. })).count();
        assert_eq!(ends, 1, "{records:?}");
    }
}

// G9 Seen to fail with the child launched before its own children were adopted: it spawned them again.
#[tokio::test(start_paused = true)]
async fn a_child_that_delegates_finds_its_children_when_it_is_adopted() {
    let script = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: chief, task: go}}]
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    chief:
      - calls:
          - subagent: {action: spawn, agent: helper, task: look}
          - subagent: {action: spawn, agent: helper, task: look}
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    helper:
      - {text: looked, delay_ms: 100}
    "#;
    let first = room(script, &[Facade::Subagent], 2, MemoryStore::new());
    assert_eq!(first.run().await.status(), OutcomeStatus::Completed);
    let whole = first.store.tasks(9).await.unwrap().len();
    for writes in 1..first.store.writes() {
        let again = room(script, &[Facade::Subagent], 2, first.store.as_of(writes));
        for grandchild in [2, 3] {
            again.store.answer_late(TaskId::child("s1", grandchild), Duration::from_secs(1));
        }
        let outcome = again.session.resume(TaskId::root("s1"), finish()).await.unwrap();
        assert_eq!(outcome.status(), OutcomeStatus::Completed, "{writes}");
        let rows = again.store.tasks(9).await.unwrap();
        assert_eq!(rows.len(), whole, "{writes}: {rows:?}");
        let mut keys = BTreeSet::new();
        for row in rows {
            assert_eq!(row.state.wire(), "completed", "{writes}: {row:?}");
            let key = start_of(&again.store.records(&row.id).await.unwrap()).unwrap().link.key;
            assert!(keys.insert(key.clone()), "{writes}: two tasks of call {key:?}");
        }
    }
}

type RowAction = Box<dyn FnOnce(&TaskRow)>;

thread_local! {
    /// Happens in the moment in which the owner of a task is found dead.
    static MEANWHILE: RefCell<Option<RowAction>> = const { RefCell::new(None) };
}

fn dies_meanwhile(row: &TaskRow) -> bool {
    if let Some(meanwhile) = (row.id.short() == "t_01").then(|| MEANWHILE.take()).flatten() {
        meanwhile(row);
    }
    row.owner == "other"
}

/// The store that a process left whose detached child was at work.
async fn left_detached() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let first = session(DETACHES, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    Arc::new(store.snapshot())
}

fn ended_as(stop: StopReason) -> Record {
    Record::Finished { outcome: Arc::new(Outcome::unstarted(stop, String::new())), elapsed_ms: 0 }
}

// G9 Seen to fail with the row as it was read before the owner was found dead: the cancelled task went on.
#[tokio::test(start_paused = true)]
async fn a_task_that_ends_right_before_its_owner_stays_as_it_ended() {
    let (left, child) = (left_detached().await, TaskId::child("s1", 1));
    let ending = left.clone();
    MEANWHILE.set(Some(Box::new(move |row| {
        let cancelled = Record::Cancelled { elapsed_ms: 0, with_parent: false };
        drop(ending.append(&row.id, row.epoch, &[cancelled, ended_as(StopReason::Cancelled)]));
    })));
    let second = session_where(dies_meanwhile, DETACHES, left.clone(), Observers::default());
    second.resume(TaskId::root("s1"), ResumeMode::Message("And?".to_owned())).await.unwrap();
    let row = left.task(&child).await.unwrap();
    assert_eq!((row.state.wire(), row.epoch), ("cancelled", 1), "{row:?}");
}

// G9 Seen to fail with the loss told as the end of the child: the orchestrator went on while another process drove it.
#[tokio::test(start_paused = true)]
async fn a_child_that_another_process_claims_first_is_followed() {
    let store = Arc::new(MemoryStore::new());
    let first = session(WAITS, store.clone(), Observers::default());
    first.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    let child = TaskId::child("s1", 1);
    let left = Arc::new(left_when(&store, async |left| left.task(&child).await.is_ok()).await);
    let claiming = left.clone();
    MEANWHILE.set(Some(Box::new(move |row| drop(claiming.claim_from(&row.id, row.epoch, "other")))));
    let second = session_where(dies_meanwhile, WAITS, left.clone(), Observers::default());
    let ending = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        left.append(&child, 2, &[ended_as(StopReason::Cancelled)]).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(second.resume(TaskId::root("s1"), finish()), ending);
    assert_eq!(outcome.unwrap().status(), OutcomeStatus::Completed);
    let waited = results(&left).await.pop().unwrap();
    assert!(waited.text.contains("\"reason\":\"cancelled\""), "{}", waited.text);
    let row = left.task(&child).await.unwrap();
    assert_eq!((row.owner.as_str(), row.epoch), ("other", 2), "{row:?}");
}

// G9 Seen to fail with children ended whatever the reason: they were cancelled under their new driver.
#[tokio::test(start_paused = true)]
async fn an_orchestrator_that_lost_its_task_leaves_its_children_to_the_new_driver() {
    let script = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - {text: done, delay_ms: 10000}
    helper:
      - {text: looked, delay_ms: 40000}
    "#;
    let store = Arc::new(MemoryStore::new());
    let session = session(script, store.clone(), Observers::default());
    let run = session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new());
    let loses = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        store.claim(&TaskId::root("s1"), "other").await.unwrap();
    };
    let (lost, ()) = tokio::join!(run, loses);
    assert_eq!(lost.unwrap_err().code(), ErrorCode::OwnerLost);
    assert_eq!(status(&store, &TaskId::child("s1", 1)).await, "running");
}

// Seen to fail when only families of running tasks were looked at: the detached task of a child was not waited for.
#[tokio::test(start_paused = true)]
async fn detached_tasks_can_be_waited_for_also_those_of_a_child() {
    let script = r#"
    boss:
      - calls: [{Agent: {prompt: go, type: chief}}]
      - text: done
    chief:
      - calls: [{subagent: {action: spawn, agent: helper, task: look, detached: true}}]
      - text: it goes on
    helper:
      - {text: looked, delay_ms: 20000}
    "#;
    let room = room(script, &[Facade::Subagent, Facade::Agent], 2, MemoryStore::new());
    let detached = TaskId::child("s1", 2);
    assert_eq!(room.run().await.status(), OutcomeStatus::Completed);
    assert_eq!(room.session.left_running(), std::slice::from_ref(&detached));
    room.session.finish_detached().await;
    assert_eq!(status(&room.store, &detached).await, "completed");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_driven_no_more_can_be_let_go() {
    let script = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - calls: [{subagent: {action: wait, mode: all, timeout_ms: 45000}}]
      - text: done
    helper:
      - text: looked
    "#;
    let (root, child) = (TaskId::root("s1"), TaskId::child("s1", 1));
    let mut left = 0;
    for nth in 1..6 {
        let store = Arc::new(MemoryStore::new());
        store.fail_append(nth, ErrorCode::DiskFull);
        let session = session(script, store.clone(), Observers::default());
        let ended = session.run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await;
        if ended.is_err() || status(&store, &child).await != "running" {
            continue;
        }
        // It could not write down its end, and is ours all the same.
        left += 1;
        assert_eq!(store.task(&child).await.unwrap().owner, "test");
        let other = TaskId::child("s1", 9);
        assert_eq!(session.release_tasks(&other).await.unwrap(), [], "it is not below that one");
        assert_eq!(session.release_tasks(&root).await.unwrap(), std::slice::from_ref(&child));
        let row = store.task(&child).await.unwrap();
        assert_eq!((row.owner.as_str(), row.state.is_running()), ("", true));
    }
    assert_eq!(left, 1);
}
