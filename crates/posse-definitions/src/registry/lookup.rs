//! Agent lookup in a snapshot, with helpful errors.

use std::sync::Arc;

use posse_core::definition::{Definition, Remark};
use posse_core::id::AGENT_NAME_MAX;
use posse_core::text::{nearest, prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use super::{
    AgentCandidate, AgentState, ExtendedState, ReadyAgent, RegistryEntry, RegistrySnapshot, TrustStanding,
};

/// Maximum names in a hint, to keep a model's context short.
const NAMES_MAX: usize = 30;
/// Maximum errors shown per file; `posse agents check` shows all.
const ERRORS_MAX: usize = 3;
/// Maximum bytes of one error, which may quote the file.
const ERROR_BYTES_MAX: usize = 300;

impl RegistrySnapshot {
    /// Finds the agent with this name; the error says why it cannot be used.
    pub fn find(&self, name: &str) -> Result<Arc<Definition>> {
        match self.entry(name) {
            None => Err(self.unknown(name)),
            Some(entry) => match &entry.state {
                AgentState::Ready(ready) => Ok(ready.shared()),
                AgentState::Disabled => Err(disabled(entry)),
                AgentState::NotTrusted { path, standing, then } => {
                    Err(not_trusted(entry, path, *standing, matches!(**then, AgentState::Invalid(_))))
                }
                AgentState::Invalid(errors) => Err(invalid(entry, errors)),
            },
        }
    }

    /// Returns the entry with this name.
    pub fn entry(&self, name: &str) -> Option<&RegistryEntry> {
        let at = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        Some(&self.entries[at])
    }

    /// Lists every name, including unusable ones.
    pub fn entries(&self) -> &[RegistryEntry] {
        &self.entries
    }

    /// Lists the usable agents that are not hidden, as offered to models.
    pub fn agents(&self) -> impl Iterator<Item = &Definition> {
        let ready = self.entries.iter().filter_map(|entry| match &entry.state {
            AgentState::Ready(ready) => Some(ready.definition()),
            AgentState::Disabled | AgentState::NotTrusted { .. } | AgentState::Invalid(_) => None,
        });
        ready.filter(|definition| !definition.mode.hidden)
    }

    /// Lists the files that await approval, including shadowed ones.
    pub fn untrusted(&self) -> impl Iterator<Item = &AgentCandidate> {
        let all = self.entries.iter().flat_map(|entry| std::iter::once(&entry.chosen).chain(&entry.shadowed));
        all.filter(|candidate| candidate.standing == TrustStanding::NotTrusted)
    }

    /// Returns the remarks about directories and the trust store.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    fn unknown(&self, name: &str) -> Error {
        let text = localized!("agent-not-found", name = visible(prefix(name, AGENT_NAME_MAX)));
        let names: Vec<&str> = self.agents().map(|agent| agent.name.as_str()).collect();
        let error = Error::new(ErrorCode::AgentNotFound, text);
        if names.is_empty() {
            return error.hint(localized!("no-agents-here"));
        }
        let listed = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
        let there_are = match names.len().saturating_sub(NAMES_MAX) {
            0 => localized!("agents-there-are", names = listed),
            more => localized!("agents-there-are-more", names = listed, more),
        };
        error.hint(match likely(name, &names) {
            Some(name) => LocalizedText::join([&localized!("did-you-mean", name), &there_are], " "),
            None => there_are,
        })
    }
}

impl ReadyAgent {
    fn shared(&self) -> Arc<Definition> {
        match &self.0 {
            ExtendedState::Alone(_) => Arc::new(self.definition().clone()),
            ExtendedState::Joined(definition) => definition.clone(),
        }
    }
}

fn disabled(entry: &RegistryEntry) -> Error {
    let text = localized!("agent-disabled", name = entry.name, path = entry.chosen.read.origin.path);
    Error::new(ErrorCode::AgentNotFound, text).hint(localized!("agent-disabled-hint"))
}

/// Builds the error for an untrusted agent. It may say that the file is broken, but quotes nothing of it.
fn not_trusted(entry: &RegistryEntry, path: &str, standing: TrustStanding, is_broken: bool) -> Error {
    let name = visible(prefix(&entry.name, AGENT_NAME_MAX));
    let hidden = entry.shadowed.iter().find(|candidate| candidate.standing == TrustStanding::Trusted);
    let hidden = hidden.map(|other| localized!("agent-hides", path = other.read.origin.path));
    let hint = |first: LocalizedText| LocalizedText::join([&first].into_iter().chain(&hidden), "; ");
    match standing {
        TrustStanding::NotOurs => {
            Error::new(ErrorCode::AgentNotTrusted, localized!("agent-not-ours", name, path))
                .hint(hint(localized!("agent-not-ours-hint")))
        }
        TrustStanding::NotTrusted | TrustStanding::Trusted => {
            let first = match is_broken {
                true => localized!("agent-not-trusted-broken-hint", name),
                false => localized!("agent-not-trusted-hint"),
            };
            Error::new(ErrorCode::AgentNotTrusted, localized!("agent-not-trusted", name, path))
                .hint(hint(first))
        }
    }
}

fn invalid(entry: &RegistryEntry, errors: &[Remark]) -> Error {
    let path = &entry.chosen.read.origin.path;
    let mut told: Vec<LocalizedText> = errors.iter().take(ERRORS_MAX).map(told).collect();
    if let Some(more) = errors.len().checked_sub(ERRORS_MAX).filter(|more| *more > 0) {
        told.push(localized!("and-others", more));
    }
    let told = LocalizedText::join(&told, "; ");
    let name = visible(prefix(&entry.name, AGENT_NAME_MAX));
    let error = Error::new(ErrorCode::AgentInvalid, localized!("agent-unusable", name, path, told));
    let advice = errors.iter().find_map(|error| error.hint.clone());
    let advice = advice.unwrap_or_else(|| localized!("correct-the-file"));
    error.hint(localized!("agent-unusable-hint", advice))
}

/// Formats one error of a file, bounded, with its line.
fn told(error: &Remark) -> LocalizedText {
    let text = error.text.map(|text| visible(prefix(text, ERROR_BYTES_MAX)).into_owned());
    match error.line {
        Some(line) => LocalizedText::join([&localized!("line-number", line), &text], ": "),
        None => text,
    }
}

/// Finds the name that was probably meant, whatever its case and its separators.
fn likely<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| prefix(name, AGENT_NAME_MAX).to_ascii_lowercase().replace(['_', ' '], "-");
    let spelled: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let found = nearest(&plain(wanted), spelled.iter().map(String::as_str))?;
    spelled.iter().position(|name| name == found).map(|at| names[at])
}
