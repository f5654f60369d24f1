//! Assembles a reply from fragments, whatever order and numbering the provider uses.
//!
//! A part is found by its key, which the wire derives from the provider's index, never by a provider's id alone. Fragments
//! are appended in place and sent to the sink as they come, never as a growing whole.

use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, ToolCall};
use posse_core::reply::{FailureKind, ModelFailure, ReplyStop};
use posse_core::text;
use posse_core::tokens::tokens_at_most;
use posse_runtime::ports::{Delta, DeltaSink, NoDeltas};

/// Maximum parts: a stream that opens more is broken.
const PARTS_MAX: usize = 4096;
/// Maximum length of a tool name; no tool has a longer one.
const NAME_BYTES_MAX: usize = 1024;

/// Position of a part in the reply; parts are sorted by it in the end.
pub type Place = (u64, u64);

/// Assembles a reply from streamed fragments.
pub struct ReplyAssembler<'d> {
    parts: Vec<ReplyPart>,
    calls: usize,
    /// Bytes of text, thinking and arguments received: the base of an estimate when usage is missing.
    bytes: u64,
    deltas: &'d dyn DeltaSink,
}

struct ReplyPart {
    place: Place,
    content: PartContent,
}

enum PartContent {
    Prose { kind: ProseKind, text: String, signature: Option<String> },
    Call { index: usize, id: String, name: String, arguments: String, signature: Option<String> },
    Opaque { provider: &'static str, json: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProseKind {
    Text,
    Thinking,
}

impl PartContent {
    fn empty_prose(kind: ProseKind) -> Self {
        Self::Prose { kind, text: String::new(), signature: None }
    }
}

impl<'d> ReplyAssembler<'d> {
    /// Creates an assembler that shows deltas to this sink.
    pub fn new(deltas: &'d dyn DeltaSink) -> Self {
        Self { parts: Vec::new(), calls: 0, bytes: 0, deltas }
    }

    /// Returns the number of bytes received.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the maximum tokens of everything received so far.
    pub fn tokens_at_most(&self) -> u64 {
        let tokens = self.parts.iter().map(|part| match &part.content {
            PartContent::Prose { text, .. } if text.is_empty() => 0,
            PartContent::Prose { text, .. } => tokens_at_most(text),
            PartContent::Call { name, arguments, .. } => tokens_at_most(name) + tokens_at_most(arguments),
            PartContent::Opaque { json, .. } => tokens_at_most(json),
        });
        tokens.sum()
    }

    /// Returns the delta sink.
    pub fn deltas(&self) -> &'d dyn DeltaSink {
        self.deltas
    }

    /// Stops showing deltas: later fragments were already shown.
    pub fn mute(&mut self) {
        self.deltas = &NoDeltas;
    }

    /// Returns the number of tool calls.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Appends text to the part at this position.
    pub fn text(&mut self, place: Place, fragment: &str) -> Result<(), ModelFailure> {
        self.prose(place, ProseKind::Text, fragment)
    }

    /// Appends thinking to the part at this position.
    pub fn thinking(&mut self, place: Place, fragment: &str) -> Result<(), ModelFailure> {
        self.prose(place, ProseKind::Thinking, fragment)
    }

    fn prose(&mut self, place: Place, said: ProseKind, fragment: &str) -> Result<(), ModelFailure> {
        match self.part(place, || PartContent::empty_prose(said))? {
            PartContent::Prose { kind, text, .. } if *kind == said => text.push_str(fragment),
            PartContent::Prose { .. } | PartContent::Call { .. } | PartContent::Opaque { .. } => {}
        }
        self.bytes += fragment.len() as u64;
        if !fragment.is_empty() {
            self.deltas.delta(match said {
                ProseKind::Text => Delta::Text(fragment),
                ProseKind::Thinking => Delta::Thinking(fragment),
            });
        }
        Ok(())
    }

