//! A host: it starts the server, writes lines and reads lines. Everything that comes from standard output has to be a message.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, until};

/// A place with two agents: one answers at once, the other when the file `gate` is there.
pub fn place() -> Place {
    let place = Place::new();
    place.write("workspace/notes.txt", "");
    let manifest = r#"{"name": "wait_gate", "description": "Waits for the gate", "command": ["./run.sh"],
        "input_schema": {"type": "object", "properties": {}}, "effect": "pure", "timeout_ms": 300000}"#;
    place.write("home/.config/posse/tools/wait_gate/tool.json", manifest);
    let program = place.write(
        "home/.config/posse/tools/wait_gate/run.sh",
        "#!/bin/sh\nuntil [ -e gate ]; do sleep 0.05; done\necho open\n",
    );
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script =
        "quick:\n- text: A quick answer.\npatient:\n- calls: [wait_gate: {}]\n- text: The gate is open.\n";
    let model = place.script(script);
    for name in ["quick", "patient"] {
        let text = format!(
            "---\nname: {name}\ndescription: The {name} one\nmodel: {model}#{name}\n---\nYou are {name}.\n"
        );
        place.write(&format!("home/.config/posse/agents/{name}.md"), &text);
    }
    place.write("home/.config/posse/config.toml", &format!("model = \"{model}#quick\"\n"));
    place
}

/// What a request of the newest protocol carries.
pub fn discover_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub struct Host {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Came while something else was waited for.
    kept: VecDeque<Value>,
    next: u64,
}

impl Host {
    pub fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_with(place, args, &[])
    }

    pub fn start_with(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = place.posse(["mcp"].iter().chain(args).copied());
        command.envs(environment.iter().copied());
        // A group of its own, as hosts do it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let value: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|e| panic!("standard output carries only messages: {line} ({e})"));
                assert_eq!(value["jsonrpc"], "2.0", "{line}");
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, kept: VecDeque::new(), next: 0 }
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    pub fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let told = self.ask(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client }),
        );
        self.notify("notifications/initialized", json!({}));
        told
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        stdin.write_all(bytes).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(request.to_string().as_bytes());
        self.next
    }

    /// Sends the last request again, with the id that it had.
    pub fn send_again(&mut self, method: &str, params: Value) -> u64 {
        self.next -= 1;
        self.send(method, params)
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, id: &Value, result: Value) {
        self.write(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string().as_bytes());
    }

    pub fn until(&mut self, test: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&test) {
            return self.kept.remove(at).unwrap();
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(message) if test(&message) => return message,
                Ok(message) => self.kept.push_back(message),
                Err(e) => panic!("the message never came ({e}): {:#?}", self.kept),
            }
        }
    }

    /// The whole answer, an error too.
    pub fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// What a call that succeeds says; in both forms the same.
    pub fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }

    /// What a call that is refused says.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// Spawns a task and waits for its end.
    pub fn finished_task(&mut self, agent: &str) -> String {
        let spawned = self.tool("subagent", json!({ "action": "spawn", "agent": agent, "task": "Answer" }));
        let id = spawned["task_id"].as_str().unwrap().to_owned();
        self.tool("subagent", json!({ "action": "status", "task_id": id, "wait_ms": 45_000 }));
        id
    }

    /// Asks for the list until its first task is like this.
    pub fn until_task(&mut self, status: &str) -> Value {
        until(status, || {
            let listed = self.tool("subagent_list", json!({ "what": "tasks" }));
            (listed["tasks"][0]["status"] == status).then_some(listed)
        })
    }

    /// Reads for so long, kills the server, and returns what it had written until then.
    pub fn killed_after(mut self, wait: Duration) -> Vec<Value> {
        let deadline = Instant::now() + wait;
        let mut came: Vec<Value> = self.kept.drain(..).collect();
        while let Ok(message) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            came.push(message);
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        came.extend(self.lines.iter());
        came
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is not waited for yet, so the id is still its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    pub fn ends(&mut self) -> ExitStatus {
        until("the server ends", || self.child.try_wait().unwrap())
    }

    /// Closes the input and sees that it ends well.
    pub fn leave(mut self) {
        self.close_input();
        assert!(self.ends().success());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
