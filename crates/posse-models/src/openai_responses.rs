//! OpenAI Responses, without storage at the provider.
//!
//! The conversation is a list of items. Reasoning comes encrypted and is sent back unchanged, right before the calls it
//! led to. A stream is read by its finished items; its deltas are only shown.

use std::borrow::Cow;

use posse_core::error::Result;
use posse_core::message::{Block, Message};
use posse_core::reply::{FailureKind, ModelFailure, ReplyStop};
use posse_runtime::ports::{Delta, DeltaSink, ModelRequest, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::ReplyAssembler;
use crate::body::{BodyEncoder, JsonBuffer, TextEnding, legal_id, legal_name};
use crate::client::{ProviderClient, ProviderFormat};
use crate::exchange::{OptionalText, ReadError, ReadProgress, ReadResult, Reader, StreamEnd, WireCodec};
use crate::openai_chat::{TokenDetails, arguments, effort_wire, marked};
use crate::sse::SseEvent;
use crate::tokens::{ReportedCount, ReportedUsage};

pub use crate::openai_chat::BASE_URL;

/// The tag of items that only this format understands.
const PROVIDER: &str = "openai-responses";
/// Maximum items: a reply with more is broken.
const ITEMS_MAX: usize = 4096;

/// Client for OpenAI's Responses API.
pub type OpenAiResponses = ProviderClient<OpenaiResponses>;

/// The Responses wire format.
#[derive(Debug, Clone, Default)]
pub struct OpenaiResponses;

impl ProviderFormat for OpenaiResponses {
    const PROVIDER: &'static str = "openai";
}

impl OpenAiResponses {
    /// Tells whether the model accepts a request for encrypted reasoning; models before the reasoning ones refuse it.
    fn reasons(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or(&self.model);
        !["gpt-3", "gpt-4", "chatgpt"].iter().any(|old| name.starts_with(old))
    }
}

impl WireCodec for OpenAiResponses {
    type AnswerReader = ResponseReader;

    fn path(&self, _: bool) -> String {
        "/responses".to_owned()
    }
}

impl BodyEncoder for OpenAiResponses {
    const WIRE: &'static str = "openai_responses";

    fn model(&self) -> &str {
        &self.model
    }

    fn head(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        out.raw(r#"{"model":"#);
        out.string(&self.model);
        out.raw(r#","store":false"#);
        if self.reasons() {
            out.raw(r#","include":["reasoning.encrypted_content"]"#);
        }
        if !request.system.trim().is_empty() {
            out.field("instructions", request.system);
        }
        if !request.tools.is_empty() {
            out.raw(r#","tools":"#);
            let open = r#"{"type":"function","strict":false,"name":"#;
            out.tools(request.tools, open, "parameters", ["", "}"])?;
        }
        out.raw(r#","input":["#);
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
                    out.raw(r#"{"type":"function_call_output","call_id":"#);
                    out.string(&legal_id(&result.id));
                    out.field("output", &marked(&result.text, result.is_error));
                    out.raw("}");
                }
            }
            Message::Assistant { blocks } => blocks.iter().for_each(|block| block_item(block, out)),
        }
        TextEnding::Whole
    }

    fn tail(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure> {
        let settings = request.settings;
        out.raw("]");
        out.number("max_output_tokens", request.output_tokens_max);
        if !settings.buffered {
            out.raw(r#","stream":true"#);
        }
        if let Some(temperature) = settings.temperature {
            out.number("temperature", temperature);
        }
        if let Some(effort) = settings.effort.filter(|_| self.reasons()) {
            out.raw(r#","reasoning":{"effort":"#);
            out.string(effort_wire(&self.model, effort));
            out.raw("}");
        }
        if let Some(schema) = &settings.output_schema {
            out.raw(r#","text":{"format":{"type":"json_schema","name":"answer","strict":false,"schema":"#);
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

fn block_item(block: &Block, out: &mut JsonBuffer) {
    match block {
        Block::Text { text, .. } if text.is_empty() => {}
        Block::Text { text, .. } => {
            out.item();
            out.raw(r#"{"role":"assistant","content":"#);
            out.string(text);
            out.raw("}");
        }
        Block::ToolCall(call) => {
            out.item();
            out.raw(r#"{"type":"function_call","call_id":"#);
            out.string(&legal_id(&call.id));
            out.field("name", &legal_name(&call.name));
            out.field("arguments", call.arguments.as_object_text());
            out.raw("}");
        }
        Block::Opaque { provider, json } if provider == PROVIDER => {
            if serde_json::from_str::<&RawValue>(json).is_ok() {
                out.item();
                out.raw(json);
            }
        }
        // The API does not take back reasoning that is only text.
        Block::Thinking { .. } | Block::Opaque { .. } => {}
    }
}

#[derive(Default)]
pub(crate) struct ResponseReader {
    items: Vec<(u64, String)>,
    /// Output positions whose text or arguments were already shown.
    shown: Vec<u64>,
    calls_shown: Vec<u64>,
    ended: Option<StreamEnd>,
}

#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: u64,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<OptionalText<'a>>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResponseBody<'a> {
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    output: Vec<&'a RawValue>,
    #[serde(default, deserialize_with = "crate::tokens::lenient")]
    usage: Option<ResponsesUsage>,
    incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage {
    input_tokens: ReportedCount,
    output_tokens: ReportedCount,
    input_tokens_details: Option<TokenDetails>,
    output_tokens_details: Option<TokenDetails>,
}

#[derive(Deserialize)]
struct ResponseItem<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<OptionalText<'a>>,
    #[serde(borrow)]
    call_id: Option<OptionalText<'a>>,
    #[serde(borrow)]
    name: Option<OptionalText<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Vec<ItemPart<'a>>>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    encrypted_content: Option<OptionalText<'a>>,
}

#[derive(Deserialize)]
struct ItemPart<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<OptionalText<'a>>,
    #[serde(borrow)]
    refusal: Option<OptionalText<'a>>,
}

impl Reader for ResponseReader {
    fn event(&mut self, event: &SseEvent, reply: &mut ReplyAssembler<'_>) -> ReadResult<ReadProgress> {
        if event.data.trim() == "[DONE]" {
            return Ok(if self.ended.is_some() { ReadProgress::Done } else { ReadProgress::More });
        }
        let read: ResponsesEvent<'_> = serde_json::from_str(&event.data)?;
        let kind = if read.kind.is_empty() { event.name.as_str() } else { read.kind.as_ref() };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.show(&read, Delta::Text, reply.deltas());
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.show(&read, Delta::Thinking, reply.deltas());
            }
            "response.function_call_arguments.delta" => {
                if let Some(index) = self.calls_shown.iter().position(|shown| *shown == read.output_index) {
                    self.show(&read, |fragment| Delta::ToolArguments { index, fragment }, reply.deltas());
                }
            }
            "response.output_item.added" => {
                if let Some(item) = read.item {
                    let item: ResponseItem<'_> = serde_json::from_str(item.get())?;
                    self.show_call(read.output_index, &item, reply.deltas());
                }
            }
            "response.output_item.done" => self.store_item(read.output_index, read.item, reply.deltas())?,
            "response.completed" | "response.incomplete" | "response.done" => {
                let Some(response) = read.response else {
                    return Err(ReadError::Unreadable("the last event has no response".to_owned()));
                };
                self.last(response.get(), reply)?;
                return Ok(ReadProgress::Done);
            }
            "response.failed" | "response.cancelled" => {
                return Err(ReadError::provider(read.response.map_or("{}", RawValue::get)));
            }
            "error" => return Err(ReadError::provider(&event.data)),
            _ => {}
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, body: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        self.last(body, reply)
    }

    fn ended(&mut self, _: &mut ReplyAssembler<'_>) -> Option<StreamEnd> {
        self.ended.take()
    }
}

impl ResponseReader {
    fn show<'t>(
        &mut self,
        read: &'t ResponsesEvent<'_>,
        delta: impl Fn(&'t str) -> Delta<'t>,
        deltas: &dyn DeltaSink,
    ) {
        if self.shown.last() != Some(&read.output_index) && self.shown.len() < ITEMS_MAX {
            self.shown.push(read.output_index);
        }
        if let Some(text) = read.delta.as_deref().filter(|text| !text.is_empty()) {
            deltas.delta(delta(text));
        }
    }

    fn show_call(&mut self, output_index: u64, item: &ResponseItem<'_>, deltas: &dyn DeltaSink) {
        if item.kind == "function_call"
            && !self.calls_shown.contains(&output_index)
            && self.calls_shown.len() < ITEMS_MAX
        {
            let name = posse_core::text::prefix(item.name.as_deref().unwrap_or_default(), 1024);
            deltas.delta(Delta::ToolCall { index: self.calls_shown.len(), name });
            self.calls_shown.push(output_index);
        }
    }

    /// Keeps a finished item, and shows it if the server sent no deltas.
    fn store_item(
        &mut self,
        output_index: u64,
        item: Option<&RawValue>,
        deltas: &dyn DeltaSink,
    ) -> ReadResult {
        let Some(raw) = item else { return Ok(()) };
        if self.items.len() == ITEMS_MAX {
            let message = format!("the reply has more than {ITEMS_MAX} items");
            return Err(ModelFailure::new(FailureKind::Protocol, message).into());
        }
        let item: ResponseItem<'_> = serde_json::from_str(raw.get())?;
        self.show_call(output_index, &item, deltas);
        if !self.shown.contains(&output_index) {
            for part in item.content.iter().flatten().filter(|_| item.kind == "message") {
                for text in [&part.text, &part.refusal].into_iter().flatten() {
                    deltas.delta(Delta::Text(text));
                }
            }
            self.shown.push(output_index);
        }
        self.items.push((output_index, raw.get().to_owned()));
        Ok(())
    }

    /// Reads the response object that ends a reply.
    fn last(&mut self, json: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult {
        let response: ResponseBody<'_> = serde_json::from_str(json)?;
        if response.error.is_some_and(|error| error.get() != "null") || response.status == "failed" {
            return Err(ReadError::provider(json));
        }
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(|(output_index, _)| *output_index);
        // Some servers repeat all items here and some none, so the longer list is the reply.
        if response.output.len() > items.len() {
            for (output_index, item) in (0..).zip(&response.output) {
                if !items.iter().any(|(have, _)| *have == output_index) {
                    self.store_item(output_index, Some(item), reply.deltas())?;
                }
            }
            self.items.clear();
            items = (0..).zip(response.output.iter().map(|item| item.get().to_owned())).collect();
        }

        // All deltas were shown above.
        reply.mute();
        let mut refused = false;
        for (place, (_, item)) in (0..).zip(&items) {
            refused |= self.item(place, item, reply)?;
        }

        let stop = match (response.status.as_ref(), response.incomplete_details) {
            _ if refused => ReplyStop::Refusal,
            ("incomplete", Some(details)) => match details.reason.as_str() {
                "max_output_tokens" | "max_tokens" => ReplyStop::MaxTokens,
                "content_filter" => ReplyStop::Refusal,
                _ => ReplyStop::Other(format!("incomplete: {}", details.reason)),
            },
            ("completed" | "", _) if reply.calls() > 0 => ReplyStop::ToolUse,
            ("completed" | "", _) => ReplyStop::EndTurn,
            (status, _) => ReplyStop::Other(status.to_owned()),
        };
        let usage = response.usage.unwrap_or_default();
        let counts = ReportedUsage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.input_tokens_details.unwrap_or_default().cached_tokens,
            cache_write: ReportedCount::Missing,
            reasoning: usage.output_tokens_details.unwrap_or_default().reasoning_tokens,
        };
        self.ended = Some(StreamEnd { stop, counts, note: None, has_marker: false });
        Ok(())
    }

    /// Adds one item to the reply; true if it is a refusal.
    fn item(&self, place: u64, raw: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult<bool> {
        let item: ResponseItem<'_> = serde_json::from_str(raw)?;
        let mut refused = false;
        match item.kind.as_ref() {
            "message" => {
                for (number, part) in (0..).zip(item.content.unwrap_or_default()) {
                    refused |= part.kind == "refusal";
                    for text in [part.text, part.refusal].into_iter().flatten() {
                        reply.text((place, number), &text)?;
                    }
                }
            }
            "function_call" => {
                let place = (place, 0);
                let id = item.call_id.or(item.id).unwrap_or_default();
                reply.call(place, &id, item.name.as_deref().unwrap_or_default())?;
                arguments(item.arguments, place, reply)?;
            }
            "reasoning" => reasoning(place, &item, reply)?,
            // Items of server tools: only their own provider can use them again.
            _ => reply.opaque((place, 0), PROVIDER, raw.to_owned())?,
        }
        Ok(refused)
    }
}

fn reasoning(place: u64, item: &ResponseItem<'_>, reply: &mut ReplyAssembler<'_>) -> ReadResult {
    let summary = item.summary.map_or("[]", RawValue::get);
    let Some(encrypted) = item.encrypted_content.as_deref() else {
        let summary: Vec<ItemPart<'_>> = serde_json::from_str(summary).unwrap_or_default();
        for part in summary.iter().chain(item.content.iter().flatten()) {
            reply.thinking((place, 0), part.text.as_deref().unwrap_or_default())?;
        }
        return Ok(());
    };
    // Only fields that the API takes back: it refuses `status` and `content` of a stored item.
    let id = item.id.as_deref().map(|id| format!("\"id\":{},", serde_json::json!(id))).unwrap_or_default();
    let encrypted = serde_json::json!(encrypted);
    let json = format!(r#"{{"type":"reasoning",{id}"summary":{summary},"encrypted_content":{encrypted}}}"#);
    reply.opaque((place, 0), PROVIDER, json)?;
    Ok(())
}
