//! `cargo xtask watchers`: many event streams beside many running tasks, and lists of a large store, on a real server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::command::{root, run};

/// Time for the server to listen.
const START_MAX: Duration = Duration::from_secs(30);
/// Resident memory of a server that nobody uses.
const IDLE_KB_MAX: u64 = 30_000;

/// A server that ends with this value.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn watchers(options: &[&str]) -> Result<()> {
    let number = |name: &str, usual: u32| -> Result<u32> {
        match options.iter().position(|option| *option == name) {
            Some(at) => options.get(at + 1).context("a number is missing")?.parse().context("no number"),
            None => Ok(usual),
        }
    };
    let (watchers, tasks) = (number("--watchers", 500)?, number("--tasks", 1_000)?);
    let (listed, notes) = (number("--listed", 100_000)?, number("--events", 20)?);
    run(&["build", "--release", "--locked", "-p", "posse-cli"])?;
    run(&["build", "--release", "--locked", "-p", "posse-http", "--example", "load"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let (posse, load) = (target.join("release/posse"), target.join("release/examples/load"));
    let state = target.join("watchers");
    let _ = fs::remove_dir_all(&state);
    fs::create_dir_all(&state)?;
    let server = serve(&posse, &state)?;
    let idle = resident_kb(server.process.id())?;
    eprintln!("idle_rss_kb={idle} bound_kb={IDLE_KB_MAX}");
    let target = format!("{}:{}", state.display(), server.port);
    let arguments = |words: &[u32]| words.iter().map(u32::to_string).collect::<Vec<_>>();
    load_with(&load, "watchers", &target, &arguments(&[watchers, tasks, notes]))?;
    eprintln!("rss_after_watchers_kb={}", resident_kb(server.process.id())?);
    load_with(&load, "list", &target, &arguments(&[listed, 500]))?;
    drop(server);
    fs::remove_dir_all(&state)?;
    if idle > IDLE_KB_MAX {
        bail!("an idle server takes {idle} kB, more than {IDLE_KB_MAX}");
    }
    Ok(())
}

fn serve(posse: &Path, state: &Path) -> Result<Server> {
    // Free now; the server reports it if another program takes it meanwhile.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(posse);
    command.args(["serve", "--no-link", "--listen", &format!("127.0.0.1:{port}")]);
    command.env("POSSE_STATE", state).env("HOME", state).current_dir(state);
    let process =
        command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().context("posse cannot be started")?;
    let (server, began) = (Server { process, port }, Instant::now());
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if began.elapsed() > START_MAX {
            bail!("the server does not listen");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(server)
}

fn load_with(load: &Path, part: &str, target: &str, numbers: &[String]) -> Result<()> {
    let status =
        Command::new(load).args([part, target]).args(numbers).status().context("load cannot be started")?;
    if !status.success() {
        bail!("`load {part}` failed ({status})");
    }
    Ok(())
}

fn resident_kb(process: u32) -> Result<u64> {
    let told = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
