//! Who can be asked here: the registry of this directory, read when somebody first looks.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use posse_core::Result;
use posse_core::definition::Definition;
use posse_definitions::places::Places;
use posse_definitions::registry::{Registry, State};
use posse_definitions::trust::{Trust, TrustStore};
use posse_definitions::watch::Watcher;
use posse_runtime::ports::Agents;

/// A run that delegates nothing never reads a definition; one that does sees every change of a file.
pub struct AgentFiles {
    places: Places,
    trust: Trust,
    loaded: OnceLock<(Arc<Registry>, Option<Watcher>)>,
}

impl AgentFiles {
    pub fn new(places: Places, trust: Trust) -> Self {
        Self { places, trust, loaded: OnceLock::new() }
    }

    /// Whether definitions were looked at; and then how many could not be used for want of trust.
    pub fn untrusted(&self) -> usize {
        let Some((registry, _)) = self.loaded.get() else { return 0 };
        let snapshot = registry.snapshot();
        snapshot.entries().iter().filter(|entry| matches!(entry.state, State::NotTrusted { .. })).count()
    }

    fn registry(&self) -> &Arc<Registry> {
        let (registry, _) = self.loaded.get_or_init(|| {
            let registry = load(self.places.clone(), self.trust.clone());
            let watcher = posse_definitions::watch::watch(registry.clone());
            (registry, Some(watcher))
        });
        registry
    }
}

pub fn load(places: Places, trust: Trust) -> Arc<Registry> {
    Arc::new(Registry::load(places, posse_definitions::read, trust))
}

/// Where what a person said yes to is kept.
pub fn trust_store(state: &std::path::Path) -> TrustStore {
    TrustStore::at(state.join("trust.json"))
}

impl Agents for AgentFiles {
    fn list(&self) -> Vec<Arc<Definition>> {
        self.registry().snapshot().usable().collect()
    }

    fn find(&self, name: &str) -> Result<Arc<Definition>> {
        self.registry().snapshot().find(name)
    }
}
