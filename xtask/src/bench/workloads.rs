//! Whole workloads of `posse` as a library, with its journal on disk, against the wire floor: the same requests from a client
//! that serializes them before it connects and parses no reply.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};

use super::{BoundCheck, ScratchDirectory, median, release_program};

/// Odd, so that the median is one of the runs.
const RUNS: usize = 3;

/// Connections of 1,000 subagents, and room for files.
const OPEN_FILES: u64 = 4096;

/// Conversations that the scripted model plays.
struct Workload {
    title: &'static str,
    /// Subagents below an orchestrator; 0 for one agent alone.
    subagents: usize,
    turns: usize,
    tool_bytes: usize,
    latency_ms: usize,
}

const W1: Workload = Workload {
    title: "W1: 50 subagents, 5 turns each, no latency",
    subagents: 50,
    turns: 5,
    tool_bytes: 64,
    latency_ms: 0,
};
const W2: Workload = Workload {
    title: "W2: 1,000 subagents, 5 turns each, 200 ms per reply",
    subagents: 1000,
    latency_ms: 200,
    ..W1
};
const W4: Workload = Workload {
    title: "W4: one agent, 200 turns, tool results of 4 KB",
    subagents: 0,
    turns: 200,
    tool_bytes: 4096,
    latency_ms: 0,
};

pub(super) fn measure() -> Result<Vec<BoundCheck>> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES.min(most), most)?;
    let (w1, w2, w4) = (W1.compare()?, W2.compare()?, W4.compare()?);
    // The orchestrator's two replies, and those of the subagents in between.
    let ideal_seconds = ((W2.turns + 2) * W2.latency_ms) as f64 / 1e3;
    let check = |what, value, bound| BoundCheck { what, value, bound, unit: "x" };
    Ok(vec![
        check("W1: CPU time, against the wire floor", w1.posse.cpu / w1.floor.cpu, 5.0),
        check("W2: time, against its seven replies in sequence", w2.posse.wall / ideal_seconds, 1.25),
        check("W4: CPU time, against the wire floor", w4.posse.cpu / w4.floor.cpu, 3.5),
    ])
}

/// Seconds of CPU time (user and system), and from the first request to the last reply.
struct WorkloadCost {
    cpu: f64,
    wall: f64,
}

struct Comparison {
    floor: WorkloadCost,
    posse: WorkloadCost,
}

impl Workload {
    /// Runs floor and Posse in turn, after one run of Posse that makes the store.
    fn compare(&self) -> Result<Comparison> {
        let state = ScratchDirectory::create("state")?;
        let floor = || self.run(Command::new(release_program("examples/wire")?).arg("floor"));
        let posse =
            || self.run(Command::new(release_program("examples/bench")?).arg("--state").arg(&state.0));
        posse()?;
        let (mut floors, mut posses) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            floors.push(floor()?);
            posses.push(posse()?);
        }
        let comparison = Comparison { floor: medians(&floors), posse: medians(&posses) };
        let ms = |seconds: f64| seconds * 1e3;
        let Comparison { floor, posse } = &comparison;
        eprintln!("\n{}, medians of {RUNS} runs", self.title);
        eprintln!("{:<8}{:9.1} ms CPU{:9.1} ms", "floor", ms(floor.cpu), ms(floor.wall));
        eprintln!("{:<8}{:9.1} ms CPU{:9.1} ms", "posse", ms(posse.cpu), ms(posse.wall));
        Ok(comparison)
    }

    fn run(&self, program: &mut Command) -> Result<WorkloadCost> {
        let Self { subagents, turns, tool_bytes, latency_ms, .. } = self;
        let mut model = MockModel::start(&release_program("examples/wire")?, *latency_ms)?;
        let mode = if *subagents > 0 { "fanout" } else { "single" };
        program.args(["--base-url", &model.url, "--mode", mode]);
        for (flag, value) in [("--n", subagents), ("--turns", turns), ("--tool-bytes", tool_bytes)] {
            program.args([flag, &value.to_string()]);
        }
        let before = cpu_seconds_of_children()?;
        let output = program.stdin(Stdio::null()).output().context("the program cannot be started")?;
        let cpu = cpu_seconds_of_children()? - before;
        ensure!(output.status.success(), "failed: {}", String::from_utf8_lossy(&output.stderr));
        let report = model.end()?;
        let (requests, results) = match *subagents {
            0 => (*turns, turns - 1),
            n => (2 + n * turns, n + n * (turns - 1)),
        };
        ensure!(report.requests == requests, "{} requests instead of {requests}", report.requests);
        ensure!(report.verified == results, "{} good results instead of {results}", report.verified);
        Ok(WorkloadCost { cpu, wall: report.micros as f64 / 1e6 })
    }
}

fn medians(runs: &[WorkloadCost]) -> WorkloadCost {
    let of = |figure: fn(&WorkloadCost) -> f64| median(runs.iter().map(figure).collect());
    WorkloadCost { cpu: of(|run| run.cpu), wall: of(|run| run.wall) }
}

/// User and system time of the children that have ended.
fn cpu_seconds_of_children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The scripted model as a process of its own.
struct MockModel {
    process: Child,
    url: String,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// Counts that the scripted model prints when it ends.
struct MockReport {
    requests: usize,
    verified: usize,
    micros: usize,
}

impl MockModel {
    fn start(program: &Path, latency_ms: usize) -> Result<Self> {
        let mut process = Command::new(program)
            .args(["mock", "--latency-ms", &latency_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let stdin = process.stdin.take();
        let mut stdout = BufReader::new(process.stdout.take().context("the output is piped")?);
        let mut url = String::new();
        stdout.read_line(&mut url)?;
        Ok(Self { process, url: url.trim().to_owned(), stdin, stdout })
    }

    fn end(&mut self) -> Result<MockReport> {
        self.stdin = None;
        let mut report = String::new();
        self.stdout.read_line(&mut report)?;
        let words: Vec<&str> = report.split_whitespace().collect();
        match words[..] {
            ["requests", requests, "verified", verified, "micros", micros] => Ok(MockReport {
                requests: requests.parse()?,
                verified: verified.parse()?,
                micros: micros.parse()?,
            }),
            _ => anyhow::bail!("the scripted model reported `{}`", report.trim()),
        }
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        // It ends with its input; it is killed only if a run failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
