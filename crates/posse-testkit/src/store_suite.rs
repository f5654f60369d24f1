//! What every store must do. `run` panics with the sentence that does not hold.

use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::lease::WritePaths;
use posse_core::message::Block;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::state::TaskState;
use posse_core::usage::{SpendingTotal, Usage};
use posse_core::{ErrorCode, Result};
use posse_runtime::ports::{LeaseRequest, NewTask, ResultDelivery, Store, TaskFilter, TaskQuery, TaskRow};

/// Runs every case on a fresh store. Needs a tokio runtime around it.
pub async fn run<S: Store + 'static>(fresh: impl Fn() -> Arc<S>) {
    a_new_task_is_listed_with_what_it_began_with(&*fresh()).await;
    an_id_is_taken_once(&*fresh()).await;
    records_come_back_equal_and_in_order(&*fresh()).await;
    appends_are_queued_at_once_and_a_dropped_future_takes_nothing_back(&*fresh()).await;
    a_stale_epoch_writes_nothing(&*fresh()).await;
    a_refused_request_does_not_harm_its_neighbours(&*fresh()).await;
    an_unknown_task_is_said_to_be_unknown(&*fresh()).await;
    the_row_follows_the_records(&*fresh()).await;
    the_row_follows_a_long_task_at_every_append(&*fresh()).await;
    prices_are_summed_and_what_has_none_is_counted_apart(&*fresh()).await;
    a_tree_is_summed_with_everything_below_it(&*fresh()).await;
    listings_show_the_newest_first(&*fresh()).await;
    queries_find_what_they_name(&*fresh()).await;
    of_several_claims_from_one_epoch_one_wins(fresh()).await;
    a_wish_to_cancel_lasts_until_the_task_has_ended(&*fresh()).await;
    a_result_is_collected_by_one_request_and_its_delivery_never_goes_back(fresh()).await;
    an_owner_that_beats_is_seen(&*fresh()).await;
    a_lease_has_all_of_its_places_or_none(&*fresh()).await;
    a_lease_ends_with_its_task(&*fresh()).await;
    a_lease_is_taken_from_the_silent_and_the_dead_and_from_nobody_else(&*fresh()).await;
    a_task_works_inside_the_lease_of_those_above_it(&*fresh()).await;
    a_command_is_noted_from_its_beginning_to_its_end(&*fresh()).await;
    concurrent_tasks_keep_their_order(fresh()).await;
}

async fn a_new_task_is_listed_with_what_it_began_with(store: &dyn Store) {
    let long = "ä".repeat(150);
    let child = NewTask {
        id: TaskId::child("s", 1),
        parent: Some(TaskId::root("s")),
        records: vec![started(&long)],
        ..new_task("unused")
    };
    store.create(child).await.expect("a task whose parent is not in the store can be created");
    let row = store.task(&TaskId::child("s", 1)).await.unwrap();
    assert!(row.created_ms > 0 && row.updated_ms >= row.created_ms);
    let expected = TaskRow {
        id: TaskId::child("s", 1),
        parent: Some(TaskId::root("s")),
        agent: "helper".to_owned(),
        title: "ä".repeat(100),
        state: TaskState::Running,
        owner: "first".to_owned(),
        epoch: 1,
        created_ms: row.created_ms,
        updated_ms: row.updated_ms,
        seen_ms: row.updated_ms,
        cancel_requested: false,
        total: SpendingTotal { tasks: 1, ..SpendingTotal::default() },
        delivery: ResultDelivery::default(),
    };
    assert_eq!(row, expected);
    assert_eq!(store.tasks(10).await.unwrap(), [expected]);
}

async fn an_id_is_taken_once(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let again = NewTask { owner: "second".to_owned(), ..new_task("s") };
    assert_code(store.create(again).await, ErrorCode::InvalidRequest);
    assert_eq!(store.task(&id).await.unwrap().owner, "first");
    assert_eq!(store.records(&id).await.unwrap().len(), 1, "a refused creation adds no records");
}

