//! One open connection with HTTP/1.1 on it, spoken by hyper. No task of its own drives it: the caller that waits for a response or
//! reads its body does, and dropping the wait drops the connection with whatever is under way on it.

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

use crate::idle::Home;

pub(crate) trait Stream: Read + Write + Send + Sync + Unpin {}
impl<T: Read + Write + Send + Sync + Unpin> Stream for T {}

/// Longest head of a response. Providers send about ten lines.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// Frames of an unread body that are discarded to keep its connection.
const DISCARD_MAX: usize = 16;

/// The reason why there is no response, or no more of it.
#[derive(Debug)]
pub enum Broken {
    Io(io::Error),
    /// The peer closed the connection before the response was complete.
    Closed,
    /// The bytes that came are not a response.
    Malformed(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Io(_) => f.write_str("connection error"),
            Broken::Closed => f.write_str("connection closed before the answer was complete"),
            Broken::Malformed(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Broken::Io(error) => Some(error),
            Broken::Closed | Broken::Malformed(_) => None,
        }
    }
}

impl From<hyper::Error> for Broken {
    fn from(error: hyper::Error) -> Self {
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return Broken::Closed;
        }
        let io = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
        match io {
            Some(io) if io.kind() == io::ErrorKind::UnexpectedEof => Broken::Closed,
            // A fault in a chunk is an I/O error to hyper.
            Some(io) if matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                Broken::Malformed(format!("the answer is malformed: {io}"))
            }
            Some(io) => Broken::Io(match io.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(io.kind(), io.to_string()),
            }),
            None => Broken::Malformed(format!("the answer is malformed: {error}")),
        }
    }
}

/// A request that was not answered.
pub(crate) enum Unanswered {
    /// Nothing of it was sent, so it can be sent on another connection.
    Unsent(Broken),
    /// It was sent, in whole or in part, and may have been worked on.
    Sent(Broken),
}

/// The head of a request whose bodies differ. Clones share nothing that changes.
#[derive(Clone)]
pub struct Prepared(Parts);

impl Prepared {
    pub(crate) fn new(mut parts: Parts) -> Self {
        // The length is that of the body that is sent.
        parts.headers.remove(CONTENT_LENGTH);
        parts.headers.remove(TRANSFER_ENCODING);
        parts.version = Version::HTTP_11;
        Self(parts)
    }

    fn with(&self, body: Bytes) -> Request<Full<Bytes>> {
        Request::from_parts(self.0.clone(), Full::new(body))
    }
}

/// Hides the request: its headers hold keys.
impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared(…)")
    }
}

pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: http1::Connection<Box<dyn Stream>, Full<Bytes>>,
    /// The driver has ended; polling it again would panic.
    is_over: bool,
}

impl Connection {
    pub async fn over(stream: Box<dyn Stream>) -> hyper::Result<Box<Self>> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES_MAX).max_headers(HEADERS_MAX);
        let (sender, driver) = builder.handshake(stream).await?;
        Ok(Box::new(Self { sender, driver, is_over: false }))
    }

    /// Sends a request and waits for the head of its response. When the body is read, the connection goes `home`.
    pub async fn ask(
        mut self: Box<Self>,
        request: &Prepared,
        body: Bytes,
        home: Option<Home>,
    ) -> Result<Response<Body>, Unanswered> {
        if !self.is_ready() {
            return Err(Unanswered::Unsent(Broken::Closed));
        }
        let answered = {
            let mut answer = pin!(self.sender.try_send_request(request.with(body)));
            let (driver, is_over) = (&mut self.driver, &mut self.is_over);
            poll_fn(|context| {
                // The driver writes the request and reads the response; the answer is its to give, so it is polled first.
                poll_driver(driver, is_over, context);
                answer.as_mut().poll(context)
            })
            .await
        };
        let response = answered.map_err(|mut failed| match failed.take_message() {
            Some(_) => Unanswered::Unsent(failed.into_error().into()),
            None => Unanswered::Sent(failed.into_error().into()),
        })?;
        let keeps = judge(&response).map_err(Unanswered::Sent)?;
        let home = home.filter(|_| keeps);
        Ok(response.map(|incoming| Body::new(OpenBody { incoming, connection: self, home })))
    }

    /// Looks whether a request can be sent: the last response is complete and nothing came since, not even the end.
    fn is_ready(&mut self) -> bool {
        let (driver, is_over) = (&mut self.driver, &mut self.is_over);
        // Unconstrained: the scheduler's budget must not make a closed connection seem open.
        let _ = look(poll_fn(|context| {
            poll_driver(driver, is_over, context);
            Poll::Ready(())
        }));
        !self.is_over && self.sender.is_ready()
    }
}

/// Polls a future once, with nobody to wake.
fn look<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(unconstrained(future)).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll_driver(
    driver: &mut http1::Connection<Box<dyn Stream>, Full<Bytes>>,
    is_over: &mut bool,
    context: &mut Context<'_>,
) {
    // An error of the driver reaches the caller through the response or its body.
    if !*is_over && Pin::new(driver).poll(context).is_ready() {
        *is_over = true;
    }
}

/// Refuses responses whose extent is unclear; says whether the connection may be used again.
fn judge(response: &Response<Incoming>) -> Result<bool, Broken> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Broken::Malformed("the answer speaks another protocol".to_owned()));
    }
    let headers = response.headers();
    let Some(codings) = transfer_codings(headers) else { return Ok(true) };
    // Anything but one `chunked` is read differently by different readers.
    if !codings.eq_ignore_ascii_case(b"chunked") || response.version() != Version::HTTP_11 {
        return Err(Broken::Malformed("the answer is coded in a way that nobody asked for".to_owned()));
    }
    Ok(!headers.contains_key(CONTENT_LENGTH))
}

/// Every transfer coding in one list; `None` without any.
fn transfer_codings(headers: &HeaderMap) -> Option<Vec<u8>> {
    let values: Vec<&[u8]> =
        headers.get_all(TRANSFER_ENCODING).iter().map(|value| value.as_bytes()).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]).trim_ascii().to_vec())
}

/// The body of a response. Its connection is used again if it was read to its end, or the rest had come when it is dropped.
#[derive(Debug)]
pub struct Body(Option<OpenBody>);

struct OpenBody {
    incoming: Incoming,
    connection: Box<Connection>,
    /// Where the connection goes afterwards, if it can be used again.
    home: Option<Home>,
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

impl Body {
    fn new(open: OpenBody) -> Self {
        let mut body = Self(Some(open));
        if body.0.as_ref().is_some_and(|open| open.incoming.is_end_stream()) {
            body.close(true);
        }
        body
    }

    /// Gives the connection back, if it can be used again.
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

/// Reads the rest of a body as far as it has come. `true` if that was all of it.
fn discard(open: &mut OpenBody) -> bool {
    for _ in 0..DISCARD_MAX {
        match look(poll_fn(|context| open.poll_frame(context))) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None) => return true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => return false,
        }
    }
    false
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
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

impl Drop for Body {
    fn drop(&mut self) {
        self.close(false);
    }
}

impl fmt::Debug for OpenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenBody")
    }
}
