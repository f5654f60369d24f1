//! Shared context in a file: rows, reopened stores, older files, and several processes.

use std::path::Path;

use posse_core::ErrorCode;
use posse_core::context::{ChangeResult, ContextChange, HistoryAct, TOTAL_TOKENS_MAX};
use posse_runtime::ports::{ChangeRequest, ContextStore, JournalStore};
use posse_testkit::context_suite::{at, key, label, to_write};
use posse_testkit::store_suite::new_task;

use crate::child::{Other, say};
use crate::{block_on, open, place};

fn to_change(name: &str, value: &str) -> ChangeRequest {
    at(10, "orchestrator", ContextChange::Write(to_write(name, value)))
}

// R190 R205
#[test]
fn what_was_written_is_there_when_the_store_is_opened_again() {
    let (_directory, path) = place();
    let keyed = ChangeRequest { idempotency_key: Some("s/1.0".to_owned()), ..to_change("a", "one") };
    block_on(async {
        let store = open(&path);
        store.create(new_task("s")).await.unwrap();
        store.change_context(keyed.clone()).await.unwrap();
        store.change_context(to_change("a", "two")).await.unwrap();
        store.change_context(at(11, "orchestrator", ContextChange::Snapshot(label("before")))).await.unwrap();
    });
    let store = open(&path);
    block_on(async {
        let found = store.context_values("s", &[key("a")], 12).await.unwrap();
        assert_eq!((found[0].value.as_str(), found[0].head.version), ("two", 2));
        let again = store.change_context(keyed).await.unwrap();
        assert!(
            matches!(again, ChangeResult::Written(head) if head.version == 1),
            "it is known to have been made"
        );
        assert_eq!(store.context_values("s", &[key("a")], 12).await.unwrap(), found);
        assert_eq!(store.snapshots("s").await.unwrap().len(), 1);
        assert_eq!(store.context_history("s", &key("a"), 9).await.unwrap().len(), 2);
    });
}

// R225
#[test]
fn an_entry_is_a_row_of_its_session() {
    let (_directory, path) = place();
    let store = open(&path);
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        store.change_context(to_change("a", "one")).await.unwrap();
        store.change_context(to_change("b", "two")).await.unwrap();
    });
    let rows: Vec<(String, String, String, i64)> = rusqlite::Connection::open(&path)
        .unwrap()
        .prepare("SELECT id, key, value, version FROM context JOIN sessions ON number = session ORDER BY key")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let row = |key: &str, value: &str| ("s".to_owned(), key.to_owned(), value.to_owned(), 1);
    assert_eq!(rows, [row("a", "one"), row("b", "two")]);
}

