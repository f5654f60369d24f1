//! When a failed call is made again, and when not. Time is paused: the server notes when each request came.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use posse::core::event::{Event, EventEntry};
use posse::core::limits::Limits;
use posse::core::outcome::{OutcomeStatus, StopReason};
use posse::models::fallback::FallbackModel;
use posse::ports::{Model, Observer};
use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{LoopbackFormat, Say};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::faults::{answered, chat, limits};
use crate::stage::{Stage, play, play_streamed};

const FORMAT: LoopbackFormat = LoopbackFormat::OpenAiChat;

fn refusal(status: u16, code: &str) -> Answer {
    Answer::json(status, &json!({"error": {"type": code, "code": code, "message": "not now"}}))
}

/// Milliseconds from then until each request.
fn since(start: Instant, requests: &[Recorded]) -> Vec<u128> {
    requests.iter().map(|request| (request.at - start).as_millis()).collect()
}

/// Milliseconds between requests.
fn pauses(requests: &[Recorded]) -> Vec<u128> {
    requests.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect()
}

/// Told when a call has failed and will be made again.
struct Waiting(Arc<Notify>);

impl Observer for Waiting {
    fn event(&self, entry: &EventEntry) {
        if let Event::ModelRetry { .. } = entry.event {
            self.0.notify_one();
        }
    }
}

/// A provider whose limit resets after 30 s: until then every request is refused, with the time that is left.
async fn limited_until(resets: Instant) -> Server {
    Server::handler(move |request| {
        let left = resets.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Say::text("ok").answer(request);
        }
        refusal(429, "rate_limit_exceeded").header("retry-after-ms", &left.as_millis().to_string())
    })
    .await
}

/// Eight tasks of one key; `others_wait` lets seven of them begin only when the first was told to wait.
async fn eight_tasks(url: &str, others_wait: bool) {
    let first = Stage::new(FORMAT);
    let told = Arc::new(Notify::new());
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 0..8 {
        let observers: Vec<Arc<dyn Observer>> =
            if seed == 0 { vec![Arc::new(Waiting(told.clone()))] } else { Vec::new() };
        let stage = Stage { seed, observers, ..first.clone() };
        let model = stage.model("m", url);
        tasks.spawn(async move { stage.start(&format!("s{seed}"), model).await });
        if seed == 0 && others_wait {
            told.notified().await;
        }
    }
    for outcome in tasks.join_all().await {
        assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "ok"));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_429_no_task_of_the_key_calls_before_the_limit_resets() {
    // P01
    for (others_wait, too_early) in [(true, 1), (false, 8)] {
        let start = Instant::now();
        let server = limited_until(start + Duration::from_secs(30)).await;
        eight_tasks(server.url(), others_wait).await;
        let requests = server.requests();
        let keys: BTreeSet<_> = requests.iter().map(|request| request.header("authorization")).collect();
        assert_eq!(keys, BTreeSet::from([Some("Bearer key")]));
        let times = since(start, &requests);
        let (early, late) = times.split_at(too_early);
        assert!(early.iter().all(|ms| *ms < 1000), "{times:?}");
        assert_eq!(late.len(), 8, "each task asks once more: {times:?}");
        // Never before the time; above it the calls are spread.
        assert!(late.iter().all(|ms| (30_000..31_000).contains(ms)), "{times:?}");
        assert!(late.iter().collect::<BTreeSet<_>>().len() > 3, "not all at once: {times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_form_of_retry_after_is_a_floor() {
    // P01, P02
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (headers, floor) in [
        (vec![("retry-after", "20")], 20_000),
        (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], 30_000),
        (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], 500),
        (vec![("retry-after-ms", "1250")], 1250),
        (vec![("retry-after", "0")], 500),
        (vec![("retry-after", "-7")], 500),
        (vec![("retry-after", "soon")], 500),
        (vec![], 500),
    ] {
        let limited =
            || headers.iter().fold(refusal(429, "rate_limit"), |a, (name, value)| a.header(name, value));
        let mut answers = vec![limited(), limited()];
        answers.extend(chat([Say::text("ok")]));
        let played = play(FORMAT, limits(), answers).await;
        answered(&played, "ok");
        let pauses = pauses(&played.sent);
        for (pause, jitter) in pauses.iter().zip([500, 1500]) {
            assert!((floor..=floor + jitter + 5).contains(pause), "{headers:?}: {pauses:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_fails_at_once_and_names_the_time() {
    // P02
    let start = Instant::now();
    let answer = refusal(429, "rate_limit").header("retry-after", "1000000000");
    let played = play(FORMAT, limits(), vec![answer]).await;
    assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::ModelFailed, 1));
    let detail = played.outcome.detail.as_deref().unwrap();
    assert!(detail.contains("resets in 1000000000 s, and we wait at most 60 s"), "{detail}");
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_limit_that_resets_after_the_end_of_the_run() {
    // P02
    let start = Instant::now();
    let tight = Limits { wall_ms_max: 20_000, ..limits() };
    let stage = Stage { limits: tight, ..Stage::new(FORMAT) };
    let played = stage.play(vec![refusal(429, "rate_limit").header("retry-after", "30")]).await;
    assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::ModelFailed, 1));
    let detail = played.outcome.detail.as_deref().unwrap();
    assert!(detail.contains("resets in 30 s, and we wait at most 20 s"), "{detail}");
    // The next task of the key is told without a call.
    let server = Server::script([]).await;
    let outcome = stage.start("next", stage.model("m", server.url())).await;
    let detail = outcome.detail.as_deref().unwrap();
    assert!(detail.contains("the limit resets in 30 s"), "{detail}");
    assert_eq!((server.requests().len(), start.elapsed() < Duration::from_secs(1)), (0, true));
}

