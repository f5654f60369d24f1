//! Connections to one endpoint: direct or through the system's proxy, plain or over TLS.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::uri::{Parts, Scheme, Uri};
use http::{HeaderValue, Request, Response};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::connection::{ByteStream, Connection, ConnectionError, PreparedRequest, ResponseStream};
use crate::idle::IdleConnections;

pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A connection pool for one endpoint. Clones share it.
#[derive(Debug, Clone)]
pub struct ConnectionPool(Arc<PoolInner>);

#[derive(Debug)]
struct PoolInner {
    endpoint: Uri,
    host: Option<HeaderValue>,
    dialler: PoolDialer,
    idle: Arc<IdleConnections>,
}

type Answered = Result<Response<ResponseStream>, PoolError>;

/// The reason why there is no response.
#[derive(Debug)]
pub enum PoolError {
    /// No connection could be opened, so the server has seen nothing of the request.
    Connect(Cause),
    /// The connection closed before anything of the request was sent.
    Unsent(ConnectionError),
    /// The request was sent at least in part, so the server may have processed it.
    Sent(ConnectionError),
    /// The request is for another endpoint.
    Elsewhere,
}

impl PoolError {
    /// Returns whether no connection could be opened.
    pub fn is_connect(&self) -> bool {
        matches!(self, PoolError::Connect(_))
    }

    /// The server's certificate was refused. Asking again does not help.
    pub fn is_certificate(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = match self {
            PoolError::Connect(cause) => Some(&**cause),
            PoolError::Unsent(_) | PoolError::Sent(_) | PoolError::Elsewhere => None,
        };
        while let Some(error) = cause {
            if matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
                return true;
            }
            // An I/O error leaves the error that it wraps out of its chain.
            let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            cause = wrapped.map(|error| error as _).or_else(|| error.source());
        }
        false
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PoolError::Connect(_) => "client error (Connect)",
            PoolError::Unsent(_) => "client error (Canceled)",
            PoolError::Sent(_) => "client error (SendRequest)",
            PoolError::Elsewhere => "client error (the request is for another endpoint)",
        })
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PoolError::Connect(cause) => Some(&**cause),
            PoolError::Unsent(cause) | PoolError::Sent(cause) => Some(cause),
            PoolError::Elsewhere => None,
        }
    }
}

impl ConnectionPool {
    /// Creates a pool; `patience` limits the time to open a connection.
    pub fn new(endpoint: &Uri, proxies: Option<Matcher>, patience: Duration) -> Result<Self, rustls::Error> {
        let is_tls = endpoint.scheme() == Some(&Scheme::HTTPS);
        // Load root certificates only if needed: a cold start then takes 1 ms instead of 50 ms.
        let tls = Arc::new(tls(is_tls || proxies.is_some())?);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let proxy = proxies.and_then(|proxies| proxies.intercept(endpoint));
        let direct = HttpsConnector::from((tcp, tls.clone()));
        let dialler = PoolDialer { direct, tls, proxy, is_tls, patience };
        let (endpoint, host) = (endpoint.clone(), host(endpoint));
        Ok(Self(Arc::new(PoolInner { endpoint, host, dialler, idle: Arc::default() })))
    }

    /// Sends a prepared request. If an idle connection turns out to be closed, it takes another one, provided
    /// nothing was sent. It never resends a request that may have arrived.
    pub async fn ask(&self, request: &PreparedRequest, body: Bytes) -> Answered {
        let PoolInner { dialler, idle, endpoint, .. } = &*self.0;
        while let Some(connection) = idle.take() {
            match connection.ask(request, body.clone(), Some(idle.home())).await {
                Err(PoolError::Unsent(_)) => {}
                answered => return answered,
            }
        }
        let connection = Box::pin(dialler.open(endpoint.clone())).await?;
        connection.ask(request, body, Some(idle.home())).await
    }

    /// Sends a request.
    pub async fn send(&self, request: Request<Bytes>) -> Answered {
        let (parts, body) = request.into_parts();
        self.ask(&self.prepare(Request::from_parts(parts, ()))?, body).await
    }

