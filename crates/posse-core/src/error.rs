//! The one error catalog. A code is for branching and never changes its wire name; the message says what happened, the hint
//! what to do next, both in the language of the reader. Every code has a section in `docs/errors.md`; a test keeps the two equal.

use std::fmt;
use std::sync::Arc;

use posse_messages::LocalizedText;

use crate::outcome::{IncompleteRun, Outcome};

/// Result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Arc<dyn std::error::Error + Send + Sync>;

/// An error with a code to branch on, a message and a hint. `Debug` prints all three, so that a `main` that returns it tells
/// people what to do.
#[derive(Clone)]
pub struct Error {
    code: ErrorCode,
    message: LocalizedText,
    hint: Option<LocalizedText>,
    source: Option<Source>,
}

wire_enum! {
    /// Stable error codes; wire names never change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ErrorCode {
        AgentNotFound = "AGENT_NOT_FOUND",
        AgentAlreadyExists = "AGENT_ALREADY_EXISTS",
        AgentInvalid = "AGENT_INVALID",
        AgentNotTrusted = "AGENT_NOT_TRUSTED",
        ApprovalClosed = "APPROVAL_CLOSED",
        ApprovalMismatch = "APPROVAL_MISMATCH",
        ApprovalNotFound = "APPROVAL_NOT_FOUND",
        InvalidAgentName = "INVALID_AGENT_NAME",
        InvalidTool = "INVALID_TOOL",
        PromptTooLarge = "PROMPT_TOO_LARGE",
        TaskCancelled = "TASK_CANCELLED",
        TaskIncomplete = "TASK_INCOMPLETE",
        TaskNotFound = "TASK_NOT_FOUND",
        TaskNotReady = "TASK_NOT_READY",
        TaskTooLarge = "TASK_TOO_LARGE",
        TaskNotResumable = "TASK_NOT_RESUMABLE",
        DependencyFailed = "DEPENDENCY_FAILED",
        MaxTasksExceeded = "MAX_TASKS_EXCEEDED",
        LeaseConflict = "LEASE_CONFLICT",
        LeaseHeld = "LEASE_HELD",
        IsolationUnavailable = "ISOLATION_UNAVAILABLE",
        McpServerUnavailable = "MCP_SERVER_UNAVAILABLE",
        McpSignInFailed = "MCP_SIGN_IN_FAILED",
        McpSignInRequired = "MCP_SIGN_IN_REQUIRED",
        MergeConflict = "MERGE_CONFLICT",
        KeyNotFound = "KEY_NOT_FOUND",
        InvalidKey = "INVALID_KEY",
        ValueTooLarge = "VALUE_TOO_LARGE",
        ContextFull = "STORE_FULL",
        VersionConflict = "VERSION_CONFLICT",
        AccessDenied = "ACCESS_DENIED",
        SessionNotFound = "SESSION_NOT_FOUND",
        SessionArchived = "SESSION_ARCHIVED",
        InvalidAction = "INVALID_ACTION",
        InvalidRequest = "INVALID_REQUEST",
        BudgetExceeded = "BUDGET_EXCEEDED",
        ConfigInvalid = "CONFIG_INVALID",
        ConfigUnreadable = "CONFIG_UNREADABLE",
        HostModelUnavailable = "HOST_MODEL_UNAVAILABLE",
        ModelFailed = "MODEL_FAILED",
        ModelNotConfigured = "MODEL_NOT_CONFIGURED",
        ModelUnknown = "MODEL_UNKNOWN",
        ScriptInvalid = "SCRIPT_INVALID",
        ToolInvalid = "TOOL_INVALID",
        DuplicateTool = "DUPLICATE_TOOL",
        StoreUnavailable = "STORE_UNAVAILABLE",
        DiskFull = "DISK_FULL",
        StoreBusy = "STORE_BUSY",
        StoreCorrupt = "STORE_CORRUPT",
        StoreNewer = "STORE_NEWER",
        OwnerLost = "OWNER_LOST",
        JournalInvalid = "JOURNAL_INVALID",
        Unauthenticated = "UNAUTHENTICATED",
        Forbidden = "FORBIDDEN",
        RouteNotFound = "ROUTE_NOT_FOUND",
        MethodNotAllowed = "METHOD_NOT_ALLOWED",
        RequestTooLarge = "REQUEST_TOO_LARGE",
        UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
        RateLimited = "RATE_LIMITED",
        Interrupted = "INTERRUPTED",
        Io = "IO",
        Internal = "INTERNAL",
    }
}

impl Error {
    /// Creates an error without hint and source.
    pub fn new(code: ErrorCode, message: impl Into<LocalizedText>) -> Self {
        Self { code, message: message.into(), hint: None, source: None }
    }

    /// Adds a hint: what the reader can do.
    pub fn hint(mut self, hint: impl Into<LocalizedText>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the underlying error.
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into().into());
        self
    }

    /// Returns the code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Returns the message, in both languages.
    pub fn message(&self) -> &LocalizedText {
        &self.message
    }

    /// Returns the hint, in both languages.
    pub fn advice(&self) -> Option<&LocalizedText> {
        self.hint.as_ref()
    }

    /// Returns the outcome of the run that did not complete, with the text and the usage there are; `None` for other errors.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.source.as_ref()?.downcast_ref::<IncompleteRun>().map(|IncompleteRun(outcome)| &**outcome)
    }

    /// Code and message as a model reads them; `Display` is for people.
    pub fn english(&self) -> String {
        format!("{}: {}", self.code, self.message.english())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        self.hint.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|s| s.as_ref() as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_prints_what_to_do() {
        let error = Error::new(ErrorCode::ModelNotConfigured, "no key".to_owned()).hint("set one".to_owned());
        assert_eq!(format!("{error:?}"), "MODEL_NOT_CONFIGURED: no key\nhint: set one");
    }

    #[test]
    fn every_code_has_a_section_in_the_documentation_and_every_section_a_code() {
        let pages = include_str!("../../../docs/errors.md");
        let documented: Vec<&str> = pages.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let mut codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.wire()).collect();
        codes.sort_unstable();
        assert_eq!(documented, codes, "docs/errors.md lists one section per code, in alphabetical order");
    }
}
