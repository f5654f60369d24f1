//! A scripted model on the loopback, and the wire floor: the least work with which a client can hold the same conversations.
//!
//!     wire mock --latency-ms 200
//!     wire floor --base-url http://127.0.0.1:8080/v1 --mode fanout|single --n 50 --turns 5 --tool-bytes 64
//!
//! `mock` prints its base URL. When its standard input ends, it prints `requests N verified N micros N`: the requests that it
//! answered, the tool results that came back as expected, and the time from the first request to the last reply.
//! `floor` serializes each conversation before it connects and does not parse the replies.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Buf;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinSet, LocalSet, spawn_local};

/// Room for the connections that 1,000 subagents open at once.
const BACKLOG: u32 = 4096;

/// Part of every good tool result.
const FOUND: &str = "LOOKUP-OK";

/// Answer of a worker, about as long as a real short one.
const DONE: &str = "All rows of the item were read. Their counts are within the expected range, none is missing, and no row \
                    contradicts another one. There is nothing left to look up.";

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().unwrap_or_default();
    let mut flags = HashMap::new();
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        flags.insert(name.trim_start_matches("--").to_owned(), value);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    match program.as_str() {
        "mock" => LocalSet::new().block_on(&runtime, mock(&flags)),
        "floor" => LocalSet::new().block_on(&runtime, floor(&flags)),
        _ => Err("expected `mock` or `floor`".into()),
    }
}

fn number(flags: &HashMap<String, String>, name: &str) -> Result<usize, Box<dyn Error>> {
    Ok(flags.get(name).ok_or_else(|| format!("--{name} is missing"))?.parse()?)
}

/// Counters of the scripted model.
#[derive(Default)]
struct MockModel {
    latency: Duration,
    requests: Cell<u32>,
    verified: Cell<usize>,
    first_request: Cell<Option<Instant>>,
    last_reply: Cell<Option<Instant>>,
}

async fn mock(flags: &HashMap<String, String>) -> Outcome {
    let latency = Duration::from_millis(number(flags, "latency-ms")? as u64);
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let listener = socket.listen(BACKLOG)?;
    line(&format!("http://{}/v1", listener.local_addr()?))?;
    let model = Rc::new(MockModel { latency, ..MockModel::default() });
    let accepting = spawn_local(accept(listener, model.clone()));
    let (ended, mut end) = tokio::sync::mpsc::channel::<()>(1);
    std::thread::spawn(move || {
        let _ended = ended;
        io::copy(&mut io::stdin(), &mut io::sink())
    });
    end.recv().await;
    accepting.abort();
    let micros = match (model.first_request.get(), model.last_reply.get()) {
        (Some(first), Some(last)) => (last - first).as_micros(),
        _ => 0,
    };
    line(&format!("requests {} verified {} micros {micros}", model.requests.get(), model.verified.get()))?;
    Ok(())
}

fn line(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")?;
    io::stdout().flush()
}

async fn accept(listener: TcpListener, model: Rc<MockModel>) {
    while let Ok((socket, _)) = listener.accept().await {
        let model = model.clone();
        spawn_local(async move {
            // A client that hangs up or sends nonsense shows in the counters.
            let _ = serve(socket, &model).await;
        });
    }
}

async fn serve(socket: TcpStream, model: &MockModel) -> Outcome {
    socket.set_nodelay(true)?;
    let mut stream = BufReader::with_capacity(1 << 16, socket);
    let mut body = Vec::new();
    while let Some(length) = body_length(&mut stream).await? {
        if model.first_request.get().is_none() {
            model.first_request.set(Some(Instant::now()));
        }
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
        let reply = model.reply(&serde_json::from_slice(&body)?)?.to_string();
        if !model.latency.is_zero() {
            tokio::time::sleep(model.latency).await;
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
        stream.write_all(format!("{head}: {}\r\n\r\n{reply}", reply.len()).as_bytes()).await?;
        model.requests.set(model.requests.get() + 1);
        model.last_reply.set(Some(Instant::now()));
    }
    Ok(())
}

/// Reads a request head and returns the length of its body; `None` at the end of the connection.
async fn body_length(stream: &mut BufReader<TcpStream>) -> io::Result<Option<usize>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        }
    }
}

/// The part of a Chat Completions request that decides the reply.
#[derive(Deserialize)]
struct ChatRequest<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    messages: Vec<ChatMessage<'a>>,
}

#[derive(Deserialize)]
struct ChatMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
}

impl MockModel {
    /// `orch-N` delegates N tasks at once, then answers. `work-T` looks something up T - 1 times, then answers.
    fn reply(&self, request: &ChatRequest<'_>) -> Result<Value, Box<dyn Error>> {
        let (role, count) = request.model.split_once('-').ok_or("unknown model")?;
        let count: usize = count.parse()?;
        let turn = request.messages.iter().filter(|message| message.role == "assistant").count();
        let calls = match role {
            "orch" if turn == 0 => (0..count).map(delegation).collect(),
            "work" if turn + 1 < count => vec![lookup(turn)],
            _ => Vec::new(),
        };
        if calls.is_empty() {
            let expected = if role == "orch" { DONE } else { FOUND };
            let good = |message: &&ChatMessage<'_>| {
                message.role == "tool" && message.content.as_ref().is_some_and(|text| text.contains(expected))
            };
            self.verified.set(self.verified.get() + request.messages.iter().filter(good).count());
        }
        let (finish, message) = match calls.is_empty() {
            true => ("stop", json!({"role": "assistant", "content": DONE})),
            false => ("tool_calls", json!({"role": "assistant", "content": null, "tool_calls": calls})),
        };
        Ok(json!({
            "id": format!("reply-{turn}"), "object": "chat.completion", "model": request.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }))
    }
}

