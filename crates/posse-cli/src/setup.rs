//! Composition: from flags, files and environment to a session that can run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::agent::{Agent, ModelSettings};
use posse_core::approval::{self, ApprovalHandling, ApprovalPolicy};
use posse_core::board::{BoardLimits, OnLimit};
use posse_core::budget::BudgetCaps;
use posse_core::confinement::NetworkReach;
use posse_core::grant::{Grant, GrantRule, Rights, RootGrant, RuleVerdict, SandboxTier};
use posse_core::id::AgentName;
use posse_core::lease;
use posse_core::limits::Limits;
use posse_core::pattern::ToolPattern;
use posse_core::redact::SecretRedactor;
use posse_core::text::{nearest, visible};
use posse_core::tool::{SESSION_TOOLS, ToolEffect, ToolSpec, expand};
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::places::AgentPlaces;
use posse_definitions::trust::{TrustPolicy, TrustStore};
use posse_mcp::server::ConnectedHosts;
use posse_messages::say;
use posse_models::catalogue::{ModelRef, family};
use posse_models::record::RecordingFile;
use posse_net::{PinnedClient, SystemResolver};
use posse_runtime::ports::{Tool, Verifier};
use posse_runtime::session::RULES;
use posse_runtime::session::facades::{Facade, SessionFacades};
use posse_store::SqliteStore;
use posse_tools::bash::BashTool;
use posse_tools::confinement::ProcessLimits;
use posse_tools::fetch::FetchTool;
use posse_tools::launch::{self, CommandEnvironment, ProcessLauncher};
use posse_tools::protected::FileProtection;
use posse_tools::sandbox::{Sandbox, SandboxSettings, closed_at_home};
use posse_tools::skill::SkillCatalog;
use posse_tools::supervisor::{Supervisor, WorkDirectory};
use posse_tools::verify::CommandVerifier;
use posse_tools::workspace::Workspace;

use crate::agents::{AgentFiles, trust_store};
use crate::args::{GlobalArgs, RunOptions};
use crate::config::{self, ApprovalDefault, ApprovalMode, Config, ConfigSources, SandboxConfig};
use crate::models::{self, KNOWN, ModelSource, RecordingMode, process_env};
use crate::servers::{OwnSandbox, ServerFilter, ServerRegistry, is_about_servers};
use crate::telemetry::{Telemetry, wishes};
use crate::terminal;

/// Tools that are not given unless someone says so: a command can do anything its user can, and what a page is asked for
/// leaves the machine.
const ASKED_FOR: &[&str] = &["bash", "fetch"];

/// Levels of delegation unless the configuration says otherwise (seed specification §4.5).
const DEPTH_MAX: u32 = 1;

/// What the agent that `run` and `chat` talk to is told; how to delegate is told by its session.
pub const ORCHESTRATOR: &str = include_str!("../prompts/orchestrator.md");

/// Which contents of a project's tools somebody has allowed.
fn allowed_tools(state: &Path) -> TrustStore {
    TrustStore::at(state.join("allowed-tools.json"))
}

/// Every tool there is here, and what was wrong with those that are not.
pub struct ToolInventory {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Those that the project brings along, with what they are: programs of whoever wrote the project.
    pub foreign: BTreeMap<String, String>,
    pub problems: Vec<Error>,
    /// Where those of MCP servers come from.
    pub servers: Arc<ServerRegistry>,
}

impl ToolInventory {
    /// Tools by the names people use, or all of an MCP server. A name that no tool has is an error: a wrong spelling must not allow
    /// anything. Which tools a server has is known only when it was asked.
    fn named(&self, list: &[String]) -> Result<Vec<String>> {
        let (servers, list): (Vec<&String>, Vec<&String>) =
            list.iter().partition(|name| is_about_servers(name));
        let mut of_servers = Vec::new();
        for entry in servers {
            if !self.servers.covers(entry) {
                return Err(self.servers.unknown(entry));
            }
            let patterns = ToolPattern::parse(entry)?;
            of_servers.extend(
                self.names().filter(|name| patterns.iter().any(|p| p.names(name))).map(str::to_owned),
            );
        }
        let names: Vec<String> = list.into_iter().flat_map(|name| expand(name)).collect();
        if let Some(unknown) = names.iter().find(|name| !self.has(name)) {
            let known: Vec<&str> = self.names().collect();
            let text = say!("tool-to-allow-unknown", unknown);
            return Err(
                Error::new(ErrorCode::InvalidTool, text).hint(say!("there-are", names = known.join(", ")))
            );
        }
        Ok(names.into_iter().chain(of_servers).collect())
    }

