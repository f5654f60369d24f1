//! The MCP servers that agents may use here: who named them, how they are started and held, what is remembered of them.
//!
//! The operator's are in the user's configuration. Those of a project, in `.mcp.json` or in an agent's file, count after somebody trusted
//! that file, get no variable that commands do not get, and their tools are given by `--allow` alone.

mod entry;
mod memory;
mod package;
mod process;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::pattern::ToolPattern;
use posse_core::text::visible;
use posse_core::tool::ToolSpec;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::trust;
use posse_mcp::client::{McpClient, RemoteServer, ServerConfig, ServerEndpoint, ServerName};
use posse_messages::say;
use posse_runtime::ports::{AgentLookup, Tool};
use posse_tools::launch::ProcessLauncher;
use serde_json::{Map, Value};

pub use self::entry::McpServerConfig;
use self::memory::PinFiles;
use self::package::ProgramSearch;
use self::process::ConfinedStarter;
use crate::args::RunOptions;
use crate::config::SandboxConfig;
use crate::setup::{Setup, search};

/// What other tools call the file in which a project names its servers.
pub const PROJECT_FILE: &str = ".mcp.json";
const FILE_BYTES_MAX: u64 = 1 << 20;

pub struct ServerRegistry {
    all: Vec<NamedServer>,
    /// The operator named them, and they cannot be used as they are; `problems` says why.
    unusable: Vec<ServerName>,
    problems: Vec<Error>,
}

/// Which servers somebody looks for, by entries of lists of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFilter<'a> {
    These(&'a [String]),
    All,
}

/// A server, and whose it is.
pub struct NamedServer {
    pub server: Arc<McpClient>,
    pub origin: ServerOrigin,
    /// How its process is held; for a server elsewhere there is none.
    pub confinement: String,
    /// What it is started with, or where it is, for people.
    pub what: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerOrigin {
    Operator,
    /// This file of a project, or of an agent.
    File(PathBuf),
}

impl ServerRegistry {
    pub fn none() -> Self {
        Self { all: Vec::new(), unusable: Vec::new(), problems: Vec::new() }
    }

    /// Reads who there is; nobody is started. Files of agents are read only if somebody of them is wanted.
    pub fn load(setup: &Setup, wanted: ServerFilter<'_>) -> Self {
        let mut servers = Self::none();
        for (name, config) in &setup.config.mcp.servers {
            let made = ServerName::parse(name).and_then(|name| {
                let made = config.server(name, crate::models::process_env, |name| setup.is_withheld(name))?;
                let launch = setup.launch_for(&config.sandbox, Self::packages(setup, &made))?;
                Ok((made, launch))
            });
            if made.is_err() {
                servers.unusable.extend(ServerName::parse(name));
            }
            servers.add(setup, ServerOrigin::Operator, made);
        }
        servers.add_project(setup);
        let is_missing = |entry: &String| !servers.covers(entry);
        if wanted == ServerFilter::All
            || matches!(wanted, ServerFilter::These(entries) if entries.iter().any(is_missing))
        {
            servers.add_agents(setup);
        }
        servers
    }

    /// What a server of the operator reads of its own.
    fn packages(setup: &Setup, config: &ServerConfig) -> Vec<PathBuf> {
        let ServerEndpoint::Stdio(program) = &config.endpoint else { return Vec::new() };
        let search = search(&[&setup.workspace, &setup.state]);
        let home = crate::models::process_env("HOME").map(PathBuf::from);
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        let workspace = setup.workspace.canonicalize().unwrap_or(setup.workspace.clone());
        ProgramSearch { search: &search, home: home.as_deref(), workspace: &workspace }.packages(program)
    }

    pub fn all(&self) -> &[NamedServer] {
        &self.all
    }

    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    pub fn find(&self, name: &str) -> Result<&NamedServer> {
        let found = self.all.iter().find(|named| named.server.config().name.as_str() == name);
        found.ok_or_else(|| self.unknown(name))
    }

    /// The error for a name, or an entry of a list of tools, that no server has.
    pub fn unknown(&self, name: &str) -> Error {
        let known: Vec<&str> = self.all.iter().map(|named| named.server.config().name.as_str()).collect();
        let hint = match known.is_empty() {
            true => say!("there-are-none"),
            false => say!("there-are", names = known.join(", ")),
        };
        Error::new(ErrorCode::McpServerUnavailable, say!("mcp-server-unknown", name = visible(name)))
            .hint(hint)
    }

    /// Whether some server is meant by an entry such as `mcp__github` in a list of tools, also one that cannot be used: it has no tools, and
    /// the rest of the list counts.
    pub fn covers(&self, entry: &str) -> bool {
        self.all.iter().any(|named| named.is_meant(entry))
            || self.unusable.iter().any(|name| is_about(entry, name))
    }