async fn records_come_back_equal_and_in_order(store: &dyn Store) {
    let id = TaskId::root("s");
    let mut expected = new_task("s").records;
    store.create(new_task("s")).await.unwrap();
    for group in [vec![asked(1), replied("one\0two \u{1f980}", 1, 1)], vec![], vec![asked(2)], vec![asked(3)]]
    {
        expected.extend_from_slice(&group);
        store.append(&id, 1, &group).await.unwrap();
        assert_eq!(store.records(&id).await.unwrap(), expected, "what was acknowledged is seen");
    }
    let created = store.task(&id).await.unwrap().created_ms;
    for (from, limit) in [(0, 100), (1, 100), (2, 2), (2, 1), (4, 100), (5, 100), (u64::MAX, 1), (0, 0)] {
        let stored = store.records_from(&id, from, limit).await.unwrap();
        assert!(stored.iter().all(|stored| stored.at_ms >= created), "{stored:?}");
        let places: Vec<_> = stored.into_iter().map(|stored| (stored.seq, stored.record)).collect();
        let wanted = (0..).zip(expected.clone()).filter(|(seq, _)| *seq >= from).take(limit);
        assert_eq!(places, wanted.collect::<Vec<_>>(), "{limit} from {from}");
    }
    let unknown = store.records_from(&TaskId::root("other"), 0, 1).await;
    assert_eq!(unknown.map_err(|e| e.code()), Err(ErrorCode::TaskNotFound));
}

async fn appends_are_queued_at_once_and_a_dropped_future_takes_nothing_back(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let first = store.append(&id, 1, &[asked(1)]);
    drop(store.append(&id, 1, &[asked(2)]));
    let third = store.append(&id, 1, &[asked(3)]);
    third.await.unwrap();
    first.await.unwrap();
    assert_eq!(store.records(&id).await.unwrap()[1..], [asked(1), asked(2), asked(3)]);
}

async fn a_stale_epoch_writes_nothing(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    assert_eq!(store.claim(&id, "second").await.unwrap(), 2);
    assert_code(store.append(&id, 1, &[asked(1)]).await, ErrorCode::OwnerLost);
    store.append(&id, 2, &[asked(2)]).await.unwrap();
    assert_eq!(store.claim(&id, "third").await.unwrap(), 3);
    let finish = vec![asked(3), replied("late", 7, 7), finished(StopReason::Answered, "late")];
    assert_code(store.append(&id, 2, &finish).await, ErrorCode::OwnerLost);
    assert_code(store.append(&id, 4, &[asked(4)]).await, ErrorCode::OwnerLost);
    assert_eq!(store.records(&id).await.unwrap()[1..], [asked(2)]);
    let row = store.task(&id).await.unwrap();
    assert_eq!((row.owner.as_str(), row.epoch, row.state.wire(), row.turns()), ("third", 3, "running", 0));
}

async fn a_refused_request_does_not_harm_its_neighbours(store: &dyn Store) {
    let (id, unknown) = (TaskId::root("s"), TaskId::root("unknown"));
    store.create(new_task("s")).await.unwrap();
    let answers = [
        store.append(&id, 1, &[asked(1)]),
        store.append(&id, 9, &[asked(9), asked(9)]),
        store.append(&unknown, 1, &[asked(9)]),
        store.append(&id, 1, &[asked(2)]),
    ];
    let duplicate = store.create(new_task("s"));
    let last = store.append(&id, 1, &[asked(3)]);
    let mut codes = Vec::new();
    for answer in answers {
        codes.push(answer.await.err().map(|e| e.code()));
    }
    assert_eq!(codes, [None, Some(ErrorCode::OwnerLost), Some(ErrorCode::TaskNotFound), None]);
    assert_code(duplicate.await, ErrorCode::InvalidRequest);
    last.await.unwrap();
    assert_eq!(store.records(&id).await.unwrap()[1..], [asked(1), asked(2), asked(3)]);
}

async fn an_unknown_task_is_said_to_be_unknown(store: &dyn Store) {
    let id = TaskId::root("nobody");
    assert_code(store.append(&id, 1, &[asked(1)]).await, ErrorCode::TaskNotFound);
    assert_code(store.claim(&id, "second").await, ErrorCode::TaskNotFound);
    assert_code(store.records(&id).await, ErrorCode::TaskNotFound);
    assert_code(store.task(&id).await, ErrorCode::TaskNotFound);
    assert_eq!(store.tasks(10).await.unwrap(), []);
}

