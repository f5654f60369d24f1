//! `posse mcp doctor`: the server as a host starts it. Most hosts give it little more than a home and a path to programs.

use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::args::{GlobalArgs, RunOptions};
use crate::commands::worker::joined;
use crate::models::{NONE, process_env};
use crate::setup::Setup;
use crate::terminal;

/// What the strictest host passes on.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
const PATIENCE: Duration = Duration::from_secs(20);

/// The environment of a server that the strictest host starts.
pub fn passed_on(name: &str) -> Option<String> {
    process_env(name).filter(|_| PASSED_ON.contains(&name))
}

pub async fn run(global: &GlobalArgs) -> Result<ExitCode> {
    let mut server = ServerProbe::start(global)?;
    let client = json!({ "name": "posse-doctor", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    server.ask("initialize", hello).await?;
    server.write(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
    let tools = server.ask("tools/list", json!({})).await?;
    let names = names(&tools["tools"]);
    let tokens = tools["tools"].to_string().len() / 4;
    terminal::out(&say!("mcp-doctor-tools", names = names.join(", "), tokens));
    let call = json!({ "name": "subagent_list", "arguments": { "what": "agents" } });
    let listed = server.ask("tools/call", call).await?["structuredContent"].take();
    let all = listed["agents"].as_array().cloned().unwrap_or_default();
    let usable = all.into_iter().filter(|agent| agent["model"] != NONE).collect::<Vec<_>>();
    let agents = self::names(&json!(usable));
    if agents.is_empty() {
        let why = listed["diagnostics"][0]["message"]
            .as_str()
            .or(listed["message"].as_str())
            .map_or_else(|| say!("no-model"), str::to_owned);
        return Err(Error::new(ErrorCode::ModelNotConfigured, say!("mcp-doctor-no-agents", why))
            .hint(say!("mcp-doctor-no-agents-hint")));
    }
    terminal::out(&say!("mcp-doctor-agents", names = agents.join(", ")));
    tell_rights(global)
}

/// What tasks may do if the host adds no flags.
fn tell_rights(global: &GlobalArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let found = setup.tools()?;
    let grant = setup.grant_to_hosts(&RunOptions::default(), &[], &found)?;
    let specs = found.tools.iter().map(|tool| tool.spec());
    let given = specs.filter(|spec| grant.offers(&spec.name, spec.effect)).map(|spec| spec.name.as_str());
    terminal::out(&say!("mcp-doctor-rights", names = given.collect::<Vec<_>>().join(", ")));
    terminal::out(&match grant.can_write() {
        true => {
            let paths = grant.write_paths().last().map_or_else(|| "**".to_owned(), |paths| paths.join(", "));
            say!("mcp-doctor-writes", paths)
        }
        false => super::install::writes_nothing(),
    });
    Ok(ExitCode::SUCCESS)
}

fn names(list: &Value) -> Vec<String> {
    let name = |one: &Value| one["name"].as_str().map(str::to_owned);
    list.as_array().map(|list| list.iter().filter_map(name).collect()).unwrap_or_default()
}

struct ServerProbe {
    _child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl ServerProbe {
    fn start(global: &GlobalArgs) -> Result<Self> {
        let failed = |e| not_started().caused_by(e);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        for (flag, path) in [("--state", &global.state), ("--config", &global.config)] {
            if let Some(path) = path {
                command.arg(joined(flag, path));
            }
        }
        // All tools would be too many for a look; a room of its own leaves the tasks of hosts alone.
        command.args([
            "mcp",
            "--tools",
            "subagent,subagent_list,subagent_wait,subagent_result,shared_context",
        ]);
        command.args(["--room", "doctor"]).env_clear();
        command.envs(PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
        if let Some(state) = std::env::var_os("POSSE_STATE") {
            command.env("POSSE_STATE", state);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(not_started());
        };
        Ok(Self { _child: child, stdin, lines: BufReader::new(stdout).lines(), asked: 0 })
    }

    async fn write(&mut self, message: Value) -> Result<()> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(|e| not_started().caused_by(e))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let began = Instant::now();
        self.asked += 1;
        self.write(json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params })).await?;
        let answered = tokio::time::timeout(PATIENCE, self.answer()).await;
        let seconds = PATIENCE.as_secs();
        let answer = answered
            .map_err(|_| Error::new(ErrorCode::Internal, say!("mcp-doctor-silent", method, seconds)))?
            .ok_or_else(not_started)?;
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        terminal::out(&say!("mcp-doctor-answers", method, millis));
        Ok(answer)
    }

    /// `None` if it is gone.
    async fn answer(&mut self) -> Option<Value> {
        loop {
            let line = self.lines.next_line().await.ok()??;
            let mut value: Value = serde_json::from_str(&line).ok()?;
            if value["id"] == self.asked {
                return Some(value["result"].take());
            }
        }
    }
}

fn not_started() -> Error {
    Error::new(ErrorCode::Io, say!("mcp-doctor-not-started")).hint("`posse mcp < /dev/null`")
}
