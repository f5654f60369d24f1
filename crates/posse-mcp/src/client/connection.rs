//! A connection to one server: handshake, tool list and calls. It offers the server nothing in return: no
//! sampling, no elicitation, no roots.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use posse_core::text::{prefix, visible};
use posse_messages::{LocalizedText, localized};
use posse_net::{ConnectionPool, is_loopback, system_proxies};
use posse_runtime::ports::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ElicitationCreateRequestMethod, ErrorCode, ErrorData, Implementation,
    JsonObject, ListRootsRequestMethod, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions,
    RequestContext, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::definition::{Definitions, collect};
use super::http::HttpTransport;
use super::input::{ROUNDS_MAX, declined, pause};
use super::lines::MessageLines;
use super::oauth::TokenManager;
use super::tap::ListTap;
use super::{MESSAGE_BYTES_MAX, ProcessLife, ProgramStarter, RemoteServer, ServerConfig, ServerEndpoint};

/// Maximum pages of a tool list; a longer one counts as endless.
const PAGES_MAX: usize = 64;
/// Minimum refresh interval of a list with a TTL.
const LIST_AGE_MIN: Duration = Duration::from_secs(60);
/// Time limit for notifying the server of a cancellation.
const GOODBYE: Duration = Duration::from_secs(1);
/// Time limit for opening a connection.
const DIAL: Duration = Duration::from_secs(10);
/// Maximum bytes of server text in an error.
const WORDS_MAX: usize = 1_000;
/// Metadata key that carries the same value for every attempt at a call, for servers that deduplicate.
const IDEMPOTENCY_KEY: &str = "dev.posse/idempotency-key";

/// A live connection to one server.
pub(super) struct ServerConnection {
    service: RunningService<RoleClient, RefusingClient>,
    tap: Arc<ListTap>,
    is_stale: Arc<AtomicBool>,
    /// End of the TTL that the server gave its tool list, if any.
    fresh_until: StdMutex<Option<Instant>>,
    life: Mutex<Option<Box<dyn ProcessLife>>>,
    /// Allows one listing at a time, because the tap records its answers.
    listing: Mutex<()>,
}

/// The outcome of a call.
pub(super) enum CallResult {
    Answered(Box<CallToolResult>, AskedParty),
    /// The server or the SDK reported an error.
    Failed(LocalizedText),
    /// No answer came; the call may or may not have taken effect.
    Lost(LocalizedText),
}

/// Records whether the server asked for input before it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedParty {
    Nobody,
    /// It asked a person and was told that they decline.
    Person,
}

