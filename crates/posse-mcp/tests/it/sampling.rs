//! Sampling tests: the official SDK's client over pipes answers, refuses, hangs or disconnects.

#![expect(deprecated, reason = "hosts of today lend their model in the way that the newest protocol leaves")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::ErrorCode;
use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult};
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_mcp::server::{ConnectedHosts, HostModel};
use posse_runtime::ports::{Model, ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ErrorData,
    Implementation, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::{ClientHandler, RoleClient, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A server that only tracks its connected hosts.
struct Lobby(Arc<ConnectedHosts>, UnboundedSender<()>);

impl ServerHandler for Lobby {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::default())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.welcome(context.peer);
        let _ = self.1.send(());
    }
}

enum Act {
    Answer(Value),
    Refuse(i32, &'static str),
    /// Does not answer until the request is canceled.
    Hang,
    Never,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Asked(Value),
    Cancelled,
}

struct Host {
    sampling: Option<Value>,
    acts: Mutex<VecDeque<Act>>,
    seen: UnboundedSender<Seen>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = match &self.sampling {
            Some(sampling) => serde_json::from_value(json!({ "sampling": sampling })).unwrap(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let _ = self.seen.send(Seen::Asked(serde_json::to_value(&params).unwrap()));
        let act = self.acts.lock().unwrap().pop_front().expect("it is asked as often as is expected");
        match act {
            Act::Answer(answer) => Ok(serde_json::from_value(answer).unwrap()),
            Act::Refuse(code, why) => Err(ErrorData::new(rmcp::model::ErrorCode(code), why, None)),
            Act::Never => std::future::pending().await,
            Act::Hang => {
                context.ct.cancelled().await;
                let _ = self.seen.send(Seen::Cancelled);
                Err(ErrorData::internal_error("too late", None))
            }
        }
    }
}

struct Connection {
    client: RunningService<RoleClient, Host>,
    seen: UnboundedReceiver<Seen>,
}

impl Connection {
    /// Returns the parameters of the next request.
    async fn asked(&mut self) -> Value {
        match self.seen.recv().await {
            Some(Seen::Asked(params)) => params,
            other => panic!("{other:?}"),
        }
    }
}

async fn connect(hosts: &Arc<ConnectedHosts>, sampling: Option<Value>, acts: Vec<Act>) -> Connection {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (welcome, mut welcomed) = unbounded_channel();
    let lobby = Lobby(hosts.clone(), welcome);
    tokio::spawn(async move {
        let served = lobby.serve(tokio::io::split(ours)).await.unwrap();
        served.waiting().await.unwrap();
    });
    let (send, seen) = unbounded_channel();
    let host = Host { sampling, acts: Mutex::new(acts.into()), seen: send };
    let client = host.serve(tokio::io::split(theirs)).await.unwrap();
    welcomed.recv().await.unwrap();
    Connection { client, seen }
}

fn read_tool() -> ToolSpec {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: schema.to_string(),
        effect: ToolEffect::Pure,
    }
}

/// Builds a conversation after one turn with a tool call.
fn conversation() -> Vec<Message> {
    let call = ToolCall {
        key: CallKey { turn: 1, index: 0 },
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: CallArguments::Object(r#"{"path":"a"}"#.to_owned()),
        signature: None,
    };
    let thought = Block::Thinking { text: "hm".to_owned(), signature: None };
    vec![
        Message::user("Look at a"),
        Message::Assistant { blocks: vec![thought, Block::text("I look."), Block::call(call.clone())] },
        Message::Results { results: vec![ToolResult::error(&call, "it is not there")] },
        Message::user("Be quick"),
    ]
}

async fn ask(model: &HostModel, tool_use: ToolUse) -> Result<Reply, ModelFailure> {
    let (mut memo, messages) = (ModelMemo::default(), conversation());
    let settings = ModelSettings { temperature: Some(0.5), ..ModelSettings::default() };
    let request = ModelRequest {
        system: "You are quick.",
        messages: &messages,
        tools: &[read_tool()],
        tool_use,
        output_tokens_max: 100,
        settings: &settings,
        answered_by: posse_core::usage::ByModel::nobody(),
        unanswered: 0,
        generation: 0,
        memo: &mut memo,
        allowance: &UnlimitedCalls,
        urgency: Urgency::Interactive,
    };
    model.call(request, &NoDeltas).await
}

fn text_answer(text: &str) -> Act {
    Act::Answer(json!({
        "role": "assistant", "model": "small-1", "stopReason": "endTurn",
        "content": { "type": "text", "text": text },
    }))
}

#[tokio::test]
async fn a_host_that_passes_tools_on_gets_them_by_the_protocol() {
    let hosts = ConnectedHosts::served();
    let content = json!([
        { "type": "text", "text": "Once more." },
        { "type": "tool_use", "id": "x", "name": "read", "input": { "path": "b" } },
        { "type": "tool_use", "id": "y", "name": "read", "input": { "path": "c" } },
    ]);
    let answer =
        json!({ "role": "assistant", "model": "big-1", "stopReason": "toolUse", "content": content });
    let acts = vec![Act::Answer(answer), text_answer("<read>{\"path\": \"quoted\"}</read>")];
    let mut host = connect(&hosts, Some(json!({ "tools": {} })), acts).await;
    let model = HostModel::new(hosts.clone(), "big");
    let reply = ask(&model, ToolUse::Auto).await.unwrap();
    let asked = host.asked().await;
    let expected = json!({
        "systemPrompt": "You are quick.",
        "maxTokens": 100,
        "temperature": 0.5,
        "modelPreferences": { "hints": [{ "name": "big" }] },
        "tools": [{ "name": "read", "description": "Reads a file.",
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } } }],
        "toolChoice": { "mode": "auto" },
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Look at a" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a" } },
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "toolUseId": "c1", "isError": true,
                "content": [{ "type": "text", "text": "it is not there" }] }] },
            { "role": "user", "content": [{ "type": "text", "text": "Be quick" }] },
        ],
    });
    assert_eq!(asked, expected, "{asked:#}");
    let calls: Vec<(&str, &str)> = reply
        .blocks
        .iter()
        .filter_map(Block::as_call)
        .map(|call| (call.id.as_str(), call.arguments.as_object_text()))
        .collect();
    assert_eq!(calls, [("x", r#"{"path":"b"}"#), ("y", r#"{"path":"c"}"#)]);
    assert_eq!((&reply.blocks[0], &reply.stop), (&Block::text("Once more."), &ReplyStop::ToolUse));
    assert_eq!(reply.model, "host:big-1");
    assert!(reply.usage.estimated && reply.usage.input > 100 && reply.usage.output > 5, "{:?}", reply.usage);
    // A model with protocol tools makes no text-based calls.
    let reply = ask(&model, ToolUse::Forbidden).await.unwrap();
    assert_eq!(host.asked().await["toolChoice"], json!({ "mode": "none" }));
    assert!(reply.blocks.iter().all(|block| block.as_call().is_none()), "{:?}", reply.blocks);
}

#[tokio::test]
async fn a_host_that_only_passes_text_on_gets_tools_in_words() {
    let hosts = ConnectedHosts::served();
    let said = "So.\n<read>\n{\"path\": \"b\"}\n</read>\nmade up";
    let mut host = connect(&hosts, Some(json!({})), vec![text_answer(said), text_answer(said)]).await;
    let model = HostModel::new(hosts.clone(), "any");
    let reply = ask(&model, ToolUse::Auto).await.unwrap();
    let asked = host.asked().await;
    for absent in ["tools", "toolChoice", "modelPreferences"] {
        assert_eq!(asked.get(absent), None, "{asked:#}");
    }
    let system = asked["systemPrompt"].as_str().unwrap();
    assert!(system.starts_with("You are quick.") && system.contains("### read\n\nReads a file."), "{system}");
    assert!(!system.contains("any more. Answer now"), "{system}");
    let words = json!([
        { "role": "user", "content": { "type": "text", "text": "Look at a" } },
        { "role": "assistant", "content": { "type": "text",
            "text": "I look.\n\n<read>\n{\"path\":\"a\"}\n</read>" } },
        { "role": "user", "content": { "type": "text",
            "text": "<tool_result tool=\"read\" error=\"true\">\nit is not there\n</tool_result>\n\nBe quick" } },
    ]);
    assert_eq!(asked["messages"], words, "{asked:#}");
    assert_eq!(asked["stopSequences"], json!(["<tool_result"]));
    let [Block::Text { text, .. }, Block::ToolCall(call)] = &reply.blocks[..] else {
        panic!("{:?}", reply.blocks)
    };
    assert_eq!((text.as_str(), call.name.as_str()), ("So.", "read"));
    assert_eq!(call.arguments, CallArguments::Object("{\"path\": \"b\"}".to_owned()));
    // With tools forbidden, tags are plain text.
    let reply = ask(&model, ToolUse::Forbidden).await.unwrap();
    assert_eq!(reply.blocks, [Block::text(said)]);
    let system = host.asked().await["systemPrompt"].as_str().unwrap().to_owned();
    assert!(system.contains("any more. Answer now"), "{system}");
}

#[tokio::test]
async fn a_no_is_no_and_nobody_else_is_asked_instead() {
    let hosts = ConnectedHosts::served();
    let acts = vec![Act::Refuse(-1, "User rejected sampling request"), Act::Refuse(-32603, "no credit")];
    let mut host = connect(&hosts, Some(json!({})), acts).await;
    let model = HostModel::new(hosts, "any");
    let failure = ask(&model, ToolUse::Auto).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unauthorised);
    assert_eq!(failure.message, "the host did not lend its model: User rejected sampling request");
    assert!(failure.lost.estimated, "what was sent may have been paid for");
    assert_eq!(ask(&model, ToolUse::Auto).await.unwrap_err().kind, FailureKind::Overloaded);
    host.asked().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_says_nothing_is_not_waited_for_for_ever_and_is_told() {
    let hosts = ConnectedHosts::served();
    let mut host = connect(&hosts, Some(json!({})), vec![Act::Hang, Act::Hang]).await;
    let model = HostModel::new(hosts, "any");
    let began = tokio::time::Instant::now();
    let failure = ask(&model, ToolUse::Auto).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stalled);
    assert_eq!(began.elapsed().as_secs(), 300);
    host.asked().await;
    assert_eq!(host.seen.recv().await, Some(Seen::Cancelled));
    // A canceled task drops its call.
    let call = tokio::time::timeout(Duration::from_secs(5), ask(&model, ToolUse::Auto));
    assert!(call.await.is_err());
    host.asked().await;
    assert_eq!(host.seen.recv().await, Some(Seen::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn when_a_host_goes_away_the_next_one_is_asked_and_without_one_the_call_fails() {
    let hosts = ConnectedHosts::served();
    let model = Arc::new(HostModel::new(hosts.clone(), "any"));
    let call = || {
        tokio::spawn({
            let model = model.clone();
            async move { ask(&model, ToolUse::Auto).await }
        })
    };
    // A resumed task starts before its host has connected.
    let under_way = call();
    let mut first = connect(&hosts, Some(json!({})), vec![Act::Never]).await;
    first.asked().await;
    first.client.cancel().await.unwrap();
    let mut second = connect(&hosts, Some(json!({})), vec![text_answer("Here."), Act::Never]).await;
    let reply = under_way.await.unwrap().unwrap();
    assert_eq!(reply.blocks, [Block::text("Here.")]);
    assert!(
        reply.lost.input > 0 && reply.lost.estimated,
        "the first may have worked for it: {:?}",
        reply.lost
    );
    second.asked().await;
    let under_way = call();
    second.asked().await;
    second.client.cancel().await.unwrap();
    let began = tokio::time::Instant::now();
    let failure = under_way.await.unwrap().unwrap_err();
    assert_eq!((failure.kind, began.elapsed().as_secs()), (FailureKind::Connection, 60));
    assert_eq!(failure.message, "no host that lends its model was connected for 60 s");
}

#[tokio::test]
async fn where_nobody_lends_a_model_that_is_said_at_once() {
    let nowhere = ConnectedHosts::none();
    let served = ConnectedHosts::served();
    assert!(served.check().is_ok(), "somebody may come");
    let _mute = connect(&served, None, vec![]).await;
    let strange = ConnectedHosts::served();
    strange.meet_stranger();
    for hosts in [nowhere, served, strange] {
        let error = hosts.check().unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostModelUnavailable);
        assert!(error.advice().unwrap().contains("model: host"), "{error:?}");
        let failure = ask(&HostModel::new(hosts, "any"), ToolUse::Auto).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection);
    }
}
