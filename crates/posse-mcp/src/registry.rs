//! MCP servers that agents may use here: who named them, how they start, and what is remembered of them.
//!
//! The operator's servers are in the user's configuration. Those of a project, in `.mcp.json` or an agent file, need
//! trust in that file, get only the variables that commands get, and their tools need `--allow`.

mod entry;
mod memory;
mod package;
mod process;
mod project;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::Definition;
use posse_core::grant::Grant;
use posse_core::pattern::ToolPattern;
use posse_core::text::visible;
use posse_core::tool::ToolSpec;
use posse_core::tool_names::suggestion;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_net::AddressException;
use posse_runtime::ports::Tool;
use posse_sandbox::config::SandboxOverrides;
use posse_sandbox::launch::ProcessLauncher;
use serde_json::Value;

pub use self::entry::McpServerConfig;
pub use self::memory::PinFiles;
pub use self::package::ProgramSearch;
use self::process::ConfinedStarter;
pub use self::project::{PROJECT_FILE, ProjectFile};
use crate::client::{McpClient, RemoteServer, ServerConfig, ServerEndpoint, ServerName, sha256_hex};

/// Builds the launcher of a server from its own sandbox settings and the paths it reads.
pub type LauncherFactory<'a> =
    dyn Fn(Option<&SandboxOverrides>, Vec<PathBuf>) -> Result<ProcessLauncher> + 'a;

/// Everything that a registry is read from. Variables, directories and trust are values of the program that asks.
pub struct RegistrySources<'a> {
    /// Servers of the operator's configuration, by name.
    pub operator: &'a BTreeMap<String, McpServerConfig>,
    /// Directory of the project, for its `.mcp.json`.
    pub root: &'a Path,
    /// Tells if a person trusts a file of this directory with this hash.
    pub is_trusted: &'a dyn Fn(&Path, &str) -> bool,
    /// Lists the agents that may run here. Called only if a server is wanted that nobody else names.
    pub agents: &'a dyn Fn() -> Vec<Arc<Definition>>,
    /// Looks up a variable for a server of the operator.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Variables that hold keys of providers. No server gets them.
    pub withheld: &'a [String],
    pub search: ProgramSearch,
    /// Builds the launcher of a server with its own sandbox settings and paths to read.
    pub launcher: &'a LauncherFactory<'a>,
    /// Rights of a server's process.
    pub grant: Grant,
    /// Directory of accepted tool definitions and tokens.
    pub state: PathBuf,
    /// Private addresses that a sign-in may reach.
    pub exceptions: Vec<AddressException>,
}

/// MCP servers of a session, by origin.
#[derive(Default)]
pub struct ServerRegistry {
    all: Vec<NamedServer>,
    /// Servers of the operator with invalid configuration; `problems` has the reasons.
    unusable: Vec<ServerName>,
    problems: Vec<Error>,
}

/// Servers to load, selected by entries of tool lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFilter<'a> {
    These(&'a [String]),
    All,
}

/// A server and its origin.
pub struct NamedServer {
    pub server: Arc<McpClient>,
    pub origin: ServerOrigin,
    /// Description of its sandbox; empty for a remote server.
    pub confinement: LocalizedText,
    /// Description of its command or address, for people.
    pub what: String,
}

/// Place where a server is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerOrigin {
    Operator,
    /// A file of the project, or an agent file.
    File(PathBuf),
}

impl ServerRegistry {
    /// Creates a registry without servers.
    pub fn none() -> Self {
        Self::default()
    }

    /// Loads the servers without starting any. Reads agent files only if the filter needs them.
    pub fn load(sources: &RegistrySources<'_>, wanted: ServerFilter<'_>) -> Self {
        let mut servers = Self::none();
        for (name, config) in sources.operator {
            let made = ServerName::parse(name).and_then(|name| {
                let made = config.server(name, sources.variable, |name| {
                    sources.withheld.iter().any(|withheld| withheld == name)
                })?;
                let packages = match &made.endpoint {
                    ServerEndpoint::Stdio(program) => sources.search.packages(program),
                    ServerEndpoint::Http(_) => Vec::new(),
                };
                let launcher = (sources.launcher)(config.sandbox.as_ref(), packages)?;
                Ok((made, launcher))
            });
            if made.is_err() {
                servers.unusable.extend(ServerName::parse(name));
            }
            servers.add(sources, ServerOrigin::Operator, made);
        }
        servers.add_project(sources);
        let is_missing = |entry: &String| !servers.covers(entry);
        if wanted == ServerFilter::All
            || matches!(wanted, ServerFilter::These(entries) if entries.iter().any(is_missing))
        {
            servers.add_agents(sources);
        }
        servers
    }

    /// Returns the usable servers.
    pub fn all(&self) -> &[NamedServer] {
        &self.all
    }

    /// Returns the reasons why other servers cannot be used.
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    /// Finds a server by name.
    pub fn find(&self, name: &str) -> Result<&NamedServer> {
        let found = self.all.iter().find(|named| named.server.config().name.as_str() == name);
        found.ok_or_else(|| self.unknown(name))
    }

    /// Builds the error for a name or tool list entry that matches no server.
    pub fn unknown(&self, name: &str) -> Error {
        let known: Vec<&str> = self.all.iter().map(|named| named.server.config().name.as_str()).collect();
        let hint = match known.is_empty() {
            true => localized!("there-are-none"),
            false => suggestion(name.strip_prefix("mcp__").unwrap_or(name), &known),
        };
        Error::new(ErrorCode::McpServerUnavailable, localized!("mcp-server-unknown", name = visible(name)))
            .hint(hint)
    }

