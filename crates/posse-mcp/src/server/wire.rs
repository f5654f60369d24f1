//! The stdio transport: one message per line. It answers invalid JSON, invalid messages, oversized lines and
//! duplicate request IDs itself, so that they never reach the SDK's loop.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientNotification, JsonRpcMessage, NumberOrString, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

/// Maximum size of a message: above every accepted argument, small enough to buffer a few.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// Lines read ahead; beyond that the sender gets back-pressure.
const READ_AHEAD: usize = 16;
const WRITES_WAITING: usize = 64;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// A connection over two byte streams. Clones share it.
#[derive(Clone)]
pub struct HostWire {
    lines: Arc<tokio::sync::Mutex<Receiver<WireLine>>>,
    out: Sender<Vec<u8>>,
    in_use: Arc<Mutex<HashSet<RequestId>>>,
    ended: CancellationToken,
}

enum WireLine {
    Text(Vec<u8>),
    TooLong,
}

/// The meaning of a line.
enum ParsedLine {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Answer(Value),
    Nothing,
}

impl HostWire {
    /// Starts one thread per stream, because a blocking read of standard input cannot be interrupted.
    pub fn over(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let (send, lines) = channel(READ_AHEAD);
        let (out, writes) = channel(WRITES_WAITING);
        let ended = CancellationToken::new();
        let (reader_ended, writer_ended) = (ended.clone(), ended.clone());
        std::thread::spawn(move || {
            read_lines(input, &send);
            reader_ended.cancel();
        });
        std::thread::spawn(move || {
            // A closed output ends the connection.
            if write_lines(output, writes).is_err() {
                writer_ended.cancel();
            }
        });
        let lines = Arc::new(tokio::sync::Mutex::new(lines));
        Self { lines, out, in_use: Arc::default(), ended }
    }

    /// Returns a token that fires when the connection ends.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Returns whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    fn in_use(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, line: &WireLine) -> ParsedLine {
        let WireLine::Text(line) = line else {
            return failure(Value::Null, INVALID_REQUEST, "the message is longer than 16 MiB");
        };
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return ParsedLine::Nothing;
        }
        match serde_json::from_slice(line) {
            Ok(message) => self.admit(message),
            Err(_) => match serde_json::from_slice(line) {
                Ok(other) => misshapen(&other),
                Err(_) => failure(Value::Null, PARSE_ERROR, "this is no JSON"),
            },
        }
    }

    fn admit(&self, message: RxJsonRpcMessage<RoleServer>) -> ParsedLine {
        match &message {
            JsonRpcMessage::Request(request) => {
                if !self.in_use().insert(request.id.clone()) {
                    let id = serde_json::to_value(&request.id).unwrap_or_default();
                    return failure(id, INVALID_REQUEST, "a request with this id is still under way");
                }
            }
            JsonRpcMessage::Notification(notification) => {
                // A canceled request gets no answer, so its ID is free again.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_use().remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        ParsedLine::Message(Box::new(message))
    }
}

impl Transport<RoleServer> for HostWire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.in_use().remove(id);
        }
        let (out, line) = (self.out.clone(), serde_json::to_vec(&message));
        async move {
            let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            out.send(line?).await.map_err(closed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Cancel-safe: there is no await between receiving a line and handling it.
            let line = self.lines.lock().await.recv().await?;
            match self.read(&line) {
                ParsedLine::Message(message) => return Some(*message),
                ParsedLine::Answer(answer) => {
                    // In a task of its own, because this future may be dropped during the send.
                    let out = self.out.clone();
                    tokio::spawn(async move { out.send(answer.to_string().into_bytes()).await });
                }
                ParsedLine::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers well-formed JSON that is not a valid message.
fn misshapen(value: &Value) -> ParsedLine {
    let Some(object) = value.as_object() else {
        return failure(Value::Null, INVALID_REQUEST, "a message is an object; batches are not supported");
    };
    let id = match object.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_)))
            if serde_json::from_value::<NumberOrString>(id.clone()).is_ok() =>
        {
            id.clone()
        }
        // A notification is never answered.
        None if object.contains_key("method") => return ParsedLine::Nothing,
        Some(_) | None => Value::Null,
    };
    let is_request = object.get("jsonrpc").is_some_and(|version| version == "2.0")
        && object.get("method").is_some_and(Value::is_string)
        && !id.is_null();
    match is_request {
        true => failure(id, INVALID_PARAMS, "the parameters are not an object"),
        false => failure(id, INVALID_REQUEST, "this is no JSON-RPC 2.0 request"),
    }
}

fn failure(id: Value, code: i32, message: &str) -> ParsedLine {
    ParsedLine::Answer(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}

fn read_lines(input: impl Read, send: &Sender<WireLine>) {
    let mut input = BufReader::with_capacity(1 << 16, input);
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        let line = match read {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() > LINE_BYTES_MAX && line.last() != Some(&b'\n') => {
                if !skip_line(&mut input) {
                    return;
                }
                WireLine::TooLong
            }
            Ok(_) => WireLine::Text(line),
        };
        if send.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Skips the rest of a line; returns `false` at the end of the input.
fn skip_line(input: &mut impl BufRead) -> bool {
    loop {
        let Ok(bytes) = input.fill_buf() else { return false };
        if bytes.is_empty() {
            return false;
        }
        let (count, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), false),
        };
        input.consume(count);
        if ended {
            return true;
        }
    }
}

fn write_lines(mut output: impl Write, mut writes: Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(mut line) = writes.blocking_recv() {
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()?;
    }
    Ok(())
}
