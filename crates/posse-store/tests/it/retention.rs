//! Deletion: what goes, what stays known, and the space that comes back.

use std::fs;
use std::path::Path;

use posse_core::ErrorCode;
use posse_core::approval::{ApprovalRequest, ApprovalVerdict};
use posse_core::context::{AudienceChange, ContextChange, ContextKey, ContextWrite};
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::StopReason;
use posse_runtime::ports::{
    ApprovalQuery, ApprovalStore, ChangeRequest, ContextStore, JournalStore, MessageReceipt, MessageStore,
    NewQuestion, NewTask, TaskFilter, TaskQuery,
};
use posse_store::{RewriteConsent, SpaceReturn, SpendingGroup, SqliteStore, TaskTree};
use posse_testkit::message_suite::message;
use posse_testkit::store_suite::{asked, finished, new_task, priced, replied};

use crate::{block_on, open, place};

const LARGE: usize = 100_000;

/// A task that has ended, with a journal of about `LARGE` bytes.
fn ended(store: &SqliteStore, id: &str, parent: Option<&str>) {
    let task = TaskId::from_store(id.to_owned());
    let parent = parent.map(|parent| TaskId::from_store(parent.to_owned()));
    block_on(async {
        store.create(NewTask { id: task.clone(), parent, ..new_task("s") }).await.unwrap();
        let records =
            vec![asked(1), replied(&"x".repeat(LARGE), 1, 2), finished(StopReason::Answered, "done")];
        store.append(&task, 1, &records).await.unwrap();
    });
}

fn tree(store: &SqliteStore, root: &str) -> TaskTree {
    let trees = block_on(store.trees()).unwrap();
    trees.into_iter().find(|tree| tree.root.as_str() == root).unwrap()
}

fn delete(store: &SqliteStore, root: &str) -> bool {
    block_on(store.delete_tree(tree(store, root), 9)).unwrap()
}

fn file_bytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

#[test]
fn a_tree_is_deleted_whole_and_its_neighbors_stay() {
    let (_directory, path) = place();
    let store = open(&path);
    for (id, parent) in
        [("a", None), ("a.t_01", Some("a")), ("a.t_02", Some("a.t_01")), ("b", None), ("h.t_01", Some("h"))]
    {
        ended(&store, id, parent);
    }
    let seen = tree(&store, "a");
    assert_eq!((seen.tasks, seen.running, seen.is_hosted), (3, 0, false));
    assert!(tree(&store, "h.t_01").is_hosted);
    let (tasks, bytes) = block_on(store.tree_contents(&seen.root)).unwrap();
    assert!(tasks.len() == 3 && bytes > 3 * LARGE as u64, "{tasks:?} {bytes}");
    assert!(delete(&store, "a"));
    let left = block_on(store.find_tasks(TaskQuery::of(TaskFilter::All))).unwrap();
    assert_eq!(left.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["h.t_01", "b"]);
    let gone = block_on(store.records(&TaskId::root("a"))).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::TaskNotFound);
    assert_eq!(block_on(store.records(&TaskId::root("b"))).unwrap().len(), 4);
}

#[test]
fn the_space_of_deleted_tasks_is_given_back_while_another_process_writes() {
    let (_directory, path) = place();
    let (store, other) = (open(&path), open(&path));
    for number in 0..60 {
        ended(&store, &format!("s{number}"), None);
    }
    block_on(other.create(new_task("lives"))).unwrap();
    let before = block_on(store.size()).unwrap();
    assert!(before.used_bytes > 60 * LARGE as u64);
    for number in 0..59 {
        assert!(delete(&store, &format!("s{number}")));
        block_on(other.append(&TaskId::root("lives"), 1, &[asked(number)])).unwrap();
    }
    let done = block_on(store.give_back_space(RewriteConsent::Refused)).unwrap();
    assert_eq!(done, SpaceReturn::Done);
    assert!(file_bytes(&path) < 5 * LARGE as u64, "{} bytes are left", file_bytes(&path));
    // What is there is read as before, and whoever writes goes on.
    block_on(other.append(&TaskId::root("lives"), 1, &[asked(60)])).unwrap();
    assert_eq!(block_on(store.records(&TaskId::root("lives"))).unwrap().len(), 61);
    assert_eq!(block_on(store.records(&TaskId::root("s59"))).unwrap().len(), 4);
    drop((store, other));
    block_on(open(&path).integrity()).unwrap();
    assert!(file_bytes(&path) < 5 * LARGE as u64);
}

#[test]
fn a_store_of_an_earlier_version_gives_space_back_after_one_rewrite_that_was_agreed_to() {
    let (_directory, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("schema_1.sql")).unwrap();
    drop(old);
    let store = open(&path);
    for number in 0..20 {
        ended(&store, &format!("x{number}"), None);
    }
    for number in 0..20 {
        assert!(delete(&store, &format!("x{number}")));
    }
    let give_back = |consent| block_on(store.give_back_space(consent)).unwrap();
    assert_eq!(give_back(RewriteConsent::Refused), SpaceReturn::NeedsRewrite);
    assert!(file_bytes(&path) > 15 * LARGE as u64);
    assert_eq!(give_back(RewriteConsent::Given), SpaceReturn::Done);
    assert!(file_bytes(&path) < 2 * LARGE as u64, "{} bytes are left", file_bytes(&path));
    // From then on it needs none.
    ended(&store, "y", None);
    assert!(delete(&store, "y"));
    assert_eq!(give_back(RewriteConsent::Refused), SpaceReturn::Done);
    block_on(store.integrity()).unwrap();
}

