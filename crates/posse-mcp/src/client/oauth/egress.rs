//! HTTP client for sign-in requests. The operator named only the server's own address. Every other address
//! comes from the server, so it must be public or on the operator's allow-list, and redirects are not
//! followed.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Limited};
use posse_core::web::{WebAddress, WebHost};
use posse_net::{
    AddressException, ConnectionPool, FetchFailure, PinnedClient, SystemResolver, causes, is_loopback,
    system_proxies,
};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

/// Maximum response size; metadata documents and token responses are small.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);
const DIAL: Duration = Duration::from_secs(10);

/// HTTP client for the requests of one server's sign-in.
pub(super) struct OAuthEgress {
    server: Uri,
    pinned: PinnedClient,
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

impl OAuthEgress {
    /// Creates a client for this server. A server on this machine may also use loopback addresses.
    pub fn new(server: &Uri, exceptions: &[AddressException]) -> Self {
        let mut exceptions = exceptions.to_vec();
        if is_here(server) {
            // A server on this machine may have its authorization server here too.
            exceptions
                .extend(["127.0.0.1", "::1"].iter().filter_map(|number| AddressException::parse(number)));
        }
        Self {
            server: server.clone(),
            pinned: PinnedClient::new(std::sync::Arc::new(SystemResolver), exceptions),
        }
    }

    /// Sends a request; fails if there is no complete response in time.
    pub async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Cause> {
        tokio::time::timeout(PATIENCE, self.sent(request))
            .await
            .map_err(|_| Cause::from(format!("no answer within {} s", PATIENCE.as_secs())))?
    }

    async fn sent(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Cause> {
        let target = request.uri().clone();
        check(&self.server, &target)?;
        let mut request = request.map(Bytes::from);
        request.headers_mut().entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let proxies = system_proxies(is_here(&target));
        let address = WebAddress::parse(&target.to_string())?;
        // A proxy resolves names itself. Literal addresses are checked here in any case.
        let is_proxied = matches!(address.host(), WebHost::Name(_))
            && proxies.as_ref().is_some_and(|proxies| proxies.intercept(&target).is_some());
        let response = if is_proxied || origin(&target) == origin(&self.server) {
            ConnectionPool::new(&target, proxies, DIAL)?
                .send(request)
                .await
                .map_err(|cause| causes(&cause))?
        } else {
            self.pinned.send(&address, request).await.map_err(|failure| match failure {
                FetchFailure::Forbidden(why) | FetchFailure::Unreachable(why) => why,
            })?
        };
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes().into()))
    }
}

impl OAuthHttpClient for OAuthEgress {
    /// Sends one request without following redirects. The SDK follows metadata redirects within one origin.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request.request))
    }
}

/// Checks that sign-in traffic uses https. Plain http is allowed only if the server and the target are on
/// this machine.
pub(super) fn check(server: &Uri, target: &Uri) -> Result<(), String> {
    let is_clear = target.scheme_str() == Some("http") && is_here(server) && is_here(target);
    match target.scheme_str() == Some("https") || is_clear {
        true => Ok(()),
        false => Err(format!(
            "`{target}` is not reached over https, and only a server on this machine may do without"
        )),
    }
}

/// Returns whether an address is on this machine.
pub(super) fn is_here(address: &Uri) -> bool {
    address.host().is_some_and(is_loopback)
}

fn origin(address: &Uri) -> (Option<&str>, Option<String>, Option<u16>) {
    let usual = if address.scheme_str() == Some("https") { 443 } else { 80 };
    let port = address.port_u16().or(Some(usual));
    (address.scheme_str(), address.host().map(str::to_ascii_lowercase), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(server: &str, target: &str) -> String {
        let egress = OAuthEgress::new(&server.parse().unwrap(), &[]);
        let request = Request::get(target).body(Vec::new()).unwrap();
        egress.send(request).await.unwrap_err().to_string()
    }

    // S21 Seen to fail with the pool in place of the pinned client, and without the question for the scheme.
    #[tokio::test]
    async fn a_server_elsewhere_leads_nobody_into_the_private_network_or_into_the_clear() {
        for target in
            ["https://10.0.0.9/token", "https://169.254.169.254/", "https://[::1]/", "https://127.0.0.1:1/"]
        {
            let why = refusal("https://mcp.example/mcp", target).await;
            assert!(why.contains("which is"), "{target}: {why}");
        }
        for (server, target) in [
            ("https://mcp.example/mcp", "http://auth.example/token"),
            ("https://mcp.example/mcp", "http://127.0.0.1:1/token"),
            ("http://127.0.0.1:1/mcp", "http://auth.example/token"),
        ] {
            assert!(refusal(server, target).await.contains("https"), "{target}");
        }
        let here = refusal("http://127.0.0.1:1/mcp", "http://localhost:1/token").await;
        assert!(here.contains("refused"), "{here}");
    }
}
