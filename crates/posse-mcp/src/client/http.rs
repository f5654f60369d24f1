//! Streamable HTTP transport over Posse's own connection pool: no redirects, no compression, no message above
//! the size limit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Limited};
use posse_net::{ConnectionPool, ResponseStream, causes};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::MESSAGE_BYTES_MAX;
use super::lines::{discovered, discovery, too_large, too_large_text};
use super::oauth::{AccessDenied, AuthChallenge, TokenManager};
use super::pace::ReconnectPace;
use super::tap::ListTap;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Set by the transport after the handshake.
const VERSION: &str = "mcp-protocol-version";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Maximum bytes read of an error response.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// The HTTP client that the SDK's transport uses.
#[derive(Clone)]
pub(super) struct HttpTransport {
    pool: ConnectionPool,
    tap: Arc<ListTap>,
    /// Token manager; `None` if the configuration holds the token.
    keeper: Option<Arc<TokenManager>>,
}

type Failed = StreamableHttpError<io::Error>;

impl HttpTransport {
    /// Creates a client; without a token manager it uses the token that the transport passes.
    pub fn new(pool: ConnectionPool, tap: Arc<ListTap>, keeper: Option<Arc<TokenManager>>) -> Self {
        Self { pool, tap, keeper }
    }

    /// Sends a request with a token, and retries once with another token if the server refuses the first.
    async fn send(
        &self,
        method: Method,
        uri: &str,
        mut own: Vec<(HeaderName, String)>,
        bearer: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<Response<ResponseStream>, Failed> {
        let bearing = |token: &String| (AUTHORIZATION, format!("Bearer {token}"));
        let Some(keeper) = &self.keeper else {
            own.extend(bearer.as_ref().map(bearing));
            return self.transmit(method, uri, own, custom, body).await;
        };
        let said = keeper.token().await.map_err(|denied| not_let_in(&denied))?;
        let with = |token: &Option<String>| own.iter().cloned().chain(token.as_ref().map(bearing)).collect();
        let response = self.transmit(method.clone(), uri, with(&said), custom.clone(), body.clone()).await?;
        let Some(challenge) = challenge(&response) else { return Ok(response) };
        let other = keeper.refused(&challenge, said.as_deref()).await;
        let other = other.map_err(|denied| not_let_in(&denied))?;
        let response = self.transmit(method, uri, with(&other), custom, body).await?;
        match self::challenge(&response) {
            None => Ok(response),
            Some(challenge) => Err(not_let_in(&keeper.refused_again(&challenge))),
        }
    }

    async fn transmit(
        &self,
        method: Method,
        uri: &str,
        own: Vec<(HeaderName, String)>,
        custom: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<Response<ResponseStream>, Failed> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().map_err(|_| invalid("the address"))?;
        let headers = request.headers_mut();
        for (name, value) in custom {
            if is_reserved(&name) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            headers.insert(name, value);
        }
        for (name, value) in own {
            headers.insert(name, HeaderValue::try_from(value).map_err(|_| invalid("a header"))?);
        }
        let answered = self.pool.send(request).await;
        answered.map_err(|cause| StreamableHttpError::Client(io::Error::other(causes(&cause))))
    }

    /// Streams the events of a body at a limited rate. An oversized event becomes an error for the pending
    /// request.
    fn events(
        &self,
        body: ResponseStream,
        asked: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let events = SseStream::new(BoundedEvents { body, event: 0, line: 0 });
        let state = (Box::pin(events), ReconnectPace::new(), self.tap.clone(), asked);
        let listened = unfold(state, |(mut events, mut pace, tap, mut asked)| async move {
            pace.wait().await;
            let mut event = events.next().await?;
            pace.took();
            if let Ok(Sse { data: Some(data), .. }) = &event {
                tap.observe(data.as_bytes());
            }
            if event.as_ref().is_err_and(is_too_large)
                && let Some(id) = asked.take()
            {
                let told = too_large(id);
                event = Ok(Sse::default().data(serde_json::to_string(&told).unwrap_or_default()));
            }
            Some((event, (events, pace, tap, asked)))
        });
        listened.boxed()
    }

    async fn answer(
        &self,
        message: &ClientJsonRpcMessage,
        response: Response<ResponseStream>,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let (status, headers) = (response.status(), response.headers());
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
        let session = text(headers, &SESSION);
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if !status.is_success() {
            return self.refusal(message, response, has_session, kind.starts_with(JSON)).await;
        }
        if kind.starts_with(EVENTS) {
            let asked = match message {
                ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            return Ok(StreamableHttpPostResponse::Sse(self.events(response.into_body(), asked), session));
        }
        let body = whole(response.into_body(), MESSAGE_BYTES_MAX).await?;
        if body.is_empty() && !is_request {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !kind.starts_with(JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        self.tap.observe(&body);
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) => {
                Ok(StreamableHttpPostResponse::Json(discovered(answer, discovery(message)), session))
            }
            Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(cause) => Err(StreamableHttpError::Deserialize(cause)),
        }
    }

    /// Handles an error status. Servers of older protocols reject discovery in many ways.
    async fn refusal(
        &self,
        message: &ClientJsonRpcMessage,
        response: Response<ResponseStream>,
        has_session: bool,
        is_json: bool,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let status = response.status();
        let after = text(response.headers(), &http::header::RETRY_AFTER);
        let body = whole(response.into_body(), REFUSAL_BYTES_MAX).await.unwrap_or_default();
        let error = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok().filter(|_| is_json);
        let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let Some(id) = discovery(message)
            && status.is_client_error()
            && !is_denied
            && !has_session
        {
            let error = match error {
                Some(ServerJsonRpcMessage::Error(error)) => error.error,
                _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
            };
            let answer = ServerJsonRpcMessage::error(error, Some(id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        match error {
            Some(error @ ServerJsonRpcMessage::Error(_)) if !is_denied => {
                Ok(StreamableHttpPostResponse::Json(error, None))
            }
            _ => Err(HttpStatusError::new(status.as_u16(), after).into()),
        }
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = io::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let mut own = vec![(ACCEPT, format!("{EVENTS}, {JSON}")), (CONTENT_TYPE, JSON.to_owned())];
        let has_session = session.is_some();
        own.extend(session.map(|id| (SESSION, id.to_string())));
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let response = self.send(Method::POST, &uri, own, bearer, custom, body).await?;
        denied(&response)?;
        self.answer(&message, response, has_session).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let own = vec![(SESSION, session.to_string())];
        // A server may keep the session; that is not an error.
        self.send(Method::DELETE, &uri, own, bearer, custom, Bytes::new()).await.map(|_| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut own = vec![(ACCEPT, EVENTS.to_owned())];
        own.extend(session.map(|id| (SESSION, id.to_string())));
        own.extend(last_event.map(|id| (LAST_EVENT, id)));
        let response = self.send(Method::GET, &uri, own, bearer, custom, Bytes::new()).await?;
        denied(&response)?;
        let kind = text(response.headers(), &CONTENT_TYPE);
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(HttpStatusError::new(status.as_u16(), None).into()),
            _ if kind.as_ref().is_some_and(|kind| kind.starts_with(EVENTS)) => {
                Ok(self.events(response.into_body(), None))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

/// Maps 401 and 403 with a challenge to the SDK's errors.
fn denied(response: &Response<ResponseStream>) -> Result<(), Failed> {
    let Some(challenge) = text(response.headers(), &WWW_AUTHENTICATE) else { return Ok(()) };
    match response.status() {
        StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
        StatusCode::FORBIDDEN => {
            Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None)))
        }
        _ => Ok(()),
    }
}

fn challenge(response: &Response<ResponseStream>) -> Option<AuthChallenge> {
    let said = text(response.headers(), &WWW_AUTHENTICATE);
    AuthChallenge::of(response.status().as_u16(), said.as_deref())
}

fn not_let_in(denied: &AccessDenied) -> Failed {
    StreamableHttpError::AuthRequired(AuthRequiredError::new(denied.why().english().to_owned()))
}

fn is_reserved(name: &HeaderName) -> bool {
    let ours = [ACCEPT, SESSION, LAST_EVENT];
    name.as_str() != VERSION && ours.contains(name)
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn invalid(what: &'static str) -> Failed {
    StreamableHttpError::UnexpectedServerResponse(Cow::Borrowed(what))
}

async fn whole(body: ResponseStream, most: usize) -> Result<Bytes, Failed> {
    let read = Limited::new(body, most).collect().await;
    read.map(|body| body.to_bytes()).map_err(|cause| {
        let why = match cause.is::<http_body_util::LengthLimitError>() {
            true => too_large_text(most),
            false => causes(&*cause),
        };
        StreamableHttpError::Client(io::Error::other(why))
    })
}

fn is_too_large(error: &SseError) -> bool {
    let cause = match error {
        SseError::Body(cause) => cause.downcast_ref::<io::Error>(),
        _ => None,
    };
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::FileTooLarge)
}

/// A response body that fails if an event exceeds the message limit.
struct BoundedEvents {
    body: ResponseStream,
    /// Bytes since the last empty line, and since the last line break.
    event: usize,
    line: usize,
}

impl BoundedEvents {
    fn observe(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => {
                    self.line += 1;
                    self.event += 1;
                }
            }
            if self.event > MESSAGE_BYTES_MAX {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(())
    }
}

impl http_body::Body for BoundedEvents {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(match frame {
            Err(cause) => Err(io::Error::other(causes(&cause))),
            Ok(frame) => match frame.data_ref() {
                None => Ok(frame),
                Some(bytes) => {
                    let bytes = bytes.clone();
                    self.observe(&bytes).map(|()| frame)
                }
            },
        }))
    }
}
