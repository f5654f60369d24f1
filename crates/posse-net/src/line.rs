//! One open connection with HTTP/1.1 on it. No task of its own drives it: whoever waits for an answer or reads it does, and
//! whoever stops waiting drops the connection with what is under way on it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body::{Frame, SizeHint};
use hyper::rt::{Read, ReadBuf, Write};
use tokio::task::unconstrained;

use crate::idle::Home;
use crate::message::{self, Chunks, HEAD_BYTES_MAX, Head, Left, Malformed, NO_HTTP, Prepared};

pub(crate) trait Stream: Read + Write + Send + Sync + Unpin {}
impl<T: Read + Write + Send + Sync + Unpin> Stream for T {}

/// What is read at once, unless so much comes that there is more of it.
const ROOM_BYTES: usize = 2 << 10;

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub enum Broken {
    Io(io::Error),
    /// The other side has closed the connection before the answer was complete.
    Closed,
    /// What came is no answer.
    Malformed(&'static str),
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

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Broken::Io(error)
    }
}

impl From<Malformed> for Broken {
    fn from(Malformed(what): Malformed) -> Self {
        Broken::Malformed(what)
    }
}

/// A request that was not answered.
pub(crate) enum Unanswered {
    /// Nothing of it was begun to be sent, so it can be sent on another connection.
    Unsent(Broken),
    /// It was sent, in whole or in part, and may have been worked on.
    Sent(Broken),
}

pub(crate) struct Line {
    stream: Box<dyn Stream>,
    sending: Option<Sending>,
    buffer: Buffer,
}

impl Line {
    pub fn over(stream: Box<dyn Stream>) -> Box<Self> {
        Box::new(Self { stream, sending: None, buffer: Buffer::default() })
    }

    /// Sends a request and waits for the head of its answer. When the answer is read, the connection goes `home`.
    pub async fn ask(
        mut self: Box<Self>,
        request: &Prepared,
        body: Bytes,
        home: Option<Home>,
    ) -> Result<Response<Body>, Unanswered> {
        if !self.is_quiet() {
            return Err(Unanswered::Unsent(Broken::Closed));
        }
        self.sending = Some(Sending::new(request, body));
        let method = &request.method;
        let head = match poll_fn(|context| self.poll_exchange(context, method)).await {
            Err(broken) if self.sending.is_some() => {
                // Who does not listen any more may have said why, and that need not have been noticed yet.
                tokio::task::yield_now().await;
                let said = poll_fn(|context| Poll::Ready(self.poll_head(context, method))).await;
                if let Poll::Ready(Ok(head)) = said { Ok(head) } else { Err(broken) }
            }
            head => head,
        };
        // Once it was begun to be sent, nobody knows how much of it has arrived.
        let Head { response, left, keeps } = head.map_err(Unanswered::Sent)?;
        let home = home.filter(|_| keeps);
        Ok(response.map(|()| Body::new(Open { line: self, left, home })))
    }

    /// Whoever answers before it has heard everything is heard, and what it has not heard yet is still sent.
    fn poll_exchange(&mut self, context: &mut Context<'_>, method: &Method) -> Poll<Result<Head, Broken>> {
        let sent = self.poll_send(context);
        match (self.poll_head(context, method), sent) {
            (Poll::Ready(Ok(head)), _) => Poll::Ready(Ok(head)),
            // That it could not be sent is what happened first.
            (_, Err(error)) => Poll::Ready(Err(Broken::Io(error))),
            (answer, Ok(())) => answer,
        }
    }

    fn poll_head(&mut self, context: &mut Context<'_>, method: &Method) -> Poll<Result<Head, Broken>> {
        loop {
            while let Some(head) = self.buffer.head(method)? {
                if head.response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    return Poll::Ready(Err(Broken::Malformed("the answer speaks another protocol")));
                }
                if !head.response.status().is_informational() {
                    return Poll::Ready(Ok(head));
                }
            }
            if ready!(self.buffer.fill(&mut *self.stream, context))? == 0 {
                return Poll::Ready(Err(Broken::Closed));
            }
        }
    }

    /// Sends as much as is taken.
    fn poll_send(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while let Some(sending) = &mut self.sending {
            let stream = Pin::new(&mut *self.stream);
            let parts = sending.left();
            if parts.iter().all(|part| part.is_empty()) {
                if let Poll::Ready(flushed) = stream.poll_flush(context) {
                    self.sending = None;
                    return flushed;
                }
                return Ok(());
            }
            match stream.poll_write_vectored(context, &parts) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => sending.sent += count,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(()),
            }
        }
        Ok(())
    }

    /// Whether another request can be sent: the last one was answered, and nothing came since, not even the end.
    fn is_quiet(&mut self) -> bool {
        if self.sending.is_some() || !self.buffer.is_empty() {
            return false;
        }
        self.look().is_pending()
    }

    /// What is there already, whoever is told of more. The clock of the scheduler must not make a connection seem quiet that is not.
    fn look(&mut self) -> Poll<io::Result<usize>> {
        let read = unconstrained(poll_fn(|context| self.buffer.fill(&mut *self.stream, context)));
        pin!(read).poll(&mut Context::from_waker(Waker::noop()))
    }
}

