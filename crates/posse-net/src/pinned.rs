//! An HTTP client for addresses that a model or a server named. It resolves a name once, checks every IP
//! address of it, and connects only to one of these addresses. It follows no redirects: the caller decides
//! about each, and the next hop is resolved and checked like the first.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper_rustls::HttpsConnector;
use hyper_util::rt::TokioIo;
use posse_core::web::{WebAddress, WebHost, not_public};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::connection::{Connection, PreparedRequest, ResponseStream};
use crate::pool::{Cause, PoolError, host, origin_form, tls};
use crate::{BoxFuture, causes};

/// Maximum IP addresses of a name; a name with more is not a public website.
const NUMBERS_MAX: usize = 32;
const CONNECT_WAIT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("posse/", env!("CARGO_PKG_VERSION"));
/// Accepted content types. No compression, so that a small response cannot grow without bound.
const ACCEPT: &str = "text/html, text/plain, text/markdown, application/json, text/*;q=0.8, */*;q=0.1";

/// Resolves names to IP addresses.
pub trait NameResolver: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).take(NUMBERS_MAX + 1).collect())
        })
    }
}

/// A non-public IP address that the operator allows, with one port or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressException {
    number: IpAddr,
    port: Option<u16>,
}

impl AddressException {
    /// Parses `127.0.0.1:8080`, `[::1]:8080`, or an IP address alone.
    pub fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        if let Ok(address) = raw.parse::<SocketAddr>() {
            return (address.port() > 0).then(|| Self { number: address.ip(), port: Some(address.port()) });
        }
        let number = raw.trim_matches(['[', ']']).parse().ok()?;
        Some(Self { number, port: None })
    }

    fn fits(&self, number: IpAddr, port: u16) -> bool {
        self.number == number && self.port.is_none_or(|only| only == port)
    }
}

/// A client that connects only to checked IP addresses.
pub struct PinnedClient {
    resolver: Arc<dyn NameResolver>,
    exceptions: Vec<AddressException>,
    /// Created on first use, because loading the root certificates takes a while.
    tls: OnceLock<Arc<ClientConfig>>,
}

/// The reason why there is no page, worded for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchFailure {
    /// The address is not public and not on the allow-list.
    Forbidden(String),
    Unreachable(String),
}

/// A response head with its unread body.
#[derive(Debug)]
pub struct FetchedPage {
    pub status: u16,
    /// Lower case; empty if the server sent none.
    pub content_type: String,
    /// The target of a redirect.
    pub location: Option<String>,
    pub encoding: Option<String>,
    body: ResponseStream,
}

impl PinnedClient {
    /// Creates a client with a resolver and the operator's exceptions.
    pub fn new(resolver: Arc<dyn NameResolver>, exceptions: Vec<AddressException>) -> Self {
        Self { resolver, exceptions, tls: OnceLock::new() }
    }