    /// Tells if a tool list entry such as `mcp__github` matches a server, including an unusable one: that has no
    /// tools, and the rest of the list still counts.
    pub fn covers(&self, entry: &str) -> bool {
        self.all.iter().any(|named| named.is_meant(entry))
            || self.unusable.iter().any(|name| is_about(entry, name))
    }

    /// Lists the tools of wanted servers that are not known yet, concurrently. A server that fails has none.
    pub async fn meet(&self, wanted: &[String]) -> Vec<Error> {
        let mut meetings = tokio::task::JoinSet::new();
        for named in self.all.iter().filter(|named| wanted.iter().any(|entry| named.is_meant(entry))) {
            let server = named.server.clone();
            meetings.spawn(async move { server.meet().await });
        }
        let met = meetings.join_all().await;
        met.into_iter().filter_map(|met| met.err()).collect()
    }

    /// Adds the accepted tools, marks those of projects as foreign with their digest, and collects problems.
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

    /// Collects notes for people.
    pub fn remarks(&self) -> Vec<String> {
        self.all.iter().flat_map(|named| named.server.remarks()).map(|text| text.to_string()).collect()
    }

    /// Closes all servers; each may take a moment to exit.
    pub async fn close(&self) {
        let mut closing = tokio::task::JoinSet::new();
        for named in &self.all {
            let server = named.server.clone();
            closing.spawn(async move { server.close().await });
        }
        closing.join_all().await;
    }

    fn add(
        &mut self,
        sources: &RegistrySources<'_>,
        origin: ServerOrigin,
        made: Result<(ServerConfig, ProcessLauncher)>,
    ) {
        let (mut config, launch) = match made {
            Ok(made) => made,
            Err(e) => return self.problems.push(e),
        };
        let is_taken =
            |named: &NamedServer| named.server.config().name.canonical() == config.name.canonical();
        if self.all.iter().any(is_taken) {
            let text = localized!("mcp-server-twice", server = config.name, origin = origin.to_string());
            return self.problems.push(Error::new(ErrorCode::ConfigInvalid, text));
        }
        let (confinement, what) = match &config.endpoint {
            ServerEndpoint::Stdio(program) => (
                LocalizedText::from(launch.sandbox.describe()),
                [std::slice::from_ref(&program.command), &program.args[..]].concat().join(" "),
            ),
            ServerEndpoint::Http(remote) => (localized!("mcp-elsewhere"), remote.url.to_string()),
        };
        if let ServerEndpoint::Http(RemoteServer { oauth: Some(oauth), .. }) = &mut config.endpoint {
            oauth.exceptions.clone_from(&sources.exceptions);
        }
        let memory = Arc::new(PinFiles::at(sources.state.clone()));
        let starter = Arc::new(ConfinedStarter::new(launch, sources.grant.clone()));
        let server = McpClient::new(config, starter, memory.clone(), Some(memory));
        self.all.push(NamedServer { server, origin, confinement, what });
    }

    /// Adds the servers of the project's file, if exactly this content is trusted.
    fn add_project(&mut self, sources: &RegistrySources<'_>) {
        let Some(file) = ProjectFile::find(sources.root) else { return };
        let file = match file {
            Ok(file) => file,
            Err(e) => return self.problems.push(e),
        };
        if !(sources.is_trusted)(&file.root, &file.hash()) {
            let text = localized!("mcp-file-not-trusted", path = file.path.display());
            return self.problems.push(
                Error::new(ErrorCode::AgentNotTrusted, text).hint(localized!("mcp-file-not-trusted-hint")),
            );
        }
        match file.servers() {
            Ok(servers) => {
                servers.iter().for_each(|(name, value)| self.add_foreign(sources, &file.path, name, value))
            }
            Err(e) => self.problems.push(e),
        }
    }

    /// Adds the servers of trusted agents.
    fn add_agents(&mut self, sources: &RegistrySources<'_>) {
        for definition in (sources.agents)() {
            let path = PathBuf::from(&definition.origin.path);
            for (name, value) in definition.mcp_servers.iter().filter(|(_, value)| !value.is_null()) {
                self.add_foreign(sources, &path, name, value);
            }
        }
    }

    fn add_foreign(&mut self, sources: &RegistrySources<'_>, path: &Path, name: &str, value: &Value) {
        let made = ServerName::parse(name).and_then(|name| {
            let launcher = (sources.launcher)(None, Vec::new())?;
            let of_commands = launcher.environment.select(&[]);
            let variable = |wanted: &str| {
                let found = of_commands.iter().find(|(name, _)| name == wanted);
                found.and_then(|(_, value)| value.clone().into_string().ok())
            };
            Ok((entry::foreign(name, path.display().to_string(), value, variable)?, launcher))
        });
        let made = made.map_err(|e| {
            Error::new(e.code(), e.message().map(|text| format!("{}: {text}", path.display())))
                .hint(e.advice().unwrap_or_default())
        });
        self.add(sources, ServerOrigin::File(path.to_owned()), made);
    }
}

impl NamedServer {
    /// Identifies a tool by its server and description: a change makes it another tool.
    fn digest(&self, spec: &ToolSpec) -> String {
        let ToolSpec { name, description, input_schema, .. } = spec;
        let server = self.server.config().key();
        sha256_hex([&server[..], name, description, input_schema].join("\n").as_bytes())
    }

    /// Tells if a tool list entry means this server or one of its tools.
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
            ServerOrigin::Operator => f.write_str(&localized!("mcp-origin-operator")),
            ServerOrigin::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Tells if a tool list entry is about MCP tools.
pub fn is_about_servers(entry: &str) -> bool {
    entry.trim().to_ascii_lowercase().starts_with("mcp__")
}