async fn the_row_follows_the_records(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let mut failure = ModelFailure::new(FailureKind::Connection, "cut");
    failure.lost = usage(1_000, 100);
    let turns = vec![
        asked(1),
        Record::Unanswered { failure, said: String::new(), elapsed_ms: 1 },
        asked(2),
        replied("a", 20, 2),
        asked(3),
        replied("b", 3, 1),
    ];
    store.append(&id, 1, &turns).await.unwrap();
    let row = store.task(&id).await.unwrap();
    // Each reply also lost 1 and 1 in an attempt before it.
    assert_eq!((row.total.input_tokens, row.total.output_tokens, row.turns()), (1_025, 105, 2));
    assert_eq!(row.state, TaskState::Running);

    store.append(&id, 1, &[finished(StopReason::TurnsExhausted, "half")]).await.unwrap();
    assert_eq!(store.task(&id).await.unwrap().state.wire(), "partial");
    let epoch = store.claim(&id, "second").await.unwrap();
    let resumed = Record::Resumed {
        epoch,
        turns_max: Some(9),
        wall_ms_max: None,
        lost_tokens: 5,
        lost_cost_micros: None,
        elapsed_ms: 1,
    };
    store.append(&id, epoch, &[resumed]).await.unwrap();
    assert_eq!(store.task(&id).await.unwrap().state.wire(), "running", "a resumed task runs again");
    store.append(&id, epoch, &[asked(4), replied("c", 1, 1)]).await.unwrap();
    store.append(&id, epoch, &[finished(StopReason::Answered, "whole")]).await.unwrap();
    let row = store.task(&id).await.unwrap();
    assert_eq!(
        (row.state.wire(), row.turns(), row.total.input_tokens),
        ("completed", 3, 1_032),
        "with what was lost"
    );
    store
        .append(
            &id,
            epoch,
            &[Record::Said {
                text: "and now?".to_owned(),
                epoch,
                lost_tokens: 0,
                lost_cost_micros: None,
                elapsed_ms: 1,
            }],
        )
        .await
        .unwrap();
    assert_eq!(
        store.task(&id).await.unwrap().state.wire(),
        "running",
        "a task that is talked to again runs again"
    );
}

async fn prices_are_summed_and_what_has_none_is_counted_apart(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let sums = async || {
        let row = store.task(&id).await.unwrap();
        assert_eq!(store.tree_total(&id).await.unwrap(), row.total, "a task without children");
        (row.total.cost_micros, row.total.unpriced_tokens)
    };
    for turn in 1..=100 {
        store.append(&id, 1, &[asked(turn), priced(10, Some(3))]).await.unwrap();
        assert_eq!(sums().await, (3 * u64::from(turn), 0), "a listing is right at every append");
    }
    store.append(&id, 1, &[asked(101), priced(7, None)]).await.unwrap();
    assert_eq!(sums().await, (300, 8));
    let mut failure = ModelFailure::new(FailureKind::Connection, "cut");
    failure.lost = usage(1_000, 100).costing(Some(40));
    store
        .append(&id, 1, &[Record::Unanswered { failure, said: String::new(), elapsed_ms: 1 }])
        .await
        .unwrap();
    assert_eq!(sums().await, (340, 8), "an attempt without a reply has its price");
    let (epoch, elapsed_ms) = (store.claim(&id, "second").await.unwrap(), 1);
    let (turns_max, wall_ms_max, lost_tokens) = (None, None, 5);
    for (lost_cost_micros, expected) in [(Some(2), (342, 8)), (None, (342, 13))] {
        let resumed =
            Record::Resumed { epoch, turns_max, wall_ms_max, lost_tokens, lost_cost_micros, elapsed_ms };
        store.append(&id, epoch, &[resumed]).await.unwrap();
        assert_eq!(sums().await, expected);
    }
    store.append(&id, epoch, &[finished(StopReason::Answered, "done")]).await.unwrap();
    assert_eq!(sums().await, (342, 13));
}

