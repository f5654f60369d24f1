//! A provider on the loopback whose every byte a test decides, and which remembers what it was sent.
//!
//! Either a script of answers, used in order, or a function from request to answer, for conversations. It speaks just
//! enough HTTP/1.1: requests with a length or in chunks, answers with a length, in chunks, or raw.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

/// A request that is larger is a mistake in the test.
const REQUEST_BYTES_MAX: usize = 64 << 20;
const CHUNKS_END: &[u8] = b"0\r\n\r\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Connection number, from 0: equal numbers mean a reused connection.
    pub connection: usize,
    /// When it had arrived whole, on tokio's clock.
    pub at: Instant,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; panics with the text if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| {
            panic!("the request is not JSON ({e}): {}", String::from_utf8_lossy(&self.body))
        })
    }
}

/// One answer. Chunks are written and flushed one by one.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    gaps: Vec<(usize, Duration)>,
    end: End,
    raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The body is complete and the connection stays for the next request.
    Proper,
    /// The connection is closed after this many chunks, without the end of the body.
    CutAfter(usize),
    /// All chunks are sent, then nothing more happens.
    StayOpen,
}

impl Answer {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            chunks: vec![body.into()],
            gaps: Vec::new(),
            end: End::Proper,
            raw: false,
        }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A stream of server-sent events, given as its bytes.
    pub fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    /// Exactly these bytes instead of an answer, then the end of the connection.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { raw: true, end: End::CutAfter(1), ..Self::new(0, "", bytes) }
    }

    /// The connection is closed without a word.
    pub fn hang_up() -> Self {
        Self::raw(Vec::new())
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(have, _)| have != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(have, _)| have != name);
        self
    }

    /// Replaces the body by these chunks.
    pub fn chunks<C: Into<Vec<u8>>>(mut self, chunks: impl IntoIterator<Item = C>) -> Self {
        self.chunks = chunks.into_iter().map(Into::into).collect();
        self
    }

    /// Cuts the body into chunks of `size` bytes.
    pub fn chunks_of(self, size: usize) -> Self {
        let body = self.chunks.concat();
        self.chunks(body.chunks(size.max(1)).map(<[u8]>::to_vec))
    }

    /// Waits before chunk `index` (from 0), on tokio's clock.
    pub fn gap(mut self, index: usize, wait: Duration) -> Self {
        self.gaps.push((index, wait));
        self
    }

    /// Closes the connection after `chunks` chunks, in the middle of the body.
    pub fn cut_after(self, chunks: usize) -> Self {
        Self { end: End::CutAfter(chunks), ..self }
    }

    /// Sends everything but the end of the body.
    pub fn stay_open(self) -> Self {
        Self { end: End::StayOpen, ..self }
    }
}

pub struct Server {
    url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    requests: Mutex<Vec<Recorded>>,
    answers: Answers,
}

enum Answers {
    Script(Mutex<VecDeque<Answer>>),
    Handler(Box<dyn Fn(&Recorded) -> Answer + Send + Sync>),
}

impl Server {
    /// Answers the requests with these, in order; a request too many gets a 500 that says so.
    pub async fn script(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(Answers::Script(Mutex::new(answers.into_iter().collect()))).await
    }

    /// Answers every request by what it says.
    pub async fn handler(answer: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(Answers::Handler(Box::new(answer))).await
    }

    async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback can be bound");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let state = Arc::new(State { requests: Mutex::default(), answers });
        let task = tokio::spawn(accept(listener, state.clone()));
        Self { url, state, task }
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.state.requests).clone()
    }

    /// The only request; panics if there was none or more than one.
    pub fn request(&self) -> Recorded {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "exactly one request was expected");
        requests.into_iter().next().expect("there is one")
    }

    /// Answers of the script that nobody asked for.
    pub fn left(&self) -> usize {
        match &self.state.answers {
            Answers::Script(script) => lock(script).len(),
            Answers::Handler(_) => 0,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The task owns the connections, which end with it.
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((socket, _)) = listener.accept().await else { return };
        while connections.try_join_next().is_some() {}
        let state = state.clone();
        connections.spawn(async move {
            // An error is a client that went away, which is the client's right.
            let _ = serve(socket, number, &state).await;
        });
    }
}

async fn serve(socket: TcpStream, connection: usize, state: &State) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut socket = BufReader::new(socket);
    while let Some(request) = read_request(&mut socket, connection).await? {
        let answer = match &state.answers {
            Answers::Handler(handler) => handler(&request),
            Answers::Script(script) => lock(script).pop_front().unwrap_or_else(|| {
                Answer::new(500, "text/plain", "the script of the test server has no more answers")
            }),
        };
        lock(&state.requests).push(request);
        write_answer(socket.get_mut(), &answer).await?;
        match answer.end {
            End::Proper => {}
            End::CutAfter(_) => return Ok(()),
            End::StayOpen => {
                // Until the client hangs up.
                let mut rest = Vec::new();
                socket.read_to_end(&mut rest).await?;
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn read_request(socket: &mut BufReader<TcpStream>, connection: usize) -> io::Result<Option<Recorded>> {
    let Some(start) = read_line(socket).await? else { return Ok(None) };
    let mut words = start.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    while let Some(line) = read_line(socket).await?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Recorded { method, path, headers, body: Vec::new(), connection, at: Instant::now() };
    if let Some(length) = request.header("content-length") {
        let length = length.parse().ok().filter(|length| *length <= REQUEST_BYTES_MAX);
        request.body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
        socket.read_exact(&mut request.body).await?;
    } else if request.header("transfer-encoding") == Some("chunked") {
        read_chunks(socket, &mut request.body).await?;
    }
    request.at = Instant::now();
    Ok(Some(request))
}

async fn read_chunks(socket: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = read_line(socket).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
        let from = body.len();
        if size > REQUEST_BYTES_MAX - from {
            return Err(io::ErrorKind::InvalidData.into());
        }
        body.resize(from + size, 0);
        socket.read_exact(&mut body[from..]).await?;
        read_line(socket).await?;
        if size == 0 {
            return Ok(());
        }
    }
}

async fn read_line(socket: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if socket.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&line);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

async fn write_answer(socket: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let has_length = answer.end == End::Proper && answer.chunks.len() == 1 && answer.gaps.is_empty();
    if !answer.raw {
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if has_length {
            head.push_str(&format!("content-length: {}\r\n\r\n", answer.chunks[0].len()));
        } else {
            head.push_str("transfer-encoding: chunked\r\n\r\n");
        }
        socket.write_all(head.as_bytes()).await?;
    }
    let cut = if let End::CutAfter(chunks) = answer.end { chunks } else { usize::MAX };
    for (index, chunk) in answer.chunks.iter().enumerate().take(cut) {
        for (_, wait) in answer.gaps.iter().filter(|(before, _)| *before == index) {
            socket.flush().await?;
            tokio::time::sleep(*wait).await;
        }
        if answer.raw || has_length {
            socket.write_all(chunk).await?;
        } else if !chunk.is_empty() {
            let mut framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
            // The end travels with the last chunk, as it does from real servers.
            if answer.end == End::Proper && index + 1 == answer.chunks.len() {
                framed.extend_from_slice(CHUNKS_END);
            }
            socket.write_all(&framed).await?;
        }
        socket.flush().await?;
    }
    let is_empty = answer.chunks.last().is_none_or(Vec::is_empty);
    if answer.end == End::Proper && !has_length && is_empty {
        socket.write_all(CHUNKS_END).await?;
    }
    socket.flush().await
}