impl ServerConnection {
    /// Connects and shakes hands before `until`. The error says why not and includes the last lines of
    /// standard error.
    pub fn open<'a>(
        config: &'a ServerConfig,
        starter: &'a dyn ProgramStarter,
        keeper: Option<Arc<TokenManager>>,
        until: Instant,
    ) -> BoxFuture<'a, Result<Self, LocalizedText>> {
        Box::pin(async move {
            let (tap, is_stale) = (Arc::<ListTap>::default(), Arc::<AtomicBool>::default());
            let refuser = RefusingClient { is_stale: is_stale.clone() };
            let too_long = |_| too_long(config.startup);
            let (service, life) = match &config.endpoint {
                ServerEndpoint::Stdio(program) => {
                    let process =
                        timeout_at(until, starter.start(&config.name, program)).await.map_err(too_long)??;
                    let lines = MessageLines::new(process.output, process.input, tap.clone());
                    let shaken = timeout_at(until, refuser.serve_with_lifecycle(lines, lifecycle())).await;
                    match shaken.map_err(too_long).and_then(|shaken| shaken.map_err(|error| unshaken(&error)))
                    {
                        Ok(service) => (service, Some(process.life)),
                        Err(why) => return Err(with_words(why, process.life.end().await)),
                    }
                }
                ServerEndpoint::Http(remote) => {
                    let transport = reach(remote, tap.clone(), keeper)?;
                    let shaken =
                        timeout_at(until, refuser.serve_with_lifecycle(transport, lifecycle())).await;
                    (shaken.map_err(too_long)?.map_err(|error| unshaken(&error))?, None)
                }
            };
            let (fresh_until, life, listing) = (StdMutex::default(), Mutex::new(life), Mutex::new(()));
            Ok(Self { service, tap, is_stale, fresh_until, life, listing })
        })
    }

    /// Returns whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Returns whether the tool list must be read again: the server announced a change, or its TTL expired.
    pub fn is_stale(&self) -> bool {
        let is_old = self.fresh_until().is_some_and(|until| Instant::now() >= until);
        is_old || self.is_stale.load(Ordering::Acquire)
    }

    fn fresh_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.fresh_until.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Lists all tools as the server describes them, with the problems found.
    pub async fn list(&self) -> Result<(Definitions, Vec<LocalizedText>), LocalizedText> {
        let _one = self.listing.lock().await;
        self.is_stale.store(false, Ordering::Release);
        self.tap.open();
        let names = self.names().await;
        let raw = self.tap.close();
        Ok(collect(&names?, raw))
    }

    async fn names(&self) -> Result<Vec<String>, LocalizedText> {
        let (mut names, mut cursor) = (Vec::new(), None);
        let mut age_ms = None;
        for _ in 0..PAGES_MAX {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            // Bypasses the SDK's own list call, which may answer from a cache.
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let page = match self.service.send_request(request).await {
                Ok(ServerResult::ListToolsResult(page)) => page,
                Ok(_) => return Err(localized!("mcp-answer-not-understood")),
                Err(error) => return Err(failure(&error)),
            };
            names.extend(page.tools.into_iter().map(|tool| tool.name.into_owned()));
            age_ms = [age_ms, page.ttl_ms].into_iter().flatten().min();
            cursor = page.next_cursor;
            if cursor.is_none() {
                *self.fresh_until() = age_ms.and_then(|age_ms| {
                    Instant::now().checked_add(Duration::from_millis(age_ms).max(LIST_AGE_MIN))
                });
                return Ok(names);
            }
        }
        Err(localized!("mcp-list-endless", most = PAGES_MAX))
    }

    /// Calls a tool. When `over` resolves first, it cancels the request at the server. A server that asks for
    /// input gets a decline and is asked again with its request state.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        key: &str,
        over: impl Future<Output = LocalizedText>,
    ) -> CallResult {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let mut meta = JsonObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), Value::from(key));
        params.meta = Some(RequestMetaObject::from(meta));
        tokio::pin!(over);
        let mut asked = AskedParty::Nobody;
        for round in 0..ROUNDS_MAX {
            let wanted = match self.once(params.clone(), over.as_mut()).await {
                Ok(ServerResult::CallToolResult(result)) => {
                    return CallResult::Answered(Box::new(result), asked);
                }
                Ok(ServerResult::InputRequiredResult(wanted)) => wanted,
                Ok(_) => return CallResult::Failed(localized!("mcp-answer-not-understood")),
                Err(called) => return called,
            };
            let Some(answers) = declined(&wanted.input_requests.unwrap_or_default()) else {
                return CallResult::Failed(localized!("mcp-wants-input"));
            };
            if answers.is_empty() {
                tokio::select! {
                    why = &mut over => return CallResult::Lost(why),
                    () = tokio::time::sleep(pause(round)) => {}
                }
            } else {
                asked = AskedParty::Person;
            }
            params.input_responses = (!answers.is_empty()).then_some(answers);
            params.request_state = wanted.request_state;
        }
        CallResult::Failed(localized!("mcp-asks-endlessly", most = ROUNDS_MAX))
    }

    /// Sends one request and waits for its answer.
    async fn once(
        &self,
        params: CallToolRequestParams,
        mut over: Pin<&mut impl Future<Output = LocalizedText>>,
    ) -> Result<ServerResult, CallResult> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let mut handle = tokio::select! {
            biased;
            why = over.as_mut() => return Err(CallResult::Lost(why)),
            sent = self.service.send_request_with_option(request, options) => {
                sent.map_err(|error| CallResult::Lost(failure(&error)))?
            }
        };
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            why = over => {
                let _ = tokio::time::timeout(GOODBYE, handle.cancel(Some(why.english().to_owned()))).await;
                return Err(CallResult::Lost(why));
            }
        };
        answer.map_err(|error| match &error {
            ServiceError::McpError(said) => {
                // Our tool list is outdated: it disagrees with the server's about headers.
                if said.code == ErrorCode::HEADER_MISMATCH {
                    self.is_stale.store(true, Ordering::Release);
                }
                CallResult::Failed(failure(&error))
            }
            _ => CallResult::Lost(failure(&error)),
        })
    }

    /// Closes the connection, ends the process and returns the tail of its standard error.
    pub async fn close(&self) -> String {
        self.service.cancellation_token().cancel();
        match self.life.lock().await.take() {
            Some(life) => life.end().await,
            None => String::new(),
        }
    }
}

