//! What every store of shared context must do. `run` panics with the sentence that does not hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use posse_core::context::{
    Audience, AudienceChange, ChangeResult, ContextChange, ContextKey, ContextWrite, HISTORY_MAX, HistoryAct,
    KEYS_MAX, SNAPSHOTS_MAX, SnapshotLabel, TOTAL_TOKENS_MAX, ValueHead,
};
use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_runtime::ports::{ChangeRequest, KEPT_AGENTS_MAX, KeptAgent, NewTask, SessionRow, Store};

use crate::store_suite::new_task;

/// Runs every case on a fresh store. Needs a tokio runtime around it.
pub async fn run<S: Store + 'static>(fresh: impl Fn() -> Arc<S>) {
    a_value_is_read_as_it_was_written(&*fresh()).await;
    versions_count_from_one_and_a_rewritten_key_says_what_it_was(&*fresh()).await;
    a_value_is_over_at_its_time(&*fresh()).await;
    limits_are_kept(&*fresh()).await;
    an_expected_version_decides(&*fresh()).await;
    a_change_that_was_made_is_not_made_again(&*fresh()).await;
    history_is_newest_first_and_bounded(&*fresh()).await;
    a_snapshot_can_be_read_and_restored(&*fresh()).await;
    a_key_is_for_whom_its_writer_says(&*fresh()).await;
    sessions_are_apart_and_have_a_life(&*fresh()).await;
    a_task_brings_its_session_along(&*fresh()).await;
    agents_are_kept_with_their_session(&*fresh()).await;
    sixteen_writers_leave_no_gap_and_no_duplicate(fresh()).await;
    sixteen_writers_never_exceed_the_total(fresh()).await;
    of_sixteen_that_expect_one_version_one_wins(fresh()).await;
}

pub fn key(raw: &str) -> ContextKey {
    ContextKey::parse(raw).expect("keys in tests are spelled right")
}

pub fn label(raw: &str) -> SnapshotLabel {
    SnapshotLabel::parse(raw).expect("labels in tests are spelled right")
}

pub fn to_write(name: &str, value: &str) -> ContextWrite {
    ContextWrite {
        key: key(name),
        value: value.to_owned(),
        expected_version: None,
        expires_at_ms: None,
        audience: AudienceChange::default(),
    }
}

/// A change in the session `s` at the given time, by someone called `by`.
pub fn at(now_ms: u64, by: &str, change: ContextChange) -> ChangeRequest {
    let (session, participant) = ("s".to_owned(), by.to_owned());
    ChangeRequest { session, participant, idempotency_key: None, change, now_ms }
}

async fn open(store: &dyn Store) {
    store.create_session("s", "/w", 1).await.expect("a session can be made");
}

async fn write_at(store: &dyn Store, now_ms: u64, write: ContextWrite) -> Result<ValueHead> {
    match store.change_context(at(now_ms, "orchestrator", ContextChange::Write(write))).await? {
        ChangeResult::Written(head) => Ok(head),
        other => panic!("a write is answered as one: {other:?}"),
    }
}

async fn write(store: &dyn Store, name: &str, value: &str) -> Result<ValueHead> {
    write_at(store, 10, to_write(name, value)).await
}

async fn delete(store: &dyn Store, name: &str) -> Result<ChangeResult> {
    store.change_context(at(20, "operator", ContextChange::Delete(key(name)))).await
}

async fn value(store: &dyn Store, name: &str, now_ms: u64) -> Option<String> {
    let found = store.context_values("s", &[key(name)], now_ms).await.unwrap();
    found.into_iter().next().map(|entry| entry.value)
}

fn assert_code<T: std::fmt::Debug>(answer: Result<T>, code: ErrorCode) -> Error {
    let error = answer.expect_err("this must be refused");
    assert_eq!(error.code(), code, "{error}");
    error
}

