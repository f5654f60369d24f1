//! What an agent file says, in one form for every format. Parsers make these; a registry resolves them to agents.

mod inject;

use std::collections::BTreeMap;

use posse_messages::LocalizedText;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Agent, Effort, ModelSettings};
use crate::budget::BudgetCaps;
use crate::grant::{Autonomy, Rights};
use crate::id::AgentName;
use crate::limits::Limits;

pub use inject::{TOOLS, insert_task, insert_tool_list};

/// Longest description: it is read by a model each time it chooses whom to ask.
pub const DESCRIPTION_CHARS_MAX: usize = 1_024;

/// An agent definition in normal form, whatever format it was written in.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub name: AgentName,
    pub origin: DefinitionOrigin,
    pub description: String,
    /// The system prompt, or what replaces the parent's in a chain of `extends`; empty with `extends`: the parent's.
    pub prompt: String,
    /// Put after the prompt, own or inherited.
    pub prompt_append: Option<String>,
    pub extends: Option<AgentName>,
    /// `None`: as whoever it extends, or else into the user's message.
    pub task_in: Option<TaskIn>,
    pub model: ModelChoice,
    pub rights: Rights,
    pub limits: DefinedLimits,
    /// Approval behavior; `None` follows the session.
    pub approval: Option<ApprovalSetting>,
    pub answer: AnswerRules,
    pub mcp_servers: BTreeMap<String, Value>,
    pub mode: AgentMode,
    pub kept: KeptKeys,
}

/// Conditions on the answer of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerRules {
    pub output_schema: Option<Value>,
    /// Commands that must succeed before the task counts as done.
    pub verify: Vec<String>,
}

/// Keys we do not act on, kept for reports and so that an export loses nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptKeys {
    /// The entries of `tools` as they were written, for the report of those that name nothing here.
    pub tools_written: Option<Vec<String>>,
    pub skills: Vec<String>,
    pub color: Option<String>,
    pub display_name: Option<String>,
    /// Keys that the format does not have, or that we do not know.
    pub extra: BTreeMap<String, Value>,
}

/// Position of the task text in the first request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskIn {
    /// In place of `{{task}}`, or after the prompt.
    System,
    /// As the user's message, so that the prompt stays the same for every task and can be cached.
    #[default]
    User,
}

/// Source of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionOrigin {
    /// As shown to people; for a built-in agent `built-in`.
    pub path: String,
    pub format: Format,
    pub scope: DefinitionScope,
    /// SHA-256 of the file, in hex: what a person trusted is what runs.
    pub hash: String,
}

/// Nearer wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefinitionScope {
    Project {
        /// Directories above the one we are in.
        distance: u32,
    },
    User,
    BuiltIn,
    /// Made by `define` while a session runs.
    Session,
}

impl DefinitionScope {
    /// Returns the wire name of the format.
    pub fn wire(self) -> &'static str {
        match self {
            DefinitionScope::Project { .. } => "project",
            DefinitionScope::User => "user",
            DefinitionScope::BuiltIn => "built-in",
            DefinitionScope::Session => "session",
        }
    }
}

wire_enum! {
    /// In the order of precedence within one directory.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Format {
        Native = "posse",
        Acai = "acai",
        Claude = "claude",
        Opencode = "opencode",
        Gemini = "gemini",
        Copilot = "copilot",
        Codex = "codex",
        Qwen = "qwen",
        Cursor = "cursor",
        OpenHands = "openhands",
        Pi = "pi",
        Factory = "factory",
        Goose = "goose",
    }
}

/// Model references and call settings of a definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelChoice {
    /// References or aliases in the order in which they are tried; empty: the model of whoever delegates.
    pub candidates: Vec<String>,
    pub effort: Option<Effort>,
    pub temperature: Option<f32>,
    /// Options passed through to the provider unchanged.
    pub options: BTreeMap<String, Value>,
}

/// Models that were found for a definition, as `provider:model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoices {
    pub first: String,
    pub others: Vec<String>,
    /// Takes over when none of them exists.
    pub default: Option<String>,
}

/// The fate of a task whose agent names a model that does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnUnknownModel {
    /// The model of whoever delegates takes over, and that is said.
    #[default]
    Fallback,
    Error,
}

/// Bounds that the definition sets; what it leaves out is its parent's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DefinedLimits {
    pub turns: Option<u32>,
    pub tool_calls: Option<u32>,
    pub wall_s: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_micros: Option<u64>,
}