    /// Requests one page. The caller sets the deadline.
    pub async fn get(&self, address: &WebAddress) -> Result<FetchedPage, FetchFailure> {
        let mut request = Request::new(Bytes::new());
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        let response = self.send(address, request).await?;
        let said = |name: header::HeaderName| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        Ok(FetchedPage {
            status: response.status().as_u16(),
            content_type: said(header::CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
            location: said(header::LOCATION),
            encoding: said(header::CONTENT_ENCODING).filter(|encoding| {
                !encoding.trim().is_empty() && !encoding.trim().eq_ignore_ascii_case("identity")
            }),
            body: response.into_body(),
        })
    }

    /// Sends one request to this address, regardless of the request's own URI, and follows no redirects.
    pub async fn send(
        &self,
        address: &WebAddress,
        mut request: Request<Bytes>,
    ) -> Result<Response<ResponseStream>, FetchFailure> {
        let numbers = self.checked(address).await?;
        let target =
            Uri::try_from(address.to_string()).map_err(|e| FetchFailure::Forbidden(e.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if let Some(host) = host(&target) {
            headers.insert(header::HOST, host);
        }
        *request.uri_mut() = target.clone();
        origin_form(request.uri_mut());
        let (parts, body) = request.into_parts();
        let dialler = HttpsConnector::from((PinnedDialer { numbers: numbers.into() }, self.tls(address)?));
        let asked = async {
            let connection = opened(dialler, target).await.map_err(PoolError::Connect)?;
            connection.ask(&PreparedRequest::new(parts), body, None).await
        };
        asked.await.map_err(|e| FetchFailure::Unreachable(causes(&e)))
    }

    fn tls(&self, address: &WebAddress) -> Result<Arc<ClientConfig>, FetchFailure> {
        let make = |verify| tls(verify).map(Arc::new).map_err(|e| FetchFailure::Unreachable(e.to_string()));
        if !address.is_tls() {
            return make(false);
        }
        match self.tls.get() {
            Some(config) => Ok(config.clone()),
            None => make(true).map(|config| self.tls.get_or_init(|| config).clone()),
        }
    }

    /// Resolves a name and refuses private IP addresses (SSRF). One forbidden address rejects the whole name, because the next
    /// lookup may use it.
    async fn checked(&self, address: &WebAddress) -> Result<Vec<SocketAddr>, FetchFailure> {
        let numbers = match address.host() {
            WebHost::V4(number) => vec![IpAddr::V4(*number)],
            WebHost::V6(number) => vec![IpAddr::V6(*number)],
            WebHost::Name(name) => {
                let found = self.resolver.resolve(name).await;
                found.map_err(|e| FetchFailure::Unreachable(format!("`{name}` has no address: {e}")))?
            }
        };
        let host = address.host();
        if numbers.is_empty() {
            return Err(FetchFailure::Unreachable(format!("`{host}` has no address")));
        }
        if numbers.len() > NUMBERS_MAX {
            return Err(FetchFailure::Forbidden(format!("`{host}` has too many addresses")));
        }
        for number in &numbers {
            if let Some(what) = not_public(*number)
                && !self.exceptions.iter().any(|exception| exception.fits(*number, address.port()))
            {
                return Err(FetchFailure::Forbidden(format!("`{host}` is {number}, which is {what}")));
            }
        }
        Ok(numbers.into_iter().map(|number| SocketAddr::new(number, address.port())).collect())
    }
}

impl FetchedPage {
    /// Reads at most `bytes_max` bytes; returns them and whether there were more.
    pub async fn read(mut self, bytes_max: usize) -> Result<(Vec<u8>, bool), FetchFailure> {
        let mut read = Vec::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|e| FetchFailure::Unreachable(causes(&e)))?;
            let Ok(bytes) = frame.into_data() else { continue };
            let room = bytes_max - read.len();
            read.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                return Ok((read, true));
            }
        }
        Ok((read, false))
    }
}

async fn opened(mut dialler: HttpsConnector<PinnedDialer>, target: Uri) -> Result<Box<Connection>, Cause> {
    Ok(Connection::over(Box::new(dialler.call(target).await?)).await?)
}

/// Connects to one of the checked IP addresses, regardless of the requested name.
#[derive(Clone)]
struct PinnedDialer {
    numbers: Arc<[SocketAddr]>,
}

impl Service<Uri> for PinnedDialer {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let numbers = self.numbers.clone();
        Box::pin(async move {
            let mut last = io::Error::from(io::ErrorKind::TimedOut);
            for number in numbers.iter() {
                match tokio::time::timeout(CONNECT_WAIT, TcpStream::connect(number)).await {
                    Ok(Ok(stream)) => return Ok(TokioIo::new(stream)),
                    Ok(Err(e)) => last = e,
                    Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
                }
            }
            Err(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_a_number_and_perhaps_a_port() {
        let fits = |raw: &str, number: &str, port| {
            AddressException::parse(raw)
                .is_some_and(|exception| exception.fits(number.parse().unwrap(), port))
        };
        assert!(fits("127.0.0.1:80", "127.0.0.1", 80) && !fits("127.0.0.1:80", "127.0.0.1", 81));
        assert!(fits("[::1]:80", "::1", 80) && fits("::1", "::1", 7) && fits("10.0.0.1", "10.0.0.1", 9));
        assert!(!fits("127.0.0.1", "127.0.0.2", 80));
        for wrong in ["", "localhost:80", "127.0.0.1:0", "127.0.0.0/8", "*"] {
            assert_eq!(AddressException::parse(wrong), None, "{wrong}");
        }
    }
}