async fn a_value_is_read_as_it_was_written(store: &dyn Store) {
    open(store).await;
    let text = "one\0two \u{1f980}\n{\"a\": [1]}";
    // R192 R197 R198
    let head = write(store, "found", text).await.unwrap();
    let expected = ValueHead {
        key: key("found"),
        version: 1,
        tokens: 5,
        written_by: "orchestrator".to_owned(),
        written_at_ms: 10,
        previous_version: None,
        expires_at_ms: None,
        audience: Audience::default(),
    };
    assert_eq!(head, expected);
    write(store, "empty", "").await.unwrap();
    // R195 R196
    let found = store.context_values("s", &[key("nothing"), key("found"), key("empty")], 10).await.unwrap();
    let found: Vec<(&ValueHead, &str)> =
        found.iter().map(|entry| (&entry.head, entry.value.as_str())).collect();
    assert_eq!((found.len(), found[0], found[1].1), (2, (&expected, text), ""), "in the order asked for");
    let heads = store.context_keys("s", 10).await.unwrap();
    assert_eq!(heads.iter().map(|head| head.key.as_str()).collect::<Vec<_>>(), ["empty", "found"]);
    assert_eq!(heads[1], expected);
    // R206
    assert_code(delete(store, "nothing").await, ErrorCode::KeyNotFound);
}

async fn versions_count_from_one_and_a_rewritten_key_says_what_it_was(store: &dyn Store) {
    open(store).await;
    for version in 1..=3 {
        let head = write(store, "a", &format!("value {version}")).await.unwrap();
        assert_eq!((head.version, head.previous_version), (version, None));
    }
    // R200
    let deleted = delete(store, "a").await.unwrap();
    assert_eq!(deleted, ChangeResult::Deleted { key: key("a"), previous_version: 3 });
    assert_code(delete(store, "a").await, ErrorCode::KeyNotFound);
    assert_eq!(value(store, "a", 20).await, None);
    for version in 1..=2 {
        let head = write(store, "a", "again").await.unwrap();
        assert_eq!((head.version, head.previous_version), (version, Some(3)), "the count began anew");
    }
    assert_eq!(store.context_keys("s", 10).await.unwrap()[0].previous_version, Some(3));
}

async fn a_value_is_over_at_its_time(store: &dyn Store) {
    open(store).await;
    // R222
    let brief = ContextWrite { expires_at_ms: Some(1_000), ..to_write("brief", "x") };
    write_at(store, 10, brief).await.unwrap();
    write_at(store, 10, to_write("lasting", "y")).await.unwrap();
    assert_eq!(value(store, "brief", 999).await.as_deref(), Some("x"));
    assert_eq!(value(store, "brief", 1_000).await, None);
    assert_eq!(store.context_keys("s", 1_000).await.unwrap().len(), 1);
    assert_eq!(store.sessions(9, 999).await.unwrap()[0].keys, 2);
    assert_eq!(store.sessions(9, 1_000).await.unwrap()[0].keys, 1);
    let gone = at(1_000, "operator", ContextChange::Delete(key("brief")));
    assert_code(store.change_context(gone).await, ErrorCode::KeyNotFound);
    let head = write_at(store, 1_000, to_write("brief", "z")).await.unwrap();
    assert_eq!((head.version, head.previous_version, head.expires_at_ms), (1, Some(1), None));
}

async fn limits_are_kept(store: &dyn Store) {
    open(store).await;
    // R201 R207
    let largest = "ä".repeat(4_000);
    assert_code(write(store, "a", &format!("{largest}!")).await, ErrorCode::ValueTooLarge);
    assert_eq!(value(store, "a", 10).await, None, "what was refused is not there");
    // R202 R208
    for number in 0..10 {
        write(store, &format!("k{number}"), &largest).await.unwrap();
    }
    assert_code(write(store, "one_more", "x").await, ErrorCode::ContextFull);
    write(store, "k0", &largest).await.expect("a value may be replaced by one of its size");
    write(store, "empty", "").await.expect("an empty value has no size");
    write(store, "k1", "short").await.unwrap();
    write(store, "one_more", "x").await.expect("what became free can be used");
    assert_code(write(store, "k1", &largest).await, ErrorCode::ContextFull);
    let total: u64 = store.context_keys("s", 10).await.unwrap().iter().map(|head| head.tokens).sum();
    assert_eq!((total, store.sessions(1, 10).await.unwrap()[0].tokens), (9_003, 9_003));
    let left = KEYS_MAX - store.context_keys("s", 10).await.unwrap().len();
    let filler = |number| ContextChange::Write(to_write(&format!("filler_{number}"), ""));
    let queued: Vec<_> =
        (0..left).map(|number| store.change_context(at(10, "orchestrator", filler(number)))).collect();
    for filled in queued {
        filled.await.unwrap();
    }
    assert_code(write(store, "too_many", "").await, ErrorCode::ContextFull);
    write(store, "empty", "").await.expect("a key that is there can be written");
}

