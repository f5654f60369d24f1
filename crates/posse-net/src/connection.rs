//! One open HTTP/1.1 connection, driven by hyper. It has no task of its own: the caller that awaits a
//! response or reads its body drives it. Dropping that future drops the connection and any request in flight.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use tokio::task::unconstrained;

use crate::idle::ConnectionHome;
use crate::pool::PoolError;

pub(crate) trait ByteStream: Read + Write + Send + Sync + Unpin {}
impl<T: Read + Write + Send + Sync + Unpin> ByteStream for T {}

/// Maximum size of a response head. Providers send about ten lines.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// Maximum frames of an unread body that are discarded to keep its connection.
const DISCARD_MAX: usize = 16;

/// The reason why a response is missing or incomplete.
#[derive(Debug)]
pub enum ConnectionError {
    Io(io::Error),
    /// The peer closed the connection before the response was complete.
    Closed,
    /// The received bytes are not a valid response.
    Malformed(String),
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionError::Io(_) => f.write_str("connection error"),
            ConnectionError::Closed => f.write_str("connection closed before the answer was complete"),
            ConnectionError::Malformed(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ConnectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ConnectionError::Io(error) => Some(error),
            ConnectionError::Closed | ConnectionError::Malformed(_) => None,
        }
    }
}

impl From<hyper::Error> for ConnectionError {
    fn from(error: hyper::Error) -> Self {
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return ConnectionError::Closed;
        }
        let io = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
        match io {
            Some(io) if io.kind() == io::ErrorKind::UnexpectedEof => ConnectionError::Closed,
            // hyper reports a malformed chunk as an I/O error.
            Some(io) if matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                ConnectionError::Malformed(format!("the answer is malformed: {io}"))
            }
            Some(io) => ConnectionError::Io(match io.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(io.kind(), io.to_string()),
            }),
            None => ConnectionError::Malformed(format!("the answer is malformed: {error}")),
        }
    }
}

/// A request head that is reused with different bodies. Clones share nothing mutable.
#[derive(Clone)]
pub struct PreparedRequest(Parts);

impl PreparedRequest {
    pub(crate) fn new(mut parts: Parts) -> Self {
        // hyper sets the length from the body.
        parts.headers.remove(CONTENT_LENGTH);
        parts.headers.remove(TRANSFER_ENCODING);
        parts.version = Version::HTTP_11;
        Self(parts)
    }

    fn with(&self, body: Bytes) -> Request<Full<Bytes>> {
        Request::from_parts(self.0.clone(), Full::new(body))
    }
}

/// Hides the request, because its headers hold keys.
impl fmt::Debug for PreparedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared(…)")
    }
}

/// An open connection and the future that drives it.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: http1::Connection<Box<dyn ByteStream>, Full<Bytes>>,
    /// The driver has ended; polling it again would panic.
    is_over: bool,
}

impl Connection {
    /// Starts HTTP/1.1 on an open stream.
    pub async fn over(stream: Box<dyn ByteStream>) -> hyper::Result<Box<Self>> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES_MAX).max_headers(HEADERS_MAX);
        let (sender, driver) = builder.handshake(stream).await?;
        Ok(Box::new(Self { sender, driver, is_over: false }))
    }

    /// Sends a request and waits for the response head. The connection returns `home` once the body is read.
    pub async fn ask(
        mut self: Box<Self>,
        request: &PreparedRequest,
        body: Bytes,
        home: Option<ConnectionHome>,
    ) -> Result<Response<ResponseStream>, PoolError> {
        if !self.is_ready() {
            return Err(PoolError::Unsent(ConnectionError::Closed));
        }
        let answered = {
            let mut answer = pin!(self.sender.try_send_request(request.with(body)));
            let (driver, is_over) = (&mut self.driver, &mut self.is_over);
            poll_fn(|context| {
                // The driver writes the request and reads the response, so it is polled first.
                poll_driver(driver, is_over, context);
                answer.as_mut().poll(context)
            })
            .await
        };
        let response = answered.map_err(|mut failed| match failed.take_message() {
            Some(_) => PoolError::Unsent(failed.into_error().into()),
            None => PoolError::Sent(failed.into_error().into()),
        })?;
        let keeps = judge(&response).map_err(PoolError::Sent)?;
        let home = home.filter(|_| keeps);
        Ok(response.map(|incoming| ResponseStream::new(OpenBody { incoming, connection: self, home })))
    }

    /// Checks that a request can be sent: the last response is complete, and nothing has arrived since, not
    /// even the end of the stream.
    fn is_ready(&mut self) -> bool {
        let (driver, is_over) = (&mut self.driver, &mut self.is_over);
        // Unconstrained: the scheduler's budget must not make a closed connection seem open.
        let _ = poll_once(poll_fn(|context| {
            poll_driver(driver, is_over, context);
            Poll::Ready(())
        }));
        !self.is_over && self.sender.is_ready()
    }
}

