//! The conversation. The list only grows, and everything put into it is bounded.
//!
//! These types derive `Serialize` because they are what the journal keeps: their form is a promise to old stores.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::edits::FileChange;
use crate::id::CallKey;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        text: String,
    },
    Assistant {
        blocks: Vec<Block>,
    },
    /// The answers to all tool calls of the assistant message before it, in call order.
    Results {
        results: Vec<ToolResult>,
    },
}

/// One block of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
        /// A provider's signature over this part, sent back unchanged (Gemini signs parts).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Reasoning that its provider wants back, with the proof that it is its own.
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Shared with what is planned and written down about it.
    ToolCall(Arc<ToolCall>),
    /// A block only its own provider understands (redacted thinking, encrypted reasoning, server tools): kept as
    /// JSON text and sent back to that provider, left out for any other.
    Opaque { provider: String, json: String },
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub key: CallKey,
    /// The id on the wire: unique within the run, because `Run` renames repeated and missing ones.
    pub id: String,
    pub name: String,
    pub arguments: CallArguments,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The arguments of a call, judged once when the reply was read. Only `Object` can be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "text", rename_all = "snake_case")]
pub enum CallArguments {
    /// JSON text of an object, without duplicate keys.
    Object(String),
    /// The text ends in the middle of a value: the model ran out of output tokens.
    Truncated(String),
    /// Not JSON, or JSON that is not an object; the second string says what is wrong.
    Invalid(String, String),
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub key: CallKey,
    pub id: String,
    pub name: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The call itself was wrong (unknown tool, bad arguments, not granted), as opposed to a tool that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mistake: bool,
    /// The effect may or may not have happened: the process died between intent and outcome.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// A poll that was answered "not yet". It may be repeated as long as there are turns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// Files the call changed, relative to the task's workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<FileChange>,
}

impl Message {
    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Message::User { text: text.into() }
    }
}

impl Block {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), signature: None }
    }
}

impl CallArguments {
    /// Judges what a provider sent as arguments. An empty string is how several providers say "no arguments".
    pub fn judge(text: &str) -> Self {
        if text.trim().is_empty() || text.trim() == "null" {
            return CallArguments::Object("{}".to_owned());
        }
        match serde_json::from_str::<UniqueKeys>(text) {
            Ok(UniqueKeys::Object) => CallArguments::Object(text.to_owned()),
            Ok(UniqueKeys::Other(found)) => CallArguments::Invalid(
                text.to_owned(),
                format!("arguments must be a JSON object, found {found}"),
            ),
            Err(e) if e.is_eof() => CallArguments::Truncated(text.to_owned()),
            Err(e) => CallArguments::Invalid(text.to_owned(), e.to_string()),
        }
    }

    /// The object's JSON text; `{}` stands in for arguments that never were an object, so that a history is
    /// always valid for the provider.
    pub fn as_object_text(&self) -> &str {
        match self {
            CallArguments::Object(text) => text,
            CallArguments::Truncated(_) | CallArguments::Invalid(..) => "{}",
        }
    }
}

impl ToolResult {
    /// Creates a successful result.
    pub fn new(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            key: call.key,
            id: call.id.clone(),
            name: call.name.clone(),
            text: text.into(),
            is_error: false,
            mistake: false,
            in_doubt: false,
            pending: false,
            changed: Vec::new(),
        }
    }

    /// Creates an error result.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::new(call, text) }
    }

    /// Creates an error result for a mistake of the model, such as broken arguments.
    pub fn mistake(call: &ToolCall, text: impl Into<String>) -> Self {
        Self { is_error: true, mistake: true, ..Self::new(call, text) }
    }
}

/// A JSON value checked for repeated keys at every level: of two equal keys one would be shown to the approver and
/// the other executed.
enum UniqueKeys {
    Object,
    Other(&'static str),
}

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> serde::de::Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<UniqueKeys, A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<UniqueKeys>()?;
            if let Some(repeated) = seen.replace(key) {
                return Err(serde::de::Error::custom(format!("the key `{repeated}` appears twice")));
            }
        }
        Ok(UniqueKeys::Object)
    }
    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<UniqueKeys, A::Error> {
        while seq.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys::Other("a list"))
    }
    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("a string"))
    }
    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("a boolean"))
    }
    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("a number"))
    }
    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("a number"))
    }
    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("a number"))
    }
    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys::Other("null"))
    }
}

/// Returns the first fault of a history with its position; `None` if every provider would accept it.
pub fn find_fault(messages: &[Message]) -> Option<String> {
    let mut ids = std::collections::HashSet::new();
    let mut open: Vec<(CallKey, &str)> = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        if !open.is_empty() && !matches!(message, Message::Results { .. }) {
            return Some(format!("message {position} follows unanswered tool calls"));
        }
        match message {
            Message::User { text } if text.trim().is_empty() => {
                return Some(format!("message {position} (user) is empty"));
            }
            Message::User { .. } => {}
            Message::Assistant { blocks } if blocks.is_empty() => {
                return Some(format!("message {position} (assistant) is empty"));
            }
            Message::Assistant { blocks } => {
                for call in blocks.iter().filter_map(Block::as_call) {
                    if !ids.insert(call.id.as_str()) {
                        return Some(format!("message {position} repeats a tool call id"));
                    }
                    open.push((call.key, &call.id));
                }
            }
            Message::Results { results } => {
                let answered: Vec<_> = results.iter().map(|r| (r.key, r.id.as_str())).collect();
                if answered != open || open.is_empty() {
                    return Some(format!("message {position} does not answer the calls before it in order"));
                }
                open.clear();
            }
        }
    }
    (!open.is_empty()).then(|| "the last tool calls are unanswered".to_owned())
}

impl Block {
    /// Creates a tool call block.
    pub fn call(call: ToolCall) -> Self {
        Block::ToolCall(Arc::new(call))
    }

    /// Returns the tool call, if the block is one.
    pub fn as_call(&self) -> Option<&Arc<ToolCall>> {
        match self {
            Block::ToolCall(call) => Some(call),
            Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_judged_once() {
        let cases = [
            ("", CallArguments::Object("{}".into())),
            ("null", CallArguments::Object("{}".into())),
            (r#"{"a":1}"#, CallArguments::Object(r#"{"a":1}"#.into())),
            (r#"{"a":[1,"#, CallArguments::Truncated(r#"{"a":[1,"#.into())),
        ];
        for (text, expected) in cases {
            assert_eq!(CallArguments::judge(text), expected, "{text}");
        }
        for (text, why) in [
            ("[1]", "found a list"),
            (r#""{\"a\":1}""#, "found a string"),
            ("{a:1}", "key must be a string"),
            (r#"{"a":{"b":1,"b":2}}"#, "`b` appears twice"),
        ] {
            let CallArguments::Invalid(kept, reason) = CallArguments::judge(text) else {
                panic!("{text} was accepted")
            };
            assert_eq!(kept, text);
            assert!(reason.contains(why), "{text}: {reason}");
        }
    }
}