async fn an_expected_version_decides(store: &dyn Store) {
    open(store).await;
    let expecting = |version| ContextWrite { expected_version: Some(version), ..to_write("a", "x") };
    let error = assert_code(write_at(store, 1, expecting(1)).await, ErrorCode::VersionConflict);
    assert!(error.message().contains("version is 0"), "{error}");
    assert_eq!(write_at(store, 1, expecting(0)).await.unwrap().version, 1);
    let error = assert_code(write_at(store, 1, expecting(0)).await, ErrorCode::VersionConflict);
    assert!(error.message().contains("version 1") && error.message().contains("orchestrator"), "{error}");
    assert_eq!(write_at(store, 1, expecting(1)).await.unwrap().version, 2);
    // R204
    assert_eq!(write_at(store, 1, to_write("a", "y")).await.unwrap().version, 3, "the last write wins");
}

/// After a crash between a change and its record, the change is asked for again.
async fn a_change_that_was_made_is_not_made_again(store: &dyn Store) {
    open(store).await;
    let keyed = |name: &str, change| ChangeRequest {
        idempotency_key: Some(name.to_owned()),
        ..at(10, "subagent:helper:t_01", change)
    };
    let expecting = ContextWrite { expected_version: Some(0), ..to_write("a", "x") };
    for (number, change) in [
        ContextChange::Write(expecting),
        ContextChange::Snapshot(label("one")),
        ContextChange::Delete(key("a")),
    ]
    .into_iter()
    .enumerate()
    {
        let request = keyed(&format!("call {number}"), change);
        let first = store.change_context(request.clone()).await.unwrap();
        let later = ChangeRequest { now_ms: 99, ..request };
        assert_eq!(store.change_context(later).await.unwrap(), first);
    }
    assert_eq!(store.context_history("s", &key("a"), 9).await.unwrap().len(), 2);
    assert_eq!(value(store, "a", 99).await, None);
    let other = keyed("call 9", ContextChange::Write(to_write("a", "x")));
    assert!(
        matches!(store.change_context(other).await.unwrap(), ChangeResult::Written(head) if head.version == 1)
    );
}

async fn history_is_newest_first_and_bounded(store: &dyn Store) {
    open(store).await;
    // R220
    for number in 1..=u64::from(HISTORY_MAX) + 5 {
        write(store, "a", &format!("value {number}")).await.unwrap();
    }
    write(store, "b", "other").await.unwrap();
    delete(store, "a").await.unwrap();
    let past = store.context_history("s", &key("a"), 2).await.unwrap();
    let lines: Vec<_> =
        past.iter().map(|past| (past.act, past.head.version, past.head.written_by.as_str())).collect();
    let last = u64::from(HISTORY_MAX) + 5;
    assert_eq!(lines, [(HistoryAct::Delete, last, "operator"), (HistoryAct::Write, last, "orchestrator")]);
    assert_eq!(past[1].value, Some(format!("value {last}")));
    let whole = store.context_history("s", &key("a"), 1_000).await.unwrap();
    let kept = whole.iter().filter(|past| past.value.is_some()).count();
    assert_eq!((whole.len() as u64, kept as u32), (last + 1, HISTORY_MAX - 1), "old values are forgotten");
    assert_eq!(store.context_history("s", &key("nothing"), 9).await.unwrap(), []);
}

