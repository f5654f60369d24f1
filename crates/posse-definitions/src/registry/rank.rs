//! Builds one entry per name: the chosen agent, the shadowed ones, and the version.

use std::collections::{BTreeMap, HashMap};

use posse_messages::localized;

use super::{AgentCandidate, AgentState, RegistryEntry, extend};
use crate::places::find::warning;

/// Maximum names remembered after their files are gone, so that the version of a returning file keeps
/// growing.
const FORGOTTEN_NAMES_MAX: usize = 10_000;

/// The candidates of each name, in order of precedence.
pub(super) type Groups = BTreeMap<String, Vec<AgentCandidate>>;

/// Version counters by agent name.
#[derive(Default)]
pub(super) struct AgentVersions(HashMap<String, AgentVersion>);

struct AgentVersion {
    number: u32,
    /// The hashes of its own content and of the agents it extends.
    contents: String,
}

/// Groups candidates by name; they arrive in order of precedence.
pub(super) fn arrange(
    candidates: impl Iterator<Item = AgentCandidate>,
    versions: &mut AgentVersions,
) -> Vec<RegistryEntry> {
    let mut groups = Groups::new();
    for candidate in candidates {
        groups.entry(candidate.read.name.clone()).or_default().push(candidate);
    }
    groups.values_mut().for_each(|group| warn_of_twins(group));
    let resolved: Vec<(AgentState, u32)> = groups
        .keys()
        .map(|name| {
            let (state, contents) = extend::resolve(&groups, name);
            (state, versions.number(name, contents))
        })
        .collect();
    versions.forget(&groups);
    groups
        .into_iter()
        .zip(resolved)
        .map(|((name, group), (state, version))| entry(name, group, state, version))
        .collect()
}

fn entry(name: String, group: Vec<AgentCandidate>, state: AgentState, version: u32) -> RegistryEntry {
    let mut group = group.into_iter();
    let chosen = group.next().expect("a group is made by its first candidate");
    RegistryEntry { name, version, state, chosen, shadowed: group.collect() }
}

/// Warns about two files of the same rank with one name, because neither can be meant to win.
fn warn_of_twins(group: &mut [AgentCandidate]) {
    let rank = |candidate: &AgentCandidate| (candidate.read.origin.scope, candidate.read.origin.format);
    let mut rest = group;
    while !rest.is_empty() {
        let first_rank = rank(&rest[0]);
        let equal = rest.iter().take_while(|candidate| rank(candidate) == first_rank).count();
        let (twins, others) = rest.split_at_mut(equal);
        rest = others;
        let [first, twins @ ..] = twins else { continue };
        let Some(second) = twins.first() else { continue };
        let hint = &localized!("twin-hint");
        let text = localized!("twin-second", path = second.read.origin.path);
        first.remarks.push(warning(text, hint));
        for twin in twins {
            let text = localized!("twin-first", path = first.read.origin.path);
            twin.remarks.push(warning(text, hint));
        }
    }
}

impl AgentVersions {
    fn number(&mut self, name: &str, contents: String) -> u32 {
        match self.0.get_mut(name) {
            None => {
                self.0.insert(name.to_owned(), AgentVersion { number: 1, contents });
                1
            }
            Some(version) => {
                if version.contents != contents {
                    *version = AgentVersion { number: version.number.saturating_add(1), contents };
                }
                version.number
            }
        }
    }

    fn forget(&mut self, groups: &Groups) {
        if self.0.len() > groups.len() + FORGOTTEN_NAMES_MAX {
            self.0.retain(|name, _| groups.contains_key(name));
        }
    }
}
