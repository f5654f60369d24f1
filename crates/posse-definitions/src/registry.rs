//! The registry of agents. Of several agents with one name the nearest counts; its version grows when its
//! content changes.
//!
//! A snapshot is immutable, so its holder keeps a consistent view. It omits nothing: a broken file keeps its
//! name and reports its errors, and a shadowed one is listed under the agent that hides it.

mod extend;
mod files;
mod lookup;
mod rank;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::definition::{Definition, ParsedFile, Remark};
use posse_messages::localized;

use crate::builtin;
use crate::places::find::warning;
use crate::places::{AgentDirectory, AgentPlaces};
use crate::read::DefinitionFile;
use crate::trust::{TrustIndex, TrustPolicy};

/// Parses one file; `posse_definitions::read` in the product.
pub type Reader = fn(DefinitionFile<'_>) -> Vec<ParsedFile>;

/// All agents of a session's places, kept current by reloads.
pub struct AgentRegistry {
    places: AgentPlaces,
    directories: Vec<AgentDirectory>,
    reader: Reader,
    trust: TrustPolicy,
    /// Held while files are read, so that reloads are serialized.
    known: Mutex<RegistryMemory>,
    current: RwLock<Arc<RegistrySnapshot>>,
}

/// All agents at one moment.
#[derive(Debug, Default)]
pub struct RegistrySnapshot {
    /// Sorted by name.
    entries: Vec<RegistryEntry>,
    /// Remarks about directories and the trust store; remarks about an agent are in its entry.
    remarks: Vec<Remark>,
}

/// All agents found under one name.
#[derive(Debug)]
pub struct RegistryEntry {
    pub name: String,
    /// Starts at 1 and grows when the content changes, including that of extended agents.
    pub version: u32,
    pub state: AgentState,
    pub chosen: AgentCandidate,
    /// The other agents of that name, in order of precedence.
    pub shadowed: Vec<AgentCandidate>,
}

/// One agent found in a file.
#[derive(Debug, Clone)]
pub struct AgentCandidate {
    pub read: Arc<ParsedFile>,
    pub standing: TrustStanding,
    /// Remarks from comparing it with the others; remarks about the file alone are in `read`.
    pub remarks: Vec<Remark>,
}

/// The trust status of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStanding {
    Trusted,
    /// Content that no person approved.
    NotTrusted,
    /// A project file of another user, which cannot be trusted.
    NotOurs,
}

/// The availability of an agent.
#[derive(Debug, Clone)]
pub enum AgentState {
    Ready(ReadyAgent),
    Disabled,
    /// Untrusted: the path of the file, its own or that of an extended agent, and its trust status.
    NotTrusted {
        path: String,
        standing: TrustStanding,
        /// The state after approval. For the person who decides; never for a model.
        then: Box<AgentState>,
    },
    /// The errors, at least one.
    Invalid(Vec<Remark>),
}

/// An agent merged with everything that it extends.
#[derive(Debug, Clone)]
pub struct ReadyAgent(ExtendedState);

#[derive(Debug, Clone)]
enum ExtendedState {
    /// Extends nothing, so the parsed file is used without a copy. The common case.
    Alone(Arc<ParsedFile>),
    Joined(Arc<Definition>),
}

/// Cached state between reloads.
struct RegistryMemory {
    builtin: Vec<Arc<ParsedFile>>,
    files: files::FileCache,
    trusted: TrustIndex,
    versions: rank::AgentVersions,
}

impl AgentRegistry {
    /// Reads every file of `places`. Never fails: problems are in the snapshot.
    pub fn load(places: AgentPlaces, reader: Reader, trust: TrustPolicy) -> Self {
        let builtin =
            builtin::files().flat_map(|file| files::read_safely(reader, file)).map(Arc::new).collect();
        let known = RegistryMemory {
            builtin,
            files: files::FileCache::default(),
            trusted: TrustIndex::default(),
            versions: rank::AgentVersions::default(),
        };
        let registry = Self {
            directories: places.directories(),
            places,
            reader,
            trust,
            known: Mutex::new(known),
            current: RwLock::default(),
        };
        {
            let mut known = registry.known();
            registry.scan(&mut known, now_s());
            registry.publish(&mut known);
        }
        registry
    }

