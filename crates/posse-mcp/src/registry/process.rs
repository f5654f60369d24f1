//! Process of a local MCP server, started like every tool process: under the supervisor, inside the sandbox, with an
//! allow-list of variables.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::{Result as CoreResult, text};
use posse_runtime::ports::{BoxFuture, ToolContext};
use posse_sandbox::launch::{AttachedProcess, ProcessLauncher};
use posse_sandbox::supervisor::{CommandEnd, CommandReport, WorkDirectory};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::{ProcessLife, ProgramStarter, ServerName, ServerProcess, ServerProgram};

/// Longest wait for exit after its input was closed.
const FAREWELL: Duration = Duration::from_secs(1);
/// Maximum lifetime under the supervisor.
const LIFE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest shown tail of its standard error.
const WORDS_MAX: usize = 2_000;

pub struct ConfinedStarter {
    launch: ProcessLauncher,
    grant: Arc<Grant>,
}

impl ConfinedStarter {
    pub fn new(launch: ProcessLauncher, grant: Grant) -> Self {
        Self { launch, grant: Arc::new(grant) }
    }
}

impl ProgramStarter for ConfinedStarter {
    fn start<'a>(
        &'a self,
        server: &'a ServerName,
        program: &'a ServerProgram,
    ) -> BoxFuture<'a, Result<ServerProcess, String>> {
        Box::pin(self.started(server, program))
    }
}

impl ConfinedStarter {
    async fn started(&self, server: &ServerName, program: &ServerProgram) -> Result<ServerProcess, String> {
        // No real task: the name is for its temporary directory.
        let task = TaskId::root(&format!("mcp-{server}"));
        let context = ToolContext {
            task,
            grant: self.grant.clone(),
            cancel: CancellationToken::new(),
            time_left: LIFE_MAX,
            output_bytes_max: 0,
            run: None,
            fence: None,
        };
        let mut environment = self.launch.environment.select(&[]);
        let own = program.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        environment.retain(|(name, _)| !program.env.iter().any(|(own, _)| name == own.as_str()));
        environment.extend(own);
        let args = program.args.iter().map(OsString::from).collect();
        let mut job = self.launch.job(&context, &program.command, args, LIFE_MAX);
        job.environment = environment;
        if let Some(directory) = &program.directory {
            job.directory = WorkDirectory::Path(directory.clone());
        }
        let (pipes, running) = self.launch.attach(job, &context).await?;
        let life = Box::new(WatchedProcess::watch(running));
        Ok(ServerProcess { input: Box::new(pipes.to_command), output: Box::new(pipes.from_command), life })
    }
}

/// A running process, watched by a task.
struct WatchedProcess {
    finished: JoinHandle<CoreResult<CommandReport>>,
    /// Dropping it ends the process.
    end: DropGuard,
}

impl WatchedProcess {
    fn watch(running: AttachedProcess) -> Self {
        let cancel = CancellationToken::new();
        let end = cancel.clone().drop_guard();
        let finished = tokio::spawn(async move { running.finish(&cancel).await });
        Self { finished, end }
    }
}

impl ProcessLife for WatchedProcess {
    fn end(mut self: Box<Self>) -> BoxFuture<'static, String> {
        Box::pin(async move {
            let by_itself = tokio::time::timeout(FAREWELL, &mut self.finished).await;
            let finished = match by_itself {
                Ok(finished) => finished,
                Err(_) => {
                    self.end.disarm().cancel();
                    self.finished.await
                }
            };
            match finished {
                Ok(Ok(report)) => last_words(&report),
                Ok(Err(e)) => e.message().english().to_owned(),
                Err(e) => e.to_string(),
            }
        })
    }
}

/// Returns the reason why it did not start, or the end of its standard error.
fn last_words(report: &CommandReport) -> String {
    let said = [&report.out.head[..], &report.out.tail[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let said = text::suffix(said.trim(), WORDS_MAX);
    match &report.end {
        CommandEnd::NotStarted { errno } => std::io::Error::from_raw_os_error(*errno).to_string(),
        CommandEnd::Refused { why } => why.clone(),
        CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } | CommandEnd::Unknown => said.to_owned(),
    }
}
