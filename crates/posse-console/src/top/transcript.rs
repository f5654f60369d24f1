//! The conversation of a task as lines: turn by turn, with results folded.

use std::collections::VecDeque;

use posse_core::approval::ApprovalVerdict;
use posse_core::edits::FileChange;
use posse_core::event::{Event, summary};
use posse_core::id::CallKey;
use posse_core::journal::{Record, ResultOrigin};
use posse_core::message::{Block, ToolCall, ToolResult};
use posse_core::outcome::{Outcome, OutcomeStatus};
use posse_core::text::{head_and_tail, visible};
use posse_core::tool::canonical;
use posse_messages::say;
use posse_terminal::markdown::{CodeColors, MarkdownStream, MarkdownStyle};
use posse_terminal::rows::{RowState, call_text, figures, stop_text};
use posse_terminal::style::{AnsiColor, StylePalette, StyledLine, SymbolSet, TextStyle};

/// Entries that are kept; `posse tasks show` has the rest.
const ENTRIES_MAX: usize = 2_000;
/// Bytes of a result that are kept.
const RESULT_BYTES_MAX: usize = 8_000;
/// Lines of a message that are shown while results are folded.
const MESSAGE_LINES_MAX: usize = 6;
/// Lines of an edit that are shown while results are folded.
const EDIT_LINES_MAX: usize = 8;

/// Lines of an edit that are kept; the diff has all of them.
const EDIT_KEPT_MAX: usize = 200;

/// Looks of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptStyle {
    /// Columns of the pane.
    pub width: usize,
    /// Results are shown, not only their size.
    pub is_unfolded: bool,
    /// Colors and attributes, or none.
    pub palette: StylePalette,
    /// Characters for marks.
    pub symbols: SymbolSet,
}

/// The conversation of one task.
#[derive(Debug, Default)]
pub struct TaskTranscript {
    entries: VecDeque<TranscriptEntry>,
    /// Earlier entries were left out.
    is_cut: bool,
    /// Last reply, for copying.
    answer: String,
}

#[derive(Debug)]
struct TranscriptEntry {
    content: EntryContent,
    lines: Option<(TranscriptStyle, Vec<StyledLine>)>,
}

/// A part of the conversation.
#[derive(Debug)]
enum EntryContent {
    /// A message to the task.
    Message(String),
    Turn(u32),
    Text(String),
    Call(CallEntry),
    /// A remark about the run.
    Note {
        state: RowState,
        text: String,
    },
}

/// A tool call and its result.
#[derive(Debug)]
struct CallEntry {
    key: CallKey,
    text: String,
    state: RowState,
    /// Size of the result, changed files or the error.
    note: String,
    /// Removed and added lines of an edit.
    edit: Vec<(char, String)>,
    result: String,
}

