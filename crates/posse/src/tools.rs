//! Built-in tools for agents of a program.

use std::path::Path;
use std::sync::Arc;

use posse_core::Result;
use posse_runtime::ports::Tool;
use posse_sandbox::workspace::Workspace;

pub use posse_tools::*;

/// Creates the file tools of a directory: `read`, `edit`, `write`, `grep`, `glob`, `ls`, `directory_tree`, `think` and `skill`.
/// They reach nothing outside of it, and neither secrets nor files that a program obeys unasked (`docs/protected.md`).
///
/// Give a subagent fewer of them with [`tools_allow`](crate::SubAgent::tools_allow).
pub fn files(directory: impl AsRef<Path>) -> Result<Vec<Arc<dyn Tool>>> {
    let workspace = Workspace::open(directory.as_ref())?;
    let (skills, _) = skill::SkillCatalog::load(&workspace, &[], posse_definitions::matter);
    Ok(posse_tools::files::toolset(workspace, skills))
}
