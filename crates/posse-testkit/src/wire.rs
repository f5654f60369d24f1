//! The bytes of the four wire formats, for tests that play the provider.
//!
//! `Say` is what the model says in one turn. `Say::answer` looks at a request and says it in the format of that
//! request, streamed if it asked for a stream; `turn` and `results` read a request in any format.

use serde_json::{Value, json};

use crate::server::{Answer, Recorded};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopbackFormat {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
}

impl LoopbackFormat {
    pub const ALL: [LoopbackFormat; 4] = [
        LoopbackFormat::Anthropic,
        LoopbackFormat::OpenAiChat,
        LoopbackFormat::OpenAiResponses,
        LoopbackFormat::Gemini,
    ];

    /// The format of a request, by its path.
    pub fn of(request: &Recorded) -> Option<Self> {
        let path = request.path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") {
            Some(LoopbackFormat::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(LoopbackFormat::OpenAiChat)
        } else if path.ends_with("/responses") {
            Some(LoopbackFormat::OpenAiResponses)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(LoopbackFormat::Gemini)
        } else {
            None
        }
    }
}

/// One reply of a model. The figures of usage are the same in every format: 1012 tokens in, of which 900 cached
/// (and 100 written, where that is counted), 50 out, of which 7 reasoning (where that is counted).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Say {
    pub thinking: Option<(String, String)>,
    pub text: Option<String>,
    pub calls: Vec<Call>,
    /// The format's own word for the stop, instead of the usual one.
    pub stop: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

