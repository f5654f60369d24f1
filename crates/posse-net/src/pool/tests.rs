use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// Sends a request through a proxy that replies with `answer`; returns the result and the bytes that the
/// proxy received.
async fn through_proxy(target: &str, answer: &'static [u8]) -> (Result<u16, PoolError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://user:word@{}", listener.local_addr().unwrap());
    let proxies = Matcher::builder().all(address).no("direct.test").build();
    let target = Uri::try_from(target).unwrap();
    let pool = ConnectionPool::new(&target, Some(proxies), Duration::from_secs(5)).unwrap();
    let proxy = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"\r\n\r\n") {
            heard.push(socket.read_u8().await.unwrap());
        }
        socket.write_all(answer).await.unwrap();
        String::from_utf8(heard).unwrap()
    });
    let answered = get(&pool, &target).await.map(|response| response.status().as_u16());
    (answered, proxy.await.unwrap())
}

#[tokio::test]
async fn a_server_is_reached_by_its_address_and_by_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            head(&mut socket).await;
            socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        }
    });
    for host in ["127.0.0.1", "localhost"] {
        let target = Uri::try_from(format!("http://{host}:{port}/")).unwrap();
        let pool = ConnectionPool::new(&target, None, Duration::from_secs(5)).unwrap();
        assert_eq!(get(&pool, &target).await.unwrap().status(), 204, "{host}");
    }
    let address = |uri: &'static str| address(&Uri::from_static(uri)).map(|address| address.to_string());
    assert_eq!(address("http://[::1]:8080/v1").as_deref(), Some("[::1]:8080"));
    assert_eq!(address("http://10.0.0.1/v1").as_deref(), Some("10.0.0.1:80"));
    for other in ["http://provider.test/v1", "https://10.0.0.1/v1", "ws://10.0.0.1/v1", "/v1"] {
        assert_eq!(address(other), None, "{other}");
    }
}

