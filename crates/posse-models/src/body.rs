//! The request body of a conversation that only grows.
//!
//! Serialized bytes of one turn are reused in the next, so a turn costs the serialization of its new messages only.
//! Everything that may change between calls is in the tail, after the prefix (model, system, tools, messages). Both are
//! one buffer, which is truncated to the prefix before it grows again: a body of one piece goes out in one write.

use bytes::{BufMut, Bytes, BytesMut};
use posse_core::message::Message;
use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::tool::ToolSpec;
use posse_runtime::ports::ModelRequest;
use serde::Serialize;
use serde_json::value::RawValue;

/// Rough size of the first request besides the system prompt: a short task and a few tools.
const FIRST_BYTES: usize = 1_536;

/// Writer of conversations in one wire format. The JSON object is `head`, the messages, `tail`.
pub trait BodyEncoder {
    /// Distinguishes formats in a memo that several models share.
    const WIRE: &'static str;

    fn model(&self) -> &str;
    /// Writes everything up to and including the opening bracket of the messages.
    fn head(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure>;
    /// Writes one message as zero or more elements of the list; each starts with `out.item()`.
    fn message(&self, message: &Message, out: &mut JsonBuffer) -> TextEnding;
    /// Writes everything from the closing bracket of the messages to the end.
    fn tail(&self, request: &ModelRequest<'_>, out: &mut JsonBuffer) -> Result<(), ModelFailure>;
}

/// Ending of the last message's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextEnding {
    /// The message is complete, or nothing was written.
    #[default]
    Whole,
    /// The last block still lacks `close`; `mark` may be written before it.
    Open { close: &'static str, mark: &'static str },
}

/// Encoded prefix that a run keeps between its calls.
#[derive(Default)]
pub struct BodyMemo {
    key: Option<PrefixKey>,
    /// The last body; its first `prefix` bytes are the beginning of the next.
    body: Bytes,
    prefix: usize,
    messages: usize,
    items: usize,
    ending: TextEnding,
    work: EncodingWork,
}

/// Cost of building bodies so far: the proof that a turn's cost does not grow with the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodingWork {
    /// Bytes that were turned from values into JSON.
    pub serialised: u64,
    /// Bytes of prefix that had to be copied because the last request still held them.
    pub copied: u64,
    /// Number of builds from scratch.
    pub rebuilds: u64,
}

impl BodyMemo {
    /// Returns the cost so far.
    pub fn work(&self) -> EncodingWork {
        self.work
    }
}

/// Inputs of the prefix besides the messages. System and tools are compared by value: one memory comparison of a
/// constant size, which a reused address cannot fool.
#[derive(PartialEq)]
struct PrefixKey {
    wire: &'static str,
    model: String,
    generation: u64,
    system: String,
    tools: Vec<ToolSpec>,
}

impl PrefixKey {
    fn fits<E: BodyEncoder>(&self, encoder: &E, request: &ModelRequest<'_>) -> bool {
        self.wire == E::WIRE
            && self.generation == request.generation
            && self.model == encoder.model()
            && self.system == request.system
            && self.tools == request.tools
    }
}

/// Builds the body for `request`, reusing the memo.
pub fn encode<E: BodyEncoder>(
    encoder: &E,
    request: &mut ModelRequest<'_>,
) -> Result<EncodedBody, ModelFailure> {
    let mut memo = std::mem::take(request.memo.value::<BodyMemo>());
    let result = extend(encoder, request, &mut memo);
    if result.is_err() {
        memo = BodyMemo { work: memo.work, ..BodyMemo::default() };
    }
    *request.memo.value::<BodyMemo>() = memo;
    result
}

fn extend<E: BodyEncoder>(
    encoder: &E,
    request: &ModelRequest<'_>,
    memo: &mut BodyMemo,
) -> Result<EncodedBody, ModelFailure> {
    let reusable = memo.messages <= request.messages.len()
        && memo.key.as_ref().is_some_and(|key| key.fits(encoder, request));
    let mut out = if reusable {
        let (buffer, copied) = cut_back(std::mem::take(&mut memo.body), memo.prefix);
        memo.work.copied += copied;
        JsonBuffer { buffer, items: memo.items }
    } else {
        let mut out =
            JsonBuffer { buffer: BytesMut::with_capacity(request.system.len() + FIRST_BYTES), items: 0 };
        encoder.head(request, &mut out)?;
        memo.work.rebuilds += 1;
        memo.work.serialised += out.buffer.len() as u64;
        memo.key = Some(PrefixKey {
            wire: E::WIRE,
            model: encoder.model().to_owned(),
            generation: request.generation,
            system: request.system.to_owned(),
            tools: request.tools.to_vec(),
        });
        memo.messages = 0;
        memo.ending = TextEnding::Whole;
        out
    };

    let before = out.buffer.len();
    for message in &request.messages[memo.messages..] {
        let length = out.buffer.len();
        if let TextEnding::Open { close, .. } = memo.ending {
            out.raw(close);
        }
        let opened = out.buffer.len();
        let ending = encoder.message(message, &mut out);
        if out.buffer.len() == opened {
            // This message has no content for this provider: the message before it stays the last.
            out.buffer.truncate(length);
        } else {
            memo.ending = ending;
        }
    }
    memo.work.serialised += (out.buffer.len() - before) as u64;
    memo.messages = request.messages.len();
    memo.items = out.items;
    memo.prefix = out.buffer.len();

    if let TextEnding::Open { close, mark } = memo.ending {
        out.raw(mark);
        out.raw(close);
    }
    encoder.tail(request, &mut out)?;
    memo.work.serialised += (out.buffer.len() - memo.prefix) as u64;
    memo.body = out.buffer.freeze();
    Ok(EncodedBody(memo.body.clone()))
}