    pub fn has(&self, name: &str) -> bool {
        self.names().any(|there| there == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name.as_str()).chain(SESSION_TOOLS.iter().copied())
    }

    /// The patterns of a list in the configuration. One that fits no tool is an error: a wrong spelling would ask about nothing.
    fn patterns(&self, key: &str, list: &[String]) -> Result<Vec<ToolPattern>> {
        let mut all = Vec::new();
        for raw in list {
            let parsed = ToolPattern::parse(raw).and_then(|parsed| self.checked(parsed));
            all.extend(parsed.map_err(|e| {
                let text = format!("`{key}`: {}", e.message());
                Error::new(ErrorCode::ConfigInvalid, text).hint(e.advice().unwrap_or_default())
            })?);
        }
        Ok(all)
    }

    /// Which tools a server has is known only when it runs.
    fn checked(&self, patterns: Vec<ToolPattern>) -> Result<Vec<ToolPattern>> {
        let is_there = |pattern: &&ToolPattern| {
            pattern.name().starts_with("mcp__") || self.names().any(|name| pattern.names(name))
        };
        let Some(unknown) = patterns.iter().find(|pattern| !is_there(pattern)).map(ToolPattern::name) else {
            return Ok(patterns);
        };
        let there_are = say!("there-are", names = self.names().collect::<Vec<_>>().join(", "));
        let hint = match nearest(unknown, self.names()) {
            Some(name) => format!("{} {there_are}", say!("did-you-mean", name)),
            None => there_are,
        };
        Err(Error::new(ErrorCode::InvalidTool, say!("tool-not-there", unknown)).hint(hint))
    }
}

pub struct Setup {
    pub config: Config,
    /// Where tools work.
    pub workspace: PathBuf,
    /// Where the configuration, the agents and the project's tools are looked for: the workspace, or what that is a worktree of.
    pub project: PathBuf,
    pub state: PathBuf,
    pub telemetry: Telemetry,
    /// What processes that tools start are held to.
    pub sandbox: Arc<Sandbox>,
    /// The MCP servers of this session, once somebody asked for them.
    pub servers: OnceLock<Arc<ServerRegistry>>,
    /// The hosts that delegate to this process: none but in `posse mcp`.
    pub hosts: Arc<ConnectedHosts>,
}

