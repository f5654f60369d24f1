//! A model that plays a script: for demos, tests, and people without a key.
//!
//! The script is YAML (or JSON, which is YAML): a list of steps, or a map from a role to its list.
//!
//! ```yaml
//! orchestrator:
//!   - text: I will ask a researcher.
//!     calls:
//!       - subagent: {action: spawn, agent: researcher, task: Look at the parser}
//!   - calls:
//!       - {tool: subagent, arguments: {action: status, task_id: "{result:0:/task_id}"}}
//!     repeat_until: '"completed"'
//!   - fail: {kind: overloaded, message: try later, retry_after_ms: 10}
//!   - text: Done.
//! researcher:
//!   - text: The parser is fine.
//! ```
//!
//! Which step comes next is computed from the messages of the request alone, so a killed and resumed task goes on at
//! the right step. Only steps that leave no assistant message (`fail`, an empty text) are counted in memory.
//!
//! `{result:N:/pointer}` in a text or an argument is the value at that JSON pointer in the Nth result (from 0) of the
//! turn before the step; `{result:T.N:/pointer}` looks at turn T (from 1); without a pointer it is the whole text.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult};
use posse_core::provenance::unmarked;
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::text::{estimate_tokens, prefix};
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::{BoxFuture, Delta, DeltaSink, Model, ModelReply, ModelRequest, ToolUse};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::tokens::{block_tokens, message_tokens};

/// Maximum size of a script: scripts are written by hand, and anything longer is a wrong path.
const SCRIPT_BYTES_MAX: usize = 4 << 20;
/// Interval of looking whether the file of a step is there.
const FILE_LOOK: Duration = Duration::from_millis(10);
/// A poll that takes more turns than this hangs.
const REPEAT_MAX: u32 = 200;

/// One reply of the script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptStep {
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub calls: Vec<ScriptedCall>,
    /// Estimated from the characters if absent.
    pub usage: Option<ScriptedUsage>,
    /// `end_turn`, `tool_use`, `max_tokens`, `refusal`, `paused`, `context_full`, or any other word.
    pub stop: Option<String>,
    /// The call fails instead, after the text (if any) was shown.
    pub fail: Option<ScriptedFailure>,
    /// Delay before the answer.
    pub delay_ms: u64,
    /// File that has to exist before the answer, so that others decide when it comes. Relative to the script.
    pub until_file: Option<PathBuf>,
    /// Delay after each word of thinking and text, so that they stream.
    pub word_ms: u64,
    /// The step is repeated until a result of its calls contains this. The results are looked up in the messages at every
    /// call, so they have to stay there: poll with calls whose results are small.
    pub repeat_until: Option<String>,
    /// Limit on repetitions of the step; 200 by default.
    pub repeat_max: Option<u32>,
}

/// A tool call of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedCall {
    pub tool: String,
    pub arguments: ScriptedArguments,
}

/// Arguments of a scripted call.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedArguments {
    /// Placeholders in its strings are filled in.
    Value(Value),
    /// Sent unchanged, for arguments that are not JSON or truncated (`raw` in a script).
    Raw(String),
}

/// Usage that a step reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

/// Failure that a step plays.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    #[serde(deserialize_with = "failure_kind")]
    pub kind: FailureKind,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// Plays its steps to any number of runs; see the module for the form of a script.
pub struct ScriptedModel {
    name: String,
    steps: Vec<ScriptStep>,
    /// Steps that were played, by index. For `leftover`, and for the steps that leave no message behind.
    played: Mutex<BTreeSet<usize>>,
}

impl ScriptedModel {
    /// Creates a scripted model.
    pub fn new(name: impl Into<String>, steps: Vec<ScriptStep>) -> Self {
        Self { name: name.into(), steps, played: Mutex::default() }
    }

