//! The life cycle of a server in a session: started on demand, shared by all tasks, restarted after a crash
//! with exponential backoff, ended with the session.

use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::{Tool, ToolInput, ToolOutput};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::connection::{CallResult, ServerConnection, too_long, with_words};
use super::definition::{Definitions, hash, offered, shown};
use super::oauth::{AccessDenied, OAuth, TokenManager, TokenVault};
use super::pins::{DifferenceKind, PinStore, ToolPins};
use super::result;
use super::tool::ServerTool;
use super::{ProgramStarter, RemoteServer, ServerConfig, ServerEndpoint};

/// Maximum failures per session before the server is given up.
const FAILURES_MAX: u32 = 5;
/// The pause after the first failure; each further one doubles it.
const PAUSE: Duration = Duration::from_millis(500);
/// Uptime after which a crash resets the failure count.
const STEADY: Duration = Duration::from_secs(600);

/// A server of a session.
pub struct McpClient {
    config: ServerConfig,
    starter: Arc<dyn ProgramStarter>,
    memory: Arc<dyn PinStore>,
    /// Token manager; `None` for a local server or one with a configured token.
    keeper: Option<Arc<TokenManager>>,
    /// Held during a start, so that concurrent calls start the server once.
    state: Mutex<ClientState>,
    remarks: StdMutex<Vec<LocalizedText>>,
}

#[derive(Default)]
struct ClientState {
    up: Option<ConnectedServer>,
    failures: u32,
    not_before: Option<Instant>,
    is_over: bool,
}

struct ConnectedServer {
    connection: Arc<ServerConnection>,
    /// The server's current tool definitions.
    definitions: Arc<Definitions>,
    since: Instant,
}

impl McpClient {
    /// Creates a server; with a vault, its configuration may allow sign-in.
    pub fn new(
        config: ServerConfig,
        starter: Arc<dyn ProgramStarter>,
        memory: Arc<dyn PinStore>,
        vault: Option<Arc<dyn TokenVault>>,
    ) -> Arc<Self> {
        let (state, remarks) = (Mutex::default(), StdMutex::default());
        let keeper = match (&config.endpoint, vault) {
            (ServerEndpoint::Http(RemoteServer { url, oauth: Some(oauth), .. }), Some(vault)) => {
                Some(Arc::new(TokenManager::new(url.clone(), config.key(), OAuth::clone(oauth), vault)))
            }
            _ => None,
        };
        Arc::new(Self { config, starter, memory, keeper, state, remarks })
    }

    /// Returns the server's configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns the token manager, if the server supports sign-in.
    pub fn keeper(&self) -> Option<&Arc<TokenManager>> {
        self.keeper.as_ref()
    }

    /// Loads the stored definitions without starting the server.
    pub fn known(&self) -> Result<Option<ToolPins>> {
        self.memory.load(&self.config.key())
    }

    /// Returns the accepted tools without starting the server; none if it was never listed.
    pub fn tools(self: &Arc<Self>) -> Result<Vec<Arc<dyn Tool>>> {
        Ok(self.known()?.map(|known| self.tools_of(&known)).unwrap_or_default())
    }

    /// Lists the tools of a server without a record. The first list is accepted, because the operator named
    /// the server.
    pub async fn meet(&self) -> Result<()> {
        if self.known()?.is_some() {
            return Ok(());
        }
        self.connected().await.map(|_| ()).map_err(|why| self.unavailable(why))
    }

    /// Lists the tools now and stores the differences.
    pub async fn look(&self) -> Result<ToolPins> {
        self.connected().await.map_err(|why| self.unavailable(why))?;
        Ok(self.known()?.unwrap_or_default())
    }

    /// Accepts the waiting definitions.
    pub fn accept(&self, known: ToolPins) -> Result<()> {
        self.memory.save(&self.config.key(), &known.accept())
    }

    /// Takes the pending remarks for a person; each is reported once.
    pub fn remarks(&self) -> Vec<LocalizedText> {
        std::mem::take(&mut *self.noted())
    }

