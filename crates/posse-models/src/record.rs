//! Records the answers of a model to a file, and replays them without calling it.
//!
//! A recording is JSON lines, one per call: the model, a fingerprint of the request, and the reply or failure.
//! Fingerprints keep the file small and tell which message changed; the replies still quote the conversation, so only the
//! owner can read the file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::message::Message;
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, DeltaSink, Model, ModelReply, ModelRequest, ToolUse};
use serde::{Deserialize, Serialize};

/// Maximum size of a recording, which is read as a whole.
const RECORDING_BYTES_MAX: u64 = 512 << 20;

/// An open recording. Any number of models may write to it.
pub struct RecordingFile {
    file: Mutex<File>,
}

impl RecordingFile {
    /// Opens the file for appending, readable by its owner only.
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let file = open_private(path).map_err(|e| unreadable(path, &e))?;
        Ok(Arc::new(Self { file: Mutex::new(file) }))
    }

    fn write(&self, exchange: &RecordedExchange) -> io::Result<()> {
        let mut line = serde_json::to_vec(exchange)?;
        line.push(b'\n');
        // One write per line, so that lines of two processes never mix.
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

#[cfg(unix)]
fn open_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = File::options().create(true).append(true).mode(0o600).open(path)?;
    // The mode above is only for a new file.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_private(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// A model whose answers are recorded.
pub struct RecordedModel {
    inner: Arc<dyn Model>,
    recorder: Arc<RecordingFile>,
}

impl RecordedModel {
    /// Wraps a model and records its answers.
    pub fn new(inner: Arc<dyn Model>, recorder: Arc<RecordingFile>) -> Self {
        Self { inner, recorder }
    }

    async fn call_and_write(&self, request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        let fingerprint = RequestFingerprint::for_request(&request);
        let result = self.inner.call(request, deltas).await;
        let answer = match &result {
            Ok(reply) => RecordedAnswer::Reply(reply.clone()),
            Err(failure) => RecordedAnswer::Failure(failure.clone()),
        };
        let written = self.recorder.write(&RecordedExchange {
            model: self.inner.name().to_owned(),
            fingerprint,
            answer,
        });
        // A full disk must not cost the answer, but the user must learn of the gap in the recording.
        match (result, written) {
            (result, Ok(())) => result,
            (Ok(mut reply), Err(e)) => {
                reply.notes.push(format!("this reply is missing in the recording: {e}"));
                Ok(reply)
            }
            (Err(failure), Err(e)) => {
                tracing::warn!("a failure is missing in the recording: {e}");
                Err(failure)
            }
        }
    }
}

impl Model for RecordedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.call_and_write(request, deltas))
    }
}

/// Replays a recording, and never calls out.
///
/// A request gets the first unused answer that was recorded for the same request, so that parallel tasks may ask in
/// another order than before.
pub struct ReplayModel {
    model: String,
    exchanges: Vec<RecordedExchange>,
    given: Mutex<Vec<bool>>,
}

impl ReplayModel {
    /// Reads the answers recorded for `model` (its whole name).
    pub fn load(path: &Path, model: &str) -> Result<Self> {
        let mut text = String::new();
        let read =
            File::open(path).and_then(|file| file.take(RECORDING_BYTES_MAX + 1).read_to_string(&mut text));
        read.map_err(|e| unreadable(path, &e))?;
        if text.len() as u64 > RECORDING_BYTES_MAX {
            let message = localized!(
                "recording-too-large",
                path = path.display(),
                recording_bytes_max = RECORDING_BYTES_MAX
            );
            return Err(Error::new(ErrorCode::ScriptInvalid, message));
        }
        Self::parse(&path.display().to_string(), &text, model)
    }

