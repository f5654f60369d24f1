//! Load on a server: `watchers` counts what each of many event streams gets while many tasks run, `list` times
//! `GET /v1/tasks` on a large store. `cargo xtask watchers` builds and runs both.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::agent::Agent;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_http::tokens::TokenFile;
use posse_runtime::liveness;
use posse_runtime::ports::{JournalStore, NewTask};
use posse_store::SqliteStore;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(usual);
    match words.first().map(String::as_str) {
        Some("watchers") => watchers(&words[1], number(2, 500), number(3, 1_000), number(4, 20)).await,
        Some("list") => list(&words[1], number(2, 100_000), number(3, 1_000)).await,
        _ => Err(
            "usage: load watchers STATE:PORT [WATCHERS] [TASKS] [NOTES] | list STATE:PORT [TASKS] [REQUESTS]"
                .into(),
        ),
    }
}

/// The state directory and the port of a running `posse serve`.
struct Target {
    store: Arc<SqliteStore>,
    port: u16,
    file: TokenFile,
    token: String,
}

impl Target {
    fn open(text: &str) -> Result<Self, Failure> {
        let (state, port) = text.rsplit_once(':').ok_or("STATE:PORT")?;
        let state = std::path::Path::new(state);
        let file = TokenFile::at(state.join("http-tokens.json"));
        let token = file.add(&format!("load-{}", std::process::id()), &[], None)?.secret;
        let store = Arc::new(SqliteStore::open(state.join("posse.db"))?);
        Ok(Self { store, port: port.parse()?, file, token })
    }

    /// Uses another token from now on: each may make a burst of two hundred requests.
    fn renew(&mut self, n: usize) -> Result<(), Failure> {
        self.token = self.file.add(&format!("load-{}-{n}", std::process::id()), &[], None)?.secret;
        Ok(())
    }

    async fn ask(&self, path: &str, more: &str) -> Result<BufReader<TcpStream>, Failure> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let (port, token) = (self.port, &self.token);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status).await?;
        if !status.contains("200") {
            return Err(format!("{path}: {status}").into());
        }
        Ok(reader)
    }

    async fn create(&self, id: &str) -> Result<TaskId, Failure> {
        let agent = Agent::new(AgentName::parse("load")?, "test:model", "You wait.");
        let start = TaskStart::new(agent, format!("Task {id}"), Grant::root([], 0));
        let task = TaskId::root(id);
        let (owner, records) = (liveness::owner(), vec![Record::Started(Arc::new(start))]);
        let new =
            NewTask { id: task.clone(), parent: None, agent: "load".into(), owner, records, lease: None };
        self.store.create(new).await?;
        Ok(task)
    }
}

/// Reads events until the expected number has come, and checks that each task's are complete and in order.
async fn watch(
    mut reader: BufReader<TcpStream>,
    tasks: usize,
    notes: usize,
    pause: Duration,
) -> Result<(), Failure> {
    let mut next: HashMap<String, usize> = HashMap::new();
    let (mut seen, mut line) = (0, String::new());
    while seen < tasks * notes {
        line.clear();
        let read = tokio::time::timeout(Duration::from_secs(120), reader.read_line(&mut line)).await;
        if read.map_err(|_| format!("silent after {seen} events"))?? == 0 {
            return Err(format!("the stream ended after {seen} events").into());
        }
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data)?;
        let Some(note) = event["note"].as_str() else { continue };
        let task = event["task_id"].as_str().unwrap_or_default().to_owned();
        let expected = next.entry(task.clone()).or_default();
        if note != format!("note {expected}") {
            return Err(format!("{task}: `{note}` came instead of note {expected}").into());
        }
        *expected += 1;
        seen += 1;
        if !pause.is_zero() && seen % 1_000 == 0 {
            tokio::time::sleep(pause).await;
        }
    }
    match next.len() == tasks && next.values().all(|count| *count == notes) {
        true => Ok(()),
        false => Err("events of some tasks are missing".into()),
    }
}

async fn watchers(target: &str, watchers: usize, tasks: usize, notes: usize) -> Result<(), Failure> {
    let mut target = Target::open(target)?;
    let stamp = std::process::id();
    let mut ids = Vec::new();
    for n in 0..tasks {
        ids.push(target.create(&format!("w{stamp}x{n}")).await?);
    }
    let mut readers = Vec::new();
    for n in 0..watchers {
        if n % 100 == 0 {
            target.renew(n)?;
        }
        let mut reader = target.ask("/v1/stream", "").await?;
        let mut line = String::new();
        while !line.starts_with("retry:") {
            line.clear();
            reader.read_line(&mut line).await?;
        }
        // Every fiftieth watcher is slow.
        let pause = if n % 50 == 0 { Duration::from_millis(200) } else { Duration::ZERO };
        readers.push((n % 50 == 0, tokio::spawn(watch(reader, tasks, notes, pause))));
    }
    let began = Instant::now();
    for n in 0..notes {
        let appends = ids.iter().map(|task| {
            let record = Record::Observed { event: Event::Noted { note: format!("note {n}") } };
            target.store.append(task, 1, &[record])
        });
        for append in appends.collect::<Vec<_>>() {
            append.await?;
        }
    }
    let written = began.elapsed();
    let (mut quick, mut slow) = (Duration::ZERO, Duration::ZERO);
    for (is_slow, reader) in readers {
        reader.await??;
        let took = began.elapsed();
        match is_slow {
            true => slow = slow.max(took),
            false => quick = quick.max(took),
        }
    }
    println!(
        "watchers={watchers} tasks={tasks} events_each={} lost=0 reordered=0 written_s={:.1} last_quick_s={:.1} last_slow_s={:.1}",
        tasks * notes,
        written.as_secs_f64(),
        quick.as_secs_f64(),
        slow.as_secs_f64()
    );
    Ok(())
}

async fn list(target: &str, tasks: usize, requests: usize) -> Result<(), Failure> {
    let target = Target::open(target)?;
    let stamp = std::process::id();
    let mut left = tasks;
    while left > 0 {
        // Written together, so that one commit holds many.
        let batch = left.min(500);
        let made = (0..batch).map(|n| {
            let (target, id) = (&target, format!("l{stamp}x{}", left - n));
            async move {
                let task = target.create(&id).await?;
                let outcome = posse_core::outcome::Outcome::unstarted(
                    posse_core::outcome::StopReason::Cancelled,
                    String::new(),
                );
                let finished = Record::Finished { outcome: Arc::new(outcome), elapsed_ms: 1 };
                Ok::<_, Failure>(target.store.append(&task, 1, &[finished]).await?)
            }
        });
        futures_util::future::try_join_all(made).await?;
        left -= batch;
    }
    let mut times = Vec::with_capacity(requests);
    for _ in 0..requests {
        let began = Instant::now();
        let mut reader = target.ask("/v1/tasks", "Connection: close\r\n").await?;
        let mut body = Vec::new();
        reader.read_to_end(&mut body).await?;
        times.push(began.elapsed());
        // The server lets one token make fifty requests per second.
        tokio::time::sleep(Duration::from_millis(22)).await;
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!("tasks={tasks} requests={requests} p50_ms={:.1} p99_ms={:.1} bound_ms=50", at(50), at(99));
    match at(99) <= 50.0 {
        true => Ok(()),
        false => Err("GET /v1/tasks is slower than 50 ms at the 99th percentile".into()),
    }
}
