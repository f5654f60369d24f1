//! Tools of `posse demo`: a made-up service and its operation.

use std::sync::{Arc, Mutex, PoisonError};

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, Tool, ToolInput, ToolOutput};
use serde_json::{Map, Value, json};

/// A service whose configuration was changed for the worse.
struct DemoWorld {
    pool: Mutex<u32>,
}

struct WorldTool {
    world: Arc<DemoWorld>,
    spec: ToolSpec,
    answer: fn(&DemoWorld, &Value) -> Result<String>,
}

/// Makes the tools of one demonstration.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    let world = Arc::new(DemoWorld { pool: Mutex::new(20) });
    let tool = |name: &str, effect, arguments: &[&str], answer| -> Arc<dyn Tool> {
        let properties: Map<String, Value> =
            arguments.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let schema = json!({ "type": "object", "properties": properties });
        let spec = ToolSpec {
            name: name.to_owned(),
            description: format!("Part of the demonstration: {}", name.replace('_', " ")),
            input_schema: schema.to_string(),
            effect,
        };
        Arc::new(WorldTool { world: world.clone(), spec, answer })
    };
    vec![
        tool("search_logs", ToolEffect::Pure, &["query", "since"], search_logs),
        tool("query_metrics", ToolEffect::Pure, &["metric"], query_metrics),
        tool("run_staging_command", ToolEffect::Unsafe, &["command"], run_staging_command),
        tool("update_config", ToolEffect::Idempotent, &["environment", "key", "value"], update_config),
    ]
}

impl Tool for WorldTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = serde_json::from_str(input.arguments).unwrap_or_default();
            match (self.answer)(&self.world, &arguments) {
                Ok(text) => ToolOutput::text(text),
                Err(e) => ToolOutput::error(e.to_string()),
            }
        })
    }
}

impl DemoWorld {
    fn pool(&self) -> std::sync::MutexGuard<'_, u32> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests per second: with fewer connections than workers, requests queue.
    fn throughput(&self) -> u32 {
        if *self.pool() >= 200 { 1000 } else { 700 }
    }
}

const LOG: &[&str] = &[
    "Feb 18 09:12:03 deploy: config change by deploy-bot: pool.max_connections 200 -> 20",
    "Feb 18 09:14:41 api: connection pool exhausted, 61 requests waiting",
    "Feb 18 09:15:10 api: timeout after 1000 ms waiting for a connection from the connection pool",
    "Feb 18 11:40:22 api: connection pool exhausted, 74 requests waiting",
    "Feb 19 08:03:57 api: timeout after 1000 ms waiting for a connection from the connection pool",
];

fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

fn search_logs(_: &DemoWorld, arguments: &Value) -> Result<String> {
    let hits: Vec<&str> =
        LOG.iter().copied().filter(|line| line.contains(text(arguments, "query"))).collect();
    Ok(if hits.is_empty() { "no lines".to_owned() } else { hits.join("\n") })
}

fn query_metrics(world: &DemoWorld, arguments: &Value) -> Result<String> {
    Ok(match text(arguments, "metric") {
        "throughput" => {
            format!("throughput: 1000 requests/s until Feb 18 09:12, {} since", world.throughput())
        }
        "pool_wait_ms" => "pool_wait_ms: 2 until Feb 18 09:12, 840 since".to_owned(),
        "threads_blocked" => "threads_blocked: 0 until Feb 18 09:12, 180 of 200 since".to_owned(),
        "cpu" => "cpu: 71 % until Feb 18 09:12, 38 % since".to_owned(),
        other => return Err(Error::new(ErrorCode::InvalidRequest, localized!("demo-no-metric", other))),
    })
}

fn run_staging_command(world: &DemoWorld, arguments: &Value) -> Result<String> {
    Ok(match text(arguments, "command") {
        "show pool.max_connections" => format!("pool.max_connections = {}", *world.pool()),
        "restart service" => "service restarted in 3 s".to_owned(),
        "load test" => format!("load test: {} requests/s, 0 errors", world.throughput()),
        other => {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("demo-no-command", other)));
        }
    })
}

fn update_config(world: &DemoWorld, arguments: &Value) -> Result<String> {
    let value: u32 = text(arguments, "value")
        .parse()
        .map_err(|_| Error::new(ErrorCode::InvalidRequest, localized!("demo-not-number")))?;
    let before = std::mem::replace(&mut *world.pool(), value);
    Ok(format!("{}: {} {before} -> {value}", text(arguments, "environment"), text(arguments, "key")))
}
