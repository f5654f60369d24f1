//! How an endpoint is reached: directly or through the system's proxy, in the clear or over TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Scheme, Uri};
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tower_service::Service;

use crate::BoxFuture;

/// How long a connection that nobody uses is kept.
const IDLE_MAX: Duration = Duration::from_secs(60);

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Connections to one endpoint.
#[derive(Debug, Clone)]
pub struct Pool {
    client: Client<Dialler, Full<Bytes>>,
    /// For a proxy that is given requests in the clear; one that tunnels gets it when the tunnel is opened.
    proxy_authorization: Option<HeaderValue>,
}

impl Pool {
    pub fn new(endpoint: &Uri, proxies: Option<Matcher>, patience: Duration) -> Result<Self, rustls::Error> {
        let is_tls = endpoint.scheme() == Some(&Scheme::HTTPS);
        // Roots are read only if something may have to be verified: a cold start then takes a millisecond, not fifty.
        let tls = Arc::new(tls(is_tls || proxies.is_some())?);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let proxy = proxies.as_ref().and_then(|proxies| proxies.intercept(endpoint));
        let proxy_authorization = proxy.filter(|_| !is_tls).and_then(|proxy| proxy.basic_auth().cloned());
        let direct = HttpsConnector::from((tcp, tls.clone()));
        let dialler = Dialler { direct, tls, proxies: proxies.map(Arc::new), patience };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .build(dialler);
        Ok(Self { client, proxy_authorization })
    }

    pub async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Error> {
        if let Some(value) = &self.proxy_authorization {
            request.headers_mut().insert(http::header::PROXY_AUTHORIZATION, value.clone());
        }
        self.client.request(request).await
    }
}

/// Whether a host is this machine. A server here is never behind a proxy.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What the environment and the system say about proxies. A server on this machine is never behind one.
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
#[derive(Debug, Clone)]
pub(crate) struct Dialler {
    direct: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxies: Option<Arc<Matcher>>,
    /// How long opening may take, with the proxy's answer and the handshake.
    patience: Duration,
}

impl Dialler {
    async fn dial(mut self, target: Uri) -> Result<Line, Cause> {
        let Some(proxy) = self.proxies.as_ref().and_then(|proxies| proxies.intercept(&target)) else {
            return Ok(Line { stream: Box::new(self.direct.call(target).await?), to_proxy: false });
        };
        if target.scheme() != Some(&Scheme::HTTPS) {
            let stream = self.direct.call(proxy.uri().clone()).await?;
            return Ok(Line { stream: Box::new(stream), to_proxy: true });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.direct);
        if let Some(value) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(value.clone());
        }
        let stream = HttpsConnector::from((tunnel, self.tls)).call(target).await?;
        Ok(Line { stream: Box::new(stream), to_proxy: false })
    }
}

impl Service<Uri> for Dialler {
    type Response = Line;
    type Error = Cause;
    type Future = BoxFuture<'static, Result<Line, Cause>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let (dialler, patience) = (self.clone(), self.patience);
        Box::pin(async move {
            match tokio::time::timeout(patience, dialler.dial(target)).await {
                Ok(opened) => opened,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}

trait Stream: Read + Write + Send + Unpin {}
impl<T: Read + Write + Send + Unpin> Stream for T {}

/// An open connection.
pub(crate) struct Line {
    stream: Box<dyn Stream>,
    /// A proxy wants whole addresses in the requests.
    to_proxy: bool,
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.to_proxy)
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Sends a request to `target` through a proxy that answers with `answer`: what came of it, and what the proxy was sent.
    async fn through_proxy(target: &str, answer: &'static [u8]) -> (Result<u16, Error>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://user:word@{}", listener.local_addr().unwrap());
        let proxies = Matcher::builder().all(address).no("direct.test").build();
        let target = Uri::try_from(target).unwrap();
        let pool = Pool::new(&target, Some(proxies), Duration::from_secs(5)).unwrap();
        let proxy = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            while !heard.ends_with(b"\r\n\r\n") {
                heard.push(socket.read_u8().await.unwrap());
            }
            socket.write_all(answer).await.unwrap();
            String::from_utf8(heard).unwrap()
        });
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = target;
        let answered = pool.send(request).await.map(|response| response.status().as_u16());
        (answered, proxy.await.unwrap())
    }

    #[tokio::test]
    async fn a_proxy_gets_the_whole_address_of_a_request_in_the_clear() {
        let answer = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
        let (answered, heard) = through_proxy("http://provider.test/v1/messages", answer).await;
        assert_eq!(answered.unwrap(), 204);
        assert!(heard.starts_with("GET http://provider.test/v1/messages HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("proxy-authorization: Basic dXNlcjp3b3Jk\r\n"), "{heard}");
    }

    #[tokio::test]
    async fn tls_goes_through_a_tunnel_and_a_proxy_that_refuses_it_has_seen_nothing_else() {
        let (answered, heard) =
            through_proxy("https://provider.test/v1/messages", b"HTTP/1.1 502 No\r\n\r\n").await;
        assert!(answered.unwrap_err().is_connect());
        assert!(heard.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{heard}");
        assert!(
            heard.to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjp3b3jk\r\n"),
            "{heard}"
        );
        assert!(!heard.contains("/v1/messages"), "{heard}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_answer_in_time_is_not_waited_for() {
        // Nothing accepts the handshake: the connection is open and stays silent.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Uri::try_from(format!("https://{}/", listener.local_addr().unwrap())).unwrap();
        let pool = Pool::new(&target, None, Duration::from_secs(3)).unwrap();
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = target;
        let error = pool.send(request).await.unwrap_err();
        assert!(error.is_connect(), "{error:?}");
    }
}
