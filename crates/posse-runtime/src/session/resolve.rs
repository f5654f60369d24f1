//! From a definition to an agent that can run here: its models are found, its tools exist.

use posse_core::agent::Agent;
use posse_core::definition::{Definition, Models, Scope};
use posse_core::pattern::ToolPattern;
use posse_core::{Error, ErrorCode, Result};

use super::Session;

impl Session {
    /// The agent as `base`, whoever delegates, can have it, and what had to be done differently from what was asked.
    pub fn resolve(&self, definition: &Definition, base: &Agent) -> Result<(Agent, Vec<String>)> {
        let mut notes = Vec::new();
        self.check_tools(definition, &mut notes)?;
        let models = self.find_models(definition, base, &mut notes)?;
        Ok((definition.resolve(base, models), notes))
    }

    /// A list of tools of which none exists is a mistake, not a wish for none.
    fn check_tools(&self, definition: &Definition, notes: &mut Vec<String>) -> Result<()> {
        let Some(patterns) = definition.rights.tools.as_deref().filter(|patterns| !patterns.is_empty())
        else {
            return Ok(());
        };
        let exists = |pattern: &&ToolPattern| self.tools.names().any(|tool| pattern.names(tool));
        if !patterns.iter().any(|pattern| exists(&pattern)) {
            let wanted: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let known: Vec<&str> = self.tools.names().collect();
            let text =
                format!("none of the tools of `{}` exists here: {}", definition.name, wanted.join(", "));
            return Err(
                Error::new(ErrorCode::InvalidTool, text).hint(format!("there are: {}", known.join(", ")))
            );
        }
        let missing: Vec<String> =
            patterns.iter().filter(|pattern| !exists(pattern)).map(ToString::to_string).collect();
        if !missing.is_empty() {
            notes.push(format!(
                "`{}` asks for tools that do not exist here: {}",
                definition.name,
                missing.join(", ")
            ));
        }
        Ok(())
    }

    /// The candidates that can be used, in their order. A file whose models are all unknown here works with its
    /// parent's, and that is said; one made at run time is wrong.
    fn find_models(&self, definition: &Definition, base: &Agent, notes: &mut Vec<String>) -> Result<Models> {
        let (mut found, mut why) = (Vec::new(), None);
        for candidate in &definition.model.candidates {
            match self.models.resolve(candidate) {
                Ok(model) => found.push(model),
                Err(e) => why = why.or(Some((candidate, e))),
            }
        }
        let mut found = found.into_iter();
        match (found.next(), why) {
            (Some(first), None) => Ok(Models { first, others: found.collect() }),
            (Some(first), Some((candidate, e))) => {
                notes.push(format!("`{candidate}` cannot be used ({}), so `{first}` is", e.message()));
                Ok(Models { first, others: found.collect() })
            }
            (None, None) => Ok(Models { first: base.model.clone(), others: base.fallback_models.clone() }),
            (None, Some((_, e))) if definition.origin.scope == Scope::Session => Err(e),
            (None, Some((candidate, e))) => {
                let (name, model) = (&definition.name, &base.model);
                notes.push(format!(
                    "the model `{candidate}` of `{name}` cannot be used ({}), so `{model}` is",
                    e.message()
                ));
                Ok(Models { first: model.clone(), others: base.fallback_models.clone() })
            }
        }
    }
}
