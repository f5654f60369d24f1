//! The crash grid: every point at which a process can die, for every class of effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::budget::BudgetCaps;
use posse_core::id::CallKey;
use posse_core::journal::Record;
use posse_core::outcome::OutcomeStatus;
use posse_core::tool::ToolEffect;
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{ApprovalDecision, Approver, BoxFuture, ProposedCall};

use crate::stage::Stage;

const SCRIPT: &str = "[{calls: [{look: {}}, {put: {}}, {fire: {}}, {fire: {n: 2}}]}, \
                       {text: middle, calls: [{fire: {}}, {look: {}}]}, {text: done}]";

/// What a journal says about calls with an effect: announced, and finished.
fn calls(records: &[Record]) -> BTreeMap<CallKey, (ToolEffect, bool)> {
    let mut calls = BTreeMap::new();
    for record in records {
        match record {
            Record::Intended { key, effect, .. } => {
                calls.insert(*key, (*effect, false));
            }
            Record::Done { result, .. } => {
                if let Some(call) = calls.get_mut(&result.key) {
                    call.1 = true;
                }
            }
            _ => {}
        }
    }
    calls
}

#[tokio::test]
async fn after_a_crash_at_any_write_nothing_finished_runs_again_and_doubt_is_said() {
    let first = Stage::new(SCRIPT);
    first.run().await.unwrap();
    let writes = first.store.writes();
    assert!(writes >= 8, "the grid has {writes} points");
    for died_after in 1..=writes {
        let stage = first.after_crash(first.store.as_of(died_after));
        stage.world.effects.lock().unwrap().clear();
        let before = calls(&stage.records().await);
        let outcome = stage.go_on(ResumeMode::Finish { turns_max: None, wall_ms_max: None }).await.unwrap();
        assert_eq!(
            (outcome.status(), outcome.text.as_str()),
            (OutcomeStatus::Completed, "done"),
            "write {died_after}"
        );
        let effects = stage.world.effects.lock().unwrap();
        for (key, (effect, finished)) in before {
            let again = effects.get(&format!("s1/{key}")).copied().unwrap_or(0);
            let in_doubt = outcome.in_doubt.iter().any(|doubt| doubt.key == key);
            let expected = match (effect, finished) {
                (_, true) => (0, false),
                (ToolEffect::Unsafe, false) => (0, true),
                (ToolEffect::Pure | ToolEffect::Idempotent, false) => (1, false),
            };
            assert_eq!((again, in_doubt), expected, "write {died_after}, call {key} ({effect:?})");
        }
    }
}

#[tokio::test]
async fn after_a_crash_at_any_write_an_answer_is_judged_as_it_would_have_been() {
    let script = "[{calls: [{fire: {}}]}, {text: 'no JSON'}, {text: '1'}, {text: '2'}]";
    let first = Stage {
        schema: Some("{\"type\": \"integer\"}"),
        verify: &["pass", "fail once"],
        ..Stage::new(script)
    };
    let whole = first.run().await.unwrap();
    assert_eq!((whole.status(), whole.text.as_str()), (OutcomeStatus::Completed, "2"));
    let writes = first.store.writes();
    assert!(writes >= 10, "the grid has {writes} points");
    for died_after in 1..=writes {
        let stage = first.after_crash(first.store.as_of(died_after));
        let found = stage.records().await;
        let done = |record: &Record| matches!(record, Record::Verified { evidence, .. } if evidence.command == "fail once");
        {
            // What the dead process wrote down is what this one knows; `fail once` fails again if nobody knows that it did.
            let mut verified = stage.world.verified.lock().unwrap();
            verified.clear();
            verified.extend(found.iter().filter(|record| done(record)).map(|_| "fail once".to_owned()));
        }
        let known = stage.world.verified.lock().unwrap().len();
        let outcome = stage.go_on(ResumeMode::Finish { turns_max: None, wall_ms_max: None }).await.unwrap();
        let (text, data, evidence) = (&outcome.text, &outcome.data, &outcome.evidence);
        assert_eq!((text, data, evidence), (&whole.text, &whole.data, &whole.evidence), "write {died_after}");
        // Twice each in all, and once more for the one that was under way.
        let finished = |command: &str| {
            let is_it =
                |r: &&Record| matches!(r, Record::Verified { evidence, .. } if evidence.command == command);
            found.iter().filter(is_it).count()
        };
        let ran = stage.world.verified.lock().unwrap().split_off(known);
        let expected = 4 - finished("pass") - finished("fail once");
        assert_eq!(ran.len(), expected, "write {died_after}: {ran:?}");
        assert!(stage.world.unannounced.lock().unwrap().is_empty(), "write {died_after}");
    }
}

