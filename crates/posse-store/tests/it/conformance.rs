//! The suite every store passes, and what only a store in a file can be asked.

use std::cell::Cell;
use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_core::usage::Usage;
use posse_runtime::ports::{JournalStore, MessageReceipt, MessageStore, NewTask};
use posse_store::{SpendingGroup, SpendingLine};
use posse_testkit::message_suite::{self, message};
use posse_testkit::store_suite::{self, asked, finished, new_task, priced, replied};
use posse_testkit::{approval_suite, context_suite};

use crate::{block_on, open, place};

#[test]
fn it_keeps_the_contract_of_a_store() {
    let (_directory, path) = place();
    let number = Cell::new(0);
    block_on(store_suite::run(|| {
        number.set(number.get() + 1);
        Arc::new(open(&path.with_extension(number.get().to_string())))
    }));
}

#[test]
fn it_keeps_the_contract_of_a_context_store() {
    let (_directory, path) = place();
    let number = Cell::new(0);
    block_on(context_suite::run(|| {
        number.set(number.get() + 1);
        Arc::new(open(&path.with_extension(number.get().to_string())))
    }));
}

#[test]
fn it_keeps_the_contract_of_an_approval_store() {
    let (_directory, path) = place();
    let number = Cell::new(0);
    block_on(approval_suite::run(|| {
        number.set(number.get() + 1);
        Arc::new(open(&path.with_extension(number.get().to_string())))
    }));
}

#[test]
fn it_keeps_the_contract_of_a_message_store() {
    let (_directory, path) = place();
    let number = Cell::new(0);
    block_on(message_suite::run(|| {
        number.set(number.get() + 1);
        Arc::new(open(&path.with_extension(number.get().to_string())))
    }));
}

#[test]
fn a_message_of_another_process_is_found_and_its_receipt_is_seen_there() {
    let (_directory, path) = place();
    let (driver, sender, id) = (open(&path), open(&path), TaskId::root("s"));
    block_on(async {
        driver.create(new_task("s")).await.unwrap();
        driver.append(&id, 1, &[asked(1), replied("one", 1, 1)]).await.unwrap();
        sender.send_message(message("s", "a")).await.unwrap();
        assert_eq!(driver.queued_messages("s").await.unwrap(), [message("s", "a")]);
        let steered = Record::Steered { text: "a".to_owned(), key: "a".to_owned(), elapsed_ms: 1 };
        driver.append(&id, 1, &[steered, asked(2)]).await.unwrap();
        let receipt = sender.send_message(message("s", "a")).await.unwrap();
        assert_eq!(receipt, MessageReceipt::Delivered { turn: 2 });
        sender.send_message(message("s", "b")).await.unwrap();
        driver.append(&id, 1, &[finished(StopReason::Answered, "done")]).await.unwrap();
        assert_eq!(sender.send_message(message("s", "b")).await.unwrap(), MessageReceipt::Missed);
    });
}

#[test]
fn a_request_that_fails_half_way_is_undone_alone() {
    let (_directory, path) = place();
    let id = TaskId::root("s");
    let store = open(&path);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TRIGGER no BEFORE INSERT ON journal WHEN NEW.kind LIKE '%cancelled'
             BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        .unwrap();
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        let before = store.append(&id, 1, &[asked(1)]);
        let records =
            vec![asked(7), replied("a", 5, 5), Record::Cancelled { elapsed_ms: 1, with_parent: false }];
        let refused = store.append(&id, 1, &records);
        let after = store.append(&id, 1, &[asked(2)]);
        assert_eq!(refused.await.unwrap_err().code(), ErrorCode::Internal);
        before.await.unwrap();
        after.await.unwrap();
        assert_eq!(store.records(&id).await.unwrap()[1..], [asked(1), asked(2)]);
        assert_eq!(store.task(&id).await.unwrap().turns(), 0);
    });
}

#[test]
fn dropping_the_store_writes_what_was_queued() {
    let (_directory, path) = place();
    let id = TaskId::root("s");
    let store = open(&path);
    drop(store.create(new_task("s")));
    for turn in 1..=50 {
        drop(store.append(&id, 1, &[asked(turn)]));
    }
    drop(store);
    let records = block_on(open(&path).records(&id)).unwrap();
    assert_eq!(records[1..], (1..=50).map(asked).collect::<Vec<_>>());
}

#[test]
fn an_append_that_is_waited_for_does_not_overtake_the_queued_ones() {
    let (_directory, path) = place();
    let id = TaskId::root("s");
    let store = open(&path);
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        for pair in 0..50 {
            drop(store.append(&id, 1, &[asked(2 * pair)]));
            store.append(&id, 1, &[asked(2 * pair + 1)]).await.unwrap();
        }
        assert_eq!(store.records(&id).await.unwrap()[1..], (0..100).map(asked).collect::<Vec<_>>());
    });
}

#[test]
fn a_reply_and_its_usage_are_written_together_and_counts_never_overflow() {
    let (_directory, path) = place();
    let id = TaskId::root("s");
    let store = open(&path);
    let Record::Replied { mut reply, turn, elapsed_ms } = replied("much", 1, 1) else { unreachable!() };
    reply.usage = Usage {
        input: u64::MAX,
        output: 5,
        cache_read: 4,
        cache_write: 3,
        reasoning: 2,
        estimated: true,
        cost_micros: None,
    };
    let much = Record::Replied { turn, reply, elapsed_ms };
    block_on(async {
        store.create(new_task("s")).await.unwrap();
        store.append(&id, 1, &[asked(1), much.clone(), asked(2), replied("b", 7, 8)]).await.unwrap();
        store.append(&id, 1, &[asked(3), much]).await.unwrap();
        let row = store.task(&id).await.unwrap();
        assert_eq!((row.total.input_tokens, row.total.output_tokens, row.turns()), (i64::MAX as u64, 21, 3));
    });
    let rows: Vec<[i64; 6]> = rusqlite::Connection::open(&path)
        .unwrap()
        .prepare(
            "SELECT turn, input, output, cache_read, cache_write, reasoning FROM usage ORDER BY task, turn",
        )
        .unwrap()
        .query_map([], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?])
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    // With the attempt that was lost before each.
    assert_eq!(rows, [[1, i64::MAX, 6, 4, 3, 2], [2, 8, 9, 0, 0, 0], [3, i64::MAX, 6, 4, 3, 2]]);
}

