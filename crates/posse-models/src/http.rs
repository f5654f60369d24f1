//! HTTP for all wires: endpoints, credentials, and the classification of failures.
//!
//! No redirects (they would carry the key elsewhere), no compression (a small answer must not grow without bound), a
//! connect timeout, and a cap on what is read. Wrappers of the model bound the time of a reply.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::BodyExt;
use posse_core::error::{Error, ErrorCode};
use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::usage::Usage;
use posse_messages::{LocalizedText, localized};
use posse_net::{ConnectionError, ConnectionPool, ResponseStream, causes, is_loopback, system_proxies};
use posse_runtime::ports::DeltaSink;
use url::Url;

use crate::body::EncodedBody;
use crate::failure::{self, ProviderError, excerpt};

/// Maximum reply: 8 million tokens; no model writes it.
pub const REPLY_BYTES_MAX: usize = 32 << 20;
/// Maximum error body; longer ones are pages for a browser.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// Timeout of an error body, which must not hide the status that already came.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

const USER_AGENT: &str = concat!("posse/", env!("CARGO_PKG_VERSION"));

/// A secret that is never printed: not in logs, not in errors, not by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Arc<str>);

impl SecretText {
    /// Wraps a secret.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into())
    }

    /// Returns the secret, for the one place that puts it on the wire.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Source of an API key. It is read for every call, and again when the provider refuses it: keys rotate during runs.
#[derive(Clone)]
pub struct KeySource {
    read: Arc<dyn Fn() -> Option<SecretText> + Send + Sync>,
    origin: Option<String>,
}

impl KeySource {
    /// Creates an empty credential, for local servers without a key.
    pub fn none() -> Self {
        Self::from_fn(|| None)
    }

    /// Creates a fixed credential.
    pub fn fixed(secret: SecretText) -> Self {
        Self::from_fn(move || Some(secret.clone()))
    }