    /// Parses a script. `name` is the model's name and stands before the line in errors; `role` picks the list.
    pub fn parse(name: &str, script: &str, role: Option<&str>) -> Result<Self> {
        if script.len() > SCRIPT_BYTES_MAX {
            let message = localized!(
                "script-too-large",
                name,
                bytes = script.len(),
                script_bytes_max = SCRIPT_BYTES_MAX
            );
            return Err(Error::new(ErrorCode::ScriptInvalid, message));
        }
        let options = serde_saphyr::options! { with_snippet: false };
        let parsed: ScriptFile =
            serde_saphyr::from_str_with_options(script, options).map_err(|e| not_a_script(name, &e))?;
        Ok(Self::new(name, steps_of(name, parsed, role)?))
    }

    /// Reads a script file; the model is called `scripted:<path>` or `scripted:<path>#<role>`.
    pub fn load(path: &Path, role: Option<&str>) -> Result<Self> {
        let shown = path.display().to_string();
        let script = std::fs::read_to_string(path).map_err(|e| {
            Error::new(ErrorCode::ScriptInvalid, localized!("script-unreadable", shown, why = e))
                .hint(localized!("script-unreadable-hint"))
        })?;
        let mut model = Self::parse(&shown, &script, role)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        for file in model.steps.iter_mut().filter_map(|step| step.until_file.as_mut()) {
            *file = directory.join(&*file);
        }
        model.name = match role {
            Some(role) => format!("scripted:{shown}#{role}"),
            None => format!("scripted:{shown}"),
        };
        Ok(model)
    }

    /// Loads what follows `scripted:` in a model reference: a path, and a role behind `#`.
    pub fn from_reference(reference: &str) -> Result<Self> {
        match reference.rsplit_once('#') {
            Some((path, role)) => Self::load(Path::new(path), Some(role)),
            None => Self::load(Path::new(reference), None),
        }
    }

    /// Returns the steps that were not played yet, counted from 1. A test asserts that none is left.
    pub fn leftover(&self) -> Vec<usize> {
        let played = self.played();
        (0..self.steps.len()).filter(|index| !played.contains(index)).map(|index| index + 1).collect()
    }

    fn played(&self) -> std::sync::MutexGuard<'_, BTreeSet<usize>> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the step that answers these messages and marks it as played.
    fn next_step(&self, messages: &[Message], unanswered: u32) -> Result<ScriptPosition, ModelFailure> {
        let position = locate(&self.steps, messages).map_err(|lost| self.failure(lost))?;
        let mut played = self.played();
        let (mut index, mut failed) = (position.step, 0);
        // Steps that leave no message come before the one that answers: each is played once, across processes.
        while let Some(step) = self.steps.get(index).filter(|step| step.leaves_no_message()) {
            let was_played = played.contains(&index) || (step.fail.is_some() && failed < unanswered);
            if !was_played {
                break;
            }
            failed += u32::from(step.fail.is_some());
            index += 1;
        }
        if index >= self.steps.len() {
            return Err(self.failure(format!("has no step {}", index + 1)));
        }
        played.extend(0..=index);
        Ok(ScriptPosition { step: index, ..position })
    }

    fn failure(&self, what: String) -> ModelFailure {
        ModelFailure::new(FailureKind::InvalidRequest, format!("the script `{}` {what}", self.name))
    }

    async fn play(&self, request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        let position = self.next_step(request.messages, request.unanswered)?;
        let step = &self.steps[position.step];
        if step.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
        }
        if let Some(file) = &step.until_file {
            while !file.exists() {
                tokio::time::sleep(FILE_LOOK).await;
            }
        }
        deltas.alive();
        let filler = PlaceholderFiller { messages: request.messages, before: position.began };
        let wrong = |what: String| self.failure(format!("cannot play step {}: {what}", position.step + 1));
        let (blocks, notes) = blocks_of(step, &filler, position.turn, request.tool_use).map_err(wrong)?;
        match step.word_ms {
            0 => show(&blocks, deltas),
            word_ms => show_slowly(&blocks, Duration::from_millis(word_ms), deltas).await,
        }
        if let Some(failure) = &step.fail {
            return Err(failure.to_failure(&self.name));
        }
        let usage = match step.usage {
            Some(usage) => usage.to_usage(),
            None => estimated(&request, &blocks),
        };
        let stop = step.stop.as_deref().map_or_else(|| natural_stop(&blocks), stop_of);
        Ok(Reply { blocks, stop, usage, model: self.name.clone(), lost: Usage::default(), notes })
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.play(request, deltas))
    }
}