impl TaskTranscript {
    /// Takes the next record of the journal.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Started(start) => self.push(EntryContent::Message(start.task.clone())),
            Record::Said { text, .. } | Record::Steered { text, .. } => {
                self.push(EntryContent::Message(text.clone()));
            }
            Record::Replied { turn, reply, .. } => self.take_reply(*turn, &reply.blocks),
            Record::Unanswered { failure, .. } => {
                self.note(RowState::Failed, say!("top-model-failed", why = failure.to_string()));
            }
            Record::Resolved { key, verdict, by, .. } => {
                let by = by.to_string();
                let note = match verdict {
                    ApprovalVerdict::Approve => say!("top-approved-by", by),
                    ApprovalVerdict::Deny => say!("top-denied-by", by),
                };
                self.change(*key, |call| call.note = note);
            }
            Record::Done { result, full_text, origin, duration_ms, .. } => {
                let text = full_text.as_deref().unwrap_or(&result.text);
                self.change(result.key, |call| call.end(result, text, *origin, *duration_ms));
            }
            Record::Resumed { .. } => self.note(RowState::Interrupted, say!("top-resumed")),
            Record::Withdrawn { tools, .. } => {
                self.note(RowState::Waiting, say!("top-withdrawn", tools = tools.join(", ")));
            }
            Record::BudgetSpent { shortfall, .. } => {
                self.note(RowState::Waiting, say!("top-budget-spent", shortfall = shortfall.as_str()));
            }
            Record::Cancelled { .. } => self.note(RowState::Cancelled, say!("top-cancel-asked")),
            Record::Verified { evidence, .. } => {
                let state = if evidence.passed() { RowState::Completed } else { RowState::Failed };
                self.note(state, format!("{} · {}", evidence.command, evidence.ending()));
            }
            Record::Checked { errors, .. } if !errors.is_empty() => {
                self.note(RowState::Failed, say!("top-schema-unmet", errors = errors.join("; ")));
            }
            Record::Observed { event: Event::Noted { note } } => self.note(RowState::Waiting, note.clone()),
            Record::Finished { outcome, .. } => self.end(outcome),
            Record::Asked { .. }
            | Record::Intended { .. }
            | Record::Saved { .. }
            | Record::Checked { .. }
            | Record::Regranted { .. }
            | Record::ModelChosen { .. }
            | Record::Verifying { .. }
            | Record::Observed { .. } => {}
        }
    }

    /// Tells whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the last reply.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Lays the conversation out.
    pub fn lines(&mut self, style: TranscriptStyle) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        if self.is_cut {
            lines.push(StyledLine::plain(say!("top-earlier")));
        }
        for entry in &mut self.entries {
            if entry.lines.as_ref().is_none_or(|(known, _)| *known != style) {
                entry.lines = Some((style, entry.content.lines(style)));
            }
            lines.extend(entry.lines.iter().flat_map(|(_, lines)| lines.iter().cloned()));
        }
        lines
    }

    fn take_reply(&mut self, turn: u32, blocks: &[Block]) {
        self.push(EntryContent::Turn(turn));
        for block in blocks {
            match block {
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    self.answer.clone_from(text);
                    self.push(EntryContent::Text(text.clone()));
                }
                Block::ToolCall(call) => self.push(EntryContent::Call(CallEntry::new(call))),
                Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => {}
            }
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        let (state, text) = match outcome.status() {
            OutcomeStatus::Completed => (RowState::Completed, say!("top-ended-completed")),
            OutcomeStatus::Partial => (RowState::Partial, say!("top-ended-partial")),
            OutcomeStatus::Failed => (RowState::Failed, say!("top-ended-failed")),
            OutcomeStatus::Cancelled => (RowState::Cancelled, say!("top-ended-cancelled")),
        };
        if !outcome.text.trim().is_empty() {
            self.answer.clone_from(&outcome.text);
        }
        let why = (state != RowState::Completed).then(|| stop_text(outcome.stop));
        self.note(state, [Some(text), why].into_iter().flatten().collect::<Vec<_>>().join(" · "));
    }

    fn note(&mut self, state: RowState, text: String) {
        self.push(EntryContent::Note { state, text });
    }

    fn push(&mut self, content: EntryContent) {
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.pop_front();
            self.is_cut = true;
        }
        self.entries.push_back(TranscriptEntry { content, lines: None });
    }

    /// Changes the entry of a call.
    fn change(&mut self, key: CallKey, change: impl FnOnce(&mut CallEntry)) {
        for entry in self.entries.iter_mut().rev() {
            if let EntryContent::Call(call) = &mut entry.content
                && call.key == key
            {
                change(call);
                entry.lines = None;
                return;
            }
        }
    }
}

impl CallEntry {
    fn new(call: &ToolCall) -> Self {
        Self {
            key: call.key,
            text: call_text(&call.name, &summary(call)),
            state: RowState::Working,
            note: String::new(),
            edit: edited_lines(call),
            result: String::new(),
        }
    }

    fn end(&mut self, result: &ToolResult, text: &str, origin: ResultOrigin, millis: u64) {
        let first = || visible(text.lines().next().unwrap_or_default()).into_owned();
        self.state = match (origin, result.is_error) {
            (ResultOrigin::Refused, _) => RowState::Cancelled,
            _ if result.in_doubt => RowState::Waiting,
            (_, true) => RowState::Failed,
            (_, false) => RowState::Completed,
        };
        self.note = match self.state {
            RowState::Completed if result.changed.is_empty() => say!("top-lines", n = text.lines().count()),
            RowState::Completed => result.changed.iter().map(counts).collect::<Vec<_>>().join(" · "),
            _ => first(),
        };
        if millis >= 1_000 {
            self.note.push_str(&format!("  {}", figures::time(millis)));
        }
        self.result = visible(&head_and_tail(text.trim_end(), RESULT_BYTES_MAX)).into_owned();
    }

