//! Lines about finished tool calls of the conversation: one line per turn, such as `● Read a.rs (212 lines) · Grep "retry"`.

use std::collections::BTreeMap;

use posse_core::edits::FileChange;
use posse_core::event::Event;
use posse_core::id::CallKey;
use posse_core::text::{prefix, visible};
use posse_messages::say;
use posse_terminal::rows::RowState;
use posse_terminal::style::{StyledLine, SymbolSet, TextStyle};

/// Longest description of one call, in bytes.
const CALL_BYTES_MAX: usize = 80;

/// Calls of the turn under way.
#[derive(Default)]
pub(super) struct CallTrace {
    /// Calls under way, and what each is about.
    open: BTreeMap<CallKey, String>,
    /// Lines of the results.
    lines: BTreeMap<CallKey, usize>,
    done: Vec<CallPart>,
    /// The last line, which is not repeated: a model that polls would fill the screen.
    last: String,
}

struct CallPart {
    text: String,
    is_error: bool,
}

impl CallTrace {
    /// Takes the number of lines of a result.
    pub(super) fn count(&mut self, key: CallKey, lines: usize) {
        self.lines.insert(key, lines);
    }

    /// Returns the line about the calls that are finished.
    pub(super) fn take_line(&mut self, symbols: SymbolSet) -> Option<StyledLine> {
        let parts = std::mem::take(&mut self.done);
        if parts.is_empty() {
            return None;
        }
        let state = if parts.iter().all(|part| part.is_error) { RowState::Failed } else { RowState::Working };
        let mut line = StyledLine::new();
        line.push(state.mark(symbols), state.style());
        line.push(" ", TextStyle::PLAIN);
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                line.push(&symbols.adapt(" · "), TextStyle::PLAIN);
            }
            let style = if part.is_error { RowState::Failed.style() } else { TextStyle::PLAIN };
            line.push(&symbols.adapt(&part.text), style);
        }
        let text = line.text();
        (std::mem::replace(&mut self.last, text.clone()) != text).then_some(line)
    }

    /// Takes an event; returns true if the calls so far make a line.
    pub(super) fn observe(&mut self, event: &Event) -> bool {
        match event {
            Event::ToolStarted { key, tool, summary } => {
                self.open.insert(*key, call_text(tool, summary));
                false
            }
            Event::ToolFinished { key, is_error, why, changed, .. } => {
                let Some(call) = self.open.remove(key) else { return false };
                let text = match (why, changed.as_slice(), self.lines.remove(key)) {
                    (Some(why), ..) => {
                        say!("chat-call-failed", call, why = visible(prefix(why, CALL_BYTES_MAX)))
                    }
                    (None, [change], _) => format!("{call}{}", counts(change)),
                    (None, _, Some(n)) if n > 1 => say!("chat-call-lines", call, n),
                    (None, ..) => call,
                };
                self.done.push(CallPart { text, is_error: *is_error });
                false
            }
            Event::TurnStarted { .. } | Event::Finished { .. } => {
                self.lines.clear();
                true
            }
            _ => false,
        }
    }
}

fn counts(change: &FileChange) -> String {
    change.lines.map_or_else(String::new, |lines| format!(" +{} −{}", lines.added, lines.removed))
}

fn call_text(tool: &str, summary: &str) -> String {
    let mut name = tool.chars();
    let first = name.next().map(|c| c.to_ascii_uppercase()).map(String::from).unwrap_or_default();
    let text = format!("{first}{} {summary}", name.as_str());
    visible(prefix(text.trim_end(), CALL_BYTES_MAX)).split_whitespace().collect::<Vec<_>>().join(" ")
}