/// Position of a conversation in its script.
#[derive(Debug, Clone, Copy)]
struct ScriptPosition {
    step: usize,
    /// The current turn, from 1.
    turn: u32,
    /// Number of messages when the step was first played, so that placeholders of a repeated step stay the same.
    began: usize,
}

/// Walks the script along the assistant messages. Pure, so that it gives the same answer in another process.
fn locate(steps: &[ScriptStep], messages: &[Message]) -> Result<ScriptPosition, String> {
    let mut at = ScriptPosition { step: 0, turn: 1, began: messages.len() };
    let mut plays = 0;
    for (index, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Assistant { .. }) {
            continue;
        }
        at.turn += 1;
        while steps.get(at.step).is_some_and(ScriptStep::leaves_no_message) {
            at.step += 1;
        }
        let Some(step) = steps.get(at.step) else {
            return Err(format!("has no step {}", at.step + 1));
        };
        if plays == 0 {
            at.began = index;
        }
        plays += 1;
        let results = messages.get(index + 1).and_then(as_results).unwrap_or_default();
        match &step.repeat_until {
            Some(wanted) if !results.iter().any(|result| result.text.contains(wanted)) => {
                let most = step.repeat_max.unwrap_or(REPEAT_MAX);
                if plays >= most {
                    let wanted = prefix(wanted, 100);
                    return Err(format!(
                        "played step {} {most} times and no result contains `{wanted}`",
                        at.step + 1
                    ));
                }
            }
            _ => {
                at.step += 1;
                plays = 0;
                at.began = messages.len();
            }
        }
    }
    Ok(at)
}

impl ScriptStep {
    fn leaves_no_message(&self) -> bool {
        let silent = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
        self.fail.is_some() || (silent(&self.text) && silent(&self.thinking) && self.calls.is_empty())
    }

    fn fault(&self) -> Option<String> {
        let says_nothing = self.text.is_none() && self.thinking.is_none() && self.calls.is_empty();
        if says_nothing && self.fail.is_none() && self.stop.is_none() {
            return Some("a step needs one of `text`, `thinking`, `calls`, `fail`, `stop`".to_owned());
        }
        if self.fail.is_some() && !self.calls.is_empty() {
            return Some("a step with `fail` cannot have `calls`".to_owned());
        }
        if self.repeat_until.is_some() && self.calls.is_empty() {
            return Some("`repeat_until` looks at results, so the step needs `calls`".to_owned());
        }
        (self.repeat_max.is_some() && self.repeat_until.is_none())
            .then(|| "`repeat_max` needs `repeat_until`".to_owned())
    }
}

impl ScriptedFailure {
    fn to_failure(&self, script: &str) -> ModelFailure {
        let message = self.message.clone().unwrap_or_else(|| format!("the script `{script}` says so"));
        ModelFailure {
            status: self.status,
            retry_after_ms: self.retry_after_ms,
            ..ModelFailure::new(self.kind, message)
        }
    }
}

impl ScriptedUsage {
    fn to_usage(self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
            ..Usage::default()
        }
    }
}

