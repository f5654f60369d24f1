//! Translates between a run's conversation and sampling messages, for hosts with and without tool support.

use posse_core::agent::ModelSettings;
use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolCall};
use posse_core::reply::ReplyStop;
use posse_core::text::prefix;
use posse_core::tokens::tokens_at_most;
use posse_core::tool::ToolSpec;
use posse_runtime::ports::{ModelRequest, ToolUse};
use rmcp::RoleServer;
use rmcp::model::{
    ContentBlock, CreateMessageRequestParams, CreateMessageResult, JsonObject, ModelHint, ModelPreferences,
    Role, SamplingMessage, SamplingMessageContentBlock, Tool, ToolChoice, ToolResultContent,
};
use rmcp::service::Peer;
use serde_json::Value;

use super::text;

const SCHEMA_RULE: &str = include_str!("../../../prompts/output_schema.md");

/// Maximum content blocks read of an answer.
const PARTS_MAX: usize = 4096;
/// Maximum bytes of a name or ID.
const NAME_BYTES_MAX: usize = 1024;

/// The way a host's model gets its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSpeech {
    /// As tools of the protocol.
    Tools,
    /// As text: calls and results are part of the messages.
    Text,
}

impl ToolSpeech {
    /// Selects the mode from the host's capabilities; `None` if it offers no sampling.
    pub fn of(peer: &Peer<RoleServer>) -> Option<Self> {
        let info = peer.peer_info()?;
        let sampling = info.capabilities.sampling.as_ref()?;
        Some(if sampling.tools.is_some() { ToolSpeech::Tools } else { ToolSpeech::Text })
    }
}

/// Builds the sampling request; `wish` is the model name to suggest.
pub fn request(
    request: &ModelRequest<'_>,
    speech: ToolSpeech,
    wish: Option<&str>,
) -> CreateMessageRequestParams {
    let messages = match speech {
        ToolSpeech::Tools => request.messages.iter().filter_map(with_tools).collect(),
        ToolSpeech::Text => in_words(request.messages),
    };
    let mut params = CreateMessageRequestParams::new(messages, request.output_tokens_max);
    params.temperature = request.settings.temperature;
    if let Some(wish) = wish {
        let hints = vec![ModelHint::new(wish)];
        params.model_preferences = Some(ModelPreferences::new().with_hints(hints));
    }
    let mut system = vec![request.system.to_owned()];
    system.extend(schema_rule(request.settings));
    if !request.tools.is_empty() {
        match speech {
            ToolSpeech::Tools => {
                params.tools = Some(request.tools.iter().map(tool).collect());
                params.tool_choice = Some(match request.tool_use {
                    ToolUse::Auto => ToolChoice::auto(),
                    ToolUse::Forbidden => ToolChoice::none(),
                });
            }
            ToolSpeech::Text => {
                system.push(text::explanation(request.tools, request.tool_use));
                // Otherwise the model might invent the results of its calls.
                params.stop_sequences = Some(vec![text::RESULT_BEGINS.to_owned()]);
            }
        }
    }
    params.system_prompt = Some(system.join("\n\n"));
    params
}

/// A host's reply, translated.
pub struct SampledReply {
    pub blocks: Vec<Block>,
    pub stop: ReplyStop,
    /// Estimated output tokens.
    pub tokens: u64,
    pub notes: Vec<String>,
}

/// Translates a host's reply.
pub fn reply(request: &ModelRequest<'_>, speech: ToolSpeech, result: CreateMessageResult) -> SampledReply {
    let stop = match result.stop_reason.as_deref() {
        None | Some("endTurn" | "stopSequence") => ReplyStop::EndTurn,
        Some("maxTokens") => ReplyStop::MaxTokens,
        Some("toolUse") => ReplyStop::ToolUse,
        Some(other) => ReplyStop::Other(prefix(other, 80).to_owned()),
    };
    let mut read = SampledReply { blocks: Vec::new(), stop, tokens: 0, notes: Vec::new() };
    for content in result.message.content.into_vec().into_iter().take(PARTS_MAX) {
        match content {
            SamplingMessageContentBlock::Text(said) => read.say(request, speech, &said.text),
            SamplingMessageContentBlock::ToolUse(call) => {
                let arguments = Value::Object(call.input).to_string();
                read.call(call.id, call.name, CallArguments::judge(&arguments), &arguments);
            }
            _ => read.notes.push("the host's model answered with something that is not text".to_owned()),
        }
    }
    read
}

