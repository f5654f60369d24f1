//! Pinned tool definitions. The first ones that a server sends are accepted; later differences wait for a
//! person.

use posse_core::Result;
use serde::{Deserialize, Serialize};

use super::definition::{Definitions, hash};

/// The definitions of a server, stored between sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolPins {
    /// The accepted definitions; only these may be called.
    pub accepted: Definitions,
    /// The latest definitions, if they differ from the accepted ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Definitions>,
}

/// Storage for pinned definitions. An unreadable record is an error, never `None`: a server without a record
/// is trusted on first use.
pub trait PinStore: Send + Sync {
    fn load(&self, key: &str) -> Result<Option<ToolPins>>;
    fn save(&self, key: &str, known: &ToolPins) -> Result<()>;
}

/// A difference between a server's tools and the accepted ones.
#[derive(Debug, Clone, PartialEq)]
pub struct PinDifference {
    pub tool: String,
    pub kind: DifferenceKind,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    New,
    Changed,
    Gone,
}

impl ToolPins {
    /// Accepts the first definitions of a server.
    pub fn first(definitions: Definitions) -> Self {
        Self { accepted: definitions, waiting: None }
    }

    /// Returns the record after the server sent these definitions.
    pub fn told(&self, now: &Definitions) -> Self {
        let waiting = (!differences(&self.accepted, now).is_empty()).then(|| now.clone());
        Self { accepted: self.accepted.clone(), waiting }
    }

    /// Lists the differences that wait for a person.
    pub fn differences(&self) -> Vec<PinDifference> {
        self.waiting.as_ref().map(|now| differences(&self.accepted, now)).unwrap_or_default()
    }

    /// Accepts the waiting definitions.
    pub fn accept(self) -> Self {
        Self { accepted: self.waiting.unwrap_or(self.accepted), waiting: None }
    }
}

fn differences(accepted: &Definitions, now: &Definitions) -> Vec<PinDifference> {
    let gone =
        accepted.keys().filter(|tool| !now.contains_key(*tool)).map(|tool| (tool, DifferenceKind::Gone));
    let others = now.iter().filter_map(|(tool, raw)| match accepted.get(tool) {
        None => Some((tool, DifferenceKind::New)),
        Some(known) if hash(known) != hash(raw) => Some((tool, DifferenceKind::Changed)),
        Some(_) => None,
    });
    gone.chain(others).map(|(tool, kind)| PinDifference { tool: tool.clone(), kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_new_changed_or_gone_waits_and_a_yes_takes_all_of_it() {
        let told = |tools: &[(&str, u32)]| -> Definitions {
            tools.iter().map(|(name, n)| ((*name).to_owned(), json!({"name": name, "n": n}))).collect()
        };
        let known = ToolPins::first(told(&[("a", 1), ("b", 1), ("c", 1)]));
        assert_eq!(known.told(&known.accepted), known);
        let later = known.told(&told(&[("a", 1), ("b", 2), ("d", 1)]));
        let found: Vec<(String, DifferenceKind)> =
            later.differences().into_iter().map(|d| (d.tool, d.kind)).collect();
        let expected =
            [("c", DifferenceKind::Gone), ("b", DifferenceKind::Changed), ("d", DifferenceKind::New)];
        assert_eq!(found, expected.map(|(tool, kind)| (tool.to_owned(), kind)));
        assert_eq!(later.accepted, known.accepted, "nothing is accepted by being said");
        let accepted = later.accept();
        assert_eq!((accepted.accepted.len(), accepted.waiting), (3, None));
    }
}
