//! Models of a program: opened by reference with keys from the environment, or handed over by the program.

use std::collections::HashMap;
use std::sync::Arc;

use posse_core::Result;
use posse_core::agent::Agent as AgentSnapshot;
use posse_core::definition::OnUnknownModel;
use posse_models::providers::{ModelSource, ModelsConfig, RecordingMode};
use posse_runtime::budget::ModelTariff;
use posse_runtime::ports::{Model, ModelResolver, OpenModel};

pub use posse_models::*;

/// The model that an agent asks.
#[derive(Clone)]
pub(crate) enum ModelPick {
    /// `provider:model`, an alias, or a bare name that one provider serves.
    Named(String),
    /// The program's own [`Model`].
    Given(OpenModel),
    /// The model of the parent.
    Inherited,
}

impl ModelPick {
    /// Wraps the program's own model, without a price.
    pub fn given(model: Arc<dyn Model>) -> Self {
        Self::Given(OpenModel { model, tariff: ModelTariff::default() })
    }
}

/// Creates a source of models with keys, base URLs and prices as `posse run` has them.
pub(crate) fn environment_source() -> Result<ModelSource> {
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let source = ModelSource::new(ModelsConfig::default(), Arc::new(env), RecordingMode::None)?;
    Ok(match std::env::current_dir() {
        Ok(here) => source.scripts_in(here),
        Err(_) => source,
    })
}

/// Opens the models of one session: those that the program handed over by the agent's name, all others by reference.
pub(crate) struct ProgramModels {
    source: Arc<ModelSource>,
    by_agent: HashMap<String, OpenModel>,
    by_reference: HashMap<String, OpenModel>,
}

impl ProgramModels {
    /// Creates a resolver without models of the program.
    pub fn new(source: Arc<ModelSource>) -> Self {
        Self { source, by_agent: HashMap::new(), by_reference: HashMap::new() }
    }

    /// Adds the model of an agent. The first model of a reference also serves agents that inherit that reference.
    pub fn add(&mut self, agent: &str, pick: &ModelPick) {
        if let ModelPick::Given(open) = pick {
            self.by_agent.insert(agent.to_owned(), open.clone());
            self.by_reference.entry(open.model.name().to_owned()).or_insert_with(|| open.clone());
        }
    }
}

impl ModelResolver for ProgramModels {
    fn open(&self, agent: &AgentSnapshot) -> Result<OpenModel> {
        let own = self.by_agent.get(agent.name.as_str()).filter(|open| open.model.name() == agent.model);
        match own.or_else(|| self.by_reference.get(&agent.model)) {
            Some(open) => Ok(open.clone()),
            None => self.source.open(agent),
        }
    }

    fn resolve(&self, reference: &str) -> Result<String> {
        match self.by_reference.contains_key(reference) {
            true => Ok(reference.to_owned()),
            false => self.source.resolve(reference),
        }
    }

    /// Fails: a program that names a model means that model.
    fn on_unknown_model(&self) -> OnUnknownModel {
        OnUnknownModel::Error
    }
}
