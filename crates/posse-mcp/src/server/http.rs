//! Streamable HTTP transport. A client must present the token and address this server: the `WebHost` check stops
//! DNS rebinding, the `Origin` check stops pages of other sites. No response renders as a web page. Clients
//! without the token cannot crowd out those that have it.

mod connections;
mod guard;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use self::connections::{ConnectionPlace, ConnectionTable};
use self::guard::HostError;
pub use self::guard::RequestGuard;
use super::wire::LINE_BYTES_MAX;

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";
/// Time limit for a request's head.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, for example when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Headers that keep a browser from rendering a response as a page. A response may repeat text of the
/// request, a model or a file.
const HARMLESS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];
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
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Serves until `ending` fires. Each protocol session gets a handler of its own.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    handler: impl Fn() -> H + Send + Sync + 'static,
    guard: RequestGuard,
    ending: CancellationToken,
) {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(guard.hosts.clone())
        .with_allowed_origins(guard.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(LINE_BYTES_MAX)
        .with_cancellation_token(ending.clone());
    let service: Service<H> = StreamableHttpService::new(move || Ok(handler()), Arc::default(), config);
    let (guard, connections) = (Arc::new(guard), Arc::new(ConnectionTable::default()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => return,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, guard, ending) = (service.clone(), guard.clone(), ending.clone());
        let place = Arc::new(connections.enter(peer.ip()));
        tokio::spawn(async move {
            tokio::select! {
                // Check an arrived token before the connection can be evicted.
                biased;
                () = converse(stream, service, guard, place.clone()) => {}
                () = place.evicted() => {}
                () = ending.cancelled() => {}
            }
        });
    }
}

async fn converse<H: ServerHandler>(
    stream: TcpStream,
    service: Service<H>,
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
    service: &Service<H>,
    guard: &RequestGuard,
    place: &ConnectionPlace,
    request: Request<Incoming>,
) -> Answer {
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
        PATH => service.handle(request).await,
        _ => plain(StatusCode::NOT_FOUND, "Not found: the server is at /mcp"),
    }
}

/// Builds a refusal that also closes the connection.
fn last(status: StatusCode, text: &'static str) -> Answer {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

/// Adds the headers that keep a browser from rendering the response as a page.
fn harmless(mut answer: Answer) -> Answer {
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
