//! MCP client: servers whose tools agents may call. A session starts each server on demand and shares it
//! among tasks.
//!
//! A server is a third-party program, so its output is untrusted data: bounded, made visible, and labeled as
//! the server's words. Tool definitions are pinned by content; a changed definition stays unused until a
//! person accepts it. A failing server breaks only its own tools.

mod connection;
mod definition;
#[cfg(test)]
mod hostile;
mod http;
#[cfg(test)]
mod http_tests;
mod input;
mod lines;
mod oauth;
mod pace;
mod pins;
mod result;
mod server;
mod tap;
mod tool;

use std::fmt;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Uri};
use posse_core::text::visible;
use posse_core::tool::own_name;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use definition::sha256_hex;
pub use definition::{AnnotationTrust, Definitions, OfferedTool, hash, offered};
pub use oauth::{
    ClientProof, GrantedToken, LoginStanding, OAuth, SignIn, SignInStart, TokenManager, TokenRecord,
    TokenVault,
};
pub use pins::{DifferenceKind, PinDifference, PinStore, ToolPins};
pub use server::McpClient;

/// Maximum size of one message from a server. Larger than any result a model can use, small enough to buffer
/// a few at once.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Default limit for starting a server and listing its tools.
pub const STARTUP: Duration = Duration::from_secs(30);
/// Default limit for one tool call.
pub const CALL: Duration = Duration::from_secs(120);
const SERVER_NAME_MAX: usize = 32;

/// The configured name of a server; part of the names of its tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerName(String);

impl ServerName {
    /// Parses a name of letters, digits, `-` and `_`. Rejects `__`, which separates the server from the tool
    /// in tool names.
    pub fn parse(raw: &str) -> Result<Self> {
        let legal = raw.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let ends = |c: char| c == '-' || c == '_';
        if raw.is_empty()
            || raw.len() > SERVER_NAME_MAX
            || !legal
            || raw.starts_with(ends)
            || raw.ends_with(ends)
            || own_name(raw).contains("__")
        {
            let name = visible(posse_core::text::prefix(raw, 80)).into_owned();
            return Err(Error::new(
                ErrorCode::ConfigInvalid,
                localized!("mcp-server-name-invalid", name, most = SERVER_NAME_MAX),
            ));
        }
        Ok(Self(raw.to_owned()))
    }

    /// Returns the name as configured.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form used in tool names. Two servers must not share it.
    pub fn canonical(&self) -> String {
        own_name(&self.0).into_owned()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server and its settings. Implements no `Debug`, because it may hold secrets.
#[derive(Clone)]
pub struct ServerConfig {
    pub name: ServerName,
    pub endpoint: ServerEndpoint,
    /// The source of this entry: the operator's configuration or a project. Servers of different origins
    /// share nothing.
    pub origin: String,
    /// Limit for starting the server and listing its tools.
    pub startup: Duration,
    /// Limit for one call.
    pub call: Duration,
    pub annotations: AnnotationTrust,
}

/// The transport to a server.
#[derive(Clone)]
pub enum ServerEndpoint {
    Stdio(ServerProgram),
    Http(RemoteServer),
}

/// A program that speaks the protocol on its standard input and output.
#[derive(Clone)]
pub struct ServerProgram {
    pub command: String,
    pub args: Vec<String>,
    /// Variables added to the environment that every program gets.
    pub env: Vec<(String, String)>,
    /// Working directory; the workspace if unset.
    pub directory: Option<PathBuf>,
}

/// A server reached over HTTP.
#[derive(Clone)]
pub struct RemoteServer {
    pub url: Uri,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub bearer: Option<String>,
    /// Sign-in settings; used when no bearer token is configured.
    pub oauth: Option<Box<OAuth>>,
}

impl ServerConfig {
    /// Returns the key under which the pinned definitions are stored. Another command, address or origin
    /// gives another key.
    pub fn key(&self) -> String {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        part(&self.origin);
        part(self.name.as_str());
        match &self.endpoint {
            ServerEndpoint::Stdio(program) => {
                part("stdio");
                part(&program.command);
                program.args.iter().for_each(|arg| part(arg));
            }
            ServerEndpoint::Http(remote) => {
                part("http");
                part(&remote.url.to_string());
            }
        }
        hasher.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Starts server programs with the restrictions that apply to them; the only way to spawn a process from
/// here.
pub trait ProgramStarter: Send + Sync {
    /// Starts the program. The error says why it must not or could not start.
    fn start<'a>(
        &'a self,
        server: &'a ServerName,
        program: &'a ServerProgram,
    ) -> BoxFuture<'a, Result<ServerProcess, String>>;
}

/// A running server program.
pub struct ServerProcess {
    /// The program's standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program's standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub life: Box<dyn ProcessLife>,
}

/// A handle that ends the program: at once when ended, soon after when dropped. No child process survives.
pub trait ProcessLife: Send {
    /// Ends the program and returns the tail of its standard error.
    fn end(self: Box<Self>) -> BoxFuture<'static, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_server_cannot_reach_into_that_of_a_tool() {
        for good in ["github", "git-hub", "A1", "my_server"] {
            assert!(ServerName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a__b", "a-_b", "_a", "a-", "a b", "a.b", "☃", "a\u{202e}", &"x".repeat(33)] {
            assert!(ServerName::parse(bad).is_err(), "{bad}");
        }
    }
}
