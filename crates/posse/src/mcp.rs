//! Tools of MCP servers for agents of a program.

use std::collections::HashMap;
use std::process::Stdio;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::client::{
    AnnotationTrust, CALL, McpClient, PinStore, ProcessLife, ProgramStarter, RemoteServer, STARTUP,
    ServerConfig, ServerEndpoint, ServerName, ServerProcess, ServerProgram, ToolPins,
};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, Tool};
use tokio::process::{Child, Command};

/// An MCP server whose tools an agent gets. Tools are named `mcp__server__tool`.
///
/// ```no_run
/// use posse::mcp::ToolServer;
/// use posse::prelude::*;
/// # async fn example() -> posse::Result<()> {
/// let server = ToolServer::program("git", "uvx", ["mcp-server-git"])?;
/// let agent = Agent::new("openai:gpt-5")?.tools(server.connect().await?);
/// # Ok(()) }
/// ```
pub struct ToolServer {
    config: ServerConfig,
}

impl ToolServer {
    /// Names a server that is a program, which speaks the protocol on its standard input and output. It runs with the rights
    /// of this process and ends with the last of its tools.
    pub fn program<I, S>(name: &str, command: impl Into<String>, args: I) -> Result<Self>
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let (command, args) = (command.into(), args.into_iter().map(Into::into).collect());
        let program = ServerProgram { command, args, env: Vec::new(), directory: None };
        Self::at(name, ServerEndpoint::Stdio(program))
    }

    /// Names a server that is reached over HTTP.
    pub fn url(name: &str, url: &str) -> Result<Self> {
        let url = Uri::from_str(url)
            .map_err(|e| Error::new(ErrorCode::ConfigInvalid, localized!("mcp-url-invalid")).caused_by(e))?;
        let remote = RemoteServer { url, headers: Vec::new(), bearer: None, oauth: None };
        Self::at(name, ServerEndpoint::Http(remote))
    }

    fn at(name: &str, endpoint: ServerEndpoint) -> Result<Self> {
        let config = ServerConfig {
            name: ServerName::parse(name)?,
            endpoint,
            origin: "program".to_owned(),
            startup: STARTUP,
            call: CALL,
            annotations: AnnotationTrust::Ignored,
        };
        Ok(Self { config })
    }

    /// Sets a variable of the server's environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ServerEndpoint::Stdio(program) = &mut self.config.endpoint {
            program.env.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the bearer token of a server that is reached over HTTP.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        if let ServerEndpoint::Http(remote) = &mut self.config.endpoint {
            remote.bearer = Some(token.into());
        }
        self
    }

    /// Believes what the server says about its tools: those it calls read-only then run side by side. Otherwise every call
    /// is taken to change something.
    pub fn trust_annotations(mut self) -> Self {
        self.config.annotations = AnnotationTrust::Believed;
        self
    }

    /// Connects to the server and lists its tools. A server that dies is started again when a tool is called.
    pub async fn connect(self) -> Result<Vec<Arc<dyn Tool>>> {
        let client =
            McpClient::new(self.config, Arc::new(PlainStarter), Arc::new(MemoryPins::default()), None);
        client.meet().await?;
        client.tools()
    }
}

/// Tool definitions that were accepted, for as long as the process lives.
#[derive(Default)]
struct MemoryPins(Mutex<HashMap<String, ToolPins>>);

impl PinStore for MemoryPins {
    fn load(&self, key: &str) -> Result<Option<ToolPins>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn save(&self, key: &str, known: &ToolPins) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), known.clone());
        Ok(())
    }
}

/// Starts server programs as plain children of this process.
struct PlainStarter;

impl ProgramStarter for PlainStarter {
    fn start<'a>(
        &'a self,
        _: &'a ServerName,
        program: &'a ServerProgram,
    ) -> BoxFuture<'a, Result<ServerProcess, String>> {
        Box::pin(async move {
            let mut command = Command::new(&program.command);
            command.args(&program.args).envs(program.env.iter().cloned()).kill_on_drop(true);
            if let Some(directory) = &program.directory {
                command.current_dir(directory);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child =
                command.spawn().map_err(|e| format!("`{}` cannot be started: {e}", program.command))?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(format!("`{}` has no pipes", program.command));
            };
            let life = Box::new(PlainProcess(child));
            Ok(ServerProcess { input: Box::new(input), output: Box::new(output), life })
        })
    }
}

struct PlainProcess(Child);

impl ProcessLife for PlainProcess {
    fn end(mut self: Box<Self>) -> BoxFuture<'static, String> {
        Box::pin(async move {
            // One that has exited already needs no kill.
            let _ = self.0.kill().await;
            String::new()
        })
    }
}
