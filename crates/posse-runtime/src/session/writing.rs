//! Whoever asks for writing where nothing may be written is told so before a model is asked, and told what a person can do about it.

use posse_core::definition::Definition;
use posse_core::grant::Rights;
use posse_core::tool::Effect;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{fixed, localized};

use super::family::Parent;

/// Tools of ours that change files.
const WRITING: [(&str, Effect); 3] =
    [("write", Effect::Idempotent), ("edit", Effect::Unsafe), ("bash", Effect::Unsafe)];

/// A request that names places to write is refused. An agent whose definition names tools that write works without them; what is
/// returned says so.
pub(super) fn check(parent: &Parent, definition: &Definition, asked: &Rights) -> Result<Option<String>> {
    let Some(advice) = &parent.writing_advice else { return Ok(None) };
    let names_places = asked.write_paths.as_ref().is_some_and(|paths| !paths.is_empty());
    if names_places && !parent.grant.can_write() {
        return Err(Error::new(ErrorCode::AccessDenied, localized!("tasks-write-nothing")).hint(advice));
    }
    let named = |tool: &str| definition.rights.tools.iter().flatten().any(|pattern| pattern.names(tool));
    let missing = WRITING.iter().filter(|(tool, effect)| named(tool) && !parent.grant.offers(tool, *effect));
    let missing: Vec<String> = missing.map(|(tool, _)| format!("`{tool}`")).collect();
    let note = || fixed!("agent-cannot-write", agent = definition.name, tools = missing.join(", "), advice);
    Ok((!missing.is_empty()).then(note))
}
