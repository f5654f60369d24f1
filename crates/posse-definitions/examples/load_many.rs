//! Measures the time to load many agents, and to reload them after one of them changed.
//!
//!     cargo run --release -p posse-definitions --example load_many
//!
//! Writes 2,000 files of several formats, with prompts of realistic length, to a temporary directory. Fails
//! if loading takes more CPU time than a person would notice.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use posse_definitions::places::AgentPlaces;
use posse_definitions::registry::AgentRegistry;
use posse_definitions::trust::TrustPolicy;
use rustix::time::{ClockId, clock_gettime};

const FILES: usize = 2_000;
/// Odd, so that the median is one of the runs.
const RUNS: usize = 11;
/// Limit of CPU time on one core, with the files in the page cache.
const LOAD_MAX: Duration = Duration::from_millis(100);
/// Time after which a registry relies on file time stamps.
const SETTLING: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (project, home) = (directory.path().join("project"), directory.path().join("home"));
    for number in 0..FILES {
        write(&project, &home, number);
    }
    let user = rustix::process::geteuid().as_raw();
    let load = || {
        let places = AgentPlaces::find(&project, Some(&home), None, user);
        AgentRegistry::load(places, posse_definitions::read, TrustPolicy::All)
    };
    let ready = load().snapshot().agents().count();
    if ready < FILES {
        line(&format!("only {ready} of {FILES} agents can be used"));
        return ExitCode::FAILURE;
    }
    let loading = median(|| drop(load()));
    let registry = load();
    std::thread::sleep(SETTLING);
    registry.reload();
    let mut round = 0;
    let again = median(|| {
        round += 1;
        let text = format!("---\nname: agent-0\ndescription: Agent 0.\n---\nround {round}\n");
        std::fs::write(project.join(".posse/agents/agent-0.md"), text).expect("a temporary file");
        assert!(registry.reload().is_some(), "the change is noticed");
    });
    line(&format!("medians of {RUNS} runs, {FILES} files"));
    let verdict = if loading <= LOAD_MAX { "ok" } else { "FAILED" };
    let bound = LOAD_MAX.as_millis();
    line(&format!("{verdict:<8}{:6.1} ms (at most {bound:>3})  load every agent", milliseconds(loading)));
    line(&format!("{:<8}{:6.1} ms                one of them changed", "", milliseconds(again)));
    if loading <= LOAD_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes one agent. Three in four belong to the project; the formats are those with many files in practice.
fn write(project: &Path, home: &Path, number: usize) {
    let (name, prompt) = (format!("agent-{number}"), prompt(number));
    let markdown =
        |keys: &str| format!("---\nname: {name}\ndescription: Agent {number}.\n{keys}---\n\n{prompt}");
    let (base, directory, ending, text) = match number % 4 {
        0 => (project, ".posse/agents", "md", markdown("tools: Read, Grep\nmax_turns: 20\n")),
        1 => (project, ".claude/agents/team", "md", markdown("tools: Read, Bash(git *)\nmodel: sonnet\n")),
        2 => {
            let text = format!(
                "name = {name:?}\ndescription = \"Agent {number}.\"\ndeveloper_instructions = {prompt:?}\n"
            );
            (project, ".codex/agents", "toml", text)
        }
        _ => (home, ".gemini/agents", "md", markdown("tools:\n  - read_file\n  - grep\nmax_turns: 20\n")),
    };
    let directory = base.join(directory);
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    std::fs::write(directory.join(format!("{name}.{ending}")), text).expect("a temporary file");
}

fn prompt(number: usize) -> String {
    (0..40)
        .map(|line| format!("Line {line} of agent {number}: look first, then say what you found.\n"))
        .collect()
}

fn median(mut measure: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let started = spent();
            measure();
            spent().saturating_sub(started)
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

/// Returns this thread's CPU time, which excludes other programs.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::print_stdout, reason = "this is a program whose output is its purpose")]
fn line(text: &str) {
    println!("{text}");
}
