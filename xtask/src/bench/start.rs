//! Time from the start of `posse` to its first request, as a person waits for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{BoundCheck, ScratchDirectory, median, release_program};

/// Odd, so that the median is one of the runs.
const RUNS: usize = 21;

const VERSION_MS_MAX: f64 = 10.0;
const FIRST_REQUEST_MS_MAX: f64 = 10.0;

/// A run without a request in this time counts as broken.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(10);

/// Larger than any request of one turn.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

const ANSWER: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Done."},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

pub(super) fn measure() -> Result<Vec<BoundCheck>> {
    let posse = release_program("posse")?;
    let home = ScratchDirectory::create("home")?;
    let version = median_ms(|| version(&posse))?;
    let (url, requests) = serve()?;
    // The first run makes the store; people start Posse more than once.
    start_to_request(&posse, &home.0, &url, &requests)?;
    let first_request = median_ms(|| start_to_request(&posse, &home.0, &url, &requests))?;
    let check = |what, value, bound| BoundCheck { what, value, bound, unit: "ms" };
    Ok(vec![
        check("`posse --version`", version, VERSION_MS_MAX),
        check(
            "`posse run`, from its start to the first byte of its first request",
            first_request,
            FIRST_REQUEST_MS_MAX,
        ),
    ])
}

fn median_ms(mut measure: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let times = (0..RUNS).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    Ok(median(times.iter().map(|time| time.as_secs_f64() * 1e3).collect()))
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
