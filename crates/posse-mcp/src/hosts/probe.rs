//! A minimal host: asks a server over its pipes and measures how long each answer takes.

use std::process::Stdio;
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Variables that the strictest host passes on to the servers it starts.
pub const PASSED_ON: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A conversation with a server, as a host has it.
pub struct ServerProbe<Output, Input> {
    lines: Lines<BufReader<Output>>,
    input: Input,
    asked: u64,
}

/// An answer, and the time that it took.
#[derive(Debug)]
pub struct ProbeAnswer {
    pub result: Value,
    pub took: Duration,
}

impl ServerProbe<ChildStdout, ChildStdin> {
    /// Starts a server, which ends with its process value.
    pub fn start(mut command: Command) -> Result<(Child, Self)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|e| not_started().caused_by(e))?;
        let pipes = child.stdout.take().zip(child.stdin.take());
        let (output, input) = pipes.ok_or_else(not_started)?;
        Ok((child, Self::over(output, input)))
    }
}

impl<Output: AsyncRead + Unpin, Input: AsyncWrite + Unpin> ServerProbe<Output, Input> {
    /// Creates a probe over a server's standard output and input.
    pub fn over(output: Output, input: Input) -> Self {
        Self { lines: BufReader::new(output).lines(), input, asked: 0 }
    }

    /// Introduces itself as the client of this version.
    pub async fn initialize(&mut self, version: &str) -> Result<ProbeAnswer> {
        let client = json!({ "name": "posse-doctor", "version": version });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", hello).await?;
        self.write(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(answer)
    }

    /// Sends a request and waits for its answer; fails if the server is gone or silent.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<ProbeAnswer> {
        let began = Instant::now();
        self.asked += 1;
        self.write(json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params })).await?;
        let answered = tokio::time::timeout(PATIENCE, self.answer()).await;
        let seconds = PATIENCE.as_secs();
        let result = answered
            .map_err(|_| Error::new(ErrorCode::Internal, localized!("mcp-doctor-silent", method, seconds)))?
            .ok_or_else(not_started)?;
        Ok(ProbeAnswer { result, took: began.elapsed() })
    }

    async fn write(&mut self, message: Value) -> Result<()> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.map_err(|e| not_started().caused_by(e))
    }

    /// `None` if the server is gone.
    async fn answer(&mut self) -> Option<Value> {
        loop {
            let line = self.lines.next_line().await.ok()??;
            let mut value: Value = serde_json::from_str(&line).ok()?;
            if value["id"] == self.asked {
                return Some(value["result"].take());
            }
        }
    }
}

/// The error for a server that does not run.
pub fn not_started() -> Error {
    Error::new(ErrorCode::Io, localized!("mcp-doctor-not-started")).hint("`posse mcp < /dev/null`")
}