#[tokio::test]
async fn the_process_that_lost_its_task_can_write_nothing_more() {
    // T19
    let stage = std::sync::Arc::new(Stage::new("[{calls: [{hang: {}}]}, {text: from the first}]"));
    let running = tokio::spawn({
        let stage = stage.clone();
        async move { stage.run().await }
    });
    while stage.world.running.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let second = Stage {
        store: stage.store.clone(),
        ..Stage::new("[{calls: [{hang: {}}]}, {text: from the second}]")
    };
    let outcome = second.go_on(ResumeMode::Finish { turns_max: None, wall_ms_max: None }).await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.in_doubt.len()), ("from the second", 1));
    stage.stop.now.cancel();
    assert_eq!(crate::stage::code(running.await.unwrap()), posse_core::ErrorCode::OwnerLost);
    assert!(
        matches!(stage.records().await.last(), Some(Record::Finished { outcome, .. }) if outcome.text == "from the second")
    );
}

fn kinds(records: &[Record]) -> Vec<&'static str> {
    records.iter().map(Record::kind).collect()
}

/// What the process that took the task up counted as lost.
fn lost(records: &[Record]) -> Option<u64> {
    records.iter().find_map(|record| match record {
        Record::Resumed { lost_tokens, .. } => Some(*lost_tokens),
        _ => None,
    })
}

#[tokio::test]
async fn a_task_and_its_first_request_are_one_write_and_only_a_request_that_was_made_is_lost() {
    let onward = || ResumeMode::Finish { turns_max: None, wall_ms_max: None };
    let stage = Stage::new("[{text: done}]");
    stage.run().await.unwrap();
    assert_eq!(kinds(&stage.records().await), ["started", "asked", "replied", "finished"]);
    assert_eq!(stage.store.writes(), 2);
    // Whoever finds it as it was then cannot know whether the provider has worked.
    let died = stage.after_crash(stage.store.as_of(1));
    assert_eq!(kinds(&died.records().await), ["started", "asked"]);
    died.go_on(onward()).await.unwrap();
    assert!(lost(&died.records().await).is_some_and(|lost| lost > 0));

    let stage = Stage::new("[{text: done}]");
    stage.stop.now.cancel();
    stage.run().await.unwrap();
    assert_eq!(kinds(&stage.records().await), ["started", "asked", "cancelled", "finished"]);
    let again = stage.after_crash(stage.store.snapshot());
    again.go_on(onward()).await.unwrap();
    assert_eq!(lost(&again.records().await), Some(0));

    let caps = BudgetCaps { input_tokens: Some(1), ..BudgetCaps::default() };
    let stage = Stage { caps, ..Stage::new("[{text: done}]") };
    stage.run().await.unwrap();
    // What cannot be paid is not announced.
    let spent = ["started", "budget_spent", "observed", "budget_spent", "finished"];
    assert_eq!(kinds(&stage.records().await), spent);
}

struct Willing;

impl Approver for Willing {
    fn approve<'a>(&'a self, _: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Granted))
    }
}

#[tokio::test]
async fn nothing_follows_a_reply_that_could_not_be_written() {
    let script = "[{calls: [{meet: {}}, {meet: {}}, {fire: {}}]}, {text: done}]";
    // With an approver, records are sent before the write of the reply is known to have succeeded.
    let approver: Arc<dyn Approver> = Arc::new(Willing);
    let stage = Stage { approver: Some(approver), ..Stage::new(script) };
    stage.store.fail_append(1, ErrorCode::DiskFull);
    assert_eq!(crate::stage::code(stage.run().await), ErrorCode::DiskFull);
    assert_eq!(kinds(&stage.records().await), ["started", "asked"]);
    let fire = CallKey { turn: 0, index: 2 };
    assert!(!stage.world.effects.lock().unwrap().contains_key(&format!("s1/{fire}")));
}
