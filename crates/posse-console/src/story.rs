//! The story of a task: what each turn did in a line or two, and one turn as a whole.

mod flow;
mod turn;

use posse_core::approval::ApprovalVerdict;
use posse_core::event::Event;
use posse_core::journal::{Record, reply_texts, start_of};
use posse_core::mode::WorkMode;
use posse_core::text::visible;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::ports::TaskRow;
use posse_terminal::rows::{RowState, figures, stop_text};
use posse_terminal::style::{StyledLine, SymbolSet, TextStyle, columns};

use crate::words::{price, tokens, with_subagents};
use flow::{StoryRow, pieces};
use turn::{CallNote, StoryTurn};

#[cfg(test)]
mod tests;

pub use turn::turn_lines;

/// Turns up to which each has a row of its own.
const UNFOLDED_MAX: usize = 8;

/// Fewest turns without words and effects that are folded into one row.
const FOLDED_MIN: usize = 3;

/// Looks of a story.
#[derive(Debug, Clone, Copy)]
pub struct StoryStyle {
    /// Columns of the terminal; `None` in a pipe, where nothing is cut.
    pub width: Option<usize>,
    /// Characters for marks.
    pub symbols: SymbolSet,
}

/// Facts about a task that its journal does not tell.
#[derive(Debug, Clone, Copy)]
pub struct StoryHead<'a> {
    /// Row of the task.
    pub row: &'a TaskRow,
    /// State with that of its process.
    pub status: &'a str,
    /// Spending with subagents.
    pub tree: &'a SpendingTotal,
    /// Tool calls; `None` for a damaged journal.
    pub tool_calls: Option<u32>,
    /// Milliseconds from its creation to its end, or to now.
    pub took_ms: u64,
}

/// A part of a story; they stand in the order in which they happened.
#[derive(Debug)]
enum StoryPart {
    /// A message to the task.
    Message(String),
    Turn(StoryTurn),
    /// A remark about the run.
    Note {
        state: RowState,
        text: String,
    },
}

/// Tells the story of a task.
pub fn story(head: &StoryHead<'_>, records: &[Record], style: StoryStyle) -> Vec<StyledLine> {
    let mut rows = Vec::new();
    if let Some(Record::Started(start)) = records.first() {
        let from = head.row.parent.as_ref().map(|parent| say!("story-from", parent));
        rows.push(StoryRow::new(say!("story-task"), pieces(&start.task), from.unwrap_or_default()));
    }
    let answer = answer(records);
    let mut parts = parts(records);
    if let Some(last) = last_turn(&mut parts) {
        last.leave_answer_out(&answer);
    }
    let turns = parts.iter().filter(|part| matches!(part, StoryPart::Turn(_))).count();
    let mut rest = parts.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let quiet = rest.iter().take_while(|part| part.is_quiet()).count();
        if turns > UNFOLDED_MAX && quiet >= FOLDED_MIN {
            rows.push(folded(&rest[..quiet], style.symbols));
            rest = &rest[quiet..];
            continue;
        }
        rows.push(first.row(style.symbols));
        rest = after;
    }
    if !answer.trim().is_empty() {
        rows.push(StoryRow::new(say!("story-answer"), pieces(&answer), String::new()));
    }
    let label_columns = rows.iter().map(|row| columns(&row.label)).max().unwrap_or(0);
    let mut lines = head_lines(head, records, style);
    lines.extend(rows.iter().flat_map(|row| row.lines(label_columns, style)));
    lines
}

/// Returns the whole answer of a task: of its end, or else of its last reply.
pub fn answer(records: &[Record]) -> String {
    let ended = records.iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome.text.clone()),
        _ => None,
    });
    let said = || reply_texts(records).into_iter().rfind(|text| !text.trim().is_empty());
    ended.filter(|text| !text.trim().is_empty()).or_else(said).unwrap_or_default()
}

