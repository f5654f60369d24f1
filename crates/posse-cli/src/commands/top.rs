//! `posse top`: every task on a full screen. Without a terminal, the events of running tasks as lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_console::run::OPERATOR;
use posse_console::top::{self, TaskPatch, TopDoor, TopHost, TopOptions, TopScope};
use posse_core::id::TaskId;
use posse_core::usage::SpendingTotal;
use posse_core::{Error, ErrorCode, Result};
use posse_git::project_of;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness as owner;
use posse_runtime::ports::{BoxFuture, JournalStore, TaskRow};
use posse_runtime::worker::{self, CancelEnd};
use posse_sandbox::supervisor::sweep;
use posse_store::{SpendingGroup, SqliteStore};

use super::tasks::{changes, find, watch};
use crate::args::{GlobalArgs, TopArgs};
use crate::setup::{self, home, in_project};
use crate::signals::EndSignals;
use crate::terminal;

/// Span of the spending in the title.
const SPENT_SPAN: Duration = Duration::from_secs(86_400);

pub async fn run(global: &GlobalArgs, args: &TopArgs) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let scope = match &args.task {
        Some(wanted) => TopScope::Tree(find(&*store, wanted).await?.id),
        None if args.all => TopScope::Everything,
        None => TopScope::Project,
    };
    if has_screen(global) {
        return open(global, store, scope).await;
    }
    match scope {
        TopScope::Tree(task) => watch::follow_task(global, &store, &task).await,
        TopScope::Everything => watch::follow_running(global, &store, |_| true).await,
        TopScope::Project => {
            let is_here = in_project(&std::env::current_dir().unwrap_or_default());
            watch::follow_running(global, &store, is_here).await
        }
    }
}

/// Tells whether the screen can be shown: a person reads and types, and no program asked for lines.
pub fn has_screen(global: &GlobalArgs) -> bool {
    !global.json && terminal::has_full_screen()
}

/// Shows the screen until the person leaves or a signal ends this process. Tasks go on.
pub async fn open(global: &GlobalArgs, store: Arc<SqliteStore>, scope: TopScope) -> Result<ExitCode> {
    let mut signals = EndSignals::listen()?;
    let options = options(scope);
    let host = host(store.clone(), setup::state_dir(global)?);
    let shown = tokio::select! {
        shown = top::open(store, host, options) => shown,
        // Dropping the screen has restored the terminal.
        signal = signals.recv() => return Ok(ExitCode::from(signal.exit_code())),
    };
    shown.map_err(|e| Error::new(ErrorCode::Io, say!("screen-failed")).caused_by(e))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what the screen asks this program.
pub fn host(store: Arc<SqliteStore>, state: PathBuf) -> Arc<dyn TopHost> {
    let here = std::env::current_dir().unwrap_or_default();
    Arc::new(StoreHost { store, state, is_here: Box::new(in_project(&here)), here, known: Mutex::default() })
}

/// Returns the looks of the screen for this terminal.
pub fn options(scope: TopScope) -> TopOptions {
    let looks = terminal::looks();
    TopOptions {
        scope,
        project: project_name(),
        palette: looks.palette,
        symbols: looks.symbols,
        person: OPERATOR.to_owned(),
        opened: None,
    }
}

/// Returns the way into the screen for another one.
pub fn door(store: Arc<SqliteStore>, state: PathBuf) -> TopDoor {
    TopDoor { host: host(store, state), options: options(TopScope::Project) }
}

fn project_name() -> String {
    let home = home();
    let project = project_of(&std::env::current_dir().unwrap_or_default(), home.as_deref());
    let below = home.and_then(|home| project.strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => project.display().to_string(),
    }
}

struct StoreHost {
    store: Arc<SqliteStore>,
    state: PathBuf,
    here: PathBuf,
    is_here: Box<dyn Fn(&Path) -> bool + Send + Sync>,
    /// Workspaces, and whether they belong to the project: finding that out needs the file system.
    known: Mutex<HashMap<String, bool>>,
}

impl TopHost for StoreHost {
    fn is_here(&self, workspace: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known
            .entry(workspace.to_owned())
            .or_insert_with(|| !workspace.is_empty() && (self.is_here)(Path::new(workspace)))
    }

    fn lives(&self, row: &TaskRow) -> bool {
        owner::lives(row)
    }

    fn patch<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskPatch>> {
        Box::pin(async move {
            let row = self.store.task(task).await?;
            let (text, notes) = changes::patch(&self.store, &self.state, &self.here, &row).await?;
            Ok(TaskPatch { text, notes })
        })
    }

    fn spent(&self, scope: TopScope) -> BoxFuture<'_, Result<SpendingTotal>> {
        Box::pin(async move {
            let since_ms = now_ms().saturating_sub(SPENT_SPAN.as_millis() as u64);
            let mut total = SpendingTotal::default();
            for line in self.store.spending(SpendingGroup::Workspace, since_ms).await? {
                if scope == TopScope::Everything || self.is_here(&line.name) {
                    total.add(&line.total);
                }
            }
            Ok(total)
        })
    }

    fn cancel(&self, row: TaskRow) -> BoxFuture<'_, Result<(TaskRow, CancelEnd)>> {
        Box::pin(worker::cancel(&*self.store, row, sweep))
    }
}
