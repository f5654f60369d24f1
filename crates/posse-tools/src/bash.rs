//! The tool `bash`: a shell command in the workspace.

use std::ffi::OsString;
use std::time::Duration;

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_core::{Error, text};
use posse_runtime::ports::{BoxFuture, Tool, ToolContext, ToolInput, ToolOutput};
use posse_sandbox::launch::{NotRun, ProcessLauncher, protected_notes};
use posse_sandbox::refusal::SandboxHint;
use posse_sandbox::supervisor::{CommandEnd, CommandJob, CommandReport, CommandStop};
use serde::Deserialize;

use crate::output;
use crate::touched::run_watched;

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// The kernel takes at most 128 KiB as one argument of a program.
const COMMAND_MAX: usize = 100_000;
/// Room reserved for notes and the exit code.
const NOTES: usize = 600;

/// The `bash` tool.
pub struct BashTool {
    spec: ToolSpec,
    launch: ProcessLauncher,
    shell: &'static str,
}

#[derive(Deserialize)]
struct BashArguments {
    command: String,
    #[serde(default, deserialize_with = "crate::files::number")]
    timeout_ms: Option<u64>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

const DESCRIPTION: &str = "Runs a shell command in the workspace and returns what it prints (standard output and \
standard error together). Each call starts a new shell in the workspace directory: `cd` and variables do not last. \
Standard input is empty, so commands must not ask questions. Everything a command starts ends with it, background \
processes too. Long output is shortened in the middle: send it to a file and look at parts of it instead.";

const SCHEMA: &str = r#"{"type":"object","properties":{"command":{"type":"string","minLength":1,"maxLength":100000,"description":"The command, for bash."},"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"Milliseconds after which the command is stopped. 120000 unless given."},"description":{"type":"string","description":"What the command is for, in a few words, for the person watching."}},"required":["command"],"additionalProperties":false}"#;

impl BashTool {
    /// Creates the tool.
    pub fn new(launch: ProcessLauncher) -> Self {
        let spec = ToolSpec {
            name: "bash".into(),
            description: format!(
                "{DESCRIPTION} {}",
                launch.sandbox.rules(launch.directory.place().ok().as_deref())
            ),
            input_schema: SCHEMA.into(),
            effect: ToolEffect::Unsafe,
        };
        let shell = shell(&launch);
        Self { spec, launch, shell }
    }

    async fn run(&self, input: ToolInput<'_>) -> ToolOutput {
        let arguments: BashArguments = match serde_json::from_str(input.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return ToolOutput::error(format!("the arguments are not valid: {error}")),
        };
        if let Some(problem) = problem(&arguments.command) {
            return ToolOutput::error(problem);
        }
        let asked = arguments.timeout_ms.map_or(TIMEOUT_DEFAULT, Duration::from_millis);
        let args = shell_args(&arguments.command);
        let job = self.launch.job(input.context, self.shell, args, asked.min(TIMEOUT_MAX));
        run("command", &self.launch, job, input.context).await
    }
}

impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.run(input))
    }
}

/// The shell that commands are written for.
pub(crate) fn shell(launch: &ProcessLauncher) -> &'static str {
    if has_bash(launch) { "bash" } else { "sh" }
}

/// The command is the first argument that is no option, so one that begins with a dash has to stand behind the end of options.
pub(crate) fn shell_args(command: &str) -> Vec<OsString> {
    ["-c", "--", command].map(OsString::from).to_vec()
}

fn has_bash(launch: &ProcessLauncher) -> bool {
    let environment = launch.environment.select(&[]);
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|directory| directory.join("bash").is_file())
}

fn problem(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("`command` is empty".to_owned());
    }
    if command.contains('\0') {
        return Some("`command` contains a NUL character, which no program can be given".to_owned());
    }
    let length = command.len();
    (length > COMMAND_MAX).then(|| {
        format!(
            "`command` has {length} bytes, at most {COMMAND_MAX} are possible; write a script file and run \
         that"
        )
    })
}

