//! A resolved agent: what a run needs to know about who it is. Definitions are turned into this once.

use serde::{Deserialize, Serialize};

use crate::definition::TaskIn;
use crate::grant::Rights;
use crate::id::AgentName;
use crate::limits::Limits;

/// An immutable snapshot. A run keeps the one it started with, whatever happens to the definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub name: AgentName,
    pub description: String,
    pub system_prompt: String,
    /// `provider:model`.
    pub model: String,
    /// Tried in order when `model` cannot answer. Empty: no fallback, ever.
    #[serde(default)]
    pub fallback_models: Vec<String>,
    /// Takes over when the providers say before the first reply that they know none of the models above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Rights the agent asks for; a task gets at most what its parent has.
    #[serde(flatten)]
    pub rights: Rights,
    pub settings: ModelSettings,
    pub limits: Limits,
    /// Position of the task text in the first request.
    #[serde(default)]
    pub task_in: TaskIn,
}

impl Agent {
    /// One with everything as usual.
    pub fn new(name: AgentName, model: impl Into<String>, system_prompt: impl Into<String>) -> Self {
        Self {
            name,
            description: String::new(),
            system_prompt: system_prompt.into(),
            model: model.into(),
            fallback_models: Vec::new(),
            default_model: None,
            rights: Rights::default(),
            settings: ModelSettings::default(),
            limits: Limits::default(),
            task_in: TaskIn::default(),
        }
    }

    /// Changes to a model that a person chose. What takes over when the earlier one is unknown does not concern this one.
    pub fn choose_model(&mut self, choice: &ChosenModel) {
        let ChosenModel { model, limits } = choice;
        self.model.clone_from(model);
        self.default_model = None;
        limits.apply(&mut self.limits);
    }

    /// Returns the model and its limits as a choice for another task.
    pub fn chosen_model(&self) -> ChosenModel {
        ChosenModel { model: self.model.clone(), limits: ModelLimits::of(&self.limits) }
    }
}

/// A model that a person chose for a task under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenModel {
    /// `provider:model`.
    pub model: String,
    #[serde(flatten)]
    pub limits: ModelLimits,
}

/// Limits that come with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLimits {
    /// The model's window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Output tokens asked for per call.
    pub output_tokens_per_call: u32,
    /// Ceiling for raising that.
    pub output_tokens_per_call_max: u32,
}

impl ModelLimits {
    /// Returns the part of the limits that belongs to the model.
    pub fn of(limits: &Limits) -> Self {
        let Limits { context_window, output_tokens_per_call, output_tokens_per_call_max, .. } = *limits;
        Self { context_window, output_tokens_per_call, output_tokens_per_call_max }
    }

    /// Replaces that part.
    pub fn apply(&self, limits: &mut Limits) {
        limits.context_window = self.context_window;
        limits.output_tokens_per_call = self.output_tokens_per_call;
        limits.output_tokens_per_call_max = self.output_tokens_per_call_max;
    }
}

/// Settings of model calls, apart from the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    pub temperature: Option<f32>,
    pub effort: Option<Effort>,
    /// Thinking budget in tokens, for providers that count it; others use `effort`.
    pub thinking_tokens: Option<u32>,
    /// JSON text of a schema the final answer must follow.
    pub output_schema: Option<String>,
    /// Ask for the whole reply at once instead of a stream.
    pub buffered: bool,
}

wire_enum! {
    /// Reasoning effort, for models that take a level instead of a token budget.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Effort {
        Low = "low",
        Medium = "medium",
        High = "high",
        Max = "max",
    }
}
