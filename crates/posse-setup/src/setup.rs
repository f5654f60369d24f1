//! Composition: from flags, files and environment to a session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::agent::{Agent, ModelSettings};
use posse_core::approval::{ApprovalHandling, ApprovalPolicy};
use posse_core::board::BoardLimits;
use posse_core::budget::BudgetCaps;
use posse_core::confinement::NetworkReach;
use posse_core::grant::{Grant, GrantRule, Rights, RootGrant, RuleVerdict, SandboxTier};
use posse_core::id::AgentName;
use posse_core::lease;
use posse_core::limits::Limits;
use posse_core::mode::WorkMode;
use posse_core::redact::SecretRedactor;
use posse_core::text::visible;
use posse_core::tool::{SESSION_TOOLS, ToolEffect, ToolSpec};
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::lazy::AgentFiles;
use posse_definitions::places::AgentPlaces;
use posse_definitions::registry::{AgentRegistry, RegistrySnapshot};
use posse_definitions::trust::{TrustPolicy, TrustStore};
use posse_mcp::registry::{
    PinFiles, ProgramSearch, RegistrySources, ServerFilter, ServerRegistry, is_about_servers,
};
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::limits_of;
use posse_models::providers::{KNOWN, ModelSource, RecordingMode, anchored};
use posse_models::record::RecordingFile;
use posse_net::{PinnedClient, SystemResolver};
use posse_runtime::ports::{AgentLookup, Verifier};
use posse_runtime::session::facades::{Facade, SessionFacades};
use posse_runtime::session::{DEFAULT_LIMITS, SessionPolicy};
use posse_sandbox::Sandbox;
use posse_sandbox::config::{SandboxConfig, SandboxOverrides, SandboxPlaces};
use posse_sandbox::launch::{self, CommandEnvironment, ProcessLauncher};
use posse_sandbox::supervisor::{Supervisor, WorkDirectory};
use posse_sandbox::workspace::Workspace;
use posse_store::SqliteStore;
use posse_telemetry::wiring::Telemetry;
use posse_tools::bash::BashTool;
use posse_tools::fetch::FetchTool;
use posse_tools::skill::SkillCatalog;
use posse_tools::verify::CommandVerifier;

use crate::config::{self, ApprovalMode, Config, ConfigSources};
use crate::models;
use crate::options::RunOptions;
use crate::process::ProcessContext;
use crate::tools::ToolInventory;

/// Built-in tools that need `--allow`: a fetched URL leaves the machine, and a command that nothing confines can do
/// anything its user can.
const ASKED_FOR: &[&str] = &["bash", "fetch"];

/// Default depth of delegation (requirement R122).
pub(crate) const DEPTH_MAX: u32 = 1;

/// File of the store in the state directory.
pub const STORE: &str = "posse.db";

/// System prompt of the orchestrator; the session adds how to delegate.
pub const ORCHESTRATOR: &str = include_str!("../prompts/orchestrator.md");

/// Opens the record of allowed project tools, by content.
fn allowed_tools(state: &Path) -> TrustStore {
    TrustStore::at(state.join("allowed-tools.json"))
}

/// Opens the record of trusted agent files.
pub fn trust_store(state: &Path) -> TrustStore {
    TrustStore::at(state.join("trust.json"))
}

/// Flags and process that a setup is loaded for.
pub trait SetupSource {
    /// Returns the process.
    fn process(&self) -> ProcessContext;

    /// Returns the one configuration file to read, if the user named one.
    fn config_file(&self) -> Option<&Path>;

    /// Returns the directory of the store.
    fn state_dir(&self) -> Result<PathBuf>;

    /// Resolves logs and traces.
    fn telemetry(&self, config: &Config) -> Telemetry;

    /// Tells whether a person can read and answer.
    fn is_attended(&self) -> bool;
}

