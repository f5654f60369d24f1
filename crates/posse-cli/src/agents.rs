//! Agent registry of this directory, loaded on first use.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use posse_core::definition::Definition;
use posse_core::{ErrorCode, Result};
use posse_definitions::places::AgentPlaces;
use posse_definitions::registry::AgentRegistry;
use posse_definitions::trust::{TrustPolicy, TrustStore};
use posse_definitions::watch::{FileWatcher, WatchMethod, watch};
use posse_messages::say;
use posse_runtime::ports::{AgentDiagnostic, AgentLookup};

use crate::render::{CountedNoun, many};

/// Lazily loaded agent registry. A run that never delegates reads no definition; once loaded, file changes are
/// watched.
pub struct AgentFiles {
    places: AgentPlaces,
    trust: TrustPolicy,
    loaded: OnceLock<LoadedAgents>,
}

struct LoadedAgents {
    registry: Arc<AgentRegistry>,
    /// `None` if no watcher thread could start: the agents then stay as first read.
    _watcher: Option<FileWatcher>,
}

impl AgentFiles {
    pub fn new(places: AgentPlaces, trust: TrustPolicy) -> Self {
        Self { places, trust, loaded: OnceLock::new() }
    }

    fn registry(&self) -> &AgentRegistry {
        let loaded = self.loaded.get_or_init(|| {
            let registry = load(self.places.clone(), self.trust.clone());
            let _watcher = watch(registry.clone(), WatchMethod::Events, |_| {}).ok();
            LoadedAgents { registry, _watcher }
        });
        &loaded.registry
    }
}

pub fn load(places: AgentPlaces, trust: TrustPolicy) -> Arc<AgentRegistry> {
    Arc::new(AgentRegistry::load(places, posse_definitions::read, trust))
}

/// Opens the record of trusted agent files.
pub fn trust_store(state: &Path) -> TrustStore {
    TrustStore::at(state.join("trust.json"))
}

impl AgentLookup for AgentFiles {
    fn list(&self) -> Vec<Arc<Definition>> {
        self.registry().snapshot().agents().cloned().map(Arc::new).collect()
    }

    fn find(&self, name: &str) -> Result<Arc<Definition>> {
        self.registry().snapshot().find(name)
    }

    fn diagnostics(&self) -> Vec<AgentDiagnostic> {
        let snapshot = self.registry().snapshot();
        let broken = snapshot.entries().iter().filter_map(|entry| {
            let error = snapshot.find(&entry.name).err().filter(|e| e.code() == ErrorCode::AgentInvalid)?;
            let (name, path) = (entry.name.to_string(), entry.chosen.read.origin.path.clone());
            Some(AgentDiagnostic { name, path, error })
        });
        broken.collect()
    }

    /// Counts untrusted project agents, but only if the registry was loaded.
    fn remark(&self) -> Option<String> {
        let untrusted = self.loaded.get()?.registry.snapshot().untrusted().count();
        (untrusted > 0).then(|| {
            let agents = many(untrusted as u32, CountedNoun::Agent);
            say!("project-agents-not-trusted", agents)
        })
    }
}