    /// Returns the current snapshot.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the places that the registry reads.
    pub fn places(&self) -> &AgentPlaces {
        &self.places
    }

    /// Checks every file and reads those that changed. Returns the new snapshot if anything differs.
    pub fn reload(&self) -> Option<Arc<RegistrySnapshot>> {
        self.reload_at(now_s())
    }

    fn reload_at(&self, now_s: i64) -> Option<Arc<RegistrySnapshot>> {
        let mut known = self.known();
        self.scan(&mut known, now_s).then(|| self.publish(&mut known))
    }

    /// Updates the cached state; returns whether anything differs.
    fn scan(&self, known: &mut RegistryMemory, now_s: i64) -> bool {
        let files_differ = known.files.scan(&self.directories, self.reader, self.places.user(), now_s);
        let trusted = self.trust.load();
        let trust_differs = trusted != known.trusted;
        known.trusted = trusted;
        files_differ || trust_differs
    }

    fn publish(&self, known: &mut RegistryMemory) -> Arc<RegistrySnapshot> {
        let project = self.places.root().map(|root| known.trusted.project(root));
        let builtin = known.builtin.iter().map(|read| AgentCandidate::new(read, TrustStanding::Trusted));
        let candidates = known.files.candidates(project).chain(builtin);
        let entries = rank::arrange(candidates, &mut known.versions);
        let mut remarks: Vec<Remark> = known.files.remarks().cloned().collect();
        remarks.extend(self.places.skipped().iter().map(|path| {
            let text = localized!("place-beyond-home", path = path.display());
            warning(text, &localized!("place-beyond-home-hint"))
        }));
        if let Some(problem) = known.trusted.problem() {
            remarks.push(warning(problem.to_owned(), &localized!("trust-writes-list")));
        }
        let snapshot = Arc::new(RegistrySnapshot { entries, remarks });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        snapshot
    }

    /// Lists the paths to watch, existing or not, each with the base directory below which it may appear.
    pub(crate) fn points(&self) -> Vec<(PathBuf, PathBuf)> {
        let roots = self.directories.iter().map(|directory| (directory.base.clone(), directory.path.clone()));
        let entered =
            self.known().files.entered().map(|path| (path.clone(), path.clone())).collect::<Vec<_>>();
        let list = match &self.trust {
            TrustPolicy::Store(store) => Some(store.path()),
            TrustPolicy::All | TrustPolicy::Nothing => None,
        };
        let list = list.map(|path| (path.parent().unwrap_or(Path::new("/")).to_owned(), path.to_owned()));
        roots.chain(entered).chain(list).collect()
    }

    fn known(&self) -> MutexGuard<'_, RegistryMemory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentState {
    /// Returns the state after approval.
    pub fn once_trusted(&self) -> &AgentState {
        match self {
            AgentState::NotTrusted { then, .. } => then,
            AgentState::Ready(_) | AgentState::Disabled | AgentState::Invalid(_) => self,
        }
    }
}

impl ReadyAgent {
    /// Returns the merged definition.
    pub fn definition(&self) -> &Definition {
        match &self.0 {
            ExtendedState::Alone(read) => {
                read.definition.as_ref().expect("only a read with a definition is ready")
            }
            ExtendedState::Joined(definition) => definition,
        }
    }
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

impl AgentCandidate {
    fn new(read: &Arc<ParsedFile>, standing: TrustStanding) -> Self {
        Self { read: read.clone(), standing, remarks: Vec::new() }
    }

    /// Returns all remarks about this agent.
    pub fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.read.remarks.iter().chain(&self.remarks)
    }
}
