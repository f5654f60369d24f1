//! The only code of these tests that knows the API.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolResult};
use posse_core::reply::{ModelFailure, Reply};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_models::anthropic::Anthropic;
use posse_models::gemini::Gemini;
use posse_models::http::{KeySource, ProviderEndpoint, SecretText};
use posse_models::openai_chat::OpenAiChat;
use posse_models::openai_responses::OpenAiResponses;
use posse_runtime::ports::{
    Delta, DeltaSink, Model, ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls,
};
use posse_testkit::server::{Answer, Server};
use posse_testkit::wire::LoopbackFormat;

pub const KEY: &str = "sk-test-0123456789";

pub fn endpoint(url: &str) -> ProviderEndpoint {
    ProviderEndpoint {
        end_grace: Duration::from_millis(50),
        ..ProviderEndpoint::new(url, KeySource::fixed(SecretText::new(KEY)))
    }
}

pub fn model(format: LoopbackFormat, url: &str) -> Box<dyn Model> {
    model_at(format, endpoint(url))
}

pub fn model_at(format: LoopbackFormat, endpoint: ProviderEndpoint) -> Box<dyn Model> {
    match format {
        LoopbackFormat::Anthropic => Box::new(Anthropic::new(endpoint, "claude-haiku-4-5").unwrap()),
        LoopbackFormat::OpenAiChat => Box::new(OpenAiChat::new(endpoint, "gpt-5").unwrap()),
        LoopbackFormat::OpenAiResponses => Box::new(OpenAiResponses::new(endpoint, "gpt-5").unwrap()),
        LoopbackFormat::Gemini => Box::new(Gemini::new(endpoint, "gemini-3-pro").unwrap()),
    }
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        input_schema: r#"{"type":"object","properties":{"path":{"type":"string"}}}"#.to_owned(),
        effect: ToolEffect::Pure,
    }
}

/// A conversation as a run keeps it.
pub struct Talk {
    pub system: String,
    pub tools: Vec<ToolSpec>,
    pub messages: Vec<Message>,
    pub settings: ModelSettings,
    pub tool_use: ToolUse,
    pub generation: u64,
    pub memo: ModelMemo,
}

impl Talk {
    pub fn new() -> Self {
        Self {
            system: "You are careful.".to_owned(),
            tools: vec![tool("read"), tool("grep")],
            messages: vec![Message::user("Look into it.")],
            settings: ModelSettings::default(),
            tool_use: ToolUse::Auto,
            generation: 0,
            memo: ModelMemo::default(),
        }
    }

    pub fn buffered(mut self, buffered: bool) -> Self {
        self.settings.buffered = buffered;
        self
    }

    pub fn request(&mut self) -> ModelRequest<'_> {
        ModelRequest {
            system: &self.system,
            messages: &self.messages,
            tools: &self.tools,
            tool_use: self.tool_use,
            output_tokens_max: 4000,
            settings: &self.settings,
            answered_by: posse_core::usage::ByModel::nobody(),
            unanswered: 0,
            generation: self.generation,
            memo: &mut self.memo,
            allowance: &UnlimitedCalls,
            urgency: Urgency::Interactive,
        }
    }

    pub async fn call(&mut self, model: &dyn Model) -> Result<Reply, ModelFailure> {
        self.watched(model, &NoDeltas).await
    }

    pub async fn watched(
        &mut self,
        model: &dyn Model,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ModelFailure> {
        model.call(self.request(), deltas).await
    }

    /// What a run does with a reply: numbers the calls, gives ids to those without, and answers them.
    pub fn take(&mut self, mut reply: Reply, results: &[&str]) {
        let turn = self.messages.len() as u32;
        let mut answers = Vec::new();
        for block in &mut reply.blocks {
            if let Block::ToolCall(call) = block {
                let call = Arc::make_mut(call);
                call.key = CallKey { turn, ..call.key };
                if call.id.is_empty() {
                    call.id = format!("posse_{turn}_{}", call.key.index);
                }
                answers.push(ToolResult::new(call, results[answers.len()]));
            }
        }
        self.messages.push(Message::Assistant { blocks: reply.blocks });
        if !answers.is_empty() {
            self.messages.push(Message::Results { results: answers });
        }
    }
}

/// One call with one answer.
pub async fn ask(format: LoopbackFormat, answer: Answer) -> Result<Reply, ModelFailure> {
    let server = Server::script([answer]).await;
    let reply = Talk::new().call(&*model(format, server.url())).await;
    assert_eq!(server.requests().len(), 1, "a provider never asks twice by itself");
    reply
}

pub fn text_of(reply: &Reply) -> String {
    reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
        })
        .collect()
}

/// Index, id, name and arguments of every call.
pub fn calls_of(reply: &Reply) -> Vec<(u32, String, String, CallArguments)> {
    let calls = reply.blocks.iter().filter_map(Block::as_call);
    calls.map(|call| (call.key.index, call.id.clone(), call.name.clone(), call.arguments.clone())).collect()
}

/// Writes down what it sees.
#[derive(Default)]
pub struct Watcher {
    pub seen: Mutex<Vec<String>>,
    pub alive: Mutex<usize>,
}

impl DeltaSink for Watcher {
    fn alive(&self) {
        *self.alive.lock().unwrap() += 1;
    }

    fn delta(&self, delta: Delta<'_>) {
        self.seen.lock().unwrap().push(match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Thinking(text) => format!("thinking {text}"),
            Delta::ToolCall { index, name } => format!("call {index} {name}"),
            Delta::ToolArguments { index, fragment } => format!("arguments {index} {fragment}"),
            Delta::Restarted { why, .. } => format!("restarted {why}"),
            Delta::Paused { .. } => "paused".to_owned(),
        });
    }
}

impl Watcher {
    /// Everything shown of one kind, put together.
    pub fn all(&self, kind: &str) -> String {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter_map(|line| line.strip_prefix(kind)).collect()
    }
}
