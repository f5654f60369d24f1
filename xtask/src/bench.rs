//! `cargo xtask bench`: what Posse itself costs, with bounds that fail the command, and what its own parts save beside plain
//! ones. Needs nothing but this repository: models are scripted servers on the loopback. All programs are of the release
//! profile.

mod start;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command::run;

type PartCheck = fn() -> Result<Vec<BoundCheck>>;

/// Parts that check bounds.
const CHECKS: &[(&str, PartCheck)] = &[("start", start::measure), ("workloads", workloads::measure)];

/// Parts that print what they measured: name, package and example.
const PRINTED: &[(&str, &str, &str)] = &[
    ("commit", "posse-store", "append_rate"),
    ("pool", "posse-net", "pool_cost"),
    ("bodies", "posse-models", "body_growth"),
    ("agents", "posse-definitions", "load_many"),
    ("sandbox", "posse-tools", "sandbox_cost"),
];

/// Measures the named parts, or all of them; fails if a figure is above its bound.
pub fn bench(parts: &[&str]) -> Result<()> {
    let known = || CHECKS.iter().map(|(name, _)| *name).chain(PRINTED.iter().map(|(name, ..)| *name));
    if let Some(unknown) = parts.iter().find(|part| !known().any(|name| name == **part)) {
        bail!("`bench` has no part `{unknown}`; there are: {}", known().collect::<Vec<_>>().join(", "));
    }
    let is_wanted = |name: &str| parts.is_empty() || parts.contains(&name);
    build()?;
    for (_, _, example) in PRINTED.iter().filter(|(name, ..)| is_wanted(name)) {
        eprintln!("\n{example}");
        let status = Command::new(release_program("examples")?.join(example)).status();
        ensure!(status.context("an example cannot be started")?.success(), "`{example}` failed");
    }
    let mut checks = Vec::new();
    for (_, measure) in CHECKS.iter().filter(|(name, _)| is_wanted(name)) {
        checks.extend(measure()?);
    }
    for check in &checks {
        let BoundCheck { what, value, bound, unit } = check;
        let verdict = if check.holds() { "ok" } else { "FAILED" };
        eprintln!("{verdict:<8}{value:7.2} {unit} (at most {bound:5.2})  {what}");
    }
    ensure!(checks.iter().all(BoundCheck::holds), "a figure is above its bound");
    Ok(())
}

/// Builds all measured programs in one command, so that every dependency is built once, with one set of features.
fn build() -> Result<()> {
    let mut arguments = vec!["build", "--release", "--locked", "--package", "posse-cli", "--bin", "posse"];
    let programs = [("posse", "bench"), ("posse-testkit", "wire")];
    for (package, example) in
        programs.into_iter().chain(PRINTED.iter().map(|(_, package, example)| (*package, *example)))
    {
        arguments.extend(["--package", package, "--example", example]);
    }
    run(&arguments)
}

/// A measured figure and the most that it may be.
struct BoundCheck {
    what: &'static str,
    value: f64,
    bound: f64,
    unit: &'static str,
}

impl BoundCheck {
    fn holds(&self) -> bool {
        self.value <= self.bound
    }
}

/// Returns a program of the release profile. Cargo runs this program from `debug`; `release` is beside it.
fn release_program(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe().context("this program does not know where it is")?;
    let target = this.parent().and_then(Path::parent).context("this program is not in a target directory")?;
    Ok(target.join("release").join(name))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An empty directory, removed on drop.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    fn create(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("posse-bench-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