impl Setup {
    pub fn load(global: &GlobalArgs) -> Result<Self> {
        let workspace = std::env::current_dir()
            .map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))?;
        Self::load_in(global, workspace)
    }

    /// As if it was started in this directory.
    pub fn load_in(global: &GlobalArgs, workspace: PathBuf) -> Result<Self> {
        let home = process_env("HOME").map(PathBuf::from);
        let config = config::load(ConfigSources {
            explicit: global.config.as_deref(),
            user_dir: user_config_dir().as_deref(),
            here: &workspace,
            home: home.as_deref(),
            user: user(),
        })?;
        for warning in &config.warnings {
            terminal::note(&say!("warning", text = visible(warning)));
        }
        let telemetry = Telemetry::new(wishes(global, &config));
        let project = workspace.clone();
        let state = state_dir(global)?;
        let toolchains =
            CommandEnvironment::new(std::env::vars_os(), config.bash.env.clone(), vec![]).toolchains();
        let sandbox = sandbox(&config.sandbox, &workspace, &state, home.as_deref(), toolchains)?;
        let (servers, hosts) = (OnceLock::new(), ConnectedHosts::none());
        Ok(Self { config, workspace, project, state, telemetry, sandbox, servers, hosts })
    }

    /// What to say about `sandbox.top` where it has no effect.
    pub fn ignored_top(&self) -> Option<String> {
        self.sandbox.ignores_top().then(|| say!("warning", text = say!("sandbox-top-ignored")))
    }

    pub fn store(&self) -> Result<Arc<SqliteStore>> {
        open_store(&self.state)
    }

    pub fn models(&self, how: &RunOptions) -> Result<Arc<ModelSource>> {
        let tape = match (&how.record, &how.replay) {
            (Some(path), _) => RecordingMode::Record(RecordingFile::open(path)?),
            (None, Some(path)) => RecordingMode::Replay(path.clone()),
            (None, None) => RecordingMode::None,
        };
        let source = ModelSource::new(self.config.clone(), process_env, tape)?;
        Ok(Arc::new(source.sharing(&self.state).lent_by(self.hosts.clone())))
    }

    /// The agent that `run` and `chat` talk to.
    pub fn orchestrator(&self, how: &RunOptions) -> Result<Agent> {
        let model = models::default_model(&self.config, how.common.model.as_deref(), process_env)?;
        self.orchestrator_with(how, model)
    }

    /// The model that somebody named for everything that names none itself.
    pub fn configured_model(&self, how: &RunOptions) -> Result<Option<String>> {
        models::configured_model(&self.config, how.common.model.as_deref(), process_env)
    }

    /// The agent that `run` and `chat` talk to, if it had this model.
    pub fn orchestrator_with(&self, how: &RunOptions, model: String) -> Result<Agent> {
        let model = models::anchored(model, &self.workspace);
        let prompt = format!("{}\n\nWorkspace: {}", ORCHESTRATOR.trim_end(), self.workspace.display());
        Ok(Agent {
            description: "Works on the task and delegates".to_owned(),
            fallback_models: self.config.fallback_models.clone(),
            settings: self.settings(how),
            limits: self.limits(how, &model),
            ..Agent::new(name("orchestrator"), model, prompt)
        })
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

    /// With which tools models delegate.
    pub fn facades(&self) -> Result<SessionFacades> {
        let Some(names) = &self.config.session.tools else { return Ok(SessionFacades::default()) };
        names.iter().map(|name| Facade::parse(name)).collect::<Result<SessionFacades>>().map_err(|e| {
            let text = say!("session-tools-invalid", why = e.message());
            Error::new(ErrorCode::ConfigInvalid, text).hint(e.advice().unwrap_or_default())
        })
    }

    /// Levels of delegation below whoever starts a run.
    pub fn max_depth(&self) -> u32 {
        self.config.session.max_depth.map_or(DEPTH_MAX, |depth| depth.0 as u32)
    }

    /// Limits on the tasks of one parent.
    pub fn rules(&self) -> BoardLimits {
        let configured = &self.config.session;
        BoardLimits {
            running_max: configured.max_running.map_or(RULES.running_max, |most| most.0 as usize),
            open_max: configured.max_open_tasks.map_or(RULES.open_max, |most| most.0 as usize),
            on_limit: configured.on_limit.map_or(RULES.on_limit, OnLimit::from),
        }
    }

    /// How long a holder of write leases may be silent.
    pub fn lease_ms(&self) -> u64 {
        self.config.session.lease_s.map_or(lease::SILENCE_MS_MAX, |seconds| seconds.0 * 1000)
    }

    /// Who can be delegated to.
    pub fn agents(&self, how: &RunOptions) -> Arc<AgentFiles> {
        Arc::new(AgentFiles::new(self.places(), self.trust(how.common.trust)))
    }

    /// Where definitions of agents are looked for.
    pub fn places(&self) -> AgentPlaces {
        let home = process_env("HOME").map(PathBuf::from);
        AgentPlaces::find(
            &self.project,
            home.as_deref(),
            xdg("XDG_CONFIG_HOME", ".config").as_deref(),
            user(),
        )
    }

    /// Whose definitions may run: those somebody said yes to, or all.
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
        .least(&BudgetCaps { cost_micros: number(launch::COST_LEFT), ..BudgetCaps::default() })
    }

    /// What a task that goes on may spend in all: what it could before, unless a new sum is named now. The
    /// configuration can lower a sum, and says anew how many tokens there are.
    pub fn caps_again(&self, how: &RunOptions, before: &BudgetCaps) -> BudgetCaps {
        let today = self.caps(how);
        let least = match (before.cost_micros, today.cost_micros) {
            (Some(before), Some(today)) => Some(before.min(today)),
            (before, today) => before.or(today),
        };
        BudgetCaps {
            input_tokens: today.input_tokens.or(before.input_tokens),
            output_tokens: before.output_tokens,
            cost_micros: if how.common.max_cost.is_some() { today.cost_micros } else { least },
        }
    }

    pub fn tools(&self) -> Result<ToolInventory> {
        let (closed, protection) = (self.sandbox.closed(), self.sandbox.protection());
        let workspace = Workspace::open_with(&self.workspace, closed, protection)?;
        let (skills, warnings) =
            SkillCatalog::load(&workspace, &user_dirs("skills"), posse_definitions::matter);
        let mut problems: Vec<Error> =
            warnings.into_iter().map(|text| Error::new(ErrorCode::ToolInvalid, text)).collect();
        let launch = self.launch();
        let mut tools = posse_tools::files::toolset(workspace, skills);
        tools.push(Arc::new(BashTool::new(launch.clone())));
        tools.push(Arc::new(FetchTool::new(self.pinned())));
        // The user's first: of two tools with one name, a project's must not take the place of the user's.
        let project = self.project.join(".posse/tools");
        let mut dirs = user_dirs("tools");
        dirs.push(project.clone());
        let (own, errors) = posse_tools::own::load(&dirs);
        problems.extend(errors);
        let mut foreign = BTreeMap::new();
        for mut tool in own {
            if tool.manifest.starts_with(&project) {
                foreign.insert(tool.spec.name.clone(), tool.digest().unwrap_or_default());
                tool = match tool.of_project(&self.project) {
                    Ok(tool) => tool,
                    Err(e) => {
                        problems.push(e);
                        continue;
                    }
                };
            }
            match tool.bind(launch.clone()) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(e) => problems.push(e),
            }
        }
        let servers = self.servers(ServerFilter::These(&[]));
        servers.add_tools(&mut tools, &mut foreign, &mut problems);
        Ok(ToolInventory { tools, foreign, problems, servers })
    }

    /// The MCP servers there are. `wanted` are entries of lists of tools, for which agents' files may have to be read.
    pub fn servers(&self, wanted: ServerFilter<'_>) -> Arc<ServerRegistry> {
        self.servers.get_or_init(|| Arc::new(ServerRegistry::load(self, wanted))).clone()
    }

    /// The MCP servers that this run may use, and by which entries of lists of tools. `None` if it may use none.
    pub fn servers_of(&self, how: &RunOptions) -> Option<(Arc<ServerRegistry>, Vec<String>)> {
        let all = how.common.allow.iter().chain(&self.config.grant.allow);
        let wanted: Vec<String> = all.filter(|entry| is_about_servers(entry)).cloned().collect();
        (!wanted.is_empty()).then(|| (self.servers(ServerFilter::These(&wanted)), wanted))
    }

    /// Gets to know those of them that were never asked. One that cannot be reached is said and left out.
    pub async fn meet_servers(&self, how: &RunOptions) {
        let Some((servers, wanted)) = self.servers_of(how) else { return };
        let problems = servers.meet(&wanted).await;
        servers.problems().iter().chain(&problems).for_each(terminal::warn);
    }

    /// Nothing of a server outlives its session.
    pub async fn close_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.close().await;
        }
    }

    /// What a server's process may do: what the operator may, inside the sandbox.
    pub fn server_grant(&self) -> Grant {
        let sandbox = self.sandbox.tier().unwrap_or(SandboxTier::Kernel);
        Grant::of_root(RootGrant { sandbox, depth: 1, ..RootGrant::default() })
    }

    /// How a server is started, in a sandbox that may differ from that of commands and that lets it read what it is made of.
    pub fn launch_for(&self, own: &Option<OwnSandbox>, packages: Vec<PathBuf>) -> Result<ProcessLauncher> {
        let usual = self.launch();
        if own.is_none() && packages.is_empty() {
            return Ok(usual);
        }
        let mut own = own.clone().unwrap_or_default();
        own.read.extend(packages);
        let (home, toolchains) = (process_env("HOME").map(PathBuf::from), usual.environment.toolchains());
        let config = own.of(&self.config.sandbox);
        let sandbox = sandbox(&config, &self.workspace, &self.state, home.as_deref(), toolchains)?;
        Ok(ProcessLauncher { sandbox, ..usual })
    }

    /// Whether a variable holds a provider's key.
    pub fn is_withheld(&self, name: &str) -> bool {
        self.key_variables().iter().any(|key| key == name)
    }

    pub fn environment(&self) -> CommandEnvironment {
        CommandEnvironment::new(std::env::vars_os(), self.config.bash.env.clone(), self.key_variables())
    }

    /// What the operator allows: our tools that only look or that write files in the workspace; commands and the user's
    /// own tools only when they are named; a project's tools only when they are named for this run, because the
    /// user's configuration cannot know what a project means by a name.
    pub fn grant(&self, how: &RunOptions, found: &ToolInventory) -> Result<Grant> {
        let (asked, configured) = (found.named(&how.common.allow)?, found.named(&self.config.grant.allow)?);
        let denied = self.denied(found)?;
        let is_given = |ToolSpec { name, effect, .. }: &ToolSpec| {
            let usual = posse_tools::is_built_in(name) && !ASKED_FOR.contains(&name.as_str());
            let allowed = configured.contains(name) && !found.foreign.contains_key(name);
            let harmless = *effect == ToolEffect::Pure || !how.common.read_only;
            harmless && (usual || allowed || asked.contains(name))
        };
        let granted = found.tools.iter().map(|tool| tool.spec()).filter(|spec| is_given(spec));
        let mut names: Vec<String> = granted.map(|spec| spec.name.clone()).collect();
        names.extend(SESSION_TOOLS.iter().map(|name| (*name).to_owned()));
        names.retain(|name| !denied.contains(name));
        let network = self.config.network.hosts.clone().unwrap_or_default();
        let sandbox = self.sandbox.tier().unwrap_or(SandboxTier::Kernel);
        let tools = names.into_iter().collect();
        let depth = nested_depth()?.map_or(self.max_depth(), |depth| depth.min(self.max_depth()));
        let root = RootGrant { tools, depth, network, sandbox, ..RootGrant::default() };
        Ok(Grant::of_root(root).keep(&self.asked_about(found)?))
    }

    /// What the tasks of hosts get: the same, but nothing that changes files unless somebody named the tool, or where to write.
    pub fn grant_to_hosts(&self, how: &RunOptions, write: &[String], found: &ToolInventory) -> Result<Grant> {
        let grant = self.grant(how, found)?;
        let paths = if write.is_empty() { &self.config.mcp.write[..] } else { write };
        if paths.is_empty() {
            let named = [found.named(&how.common.allow)?, found.named(&self.config.grant.allow)?].concat();
            let specs = found.tools.iter().map(|tool| tool.spec());
            let unasked = specs.filter(|spec| spec.effect != ToolEffect::Pure && !named.contains(&spec.name));
            return Ok(grant.without(&unasked.map(|spec| spec.name.clone()).collect::<Vec<_>>()));
        }
        lease::WritePaths::parse(&self.workspace.display().to_string(), paths)?;
        let everywhere = paths.iter().any(|path| path == "**");
        let write_paths = (!everywhere).then(|| paths.to_vec());
        Ok(grant.keep(&Rights { write_paths, ..Rights::default() }))
    }

    /// What `fetch` connects with.
    fn pinned(&self) -> PinnedClient {
        let exceptions = self.config.network.allow_private.iter().map(|private| private.0).collect();
        PinnedClient::new(Arc::new(SystemResolver), exceptions)
    }

    /// What is taken out of tools' results: keys by their shape, and those that the operator has here.
    pub fn redactor(&self) -> SecretRedactor {
        if !self.config.secrets.redact {
            return SecretRedactor::off();
        }
        let providers = || self.config.providers.values();
        let headers = providers().flat_map(|provider| provider.headers.values().cloned());
        let files =
            providers().filter_map(|provider| std::fs::read_to_string(provider.api_key_file.as_ref()?).ok());
        let servers = self.config.mcp.servers.values();
        let of_servers = servers.clone().flat_map(|server| server.secrets());
        let tokens = servers.flat_map(|server| server.secret_variables());
        let variables = self.key_variables().into_iter().chain(tokens).filter_map(|name| process_env(&name));
        let granted = crate::servers::secrets(self);
        SecretRedactor::default()
            .knowing(headers.chain(files).chain(variables).chain(of_servers).chain(granted))
    }

    fn key_variables(&self) -> Vec<String> {
        let known = KNOWN.iter().flat_map(|known| known.key_envs).map(|key| (*key).to_owned());
        known.chain(self.config.providers.values().filter_map(|provider| provider.key_variable())).collect()
    }

    /// What the operator wants to be asked about, at every depth.
    fn asked_about(&self, found: &ToolInventory) -> Result<Rights> {
        let patterns = found.patterns("approvals.ask", &self.config.approvals.ask)?;
        let rules = patterns.into_iter().map(|pattern| GrantRule { pattern, verdict: RuleVerdict::Ask });
        Ok(Rights { rules: rules.collect(), ..Rights::default() })
    }

    /// What becomes of calls that a person has to be asked about. `attended`: one sits here.
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
            on_deadline: match configured.default {
                Some(ApprovalDefault::Approve) => approval::ApprovalVerdict::Approve,
                Some(ApprovalDefault::Deny) | None => usual.on_deadline,
            },
            ..usual
        })
    }

    /// Runs the commands that check results, unless no command may be run here at all.
    pub fn verifier(&self, found: &ToolInventory) -> Result<Option<Arc<dyn Verifier>>> {
        let denied = self.denied(found)?;
        let verifier = || Arc::new(CommandVerifier::new(self.launch())) as Arc<dyn Verifier>;
        Ok((!denied.iter().any(|name| name == "bash")).then(verifier))
    }

    /// What a task that goes on may do: what it was given when it was begun, without what is denied today, and asked about what is
    /// asked about today.
    pub fn grant_again(&self, before: &Grant, found: &ToolInventory) -> Result<Grant> {
        // What could be reached then and cannot be reached today is over as well.
        let sandbox = Some(self.sandbox.tier().unwrap_or(SandboxTier::Kernel));
        let today = Rights { network: self.config.network.hosts.clone(), sandbox, ..Rights::default() };
        // A server that went on without a tool, or is not there today, is no reason not to go on.
        let gone =
            before.tools().filter(|name| is_about_servers(name) && !found.has(name)).map(str::to_owned);
        let lost = [self.denied(found)?, self.strange(found), gone.collect()].concat();
        let before = before.without(&lost);
        Ok(before.keep(&today).keep(&self.asked_about(found)?))
    }

    /// Tools of the project that nobody has allowed as they are now. A task that goes on knows its tools by their names, and a
    /// name can mean something else by now.
    fn strange(&self, found: &ToolInventory) -> Vec<String> {
        if found.foreign.is_empty() {
            return Vec::new();
        }
        let allowed = allowed_tools(&self.state).load();
        let is_strange = |digest: &str| !allowed.trusts(&self.project, digest);
        let strange = found.foreign.iter().filter(|(_, digest)| is_strange(digest));
        strange.map(|(name, _)| name.clone()).collect()
    }

    /// Remembers what the tools of the project are that somebody allows for a run, for when the run goes on.
    pub fn remember_allowed(&self, found: &ToolInventory, grant: &Grant) -> Result<()> {
        let store = allowed_tools(&self.state);
        let given = found.foreign.iter().filter(|(name, _)| grant.tools().any(|tool| tool == *name));
        let new: Vec<&str> = given
            .map(|(_, digest)| digest.as_str())
            .filter(|digest| !store.trusted(&self.project, digest))
            .collect();
        if new.is_empty() { Ok(()) } else { store.trust(&self.project, new) }
    }

    /// What processes may connect to at most.
    pub fn network(&self) -> NetworkReach {
        NetworkReach::from(&self.config.sandbox.network)
    }

    /// What the configuration denies, whatever flags say.
    pub fn denied(&self, found: &ToolInventory) -> Result<Vec<String>> {
        // A server that is not there has nothing to deny.
        let there = |entry: &&String| !is_about_servers(entry) || found.servers.covers(entry);
        found.named(&self.config.grant.deny.iter().filter(there).cloned().collect::<Vec<_>>())
    }

    fn limits(&self, how: &RunOptions, model: &str) -> Limits {
        let (configured, usual) = (&self.config.limits, Limits::default());
        let known = ModelRef::parse(model).ok().and_then(|reference| family(&reference));
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let context_window =
            configured.context_window.map(|n| n.0).or(known.map(|family| family.context_window));
        // What a reply may fill is taken from the window; most of it has to be left for the conversation.
        let output_max = known
            .map_or(u32::MAX, |family| family.output_max)
            .min(context_window.map_or(u32::MAX, |window| narrow(window / 4)));
        let output = configured
            .max_output_tokens
            .map_or(usual.output_tokens_per_call, |n| narrow(n.0))
            .min(output_max);
        Limits {
            turns_max: how.max_turns.or(configured.max_turns.map(|n| narrow(n.0))).unwrap_or(usual.turns_max),
            tool_calls_max: configured.max_tool_calls.map_or(usual.tool_calls_max, |n| narrow(n.0)),
            wall_ms_max: how
                .timeout
                .or(configured.timeout_s.map(|n| n.0))
                .map_or(usual.wall_ms_max, |s| s * 1000),
            output_tokens_per_call: output,
            output_tokens_per_call_max: usual.output_tokens_per_call_max.max(output).min(output_max),
            wrap_up_tokens: usual.wrap_up_tokens.min(output),
            context_window,
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

/// Where a path leads, also if its last parts are not there yet.
fn really(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            Ok(_) | Err(_) => real,
        },
        None => path,
    }
}

