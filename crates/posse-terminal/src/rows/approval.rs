//! The question above the live tree: a call that waits for a person, with its diff.

use posse_core::approval::{ApprovalScope, ApprovalVerdict, DIFF_MARGIN, ParkedCall, call_lines, legible};
use posse_messages::say;

use super::model::RowState;
use super::{figures, key_lines};
use crate::diff::NumberedDiff;
use crate::style::{StyledLine, SymbolSet, TextStyle, columns, cut_text};

/// A call that waits for approval, ready to be shown.
#[derive(Debug, Clone)]
pub struct ApprovalCard {
    task: String,
    agent: String,
    /// Tool and target, such as `edit src/auth.rs`.
    call: String,
    added: u64,
    removed: u64,
    body: Vec<StyledLine>,
    /// Rules that ask, hash, and calls that a wider approval covers.
    terms: Vec<StyledLine>,
    deadline_ms: u64,
    on_deadline: ApprovalVerdict,
}

impl ApprovalCard {
    /// Reads the call. Everything that a person has to see is in the card; letters that pretend to be others are named.
    pub fn new(parked: &ParkedCall) -> Self {
        let request = &parked.request;
        let lines = call_lines(parked);
        // The first two lines name agent and task, the last two hash and rules.
        let fields = lines.get(2..lines.len().saturating_sub(2)).unwrap_or_default();
        let target = fields.iter().filter(|line| !line.is_diff).find_map(|line| target(&line.text));
        let mut numbered = NumberedDiff::default();
        let mut body = Vec::new();
        for line in fields {
            match line.text.strip_prefix(DIFF_MARGIN).filter(|_| line.is_diff) {
                Some(diff) => body.extend(numbered.line(diff)),
                // The name of the diff says nothing, and the target is in the title.
                None if line.is_diff || target == self::target(&line.text) && target.is_some() => {}
                None => body.push(StyledLine::plain(&line.text)),
            }
        }
        Self {
            task: request.task.short().to_owned(),
            agent: legible(&request.agent),
            call: format!("{} {}", legible(&request.tool), target.unwrap_or_default()).trim_end().to_owned(),
            added: numbered.added(),
            removed: numbered.removed(),
            body,
            terms: lines.iter().rev().take(2).rev().map(|line| StyledLine::plain(&line.text)).collect(),
            deadline_ms: request.deadline_ms,
            on_deadline: request.on_deadline,
        }
    }

    /// Returns everything that the call says, wrapped to the width: nobody approves a part that was cut off.
    pub fn body(&self, width: usize) -> Vec<StyledLine> {
        let width = width.saturating_sub(1);
        let title = (!self.has_whole_title(width)).then(|| StyledLine::plain(format!("  {}", self.call)));
        title.iter().chain(&self.body).flat_map(|line| line.wrap(width)).collect()
    }

    /// Returns the number of rows that `lines` hides in this space.
    pub fn hidden(&self, width: usize, rows_max: usize) -> usize {
        let rows = self.body(width).len();
        rows - self.body_rows(rows, width, rows_max)
    }

    /// Returns the lines of keys: more than one in a narrow terminal.
    pub fn key_rows(&self, width: usize) -> usize {
        key_lines(&say!("card-keys"), width, SymbolSet::Unicode).len()
    }

    /// Returns the rows that a call gets beside title, keys and time; one of them says how many are hidden.
    fn body_rows(&self, rows: usize, width: usize, rows_max: usize) -> usize {
        let room = rows_max.saturating_sub(2 + self.key_rows(width));
        if rows <= room { rows } else { room.saturating_sub(1) }
    }

    /// Lays the card out: title, as much of the call as fits, keys, time left.
    pub fn lines(&self, width: usize, rows_max: usize, symbols: SymbolSet, now_ms: u64) -> Vec<StyledLine> {
        let mut body = self.body(width);
        let shown = self.body_rows(body.len(), width, rows_max);
        let hidden = body.len() - shown;
        body.truncate(shown);
        if hidden > 0 {
            body.push(StyledLine::plain(format!("  {}", say!("card-hidden", n = hidden))));
        }
        self.framed(body, width, symbols, now_ms)
    }