async fn a_tree_is_summed_with_everything_below_it(store: &dyn Store) {
    let child = |number, parent: &TaskId| NewTask {
        id: TaskId::child("s", number),
        parent: Some(parent.clone()),
        ..new_task("unused")
    };
    let (root, first, below) = (TaskId::root("s"), TaskId::child("s", 1), TaskId::child("s", 2));
    let other = TaskId::root("other");
    for task in [new_task("s"), child(1, &root), child(2, &first), child(3, &root), new_task("other")] {
        store.create(task).await.unwrap();
    }
    for (id, input, cost) in [(&root, 1, 10), (&first, 2, 20), (&below, 4, 40), (&other, 8, 80)] {
        store.append(id, 1, &[asked(1), priced(input, Some(cost))]).await.unwrap();
    }
    let of = async |id: &TaskId| {
        let total = store.tree_total(id).await.unwrap();
        (total.tasks, total.turns, total.input_tokens, total.output_tokens, total.cost_micros)
    };
    assert_eq!(of(&root).await, (4, 3, 7, 3, 70));
    assert_eq!(of(&first).await, (2, 2, 6, 2, 60));
    assert_eq!(of(&below).await, (1, 1, 4, 1, 40));
    assert_code(store.tree_total(&TaskId::root("nobody")).await, ErrorCode::TaskNotFound);
}

async fn the_row_follows_a_long_task_at_every_append(store: &dyn Store) {
    for name in ["before", "s", "after"] {
        store.create(new_task(name)).await.unwrap();
    }
    let (id, mut last_ms) = (TaskId::root("s"), 0);
    for turn in 1..=150 {
        let Record::Replied { mut reply, elapsed_ms, .. } = replied("next", 10, 3) else { unreachable!() };
        reply.lost = if turn % 40 == 0 { usage(1_000, 100) } else { Usage::default() };
        let records = vec![Record::Replied { turn, reply, elapsed_ms }, asked(turn + 1)];
        store.append(&id, 1, &records).await.unwrap();
        let row = store.task(&id).await.unwrap();
        let (turns, lost) = (u64::from(turn), u64::from(turn / 40));
        assert_eq!(
            (row.turns(), row.total.input_tokens, row.total.output_tokens),
            (turn, turns * 10 + lost * 1_000, turns * 3 + lost * 100)
        );
        assert!(row.updated_ms >= last_ms && row.state.is_running());
        last_ms = row.updated_ms;
        let listed = store.tasks(2).await.unwrap();
        assert_eq!((listed[0].turns(), &listed[1]), (0, &row), "a listing says the same");
    }
    store.append(&id, 1, &[finished(StopReason::Answered, "whole")]).await.unwrap();
    let row = store.task(&id).await.unwrap();
    assert_eq!((row.state.wire(), row.turns(), row.total.input_tokens), ("completed", 150, 4_500));
    assert_eq!(store.records(&id).await.unwrap().len(), 302);
}

async fn listings_show_the_newest_first(store: &dyn Store) {
    for name in ["a", "b", "c"] {
        store.create(new_task(name)).await.unwrap();
    }
    store.append(&TaskId::root("a"), 1, &[asked(1)]).await.unwrap();
    let listed = |rows: Vec<TaskRow>| rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
    assert_eq!(listed(store.tasks(10).await.unwrap()), ["c", "b", "a"]);
    assert_eq!(listed(store.tasks(2).await.unwrap()), ["c", "b"]);
    assert_eq!(listed(store.tasks(0).await.unwrap()), [""; 0]);
}

async fn queries_find_what_they_name(store: &dyn Store) {
    let child = |session: &str, number| NewTask {
        id: TaskId::child(session, number),
        parent: Some(TaskId::root(session)),
        ..new_task("unused")
    };
    for task in [new_task("ab"), new_task("abc"), child("ab", 1), child("abc", 1), child("ab", 2)] {
        store.create(task).await.unwrap();
    }
    store.append(&TaskId::child("ab", 1), 1, &[finished(StopReason::Answered, "done")]).await.unwrap();
    let find = async |of: TaskFilter, state: Option<&str>, limit: u32| {
        let query = TaskQuery { of, state: state.and_then(TaskState::parse), limit };
        let rows = store.find_tasks(query).await.unwrap();
        rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
    };
    let session = || TaskFilter::Session("ab".to_owned());
    let children = || TaskFilter::ChildrenOf(TaskId::root("ab"));
    let prefix = |text: &str| TaskFilter::Prefix(text.to_owned());
    let short = |text: &str| TaskFilter::Short(text.to_owned());
    assert_eq!(find(session(), None, 9).await, ["ab.t_02", "ab.t_01", "ab"]);
    assert_eq!(find(children(), None, 9).await, ["ab.t_02", "ab.t_01"]);
    assert_eq!(find(children(), Some("running"), 9).await, ["ab.t_02"]);
    assert_eq!(find(TaskFilter::All, Some("completed"), 9).await, ["ab.t_01"]);
    assert_eq!(find(TaskFilter::All, Some("running"), 2).await, ["ab.t_02", "abc.t_01"]);
    assert_eq!(find(prefix("abc"), None, 9).await, ["abc.t_01", "abc"]);
    assert_eq!(find(prefix("ab.t_"), None, 9).await, ["ab.t_02", "ab.t_01"]);
    assert_eq!(find(short("t_01"), None, 9).await, ["abc.t_01", "ab.t_01"]);
    assert_eq!(find(short("ab"), None, 9).await, ["ab"]);
    assert_eq!(find(short("ab.t_01"), None, 9).await, [""; 0]);
    assert_eq!(find(prefix("%"), None, 9).await, [""; 0]);
}

