//! `posse mcp doctor`: starts the server as a host would, with little more than `HOME` and `PATH`.

use std::process::ExitCode;

use posse_core::{Error, ErrorCode, Result};
use posse_mcp::hosts::probe::{PASSED_ON, ProbeAnswer, ServerProbe, not_started};
use posse_messages::say;
use posse_models::providers::NO_MODEL;
use serde_json::{Value, json};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::args::{GlobalArgs, RunOptions};
use crate::commands::worker::joined;
use crate::setup::Setup;
use crate::setup::process_env;
use crate::terminal;

/// Reads a variable as a server started by the strictest host would see it.
pub fn passed_on(name: &str) -> Option<String> {
    process_env(name).filter(|_| PASSED_ON.contains(&name))
}

pub async fn run(global: &GlobalArgs) -> Result<ExitCode> {
    let mut server = HostedServer::start(global)?;
    told("initialize", server.probe.initialize(env!("CARGO_PKG_VERSION")).await?);
    let tools = server.ask("tools/list", json!({})).await?;
    let names = names(&tools["tools"]);
    let tokens = tools["tools"].to_string().len() / 4;
    terminal::out(&say!("mcp-doctor-tools", names = names.join(", "), tokens));
    let call = json!({ "name": "subagent_list", "arguments": { "what": "agents" } });
    let listed = server.ask("tools/call", call).await?["structuredContent"].take();
    let all = listed["agents"].as_array().cloned().unwrap_or_default();
    let usable = all.into_iter().filter(|agent| agent["model"] != NO_MODEL).collect::<Vec<_>>();
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

/// Prints what tasks may do if the host adds no flags.
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

/// The server as the strictest host starts it. It ends with this value.
struct HostedServer {
    _child: Child,
    probe: ServerProbe<ChildStdout, ChildStdin>,
}

impl HostedServer {
    fn start(global: &GlobalArgs) -> Result<Self> {
        let failed = |e| not_started().caused_by(e);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        for (flag, path) in [("--state", &global.state), ("--config", &global.config)] {
            if let Some(path) = path {
                command.arg(joined(flag, path));
            }
        }
        // Offers a few tools only, in a room of its own, so that the tasks of hosts stay untouched.
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
        let (_child, probe) = ServerProbe::start(command)?;
        Ok(Self { _child, probe })
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let answer = self.probe.ask(method, params).await?;
        Ok(told(method, answer))
    }
}

/// Says how long an answer took, and returns it.
fn told(method: &str, answer: ProbeAnswer) -> Value {
    let millis = u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX);
    terminal::out(&say!("mcp-doctor-answers", method, millis));
    answer.result
}