/// Runs a job and tells the model about it.
pub(crate) async fn run(
    what: &str,
    launch: &ProcessLauncher,
    job: CommandJob,
    context: &ToolContext,
) -> ToolOutput {
    if context.cancel.is_cancelled() {
        return ToolOutput::error(format!("cancelled before the {what} was started"));
    }
    let timeout = job.timeout;
    if timeout.is_zero() {
        return ToolOutput::error(format!("no time is left: the {what} was not started"));
    }
    let (ran, changed) = run_watched(launch, job, context).await;
    let output = match ran {
        Ok(ran) => describe(what, &ran.report, ran.walled.as_ref(), timeout, context.output_bytes_max),
        Err(NotRun::Refused(refusal)) => return ToolOutput::error(refusal),
        Err(NotRun::Failed(error)) => return ToolOutput::error(with_hint(&error)),
        Err(NotRun::Lost(error)) => ToolOutput::cut_off(with_hint(&error)),
    };
    ToolOutput { changed, ..output }
}

fn with_hint(error: &Error) -> String {
    let hint = error.advice().map(|hint| format!("\n{}", hint.english())).unwrap_or_default();
    format!("{}{hint}", error.message().english())
}

/// The result of a run for the model: how it ended if not well, what it printed, what else there is to know.
fn describe(
    what: &str,
    report: &CommandReport,
    walled: Option<&SandboxHint>,
    timeout: Duration,
    max: usize,
) -> ToolOutput {
    let ending = ending(what, report, timeout);
    let room = max.saturating_sub(NOTES).max(200);
    // Standard error, where it is a stream of its own, is only for finding out why there is no result.
    let shows_error = ending.is_some() && report.err.total > 0;
    let error_room = if shows_error { (room / 4).max(100) } else { 0 };
    let out = output::render(&report.out, room - error_room);
    let mut odd_bytes = out.odd_bytes;
    let mut parts: Vec<String> = ending.iter().cloned().collect();
    let is_empty = report.out.total == 0;
    parts.push(if is_empty { "(no output)".to_owned() } else { out.text.trim_end_matches('\n').to_owned() });
    if shows_error {
        let err = output::render(&report.err, error_room);
        odd_bytes += err.odd_bytes;
        parts.push(format!("standard error:\n{}", err.text.trim_end_matches('\n')));
    } else if report.err.total > 0 {
        parts.push(format!("[{} bytes on standard error are not shown]", report.err.total));
    }
    if odd_bytes > 0 {
        parts.push(format!("[{odd_bytes} bytes shown are not UTF-8; they stand as \\xNN]"));
    }
    parts.extend(leftovers(what, report));
    parts.extend(walled.and_then(|walled| walled.remark(report)));
    let is_error = ending.is_some();
    let text = text::head_and_tail(&parts.join("\n"), max.max(100));
    let cut_off = report.stop.is_some() || report.end == CommandEnd::Unknown;
    ToolOutput { is_error, cut_off, ..ToolOutput::text(text) }
}

/// `None` if it ended well.
pub(crate) fn ending(what: &str, report: &CommandReport, timeout: Duration) -> Option<String> {
    match (report.stop, &report.end) {
        (Some(CommandStop::TimedOut), _) => {
            let ms = timeout.as_millis();
            Some(format!(
                "timed out: the {what} and all it started were stopped after {ms} ms; output so far:"
            ))
        }
        (Some(CommandStop::Cancelled), _) => {
            Some(format!("cancelled: the {what} and all it started were stopped; output so far:"))
        }
        (Some(CommandStop::Lost), _) => Some(
            "stopped: the task lost the right to write where it was writing, or its process was silent \
             for too long. What it had begun may be there; read the files before repeating anything"
                .to_owned(),
        ),
        (None, CommandEnd::Exited { code: 0 }) => None,
        (None, CommandEnd::Exited { code }) => Some(format!("exit code {code}")),
        (None, CommandEnd::Signalled { signal }) => Some(format!("ended by signal {signal}")),
        (None, CommandEnd::NotStarted { errno }) => {
            let why = std::io::Error::from_raw_os_error(*errno);
            Some(format!("the {what} could not be started: {why}"))
        }
        (None, CommandEnd::Refused { why }) => Some(format!("refused: {why}. The {what} was not run")),
        (None, CommandEnd::Unknown) => Some(format!("it is not known how the {what} ended")),
    }
}

pub(crate) fn leftovers(what: &str, report: &CommandReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.stopped > 0 && report.stop.is_none() {
        let were = if report.stopped == 1 { "process was" } else { "processes were" };
        notes.push(format!("[{} background {were} stopped when the {what} ended]", report.stopped));
    }
    if report.survivors > 0 {
        notes.push(format!("[{} processes could not be stopped and may still run]", report.survivors));
    }
    notes.extend(protected_notes(report));
    notes
}
