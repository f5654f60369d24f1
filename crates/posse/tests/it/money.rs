//! What is charged, and that nobody spends more than there is.

use std::collections::BTreeSet;
use std::sync::Arc;

use posse::budget::ModelTariff;
use posse::core::budget::BudgetCaps;
use posse::core::limits::Limits;
use posse::core::outcome::{OutcomeStatus, StopReason};
use posse::core::usage::Price;
use posse::models::fallback::FallbackModel;
use posse::ports::Model;
use posse_testkit::server::{Answer, Server};
use posse_testkit::wire::{LoopbackFormat, Say};
use serde_json::json;

use crate::stage::Stage;

const FORMAT: LoopbackFormat = LoopbackFormat::OpenAiChat;
/// What the wire format says of every reply, at $1 per million tokens, cached ones at a tenth: 112 + 90 + 50.
const REPLY_AT_ONE_DOLLAR: u64 = 252;

fn price(dollars: f64) -> Option<Price> {
    Some(Price { input: dollars, output: dollars, cache_read: Some(dollars / 10.0), cache_write: None })
}

fn priced(models: &[(&str, f64)]) -> ModelTariff {
    ModelTariff::new(models.iter().map(|(name, dollars)| (format!("openai:{name}"), price(*dollars))))
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_charged_at_the_price_of_the_model_that_gave_it() {
    let unknown = json!({"error": {"code": "model_not_found", "message": "no such model"}});
    let broken = Server::handler(move |_| Answer::json(404, &unknown)).await;
    let healthy = Server::handler(|request| Say::text("ok").answer(request)).await;
    for (big, small) in [(10.0, 1.0), (1.0, 10.0)] {
        let stage = Stage { tariff: priced(&[("big", big), ("small", small)]), ..Stage::new(FORMAT) };
        let model: Arc<dyn Model> = Arc::new(FallbackModel::new(
            stage.model("big", broken.url()),
            vec![stage.model("small", healthy.url())],
        ));
        let outcome = stage.start("s", model).await;
        let expected = REPLY_AT_ONE_DOLLAR * small as u64;
        assert_eq!(stage.spent.lock().unwrap().cost_micros, expected);
        assert_eq!(stage.tariff.cost(&outcome.usage, &outcome.answered_by), Some(expected));
        assert_eq!(outcome.answered_by.iter().map(|(model, _)| model).collect::<Vec<_>>(), ["openai:small"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_task_is_charged_what_it_had_cost_before() {
    let server = Server::handler(|request| {
        let looked = Say::call("a", "look", json!({})).and_call("b", "hang", json!({}));
        if posse_testkit::wire::results(request).is_empty() { looked } else { Say::text("ok") }
            .answer(request)
    })
    .await;
    let tariff = priced(&[("dear", 50.0), ("m", 2.0)]);
    let stage = Stage { granted: &["look", "hang"], tariff, ..Stage::new(FORMAT) };
    tokio::select! {
        outcome = stage.start("s", stage.model("m", server.url())) => panic!("it cannot end: {outcome:?}"),
        () = stage.hanging.notified() => {}
    }
    let outcome = stage.resume("s", stage.model("m", server.url())).await;
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    assert_eq!(stage.spent.lock().unwrap().cost_micros, 2 * 2 * REPLY_AT_ONE_DOLLAR);
}

/// 1000 tokens of an answer, and then the end of the connection.
fn broken() -> Answer {
    broken_after(1_000)
}

fn broken_after(tokens: u64) -> Answer {
    let events = Say::text(&"word ".repeat(tokens as usize * 4 / 5)).events(FORMAT);
    Answer::sse("").chunks([events[..events.len() - 3].concat()]).cut_after(1)
}

#[tokio::test(start_paused = true)]
async fn attempts_without_an_answer_never_cost_more_than_there_is() {
    let server =
        Server::handler(|request| broken_after(request.json()["max_completion_tokens"].as_u64().unwrap()))
            .await;
    let limits = Limits { output_tokens_per_call: 1000, wrap_up_tokens: 1000, ..Limits::default() };
    let price = Price { input: 0.0, output: 10.0, cache_read: None, cache_write: None };
    let mut attempts = BTreeSet::new();
    for with_fallback in [false, true] {
        for cap in (0..26).map(|step| step * 5_005) {
            let stage = Stage {
                limits: limits.clone(),
                buffered: false,
                caps: BudgetCaps { cost_micros: Some(cap), ..BudgetCaps::default() },
                tariff: ModelTariff::new([("openai:m".to_owned(), Some(price))]),
                ..Stage::new(FORMAT)
            };
            let alone = stage.model("m", server.url());
            let others = if with_fallback { vec![alone.clone()] } else { Vec::new() };
            let before = server.requests().len();
            let outcome = stage.start("s", Arc::new(FallbackModel::new(alone, others))).await;
            let spent = stage.spent.lock().unwrap().cost_micros;
            assert!(spent <= cap, "{spent} of {cap} was spent, {outcome:?}");
            let made = server.requests().len() - before;
            attempts.insert(made);
            // With enough for every attempt it is the provider that ends the run.
            let enough = if with_fallback { 120_000 } else { 70_000 };
            let reasons = [StopReason::ModelFailed, StopReason::BudgetExhausted];
            let reasons = if cap > enough { &reasons[..1] } else { &reasons[..] };
            assert!(reasons.contains(&outcome.stop), "{made} attempts with {cap}: {outcome:?}");
            assert_eq!(stage.tariff.cost(&outcome.usage, &outcome.answered_by), Some(spent));
        }
    }
    assert!(attempts.len() > 5, "the budget ended some of them in the middle: {attempts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_allows_no_second_try_still_allows_the_report() {
    let answers = vec![
        Answer::sse(Say::call("a", "look", json!({})).sse(FORMAT)),
        broken(),
        Answer::sse(Say::text("as far as I came").sse(FORMAT)),
    ];
    let limits = Limits { output_tokens_per_call: 4000, wrap_up_tokens: 500, ..Limits::default() };
    // Of this the first turn takes 252 and the broken attempt about 1100; the second turn and the report after it would
    // take up to 6700.
    let caps = BudgetCaps { cost_micros: Some(7_100), ..BudgetCaps::default() };
    let tariff = priced(&[("m", 1.0)]);
    let stage = Stage { limits, caps, tariff, buffered: false, ..Stage::new(FORMAT) };
    let played = stage.play(answers).await;
    assert_eq!(
        (played.outcome.stop, played.outcome.status()),
        (StopReason::BudgetExhausted, OutcomeStatus::Partial)
    );
    assert_eq!((played.outcome.text.as_str(), played.left), ("as far as I came", 0));
    let last = played.sent[2].json()["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(
        last.contains("The budget does not allow another step (not asked again after connection"),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_between_two_attempts_that_never_connected_costs_nothing() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let limits = Limits { wall_ms_max: 400, ..Limits::default() };
    let stage = Stage { limits, tariff: priced(&[("m", 10.0)]), ..Stage::new(FORMAT) };
    let outcome = stage.start("s", stage.model("m", &format!("http://127.0.0.1:{port}/v1"))).await;
    assert_eq!(outcome.stop, StopReason::DeadlinePassed, "{outcome:?}");
    assert_eq!((outcome.usage.total(), stage.spent.lock().unwrap().cost_micros), (0, 0), "{outcome:?}");
}
