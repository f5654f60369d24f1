//! Tests of servers reached over HTTP: the requests they get and the handling of their answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_runtime::ports::{ToolContext, ToolInput, ToolOutput};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::hostile::{InMemory, Nobody};
use super::*;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ForwardMode {
    Json,
    Events,
    HugeJson,
    HugeEvent,
    /// Answers every unknown request with an empty result.
    AnswersAnything,
    Denies,
    /// Redirects every request to another address.
    SendsAway,
    /// Speaks the protocol without sessions, and asks a person before it answers.
    Newest,
}

/// The request state that the server wants echoed.
const STATE: &str = "{\"round\": 1} \u{e9}";

/// The head and body of each request.
type Heard = Arc<Mutex<Vec<(String, Value)>>>;

async fn listen(mode: ForwardMode) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heard = Heard::default();
    let hears = heard.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, mode, hears.clone()));
        }
    });
    (address, heard)
}

async fn serve(socket: TcpStream, mode: ForwardMode, heard: Heard) -> Option<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.ok()?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        heard.lock().unwrap().push((head.clone(), message.clone()));
        answer(socket.get_mut(), mode, &head, &message).await?;
    }
}

async fn answer(socket: &mut TcpStream, mode: ForwardMode, head: &str, message: &Value) -> Option<()> {
    let method = message["method"].as_str().unwrap_or_default();
    let plain = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    if mode == ForwardMode::Denies {
        let denied = "HTTP/1.1 401 No\r\nwww-authenticate: Bearer scope=\"all\"\r\ncontent-length: 0\r\n\r\n";
        return socket.write_all(denied.as_bytes()).await.ok();
    }
    if mode == ForwardMode::SendsAway {
        let away = "HTTP/1.1 307 Away\r\nlocation: http://127.0.0.1:1/other\r\ncontent-length: 0\r\n\r\n";
        return socket.write_all(away.as_bytes()).await.ok();
    }
    if !head.starts_with("POST") {
        return socket.write_all(plain("405 No").as_bytes()).await.ok();
    }
    let result = match method {
        "server/discover" | "tools/list" | "tools/call" if mode == ForwardMode::Newest => newest(message),
        "initialize" => {
            let info = json!({"name": "far", "version": "1"});
            // These servers answer with their own version, not with the requested one.
            let version = match mode {
                ForwardMode::Json => "2025-11-25",
                ForwardMode::Events => "2025-03-26",
                _ => "2024-11-05",
            };
            json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        }
        "tools/list" => {
            let tool = json!({"name": "echo", "inputSchema": {"type": "object"}, "x-unknown": 7});
            json!({"tools": [tool]})
        }
        "tools/call" => {
            json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
        }
        _ if message.get("id").is_none() => {
            return socket.write_all(plain("202 Accepted").as_bytes()).await.ok();
        }
        _ if mode == ForwardMode::AnswersAnything => json!({}),
        _ => return socket.write_all(plain("400 Bad").as_bytes()).await.ok(),
    };
    let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    let is_call = method == "tools/call";
    match mode {
        ForwardMode::HugeJson if is_call => huge(socket, "application/json", "{\"x\":\"").await,
        ForwardMode::HugeEvent if is_call => huge(socket, "text/event-stream", "data: ").await,
        ForwardMode::Events => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            socket.write_all(format!("{head}: hello\n\ndata: {text}\n\n").as_bytes()).await.ok()?;
            socket.shutdown().await.ok()
        }
        _ => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                text.len()
            );
            socket.write_all(format!("{head}{text}").as_bytes()).await.ok()
        }
    }
}

fn newest(message: &Value) -> Value {
    let property = |header: &str| json!({"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": header}}});
    let params = &message["params"];
    let mut result = match message["method"].as_str().unwrap() {
        "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        "tools/list" => json!({"tools": [
            {"name": "echo", "inputSchema": property("Text")},
            {"name": "smuggle", "inputSchema": property("Text: x")},
        ]}),
        _ if params.get("inputResponses").is_none() => {
            let schema =
                json!({"type": "object", "properties": {"sure": {"type": "boolean", "default": true}}});
            let question = json!({"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": schema}});
            return json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": STATE});
        }
        _ => json!({"content": [{"type": "text", "text": params["arguments"]["text"]}]}),
    };
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
    result
}

/// Sends up to 100 MB.
async fn huge(socket: &mut TcpStream, kind: &str, begin: &str) -> Option<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{begin}");
    socket.write_all(head.as_bytes()).await.ok()?;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        socket.write_all(&chunk).await.ok()?;
    }
    None
}

fn server(url: &str) -> Arc<McpClient> {
    let remote = RemoteServer {
        url: url.parse().unwrap(),
        headers: vec![(HeaderName::from_static("x-team"), HeaderValue::from_static("a"))],
        bearer: Some("t0k3n".to_owned()),
        oauth: None,
    };
    let config = ServerConfig {
        name: ServerName::parse("far").unwrap(),
        endpoint: ServerEndpoint::Http(remote),
        origin: String::new(),
        startup: Duration::from_secs(30),
        call: Duration::from_secs(30),
        annotations: AnnotationTrust::Ignored,
    };
    McpClient::new(config, Arc::new(Nobody), Arc::new(InMemory::default()), None)
}

