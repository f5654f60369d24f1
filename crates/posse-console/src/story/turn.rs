//! One turn of a story: its calls with the size of their results, its price and its time.

use std::fmt::Write;

use posse_core::approval::ApprovalVerdict;
use posse_core::event::summary;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, ResultOrigin};
use posse_core::message::{Block, ToolCall, ToolResult};
use posse_core::reply::Reply;
use posse_core::text::visible;
use posse_core::tool::{DELEGATION, canonical};
use posse_core::usage::Usage;
use posse_messages::say;
use posse_terminal::rows::{RowState, call_text, figures};
use posse_terminal::style::{AnsiColor, StyledLine, SymbolSet, TextStyle};

use super::StoryStyle;
use super::flow::{StoryRow, TextPiece};
use crate::words::file;

/// Bytes of the words of a turn in its row.
const SAID_BYTES_MAX: usize = 240;

/// A turn with its calls and its price.
#[derive(Debug)]
pub(super) struct StoryTurn {
    pub number: u32,
    said: String,
    calls: Vec<StoryCall>,
    has_replied: bool,
    /// Price in millionths of a dollar; `None` if a part of it is not known.
    cost_micros: Option<u64>,
    began_ms: u64,
    pub ended_ms: u64,
}

#[derive(Debug)]
struct StoryCall {
    key: CallKey,
    tool: String,
    text: String,
    state: RowState,
    /// Size of the result, changed lines or the error.
    note: String,
    approval: Option<String>,
    starts_task: bool,
    has_effect: bool,
}

/// The result of a call.
pub(super) struct CallNote<'a> {
    pub result: &'a ToolResult,
    pub text: &'a str,
    pub origin: ResultOrigin,
}

impl StoryTurn {
    pub fn new(number: u32, began_ms: u64) -> Self {
        let (said, calls, cost_micros) = (String::new(), Vec::new(), Some(0));
        Self { number, said, calls, has_replied: false, cost_micros, began_ms, ended_ms: began_ms }
    }

    pub fn reply(&mut self, reply: &Reply) {
        self.has_replied = true;
        self.spend(&reply.usage);
        self.spend(&reply.lost);
        for block in &reply.blocks {
            match block {
                Block::Text { text, .. } if self.said.is_empty() => self.said = one_line(text),
                Block::ToolCall(call) => self.calls.push(StoryCall::new(call)),
                Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => {}
            }
        }
    }

    /// Adds the price of a call of the model; one without tokens costs nothing.
    pub fn spend(&mut self, usage: &Usage) {
        let cost = usage.cost_micros.or((usage.total() == 0).then_some(0));
        self.cost_micros = self.cost_micros.zip(cost).map(|(all, one)| all.saturating_add(one));
    }

    pub fn approve(&mut self, key: CallKey, approval: String) {
        if let Some(call) = self.call(key) {
            call.approval = Some(approval);
        }
    }

    pub fn end(&mut self, key: CallKey, note: &CallNote<'_>) {
        if let Some(call) = self.call(key) {
            call.end(note);
        }
    }

    fn call(&mut self, key: CallKey) -> Option<&mut StoryCall> {
        self.calls.iter_mut().find(|call| call.key == key)
    }

    /// Drops words that are the answer, which has a row of its own.
    pub fn leave_answer_out(&mut self, answer: &str) {
        if self.calls.is_empty() && self.said == one_line(answer) {
            self.said.clear();
        }
    }

    /// Tells whether the turn said nothing, changed nothing and asked nobody.
    pub fn is_quiet(&self) -> bool {
        let is_quiet = |call: &StoryCall| call.approval.is_none() && !call.has_effect;
        self.said.is_empty() && !self.calls.is_empty() && self.calls.iter().all(is_quiet)
    }

    pub fn row(&self, symbols: SymbolSet) -> StoryRow {
        let mut text: Vec<TextPiece> = Vec::new();
        if !self.said.is_empty() {
            let said = posse_core::text::prefix(&self.said, SAID_BYTES_MAX);
            text.push((format!("\"{said}\""), TextStyle::PLAIN));
        }
        if self.said.is_empty() && self.calls.is_empty() && self.has_replied {
            text.push((say!("story-answered"), TextStyle::DIM));
        }
        for call in &self.calls {
            if !text.is_empty() {
                text.push((symbols.adapt(" · ").into_owned(), TextStyle::PLAIN));
            }
            call.add_to(&mut text, symbols);
        }
        StoryRow::new(self.number.to_string(), text, self.figures())
    }

