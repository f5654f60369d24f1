//! A call that waits for the person at the prompt.

use posse_core::approval::{ApprovalAnswer, ApprovalScope, ApprovalVerdict, DecidedBy, ParkedCall};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_terminal::keys::{KeyCode, KeyEvent};
use posse_terminal::painter::CursorSpot;
use posse_terminal::prompt::PromptBuffer;
use posse_terminal::rows::ApprovalCard;
use posse_terminal::style::{StyledLine, SymbolSet, columns};

/// Time before keys count: nothing that was typed ahead approves.
const ARMED_AFTER_MS: u64 = 500;

/// Effect of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CardStep {
    Open,
    Answered(ApprovalAnswer),
    /// The whole call is to be printed above.
    Print,
    /// The person decides later.
    Later,
    /// The prompt gets the keys back.
    Prompt,
}

/// An approval that is open.
pub(super) struct OpenCard {
    parked: ParkedCall,
    card: ApprovalCard,
    armed_ms: u64,
    is_printed: bool,
    /// Reason of a denial that is being typed.
    reason: Option<PromptBuffer>,
}

impl OpenCard {
    pub(super) fn new(parked: ParkedCall, now_ms: u64) -> Self {
        let card = ApprovalCard::new(&parked);
        Self { parked, card, armed_ms: now_ms + ARMED_AFTER_MS, is_printed: false, reason: None }
    }

    pub(super) fn id(&self) -> &str {
        &self.parked.id
    }

    pub(super) fn hash(&self) -> &str {
        &self.parked.request.hash
    }

    /// Takes a key. While a part of the call is hidden, a key that approves prints the whole call instead.
    pub(super) fn key(&mut self, key: &KeyEvent, columns: usize, rows_max: usize, now_ms: u64) -> CardStep {
        if now_ms < self.armed_ms {
            return CardStep::Open;
        }
        if self.reason.is_some() {
            return self.reason_key(key);
        }
        let hidden = !self.is_printed && self.card.hidden(columns, rows_max) > 0;
        let scope = match key.code {
            KeyCode::Char('y') => ApprovalScope::Once,
            KeyCode::Char('t') => ApprovalScope::Task,
            KeyCode::Char('s') => ApprovalScope::Session,
            KeyCode::Char('n') => {
                self.reason = Some(PromptBuffer::default());
                return CardStep::Open;
            }
            KeyCode::Char('d') => return self.print(now_ms),
            KeyCode::Esc => return CardStep::Later,
            KeyCode::Tab => return CardStep::Prompt,
            _ => return CardStep::Open,
        };
        if hidden {
            return self.print(now_ms);
        }
        CardStep::Answered(ApprovalAnswer { scope, ..answer(ApprovalVerdict::Approve) })
    }

    fn print(&mut self, now_ms: u64) -> CardStep {
        // A key that is held down must not approve what it opened.
        (self.is_printed, self.armed_ms) = (true, now_ms + ARMED_AFTER_MS);
        CardStep::Print
    }

    fn reason_key(&mut self, key: &KeyEvent) -> CardStep {
        let Some(reason) = &mut self.reason else { return CardStep::Open };
        match key.code {
            KeyCode::Esc => self.reason = None,
            KeyCode::Backspace => reason.delete(posse_terminal::prompt::CursorMove::Left),
            KeyCode::Char(character) => {
                reason.insert(character.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Enter => {
                let reason = Some(reason.text().trim().to_owned()).filter(|text| !text.is_empty());
                return CardStep::Answered(ApprovalAnswer { reason, ..answer(ApprovalVerdict::Deny) });
            }
            _ => {}
        }
        CardStep::Open
    }

    /// Returns the whole call.
    pub(super) fn whole(&self, columns: usize) -> Vec<StyledLine> {
        self.card.body(columns)
    }

    pub(super) fn receipt(&self, answer: &ApprovalAnswer, symbols: SymbolSet) -> StyledLine {
        self.card.receipt(answer.verdict, answer.scope, symbols)
    }

    /// Lays the card out, with the cursor if a reason is typed.
    pub(super) fn lines(
        &self,
        width: usize,
        rows_max: usize,
        symbols: SymbolSet,
        now_ms: u64,
    ) -> (Vec<StyledLine>, Option<CursorSpot>) {
        let mut lines = self.card.lines(width, rows_max, symbols, now_ms);
        let Some(reason) = &self.reason else { return (lines, None) };
        // The line of keys gives way to the reason.
        let row = lines.len().saturating_sub(2);
        let text = format!("  {} {}", say!("chat-why"), posse_core::text::visible(&reason.text()));
        let column = columns(&text).min(width.saturating_sub(1));
        lines[row] = StyledLine::plain(text);
        (lines, Some(CursorSpot { row, column }))
    }
}

fn answer(verdict: ApprovalVerdict) -> ApprovalAnswer {
    ApprovalAnswer::new(verdict, DecidedBy::Person(crate::run::OPERATOR.to_owned()), now_ms())
}
