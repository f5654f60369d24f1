//! Loopback MCP server with OAuth, plus its authorization server. Its browser agrees to everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::server::{Answer, Recorded, Server};

/// Prefix of tokens, to search for.
pub const TOKEN: &str = "granted-token-";
pub const REFRESH: &str = "refresh-token-";

pub struct Guarded {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    origin: String,
    /// Resource that it claims, if not its own address.
    resource: Option<String>,
    /// Lifetime of a token, as announced.
    life_s: u64,
    given: usize,
    /// Tokens that count, with their scopes.
    tokens: BTreeMap<String, String>,
    refreshing: Vec<String>,
    /// The scopes of each code.
    codes: BTreeMap<String, String>,
    /// Scope that calls need.
    call_scope: Option<String>,
}

impl Guarded {
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(State { life_s: 3_600, ..State::default() }));
        let answering = state.clone();
        let server = Server::handler(move |request| held(&answering).answer(request)).await;
        held(&state).origin = server.url().to_owned();
        Self { server, state }
    }

    /// Address of the MCP server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.server.url())
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Number of requests for this.
    pub fn count(&self, path: &str) -> usize {
        self.requests().iter().filter(|request| request.path.split('?').next() == Some(path)).count()
    }

    /// Sets the announced lifetime of tokens issued from now on.
    pub fn say_life(&self, seconds: u64) {
        held(&self.state).life_s = seconds;
    }

    /// From now on it says that it is somebody else.
    pub fn answer_for(&self, resource: &str) {
        held(&self.state).resource = Some(resource.to_owned());
    }

    /// Calls of tools need this from now on.
    pub fn want_for_calls(&self, scope: &str) {
        held(&self.state).call_scope = Some(scope.to_owned());
    }

    /// None of the tokens that it gave counts any more.
    pub fn forget_tokens(&self) {
        held(&self.state).tokens.clear();
    }

    /// Nor can any of them be renewed.
    pub fn forget_all(&self) {
        let mut state = held(&self.state);
        state.tokens.clear();
        state.refreshing.clear();
    }
}

impl State {
    fn answer(&mut self, request: &Recorded) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let origin = &self.origin;
        match path {
            "/mcp" => self.speak(request),
            "/.well-known/oauth-protected-resource/mcp" => {
                let resource = self.resource.clone().unwrap_or_else(|| format!("{origin}/mcp"));
                Answer::json(200, &json!({"resource": resource, "authorization_servers": [origin]}))
            }
            "/.well-known/oauth-authorization-server" => Answer::json(
                200,
                &json!({
                    "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
                    "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                }),
            ),
            "/register" => {
                let asked = request.json();
                Answer::json(
                    201,
                    &json!({"client_id": "posse-here", "redirect_uris": asked["redirect_uris"]}),
                )
            }
            "/authorize" => self.send_back(&fields(query)),
            "/token" => self.give(&fields(&String::from_utf8_lossy(&request.body))),
            _ => Answer::json(404, &json!({})),
        }
    }

    /// As whoever agrees in a browser.
    fn send_back(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        self.given += 1;
        let code = format!("code-{}", self.given);
        self.codes.insert(code.clone(), asked.get("scope").cloned().unwrap_or_default());
        let text = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let back =
            format!("{}?code={code}&state={}&iss={}", text("redirect_uri"), text("state"), self.origin);
        Answer::new(302, "text/plain", "").header("location", &back)
    }

    fn give(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let text = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let is_refresh = text("grant_type") == "refresh_token";
        let known = self.refreshing.iter().position(|token| token == text("refresh_token"));
        let scope = match (is_refresh, known) {
            // Each is good for one renewal.
            (true, Some(at)) => {
                self.refreshing.remove(at);
                text("scope").to_owned()
            }
            (false, _) if self.codes.contains_key(text("code")) => {
                self.codes.remove(text("code")).unwrap_or_default()
            }
            _ => return Answer::json(400, &json!({"error": "invalid_grant"})),
        };
        self.given += 1;
        let (token, refresh) = (format!("{TOKEN}{}", self.given), format!("{REFRESH}{}", self.given));
        self.tokens.insert(token.clone(), scope);
        self.refreshing.push(refresh.clone());
        let given = json!({
            "access_token": token, "token_type": "Bearer", "expires_in": self.life_s, "refresh_token": refresh,
        });
        Answer::json(200, &given)
    }

    fn speak(&self, request: &Recorded) -> Answer {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let where_to =
            format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", self.origin);
        let Some((token, scopes)) = token.and_then(|token| self.tokens.get_key_value(token)) else {
            return Answer::json(401, &json!({})).header("www-authenticate", &format!("Bearer {where_to}"));
        };
        if request.method != "POST" {
            return Answer::json(405, &json!({}));
        }
        let message = request.json();
        let wanted = self.call_scope.as_deref().filter(|_| message["method"] == "tools/call");
        if let Some(scope) = wanted.filter(|scope| !scopes.split(' ').any(|have| have == *scope)) {
            let said = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", {where_to}");
            return Answer::json(403, &json!({})).header("www-authenticate", &said);
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": format!("you are {token}")}]}),
            _ if message.get("id").is_none() => return Answer::new(202, "text/plain", ""),
            _ => {
                let error = json!({"code": -32601, "message": "no"});
                return Answer::json(404, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        };
        Answer::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

/// A query or a form.
fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                bytes.push(u8::from_str_radix(digits, 16).unwrap_or(b'?'));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address that a browser is sent to from here.
pub async fn browse(url: &str) -> Option<String> {
    let (head, _) = page(url).await?;
    let location = head.lines().find_map(|line| line.strip_prefix("location: "))?;
    Some(location.trim().to_owned())
}

/// Fetches a page like a browser: head and text of the answer.
pub async fn page(url: &str) -> Option<(String, String)> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (host, path) = url.strip_prefix("http://")?.split_once('/')?;
    let mut socket = tokio::net::TcpStream::connect(host).await.ok()?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.ok()?;
    let mut text = Vec::new();
    // The server keeps connections, so only as much is read as is there at first.
    let mut piece = [0; 16 * 1024];
    while !text.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = socket.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        text.extend_from_slice(&piece[..count]);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.to_owned(), body.to_owned()))
}

fn held(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
