//! Asking a snapshot for an agent, and what to say when there is none.

use std::sync::Arc;

use posse_core::definition::{Definition, Remark};
use posse_core::id::AGENT_NAME_MAX;
use posse_core::text::{prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use super::{Candidate, Entry, Ready, Snapshot, Standing, State, Whole};

/// Names in a hint; a model that made a mistake should not get a book.
const NAMES_MAX: usize = 30;
/// Errors of a file that are told at once; the doctor shows all.
const ERRORS_MAX: usize = 3;
/// Longest text of one of them: it may quote the file.
const ERROR_BYTES_MAX: usize = 300;

impl Snapshot {
    /// The agent that is asked when somebody says `name`.
    pub fn find(&self, name: &str) -> Result<Arc<Definition>> {
        match self.entry(name) {
            None => Err(self.unknown(name)),
            Some(entry) => match &entry.state {
                State::Ready(ready) => Ok(ready.shared()),
                State::Disabled => Err(disabled(entry)),
                State::NotTrusted { path, standing, then } => {
                    Err(not_trusted(entry, path, *standing, matches!(**then, State::Invalid(_))))
                }
                State::Invalid(errors) => Err(invalid(entry, errors)),
            },
        }
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        Some(&self.entries[at])
    }

    /// Every name, with what cannot be used.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Those that a model may be offered.
    pub fn agents(&self) -> impl Iterator<Item = &Definition> {
        let ready = self.entries.iter().filter_map(|entry| match &entry.state {
            State::Ready(ready) => Some(ready.definition()),
            State::Disabled | State::NotTrusted { .. } | State::Invalid(_) => None,
        });
        ready.filter(|definition| !definition.mode.hidden)
    }

    /// What a person would be asked to trust, also what is hidden by others.
    pub fn untrusted(&self) -> impl Iterator<Item = &Candidate> {
        let all = self.entries.iter().flat_map(|entry| std::iter::once(&entry.chosen).chain(&entry.shadowed));
        all.filter(|candidate| candidate.standing == Standing::NotTrusted)
    }

    /// About directories and the list of trusted files.
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
        error.hint(match nearest(name, &names) {
            Some(name) => LocalizedText::join([&localized!("did-you-mean", name), &there_are], " "),
            None => there_are,
        })
    }
}

impl Ready {
    fn shared(&self) -> Arc<Definition> {
        match &self.0 {
            Whole::Alone(_) => Arc::new(self.definition().clone()),
            Whole::Joined(definition) => definition.clone(),
        }
    }
}

fn disabled(entry: &Entry) -> Error {
    let text = localized!("agent-disabled", name = entry.name, path = entry.chosen.read.origin.path);
    Error::new(ErrorCode::AgentNotFound, text).hint(localized!("agent-disabled-hint"))
}

/// That a file is broken can be told; what is in it cannot.
fn not_trusted(entry: &Entry, path: &str, standing: Standing, is_broken: bool) -> Error {
    let name = visible(prefix(&entry.name, AGENT_NAME_MAX));
    let hidden = entry.shadowed.iter().find(|candidate| candidate.standing == Standing::Trusted);
    let hidden = hidden.map(|other| localized!("agent-hides", path = other.read.origin.path));
    let hint = |first: LocalizedText| LocalizedText::join([&first].into_iter().chain(&hidden), "; ");
    match standing {
        Standing::NotOurs => Error::new(ErrorCode::AgentNotTrusted, localized!("agent-not-ours", name, path))
            .hint(hint(localized!("agent-not-ours-hint"))),
        Standing::NotTrusted | Standing::Trusted => {
            let first = match is_broken {
                true => localized!("agent-not-trusted-broken-hint", name),
                false => localized!("agent-not-trusted-hint"),
            };
            Error::new(ErrorCode::AgentNotTrusted, localized!("agent-not-trusted", name, path))
                .hint(hint(first))
        }
    }
}

fn invalid(entry: &Entry, errors: &[Remark]) -> Error {
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

/// One error of a file, bounded, with its line.
fn told(error: &Remark) -> LocalizedText {
    let text = error.text.map(|text| visible(prefix(text, ERROR_BYTES_MAX)).into_owned());
    match error.line {
        Some(line) => LocalizedText::join([&localized!("line-number", line), &text], ": "),
        None => text,
    }
}

/// The name that somebody most likely meant, if any is near.
fn nearest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| prefix(name, AGENT_NAME_MAX).to_ascii_lowercase().replace(['_', ' '], "-");
    let wanted = plain(wanted);
    let far = (wanted.chars().count() / 3).max(1);
    let near = names.iter().filter(|name| name.len().abs_diff(wanted.len()) <= far.max(4));
    let distances = near.map(|name| (distance(&wanted, &plain(name)), *name));
    distances.filter(|(distance, _)| *distance <= far).min().map(|(_, name)| name)
}

/// Characters to insert, remove or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
