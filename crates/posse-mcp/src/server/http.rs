//! Streamable HTTP transport. A client must present the token and address this server: the `WebHost` check stops
//! DNS rebinding, the `Origin` check stops pages of other sites. No response renders as a web page. Clients
//! without the token cannot crowd out those that have it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_net::door::{ConnectionPlace, ConnectionTable, HARMLESS, HEAD_WAIT, HostError, accept};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::wire::LINE_BYTES_MAX;
pub use posse_net::door::RequestGuard;

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// Content types of the protocol; any other response becomes plain text.
const SPOKEN: [&str; 2] = ["application/json", "text/event-stream"];
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Binds the listening socket.
pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| {
        Error::new(ErrorCode::Io, localized!("mcp-address-unusable", address))
            .hint(localized!("mcp-address-unusable-hint"))
            .caused_by(e)
    })
}

type Service<H> = StreamableHttpService<H, LocalSessionManager>;
/// Response of the endpoint.
pub type EndpointResponse = Response<BoxBody<Bytes, Infallible>>;

/// The MCP endpoint without access rules: the server that it is mounted on checks token, host and connection first.
pub struct McpEndpoint<H: ServerHandler>(Service<H>);

impl<H: ServerHandler> Clone for McpEndpoint<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H: ServerHandler> McpEndpoint<H> {
    /// Creates the endpoint. Each protocol session gets a handler of its own. Hosts and origins of `guard` are checked again
    /// by the protocol's own implementation.
    pub fn new(
        handler: impl Fn() -> H + Send + Sync + 'static,
        guard: &RequestGuard,
        ending: CancellationToken,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(guard.hosts.clone())
            .with_allowed_origins(guard.origins.clone())
            .enforce_origin_validation()
            .with_max_request_body_bytes(LINE_BYTES_MAX)
            .with_cancellation_token(ending);
        Self(StreamableHttpService::new(move || Ok(handler()), Arc::default(), config))
    }

    /// Answers a request.
    pub async fn respond<B>(&self, request: Request<B>) -> EndpointResponse
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: std::fmt::Display + Send,
    {
        harmless(self.0.handle(request).await)
    }
}

/// Serves until `ending` fires.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    handler: impl Fn() -> H + Send + Sync + 'static,
    guard: RequestGuard,
    ending: CancellationToken,
) {
    let endpoint = McpEndpoint::new(handler, &guard, ending.clone());
    let guard = Arc::new(guard);
    let end = ending.clone();
    let serve_one = move |stream, _, place| {
        let (endpoint, guard, end) = (endpoint.clone(), guard.clone(), end.clone());
        async move {
            tokio::select! {
                biased;
                () = converse(stream, endpoint, guard, place) => {}
                () = end.cancelled() => {}
            }
        }
    };
    accept(listener, Arc::new(ConnectionTable::default()), ending, serve_one).await;
}

async fn converse<H: ServerHandler>(
    stream: TcpStream,
    service: McpEndpoint<H>,
    guard: Arc<RequestGuard>,
    place: Arc<ConnectionPlace>,
) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, guard, place) = (service.clone(), guard.clone(), place.clone());
        async move { Ok::<_, Infallible>(harmless(answer(&service, &guard, &place, request).await)) }
    });
    // A failing connection affects no other.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer<H: ServerHandler>(
    service: &McpEndpoint<H>,
    guard: &RequestGuard,
    place: &ConnectionPlace,
    request: Request<Incoming>,
) -> EndpointResponse {
    if !guard.knows(request.headers()) {
        let mut refused =
            last(StatusCode::UNAUTHORIZED, "Unauthorized: the bearer token is missing or wrong");
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    if !place.admit() {
        return last(StatusCode::SERVICE_UNAVAILABLE, "Service unavailable: too many connections");
    }
    match guard.check_host(&request) {
        Ok(()) => {}
        Err(HostError::Malformed) => {
            return last(StatusCode::BAD_REQUEST, "Bad request: one Host, as host or host:port");
        }
        Err(HostError::Foreign) => {
            return last(StatusCode::FORBIDDEN, "Forbidden: the Host is not this server");
        }
    }
    match request.uri().path() {
        PATH => service.respond(request).await,
        _ => plain(StatusCode::NOT_FOUND, "Not found: the server is at /mcp"),
    }
}

/// Builds a refusal that also closes the connection.
fn last(status: StatusCode, text: &'static str) -> EndpointResponse {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn plain(status: StatusCode, text: &'static str) -> EndpointResponse {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

/// Adds the headers that keep a browser from rendering the response as a page.
fn harmless(mut answer: EndpointResponse) -> EndpointResponse {
    let headers = answer.headers_mut();
    for (name, value) in HARMLESS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !SPOKEN.contains(&kind.split(';').next().unwrap_or_default().trim()) {
        headers.insert(CONTENT_TYPE, TEXT);
    }
    answer
}