/// Where programs are looked for that we start ourselves: not where a task can write.
pub fn search(writable: &[&Path]) -> OsString {
    let writable: Vec<PathBuf> = writable.iter().map(|place| really(place)).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let safe = std::env::split_paths(&path).filter(|directory| {
        let real = really(directory);
        directory.is_absolute() && !writable.iter().any(|place| real.starts_with(place))
    });
    std::env::join_paths(safe).unwrap_or_default()
}

fn sandbox(
    config: &SandboxConfig,
    workspace: &Path,
    state: &Path,
    home: Option<&Path>,
    toolchains: Vec<PathBuf>,
) -> Result<Arc<Sandbox>> {
    let place = |path: &PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => workspace.join(path),
    };
    let mut closed: Vec<PathBuf> = user_config_dir().into_iter().chain([state.to_owned()]).collect();
    // Paths are compared with where things really are, or will be.
    closed = closed.iter().map(|path| really(path)).collect();
    // A link of the repository must not choose what is written.
    let write: Vec<PathBuf> = config.write.iter().map(|path| really(&place(path))).collect();
    let secrets: Vec<PathBuf> = home.map(closed_at_home).unwrap_or_default();
    for path in &write {
        if let Some(secret) =
            closed.iter().chain(&secrets).find(|secret| secret.starts_with(path) || path.starts_with(secret))
        {
            let text = say!("sandbox-write-opens", path = path.display(), secret = secret.display());
            return Err(Error::new(ErrorCode::ConfigInvalid, text).hint(say!("sandbox-write-opens-hint")));
        }
    }
    let protection = FileProtection::without(&config.unprotected).map_err(|name| {
        Error::new(ErrorCode::ConfigInvalid, say!("sandbox-unprotected-unknown", name))
            .hint(say!("sandbox-unprotected-unknown-hint"))
    })?;
    const MIB: u64 = 1 << 20;
    Ok(Sandbox::new(SandboxSettings {
        wish: config.tier,
        network: NetworkReach::from(&config.network),
        home: home.map(|home| home.canonicalize().unwrap_or(home.to_owned())),
        search: search(&[workspace, state]),
        toolchains,
        read: config.read.iter().map(place).collect(),
        write,
        closed,
        temporary: process_env("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from),
        limits: ProcessLimits {
            processes_more: Some(config.processes.0),
            file_bytes_max: Some(config.file_mib.0 * MIB),
            memory_bytes_max: Some(config.memory_mib.0 * MIB),
        },
        top: config.top,
        protection,
    }))
}

