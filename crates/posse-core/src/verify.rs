//! Checking what a model says it has done: commands that we run in the task's workspace, and what came out.

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{Error, ErrorCode, Result};
use crate::grant::{Grant, RequestedCall};
use crate::text::{prefix, visible};
use crate::tool::ToolEffect;

/// Commands of one task. Each runs to its end before the next, and the task waits for all of them.
pub const COMMANDS_MAX: usize = 10;
/// Bytes of one command; longer ones belong into a script.
pub const COMMAND_BYTES_MAX: usize = 4_000;
/// Bytes kept of a command's output: enough to see what failed, and ten of them still fit into a conversation.
pub const OUTPUT_BYTES_MAX: usize = 8_000;

/// The result of one verification command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyEvidence {
    pub command: String,
    pub ending: VerifyEnding,
    pub duration_ms: u64,
    /// The beginning and the end of what it printed.
    pub output: String,
}

/// Ways in which a command can end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyEnding {
    Exited(i32),
    /// It ran and has no exit code: why.
    Stopped(String),
    /// It could not be run, which no model can help: why.
    NotRun(String),
}

impl VerifyEvidence {
    /// Creates the evidence of a command that was not run.
    pub fn not_run(command: &str, why: impl Into<String>) -> Self {
        let ending = VerifyEnding::NotRun(why.into());
        Self { command: command.to_owned(), ending, duration_ms: 0, output: String::new() }
    }

    /// Tells whether the command succeeded.
    pub fn passed(&self) -> bool {
        self.ending == VerifyEnding::Exited(0)
    }

    /// Returns the exit code, if the command exited.
    pub fn exit_code(&self) -> Option<i32> {
        match self.ending {
            VerifyEnding::Exited(code) => Some(code),
            VerifyEnding::Stopped(_) | VerifyEnding::NotRun(_) => None,
        }
    }

    /// Describes the end of the command for people.
    pub fn ending(&self) -> String {
        match &self.ending {
            VerifyEnding::Exited(code) => format!("exit code {code}"),
            VerifyEnding::Stopped(why) => why.clone(),
            VerifyEnding::NotRun(why) => format!("not run: {why}"),
        }
    }
}

/// Checks that the requester may run the commands with `bash`: verification must not bypass the grant.
pub fn permit(commands: &[String], asker: &Grant) -> Result<()> {
    let invalid = |text: LocalizedText| Error::new(ErrorCode::InvalidRequest, text);
    if commands.len() > COMMANDS_MAX {
        let text = localized!("verify-too-many", count = commands.len(), commands_max = COMMANDS_MAX);
        return Err(invalid(text).hint(localized!("verify-too-many-hint")));
    }
    for command in commands {
        let shown = visible(prefix(command, 80)).into_owned();
        if command.trim().is_empty() || command.contains('\0') || command.len() > COMMAND_BYTES_MAX {
            let text = localized!("verify-command-invalid", shown);
            return Err(invalid(text)
                .hint(localized!("verify-command-invalid-hint", command_bytes_max = COMMAND_BYTES_MAX)));
        }
        let arguments = json!({ "command": command }).to_string();
        let call =
            RequestedCall { tool: "bash", effect: ToolEffect::Unsafe, arguments: &arguments, workspace: "" };
        // Nobody is asked about a command that verifies.
        if let Some(why) = asker.decide(call).reason() {
            let text = localized!("verify-not-allowed", shown, why);
            return Err(invalid(text).hint(localized!("verify-not-allowed-hint")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Rights;
    use crate::pattern::ToolPattern;

    #[test]
    fn nobody_gets_a_command_run_that_they_may_not_run() {
        let check = ["cargo test".to_owned()];
        let all = Grant::root(["bash", "read"].map(str::to_owned), 1);
        assert!(permit(&check, &all).is_ok());
        assert!(permit(&[], &Grant::root([], 0)).is_ok());
        let git = Rights { tools: Some(ToolPattern::parse("Bash(git *)").unwrap()), ..Rights::default() };
        for grant in [Grant::root(["read".to_owned()], 1), all.keep(&git)] {
            let e = permit(&check, &grant).unwrap_err();
            assert!(e.message().starts_with("the result cannot be verified with `cargo test`:"), "{e}");
            assert!(e.advice().unwrap().contains("--allow bash"));
        }
        assert!(permit(&["git diff --check".to_owned()], &all.keep(&git)).is_ok());
    }

    #[test]
    fn commands_are_bounded() {
        let all = Grant::root(["bash".to_owned()], 1);
        for bad in [
            vec!["true".to_owned(); COMMANDS_MAX + 1],
            vec!["x".repeat(COMMAND_BYTES_MAX + 1)],
            vec![" ".to_owned()],
            vec!["a\0b".to_owned()],
        ] {
            assert_eq!(permit(&bad, &all).unwrap_err().code(), ErrorCode::InvalidRequest);
        }
    }
}