    /// Asks those that are wanted and that nobody knows yet for their tools, all at once. One that fails has none.
    pub async fn meet(&self, wanted: &[String]) -> Vec<Error> {
        let mut meetings = tokio::task::JoinSet::new();
        for named in self.all.iter().filter(|named| wanted.iter().any(|entry| named.is_meant(entry))) {
            let server = named.server.clone();
            meetings.spawn(async move { server.meet().await });
        }
        let met = meetings.join_all().await;
        met.into_iter().filter_map(|met| met.err()).collect()
    }

    /// Adds the tools that were accepted, those of projects with what they are, and what is wrong.
    pub fn add_tools(
        &self,
        tools: &mut Vec<Arc<dyn Tool>>,
        foreign: &mut BTreeMap<String, String>,
        problems: &mut Vec<Error>,
    ) {
        for named in &self.all {
            let of_server = match named.server.tools() {
                Ok(of_server) => of_server,
                Err(e) => {
                    problems.push(e);
                    continue;
                }
            };
            if named.origin != ServerOrigin::Operator {
                let digests =
                    of_server.iter().map(|tool| (tool.spec().name.clone(), named.digest(tool.spec())));
                foreign.extend(digests);
            }
            tools.extend(of_server);
        }
    }

    /// What a person should know of what happened.
    pub fn remarks(&self) -> Vec<String> {
        self.all.iter().flat_map(|named| named.server.remarks()).map(|text| text.to_string()).collect()
    }

    /// Ends all of them; each may take a moment to end by itself.
    pub async fn close(&self) {
        let mut closing = tokio::task::JoinSet::new();
        for named in &self.all {
            let server = named.server.clone();
            closing.spawn(async move { server.close().await });
        }
        closing.join_all().await;
    }

    fn add(&mut self, setup: &Setup, origin: ServerOrigin, made: Result<(ServerConfig, ProcessLauncher)>) {
        let (mut config, launch) = match made {
            Ok(made) => made,
            Err(e) => return self.problems.push(e),
        };
        let is_taken =
            |named: &NamedServer| named.server.config().name.canonical() == config.name.canonical();
        if self.all.iter().any(is_taken) {
            let text = say!("mcp-server-twice", server = config.name, origin = origin.to_string());
            return self.problems.push(Error::new(ErrorCode::ConfigInvalid, text));
        }
        let (confinement, what) = match &config.endpoint {
            ServerEndpoint::Stdio(program) => (
                launch.sandbox.describe(),
                [std::slice::from_ref(&program.command), &program.args[..]].concat().join(" "),
            ),
            ServerEndpoint::Http(remote) => (say!("mcp-elsewhere"), remote.url.to_string()),
        };
        if let ServerEndpoint::Http(RemoteServer { oauth: Some(oauth), .. }) = &mut config.endpoint {
            oauth.exceptions = setup.config.network.allow_private.iter().map(|private| private.0).collect();
        }
        let memory = files(setup);
        let starter = Arc::new(ConfinedStarter::new(launch, setup.server_grant()));
        let server = McpClient::with_vault(config, starter, memory.clone(), Some(memory));
        self.all.push(NamedServer { server, origin, confinement, what });
    }

    /// Of a project's file, if it is there and exactly this content is trusted.
    fn add_project(&mut self, setup: &Setup) {
        let Some(file) = ProjectFile::find(setup) else { return };
        let file = match file {
            Ok(file) => file,
            Err(e) => return self.problems.push(e),
        };
        if !file.is_trusted(setup) {
            let text = say!("mcp-file-not-trusted", path = file.path.display());
            return self
                .problems
                .push(Error::new(ErrorCode::AgentNotTrusted, text).hint(say!("mcp-file-not-trusted-hint")));
        }
        match file.servers() {
            Ok(servers) => {
                servers.iter().for_each(|(name, value)| self.add_foreign(setup, &file.path, name, value))
            }
            Err(e) => self.problems.push(e),
        }
    }

    /// Of the agents that may run here.
    fn add_agents(&mut self, setup: &Setup) {
        for definition in setup.agents(&RunOptions::default()).list() {
            let path = PathBuf::from(&definition.origin.path);
            for (name, value) in definition.mcp_servers.iter().filter(|(_, value)| !value.is_null()) {
                self.add_foreign(setup, &path, name, value);
            }
        }
    }

    fn add_foreign(&mut self, setup: &Setup, path: &Path, name: &str, value: &Value) {
        let of_commands = setup.environment().select(&[]);
        let variable = |wanted: &str| {
            let found = of_commands.iter().find(|(name, _)| name == wanted);
            found.and_then(|(_, value)| value.clone().into_string().ok())
        };
        let made = ServerName::parse(name).and_then(|name| {
            let launch = setup.launch_for(&None, Vec::new())?;
            let origin = path.display().to_string();
            Ok((entry::foreign(name, origin, value, variable)?, launch))
        });
        let made = made.map_err(|e| {
            Error::new(e.code(), format!("{}: {}", path.display(), e.message()))
                .hint(e.advice().unwrap_or_default())
        });
        self.add(setup, ServerOrigin::File(path.to_owned()), made);
    }
}

fn files(setup: &Setup) -> Arc<PinFiles> {
    Arc::new(PinFiles::at(setup.state.join("mcp")))
}

/// What servers are told about who asks.
pub fn secrets(setup: &Setup) -> Vec<String> {
    files(setup).secrets()
}

impl NamedServer {
    /// What a tool of it is: another server, or other words, are another tool.
    fn digest(&self, spec: &ToolSpec) -> String {
        let ToolSpec { name, description, input_schema, .. } = spec;
        let server = self.server.config().key();
        trust::hash([&server[..], name, description, input_schema].join("\n").as_bytes())
    }