/// Selects the newest protocol, with a fallback to the version that starts with `initialize`.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

fn reach(
    remote: &RemoteServer,
    tap: Arc<ListTap>,
    keeper: Option<Arc<TokenManager>>,
) -> Result<StreamableHttpClientTransport<HttpTransport>, LocalizedText> {
    let host = remote.url.host().unwrap_or_default();
    let pool = ConnectionPool::new(&remote.url, system_proxies(is_loopback(host)), DIAL)
        .map_err(|cause| cause.to_string())?;
    let headers: HashMap<_, _> = remote.headers.iter().cloned().collect();
    let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.to_string())
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE_BYTES_MAX);
    if let Some(bearer) = &remote.bearer {
        config = config.auth_header(bearer.clone());
    }
    Ok(StreamableHttpClientTransport::with_client(HttpTransport::new(pool, tap, keeper), config))
}

fn unshaken(error: &ClientInitializeError) -> LocalizedText {
    match error {
        ClientInitializeError::JsonRpcError(error) => words(&error.message).into(),
        ClientInitializeError::ConnectionClosed(_) => localized!("mcp-server-ended"),
        // Report the cause and leave out the SDK's internal location.
        ClientInitializeError::TransportError { error, .. } => {
            words(&posse_net::causes(&*error.error)).into()
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => unshaken(fallback),
        other => words(&posse_net::causes(other)).into(),
    }
}

fn failure(error: &ServiceError) -> LocalizedText {
    match error {
        ServiceError::McpError(error) => words(&error.message).into(),
        ServiceError::TransportClosed => localized!("mcp-server-ended"),
        ServiceError::TransportSend(error) => words(&posse_net::causes(&*error.error)).into(),
        other => words(&posse_net::causes(other)).into(),
    }
}

pub(super) fn too_long(patience: Duration) -> LocalizedText {
    localized!("mcp-start-too-long", seconds = patience.as_secs_f64())
}

/// Bounds server text and makes control characters visible.
pub(super) fn words(text: &str) -> String {
    visible(prefix(text.trim(), WORDS_MAX)).into_owned()
}

pub(super) fn with_words(why: LocalizedText, last: String) -> LocalizedText {
    match last.trim() {
        "" => why,
        last => localized!("mcp-last-words", why, last = words(posse_core::text::suffix(last, WORDS_MAX))),
    }
}

/// The client side as the server sees it: it calls tools and refuses every request.
struct RefusingClient {
    is_stale: Arc<AtomicBool>,
}

#[expect(deprecated, reason = "servers of older protocols ask for roots")]
impl ClientHandler for RefusingClient {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("posse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    // The SDK refuses sampling by default.

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Release);
    }
}