    /// Parses a recording; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str, model: &str) -> Result<Self> {
        let mut exchanges = Vec::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                tracing::warn!("the last line of the recording `{origin}` was cut off and is left out");
                break;
            }
            let exchange: RecordedExchange = serde_json::from_str(line).map_err(|e| {
                let message = localized!("recording-line-invalid", origin, line = index + 1, why = e);
                Error::new(ErrorCode::ScriptInvalid, message)
            })?;
            exchanges.push(exchange);
        }
        exchanges.retain(|exchange| exchange.model == model);
        if exchanges.is_empty() {
            let message = localized!("recording-without-model", origin, model);
            return Err(Error::new(ErrorCode::ScriptInvalid, message));
        }
        let given = Mutex::new(vec![false; exchanges.len()]);
        Ok(Self { model: model.to_owned(), exchanges, given })
    }

    /// Returns the number of unused answers.
    pub fn leftover(&self) -> usize {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|given| !**given).count()
    }

    fn next_answer(&self, asked: &RequestFingerprint) -> ModelReply {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let left = || self.exchanges.iter().enumerate().filter(|(index, _)| !given[*index]);
        let Some((index, exchange)) = left().find(|(_, exchange)| exchange.fingerprint == *asked) else {
            // Of equally similar ones, the first in order.
            let nearest = left().rev().max_by_key(|(_, exchange)| exchange.fingerprint.nearness(asked));
            let why = match nearest {
                Some((index, exchange)) => {
                    format!("exchange {} differs in {}", index + 1, exchange.fingerprint.difference(asked))
                }
                None => format!("all {} exchanges were given", self.exchanges.len()),
            };
            let message = format!("the recording of `{}` has no answer to this request: {why}", self.model);
            return Err(ModelFailure::new(FailureKind::InvalidRequest, message));
        };
        given[index] = true;
        match &exchange.answer {
            RecordedAnswer::Reply(reply) => Ok(reply.clone()),
            RecordedAnswer::Failure(failure) => Err(failure.clone()),
        }
    }
}

impl Model for ReplayModel {
    fn name(&self) -> &str {
        &self.model
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        let result = self.next_answer(&RequestFingerprint::for_request(&request));
        if let Ok(reply) = &result {
            crate::scripted::show(&reply.blocks, deltas);
        }
        Box::pin(std::future::ready(result))
    }
}

/// One line of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RecordedExchange {
    model: String,
    fingerprint: RequestFingerprint,
    answer: RecordedAnswer,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedAnswer {
    Reply(Reply),
    Failure(ModelFailure),
}

/// Hashes of a request, part by part, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RequestFingerprint {
    system: String,
    tools: String,
    settings: String,
    messages: Vec<String>,
}

impl RequestFingerprint {
    fn for_request(request: &ModelRequest<'_>) -> Self {
        let tools = request.tools.iter().flat_map(|tool| [&tool.name, &tool.description, &tool.input_schema]);
        let settings = request.settings;
        let settings = [
            format!("{:?} {}", settings.temperature, request.output_tokens_max),
            format!("{:?} {:?}", settings.effort.map(|effort| effort.wire()), settings.thinking_tokens),
            settings.output_schema.clone().unwrap_or_default(),
            (if request.tool_use == ToolUse::Forbidden { "forbidden" } else { "auto" }).to_owned(),
        ];
        Self {
            system: hash([request.system]),
            tools: hash(tools),
            settings: hash(&settings),
            messages: request.messages.iter().map(hash_of_message).collect(),
        }
    }

    fn common_messages(&self, other: &Self) -> usize {
        self.messages.iter().zip(&other.messages).take_while(|(ours, theirs)| ours == theirs).count()
    }

    /// Ranks similarity: more equal messages first, then fewer missing or extra messages.
    fn nearness(&self, other: &Self) -> (usize, std::cmp::Reverse<usize>) {
        (self.common_messages(other), std::cmp::Reverse(self.messages.len().abs_diff(other.messages.len())))
    }

    /// Describes where a request differs from the recorded one.
    fn difference(&self, asked: &Self) -> String {
        let common = self.common_messages(asked);
        let (recorded, now) = (self.messages.len(), asked.messages.len());
        if common < recorded.min(now) {
            return format!("message {common} (from 0) of {now}");
        }
        if recorded != now {
            return format!("the number of messages: it has {recorded}, the request {now}");
        }
        let parts = [
            ("the system prompt", self.system != asked.system),
            ("the tools", self.tools != asked.tools),
            ("the settings", self.settings != asked.settings),
        ];
        let differing: Vec<&str> =
            parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        differing.join(" and ")
    }
}

fn hash_of_message(message: &Message) -> String {
    // The journal's form of a message, which is stable.
    hash([serde_json::to_string(message).expect("a message is plain data with string keys")])
}

/// FNV-1a with 64 bits, written out because it has to stay the same over versions of Rust and on any machine. Each
/// part ends with a byte that no UTF-8 text contains, so that moving text between parts shows.
pub(crate) fn hash<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    let mut eat = |byte: u8| state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for part in parts {
        part.as_ref().bytes().for_each(&mut eat);
        eat(0xff);
    }
    format!("{state:016x}")
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, localized!("recording-unreadable", path = path.display(), error))
}

#[cfg(test)]
mod tests {
    use posse_core::agent::ModelSettings;
    use posse_runtime::ports::NoDeltas;

    use super::*;
    use crate::fake::{Act, Fake, Seen, ask_with, failure};
    use crate::scripted::{ScriptStep, ScriptedModel};

