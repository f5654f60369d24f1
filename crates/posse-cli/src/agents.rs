//! Who can be asked here: the registry of this directory, read when somebody first looks.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use posse_core::definition::Definition;
use posse_core::{ErrorCode, Result};
use posse_definitions::places::Places;
use posse_definitions::registry::Registry;
use posse_definitions::trust::{Trust, TrustStore};
use posse_definitions::watch::{How, Watcher, watch};
use posse_messages::say;
use posse_runtime::ports::{AgentDiagnostic, Agents};

use crate::render::{Thing, many};

/// A run that delegates nothing never reads a definition; one that does sees every change of a file.
pub struct AgentFiles {
    places: Places,
    trust: Trust,
    loaded: OnceLock<Loaded>,
}

struct Loaded {
    registry: Arc<Registry>,
    /// Without a thread to spare, the agents stay as they were first read.
    _watcher: Option<Watcher>,
}

impl AgentFiles {
    pub fn new(places: Places, trust: Trust) -> Self {
        Self { places, trust, loaded: OnceLock::new() }
    }

    fn registry(&self) -> &Registry {
        let loaded = self.loaded.get_or_init(|| {
            let registry = load(self.places.clone(), self.trust.clone());
            let _watcher = watch(registry.clone(), How::Events, |_| {}).ok();
            Loaded { registry, _watcher }
        });
        &loaded.registry
    }
}

pub fn load(places: Places, trust: Trust) -> Arc<Registry> {
    Arc::new(Registry::load(places, posse_definitions::read, trust))
}

/// Where it is kept what a person said yes to.
pub fn trust_store(state: &Path) -> TrustStore {
    TrustStore::at(state.join("trust.json"))
}

impl Agents for AgentFiles {
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

    /// Only if anyone looked at them.
    fn remark(&self) -> Option<String> {
        let untrusted = self.loaded.get()?.registry.snapshot().untrusted().count();
        (untrusted > 0).then(|| {
            let agents = many(untrusted as u32, Thing::Agent);
            say!("project-agents-not-trusted", agents)
        })
    }
}