/// A request on its way.
struct Sending {
    lines: Bytes,
    last_lines: String,
    body: Bytes,
    sent: usize,
}

impl Sending {
    fn new(request: &Prepared, body: Bytes) -> Self {
        let last_lines = request.last_lines(body.len());
        Self { lines: request.lines.clone(), last_lines, body, sent: 0 }
    }

    fn left(&self) -> [IoSlice<'_>; 3] {
        let mut sent = self.sent;
        [&self.lines[..], self.last_lines.as_bytes(), &self.body[..]].map(|part| {
            let left = &part[sent.min(part.len())..];
            sent = sent.saturating_sub(part.len());
            IoSlice::new(left)
        })
    }
}

/// What has come and was not taken yet.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    here: Range<usize>,
    /// How much of it was looked at for the end of a head.
    looked_at: usize,
    /// So much came at once that `bytes` is room for more.
    is_long: bool,
}

impl Buffer {
    fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    fn here(&self) -> &[u8] {
        &self.bytes[self.here.clone()]
    }

    fn take(&mut self, count: usize) {
        self.here.start += count;
        self.looked_at = 0;
        if self.here.is_empty() && !self.is_long {
            (self.bytes, self.here) = (Vec::new(), 0..0);
        }
    }

    /// Reads once. Zero: the other side says no more.
    fn fill(&mut self, stream: &mut dyn Stream, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.here.is_empty() && !self.is_long {
            return self.fill_anew(stream, context);
        }
        self.make_room();
        let mut room = ReadBuf::new(&mut self.bytes[self.here.end..]);
        ready!(Pin::new(stream).poll_read(context, room.unfilled()))?;
        let count = room.filled().len();
        self.here.end += count;
        Poll::Ready(Ok(count))
    }

    /// Most answers are short. Memory is taken for what came of them, and not for what could: a thousand connections wait most of
    /// the time.
    fn fill_anew(&mut self, stream: &mut dyn Stream, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = [MaybeUninit::uninit(); ROOM_BYTES];
        let mut room = ReadBuf::uninit(&mut room);
        ready!(Pin::new(stream).poll_read(context, room.unfilled()))?;
        let count = room.filled().len();
        self.bytes = room.filled().to_vec();
        self.here = 0..count;
        self.is_long = count == ROOM_BYTES;
        Poll::Ready(Ok(count))
    }

    fn make_room(&mut self) {
        if self.here.is_empty() {
            // An answer of which so much comes at once has more of it.
            if self.here.end == self.bytes.len() && self.bytes.len() < HEAD_BYTES_MAX {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
            self.here = 0..0;
        } else if self.here.end == self.bytes.len() {
            self.bytes.copy_within(self.here.clone(), 0);
            self.here = 0..self.here.len();
            if self.here.end == self.bytes.len() {
                self.bytes.resize((self.bytes.len() * 2).max(ROOM_BYTES), 0);
            }
        }
    }

    fn head(&mut self, method: &Method) -> Result<Option<Head>, Malformed> {
        match message::head_end(self.here(), self.looked_at) {
            Some(end) => {
                let head = message::read_head(&self.here()[..end], method)?;
                self.take(end);
                Ok(Some(head))
            }
            None if self.here.len() >= HEAD_BYTES_MAX => Err(Malformed("the head of the answer is too long")),
            None if !message::may_begin(self.here()) => Err(NO_HTTP),
            None => {
                self.looked_at = self.here.len();
                Ok(None)
            }
        }
    }

    /// What is here of a body; empty if more has to come, or none does.
    fn body(&mut self, left: &mut Left) -> Result<Bytes, Malformed> {
        let (taken, data) = match left {
            Left::Bytes(left) => {
                let count = self.here.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= count as u64;
                (count, 0..count)
            }
            Left::Chunks(chunks) => return self.chunks(chunks),
            Left::UntilClosed => (self.here.len(), 0..self.here.len()),
        };
        let data = Bytes::copy_from_slice(&self.here()[data]);
        self.take(taken);
        Ok(data)
    }

    /// All that is here, in one piece: whoever sends each byte by itself does not get memory for each.
    fn chunks(&mut self, chunks: &mut Chunks) -> Result<Bytes, Malformed> {
        let mut all = Vec::new();
        loop {
            let mut next = *chunks;
            match next.take(self.here()) {
                Ok((taken, data)) => {
                    let is_last = data.is_empty();
                    all.extend_from_slice(&self.here()[data]);
                    *chunks = next;
                    self.take(taken);
                    if is_last {
                        return Ok(all.into());
                    }
                }
                Err(malformed) if all.is_empty() => return Err(malformed),
                // What came before it is whole; it is found again.
                Err(_) => return Ok(all.into()),
            }
        }
    }
}

/// The body of an answer. The connection is used again if it was read to its end, or all of it was there when it is dropped.
#[derive(Debug)]
pub struct Body(Option<Open>);

struct Open {
    line: Box<Line>,
    left: Left,
    /// Where the connection goes afterwards, if it can be used again.
    home: Option<Home>,
}

impl Open {
    fn is_over(&self) -> bool {
        match &self.left {
            Left::Bytes(left) => *left == 0,
            Left::Chunks(chunks) => chunks.is_over(),
            Left::UntilClosed => false,
        }
    }

