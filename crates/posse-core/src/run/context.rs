//! The context guard: at 90 % of the model's window the oldest large results make room, at 100 % the run is asked for
//! its answer. Nothing goes silently: an event says what was elided, the stub says where the full text is.

use super::Run;
use crate::event::Event;
use crate::message::{Message, ToolResult};
use crate::outcome::StopReason;
use crate::text::estimate_tokens;
use crate::tokens::tokens_at_most;

/// A stub takes about this many bytes; results near that size are not worth eliding.
const LARGE: usize = 1_000;

impl Run {
    /// Called when the conversation grew.
    pub(super) fn guard_context(&mut self) {
        let Some(window) = self.limits.context_window else { return };
        let room = window.saturating_sub(u64::from(self.output_tokens));
        if self.context_tokens * 10 < room * 9 {
            return;
        }
        self.elide(self.context_tokens.saturating_sub(room * 7 / 10));
        if self.context_tokens >= room && self.wrapping_up.is_none() {
            let detail = "the conversation fills the model's context window".to_owned();
            self.wrap_up(
                StopReason::ContextExhausted,
                "The conversation fills the model's context window.".to_owned(),
                Some(detail),
            );
        }
    }

    /// The provider refused the conversation's length: make room, harder each time, and give up when nothing is left.
    pub(super) fn compact(&mut self) {
        let allowed = self.counters.compactions < self.limits.compactions_max;
        self.counters.compactions += 1;
        let wanted = self.context_tokens * u64::from(self.counters.compactions) / 4 + 1;
        if !allowed || !self.elide(wanted) {
            self.finish(
                StopReason::ContextExhausted,
                Some("the provider refused the conversation's length".to_owned()),
            );
        }
    }

    /// Leaves old results out so that a call fits the budget. A step that would still not fit keeps them for the report;
    /// a report that does not fit has to do without.
    pub(super) fn make_room(&mut self, tokens: u64) -> bool {
        if self.wrapping_up.is_none() && self.elidable() < tokens {
            return false;
        }
        self.elide(tokens)
    }

    /// Tokens that leaving out all large results but the newest would free.
    fn elidable(&self) -> u64 {
        let (_, older) =
            self.messages.split_last().unwrap_or((&Message::Results { results: Vec::new() }, &[]));
        let results = older.iter().filter_map(|message| match message {
            Message::Results { results } => Some(results),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        let large = results.flatten().filter(|result| result.text.len() > LARGE);
        large.map(|result| freed(&result.text, &stub(result))).sum()
    }

    /// Replaces the oldest large results by stubs until about `tokens` are free. False if there was nothing to elide.
    fn elide(&mut self, tokens: u64) -> bool {
        let (mut made, mut made_at_least, mut bytes, mut results) = (0, 0, 0, 0);
        let last = self.messages.len().saturating_sub(1);
        for (position, message) in self.messages.iter_mut().enumerate() {
            let Message::Results { results: held } = message else { continue };
            // The newest results are what the model is about to read.
            if position == last && results > 0 {
                break;
            }
            for result in held.iter_mut().filter(|result| result.text.len() > LARGE) {
                if made >= tokens {
                    break;
                }
                let stub = stub(result);
                made += freed(&result.text, &stub);
                made_at_least += freed_at_least(&result.text, &stub);
                bytes += (result.text.len() - stub.len()) as u64;
                result.text = stub;
                results += 1;
            }
        }
        if results == 0 {
            return false;
        }
        self.generation += 1;
        self.context_tokens = self.context_tokens.saturating_sub(made);
        self.context_tokens_max = self.context_tokens_max.saturating_sub(made_at_least);
        self.events.push(Event::Elided { results, bytes });
        true
    }
}

fn freed(text: &str, stub: &str) -> u64 {
    estimate_tokens(text).saturating_sub(estimate_tokens(stub))
}

/// Lower bound of the tokens freed by a stub: a token seldom has more than 6 characters, and a text seldom less than a third
/// of its upper bound.
fn freed_at_least(text: &str, stub: &str) -> u64 {
    let least = (estimate_tokens(text) * 2 / 3).min(tokens_at_most(text) / 3);
    least.saturating_sub(tokens_at_most(stub))
}

fn stub(result: &ToolResult) -> String {
    format!(
        "[left out to save context: {bytes} bytes from `{tool}`. The full text is kept as result {key} \
         of this task; make the call again if you need it]",
        bytes = result.text.len(),
        tool = result.name,
        key = result.key
    )
}
