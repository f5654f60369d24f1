//! Gemini `generateContent` and `streamGenerateContent`.
//!
//! A stream has no end marker: it ends with the connection, and is complete if it had a finish reason. Signatures of
//! thoughts are on parts and are sent back on the same parts, so signed parts are never merged.

use std::borrow::Cow;

use posse_core::agent::{Effort, ModelSettings};
use posse_core::error::Result;
use posse_core::message::{Block, Message, ToolCall};
use posse_core::reply::{FailureKind, ModelFailure, ReplyStop};
use posse_runtime::ports::{ModelRequest, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::ReplyAssembler;
use crate::body::{BodyEncoder, JsonBuffer, TextEnding, legal_name};
use crate::client::{ProviderClient, ProviderFormat};
use crate::exchange::{OptionalText, ReadError, ReadProgress, ReadResult, Reader, StreamEnd, WireCodec};
use crate::http::KeyHeader;
use crate::sse::SseEvent;
use crate::tokens::{ReportedCount, ReportedUsage};

/// Default base URL.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The tag of parts that only Gemini understands.
const PROVIDER: &str = "gemini";
/// The API's placeholder for the signature of a call that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Client for Gemini's generateContent API.
pub type Gemini = ProviderClient<GenerateContent>;

/// The generateContent wire format.
#[derive(Debug, Clone, Default)]
pub struct GenerateContent;

impl ProviderFormat for GenerateContent {
    const PROVIDER: &'static str = PROVIDER;
}

impl Gemini {
    /// From Gemini 3 on, calls must be signed and thinking has levels instead of a budget.
    fn is_older_than_3(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or(&self.model);
        ["gemini-1", "gemini-2", "gemma"].iter().any(|old| name.starts_with(old))
    }
}

impl WireCodec for Gemini {
    const KEY_HEADER: KeyHeader = KeyHeader::Named("x-goog-api-key");
    type AnswerReader = CandidateReader;

    fn path(&self, streamed: bool) -> String {
        // The model is part of the path, and a configured name must not change the path.
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
        let name = self.model.strip_prefix("models/").unwrap_or(&self.model);
        let model: String = name.chars().map(|c| if legal(c) { c } else { '_' }).collect();
        let method = if streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("/models/{model}:{method}")
    }
}

impl BodyEncoder for Gemini {
    const WIRE: &'static str = "gemini";

    fn model(&self) -> &str {
        &self.model
    }

    fn head(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        out.raw("{");
        if !request.system.trim().is_empty() {
            out.raw(r#""systemInstruction":{"parts":[{"text":"#);
            out.string(request.system);
            out.raw("}]},");
        }
        if !request.tools.is_empty() {
            out.raw(r#""tools":[{"functionDeclarations":"#);
            out.tools(request.tools, r#"{"name":"#, "parametersJsonSchema", ["", "}"])?;
            out.raw("}],");
        }
        out.raw(r#""contents":["#);
        Ok(())
    }

    fn message(&self, message: &Message, out: &mut JsonBuffer) -> TextEnding {
        match message {
            Message::User { text } => {
                out.item();
                out.raw(r#"{"role":"user","parts":[{"text":"#);
                out.string(text);
                out.raw("}]}");
            }
            Message::Results { results } => {
                out.item();
                out.raw(r#"{"role":"user","parts":["#);
                for (position, result) in results.iter().enumerate() {
                    out.raw(if position > 0 { "," } else { "" });
                    out.raw(r#"{"functionResponse":{"id":"#);
                    out.string(&result.id);
                    out.field("name", &legal_name(&result.name));
                    out.raw(if result.is_error {
                        r#","response":{"error":"#
                    } else {
                        r#","response":{"output":"#
                    });
                    out.string(&result.text);
                    out.raw("}}}");
                }
                out.raw("]}");
            }
            Message::Assistant { blocks } => self.assistant(blocks, out),
        }
        TextEnding::Whole
    }

    fn tail(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        let settings = request.settings;
        out.raw(r#"],"generationConfig":{"maxOutputTokens":"#);
        out.raw(&request.output_tokens_max.to_string());
        if let Some(temperature) = settings.temperature {
            out.number("temperature", temperature);
        }
        self.thinking(settings, out);
        // Older models refuse a schema beside tools. Then it is not sent, and only our own check applies.
        if let Some(schema) = &settings.output_schema
            && (request.tools.is_empty() || !self.is_older_than_3())
        {
            out.raw(r#","responseMimeType":"application/json","responseJsonSchema":"#);
            out.output_schema(schema)?;
        }
        out.raw("}");
        if request.tool_use == ToolUse::Forbidden && !request.tools.is_empty() {
            out.raw(r#","toolConfig":{"functionCallingConfig":{"mode":"NONE"}}"#);
        }
        out.raw("}");
        Ok(())
    }
}

impl Gemini {
    fn assistant(&self, blocks: &[Block], out: &mut JsonBuffer) {
        let sendable = |block: &&Block| match block {
            Block::Text { text, signature } => !text.is_empty() || signature.is_some(),
            Block::ToolCall(_) => true,
            Block::Opaque { provider, json } => {
                provider == PROVIDER && serde_json::from_str::<&RawValue>(json).is_ok()
            }
            Block::Thinking { .. } => false,
        };
        let mut calls = 0;
        let mut is_first = true;
        for block in blocks.iter().filter(sendable) {
            if is_first {
                out.item();
                out.raw(r#"{"role":"model","parts":["#);
            } else {
                out.raw(",");
            }
            is_first = false;
            match block {
                Block::Text { text, signature } => {
                    out.raw(r#"{"text":"#);
                    out.string(text);
                    if let Some(signature) = signature {
                        out.field("thoughtSignature", signature);
                    }
                    out.raw("}");
                }
                Block::ToolCall(call) => {
                    self.call_part(call, calls == 0, out);
                    calls += 1;
                }
                Block::Opaque { json, .. } => out.raw(json),
                Block::Thinking { .. } => {}
            }
        }
        if !is_first {
            out.raw("]}");
        }
    }

    fn call_part(&self, call: &ToolCall, is_first: bool, out: &mut JsonBuffer) {
        out.raw(r#"{"functionCall":{"id":"#);
        out.string(&call.id);
        out.field("name", &legal_name(&call.name));
        out.raw(r#","args":"#);
        out.raw(call.arguments.as_object_text());
        out.raw("}");
        match &call.signature {
            Some(signature) => out.field("thoughtSignature", signature),
            // Of parallel calls only the first is signed. An unsigned one comes from another model, before a fallback.
            None if is_first && !self.is_older_than_3() => out.field("thoughtSignature", FOREIGN_SIGNATURE),
            None => {}
        }
        out.raw("}");
    }

    fn thinking(&self, settings: &ModelSettings, out: &mut JsonBuffer) {
        let budget = match (settings.thinking_tokens, settings.effort) {
            (None, None) => return,
            (Some(tokens), _) => tokens,
            (None, Some(effort)) if !self.is_older_than_3() => {
                out.raw(r#","thinkingConfig":{"includeThoughts":true,"thinkingLevel":"#);
                // There is no level above `high`.
                out.string(if effort == Effort::Max { "high" } else { effort.wire() });
                out.raw("}");
                return;
            }
            (None, Some(Effort::Low)) => 1024,
            (None, Some(Effort::Medium)) => 8192,
            (None, Some(Effort::High)) => 16_384,
            (None, Some(Effort::Max)) => 24_576,
        };
        out.raw(r#","thinkingConfig":{"includeThoughts":true"#);
        out.number("thinkingBudget", budget);
        out.raw("}");
    }
}

#[derive(Default)]
pub(crate) struct CandidateReader {
    finish: Option<String>,
    blocked: Option<String>,
    usage: GeminiUsage,
    place: u64,
    newest: NewestPart,
}

/// Part that an unsigned fragment may continue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum NewestPart {
    Text,
    Thought,
    #[default]
    Closed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk<'a> {
    #[serde(borrow, default)]
    candidates: Vec<GeminiCandidate<'a>>,
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage_metadata: Option<GeminiUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    content: Option<GeminiContent<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct GeminiContent<'a> {
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(borrow)]
    text: Option<OptionalText<'a>>,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    thought_signature: Option<OptionalText<'a>>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Option<OptionalText<'a>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiUsage {
    prompt_token_count: ReportedCount,
    tool_use_prompt_token_count: ReportedCount,
    candidates_token_count: ReportedCount,
    thoughts_token_count: ReportedCount,
    cached_content_token_count: ReportedCount,
}

impl GeminiUsage {
    fn update(&mut self, later: &GeminiUsage) {
        self.prompt_token_count.update(later.prompt_token_count);
        self.tool_use_prompt_token_count.update(later.tool_use_prompt_token_count);
        self.candidates_token_count.update(later.candidates_token_count);
        self.thoughts_token_count.update(later.thoughts_token_count);
        self.cached_content_token_count.update(later.cached_content_token_count);
    }

    /// Thoughts are counted separately from the answer; our output includes them.
    fn counts(&self) -> ReportedUsage {
        ReportedUsage {
            input: self.prompt_token_count.plus(self.tool_use_prompt_token_count),
            output: self.candidates_token_count.plus(self.thoughts_token_count),
            cache_read: self.cached_content_token_count,
            cache_write: ReportedCount::Missing,
            reasoning: self.thoughts_token_count,
        }
    }
}

impl Reader for CandidateReader {
    fn event(&mut self, event: &SseEvent, reply: &mut ReplyAssembler<'_>) -> ReadResult<ReadProgress> {
        if event.name == "error" {
            return Err(ReadError::provider(&event.data));
        }
        self.chunk(&event.data, reply)?;
        // Some versions send a finish reason with every chunk, so it is no end yet.
        let ending = self.finish.is_some() || self.blocked.is_some();
        Ok(if ending { ReadProgress::Ending } else { ReadProgress::More })
    }

    fn whole(&mut self, body: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        self.chunk(body, reply)?;
        self.check()
    }

    fn ended(&mut self, reply: &mut ReplyAssembler<'_>) -> Option<StreamEnd> {
        let counts = self.usage.counts();
        if let Some(reason) = self.blocked.take() {
            let note = Some(format!("the provider blocked the prompt: {reason}"));
            return Some(StreamEnd { stop: ReplyStop::Refusal, counts, note, has_marker: false });
        }
        let finish = self.finish.take()?;
        let mut note = None;
        let stop = match finish.as_str() {
            "STOP" if reply.calls() > 0 => ReplyStop::ToolUse,
            "STOP" => ReplyStop::EndTurn,
            "MAX_TOKENS" => ReplyStop::MaxTokens,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => {
                note = Some(format!("the provider refused: {finish}"));
                ReplyStop::Refusal
            }
            _ => ReplyStop::Other(finish),
        };
        Some(StreamEnd { stop, counts, note, has_marker: false })
    }
}

impl CandidateReader {
    fn chunk(&mut self, json: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let chunk: GeminiChunk<'_> = serde_json::from_str(json)?;
        if chunk.error.is_some_and(|error| error.get() != "null") {
            return Err(ReadError::provider(json));
        }
        if let Some(usage) = &chunk.usage_metadata {
            self.usage.update(usage);
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            self.blocked = Some(reason);
        }
        for candidate in chunk.candidates.into_iter().filter(|candidate| candidate.index == 0) {
            for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
                self.part(part, reply)?;
            }
            if candidate.finish_reason.is_some() {
                self.finish = candidate.finish_reason;
                self.check()?;
            }
        }
        Ok(())
    }

    /// Tells whether the model wrote output that the API could not parse: a retry helps.
    fn check(&self) -> ReadResult {
        let Some(finish) = self.finish.as_deref() else { return Ok(()) };
        match finish {
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE" => {
                let message = format!("the model's output was unusable: {finish}");
                Err(ModelFailure::new(FailureKind::Protocol, message).into())
            }
            _ => Ok(()),
        }
    }

    fn part(&mut self, raw: &RawValue, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let part: GeminiPart<'_> = serde_json::from_str(raw.get())?;
        let signature = part.thought_signature.as_deref();
        if let Some(call) = part.function_call {
            let place = self.begin(NewestPart::Closed);
            reply.call(place, call.id.as_deref().unwrap_or_default(), &call.name)?;
            reply.arguments(place, call.args.map_or("", RawValue::get))?;
            if let Some(signature) = signature {
                reply.signature(place, signature)?;
            }
            return Ok(());
        }
        let Some(text) = part.text else {
            let place = self.begin(NewestPart::Closed);
            reply.opaque(place, PROVIDER, raw.get().to_owned())?;
            return Ok(());
        };
        match (part.thought, signature) {
            (true, None) => {
                let place = self.proceed(NewestPart::Thought);
                reply.thinking(place, &text)?;
            }
            // A signed thought is sent back whole.
            (true, Some(_)) => {
                let place = self.begin(NewestPart::Closed);
                reply.opaque(place, PROVIDER, raw.get().to_owned())?;
            }
            (false, None) => {
                let place = self.proceed(NewestPart::Text);
                reply.text(place, &text)?;
            }
            (false, Some(signature)) => {
                let place = self.begin(NewestPart::Closed);
                reply.text(place, &text)?;
                reply.signature(place, signature)?;
            }
        }
        Ok(())
    }

    /// Returns the position of a new part.
    fn begin(&mut self, newest: NewestPart) -> (u64, u64) {
        self.place += 1;
        self.newest = newest;
        (self.place, 0)
    }

    /// Returns the position of the part that a fragment of this kind continues.
    fn proceed(&mut self, kind: NewestPart) -> (u64, u64) {
        if self.newest == kind { (self.place, 0) } else { self.begin(kind) }
    }
}
