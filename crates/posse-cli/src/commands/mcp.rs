//! `posse mcp`: an MCP server. The host is the orchestrator and delegates to the session of this directory, which it
//! finds again when it reconnects.

mod doctor;
mod install;
mod key;

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use posse_core::agent::Agent;
use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::server::http::{self, RequestGuard};
use posse_mcp::server::{
    ConnectedHosts, HostTool, HostWire, McpServer, ServerParts, SessionSlot, TaskReach, TranscriptSource,
    converse,
};
use posse_messages::{localized, say};
use posse_models::providers::NO_MODEL;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{AgentLookup, BoxFuture, JournalStore};
use posse_runtime::session::HostSession;
use posse_runtime::session::SessionPolicy;
use posse_runtime::session::facades::SessionFacades;
use posse_setup::hosting::{session_id, token};
use posse_store::SqliteStore;
use posse_telemetry::transcript;
use tokio::signal::unix::SignalKind;
use tokio_util::sync::CancellationToken;

use super::drive::{ProgressView, RunKind, RunView};
use super::run::{self, SessionPlan};
use super::tasks::status;
use super::worker;
use crate::args::{GlobalArgs, McpArgs, McpCommand, RunOptions};
use crate::config::OnExit;
use crate::setup::{Setup, name};
use crate::signals::{self, EndSignals};
use crate::{retention, terminal};
use key::KeyConsent;

/// Longest wait of a host's first request for MCP servers that are still listing their tools.
const HEAD_START: Duration = Duration::from_secs(1);

pub async fn run(global: &GlobalArgs, args: McpArgs) -> Result<ExitCode> {
    match args.command {
        Some(McpCommand::Install { host, write, no_key, store_key }) => {
            let consent = match (no_key, store_key) {
                (true, _) => KeyConsent::Refused,
                (false, true) => KeyConsent::Given,
                (false, false) => KeyConsent::Asked,
            };
            install::run(global, host, write, consent)
        }
        Some(McpCommand::Doctor) => doctor::run(global).await,
        None => serve(global, args).await,
    }
}

async fn serve(global: &GlobalArgs, args: McpArgs) -> Result<ExitCode> {
    // Before anything can be written: standard output carries the protocol and nothing else.
    let pipes = args.http.is_none().then(take_pipes).transpose()?;
    let setup = Setup { hosts: ConnectedHosts::served(), ..Setup::load(global)? };
    // A server runs for days, so retention runs at the start, not at the end.
    retention::apply_later(global, &setup.config.store, &setup.state);
    let on_exit = args.on_exit.or(setup.config.mcp.on_exit).unwrap_or(OnExit::HandOver);
    let leaving = CancellationToken::new();
    let (opener, entrance) = SessionSlot::closed();
    let (door, plan) = prepare(&setup, args.clone(), leaving.clone(), entrance.clone()).await?;
    let mut opening = Box::pin(async {
        opener.open(open(&setup, plan).await?);
        std::future::pending::<Result<()>>().await
    });
    // Usually ready at once; only a server that never listed its tools takes long.
    tokio::select! {
        biased;
        failed = &mut opening => failed?,
        _ = entrance.opened() => {}
        () = tokio::time::sleep(HEAD_START) => {}
    }
    let served = async {
        match (args.http, pipes) {
            (Some(address), _) => serve_http(&setup, address, door, leaving.clone()).await,
            (None, Some((input, output))) => {
                let wire = HostWire::over(input, output);
                let ended = wire.ended();
                let gone = leaving.clone();
                // Stops waiting for slow servers once the host has closed its end.
                tokio::spawn(async move {
                    ended.cancelled().await;
                    gone.cancel();
                });
                converse(door, wire).await
            }
            (None, None) => Ok(()),
        }
    };
    let served = tokio::select! {
        served = served => served,
        told = told_to_stop() => told,
        failed = &mut opening => failed,
    };
    leaving.cancel();
    // No one waits any more for servers that do not answer.
    drop(opening);
    if let Some(hosted) = entrance.hosted() {
        leave(global, &hosted, on_exit).await?;
    }
    setup.close_servers().await;
    served.map(|()| ExitCode::SUCCESS)
}

/// Resolves when the host ends the server with a signal; often its tasks are not done by then.
pub(super) async fn told_to_stop() -> Result<()> {
    let mut interrupt = signals::receiver(SignalKind::interrupt())?;
    let mut end = EndSignals::listen()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = end.recv() => {}
    }
    Ok(())
}

/// Applies `on_exit` to running tasks.
pub(super) async fn leave(global: &GlobalArgs, hosted: &HostSession, on_exit: OnExit) -> Result<()> {
    if hosted.unfinished().is_empty() {
        return Ok(());
    }
    match on_exit {
        OnExit::HandOver => {
            let left = hosted.release_tasks().await?;
            if left.is_empty() {
                return Ok(());
            }
            worker::start(global, &[])?;
            terminal::note(&say!("mcp-handed-over", count = left.len()));
        }
        OnExit::Cancel => hosted.cancel_all().await,
        OnExit::Leave => drop(hosted.release_tasks().await?),
    }
    Ok(())
}