    /// Ends the server for good.
    pub async fn close(&self) {
        let mut state = self.state.lock().await;
        state.is_over = true;
        if let Some(up) = state.up.take() {
            up.connection.close().await;
        }
    }

    fn tools_of(self: &Arc<Self>, known: &ToolPins) -> Vec<Arc<dyn Tool>> {
        let (tools, problems) = offered(&self.config.name, &known.accepted, self.config.annotations);
        for problem in problems {
            self.note(localized!("mcp-remark", server = self.config.name, text = problem));
        }
        let bound = |tool| Arc::new(ServerTool::new(self.clone(), tool)) as Arc<dyn Tool>;
        tools.into_iter().map(bound).collect()
    }

    /// Calls a tool, and starts the server first if needed.
    pub(super) async fn call(&self, tool: &str, pinned: &str, input: &ToolInput<'_>) -> ToolOutput {
        let patience = self.config.call.min(input.context.time_left);
        let until = Instant::now() + patience;
        let seconds = patience.as_secs_f64();
        let over = |is_called: bool| async move {
            tokio::select! {
                () = input.context.cancel.cancelled() => match is_called {
                    true => localized!("mcp-call-cancelled"),
                    false => localized!("mcp-cancelled-before"),
                },
                () = sleep_until(until) => match is_called {
                    true => localized!("mcp-call-too-long", seconds),
                    false => localized!("mcp-start-too-long", seconds),
                },
            }
        };
        let Ok(Value::Object(arguments)) = serde_json::from_str(input.arguments) else {
            return ToolOutput::mistake("the arguments are not a JSON object");
        };
        let ready = tokio::select! {
            biased;
            ready = self.ready(tool, pinned) => ready,
            why = over(false) => return self.error(why),
        };
        let connection = match ready {
            Ok(connection) => connection,
            Err(why) => return self.error(why),
        };
        match connection.call(tool, arguments, input.idempotency_key, over(true)).await {
            CallResult::Answered(result, asked) => {
                self.seen(result::output(&result, asked, input.context.output_bytes_max))
            }
            CallResult::Failed(why) => self.error(why),
            // A refused request had no effect, so the call is not in doubt.
            CallResult::Lost(why) if self.denied(&why).is_some() => self.error(why),
            CallResult::Lost(why) => ToolOutput::cut_off(self.error(why).text),
        }
    }

    /// Redacts tokens from the output, in case the server echoes them.
    fn seen(&self, output: ToolOutput) -> ToolOutput {
        match &self.keeper {
            Some(keeper) => ToolOutput { text: keeper.hide(output.text), ..output },
            None => output,
        }
    }

    fn denied(&self, why: &LocalizedText) -> Option<AccessDenied> {
        self.keeper.as_ref()?.denied(why.english())
    }

    /// Returns a connection if the tool's current definition matches the pinned hash.
    async fn ready(&self, tool: &str, pinned: &str) -> Result<Arc<ServerConnection>, LocalizedText> {
        let (connection, definitions) = self.connected().await?;
        match definitions.get(tool) {
            Some(raw) if hash(raw) == pinned => Ok(connection),
            Some(_) => Err(localized!("mcp-tool-changed", tool = shown(tool), server = self.config.name)),
            None => Err(localized!("mcp-tool-gone", tool = shown(tool))),
        }
    }

    async fn connected(&self) -> Result<(Arc<ServerConnection>, Arc<Definitions>), LocalizedText> {
        let mut state = self.state.lock().await;
        if state.is_over {
            return Err(localized!("mcp-session-over"));
        }
        if let Some(up) = &state.up
            && up.connection.is_closed()
        {
            let last = up.connection.close().await;
            state.failed();
            self.note(localized!(
                "mcp-remark",
                server = self.config.name,
                text = with_words(localized!("mcp-server-ended"), last)
            ));
        }
        if let Some(up) = &mut state.up {
            if up.connection.is_stale() {
                let until = Instant::now() + self.config.startup;
                up.definitions = Arc::new(self.listed(&up.connection, until).await?);
            }
            return Ok((up.connection.clone(), up.definitions.clone()));
        }
        if state.failures >= FAILURES_MAX {
            return Err(localized!("mcp-server-given-up", times = state.failures));
        }
        if let Some(at) = state.not_before {
            sleep_until(at).await;
        }
        match self.start().await {
            Ok(up) => {
                let both = (up.connection.clone(), up.definitions.clone());
                state.up = Some(up);
                Ok(both)
            }
            Err(why) => {
                // Not a failure of the server: a person may sign in at any moment.
                if self.denied(&why).is_none() {
                    state.failed();
                }
                Err(why)
            }
        }
    }