    fn lines(&self, style: TranscriptStyle) -> Vec<StyledLine> {
        let mut line = StyledLine::plain("  ");
        line.push(self.state.mark(style.symbols), self.state.style());
        line.push(&format!(" {}", self.text), TextStyle::PLAIN);
        if !self.note.is_empty() {
            let note = match self.state {
                RowState::Failed => TextStyle::colored(AnsiColor::Red),
                RowState::Completed => TextStyle::DIM,
                _ => TextStyle::PLAIN,
            };
            line.push(&format!("  {}", style.symbols.adapt(&self.note)), note);
        }
        let mut lines = vec![line.cut(style.width, style.symbols)];
        let shown = if style.is_unfolded { usize::MAX } else { EDIT_LINES_MAX };
        for (sign, text) in self.edit.iter().take(shown) {
            let color = if *sign == '+' { AnsiColor::Green } else { AnsiColor::Red };
            let mut line = StyledLine::plain("    ");
            line.push(&format!("{sign} {}", visible(text).replace('\t', "    ")), TextStyle::colored(color));
            lines.push(line.cut(style.width, style.symbols));
        }
        if self.edit.len() > shown {
            lines.push(StyledLine::plain(format!(
                "    {}",
                say!("top-more-lines", n = self.edit.len() - shown)
            )));
        }
        if style.is_unfolded {
            for text in self.result.lines() {
                let mut line = StyledLine::plain("    ");
                line.push(&text.replace('\t', "    "), TextStyle::PLAIN);
                lines.extend(line.wrap(style.width));
            }
        }
        lines
    }
}

impl EntryContent {
    fn lines(&self, style: TranscriptStyle) -> Vec<StyledLine> {
        match self {
            EntryContent::Message(text) => message_lines(text, style),
            EntryContent::Turn(turn) => {
                let mut line = StyledLine::new();
                line.push(&say!("top-turn", turn), TextStyle::BOLD);
                vec![StyledLine::new(), line]
            }
            EntryContent::Text(text) => text_lines(text, style),
            EntryContent::Call(call) => call.lines(style),
            EntryContent::Note { state, text } => {
                let mut line = StyledLine::new();
                line.push(state.mark(style.symbols), state.style());
                line.push(&format!(" {}", style.symbols.adapt(&one_line(text))), TextStyle::PLAIN);
                [vec![StyledLine::new()], line.wrap(style.width)].concat()
            }
        }
    }
}

fn message_lines(text: &str, style: TranscriptStyle) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = Vec::new();
    for text in visible(text.trim_end()).lines() {
        let mut line = StyledLine::new();
        line.push(&text.replace('\t', "    "), TextStyle::PLAIN);
        lines.extend(line.wrap(style.width.saturating_sub(2).max(1)));
    }
    let shown = if style.is_unfolded { lines.len() } else { MESSAGE_LINES_MAX.min(lines.len()) };
    let hidden = lines.len() - shown;
    lines.truncate(shown);
    if hidden > 0 {
        lines.push(StyledLine::plain(say!("top-more-lines", n = hidden)));
    }
    let marked = |line: StyledLine| {
        let mut out = StyledLine::new();
        out.push("> ", TextStyle::colored(AnsiColor::Magenta));
        out.extend(&line);
        out
    };
    lines.into_iter().map(marked).collect()
}

fn text_lines(text: &str, style: TranscriptStyle) -> Vec<StyledLine> {
    let markdown = MarkdownStyle {
        width: style.width.saturating_sub(1).max(10),
        palette: style.palette,
        symbols: style.symbols,
        code: CodeColors::off(),
    };
    let mut stream = MarkdownStream::new(markdown);
    let mut lines = stream.push(&visible(text));
    lines.extend(stream.finish());
    let indented = |line: StyledLine| {
        let mut out = StyledLine::plain("  ");
        out.extend(&line);
        out.wrap(style.width)
    };
    lines.into_iter().flat_map(indented).collect()
}

fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats the counts of a changed file.
fn counts(change: &FileChange) -> String {
    match change.lines {
        Some(lines) => format!("+{} −{}", lines.added, lines.removed),
        None => visible(&change.path).into_owned(),
    }
}

/// Returns the lines that an edit or a new file removes and adds, from the arguments of the call.
fn edited_lines(call: &ToolCall) -> Vec<(char, String)> {
    let field = |name: &str| {
        let value: serde_json::Value = serde_json::from_str(call.arguments.as_object_text()).ok()?;
        value.get(name)?.as_str().map(str::to_owned)
    };
    let signed = |sign, text: String| {
        text.lines().take(EDIT_KEPT_MAX).map(|line| (sign, line.to_owned())).collect::<Vec<_>>()
    };
    match canonical(&call.name).as_ref() {
        "edit" => {
            let removed = field("old_string").map(|text| signed('-', text)).unwrap_or_default();
            let added = field("new_string").map(|text| signed('+', text)).unwrap_or_default();
            [removed, added].concat()
        }
        "write" => field("content").map(|text| signed('+', text)).unwrap_or_default(),
        _ => Vec::new(),
    }
}