    /// Creates a credential that is read by a function.
    pub fn from_fn(read: impl Fn() -> Option<SecretText> + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), origin: None }
    }

    /// Sets the origin of the key, or why there is none, for the error about a refused key. Never the key itself.
    pub fn from_where(self, origin: impl Into<String>) -> Self {
        Self { origin: Some(origin.into()), ..self }
    }

    fn read(&self) -> Option<SecretText> {
        (self.read)()
    }

    /// Returns advice for a refused or missing key.
    fn what_to_check(&self, sent: bool) -> Option<String> {
        match (sent, &self.origin) {
            (true, Some(origin)) => Some(format!("the key is from {origin}")),
            (true, None) => None,
            (false, Some(why)) => Some(format!("no key was sent: {why}")),
            (false, None) => Some("no key was sent".to_owned()),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// Address and credential of a provider.
#[derive(Debug, Clone)]
pub struct ProviderEndpoint {
    pub base_url: String,
    pub credential: KeySource,
    /// Sent with every request, for gateways. Their values are treated as secrets.
    pub headers: Vec<(String, SecretText)>,
    pub connect_timeout: Duration,
    /// Time to wait for the end marker after the stop reason of a stream.
    pub end_grace: Duration,
}

impl ProviderEndpoint {
    /// Creates an endpoint with default timeouts.
    pub fn new(base_url: impl Into<String>, credential: KeySource) -> Self {
        Self {
            base_url: base_url.into(),
            credential,
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            end_grace: Duration::from_secs(2),
        }
    }
}

/// Method, path, key header and static headers of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpCall {
    pub method: Method,
    /// Below the base URL.
    pub path: String,
    pub key_header: KeyHeader,
    pub headers: &'static [(&'static str, &'static str)],
}

/// Header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    Bearer,
    Named(&'static str),
}

/// One endpoint with its connection pool. Clones share the pool.
#[derive(Debug, Clone)]
pub struct ProviderTransport(Arc<TransportInner>);

#[derive(Debug)]
struct TransportInner {
    endpoint: ProviderEndpoint,
    base_url: String,
    headers: HeaderMap,
    is_loopback: bool,
    /// Opened at the first call: listing models must not load root certificates.
    pool: OnceLock<ConnectionPool>,
    /// One for each kind of call: parsing a URL and filling a header table take longer than sending the request.
    prepared: Mutex<Vec<PreparedCall>>,
}

/// Request head that stays the same as long as the key does.
#[derive(Debug)]
struct PreparedCall {
    call: HttpCall,
    key: Option<SecretText>,
    request: posse_net::PreparedRequest,
}

impl ProviderTransport {
    /// Creates a transport; fails if TLS cannot be set up.
    pub fn new(endpoint: ProviderEndpoint) -> Result<Self, Error> {
        let invalid =
            |why: LocalizedText| Error::new(ErrorCode::ConfigInvalid, why).hint(localized!("base-url-hint"));
        let url = Url::parse(endpoint.base_url.trim())
            .map_err(|e| invalid(localized!("base-url-unreadable", why = e)))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(invalid(localized!("base-url-scheme")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(localized!("base-url-password")));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &endpoint.headers {
            let shown = || posse_core::text::visible(name).into_owned();
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| invalid(localized!("header-name-invalid", name = shown())))?;
            let mut value = HeaderValue::from_str(value.reveal())
                .map_err(|_| invalid(localized!("header-value-invalid", name = shown())))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let is_loopback = url.host_str().is_some_and(is_loopback);
        Ok(Self(Arc::new(TransportInner {
            base_url: endpoint.base_url.trim().trim_end_matches('/').to_owned(),
            is_loopback,
            endpoint,
            headers,
            pool: OnceLock::new(),
            prepared: Mutex::default(),
        })))
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.0.base_url
    }

    /// Returns the address of a path below the base URL.
    fn address(&self, path: &str) -> Result<Uri, ModelFailure> {
        let unusable = |why: String| {
            ModelFailure::new(
                FailureKind::InvalidRequest,
                format!("the URL of the call cannot be used: {why}"),
            )
        };
        let url = Url::parse(&format!("{}{path}", self.0.base_url)).map_err(|e| unusable(e.to_string()))?;
        Uri::try_from(url.as_str()).map_err(|e| unusable(e.to_string()))
    }

    pub(crate) fn end_grace(&self) -> Duration {
        self.0.endpoint.end_grace
    }

    /// Sends the body and returns the answer once its head says success.
    pub(crate) async fn send(
        &self,
        call: &HttpCall,
        body: &EncodedBody,
    ) -> Result<IncomingAnswer, CallRejection> {
        let credential = &self.0.endpoint.credential;
        let mut key = credential.read();
        let mut is_fresh = false;
        let mut answer = loop {
            let answer = self.attempt(call, body, key.as_ref()).await;
            if is_fresh || !is_unauthorised(&answer) {
                break answer;
            }
            let fresh = credential.read();
            if fresh == key {
                break answer;
            }
            (key, is_fresh) = (fresh, true);
        };
        if is_unauthorised(&answer)
            && let (Err(rejection), Some(check)) = (&mut answer, credential.what_to_check(key.is_some()))
        {
            rejection.failure.message = format!("{} ({check})", rejection.failure.message);
        }
        answer
    }

    /// Builds a request without its body, and its target.
    fn request(
        &self,
        call: &HttpCall,
        key: Option<&SecretText>,
    ) -> Result<(&ConnectionPool, posse_net::PreparedRequest), ModelFailure> {
        let mut prepared = self.0.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = prepared.iter().position(|prepared| prepared.call == *call);
        if let Some(known) = known.map(|known| &prepared[known])
            && known.key.as_ref() == key
            && let Some(pool) = self.0.pool.get()
        {
            return Ok((pool, known.request.clone()));
        }
        let address = self.address(&call.path)?;
        let pool = self.pool(&address)?;
        let mut request = Request::new(());
        *request.method_mut() = call.method.clone();
        *request.headers_mut() = self.headers(call, &address, key)?;
        *request.uri_mut() = address;
        let request = pool.prepare(request).map_err(|e| self.connection(&e, key))?;
        let new = PreparedCall { call: call.clone(), key: key.cloned(), request: request.clone() };
        match known {
            Some(known) => prepared[known] = new,
            None => prepared.push(new),
        }
        Ok((pool, request))
    }

    fn headers(
        &self,
        call: &HttpCall,
        address: &Uri,
        key: Option<&SecretText>,
    ) -> Result<HeaderMap, ModelFailure> {
        let mut headers = HeaderMap::with_capacity(8);
        if call.method == Method::POST {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.extend(posse_net::host(address).map(|host| (header::HOST, host)));
        for (name, value) in call.headers {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = key {
            let (name, value) = match call.key_header {
                KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.reveal().trim())),
                KeyHeader::Named(name) => (name, key.reveal().trim().to_owned()),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ModelFailure::new(
                    FailureKind::Unauthorised,
                    "the key contains characters that cannot be sent".to_owned(),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.extend(self.0.headers.clone());
        Ok(headers)
    }

    async fn attempt(
        &self,
        call: &HttpCall,
        body: &EncodedBody,
        key: Option<&SecretText>,
    ) -> Result<IncomingAnswer, CallRejection> {
        let (pool, request) = self.request(call, key)?;
        let response = pool.ask(&request, body.clone().into_bytes()).await.map_err(|e| {
            let failure = self.unreachable(&e, key);
            // The provider has seen nothing of a connection that was never made.
            let lost = if e.is_connect() { Usage::default() } else { crate::tokens::lost(body.as_ref(), 0) };
            ModelFailure { lost, ..failure }
        })?;
        let incoming = self.accept(response, key)?;
        if incoming.status.is_success() {
            return Ok(incoming);
        }
        Err(Box::pin(incoming.rejection()).await)
    }

    /// Returns an answer that can be read.
    fn accept(
        &self,
        response: Response<ResponseStream>,
        key: Option<&SecretText>,
    ) -> Result<IncomingAnswer, ModelFailure> {
        let (head, body) = response.into_parts();
        let status = Some(head.status.as_u16());
        let failed = |kind, message| ModelFailure { status, ..ModelFailure::new(kind, message) };
        let encoding = text(&head.headers, &header::CONTENT_ENCODING).unwrap_or_default().trim();
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            let message = format!(
                "the answer is compressed (`{}`) although we asked for plain",
                excerpt(encoding, &|t| t.to_owned())
            );
            return Err(failed(FailureKind::Protocol, message));
        }
        if head.status.is_redirection() {
            return Err(failed(
                FailureKind::InvalidRequest,
                "the endpoint redirects elsewhere; set the base URL to where it really is".to_owned(),
            ));
        }
        let wait = if head.status.is_success() { None } else { wait_asked_for(&head.headers) };
        Ok(IncomingAnswer {
            body,
            status: head.status,
            wait,
            content_type: text(&head.headers, &header::CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
            received: 0,
            key: key.cloned(),
            transport: self.clone(),
        })
    }

    fn pool(&self, address: &Uri) -> Result<&ConnectionPool, ModelFailure> {
        if let Some(pool) = self.0.pool.get() {
            return Ok(pool);
        }
        let proxies = system_proxies(self.0.is_loopback);
        let pool = ConnectionPool::new(address, proxies, self.0.endpoint.connect_timeout).map_err(|e| {
            ModelFailure::new(FailureKind::Connection, format!("TLS cannot be set up: {}", causes(&e)))
        })?;
        Ok(self.0.pool.get_or_init(|| pool))
    }

    /// Classifies a missing answer. A bad certificate is distinguished: it stays bad.
    fn unreachable(&self, error: &posse_net::PoolError, key: Option<&SecretText>) -> ModelFailure {
        let failure = self.connection(error, key);
        match error.is_certificate() {
            true => ModelFailure { kind: FailureKind::Certificate, ..failure },
            false => failure,
        }
    }

    fn connection(&self, error: &dyn std::error::Error, key: Option<&SecretText>) -> ModelFailure {
        let redactor = KeyRedactor::new(self, key);
        let why = excerpt(&causes(error), &|text| redactor.redact(text));
        ModelFailure::new(FailureKind::Connection, format!("{}: {why}", self.0.base_url))
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// In milliseconds.
fn wait_asked_for(headers: &HeaderMap) -> Option<u64> {
    let now = || {
        let date = text(headers, &header::DATE).and_then(|date| httpdate::parse_http_date(date).ok());
        date.unwrap_or_else(SystemTime::now)
    };
    let exact = text(headers, &HeaderName::from_static("retry-after-ms"));
    failure::retry_after_ms(exact, text(headers, &header::RETRY_AFTER), now)
}

fn is_unauthorised(answer: &Result<IncomingAnswer, CallRejection>) -> bool {
    answer.as_ref().is_err_and(|rejection| rejection.failure.kind == FailureKind::Unauthorised)
}

/// A missing answer: the failure, and the provider's words if it declined the content.
pub(crate) struct CallRejection {
    pub failure: ModelFailure,
    pub refused: Option<String>,
}

impl From<ModelFailure> for CallRejection {
    fn from(failure: ModelFailure) -> Self {
        Self { failure, refused: None }
    }
}

/// An answer being read.
pub(crate) struct IncomingAnswer {
    body: ResponseStream,
    status: StatusCode,
    /// Wait that the provider asked for, in milliseconds.
    wait: Option<u64>,
    pub content_type: String,
    received: usize,
    key: Option<SecretText>,
    transport: ProviderTransport,
}

impl IncomingAnswer {
    /// Returns a redactor for the key of this call.
    pub fn redactor(&self) -> KeyRedactor {
        KeyRedactor::new(&self.transport, self.key.as_ref())
    }

    /// Returns the next bytes, or `None` at the end of a complete body.
    pub async fn chunk(&mut self, deltas: &dyn DeltaSink) -> Result<Option<Bytes>, ModelFailure> {
        let read = next(&mut self.body).await;
        let chunk = read.map_err(|e| self.transport.connection(&e, self.key.as_ref()))?;
        if let Some(chunk) = &chunk {
            deltas.alive();
            self.received += chunk.len();
            if self.received > REPLY_BYTES_MAX {
                return Err(too_large());
            }
        }
        Ok(chunk)
    }

    /// Reads the whole body.
    pub async fn whole(&mut self, deltas: &dyn DeltaSink) -> Result<Vec<u8>, ModelFailure> {
        let announced = self.body.size_hint().lower();
        if announced > REPLY_BYTES_MAX as u64 {
            return Err(too_large());
        }
        let mut body = Vec::with_capacity(announced as usize);
        while let Some(chunk) = self.chunk(deltas).await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Ends a complete reply. The connection can be reused only if the answer is read to its end, which usually has
    /// arrived; a slower sender must not delay the reply.
    pub async fn leave(mut self) {
        if self.body.is_end_stream() {
            return;
        }
        if tokio::time::timeout(Duration::from_millis(10), self.drain()).await.is_err() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(1), self.drain()).await;
            });
        }
    }

    async fn drain(&mut self) {
        let mut left = ERROR_BODY_BYTES_MAX;
        while let Ok(Some(chunk)) = next(&mut self.body).await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                return;
            }
        }
    }

    /// Reads an error response.
    async fn rejection(self) -> CallRejection {
        let (status, wait, redactor) = (self.status.as_u16(), self.wait, self.redactor());
        let body = self.error_body().await;
        let refused = ProviderError::parse(&body).filter(ProviderError::is_refusal).map(|e| e.message);
        let failure = failure::from_status(status, wait, &body, &|text| redactor.redact(text));
        CallRejection { failure, refused }
    }

    async fn error_body(mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = next(&mut self.body).await {
                let room = ERROR_BODY_BYTES_MAX - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == ERROR_BODY_BYTES_MAX {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_BODY_WAIT, read).await;
        body
    }
}

/// Returns the next bytes of a body; trailers are ignored.
async fn next(body: &mut ResponseStream) -> Result<Option<Bytes>, ConnectionError> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

fn too_large() -> ModelFailure {
    ModelFailure::new(FailureKind::Protocol, format!("the reply is larger than {REPLY_BYTES_MAX} bytes"))
}

/// Removes the key and the values of configured headers from a text.
pub(crate) struct KeyRedactor(Vec<SecretText>);

impl KeyRedactor {
    fn new(transport: &ProviderTransport, key: Option<&SecretText>) -> Self {
        let configured = transport.0.endpoint.headers.iter().map(|(_, value)| value);
        // Shorter values are words (`true`, `eu`), and replacing them would garble the text.
        Self(configured.chain(key).filter(|secret| secret.reveal().len() >= 6).cloned().collect())
    }

    /// Removes secrets from a text.
    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.reveal().trim(), "[key]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let endpoint = ProviderEndpoint {
            headers: vec![("x-gateway".into(), SecretText::new("gateway-secret"))],
            ..ProviderEndpoint::new("http://localhost", KeySource::fixed(SecretText::new("key-secret")))
        };
        let shown = format!("{:?}", ProviderTransport::new(endpoint).unwrap());
        assert!(!shown.contains("secret\""), "{shown}");
        assert!(!shown.contains("key-secret") && !shown.contains("gateway-secret"), "{shown}");
    }

    #[test]
    fn a_base_url_is_checked_once() {
        for bad in ["", "api.example.com", "ftp://x", "https://user:pass@x"] {
            let error = ProviderTransport::new(ProviderEndpoint::new(bad, KeySource::none())).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{bad}");
        }
        for (good, loopback) in
            [("http://127.0.0.1:1/v1/", true), ("http://[::1]:1", true), ("https://api.example.com", false)]
        {
            let transport = ProviderTransport::new(ProviderEndpoint::new(good, KeySource::none())).unwrap();
            assert_eq!(transport.0.is_loopback, loopback, "{good}");
            assert!(!transport.base_url().ends_with('/'));
        }
    }
}