async fn of_several_claims_from_one_epoch_one_wins<S: Store + 'static>(store: Arc<S>) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..16 {
        let (store, id) = (Arc::clone(&store), id.clone());
        claims.spawn(async move { store.claim_from(&id, 1, &format!("owner {number}")).await });
    }
    let answers = claims.join_all().await;
    let won: Vec<&u64> = answers.iter().flatten().collect();
    assert_eq!(won, [&2]);
    let lost = answers.iter().filter_map(|answer| answer.as_ref().err());
    assert!(lost.map(|e| e.code()).all(|code| code == ErrorCode::OwnerLost));
    assert_eq!(store.task(&id).await.unwrap().epoch, 2);
    assert_code(store.claim_from(&TaskId::root("none"), 1, "x").await, ErrorCode::TaskNotFound);
}

async fn a_wish_to_cancel_lasts_until_the_task_has_ended(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    assert_eq!(store.cancel_requests().await.unwrap(), []);
    store.request_cancel(&id).await.unwrap();
    store.request_cancel(&id).await.unwrap();
    assert_eq!(store.cancel_requests().await.unwrap(), std::slice::from_ref(&id));
    let epoch = store.claim(&id, "second").await.unwrap();
    assert!(store.task(&id).await.unwrap().cancel_requested, "whoever takes it over hears it too");
    store.append(&id, epoch, &[finished(StopReason::Cancelled, "")]).await.unwrap();
    assert!(!store.task(&id).await.unwrap().cancel_requested);
    store.request_cancel(&id).await.unwrap();
    assert_eq!(store.cancel_requests().await.unwrap(), [], "what has ended cannot be cancelled");
    assert_code(store.request_cancel(&TaskId::root("none")).await, ErrorCode::TaskNotFound);
}

async fn a_result_is_collected_by_one_request_and_its_delivery_never_goes_back<S: Store + 'static>(
    store: Arc<S>,
) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let by = |number: u32| ResultDelivery::Collected { by: format!("request {number}") };
    for (asked, now) in [
        (ResultDelivery::Reported, ResultDelivery::Reported),
        (ResultDelivery::Read, ResultDelivery::Read),
        (ResultDelivery::Reported, ResultDelivery::Read),
    ] {
        assert_eq!(store.deliver(&id, asked).await.unwrap(), now);
        assert_eq!(store.task(&id).await.unwrap().delivery, now);
    }
    let mut collectors = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (store, id) = (Arc::clone(&store), id.clone());
        collectors.spawn(async move { (number, store.deliver(&id, by(number)).await.unwrap()) });
    }
    let answers = collectors.join_all().await;
    let won: Vec<u32> =
        answers.iter().filter(|(number, told)| *told == by(*number)).map(|(number, _)| *number).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|(_, told)| *told == by(won[0])), "{answers:?}");
    assert_eq!(store.deliver(&id, by(won[0])).await.unwrap(), by(won[0]), "a retry has it");
    assert_eq!(store.deliver(&id, ResultDelivery::Read).await.unwrap(), by(won[0]));
    assert_eq!(store.tasks(1).await.unwrap()[0].delivery, by(won[0]));
    assert_code(store.deliver(&TaskId::root("none"), by(1)).await, ErrorCode::TaskNotFound);
}

