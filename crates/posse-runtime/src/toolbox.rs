//! The tools of a session: looked up by any of their names, checked against their schema, run without letting a panic
//! out.

mod plain;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use posse_core::grant::Grant;
use posse_core::tool::{Effect, ToolSpec, canonical};
use posse_core::{Error, ErrorCode, Result};
use serde_json::Value;

use self::plain::Plain;
use crate::panics::Contained;
use crate::ports::{Tool, ToolInput, ToolOutput};
use crate::schema::Schema;

#[derive(Clone, Default)]
pub struct Toolbox(Arc<BTreeMap<String, Entry>>);

struct Entry {
    tool: Arc<dyn Tool>,
    /// Read when the tool is first called: most tools of a session never are.
    plain: OnceLock<Option<Plain>>,
    /// Compiled when arguments come that do not plainly fit.
    schema: OnceLock<Option<Schema>>,
}

pub(crate) enum Answer {
    Ran(ToolOutput),
    /// The arguments do not satisfy the schema; nothing was run.
    Mistake(String),
}

impl Toolbox {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self> {
        let mut entries = BTreeMap::new();
        for tool in tools {
            let name = canonical(&tool.spec().name);
            let entry = Entry { tool, plain: OnceLock::new(), schema: OnceLock::new() };
            if entries.insert(name.clone(), entry).is_some() {
                return Err(Error::new(ErrorCode::DuplicateTool, format!("two tools are called `{name}`"))
                    .hint("give each tool its own name"));
            }
        }
        Ok(Self(Arc::new(entries)))
    }

    /// These tools and more.
    pub fn with(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self> {
        Self::new(self.0.values().map(|entry| entry.tool.clone()).chain(tools))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn effects(&self) -> BTreeMap<String, Effect> {
        self.0.iter().map(|(name, entry)| (name.clone(), entry.tool.spec().effect)).collect()
    }

    /// About how many tokens the description of these tools takes in a request.
    pub fn cost(specs: &[ToolSpec]) -> u64 {
        let size = |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.input_schema.len();
        specs.iter().map(|spec| size(spec) as u64 / 4 + 10).sum()
    }

    /// What a task is told about: only tools it may call, so that it does not waste turns on the others.
    pub fn offered(&self, grant: &Grant) -> Vec<ToolSpec> {
        let granted = grant.tools().filter_map(|name| self.0.get(name)).map(|entry| entry.tool.spec());
        granted.filter(|spec| grant.offers(&canonical(&spec.name), spec.effect)).cloned().collect()
    }

    pub(crate) async fn call(&self, name: &str, input: ToolInput<'_>) -> Answer {
        let Some(entry) = self.0.get(&canonical(name)) else {
            return Answer::Mistake(format!("there is no tool `{name}`"));
        };
        if let Some(complaint) = entry.complaint(input.arguments) {
            return Answer::Mistake(complaint);
        }
        match Contained(entry.tool.call(input)).await {
            Ok(output) => Answer::Ran(output),
            Err(panic) => Answer::Ran(ToolOutput::cut_off(format!(
                "internal_error: the tool `{name}` crashed ({panic}). This is a bug of the tool, not of your call"
            ))),
        }
    }
}

impl Entry {
    /// What is wrong with the arguments, with the path to each place.
    fn complaint(&self, arguments: &str) -> Option<String> {
        let arguments: Value = match serde_json::from_str(arguments) {
            Ok(arguments) => arguments,
            Err(e) => return Some(e.to_string()),
        };
        let plain = self.plain.get_or_init(|| Plain::of(&self.schema()?));
        if let (Some(plain), Value::Object(arguments)) = (plain, &arguments)
            && plain.surely_fits(arguments)
        {
            return None;
        }
        let schema = self.schema.get_or_init(|| Schema::parse(&self.tool.spec().input_schema).ok());
        let Some(schema) = schema else {
            return Some("the tool's own schema is broken; it cannot be called".to_owned());
        };
        let errors = schema.errors(&arguments, "arguments");
        if errors.is_empty() {
            return None;
        }
        let mut text = "the arguments do not fit the tool's schema, nothing was run:".to_owned();
        for error in errors {
            let _ = write!(text, "\n- {error}");
        }
        Some(text)
    }

    fn schema(&self) -> Option<Value> {
        serde_json::from_str(&self.tool.spec().input_schema).ok()
    }
}