/// Configuration of a directory, and everything that is composed from it.
pub struct Setup {
    /// Environment and user.
    pub process: ProcessContext,
    pub config: Config,
    /// Directory in which tools work.
    pub workspace: PathBuf,
    /// Directory for configuration, agents and project tools: the workspace, or the origin of a worktree.
    pub project: PathBuf,
    pub state: PathBuf,
    pub telemetry: Telemetry,
    /// Sandbox of processes that tools start.
    pub sandbox: Arc<Sandbox>,
    /// MCP servers of this session, loaded on first use.
    pub servers: OnceLock<Arc<ServerRegistry>>,
    /// Agents and models, once something asked for them.
    pub agents: OnceLock<Arc<AgentFiles>>,
    pub models: OnceLock<Arc<ModelSource>>,
    /// Hosts that delegate to this process; only in `posse mcp`.
    pub hosts: Arc<ConnectedHosts>,
    /// A person can read and answer here.
    pub is_attended: bool,
}

impl Setup {
    /// Loads the setup of the current directory.
    pub fn load(source: &impl SetupSource) -> Result<Self> {
        Self::load_in(source, (source.process().directory)()?)
    }

    /// Loads the setup as if started in `workspace`.
    pub fn load_in(source: &impl SetupSource, workspace: PathBuf) -> Result<Self> {
        let process = source.process();
        let config = config::load(ConfigSources {
            explicit: source.config_file(),
            user_dir: process.config_dir().as_deref(),
            here: &workspace,
            home: process.home().as_deref(),
            user: (process.user)(),
        })?;
        for warning in &config.origin.warnings {
            (process.note)(&say!("warning", text = visible(warning)));
        }
        let telemetry = source.telemetry(&config);
        let project = workspace.clone();
        let state = source.state_dir()?;
        let toolchains =
            CommandEnvironment::new((process.variables)(), config.bash.env.clone(), vec![]).toolchains();
        let sandbox = sandbox(&process, &config.sandbox, &workspace, &state, toolchains)?;
        let (servers, agents, models) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (hosts, is_attended) = (ConnectedHosts::none(), source.is_attended());
        Ok(Self {
            process,
            config,
            workspace,
            project,
            state,
            telemetry,
            sandbox,
            servers,
            agents,
            models,
            hosts,
            is_attended,
        })
    }

    /// Opens the store.
    pub fn store(&self) -> Result<Arc<SqliteStore>> {
        Ok(Arc::new(SqliteStore::open(self.state.join(STORE))?))
    }

    /// Returns the source of models, which is created once. `how` names the recording.
    pub fn models(&self, how: &RunOptions) -> Result<Arc<ModelSource>> {
        if let Some(source) = self.models.get() {
            return Ok(source.clone());
        }
        let tape = match (&how.record, &how.replay) {
            (Some(path), _) => RecordingMode::Record(RecordingFile::open(path)?),
            (None, Some(path)) => RecordingMode::Replay(path.clone()),
            (None, None) => RecordingMode::None,
        };
        let source = models::source(
            self.config.models.clone(),
            &self.process,
            self.process.reader(),
            tape,
            self.hosts.clone(),
        )?;
        Ok(self.models.get_or_init(|| Arc::new(source.sharing(&self.state))).clone())
    }

    /// Builds the orchestrator, which `run` and `chat` talk to.
    pub fn orchestrator(&self, how: &RunOptions) -> Result<Agent> {
        let model = self.config.models.default_model(how.common.model.as_deref(), &self.process.reader())?;
        Ok(self.orchestrator_with(how, model))
    }

    /// Returns the default model, if one is configured.
    pub fn configured_model(&self, how: &RunOptions) -> Result<Option<String>> {
        self.config.models.configured_model(how.common.model.as_deref(), &self.process.reader())
    }

    /// Builds the orchestrator with this model.
    pub fn orchestrator_with(&self, how: &RunOptions, model: String) -> Agent {
        let model = anchored(model, &self.workspace);
        let prompt = format!("{}\n\nWorkspace: {}", ORCHESTRATOR.trim_end(), self.workspace.display());
        Agent {
            description: "Works on the task and delegates".to_owned(),
            fallback_models: self.config.models.fallback_models.clone(),
            settings: self.settings(how),
            limits: self.limits(how, &model),
            ..Agent::new(name("orchestrator"), model, prompt)
        }
    }

    fn settings(&self, how: &RunOptions) -> ModelSettings {
        let configured = &self.config.model_settings;
        ModelSettings {
            temperature: configured.temperature,
            effort: how.effort.or(configured.effort),
            thinking_tokens: configured
                .thinking_tokens
                .map(|tokens| u32::try_from(tokens.0).unwrap_or(u32::MAX)),
            output_schema: None,
            buffered: how.no_stream,
        }
    }