    /// Data, or nothing at the end.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Broken>> {
        if self.line.poll_send(context).is_err() {
            // The answer may be complete all the same.
            (self.line.sending, self.home) = (None, None);
        }
        loop {
            let data = self.line.buffer.body(&mut self.left)?;
            if !data.is_empty() || self.is_over() {
                return Poll::Ready(Ok(data));
            }
            match ready!(self.line.buffer.fill(&mut *self.line.stream, context))? {
                0 if self.left == Left::UntilClosed => return Poll::Ready(Ok(data)),
                0 => return Poll::Ready(Err(Broken::Closed)),
                _ => {}
            }
        }
    }
}

impl Body {
    fn new(open: Open) -> Self {
        let mut body = Self(Some(open));
        if body.0.as_ref().is_some_and(Open::is_over) {
            body.close();
        }
        body
    }

    fn close(&mut self) {
        let Some(mut open) = self.0.take() else { return };
        let Some(home) = open.home.take() else { return };
        // What was not read is thrown away, if it is here; otherwise the connection ends.
        let discard = |open: &mut Open| {
            while open.line.buffer.body(&mut open.left).is_ok_and(|data| !data.is_empty()) {}
        };
        discard(&mut open);
        if !open.is_over() && open.line.look().is_ready() {
            discard(&mut open);
        }
        if open.is_over() && open.line.is_quiet() {
            open.line.buffer = Buffer::default();
            home.keep(open.line);
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(open) = &mut self.0 else { return Poll::Ready(None) };
        let data = ready!(open.poll_data(context));
        match data {
            Ok(data) => {
                if open.is_over() || data.is_empty() {
                    self.close();
                }
                Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
            }
            Err(broken) => {
                self.0 = None;
                Poll::Ready(Some(Err(broken)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(Open { left: Left::Bytes(left), .. }) => SizeHint::with_exact(*left),
            Some(_) => SizeHint::new(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Open")
    }
}

#[cfg(test)]
mod tests {
    use hyper::rt::ReadBufCursor;

    use super::*;

    /// Gives what is left of it, as much as is asked for.
    struct Source(Vec<u8>);

    impl Read for Source {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            mut room: ReadBufCursor<'_>,
        ) -> Poll<io::Result<()>> {
            let count = self.0.len().min(room.remaining());
            room.put_slice(&self.0.drain(..count).collect::<Vec<u8>>());
            Poll::Ready(Ok(()))
        }
    }

    impl Write for Source {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Pending
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    fn fill(buffer: &mut Buffer, bytes: &[u8]) -> usize {
        let mut source = Source(bytes.to_vec());
        match buffer.fill(&mut source, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(count)) => count,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_connection_keeps_no_memory_after_a_short_answer_and_gets_more_for_a_long_one() {
        let mut buffer = Buffer::default();
        assert_eq!((fill(&mut buffer, b"ab"), fill(&mut buffer, b"cd")), (2, 2));
        buffer.take(1);
        assert_eq!((fill(&mut buffer, b"e"), buffer.here()), (1, &b"bcde"[..]));
        buffer.take(4);
        assert_eq!((buffer.is_empty(), buffer.bytes.capacity()), (true, 0));
        let long: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
        for (count, room) in [ROOM_BYTES, ROOM_BYTES * 2, ROOM_BYTES * 4].into_iter().enumerate() {
            assert_eq!(fill(&mut buffer, &long), room, "read {count}");
            assert_eq!(buffer.here(), &long[..room]);
            buffer.take(room);
        }
    }
}
