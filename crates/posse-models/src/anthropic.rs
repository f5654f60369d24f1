//! Anthropic Messages.
//!
//! Thinking is sent back with its signature, redacted thinking unchanged. Prompt-cache markers are on the tools, on the
//! system prompt and on the last block of the conversation; the last one is written in the tail, so that moving it never
//! rewrites bytes that were sent before.

use std::borrow::Cow;

use posse_core::agent::{Effort, ModelSettings};
use posse_core::error::Result;
use posse_core::message::{Block, Message};
use posse_core::reply::{ModelFailure, ReplyStop};
use posse_runtime::ports::{ModelRequest, ToolUse};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::assemble::ReplyAssembler;
use crate::body::{BodyEncoder, JsonBuffer, TextEnding, legal_id, legal_name};
use crate::client::{ProviderClient, ProviderFormat};
use crate::exchange::{ReadError, ReadProgress, ReadResult, Reader, StreamEnd, WireCodec};
use crate::http::KeyHeader;
use crate::sse::SseEvent;
use crate::tokens::{ReportedCount, ReportedUsage};

/// Default base URL.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The tag of blocks that only Anthropic understands.
const PROVIDER: &str = "anthropic";
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// Minimum thinking budget of the API.
const THINKING_TOKENS_MIN: u32 = 1024;

/// Client for Anthropic's Messages API.
pub type Anthropic = ProviderClient<AnthropicMessages>;

/// The Messages wire format.
#[derive(Debug, Clone, Default)]
pub struct AnthropicMessages;

impl ProviderFormat for AnthropicMessages {
    const PROVIDER: &'static str = PROVIDER;
}

impl WireCodec for Anthropic {
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];
    type AnswerReader = MessageReader;

    fn path(&self, _: bool) -> String {
        // People write the base URL with and without the version.
        if self.transport.base_url().ends_with("/v1") { "/messages".into() } else { "/v1/messages".into() }
    }
}

impl BodyEncoder for Anthropic {
    const WIRE: &'static str = "anthropic";

    fn model(&self) -> &str {
        &self.model
    }

