//! A process that dies in the middle of a turn, and what the provider is sent by the one that goes on.

use posse::core::outcome::OutcomeStatus;
use posse_testkit::server::{Recorded, Server};
use posse_testkit::wire::{LoopbackFormat, Say, results};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Ids of calls and ids of their results, in the order in which they were sent.
fn ids(request: &Recorded) -> (Vec<String>, Vec<String>) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for message in request.json()["messages"].as_array().unwrap() {
        asked.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| text(&call["id"])));
        if message["role"] == "tool" {
            answered.push(text(&message["tool_call_id"]));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => asked.push(text(&block["id"])),
                Some("tool_result") => answered.push(text(&block["tool_use_id"])),
                _ => {}
            }
        }
    }
    (asked, answered)
}

#[tokio::test]
async fn calls_orphaned_by_the_end_of_a_process_are_answered_by_what_is_known_of_them() {
    // P46
    for format in [LoopbackFormat::OpenAiChat, LoopbackFormat::Anthropic] {
        let server = Server::handler(|request| {
            if !results(request).is_empty() {
                return Say::text("ok").answer(request);
            }
            let done = Say::call("a", "look", json!({"n": 1}));
            let begun = done.and_call("b", "hang", json!({"n": 2}));
            begun.and_call("c", "look", json!({"n": 3})).answer(request)
        })
        .await;
        let stage = Stage { granted: &["look", "hang"], ..Stage::new(format) };
        tokio::select! {
            outcome = stage.start("s", stage.model("m", server.url())) => panic!("it cannot end: {outcome:?}"),
            () = stage.hanging.notified() => {}
        }
        assert_eq!(server.requests().len(), 1);
        let outcome = stage.resume("s", stage.model("m", server.url())).await;
        assert_eq!((outcome.status(), outcome.text.as_str()), (OutcomeStatus::Completed, "ok"));
        let doubtful: Vec<&str> = outcome.in_doubt.iter().map(|doubt| doubt.tool.as_str()).collect();
        assert_eq!(doubtful, ["hang"]);
        let sent = server.requests();
        assert_eq!(sent.len(), 2);
        let (asked, answered) = ids(&sent[1]);
        assert_eq!((asked.as_slice(), &asked), (["a", "b", "c"].map(str::to_owned).as_slice(), &answered));
        let told = results(&sent[1]);
        let seen = |n: u32| format!("<data from=\"look\">\nseen {{\"n\":{n}}}\n</data>");
        assert_eq!((&told[0], &told[2]), (&seen(1), &seen(3)));
        assert!(told[1].contains("It may or may not have happened, and it was not repeated"), "{}", told[1]);
        // What was done stays done, what may have happened is not repeated, what never began is made now.
        assert_eq!(*stage.ran.lock().unwrap(), [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    }
}
