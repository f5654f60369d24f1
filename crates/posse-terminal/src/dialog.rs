//! Dialogs about what waits for the person: a call that needs approval, and a question of a task. Nothing typed ahead answers,
//! and nothing is approved unseen.

mod question;

pub use self::question::{QuestionDialog, QuestionStep};

use posse_core::approval::{ApprovalScope, ApprovalVerdict, ParkedCall};
use posse_messages::say;

use crate::input::{InputStep, LineInput};
use crate::keys::{KeyCode, KeyEvent, KeyModifiers};
use crate::painter::CursorSpot;
use crate::rows::ApprovalCard;
use crate::style::{StyledLine, SymbolSet, TextStyle};

/// Time before keys count: shorter than reading a title, longer than a key that was already under way.
const ARMED_AFTER_MS: u64 = 500;

/// A decision that a person made at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogAnswer {
    /// Approved or denied.
    pub verdict: ApprovalVerdict,
    /// Calls that it covers.
    pub scope: ApprovalScope,
    /// Reason of a denial, which the model reads.
    pub reason: Option<String>,
}

/// Effect of a key on the dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogStep {
    /// The dialog goes on.
    Open,
    /// The person decided.
    Answered(DialogAnswer),
    /// These lines, the whole call, are to be printed above.
    Print(Vec<StyledLine>),
    /// The person decides later.
    Later,
}

/// Size and looks of the dialog.
#[derive(Debug, Clone, Copy)]
pub struct DialogLayout {
    /// Columns of the terminal.
    pub columns: usize,
    /// Rows that it may take.
    pub rows_max: usize,
    /// Characters of marks.
    pub symbols: SymbolSet,
}

/// A call that waits for the person at the terminal.
#[derive(Debug, Clone)]
pub struct ApprovalDialog {
    card: ApprovalCard,
    /// Time at which keys begin to count.
    armed_ms: u64,
    view: CallView,
    reason: Option<LineInput>,
}

/// Part of the call that the person has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallView {
    /// Everything that fits.
    Card,
    /// The whole call was printed above.
    Printed,
}

impl ApprovalDialog {
    /// Opens the dialog about a call that is shown from now on.
    pub fn new(parked: &ParkedCall, now_ms: u64) -> Self {
        Self {
            card: ApprovalCard::new(parked),
            armed_ms: now_ms + ARMED_AFTER_MS,
            view: CallView::Card,
            reason: None,
        }
    }

    /// Opens it again after [`DialogStep::Later`]; keys count anew after a moment.
    pub fn reopen(&mut self, now_ms: u64) {
        self.armed_ms = now_ms + ARMED_AFTER_MS;
    }

    /// Returns the card.
    pub fn card(&self) -> &ApprovalCard {
        &self.card
    }

    /// Takes a key. While a part of the call is hidden, a key that approves prints the whole call instead.
    pub fn key(&mut self, key: &KeyEvent, layout: &DialogLayout, now_ms: u64) -> DialogStep {
        if now_ms < self.armed_ms || key.modifiers.contains(KeyModifiers::CONTROL) {
            return DialogStep::Open;
        }
        if let Some(reason) = &mut self.reason {
            match reason.key(key) {
                InputStep::Editing => {}
                InputStep::Dropped => self.reason = None,
                InputStep::Done => {
                    let reason = Some(reason.text().to_owned()).filter(|text| !text.is_empty());
                    let (verdict, scope) = (ApprovalVerdict::Deny, ApprovalScope::Once);
                    return DialogStep::Answered(DialogAnswer { verdict, scope, reason });
                }
            }
            return DialogStep::Open;
        }
        match key.code {
            KeyCode::Char('y') => self.approve(ApprovalScope::Once, layout, now_ms),
            KeyCode::Char('t') => self.approve(ApprovalScope::Task, layout, now_ms),
            KeyCode::Char('s') => self.approve(ApprovalScope::Session, layout, now_ms),
            KeyCode::Char('n') => {
                self.reason = Some(LineInput::default());
                DialogStep::Open
            }
            KeyCode::Char('d') => self.print(layout, now_ms),
            KeyCode::Esc => DialogStep::Later,
            _ => DialogStep::Open,
        }
    }

    /// Returns the line that stays after the answer, with the reason of a denial.
    pub fn receipt(&self, answer: &DialogAnswer, symbols: SymbolSet) -> StyledLine {
        let mut line = self.card.receipt(answer.verdict, answer.scope, symbols);
        if let (ApprovalVerdict::Deny, Some(reason)) = (answer.verdict, &answer.reason) {
            let because = say!("card-because", reason = posse_core::text::visible(reason));
            line.push(&format!(" {because}"), TextStyle::PLAIN);
        }
        line
    }

    /// Tells whether keys count.
    pub fn is_armed(&self, now_ms: u64) -> bool {
        now_ms >= self.armed_ms
    }

    /// Tells whether a reason is being typed.
    pub fn is_typing(&self) -> bool {
        self.reason.is_some()
    }

    /// Takes pasted text, which only a reason has room for.
    pub fn paste(&mut self, text: &str) {
        if let Some(reason) = &mut self.reason {
            reason.paste(text);
        }
    }

    fn approve(&mut self, scope: ApprovalScope, layout: &DialogLayout, now_ms: u64) -> DialogStep {
        let hidden = self.card.hidden(layout.columns, layout.rows_max);
        if self.view == CallView::Card && hidden > 0 {
            return self.print(layout, now_ms);
        }
        DialogStep::Answered(DialogAnswer { verdict: ApprovalVerdict::Approve, scope, reason: None })
    }

    fn print(&mut self, layout: &DialogLayout, now_ms: u64) -> DialogStep {
        self.view = CallView::Printed;
        // A key that is held down must not approve what it opened.
        self.reopen(now_ms);
        DialogStep::Print(self.card.whole(layout.columns, layout.symbols))
    }

    /// Lays the dialog out; returns its rows and where the cursor is, if it is typed into.
    pub fn lines(&self, layout: &DialogLayout, now_ms: u64) -> (Vec<StyledLine>, Option<CursorSpot>) {
        let DialogLayout { columns, rows_max, symbols } = *layout;
        let mut lines = match self.view {
            CallView::Card => self.card.lines(columns, rows_max, symbols, now_ms),
            CallView::Printed => self.card.brief_lines(columns, symbols, now_ms),
        };
        let Some(reason) = &self.reason else { return (lines, None) };
        let (line, column) = reason.line(&format!("  {} ", say!("card-why")), columns);
        // The keys give way to the reason.
        let keys = self.card.key_rows(columns);
        let row = lines.len().saturating_sub(1 + keys);
        lines.splice(row..row + keys, [line]);
        (lines, Some(CursorSpot { row, column }))
    }
}