    fn figures(&self) -> String {
        spent(self.cost_micros, self.ended_ms.saturating_sub(self.began_ms))
    }

    /// Makes one row of several quiet turns.
    pub fn folded(turns: &[&StoryTurn], symbols: SymbolSet) -> StoryRow {
        let mut tools: Vec<(String, usize)> = Vec::new();
        let calls = || turns.iter().flat_map(|turn| &turn.calls);
        for call in calls() {
            match tools.iter_mut().find(|(tool, _)| *tool == call.tool) {
                Some((_, n)) => *n += 1,
                None => tools.push((call.tool.clone(), 1)),
            }
        }
        let counted = tools.iter().map(|(tool, n)| match n {
            1 => tool.clone(),
            n => format!("{tool} ×{n}"),
        });
        let dot = symbols.adapt(" · ").into_owned();
        let mut text = vec![(counted.collect::<Vec<_>>().join(&dot), TextStyle::PLAIN)];
        for call in calls().filter(|call| call.state == RowState::Failed) {
            text.push((dot.clone(), TextStyle::PLAIN));
            call.add_to(&mut text, symbols);
        }
        let cost = turns.iter().try_fold(0_u64, |sum, turn| Some(sum.saturating_add(turn.cost_micros?)));
        let millis = turns.iter().map(|turn| turn.ended_ms.saturating_sub(turn.began_ms)).sum();
        let label = match turns {
            [first, .., last] => format!("{}–{}", first.number, last.number),
            [only] => only.number.to_string(),
            [] => String::new(),
        };
        StoryRow::new(label, text, spent(cost, millis))
    }
}

/// Formats price and time of a turn.
fn spent(cost_micros: Option<u64>, millis: u64) -> String {
    let time = match millis {
        0..10_000 => format!("{:.1}s", millis as f64 / 1e3),
        _ => figures::time(millis),
    };
    format!("{}  {time:>5}", figures::cost(cost_micros))
}

impl StoryCall {
    fn new(call: &ToolCall) -> Self {
        let summary = summary(call);
        Self {
            key: call.key,
            tool: call_text(&call.name, "").trim_end().to_owned(),
            text: call_text(&call.name, &summary).trim_end().to_owned(),
            state: RowState::Working,
            note: String::new(),
            approval: None,
            starts_task: canonical(&call.name) == DELEGATION && summary.starts_with("spawn"),
            has_effect: false,
        }
    }

    fn end(&mut self, CallNote { result, text, origin }: &CallNote<'_>) {
        let changes = !result.changed.is_empty();
        self.has_effect = changes || self.starts_task || *origin == ResultOrigin::Delegated;
        self.state = match origin {
            ResultOrigin::Refused => RowState::Cancelled,
            _ if result.in_doubt => RowState::Waiting,
            _ if result.is_error => RowState::Failed,
            _ => RowState::Completed,
        };
        let started = self.starts_task.then(|| started_task(text)).flatten();
        self.note = match (self.state, result.changed.as_slice()) {
            (RowState::Completed, []) if started.is_some() => started.unwrap_or_default(),
            (RowState::Completed, []) => format!("({})", say!("top-lines", n = text.lines().count())),
            // The path stands in the call already.
            (RowState::Completed, [only]) if self.text.contains(&only.path) => {
                let named = file(only, false);
                named.strip_prefix(visible(&only.path).as_ref()).unwrap_or(&named).trim().to_owned()
            }
            (RowState::Completed, changed) => {
                changed.iter().map(|change| file(change, false)).collect::<Vec<_>>().join(", ")
            }
            _ => error_text(text),
        };
    }

    fn add_to(&self, text: &mut Vec<TextPiece>, symbols: SymbolSet) {
        let is_odd = !matches!(self.state, RowState::Completed | RowState::Working);
        if is_odd {
            text.push((format!("{} ", self.state.mark(symbols)), self.state.style()));
        }
        text.push((symbols.adapt(&self.text).into_owned(), TextStyle::PLAIN));
        if !self.note.is_empty() {
            let (gap, style) = match self.state {
                RowState::Completed => (" ", TextStyle::DIM),
                RowState::Failed => (": ", TextStyle::colored(AnsiColor::Red)),
                _ => (": ", TextStyle::PLAIN),
            };
            text.push((gap.to_owned(), TextStyle::PLAIN));
            text.push((symbols.adapt(&self.note).into_owned(), style));
        }
        if let Some(approval) = &self.approval {
            text.push((format!(" ({approval})"), TextStyle::colored(AnsiColor::Yellow)));
        }
    }
}

