//! What every tool that starts a process shares: the supervisor, the place, the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use posse_core::grant::SandboxTier;
use posse_core::{Error, Result};
use posse_runtime::leases::WritingProcess;
use posse_runtime::ports::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::confinement::ProcessConfinement;
use crate::refusal::SandboxHint;
use crate::sandbox::{ConfinedProcess, ProcessKind, ProcessScene, Sandbox};
use crate::supervisor::{
    CommandJob, CommandPipes, CommandReport, LeasePulse, RunningCommand, StreamMode, Supervisor,
    WorkDirectory,
};
use crate::workspace::show;

/// A few paths say enough.
pub(crate) const SHOWN_MAX: usize = 10;

/// Given once by the program that builds the tools.
#[derive(Clone)]
pub struct ProcessLauncher {
    pub supervisor: Supervisor,
    /// The workspace: where commands run.
    pub directory: WorkDirectory,
    pub environment: CommandEnvironment,
    pub sandbox: Arc<Sandbox>,
    /// The note that changed files are not detected here was given.
    pub is_told: Arc<AtomicBool>,
}

impl ProcessLauncher {
    /// A job of this task in the workspace: without input, both streams as one, with the variables of every command.
    pub fn job(
        &self,
        context: &ToolContext,
        program: impl Into<OsString>,
        args: Vec<OsString>,
        timeout: Duration,
    ) -> CommandJob {
        CommandJob {
            task: context.task.clone(),
            program: program.into(),
            args,
            directory: self.directory.clone(),
            environment: self.environment.select(&[]),
            stdin: Vec::new(),
            streams: StreamMode::Merged,
            timeout: timeout.min(context.time_left),
            confinement: ProcessConfinement::default(),
            pulse: None,
        }
    }

    /// Holds a process of a task to what that task may do. The error, for a model, is why it must not be started.
    /// What comes back lasts as long as the process.
    pub(crate) async fn confine(
        &self,
        job: &mut CommandJob,
        context: &ToolContext,
        kind: ProcessKind,
    ) -> Result<HeldProcess, String> {
        let running = match &context.fence {
            Some(fence) => Some(fence.run(&context.grant).await?),
            None => None,
        };
        let workspace = job.directory.place().map_err(|cause| format!("refused: no workspace: {cause}"))?;
        let leased = running.iter().flat_map(|running| &running.closed).map(PathBuf::from).collect();
        let (launch, theirs) = (self.clone(), context.clone());
        let (program, place) = (job.program.clone(), workspace.clone());
        let build = move || {
            let mut scene = ProcessScene::of(&theirs, &program, &place, &launch.supervisor);
            (scene.leased, scene.kind) = (leased, kind);
            launch.sandbox.confine(&scene)
        };
        let built =
            run_blocking(build).await.unwrap_or_else(|| Err("the sandbox could not be built".to_owned()));
        let ConfinedProcess { confinement, environment, protected } = built.map_err(|why| {
            format!("refused: {why}. Nothing was run, and trying again does not help: only the person who set this up can \
                     change it")
        })?;
        job.confinement = confinement;
        job.environment.extend(environment);
        job.environment.extend(bounds(context));
        job.pulse = running.as_ref().map(|running| LeasePulse::of(running.fence().clone()));
        Ok(HeldProcess { sandbox: self.sandbox.clone(), workspace, before: protected, running })
    }

    /// For a program that is not asked about like `bash`: where a task is kept to some places and nothing confines its processes, it
    /// is refused.
    pub fn refuse_unheld(&self, tool: &str, job: &CommandJob, context: &ToolContext) -> Result<(), String> {
        let workspace = job.directory.place().map_err(|cause| format!("refused: no workspace: {cause}"))?;
        let scene = ProcessScene::of(context, &job.program, &workspace, &self.supervisor);
        let is_held = self.sandbox.tier() != Ok(SandboxTier::None) || scene.policy.tier != SandboxTier::None;
        if is_held || !scene.is_restricted() {
            Ok(())
        } else {
            Err(format!(
                "refused: this task may read, write or reach only some places, and nothing holds the \
             program of `{tool}` to that here"
            ))
        }
    }