/// Options and grant that the session is opened with.
pub(super) struct ServerPlan {
    how: RunOptions,
    write: Vec<String>,
    agent: Agent,
    store: Arc<SqliteStore>,
    session_id: String,
    facades: SessionFacades,
}

/// Builds the MCP server of this directory and the plan for its session.
pub(super) async fn prepare(
    setup: &Setup,
    args: McpArgs,
    leaving: CancellationToken,
    entrance: SessionSlot,
) -> Result<(McpServer, ServerPlan)> {
    let named = if args.tools.is_empty() { &setup.config.mcp.tools } else { &args.tools };
    let offers = HostTool::parse_list(named)?;
    let how = RunOptions::from(args.common);
    let agent = host(setup, &how)?;
    let store = setup.store()?;
    let session_id = session_id(&store, setup, args.room.as_deref()).await?;
    let agents: Arc<dyn AgentLookup> = setup.agents(&how);
    let facades = HostTool::facades(&offers, &setup.facades()?);
    // Independent of which tools the MCP servers turn out to have.
    let uses_servers = setup.servers_of(&how).is_some();
    let found = setup.tools()?;
    let grant = setup.grant_to_hosts(&how, &args.write, &found)?.keep(&agent.rights);
    let specs = found.tools.iter().map(|tool| tool.spec());
    let mut reach = TaskReach::of(&grant, specs, |name| name == "fetch" || !posse_tools::is_built_in(name));
    // The tools of an MCP server may become known later.
    reach.goes_out |= uses_servers;
    reach.writes |= uses_servers && !how.common.read_only;
    let serving = ServerParts {
        entrance,
        specs: facades.offered(&*agents, &grant)?,
        agents,
        transcripts: Arc::new(JournalTranscripts(store.clone())),
        hosts: setup.hosts.clone(),
        offers,
        reach,
        process: owner::owner(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        leaving,
    };
    Ok((McpServer::new(serving), ServerPlan { how, write: args.write, agent, store, session_id, facades }))
}

pub(super) async fn open(setup: &Setup, plan: ServerPlan) -> Result<Arc<HostSession>> {
    let ServerPlan { how, write, agent, store, session_id, facades } = plan;
    setup.meet_servers(&how).await;
    let found = setup.tools()?;
    let (grant, caps) = (setup.grant_to_hosts(&how, &write, &found)?, setup.caps(&how));
    let policy = SessionPolicy { facades, ..setup.policy(grant, caps)? };
    let plan = SessionPlan { id: session_id, store, policy, apart_from: None, regrants: false };
    let view = RunView { progress: ProgressView::Silent, json: false, kind: RunKind::Task };
    let room = run::open(setup, &how, found, plan, view)?;
    Ok(Arc::new(room.session.host(agent, Some(localized!("mcp-writing-advice").english().to_owned())).await?))
}

struct JournalTranscripts(Arc<SqliteStore>);

impl TranscriptSource for JournalTranscripts {
    fn transcript<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let row = self.0.task(task).await?;
            let lines = transcript::lines(&row, status(&row), &self.0.records(task).await?)?;
            Ok(lines.iter().map(|line| format!("{line}\n")).collect())
        })
    }
}

/// Resolves the defaults for definitions that set no model or limits. Without a configured model the server still
/// lists its agents and says what is missing.
fn host(setup: &Setup, how: &RunOptions) -> Result<Agent> {
    match setup.orchestrator(how) {
        Ok(orchestrator) => Ok(Agent { name: name("host"), ..orchestrator }),
        Err(e) if e.code() == ErrorCode::ModelNotConfigured => {
            terminal::error(&e);
            Ok(Agent::new(name("host"), NO_MODEL, ""))
        }
        Err(e) => Err(e),
    }
}

/// Takes standard input and output for the protocol: other output goes to standard error, and other readers get
/// nothing.
fn take_pipes() -> Result<(File, File)> {
    let failed = |_| Error::new(ErrorCode::Io, say!("mcp-no-pipes"));
    let taken = || {
        let input = File::from(rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?);
        let output = File::from(rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3)?);
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(std::io::stderr())?;
        std::io::Result::Ok((input, output))
    };
    taken().map_err(failed)
}

async fn serve_http(
    setup: &Setup,
    address: std::net::SocketAddr,
    door: McpServer,
    leaving: CancellationToken,
) -> Result<()> {
    let listener = http::listen(address).await?;
    let address = listener.local_addr().unwrap_or(address);
    let (token, place) = token(setup)?;
    let mut guard = RequestGuard::of_this_machine(Some(token));
    guard.hosts.extend(setup.config.mcp.http_hosts.iter().cloned());
    guard.origins.extend(setup.config.mcp.http_origins.iter().cloned());
    terminal::note(&say!("mcp-listening", address, path = http::PATH, place));
    http::serve(listener, move || door.another(), guard, leaving).await;
    Ok(())
}