async fn an_owner_that_beats_is_seen(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    let later = store.task(&id).await.unwrap().updated_ms + 60_000;
    store.beat("somebody else", later + 1).await.unwrap();
    store.beat("first", later - 1).await.unwrap();
    store.beat("first", later).await.unwrap();
    assert_eq!(store.task(&id).await.unwrap().seen_ms, later);
    store.claim(&id, "second").await.unwrap();
    let row = store.task(&id).await.unwrap();
    assert_eq!(row.seen_ms, row.updated_ms, "the beat of one owner says nothing about another");
}

/// For a task that was heard of at this instant at the latest.
pub fn wants(paths: &[&str], now_ms: u64) -> LeaseRequest {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let places = WritePaths::parse("/work", &paths).expect("these are places");
    LeaseRequest { places, dead: Vec::new(), silence_ms_max: 60_000, now_ms }
}

async fn a_lease_has_all_of_its_places_or_none(store: &dyn Store) {
    // R415 R427
    let (one, two) = (TaskId::root("one"), TaskId::root("two"));
    let now = store.create(new_task("one")).await.map(|()| 1).unwrap();
    let token = store.lease(&one, 1, wants(&["src/**", "docs/a.md"], now)).await.unwrap();
    let refused = NewTask { lease: Some(wants(&["test", "src/a.rs"], now)), ..new_task("two") };
    assert_code(store.create(refused.clone()).await, ErrorCode::LeaseConflict);
    assert_code(store.task(&two).await.map(drop), ErrorCode::TaskNotFound);
    assert_eq!(store.leases().await.unwrap().len(), 1, "nothing is held for a task that was not created");
    store.create(NewTask { lease: Some(wants(&["test"], now)), ..refused }).await.unwrap();
    assert_code(
        store.lease(&two, 1, wants(&["test", "docs"], now)).await.map(drop),
        ErrorCode::LeaseConflict,
    );
    let held = store.leases().await.unwrap();
    let of = |task: &TaskId| held.iter().find(|lease| lease.task == *task).unwrap();
    assert_eq!(of(&two).places.paths, ["test"], "what it had it keeps");
    assert_eq!((of(&one).token, of(&one).since_ms), (token, now));
    assert_eq!((of(&one).owner.as_str(), of(&one).epoch), ("first", 1));
    assert_eq!(store.lease(&one, 1, wants(&["src/**", "docs/a.md"], now)).await.unwrap(), token);
    let other = store.lease(&one, 1, wants(&["lib"], now)).await.unwrap();
    assert!(other > token, "other places are another lease");
    store.lease(&two, 1, wants(&["src"], now)).await.expect("what was given up is free");
    assert_code(store.lease(&one, 2, wants(&["x"], now)).await.map(drop), ErrorCode::OwnerLost);
    assert_code(
        store.lease(&TaskId::root("x"), 1, wants(&["x"], now)).await.map(drop),
        ErrorCode::TaskNotFound,
    );
}

async fn a_lease_ends_with_its_task(store: &dyn Store) {
    // T17
    let id = TaskId::root("s");
    store.create(NewTask { lease: Some(wants(&["src"], 1)), ..new_task("s") }).await.unwrap();
    store.append(&id, 1, &[asked(1)]).await.unwrap();
    assert_eq!(store.leases().await.unwrap().len(), 1);
    assert_eq!(store.claim(&id, "second").await.unwrap(), 2);
    let held = store.leases().await.unwrap();
    assert_eq!((held[0].owner.as_str(), held[0].epoch), ("second", 2), "whoever drives the task holds it");
    let writing = store.writing(&id).await.unwrap();
    assert_eq!((writing.epoch, writing.leases), (2, held.clone()));
    assert_code(store.append(&id, 1, &[finished(StopReason::Answered, "late")]).await, ErrorCode::OwnerLost);
    assert_eq!(store.leases().await.unwrap().len(), 1, "a stale driver ends nothing");
    store.append(&id, 2, &[finished(StopReason::Answered, "done")]).await.unwrap();
    assert_eq!(store.leases().await.unwrap(), []);
    assert_code(store.lease(&id, 2, wants(&["src"], 1)).await.map(drop), ErrorCode::InvalidRequest);
    let resumed = Record::Resumed {
        epoch: 2,
        turns_max: None,
        wall_ms_max: None,
        lost_tokens: 0,
        lost_cost_micros: None,
        elapsed_ms: 1,
    };
    store.append(&id, 2, &[resumed]).await.unwrap();
    let again = store.lease(&id, 2, wants(&["src"], 1)).await.unwrap();
    assert!(again > held[0].token);
    store.end_lease(&id, held[0].token).await.unwrap();
    assert_eq!(store.leases().await.unwrap().len(), 1, "an earlier lease is not this one");
    store.end_lease(&id, again).await.unwrap();
    assert_eq!(store.leases().await.unwrap(), []);
}