/// How deep this process may delegate if a task of another Posse started it. One that may not delegate starts none.
fn nested_depth() -> Result<Option<u32>> {
    match number(launch::DEPTH) {
        None => Ok(None),
        Some(0) => Err(Error::new(ErrorCode::InvalidRequest, say!("posse-inside-posse"))
            .hint(say!("posse-inside-posse-hint"))),
        Some(depth) => Ok(Some(u32::try_from(depth - 1).unwrap_or(u32::MAX))),
    }
}

/// What cannot be read is nothing that we wrote, and nothing that gives more.
fn number(variable: &str) -> Option<u64> {
    process_env(variable).map(|text| text.trim().parse().unwrap_or(0))
}

fn user() -> u32 {
    // SAFETY: reads a number.
    unsafe { libc::geteuid() }
}

pub fn name(raw: &str) -> AgentName {
    AgentName::parse(raw).expect("names in this file are spelled right")
}

/// A session id: short enough to type, long enough not to meet another one.
pub fn new_session_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    (0..8).map(|_| ALPHABET[fastrand::usize(..ALPHABET.len())] as char).collect()
}

pub fn user_config_dir() -> Option<PathBuf> {
    xdg("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("posse"))
}

/// The store, for those who need no configuration, or not this directory's.
pub fn store(global: &GlobalArgs) -> Result<Arc<SqliteStore>> {
    open_store(&state_dir(global)?)
}

fn open_store(state: &Path) -> Result<Arc<SqliteStore>> {
    Ok(Arc::new(SqliteStore::open(state.join("posse.db"))?))
}

/// What a file of the state directory says; if there is none, it is made, for this user alone. Of several that make it, one does.
pub fn state_file(path: &Path, make: impl FnOnce() -> std::io::Result<String>) -> Result<String> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let made = || {
        match std::fs::read_to_string(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            read => return read,
        }
        let (text, parent) = (make()?, path.parent().unwrap_or(path));
        std::fs::create_dir_all(parent)?;
        let unfinished = tempfile::Builder::new().make_in(parent, |path| {
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
        })?;
        unfinished.as_file().write_all(text.as_bytes())?;
        match unfinished.persist_noclobber(path) {
            Ok(_) => Ok(text),
            Err(_) => std::fs::read_to_string(path),
        }
    };
    made()
        .map_err(|e| Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display())).caused_by(e))
}

