//! From an [`Agent`] to a session of the runtime: the composition root of a program.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::board::{BoardLimits, OnLimit};
use posse_core::definition::Definition;
use posse_core::grant::Grant;
use posse_core::id::AgentName;
use posse_core::text::nearest;
use posse_core::tool::canonical;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::driver::StopTokens;
use posse_runtime::liveness;
use posse_runtime::memory::MemoryStore;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{AgentEquipment, AgentLookup, Store, Tool};
use posse_runtime::session::facades::{Facade, SessionFacades};
use posse_runtime::session::{
    DEFAULT_LIMITS, Session as SessionCore, SessionBuilder as CoreBuilder, SessionPlace, SessionPolicy,
    SessionSources, SessionWatchers, fresh_id,
};
use posse_runtime::toolbox::Toolbox;
use posse_store::SqliteStore;
use serde_json::Value;

use crate::agent::Agent;
use crate::models::ProgramModels;
use crate::subagent::SessionCell;

/// Uses of a session.
pub(crate) enum SessionKind {
    /// One run of an agent.
    Run,
    /// A run that another process began, by its session.
    Resumed(String),
    /// Tasks that the program spawns; with a name, also those of earlier processes.
    Hosted(Option<String>),
}

/// The store of an agent, opened on first use and shared by its clones.
#[derive(Clone)]
pub(crate) struct StoreChoice {
    directory: Option<PathBuf>,
    is_durable: bool,
    opened: Arc<OnceLock<Arc<dyn Store>>>,
}

impl StoreChoice {
    pub fn memory() -> Self {
        Self { directory: None, is_durable: false, opened: Arc::default() }
    }

    pub fn sqlite(directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), is_durable: true, opened: Arc::default() }
    }

    pub fn opened(store: Arc<dyn Store>) -> Self {
        Self { directory: None, is_durable: true, opened: Arc::new(OnceLock::from(store)) }
    }

    /// Tells whether tasks survive the process.
    pub fn is_durable(&self) -> bool {
        self.is_durable
    }

    pub fn open(&self) -> Result<Arc<dyn Store>> {
        if let Some(store) = self.opened.get() {
            return Ok(store.clone());
        }
        let store: Arc<dyn Store> = match &self.directory {
            Some(directory) => Arc::new(SqliteStore::open(directory.join("posse.db"))?),
            None => Arc::new(MemoryStore::default()),
        };
        Ok(self.opened.get_or_init(|| store).clone())
    }
}

/// A session of the runtime with the tokens that stop it.
pub(crate) struct ComposedSession {
    pub core: Arc<SessionCore>,
    pub stop: StopTokens,
}

impl ComposedSession {
    /// Builds a session with the tools, models and agents of a program. `agents` are those that tasks are spawned for.
    pub fn new(agent: &Agent, kind: SessionKind, agents: &[Definition]) -> Result<Self> {
        let (cell, stop) = (Arc::new(SessionCell::new()), StopTokens::default());
        let hosted = matches!(kind, SessionKind::Hosted(_));
        let tools = toolbox(agent, &cell)?;
        let grant = grant(agent, &tools, hosted);
        let facades = facades(agent, hosted);
        let rules =
            BoardLimits { running_max: agent.run.max_concurrent, on_limit: OnLimit::Queue, ..DEFAULT_LIMITS };
        let policy = SessionPolicy { caps: agent.run.caps, rules, facades, ..SessionPolicy::new(grant) };
        let mut models = ProgramModels::new(agent.source.clone());
        models.add(&agent.name, &agent.model);
        agent.subagents.iter().for_each(|subagent| models.add(&subagent.name, &subagent.model));
        let sources = SessionSources {
            owner: liveness::owner(),
            lives: liveness::lives,
            store: agent.run.store.open()?,
            models: Arc::new(models),
            agents: Arc::new(ProgramAgents::new(agent, agents)?),
        };
        let workspace = agent.run.workspace.canonicalize().unwrap_or(agent.run.workspace.clone());
        let place = SessionPlace::new(workspace.display().to_string(), tools);
        let observers = Observers::new(agent.run.observers.clone());
        let watchers = SessionWatchers { observers, stop: stop.clone() };
        let id = match kind {
            SessionKind::Run | SessionKind::Hosted(None) => fresh_id(),
            SessionKind::Resumed(id) | SessionKind::Hosted(Some(id)) => id,
        };
        let core = CoreBuilder { id, sources, policy, place, watchers }.build()?;
        let _ = cell.set(Arc::downgrade(&core));
        Ok(Self { core, stop })
    }