    /// Appends to the signature of the part at `place`; a part that does not exist yet becomes thinking.
    pub fn signature(&mut self, place: Place, fragment: &str) -> Result<(), ModelFailure> {
        match self.part(place, || PartContent::empty_prose(ProseKind::Thinking))? {
            PartContent::Prose { signature, .. } | PartContent::Call { signature, .. } => {
                signature.get_or_insert_default().push_str(fragment)
            }
            PartContent::Opaque { .. } => {}
        }
        Ok(())
    }

    /// Starts a call, or adds its late id or name. Later names are ignored: some servers repeat them in every chunk.
    pub fn call(&mut self, place: Place, id: &str, name: &str) -> Result<(), ModelFailure> {
        let index = self.calls;
        let empty = || PartContent::Call {
            index,
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            signature: None,
        };
        let known = self.parts.len();
        let mut named = false;
        let mut shown = index;
        if let PartContent::Call { index, id: have_id, name: have_name, .. } = self.part(place, empty)? {
            shown = *index;
            if have_id.is_empty() {
                have_id.push_str(id);
            }
            if have_name.is_empty() && !name.is_empty() {
                have_name.push_str(text::prefix(name, NAME_BYTES_MAX));
                named = true;
            }
        }
        self.calls += self.parts.len() - known;
        if named {
            self.deltas.delta(Delta::ToolCall { index: shown, name: text::prefix(name, NAME_BYTES_MAX) });
        }
        Ok(())
    }

    /// Appends arguments. An empty fragment is ignored: several providers open a call with one.
    pub fn arguments(&mut self, place: Place, fragment: &str) -> Result<(), ModelFailure> {
        self.call(place, "", "")?;
        self.bytes += fragment.len() as u64;
        let deltas = self.deltas;
        if let Some(PartContent::Call { index, arguments, .. }) = self.find(place)
            && !fragment.is_empty()
        {
            arguments.push_str(fragment);
            deltas.delta(Delta::ToolArguments { index: *index, fragment });
        }
        Ok(())
    }

    /// Adds a provider-specific block that is passed back unchanged.
    pub fn opaque(&mut self, place: Place, provider: &'static str, json: String) -> Result<(), ModelFailure> {
        self.bytes += json.len() as u64;
        self.part(place, || PartContent::Opaque { provider, json })?;
        Ok(())
    }

    /// Returns the id of the call at `place`, if there is one.
    pub fn call_id(&self, place: Place) -> Option<&str> {
        self.parts.iter().rev().find(|part| part.place == place).and_then(|part| match &part.content {
            PartContent::Call { id, .. } => Some(id.as_str()),
            PartContent::Prose { .. } | PartContent::Opaque { .. } => None,
        })
    }

    /// Returns the blocks in the provider's order. Arguments are parsed here, once, with the stop reason known.
    pub fn finish(mut self, stop: &ReplyStop) -> Vec<Block> {
        self.parts.sort_by_key(|part| part.place);
        let cut_call = match (stop, self.parts.last()) {
            (ReplyStop::MaxTokens, Some(ReplyPart { place, content: PartContent::Call { .. } })) => {
                Some(*place)
            }
            _ => None,
        };
        let mut blocks = Vec::with_capacity(self.parts.len());
        let mut index = 0;
        for part in self.parts {
            match part.content {
                PartContent::Prose { text, signature: None, .. } if text.is_empty() => {}
                PartContent::Prose { kind, text, signature } => blocks.push(match kind {
                    ProseKind::Text => Block::Text { text, signature },
                    ProseKind::Thinking => Block::Thinking { text, signature },
                }),
                PartContent::Opaque { provider, json } => {
                    blocks.push(Block::Opaque { provider: provider.to_owned(), json })
                }
                PartContent::Call { id, name, arguments, signature, .. } => {
                    let arguments = judge(arguments, cut_call == Some(part.place));
                    let key = CallKey { turn: 0, index };
                    index += 1;
                    blocks.push(Block::call(ToolCall { key, id, name, arguments, signature }));
                }
            }
        }
        blocks
    }

    fn find(&mut self, place: Place) -> Option<&mut PartContent> {
        self.parts.iter_mut().rev().find(|part| part.place == place).map(|part| &mut part.content)
    }