    /// Lays the card out after the whole call was printed above it.
    pub fn brief_lines(&self, width: usize, symbols: SymbolSet, now_ms: u64) -> Vec<StyledLine> {
        let body = vec![StyledLine::plain(format!("  {}", say!("card-above")))];
        self.framed(body, width, symbols, now_ms)
    }

    /// Returns everything that is known about the call, wrapped to the width, with what a wider approval covers.
    pub fn whole(&self, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
        let terms = self.terms.iter().flat_map(|line| line.wrap(width.saturating_sub(1)));
        let title = self.title(width.saturating_sub(1), symbols);
        [title].into_iter().chain(self.body(width)).chain(terms).collect()
    }

    fn framed(
        &self,
        body: Vec<StyledLine>,
        width: usize,
        symbols: SymbolSet,
        now_ms: u64,
    ) -> Vec<StyledLine> {
        let keys = key_lines(&say!("card-keys"), width, symbols);
        let width = width.saturating_sub(1);
        let left = figures::time(self.deadline_ms.saturating_sub(now_ms));
        let left = match self.on_deadline {
            ApprovalVerdict::Approve => say!("card-approved-in", left),
            ApprovalVerdict::Deny => say!("card-denied-in", left),
        };
        let left = StyledLine::plain(format!("  {left}")).cut(width, symbols);
        [self.title(width, symbols)].into_iter().chain(body).chain(keys).chain([left]).collect()
    }

    /// Formats the line that stays after the answer.
    pub fn receipt(&self, verdict: ApprovalVerdict, scope: ApprovalScope, symbols: SymbolSet) -> StyledLine {
        let (call, task) = (self.call.as_str(), self.task.as_str());
        let (state, text) = match (verdict, scope) {
            (ApprovalVerdict::Deny, _) => (RowState::Cancelled, say!("card-denied", call, task)),
            (ApprovalVerdict::Approve, ApprovalScope::Once) => {
                (RowState::Completed, say!("card-approved-once", call, task))
            }
            (ApprovalVerdict::Approve, ApprovalScope::Task | ApprovalScope::Subtree) => {
                (RowState::Completed, say!("card-approved-task", call, task))
            }
            (ApprovalVerdict::Approve, ApprovalScope::Session) => {
                (RowState::Completed, say!("card-approved-session", call, task))
            }
        };
        let mut line = StyledLine::new();
        line.push(state.mark(symbols), state.style());
        line.push(&format!(" {text}"), TextStyle::PLAIN);
        line
    }

    /// Formats the counts of changed lines.
    fn counts(&self) -> String {
        match (self.added, self.removed) {
            (0, 0) => String::new(),
            (added, removed) => format!("+{added} −{removed}"),
        }
    }

    fn title_text(&self) -> String {
        let (task, agent) = (&self.task, &self.agent);
        match self.call.strip_prefix("bash ") {
            Some(command) => say!("card-wants-run", task, agent, command),
            None => say!("card-wants", task, agent, call = &self.call),
        }
    }

    /// Returns the columns of the title between the mark and the counts.
    fn title_room(&self, width: usize) -> usize {
        width.saturating_sub(columns(&self.counts()) + 4)
    }

    fn has_whole_title(&self, width: usize) -> bool {
        columns(&self.title_text()) <= self.title_room(width)
    }

    fn title(&self, width: usize, symbols: SymbolSet) -> StyledLine {
        let state = RowState::NeedsInput;
        let counts = symbols.adapt(&self.counts()).into_owned();
        let mut line = StyledLine::new();
        line.push(state.mark(symbols), state.style());
        line.push(" ", TextStyle::PLAIN);
        line.push(&cut_text(&self.title_text(), self.title_room(width), symbols), TextStyle::BOLD);
        if !counts.is_empty() {
            line.pad_to(width.saturating_sub(columns(&counts)));
            line.push(&counts, TextStyle::PLAIN);
        }
        line
    }
}

/// Returns the value of an argument that names the target of a call.
fn target(field: &str) -> Option<String> {
    let (name, value) = field.strip_prefix("  ")?.split_once(": ")?;
    matches!(name, "path" | "command" | "url").then(|| value.to_owned())
}
