//! The program behind a conversation: configuration, sessions, files and models.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use posse_core::Result;
use posse_core::agent::{Agent, ChosenModel};
use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_runtime::ports::{Observer, Store};
use posse_runtime::session::Session;

/// A session of a conversation, for one message or for a look at it.
pub struct OpenedSession {
    /// The session.
    pub session: Arc<Session>,
    /// Problems with tools and configuration, for the person.
    pub problems: Vec<String>,
}

/// Beginning of a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileExcerpt {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Contents; `None` for a file that is not text or too large.
    pub text: Option<String>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownModel {
    /// `provider:model`.
    pub reference: String,
    /// Facts about it, such as window and price.
    pub facts: Vec<String>,
}

/// Everything that a conversation needs from its program.
pub trait ChatHost {
    /// Returns the store of the tasks.
    fn store(&self) -> Arc<dyn Store>;

    /// Returns the agent that answers, with the model of the next message.
    fn agent(&self) -> &Agent;

    /// Returns notes on how the agent differs from its definition.
    fn notes(&self) -> Vec<String>;

    /// Opens the session with this id. `regrants` means that the person chose another mode for its task.
    fn open(
        &mut self,
        session: &str,
        regrants: bool,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<OpenedSession>;

    /// Returns the mode of the next message.
    fn mode(&self) -> Result<WorkMode>;

    /// Changes the mode of the messages that follow.
    fn set_mode(&mut self, mode: WorkMode);

    /// Keeps the mode that was chosen for the next message of a stored conversation; `None` forgets it.
    fn keep_mode(&self, id: &TaskId, mode: Option<WorkMode>) -> Result<()>;

    /// Returns the mode that was kept for the next message of a conversation.
    fn kept_mode(&self, id: &TaskId) -> Option<WorkMode>;

    /// Describes mode and sandbox in one line.
    fn mode_line(&self) -> Result<String>;

    /// Finds a model by `provider:model` or alias; fails for one that cannot be used, or not within the budget.
    fn find_model(&self, reference: &str) -> Result<ChosenModel>;

    /// Changes the model of the messages that follow.
    fn use_model(&mut self, choice: &ChosenModel);

    /// Lists models that are known without asking a provider.
    fn known_models(&self) -> Vec<KnownModel>;

    /// Lists the agents to delegate to, with their descriptions.
    fn agents(&self) -> Vec<(String, String)>;

    /// Returns the directory that the conversation works in.
    fn workspace(&self) -> &Path;

    /// Returns the name of a directory for people.
    fn short_path(&self, path: &str) -> String;

    /// Tells whether a workspace belongs to this project.
    fn is_here(&self, workspace: &str) -> bool;

    /// Lists files of the workspace, for completion.
    fn files(&self) -> Vec<String>;

    /// Reads a file of the workspace; `None` if there is none, or if it must not be read.
    fn read_file(&self, path: &str) -> Option<FileExcerpt>;

    /// Returns the shell of the person.
    fn shell(&self) -> OsString;

    /// Begins another conversation in the same place.
    fn renew(&mut self) -> Result<()>;

    /// Takes up the conversation of a stored task. May print.
    fn resume(&mut self, id: &TaskId) -> impl Future<Output = Result<()>>;

    /// Returns the file changes of a task as a unified diff.
    fn diff(&self, id: &TaskId) -> impl Future<Output = Result<String>>;

    /// Counts the files that the last message changed.
    fn changed_files(&self, id: &TaskId) -> impl Future<Output = Result<usize>>;

    /// Takes back the file changes of the last message; returns a line for each file.
    fn undo(&self, id: &TaskId) -> impl Future<Output = Result<Vec<String>>>;
}
