//! The context guard: at 90 % of the model's window the oldest large results are elided, at 100 % the run is asked for its
//! answer. An event reports each elision, the stub says where the full text is.

use std::collections::HashSet;

use super::Run;
use crate::event::Event;
use crate::message::{Block, Message, ToolResult};
use crate::outcome::StopReason;
use crate::text::estimate_tokens;
use crate::tokens::tokens_at_most;

/// A stub takes about this many bytes; results near that size are not worth eliding.
const LARGE: usize = 1_000;

/// The conversation with the model, and the tokens it takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessageHistory {
    pub messages: Vec<Message>,
    /// Incremented when an old message is changed.
    pub generation: u64,
    /// Call ids in use.
    pub call_ids: HashSet<String>,
    /// Estimated tokens of the next request.
    pub tokens: u64,
    /// Maximum tokens of the next request, for the budget.
    pub tokens_max: u64,
}

/// Tokens of a conversation, by what takes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConversationSize {
    /// Estimated tokens of messages, replies and calls.
    pub messages: u64,
    /// Estimated tokens of tool results.
    pub results: u64,
    /// Tokens of the next request with everything in it: as the provider counted the last one, plus an estimate of what was
    /// added since.
    pub request: u64,
}

/// Elided results, and the tokens that freed.
#[derive(Default)]
struct ElidedResults {
    results: u32,
    bytes: u64,
    tokens: u64,
    tokens_at_least: u64,
}

impl MessageHistory {
    /// Starts the conversation with the task. `fixed_tokens` are sent beside it.
    pub fn new(task: String, fixed_tokens: u64) -> Self {
        let (call_ids, messages) = (HashSet::new(), Vec::new());
        let mut history =
            Self { messages, generation: 0, call_ids, tokens: fixed_tokens, tokens_max: fixed_tokens };
        history.push_user(task);
        history
    }

    /// Adds a message to the model, and its tokens.
    pub fn push_user(&mut self, text: String) {
        self.count_tokens(&text);
        self.messages.push(Message::user(text));
    }

    /// Counts the tokens of a text in the next request.
    pub fn count_tokens(&mut self, text: &str) {
        self.tokens = self.tokens.saturating_add(estimate_tokens(text));
        self.tokens_max = self.tokens_max.saturating_add(tokens_at_most(text));
    }

    /// Adds a message of the model, unless it is empty.
    pub fn push_assistant(&mut self, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.messages.push(Message::Assistant { blocks });
        }
    }

    /// Returns the tokens that eliding all large results but the newest would free.
    fn elidable(&self) -> u64 {
        let older = self.messages.split_last().map_or(&[][..], |(_, older)| older);
        let results = older.iter().filter_map(|message| match message {
            Message::Results { results } => Some(results),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        let large = results.flatten().filter(|result| result.text.len() > LARGE);
        large.map(|result| freed(&result.text, &stub(result))).sum()
    }

    /// Replaces the oldest large results by stubs until about `tokens` are free. `None` if there was nothing to elide.
    fn elide(&mut self, tokens: u64) -> Option<Event> {
        let mut elided = ElidedResults::default();
        let last = self.messages.len().saturating_sub(1);
        for (position, message) in self.messages.iter_mut().enumerate() {
            let Message::Results { results } = message else { continue };
            // The model is about to read the newest results.
            if position == last && elided.results > 0 {
                break;
            }
            for result in results.iter_mut().filter(|result| result.text.len() > LARGE) {
                if elided.tokens >= tokens {
                    break;
                }
                let stub = stub(result);
                elided.tokens += freed(&result.text, &stub);
                elided.tokens_at_least += freed_at_least(&result.text, &stub);
                elided.bytes += (result.text.len() - stub.len()) as u64;
                elided.results += 1;
                result.text = stub;
            }
        }
        let ElidedResults { results, bytes, tokens, tokens_at_least } = elided;
        if results == 0 {
            return None;
        }
        self.generation += 1;
        self.tokens = self.tokens.saturating_sub(tokens);
        self.tokens_max = self.tokens_max.saturating_sub(tokens_at_least);
        Some(Event::Elided { results, bytes })
    }
}

impl Run {
    /// Measures the conversation.
    pub fn conversation_size(&self) -> ConversationSize {
        let mut size = ConversationSize { request: self.history.tokens, ..ConversationSize::default() };
        for message in &self.history.messages {
            match message {
                Message::User { text } => size.messages += estimate_tokens(text),
                Message::Assistant { blocks } => {
                    size.messages += blocks.iter().map(block_tokens).sum::<u64>()
                }
                Message::Results { results } => {
                    size.results += results.iter().map(|result| estimate_tokens(&result.text)).sum::<u64>();
                }
            }
        }
        size
    }

    /// Checks the window when the conversation has grown.
    pub(super) fn guard_context(&mut self) {
        let Some(window) = self.policy.limits.context_window else { return };
        let room = window.saturating_sub(u64::from(self.output_tokens));
        if self.history.tokens * 10 < room * 9 {
            return;
        }
        self.elide(self.history.tokens.saturating_sub(room * 7 / 10));
        if self.history.tokens >= room && self.attempt.wrapping_up.is_none() {
            let detail = "the conversation fills the model's context window".to_owned();
            self.wrap_up(
                StopReason::ContextExhausted,
                "The conversation fills the model's context window.".to_owned(),
                Some(detail),
            );
        }
    }

    /// Reacts to a provider's refusal of the length: elides more each time, and ends the run when nothing is left.
    pub(super) fn compact(&mut self) {
        let allowed = self.attempt.compactions < self.policy.limits.compactions_max;
        self.attempt.compactions += 1;
        let wanted = self.history.tokens * u64::from(self.attempt.compactions) / 4 + 1;
        if !allowed || !self.elide(wanted) {
            self.finish(
                StopReason::ContextExhausted,
                Some("the provider refused the conversation's length".to_owned()),
            );
        }
    }

    /// Elides old results so that a call fits the budget. A step that would still not fit keeps them for the report; a
    /// report that does not fit loses them.
    pub(super) fn make_room(&mut self, tokens: u64) -> bool {
        if self.attempt.wrapping_up.is_none() && self.history.elidable() < tokens {
            return false;
        }
        self.elide(tokens)
    }

    /// Elides old results; returns false if there are none.
    fn elide(&mut self, tokens: u64) -> bool {
        let event = self.history.elide(tokens);
        let elided = event.is_some();
        self.events.extend(event);
        elided
    }
}

fn block_tokens(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => estimate_tokens(text),
        Block::ToolCall(call) => {
            estimate_tokens(&call.name) + estimate_tokens(call.arguments.as_object_text())
        }
        // Its form belongs to a provider; its length is all that is known.
        Block::Opaque { json, .. } => estimate_tokens(json),
    }
}

fn freed(text: &str, stub: &str) -> u64 {
    estimate_tokens(text).saturating_sub(estimate_tokens(stub))
}

/// Lower bound of the tokens freed by a stub: a token seldom has more than 6 characters, and a text seldom less than a
/// third of its upper bound.
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
