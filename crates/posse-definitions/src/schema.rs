//! The keys of our own format in one place, as a JSON Schema. The table of the documentation is made of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The frontmatter of `.posse/agents/<name>.md`. The text below it is the system prompt.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Posse agent")]
pub struct AgentFile {
    /// Name of the agent; the same as the file without `.md`.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[a-z0-9_-]+$"), extend("x-default" = "required"))]
    pub name: String,
    /// When to ask this agent. Models read it each time they choose.
    #[schemars(length(min = 1, max = 1024), extend("x-default" = "required"))]
    pub description: String,
    /// `provider:model`, a model's own name, an alias from the configuration, or `host`: the model that the host of `posse mcp` lends.
    #[schemars(extend("x-default" = "the parent's model"))]
    pub model: Option<String>,
    /// Models to try in this order when `model` cannot answer.
    #[schemars(extend("x-default" = "none"))]
    pub fallback_models: Option<Vec<String>>,
    /// The only tools it may use: names, patterns such as `mcp__github__*`, or calls such as `Bash(git *)` and
    /// `Agent(helper)`. `[]` is none.
    #[schemars(extend("x-default" = "all its parent has"))]
    pub tools: Option<NameList>,
    /// Tools it may never use, written in the same way.
    #[schemars(extend("x-default" = "none"))]
    pub disallowed_tools: Option<NameList>,
    /// Reasoning effort of the model.
    #[schemars(extend("x-default" = "the model's own"))]
    pub effort: Option<EffortWord>,
    /// Sampling temperature of the model.
    #[schemars(range(min = 0, max = 2), extend("x-default" = "the model's own"))]
    pub temperature: Option<f32>,
    /// Most turns: a model call and the tool calls it asked for.
    #[schemars(range(min = 1, max = 10000), extend("x-default" = "the configuration's"))]
    pub max_turns: Option<u32>,
    /// Most tool calls.
    #[schemars(range(min = 1, max = 100000), extend("x-default" = "the configuration's"))]
    pub max_tool_calls: Option<u32>,
    /// Seconds until the task is ended.
    #[schemars(range(min = 1, max = 86400), extend("x-default" = "the configuration's"))]
    pub timeout: Option<u64>,
    /// Spending limit of one task.
    #[schemars(extend("x-default" = "what its parent has left"))]
    pub budget: Option<BudgetField>,
    /// Another agent whose prompt and keys this one starts from.
    #[schemars(regex(pattern = "^[a-z0-9_-]+$"), extend("x-default" = "none"))]
    pub extends: Option<String>,
    /// Put after the prompt, its own or the one it inherits.
    #[schemars(extend("x-default" = "nothing"))]
    pub system_prompt_append: Option<String>,
    /// Globs of the only files it may write, held by it alone while it runs; commands are held to them by the sandbox, or refused without one.
    #[schemars(extend("x-default" = "wherever its parent may"))]
    pub write_paths: Option<NameList>,
    /// Directories and files, the only ones it may read; with it, `bash` is refused unless the kernel confines it.
    #[schemars(extend("x-default" = "wherever its parent may"))]
    pub read_roots: Option<NameList>,
    /// The only hosts that `fetch` may reach, such as `docs.rs` or `*.example.com`. All but `full` takes away the other
    /// web tools and MCP tools, and `bash` unless the kernel confines it.
    #[schemars(extend("x-default" = "full"))]
    pub network: Option<NetworkField>,
    /// Handling of calls that need approval: `ask` asks about every change, `deny` changes nothing, `auto` takes back the agent's own rules.
    #[schemars(extend("x-default" = "as the session does"))]
    pub approval: Option<ApprovalWord>,
    /// `read-only` leaves only tools that change nothing.
    #[schemars(extend("x-default" = "whole"))]
    pub access: Option<AccessWord>,
    /// A JSON Schema that the answer must satisfy; what is unambiguous is normalized (the case of an `enum`, a number as text, the `default` of a missing property), one that still does not fit is corrected once.
    #[schemars(extend("x-default" = "free text"))]
    pub output_schema: Option<BTreeMap<String, Value>>,
    /// Commands that must succeed in the workspace before the task counts as done; a failure is told to the model once.
    /// Run only for those who may use `bash`, and possibly more than once.
    #[schemars(extend("x-default" = "none"))]
    pub verify: Option<Vec<String>>,
    /// MCP servers by name, as other tools write them. Their tools are used where the operator allows them.
    #[schemars(extend("x-default" = "none"))]
    pub mcp_servers: Option<BTreeMap<String, Value>>,
    /// Skills to load beforehand. Kept, not loaded yet.
    #[schemars(extend("x-default" = "none"))]
    pub skills: Option<NameList>,
    /// The colour in which it is shown. Kept, not used yet.
    #[schemars(extend("x-default" = "none"))]
    pub color: Option<String>,
    /// Run in the background. Every delegated task does.
    #[schemars(extend("x-default" = "false"))]
    pub background: Option<bool>,
    /// Not in the lists that models see; a person can still name it.
    #[schemars(extend("x-default" = "false"))]
    pub hidden: Option<bool>,
    /// Isolation: a git worktree of its own, or none.
    #[schemars(extend("x-default" = "none"))]
    pub isolation: Option<IsolationWord>,
    /// Place of the task: in the prompt, instead of `{{task}}` or at its end, or in the user's message.
    #[schemars(extend("x-default" = "system"))]
    pub task_in: Option<TaskInWord>,
}

/// A list, or one text with commas.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum NameList {
    List(Vec<String>),
    Commas(String),
}

/// A word, or hosts.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum NetworkField {
    Word(NetworkWord),
    Hosts(NameList),
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetField {
    /// Dollars.
    #[schemars(range(min = 0))]
    pub max_cost_usd: Option<f64>,
    #[schemars(range(min = 1))]
    pub max_input_tokens: Option<u64>,
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u64>,
}

macro_rules! words {
    ($($name:ident { $($word:ident),* })*) => {
        $(
            #[derive(JsonSchema)]
            #[serde(rename_all = "kebab-case")]
            pub enum $name { $($word),* }
        )*
    };
}

words! {
    EffortWord { Low, Medium, High, Max }
    NetworkWord { Full, None }
    ApprovalWord { Ask, Deny, Auto }
    AccessWord { ReadOnly, Whole }
    IsolationWord { None, Worktree }
    TaskInWord { System, User }
}

/// Returns the JSON Schema, for completion and checks in editors.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<AgentFile>().to_value()
}