impl SampledReply {
    fn say(&mut self, request: &ModelRequest<'_>, speech: ToolSpeech, said: &str) {
        self.tokens += tokens_at_most(said);
        if speech == ToolSpeech::Tools || request.tool_use == ToolUse::Forbidden {
            return self.text(said);
        }
        let cut_off = self.stop == ReplyStop::MaxTokens;
        let (before, calls) = text::parse(said, request.tools, cut_off);
        self.text(&before);
        for (name, arguments) in calls {
            self.call(String::new(), name, arguments, "");
        }
    }

    fn text(&mut self, said: &str) {
        if !said.trim().is_empty() {
            self.blocks.push(Block::text(said));
        }
    }

    fn call(&mut self, id: String, name: String, arguments: CallArguments, said: &str) {
        let index = self.blocks.iter().filter(|block| block.as_call().is_some()).count() as u32;
        self.tokens += tokens_at_most(&name) + tokens_at_most(said);
        let id = if id.is_empty() { format!("call_{}", index + 1) } else { id };
        let (id, name) = (prefix(&id, NAME_BYTES_MAX).to_owned(), prefix(&name, NAME_BYTES_MAX).to_owned());
        let key = CallKey { turn: 0, index };
        self.blocks.push(Block::call(ToolCall { key, id, name, arguments, signature: None }));
    }
}

fn schema_rule(settings: &ModelSettings) -> Option<String> {
    let schema = settings.output_schema.as_deref()?;
    Some(SCHEMA_RULE.trim_end().replace("{schema}", schema))
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema: JsonObject = serde_json::from_str(&spec.input_schema).unwrap_or_default();
    Tool::new(spec.name.clone(), spec.description.clone(), schema)
}

/// Translates a message. Skips thinking and other providers' opaque blocks; returns `None` if nothing else is
/// left.
fn with_tools(message: &Message) -> Option<SamplingMessage> {
    let (role, content): (Role, Vec<SamplingMessageContentBlock>) = match message {
        Message::User { text } => (Role::User, vec![SamplingMessageContentBlock::text(text)]),
        Message::Assistant { blocks } => (Role::Assistant, blocks.iter().filter_map(said).collect()),
        Message::Results { results } => {
            let result = |result: &posse_core::message::ToolResult| {
                let content = vec![ContentBlock::text(&result.text)];
                SamplingMessageContentBlock::ToolResult(match result.is_error {
                    true => ToolResultContent::error(&result.id, content),
                    false => ToolResultContent::new(&result.id, content),
                })
            };
            (Role::User, results.iter().map(result).collect())
        }
    };
    match content.len() {
        0 => None,
        _ => Some(SamplingMessage::new_multiple(role, content)),
    }
}

fn said(block: &Block) -> Option<SamplingMessageContentBlock> {
    match block {
        Block::Text { text, .. } => Some(SamplingMessageContentBlock::text(text)),
        Block::ToolCall(call) => {
            let input = serde_json::from_str(call.arguments.as_object_text()).unwrap_or_default();
            Some(SamplingMessageContentBlock::tool_use(&call.id, &call.name, input))
        }
        Block::Thinking { .. } | Block::Opaque { .. } => None,
    }
}

/// Renders the conversation as text, and merges consecutive messages of the same role.
fn in_words(messages: &[Message]) -> Vec<SamplingMessage> {
    let mut turns: Vec<(Role, String)> = Vec::new();
    for message in messages {
        let (role, words) = match message {
            Message::User { text } => (Role::User, text.clone()),
            Message::Assistant { blocks } => (Role::Assistant, text::spoken(blocks)),
            Message::Results { results } => (Role::User, text::results(results)),
        };
        match turns.last_mut() {
            _ if words.is_empty() => {}
            Some((last, so_far)) if *last == role => *so_far = format!("{so_far}\n\n{words}"),
            _ => turns.push((role, words)),
        }
    }
    let message = |(role, words): (Role, String)| SamplingMessage::new(role, words);
    turns.into_iter().map(message).collect()
}