fn state_dir(global: &GlobalArgs) -> Result<PathBuf> {
    let from_env = || process_env("POSSE_STATE").map(PathBuf::from);
    let dir = global
        .state
        .clone()
        .or_else(from_env)
        .or_else(|| xdg("XDG_STATE_HOME", ".local/state").map(|dir| dir.join("posse")));
    dir.ok_or_else(|| {
        Error::new(ErrorCode::StoreUnavailable, say!("no-place-for-tasks"))
            .hint(say!("no-place-for-tasks-hint"))
    })
}

fn xdg(variable: &str, under_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(|dir| dir.into_vec()).filter(|dir| dir.first() == Some(&b'/'));
    let home = || process_env("HOME").map(|home| Path::new(&home).join(under_home));
    named.map(|dir| PathBuf::from(OsString::from_vec(dir))).or_else(home)
}

fn user_dirs(kind: &str) -> Vec<PathBuf> {
    user_config_dir().map(|dir| dir.join(kind)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::TaskFlags;

    fn bare(config: Config) -> Setup {
        let (workspace, project, state) = (PathBuf::new(), PathBuf::new(), PathBuf::new());
        let (telemetry, sandbox, servers) = (Telemetry::default(), Sandbox::off(), OnceLock::new());
        Setup {
            config,
            workspace,
            project,
            state,
            telemetry,
            sandbox,
            servers,
            hosts: ConnectedHosts::none(),
        }
    }

    fn limits(config: &str, model: &str) -> Limits {
        let config = toml::from_str(config).unwrap();
        bare(config).limits(&RunOptions::default(), model)
    }

    #[test]
    fn a_task_that_goes_on_keeps_its_cost_limit_unless_a_new_one_is_named() {
        let cost = |config: &str, named: Option<f64>, before: Option<u64>| {
            let config = toml::from_str(config).unwrap();
            let setup = bare(config);
            let before = BudgetCaps { cost_micros: before, ..BudgetCaps::default() };
            setup
                .caps_again(&RunOptions::from(TaskFlags { max_cost: named, ..TaskFlags::default() }), &before)
                .cost_micros
        };
        let two = "[limits]\nmax_cost_usd = 2.0\n";
        assert_eq!(cost("", None, Some(500_000)), Some(500_000));
        assert_eq!(cost(two, None, Some(500_000)), Some(500_000));
        assert_eq!(cost(two, None, Some(5_000_000)), Some(2_000_000));
        assert_eq!(cost(two, None, None), Some(2_000_000));
        assert_eq!(cost("", Some(1.0), Some(500_000)), Some(1_000_000));
        assert_eq!(cost(two, Some(9.0), Some(500_000)), Some(2_000_000));
    }

    #[test]
    fn a_small_window_keeps_room_for_the_conversation() {
        let small = limits("[limits]\ncontext_window = 8192\n", "ollama:qwen3");
        assert_eq!((small.output_tokens_per_call, small.output_tokens_per_call_max), (2048, 2048));
        assert_eq!(limits("[limits]\ncontext_window = 2000\n", "ollama:qwen3").wrap_up_tokens, 500);
        assert_eq!(limits("", "openai:gpt-4").output_tokens_per_call, 2048);
        let usual = Limits::default();
        for model in ["anthropic:claude-sonnet-4-5", "ollama:qwen3"] {
            let large = limits("", model);
            assert_eq!(large.output_tokens_per_call, usual.output_tokens_per_call, "{model}");
            assert_eq!(large.output_tokens_per_call_max, usual.output_tokens_per_call_max, "{model}");
        }
    }

    // G20 S11 Seen to fail without `.goose` in the table.
    #[test]
    fn every_place_that_posse_reads_definitions_tools_skills_and_settings_from_is_protected() {
        let project = Path::new("/project");
        let (home, config) = (Path::new("/home/u"), Path::new("/home/u/.config"));
        let agents = AgentPlaces::find(project, Some(home), Some(config), 0).directories();
        let mut places: Vec<PathBuf> = agents.into_iter().map(|directory| directory.path).collect();
        assert!(places.len() > 30, "{places:?}");
        places.extend(["tools", "skills"].map(|kind| config.join("posse").join(kind)));
        places.extend(
            [".posse/tools", config::PROJECT_FILE, crate::servers::PROJECT_FILE]
                .map(|name| project.join(name)),
        );
        places.extend(posse_tools::skill::PROJECT_FOLDERS.map(|folder| project.join(folder)));
        for place in places {
            let path = place.strip_prefix(project).or_else(|_| place.strip_prefix(home)).unwrap();
            assert!(FileProtection::default().find(path).is_some(), "{}", path.display());
        }
    }

    /// `sandbox.write` and the state directory are compared with secrets and workspaces by where they are.
    #[test]
    fn a_path_is_where_it_leads_also_before_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("real")).unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();
        assert_eq!(really(&top.join("link")), top.join("real"));
        assert_eq!(really(&top.join("link/new/state")), top.join("real/new/state"));
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(really(Path::new("not-there-yet")), here.join("not-there-yet"));
    }

    #[test]
    fn no_link_of_a_repository_chooses_what_commands_write() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, workspace) = (top.join("home"), top.join("workspace"));
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir(&workspace).unwrap();
        std::os::unix::fs::symlink(&home, workspace.join("target")).unwrap();
        let config = SandboxConfig { write: vec!["target".into()], ..SandboxConfig::default() };
        let refused =
            sandbox(&config, &workspace, &top.join("state"), Some(&home), Vec::new()).err().unwrap();
        assert_eq!(refused.code(), ErrorCode::ConfigInvalid);
    }
}
