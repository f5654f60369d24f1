//! A client for the protocol's conformance suite. It uses the server at the address in its last argument as
//! agents would, and calls the tools that the suite names, or else every tool of the server. If the server
//! asks for a sign-in, it does the same as `posse servers login`, with a browser that accepts everything.
//! `cargo xtask test` runs it.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use posse_core::Result;
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::tool::ToolSpec;
use posse_mcp::client::{
    AnnotationTrust, ClientProof, McpClient, OAuth, PinStore, ProgramStarter, RemoteServer, ServerConfig,
    ServerEndpoint, ServerName, ServerProcess, ServerProgram, SignInStart, TokenRecord, TokenVault, ToolPins,
};
use posse_net::ConnectionPool;
use posse_runtime::ports::{BoxFuture, Tool, ToolContext, ToolInput};
use serde_json::{Map, Value, json};

/// Maximum sign-in attempts.
const SIGN_INS_MAX: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().unwrap_or_default();
    match converse(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn converse(url: &str) -> Result<(), String> {
    let endpoint = ServerEndpoint::Http(RemoteServer {
        url: url.parse().map_err(|_| format!("`{url}` is no address"))?,
        headers: Vec::new(),
        bearer: None,
        oauth: Some(Box::new(oauth())),
    });
    let name = ServerName::parse("conformance").map_err(|e| e.to_string())?;
    let (startup, call) = (Duration::from_secs(20), Duration::from_secs(20));
    let config = ServerConfig {
        name,
        endpoint,
        origin: String::new(),
        startup,
        call,
        annotations: AnnotationTrust::Ignored,
    };
    let vault = Arc::new(InMemory::default());
    let memory = Arc::new(Forgetful::default());
    let server = McpClient::new(config, Arc::new(NoProcess), memory, Some(vault));
    let mut used = use_all(&server).await;
    for _ in 0..SIGN_INS_MAX {
        match &used {
            // Sign in, as the message tells a person to do.
            Err(why) if why.contains("posse servers login") => {
                eprintln!("{why}");
                sign_in(&server).await?;
                used = use_all(&server).await;
            }
            _ => break,
        }
    }
    server.close().await;
    used
}

async fn use_all(server: &Arc<McpClient>) -> Result<(), String> {
    let said = |e: posse_core::Error| format!("{e} {}", e.advice().unwrap_or_default());
    server.meet().await.map_err(said)?;
    let tools = server.tools().map_err(said)?;
    for (tool, arguments) in calls(&tools)? {
        let context = ToolContext {
            task: TaskId::root("conformance"),
            grant: Arc::new(Grant::root([], 0)),
            cancel: Default::default(),
            time_left: Duration::from_secs(20),
            output_bytes_max: 10_000,
            run: None,
            fence: None,
        };
        let (key, arguments) = (CallKey { turn: 1, index: 0 }, arguments.to_string());
        let input = ToolInput { key, arguments: &arguments, idempotency_key: "1", context: &context };
        let output = tool.call(input).await;
        eprintln!("{}: {}", tool.spec().name, output.text);
        if output.is_error {
            return Err(output.text);
        }
    }
    Ok(())
}

/// Reads the client identity from the suite's context.
fn oauth() -> OAuth {
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let text = |key: &str| context[key].as_str().map(str::to_owned);
    let is_machine =
        std::env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|name| name.contains("client-credentials"));
    let proof = text("private_key_pem").map_or(ClientProof::Secret, ClientProof::Key);
    OAuth {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some("https://conformance-test.local/client-metadata.json".to_owned()),
        issuer: text("issuer"),
        machine: is_machine.then_some(proof),
        ..OAuth::default()
    }
}

async fn sign_in(server: &McpClient) -> Result<(), String> {
    let keeper = server.keeper().ok_or("nobody can sign in")?;
    let SignInStart::Person(sign_in) = keeper.sign_in().await.map_err(|e| e.to_string())? else {
        return Ok(());
    };
    let back = ask(sign_in.url()).await?.ok_or("the browser was not sent back")?;
    let (redirect, shown) = tokio::join!(sign_in.redirected(), ask(&back));
    shown?;
    sign_in.finish(&redirect.map_err(|e| e.to_string())?).await.map_err(|e| e.to_string())
}