#[test]
fn spending_is_summed_by_agent_model_day_and_workspace() {
    let (_directory, path) = place();
    let store = open(&path);
    let in_workspace = |id: &str, workspace: &str, agent: &str| {
        let mut task = new_task(id);
        if let Record::Started(start) = &mut task.records[0] {
            std::sync::Arc::make_mut(start).workspace = workspace.to_owned();
        }
        task.agent = agent.to_owned();
        task
    };
    let names = |lines: Vec<SpendingLine>| -> Vec<(String, u64, u64, u64)> {
        let parts = lines.into_iter().map(|line| (line.name, line.total));
        parts.map(|(name, total)| (name, total.tasks, total.cost_micros, total.unpriced_tokens)).collect()
    };
    block_on(async {
        store.create(in_workspace("a", "/one", "cook")).await.unwrap();
        store.create(in_workspace("b", "/two", "writer")).await.unwrap();
        let child = NewTask {
            id: TaskId::child("a", 1),
            parent: Some(TaskId::root("a")),
            ..in_workspace("unused", "/one/copy", "writer")
        };
        store.create(child).await.unwrap();
        for (id, records) in [
            (TaskId::root("a"), vec![priced(1, Some(5)), priced(1, Some(5))]),
            (TaskId::child("a", 1), vec![priced(1, Some(1))]),
            (TaskId::root("b"), vec![priced(3, None)]),
        ] {
            store.append(&id, 1, &records).await.unwrap();
        }
        let of = async |by| names(store.spending(by, 0).await.unwrap());
        let line = |name: &str, tasks, cost, unpriced| (name.to_owned(), tasks, cost, unpriced);
        assert_eq!(of(SpendingGroup::Agent).await, [line("cook", 1, 10, 0), line("writer", 2, 1, 4)]);
        assert_eq!(of(SpendingGroup::Model).await, [line("test:model", 3, 11, 4)]);
        assert_eq!(of(SpendingGroup::Workspace).await, [line("/one", 2, 11, 0), line("/two", 1, 0, 4)]);
        let days = store.spending(SpendingGroup::Day, 0).await.unwrap();
        assert!(days.len() <= 2 && days.iter().all(|line| line.name.starts_with("20")), "{days:?}");
        let later = store.task(&TaskId::root("b")).await.unwrap().updated_ms + 1_000_000;
        assert_eq!(store.spending(SpendingGroup::Agent, later).await.unwrap(), []);
    });
}

/// A file of the time when each record had a row of its own and the task's row was written with each of them.
#[test]
fn a_journal_of_an_earlier_version_goes_on_where_it_ended() {
    let (_directory, path) = place();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let older = rusqlite::Connection::open(&path).unwrap();
    older.execute_batch(include_str!("schema_1.sql")).unwrap();
    let records = [asked(1), replied("a", 7, 3)];
    for (place, record) in (0i64..).zip(&records) {
        older
            .execute(
                "INSERT INTO journal (position, kind, at_ms, payload)
                 SELECT (number << 32) + ?1, ?2, 400, ?3 FROM tasks WHERE id = 'second'",
                rusqlite::params![place, record.kind(), record.encode()],
            )
            .unwrap();
    }
    let sums =
        "UPDATE tasks SET next_seq = 2, turns = 1, input_tokens = 8, output_tokens = 4 WHERE id = 'second'";
    older.execute(sums, []).unwrap();
    drop(older);

    let (store, id) = (open(&path), TaskId::root("second"));
    block_on(async {
        assert_eq!(store.records(&id).await.unwrap(), records);
        let row = store.task(&id).await.unwrap();
        assert_eq!(
            (row.turns(), row.total.input_tokens, row.total.output_tokens, row.updated_ms),
            (1, 8, 4, 400)
        );
        assert_eq!(
            (row.total.cost_micros, row.total.unpriced_tokens),
            (0, 12),
            "it was written without prices"
        );
        let epoch = store.claim(&id, "now").await.unwrap();
        let Record::Replied { mut reply, turn, elapsed_ms } = replied("b", 20, 10) else { unreachable!() };
        reply.lost = Usage::default();
        let more = [Record::Replied { turn, reply, elapsed_ms }, asked(2)];
        store.append(&id, epoch, more.as_ref()).await.unwrap();
        assert_eq!(store.records(&id).await.unwrap(), [&records[..], &more].concat());
        let row = store.task(&id).await.unwrap();
        assert_eq!((row.turns(), row.total.input_tokens, row.total.output_tokens), (2, 28, 14));
        assert_eq!(store.send_message(message("second", "a")).await.unwrap(), MessageReceipt::Missed);
        store.append(&id, epoch, &[priced(1, Some(9))]).await.unwrap();
        let row = store.task(&id).await.unwrap();
        assert_eq!((row.total.cost_micros, row.total.unpriced_tokens), (9, 42));
    });
}