/// Returns the records of one turn.
pub fn turn_records(records: &[Record], turn: u32) -> &[Record] {
    let asks = |wanted: &dyn Fn(u32) -> bool, record: &Record| matches!(record, Record::Asked { turn, .. } if wanted(*turn));
    let Some(from) = records.iter().position(|record| asks(&|asked| asked == turn, record)) else {
        return &[];
    };
    let to = records.iter().position(|record| asks(&|asked| asked > turn, record));
    &records[from..to.unwrap_or(records.len()).max(from)]
}

/// Returns the first lines: state, figures and sandbox.
fn head_lines(head: &StoryHead<'_>, records: &[Record], style: StoryStyle) -> Vec<StyledLine> {
    let StoryHead { row, status, tree, tool_calls, took_ms } = head;
    let state = state_of(status);
    let mut line = StyledLine::new();
    line.push(state.mark(style.symbols), state.style());
    line.push(&format!(" {} {}", visible(&row.agent), row.id), TextStyle::BOLD);
    let tools = tool_calls.map(|calls| format!(" · {}", say!("many-tools", n = calls))).unwrap_or_default();
    let turns = say!("turns-shown", n = row.turns());
    let spent = format!("{} · {}{}", tokens(row.total.tokens()), price(&row.total), with_subagents(tree));
    let took = figures::time(*took_ms);
    let mut text = format!(" · {status} · {took} · {turns}{tools} · {spent}");
    if let Ok(start) = start_of(records) {
        text.push_str(&format!(" · {} · sandbox {}", visible(&start.agent.model), start.grant.sandbox()));
    }
    line.push(&style.symbols.adapt(&text), TextStyle::PLAIN);
    match style.width {
        Some(width) => flow::wrapped(&line, width),
        None => vec![line],
    }
}

fn state_of(status: &str) -> RowState {
    match status {
        "completed" => RowState::Completed,
        "partial" => RowState::Partial,
        "failed" => RowState::Failed,
        "cancelled" => RowState::Cancelled,
        "interrupted" => RowState::Interrupted,
        "queued" => RowState::Queued,
        _ => RowState::Working,
    }
}

/// Collects what happened, turn by turn.
fn parts(records: &[Record]) -> Vec<StoryPart> {
    let mut parts = Vec::new();
    for record in records {
        match record {
            Record::Asked { turn, elapsed_ms, .. } => match last_turn(&mut parts) {
                // Another attempt at the same call.
                Some(open) if open.number == *turn => {}
                before => {
                    if let Some(before) = before {
                        before.ended_ms = before.ended_ms.max(*elapsed_ms);
                    }
                    parts.push(StoryPart::Turn(StoryTurn::new(*turn, *elapsed_ms)));
                }
            },
            Record::Replied { turn, reply, elapsed_ms } => {
                if let Some(open) = turn_of(&mut parts, *turn) {
                    open.reply(reply);
                    open.ended_ms = *elapsed_ms;
                }
            }
            Record::Unanswered { failure, elapsed_ms, .. } => {
                if let Some(open) = last_turn(&mut parts) {
                    open.ended_ms = *elapsed_ms;
                    open.spend(&failure.lost);
                }
                parts.push(note(RowState::Failed, say!("record-model", failure)));
            }
            Record::Resolved { key, verdict, scope, by, elapsed_ms, .. } => {
                let by = by.to_string();
                let approval = match verdict {
                    ApprovalVerdict::Approve => say!("story-approved", by, scope = scope.wire()),
                    ApprovalVerdict::Deny => say!("top-denied-by", by),
                };
                if let Some(open) = turn_of(&mut parts, key.turn) {
                    open.approve(*key, approval);
                    open.ended_ms = *elapsed_ms;
                }
            }
            Record::Done { result, full_text, origin, elapsed_ms, .. } => {
                if let Some(open) = turn_of(&mut parts, result.key.turn) {
                    let text = full_text.as_deref().unwrap_or(&result.text);
                    open.end(result.key, &CallNote { result, text, origin: *origin });
                    open.ended_ms = *elapsed_ms;
                }
            }
            Record::Said { text, .. } | Record::Steered { text, .. } => {
                parts.push(StoryPart::Message(text.clone()));
            }
            other => parts.extend(remark(other)),
        }
    }
    parts
}