fn delegation(at: usize) -> Value {
    call(
        format!("d{at}"),
        "delegate",
        &json!({"task": format!("Look up item {at} and report what was found.")}),
    )
}

fn lookup(turn: usize) -> Value {
    call(format!("l{turn}"), "lookup", &json!({"key": format!("item-{turn}")}))
}

fn call(id: String, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

async fn floor(flags: &HashMap<String, String>) -> Outcome {
    let url = flags.get("base-url").ok_or("--base-url is missing")?;
    let authority: Rc<str> = url.trim_start_matches("http://").split('/').next().unwrap_or_default().into();
    let worker = Rc::new(worker(&authority, number(flags, "turns")?, number(flags, "tool-bytes")?));
    if flags.get("mode").is_none_or(|mode| mode != "fanout") {
        return Ok(converse(&authority, &worker).await?);
    }
    let orchestrator = orchestrator(&authority, number(flags, "n")?);
    let mut line = WireClient::connect(&authority).await?;
    line.exchange(&orchestrator, 0).await?;
    let mut workers = JoinSet::new();
    for _ in 0..number(flags, "n")? {
        let (authority, worker) = (authority.clone(), worker.clone());
        workers.spawn_local(async move { converse(&authority, &worker).await });
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    line.exchange(&orchestrator, 1).await?;
    Ok(())
}

async fn converse(authority: &str, conversation: &Conversation) -> io::Result<()> {
    let mut client = WireClient::connect(authority).await?;
    for turn in 0..conversation.turns.len() {
        client.exchange(conversation, turn).await?;
    }
    Ok(())
}

/// A whole conversation as bytes. The body of each request is a prefix of `text` and `END`.
struct Conversation {
    text: String,
    /// HTTP head and length of the prefix, one for each turn.
    turns: Vec<(String, usize)>,
}

const END: &str = "]}";

impl Conversation {
    fn new(authority: &str, model: &str, tools: &Value, task: &str) -> Self {
        let system = "You are a focused worker. Use your tool, then answer in one paragraph.";
        let messages =
            [json!({"role": "system", "content": system}), json!({"role": "user", "content": task})];
        let text =
            format!(r#"{{"model":"{model}","tools":{tools},"messages":[{},{}"#, messages[0], messages[1]);
        let mut conversation = Self { text, turns: Vec::new() };
        conversation.end_turn(authority);
        conversation
    }

    fn push(&mut self, message: &Value) {
        let _ = write!(self.text, ",{message}");
    }

    fn end_turn(&mut self, authority: &str) {
        let length = self.text.len() + END.len();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\n\
             authorization: Bearer mock\r\ncontent-length: {length}\r\n\r\n"
        );
        self.turns.push((head, self.text.len()));
    }
}

fn worker(authority: &str, turns: usize, tool_bytes: usize) -> Conversation {
    let tools = json!([tool("lookup", "Look up one item by key.", "key")]);
    let task = "Look up the items and report what was found.";
    let mut conversation = Conversation::new(authority, &format!("work-{turns}"), &tools, task);
    for turn in 0..turns - 1 {
        let mut found = format!("{FOUND} item-{turn}\n");
        for row in 0.. {
            if found.len() >= tool_bytes {
                break;
            }
            let _ = writeln!(found, "{row}. name \"item\", state ready, count {}", row * 37 % 100);
        }
        found.truncate(tool_bytes.max(FOUND.len()));
        conversation.push(&json!({"role": "assistant", "content": null, "tool_calls": [lookup(turn)]}));
        conversation.push(&json!({"role": "tool", "tool_call_id": format!("l{turn}"), "content": found}));
        conversation.end_turn(authority);
    }
    conversation
}

fn orchestrator(authority: &str, workers: usize) -> Conversation {
    let tools = json!([
        tool("delegate", "Hand a task to a worker.", "task"),
        tool("lookup", "Look up one item by key.", "key")
    ]);
    let task = "Look up the items and report what was found.";
    let mut conversation = Conversation::new(authority, &format!("orch-{workers}"), &tools, task);
    let calls: Vec<Value> = (0..workers).map(delegation).collect();
    conversation.push(&json!({"role": "assistant", "content": null, "tool_calls": calls}));
    for at in 0..workers {
        conversation.push(&json!({"role": "tool", "tool_call_id": format!("d{at}"), "content": DONE}));
    }
    conversation.end_turn(authority);
    conversation
}

fn tool(name: &str, description: &str, argument: &str) -> Value {
    let parameters =
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// A connection that reads no more of a reply than its length.
struct WireClient {
    socket: TcpStream,
    received: Vec<u8>,
}

impl WireClient {
    async fn connect(authority: &str) -> io::Result<Self> {
        let socket = TcpStream::connect(authority).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, received: Vec::with_capacity(4096) })
    }

    async fn exchange(&mut self, conversation: &Conversation, turn: usize) -> io::Result<()> {
        let (head, prefix) = &conversation.turns[turn];
        let body = Buf::chain(&conversation.text.as_bytes()[..*prefix], END.as_bytes());
        self.socket.write_all_buf(&mut Buf::chain(head.as_bytes(), body)).await?;
        self.received.clear();
        while !is_whole(&self.received)? {
            if self.socket.read_buf(&mut self.received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

/// Checks that a reply has arrived up to its length.
fn is_whole(received: &[u8]) -> io::Result<bool> {
    let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = std::str::from_utf8(&received[..end]).map_err(|_| io::ErrorKind::InvalidData)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    match length.filter(|_| head.starts_with("HTTP/1.1 200")) {
        Some(length) => Ok(received.len() >= end + 4 + length),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