async fn a_snapshot_can_be_read_and_restored(store: &dyn Store) {
    open(store).await;
    // R223
    write(store, "kept", "as it is").await.unwrap();
    write(store, "changed", &"x".repeat(4_000)).await.unwrap();
    write(store, "deleted", "come back").await.unwrap();
    write_at(store, 10, ContextWrite { expires_at_ms: Some(15), ..to_write("brief", "x") }).await.unwrap();
    let take = |name: &str| at(12, "orchestrator", ContextChange::Snapshot(label(name)));
    let taken = store.change_context(take("before")).await.unwrap();
    let ChangeResult::SnapshotTaken(snapshot) = &taken else { panic!("{taken:?}") };
    assert_eq!((snapshot.keys, snapshot.tokens, snapshot.taken_at_ms), (4, 1_006, 12));
    assert_eq!(store.snapshots("s").await.unwrap(), std::slice::from_ref(snapshot));
    assert_code(store.change_context(take("before")).await, ErrorCode::InvalidRequest);
    let copied = store.snapshot("s", &label("before")).await.unwrap();
    let names: Vec<&str> = copied.iter().map(|entry| entry.head.key.as_str()).collect();
    assert_eq!(names, ["brief", "changed", "deleted", "kept"]);

    write(store, "changed", "short").await.unwrap();
    delete(store, "deleted").await.unwrap();
    write(store, "new", "goes away").await.unwrap();
    let restore = |name: &str| at(20, "operator", ContextChange::Restore(label(name)));
    let restored = store.change_context(restore("before")).await.unwrap();
    assert_eq!(restored, ChangeResult::Restored { written: 2, deleted: 1 });
    let heads = store.context_keys("s", 20).await.unwrap();
    let heads: Vec<_> = heads.iter().map(|head| (head.key.as_str(), head.version)).collect();
    assert_eq!(heads, [("changed", 3), ("deleted", 1), ("kept", 1)], "versions count on");
    assert_eq!(value(store, "deleted", 20).await.as_deref(), Some("come back"));
    assert_code(store.change_context(restore("never")).await, ErrorCode::KeyNotFound);
    assert_code(store.snapshot("s", &label("never")).await, ErrorCode::KeyNotFound);
    for number in 1..SNAPSHOTS_MAX {
        store.change_context(take(&format!("n{number}"))).await.unwrap();
    }
    assert_code(store.change_context(take("too_many")).await, ErrorCode::ContextFull);
}

// R219
async fn a_key_is_for_whom_its_writer_says(store: &dyn Store) {
    open(store).await;
    let (owner, other) = ("subagent:a:t_01", "subagent:b:t_02");
    let list = |who: &str| Some(vec![who.to_owned()]);
    let audience = AudienceChange { readable_by: list("subagent:a:*"), writable_by: list(owner) };
    let by = |who: &str, write: ContextWrite| store.change_context(at(10, who, ContextChange::Write(write)));
    by(owner, ContextWrite { audience, ..to_write("mine", "x") }).await.unwrap();
    let held = store.context_keys("s", 10).await.unwrap().remove(0).audience;
    assert_eq!((held.readable_by, held.writable_by), (list("subagent:a:*").unwrap(), list(owner).unwrap()));
    assert_code(by(other, to_write("mine", "y")).await.map(drop), ErrorCode::AccessDenied);
    let deleted = store.change_context(at(10, other, ContextChange::Delete(key("mine")))).await;
    assert_code(deleted.map(drop), ErrorCode::AccessDenied);
    by("orchestrator", to_write("mine", "z")).await.unwrap();
    let entry = store.context_values("s", &[key("mine")], 10).await.unwrap().remove(0);
    assert_eq!((entry.value.as_str(), entry.head.version), ("z", 2));
    assert!(!entry.head.audience.may_read(other), "what a write does not say stays");

    store.change_context(at(11, "operator", ContextChange::Snapshot(label("before")))).await.unwrap();
    let everyone = AudienceChange::exactly(&Audience::default());
    by(owner, ContextWrite { audience: everyone, ..to_write("mine", "z") }).await.unwrap();
    by(other, to_write("mine", "theirs")).await.unwrap();
    store.change_context(at(12, "operator", ContextChange::Restore(label("before")))).await.unwrap();
    let past = store.context_history("s", &key("mine"), 20).await.unwrap();
    assert!(!past[0].head.audience.may_write(other) && past[1].head.audience.may_write(other), "{past:?}");
    store.change_context(at(13, "orchestrator", ContextChange::Delete(key("mine")))).await.unwrap();
    by(other, to_write("mine", "new")).await.expect("a deleted key is free");
}

