//! The project of a directory.

use std::path::{Path, PathBuf};

use posse_core::Result;
use posse_git::project_of;
use posse_store::SqliteStore;

use crate::process::ProcessContext;

/// The project of a directory: its repository, or the directory itself.
pub struct ProjectScope {
    process: ProcessContext,
    root: PathBuf,
    home: Option<PathBuf>,
}

impl ProjectScope {
    /// Finds the project of the current directory.
    pub fn here(process: ProcessContext) -> Result<Self> {
        let (here, home) = ((process.directory)()?, process.home());
        Ok(Self { process, root: project_of(&here, home.as_deref()), home })
    }

    /// Names the project for people.
    pub fn shown(&self) -> String {
        self.process.short_path(&self.root)
    }

    /// Tells whether a workspace belongs to the project.
    pub fn contains(&self, workspace: &str) -> bool {
        !workspace.is_empty() && project_of(Path::new(workspace), self.home.as_deref()) == self.root
    }

    /// Lists the workspaces of the project that have tasks.
    pub async fn workspaces(&self, store: &SqliteStore) -> Result<Vec<String>> {
        let mut found = store.workspaces(&self.root.to_string_lossy()).await?;
        found.retain(|workspace| self.contains(workspace));
        Ok(found)
    }
}

/// Tells if a workspace belongs to the project of `directory`.
pub fn in_project(process: &ProcessContext, directory: &Path) -> impl Fn(&Path) -> bool + use<> {
    let home = process.home();
    let project = project_of(directory, home.as_deref());
    move |workspace| project_of(workspace, home.as_deref()) == project
}
