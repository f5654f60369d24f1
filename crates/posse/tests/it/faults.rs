//! Named after what is promised; the ids are rows of the fault matrix.

use std::time::Duration;

use posse::core::limits::Limits;
use posse::core::outcome::{OutcomeStatus, StopReason};
use posse_testkit::server::{Answer, Recorded};
use posse_testkit::wire::{LoopbackFormat, Say, results};
use serde_json::{Value, json};

use crate::stage::{Played, play, play_streamed};

pub fn limits() -> Limits {
    Limits::default()
}

pub fn chat(says: impl IntoIterator<Item = Say>) -> Vec<Answer> {
    says.into_iter().map(|say| Answer::json(200, &say.json(LoopbackFormat::OpenAiChat))).collect()
}

fn claude(says: impl IntoIterator<Item = Say>) -> Vec<Answer> {
    says.into_iter().map(|say| Answer::json(200, &say.json(LoopbackFormat::Anthropic))).collect()
}

/// A chat reply with one call whose arguments are exactly this text.
fn raw_call(arguments: &str, finish: &str) -> Answer {
    let mut body = Say::call("c1", "look", json!({})).json(LoopbackFormat::OpenAiChat);
    body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json!(arguments);
    body["choices"][0]["finish_reason"] = json!(finish);
    Answer::json(200, &body)
}

fn last_result(request: &Recorded) -> String {
    results(request).pop().unwrap_or_default()
}

fn last_message(request: &Recorded) -> Value {
    request.json()["messages"].as_array().and_then(|messages| messages.last().cloned()).unwrap_or_default()
}

#[track_caller]
pub fn answered(played: &Played, text: &str) {
    assert_eq!((played.outcome.status(), played.outcome.text.as_str()), (OutcomeStatus::Completed, text));
    assert_eq!(played.left, 0, "every answer was asked for");
}

#[tokio::test]
async fn an_answer_cut_off_by_the_token_limit_is_continued_and_joined() {
    // P16
    let played = play(
        LoopbackFormat::OpenAiChat,
        limits(),
        chat([Say::text("one ").stop("length"), Say::text("two")]),
    )
    .await;
    answered(&played, "one two");
    let second = played.sent[1].json();
    assert_eq!(second["messages"][2]["content"], "one ");
    assert!(
        last_message(&played.sent[1])["content"]
            .as_str()
            .unwrap()
            .contains("Continue exactly where it stopped")
    );
    assert!(
        second["max_completion_tokens"].as_u64() > played.sent[0].json()["max_completion_tokens"].as_u64()
    );
    let tight = Limits { continuations_max: 0, ..limits() };
    let played = play(LoopbackFormat::OpenAiChat, tight, chat([Say::text("one ").stop("length")])).await;
    assert_eq!(
        (played.outcome.stop, played.outcome.status()),
        (StopReason::Truncated, OutcomeStatus::Partial)
    );
}

