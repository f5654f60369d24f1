//! Time is paused: what is asserted is when the model was called.

use posse_core::agent::ModelSettings;

use tokio::time::Instant;

use posse_core::message::Message;
use posse_core::reply::Reply;

use super::*;
use crate::fake::{Act, Fake, PROMPT, Seen, ask, ask_with, asking_to_wait, failure};
use crate::governor::COOL_DOWN_MAX;

fn retry(inner: &Arc<Fake>) -> RetryModel {
    RetryModel::new(inner.clone(), RetryPolicy::default(), Arc::default()).seeded(1)
}

/// The times between calls, in milliseconds.
fn pauses(fake: &Fake) -> Vec<u64> {
    fake.times().windows(2).map(|pair| (pair[1] - pair[0]).as_millis() as u64).collect()
}

/// Upper bound of the cost of an attempt with the usual prompt, after `output` bytes of an answer.
fn lost(attempts: u64, output: u64) -> Usage {
    let input = attempts * (tokens_at_most(PROMPT) + tokens_at_most(""));
    Usage { input, output, estimated: true, ..Usage::default() }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_model_is_asked_again_with_growing_jittered_waits() {
    let mut first_waits = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let fake = Arc::new(Fake::failing("a", (0..4).map(|_| failure(FailureKind::Overloaded))));
        let reply = ask(&retry(&fake).seeded(seed)).await.unwrap();
        assert_eq!(reply, fake.reply(), "a refusal before the stream costs nothing");
        let pauses = pauses(&fake);
        assert_eq!(pauses.len(), 4);
        for (pause, most) in pauses.iter().zip([1000, 2000, 4000, 8000]) {
            assert!((500..=most + 1).contains(pause), "{pauses:?}");
        }
        first_waits.insert(pauses[0]);
    }
    assert!(first_waits.len() > 10, "the waits are spread: {first_waits:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_are_finite() {
    let fake = Arc::new(Fake::failing("a", (0..99).map(|_| failure(FailureKind::Connection))));
    let failed = ask(&retry(&fake)).await.unwrap_err();
    assert_eq!(failed, ModelFailure::new(FailureKind::Connection, "no luck (gave up after 5 attempts)"));
    assert_eq!(fake.times().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_waiting_cannot_help_is_asked_once() {
    use FailureKind::*;
    for kind in [QuotaExhausted, Unauthorised, UnknownModel, ContextTooLong, InvalidRequest, Cancelled] {
        let fake = Arc::new(Fake::failing("a", [asking_to_wait(kind, 10)]));
        assert_eq!(ask(&retry(&fake)).await, Err(asking_to_wait(kind, 10)));
        assert_eq!(fake.times().len(), 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_a_floor_with_jitter_above_it() {
    for (asked_ms, floor, most) in [(20_000, 20_000, 21_000), (0, 500, 1500), (60_000, 60_000, 61_000)] {
        for seed in 0..10 {
            let fake = Arc::new(Fake::failing("a", [asking_to_wait(FailureKind::RateLimited, asked_ms)]));
            ask(&retry(&fake).seeded(seed)).await.unwrap();
            assert!((floor..=most).contains(&pauses(&fake)[0]), "{asked_ms}: {:?}", pauses(&fake));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_what_is_allowed_fails_at_once_with_the_reset_time() {
    for asked_ms in [60_001, 1_000_000_000_000, u64::MAX] {
        let fake = Arc::new(Fake::failing("a", [asking_to_wait(FailureKind::RateLimited, asked_ms)]));
        let model = retry(&fake);
        let start = Instant::now();
        let failed = ask(&model).await.unwrap_err();
        assert_eq!(failed.kind, FailureKind::RateLimited);
        let resets = format!("resets in {} s", asked_ms.div_ceil(1000));
        assert!(failed.message.contains(&resets), "{failed}");
        assert_eq!((start.elapsed(), failed.retry_after_ms), (Duration::ZERO, Some(asked_ms)));
        // The next caller of the key is told without a call, until the pause is over.
        let told = ask(&model).await.unwrap_err();
        assert!(told.message.contains("another call was rate limited; the limit resets in"), "{told}");
        assert_eq!((fake.times().len(), start.elapsed()), (1, Duration::ZERO));
        tokio::time::advance(COOL_DOWN_MAX).await;
        assert!(ask(&model).await.is_ok(), "a nonsense date does not lock the key for ever");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_429_nobody_calls_with_the_key_before_the_limit_resets() {
    let governor = Arc::new(RateGovernor::default());
    let limited = Arc::new(Fake::failing("a", [asking_to_wait(FailureKind::RateLimited, 30_000)]));
    let others = Arc::new(Fake::new("b", []));
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 0..8 {
        let inner: Arc<dyn Model> = if seed == 0 { limited.clone() } else { others.clone() };
        let model = RetryModel::new(inner, RetryPolicy::default(), governor.clone()).seeded(seed);
        tasks.spawn(async move {
            if seed > 0 {
                // Calls that begin after the 429 came.
                tokio::time::sleep(Duration::from_millis(seed)).await;
            }
            ask(&model).await
        });
    }
    for result in tasks.join_all().await {
        result.unwrap();
    }
    let after: Vec<u128> = others.times().iter().map(|at| (*at - start).as_millis()).collect();
    assert_eq!(after.len(), 7);
    assert!(after.iter().all(|ms| (30_000..31_000).contains(ms)), "{after:?}");
    let distinct: std::collections::BTreeSet<_> = after.iter().collect();
    assert!(distinct.len() > 3, "they do not all call at once: {after:?}");
    let other_key = Arc::new(Fake::new("c", []));
    ask(&retry(&other_key)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_extended_is_not_waited_for_endlessly() {
    let governor = Arc::new(RateGovernor::default());
    let fake = Arc::new(Fake::new("a", []));
    let model = RetryModel::new(fake.clone(), RetryPolicy::default(), governor.clone()).seeded(1);
    governor.pause_for(Duration::from_secs(40));
    let closer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(39)).await;
        governor.pause_for(Duration::from_secs(40));
    });
    let failed = ask(&model).await.unwrap_err();
    closer.await.unwrap();
    assert_eq!((failed.kind, fake.times().len()), (FailureKind::RateLimited, 0));
}

#[tokio::test(start_paused = true)]
async fn a_turn_cut_off_in_the_middle_is_voided_asked_again_and_counted() {
    use FailureKind::*;
    for kind in [Connection, Overloaded, RateLimited, Stalled, Protocol] {
        let fake = Arc::new(Fake::new("a", [vec![Act::Text("half an ans"), Act::Fail(failure(kind))]]));
        let seen = Seen::default();
        let settings = ModelSettings::default();
        let reply = ask_with(&retry(&fake), &[Message::user(PROMPT)], &settings, &seen).await.unwrap();
        assert_eq!(reply, Reply { lost: lost(1, 11), ..fake.reply() });
        let restarted = format!("restarted: {}: no luck", kind.wire());
        assert_eq!(seen.all(), [r#"Text("half an ans")"#.to_owned(), restarted]);
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_that_the_provider_may_have_worked_on_is_counted() {
    use FailureKind::*;
    let own_figure = ModelFailure { lost: lost(9, 0), ..failure(Stalled) };
    let calls = [
        vec![Act::Fail(failure(Connection))],
        vec![Act::Ping, Act::Fail(failure(Connection))],
        vec![Act::Fail(failure(Stalled))],
        vec![Act::Fail(own_figure)],
        vec![Act::Fail(failure(InvalidRequest))],
    ];
    let failed = ask(&retry(&Arc::new(Fake::new("a", calls)))).await.unwrap_err();
    assert_eq!(failed, ModelFailure { lost: lost(1 + 1 + 9, 0), ..failure(InvalidRequest) });
}

#[tokio::test(start_paused = true)]
async fn a_broken_protocol_is_tried_once_more() {
    let fake = Arc::new(Fake::failing("a", (0..9).map(|_| failure(FailureKind::Protocol))));
    let failed = ask(&retry(&fake)).await.unwrap_err();
    assert_eq!(failed.lost, lost(2, 0));
    assert_eq!(fake.times().len(), 2);
}
