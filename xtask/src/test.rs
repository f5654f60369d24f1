//! `cargo xtask test`: the whole truth about a checkout. Every stage runs, also after one failed, so that one run
//! shows everything there is to mend.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::command::{cargo, root, run, succeeds, succeeds_within, within};

/// Fetching the list of known vulnerabilities takes seconds; without a network some systems wait for minutes.
const FETCH_MAX: Duration = Duration::from_secs(120);

enum Verdict {
    Passed,
    /// Not checked, and why.
    Skipped(&'static str),
}

type Stage = (&'static str, fn() -> Result<Verdict>);

const STAGES: &[Stage] = &[
    ("tools", tools),
    ("name spaces", name_spaces),
    ("screens", screens),
    ("programs of npm", node_programs),
    ("packages of python", python_packages),
    ("format", || passes(&["fmt", "--all", "--check"])),
    ("lints", || passes(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])),
    ("tests", || passes(&["nextest", "run", "--workspace", "--locked"])),
    ("dashboard", dashboard),
    ("fuzzing", fuzzing),
    ("documentation", documentation),
    ("documentation tests", documentation_tests),
    ("packages", packages),
    ("licences, bans, sources", licences),
    ("advisories", advisories),
];

fn run_stage((name, stage): &Stage) -> (bool, String) {
    eprintln!("\n== {name}");
    let started = Instant::now();
    let verdict = stage();
    let seconds = started.elapsed().as_secs_f64();
    match verdict {
        Ok(Verdict::Passed) => (true, format!("ok       {seconds:7.1} s  {name}")),
        Ok(Verdict::Skipped(why)) => (true, format!("SKIPPED  {seconds:7.1} s  {name}: {why}")),
        Err(e) => (false, format!("FAILED   {seconds:7.1} s  {name}: {e:#}")),
    }
}

pub fn run_all() -> ExitCode {
    let results: Vec<(bool, String)> = STAGES.iter().map(run_stage).collect();
    eprintln!();
    for (_, line) in &results {
        eprintln!("{line}");
    }
    if results.iter().all(|(good, _)| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(arguments: &[&str]) -> Result<Verdict> {
    run(arguments)?;
    Ok(Verdict::Passed)
}

/// What the stages after it cannot do without. A minimal toolchain has neither rustfmt nor clippy.
fn tools() -> Result<Verdict> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&[subcommand, "--version"]) {
            add_component(component)?;
        }
    }
    if !succeeds(&["nextest", "--version"]) {
        run(&["install", "cargo-nextest", "--locked"])?;
    }
    Ok(Verdict::Passed)
}

/// Without `bwrap` the tests of the sandbox leave its second tier out, so that has to be seen.
fn name_spaces() -> Result<Verdict> {
    let why = "there is no `bwrap`: the second tier of the sandbox is not tested";
    Ok(if has_program("bwrap", "--version", "bubblewrap") { Verdict::Passed } else { Verdict::Skipped(why) })
}

/// Without `tmux` the tests of whole screens leave themselves out, so that has to be seen.
fn screens() -> Result<Verdict> {
    let why = "there is no `tmux`: whole screens are not tested";
    Ok(if has_program("tmux", "-V", "tmux") { Verdict::Passed } else { Verdict::Skipped(why) })
}

/// Tells whether a program is there, after its package was installed if need be.
fn has_program(name: &str, version: &str, package: &str) -> bool {
    let is_there = || Command::new(name).arg(version).output().is_ok_and(|done| done.status.success());
    if !is_there() {
        for arguments in [&["update", "--quiet"][..], &["install", "--yes", "--quiet", package]] {
            let _ = Command::new("apt-get").args(arguments).status();
        }
    }
    is_there()
}

/// The conformance suite and the inspector of the Model Context Protocol, hosts that speak it, and the validator for SARIF that
/// GitHub points to. The second entry is a program that is
/// there when the package is.
const NODE_PROGRAMS: &[(&str, &str)] = &[
    ("node@22", "node"),
    ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "conformance"),
    ("@modelcontextprotocol/inspector@2.12.0", "mcp-inspector"),
    ("opencode-ai@1.18.33", "opencode"),
    ("@github/copilot@1.0.102", "copilot"),
    ("@microsoft/sarif-multitool@5.7.0", "sarif-multitool"),
];
/// Half a gigabyte, once.
const INSTALL_MAX: Duration = Duration::from_secs(900);

