//! CPU time of a request by the way connections are handled: `ConnectionPool`, the pool of hyper-util, and a new connection
//! for each request.
//!
//!     cargo run --release -p posse-net --example pool_cost

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use posse_net::ConnectionPool;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

/// Conversations at once, and requests of each: as many as 50 subagents with 40 turns send.
const CONVERSATIONS: u32 = 50;
const REQUESTS: u32 = 40;
const BODY_BYTES: usize = 2_000;
const RUNS: usize = 5;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn main() -> Outcome {
    let address = answering_server()?;
    let uri: Uri = format!("http://{address}/v1/chat/completions").parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let pool = ConnectionPool::new(&uri, None, Duration::from_secs(5))?;
        let prepared = pool.prepare(Request::post(&uri).body(())?)?;
        measure("ConnectionPool", move || {
            let (pool, prepared) = (pool.clone(), prepared.clone());
            async move {
                pool.ask(&prepared, body()).await?.into_body().collect().await?;
                Ok(())
            }
        })
        .await?;
        let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        measure("hyper-util pool", move || {
            let (client, request) = (client.clone(), Request::post(&uri).body(Full::new(body())));
            async move {
                client.request(request?).await?.into_body().collect().await?;
                Ok(())
            }
        })
        .await?;
        measure("new connection", move || {
            let request =
                Request::post("/v1/chat/completions").header("host", "loopback").body(Full::new(body()));
            async move {
                let stream = tokio::net::TcpStream::connect(address).await?;
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
                let driver = tokio::spawn(connection);
                sender.send_request(request?).await?.into_body().collect().await?;
                drop(sender);
                Ok(driver.await??)
            }
        })
        .await
    })
}

fn body() -> Bytes {
    Bytes::from_static(&[b' '; BODY_BYTES])
}

/// Prints the least CPU time of a request in several runs: other programs only add to it.
async fn measure<F>(name: &str, request: impl Fn() -> F + Clone + Send + 'static) -> Outcome
where
    F: Future<Output = Outcome> + Send,
{
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        let before = cpu_time();
        let mut conversations = JoinSet::new();
        for _ in 0..CONVERSATIONS {
            let request = request.clone();
            conversations.spawn(async move {
                for _ in 0..REQUESTS {
                    request().await?;
                }
                Outcome::Ok(())
            });
        }
        while let Some(ended) = conversations.join_next().await {
            ended??;
        }
        least = least.min(cpu_time() - before);
    }
    let each = least / (CONVERSATIONS * REQUESTS);
    writeln!(std::io::stdout(), "{name:<18}{:>8.1} µs CPU for each request", each.as_secs_f64() * 1e6)?;
    Ok(())
}

/// CPU time of this thread, which runs all clients and no server.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Answers every request on the loopback with a few hundred bytes.
fn answering_server() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || answer(socket));
        }
    });
    Ok(address)
}

fn answer(socket: TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut answers = socket.try_clone()?;
    let mut requests = BufReader::new(socket);
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            std::io::copy(&mut requests.by_ref().take(BODY_BYTES as u64), &mut std::io::sink())?;
            let text = [b' '; 400];
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
            answers.write_all(&[head.as_bytes(), &text].concat())?;
        }
        line.clear();
    }
    Ok(())
}
