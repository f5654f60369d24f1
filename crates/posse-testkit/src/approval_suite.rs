//! What every store of approvals must do. `run` panics with the sentence that does not hold.

use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict, DecidedBy, ONCE_MS_MAX,
    ParkedCall,
};
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::StopReason;
use posse_runtime::ports::{ApprovalQuery, Store};

use crate::store_suite::{finished, new_task};

/// Runs every case on a fresh store. Needs a tokio runtime around it.
pub async fn run<S: Store + 'static>(fresh: impl Fn() -> Arc<S>) {
    what_is_parked_comes_back_whole_and_in_order(&*fresh()).await;
    a_call_that_is_parked_again_keeps_its_place_and_its_answer(&*fresh()).await;
    the_first_answer_counts(&*fresh()).await;
    an_answer_to_something_else_is_refused(&*fresh()).await;
    what_nobody_waits_for_cannot_be_answered(&*fresh()).await;
    answers_for_more_than_one_call_are_found_by_their_session(&*fresh()).await;
    of_a_hundred_answers_one_counts(fresh()).await;
}

/// A call of the session's own task.
pub fn request(session: &str, turn: u32) -> ApprovalRequest {
    ApprovalRequest {
        task: TaskId::root(session),
        key: CallKey { turn, index: 0 },
        agent: "helper".to_owned(),
        path: vec![TaskId::root("above")],
        tool: "bash".to_owned(),
        arguments: format!("{{\"command\":\"rm \\u202e {turn}\\n\"}}"),
        hash: format!("hash of {turn}"),
        why: "a rule".to_owned(),
        covers: vec!["bash".to_owned()],
        shown: Some(serde_json::json!({ "prompt": "p" })),
        asked_ms: 1_000,
        deadline_ms: 2_000,
        on_deadline: ApprovalVerdict::Deny,
    }
}

pub fn yes(by: &str) -> ApprovalAnswer {
    ApprovalAnswer::new(ApprovalVerdict::Approve, DecidedBy::Person(by.to_owned()), 1_500)
}

async fn what_is_parked_comes_back_whole_and_in_order(store: &dyn Store) {
    for session in ["s", "t"] {
        store.create(new_task(session)).await.unwrap();
    }
    let first = store.park(request("s", 1)).await.unwrap();
    let second = store.park(request("t", 1)).await.unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(first.request, request("s", 1));
    assert_eq!(first.state, ApprovalState::Open);
    assert_eq!(store.approval(&first.id).await.unwrap(), first);
    assert_eq!(store.approvals(ApprovalQuery::Open).await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(store.approvals(ApprovalQuery::Newest(1)).await.unwrap(), std::slice::from_ref(&second));
    let call = ApprovalQuery::Call(TaskId::root("t"), CallKey { turn: 1, index: 0 });
    assert_eq!(store.approvals(call).await.unwrap(), [second]);
    let other = ApprovalQuery::Call(TaskId::root("t"), CallKey { turn: 1, index: 1 });
    assert!(store.approvals(other).await.unwrap().is_empty());
    assert_eq!(store.approval("a99").await.unwrap_err().code(), ErrorCode::ApprovalNotFound);
}

async fn a_call_that_is_parked_again_keeps_its_place_and_its_answer(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    let parked = store.park(request("s", 1)).await.unwrap();
    let later = ApprovalRequest { asked_ms: 1_700, deadline_ms: 9_000, ..request("s", 1) };
    assert_eq!(
        store.park(later.clone()).await.unwrap(),
        parked,
        "it goes on waiting, until the same instant"
    );
    let changed = ApprovalRequest { hash: "another".to_owned(), ..later.clone() };
    assert_eq!(store.park(changed).await.unwrap_err().code(), ErrorCode::ApprovalMismatch);
    let answered = store.answer(&parked.id, &parked.request.hash, yes("ada")).await.unwrap();
    assert_eq!(store.park(later).await.unwrap(), answered, "an answer that came meanwhile counts");
    let much_later = 1_500 + ONCE_MS_MAX;
    let again = ApprovalRequest { asked_ms: much_later, deadline_ms: much_later + 1, ..request("s", 1) };
    let anew = store.park(again.clone()).await.unwrap();
    assert_eq!(
        anew,
        ParkedCall { id: parked.id, request: again, state: ApprovalState::Open },
        "a yes is not for ever"
    );
}

async fn the_first_answer_counts(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    let ParkedCall { id, request, .. } = store.park(request("s", 1)).await.unwrap();
    let late = ApprovalAnswer { at_ms: 2_001, ..yes("late") };
    let refused = store.answer(&id, &request.hash, late).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalClosed, "the time is over");
    let answer = ApprovalAnswer { reason: Some("it is fine".to_owned()), ..yes("ada") };
    let parked = store.answer(&id, &request.hash, answer).await.unwrap();
    let ApprovalState::Answered(kept) = &parked.state else { panic!("{parked:?}") };
    assert_eq!(kept.reason.as_deref(), Some("it is fine"));
    assert_eq!(store.approval(&id).await.unwrap(), parked);
    let second = ApprovalAnswer::new(ApprovalVerdict::Deny, DecidedBy::Person("bob".to_owned()), 1_600);
    let refused = store.answer(&id, &request.hash, second).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalClosed);
    assert!(refused.message().contains("approved by ada"), "{refused}");
    assert_eq!(store.approval(&id).await.unwrap(), parked);
    assert!(store.approvals(ApprovalQuery::Open).await.unwrap().is_empty());
    assert_eq!(store.answer("a99", "", yes("x")).await.unwrap_err().code(), ErrorCode::ApprovalNotFound);
}

