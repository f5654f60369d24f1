//! Running the commands that check a result: like `bash`, for us and not for a model.

use std::time::Duration;

use posse_core::verify::{VerifyEnding, VerifyEvidence};
use posse_runtime::ports::{BoxFuture, ToolContext, Verifier};
use posse_sandbox::launch::{NotRun, ProcessLauncher};
use posse_sandbox::refusal::SandboxHint;
use posse_sandbox::supervisor::{CommandEnd, CommandReport, CommandStop};

use crate::bash::{ending, leftovers, shell, shell_args};
use crate::output;

/// A whole test suite may take its time; the run's own time is a bound as well.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Room reserved for notes.
const NOTES: usize = 300;

/// Runs commands in the workspace under the supervisor.
pub struct CommandVerifier {
    launch: ProcessLauncher,
    shell: &'static str,
}

impl CommandVerifier {
    /// Creates the verifier.
    pub fn new(launch: ProcessLauncher) -> Self {
        let shell = shell(&launch);
        Self { launch, shell }
    }
}

impl Verifier for CommandVerifier {
    fn run<'a>(&'a self, command: &'a str, context: &'a ToolContext) -> BoxFuture<'a, VerifyEvidence> {
        Box::pin(async move {
            let job = self.launch.job(context, self.shell, shell_args(command), TIMEOUT);
            let timeout = job.timeout;
            match self.launch.run(job, context).await {
                Ok(ran) => {
                    evidence(command, &ran.report, ran.walled.as_ref(), timeout, context.output_bytes_max)
                }
                Err(NotRun::Refused(refusal)) => VerifyEvidence::not_run(command, refusal),
                Err(NotRun::Failed(error)) => VerifyEvidence::not_run(command, error.message().english()),
                // Not `NotRun`: that would end the task, and a check may be run again.
                Err(NotRun::Lost(error)) => VerifyEvidence {
                    command: command.to_owned(),
                    ending: VerifyEnding::Stopped(error.message().english().to_owned()),
                    duration_ms: 0,
                    output: String::new(),
                },
            }
        })
    }
}

fn evidence(
    command: &str,
    report: &CommandReport,
    walled: Option<&SandboxHint>,
    timeout: Duration,
    max: usize,
) -> VerifyEvidence {
    let ended = || ending("command", report, timeout).unwrap_or_default();
    let ending = match (report.stop, &report.end) {
        (Some(CommandStop::TimedOut), _) => {
            VerifyEnding::Stopped(format!("timed out after {} s", timeout.as_secs()))
        }
        (Some(CommandStop::Cancelled), _) => VerifyEnding::Stopped("cancelled".to_owned()),
        (Some(CommandStop::Lost), _) => VerifyEnding::Stopped(ended()),
        (None, CommandEnd::Exited { code }) => VerifyEnding::Exited(*code),
        (None, CommandEnd::NotStarted { .. } | CommandEnd::Refused { .. }) => VerifyEnding::NotRun(ended()),
        (None, CommandEnd::Signalled { .. } | CommandEnd::Unknown) => VerifyEnding::Stopped(ended()),
    };
    let shown = output::render(&report.out, max.saturating_sub(NOTES).max(200));
    let mut notes: Vec<String> = leftovers("command", report).into_iter().collect();
    notes.extend(walled.and_then(|walled| walled.remark(report)));
    let parts: Vec<&str> =
        std::iter::once(shown.text.trim_end_matches('\n')).chain(notes.iter().map(String::as_str)).collect();
    let duration_ms = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
    VerifyEvidence {
        command: command.to_owned(),
        ending,
        duration_ms,
        output: parts.join("\n").trim_start_matches('\n').to_owned(),
    }
}