/// Returns the id of the task that a delegation started.
fn started_task(text: &str) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(TaskId::from_store(answer.get("task_id")?.as_str()?.to_owned()).short().to_owned())
}

/// Returns what went wrong: the message of an error in JSON, or else the first line.
fn error_text(text: &str) -> String {
    let message = |answer: serde_json::Value| Some(answer.get("message")?.as_str()?.to_owned());
    let told = serde_json::from_str(text).ok().and_then(message);
    one_line(told.as_deref().unwrap_or_else(|| text.lines().next().unwrap_or_default()))
}

fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lays one turn out as a whole: words, calls with their arguments, and results. `records` are those of the turn.
pub fn turn_lines(records: &[Record], style: StoryStyle) -> Vec<StyledLine> {
    let mut parts = super::parts(records);
    let figures = super::last_turn(&mut parts).map(|turn| turn.figures()).unwrap_or_default();
    let mut lines = Vec::new();
    for record in records {
        match record {
            Record::Asked { turn, .. } if lines.is_empty() => {
                let mut head = text_line("", &say!("top-turn", turn), TextStyle::BOLD);
                for figure in figures.split_whitespace() {
                    head.push(&style.symbols.adapt(&format!(" · {figure}")), TextStyle::DIM);
                }
                lines.push(head);
            }
            Record::Said { text, .. } | Record::Steered { text, .. } => {
                add(&mut lines, "› ", text, TextStyle::PLAIN)
            }
            Record::Replied { reply, .. } => {
                reply.blocks.iter().for_each(|block| add_block(&mut lines, block))
            }
            Record::Unanswered { failure, .. } => {
                let text = say!("record-model", failure);
                add(&mut lines, "", &text, TextStyle::colored(AnsiColor::Red));
            }
            Record::Resolved { key, verdict, by, approval, .. } => {
                let by = by.to_string();
                let verdict = match verdict {
                    ApprovalVerdict::Approve => say!("top-approved-by", by),
                    ApprovalVerdict::Deny => say!("top-denied-by", by),
                };
                let id = approval.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
                add(&mut lines, "", &format!("{key} {verdict}{id}"), TextStyle::colored(AnsiColor::Yellow));
            }
            Record::Done { result, full_text, origin, .. } => {
                let text = full_text.as_deref().unwrap_or(&result.text);
                let mut call = StoryCall::blank(result);
                call.end(&CallNote { result, text, origin: *origin });
                let mut head = StyledLine::new();
                head.push(call.state.mark(style.symbols), call.state.style());
                head.push(&format!(" {} {}", result.key, visible(&result.name)), TextStyle::BOLD);
                for change in &result.changed {
                    head.push(&format!(" · {}", file(change, false)), TextStyle::PLAIN);
                }
                lines.push(head);
                add(&mut lines, "    ", text, TextStyle::PLAIN);
            }
            _ => {}
        }
    }
    lines
}

impl StoryCall {
    /// Returns a call of which only the result is known.
    fn blank(result: &ToolResult) -> Self {
        Self {
            key: result.key,
            tool: result.name.clone(),
            text: String::new(),
            state: RowState::Working,
            note: String::new(),
            approval: None,
            starts_task: false,
            has_effect: false,
        }
    }
}

fn add_block(lines: &mut Vec<StyledLine>, block: &Block) {
    match block {
        Block::Text { text, .. } => add(lines, "", text, TextStyle::PLAIN),
        Block::Thinking { text, .. } => add(lines, "  ", text, TextStyle::DIM),
        Block::ToolCall(call) => {
            let arguments = call.arguments.as_object_text();
            let mut shown = format!("{} {}", call.key, call_text(&call.name, "").trim_end());
            let value: Result<serde_json::Value, _> = serde_json::from_str(arguments);
            let _ = match value {
                Ok(value) => write!(shown, " {value:#}"),
                Err(_) => write!(shown, " {arguments}"),
            };
            add(lines, "  ", &shown, TextStyle::colored(AnsiColor::Cyan));
        }
        Block::Opaque { .. } => {}
    }
}

/// Appends the lines of a text, each with an indent.
fn add(lines: &mut Vec<StyledLine>, indent: &str, text: &str, style: TextStyle) {
    let text = visible(text.trim_end());
    lines.extend(text.lines().map(|line| text_line(indent, line, style)));
}

fn text_line(indent: &str, text: &str, style: TextStyle) -> StyledLine {
    let mut line = StyledLine::plain(indent);
    line.push(&text.replace('\t', "    "), style);
    line
}