/// Returns the remark about a record that belongs to no turn.
fn remark(record: &Record) -> Option<StoryPart> {
    Some(match record {
        Record::Checked { errors, .. } if errors.is_empty() => {
            note(RowState::Completed, say!("record-schema-met"))
        }
        Record::Checked { errors, .. } => {
            note(RowState::Failed, format!("{}: {}", say!("record-schema-unmet"), errors.join("; ")))
        }
        Record::Verified { evidence, .. } => {
            let state = if evidence.passed() { RowState::Completed } else { RowState::Failed };
            let first = evidence.output.trim().lines().next().unwrap_or_default();
            let verified = format!("{}: {} · {}", say!("story-verify"), evidence.command, evidence.ending());
            note(state, if first.is_empty() { verified } else { format!("{verified} · {first}") })
        }
        Record::Resumed { epoch, .. } => note(RowState::Interrupted, say!("record-resumed", epoch)),
        Record::Regranted { grant, .. } => {
            note(RowState::Waiting, say!("record-regranted", mode = WorkMode::of(grant)))
        }
        Record::ModelChosen { choice, .. } => {
            note(RowState::Waiting, say!("record-model-chosen", model = choice.model))
        }
        Record::Withdrawn { tools, .. } => {
            note(RowState::Waiting, say!("record-withdrawn", tools = tools.join(", ")))
        }
        Record::BudgetSpent { shortfall, .. } => {
            note(RowState::Waiting, say!("record-budget-spent", shortfall))
        }
        Record::Cancelled { .. } => note(RowState::Cancelled, say!("record-cancelled")),
        Record::Observed { event: Event::Noted { note: text } } => note(RowState::Waiting, text.clone()),
        Record::Finished { outcome, .. } if outcome.text.trim().is_empty() => {
            let state = state_of(outcome.status().wire());
            note(state, format!("{} · {}", outcome.status().wire(), stop_text(outcome.stop)))
        }
        _ => return None,
    })
}

fn note(state: RowState, text: String) -> StoryPart {
    StoryPart::Note { state, text }
}

fn last_turn(parts: &mut [StoryPart]) -> Option<&mut StoryTurn> {
    parts.iter_mut().rev().find_map(|part| match part {
        StoryPart::Turn(turn) => Some(turn),
        _ => None,
    })
}

fn turn_of(parts: &mut [StoryPart], number: u32) -> Option<&mut StoryTurn> {
    parts.iter_mut().rev().find_map(|part| match part {
        // The first journals did not number their replies.
        StoryPart::Turn(turn) if turn.number == number || number == 0 => Some(turn),
        _ => None,
    })
}

impl StoryPart {
    /// Tells whether it is a turn without words, effects, failures of its call and approvals.
    fn is_quiet(&self) -> bool {
        matches!(self, StoryPart::Turn(turn) if turn.is_quiet())
    }

    fn row(&self, symbols: SymbolSet) -> StoryRow {
        match self {
            StoryPart::Message(text) => StoryRow::new("›".to_owned(), pieces(text), String::new()),
            StoryPart::Turn(turn) => turn.row(symbols),
            StoryPart::Note { state, text } => {
                let mut row = StoryRow::new(state.mark(symbols).to_owned(), pieces(text), String::new());
                row.label_style = state.style();
                row
            }
        }
    }
}

/// Folds quiet turns into one row: their tools, counted, and what failed.
fn folded(parts: &[StoryPart], symbols: SymbolSet) -> StoryRow {
    let turns: Vec<&StoryTurn> = parts
        .iter()
        .filter_map(|part| match part {
            StoryPart::Turn(turn) => Some(turn),
            _ => None,
        })
        .collect();
    StoryTurn::folded(&turns, symbols)
}
