//! Answers that have to be JSON, and results that are checked by commands.

use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::event::Event;
use posse_core::journal::Record;
use posse_core::limits::Limits;
use posse_core::outcome::{OutcomeStatus, StopReason};
use posse_core::verify::OUTPUT_BYTES_MAX;
use posse_runtime::driver::ResumeMode;
use serde_json::json;

use crate::stage::{Stage, code};

const SCHEMA: &str = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"list":{"type":"array","items":{"type":"integer"}}}}"#;

fn typed(script: &'static str) -> Stage {
    Stage { schema: Some(SCHEMA), ..Stage::new(script) }
}

fn verified(verify: &'static [&'static str], script: &'static str) -> Stage {
    Stage { verify, ..Stage::new(script) }
}

fn finish() -> ResumeMode {
    ResumeMode::Finish { turns_max: None, wall_ms_max: None }
}

#[tokio::test]
async fn an_answer_that_satisfies_its_schema_is_data() {
    let outcome = typed(r#"[{calls: [{look: {}}]}, {text: '{"n": 7}'}]"#).run().await.unwrap();
    assert_eq!((outcome.status(), outcome.data.clone()), (OutcomeStatus::Completed, Some(json!({ "n": 7 }))));
}

#[tokio::test]
async fn a_wrong_answer_is_repaired_with_at_most_five_errors_and_their_places() {
    let stage = typed(r#"[{text: '{"list": ["a", "b", "c", "d", "e", "f"]}'}, {text: '{"n": 1}'}]"#);
    let outcome = stage.run().await.unwrap();
    assert_eq!(
        (outcome.status(), outcome.turns, outcome.data.clone()),
        (OutcomeStatus::Completed, 2, Some(json!({ "n": 1 })))
    );
    let errors = stage.records().await.into_iter().find_map(|record| match record {
        Record::Checked { errors, .. } => Some(errors),
        _ => None,
    });
    let errors = errors.unwrap();
    assert_eq!(errors.len(), 6, "{errors:?}");
    assert!(
        errors.iter().any(|e| e.starts_with("/list/") && e.contains("is not of type \"integer\"")),
        "{errors:?}"
    );
    assert_eq!(errors[5], "and 2 more");
}

#[tokio::test]
async fn an_answer_that_stays_wrong_fails_with_its_text() {
    let outcome = typed(r#"[{text: 'no'}, {text: '{"n": "x"}'}, {text: never}]"#).run().await.unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::OutputInvalid, OutcomeStatus::Failed));
    assert_eq!((outcome.text.as_str(), outcome.data.clone()), (r#"{"n": "x"}"#, None));
    assert_eq!(outcome.schema_errors, ["/n: \"x\" is not of type \"integer\""]);
}

#[tokio::test]
async fn a_task_with_a_broken_schema_is_not_begun() {
    for schema in ["{", r#"{"type": "nonsense"}"#] {
        let stage = Stage { schema: Some(schema), ..Stage::new("[{text: never}]") };
        assert_eq!(code(stage.run().await), ErrorCode::InvalidRequest);
        assert_eq!(stage.store.writes(), 0);
    }
}

#[tokio::test]
async fn commands_check_the_result_after_their_intent_is_durable() {
    let stage = verified(&["pass", "fail once"], "[{calls: [{fire: {}}]}, {text: done}, {text: done now}]");
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "done now"));
    assert_eq!(*stage.world.verified.lock().unwrap(), ["pass", "fail once", "pass", "fail once"]);
    assert_eq!(*stage.world.unannounced.lock().unwrap(), Vec::<String>::new());
    assert!(outcome.evidence.iter().all(|found| found.passed() && found.duration_ms == 7));
    let events = stage.seen.0.lock().unwrap();
    let failed = events.iter().filter(|event| matches!(event, Event::Verified { passed: false, .. })).count();
    assert_eq!(failed, 1);
}

#[tokio::test]
async fn a_check_that_fails_twice_fails_the_task() {
    let stage = verified(&["flood"], "[{text: done}, {text: done again}, {text: never}]");
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::VerifyFailed, OutcomeStatus::Failed));
    assert_eq!((outcome.text.as_str(), outcome.evidence[0].exit_code()), ("done again", Some(1)));
    assert!(outcome.evidence[0].output.len() <= OUTPUT_BYTES_MAX);
}

#[tokio::test]
async fn without_a_verifier_a_task_that_has_to_be_verified_fails() {
    let stage = Stage { verifies: false, ..verified(&["pass"], "[{text: done}, {text: never}]") };
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.stop, outcome.text.as_str()), (StopReason::VerifyFailed, "done"));
    assert_eq!(
        outcome.detail.as_deref(),
        Some("`pass`: not run: this session runs no commands to verify a result")
    );
}

#[tokio::test]
async fn a_verifier_that_crashes_fails_only_its_task() {
    let outcome = verified(&["crash"], "[{text: done}, {text: never}]").run().await.unwrap();
    assert_eq!(outcome.stop, StopReason::VerifyFailed);
    assert!(outcome.detail.as_deref().unwrap().contains("the verifier crashed (out of cheese)"));
}

#[tokio::test]
async fn stopping_ends_a_check_that_hangs_and_says_that_nothing_was_verified() {
    let stage = Arc::new(verified(&["hang"], "[{text: done}, {text: done}]"));
    let running = tokio::spawn({
        let stage = stage.clone();
        async move { stage.run().await }
    });
    while stage.world.verified.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.stop.now.cancel();
    let outcome = running.await.unwrap().unwrap();
    assert_eq!((outcome.stop, outcome.text.as_str()), (StopReason::Cancelled, "done"));
    assert!(outcome.evidence.is_empty(), "a check that was cut off says nothing");
    assert_eq!(outcome.warnings, ["the result was not verified: the task ended before that"]);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_does_not_end_meets_the_deadline() {
    let stage = Stage {
        limits: Limits { wall_ms_max: 60_000, ..Limits::default() },
        ..verified(&["ignore"], "[{text: done}]")
    };
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::DeadlinePassed, OutcomeStatus::Partial));
}

#[tokio::test]
async fn a_task_that_lost_bash_gets_no_command_run() {
    let stage = verified(&["fail"], "[{text: done}, {text: still}, {text: really}]");
    assert_eq!(stage.run().await.unwrap().stop, StopReason::VerifyFailed);
    let later = Stage { denied_later: &["bash"], ..stage.after_crash(stage.store.snapshot()) };
    let outcome = later.go_on(finish()).await.unwrap();
    assert_eq!(
        outcome.detail.as_deref(),
        Some("`fail`: not run: `bash` is not allowed to this task any more")
    );
    assert_eq!(stage.world.verified.lock().unwrap().len(), 2, "nothing was run after it was taken away");
}