#[tokio::test]
async fn a_proxy_gets_the_whole_address_of_a_request_in_the_clear() {
    let answer = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
    let (answered, heard) = through_proxy("http://provider.test/v1/messages", answer).await;
    assert_eq!(answered.unwrap(), 204);
    assert!(heard.starts_with("GET http://provider.test/v1/messages HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains("proxy-authorization: Basic dXNlcjp3b3Jk\r\n"), "{heard}");
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_and_a_proxy_that_refuses_it_has_seen_nothing_else() {
    let (answered, heard) =
        through_proxy("https://provider.test/v1/messages", b"HTTP/1.1 502 No\r\n\r\n").await;
    assert!(answered.unwrap_err().is_connect());
    assert!(heard.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{heard}");
    assert!(heard.to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjp3b3jk\r\n"), "{heard}");
    assert!(!heard.contains("/v1/messages"), "{heard}");
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_answer_in_time_is_not_waited_for() {
    // Nothing accepts the handshake: the connection is open and stays silent.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Uri::try_from(format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let pool = ConnectionPool::new(&target, None, Duration::from_secs(3)).unwrap();
    let error = get(&pool, &target).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}

/// A server's reaction to a request.
#[derive(Clone, Copy)]
enum Act {
    Answer(&'static [u8]),
    /// Answers and closes the connection unannounced.
    AnswerAndLeave(&'static [u8]),
    /// The same, when it is told to.
    AnswerAndLeaveLater(&'static [u8]),
    /// Answers in pieces and yields after each one.
    Trickle(&'static [&'static [u8]]),
    Leave,
    /// Sends this much and then stays silent.
    Stay(&'static [u8]),
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A scripted server; the script gets the numbers of the connection and of the request on it.
struct Server {
    target: Uri,
    pool: ConnectionPool,
    heard: Arc<Mutex<Vec<(usize, usize)>>>,
    closed: Arc<AtomicUsize>,
    leave: Arc<Notify>,
}

impl Server {
    async fn new(script: fn(usize, usize) -> Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Uri::try_from(format!("http://{}/path?query", listener.local_addr().unwrap())).unwrap();
        let pool = ConnectionPool::new(&target, None, Duration::from_secs(5)).unwrap();
        let server =
            Self { target, pool, heard: Arc::default(), closed: Arc::default(), leave: Arc::default() };
        let (heard, closed, leave) = (server.heard.clone(), server.closed.clone(), server.leave.clone());
        tokio::spawn(async move {
            for connection in 0.. {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                let (heard, closed, leave) = (heard.clone(), closed.clone(), leave.clone());
                tokio::spawn(async move {
                    for number in 0.. {
                        let Some(_) = head(&mut socket).await else { break };
                        heard.lock().unwrap().push((connection, number));
                        if !act(&mut socket, script(connection, number), &leave).await {
                            break;
                        }
                    }
                    drop(socket);
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    async fn send(&self) -> Result<Response<ResponseStream>, PoolError> {
        get(&self.pool, &self.target).await
    }

    async fn ask(&self) -> Result<Bytes, PoolError> {
        let body = self.send().await?.into_body();
        body.collect().await.map(|body| body.to_bytes()).map_err(PoolError::Sent)
    }

    fn heard(&self) -> Vec<(usize, usize)> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until the server has closed this many connections and the client can notice.
    async fn until_closed(&self, count: usize) {
        while self.closed.load(Ordering::SeqCst) < count {
            yield_now().await;
        }
        yield_now().await;
    }
}

async fn get(pool: &ConnectionPool, target: &Uri) -> Result<Response<ResponseStream>, PoolError> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = target.clone();
    pool.send(request).await
}

/// Reads a request without a body; `None` if the client has closed the connection.
async fn head(socket: &mut TcpStream) -> Option<String> {
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        heard.push(socket.read_u8().await.ok()?);
    }
    String::from_utf8(heard).ok()
}

/// Performs one action; returns whether the server continues.
async fn act(socket: &mut TcpStream, act: Act, leave: &Notify) -> bool {
    match act {
        Act::Answer(bytes) | Act::AnswerAndLeave(bytes) | Act::Stay(bytes) => {
            socket.write_all(bytes).await.unwrap();
        }
        Act::Trickle(pieces) => {
            for piece in pieces {
                socket.write_all(piece).await.unwrap();
                yield_now().await;
            }
        }
        Act::AnswerAndLeaveLater(bytes) => {
            socket.write_all(bytes).await.unwrap();
            leave.notified().await;
        }
        Act::Leave => {}
    }
    !matches!(act, Act::AnswerAndLeave(_) | Act::AnswerAndLeaveLater(_) | Act::Leave)
}

#[tokio::test]
async fn a_connection_is_used_again_however_its_answers_end() {
    let server = Server::new(|_, number| match number {
        0 => Act::Answer(OK),
        1 => Act::Answer(b"HTTP/1.1 204 No Content\r\n\r\n"),
        2 => Act::Trickle(&[
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r",
            b"\nok\r\n0\r\n",
            b"\r\n",
        ]),
        _ => Act::Trickle(&[b"HTTP/1.1 200 OK\r\ncontent-", b"length: 4\r\n\r\nok", b"ok"]),
    })
    .await;
    for expected in ["ok", "", "ok", "okok"] {
        assert_eq!(server.ask().await.unwrap(), expected);
    }
    assert_eq!(server.heard(), [(0, 0), (0, 1), (0, 2), (0, 3)]);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_leaves_the_connection_usable_if_all_of_it_is_here() {
    let server = Server::new(|_, _| Act::Answer(OK)).await;
    for _ in 0..2 {
        drop(server.send().await.unwrap());
    }
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_it_was_idle_is_not_used() {
    let server = Server::new(|connection, _| match connection {
        0 => Act::AnswerAndLeaveLater(OK),
        _ => Act::Answer(OK),
    })
    .await;
    server.ask().await.unwrap();
    server.leave.notify_one();
    server.until_closed(1).await;
    assert_eq!(server.ask().await.unwrap(), "ok");
    assert_eq!(server.heard(), [(0, 0), (1, 0)]);
}

#[tokio::test]
async fn a_connection_on_which_more_came_than_was_asked_for_is_not_used() {
    let server = Server::new(|_, _| {
        Act::Answer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 408 Late\r\n\r\n")
    })
    .await;
    for _ in 0..2 {
        assert_eq!(server.ask().await.unwrap(), "ok");
    }
    assert_eq!(server.heard(), [(0, 0), (1, 0)]);
}

#[tokio::test]
async fn a_server_that_says_it_will_close_is_believed() {
    let server = Server::new(|_, _| {
        Act::Answer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
    })
    .await;
    for _ in 0..2 {
        assert_eq!(server.ask().await.unwrap(), "ok");
    }
    assert_eq!(server.heard(), [(0, 0), (1, 0)]);
}

#[tokio::test]
async fn a_request_that_may_have_arrived_is_not_sent_again() {
    let server = Server::new(|connection, number| match (connection, number) {
        (0, 1) => Act::Leave,
        _ => Act::Answer(OK),
    })
    .await;
    server.ask().await.unwrap();
    let error = server.ask().await.unwrap_err();
    assert!(matches!(error, PoolError::Sent(_)) && !error.is_connect(), "{error:?}");
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
    assert_eq!(server.ask().await.unwrap(), "ok");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_the_end_of_its_connection() {
    let server = Server::new(|connection, _| match connection {
        0 => Act::AnswerAndLeave(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok"),
        _ => Act::Answer(OK),
    })
    .await;
    assert!(server.ask().await.is_err());
    assert_eq!(server.ask().await.unwrap(), "ok");
    assert_eq!(server.heard(), [(0, 0), (1, 0)]);
}

#[tokio::test]
async fn who_stops_waiting_takes_the_connection_along() {
    let server = Server::new(|connection, _| match connection {
        0 => Act::Stay(b""),
        1 => Act::Stay(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok"),
        _ => Act::Answer(OK),
    })
    .await;
    let heard = async {
        while server.heard().is_empty() {
            yield_now().await;
        }
    };
    tokio::select! {
        _ = server.send() => panic!("there is no answer"),
        () = heard => {}
    }
    server.until_closed(1).await;
    let mut half = server.send().await.unwrap().into_body();
    assert_eq!(half.frame().await.unwrap().unwrap().into_data().unwrap(), "ok");
    drop(half);
    server.until_closed(2).await;
    assert_eq!(server.ask().await.unwrap(), "ok");
    assert_eq!(server.heard(), [(0, 0), (1, 0), (2, 0)]);
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_after_a_minute() {
    let server = Server::new(|_, _| Act::Answer(OK)).await;
    server.ask().await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(59)).await;
    yield_now().await;
    assert_eq!(server.closed.load(Ordering::SeqCst), 0);
    server.ask().await.unwrap();
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
    tokio::time::sleep(Duration::from_secs(59)).await;
    yield_now().await;
    assert_eq!(server.closed.load(Ordering::SeqCst), 0);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.until_closed(1).await;
}

#[tokio::test]
async fn idle_connections_end_with_the_pool_and_answers_do_not() {
    let Server { pool, target, closed, .. } = Server::new(|_, _| Act::Answer(OK)).await;
    let (first, second) = tokio::join!(get(&pool, &target), get(&pool, &target));
    drop(first.unwrap());
    drop(pool);
    while closed.load(Ordering::SeqCst) < 1 {
        yield_now().await;
    }
    assert_eq!(second.unwrap().into_body().collect().await.unwrap().to_bytes(), "ok");
}

#[tokio::test]
async fn a_request_for_another_endpoint_is_not_sent() {
    let server = Server::new(|_, _| Act::Answer(OK)).await;
    for other in ["http://127.0.0.1:1/path", "/path"] {
        assert!(matches!(get(&server.pool, &Uri::from_static(other)).await, Err(PoolError::Elsewhere)));
    }
    assert_eq!(server.heard(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_sleeps_through_an_answer() {
    const PIECES: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\n",
        b"transfer-encoding: chunked\r\n\r\n",
        b"1\r\na\r\n1\r\nb\r\n",
        b"1\r\n",
        b"c\r\n0\r\n",
        b"\r\n",
    ];
    let server = Arc::new(Server::new(|_, _| Act::Trickle(PIECES)).await);
    let asking = (0..16).map(|_| {
        let server = server.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                assert_eq!(server.ask().await.unwrap(), "abc");
            }
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
    assert_eq!(server.heard().len(), 16 * 50);
}

#[tokio::test]
async fn what_is_said_before_the_answer_is_passed_over() {
    let server = Server::new(|_, number| match number {
        0 => Act::Trickle(&[
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early",
            b" Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        ]),
        _ => Act::Answer(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\n\r\n"),
    })
    .await;
    assert_eq!(server.ask().await.unwrap(), "ok");
    assert!(matches!(server.ask().await.unwrap_err(), PoolError::Sent(ConnectionError::Malformed(_))));
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
}

#[tokio::test]
async fn an_answer_of_unclear_length_ends_its_connection() {
    let server = Server::new(|connection, _| match connection {
        0 => Act::Answer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok"),
        1 => Act::Answer(
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ),
        2 => Act::Answer(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok0\r\n\r\n"),
        _ => Act::AnswerAndLeave(b"HTTP/1.1 200 OK\r\n\r\nto the end"),
    })
    .await;
    assert!(matches!(server.ask().await.unwrap_err(), PoolError::Sent(ConnectionError::Malformed(_))));
    assert_eq!(server.ask().await.unwrap(), "ok");
    assert!(matches!(server.ask().await.unwrap_err(), PoolError::Sent(ConnectionError::Malformed(_))));
    assert_eq!(server.ask().await.unwrap(), "to the end");
    assert_eq!(server.heard(), [(0, 0), (1, 0), (2, 0), (3, 0)]);
}

#[tokio::test]
async fn a_response_whose_transfer_coding_is_not_exactly_chunked_is_refused() {
    for codings in
        ["chunked, chunked", "gzip, chunked", "chunked\r\ntransfer-encoding: chunked", "identity", ""]
    {
        let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {codings}\r\n\r\n2\r\nok\r\n0\r\n\r\n");
        let (target, _hearing) = hears(0, answer.leak().as_bytes()).await;
        let error = post(&target, b"{}".to_vec()).await.unwrap_err();
        assert!(matches!(error, PoolError::Sent(ConnectionError::Malformed(_))), "{codings}: {error:?}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_not_read_without_end() {
    const ENDLESS: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nx: ", &[b'a'; 80 << 10]];
    let server = Server::new(|_, _| Act::Trickle(ENDLESS)).await;
    let error = server.ask().await.unwrap_err();
    assert!(matches!(&error, PoolError::Sent(ConnectionError::Malformed(_))), "{error:?}");
}

#[tokio::test]
async fn a_long_answer_is_read_whole() {
    static LONG: [u8; 300_000] = [b'a'; 300_000];
    const PIECES: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n", &LONG];
    let server = Server::new(|_, _| Act::Trickle(PIECES)).await;
    for _ in 0..2 {
        assert_eq!(server.ask().await.unwrap(), &LONG[..]);
    }
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
}

/// Accepts a connection and reads `heard_first` bytes before it answers; returns the number of bytes
/// received.
async fn hears(heard_first: usize, answer: &'static [u8]) -> (Uri, tokio::task::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Uri::try_from(format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let hearing = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; heard_first];
        socket.read_exact(&mut heard).await.unwrap();
        socket.write_all(answer).await.unwrap();
        socket.read_to_end(&mut heard).await.unwrap();
        heard.len()
    });
    (target, hearing)
}

/// Larger than the buffers of two sockets.
const LARGE: usize = 32 << 20;

async fn post(target: &Uri, body: Vec<u8>) -> Result<(u16, Bytes), PoolError> {
    let pool = ConnectionPool::new(target, None, Duration::from_secs(5)).unwrap();
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = target.clone();
    let answer = pool.send(request).await?;
    let status = answer.status().as_u16();
    answer.into_body().collect().await.map(|body| (status, body.to_bytes())).map_err(PoolError::Sent)
}

#[tokio::test]
async fn an_answer_that_does_not_wait_for_the_request_is_heard() {
    let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
    let (target, hearing) = hears(10, answer).await;
    let (status, body) = post(&target, vec![b'a'; LARGE]).await.unwrap();
    assert_eq!((status, &*body), (413, &b"no"[..]));
    assert!(hearing.await.unwrap() < LARGE, "the rest is not sent once there is an answer");
}

#[tokio::test]
async fn who_answers_first_and_listens_then_hears_the_whole_request() {
    // The server closes after it has read everything; only then is its answer complete.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Uri::try_from(format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let hearing = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nheard").await.unwrap();
        let (mut heard, mut body) = (vec![0; 1 << 16], 0);
        while body < LARGE {
            body += socket.read(&mut heard).await.unwrap();
        }
    });
    assert_eq!(post(&target, vec![b'a'; LARGE]).await.unwrap(), (200, Bytes::from_static(b"heard")));
    hearing.await.unwrap();
}

#[tokio::test]
async fn what_came_before_a_fault_is_heard_also_if_both_come_at_once() {
    let server = Server::new(|_, _| {
        Act::Answer(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nand\r\n0\n\n")
    })
    .await;
    let mut body = server.send().await.unwrap().into_body();
    for data in ["ok", "and"] {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), data);
    }
    assert!(matches!(body.frame().await.unwrap(), Err(ConnectionError::Malformed(_))));
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn who_speaks_something_else_is_not_waited_for() {
    for banner in [&b"SSH-2.0-Server"[..], b"\0\0\x12\x04\0\0\0\0\0", b"\r\n\r\n220 mail"] {
        let (target, _hearing) = hears(0, Box::leak(banner.into())).await;
        let error = post(&target, b"{}".to_vec()).await.unwrap_err();
        assert!(matches!(error, PoolError::Sent(ConnectionError::Malformed(_))), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_may_come_in_parts() {
    let server =
        Server::new(|_, _| Act::Trickle(&[b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n", b"ok"]))
            .await;
    for _ in 0..2 {
        let answer = server.send().await.unwrap();
        // Wait until the rest has arrived too.
        for _ in 0..100 {
            yield_now().await;
        }
        drop(answer);
    }
    assert_eq!(server.heard(), [(0, 0), (0, 1)]);
}
