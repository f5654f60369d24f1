//! OpenAI Chat Completions, and the many servers that speak it more or less exactly.
//!
//! Tool results have no error flag here, so an error says so in its text. Common faults of servers (no index, no id, index
//! 0 for every call, names repeated in every chunk, no end marker) are tolerated.

use std::borrow::Cow;

use posse_core::agent::Effort;
use posse_core::error::Result;
use posse_core::message::{Block, Message};
use posse_core::reply::{ModelFailure, ReplyStop};
use posse_runtime::ports::{ModelRequest, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::{Place, ReplyAssembler};
use crate::body::{BodyEncoder, JsonBuffer, TextEnding, legal_id, legal_name};
use crate::client::{ProviderClient, ProviderFormat};
use crate::exchange::{OptionalText, ReadError, ReadProgress, ReadResult, Reader, StreamEnd, WireCodec};
use crate::sse::SseEvent;
use crate::tokens::{ReportedCount, ReportedUsage};

/// Default base URL.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// Differences between servers of the Chat Completions format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatDialect {
    /// `max_completion_tokens` or `max_tokens`.
    pub output_limit: &'static str,
    /// Ask for usage at the end of a stream.
    pub stream_usage: bool,
    /// Send reasoning back as `reasoning_content`: some models require it while they use tools, most servers refuse it.
    pub reasoning_back: bool,
}

impl ChatDialect {
    /// Returns the dialect of OpenAI itself.
    pub fn openai() -> Self {
        Self { output_limit: "max_completion_tokens", stream_usage: true, reasoning_back: false }
    }

    /// Returns the dialect that nearly every compatible server understands.
    pub fn compatible() -> Self {
        Self { output_limit: "max_tokens", stream_usage: true, reasoning_back: false }
    }
}

/// Client for the Chat Completions API and compatible servers.
pub type OpenAiChat = ProviderClient<ChatCompletions>;

/// The Chat Completions wire format.
#[derive(Debug, Clone)]
pub struct ChatCompletions {
    dialect: ChatDialect,
}

impl Default for ChatCompletions {
    fn default() -> Self {
        Self { dialect: ChatDialect::openai() }
    }
}

impl ProviderFormat for ChatCompletions {
    const PROVIDER: &'static str = "openai";
}

impl OpenAiChat {
    /// Sets the dialect.
    pub fn dialect(self, dialect: ChatDialect) -> Self {
        Self { format: ChatCompletions { dialect }, ..self }
    }
}

impl WireCodec for OpenAiChat {
    type AnswerReader = ChatReader;

    fn path(&self, _: bool) -> String {
        "/chat/completions".to_owned()
    }
}

impl BodyEncoder for OpenAiChat {
    const WIRE: &'static str = "openai_chat";

    fn model(&self) -> &str {
        &self.model
    }

