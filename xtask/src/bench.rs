//! `cargo xtask bench`: how long a person waits for Posse itself, whether a turn's cost grows with the history, how long
//! many agents take to load, and what the sandbox adds to a command.
//!
//! Needs nothing but this repository: the model is a server in this process that answers everything with one word.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::command::run;

/// Odd, so that the median is one of the runs.
const RUNS: usize = 21;

/// Generous: a slow machine under load stays below, blocking work before the first request does not.
const VERSION_MAX: Duration = Duration::from_millis(20);
const FIRST_REQUEST_MAX: Duration = Duration::from_millis(40);

/// How long a request may take to come before the run counts as broken.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(10);

/// Larger than any request of one turn.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

const ANSWER: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Done."},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

pub fn bench() -> Result<()> {
    run(&["build", "--release", "--locked", "--package", "posse-cli"])?;
    let posse = release_binary()?;
    let home = Home::make()?;
    let version = median(|| version(&posse))?;
    let (url, requests) = serve()?;
    // The first run makes the store; people start Posse more than once.
    start_to_request(&posse, &home.0, &url, &requests)?;
    let first_request = median(|| start_to_request(&posse, &home.0, &url, &requests))?;
    run(&["run", "--release", "--locked", "--package", "posse-models", "--example", "body_growth"])?;
    run(&["run", "--release", "--locked", "--package", "posse-definitions", "--example", "load_many"])?;
    run(&["run", "--release", "--locked", "--package", "posse-tools", "--example", "sandbox_cost"])?;
    eprintln!("\nmedians of {RUNS} runs");
    let good = [
        report("posse --version", version, VERSION_MAX),
        report("posse run: start to the first byte of the first request", first_request, FIRST_REQUEST_MAX),
    ];
    ensure!(good.iter().all(|good| *good), "a median is above its bound");
    Ok(())
}

/// Cargo runs this program from `debug`; `release` lies beside it, wherever the target directory is.
fn release_binary() -> Result<PathBuf> {
    let this = std::env::current_exe().context("this program does not know where it is")?;
    let target = this.parent().and_then(Path::parent).context("this program is not in a target directory")?;
    Ok(target.join("release").join("posse"))
}

fn median(mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut times = (0..RUNS).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    times.sort();
    Ok(times[RUNS / 2])
}

fn report(what: &str, time: Duration, bound: Duration) -> bool {
    let good = time <= bound;
    let (verdict, milliseconds) = (if good { "ok" } else { "FAILED" }, time.as_secs_f64() * 1e3);
    eprintln!("{verdict:<8}{milliseconds:6.1} ms (at most {:>3})  {what}", bound.as_millis());
    good
}

fn version(posse: &Path) -> Result<Duration> {
    let started = Instant::now();
    let status = Command::new(posse).arg("--version").stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("{} cannot be started", posse.display()))?;
    ensure!(status.success(), "`posse --version` failed ({status})");
    Ok(started.elapsed())
}

/// One whole `posse run`, in an environment that has nothing else in it.
fn start_to_request(posse: &Path, home: &Path, url: &str, requests: &Receiver<Instant>) -> Result<Duration> {
    let started = Instant::now();
    let mut child = Command::new(posse)
        .args(["run", "--model", "openai:bench", "Say one word."])
        .current_dir(home)
        .env_clear()
        .envs([
            ("HOME", home.as_os_str()),
            ("OPENAI_BASE_URL", url.as_ref()),
            ("OPENAI_API_KEY", "bench".as_ref()),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} cannot be started", posse.display()))?;
    let came = requests.recv_timeout(REQUEST_WAIT_MAX);
    if came.is_err() {
        // It is ended either way; waiting only collects it.
        let _ = child.kill();
    }
    let status = child.wait().context("waiting for posse")?;
    let Ok(came) = came else { bail!("`posse run` sent no request") };
    ensure!(status.success(), "`posse run` failed ({status})");
    Ok(came - started)
}

/// A model on the loopback; each request reports when its first byte came.
fn serve() -> Result<(String, Receiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port on the loopback")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    let (sender, requests) = channel();
    // Ends with this program.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that breaks shows as a failed run.
            let _ = answer(stream, &sender);
        }
    });
    Ok((url, requests))
}

/// One request for each connection: every run is a new process.
fn answer(mut stream: TcpStream, came: &Sender<Instant>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?).take(REQUEST_BYTES_MAX);
    reader.fill_buf()?;
    came.send(Instant::now())?;
    let mut body_bytes = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body_bytes = value.trim().parse()?;
        }
    }
    std::io::copy(&mut reader.take(body_bytes), &mut std::io::sink())?;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ANSWER}",
        ANSWER.len()
    )?;
    Ok(())
}

/// An empty home with a store of its own, gone afterwards.
struct Home(PathBuf);

impl Home {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("posse-bench-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
