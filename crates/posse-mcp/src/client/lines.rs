//! The stdio transport: one JSON-RPC message per line. An oversized line is dropped; the request that it
//! answers fails if the line's ends reveal its ID.

use std::io;
use std::sync::Arc;

use posse_messages::localized;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::MESSAGE_BYTES_MAX;
use super::pace::ReconnectPace;
use super::tap::ListTap;

/// Bytes kept of each end of an oversized line.
const END: usize = 512;

/// A transport over a process's standard input and output.
pub(super) struct MessageLines<R, W> {
    reader: BufReader<R>,
    /// The current line; only its first bytes if it is oversized.
    line: Vec<u8>,
    /// The last bytes of an oversized line.
    tail: Option<Vec<u8>>,
    writer: Arc<Mutex<Option<W>>>,
    tap: Arc<ListTap>,
    pace: ReconnectPace,
    /// The ID of the pending discovery request.
    discovery: Option<RequestId>,
}

enum ReadLine {
    Whole,
    TooLong,
}

impl<R: AsyncRead + Send + Unpin, W> MessageLines<R, W> {
    /// Creates a transport from the process's pipes.
    pub fn new(reader: R, writer: W, tap: Arc<ListTap>) -> Self {
        let (reader, writer) = (BufReader::new(reader), Arc::new(Mutex::new(Some(writer))));
        Self {
            reader,
            line: Vec::new(),
            tail: None,
            writer,
            tap,
            pace: ReconnectPace::new(),
            discovery: None,
        }
    }

    /// Reads to the end of a line. Cancel-safe: it keeps all bytes that it consumes.
    async fn next(&mut self) -> Option<ReadLine> {
        loop {
            let bytes = self.reader.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = &bytes[..end.unwrap_or(bytes.len())];
            match &mut self.tail {
                Some(tail) => {
                    tail.extend_from_slice(&taken[taken.len().saturating_sub(END)..]);
                    tail.drain(..tail.len().saturating_sub(END));
                }
                None if self.line.len() + taken.len() > MESSAGE_BYTES_MAX => {
                    self.tail = Some(taken[taken.len().saturating_sub(END)..].to_vec());
                    // The first chunk may already exceed the limit.
                    self.line.extend_from_slice(&taken[..taken.len().min(END)]);
                    self.line.truncate(END);
                    self.line.shrink_to_fit();
                }
                None => self.line.extend_from_slice(taken),
            }
            let consumed = end.map_or(taken.len(), |end| end + 1);
            self.reader.consume(consumed);
            if end.is_some() {
                return Some(if self.tail.is_some() { ReadLine::TooLong } else { ReadLine::Whole });
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for MessageLines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let Some(id) = discovery(&message) {
            self.discovery = Some(id.clone());
        }
        let writer = self.writer.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.pace.wait().await;
            let line = self.next().await?;
            self.pace.took();
            let message = match line {
                ReadLine::Whole => {
                    self.tap.observe(&self.line);
                    read(&self.line)
                }
                ReadLine::TooLong => {
                    let id = asker(&self.line, &self.tail.take().unwrap_or_default());
                    id.map(too_large)
                }
            };
            self.line.clear();
            if let Some(message) = message {
                return Some(discovered(message, self.discovery.as_ref()));
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// Returns the request's ID if the message is a discovery request.
pub(super) fn discovery(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) =>
        {
            Some(&request.id)
        }
        _ => None,
    }
}

/// Some servers of older protocols answer unknown requests with arbitrary results. Turns such an answer to
/// discovery into "method not found".
pub(super) fn discovered(
    message: ServerJsonRpcMessage,
    discovery: Option<&RequestId>,
) -> ServerJsonRpcMessage {
    match message {
        ServerJsonRpcMessage::Response(answer)
            if Some(&answer.id) == discovery && !matches!(answer.result, ServerResult::DiscoverResult(_)) =>
        {
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "server/discover", None);
            ServerJsonRpcMessage::error(error, Some(answer.id))
        }
        other => other,
    }
}

/// Parses a message. A malformed answer becomes an error for its request; other noise is ignored.
fn read(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    if let Ok(message) = serde_json::from_slice(line) {
        let answers_us = match &message {
            ServerJsonRpcMessage::Response(answer) => matches!(answer.id, RequestId::Number(_)),
            ServerJsonRpcMessage::Error(error) => matches!(error.id, Some(RequestId::Number(_))),
            _ => true,
        };
        // Our request IDs are numbers; any other ID is noise.
        return answers_us.then_some(message);
    }
    let message: Value = serde_json::from_slice(line).ok()?;
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    let id = serde_json::from_value(message.get("id").filter(|_| is_answer)?.clone()).ok()?;
    Some(unusable(id, localized!("mcp-answer-not-understood").english().to_owned()))
}

/// Answers a request whose response was too large to keep.
pub(super) fn too_large(id: RequestId) -> ServerJsonRpcMessage {
    unusable(id, too_large_text(MESSAGE_BYTES_MAX))
}

fn unusable(id: RequestId, why: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None), Some(id))
}

