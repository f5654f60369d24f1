//! `posse mcp --http`: who is let in, and that what a host does there is what it does over pipes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::place;
use crate::support::{PATIENCE, Place, Running, until};

pub struct Served {
    running: Option<Running>,
    pub port: u16,
    pub token: String,
    session: Option<String>,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Served {
    pub fn start(place: &Place, args: &[&str]) -> Self {
        let all = ["mcp", "--http", "127.0.0.1:0"].iter().chain(args).copied();
        let running = Running::start(place.posse(all));
        let port = until("it listens", || {
            let told = running.stderr();
            told.split_once("http://127.0.0.1:")?.1.split_once("/mcp")?.0.parse().ok()
        });
        let token = std::fs::read_to_string(place.state().join("mcp-token")).unwrap();
        Self { running: Some(running), port, token, session: None }
    }

    /// One request on a connection of its own, with exactly these headers.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.try_send(method, path, headers, body).expect("an answer")
    }

    /// The same, `None` if the connection was closed without an answer.
    fn try_send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<Reply> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        // A refusal may come before everything was sent.
        let _ = stream.write_all(format!("{request}\r\n{body}").as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Reply { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    /// As a client sends it that is who it says.
    fn post(&self, more: &[(&str, &str)], message: &Value) -> Reply {
        self.try_post(more, message).expect("an answer")
    }

    fn try_post(&self, more: &[(&str, &str)], message: &Value) -> Option<Reply> {
        let (token, host) = (format!("Bearer {}", self.token), format!("127.0.0.1:{}", self.port));
        let mut headers =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        for usual in [("Authorization", token.as_str()), ("Host", host.as_str())] {
            if !more.iter().any(|(name, _)| *name == usual.0) {
                headers.push(usual);
            }
        }
        headers.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        self.try_send("POST", "/mcp", &headers, &message.to_string())
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let session = self.session.clone();
        let known: Vec<(&str, &str)> = session.iter().map(|id| ("Mcp-Session-Id", id.as_str())).collect();
        let reply = self.post(&known, &message);
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        self.session = self.session.take().or(id.map(str::to_owned));
        // An event stream, or one object.
        let data = reply.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let answer =
            data.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(|value| value["id"] == 1);
        answer.unwrap_or_else(|| panic!("{reply:?}"))["result"].clone()
    }

    pub fn stop(mut self) {
        let running = self.running.take().unwrap();
        running.signal(libc::SIGTERM);
        assert_eq!(running.end().code, 0);
    }
}

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

// S16 S17 S18 G24 Seen to fail when `answer` does not ask whether the token is known, with `disable_allowed_hosts` in place of our
// hosts (left out, the SDK has a list of its own), and without both `with_allowed_origins` and `enforce_origin_validation`.
#[test]
fn only_who_knows_the_token_and_means_this_server_is_let_in() {
    let place = place();
    let served = Served::start(&place, &[]);
    let mode = std::fs::metadata(place.state().join("mcp-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(served.token.len() >= 64);
    let port = served.port;
    let host = format!("127.0.0.1:{port}");
    for method in ["GET", "POST", "DELETE", "PUT", "OPTIONS"] {
        for path in ["/mcp", "/", "/health", "/mcp/x"] {
            let reply = served.send(method, path, &[("Host", &host)], "{}");
            assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
            assert!(reply.head.contains("www-authenticate: bearer"), "{reply:?}");
        }
    }
    // A handshake that would make it another protocol is an ordinary request here.
    let upgrade = [("Host", host.as_str()), ("Upgrade", "websocket"), ("Origin", "http://evil.example")];
    assert_eq!(served.send("GET", "/mcp", &upgrade, "").status, 401);
    let known = format!("Bearer {}", served.token);
    let upgrade = [&upgrade[..], &[("Connection", "Upgrade"), ("Authorization", &known)]].concat();
    assert_eq!(served.send("GET", "/mcp", &upgrade, "").status, 403, "also from whoever knows the token");
    let upgrade = [&upgrade[..2], &upgrade[3..], &[("Accept", "*/*")]].concat();
    let reply = served.send("GET", "/mcp", &upgrade, "");
    assert!(reply.status >= 400, "there is no other protocol: {reply:?}");
    for wrong in ["Bearer x", "Bearer ", "Basic abc", ""] {
        assert_eq!(served.post(&[("Authorization", wrong)], &initialize()).status, 401, "{wrong}");
    }
    let origin = |text: &str| text.replace("PORT", &port.to_string());
    for (header, value, expected) in [
        ("Host", origin("localhost:PORT"), 200),
        ("Host", origin("[::1]:PORT"), 200),
        ("Host", "evil.example".to_owned(), 403),
        ("Host", origin("evil.example:PORT"), 403),
        ("Host", origin("127.0.0.1.evil.example:PORT"), 403),
        ("Host", origin("localhost.evil.example:PORT"), 403),
        ("Host", "0.0.0.0".to_owned(), 403),
        ("Host", "localhost.".to_owned(), 403),
        ("Host", origin("user@127.0.0.1:PORT"), 400),
        ("Host", origin("127.0.0.1:PORT@evil.example"), 400),
        ("Host", origin("127.0.0.1:PORT.evil.example"), 400),
        ("Host", origin("127.0.0.1:PORT,evil.example"), 400),
        ("Origin", origin("http://localhost:PORT"), 200),
        ("Origin", origin("http://127.0.0.1:PORT"), 200),
        ("Origin", "http://evil.example".to_owned(), 403),
        ("Origin", origin("http://localhost.evil.example:PORT"), 403),
        ("Origin", origin("https://evil.example:PORT"), 403),
        ("Origin", "null".to_owned(), 403),
    ] {
        let reply = served.post(&[(header, &value)], &initialize());
        assert_eq!(reply.status, expected, "{header}: {value}: {reply:?}");
    }
    let missing = served.post(&[("Host", "")], &initialize());
    assert!(missing.status >= 400, "{missing:?}");
    let body = initialize().to_string();
    let told = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", known.as_str()),
        ("Host", host.as_str()),
    ];
    for (form, expected) in [
        (origin("http://127.0.0.1:PORT/mcp"), 200),
        (origin("http://evil.example:PORT/mcp"), 403),
        (origin("http://127.0.0.1.evil.example/mcp"), 403),
        (origin("http://user@127.0.0.1:PORT/mcp"), 400),
    ] {
        let reply = served.send("POST", &form, &told, &body);
        assert_eq!(reply.status, expected, "{form}: {reply:?}");
    }
    for second in [host.as_str(), "evil.example"] {
        let reply = served.send("POST", "/mcp", &[&told[..], &[("Host", second)]].concat(), &body);
        assert_eq!(reply.status, 400, "two lines, the second of them {second}: {reply:?}");
    }
    served.stop();
}

/// Connections of one thread that ask without the token, again and again, for as long as they are let. Counts the answers.
fn besiege(port: u16, count: usize, answers: &AtomicUsize, ends: &AtomicBool) {
    let connect = || {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        // Whoever is not answered is asked again soon, so that no connection is idle for long.
        stream.set_read_timeout(Some(Duration::from_millis(20))).ok()?;
        Some(stream)
    };
    let mut streams: Vec<Option<TcpStream>> = (0..count).map(|_| connect()).collect();
    while !ends.load(Ordering::Relaxed) {
        for stream in &mut streams {
            let ask = |stream: &mut TcpStream| {
                stream.write_all(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").ok()?;
                match stream.read(&mut [0; 1024]) {
                    Ok(0) => None,
                    Ok(_) => Some(answers.fetch_add(1, Ordering::Relaxed)),
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Some(0),
                    Err(_) => None,
                }
            };
            if stream.as_mut().and_then(ask).is_none() {
                *stream = connect();
            }
        }
    }
}

// S16 Seen to fail with one place for each connection, known or not: nobody who has the token gets in.
#[test]
fn a_crowd_without_the_token_does_not_lock_out_a_client_that_has_it() {
    let place = place();
    let served = Served::start(&place, &[]);
    let (answers, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Twice as many as there are places.
        for _ in 0..8 {
            scope.spawn(|| besiege(served.port, 64, &answers, &ends));
        }
        until("the crowd is there", || (answers.load(Ordering::Relaxed) > 1000).then_some(()));
        let _silent: Vec<_> = (0..512).map(|_| TcpStream::connect(("127.0.0.1", served.port))).collect();
        // On a busy machine a connection may have to make room before its head was sent; then it is made again.
        let began = Instant::now();
        while served.try_post(&[], &initialize()).is_none_or(|reply| reply.status != 200)
            && began.elapsed() < PATIENCE
        {}
        ends.store(true, Ordering::Relaxed);
        assert!(began.elapsed() < PATIENCE, "nobody got in");
    });
    served.stop();
}

// S16 Seen to fail without `Connection: close` in `last`.
#[test]
fn a_connection_is_closed_after_it_was_refused() {
    let place = place();
    let served = Served::start(&place, &[]);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it is closed without being asked to");
    let answer = String::from_utf8_lossy(&bytes).to_lowercase();
    assert!(answer.starts_with("http/1.1 401") && answer.contains("connection: close"), "{answer}");
    served.stop();
}

#[test]
fn a_host_delegates_over_http_and_finds_its_tasks_over_pipes() {
    let place = place();
    let mut served = Served::start(&place, &[]);
    let told = served.ask("initialize", initialize()["params"].clone());
    assert_eq!(told["serverInfo"]["name"], "posse");
    let call = |served: &mut Served, name: &str, arguments: Value| {
        served.ask("tools/call", json!({ "name": name, "arguments": arguments }))["structuredContent"].clone()
    };
    let spawned =
        call(&mut served, "subagent", json!({ "action": "spawn", "agent": "quick", "task": "Answer" }));
    assert_eq!(spawned["task_id"], "t_01", "{spawned}");
    call(&mut served, "subagent_wait", json!({ "task_ids": ["t_01"] }));
    let result = call(&mut served, "subagent_result", json!({ "task_id": "t_01" }));
    assert_eq!(result["text"], "A quick answer.", "{result}");
    served.stop();
    let mut host = super::host::Host::start(&place, &[]);
    host.initialize("2025-11-25");
    assert_eq!(host.tool("subagent_result", json!({ "task_id": "t_01" }))["text"], "A quick answer.");
    host.leave();
}

// S19 G24 Seen to fail when `answer` does not ask whether the token is known.
#[test]
fn knowing_a_session_is_no_right_without_the_token() {
    let place = place();
    let mut served = Served::start(&place, &[]);
    served.ask("initialize", initialize()["params"].clone());
    let session = served.session.clone().unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let known = [("Mcp-Session-Id", session.as_str()), ("Authorization", "Bearer guess")];
    assert_eq!(served.post(&known, &list).status, 401);
    assert_eq!(served.post(&[("Mcp-Session-Id", "made-up")], &list).status, 404);
    served.stop();
}

/// What a browser would run if it took an answer for a page.
const MARKUP: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<!doctype html><html><body onload=alert(1)>",
    "</title><iframe srcdoc='<script>alert(1)</script>'></iframe>",
];

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// No browser shows this answer as a page, keeps it or frames it, whatever words of the request are in it.
fn assert_is_no_page(what: &str, reply: &Reply) {
    let header = |name: &str| reply.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(header(name), Some(value), "{what}: {reply:?}");
    }
    let kind = header("content-type").unwrap_or_else(|| panic!("{what}: {reply:?}"));
    assert!(
        ["application/json", "text/event-stream", "text/plain; charset=utf-8"].contains(&kind),
        "{what}: {reply:?}"
    );
    assert!(!reply.head.contains('<'), "{what}: {reply:?}");
}

// S20 G24 Seen to fail without `harmless`, and with the content types that the SDK sets or leaves out.
#[test]
fn nothing_that_is_answered_is_a_page() {
    let place = place();
    let answers: String = MARKUP.iter().map(|text| format!("- text: {}\n", json!(text))).collect();
    let model = place.script(&format!("page:\n{answers}"));
    let agent =
        format!("---\nname: page\ndescription: Says markup\nmodel: {model}#page\n---\nYou are page.\n");
    place.write("home/.config/posse/agents/page.md", &agent);
    let mut served = Served::start(&place, &[]);
    served.ask("initialize", initialize()["params"].clone());
    let session = served.session.clone().unwrap();
    let known = format!("Bearer {}", served.token);
    let host = format!("127.0.0.1:{}", served.port);
    for (at, markup) in MARKUP.iter().enumerate() {
        // Nobody's requests, and those of somebody who knows the token.
        for token in ["", markup, known.as_str()] {
            for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "SCRIPT"] {
                for path in
                    [format!("/{}", percent(markup)), format!("/mcp?x={}", percent(markup)), "/".to_owned()]
                {
                    let headers = [("Host", host.as_str()), ("Authorization", token), ("X-Any", markup)];
                    let reply = served.send(method, &path, &headers, markup);
                    assert_is_no_page(&format!("{method} {path}"), &reply);
                }
            }
        }
        let list = json!({ "jsonrpc": "2.0", "id": markup, "method": "tools/list", "params": {} });
        for header in [
            "Host",
            "Origin",
            "Accept",
            "Content-Type",
            "Mcp-Session-Id",
            "Mcp-Protocol-Version",
            "Last-Event-Id",
            "Mcp-Method",
        ] {
            assert_is_no_page(header, &served.post(&[(header, markup)], &list));
        }
        // What is no request at all is answered with nothing but a number.
        for (method, path) in [(*markup, "/mcp"), ("GET", *markup)] {
            let reply = served.send(method, path, &[("Host", &host), ("Authorization", &known)], "");
            assert!(reply.status == 400 && reply.body.is_empty(), "{reply:?}");
        }
        let within = [("Mcp-Session-Id", session.as_str())];
        let call = |arguments: Value| json!({ "jsonrpc": "2.0", "id": markup, "method": "tools/call", "params": arguments });
        let spawn = json!({ "action": "spawn", "agent": "page", "task": markup });
        let task = format!("t_{:02}", at + 1);
        for message in [
            json!(markup),
            json!({ "jsonrpc": "2.0", "id": markup, "method": markup }),
            json!({ "jsonrpc": markup, "id": 1, "method": "tools/list" }),
            call(json!({ "name": markup, "arguments": {} })),
            call(json!({ "name": "subagent_result", "arguments": { "task_id": markup } })),
            call(json!({ "name": "subagent", "arguments": spawn })),
            call(json!({ "name": "subagent_wait", "arguments": { "task_ids": [task] } })),
        ] {
            assert_is_no_page(&message.to_string(), &served.post(&within, &message));
        }
        let result = served
            .post(&within, &call(json!({ "name": "subagent_result", "arguments": { "task_id": task } })));
        assert_is_no_page("result", &result);
        assert!(result.body.contains("alert(1)"), "the result was read: {result:?}");
    }
    served.stop();
}
