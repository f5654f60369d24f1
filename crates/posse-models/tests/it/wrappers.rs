//! The wrappers together, in the order in which they are used, over scripted models. Time is paused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::message::{Block, Message};
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::tokens::tokens_at_most;
use posse_models::fallback::FallbackModel;
use posse_models::governor::{MAX_IN_FLIGHT, RateGovernor};
use posse_models::record::{RecordedModel, RecordingFile, ReplayModel};
use posse_models::retry::{RetryModel, RetryPolicy};
use posse_models::scripted::ScriptedModel;
use posse_models::watch::{StallTimeouts, WatchedModel};
use posse_runtime::ports::{Delta, DeltaSink, Model, ModelMemo, ModelRequest, ToolUse, UnlimitedCalls};
use tokio::time::Instant;

/// A provider as the binary wires it: watched, and asked again. The script itself stays in reach.
fn provider(name: &str, script: &str) -> (Arc<ScriptedModel>, Arc<dyn Model>) {
    let script = Arc::new(ScriptedModel::parse(name, script, None).unwrap());
    let watched = Arc::new(WatchedModel::new(script.clone(), StallTimeouts::default()));
    let retry = RetryModel::new(watched, RetryPolicy::default(), RateGovernor::new(MAX_IN_FLIGHT)).seeded(7);
    (script, Arc::new(retry))
}

/// Writes down what a person watching would see.
#[derive(Default)]
struct Screen(Mutex<String>);

impl DeltaSink for Screen {
    fn alive(&self) {}

    fn delta(&self, delta: Delta<'_>) {
        let mut screen = self.0.lock().unwrap();
        match delta {
            Delta::Text(text) => screen.push_str(text),
            Delta::Restarted { why, .. } => screen.push_str(&format!(" [{why}] ")),
            Delta::Paused { .. } => screen.push_str(" [paused] "),
            Delta::Thinking(_) | Delta::ToolCall { .. } | Delta::ToolArguments { .. } => {}
        }
    }
}

async fn ask(model: &dyn Model, screen: &Screen) -> Result<Reply, ModelFailure> {
    let request = ModelRequest {
        system: "",
        messages: &[Message::user("hello there")],
        tools: &[],
        tool_use: ToolUse::Auto,
        output_tokens_max: 100,
        settings: &ModelSettings::default(),
        answered_by: posse_core::usage::ByModel::nobody(),
        unanswered: 0,
        generation: 0,
        memo: &mut ModelMemo::default(),
        allowance: &UnlimitedCalls,
        urgency: Urgency::Interactive,
    };
    model.call(request, screen).await
}

#[tokio::test(start_paused = true)]
async fn a_provider_with_a_bad_moment_answers_in_the_end() {
    let (script, model) = provider(
        "p:a",
        "
        - {text: Half an, fail: {kind: connection, message: cut off}}
        - {text: never shown, delay_ms: 1000000, fail: {kind: protocol}}
        - {fail: {kind: rate_limited, message: slow down, retry_after_ms: 20000}}
        - {text: Hello., usage: {input: 3, output: 1}}
        ",
    );
    let screen = Screen::default();
    let start = Instant::now();
    let reply = ask(&*model, &screen).await.unwrap();
    assert_eq!(reply.blocks, [Block::text("Hello.")]);
    let shown =
        "Half an [connection: cut off]  [stalled: no bytes for 120 s]  [rate_limited: slow down] Hello.";
    assert_eq!(*screen.0.lock().unwrap(), shown);
    // Two attempts may have cost their input, one of them some output.
    let input = 2 * (tokens_at_most("hello there") + tokens_at_most(""));
    assert_eq!((reply.lost.input, reply.lost.output, reply.lost.estimated), (input, 7, true));
    assert!(start.elapsed() >= Duration::from_secs(120 + 20));
    assert_eq!(script.leftover(), [0usize; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_down_is_replaced_and_everybody_is_told() {
    let down = "{fail: {kind: overloaded, status: 529}}";
    let (first, a) = provider("p:a", &format!("[{}]", [down; 5].join(", ")));
    let (_, b) = provider("q:b", "[{text: Hello.}]");
    let screen = Screen::default();
    let reply = ask(&FallbackModel::new(a, vec![b]), &screen).await.unwrap();
    assert_eq!(
        (reply.model.as_str(), &reply.notes[..]),
        ("q:b", &["fell back from p:a to q:b: overloaded".to_owned()][..])
    );
    assert_eq!(first.leftover(), [0usize; 0], "it had all its attempts first");
    assert!(screen.0.lock().unwrap().ends_with("[fell back from p:a to q:b: overloaded] Hello."));
}

#[tokio::test(start_paused = true)]
async fn a_bad_key_is_neither_asked_again_nor_replaced() {
    let (first, a) =
        provider("p:a", "[{fail: {kind: unauthorised, status: 401, message: bad key}}, {text: no}]");
    let (second, b) = provider("q:b", "[{text: no}]");
    let failure = ask(&FallbackModel::new(a, vec![b]), &Screen::default()).await.unwrap_err();
    let expected =
        ModelFailure { status: Some(401), ..ModelFailure::new(FailureKind::Unauthorised, "bad key") };
    assert_eq!(failure, expected);
    assert_eq!((first.leftover(), second.leftover()), (vec![2], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn a_recording_of_the_whole_tower_replays_without_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    let (_, model) = provider("p:a", "[{text: Half, fail: {kind: connection}}, {text: Hello.}]");
    let recorded =
        ask(&RecordedModel::new(model, RecordingFile::open(&path).unwrap()), &Screen::default()).await;
    let replay = ReplayModel::load(&path, "p:a").unwrap();
    let start = Instant::now();
    assert_eq!(ask(&replay, &Screen::default()).await, recorded);
    assert_eq!((start.elapsed(), replay.leftover()), (Duration::ZERO, 0));
}
