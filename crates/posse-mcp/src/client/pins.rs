//! Which definitions a person accepted. The first that a server gives are; whatever is different later waits for a yes.

use posse_core::Result;
use serde::{Deserialize, Serialize};

use super::definition::{Definitions, hash};

/// What is remembered of a server between sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The tools that may be used, exactly like this.
    pub accepted: Definitions,
    /// What the server said when it was last asked, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Definitions>,
}

/// Where it is kept. What cannot be read counts as an error, never as nothing: a server that is new is believed.
pub trait Memory: Send + Sync {
    fn load(&self, key: &str) -> Result<Option<Known>>;
    fn save(&self, key: &str, known: &Known) -> Result<()>;
}

/// How a server's tools differ from the accepted ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub tool: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    New,
    Changed,
    Gone,
}

impl Known {
    pub fn first(definitions: Definitions) -> Self {
        Self { accepted: definitions, waiting: None }
    }

    /// With what the server says now.
    pub fn told(&self, now: &Definitions) -> Self {
        let waiting = (!differences(&self.accepted, now).is_empty()).then(|| now.clone());
        Self { accepted: self.accepted.clone(), waiting }
    }

    pub fn differences(&self) -> Vec<Difference> {
        self.waiting.as_ref().map(|now| differences(&self.accepted, now)).unwrap_or_default()
    }

    /// A person said yes to what waits.
    pub fn accept(self) -> Self {
        Self { accepted: self.waiting.unwrap_or(self.accepted), waiting: None }
    }
}

fn differences(accepted: &Definitions, now: &Definitions) -> Vec<Difference> {
    let gone = accepted.keys().filter(|tool| !now.contains_key(*tool)).map(|tool| (tool, Kind::Gone));
    let others = now.iter().filter_map(|(tool, raw)| match accepted.get(tool) {
        None => Some((tool, Kind::New)),
        Some(known) if hash(known) != hash(raw) => Some((tool, Kind::Changed)),
        Some(_) => None,
    });
    gone.chain(others).map(|(tool, kind)| Difference { tool: tool.clone(), kind }).collect()
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
        let known = Known::first(told(&[("a", 1), ("b", 1), ("c", 1)]));
        assert_eq!(known.told(&known.accepted), known);
        let later = known.told(&told(&[("a", 1), ("b", 2), ("d", 1)]));
        let found: Vec<(String, Kind)> = later.differences().into_iter().map(|d| (d.tool, d.kind)).collect();
        let expected = [("c", Kind::Gone), ("b", Kind::Changed), ("d", Kind::New)];
        assert_eq!(found, expected.map(|(tool, kind)| (tool.to_owned(), kind)));
        assert_eq!(later.accepted, known.accepted, "nothing is accepted by being said");
        let accepted = later.accept();
        assert_eq!((accepted.accepted.len(), accepted.waiting), (3, None));
    }
}
