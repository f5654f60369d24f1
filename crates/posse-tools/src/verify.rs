//! Running the commands that check a result: like `bash`, for us and not for a model.

use std::time::Duration;

use posse_core::verify::{Ending, Evidence};
use posse_messages::fixed;
use posse_runtime::ports::{BoxFuture, ToolContext, Verifier};

use crate::bash::{ending, leftovers, shell, shell_args};
use crate::confinement::Confinement;
use crate::launch::{Launch, NotRun};
use crate::output;
use crate::sandbox::refusal::Walled;
use crate::supervisor::{End, Job, Report, Stop, Streams};

/// A whole test suite may take its time; the run's own time is a bound as well.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Room reserved for notes.
const NOTES: usize = 300;

/// Runs commands in the workspace under the supervisor.
pub struct Commands {
    launch: Launch,
    shell: &'static str,
}

impl Commands {
    /// Creates the verifier.
    pub fn new(launch: Launch) -> Self {
        let shell = shell(&launch);
        Self { launch, shell }
    }
}

impl Verifier for Commands {
    fn run<'a>(&'a self, command: &'a str, context: &'a ToolContext) -> BoxFuture<'a, Evidence> {
        Box::pin(async move {
            let timeout = TIMEOUT.min(context.time_left);
            let job = Job {
                task: context.task.clone(),
                program: self.shell.into(),
                args: shell_args(command),
                directory: self.launch.directory.clone(),
                environment: self.launch.environment.select(&[]),
                stdin: Vec::new(),
                streams: Streams::Merged,
                timeout,
                confinement: Confinement::default(),
                pulse: None,
            };
            match self.launch.run(job, context).await {
                Ok(ran) => {
                    evidence(command, &ran.report, ran.walled.as_ref(), timeout, context.output_bytes_max)
                }
                Err(NotRun::Refused(refusal)) => Evidence::not_run(command, refusal),
                Err(NotRun::Failed(error)) => Evidence::not_run(command, error.message().english()),
                // Not `NotRun`: that would end the task, and a check may be run again.
                Err(NotRun::Lost(error)) => Evidence {
                    command: command.to_owned(),
                    ending: Ending::Stopped(error.message().english().to_owned()),
                    duration_ms: 0,
                    output: String::new(),
                },
            }
        })
    }
}

fn evidence(
    command: &str,
    report: &Report,
    walled: Option<&Walled>,
    timeout: Duration,
    max: usize,
) -> Evidence {
    let ended = || ending("command", report, timeout).unwrap_or_default();
    let ending = match (report.stop, &report.end) {
        (Some(Stop::TimedOut), _) => Ending::Stopped(fixed!("verify-timed-out", seconds = timeout.as_secs())),
        (Some(Stop::Cancelled), _) => Ending::Stopped("cancelled".to_owned()),
        (Some(Stop::Lost), _) => Ending::Stopped(ended()),
        (None, End::Exited { code }) => Ending::Exited(*code),
        (None, End::NotStarted { .. } | End::Refused { .. }) => Ending::NotRun(ended()),
        (None, End::Signalled { .. } | End::Unknown) => Ending::Stopped(ended()),
    };
    let shown = output::render(&report.out, max.saturating_sub(NOTES).max(200));
    let mut notes: Vec<String> = leftovers("command", report).into_iter().collect();
    notes.extend(walled.and_then(|walled| walled.remark(report)));
    let parts: Vec<&str> =
        std::iter::once(shown.text.trim_end_matches('\n')).chain(notes.iter().map(String::as_str)).collect();
    let duration_ms = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
    Evidence {
        command: command.to_owned(),
        ending,
        duration_ms,
        output: parts.join("\n").trim_start_matches('\n').to_owned(),
    }
}