/// Returns the first bytes of a body as a growable buffer, and how many had to be copied for it.
fn cut_back(body: Bytes, prefix: usize) -> (BytesMut, u64) {
    match body.try_into_mut() {
        Ok(mut buffer) => {
            buffer.truncate(prefix);
            (buffer, 0)
        }
        Err(shared) => {
            let mut buffer = BytesMut::with_capacity(prefix * 2);
            buffer.extend_from_slice(&shared[..prefix]);
            (buffer, prefix as u64)
        }
    }
}

/// A finished body, shared without copying however often it is sent.
#[derive(Debug, Clone)]
pub struct EncodedBody(Bytes);

impl EncodedBody {
    /// Creates the body of a request that has none.
    pub(crate) fn empty() -> Self {
        Self(Bytes::new())
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies the body.
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl AsRef<[u8]> for EncodedBody {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// JSON being written.
pub struct JsonBuffer {
    buffer: BytesMut,
    items: usize,
}

impl JsonBuffer {
    /// Appends text unescaped.
    pub fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Starts the next element of the messages.
    pub fn item(&mut self) {
        if self.items > 0 {
            self.raw(",");
        }
        self.items += 1;
    }

    /// Appends a JSON string.
    pub fn string(&mut self, text: &str) {
        serde_json::to_writer((&mut self.buffer).writer(), text).expect("a text is always JSON");
    }

    /// Appends `"key":"text"`, with a comma before it.
    pub fn field(&mut self, key: &str, text: &str) {
        self.key(key);
        self.string(text);
    }

    /// Appends `"key":number`, with a comma before it.
    pub fn number(&mut self, key: &str, number: impl Serialize) {
        self.key(key);
        serde_json::to_writer((&mut self.buffer).writer(), &number).expect("a number is always JSON");
    }

    fn key(&mut self, key: &str) {
        self.raw(",\"");
        self.raw(key);
        self.raw("\":");
    }

    /// Writes the tools as a list of objects: `open` and the name, the description, the schema under `schema_key`, and
    /// `close`, after `mark` for the last one.
    pub fn tools(
        &mut self,
        tools: &[ToolSpec],
        open: &str,
        schema_key: &str,
        [mark, close]: [&str; 2],
    ) -> Result<(), ModelFailure> {
        self.raw("[");
        for (position, tool) in tools.iter().enumerate() {
            self.raw(if position > 0 { "," } else { "" });
            self.raw(open);
            self.string(&tool.name);
            self.field("description", &tool.description);
            self.key(schema_key);
            self.checked(&tool.input_schema, || format!("the schema of tool `{}` is not JSON", tool.name))?;
            self.raw(if position + 1 == tools.len() { mark } else { "" });
            self.raw(close);
        }
        self.raw("]");
        Ok(())
    }

    /// Writes the schema of the answer.
    pub fn output_schema(&mut self, schema: &str) -> Result<(), ModelFailure> {
        self.checked(schema, || "the output schema is not JSON".to_owned())
    }

    /// Writes JSON text from outside, checked because one bad text would spoil the whole body.
    fn checked(&mut self, text: &str, complaint: impl FnOnce() -> String) -> Result<(), ModelFailure> {
        if serde_json::from_str::<&RawValue>(text).is_err() {
            return Err(ModelFailure::new(FailureKind::InvalidRequest, complaint()));
        }
        self.raw(text);
        Ok(())
    }
}

/// Returns a name that every provider accepts: letters, digits, `_` and `-`, at most 64. Models invent other ones, and a
/// provider refuses a whole history that contains one.
pub fn legal_name(name: &str) -> std::borrow::Cow<'_, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(legal) {
        return name.into();
    }
    let cleaned: String = name.chars().take(64).map(|c| if legal(c) { c } else { '_' }).collect();
    if cleaned.is_empty() { "unnamed".into() } else { cleaned.into() }
}

/// Like `legal_name`, for call ids: two different ids stay different.
pub fn legal_id(id: &str) -> std::borrow::Cow<'_, str> {
    let cleaned = legal_name(id);
    if matches!(cleaned, std::borrow::Cow::Borrowed(_)) && !id.is_empty() {
        return cleaned;
    }
    let digest = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{}_{digest:016x}", &cleaned[..cleaned.len().min(40)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // P27
    #[test]
    fn names_and_ids_are_made_legal_and_ids_stay_different() {
        assert_eq!(legal_name("read_file"), "read_file");
        assert_eq!(legal_name("fs.read file"), "fs_read_file");
        assert_eq!(legal_name(""), "unnamed");
        assert_eq!(legal_name(&"é".repeat(10_000)).len(), 64);
        assert_eq!(legal_id("call_1"), "call_1");
        assert_ne!(legal_id("a.b"), legal_id("a:b"));
        assert!(legal_id(&"x".repeat(5000)).len() <= 64);
    }
}
