//! Agent registry that is loaded on first use.

use std::sync::{Arc, OnceLock};

use posse_core::definition::Definition;
use posse_core::{ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{AgentDiagnostic, AgentLookup};

use crate::places::AgentPlaces;
use crate::registry::AgentRegistry;
use crate::trust::TrustPolicy;
use crate::watch::{FileWatcher, WatchMethod, watch};

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
    /// Creates a registry of these places, and reads nothing yet.
    pub fn new(places: AgentPlaces, trust: TrustPolicy) -> Self {
        Self { places, trust, loaded: OnceLock::new() }
    }

    fn registry(&self) -> &AgentRegistry {
        let loaded = self.loaded.get_or_init(|| {
            let registry =
                Arc::new(AgentRegistry::load(self.places.clone(), crate::read, self.trust.clone()));
            let _watcher = watch(registry.clone(), WatchMethod::Events, |_| {}).ok();
            LoadedAgents { registry, _watcher }
        });
        &loaded.registry
    }
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
            let agents = localized!("many-agents", n = untrusted);
            localized!("project-agents-not-trusted", agents).to_string()
        })
    }
}
