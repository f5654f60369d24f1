//! One open connection with HTTP/1.1 on it. No task of its own drives it: whoever waits for an answer or reads it does, and
//! whoever stops waiting drops the connection with what is under way on it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::rt::{Read, Write};
use tokio::task::unconstrained;

use crate::idle::Home;

pub(crate) trait Stream: Read + Write + Send + Sync + Unpin {}
impl<T: Read + Write + Send + Sync + Unpin> Stream for T {}

pub(crate) type Asked = Request<Full<Bytes>>;
type Answered = Result<Response<Body>, TrySendError<Asked>>;

pub(crate) struct Line {
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<Box<dyn Stream>, Full<Bytes>>,
}

impl Line {
    pub async fn over(stream: impl Stream + 'static) -> hyper::Result<Box<Self>> {
        let (sender, connection) = handshake(Box::new(stream) as Box<dyn Stream>).await?;
        Ok(Box::new(Self { sender, connection }))
    }

    /// Sends a request and waits for the head of its answer. A request of which nothing was sent comes back in the error.
    /// When the answer is read, the connection goes `home`.
    pub fn ask(mut self: Box<Self>, request: Asked, home: Option<Home>) -> impl Future<Output = Answered> {
        // The clock of the scheduler must not make an answer seem to be missing that nobody announces again.
        let sent = unconstrained(self.sender.try_send_request(request));
        async move {
            let (mut answer, mut line, mut is_sent) = (pin!(sent), Some(self), false);
            let head = poll_fn(|context| {
                let may_have_come = std::mem::replace(&mut is_sent, true);
                driven(&mut line, context, may_have_come, |unheard| answer.as_mut().poll(unheard))
            });
            let response = head.await?;
            Ok(response.map(|incoming| Body::new(incoming, line, home)))
        }
    }

    /// Whether another request can be sent.
    fn is_reusable(&mut self) -> bool {
        let mut unheard = Context::from_waker(Waker::noop());
        self.sender.is_ready()
            || self.connection.poll_without_shutdown(&mut unheard).is_pending() && self.sender.is_ready()
    }
}

/// What `get` finds once the connection has brought it. Only driving the connection can bring it, so `get` need not wake
/// anybody. Nor need the connection while there is something to get: if something may have come, that is looked for before
/// anybody goes to sleep, and nobody is woken by what they themselves did.
fn driven<T>(
    line: &mut Option<Box<Line>>,
    context: &mut Context<'_>,
    may_have_come: bool,
    mut get: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let mut unheard = Context::from_waker(Waker::noop());
    for waker in may_have_come.then_some(Waker::noop()).into_iter().chain([context.waker()]) {
        if let Some(open) = line
            && open.connection.poll_without_shutdown(&mut Context::from_waker(waker)).is_ready()
        {
            // What was still to come fails with what is dropped here.
            *line = None;
        }
        if let Poll::Ready(found) = get(&mut unheard) {
            return Poll::Ready(found);
        }
    }
    Poll::Pending
}

/// The body of an answer. The connection is used again if it was read to its end, or all of it was there when it is dropped.
#[derive(Debug)]
pub struct Body(Option<Open>);

struct Open {
    incoming: Incoming,
    line: Option<Box<Line>>,
    home: Option<Home>,
}

impl Body {
    fn new(incoming: Incoming, line: Option<Box<Line>>, home: Option<Home>) -> Self {
        let mut body = Self(Some(Open { incoming, line, home }));
        if body.is_end_stream() {
            body.close();
        }
        body
    }

    fn close(&mut self) {
        let Some(Open { incoming, line, home }) = self.0.take() else { return };
        // What was not read is thrown away, if it is here; otherwise the connection ends.
        drop(incoming);
        if let (Some(mut line), Some(home)) = (line, home)
            && line.is_reusable()
        {
            home.keep(line);
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(Open { incoming, line, .. }) = &mut self.0 else { return Poll::Ready(None) };
        let mut next = |unheard: &mut Context<'_>| Pin::new(&mut *incoming).poll_frame(unheard);
        let frame = match next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(frame) => frame,
            Poll::Pending => std::task::ready!(driven(line, context, true, next)),
        };
        match &frame {
            Some(Ok(_)) => {}
            None => self.close(),
            Some(Err(_)) => self.0 = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|open| open.incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or(SizeHint::with_exact(0), |open| open.incoming.size_hint())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Open")
    }
}