async fn a_lease_is_taken_from_the_silent_and_the_dead_and_from_nobody_else(store: &dyn Store) {
    let ids = ["silent", "dead", "alive"].map(TaskId::root);
    for (name, path) in [("silent", "a"), ("dead", "b"), ("alive", "c")] {
        let task = NewTask { owner: name.to_owned(), lease: Some(wants(&[path], 1)), ..new_task(name) };
        store.create(task).await.unwrap();
    }
    let later = store.task(&ids[0]).await.unwrap().seen_ms + 60_001;
    for beats in ["dead", "alive"] {
        store.beat(beats, later).await.unwrap();
    }
    let dead = store.leases().await.unwrap().into_iter().find(|lease| lease.task == ids[1]).unwrap().token;
    store.create(NewTask { owner: "alive".to_owned(), ..new_task("new") }).await.unwrap();
    let (new, over) =
        (TaskId::root("new"), |paths: &[&str]| LeaseRequest { dead: vec![dead], ..wants(paths, later) });
    assert_code(store.lease(&new, 1, over(&["a", "b", "c"])).await.map(drop), ErrorCode::LeaseConflict);
    assert_eq!(store.leases().await.unwrap().len(), 3, "nobody is put out in vain");
    assert_code(store.lease(&new, 1, wants(&["a", "b"], later)).await.map(drop), ErrorCode::LeaseConflict);
    let not_yet = wants(&["a"], later - 10_000);
    assert_code(store.lease(&new, 1, not_yet).await.map(drop), ErrorCode::LeaseConflict);
    store.lease(&new, 1, over(&["a", "b"])).await.unwrap();
    let held = store.leases().await.unwrap();
    let holders: Vec<&str> = held.iter().map(|lease| lease.task.as_str()).collect();
    assert_eq!(holders, ["alive", "new"]);
}

async fn a_command_is_noted_from_its_beginning_to_its_end(store: &dyn Store) {
    let (one, two) = (TaskId::root("one"), TaskId::root("two"));
    for name in ["one", "two"] {
        store.create(new_task(name)).await.unwrap();
    }
    let earlier = store.lease(&one, 1, wants(&["src"], 1)).await.unwrap();
    let everything = || wants(&["**", "docs"], 1).places;
    let first = store.begin_command(&two, 1, everything(), 7).await.unwrap();
    let second = store.begin_command(&two, 1, everything(), 8).await.unwrap();
    let running = store.commands().await.unwrap();
    assert_eq!(running.iter().map(|command| command.by.token).collect::<Vec<_>>(), [first, second]);
    let command = &running[0];
    assert_eq!((&command.by.task, &command.by.places, command.by.since_ms), (&two, &everything(), 7));
    assert!(command.after >= earlier, "the lease was there");
    assert_eq!(command.by.seen_ms, store.writing(&two).await.unwrap().seen_ms);
    let later = store.lease(&one, 1, wants(&["lib"], 1)).await.expect("a command stands in nobody's way");
    assert!(command.after < later, "this one was not");
    store.end_command(&one, first).await.unwrap();
    assert_eq!(store.commands().await.unwrap().len(), 2, "only its own task ends a command");
    store.end_command(&two, first).await.unwrap();
    assert_eq!(store.commands().await.unwrap()[0].by.token, second);
    assert_code(store.begin_command(&two, 2, everything(), 9).await.map(drop), ErrorCode::OwnerLost);
    assert_eq!(store.claim(&two, "second").await.unwrap(), 2);
    assert_eq!(store.commands().await.unwrap(), [], "another process drives the task now");
    store.begin_command(&two, 2, everything(), 9).await.unwrap();
    store.append(&two, 2, &[finished(StopReason::Answered, "done")]).await.unwrap();
    assert_eq!(store.commands().await.unwrap(), []);
    assert_code(store.begin_command(&two, 2, everything(), 9).await.map(drop), ErrorCode::InvalidRequest);
}