fn blocks_of(
    step: &ScriptStep,
    filler: &PlaceholderFiller<'_>,
    turn: u32,
    tool_use: ToolUse,
) -> Result<(Vec<Block>, Vec<String>), String> {
    let mut blocks = Vec::new();
    let mut notes = Vec::new();
    if let Some(text) = step.thinking.as_deref().filter(|text| !text.is_empty()) {
        blocks.push(Block::Thinking { text: filler.fill(text)?, signature: None });
    }
    if let Some(text) = step.text.as_deref().filter(|text| !text.is_empty()) {
        blocks.push(Block::text(filler.fill(text)?));
    }
    if tool_use == ToolUse::Forbidden && !step.calls.is_empty() {
        // A real model that may not call tools answers in text.
        notes.push(format!("left out {} scripted calls: this turn may not use tools", step.calls.len()));
        if step.text.is_none() {
            blocks.push(Block::text("(The script has no text for a turn without tools.)"));
        }
        return Ok((blocks, notes));
    }
    for (index, call) in step.calls.iter().enumerate() {
        let arguments = match &call.arguments {
            ScriptedArguments::Value(value) => filler.fill_value(value)?.to_string(),
            ScriptedArguments::Raw(text) => text.clone(),
        };
        blocks.push(Block::call(ToolCall {
            key: CallKey { turn, index: index as u32 },
            id: format!("call_{turn}_{index}"),
            name: call.tool.clone(),
            arguments: CallArguments::judge(&arguments),
            signature: None,
        }));
    }
    Ok((blocks, notes))
}

/// Sends a reply to the sink with a pause after each word.
async fn show_slowly(blocks: &[Block], pause: Duration, deltas: &dyn DeltaSink) {
    for block in blocks {
        let (text, is_thinking) = match block {
            Block::Text { text, .. } => (text, false),
            Block::Thinking { text, .. } => (text, true),
            Block::ToolCall(_) | Block::Opaque { .. } => continue,
        };
        for word in text.split_inclusive(char::is_whitespace) {
            deltas.delta(if is_thinking { Delta::Thinking(word) } else { Delta::Text(word) });
            tokio::time::sleep(pause).await;
        }
    }
    let calls: Vec<Block> = blocks.iter().filter(|block| block.as_call().is_some()).cloned().collect();
    show(&calls, deltas);
}

/// Sends a reply to the sink as a provider would: texts word by word.
pub(crate) fn show(blocks: &[Block], deltas: &dyn DeltaSink) {
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { text, .. } => {
                text.split_inclusive(' ').for_each(|word| deltas.delta(Delta::Text(word)))
            }
            Block::Thinking { text, .. } => {
                text.split_inclusive(' ').for_each(|word| deltas.delta(Delta::Thinking(word)));
            }
            Block::ToolCall(call) => {
                deltas.delta(Delta::ToolCall { index, name: &call.name });
                deltas.delta(Delta::ToolArguments { index, fragment: call.arguments.as_object_text() });
            }
            Block::Opaque { .. } => {}
        }
    }
}

fn natural_stop(blocks: &[Block]) -> ReplyStop {
    if blocks.iter().any(|block| block.as_call().is_some()) { ReplyStop::ToolUse } else { ReplyStop::EndTurn }
}

fn stop_of(word: &str) -> ReplyStop {
    match word {
        "end_turn" => ReplyStop::EndTurn,
        "tool_use" => ReplyStop::ToolUse,
        "max_tokens" => ReplyStop::MaxTokens,
        "refusal" => ReplyStop::Refusal,
        "paused" => ReplyStop::Paused,
        "context_full" => ReplyStop::ContextFull,
        other => ReplyStop::Other(other.to_owned()),
    }
}

fn estimated(request: &ModelRequest<'_>, blocks: &[Block]) -> Usage {
    let tools =
        request.tools.iter().map(|t| estimate_tokens(&t.description) + estimate_tokens(&t.input_schema));
    let messages = request.messages.iter().map(|message| message_tokens(message, estimate_tokens));
    Usage {
        input: estimate_tokens(request.system) + tools.sum::<u64>() + messages.sum::<u64>(),
        output: blocks.iter().map(|block| block_tokens(block, estimate_tokens)).sum(),
        estimated: true,
        ..Usage::default()
    }
}