    fn head(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        out.raw(r#"{"model":"#);
        out.string(&self.model);
        if !request.tools.is_empty() {
            out.raw(r#","tools":"#);
            let open = r#"{"type":"function","function":{"name":"#;
            out.tools(request.tools, open, "parameters", ["", "}}"])?;
        }
        out.raw(r#","messages":["#);
        if !request.system.trim().is_empty() {
            out.item();
            out.raw(r#"{"role":"system","content":"#);
            out.string(request.system);
            out.raw("}");
        }
        Ok(())
    }

    fn message(&self, message: &Message, out: &mut JsonBuffer) -> TextEnding {
        match message {
            Message::User { text } => {
                out.item();
                out.raw(r#"{"role":"user","content":"#);
                out.string(text);
                out.raw("}");
            }
            Message::Results { results } => {
                for result in results {
                    out.item();
                    out.raw(r#"{"role":"tool","tool_call_id":"#);
                    out.string(&legal_id(&result.id));
                    out.field("content", &marked(&result.text, result.is_error));
                    out.raw("}");
                }
            }
            Message::Assistant { blocks } => self.assistant(blocks, out),
        }
        TextEnding::Whole
    }

    fn tail(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        let settings = request.settings;
        out.raw("]");
        out.number(self.format.dialect.output_limit, request.output_tokens_max);
        if !settings.buffered {
            out.raw(r#","stream":true"#);
            if self.format.dialect.stream_usage {
                out.raw(r#","stream_options":{"include_usage":true}"#);
            }
        }
        if let Some(temperature) = settings.temperature {
            out.number("temperature", temperature);
        }
        if let Some(effort) = settings.effort {
            out.field("reasoning_effort", effort_wire(&self.model, effort));
        }
        if let Some(schema) = &settings.output_schema {
            out.raw(r#","response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":"#);
            out.output_schema(schema)?;
            out.raw("}}");
        }
        if request.tool_use == ToolUse::Forbidden && !request.tools.is_empty() {
            out.raw(r#","tool_choice":"none""#);
        }
        out.raw("}");
        Ok(())
    }
}

impl OpenAiChat {
    fn assistant(&self, blocks: &[Block], out: &mut JsonBuffer) {
        let text = joined_text(blocks);
        let mut calls = blocks.iter().filter_map(Block::as_call).peekable();
        if text.is_empty() && calls.peek().is_none() {
            return;
        }
        out.item();
        out.raw(r#"{"role":"assistant","content":"#);
        if text.is_empty() {
            out.raw("null")
        } else {
            out.string(&text)
        }
        if self.format.dialect.reasoning_back {
            let unsigned = blocks.iter().filter_map(|block| match block {
                Block::Thinking { text, signature: None } => Some(text.as_str()),
                Block::Thinking { .. } | Block::Text { .. } | Block::ToolCall(_) | Block::Opaque { .. } => {
                    None
                }
            });
            let reasoning: String = unsigned.collect();
            if !reasoning.is_empty() {
                out.field("reasoning_content", &reasoning);
            }
        }
        if calls.peek().is_some() {
            out.raw(r#","tool_calls":["#);
            for (position, call) in calls.enumerate() {
                out.raw(if position > 0 { "," } else { "" });
                out.raw(r#"{"id":"#);
                out.string(&legal_id(&call.id));
                out.raw(r#","type":"function","function":{"name":"#);
                out.string(&legal_name(&call.name));
                out.field("arguments", call.arguments.as_object_text());
                out.raw("}}");
            }
            out.raw("]");
        }
        out.raw("}");
    }
}

/// Joins all text of a message, for formats without blocks.
pub(crate) fn joined_text(blocks: &[Block]) -> Cow<'_, str> {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } if !text.is_empty() => Some(text.as_str()),
        Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => None,
    });
    let first = texts.next().unwrap_or_default();
    texts.fold(Cow::Borrowed(first), |all, text| Cow::Owned(format!("{all}\n\n{text}")))
}

/// Marks an error in the text, for formats without an error flag.
pub(crate) fn marked(text: &str, is_error: bool) -> Cow<'_, str> {
    if is_error { format!("ERROR: {text}").into() } else { text.into() }
}

/// Returns the wire name of an effort; `max` is `xhigh` from GPT-5.2 on, `high` before.
pub(crate) fn effort_wire(model: &str, effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => {
            let name = model.rsplit('/').next().unwrap_or(model);
            let minor =
                name.strip_prefix("gpt-5.").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if minor.is_some_and(|minor| minor >= 2) || name.contains("codex-max") { "xhigh" } else { "high" }
        }
    }
}

/// Adds the arguments of a call: a string by the specification; some servers send the object itself.
pub(crate) fn arguments(raw: Option<&RawValue>, place: Place, reply: &mut ReplyAssembler<'_>) -> ReadResult {
    match raw.map_or("null", RawValue::get) {
        "null" => Ok(()),
        text if text.starts_with('"') => {
            Ok(reply.arguments(place, &serde_json::from_str::<Cow<'_, str>>(text)?)?)
        }
        object => Ok(reply.arguments(place, object)?),
    }
}

#[derive(Default)]
pub(crate) struct ChatReader {
    finish: Option<String>,
    refused: bool,
    usage: Option<ChatUsage>,
    /// The position of the call that fragments without an index continue.
    newest_call: Option<Place>,
    /// Calls of a whole reply are complete and in order, whatever index they carry.
    whole: bool,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<ChatChoice<'a>>,
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage: Option<ChatUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    #[serde(default)]
    index: u64,
    /// Streams have `delta`, whole replies `message`; the content is the same.
    #[serde(borrow, alias = "message")]
    delta: Option<ChatContent<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatContent<'a> {
    #[serde(borrow)]
    content: Option<OptionalText<'a>>,
    #[serde(borrow, alias = "reasoning")]
    reasoning_content: Option<OptionalText<'a>>,
    #[serde(borrow)]
    refusal: Option<OptionalText<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<OptionalText<'a>>,
    #[serde(borrow)]
    function: Option<ChatFunction<'a>>,
}

#[derive(Deserialize)]
struct ChatFunction<'a> {
    #[serde(borrow)]
    name: Option<OptionalText<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct ChatUsage {
    prompt_tokens: ReportedCount,
    completion_tokens: ReportedCount,
    prompt_tokens_details: Option<TokenDetails>,
    completion_tokens_details: Option<TokenDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: ReportedCount,
}

/// Breakdown of a token count.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenDetails {
    pub cached_tokens: ReportedCount,
    pub reasoning_tokens: ReportedCount,
}

impl ChatUsage {
    fn counts(&self) -> ReportedUsage {
        let cached = self.prompt_tokens_details.unwrap_or_default().cached_tokens;
        ReportedUsage {
            input: self.prompt_tokens,
            output: self.completion_tokens,
            cache_read: if cached == ReportedCount::Missing { self.prompt_cache_hit_tokens } else { cached },
            cache_write: ReportedCount::Missing,
            reasoning: self.completion_tokens_details.unwrap_or_default().reasoning_tokens,
        }
    }
}

impl Reader for ChatReader {
    fn event(&mut self, event: &SseEvent, reply: &mut ReplyAssembler<'_>) -> ReadResult<ReadProgress> {
        if event.data.trim() == "[DONE]" {
            return Ok(ReadProgress::Done);
        }
        if event.name == "error" {
            return Err(ReadError::provider(&event.data));
        }
        self.chunk(&event.data, reply)?;
        Ok(if self.finish.is_some() { ReadProgress::Ending } else { ReadProgress::More })
    }

    fn whole(&mut self, body: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        self.whole = true;
        self.chunk(body, reply)
    }

    fn ended(&mut self, _: &mut ReplyAssembler<'_>) -> Option<StreamEnd> {
        let finish = self.finish.take()?;
        let stop = match finish.as_str() {
            "content_filter" => ReplyStop::Refusal,
            _ if self.refused => ReplyStop::Refusal,
            "stop" => ReplyStop::EndTurn,
            "tool_calls" | "function_call" => ReplyStop::ToolUse,
            "length" => ReplyStop::MaxTokens,
            _ => ReplyStop::Other(finish),
        };
        let counts = self.usage.unwrap_or_default().counts();
        Some(StreamEnd { stop, counts, note: None, has_marker: true })
    }
}

const REASONING: Place = (0, 0);
const TEXT: Place = (1, 0);
const FIRST_CALL: u64 = 2;

impl ChatReader {
    fn chunk(&mut self, json: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let chunk: ChatChunk<'_> = serde_json::from_str(json)?;
        if chunk.error.is_some_and(|error| error.get() != "null") {
            return Err(ReadError::provider(json));
        }
        if chunk.usage.is_some() {
            self.usage = chunk.usage;
        }
        // We ask for one choice; of more, the first one is read.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            if let Some(content) = choice.delta {
                self.content(content, reply)?;
            }
            if let Some(finish) = choice.finish_reason.filter(|finish| !finish.is_empty()) {
                self.finish = Some(finish);
            }
        }
        Ok(())
    }

    fn content(&mut self, content: ChatContent<'_>, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        if let Some(reasoning) = content.reasoning_content {
            reply.thinking(REASONING, &reasoning)?;
        }
        if let Some(text) = content.content {
            reply.text(TEXT, &text)?;
        }
        if let Some(refusal) = content.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            reply.text(TEXT, &refusal)?;
        }
        for (position, mut call) in (0..).zip(content.tool_calls.unwrap_or_default()) {
            if self.whole {
                call.index = Some(position);
            }
            self.call(call, reply)?;
        }
        Ok(())
    }

    fn call(&mut self, call: CallDelta<'_>, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let id = call.id.as_deref().unwrap_or_default();
        let function = call.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref()).unwrap_or_default();
        let place = self.place(call.index, id, name, reply);
        self.newest_call = Some(place);
        reply.call(place, id, name)?;
        arguments(function.and_then(|function| function.arguments), place, reply)
    }

    /// Resolves the call that a fragment belongs to. The index decides, except that a named fragment with a new id
    /// starts a new call (some servers number every call 0), and a fragment without an index continues the newest
    /// call unless it begins another.
    fn place(&self, index: Option<u64>, id: &str, name: &str, reply: &ReplyAssembler<'_>) -> Place {
        let next = FIRST_CALL.saturating_add(reply.calls() as u64);
        let begins = |place: Place| {
            let known = reply.call_id(place);
            !name.is_empty() && !id.is_empty() && known.is_some_and(|known| !known.is_empty() && known != id)
        };
        match (index, self.newest_call) {
            (Some(index), newest) => {
                let mut place = (FIRST_CALL.saturating_add(index), 0);
                // Fragments of a call whose index was used before continue the newest call of that index.
                if let Some(newest) = newest.filter(|newest| newest.0 == place.0) {
                    place = newest;
                }
                if begins(place) { (place.0, place.1 + 1) } else { place }
            }
            (None, Some(newest)) if name.is_empty() && id.is_empty() => newest,
            (None, Some(newest)) if !id.is_empty() && reply.call_id(newest) == Some(id) => newest,
            (None, _) => (next, 0),
        }
    }
}
