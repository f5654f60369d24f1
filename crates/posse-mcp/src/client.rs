//! Servers that agents use: started when needed, shared by a session, their tools under names of their own.
//!
//! A server is somebody else's program. What it says is data: bounded, made visible, said to be its words. What it says about its tools
//! is remembered as a whole, and what changed is not used before a person said yes. Whatever it does, only its own tools fail.

mod connection;
mod definition;
#[cfg(test)]
mod far;
#[cfg(test)]
mod hostile;
mod http;
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

pub use definition::{Annotations, Definitions, Offered, hash, offered};
pub use oauth::{Begun, Granted, Keeper, OAuth, Proof, Record, SignIn, Standing, Vault};
pub use pins::{Difference, Kind, Known, Memory};
pub use server::Server;

/// What one message of a server may have. Larger than any result that a model can use, small enough to hold a few of.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
pub const STARTUP: Duration = Duration::from_secs(30);
pub const CALL: Duration = Duration::from_secs(120);
const SERVER_NAME_MAX: usize = 32;

/// What a server is called here: part of the names of its tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerName(String);

impl ServerName {
    /// Letters, digits, `-` and `_`; no `__`, which is what separates it from the names of its tools.
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

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As it stands in the names of tools. Two servers must not have the same.
    pub fn canonical(&self) -> String {
        own_name(&self.0).into_owned()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server and how it is dealt with. It cannot be printed: it may hold secrets.
#[derive(Clone)]
pub struct ServerConfig {
    pub name: ServerName,
    pub endpoint: Endpoint,
    /// Who named it: the operator, or a project. Servers of two origins have nothing in common.
    pub origin: String,
    /// How long it may take to be ready, and to list its tools.
    pub startup: Duration,
    /// How long one call may take.
    pub call: Duration,
    pub annotations: Annotations,
}

#[derive(Clone)]
pub enum Endpoint {
    Stdio(Program),
    Http(Remote),
}

/// A program that speaks the protocol on its standard input and output.
#[derive(Clone)]
pub struct Program {
    pub command: String,
    pub args: Vec<String>,
    /// Beside what every program gets.
    pub env: Vec<(String, String)>,
    /// Where it runs, if not in the workspace.
    pub directory: Option<PathBuf>,
}

/// A server elsewhere.
#[derive(Clone)]
pub struct Remote {
    pub url: Uri,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub bearer: Option<String>,
    /// How somebody signs in to it, if no token is named.
    pub oauth: Option<Box<OAuth>>,
}

impl ServerConfig {
    /// What its definitions are remembered by: another program, address or origin is another server.
    pub fn key(&self) -> String {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        part(&self.origin);
        part(self.name.as_str());
        match &self.endpoint {
            Endpoint::Stdio(program) => {
                part("stdio");
                part(&program.command);
                program.args.iter().for_each(|arg| part(arg));
            }
            Endpoint::Http(remote) => {
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

/// Starts programs, held to what they may do. The only way to a process from here.
pub trait Starter: Send + Sync {
    /// The error is why it must not or could not be started.
    fn start<'a>(
        &'a self,
        server: &'a ServerName,
        program: &'a Program,
    ) -> BoxFuture<'a, Result<Process, String>>;
}

/// A program under way.
pub struct Process {
    /// What it reads.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub life: Box<dyn Life>,
}

/// Nothing of the program is left when this is ended, and soon after it is dropped.
pub trait Life: Send {
    /// Returns the last of what it wrote to standard error.
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