impl Say {
    pub fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::default() }
    }

    pub fn call(id: &str, name: &str, arguments: Value) -> Self {
        Self::default().and_call(id, name, arguments)
    }

    pub fn and_call(mut self, id: &str, name: &str, arguments: Value) -> Self {
        self.calls.push(Call { id: id.to_owned(), name: name.to_owned(), arguments });
        self
    }

    /// Reasoning that must come back: text and signature, or their equivalent in the format.
    pub fn thinking(mut self, text: &str, signature: &str) -> Self {
        self.thinking = Some((text.to_owned(), signature.to_owned()));
        self
    }

    pub fn stop(mut self, stop: &str) -> Self {
        self.stop = Some(stop.to_owned());
        self
    }

    /// Says it in the format of the request, streamed if the request wants a stream.
    pub fn answer(&self, request: &Recorded) -> Answer {
        let Some(format) = LoopbackFormat::of(request) else {
            return Answer::new(404, "text/plain", "no such path");
        };
        let streamed = match format {
            LoopbackFormat::Gemini => request.path.contains("stream"),
            LoopbackFormat::Anthropic | LoopbackFormat::OpenAiChat | LoopbackFormat::OpenAiResponses => {
                request.json()["stream"] == true
            }
        };
        if streamed { Answer::sse(self.sse(format)) } else { Answer::json(200, &self.json(format)) }
    }

    pub fn json(&self, format: LoopbackFormat) -> Value {
        match format {
            LoopbackFormat::Anthropic => self.anthropic(),
            LoopbackFormat::OpenAiChat => self.chat(),
            LoopbackFormat::OpenAiResponses => self.responses(),
            LoopbackFormat::Gemini => self.gemini(),
        }
    }

    pub fn sse(&self, format: LoopbackFormat) -> Vec<u8> {
        self.events(format).concat()
    }

    /// The events of the stream one by one, so that a test can cut between them.
    pub fn events(&self, format: LoopbackFormat) -> Vec<Vec<u8>> {
        match format {
            LoopbackFormat::Anthropic => self.anthropic_events(),
            LoopbackFormat::OpenAiChat => self.chat_events(),
            LoopbackFormat::OpenAiResponses => self.responses_events(),
            LoopbackFormat::Gemini => self.gemini_events(),
        }
    }

    fn stop_or(&self, with_calls: &str, without: &str) -> String {
        let usual = if self.calls.is_empty() { without } else { with_calls };
        self.stop.clone().unwrap_or_else(|| usual.to_owned())
    }

    fn anthropic(&self) -> Value {
        let mut content = Vec::new();
        if let Some((text, signature)) = &self.thinking {
            content.push(json!({"type": "thinking", "thinking": text, "signature": signature}));
        }
        if let Some(text) = &self.text {
            content.push(json!({"type": "text", "text": text}));
        }
        for call in &self.calls {
            content
                .push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}));
        }
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": self.stop_or("tool_use", "end_turn"), "stop_sequence": null,
            "usage": {"input_tokens": 12, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900,
                "output_tokens": 50}})
    }

    fn anthropic_events(&self) -> Vec<Vec<u8>> {
        let whole = self.anthropic();
        let mut events = vec![named(
            "message_start",
            json!({"message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                "stop_reason": null, "usage": {"input_tokens": 12, "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 900, "output_tokens": 1}}}),
        )];
        events.push(named("ping", json!({})));
        for (index, block) in whole["content"].as_array().into_iter().flatten().enumerate() {
            let kind = block["type"].as_str().unwrap_or_default();
            let (start, deltas) = match kind {
                "text" => (
                    json!({"type": "text", "text": ""}),
                    pieces(&block["text"])
                        .map(|piece| json!({"type": "text_delta", "text": piece}))
                        .collect::<Vec<_>>(),
                ),
                "thinking" => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    pieces(&block["thinking"])
                        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                        .chain([json!({"type": "signature_delta", "signature": block["signature"]})])
                        .collect(),
                ),
                _ => (
                    json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                    [json!({"type": "input_json_delta", "partial_json": ""})]
                        .into_iter()
                        .chain(
                            pieces(&json!(block["input"].to_string()))
                                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
                        )
                        .collect(),
                ),
            };
            events.push(named("content_block_start", json!({"index": index, "content_block": start})));
            for delta in deltas {
                events.push(named("content_block_delta", json!({"index": index, "delta": delta})));
            }
            events.push(named("content_block_stop", json!({"index": index})));
        }
        events.push(named(
            "message_delta",
            json!({"delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null},
                "usage": {"output_tokens": 50}}),
        ));
        events.push(named("message_stop", json!({})));
        events
    }

    fn chat_usage() -> Value {
        json!({"prompt_tokens": 1012, "completion_tokens": 50, "total_tokens": 1062,
            "prompt_tokens_details": {"cached_tokens": 900}, "completion_tokens_details": {"reasoning_tokens": 7}})
    }

    fn chat(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text, "refusal": null});
        if let Some((text, _)) = &self.thinking {
            message["reasoning_content"] = json!(text);
        }
        if !self.calls.is_empty() {
            let call = |call: &Call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments.to_string()}})
            };
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "usage": Self::chat_usage(),
            "choices": [{"index": 0, "message": message, "finish_reason": self.stop_or("tool_calls", "stop")}]})
    }

    fn chat_events(&self) -> Vec<Vec<u8>> {
        let chunk = |delta: Value, finish: Value| {
            plain(json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null}))
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": null}), Value::Null)];
        if let Some((text, _)) = &self.thinking {
            events.extend(
                pieces(&json!(text)).map(|piece| chunk(json!({"reasoning_content": piece}), Value::Null)),
            );
        }
        if let Some(text) = &self.text {
            events.extend(pieces(&json!(text)).map(|piece| chunk(json!({"content": piece}), Value::Null)));
        }
        for (index, call) in self.calls.iter().enumerate() {
            let begin = json!({"index": index, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": ""}});
            events.push(chunk(json!({"tool_calls": [begin]}), Value::Null));
        }
        // The fragments of all calls are interleaved, as the specification allows.
        let texts: Vec<Value> = self.calls.iter().map(|call| json!(call.arguments.to_string())).collect();
        let mut fragments: Vec<(usize, usize, String)> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            fragments.extend(pieces(text).enumerate().map(|(order, piece)| (order, index, piece)));
        }
        fragments.sort_by_key(|(order, index, _)| (*order, *index));
        for (_, index, piece) in fragments {
            let fragment = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [fragment]}), Value::Null));
        }
        events.push(chunk(json!({}), json!(self.stop_or("tool_calls", "stop"))));
        events.push(plain(json!({"id": "chatcmpl-1", "choices": [], "usage": Self::chat_usage()})));
        events.push(b"data: [DONE]\n\n".to_vec());
        events
    }

    fn responses(&self) -> Value {
        let mut output = Vec::new();
        if let Some((text, signature)) = &self.thinking {
            output.push(json!({"type": "reasoning", "id": "rs_1", "status": null,
                "summary": [{"type": "summary_text", "text": text}], "encrypted_content": signature}));
        }
        if let Some(text) = &self.text {
            output.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}));
        }
        for (index, call) in self.calls.iter().enumerate() {
            output.push(json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": call.id,
                "name": call.name, "arguments": call.arguments.to_string(), "status": "completed"}));
        }
        let (status, details) = match self.stop.as_deref() {
            None | Some("completed") => ("completed", Value::Null),
            Some(reason) => ("incomplete", json!({"reason": reason})),
        };
        json!({"id": "resp_1", "object": "response", "status": status, "model": "m", "output": output,
            "error": null, "incomplete_details": details,
            "usage": {"input_tokens": 1012, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 50,
                "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 1062}})
    }

    fn responses_events(&self) -> Vec<Vec<u8>> {
        let whole = self.responses();
        let mut events =
            vec![named("response.created", json!({"response": {"id": "resp_1", "status": "in_progress"}}))];
        for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
            let mut begun = item.clone();
            begun["status"] = json!("in_progress");
            let (kind, text) = match item["type"].as_str() {
                Some("message") => {
                    begun["content"] = json!([]);
                    ("response.output_text.delta", item["content"][0]["text"].clone())
                }
                Some("function_call") => {
                    begun["arguments"] = json!("");
                    ("response.function_call_arguments.delta", item["arguments"].clone())
                }
                _ => ("response.reasoning_summary_text.delta", item["summary"][0]["text"].clone()),
            };
            events.push(named("response.output_item.added", json!({"output_index": index, "item": begun})));
            for piece in pieces(&text) {
                events.push(named(kind, json!({"output_index": index, "content_index": 0, "delta": piece})));
            }
            events.push(named("response.output_item.done", json!({"output_index": index, "item": item})));
        }
        let last = if whole["status"] == "completed" { "response.completed" } else { "response.incomplete" };
        events.push(named(last, json!({"response": whole})));
        events
    }

    fn gemini_parts(&self) -> Vec<Value> {
        let mut parts = Vec::new();
        let mut signature = None;
        if let Some((text, signed)) = &self.thinking {
            parts.push(json!({"text": text, "thought": true}));
            signature = Some(signed);
        }
        if let Some(text) = &self.text {
            parts.push(json!({"text": text}));
        }
        for call in &self.calls {
            let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
            if !call.id.is_empty() {
                part["functionCall"]["id"] = json!(call.id);
            }
            // Only the first of parallel calls is signed.
            if let Some(signature) = signature.take() {
                part["thoughtSignature"] = json!(signature);
            }
            parts.push(part);
        }
        if let Some(signature) = signature {
            parts.push(json!({"text": "", "thoughtSignature": signature}));
        }
        parts
    }

    fn gemini(&self) -> Value {
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": self.gemini_parts()},
                "finishReason": self.stop_or("STOP", "STOP")}],
            "usageMetadata": {"promptTokenCount": 1012, "cachedContentTokenCount": 900,
                "candidatesTokenCount": 43, "thoughtsTokenCount": 7, "totalTokenCount": 1062}})
    }

    fn gemini_events(&self) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for part in self.gemini_parts() {
            let split: Vec<Value> = match part["text"].as_str() {
                Some(text) if part["thoughtSignature"].is_null() && !text.is_empty() => pieces(&part["text"])
                    .map(|piece| {
                        let mut part = part.clone();
                        part["text"] = json!(piece);
                        part
                    })
                    .collect(),
                _ => vec![part],
            };
            for part in split {
                events.push(plain(json!({"candidates": [{"index": 0,
                    "content": {"role": "model", "parts": [part]}}]})));
            }
        }
        let mut last = self.gemini();
        last["candidates"][0]["content"]["parts"] = json!([]);
        events.push(plain(last));
        events
    }
}