// R222
#[test]
fn values_that_are_over_do_not_pile_up() {
    let (_directory, path) = place();
    let store = open(&path);
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        for number in 0..50u64 {
            let mut brief = to_write(&format!("brief_{number}"), "x");
            brief.expires_at_ms = Some(10 * number + 10);
            store.change_context(at(10 * number, "orchestrator", ContextChange::Write(brief))).await.unwrap();
        }
        assert_eq!(store.context_history("s", &key("brief_0"), 9).await.unwrap().len(), 1);
    });
    let connection = rusqlite::Connection::open(&path).unwrap();
    let rows: i64 = connection.query_row("SELECT count(*) FROM context", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn a_deleted_session_leaves_no_value_in_any_table() {
    let (_directory, path) = place();
    let store = open(&path);
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        store.change_context(to_change("a", "one")).await.unwrap();
        store.change_context(at(11, "orchestrator", ContextChange::Snapshot(label("before")))).await.unwrap();
        store.delete_session("s", 12).await.unwrap();
    });
    let connection = rusqlite::Connection::open(&path).unwrap();
    for table in ["context", "context_history", "context_snapshots", "context_snapshot_entries"] {
        let rows: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

/// A file of the time before shared context had tables: its tasks say which sessions there were.
#[test]
fn an_older_file_gets_its_sessions_from_its_tasks() {
    let (_directory, path) = place();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let older = rusqlite::Connection::open(&path).unwrap();
    older.execute_batch(include_str!("schema_1.sql")).unwrap();
    // The first task of a session says where it works, or what its worktree was copied from.
    for (task, line) in [
        ("first.t_01", r#"{"record":"started","workspace":"/state/copy"}"#),
        ("first", r#"{"record":"started","workspace":"/state/copy","apart_from":"/one"}"#),
        ("second", r#"{"record":"started","workspace":"/two"}"#),
    ] {
        let insert = "INSERT INTO journal (position, kind, at_ms, payload)
                      SELECT number << 32, 'started', 1, CAST(?2 AS BLOB) FROM tasks WHERE id = ?1";
        assert_eq!(older.execute(insert, [task, line]).unwrap(), 1);
    }
    drop(older);
    let store = open(&path);
    block_on(async {
        let rows = store.sessions(10, 1).await.unwrap();
        let places: Vec<&str> = rows.iter().map(|row| row.workspace.as_str()).collect();
        assert_eq!(places, ["/two", "/one"]);
        let rows: Vec<_> =
            rows.iter().map(|row| (row.id.as_str(), row.title.as_str(), row.created_ms, row.tasks)).collect();
        assert_eq!(rows, [("second", "do more", 300, 2), ("first", "do it", 100, 2)]);
        assert_eq!(store.context_keys("first", 1).await.unwrap(), []);
        let write = ChangeRequest { session: "first".to_owned(), ..to_change("a", "x") };
        store.change_context(write).await.unwrap();
    });
}

const PROCESSES: u64 = 4;
const WRITES: u64 = 30;

/// The child's part: counts on one key that everyone counts on, fills keys of its own, and tries to be the one who
/// makes each next version of a third.
pub fn share(path: &Path, name: &str) {
    let store = open(path);
    block_on(async {
        store.create_session("s", "/w", 1).await.unwrap();
        for turn in 0..WRITES {
            let who = format!("subagent:{name}:t_01");
            let change = |change| ChangeRequest { participant: who.clone(), ..at(10, "", change) };
            store
                .change_context(change(ContextChange::Write(to_write("shared", &turn.to_string()))))
                .await
                .unwrap();
            let large = "x".repeat(4 * 290);
            let full = store
                .change_context(change(ContextChange::Write(to_write(&format!("{name}_{turn}"), &large))));
            if let Err(e) = full.await {
                assert_eq!(e.code(), ErrorCode::ContextFull);
            }
            let mut once = to_write("once", name);
            once.expected_version = Some(turn);
            match store.change_context(change(ContextChange::Write(once))).await {
                Ok(_) => say(turn),
                Err(e) => assert!(e.code() == ErrorCode::VersionConflict, "{e}"),
            }
        }
    });
}

// R204
#[test]
fn processes_that_write_at_once_leave_no_gap_and_never_exceed_the_total() {
    let (_directory, path) = place();
    let children: Vec<Other> =
        (0..PROCESSES).map(|number| Other::start("share", &path, &format!("p{number}"))).collect();
    let mut won: Vec<u64> = Vec::new();
    for child in children {
        won.extend(child.hear_all().iter().map(|line| line.parse::<u64>().unwrap()));
    }
    let store = open(&path);
    block_on(async {
        let past = store.context_history("s", &key("shared"), u32::MAX).await.unwrap();
        let versions: Vec<u64> = past.iter().rev().map(|past| past.head.version).collect();
        assert_eq!(versions, (1..=PROCESSES * WRITES).collect::<Vec<_>>());
        assert!(past.iter().all(|past| past.act == HistoryAct::Write));
        let heads = store.context_keys("s", 10).await.unwrap();
        let total: u64 = heads.iter().map(|head| head.tokens).sum();
        assert!(total <= TOTAL_TOKENS_MAX && total > TOTAL_TOKENS_MAX - 300, "{total}");
        won.sort_unstable();
        let last = heads.iter().find(|head| head.key == key("once")).unwrap().version;
        assert_eq!(won, (0..last).collect::<Vec<_>>(), "each version has one winner");
    });
}
