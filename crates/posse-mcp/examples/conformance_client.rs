//! A client for the conformance suite of the protocol: it uses the server whose address is its last argument as agents would, and calls
//! what the suite names, or else every tool that the server offers. `cargo xtask test` runs it.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::Result;
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::tool::ToolSpec;
use posse_mcp::client::{
    Annotations, Endpoint, Known, Memory, Process, Program, Remote, Server, ServerConfig, ServerName, Starter,
};
use posse_runtime::ports::{BoxFuture, Tool, ToolContext, ToolInput};
use serde_json::{Map, Value, json};

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
    let endpoint = Endpoint::Http(Remote {
        url: url.parse().map_err(|_| format!("`{url}` is no address"))?,
        headers: Vec::new(),
        bearer: None,
    });
    let name = ServerName::parse("conformance").map_err(|e| e.to_string())?;
    let (startup, call) = (Duration::from_secs(20), Duration::from_secs(20));
    let config = ServerConfig {
        name,
        endpoint,
        origin: String::new(),
        startup,
        call,
        annotations: Annotations::Ignored,
    };
    let server = Server::new(config, Arc::new(NoProcess), Arc::new(Forgetful::default()));
    server.meet().await.map_err(|e| e.to_string())?;
    let tools = server.tools().map_err(|e| e.to_string())?;
    for (tool, arguments) in calls(&tools)? {
        let context = ToolContext {
            task: TaskId::root("conformance"),
            grant: Arc::new(Grant::root([], 0)),
            cancel: Default::default(),
            time_left: call,
            output_bytes_max: 10_000,
            nesting: None,
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
    server.close().await;
    Ok(())
}

/// A tool and what it is called with.
type Call<'a> = (&'a Arc<dyn Tool>, Value);

/// What the suite wants to be called in this scenario.
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
        // Its server answers no calls: the list is what counts.
        "json-schema-ref-no-deref" => Ok(Vec::new()),
        // A schema as the model sees it goes back to the server.
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

/// Something of each type that the schema asks for.
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

impl Starter for NoProcess {
    fn start<'a>(&'a self, _: &'a ServerName, _: &'a Program) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(std::future::ready(Err("this client starts no programs".to_owned())))
    }
}

#[derive(Default)]
struct Forgetful(Mutex<HashMap<String, Known>>);

impl Memory for Forgetful {
    fn load(&self, key: &str) -> Result<Option<Known>> {
        Ok(self.0.lock().map(|known| known.get(key).cloned()).unwrap_or_default())
    }

    fn save(&self, key: &str, known: &Known) -> Result<()> {
        if let Ok(mut all) = self.0.lock() {
            all.insert(key.to_owned(), known.clone());
        }
        Ok(())
    }
}