async fn a_task_works_inside_the_lease_of_those_above_it(store: &dyn Store) {
    let child =
        |number, parent| NewTask { id: TaskId::child("s", number), parent: Some(parent), ..new_task("s") };
    store.create(NewTask { lease: Some(wants(&["src"], 1)), ..new_task("s") }).await.unwrap();
    store.create(child(1, TaskId::root("s"))).await.unwrap();
    let grandchild = child(2, TaskId::child("s", 1));
    store.create(NewTask { lease: Some(wants(&["src/a"], 1)), ..grandchild }).await.unwrap();
    let writing = store.writing(&TaskId::child("s", 2)).await.unwrap();
    assert_eq!(writing.ancestors, [TaskId::child("s", 1), TaskId::root("s")]);
    assert_code(
        store.create(NewTask { lease: Some(wants(&["src/a/b.rs"], 1)), ..child(3, TaskId::root("s")) }).await,
        ErrorCode::LeaseConflict,
    );
    store.create(NewTask { lease: Some(wants(&["src/b"], 1)), ..child(3, TaskId::root("s")) }).await.unwrap();
}

async fn concurrent_tasks_keep_their_order<S: Store + 'static>(store: Arc<S>) {
    const TASKS: u32 = 8;
    const APPENDS: u32 = 200;
    let mut running = tokio::task::JoinSet::new();
    for number in 1..=TASKS {
        let store = Arc::clone(&store);
        running.spawn(async move {
            let id = TaskId::child("s", number);
            store.create(NewTask { id: id.clone(), ..new_task("unused") }).await.unwrap();
            for turn in 1..=APPENDS {
                store.append(&id, 1, &[asked(turn)]).await.unwrap();
            }
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("no append fails");
    }
    for number in 1..=TASKS {
        let records = store.records(&TaskId::child("s", number)).await.unwrap();
        let expected: Vec<Record> = (1..=APPENDS).map(asked).collect();
        assert!(records[1..] == expected, "task {number} lost or reordered records");
    }
}

fn assert_code<T: std::fmt::Debug>(answer: Result<T>, code: ErrorCode) {
    assert_eq!(answer.expect_err("this must be refused").code(), code);
}

/// A task with one `Started` record, owned by `first`.
pub fn new_task(id: &str) -> NewTask {
    NewTask {
        id: TaskId::root(id),
        parent: None,
        agent: "helper".to_owned(),
        owner: "first".to_owned(),
        records: vec![started("do it")],
        lease: None,
    }
}

pub fn started(task: &str) -> Record {
    let name = AgentName::parse("helper").expect("this is a name");
    let agent = Agent::new(name, "test:model", "You help.");
    Record::Started(Arc::new(TaskStart::new(agent, task, Grant::root(["read".to_owned()], 0))))
}

pub fn asked(turn: u32) -> Record {
    Record::Asked { turn, turns_max: 50, estimate: 10, elapsed_ms: u64::from(turn) }
}

/// A reply that also lost one token each way in an attempt before it.
pub fn replied(text: &str, input: u64, output: u64) -> Record {
    let reply = Reply {
        blocks: vec![Block::text(text)],
        stop: ReplyStop::EndTurn,
        usage: usage(input, output),
        model: "test:model".to_owned(),
        lost: usage(1, 1),
        notes: Vec::new(),
    };
    Record::Replied { turn: 1, reply, elapsed_ms: 1 }
}

/// A reply with this price, after which nothing was lost.
pub fn priced(input: u64, cost_micros: Option<u64>) -> Record {
    match replied("", input, 1) {
        Record::Replied { turn, reply, elapsed_ms } => {
            let (usage, lost) = (reply.usage.costing(cost_micros), Usage::default());
            Record::Replied { turn, reply: Reply { usage, lost, ..reply }, elapsed_ms }
        }
        other => other,
    }
}

pub fn finished(stop: StopReason, text: &str) -> Record {
    let outcome = Outcome {
        stop,
        detail: None,
        text: text.to_owned(),
        sections: None,
        data: None,
        schema_errors: Vec::new(),
        evidence: Vec::new(),
        turns: 1,
        tool_calls: 0,
        usage: Usage::default(),
        answered_by: Default::default(),
        changed_files: Vec::new(),
        in_doubt: Vec::new(),
        refused_tools: Vec::new(),
        warnings: Vec::new(),
    };
    Record::Finished { outcome: Arc::new(outcome), elapsed_ms: 1 }
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}
