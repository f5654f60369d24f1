//! Continuing from a summary: the old run writes it, a new one begins with it.

use posse_core::id::TaskId;

/// Message that asks for the summary. Models read it, so it is English.
pub(super) const REQUEST: &str = "Write a summary of this conversation, so that it can be continued by someone who has not read \
     it. Call no tools. Keep: what the person wants and decided, in their words where they matter; what was found out, with \
     file names, functions, commands and error messages; what was changed and why; what is unfinished, and the next step. \
     Leave out pleasantries and steps that led nowhere, unless they must not be repeated. Write only the summary.";

/// Returns the summary as it stands behind the first message of the new conversation.
pub(super) fn enclosure(of: &TaskId, summary: &str) -> String {
    format!(
        "<summary conversation=\"{of}\">\nThis conversation continues an earlier one, of which this is a summary.\n\n{}\n</summary>",
        summary.trim()
    )
}