    fn head(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        out.raw(r#"{"model":"#);
        out.string(&self.model);
        if !request.tools.is_empty() {
            out.raw(r#","tools":"#);
            out.tools(request.tools, r#"{"name":"#, "input_schema", [CACHE_MARK, "}"])?;
        }
        if !request.system.trim().is_empty() {
            out.raw(r#","system":[{"type":"text","text":"#);
            out.string(request.system);
            out.raw(CACHE_MARK);
            out.raw("}]");
        }
        out.raw(r#","messages":["#);
        Ok(())
    }

    fn message(&self, message: &Message, out: &mut JsonBuffer) -> TextEnding {
        match message {
            Message::User { text } => {
                out.item();
                out.raw(r#"{"role":"user","content":[{"type":"text","text":"#);
                out.string(text);
                OPEN
            }
            Message::Results { results } => {
                out.item();
                out.raw(r#"{"role":"user","content":["#);
                for (position, result) in results.iter().enumerate() {
                    out.raw(if position > 0 { "}," } else { "" });
                    out.raw(r#"{"type":"tool_result","tool_use_id":"#);
                    out.string(&legal_id(&result.id));
                    out.field("content", &result.text);
                    if result.is_error {
                        out.raw(r#","is_error":true"#);
                    }
                }
                OPEN
            }
            Message::Assistant { blocks } => assistant(blocks, out),
        }
    }

    fn tail(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        out.raw("]");
        out.number("max_tokens", request.output_tokens_max);
        if !request.settings.buffered {
            out.raw(r#","stream":true"#);
        }
        let mut thinking = thinking(&self.model, request.settings, request.output_tokens_max);
        if matches!(thinking, AnthropicThinking::Budget(_)) && !may_think(request.messages) {
            thinking = AnthropicThinking::Off;
        }
        match thinking {
            AnthropicThinking::Off => {}
            AnthropicThinking::Budget(tokens) => {
                out.raw(r#","thinking":{"type":"enabled""#);
                out.number("budget_tokens", tokens);
                out.raw("}");
            }
            AnthropicThinking::Adaptive => out.raw(r#","thinking":{"type":"adaptive"}"#),
        }
        // With thinking on, the API accepts no temperature but its default.
        if let (Some(temperature), AnthropicThinking::Off) = (request.settings.temperature, thinking) {
            out.number("temperature", temperature);
        }
        output_config(request.settings, thinking, out)?;
        if request.tool_use == ToolUse::Forbidden && !request.tools.is_empty() {
            out.raw(r#","tool_choice":{"type":"none"}"#);
        }
        out.raw("}");
        Ok(())
    }
}

const OPEN: TextEnding = TextEnding::Open { close: "}]}", mark: CACHE_MARK };

/// Leaves every block open until the next one starts, so that the last one can take the cache marker.
fn assistant(blocks: &[Block], out: &mut JsonBuffer) -> TextEnding {
    let mut ending = TextEnding::Whole;
    for block in blocks {
        // The API refuses blank text, unsigned thinking and blocks of other providers.
        let sendable = match block {
            Block::Text { text, .. } => !text.trim().is_empty(),
            Block::Thinking { signature, .. } => signature.is_some(),
            Block::ToolCall(_) => true,
            Block::Opaque { provider, json } => {
                provider == PROVIDER && serde_json::from_str::<&RawValue>(json).is_ok() && json.ends_with('}')
            }
        };
        if !sendable {
            continue;
        }
        if ending == TextEnding::Whole {
            out.item();
            out.raw(r#"{"role":"assistant","content":["#);
        } else {
            out.raw("},");
        }
        ending = OPEN;
        match block {
            Block::Text { text, .. } => {
                out.raw(r#"{"type":"text","text":"#);
                out.string(text);
            }
            Block::Thinking { text, signature } => {
                out.raw(r#"{"type":"thinking","thinking":"#);
                out.string(text);
                out.field("signature", signature.as_deref().unwrap_or_default());
                ending = TextEnding::Open { close: "}]}", mark: "" };
            }
            Block::ToolCall(call) => {
                out.raw(r#"{"type":"tool_use","id":"#);
                out.string(&legal_id(&call.id));
                out.field("name", &legal_name(&call.name));
                out.raw(r#","input":"#);
                out.raw(call.arguments.as_object_text());
            }
            Block::Opaque { json, .. } => {
                out.raw(&json[..json.len() - 1]);
                ending = TextEnding::Open { close: "}]}", mark: "" };
            }
        }
    }
    ending
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnthropicThinking {
    Off,
    Budget(u32),
    Adaptive,
}

fn thinking(model: &str, settings: &ModelSettings, output_tokens_max: u32) -> AnthropicThinking {
    let wanted = match (settings.thinking_tokens, settings.effort) {
        (Some(0), _) | (None, None) => return AnthropicThinking::Off,
        (Some(tokens), _) => tokens,
        (None, Some(Effort::Low)) => 2048,
        (None, Some(Effort::Medium)) => 8192,
        (None, Some(Effort::High)) => 16_384,
        (None, Some(Effort::Max)) => 32_768,
    };
    if thinks_adaptively(model) {
        return AnthropicThinking::Adaptive;
    }
    // The budget is part of `max_tokens` and must leave room for an answer.
    let budget = wanted.max(THINKING_TOKENS_MIN).min(output_tokens_max / 4 * 3);
    if budget < THINKING_TOKENS_MIN { AnthropicThinking::Off } else { AnthropicThinking::Budget(budget) }
}

/// Tells whether thinking may be on. With a budget, open calls must follow thinking; those of another model, before a
/// fallback, do not, and the API would refuse the request.
fn may_think(messages: &[Message]) -> bool {
    let [.., Message::Assistant { blocks }, Message::Results { .. }] = messages else { return true };
    blocks.iter().any(|block| match block {
        Block::Thinking { signature, .. } => signature.is_some(),
        Block::Opaque { provider, .. } => provider == PROVIDER,
        Block::Text { .. } | Block::ToolCall(_) => false,
    })
}

/// Tells whether the model takes an `effort`: Claude from 4.6 on. Older ones and other vendors' take a budget.
fn thinks_adaptively(model: &str) -> bool {
    let Some(name) = model.rsplit('/').next().and_then(|name| name.strip_prefix("claude-")) else {
        return false;
    };
    // `opus-4-6`, `sonnet-4-5-20250929`, `3-7-sonnet-latest`, `sonnet-4-20250514`: the version is the short numbers.
    let mut numbers =
        name.split(['-', '.', '@']).filter(|word| word.len() < 3).filter_map(|word| word.parse::<u32>().ok());
    let major = numbers.next();
    major.is_some_and(|major| (major, numbers.next().unwrap_or(0)) >= (4, 6))
}

fn output_config(
    settings: &ModelSettings,
    thinking: AnthropicThinking,
    out: &mut JsonBuffer,
) -> Result<(), ModelFailure> {
    let effort = settings.effort.filter(|_| thinking == AnthropicThinking::Adaptive);
    if effort.is_none() && settings.output_schema.is_none() {
        return Ok(());
    }
    out.raw(r#","output_config":{"#);
    if let Some(effort) = effort {
        out.raw(r#""effort":"#);
        out.string(effort.wire());
    }
    if let Some(schema) = &settings.output_schema {
        out.raw(if effort.is_some() { "," } else { "" });
        out.raw(r#""format":{"type":"json_schema","schema":"#);
        out.output_schema(schema)?;
        out.raw("}");
    }
    out.raw("}");
    Ok(())
}

#[derive(Default)]
pub(crate) struct MessageReader {
    stop: Option<String>,
    usage: AnthropicUsage,
    /// Streamed blocks of unknown kinds.
    unknown: Vec<(u64, Value, String)>,
}

/// All kinds of events in one: an enum tagged by `type` could not borrow raw blocks.
#[derive(Deserialize)]
struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    message: Option<MessageStart>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage: AnthropicUsage,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct WholeMessage<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage: AnthropicUsage,
}

/// The start of a block, or a delta of it.
#[derive(Deserialize)]
struct BlockFragment<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_json: Cow<'a, str>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: ReportedCount,
    output_tokens: ReportedCount,
    cache_read_input_tokens: ReportedCount,
    cache_creation_input_tokens: ReportedCount,
}

impl AnthropicUsage {
    fn update(&mut self, later: &AnthropicUsage) {
        self.input_tokens.update(later.input_tokens);
        self.output_tokens.update(later.output_tokens);
        self.cache_read_input_tokens.update(later.cache_read_input_tokens);
        self.cache_creation_input_tokens.update(later.cache_creation_input_tokens);
    }

    /// The API counts cached input separately; our total includes it.
    fn counts(&self) -> ReportedUsage {
        let cached = self.cache_read_input_tokens.plus(self.cache_creation_input_tokens);
        ReportedUsage {
            input: self.input_tokens.plus(cached),
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write: self.cache_creation_input_tokens,
            reasoning: ReportedCount::Missing,
        }
    }
}

impl Reader for MessageReader {
    fn event(&mut self, event: &SseEvent, reply: &mut ReplyAssembler<'_>) -> ReadResult<ReadProgress> {
        if event.name == "error" {
            return Err(ReadError::provider(&event.data));
        }
        let read: MessagesEvent<'_> = serde_json::from_str(&event.data)?;
        let delta = read.delta.map_or("{}", RawValue::get);
        match read.kind.as_ref() {
            "message_start" => self.usage = read.message.map(|message| message.usage).unwrap_or_default(),
            "content_block_start" => {
                if let Some(block) = read.content_block {
                    self.block(read.index, block, true, reply)?;
                }
            }
            "content_block_delta" => self.delta(read.index, &serde_json::from_str(delta)?, reply)?,
            "message_delta" => {
                self.usage.update(&read.usage.unwrap_or_default());
                let delta: MessageDelta = serde_json::from_str(delta)?;
                if delta.stop_reason.is_some() {
                    self.stop = delta.stop_reason;
                    return Ok(ReadProgress::Ending);
                }
            }
            "message_stop" => return Ok(ReadProgress::Done),
            "error" => return Err(ReadError::provider(&event.data)),
            // `ping`, `content_block_stop` and unknown kinds.
            _ => {}
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, body: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let message: WholeMessage<'_> = serde_json::from_str(body)?;
        for (index, block) in (0..).zip(message.content) {
            self.block(index, block, false, reply)?;
        }
        self.stop = message.stop_reason;
        self.usage = message.usage;
        Ok(())
    }

    fn ended(&mut self, reply: &mut ReplyAssembler<'_>) -> Option<StreamEnd> {
        let stop = self.stop.take()?;
        // A block whose input was truncated is useless.
        let _ = self.settle_unknown(reply);
        let stop = match stop.as_str() {
            "end_turn" | "stop_sequence" => ReplyStop::EndTurn,
            "tool_use" => ReplyStop::ToolUse,
            "max_tokens" => ReplyStop::MaxTokens,
            "refusal" => ReplyStop::Refusal,
            "pause_turn" => ReplyStop::Paused,
            "model_context_window_exceeded" => ReplyStop::ContextFull,
            _ => ReplyStop::Other(stop),
        };
        Some(StreamEnd { stop, counts: self.usage.counts(), note: None, has_marker: true })
    }
}

impl MessageReader {
    /// `open`: more of the block follows as deltas, and the `input` of a call is only a placeholder.
    fn block(
        &mut self,
        index: u64,
        raw: &RawValue,
        open: bool,
        reply: &mut ReplyAssembler<'_>,
    ) -> ReadResult {
        let block: BlockFragment<'_> = serde_json::from_str(raw.get())?;
        let place = (index, 0);
        match block.kind.as_ref() {
            "text" => reply.text(place, &block.text)?,
            "thinking" => {
                reply.thinking(place, &block.thinking)?;
                if !block.signature.is_empty() {
                    reply.signature(place, &block.signature)?;
                }
            }
            "tool_use" => {
                reply.call(place, &block.id, &block.name)?;
                let input = block.input.map_or("", RawValue::get);
                // A server that does not stream arguments puts them here, and sends no deltas.
                if !open || (input != "{}" && input != "null") {
                    reply.arguments(place, input)?;
                }
            }
            "redacted_thinking" => reply.opaque(place, PROVIDER, raw.get().to_owned())?,
            _ => self.unknown.push((index, serde_json::from_str(raw.get())?, String::new())),
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &BlockFragment<'_>, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let place = (index, 0);
        if let Some((_, _, input)) = self.unknown.iter_mut().find(|(unknown, ..)| *unknown == index) {
            input.push_str(&delta.partial_json);
            return Ok(());
        }
        match delta.kind.as_ref() {
            "text_delta" => reply.text(place, &delta.text)?,
            "thinking_delta" => reply.thinking(place, &delta.thinking)?,
            "signature_delta" => reply.signature(place, &delta.signature)?,
            "input_json_delta" => reply.arguments(place, &delta.partial_json)?,
            // Citations repeat the source of a text; the text is complete without them.
            _ => {}
        }
        Ok(())
    }

    /// Server tools and unknown kinds: kept and sent back unchanged.
    fn settle_unknown(&mut self, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        for (index, mut block, input) in self.unknown.drain(..) {
            if !input.is_empty() {
                block["input"] = serde_json::from_str(&input)?;
            }
            reply.opaque((index, 0), PROVIDER, block.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_models_think_adaptively_and_older_ones_by_budget() {
        for (model, adaptive) in [
            ("claude-opus-4-6", true),
            ("claude-sonnet-5", true),
            ("claude-opus-4-7-20260401", true),
            ("claude-sonnet-4-5-20250929", false),
            ("claude-sonnet-4-20250514", false),
            ("claude-3-7-sonnet-latest", false),
            ("claude-haiku-4-5", false),
            ("minimax-m2", false),
        ] {
            assert_eq!(thinks_adaptively(model), adaptive, "{model}");
        }
        let settings = ModelSettings { thinking_tokens: Some(5000), ..ModelSettings::default() };
        assert_eq!(thinking("claude-haiku-4-5", &settings, 8000), AnthropicThinking::Budget(5000));
        assert_eq!(thinking("claude-haiku-4-5", &settings, 4000), AnthropicThinking::Budget(3000));
        assert_eq!(thinking("claude-haiku-4-5", &settings, 1000), AnthropicThinking::Off);
    }
}