    /// Runs a process of a task to its end, held to what that task may do.
    pub async fn run(&self, mut job: CommandJob, context: &ToolContext) -> Result<FinishedProcess, NotRun> {
        let mut held =
            self.confine(&mut job, context, ProcessKind::Command).await.map_err(NotRun::Refused)?;
        let walled = job.confinement.walls.as_ref().map(SandboxHint::of);
        let started = self.supervisor.begin_run(job).map_err(NotRun::Failed)?;
        let mut report = started.finish(&context.cancel).await.map_err(NotRun::Lost)?;
        drop(held.running.take());
        let set_aside = report.set_aside.clone();
        let (more, appeared) = run_blocking(move || held.appeared(&set_aside)).await.unwrap_or_default();
        report.set_aside.extend(more);
        report.appeared = appeared;
        note_protected_files(&report, context);
        Ok(FinishedProcess { report, walled })
    }

    /// Starts a program that lasts beyond one call and is talked with, held to what a task may do. The error is why it must not
    /// or could not be started.
    pub async fn attach(
        &self,
        mut job: CommandJob,
        context: &ToolContext,
    ) -> Result<(CommandPipes, AttachedProcess), String> {
        let held = self.confine(&mut job, context, ProcessKind::Server).await?;
        let (pipes, started) =
            self.supervisor.attach(job).map_err(|error| error.message().english().to_owned())?;
        Ok((pipes, AttachedProcess { started, _held: held }))
    }
}

/// A program that is talked with. Nothing of it is left when this is finished or dropped.
pub struct AttachedProcess {
    started: RunningCommand,
    _held: HeldProcess,
}

impl AttachedProcess {
    /// Waits for its end, or ends it when it is cancelled.
    pub async fn finish(self, cancel: &CancellationToken) -> Result<CommandReport> {
        self.started.finish(cancel).await
    }
}

/// A process that was run.
pub struct FinishedProcess {
    pub report: CommandReport,
    /// Hint about the sandbox, if the process ran in one.
    pub walled: Option<SandboxHint>,
}

/// Why there is no report of a process.
pub enum NotRun {
    /// It was not started, for a reason that the model is told.
    Refused(String),
    /// It could not be started.
    Failed(Error),
    /// It was started and its supervisor died: it may have done all, some or none of its work.
    Lost(Error),
}

/// A process that is held, as far as it has to be looked after when it has ended.
pub(crate) struct HeldProcess {
    sandbox: Arc<Sandbox>,
    workspace: PathBuf,
    /// Protected paths before the process ran; `None` if it cannot have created any.
    before: Option<Vec<PathBuf>>,
    /// That it may be writing, as others see it.
    running: Option<WritingProcess>,
}

impl HeldProcess {
    /// Sets aside what is protected and was not there before. Returns a few of the new names, and of what is still there
    /// under its own: instructions for agents, which are everywhere in some workspaces, and what could not be renamed.
    fn appeared(&self, set_aside: &[String]) -> (Vec<String>, Vec<String>) {
        let Some(before) = &self.before else { return Default::default() };
        // Some names are protected with our ending too.
        let ours: Vec<&Path> = set_aside.iter().map(Path::new).collect();
        let (aside, there) = self.sandbox.settle(&self.workspace, before, &ours);
        let shown = |paths: Vec<PathBuf>| {
            paths.into_iter().take(SHOWN_MAX).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        (shown(aside), shown(there))
    }
}

/// Runs work that inspects many files on a blocking thread. `None` if it panicked.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Reports stopped and surviving processes as an event: observers hear it from us and not from the model.
fn note_protected_files(report: &CommandReport, context: &ToolContext) {
    protected_notes(report).into_iter().for_each(|text| context.note(text));
}

/// Describes protected files that a command created.
pub fn protected_notes(report: &CommandReport) -> Vec<String> {
    let listed = |paths: &[String]| {
        let shown: Vec<String> = paths.iter().map(|path| show(Path::new(path))).collect();
        shown.join(", ")
    };
    let mut notes = Vec::new();
    if !report.set_aside.is_empty() {
        notes.push(format!(
            "[protected files were made, which commands may not do, and got other names: {}. Say so in your \
             answer]",
            listed(&report.set_aside)
        ));
    }
    if !report.appeared.is_empty() {
        notes.push(format!(
            "[protected files appeared meanwhile: {}. Say so in your answer: a person has to look at \
             them before any program uses them]",
            listed(&report.appeared)
        ));
    }
    notes
}

/// Variable with the remaining delegation depth.
pub const DEPTH: &str = "POSSE_DEPTH";
/// Variable with the remaining budget, in millionths of a US dollar.
pub const COST_LEFT: &str = "POSSE_COST_LEFT_MICROS";

/// A Posse that is started inside a task delegates no deeper and spends no more than the task could.
fn bounds(context: &ToolContext) -> Vec<(OsString, OsString)> {
    let cost = context.run.as_ref().and_then(|nesting| nesting.budget.left().cost_micros);
    let depth = (DEPTH, u64::from(context.grant.depth()));
    let all = [Some(depth), cost.map(|micros| (COST_LEFT, micros))];
    all.into_iter().flatten().map(|(name, number)| (name.into(), number.to_string().into())).collect()
}

/// Variables that commands need to work and that hold no secrets.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

/// Variables that name where a toolchain is. Whether commands get them is another matter.
const TOOLCHAINS: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
];

