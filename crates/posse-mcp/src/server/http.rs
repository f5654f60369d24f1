//! Streamable HTTP. Whoever connects must know the token, and must mean this server: a page that was rebound to this machine by its
//! name server says another host, and a page of another site says its origin. Nothing that is answered is a page: a browser that is
//! led here shows text and runs nothing.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::wire::LINE_BYTES_MAX;

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";
/// Connections at once; each may be a stream that stays open.
const CONNECTIONS_MAX: usize = 256;
/// Whoever has not sent its request's head by then does not mean to.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// After the system refused a connection, for want of descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is answered may repeat words of the request, of a model or of a file. So that no browser takes them for a page: no guessing
/// what they are, nothing loaded or run, no frame, nothing kept, nothing told to others.
const HARMLESS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];
/// What the protocol speaks. Everything else is text.
const SPOKEN: [&str; 2] = ["application/json", "text/event-stream"];
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Who is let in.
#[derive(Debug, Clone)]
pub struct Guard {
    /// `None` lets in whoever reaches the socket: for servers without anything to guard.
    pub token: Option<String>,
    /// Names under which the server may be reached.
    pub hosts: Vec<String>,
    /// Pages that may use it; none if empty. What is no page says no origin.
    pub origins: Vec<String>,
}

impl Guard {
    /// Of a server that only this machine is to reach.
    pub fn of_this_machine(token: Option<String>) -> Self {
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let origins =
            ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned).to_vec();
        Self { token, hosts, origins }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        given
            .is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("bearer") && same(given.trim(), token))
    }
}

/// Takes as long for a wrong token as for the right one.
fn same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| {
        Error::new(ErrorCode::Io, say!("mcp-address-unusable", address))
            .hint(say!("mcp-address-unusable-hint"))
            .caused_by(e)
    })
}

type Service<H> = StreamableHttpService<H, LocalSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Serves until it is told to end. Each session of the protocol gets a handler of its own.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    handler: impl Fn() -> H + Send + Sync + 'static,
    guard: Guard,
    ending: CancellationToken,
) {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(guard.hosts.clone())
        .with_allowed_origins(guard.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(LINE_BYTES_MAX)
        .with_cancellation_token(ending.clone());
    let service: Service<H> = StreamableHttpService::new(move || Ok(handler()), Arc::default(), config);
    let (guard, places) = (Arc::new(guard), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, guard, ending) = (service.clone(), guard.clone(), ending.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = converse(stream, service, guard) => {}
                () = ending.cancelled() => {}
            }
            drop(place);
        });
    }
}

async fn converse<H: ServerHandler>(stream: TcpStream, service: Service<H>, guard: Arc<Guard>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, guard) = (service.clone(), guard.clone());
        async move { Ok::<_, Infallible>(harmless(answer(&service, &guard, request).await)) }
    });
    // What goes wrong with one connection concerns nobody else.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer<H: ServerHandler>(service: &Service<H>, guard: &Guard, request: Request<Incoming>) -> Answer {
    if !guard.knows(request.headers()) {
        let mut refused =
            plain(StatusCode::UNAUTHORIZED, "Unauthorized: the bearer token is missing or wrong");
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    match request.uri().path() {
        PATH => service.handle(request).await,
        _ => plain(StatusCode::NOT_FOUND, "Not found: the server is at /mcp"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

/// The same answer as no browser can take for a page.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let guard = Guard::of_this_machine(Some("correct-horse".to_owned()));
        let knows = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            guard.knows(&headers)
        };
        assert!(knows("Bearer correct-horse") && knows("bearer correct-horse"));
        for wrong in [
            "Bearer correct-hors",
            "Bearer correct-horse1",
            "correct-horse",
            "Basic correct-horse",
            "Bearer ",
        ] {
            assert!(!knows(wrong), "{wrong}");
        }
        assert!(!guard.knows(&HeaderMap::new()));
    }
}
