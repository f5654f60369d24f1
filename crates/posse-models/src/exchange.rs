//! One call from request to reply, the same for every wire.
//!
//! Whether a reply is streamed is decided by its content type, not by the request. A stream is complete when it says so;
//! if it stops earlier but after its stop reason, the reply counts, with a note; otherwise it is discarded.

use std::borrow::Cow;
use std::ops::Deref;
use std::str::Utf8Error;

use http::Method;
use posse_core::message::Block;
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::tokens::tokens_at_most;
use posse_core::usage::Usage;
use posse_runtime::ports::{DeltaSink, ModelReply, ModelRequest};
use serde::Deserialize;

use crate::assemble::ReplyAssembler;
use crate::body::{self, BodyEncoder};
use crate::client::{ProviderClient, ProviderFormat};
use crate::failure::{self, ProviderError, excerpt};
use crate::http::{HttpCall, IncomingAnswer, KeyHeader, KeyRedactor, ProviderTransport};
use crate::sse::{self, SseEvent};
use crate::tokens::{self, ReportedUsage, Soundness, Weight};

/// A wire format: writing requests, reading answers.
pub(crate) trait WireCodec: BodyEncoder + Sync {
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    type AnswerReader: Reader + Default;

    fn path(&self, streamed: bool) -> String;
}