#[tokio::test(start_paused = true)]
async fn what_waiting_cannot_mend_is_asked_once() {
    // P03, P13, P43
    for (status, code, kind) in [
        (429, "insufficient_quota", "quota"),
        (402, "billing_error", "quota"),
        (401, "invalid_api_key", "unauthorised"),
        (403, "insufficient_quota", "unauthorised"),
        (404, "model_not_found", "unknown_model"),
    ] {
        let answer = refusal(status, code).header("retry-after", "1");
        let played = play(FORMAT, limits(), vec![answer]).await;
        assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::ModelFailed, 1), "{code}");
        let detail = played.outcome.detail.as_deref().unwrap();
        assert!(detail.starts_with(&format!("{kind} (HTTP {status}): not now")), "{detail}");
        assert_eq!(played.outcome.usage.total(), 0, "a refusal costs nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_provider_is_asked_again_with_growing_spread_waits_and_not_for_ever() {
    // P04
    let mut first_waits = BTreeSet::new();
    for seed in 0..12 {
        let status = if seed % 2 == 0 { 529 } else { 503 };
        let answers = (0..5).map(|_| refusal(status, "overloaded_error")).collect();
        let played = Stage { seed, ..Stage::new(FORMAT) }.play(answers).await;
        assert_eq!((played.outcome.stop, played.sent.len(), played.left), (StopReason::ModelFailed, 5, 0));
        let detail = played.outcome.detail.as_deref().unwrap();
        assert!(detail.ends_with("(gave up after 5 attempts)"), "{detail}");
        assert!(played.sent.iter().all(|request| request.body == played.sent[0].body));
        let pauses = pauses(&played.sent);
        for (pause, most) in pauses.iter().zip([1000, 2000, 4000, 8000]) {
            assert!((500..=most + 5).contains(pause), "{pauses:?}");
        }
        first_waits.insert(pauses[0]);
    }
    assert!(first_waits.len() > 6, "not all at once: {first_waits:?}");
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_only_if_one_is_named_and_it_is_told() {
    // P04, P43
    for (status, code, tries) in [(503, "overloaded_error", 5), (404, "model_not_found", 1)] {
        let broken = Server::handler(move |_| refusal(status, code)).await;
        let healthy = Server::handler(|request| Say::text("ok").answer(request)).await;
        let stage = Stage::new(FORMAT);
        let model: Arc<dyn Model> = Arc::new(FallbackModel::new(
            stage.model("big", broken.url()),
            vec![stage.model("small", healthy.url())],
        ));
        let outcome = stage.start("s", model).await;
        assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "ok"));
        assert_eq!(
            (broken.requests().len(), broken.requests()[0].json()["model"].as_str()),
            (tries, Some("big"))
        );
        assert_eq!(healthy.request().json()["model"], "small");
        assert_eq!(healthy.request().json()["messages"], broken.requests()[0].json()["messages"]);
        assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
        assert!(
            outcome.warnings[0].starts_with("fell back from openai:big to openai:small"),
            "{:?}",
            outcome.warnings
        );
        let alone = Stage::new(FORMAT).start("s", stage.model("big", broken.url())).await;
        assert_eq!(alone.stop, StopReason::ModelFailed);
        assert_eq!(healthy.requests().len(), 1, "nobody named it");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_is_dropped_and_the_whole_turn_asked_for_again() {
    // P05, P06, P07, P45
    let text = Say::text("Half of an answer that will never be completed.").events(FORMAT);
    let call = Say::call("c1", "look", json!({"n": 12_345_678})).events(FORMAT);
    let error = json!({"error": {"type": "overloaded_error", "message": "busy"}});
    let mut told = text[..text.len() / 2].concat();
    told.extend(format!("data: {error}\n\n").into_bytes());
    let in_arguments =
        call.iter().rposition(|event| String::from_utf8_lossy(event).contains("arguments")).unwrap();
    for broken in [
        Answer::sse(told),
        Answer::sse("").chunks(text.clone()).cut_after(text.len() / 2),
        Answer::sse(text[..text.len() / 2].concat()),
        Answer::sse("").chunks(call.clone()).cut_after(in_arguments),
        Answer::sse(call[..in_arguments].concat()),
    ] {
        let good = Answer::sse(Say::text("ok").sse(FORMAT));
        let played = play_streamed(FORMAT, limits(), vec![broken, good]).await;
        answered(&played, "ok");
        assert!(played.ran.is_empty(), "nothing of half a reply is executed");
        assert_eq!(played.sent[0].body, played.sent[1].body, "the same request again");
        assert!(played.outcome.usage.input > 1012, "the lost attempt may have been charged");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_made_again_and_the_lost_attempt_counted() {
    // P12, P45
    let answers = vec![Answer::hang_up()].into_iter().chain(chat([Say::text("ok")])).collect();
    let played = play(FORMAT, limits(), answers).await;
    answered(&played, "ok");
    assert_eq!(played.sent[0].body, played.sent[1].body);
    assert_ne!(played.sent[0].connection, played.sent[1].connection);
    assert!(pauses(&played.sent)[0] >= 500);
    let usage = played.outcome.usage;
    assert!(usage.input > 1012 && usage.estimated, "the lost attempt may have been charged: {usage:?}");
}