/// Fills in placeholders from the results that were there when the step was first played.
struct PlaceholderFiller<'a> {
    messages: &'a [Message],
    before: usize,
}

const PLACEHOLDER: &str = "{result:";

impl PlaceholderFiller<'_> {
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(PLACEHOLDER) {
            let inner = &rest[start + PLACEHOLDER.len()..];
            let end = inner.find('}').ok_or_else(|| "a placeholder `{result:` has no `}`".to_owned())?;
            filled.push_str(&rest[..start]);
            match self.look_up(&inner[..end])? {
                Value::String(text) => filled.push_str(&text),
                other => filled.push_str(&other.to_string()),
            }
            rest = &inner[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn fill_value(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => {
                match text.strip_prefix(PLACEHOLDER).and_then(|rest| rest.strip_suffix('}')) {
                    // A string that is only a placeholder takes the type of its value.
                    Some(inner) if !inner.contains('}') => self.look_up(inner)?,
                    _ => Value::String(self.fill(text)?),
                }
            }
            Value::Array(items) => {
                items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?
            }
            Value::Object(entries) => {
                let filled = entries.iter().map(|(key, item)| Ok((key.clone(), self.fill_value(item)?)));
                Value::Object(filled.collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// `which` is `N`, `N:/pointer`, `T.N` or `T.N:/pointer`.
    fn look_up(&self, which: &str) -> Result<Value, String> {
        let (place, pointer) = which.split_once(':').unwrap_or((which, ""));
        let (turn, number) = match place.split_once('.') {
            Some((turn, number)) => (Some(turn), number),
            None => (None, place),
        };
        let number: usize =
            number.parse().map_err(|_| format!("`{which}` does not begin with a result number"))?;
        let results = match turn {
            Some(turn) => {
                let turn: usize =
                    turn.parse().map_err(|_| format!("`{which}` does not begin with a turn number"))?;
                self.results_of_turn(turn)
            }
            None => self.results_before(),
        };
        let result = results
            .and_then(|results| results.get(number))
            .ok_or_else(|| format!("there is no result for `{{result:{which}}}`"))?;
        if pointer.is_empty() {
            return Ok(Value::String(unmarked(&result.text).to_owned()));
        }
        let json: Value = serde_json::from_str(unmarked(&result.text))
            .map_err(|_| format!("the result for `{{result:{which}}}` is not JSON"))?;
        json.pointer(pointer).cloned().ok_or_else(|| format!("there is nothing at `{{result:{which}}}`"))
    }

    fn results_before(&self) -> Option<&[ToolResult]> {
        self.messages[..self.before.min(self.messages.len())].iter().rev().find_map(as_results)
    }

    fn results_of_turn(&self, turn: usize) -> Option<&[ToolResult]> {
        let is_assistant = |(_, message): &(usize, &Message)| matches!(message, Message::Assistant { .. });
        let (index, _) = self.messages.iter().enumerate().filter(is_assistant).nth(turn.checked_sub(1)?)?;
        self.messages.get(index + 1).and_then(as_results)
    }
}

fn as_results(message: &Message) -> Option<&[ToolResult]> {
    match message {
        Message::Results { results } => Some(results),
        Message::User { .. } | Message::Assistant { .. } => None,
    }
}

/// A script as it stands in its file.
enum ScriptFile {
    Steps(Vec<CheckedStep>),
    Roles(Vec<(String, Vec<CheckedStep>)>),
}

/// A step that makes sense; checked while parsing, so that the error knows the line.
struct CheckedStep(ScriptStep);

fn steps_of(name: &str, script: ScriptFile, role: Option<&str>) -> Result<Vec<ScriptStep>> {
    let invalid = |what: LocalizedText| {
        Error::new(ErrorCode::ScriptInvalid, what.map(|what| format!("{name}: {what}")))
    };
    let steps = match (script, role) {
        (ScriptFile::Steps(steps), None) => steps,
        (ScriptFile::Steps(_), Some(role)) => {
            return Err(invalid(localized!("script-is-list", role)).hint(localized!("script-is-list-hint")));
        }
        (ScriptFile::Roles(mut roles), role) => {
            let names = roles.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let found = match role {
                Some(role) => roles.iter().position(|(name, _)| name == role),
                None => (roles.len() == 1).then_some(0),
            };
            let missing = || match role {
                Some(role) => {
                    invalid(localized!("script-no-role", role)).hint(localized!("script-roles", names))
                }
                None => {
                    invalid(localized!("script-several-roles")).hint(localized!("script-name-role", names))
                }
            };
            roles.swap_remove(found.ok_or_else(missing)?).1
        }
    };
    Ok(steps.into_iter().map(|CheckedStep(step)| step).collect())
}

fn not_a_script(name: &str, error: &serde_saphyr::Error) -> Error {
    let place = match error.location() {
        Some(at) => format!("{name}:{}:{}", at.line(), at.column()),
        // Only an error of the whole file has no position.
        None => format!("{name}:1:1"),
    };
    let message = error.without_snippet().to_string();
    // The parser repeats the position at the end of its message.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    Error::new(ErrorCode::ScriptInvalid, format!("{place}: {message}")).hint(localized!("script-shape-hint"))
}

impl<'de> Deserialize<'de> for ScriptFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScriptVisitor;
        impl<'de> Visitor<'de> for ScriptVisitor {
            type Value = ScriptFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of steps, or a map from roles to lists of steps")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ScriptFile, A::Error> {
                let mut steps = Vec::new();
                while let Some(step) = seq.next_element()? {
                    steps.push(step);
                }
                Ok(ScriptFile::Steps(steps))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScriptFile, A::Error> {
                let mut roles = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    roles.push(entry);
                }
                Ok(ScriptFile::Roles(roles))
            }
        }
        deserializer.deserialize_any(ScriptVisitor)
    }
}

impl<'de> Deserialize<'de> for CheckedStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let step = ScriptStep::deserialize(deserializer)?;
        match step.fault() {
            Some(fault) => Err(de::Error::custom(fault)),
            None => Ok(CheckedStep(step)),
        }
    }
}