/// An optional text of an answer, borrowed where it has no escapes: serde copies each `Option<Cow<str>>`.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct OptionalText<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for OptionalText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Reads one answer into an assembler.
pub(crate) trait Reader: Send {
    fn event(&mut self, event: &SseEvent, reply: &mut ReplyAssembler<'_>) -> ReadResult<ReadProgress>;
    fn whole(&mut self, body: &str, reply: &mut ReplyAssembler<'_>) -> ReadResult;
    /// Returns the end that the answer announced; `None` without a stop reason.
    fn ended(&mut self, reply: &mut ReplyAssembler<'_>) -> Option<StreamEnd>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadProgress {
    /// More bytes are needed.
    More,
    /// The stop reason is known. Usage and the end marker may follow.
    Ending,
    /// The end marker.
    Done,
}

pub(crate) struct StreamEnd {
    pub stop: ReplyStop,
    pub counts: ReportedUsage,
    pub note: Option<String>,
    /// The format closes a stream with a marker, so its absence is worth a note.
    pub has_marker: bool,
}

/// Result of reading an answer.
pub(crate) type ReadResult<T = ()> = Result<T, ReadError>;

pub(crate) enum ReadError {
    /// The provider reported an error.
    Provider(ProviderError),
    /// The answer cannot be parsed.
    Unreadable(String),
    Failed(ModelFailure),
}

impl ReadError {
    /// Returns the error that an answer or event reports.
    pub fn provider(json: &str) -> Self {
        ReadError::Provider(ProviderError::parse(json.as_bytes()).unwrap_or_default())
    }
}

impl From<ModelFailure> for ReadError {
    fn from(failure: ModelFailure) -> Self {
        ReadError::Failed(failure)
    }
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        // Only the position: the message of a type error can quote the text it found.
        ReadError::Unreadable(format!("not the expected JSON (column {})", error.column()))
    }
}

impl From<Utf8Error> for ReadError {
    fn from(error: Utf8Error) -> Self {
        ReadError::Unreadable(format!("not the expected JSON (column {})", error.valid_up_to() + 1))
    }
}

pub(crate) async fn exchange<F: ProviderFormat>(
    wire: &ProviderClient<F>,
    mut request: ModelRequest<'_>,
    deltas: &dyn DeltaSink,
) -> ModelReply
where
    ProviderClient<F>: WireCodec,
{
    let body = body::encode(wire, &mut request)?;
    let streamed = !request.settings.buffered;
    let (key_header, headers) = (ProviderClient::<F>::KEY_HEADER, ProviderClient::<F>::HEADERS);
    let call = HttpCall { method: Method::POST, path: wire.path(streamed), key_header, headers };
    let answer = wire.transport.send(&call, &body).await;
    let mut incoming = match answer {
        Ok(incoming) => incoming,
        Err(rejection) => {
            return match rejection.refused {
                Some(why) => Ok(refusal(&wire.name, why, body.as_ref())),
                None => Err(rejection.failure),
            };
        }
    };

    let redactor = incoming.redactor();
    let mut reader = <ProviderClient<F> as WireCodec>::AnswerReader::default();
    let mut assembler = ReplyAssembler::new(deltas);
    let read = read(&mut incoming, &mut reader, &mut assembler, streamed, &wire.transport).await;
    let received_bytes = assembler.bytes();
    let said_at_most = assembler.tokens_at_most().min(request.output_tokens_max.into());
    let lose =
        |failure: ModelFailure| ModelFailure { lost: tokens::lost(body.as_ref(), said_at_most), ..failure };
    let ReadAnswer { marker_seen, mut notes } = match read {
        Ok(read) => read,
        Err(ReadError::Provider(error)) if error.is_refusal() => {
            return Ok(refusal(&wire.name, error.message, body.as_ref()));
        }
        Err(error) => return Err(lose(typed(error, &redactor))),
    };
    incoming.leave().await;
    let ended = reader.ended(&mut assembler).ok_or_else(|| {
        lose(ModelFailure::new(
            FailureKind::Connection,
            "the reply was cut off before it said how it ends".to_owned(),
        ))
    })?;
    if ended.has_marker && !marker_seen {
        notes.push("the stream ended without its end marker".to_owned());
    }
    notes.extend(ended.note);
    let blocks = assembler.finish(&ended.stop);
    let sent = Weight { bytes: body.len() as u64, most: &|| tokens_at_most(&body) };
    let said = Weight { bytes: received_bytes, most: &|| said_at_most };
    let (usage, soundness) = ended.counts.settle(&sent, &said);
    match soundness {
        Soundness::Reported => {}
        Soundness::Raised => notes.push(
            "the provider reports fewer tokens than the bytes that were exchanged can have; tokens are \
             estimated"
                .to_owned(),
        ),
        Soundness::Estimated => {
            notes.push("the provider's usage report is missing or nonsense; tokens are estimated".to_owned())
        }
    }
    Ok(Reply { blocks, stop: ended.stop, usage, model: wire.name.clone(), lost: Usage::default(), notes })
}

struct ReadAnswer {
    marker_seen: bool,
    notes: Vec<String>,
}

async fn read<R: Reader>(
    incoming: &mut IncomingAnswer,
    reader: &mut R,
    assembler: &mut ReplyAssembler<'_>,
    streamed: bool,
    transport: &ProviderTransport,
) -> ReadResult<ReadAnswer> {
    let content_type = incoming.content_type.as_str();
    if content_type.contains("text/html") {
        let page = incoming.whole(assembler.deltas()).await?;
        let page = String::from_utf8_lossy(&page[..page.len().min(2000)]).into_owned();
        let why = excerpt(&page, &|text| incoming.redactor().redact(text));
        let message = format!("the answer is a web page, not a reply: {why}");
        return Err(ModelFailure::new(FailureKind::Protocol, message).into());
    }
    let as_stream = content_type.contains("event-stream") || (streamed && !content_type.contains("json"));
    if as_stream {
        return read_stream(incoming, reader, assembler, transport).await;
    }
    let body = incoming.whole(assembler.deltas()).await?;
    if let Some(error) = error_object(&body) {
        return Err(ReadError::Provider(error));
    }
    reader.whole(str::from_utf8(&body)?, assembler)?;
    let mut notes = Vec::new();
    if streamed {
        notes.push("the provider sent the whole reply at once although a stream was asked for".to_owned());
    }
    Ok(ReadAnswer { marker_seen: true, notes })
}

/// Finds a top-level `error` in an answer with a successful status.
fn error_object(body: &[u8]) -> Option<ProviderError> {
    #[derive(Deserialize)]
    struct ErrorProbe<'a> {
        #[serde(borrow, default)]
        error: Option<&'a serde_json::value::RawValue>,
    }
    // Most bodies need not be parsed twice. (A key can be spelled with escapes, which no provider does.)
    memchr::memmem::find(body, b"\"error\"")?;
    let probe: ErrorProbe<'_> = serde_json::from_slice(body).ok()?;
    probe.error.filter(|error| error.get() != "null")?;
    ProviderError::parse(body)
}

async fn read_stream<R: Reader>(
    incoming: &mut IncomingAnswer,
    reader: &mut R,
    assembler: &mut ReplyAssembler<'_>,
    transport: &ProviderTransport,
) -> ReadResult<ReadAnswer> {
    let mut parser = sse::SseParser::default();
    let mut events = Vec::new();
    let mut state = AnswerStream { ending: false, damaged: 0 };
    let too_long = |_| {
        let message = format!("an event of the stream is larger than {} bytes", sse::EVENT_BYTES_MAX);
        ReadError::Failed(ModelFailure::new(FailureKind::Protocol, message))
    };
    loop {
        let next = incoming.chunk(assembler.deltas());
        let next = if state.ending {
            match tokio::time::timeout(transport.end_grace(), next).await {
                Ok(next) => next,
                // The reply is complete, but the server keeps the connection open.
                Err(_) => return Ok(state.finish(false)),
            }
        } else {
            next.await
        };
        let chunk = match next {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(_) if state.ending => break,
            Err(failure) => return Err(failure.into()),
        };
        parser.feed(&chunk, &mut events).map_err(too_long)?;
        for event in events.drain(..) {
            if state.feed(&event, reader, assembler)? == ReadProgress::Done {
                return Ok(state.finish(true));
            }
        }
    }
    parser.finish(&mut events).map_err(too_long)?;
    for event in events.drain(..) {
        match state.feed(&event, reader, assembler) {
            Ok(ReadProgress::Done) => return Ok(state.finish(true)),
            Ok(ReadProgress::More | ReadProgress::Ending) => {}
            // Half an event is the rest of a cut connection, not a breach of the format.
            Err(ReadError::Unreadable(_)) if event.cut => {}
            Err(error) => return Err(error),
        }
    }
    Ok(state.finish(false))
}

struct AnswerStream {
    ending: bool,
    damaged: usize,
}

impl AnswerStream {
    fn feed<R: Reader>(
        &mut self,
        event: &SseEvent,
        reader: &mut R,
        assembler: &mut ReplyAssembler<'_>,
    ) -> ReadResult<ReadProgress> {
        self.damaged += usize::from(event.damaged);
        let progress = reader.event(event, assembler)?;
        self.ending |= progress == ReadProgress::Ending;
        Ok(progress)
    }

