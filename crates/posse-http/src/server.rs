//! The server: connections, TLS, the door, the routes and what else is mounted.

use std::convert::Infallible;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Method, Request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_net::door::{ConnectionPlace, ConnectionTable, HEAD_WAIT, RequestGuard, accept};
use posse_runtime::ports::{BoxFuture, CatalogStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::door;
use crate::feed::EventHub;
use crate::host::ServeHost;
use crate::openapi;
use crate::state::{ApiParts, ApiState, RateBuckets};
use crate::tokens::{TokenFile, TokenTable};

/// Connections with a token; each may hold a stream.
const KNOWN_MAX: usize = 1_024;
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Time that requests in progress get when the server ends.
const ENDING_WAIT: Duration = Duration::from_secs(5);
/// Requests of one token: a page that follows many tasks stays below.
const REQUESTS_PER_SECOND: f64 = 50.0;
const REQUESTS_BURST: f64 = 200.0;
/// Failed logins of one peer: ten per minute.
const FAILURES_PER_SECOND: f64 = 10.0 / 60.0;
const FAILURES_BURST: f64 = 10.0;

/// Handler of a path that another part of the program serves, behind the same door.
pub type MountedHandler = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync>;

/// Address of the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// Access rules and identity of a server.
pub struct ServerOptions {
    /// Hosts and origins, each with its port. No token: those are in the file.
    pub guard: RequestGuard,
    pub tokens: TokenFile,
    /// Name of the cookie; servers of one host need different ones.
    pub cookie: String,
    /// Browsers speak TLS with this server, or with the proxy before it.
    pub is_secure: bool,
    pub tls: Option<TlsAcceptor>,
}

/// A server that has not begun to listen.
pub struct ApiServer {
    api: ApiState,
    router: Router,
    mounted: Vec<(String, MountedHandler)>,
    tls: Option<TlsAcceptor>,
}

impl ApiServer {
    /// Creates a server. It ends when `ending` fires.
    pub fn new(
        store: Arc<dyn CatalogStore>,
        host: Arc<dyn ServeHost>,
        options: ServerOptions,
        ending: CancellationToken,
    ) -> Self {
        let api = Arc::new(ApiParts {
            hub: EventHub::new(store.clone()),
            store,
            host,
            tokens: TokenTable::new(options.tokens),
            guard: options.guard,
            cookie: options.cookie,
            is_secure: options.is_secure,
            ending,
            requests: RateBuckets::new(REQUESTS_PER_SECOND, REQUESTS_BURST),
            failures: RateBuckets::new(FAILURES_PER_SECOND, FAILURES_BURST),
        });
        let router = openapi::router(api.clone());
        Self { api, router, mounted: Vec::new(), tls: options.tls }
    }

    /// Serves a path by another part of the program, for tokens that may write.
    pub fn mount(mut self, path: &str, handler: MountedHandler) -> Self {
        self.mounted.push((path.to_owned(), handler));
        self
    }

    /// Reads what a `GET` answers, without a connection and its checks: for a program that has the store anyway.
    pub async fn read(&self, path: &str) -> Result<Value> {
        let broken = |e: &dyn std::fmt::Display| {
            Error::new(ErrorCode::Internal, localized!("http-unreadable-answer", path, why = e.to_string()))
        };
        let request = Request::get(path).body(Body::empty()).map_err(|e| broken(&e))?;
        let routed: Result<Response, Infallible> = self.router.clone().call(request).await;
        let response = routed.unwrap_or_else(|never| match never {});
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|e| broken(&e))?.to_bytes();
        if !status.is_success() {
            return Err(broken(&String::from_utf8_lossy(&body)));
        }
        serde_json::from_slice(&body).map_err(|e| broken(&e))
    }

    /// Serves until the end, and then lets requests in progress end.
    pub async fn run(self, listener: TcpListener) {
        let (ending, server) = (self.api.ending.clone(), Arc::new(self));
        let (alive, mut ended) = mpsc::channel::<Infallible>(1);
        let hub = server.api.hub.clone();
        let followed = ending.clone();
        let follower = tokio::spawn(async move { hub.run(followed).await });
        let serve_one = move |stream, peer, place| {
            let (server, alive) = (server.clone(), alive.clone());
            async move {
                server.clone().greet(stream, peer, place).await;
                drop(alive);
            }
        };
        accept(listener, Arc::new(ConnectionTable::with_known_max(KNOWN_MAX)), ending, serve_one).await;
        // Every connection holds a sender, and nobody sends.
        let _ = tokio::time::timeout(ENDING_WAIT, ended.recv()).await;
        let _ = follower.await;
    }

    async fn greet(
        self: Arc<Self>,
        stream: tokio::net::TcpStream,
        peer: IpAddr,
        place: Arc<ConnectionPlace>,
    ) {
        // Events are small and must not wait for more of them.
        let _ = stream.set_nodelay(true);
        match self.tls.clone() {
            None => self.converse(stream, peer, place).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_WAIT, tls.accept(stream)).await {
                    self.converse(stream, peer, place).await;
                }
            }
        }
    }

    async fn converse<S>(self: Arc<Self>, stream: S, peer: IpAddr, place: Arc<ConnectionPlace>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ending = self.api.ending.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let (server, place) = (self.clone(), place.clone());
            async move { Ok::<_, Infallible>(server.answer(request.map(Body::new), peer, &place).await) }
        });
        let mut connection = std::pin::pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WAIT)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), answer)
        );
        // A failing connection affects no other.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = ending.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    async fn answer(&self, mut request: Request<Body>, peer: IpAddr, place: &ConnectionPlace) -> Response {
        let is_get = request.method() == Method::GET;
        let known = door::known_tags(request.headers());
        let response = match door::enter(&self.api, &mut request, peer, place) {
            Err(refused) => *refused,
            Ok(()) => {
                let path = request.uri().path();
                let mounted = self.mounted.iter().find(|(of, _)| of == path).map(|(_, handler)| handler);
                match mounted {
                    Some(handler) => return handler(request).await,
                    None => {
                        request.extensions_mut().insert(PeerAddress(peer));
                        let routed: Result<Response, Infallible> = self.router.clone().call(request).await;
                        routed.unwrap_or_else(|never| match never {})
                    }
                }
            }
        };
        door::leave(response, is_get, known).await
    }
}

/// Binds the listening socket.
pub async fn listen(address: std::net::SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| {
        Error::new(ErrorCode::Io, localized!("http-address-unusable", address))
            .hint(localized!("http-address-unusable-hint"))
            .caused_by(e)
    })
}

/// Reads a certificate chain and its key from PEM files.
pub fn tls(certificates: &Path, key: &Path) -> Result<TlsAcceptor> {
    let unusable = |path: &Path, e: Box<dyn std::error::Error + Send + Sync>| {
        Error::new(ErrorCode::ConfigInvalid, localized!("http-tls-unusable", path = path.display()))
            .caused_by(e)
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|e| unusable(certificates, Box::new(e)))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unusable(key, Box::new(e)))?;
    let config = |chain, secret| {
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
    };
    let config = config(chain, secret).map_err(|e: rustls::Error| unusable(certificates, Box::new(e)))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