    async fn say(model: &dyn Model, texts: &[&str]) -> ModelReply {
        let messages: Vec<Message> = texts.iter().map(|text| Message::user(*text)).collect();
        ask_with(model, &messages, &ModelSettings::default(), &NoDeltas).await
    }

    struct Taped {
        _directory: tempfile::TempDir,
        path: std::path::PathBuf,
        results: Vec<ModelReply>,
    }

    /// Records a failure for `one`, and replies for `one` and `one, two`.
    async fn tape() -> Taped {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tape.jsonl");
        let fake = Fake::new("p:a", [vec![Act::Fail(failure(FailureKind::Overloaded))], vec![Act::Reply]]);
        let model = RecordedModel::new(Arc::new(fake), RecordingFile::open(&path).unwrap());
        let results = vec![
            say(&model, &["one"]).await,
            say(&model, &["one"]).await,
            say(&model, &["one", "two"]).await,
        ];
        Taped { _directory: directory, path, results }
    }

    #[tokio::test]
    async fn a_replay_gives_the_recorded_answers_in_order_and_then_none() {
        let taped = tape().await;
        let replay = ReplayModel::load(&taped.path, "p:a").unwrap();
        assert_eq!(replay.leftover(), 3);
        // A later request may come first.
        let last = say(&replay, &["one", "two"]).await;
        let again = vec![say(&replay, &["one"]).await, say(&replay, &["one"]).await, last];
        assert_eq!(again, taped.results);
        assert_eq!((replay.leftover(), replay.name()), (0, "p:a"));
        let none = say(&replay, &["one"]).await.unwrap_err();
        assert_eq!(none.kind, FailureKind::InvalidRequest);
        assert!(none.message.ends_with("all 3 exchanges were given"), "{none}");
    }

    #[tokio::test]
    async fn a_request_that_was_not_recorded_says_what_differs() {
        let replay = ReplayModel::load(&tape().await.path, "p:a").unwrap();
        for (texts, why) in [
            (&["one", "three"][..], "exchange 3 differs in message 1 (from 0) of 2"),
            (&["zero"][..], "exchange 1 differs in message 0 (from 0) of 1"),
            (
                &["one", "two", "three"][..],
                "exchange 3 differs in the number of messages: it has 2, the request 3",
            ),
        ] {
            let failed = say(&replay, texts).await.unwrap_err();
            assert!(failed.message.ends_with(why), "{failed}");
        }
        let settings = ModelSettings { temperature: Some(0.5), ..ModelSettings::default() };
        let failed = ask_with(&replay, &[Message::user("one")], &settings, &NoDeltas).await.unwrap_err();
        assert!(failed.message.ends_with("exchange 1 differs in the settings"), "{failed}");
        assert_eq!(replay.leftover(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_a_recording() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tape.jsonl");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        RecordingFile::open(&path).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        RecordingFile::open(&path).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[tokio::test]
    async fn a_cut_off_last_line_is_left_out_and_a_broken_one_is_refused() {
        let taped = tape().await;
        let text = std::fs::read_to_string(&taped.path).unwrap();
        let cut = ReplayModel::parse("tape", &text[..text.len() - 5], "p:a").unwrap();
        assert_eq!(cut.leftover(), 2);
        let broken = text.replacen("fingerprint", "fingerprnt", 2).replacen("fingerprnt", "fingerprint", 1);
        let error = ReplayModel::parse("tape", &broken, "p:a").err().unwrap();
        assert!(error.message().starts_with("tape:2: not a recorded exchange"), "{error}");
        let error = ReplayModel::parse("tape", &text, "p:b").err().unwrap();
        assert!(error.message().contains("nothing was recorded for the model `p:b`"), "{error}");
    }

    #[tokio::test]
    async fn a_replayed_reply_is_shown_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tape.jsonl");
        let script = ScriptedModel::new(
            "s",
            vec![ScriptStep { text: Some("two words".to_owned()), ..ScriptStep::default() }],
        );
        say(&RecordedModel::new(Arc::new(script), RecordingFile::open(&path).unwrap()), &["go"])
            .await
            .unwrap();
        let seen = Seen::default();
        let replay = ReplayModel::load(&path, "s").unwrap();
        ask_with(&replay, &[Message::user("go")], &ModelSettings::default(), &seen).await.unwrap();
        assert_eq!(seen.all(), [r#"Text("two ")"#, r#"Text("words")"#]);
    }

    #[test]
    fn the_hash_is_the_published_one_and_knows_its_parts() {
        // FNV-1a of "a" is af63dc4c8601ec8c; the part then ends with 0xff.
        let ended = (0xaf63_dc4c_8601_ec8c_u64 ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3);
        assert_eq!(hash(["a"]), format!("{ended:016x}"));
        assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
    }
}