    fn finish(self, marker_seen: bool) -> ReadAnswer {
        let mut notes = Vec::new();
        if self.damaged > 0 {
            notes.push(format!("{} events of the stream had bytes that are not UTF-8", self.damaged));
        }
        ReadAnswer { marker_seen, notes }
    }
}

fn typed(error: ReadError, redactor: &KeyRedactor) -> ModelFailure {
    match error {
        ReadError::Provider(error) => failure::from_error(&error, &|text| redactor.redact(text)),
        ReadError::Unreadable(why) => {
            ModelFailure::new(FailureKind::Protocol, format!("the reply cannot be read: {why}"))
        }
        ReadError::Failed(failure) => failure,
    }
}

fn refusal(name: &str, why: String, sent: &[u8]) -> Reply {
    let text = posse_core::text::prefix(&why, failure::EXCERPT_BYTES_MAX);
    Reply {
        blocks: if text.is_empty() { Vec::new() } else { vec![Block::text(text)] },
        stop: ReplyStop::Refusal,
        usage: Usage { output: 0, ..tokens::lost(sent, 0) },
        model: name.to_owned(),
        lost: Usage::default(),
        notes: vec!["the provider refused the request because of its content".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::message::CallArguments;
    use posse_runtime::ports::NoDeltas;
    use posse_testkit::wire::{LoopbackFormat, Say};
    use proptest::prelude::*;
    use serde_json::json;

    /// Reads a stream without a network; the blocks, if the stream said how it ends.
    fn read_all<R: Reader + Default>(stream: &[u8]) -> Option<Vec<Block>> {
        let mut reader = R::default();
        let mut assembler = ReplyAssembler::new(&NoDeltas);
        let mut parser = sse::SseParser::default();
        let mut events = Vec::new();
        parser.feed(stream, &mut events).ok()?;
        parser.finish(&mut events).ok()?;
        for event in &events {
            match reader.event(event, &mut assembler) {
                Ok(ReadProgress::Done) => break,
                Ok(ReadProgress::More | ReadProgress::Ending) => {}
                Err(ReadError::Unreadable(_)) if event.cut => {}
                Err(_) => return None,
            }
        }
        let ended = reader.ended(&mut assembler)?;
        Some(assembler.finish(&ended.stop))
    }

    fn read_as(format: LoopbackFormat, stream: &[u8]) -> Option<Vec<Block>> {
        match format {
            LoopbackFormat::Anthropic => read_all::<crate::anthropic::MessageReader>(stream),
            LoopbackFormat::OpenAiChat => read_all::<crate::openai_chat::ChatReader>(stream),
            LoopbackFormat::OpenAiResponses => read_all::<crate::openai_responses::ResponseReader>(stream),
            LoopbackFormat::Gemini => read_all::<crate::gemini::CandidateReader>(stream),
        }
    }

    fn say() -> Say {
        Say::text("some text")
            .thinking("hm", "sig")
            .and_call("a", "read", json!({"path": "a/long/path", "n": [1, 2, {"x": null}]}))
            .and_call("b", "grep", json!({"pattern": "x"}))
    }

    proptest! {
        // F5
        #[test]
        fn a_stream_cut_anywhere_gives_no_call_but_those_that_were_asked_for(cut in 0usize..6000) {
            let whole = [json!({"path": "a/long/path", "n": [1, 2, {"x": null}]}), json!({"pattern": "x"})];
            for format in LoopbackFormat::ALL {
                let stream = say().sse(format);
                let blocks = read_as(format, &stream[..cut.min(stream.len())]).unwrap_or_default();
                for call in blocks.iter().filter_map(Block::as_call) {
                    if let CallArguments::Object(text) = &call.arguments {
                        let found: serde_json::Value = serde_json::from_str(text).unwrap();
                        prop_assert!(whole.contains(&found), "{:?} cut at {}: {}", format, cut, text);
                    }
                }
            }
        }

        #[test]
        fn no_damage_to_a_stream_makes_a_reader_panic(
            damage in proptest::collection::vec((0usize..6000, any::<u8>()), 1..8),
            (from, to) in (0usize..6000, 0usize..6000),
        ) {
            for format in LoopbackFormat::ALL {
                let mut stream = say().sse(format);
                let length = stream.len();
                for (at, byte) in &damage {
                    stream[at % length] = *byte;
                }
                read_as(format, &stream);
                // A piece is missing, or stands twice.
                let (from, to) = (from % length, to % length);
                read_as(format, &[&stream[..from], &stream[to..]].concat());
            }
        }

        #[test]
        fn values_of_the_wrong_type_make_no_reader_panic(pick in any::<prop::sample::Index>(), kind in 0usize..5) {
            let wrong = ["null", "[]", "{}", "-1", "\"x\""][kind];
            for format in LoopbackFormat::ALL {
                let stream = String::from_utf8(say().sse(format)).unwrap();
                // Replaces the value after one of the colons.
                let colons: Vec<usize> = stream.match_indices("\":").map(|(at, _)| at + 2).collect();
                let at = *pick.get(&colons);
                let end = at + stream[at..].find([',', '}', ']', '\n']).unwrap_or(0);
                read_as(format, format!("{}{wrong}{}", &stream[..at], &stream[end..]).as_bytes());
            }
        }
    }
}