async fn sessions_are_apart_and_have_a_life(store: &dyn Store) {
    open(store).await;
    store.create_session("other", "/w", 2).await.unwrap();
    store.create_session("s", "/w", 3).await.expect("making it again changes nothing");
    // R190
    write(store, "a", "x").await.unwrap();
    assert_eq!(store.context_keys("other", 10).await.unwrap(), []);
    assert_eq!(store.context_history("other", &key("a"), 9).await.unwrap(), []);
    // R210
    let elsewhere =
        ChangeRequest { session: "../s".to_owned(), ..at(1, "x", ContextChange::Write(to_write("a", "x"))) };
    assert_code(store.change_context(elsewhere).await, ErrorCode::SessionNotFound);
    assert_code(store.context_keys("nowhere", 1).await, ErrorCode::SessionNotFound);
    assert_code(store.archive_session("nowhere", 1).await, ErrorCode::SessionNotFound);
    assert_code(store.create_session("a.t_01", "/w", 1).await, ErrorCode::InvalidRequest);
    // R211 R228
    store.archive_session("s", 50).await.unwrap();
    assert_code(write(store, "a", "y").await, ErrorCode::SessionArchived);
    assert_code(delete(store, "a").await, ErrorCode::SessionArchived);
    assert_eq!(value(store, "a", 60).await.as_deref(), Some("x"), "an archive can be read");
    store.archive_session("s", 70).await.expect("archiving it again changes nothing");
    let rows = store.sessions(10, 60).await.unwrap();
    let row = |id: &str, created_ms, archived_ms, keys, tokens| SessionRow {
        id: id.to_owned(),
        title: String::new(),
        workspace: "/w".to_owned(),
        created_ms,
        archived_ms,
        tasks: 0,
        keys,
        tokens,
    };
    assert_eq!(rows, [row("other", 2, None, 0, 0), row("s", 1, Some(50), 1, 1)]);
    store.delete_session("s", 80).await.unwrap();
    // R205
    assert_code(store.context_values("s", &[key("a")], 90).await, ErrorCode::SessionNotFound);
    assert_code(write(store, "a", "y").await, ErrorCode::SessionNotFound);
    assert_code(store.delete_session("s", 90).await, ErrorCode::SessionNotFound);
    assert_eq!(store.sessions(10, 90).await.unwrap().len(), 1);
    assert_eq!(store.sessions(0, 90).await.unwrap(), []);
    store.create_session("s", "/w", 100).await.unwrap();
    assert_code(store.context_keys("s", 100).await, ErrorCode::SessionNotFound);
}

async fn agents_are_kept_with_their_session(store: &dyn Store) {
    open(store).await;
    store.create_session("other", "/w", 2).await.unwrap();
    let agent = |name: &str, version| KeptAgent {
        name: name.to_owned(),
        version,
        key: format!("{name}/{version}"),
        arguments: format!("{{\"name\":\"{name}\"}}"),
    };
    for kept in [agent("a", 1), agent("b", 1), agent("a", 2)] {
        store.keep_agent("s", kept, 3).await.unwrap();
    }
    assert_eq!(store.kept_agents("s").await.unwrap(), [agent("b", 1), agent("a", 2)]);
    assert_eq!(store.kept_agents("other").await.unwrap(), []);
    assert_code(store.keep_agent("nowhere", agent("a", 1), 3).await, ErrorCode::SessionNotFound);
    for number in 0..KEPT_AGENTS_MAX {
        store.keep_agent("other", agent(&format!("x{number}"), 1), 4).await.unwrap();
    }
    store.keep_agent("other", agent("last", 1), 5).await.unwrap();
    let kept = store.kept_agents("other").await.unwrap();
    assert_eq!((kept.len(), kept[0].name.as_str()), (KEPT_AGENTS_MAX, "x1"));
    assert_eq!(kept.last(), Some(&agent("last", 1)));
    store.delete_session("s", 80).await.unwrap();
    assert_code(store.kept_agents("s").await, ErrorCode::SessionNotFound);
}