    /// Whether an entry of a list of tools means this server or a tool of it.
    pub fn is_meant(&self, entry: &str) -> bool {
        is_about(entry, &self.server.config().name)
    }
}

fn is_about(entry: &str, server: &ServerName) -> bool {
    let tools = format!("mcp__{}__", server.canonical());
    let patterns = ToolPattern::parse(entry).unwrap_or_default();
    patterns.iter().any(|pattern| pattern.name().starts_with(&tools) || pattern.names(&format!("{tools}x")))
}

impl std::fmt::Display for ServerOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServerOrigin::Operator => f.write_str(&say!("mcp-origin-operator")),
            ServerOrigin::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Whether an entry of a list of tools is about tools of servers.
pub fn is_about_servers(entry: &str) -> bool {
    entry.trim().to_ascii_lowercase().starts_with("mcp__")
}

/// The file in which a project names servers.
pub struct ProjectFile {
    pub path: PathBuf,
    root: PathBuf,
    text: String,
}

impl ProjectFile {
    /// `None` if there is none. One of another user, or a link, is an error.
    pub fn find(setup: &Setup) -> Option<Result<Self>> {
        let places = setup.places();
        let root = places.root().map_or_else(|| setup.project.clone(), Path::to_owned);
        let path = root.join(PROJECT_FILE);
        std::fs::symlink_metadata(&path).ok()?;
        let read = Self::read(path, root);
        // What `posse mcp install` wrote is for hosts.
        let is_ours =
            |file: &Self| file.named().is_ok_and(|all| !all.is_empty() && all.values().all(is_posse));
        (!read.as_ref().is_ok_and(is_ours)).then_some(read)
    }

    fn read(path: PathBuf, root: PathBuf) -> Result<Self> {
        let unusable =
            |why: String| Error::new(ErrorCode::ConfigUnreadable, format!("{}: {why}", path.display()));
        let opened =
            OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        let file = opened.map_err(|e| unusable(e.to_string()))?;
        let about = file.metadata().map_err(|e| unusable(e.to_string()))?;
        // SAFETY: reads a number.
        if !about.is_file() || about.uid() != unsafe { libc::geteuid() } {
            return Err(unusable(say!("mcp-file-not-ours")));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|e| unusable(e.to_string()))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(unusable(say!("file-too-large", path = path.display())));
        }
        Ok(Self { path, root, text })
    }

    pub fn hash(&self) -> String {
        trust::hash(self.text.as_bytes())
    }

    pub fn is_trusted(&self, setup: &Setup) -> bool {
        setup.trust(false).load().trusts(&self.root, &self.hash())
    }

    /// The servers for agents, by name. Posse is none.
    pub fn servers(&self) -> Result<Map<String, Value>> {
        let mut servers = self.named()?;
        servers.retain(|_, server| !is_posse(server));
        Ok(servers)
    }

    /// What it says, by name.
    fn named(&self) -> Result<Map<String, Value>> {
        let wrong =
            |why: String| Error::new(ErrorCode::ConfigInvalid, format!("{}: {why}", self.path.display()));
        let whole: Value = serde_json::from_str(&self.text).map_err(|e| wrong(e.to_string()))?;
        match whole.get("mcpServers").or(whole.get("servers")) {
            Some(Value::Object(servers)) => Ok(servers.clone()),
            _ => Err(wrong(say!("mcp-file-without-servers"))),
        }
    }
}

/// Tells whether a server is Posse itself, as `posse mcp install` writes it.
fn is_posse(server: &Value) -> bool {
    let program = server["command"].as_str().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name == "posse") && server["args"][0] == "mcp"
}

/// What differs from `[sandbox]` for one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnSandbox {
    pub tier: Option<posse_tools::sandbox::SandboxWish>,
    pub network: Option<crate::config::ReachConfig>,
    /// More that it may read and write.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

impl OwnSandbox {
    pub fn of(&self, usual: &SandboxConfig) -> SandboxConfig {
        SandboxConfig {
            tier: self.tier.unwrap_or(usual.tier),
            network: self.network.clone().unwrap_or_else(|| usual.network.clone()),
            read: [&usual.read[..], &self.read[..]].concat(),
            write: [&usual.write[..], &self.write[..]].concat(),
            ..usual.clone()
        }
    }
}