/// Loads one page; returns the redirect target.
async fn ask(url: &str) -> Result<Option<String>, String> {
    let uri: Uri = url.parse().map_err(|_| format!("`{url}` is no address"))?;
    let pool = ConnectionPool::new(&uri, None, Duration::from_secs(10)).map_err(|e| e.to_string())?;
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    let response = pool.send(request).await.map_err(|e| e.to_string())?;
    let location = response.headers().get("location").and_then(|value| value.to_str().ok());
    Ok(location.map(str::to_owned))
}

/// A tool and its arguments.
type Call<'a> = (&'a Arc<dyn Tool>, Value);

/// Returns the calls that the suite expects in this scenario.
fn calls(tools: &[Arc<dyn Tool>]) -> Result<Vec<Call<'_>>, String> {
    let named = |name: &str| {
        let found = tools.iter().find(|tool| tool.spec().name == format!("mcp__conformance__{name}"));
        found.ok_or_else(|| format!("`{name}` is not offered"))
    };
    match std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default().as_str() {
        "http-custom-headers" => {
            let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
            let context: Value = serde_json::from_str(&context).map_err(|e| e.to_string())?;
            let calls = context["toolCalls"].as_array().into_iter().flatten();
            let call = |call: &Value| {
                Ok((named(call["name"].as_str().unwrap_or_default())?, call["arguments"].clone()))
            };
            calls.map(call).collect()
        }
        // This server answers no calls; only the list is checked.
        "json-schema-ref-no-deref" => Ok(Vec::new()),
        // Send a schema back to the server as the model sees it.
        "json-schema-2020-12-preservation" => {
            let seen = schema(named("json_schema_2020_12_tool")?.spec());
            Ok(vec![(named("json_schema_echo")?, json!({"schema": seen}))])
        }
        _ => Ok(tools.iter().map(|tool| (tool, arguments(tool.spec()))).collect()),
    }
}

fn schema(spec: &ToolSpec) -> Value {
    serde_json::from_str(&spec.input_schema).unwrap_or_default()
}

/// Makes a value of each type in the schema.
fn arguments(spec: &ToolSpec) -> Value {
    let schema = schema(spec);
    let properties = schema["properties"].as_object().into_iter().flatten();
    let value = |property: &Value| match property["type"].as_str() {
        Some("number" | "integer") => json!(7),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    };
    Value::Object(properties.map(|(name, property)| (name.clone(), value(property))).collect::<Map<_, _>>())
}

struct NoProcess;

impl ProgramStarter for NoProcess {
    fn start<'a>(
        &'a self,
        _: &'a ServerName,
        _: &'a ServerProgram,
    ) -> BoxFuture<'a, Result<ServerProcess, String>> {
        Box::pin(std::future::ready(Err("this client starts no programs".to_owned())))
    }
}

#[derive(Default)]
struct Forgetful(Mutex<HashMap<String, ToolPins>>);

impl PinStore for Forgetful {
    fn load(&self, key: &str) -> Result<Option<ToolPins>> {
        Ok(self.0.lock().map(|known| known.get(key).cloned()).unwrap_or_default())
    }

    fn save(&self, key: &str, known: &ToolPins) -> Result<()> {
        if let Ok(mut all) = self.0.lock() {
            all.insert(key.to_owned(), known.clone());
        }
        Ok(())
    }
}

#[derive(Default)]
struct InMemory(Mutex<HashMap<String, TokenRecord>>);

impl TokenVault for InMemory {
    fn load(&self, key: &str) -> Result<Option<TokenRecord>> {
        Ok(self.0.lock().map(|records| records.get(key).cloned()).unwrap_or_default())
    }

    fn save(&self, key: &str, record: &TokenRecord) -> Result<()> {
        if let Ok(mut all) = self.0.lock() {
            all.insert(key.to_owned(), record.clone());
        }
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<bool> {
        Ok(self.0.lock().is_ok_and(|mut all| all.remove(key).is_some()))
    }

    fn lock<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>>> {
        Box::pin(std::future::ready(Ok(Box::new(()) as Box<dyn Send>)))
    }
}