async fn a_task_brings_its_session_along(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    for number in 1..=2 {
        let (id, parent) = (TaskId::child("s", number), Some(TaskId::root("s")));
        store.create(NewTask { id, parent, ..new_task("unused") }).await.unwrap();
    }
    store.create(new_task("s2")).await.unwrap();
    write(store, "a", "x").await.unwrap();
    let rows = store.sessions(10, 20).await.unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| (row.id.as_str(), row.title.as_str(), row.tasks, row.keys)).collect();
    assert_eq!(rows, [("s2", "do it", 1, 0), ("s", "do it", 3, 1)]);
    store.delete_session("s", 20).await.unwrap();
    assert_eq!(store.records(&TaskId::root("s")).await.unwrap().len(), 1, "journals stay");
    assert_eq!(store.tasks(10).await.unwrap().len(), 4);
}

const WRITERS: u64 = 16;

/// Runs sixteen of them at once and returns what they answered.
async fn sixteen<S: Store + 'static, F>(
    store: &Arc<S>,
    writer: impl Fn(Arc<S>, u64) -> F,
) -> Vec<Vec<Result<ValueHead>>>
where
    F: Future<Output = Vec<Result<ValueHead>>> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        running.spawn(writer(Arc::clone(store), number));
    }
    running.join_all().await
}

async fn sixteen_writers_leave_no_gap_and_no_duplicate<S: Store + 'static>(store: Arc<S>) {
    const WRITES: u64 = 25;
    open(&*store).await;
    let answers = sixteen(&store, |store, number| async move {
        let mut heads = Vec::new();
        for turn in 0..WRITES {
            heads.push(write(&*store, "shared", &format!("{number} {turn}")).await);
        }
        heads
    })
    .await;
    let versions: Vec<u64> = answers.into_iter().flatten().map(|head| head.unwrap().version).collect();
    let distinct: BTreeSet<u64> = versions.iter().copied().collect();
    assert_eq!(versions.len(), distinct.len(), "no version is given twice");
    assert_eq!(distinct, (1..=WRITERS * WRITES).collect());
    let past = store.context_history("s", &key("shared"), u32::MAX).await.unwrap();
    let order: Vec<u64> = past.iter().map(|past| past.head.version).collect();
    assert_eq!(order, (1..=WRITERS * WRITES).rev().collect::<Vec<_>>());
    let last = store.context_values("s", &[key("shared")], 10).await.unwrap();
    assert_eq!(Some(&last[0].value), past[0].value.as_ref(), "the last write is what is read");
}

async fn sixteen_writers_never_exceed_the_total<S: Store + 'static>(store: Arc<S>) {
    open(&*store).await;
    let answers = sixteen(&store, |store, number| async move {
        let mut heads = Vec::new();
        for turn in 0..4 {
            let text = "x".repeat(4 * (300 + 100 * turn));
            heads.push(write(&*store, &format!("k{number}_{turn}"), &text).await);
            let total: u64 = store.context_keys("s", 10).await.unwrap().iter().map(|head| head.tokens).sum();
            assert!(total <= TOTAL_TOKENS_MAX, "{total} tokens at once");
        }
        heads
    })
    .await;
    let (written, refused): (Vec<_>, Vec<_>) = answers.into_iter().flatten().partition(Result::is_ok);
    assert!(refused.iter().all(|answer| answer.as_ref().unwrap_err().code() == ErrorCode::ContextFull));
    let total: u64 = written.iter().map(|head| head.as_ref().unwrap().tokens).sum();
    assert!(total <= TOTAL_TOKENS_MAX && total > TOTAL_TOKENS_MAX - 600 && !refused.is_empty(), "{total}");
}

async fn of_sixteen_that_expect_one_version_one_wins<S: Store + 'static>(store: Arc<S>) {
    const ROUNDS: u64 = 10;
    open(&*store).await;
    for round in 0..ROUNDS {
        let answers = sixteen(&store, |store, number| async move {
            let wanted =
                ContextWrite { expected_version: Some(round), ..to_write("shared", &number.to_string()) };
            vec![write_at(&*store, 10, wanted).await]
        })
        .await;
        let won: Vec<u64> = answers.iter().flatten().flatten().map(|head| head.version).collect();
        assert_eq!(won, [round + 1], "exactly one wins");
        for refused in answers.into_iter().flatten().filter(Result::is_err) {
            let error = assert_code(refused, ErrorCode::VersionConflict);
            assert!(error.message().contains(&format!("version {} now", round + 1)), "{error}");
        }
    }
}