pub(super) fn too_large_text(bytes_max: usize) -> String {
    format!("it sent a message of more than {bytes_max} bytes, which was not kept")
}

/// Finds the request ID in the ends of an oversized answer: servers write it before the result or at the very
/// end.
fn asker(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let before = head.split("\"result\"").next().filter(|before| before.len() < head.len());
    before.and_then(|before| number_after(before, before.find("\"id\"")?)).or_else(|| {
        let at = tail.rfind("\"id\"")?;
        let rest = tail[at + 4..].trim_end().trim_end_matches('}');
        (!rest.contains(['{', '}', '['])).then(|| number_after(&tail, at)).flatten()
    })
}

fn number_after(text: &str, at: usize) -> Option<RequestId> {
    let value = text[at + 4..].trim_start().strip_prefix(':')?.trim_start();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    Some(RequestId::Number(value[..end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_a_message_that_is_too_long_is_found_at_its_ends() {
        let found = |head: &str, tail: &str| asker(head.as_bytes(), tail.as_bytes());
        let seven = Some(RequestId::Number(7));
        assert_eq!(found(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"id":9,"#, "xxx"), seven);
        assert_eq!(found(r#"{"result":{"content":[{"id":9,"#, r#"xx"}]},"jsonrpc":"2.0","id": 7}"#), seven);
        assert_eq!(found(r#"{"result":{"content":[{"id":9,"#, r#"xx","id":9}]},"jsonrpc":"2.0"}"#), None);
        assert_eq!(found("xxxx", "yyyy"), None);
    }

    /// Returns the messages received from a server that writes these bytes.
    async fn received(said: &[u8]) -> Vec<String> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(ours);
        let mut lines = MessageLines::new(reader, writer, Arc::default());
        let said = said.to_vec();
        let talking = tokio::spawn(async move {
            let (_reader, mut writer) = tokio::io::split(theirs);
            writer.write_all(&said).await.unwrap();
        });
        let mut all = Vec::new();
        while let Some(message) = lines.receive().await {
            all.push(serde_json::to_string(&message).unwrap());
        }
        assert!(lines.line.capacity() <= MESSAGE_BYTES_MAX + 64 * 1024, "{}", lines.line.capacity());
        talking.await.unwrap();
        all
    }

    // S13 T42 Seen to fail with `usize::MAX` for the size of a message: then the whole of it is kept and given on.
    #[tokio::test]
    async fn garbage_is_nothing_and_a_line_that_is_too_long_is_an_error_for_whoever_waits_for_it() {
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"x\":\"{}\"}}}}\n",
            "a".repeat(MESSAGE_BYTES_MAX)
        );
        let odd = "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{},\"error\":7}\n";
        let said = [
            b"\xff\xfe garbage\n\n[1,2\n{}\n",
            long.as_bytes(),
            odd.as_bytes(),
            b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n{\"jsonrpc\":",
        ]
        .concat();
        let all = received(&said).await;
        assert!(
            all[0].contains("\"id\":3") && all[0].contains("\"error\"") && all[0].len() < 400,
            "{}",
            all[0]
        );
        assert!(all.last().unwrap().contains("\"id\":5"), "{all:?}");
        assert!(all.iter().all(|message| message.len() < 400));
    }
}
