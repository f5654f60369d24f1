//! The body grows by what is new, and by nothing else.

use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult};
use posse_models::body::{BodyMemo, EncodingWork};
use posse_models::openai_chat::OpenAiChat;
use posse_runtime::ports::Model;
use posse_testkit::server::Server;
use posse_testkit::wire::{LoopbackFormat, Say};
use serde_json::json;

use crate::support::{Talk, endpoint, model};

fn push_turn(talk: &mut Talk, turn: u32) {
    let call = ToolCall {
        key: CallKey { turn, index: 0 },
        id: format!("call_{turn:04}"),
        name: "read".to_owned(),
        arguments: CallArguments::Object(format!(r#"{{"path":"file_{turn:04}"}}"#)),
        signature: None,
    };
    let result = ToolResult::new(&call, "a line of text\n".repeat(273));
    talk.messages.push(Message::Assistant { blocks: vec![Block::call(call)] });
    talk.messages.push(Message::Results { results: vec![result] });
}

async fn call(talk: &mut Talk, model: &dyn Model) -> EncodingWork {
    let before = talk.memo.value::<BodyMemo>().work();
    talk.call(model).await.unwrap();
    let after = talk.memo.value::<BodyMemo>().work();
    EncodingWork {
        serialised: after.serialised - before.serialised,
        copied: after.copied - before.copied,
        rebuilds: after.rebuilds - before.rebuilds,
    }
}

#[tokio::test]
async fn a_turn_serialises_only_what_is_new_in_it() {
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| Say::text("ok").answer(request)).await;
        let model = model(format, server.url());
        let mut talk = Talk::new();
        assert_eq!(call(&mut talk, &*model).await.rebuilds, 1);
        let mut work = Vec::new();
        for turn in 0..30 {
            push_turn(&mut talk, turn);
            work.push(call(&mut talk, &*model).await);
        }
        let serialised: Vec<u64> = work.iter().map(|work| work.serialised).collect();
        assert!(serialised.iter().all(|bytes| *bytes == serialised[0]), "{format:?}: {serialised:?}");
        assert!(work.iter().all(|work| (work.rebuilds, work.copied) == (0, 0)), "{format:?}: {work:?}");
    }
}

#[tokio::test]
async fn the_reused_body_is_the_body_one_would_build_from_nothing() {
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| Say::text("ok").answer(request)).await;
        let model = model(format, server.url());
        let mut talk = Talk::new();
        for turn in 0..4 {
            push_turn(&mut talk, turn);
            talk.call(&*model).await.unwrap();
            talk.memo = match turn {
                0..3 => std::mem::take(&mut talk.memo),
                _ => Default::default(),
            };
        }
        talk.call(&*model).await.unwrap();
        let requests = server.requests();
        assert_eq!(requests[3].body, requests[4].body, "{format:?}");
    }
}

#[tokio::test]
async fn a_changed_history_system_tool_or_model_is_built_anew() {
    let server = Server::handler(|request| Say::text("ok").answer(request)).await;
    let first = OpenAiChat::new(endpoint(server.url()), "one").unwrap();
    let other = OpenAiChat::new(endpoint(server.url()), "two").unwrap();
    let mut talk = Talk::new();
    push_turn(&mut talk, 0);
    assert_eq!(call(&mut talk, &first).await.rebuilds, 1);
    assert_eq!(call(&mut talk, &first).await.rebuilds, 0, "a retry");

    talk.messages = vec![Message::user("Something"), Message::user("else"), Message::user("instead.")];
    talk.generation += 1;
    assert_eq!(call(&mut talk, &first).await.rebuilds, 1, "a new generation");
    talk.system.push_str(" Very.");
    assert_eq!(call(&mut talk, &first).await.rebuilds, 1, "another system prompt");
    talk.tools.pop();
    assert_eq!(call(&mut talk, &first).await.rebuilds, 1, "another list of tools");
    assert_eq!(call(&mut talk, &other).await.rebuilds, 1, "another model");
    let body = server.requests().last().unwrap().json();
    assert_eq!(body["model"], "two");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "You are careful. Very."},
            {"role": "user", "content": "Something"},
            {"role": "user", "content": "else"},
            {"role": "user", "content": "instead."},
        ])
    );
}

#[tokio::test]
async fn a_schema_that_is_not_json_is_named_before_anything_is_sent() {
    let server = Server::script([]).await;
    let mut talk = Talk::new();
    talk.tools[1].input_schema = "{oops".to_owned();
    let failure = talk.call(&*model(LoopbackFormat::Anthropic, server.url())).await.unwrap_err();
    assert_eq!(failure.message, "the schema of tool `grep` is not JSON");
    assert_eq!(server.requests().len(), 0);
}