/// Polls a future once without registering a waker.
fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(unconstrained(future)).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll_driver(
    driver: &mut http1::Connection<Box<dyn ByteStream>, Full<Bytes>>,
    is_over: &mut bool,
    context: &mut Context<'_>,
) {
    // The caller gets a driver error through the response or its body.
    if !*is_over && Pin::new(driver).poll(context).is_ready() {
        *is_over = true;
    }
}

/// Rejects responses of ambiguous length; returns whether the connection may be reused.
fn judge(response: &Response<Incoming>) -> Result<bool, ConnectionError> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(ConnectionError::Malformed("the answer speaks another protocol".to_owned()));
    }
    let headers = response.headers();
    let Some(codings) = transfer_codings(headers) else { return Ok(true) };
    // Parsers disagree about anything but a single `chunked`.
    if !codings.eq_ignore_ascii_case(b"chunked") || response.version() != Version::HTTP_11 {
        return Err(ConnectionError::Malformed(
            "the answer is coded in a way that nobody asked for".to_owned(),
        ));
    }
    Ok(!headers.contains_key(CONTENT_LENGTH))
}

/// Joins all transfer codings; `None` without any.
fn transfer_codings(headers: &HeaderMap) -> Option<Vec<u8>> {
    let values: Vec<&[u8]> =
        headers.get_all(TRANSFER_ENCODING).iter().map(|value| value.as_bytes()).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]).trim_ascii().to_vec())
}

/// The body of a response. Its connection is reused if the body was read to its end, or if the rest had
/// already arrived on drop.
#[derive(Debug)]
pub struct ResponseStream(Option<OpenBody>);

struct OpenBody {
    incoming: Incoming,
    connection: Box<Connection>,
    /// The pool that takes the connection back, if it can be reused.
    home: Option<ConnectionHome>,
}

impl OpenBody {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Connection { driver, is_over, .. } = &mut *self.connection;
        if let ready @ Poll::Ready(_) = Pin::new(&mut self.incoming).poll_frame(context) {
            return ready;
        }
        poll_driver(driver, is_over, context);
        Pin::new(&mut self.incoming).poll_frame(context)
    }
}

impl ResponseStream {
    fn new(open: OpenBody) -> Self {
        let mut body = Self(Some(open));
        if body.0.as_ref().is_some_and(|open| open.incoming.is_end_stream()) {
            body.close(true);
        }
        body
    }

    /// Returns the connection to its pool if it can be reused.
    fn close(&mut self, is_read: bool) {
        let Some(mut open) = self.0.take() else { return };
        let Some(home) = open.home.take() else { return };
        if !is_read && !discard(&mut open) {
            return;
        }
        let OpenBody { incoming, mut connection, .. } = open;
        drop(incoming);
        if connection.is_ready() {
            home.keep(connection);
        }
    }
}

/// Discards the part of the body that has already arrived; returns `true` if that was all of it.
fn discard(open: &mut OpenBody) -> bool {
    for _ in 0..DISCARD_MAX {
        match poll_once(poll_fn(|context| open.poll_frame(context))) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None) => return true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => return false,
        }
    }
    false
}

impl http_body::Body for ResponseStream {
    type Data = Bytes;
    type Error = ConnectionError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionError>>> {
        let Some(open) = &mut self.0 else { return Poll::Ready(None) };
        match ready!(open.poll_frame(context)) {
            Some(Ok(frame)) => {
                if open.incoming.is_end_stream() {
                    self.close(true);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.0 = None;
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                self.close(true);
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |open| open.incoming.size_hint())
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        self.close(false);
    }
}

impl fmt::Debug for OpenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenBody")
    }
}