#[tokio::test]
async fn a_call_cut_off_inside_its_arguments_is_not_run_and_the_limit_is_raised() {
    // P17, P18
    for (arguments, finish) in
        [(r#"{"n":1, "te"#, "length"), (r#"{"n":1, "te"#, "tool_calls"), ("", "length")]
    {
        let mut answers = vec![raw_call(arguments, finish)];
        answers.extend(chat([Say::text("ok")]));
        let played = play(LoopbackFormat::OpenAiChat, limits(), answers).await;
        answered(&played, "ok");
        assert!(played.ran.is_empty(), "{arguments:?} {finish}");
        assert!(last_result(&played.sent[1]).contains("truncated"), "{}", last_result(&played.sent[1]));
        let sent_back = &played.sent[1].json()["messages"][2]["tool_calls"][0]["function"]["arguments"];
        assert!(
            serde_json::from_str::<Value>(sent_back.as_str().unwrap()).unwrap().is_object(),
            "the history stays valid"
        );
    }
}

#[tokio::test]
async fn arguments_of_the_wrong_shape_are_answered_with_the_place() {
    // P19, P20, P21, P22
    for (arguments, ran, told) in [
        (r#"{"n":"many"}"#, false, "/n: \"many\" is not of type \"integer\""),
        (r#"{n:1}"#, false, "key must be a string"),
        ("", true, "seen {}"),
        ("null", true, "seen {}"),
        (r#""{\"n\":1}""#, false, "must be a JSON object, found a string"),
    ] {
        let mut answers = vec![raw_call(arguments, "tool_calls")];
        answers.extend(chat([Say::text("ok")]));
        let played = play(LoopbackFormat::OpenAiChat, limits(), answers).await;
        answered(&played, "ok");
        assert_eq!(!played.ran.is_empty(), ran, "{arguments}");
        assert!(last_result(&played.sent[1]).contains(told), "{arguments}: {}", last_result(&played.sent[1]));
        let sent_back = &played.sent[1].json()["messages"][2]["tool_calls"][0]["function"]["arguments"];
        let sent_back: Value = serde_json::from_str(sent_back.as_str().unwrap()).unwrap();
        assert!(sent_back.is_object(), "the history stays valid: {sent_back}");
    }
}

#[tokio::test]
async fn repeated_and_missing_ids_become_unique_on_the_wire() {
    // P23, P24
    let twice = || {
        Say::call("same", "look", json!({"n": 1})).and_call("same", "look", json!({"n": 2})).and_call(
            "",
            "look",
            json!({"n": 3}),
        )
    };
    let played = play(LoopbackFormat::Anthropic, limits(), claude([twice(), twice(), Say::text("ok")])).await;
    answered(&played, "ok");
    let body = played.sent[2].json();
    let blocks: Vec<Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["content"].as_array().cloned().unwrap_or_default())
        .collect();
    let asked: Vec<String> =
        blocks.iter().filter(|b| b["type"] == "tool_use").map(|b| b["id"].to_string()).collect();
    let answered: Vec<String> =
        blocks.iter().filter(|b| b["type"] == "tool_result").map(|b| b["tool_use_id"].to_string()).collect();
    assert_eq!((asked.len(), &asked), (6, &answered), "each call is answered once, in order");
    assert_eq!(asked.iter().collect::<std::collections::HashSet<_>>().len(), 6, "{asked:?}");
}

#[tokio::test]
async fn unknown_forbidden_and_badly_named_tools_are_refused_with_what_there_is() {
    // P25, P26, P27
    let name = "no such/tool ".repeat(1000);
    let calls = Say::call("a", "fly", json!({})).and_call("b", "forbidden", json!({})).and_call(
        "c",
        &name,
        json!({}),
    );
    let played = play(LoopbackFormat::OpenAiChat, limits(), chat([calls, Say::text("ok")])).await;
    answered(&played, "ok");
    assert!(played.ran.is_empty());
    let told = results(&played.sent[1]);
    assert!(told[0].contains("there is no tool `fly`; you have: look"), "{}", told[0]);
    assert!(told[1].contains("`forbidden` is not granted to this task; granted: look"), "{}", told[1]);
    assert_eq!(played.outcome.refused_tools, ["forbidden"], "the person in charge is told");
    let sent = played.sent[1].json()["messages"][2]["tool_calls"][2]["function"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        sent.len() <= 64 && sent.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
        "{sent}"
    );
}

#[tokio::test]
async fn only_wrong_calls_for_too_long_end_the_task() {
    // P19, P25
    let unknown = |n: u32| Say::call(&format!("c{n}"), "fly", json!({"n": n}));
    let misshapen = |n: u32| Say::call(&format!("c{n}"), "look", json!({"n": format!("{n}")}));
    for wrong in [&unknown as &dyn Fn(u32) -> Say, &misshapen] {
        let tight = Limits { mistakes_max: 3, ..limits() };
        let played = play(LoopbackFormat::OpenAiChat, tight, chat((0..3).map(wrong))).await;
        assert_eq!(
            (played.outcome.stop, played.outcome.status()),
            (StopReason::Stalled, OutcomeStatus::Failed)
        );
        assert!(played.ran.is_empty());
    }
}

#[tokio::test]
async fn an_empty_answer_gets_one_second_chance_and_is_never_completed() {
    // P28, P29
    let played = play(
        LoopbackFormat::Anthropic,
        limits(),
        claude([Say::call("a", "look", json!({})), Say::default().thinking("hm", "sig"), Say::text("ok")]),
    )
    .await;
    answered(&played, "ok");
    let body = played.sent[2].json();
    assert_eq!(body["messages"][3]["content"][0]["signature"], "sig", "reasoning goes back signed: {body}");
    assert!(last_message(&played.sent[2]).to_string().contains("had no text"));
    let played = play(LoopbackFormat::OpenAiChat, limits(), chat([Say::text(""), Say::text(" ")])).await;
    assert_eq!(
        (played.outcome.status(), played.outcome.detail.as_deref()),
        (OutcomeStatus::Failed, Some("empty_response"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_promised_call_that_does_not_come_is_asked_for_again() {
    // P30
    let played =
        play(LoopbackFormat::Anthropic, limits(), claude([Say::text("").stop("tool_use"), Say::text("ok")]))
            .await;
    answered(&played, "ok");
    assert_eq!(played.sent[0].json()["messages"], played.sent[1].json()["messages"], "the same request");
}

#[tokio::test]
async fn a_refusal_is_final_and_keeps_its_words() {
    // P31
    let played =
        play(LoopbackFormat::Anthropic, limits(), claude([Say::text("I cannot").stop("refusal")])).await;
    assert_eq!((played.outcome.stop, played.outcome.text.as_str()), (StopReason::Refused, "I cannot"));
    assert_eq!((played.outcome.status(), played.sent.len()), (OutcomeStatus::Failed, 1));
}

#[tokio::test]
async fn a_paused_turn_is_sent_back_as_it_came_and_not_for_ever() {
    // P32
    let played = play(
        LoopbackFormat::Anthropic,
        limits(),
        claude([Say::text("searching").stop("pause_turn"), Say::text("found")]),
    )
    .await;
    answered(&played, "found");
    let message = last_message(&played.sent[1]);
    assert_eq!(
        (message["role"].as_str(), message["content"][0]["text"].as_str()),
        (Some("assistant"), Some("searching"))
    );
    let pauses = (0..6).map(|_| Say::text("searching").stop("pause_turn"));
    let played = play(LoopbackFormat::Anthropic, limits(), claude(pauses)).await;
    assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::ModelFailed, 6));
}

#[tokio::test]
async fn an_unknown_stop_reason_is_shown_and_never_completed() {
    // P33
    let played =
        play(LoopbackFormat::Anthropic, limits(), claude([Say::text("so far").stop("mystery")])).await;
    assert_eq!(played.outcome.detail.as_deref(), Some("unknown stop reason `mystery`"));
    assert_eq!((played.outcome.status(), played.outcome.text.as_str()), (OutcomeStatus::Failed, "so far"));
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_trimmed_and_then_given_up() {
    // P15
    let too_long =
        || Answer::json(400, &json!({"error": {"code": "context_length_exceeded", "message": "too long"}}));
    let mut answers = chat([Say::call("a", "look", json!({"n": 99}))]);
    answers.push(too_long());
    answers.extend(chat([Say::text("ok")]));
    let played = play(LoopbackFormat::OpenAiChat, limits(), answers).await;
    answered(&played, "ok");
    assert!(last_result(&played.sent[1]).len() > 20_000);
    assert!(
        last_result(&played.sent[2]).contains("left out to save context: 20033 bytes"),
        "{}",
        last_result(&played.sent[2])
    );
    let mut answers = chat([Say::call("a", "look", json!({"n": 99}))]);
    answers.extend([too_long(), too_long()]);
    let played = play(LoopbackFormat::OpenAiChat, limits(), answers).await;
    assert_eq!(
        (played.outcome.stop, played.left),
        (StopReason::ContextExhausted, 0),
        "no progress, no further try"
    );
}

#[tokio::test]
async fn two_hundred_calls_at_once_are_all_answered_and_few_are_run() {
    // P41
    let many =
        (0..200).fold(Say::default(), |say, n| say.and_call(&format!("c{n}"), "look", json!({"n": n % 90})));
    let played = play(LoopbackFormat::OpenAiChat, limits(), chat([many, Say::text("ok")])).await;
    answered(&played, "ok");
    assert_eq!(played.ran.len(), 32);
    let told = results(&played.sent[1]);
    assert_eq!((told.len(), told[199].as_str()), (200, "ERROR: not run: at most 32 calls per turn"));
}

#[tokio::test]
async fn going_round_in_circles_is_told_and_then_ended() {
    // P44
    for period in 1..=4 {
        let circle = (0..8 * period).map(|n| Say::call(&format!("c{n}"), "look", json!({"n": n % period})));
        let played = play(LoopbackFormat::OpenAiChat, limits(), chat(circle)).await;
        assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::Stalled, 8 * period));
        let told = match period {
            1 => "the same calls were made 4 times".to_owned(),
            _ => format!("the same {period} turns of calls were made 4 times"),
        };
        let result = last_result(&played.sent[4 * period]);
        assert!(result.contains(&told), "{result}");
    }
}

#[tokio::test]
async fn a_history_the_provider_refuses_is_not_sent_twice() {
    // P14
    let answers = vec![Answer::json(
        400,
        &json!({"error": {"type": "invalid_request_error", "message": "messages.3: bad"}}),
    )];
    let played = play(LoopbackFormat::OpenAiChat, limits(), answers).await;
    assert_eq!((played.outcome.stop, played.sent.len()), (StopReason::ModelFailed, 1));
    assert!(played.outcome.detail.as_deref().unwrap().contains("messages.3"));
}

/// A stream of these chunks with a minute of silence before each of them.
fn one_a_minute(chunks: Vec<Vec<u8>>) -> Answer {
    let gaps = chunks.len();
    let answer = Answer::sse(Vec::new()).chunks(chunks);
    (0..gaps).fold(answer, |answer, index| answer.gap(index, Duration::from_secs(60))).stay_open()
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_trickles_without_progress_is_ended_and_asked_for_again() {
    // P10, P11
    let bytes = Say::text("never complete").sse(LoopbackFormat::OpenAiChat);
    let drip: Vec<Vec<u8>> = bytes.iter().take(30).map(|byte| vec![*byte]).collect();
    let pings: Vec<Vec<u8>> = (0..60).map(|_| b": ping\n\n".to_vec()).collect();
    for stream in [drip, pings] {
        let good = Answer::sse(Say::text("ok").sse(LoopbackFormat::OpenAiChat));
        let played =
            play_streamed(LoopbackFormat::OpenAiChat, limits(), vec![one_a_minute(stream), good]).await;
        answered(&played, "ok");
        assert_eq!(played.sent[0].json(), played.sent[1].json(), "the same request again");
        assert!(played.outcome.usage.input > 1012, "the ended attempt may have been charged");
    }
}