/// Approval behavior that a definition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalSetting {
    /// Every call that changes something is asked for.
    Ask,
    /// Refuses calls that would need an approval.
    Deny,
    /// Makes calls that would need an approval.
    Auto,
}

/// Isolation of a task's files from other tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    #[default]
    None,
    /// A git worktree of its own.
    Worktree,
}

/// Ways in which an agent may be started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentMode {
    pub isolation: Isolation,
    pub background: bool,
    /// Not in the lists that models see; a person can still name it.
    pub hidden: bool,
    pub disabled: bool,
}

/// Front matter of a skill file; other keys do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillMatter {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Text after the front matter.
    pub body: String,
}

/// The treatment of one key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldReport {
    pub key: String,
    pub fate: FieldFate,
}

/// Treatments of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldFate {
    Honoured,
    /// Into what.
    Mapped(LocalizedText),
    /// Why.
    Ignored(LocalizedText),
}

/// Something a person should know about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub severity: RemarkSeverity,
    pub text: LocalizedText,
    /// Counted from 1.
    pub line: Option<u32>,
    /// Suggestion for the reader.
    pub hint: Option<LocalizedText>,
}

/// Severity of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkSeverity {
    Warning,
    /// The agent cannot be used.
    Error,
}

/// A file that was read: a definition or the reason why there is none, and what became of each key. A bad file is
/// listed with its error and never disappears.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedFile {
    /// The name the agent has, or would have.
    pub name: String,
    pub origin: DefinitionOrigin,
    pub definition: Option<Definition>,
    pub fields: Vec<FieldReport>,
    pub remarks: Vec<Remark>,
}

impl ParsedFile {
    /// Iterates over the remarks that are errors.
    pub fn errors(&self) -> impl Iterator<Item = &Remark> {
        self.remarks.iter().filter(|remark| remark.severity == RemarkSeverity::Error)
    }
}

impl Definition {
    /// The agent, with the model that was found for it and within what `base` has. What the definition leaves open is
    /// as `base` has it.
    pub fn resolve(&self, base: &Agent, models: ModelChoices) -> Agent {
        let mut rights = self.rights.clone();
        let autonomy = self.approval.map(|approval| match approval {
            ApprovalSetting::Auto => Autonomy::Free,
            ApprovalSetting::Ask => Autonomy::Asks,
            ApprovalSetting::Deny => Autonomy::Refuses,
        });
        rights.autonomy = rights.autonomy.max(autonomy);
        let usual = &base.limits;
        let limits = Limits {
            turns_max: self.limits.turns.unwrap_or(usual.turns_max),
            tool_calls_max: self.limits.tool_calls.unwrap_or(usual.tool_calls_max),
            wall_ms_max: self.limits.wall_s.map_or(usual.wall_ms_max, |s| s.saturating_mul(1_000)),
            ..usual.clone()
        };
        let asked = &self.model;
        let settings = ModelSettings {
            temperature: asked.temperature.or(base.settings.temperature),
            effort: asked.effort.or(base.settings.effort),
            output_schema: self.answer.output_schema.as_ref().map(Value::to_string),
            ..base.settings.clone()
        };
        Agent {
            name: self.name.clone(),
            description: self.description.clone(),
            system_prompt: self.system_prompt(),
            model: models.first,
            fallback_models: models.others,
            default_model: models.default,
            rights,
            settings,
            limits: usual.narrow(&limits),
            task_in: self.task_in.unwrap_or_default(),
        }
    }

    /// The prompt and what is appended to it.
    pub fn system_prompt(&self) -> String {
        let appended = self.prompt_append.as_deref().unwrap_or_default();
        let parts = [self.prompt.trim(), appended.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the budget caps of one task of this agent.
    pub fn caps(&self) -> BudgetCaps {
        let DefinedLimits { input_tokens, output_tokens, cost_micros, .. } = self.limits;
        BudgetCaps { input_tokens, output_tokens, cost_micros }
    }

    /// One that says nothing but who it is.
    pub fn new(name: AgentName, origin: DefinitionOrigin, description: String, prompt: String) -> Self {
        Self {
            name,
            origin,
            description,
            prompt,
            prompt_append: None,
            extends: None,
            task_in: None,
            model: ModelChoice::default(),
            rights: Rights::default(),
            limits: DefinedLimits::default(),
            approval: None,
            answer: AnswerRules::default(),
            mcp_servers: BTreeMap::new(),
            mode: AgentMode::default(),
            kept: KeptKeys::default(),
        }
    }
}
