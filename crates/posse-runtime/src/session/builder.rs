//! Composition of a session: its sources, policy, workspace and watchers.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use posse_core::Result;
use posse_core::board::BoardLimits;
use posse_core::budget::BudgetCaps;
use posse_core::grant::Grant;
use posse_core::lease::SILENCE_MS_MAX;

use super::facades::{self, SessionFacades};
use super::{DEFAULT_LIMITS, Session, questions};
use crate::budget::TaskAccount;
use crate::driver::StopTokens;
use crate::leases::HolderLiveness;
use crate::observe::Observers;
use crate::ports::{AgentLookup, ModelResolver, Store, TaskRow, Verifier, WorktreeSource};
use crate::toolbox::Toolbox;

/// The parts of a session, in four groups.
pub struct SessionBuilder {
    pub id: String,
    pub sources: SessionSources,
    pub policy: SessionPolicy,
    pub place: SessionPlace,
    pub watchers: SessionWatchers,
}

/// Sources of a session: its store, its models and its agents, and the owner name under which it drives tasks.
pub struct SessionSources {
    /// Owner name of this process in the store, by which others check whether it is alive.
    pub owner: String,
    /// Tells whether the process that drives a running task is alive.
    pub lives: fn(&TaskRow) -> bool,
    pub store: Arc<dyn Store>,
    pub models: Arc<dyn ModelResolver>,
    pub agents: Arc<dyn AgentLookup>,
}

/// Rights and limits of a session.
pub struct SessionPolicy {
    /// The operator's grant to this session.
    pub grant: Grant,
    pub caps: BudgetCaps,
    /// Limits on the tasks of each parent.
    pub rules: BoardLimits,
    /// Tools with which its tasks delegate.
    pub facades: SessionFacades,
    /// A holder of write leases without a heartbeat for longer than this may lose them.
    pub lease_ms: u64,
}

impl SessionPolicy {
    /// Creates a policy with this grant, without a budget and with the default limits.
    pub fn new(grant: Grant) -> Self {
        let (caps, facades) = (BudgetCaps::default(), SessionFacades::default());
        Self { grant, caps, rules: DEFAULT_LIMITS, facades, lease_ms: SILENCE_MS_MAX }
    }
}

/// Workspace of a session, and the tools that work in it.
pub struct SessionPlace {
    pub workspace: String,
    pub tools: Toolbox,
    /// Runs the commands that verify results. Without one, a task that has to be verified fails.
    pub verifier: Option<Arc<dyn Verifier>>,
    /// Gives tasks a worktree of their own. Without one, no task is isolated.
    pub worktrees: Option<Arc<dyn WorktreeSource>>,
    /// Origin of the workspace, if that is the worktree of the session's own task.
    pub apart_from: Option<String>,
}

impl SessionPlace {
    /// Creates a place that neither verifies results nor isolates tasks.
    pub fn new(workspace: impl Into<String>, tools: Toolbox) -> Self {
        Self { workspace: workspace.into(), tools, verifier: None, worktrees: None, apart_from: None }
    }
}

/// Observers of a session, and the tokens that stop it.
#[derive(Default)]
pub struct SessionWatchers {
    pub observers: Observers,
    pub stop: StopTokens,
}

impl SessionBuilder {
    /// Creates the session; fails if two of its tools share a name.
    pub fn build(self) -> Result<Arc<Session>> {
        let SessionBuilder { id, sources, policy, mut place, watchers } = self;
        let mut failure = None;
        let session = Arc::new_cyclic(|this: &Weak<Session>| {
            let own = facades::tools(&policy.facades, this, &*sources.agents);
            let mut made = |tools: Result<Toolbox>| {
                tools.unwrap_or_else(|e| {
                    failure = Some(e);
                    Toolbox::default()
                })
            };
            place.tools = made(place.tools.with(own));
            let children_tools = made(place.tools.with(questions::tools(this)));
            Session {
                this: this.clone(),
                id,
                holders: HolderLiveness { lives: sources.lives, silence_ms_max: policy.lease_ms },
                budget: Arc::new(TaskAccount::root(policy.caps)),
                sources,
                policy,
                place,
                watchers,
                children_tools,
                investigations: Default::default(),
                defined: Default::default(),
                numbers: Default::default(),
                leaving: AtomicBool::new(false),
                parents: Default::default(),
            }
        });
        failure.map_or(Ok(session), Err)
    }
}