    /// Prepares a request head that is reused with different bodies.
    pub fn prepare(&self, mut request: Request<()>) -> Result<PreparedRequest, PoolError> {
        let PoolInner { endpoint, host: Some(host), dialler, .. } = &*self.0 else {
            return Err(PoolError::Elsewhere);
        };
        if request.uri().scheme() != endpoint.scheme() || request.uri().authority() != endpoint.authority() {
            return Err(PoolError::Elsewhere);
        }
        request.headers_mut().entry(HOST).or_insert_with(|| host.clone());
        match dialler.clear_proxy() {
            None => origin_form(request.uri_mut()),
            Some(proxy) => {
                if let Some(value) = proxy.basic_auth() {
                    request.headers_mut().insert(PROXY_AUTHORIZATION, value.clone());
                }
            }
        }
        Ok(PreparedRequest::new(request.into_parts().0))
    }
}

/// Returns the default `WebHost` header for an address; `None` if the address has no host.
pub fn host(uri: &Uri) -> Option<HeaderValue> {
    let (scheme, host) = (uri.scheme()?, uri.host()?);
    let usual = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")).ok(),
        None => HeaderValue::from_str(host).ok(),
    }
}

/// Reduces a URI to origin form, as servers expect it.
pub(crate) fn origin_form(uri: &mut Uri) {
    let mut parts = Parts::default();
    parts.path_and_query = uri.path_and_query().cloned();
    *uri = Uri::from_parts(parts).unwrap_or_default();
}

/// Returns whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Loads the proxy settings of the environment and the system; none for a server on this machine.
pub fn system_proxies(is_loopback: bool) -> Option<Matcher> {
    (!is_loopback).then(Matcher::from_system)
}

pub(crate) fn tls(verify: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = if verify {
        config.with_platform_verifier()?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Opens connections.
#[derive(Debug)]
struct PoolDialer {
    direct: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxy: Option<Intercept>,
    is_tls: bool,
    /// Time limit for opening, including the proxy's answer and the TLS handshake.
    patience: Duration,
}

impl PoolDialer {
    /// Returns the proxy that forwards plain requests in absolute form; `None` for a tunnel, which sees no
    /// requests.
    fn clear_proxy(&self) -> Option<&Intercept> {
        self.proxy.as_ref().filter(|_| !self.is_tls)
    }

    async fn open(&self, target: Uri) -> Result<Box<Connection>, PoolError> {
        let opened = tokio::time::timeout(self.patience, self.dial(target)).await;
        opened
            .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
            .map_err(PoolError::Connect)
    }

    async fn dial(&self, target: Uri) -> Result<Box<Connection>, Cause> {
        if let Some(address) = address(&target).filter(|_| self.proxy.is_none()) {
            let stream = TcpStream::connect(address).await?;
            // Best effort: without it a response may take slightly longer.
            let _ = stream.set_nodelay(true);
            return Ok(Connection::over(Box::new(TokioIo::new(stream))).await?);
        }
        let mut direct = self.direct.clone();
        let stream: Box<dyn ByteStream> = match &self.proxy {
            None => boxed(direct.call(target).await?),
            Some(proxy) if !self.is_tls => boxed(direct.call(proxy.uri().clone()).await?),
            Some(proxy) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
                if let Some(value) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(value.clone());
                }
                Box::new(HttpsConnector::from((tunnel, self.tls.clone())).call(target).await?)
            }
        };
        Ok(Connection::over(stream).await?)
    }
}

/// Returns the socket address of a plain target if it needs no name lookup.
fn address(target: &Uri) -> Option<SocketAddr> {
    target.scheme().filter(|scheme| **scheme == Scheme::HTTP)?;
    let ip = target.host()?.trim_matches(['[', ']']).parse().ok()?;
    Some(SocketAddr::new(ip, target.port_u16().unwrap_or(80)))
}

/// Unwraps a plain stream, to avoid the space that TLS needs.
fn boxed(stream: MaybeHttpsStream<TokioIo<TcpStream>>) -> Box<dyn ByteStream> {
    match stream {
        MaybeHttpsStream::Http(plain) => Box::new(plain),
        secured => Box::new(secured),
    }
}

#[cfg(test)]
mod tests;