    /// Returns the delegation tools offered to models.
    pub fn facades(&self) -> Result<SessionFacades> {
        let Some(names) = &self.config.session.tools else { return Ok(SessionFacades::default()) };
        names.iter().map(|name| Facade::parse(name)).collect::<Result<SessionFacades>>().map_err(|e| {
            let text = say!("session-tools-invalid", why = e.message());
            Error::new(ErrorCode::ConfigInvalid, text).hint(e.advice().unwrap_or_default())
        })
    }

    /// Returns the levels of delegation below a run.
    pub fn max_depth(&self) -> u32 {
        self.config.session.max_depth.map_or(DEPTH_MAX, |depth| depth.0 as u32)
    }

    /// Returns the limits on the tasks of one parent.
    pub fn rules(&self) -> BoardLimits {
        let configured = &self.config.session;
        BoardLimits {
            running_max: configured.max_running.map_or(DEFAULT_LIMITS.running_max, |most| most.0 as usize),
            open_max: configured.max_open_tasks.map_or(DEFAULT_LIMITS.open_max, |most| most.0 as usize),
            on_limit: configured.on_limit.unwrap_or(DEFAULT_LIMITS.on_limit),
        }
    }

    /// Returns how long a lease holder may go without a heartbeat.
    pub fn lease_ms(&self) -> u64 {
        self.config.session.lease_s.map_or(lease::SILENCE_MS_MAX, |seconds| seconds.0 * 1000)
    }

    /// Returns the registry of agents to delegate to, which is opened once. `how` says if all of them are trusted.
    pub fn agents(&self, how: &RunOptions) -> Arc<AgentFiles> {
        let open = || Arc::new(AgentFiles::new(self.places(), self.trust(how.common.trust)));
        self.agents.get_or_init(open).clone()
    }

