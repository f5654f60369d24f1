use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The fixture server, for as long as a test needs it.
struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    fn start() -> Self {
        let tests = std::env::current_exe().unwrap();
        let program = tests.ancestors().nth(2).unwrap().join("examples/fixture");
        let mut child = Command::new(program).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().trim_start_matches("listening on ").to_owned();
        Self { child, url }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `cargo xtask test` puts programs of npm; `None` if it could not.
fn programs() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/node_modules/.bin");
    let found = root.join("conformance").exists().then_some(root);
    if found.is_none() {
        eprintln!("NOT TESTED: the conformance suite is not installed; `cargo xtask test` installs it");
    }
    found
}

/// Every scenario of a revision of the protocol that concerns servers, also those that are not scored yet.
fn conforms(revision: &str, scenarios_min: usize) {
    let Some(programs) = programs() else { return };
    let fixture = Fixture::start();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let ran = Command::new(programs.join("conformance"))
        .args(["server", "--url", &fixture.url, "--requirements", revision])
        .env("PATH", path)
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let summary: Vec<&str> = said.lines().skip_while(|line| !line.contains("SUMMARY")).collect();
    let failed: Vec<&&str> = summary.iter().filter(|line| line.starts_with('✗')).collect();
    let passed = summary.iter().filter(|line| line.starts_with('✓')).count();
    assert!(failed.is_empty() && passed >= scenarios_min, "{failed:#?} {passed} passed\n{said}");
}

#[test]
fn every_scenario_of_2025_11_25_passes() {
    conforms("2025-11-25", 33);
}

#[test]
fn every_scenario_of_2026_07_28_and_of_the_tasks_extension_passes() {
    conforms("2026-07-28", 50);
}

/// What is expected of every client that uses tools. docs/mcp.md says why the others do not apply.
#[test]
fn our_client_passes_the_scenarios_for_clients_that_use_tools() {
    let Some(programs) = programs() else { return };
    let tests = std::env::current_exe().unwrap();
    let client = tests.ancestors().nth(2).unwrap().join("examples/conformance_client");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    for scenario in ["initialize", "tools_call", "sse-retry"] {
        let ran = Command::new(programs.join("conformance"))
            .args(["client", "--command", client.to_str().unwrap(), "--scenario", scenario])
            .env("PATH", &path)
            .current_dir(std::env::temp_dir())
            .output()
            .unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        assert!(ran.status.success(), "{scenario}: {}", String::from_utf8_lossy(&said));
    }
}
