//! The request to a reviewer: who it is and what it is shown.

use std::path::Path;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::id::AgentName;
use posse_core::provenance::marked;
use posse_core::text::counted;
use posse_git::{ChangeScope, ChangeSet};

use crate::cut::{self, CutFile};

const PROMPT: &str = include_str!("../prompts/review.md");
const SCHEMA: &str = include_str!("../prompts/review.schema.json");

/// Builds the reviewer: the orchestrator's model and limits, read-only.
pub fn reviewer(orchestrator: Agent, workspace: &Path) -> Agent {
    Agent {
        name: AgentName::parse("reviewer").expect("it is a name"),
        description: "Reviews changes and delegates what needs a closer look".to_owned(),
        system_prompt: format!("{}\n\nWorkspace: {}", PROMPT.trim_end(), workspace.display()),
        rights: Rights { access: AccessLevel::ReadOnly, ..Rights::default() },
        settings: ModelSettings { output_schema: Some(SCHEMA.to_owned()), ..orchestrator.settings.clone() },
        ..orchestrator
    }
}

/// The task of a reviewer.
#[derive(Debug)]
pub struct ReviewRequest {
    pub title: String,
    /// The prompt, with as much of the diff as fits.
    pub task: String,
    /// Files that it does not show whole.
    pub cut: Vec<CutFile>,
}

impl ReviewRequest {
    /// Builds the request for a model with this context window in tokens, if that is known.
    pub fn new(scope: &ChangeScope, changes: &ChangeSet, window: Option<u64>) -> Self {
        let (title, fitted) = (title(scope, changes), cut::fit(&changes.files, window));
        let notes: String = changes.notes.iter().map(|note| format!("Note: {note}\n\n")).collect();
        let diff = fitted.text.trim_end_matches('\n');
        // File names are data like their content, so everything stands between marks.
        let material = format!("{}\n\n{notes}{diff}", cut::list(&changes.files));
        let task = format!("{title}.\n\n{}", marked("git diff", &material));
        Self { title, task, cut: fitted.cut }
    }
}

fn title(scope: &ChangeScope, changes: &ChangeSet) -> String {
    let what = match scope {
        ChangeScope::Uncommitted => "Review the uncommitted changes".to_owned(),
        ChangeScope::Since(base) => format!("Review what was changed since `{base}`"),
        ChangeScope::Staged => "Review the staged changes".to_owned(),
        ChangeScope::Commit(commit) => format!("Review the commit `{commit}`"),
    };
    format!("{what} in {}", counted(changes.files.len(), "file"))
}