#[test]
fn a_tree_that_was_claimed_or_grew_since_it_was_seen_is_kept() {
    let (_directory, path) = place();
    let (store, other) = (open(&path), open(&path));
    ended(&store, "a", None);
    let seen = tree(&store, "a");
    block_on(other.claim(&TaskId::root("a"), "somebody")).unwrap();
    assert!(!block_on(store.delete_tree(seen, 9)).unwrap());
    let seen = tree(&store, "a");
    ended(&other, "a.t_01", Some("a"));
    assert!(!block_on(store.delete_tree(seen, 9)).unwrap());
    assert_eq!(block_on(store.count()).unwrap(), 2);
    assert!(delete(&store, "a"));
    // Whoever still believes to drive it is told.
    let late = block_on(other.append(&TaskId::root("a"), 2, &[asked(2)])).unwrap_err();
    assert_eq!(late.code(), ErrorCode::TaskNotFound);
}

#[test]
fn a_task_made_after_the_newest_was_deleted_has_nothing_of_it() {
    let (_directory, path) = place();
    let (store, other) = (open(&path), open(&path));
    ended(&store, "a", None);
    block_on(store.create(new_task("b"))).unwrap();
    block_on(store.send_message(message("b", "m"))).unwrap();
    let question = NewQuestion {
        task: TaskId::root("b"),
        key: "q".to_owned(),
        text: "?".to_owned(),
        options: Vec::new(),
        asked_ms: 1,
    };
    block_on(store.ask_question(question)).unwrap();
    block_on(store.append(&TaskId::root("b"), 1, &[finished(StopReason::Answered, "b")])).unwrap();
    assert!(delete(&other, "b"));
    block_on(store.create(new_task("c"))).unwrap();
    assert_eq!(block_on(store.send_message(message("c", "m"))).unwrap(), MessageReceipt::Queued);
    assert_eq!(block_on(store.question(&TaskId::root("c"))).unwrap(), None);
    assert_eq!(block_on(store.records(&TaskId::root("c"))).unwrap().len(), 1);
    let row = block_on(store.task(&TaskId::root("c"))).unwrap();
    assert_eq!((row.turns(), row.total.input_tokens), (0, 0));
}

#[test]
fn what_deleted_tasks_cost_stays_known() {
    for by in [SpendingGroup::Agent, SpendingGroup::Model, SpendingGroup::Day, SpendingGroup::Workspace] {
        let (_directory, path) = place();
        let store = open(&path);
        for id in ["a", "b"] {
            block_on(store.create(new_task(id))).unwrap();
            let records = vec![asked(1), priced(100, Some(7)), asked(2), priced(10, None)];
            let records: Vec<_> = records.into_iter().chain([finished(StopReason::Answered, "")]).collect();
            block_on(store.append(&TaskId::root(id), 1, &records)).unwrap();
        }
        let before = block_on(store.spending(by, 0)).unwrap();
        assert!(before.iter().map(|line| line.total.cost_micros).sum::<u64>() == 14, "{before:?}");
        assert!(delete(&store, "a"));
        assert_eq!(block_on(store.spending(by, 0)).unwrap(), before, "{by:?}");
    }
}

#[test]
fn a_session_goes_with_its_own_task_and_a_room_of_a_host_stays() {
    let (_directory, path) = place();
    let store = open(&path);
    ended(&store, "a", None);
    ended(&store, "h.t_01", Some("h"));
    let write = |session: &str| {
        let write = ContextWrite {
            key: ContextKey::parse("plan").unwrap(),
            value: "v".to_owned(),
            expected_version: None,
            expires_at_ms: None,
            audience: AudienceChange::default(),
        };
        ChangeRequest {
            session: session.to_owned(),
            participant: "operator".to_owned(),
            change: ContextChange::Write(write),
            idempotency_key: None,
            now_ms: 1,
        }
    };
    block_on(store.change_context(write("a"))).unwrap();
    block_on(store.change_context(write("h"))).unwrap();
    assert!(delete(&store, "a") && delete(&store, "h.t_01"));
    let gone = block_on(store.context_keys("a", 2)).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::SessionNotFound);
    assert_eq!(block_on(store.context_keys("h", 2)).unwrap().len(), 1);
}

#[test]
fn the_id_of_a_deleted_approval_is_not_given_again() {
    let (_directory, path) = place();
    let store = open(&path);
    let park = |task: &str| {
        block_on(store.create(new_task(task))).unwrap();
        let request = ApprovalRequest {
            task: TaskId::root(task),
            key: CallKey { turn: 1, index: 0 },
            agent: "helper".to_owned(),
            path: Vec::new(),
            tool: "bash".to_owned(),
            arguments: "{}".to_owned(),
            hash: "h".to_owned(),
            why: String::new(),
            covers: Vec::new(),
            shown: None,
            asked_ms: 1,
            deadline_ms: 2,
            on_deadline: ApprovalVerdict::Deny,
        };
        block_on(store.park(request)).unwrap().id
    };
    let first = park("a");
    assert!(delete(&store, "a"));
    let second = park("b");
    assert_ne!(first, second);
    block_on(store.give_back_space(RewriteConsent::Refused)).unwrap();
    let left = block_on(store.approvals(ApprovalQuery::Newest(9))).unwrap();
    assert_eq!(left.into_iter().map(|parked| parked.id).collect::<Vec<_>>(), [second]);
}