    async fn start(&self) -> Result<ConnectedServer, LocalizedText> {
        let until = Instant::now() + self.config.startup;
        let connection =
            ServerConnection::open(&self.config, &*self.starter, self.keeper.clone(), until).await?;
        match self.listed(&connection, until).await {
            Ok(definitions) => {
                let (connection, definitions) = (Arc::new(connection), Arc::new(definitions));
                Ok(ConnectedServer { connection, definitions, since: Instant::now() })
            }
            Err(why) => Err(with_words(why, connection.close().await)),
        }
    }

    /// Lists the tools and compares them with the accepted ones.
    async fn listed(
        &self,
        connection: &ServerConnection,
        until: Instant,
    ) -> Result<Definitions, LocalizedText> {
        let listing = timeout_at(until, connection.list()).await;
        let (now, problems) = listing.unwrap_or_else(|_| Err(too_long(self.config.startup)))?;
        for problem in problems {
            self.note(localized!("mcp-remark", server = self.config.name, text = problem));
        }
        // Fail closed: definitions that cannot be compared are not used.
        self.remember(&now).map_err(|error| error.message().clone())?;
        Ok(now)
    }

    fn remember(&self, now: &Definitions) -> Result<()> {
        let before = self.known()?;
        let known = match &before {
            Some(before) => before.told(now),
            None => ToolPins::first(now.clone()),
        };
        if before.as_ref() != Some(&known) {
            self.memory.save(&self.config.key(), &known)?;
        }
        for difference in known.differences() {
            let (tool, server) = (shown(&difference.tool), &self.config.name);
            self.note(match difference.kind {
                DifferenceKind::New => localized!("mcp-tool-new-remark", tool, server),
                DifferenceKind::Changed => localized!("mcp-tool-changed-remark", tool, server),
                DifferenceKind::Gone => localized!("mcp-tool-gone-remark", tool, server),
            });
        }
        Ok(())
    }

    fn error(&self, why: LocalizedText) -> ToolOutput {
        let Some(denied) = self.denied(&why) else {
            let text = localized!("mcp-remark", server = self.config.name, text = why);
            return self.seen(ToolOutput::error(text.english()));
        };
        let error = denied.error(self.config.name.as_str());
        let hint = error.advice().cloned().unwrap_or_default();
        ToolOutput::error(format!(
            "{}. Only a person can change that: {}",
            error.message().english(),
            hint.english()
        ))
    }

    fn unavailable(&self, why: LocalizedText) -> Error {
        if let Some(denied) = self.denied(&why) {
            return denied.error(self.config.name.as_str());
        }
        let text = localized!("mcp-remark", server = self.config.name, text = why);
        Error::new(ErrorCode::McpServerUnavailable, text).hint(localized!("mcp-server-unavailable-hint"))
    }

    fn note(&self, text: LocalizedText) {
        let mut noted = self.noted();
        // A server that is listed repeatedly gives the same remark each time.
        if noted.len() < 100 && !noted.contains(&text) {
            noted.push(text);
        }
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, Vec<LocalizedText>> {
        self.remarks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ClientState {
    fn failed(&mut self) {
        let was_steady = self.up.take().is_some_and(|up| up.since.elapsed() > STEADY);
        self.failures = if was_steady { 1 } else { self.failures + 1 };
        self.not_before = Some(Instant::now() + PAUSE * 2u32.pow(self.failures.min(8) - 1));
    }
}
