//! Calls and questions that wait for the person at the prompt, one at a time.

use std::collections::{BTreeSet, VecDeque};

use posse_core::approval::ParkedCall;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::ParentQuestion;
use posse_terminal::dialog::{
    ApprovalDialog, DialogAnswer, DialogLayout, DialogStep, QuestionDialog, QuestionStep,
};
use posse_terminal::keys::{KeyCode, KeyEvent};
use posse_terminal::painter::CursorSpot;
use posse_terminal::rows::RowState;
use posse_terminal::style::{StyledLine, SymbolSet, TextStyle};

/// Cards in the order in which they came. The first one that was not put off is shown.
#[derive(Default)]
pub(crate) struct CardDeck {
    cards: VecDeque<OpenCard>,
}

/// Something that waits for the person.
struct OpenCard {
    content: CardContent,
    /// The person decides later.
    is_later: bool,
}

enum CardContent {
    Approval { parked: Box<ParkedCall>, dialog: Box<ApprovalDialog> },
    Question { task: TaskId, id: u32, dialog: QuestionDialog },
}

/// Effect of a key on the deck.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CardEffect {
    /// The card goes on, or was put off.
    Open,
    /// These lines are to be printed above.
    Print(Vec<StyledLine>),
    /// The person decided on a call.
    Decided { approval: String, hash: String, answer: DialogAnswer, receipt: StyledLine },
    /// The person answered a question.
    Replied { task: TaskId, text: String, receipt: StyledLine },
}

impl CardDeck {
    /// Adds a call.
    pub(crate) fn push_approval(&mut self, parked: ParkedCall, now_ms: u64) {
        let dialog = Box::new(ApprovalDialog::new(&parked, now_ms));
        self.push(CardContent::Approval { parked: Box::new(parked), dialog });
    }

    /// Adds a question; one that is open already stays as it is.
    pub(crate) fn push_question(&mut self, task: &TaskId, asked: &ParentQuestion, now_ms: u64) {
        let is_known = |card: &OpenCard| matches!(&card.content, CardContent::Question { task: of, id, .. } if of == task && *id == asked.id);
        if self.cards.iter().any(is_known) {
            return;
        }
        let dialog = QuestionDialog::new(task.short(), &asked.text, &asked.options, now_ms);
        self.push(CardContent::Question { task: task.clone(), id: asked.id, dialog });
    }

    fn push(&mut self, content: CardContent) {
        self.cards.push_back(OpenCard { content, is_later: false });
    }

    /// Removes calls that were decided, by their ids.
    pub(crate) fn close_approvals(&mut self, closed: &BTreeSet<String>) {
        self.cards.retain(|card| match &card.content {
            CardContent::Approval { parked, .. } => !closed.contains(&parked.id),
            CardContent::Question { .. } => true,
        });
    }

    /// Removes the questions of a task.
    pub(crate) fn close_questions(&mut self, of: &TaskId) {
        self.cards.retain(|card| match &card.content {
            CardContent::Question { task, .. } => task != of,
            CardContent::Approval { .. } => true,
        });
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.cards.clear();
    }

    /// Tells whether a card is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.front().is_some()
    }

    /// Tells whether the card that is shown takes keys: what was typed ahead is text for the prompt.
    pub(crate) fn is_armed(&self, now_ms: u64) -> bool {
        self.front().is_some_and(|card| match &card.content {
            CardContent::Approval { dialog, .. } => dialog.is_armed(now_ms),
            CardContent::Question { dialog, .. } => dialog.is_armed(now_ms),
        })
    }

    /// Tells whether text is being typed into the card that is shown.
    pub(crate) fn is_typing(&self) -> bool {
        self.front().is_some_and(|card| match &card.content {
            CardContent::Approval { dialog, .. } => dialog.is_typing(),
            CardContent::Question { dialog, .. } => dialog.is_typing(),
        })
    }

    /// Returns the number of cards that were put off.
    pub(crate) fn put_off(&self) -> usize {
        self.cards.iter().filter(|card| card.is_later).count()
    }

    /// Shows the cards again that were put off; returns false if there are none.
    pub(crate) fn reopen(&mut self, now_ms: u64) -> bool {
        let is_any = self.put_off() > 0;
        for card in self.cards.iter_mut().filter(|card| card.is_later) {
            card.is_later = false;
            match &mut card.content {
                CardContent::Approval { dialog, .. } => dialog.reopen(now_ms),
                CardContent::Question { dialog, .. } => dialog.reopen(now_ms),
            }
        }
        is_any
    }

    /// Takes a key for the card that is shown.
    pub(crate) fn key(&mut self, key: &KeyEvent, layout: &DialogLayout, now_ms: u64) -> CardEffect {
        let Some(at) = self.cards.iter().position(|card| !card.is_later) else { return CardEffect::Open };
        let is_typing = self.is_typing();
        let card = &mut self.cards[at];
        // Putting off decides nothing, so it counts at once.
        if key.code == KeyCode::Esc && !is_typing {
            card.is_later = true;
            return CardEffect::Open;
        }
        let effect = match &mut card.content {
            CardContent::Approval { parked, dialog } => match dialog.key(key, layout, now_ms) {
                DialogStep::Open => return CardEffect::Open,
                DialogStep::Print(lines) => return CardEffect::Print(lines),
                DialogStep::Later => {
                    card.is_later = true;
                    return CardEffect::Open;
                }
                DialogStep::Answered(answer) => CardEffect::Decided {
                    approval: parked.id.clone(),
                    hash: parked.request.hash.clone(),
                    receipt: dialog.receipt(&answer, layout.symbols),
                    answer,
                },
            },
            CardContent::Question { task, dialog, .. } => match dialog.key(key, now_ms) {
                QuestionStep::Open => return CardEffect::Open,
                QuestionStep::Later => {
                    card.is_later = true;
                    return CardEffect::Open;
                }
                QuestionStep::Answered(text) => {
                    let receipt = answered(task, &text, layout.symbols);
                    CardEffect::Replied { task: task.clone(), text, receipt }
                }
            },
        };
        self.cards.remove(at);
        effect
    }

    /// Takes pasted text, if it is for the card; returns false for text of the prompt.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        let is_typing = self.is_typing();
        match self.cards.iter_mut().find(|card| !card.is_later).map(|card| &mut card.content) {
            Some(CardContent::Approval { dialog, .. }) if is_typing => dialog.paste(text),
            Some(CardContent::Question { dialog, .. }) if is_typing => dialog.paste(text),
            _ => return false,
        }
        true
    }

    /// Lays out the card that is shown; returns its rows and where the cursor is, if it is typed into.
    pub(crate) fn lines(&self, layout: &DialogLayout, now_ms: u64) -> (Vec<StyledLine>, Option<CursorSpot>) {
        match self.front().map(|card| &card.content) {
            None => (Vec::new(), None),
            Some(CardContent::Approval { dialog, .. }) => dialog.lines(layout, now_ms),
            Some(CardContent::Question { dialog, .. }) => dialog.lines(layout, &say!("card-question-keys")),
        }
    }

    fn front(&self) -> Option<&OpenCard> {
        self.cards.iter().find(|card| !card.is_later)
    }
}

/// Formats the line that stays after an answer.
fn answered(task: &TaskId, text: &str, symbols: SymbolSet) -> StyledLine {
    let mut line = StyledLine::new();
    line.push(RowState::Completed.mark(symbols), RowState::Completed.style());
    let text = say!("card-answered", task = task.short(), text = visible(text));
    line.push(&format!(" {text}"), TextStyle::PLAIN);
    line
}