async fn call(server: &Arc<McpClient>) -> ToolOutput {
    let context = ToolContext {
        task: TaskId::root("t"),
        grant: Arc::new(Grant::root([], 0)),
        cancel: Default::default(),
        time_left: Duration::from_secs(60),
        output_bytes_max: 1_000,
        run: None,
        fence: None,
    };
    let tool = server.tools().unwrap().remove(0);
    let (key, arguments) = (CallKey { turn: 1, index: 0 }, r#"{"text":"hello"}"#);
    tool.call(ToolInput { key, arguments, idempotency_key: "k", context: &context }).await
}

#[tokio::test]
async fn a_server_elsewhere_is_used_like_one_here_and_told_who_asks() {
    for mode in [ForwardMode::Json, ForwardMode::Events, ForwardMode::AnswersAnything] {
        let (url, heard) = listen(mode).await;
        let server = server(&url);
        server.meet().await.unwrap();
        assert_eq!(call(&server).await, ToolOutput::text("hello"));
        let known = server.known().unwrap().unwrap();
        assert_eq!(known.accepted["echo"]["x-unknown"], 7, "kept as it came");
        server.close().await;
        for (head, message) in heard.lock().unwrap().iter() {
            let head = head.to_ascii_lowercase();
            assert!(
                head.contains("authorization: bearer t0k3n\r\n") && head.contains("x-team: a\r\n"),
                "{head} {message}"
            );
        }
    }
}

// Seen to fail when the first version to try was the older one, when the state was left out, and when the answer to a person's question
// was an empty one.
#[tokio::test]
async fn the_newest_protocol_is_spoken_without_a_session_and_a_question_to_a_person_is_declined() {
    let (url, heard) = listen(ForwardMode::Newest).await;
    let server = server(&url);
    server.meet().await.unwrap();
    let remarks = server.remarks();
    assert!(remarks.len() == 1 && remarks[0].contains("`smuggle` cannot be used"), "{remarks:?}");
    assert_eq!(server.tools().unwrap().len(), 1, "what cannot be sent as a header is not offered");
    let output = call(&server).await;
    assert!(!output.is_error && output.text.ends_with("\nhello"), "{}", output.text);
    assert!(output.text.starts_with("[the server asked a person something"), "{}", output.text);
    server.close().await;
    let heard = heard.lock().unwrap();
    let methods: Vec<&str> = heard.iter().filter_map(|(_, said)| said["method"].as_str()).collect();
    assert_eq!(methods, ["server/discover", "tools/list", "tools/call", "tools/call"]);
    for (head, said) in heard.iter() {
        let method = said["method"].as_str().unwrap();
        let head = head.to_ascii_lowercase();
        assert!(head.contains("mcp-protocol-version: 2026-07-28\r\n"), "{head}");
        assert!(
            head.contains(&format!("mcp-method: {method}\r\n")) && !head.contains("mcp-session-id"),
            "{head}"
        );
        let meta = &said["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{said}");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}), "{said}");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "posse", "{said}");
        let is_call = method == "tools/call";
        let named = "mcp-name: echo\r\n";
        assert_eq!(
            (head.contains(named), head.contains("mcp-param-text: hello\r\n")),
            (is_call, is_call),
            "{head}"
        );
    }
    let (first, second) = (&heard[2].1, &heard[3].1);
    assert_eq!(first["params"].get("requestState"), None);
    assert_eq!(second["params"]["requestState"], STATE);
    assert_eq!(second["params"]["inputResponses"], json!({"q": {"action": "decline"}}));
    assert_eq!(first["params"]["arguments"], second["params"]["arguments"]);
    assert_ne!(first["id"], second["id"]);
}

// S13 T42 Seen to fail when an event that is too large only ended the connection: nobody was told why.
#[tokio::test]
async fn nothing_that_is_too_large_is_kept_of_what_comes_over_http() {
    for mode in [ForwardMode::HugeJson, ForwardMode::HugeEvent] {
        let (url, _) = listen(mode).await;
        let server = server(&url);
        server.meet().await.unwrap();
        let output = call(&server).await;
        assert!(output.is_error && output.text.contains("`far`"), "{}", output.text);
        assert!(output.text.contains("more than 4194304 bytes"), "{}", output.text);
    }
}

#[tokio::test]
async fn a_server_that_denies_or_sends_away_is_not_used_and_no_token_goes_elsewhere() {
    for (mode, why) in [(ForwardMode::Denies, "Auth required"), (ForwardMode::SendsAway, "HTTP 307")] {
        let (url, _) = listen(mode).await;
        let error = server(&url).meet().await.unwrap_err();
        assert!(error.message().contains(why), "{}", error.message());
        assert_eq!(error.code(), ErrorCode::McpServerUnavailable);
    }
}
