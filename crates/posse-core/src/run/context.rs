//! The context guard: at 90 % of the model's window the oldest large results make room, at 100 % the run is asked for
//! its answer. Nothing goes silently: an event says what was elided, the stub says where the full text is.

use posse_messages::fixed;

use super::Run;
use crate::event::Event;
use crate::message::{Message, ToolResult};
use crate::outcome::StopReason;
use crate::text::estimate_tokens;

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
            self.wrap_up(StopReason::ContextExhausted, fixed!("context-full-report"));
        }
    }

    /// The provider refused the conversation's length: make room, harder each time, and give up when nothing is left.
    pub(super) fn compact(&mut self) {
        let allowed = self.counters.compactions < self.limits.compactions_max;
        self.counters.compactions += 1;
        let wanted = self.context_tokens * u64::from(self.counters.compactions) / 4 + 1;
        if !allowed || !self.elide(wanted) {
            self.finish(StopReason::ContextExhausted, Some(fixed!("context-refused")));
        }
    }

    /// Replaces the oldest large results by stubs until about `tokens` are free. False if there was nothing to elide.
    fn elide(&mut self, tokens: u64) -> bool {
        let (mut freed, mut bytes, mut results) = (0, 0, 0);
        let last = self.messages.len().saturating_sub(1);
        for (position, message) in self.messages.iter_mut().enumerate() {
            let Message::Results { results: held } = message else { continue };
            // The newest results are what the model is about to read.
            if position == last && results > 0 {
                break;
            }
            for result in held.iter_mut().filter(|result| result.text.len() > LARGE) {
                if freed >= tokens {
                    break;
                }
                let size = result.text.len();
                let before = estimate_tokens(&result.text);
                result.text = stub(result);
                freed += before.saturating_sub(estimate_tokens(&result.text));
                bytes += (size - result.text.len()) as u64;
                results += 1;
            }
        }
        if results == 0 {
            return false;
        }
        self.generation += 1;
        self.context_tokens = self.context_tokens.saturating_sub(freed);
        self.events.push(Event::Elided { results, bytes });
        true
    }
}

fn stub(result: &ToolResult) -> String {
    fixed!("result-left-out", bytes = result.text.len(), tool = result.name, key = result.key)
}