impl<'de> Deserialize<'de> for ScriptedCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor)
    }
}

struct CallVisitor;

impl<'de> Visitor<'de> for CallVisitor {
    type Value = ScriptedCall;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`{tool: name, arguments: {...}}` or `{name: {...}}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScriptedCall, A::Error> {
        let mut tool = None;
        let mut arguments = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tool" => tool = Some(map.next_value::<String>()?),
                "arguments" => arguments = Some(ScriptedArguments::Value(map.next_value()?)),
                "raw" => arguments = Some(ScriptedArguments::Raw(map.next_value()?)),
                // The short form has the tool's name as its only key.
                _ if tool.is_none() && arguments.is_none() => {
                    tool = Some(key);
                    arguments = Some(ScriptedArguments::Value(map.next_value()?));
                }
                other => return Err(de::Error::unknown_field(other, &["tool", "arguments", "raw"])),
            }
        }
        let tool = tool.ok_or_else(|| de::Error::missing_field("tool"))?;
        let none = ScriptedArguments::Value(Value::Object(serde_json::Map::new()));
        let arguments = match arguments {
            None | Some(ScriptedArguments::Value(Value::Null)) => none,
            Some(arguments) => arguments,
        };
        Ok(ScriptedCall { tool, arguments })
    }
}

/// Takes the names of the journal as well as those shown to people (`quota`, `context_exhausted`).
fn failure_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FailureKind, D::Error> {
    let word = String::deserialize(deserializer)?;
    match word.as_str() {
        "quota" => Ok(FailureKind::QuotaExhausted),
        "context_exhausted" => Ok(FailureKind::ContextTooLong),
        _ => FailureKind::deserialize(de::value::StringDeserializer::new(word)),
    }
}

#[cfg(test)]
mod tests;