    fn part(
        &mut self,
        place: Place,
        empty: impl FnOnce() -> PartContent,
    ) -> Result<&mut PartContent, ModelFailure> {
        // From the end, because fragments nearly always continue the newest part.
        let at = match self.parts.iter().rposition(|part| part.place == place) {
            Some(at) => at,
            None if self.parts.len() == PARTS_MAX => {
                let message = format!("the reply has more than {PARTS_MAX} parts");
                return Err(ModelFailure::new(FailureKind::Protocol, message));
            }
            None => {
                self.parts.push(ReplyPart { place, content: empty() });
                self.parts.len() - 1
            }
        };
        Ok(&mut self.parts[at].content)
    }
}

/// Parses arguments. `cut`: the output limit was reached during this call. A provider then shows nothing or `{}` for
/// unfinished arguments, which must not run as a call without arguments.
fn judge(arguments: String, cut: bool) -> CallArguments {
    if cut && matches!(arguments.trim(), "" | "{}" | "null") {
        return CallArguments::Truncated(arguments);
    }
    CallArguments::judge(&arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn calls(blocks: &[Block]) -> Vec<(u32, &str, &str, &CallArguments)> {
        blocks
            .iter()
            .filter_map(Block::as_call)
            .map(|call| (call.key.index, call.id.as_str(), call.name.as_str(), &call.arguments))
            .collect()
    }

    proptest! {
        // F5, P24: however the fragments of several calls are interleaved, each call gets its own, in its own order.
        #[test]
        fn interleaved_fragments_end_up_in_their_calls(
            sizes in proptest::collection::vec(1usize..6, 1..6),
            seed in proptest::collection::vec(any::<u16>(), 40),
        ) {
            let texts: Vec<String> = (0..sizes.len()).map(|i| format!("{{\"n\":{i},\"pad\":\"{}\"}}", "x".repeat(i * 3))).collect();
            let mut pending: Vec<(usize, Vec<&str>)> = texts.iter().enumerate().map(|(i, text)| {
                let step = text.len().div_ceil(sizes[i]);
                (i, text.as_bytes().chunks(step).map(|c| std::str::from_utf8(c).unwrap()).rev().collect())
            }).collect();
            let mut assembler = ReplyAssembler::new(&NoDeltas);
            for pick in seed.iter().cycle() {
                pending.retain(|(_, rest)| !rest.is_empty());
                if pending.is_empty() { break }
                let at = usize::from(*pick) % pending.len();
                let (i, rest) = &mut pending[at];
                let place = (*i as u64, 0);
                assembler.call(place, &format!("id{i}"), "t").unwrap();
                assembler.arguments(place, "").unwrap();
                assembler.arguments(place, rest.pop().unwrap()).unwrap();
            }
            let blocks = assembler.finish(&ReplyStop::ToolUse);
            let ids: Vec<String> = (0..texts.len()).map(|i| format!("id{i}")).collect();
            let arguments: Vec<CallArguments> = texts.iter().map(|t| CallArguments::Object(t.clone())).collect();
            let expected: Vec<_> = (0..texts.len()).map(|i| (i as u32, ids[i].as_str(), "t", &arguments[i])).collect();
            prop_assert_eq!(calls(&blocks), expected);
        }

        // F5: a prefix of arguments is never an executable call.
        #[test]
        fn truncated_arguments_are_never_executable(cut in 0usize..24) {
            let whole = r#"{"path":"a","n":[1,{"b":2}]}"#;
            let mut assembler = ReplyAssembler::new(&NoDeltas);
            assembler.call((0, 0), "c", "t").unwrap();
            assembler.arguments((0, 0), &whole[..cut]).unwrap();
            let blocks = assembler.finish(&ReplyStop::MaxTokens);
            prop_assert_eq!(calls(&blocks)[0].3, &CallArguments::Truncated(whole[..cut].to_owned()));
        }
    }

    #[test]
    fn a_stream_that_opens_parts_without_end_is_stopped() {
        let mut assembler = ReplyAssembler::new(&NoDeltas);
        let opened = (0..10_000).take_while(|i| assembler.call((*i, 0), "", "t").is_ok()).count();
        assert_eq!(opened, PARTS_MAX);
    }
}