/// Without them the tests that need them say so and leave it out, so that has to be seen.
fn node_programs() -> Result<Verdict> {
    let place = root().join("target/npm");
    let is_there = |name: &str| place.join("node_modules/.bin").join(name).exists();
    if !NODE_PROGRAMS.iter().all(|(_, name)| is_there(name)) {
        fs::create_dir_all(&place).with_context(|| format!("making {}", place.display()))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-progress", "--prefix", "."]);
        npm.args(NODE_PROGRAMS.iter().map(|(package, _)| *package)).current_dir(&place);
        let _ = within(&mut npm, INSTALL_MAX);
    }
    let why = "npm cannot be reached: neither the conformance suite nor real hosts nor the validator for SARIF are tested";
    let all = NODE_PROGRAMS.iter().all(|(_, name)| is_there(name));
    Ok(if all { Verdict::Passed } else { Verdict::Skipped(why) })
}

/// Without pytest the test that builds one of its projects in the sandbox is left out, so that has to be seen.
fn python_packages() -> Result<Verdict> {
    let place = root().join("target/wheels");
    let is_wheel = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("pytest-");
    let is_there = || fs::read_dir(&place).into_iter().flatten().flatten().any(is_wheel);
    if !is_there() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "pytest", "--dest"]).arg(&place);
        let _ = within(&mut pip, FETCH_MAX);
    }
    let why = "pip cannot be reached: no project of pytest is tested in the sandbox";
    Ok(if is_there() { Verdict::Passed } else { Verdict::Skipped(why) })
}

fn add_component(component: &str) -> Result<()> {
    let status = Command::new("rustup")
        .args(["component", "add", component])
        .status()
        .with_context(|| format!("{component} is missing and rustup, which would install it, too"))?;
    anyhow::ensure!(status.success(), "`rustup component add {component}` failed ({status})");
    Ok(())
}

/// Types and pages of the dashboard. Without Chromium the pages are left out, so that has to be seen.
fn dashboard() -> Result<Verdict> {
    if !crate::dashboard::install()? {
        return Ok(Verdict::Skipped("npm cannot be reached: the dashboard is not tested"));
    }
    crate::dashboard::check_types()?;
    if !has_program("chromium", "--version", "chromium") {
        return Ok(Verdict::Skipped("there is no `chromium`: the pages of the dashboard are not tested"));
    }
    crate::dashboard::run_tests(&[])?;
    Ok(Verdict::Passed)
}

/// Long enough to find what is broken; what is subtle takes `cargo xtask fuzz`.
fn fuzzing() -> Result<Verdict> {
    crate::fuzz::fuzz(&["--seconds", "5"])?;
    Ok(Verdict::Passed)
}

/// Builds the pages of every member; a broken link fails.
fn documentation() -> Result<Verdict> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    let status = doc.env("RUSTDOCFLAGS", "-D warnings").status().context("cargo cannot be started")?;
    anyhow::ensure!(status.success(), "`cargo doc` failed ({status})");
    Ok(Verdict::Passed)
}

/// Packs every member that is published. `cargo package` without `--no-verify` builds them too, which takes minutes.
fn packages() -> Result<Verdict> {
    let members = ["package", "--workspace", "--exclude", "xtask", "--exclude", "posse-testkit"];
    passes(&[&members[..], &["--no-verify", "--allow-dirty", "--locked", "--quiet"]].concat())
}

fn documentation_tests() -> Result<Verdict> {
    if !has_documentation_tests(&root().join("crates"))? {
        return Ok(Verdict::Skipped("there are none"));
    }
    passes(&["test", "--workspace", "--doc", "--locked"])
}

/// A code block in a documentation comment of any source file.
fn has_documentation_tests(directory: &Path) -> Result<bool> {
    let entries = fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if has_documentation_tests(&path)? {
                return Ok(true);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let opens_block = |line: &str| {
                let line = line.trim_start();
                let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
                text.is_some_and(|text| text.trim_start().starts_with("```"))
            };
            if fs::read_to_string(&path)?.lines().any(opens_block) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn licences() -> Result<Verdict> {
    if !has_deny() {
        return Ok(Verdict::Skipped("cargo-deny is not installed and cannot be installed here"));
    }
    passes(&["deny", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"])
}

fn advisories() -> Result<Verdict> {
    if !succeeds(&["deny", "--version"]) {
        return Ok(Verdict::Skipped("cargo-deny is not installed and cannot be installed here"));
    }
    if !succeeds_within(&["deny", "fetch", "db"], FETCH_MAX) {
        return Ok(Verdict::Skipped("the database of advisories cannot be fetched from here"));
    }
    passes(&["deny", "check", "advisories"])
}

fn has_deny() -> bool {
    let deny = ["deny", "--version"];
    // A machine that cannot build it still runs everything else; the summary says what was skipped.
    succeeds(&deny) || (run(&["install", "cargo-deny", "--locked"]).is_ok() && succeeds(&deny))
}