async fn an_answer_to_something_else_is_refused(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    let parked = store.park(request("s", 1)).await.unwrap();
    let refused = store.answer(&parked.id, "another", yes("ada")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalMismatch);
    assert_eq!(store.approval(&parked.id).await.unwrap(), parked);
}

async fn what_nobody_waits_for_cannot_be_answered(store: &dyn Store) {
    for session in ["s", "t"] {
        store.create(new_task(session)).await.unwrap();
    }
    let closed = store.park(request("s", 1)).await.unwrap();
    store.close_approvals(&TaskId::root("s"), "it was cancelled").await.unwrap();
    let refused = store.answer(&closed.id, &closed.request.hash, yes("ada")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalClosed);
    let anew = store.park(request("s", 1)).await.unwrap();
    assert_eq!((anew.id, anew.state), (closed.id, ApprovalState::Open), "it is asked about again");
    let ended = store.park(request("t", 1)).await.unwrap();
    store.append(&TaskId::root("t"), 1, &[finished(StopReason::Cancelled, "")]).await.unwrap();
    assert_eq!(store.approvals(ApprovalQuery::Open).await.unwrap().len(), 1, "only of what runs");
    let refused = store.answer(&ended.id, &ended.request.hash, yes("ada")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalClosed);
}

async fn answers_for_more_than_one_call_are_found_by_their_session(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    let mut expected = Vec::new();
    for (turn, scope) in (1..).zip(ApprovalScope::ALL) {
        let parked = store.park(request("s", turn)).await.unwrap();
        let answer = ApprovalAnswer { scope: *scope, ..yes("ada") };
        let answered = store.answer(&parked.id, &parked.request.hash, answer).await.unwrap();
        if *scope != ApprovalScope::Once {
            expected.push(answered);
        }
    }
    assert_eq!(store.approvals(ApprovalQuery::Standing("s".to_owned())).await.unwrap(), expected);
    assert!(store.approvals(ApprovalQuery::Standing("t".to_owned())).await.unwrap().is_empty());
}

async fn of_a_hundred_answers_one_counts<S: Store + 'static>(store: Arc<S>) {
    store.create(new_task("s")).await.unwrap();
    let ParkedCall { id, request, .. } = store.park(request("s", 1)).await.unwrap();
    let mut answering = Vec::new();
    for number in 0..100 {
        let (store, id, hash) = (store.clone(), id.clone(), request.hash.clone());
        answering.push(tokio::spawn(async move {
            let verdict = if number % 2 == 0 { ApprovalVerdict::Approve } else { ApprovalVerdict::Deny };
            let answer = ApprovalAnswer::new(verdict, DecidedBy::Person(format!("p{number}")), 1_500);
            store.answer(&id, &hash, answer).await
        }));
    }
    let mut won = Vec::new();
    for answer in answering {
        match answer.await.unwrap() {
            Ok(parked) => won.push(parked),
            Err(e) => assert_eq!(e.code(), ErrorCode::ApprovalClosed),
        }
    }
    assert_eq!(won.len(), 1);
    assert_eq!(store.approval(&id).await.unwrap(), won[0]);
}