    /// Reads all agent files, trusted or not.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        AgentRegistry::load(self.places(), posse_definitions::read, self.trust(false)).snapshot()
    }

    /// Returns the policy of a session with this grant and these caps.
    pub fn policy(&self, grant: Grant, caps: BudgetCaps) -> Result<SessionPolicy> {
        let (rules, facades, lease_ms) = (self.rules(), self.facades()?, self.lease_ms());
        Ok(SessionPolicy { grant, caps, rules, facades, lease_ms })
    }

    /// Finds the directories of agent files.
    pub fn places(&self) -> AgentPlaces {
        let home = self.process.home();
        AgentPlaces::find(
            &self.project,
            home.as_deref(),
            self.process.xdg("XDG_CONFIG_HOME", ".config").as_deref(),
            (self.process.user)(),
        )
    }

    /// Returns the trust policy: trusted definitions only, or all.
    pub fn trust(&self, all: bool) -> TrustPolicy {
        if all { TrustPolicy::All } else { TrustPolicy::Store(trust_store(&self.state)) }
    }

    pub fn caps(&self, how: &RunOptions) -> BudgetCaps {
        let limits = &self.config.limits;
        let usd = match (how.common.max_cost, limits.max_cost_usd) {
            (Some(asked), Some(configured)) => Some(asked.min(configured)),
            (asked, configured) => asked.or(configured),
        };
        BudgetCaps {
            input_tokens: limits.max_input_tokens.map(|n| n.0),
            output_tokens: None,
            cost_micros: usd.map(|usd| if usd.is_finite() && usd > 0.0 { (usd * 1e6) as u64 } else { 0 }),
        }
        .least(&BudgetCaps { cost_micros: self.process.number(launch::COST_LEFT), ..BudgetCaps::default() })
    }

    /// Computes the caps of a resumed task: those it had, unless new ones are given. The configuration can lower the
    /// cost and sets token limits anew.
    pub fn caps_again(&self, how: &RunOptions, before: &BudgetCaps) -> BudgetCaps {
        before.renewed(&self.caps(how), how.common.max_cost.is_some())
    }

    pub fn tools(&self) -> Result<ToolInventory> {
        let (closed, protection) = (self.sandbox.closed(), self.sandbox.protection());
        let workspace = Workspace::open_with(&self.workspace, closed, protection)?;
        let (skills, warnings) =
            SkillCatalog::load(&workspace, &self.process.user_dirs("skills"), posse_definitions::matter);
        let mut problems: Vec<Error> =
            warnings.into_iter().map(|text| Error::new(ErrorCode::ToolInvalid, text)).collect();
        let launch = self.launch();
        let mut tools = posse_tools::files::toolset(workspace, skills);
        tools.push(Arc::new(BashTool::new(launch.clone())));
        tools.push(Arc::new(FetchTool::new(self.pinned())));
        // The user's tools come first: a project's tool must not replace one of the same name.
        let project = self.project.join(".posse/tools");
        let mut dirs = self.process.user_dirs("tools");
        dirs.push(project.clone());
        let own = posse_tools::own::bind_all(&dirs, (&project, &self.project), &launch);
        tools.extend(own.tools);
        problems.extend(own.problems);
        let mut foreign = own.foreign;
        let servers = self.servers(ServerFilter::These(&[]));
        servers.add_tools(&mut tools, &mut foreign, &mut problems);
        Ok(ToolInventory { tools, foreign, problems, servers })
    }

    /// Returns the MCP servers; `wanted` are tool list entries, for which agent files may be read.
    pub fn servers(&self, wanted: ServerFilter<'_>) -> Arc<ServerRegistry> {
        self.servers.get_or_init(|| Arc::new(self.load_servers(wanted))).clone()
    }

    /// Reads the MCP servers that are named here, without starting any.
    pub fn load_servers(&self, wanted: ServerFilter<'_>) -> ServerRegistry {
        let home = self.process.home();
        let search = self.process.search(&[&self.workspace, &self.state]);
        let sources = RegistrySources {
            operator: &self.config.mcp.servers,
            root: &self.root(),
            is_trusted: &|root, hash| self.trust(false).load().trusts(root, hash),
            agents: &|| AgentFiles::new(self.places(), self.trust(false)).list(),
            variable: &self.process.reader(),
            withheld: &self.key_variables(),
            search: ProgramSearch::new(search, home.as_deref(), &self.workspace),
            launcher: &|own, packages| self.launch_for(own, packages),
            grant: self.server_grant(),
            state: self.state.join("mcp"),
            exceptions: self.config.network.allow_private.iter().map(|private| private.0).collect(),
        };
        ServerRegistry::load(&sources, wanted)
    }

    /// Returns the directory of the project, which trust in its files is bound to.
    pub fn root(&self) -> PathBuf {
        self.places().root().map_or_else(|| self.project.clone(), Path::to_owned)
    }

    /// Returns the MCP servers that this run may use and the tool list entries that select them; `None` if it may use
    /// none.
    pub fn servers_of(&self, how: &RunOptions) -> Option<(Arc<ServerRegistry>, Vec<String>)> {
        let all = how.common.allow.iter().chain(&self.config.grant.allow);
        let wanted: Vec<String> = all.filter(|entry| is_about_servers(entry)).cloned().collect();
        (!wanted.is_empty()).then(|| (self.servers(ServerFilter::These(&wanted)), wanted))
    }

    /// Lists the tools of servers that were never asked. Warns about a server that cannot be reached and leaves it
    /// out.
    pub async fn meet_servers(&self, how: &RunOptions) {
        let Some((servers, wanted)) = self.servers_of(how) else { return };
        let problems = servers.meet(&wanted).await;
        servers.problems().iter().chain(&problems).for_each(self.process.warn);
    }

    /// Closes the servers of this session.
    pub async fn close_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.close().await;
        }
    }

    /// Returns the grant of a server's process: the operator's rights, inside the sandbox.
    fn server_grant(&self) -> Grant {
        let sandbox = self.sandbox.tier().unwrap_or(SandboxTier::Kernel);
        Grant::of_root(RootGrant { sandbox, depth: 1, ..RootGrant::default() })
    }

    /// Builds the launcher of a server, with its own sandbox settings and read access to its packages.
    fn launch_for(&self, own: Option<&SandboxOverrides>, packages: Vec<PathBuf>) -> Result<ProcessLauncher> {
        let usual = self.launch();
        if own.is_none() && packages.is_empty() {
            return Ok(usual);
        }
        let mut own = own.cloned().unwrap_or_default();
        own.read.extend(packages);
        let toolchains = usual.environment.toolchains();
        let config = self.config.sandbox.overridden_by(&own);
        let sandbox = sandbox(&self.process, &config, &self.workspace, &self.state, toolchains)?;
        Ok(ProcessLauncher { sandbox, ..usual })
    }

    pub fn environment(&self) -> CommandEnvironment {
        CommandEnvironment::new(
            (self.process.variables)(),
            self.config.bash.env.clone(),
            self.key_variables(),
        )
    }

    /// Builds the operator's grant in a mode: built-in tools that read or that write in the workspace; commands where
    /// the kernel confines them; the user's own tools if they are allowed; a project's tools only if allowed for this
    /// run, because the user's configuration cannot know what a project means by a name.
    pub fn grant(&self, how: &RunOptions, mode: WorkMode, found: &ToolInventory) -> Result<Grant> {
        self.grant_with(&found.named(&how.common.allow)?, mode, found)
    }

    /// Builds the grant of a task whose mode the operator changed: that of a new task, and the tools that it had been
    /// allowed beyond the usual ones.
    pub fn grant_in_mode(&self, before: &Grant, mode: WorkMode, found: &ToolInventory) -> Result<Grant> {
        let strange = self.strange(found);
        let had = before.tools().filter(|name| !strange.iter().any(|strange| strange == name));
        self.grant_with(&had.map(str::to_owned).collect::<Vec<_>>(), mode, found)
    }

    fn grant_with(&self, asked: &[String], mode: WorkMode, found: &ToolInventory) -> Result<Grant> {
        let configured = found.named(&self.config.grant.allow)?;
        let (denied, confines) = (self.denied(found)?, self.confines());
        let is_given = |ToolSpec { name, effect, .. }: &ToolSpec| {
            let is_held = !ASKED_FOR.contains(&name.as_str()) || (name == "bash" && confines);
            let usual = posse_tools::is_built_in(name) && is_held;
            let allowed = configured.contains(name) && !found.foreign.contains_key(name);
            let harmless = *effect == ToolEffect::Pure || mode != WorkMode::Plan;
            harmless && (usual || allowed || asked.contains(name))
        };
        let granted = found.tools.iter().map(|tool| tool.spec()).filter(|spec| is_given(spec));
        let mut names: Vec<String> = granted.map(|spec| spec.name.clone()).collect();
        names.extend(SESSION_TOOLS.iter().map(|name| (*name).to_owned()));
        names.retain(|name| !denied.contains(name));
        let network = self.config.network.hosts.clone().unwrap_or_default();
        let sandbox = self.sandbox.tier().unwrap_or(SandboxTier::Kernel);
        let tools = names.into_iter().collect();
        let depth =
            nested_depth(&self.process)?.map_or(self.max_depth(), |depth| depth.min(self.max_depth()));
        let root = RootGrant { tools, depth, network, sandbox, ..RootGrant::default() };
        Ok(Grant::of_root(root).keep(&mode.rights()).keep(&self.asked_about(found)?))
    }

    /// Builds the grant of host tasks: the same, but tools that change files only if named or with a path to write.
    pub fn grant_to_hosts(&self, how: &RunOptions, write: &[String], found: &ToolInventory) -> Result<Grant> {
        let mode = if how.common.read_only { WorkMode::Plan } else { WorkMode::Auto };
        let mut grant = self.grant(how, mode, found)?;
        let named = [found.named(&how.common.allow)?, found.named(&self.config.grant.allow)?].concat();
        // A host is a model: it has commands only if a person named them.
        if !named.iter().any(|name| name == "bash") {
            grant = grant.without(&["bash".to_owned()]);
        }
        let paths = if write.is_empty() { &self.config.mcp.write[..] } else { write };
        if paths.is_empty() {
            let specs = found.tools.iter().map(|tool| tool.spec());
            let unasked = specs.filter(|spec| spec.effect != ToolEffect::Pure && !named.contains(&spec.name));
            return Ok(grant.without(&unasked.map(|spec| spec.name.clone()).collect::<Vec<_>>()));
        }
        lease::WritePaths::parse(&self.workspace.display().to_string(), paths)?;
        let everywhere = paths.iter().any(|path| path == "**");
        let write_paths = (!everywhere).then(|| paths.to_vec());
        Ok(grant.keep(&Rights { write_paths, ..Rights::default() }))
    }

    /// Builds the client of `fetch`.
    fn pinned(&self) -> PinnedClient {
        let exceptions = self.config.network.allow_private.iter().map(|private| private.0).collect();
        PinnedClient::new(Arc::new(SystemResolver), exceptions)
    }

    /// Builds the redactor of tool results: keys by shape, and the operator's own keys.
    pub fn redactor(&self) -> SecretRedactor {
        if !self.config.secrets.redact {
            return SecretRedactor::off();
        }
        let providers = || self.config.models.providers.values();
        let headers = providers().flat_map(|provider| provider.headers.values().cloned());
        let files =
            providers().filter_map(|provider| std::fs::read_to_string(provider.api_key_file.as_ref()?).ok());
        let servers = self.config.mcp.servers.values();
        let of_servers = servers.clone().flat_map(|server| server.secrets());
        let tokens = servers.flat_map(|server| server.secret_variables());
        let variables =
            self.key_variables().into_iter().chain(tokens).filter_map(|name| self.process.text(&name));
        let granted = PinFiles::at(self.state.join("mcp")).secrets();
        SecretRedactor::default()
            .knowing(headers.chain(files).chain(variables).chain(of_servers).chain(granted))
    }

    /// Lists the variables that hold keys of providers.
    pub fn key_variables(&self) -> Vec<String> {
        let known = KNOWN.iter().flat_map(|known| known.key_envs).map(|key| (*key).to_owned());
        known
            .chain(self.config.models.providers.values().filter_map(|provider| provider.key_variable()))
            .collect()
    }

    /// Returns the operator's ask rules, which apply at every depth.
    fn asked_about(&self, found: &ToolInventory) -> Result<Rights> {
        let patterns = found.patterns("approvals.ask", &self.config.approvals.ask)?;
        let rules = patterns.into_iter().map(|pattern| GrantRule { pattern, verdict: RuleVerdict::Ask });
        Ok(Rights { rules: rules.collect(), ..Rights::default() })
    }

    /// Builds the approval policy. `attended` means that a person sits here.
    pub fn approvals(
        &self,
        how: &RunOptions,
        attended: bool,
        found: &ToolInventory,
    ) -> Result<ApprovalPolicy> {
        let configured = &self.config.approvals;
        let mode = match how.common.approvals.or(configured.mode) {
            Some(ApprovalMode::Ask) => ApprovalHandling::Ask,
            Some(ApprovalMode::Deny) => ApprovalHandling::Deny,
            Some(ApprovalMode::AllowListed) => ApprovalHandling::AllowListed,
            None if attended => ApprovalHandling::Ask,
            None => ApprovalHandling::Unattended,
        };
        let usual = ApprovalPolicy::new(mode);
        Ok(ApprovalPolicy {
            allow: found.patterns("approvals.allow", &configured.allow)?,
            deadline_ms: configured.deadline_s.map_or(usual.deadline_ms, |seconds| seconds.0 * 1000),
            on_deadline: configured.default.unwrap_or(usual.on_deadline),
            ..usual
        })
    }

    /// Returns the verifier, unless commands are denied here.
    pub fn verifier(&self, found: &ToolInventory) -> Result<Option<Arc<dyn Verifier>>> {
        let denied = self.denied(found)?;
        let verifier = || Arc::new(CommandVerifier::new(self.launch())) as Arc<dyn Verifier>;
        Ok((!denied.iter().any(|name| name == "bash")).then(verifier))
    }

    /// Builds the grant of a resumed task: its old grant, without today's denials and with today's ask rules.
    pub fn grant_again(&self, before: &Grant, found: &ToolInventory) -> Result<Grant> {
        // Network access that was withdrawn since does not come back.
        let sandbox = Some(self.sandbox.tier().unwrap_or(SandboxTier::Kernel));
        let today = Rights { network: self.config.network.hosts.clone(), sandbox, ..Rights::default() };
        // A tool or server that has disappeared does not prevent the resume.
        let gone =
            before.tools().filter(|name| is_about_servers(name) && !found.has(name)).map(str::to_owned);
        let lost = [self.denied(found)?, self.strange(found), gone.collect()].concat();
        let before = before.without(&lost);
        Ok(before.keep(&today).keep(&self.asked_about(found)?))
    }

    /// Lists project tools whose current content was never allowed: a resumed task knows its tools by name only, and
    /// a name may mean another program now.
    fn strange(&self, found: &ToolInventory) -> Vec<String> {
        if found.foreign.is_empty() {
            return Vec::new();
        }
        let allowed = allowed_tools(&self.state).load();
        let is_strange = |digest: &str| !allowed.trusts(&self.project, digest);
        let strange = found.foreign.iter().filter(|(_, digest)| is_strange(digest));
        strange.map(|(name, _)| name.clone()).collect()
    }

    /// Records the digests of project tools allowed for a run, for its resume.
    pub fn remember_allowed(&self, found: &ToolInventory, grant: &Grant) -> Result<()> {
        let store = allowed_tools(&self.state);
        let given = found.foreign.iter().filter(|(name, _)| grant.tools().any(|tool| tool == *name));
        let new: Vec<&str> = given
            .map(|(_, digest)| digest.as_str())
            .filter(|digest| !store.trusted(&self.project, digest))
            .collect();
        if new.is_empty() { Ok(()) } else { store.trust(&self.project, new) }
    }

    /// Returns the widest network access of processes.
    pub fn network(&self) -> NetworkReach {
        NetworkReach::from(&self.config.sandbox.network)
    }

    /// Lists the tools that the configuration denies, whatever flags say.
    pub fn denied(&self, found: &ToolInventory) -> Result<Vec<String>> {
        // A missing server has nothing to deny.
        let there = |entry: &&String| !is_about_servers(entry) || found.servers.covers(entry);
        found.named(&self.config.grant.deny.iter().filter(there).cloned().collect::<Vec<_>>())
    }

    fn limits(&self, how: &RunOptions, model: &str) -> Limits {
        let configured = &self.config.limits;
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let (window, output) = (configured.context_window, configured.max_output_tokens);
        let usual = limits_of(model, window.map(|n| n.0), output.map(|n| narrow(n.0)));
        let timeout_s = how.timeout.or(configured.timeout_s.map(|n| n.0));
        Limits {
            turns_max: how.max_turns.or(configured.max_turns.map(|n| narrow(n.0))).unwrap_or(usual.turns_max),
            tool_calls_max: configured.max_tool_calls.map_or(usual.tool_calls_max, |n| narrow(n.0)),
            wall_ms_max: timeout_s.map_or(usual.wall_ms_max, |seconds| seconds * 1000),
            ..usual
        }
    }

    fn launch(&self) -> ProcessLauncher {
        ProcessLauncher {
            supervisor: Supervisor::same_program(),
            directory: WorkDirectory::Path(self.workspace.clone()),
            environment: self.environment(),
            sandbox: self.sandbox.clone(),
            is_told: Arc::default(),
        }
    }
}