    /// Drives the work on a task of its own, so that it ends properly when the caller is dropped.
    pub async fn finish<T: Send + 'static>(
        self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let running = tokio::spawn(work);
        let _cancel = CancelOnDrop(self.stop);
        running.await.unwrap_or_else(|e| Err(Error::new(ErrorCode::Internal, e.to_string())))
    }
}

/// Stops a session when its caller is gone.
pub(crate) struct CancelOnDrop(pub StopTokens);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.now.cancel();
    }
}

fn toolbox(agent: &Agent, cell: &Arc<SessionCell>) -> Result<Toolbox> {
    let subagents = agent.subagents.iter().map(|subagent| subagent.tool(cell.clone()));
    let tools: Vec<Arc<dyn Tool>> = agent.tools.iter().cloned().chain(subagents).collect();
    for tool in &tools {
        let schema: Value = serde_json::from_str(&tool.spec().input_schema).unwrap_or_default();
        if schema["type"] != "object" {
            let text = localized!("tool-arguments-no-object", tool = tool.spec().name);
            return Err(Error::new(ErrorCode::ToolInvalid, text));
        }
    }
    let tools = Toolbox::new(tools)?;
    for subagent in &agent.subagents {
        let unknown = subagent.allowed().into_iter().flatten().find(|name| !tools.names().any(|n| n == name));
        if let Some(unknown) = unknown {
            let there_are = localized!("there-are", names = tools.names().collect::<Vec<_>>().join(", "));
            let near = nearest(&unknown, tools.names()).map(|name| localized!("did-you-mean", name));
            return Err(Error::new(ErrorCode::InvalidTool, localized!("tool-not-there", unknown))
                .hint(LocalizedText::join(near.iter().chain([&there_are]), " ")));
        }
    }
    Ok(match &agent.run.approver {
        Some(approver) => tools.approved_by(approver.clone()),
        None => tools,
    })
}

/// Grants every tool of the agent, and what tasks need to talk to each other.
fn grant(agent: &Agent, tools: &Toolbox, hosted: bool) -> Grant {
    let mut names: Vec<String> = tools.names().map(str::to_owned).collect();
    if hosted || agent.subagents.iter().any(|subagent| subagent.asks()) {
        names.push("ask_parent".to_owned());
    }
    if hosted {
        names.extend(["shared_context", "report_progress"].map(str::to_owned));
        names.extend((agent.run.max_depth > 1).then(|| canonical("subagent").into_owned()));
    }
    let delegates = hosted || !agent.subagents.is_empty();
    Grant::root(names, if delegates { agent.run.max_depth } else { 0 })
}

fn facades(agent: &Agent, hosted: bool) -> SessionFacades {
    let subagent = (hosted && agent.run.max_depth > 1).then_some(Facade::Subagent);
    hosted.then_some(Facade::SharedContext).into_iter().chain(subagent).collect()
}

/// The agents of a program: those it spawns tasks for, and its subagents.
struct ProgramAgents {
    agents: Vec<Arc<Definition>>,
    equipment: BTreeMap<AgentName, Arc<AgentEquipment>>,
}

impl ProgramAgents {
    fn new(agent: &Agent, agents: &[Definition]) -> Result<Self> {
        let mut all: Vec<Arc<Definition>> = agents.iter().cloned().map(Arc::new).collect();
        let mut equipment = BTreeMap::new();
        for subagent in &agent.subagents {
            let definition = subagent.definition()?;
            equipment.insert(definition.name.clone(), Arc::new(subagent.equipment(agent.is_watched())));
            all.push(Arc::new(definition));
        }
        Ok(Self { agents: all, equipment })
    }
}

impl AgentLookup for ProgramAgents {
    fn list(&self) -> Vec<Arc<Definition>> {
        self.agents.clone()
    }

    fn find(&self, name: &str) -> Result<Arc<Definition>> {
        self.agents.find(name)
    }

    fn equipment(&self, agent: &AgentName) -> Option<Arc<AgentEquipment>> {
        self.equipment.get(agent).cloned()
    }
}