fn named(name: &str, mut data: Value) -> Vec<u8> {
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

fn plain(data: Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

/// A text in pieces of a few characters, as models send it.
fn pieces(text: &Value) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.as_str().unwrap_or_default().chars().collect();
    let pieces: Vec<String> = characters.chunks(7).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// Turn that a request asks for, from 0: the number of model turns in its history.
pub fn turn(request: &Recorded) -> usize {
    let body = request.json();
    let count = |list: &str, test: &dyn Fn(&Value) -> bool| {
        body[list].as_array().map_or(0, |items| items.iter().filter(|item| test(item)).count())
    };
    match LoopbackFormat::of(request) {
        Some(LoopbackFormat::Anthropic | LoopbackFormat::OpenAiChat) => {
            count("messages", &|m| m["role"] == "assistant")
        }
        Some(LoopbackFormat::Gemini) => count("contents", &|m| m["role"] == "model"),
        Some(LoopbackFormat::OpenAiResponses) => {
            // A turn is an unbroken row of items the model made.
            let is_ours = |item: &Value| item["role"] == "user" || item["type"] == "function_call_output";
            let items = body["input"].as_array().cloned().unwrap_or_default();
            let starts = |pair: &[Value]| is_ours(&pair[0]) && !is_ours(&pair[1]);
            items.windows(2).filter(|pair| starts(pair)).count()
        }
        None => 0,
    }
}

/// The texts of all tool results in a request, in order.
pub fn results(request: &Recorded) -> Vec<String> {
    let body = request.json();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match LoopbackFormat::of(request) {
        Some(LoopbackFormat::Anthropic) => {
            let blocks = list(&body["messages"]).into_iter().flat_map(|m| list(&m["content"]));
            blocks.filter(|b| b["type"] == "tool_result").map(|b| text(&b["content"])).collect()
        }
        Some(LoopbackFormat::OpenAiChat) => {
            let messages = list(&body["messages"]).into_iter();
            messages.filter(|m| m["role"] == "tool").map(|m| text(&m["content"])).collect()
        }
        Some(LoopbackFormat::OpenAiResponses) => {
            let items = list(&body["input"]).into_iter();
            items.filter(|i| i["type"] == "function_call_output").map(|i| text(&i["output"])).collect()
        }
        Some(LoopbackFormat::Gemini) => {
            let parts = list(&body["contents"]).into_iter().flat_map(|c| list(&c["parts"]));
            let responses = parts.filter_map(|p| p.get("functionResponse").cloned());
            responses
                .map(|r| {
                    let response = &r["response"];
                    text(response.get("output").unwrap_or(&response["error"]))
                })
                .collect()
        }
        None => Vec::new(),
    }
}