/// The part of the runtime's environment that commands see: an allow-list.
#[derive(Clone, Default)]
pub struct CommandEnvironment {
    all: Vec<(OsString, OsString)>,
    allowed: Vec<String>,
    withheld: Vec<String>,
}

impl CommandEnvironment {
    /// `all` is what the process was started with. `allowed` are names that configuration adds to the usual ones.
    /// `withheld` are names that no tool ever gets, also when its manifest asks for them: the providers' keys.
    pub fn new(
        all: impl IntoIterator<Item = (OsString, OsString)>,
        allowed: Vec<String>,
        withheld: Vec<String>,
    ) -> Self {
        Self { all: all.into_iter().collect(), allowed, withheld }
    }

    /// Tells whether every command gets the variable.
    pub fn passes(&self, name: &str) -> bool {
        self.allows(OsStr::new(name), &[])
    }

    /// Tells whether no command gets the variable.
    pub fn is_withheld(&self, name: &str) -> bool {
        self.withheld.iter().any(|withheld| withheld == name)
    }

    /// The variables for one command, with those that it may have in addition.
    pub fn select(&self, also: &[String]) -> Vec<(OsString, OsString)> {
        self.all.iter().filter(|(name, _)| self.allows(name, also)).cloned().collect()
    }

    /// Returns the toolchain directories that every command is told about.
    pub fn toolchains(&self) -> Vec<PathBuf> {
        let told = self.select(&[]).into_iter();
        let named = told.filter(|(name, _)| TOOLCHAINS.iter().any(|toolchain| name == toolchain));
        let places = named.flat_map(|(_, value)| std::env::split_paths(&value).collect::<Vec<_>>());
        places.filter(|place| place.is_absolute()).collect()
    }

    fn allows(&self, name: &OsStr, also: &[String]) -> bool {
        let Some(name) = name.to_str() else { return false };
        let asked = || self.allowed.iter().chain(also).any(|allowed| allowed == name);
        !self.is_withheld(name) && (ALLOWED.contains(&name) || name.starts_with("LC_") || asked())
    }
}

/// Values may be secrets, so only the names are shown.
impl fmt::Debug for CommandEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.all.iter().map(|(name, _)| name).collect();
        f.debug_struct("Environment")
            .field("names", &names)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_pass_and_a_withheld_one_never_does() {
        let all = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("API_KEY", "s3cret"),
            ("CI", "1"),
            ("NPM", "x"),
            ("LD_X", "y"),
        ];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let environment =
            CommandEnvironment::new(all, vec!["CI".into(), "API_KEY".into()], vec!["API_KEY".into()]);
        let names = |also: &[String]| -> Vec<String> {
            environment.select(also).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(names(&[]), ["PATH", "LC_ALL", "CI"]);
        assert_eq!(names(&["NPM".into(), "API_KEY".into()]), ["PATH", "LC_ALL", "CI", "NPM"]);
        assert!(!format!("{environment:?}").contains("s3cret"));
    }

    #[test]
    fn the_toolchains_are_those_that_commands_are_told_about() {
        let all = [("CARGO_HOME", "/a"), ("GOPATH", "/b:c:/d"), ("JAVA_HOME", "/e"), ("LANG", "/f")];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let environment = CommandEnvironment::new(all, vec!["GOPATH".into()], vec![]);
        assert_eq!(environment.toolchains(), ["/a", "/b", "/d"].map(PathBuf::from));
    }
}
