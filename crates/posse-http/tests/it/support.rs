//! A server with a seeded store, and a client that writes plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_core::{Error, ErrorCode, Result};
use posse_http::tokens::TokenFile;
use posse_http::wire::{
    AgentDetail, AgentSummary, AppliedTask, ApplyBody, DiscardedChanges, ResumeBody, TaskChanges, TokenScope,
    UndoBody, UndoneTask,
};
use posse_http::{ApiServer, ServeHost, ServerOptions, listen};
use posse_net::door::RequestGuard;
use posse_runtime::liveness;
use posse_runtime::ports::{BoxFuture, JournalStore, LeftoverSweep, NewTask, TaskRow};
use posse_runtime::session::HostSession;
use posse_store::SqliteStore;
use posse_testkit::store_suite::{asked, finished, new_task, replied, started};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// A program without configuration, worktrees and sessions.
pub struct PlainHost;

fn unavailable<T>() -> Result<T> {
    Err(Error::new(ErrorCode::InvalidRequest, "not in this program".to_owned()))
}

impl ServeHost for PlainHost {
    fn version(&self) -> &str {
        "0"
    }

    fn workspace(&self) -> &str {
        "/project"
    }

    fn lease_ms(&self) -> u64 {
        60_000
    }

    fn sweep(&self) -> LeftoverSweep {
        |_, _| 0
    }

    fn session(&self) -> BoxFuture<'_, Result<Arc<HostSession>>> {
        Box::pin(async { unavailable() })
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentSummary>>> {
        let agent = |name: &str| AgentSummary {
            name: name.to_owned(),
            description: format!("{name}s things"),
            state: "ready".to_owned(),
            model: Some("test:model".to_owned()),
            max_turns: Some(10),
            tools: vec!["read".to_owned()],
            source: "built-in".to_owned(),
            remarks: Vec::new(),
        };
        Box::pin(async move { Ok(vec![agent("cook"), agent("write")]) })
    }

    fn agent<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<AgentDetail>> {
        Box::pin(async move {
            let found = self.agents().await?.into_iter().find(|agent| agent.name == name);
            let unknown = || Error::new(ErrorCode::AgentNotFound, "no such agent".to_owned());
            Ok(AgentDetail {
                agent: found.ok_or_else(unknown)?,
                system_prompt: "Do it.".to_owned(),
                report: json!({}),
            })
        })
    }

    fn transcript<'a>(&'a self, task: &'a TaskId, status: &'a str) -> BoxFuture<'a, Result<Vec<Value>>> {
        Box::pin(async move {
            let line = |n: usize| json!({ "type": "message", "task_id": task.as_str(), "status": status, "text": "x".repeat(n) });
            Ok((0..5).map(|n| line(n * 5_000)).collect())
        })
    }

    fn changes<'a>(&'a self, row: &'a TaskRow) -> BoxFuture<'a, Result<TaskChanges>> {
        Box::pin(async move {
            let task_id = row.id.to_string();
            let (files, notes, patch) = (Vec::new(), Vec::new(), String::new());
            Ok(TaskChanges { task_id, worktree: false, applied: false, files, notes, patch })
        })
    }

    fn apply<'a>(&'a self, _: &'a TaskRow, _: ApplyBody) -> BoxFuture<'a, Result<AppliedTask>> {
        Box::pin(async { unavailable() })
    }

    fn discard<'a>(&'a self, _: &'a TaskRow) -> BoxFuture<'a, Result<DiscardedChanges>> {
        Box::pin(async { unavailable() })
    }

    fn undo<'a>(&'a self, _: &'a TaskRow, _: UndoBody) -> BoxFuture<'a, Result<UndoneTask>> {
        Box::pin(async { unavailable() })
    }

    fn resume<'a>(&'a self, _: &'a TaskRow, _: ResumeBody) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { unavailable() })
    }
}

/// A running server.
pub struct Place {
    _directory: tempfile::TempDir,
    pub store: Arc<SqliteStore>,
    pub tokens: TokenFile,
    pub port: u16,
    /// A token that may do everything.
    pub all: String,
    /// A token that only reads.
    pub reader: String,
    pub ending: CancellationToken,
    pub served: tokio::task::JoinHandle<()>,
}

impl Place {
    pub async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path().join("posse.db")).unwrap());
        let tokens = TokenFile::at(directory.path().join("http-tokens.json"));
        let all = tokens.add("all", &TokenScope::ALL, None).unwrap().secret;
        let reader = tokens.add("reader", &[], None).unwrap().secret;
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = ServerOptions {
            guard: RequestGuard {
                token: None,
                hosts: vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")],
                origins: vec![format!("http://127.0.0.1:{port}")],
            },
            tokens: tokens.clone(),
            cookie: format!("posse_{port}"),
            is_secure: false,
            tls: None,
        };
        let ending = CancellationToken::new();
        let server = ApiServer::new(store.clone(), Arc::new(PlainHost), options, ending.clone());
        let served = tokio::spawn(server.run(listener));
        Self { _directory: directory, store, tokens, port, all, reader, ending, served }
    }

    /// Creates a task that a living process drives: this one.
    pub async fn task(&self, id: &str, parent: Option<&str>) -> TaskId {
        let task = TaskId::from_store(id.to_owned());
        let parent = parent.map(|parent| TaskId::from_store(parent.to_owned()));
        let new = NewTask {
            parent,
            owner: liveness::owner(),
            records: vec![started(&format!("Do {id}")), asked(1)],
            ..new_task(id)
        };
        self.store.create(new).await.unwrap();
        task
    }

    pub async fn append(&self, task: &TaskId, records: &[Record]) {
        self.store.append(task, 1, records).await.unwrap();
    }

    pub async fn end(&self, task: &TaskId, text: &str) {
        self.append(task, &[replied(text, 10, 2), finished(StopReason::Answered, text)]).await;
    }

    /// Sends a request with the token that may do everything.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answered {
        let bearer = format!("Bearer {}", self.all);
        let mut headers = vec![("Authorization", bearer.as_str())];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(method, path, &headers, &body).await
    }

    pub async fn get(&self, path: &str) -> Answered {
        self.ask("GET", path, None).await
    }

    /// Sends a request with these headers and the right `Host`, unless they have one.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let mut stream = self.open(method, path, headers, body).await;
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes));
        read.await.unwrap_or_else(|_| panic!("{method} {path} has no end")).unwrap();
        Answered::parse(&bytes)
    }

    /// Opens a request on a connection of its own.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> BufReader<TcpStream> {
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        BufReader::new(stream)
    }
}

/// A response.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answered {
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let answered = Self { status, head: head.to_owned(), body: body.to_owned() };
        match answered.header("transfer-encoding") {
            Some("chunked") => Self { body: unchunked(&answered.body), ..answered },
            _ => answered,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Returns the code of a problem.
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn unchunked(body: &str) -> String {
    let (mut rest, mut text) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_default();
        if size == 0 || after.len() < size {
            break;
        }
        text.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    text
}