/// Builds the sandbox that a configuration asks for.
fn sandbox(
    process: &ProcessContext,
    config: &SandboxConfig,
    workspace: &Path,
    state: &Path,
    toolchains: Vec<PathBuf>,
) -> Result<Arc<Sandbox>> {
    let home = process.home();
    let temporary = process.text("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
    let (own, path) = (process.config_dir(), (process.variable)("PATH").unwrap_or_default());
    let caches = process.xdg("XDG_CACHE_HOME", ".cache");
    let places = SandboxPlaces {
        workspace,
        state,
        config: own.as_deref(),
        home: home.as_deref(),
        path: &path,
        temporary: &temporary,
        caches: caches.as_deref(),
    };
    config.build(places, toolchains)
}

/// Returns the depth left if a task of another Posse started this process. With none left, it refuses to start.
fn nested_depth(process: &ProcessContext) -> Result<Option<u32>> {
    match process.number(launch::DEPTH) {
        None => Ok(None),
        Some(0) => Err(Error::new(ErrorCode::InvalidRequest, say!("posse-inside-posse"))
            .hint(say!("posse-inside-posse-hint"))),
        Some(depth) => Ok(Some(u32::try_from(depth - 1).unwrap_or(u32::MAX))),
    }
}

/// Parses a name that the program spells itself.
pub fn name(raw: &str) -> AgentName {
    AgentName::parse(raw).expect("names in this file are spelled right")
}
