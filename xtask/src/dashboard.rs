//! The dashboard's own checks: types by JSDoc, and tests in Chromium.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::command::{root, within};

/// The type checker, the driver of Chromium, the accessibility checks, and the packages whose types are read.
const MODULES: &[&str] = &[
    "typescript@7.0.2",
    "playwright-core@1.65.1",
    "axe-core@4.14.0",
    "preact@11.2.0",
    "@preact/signals@2.11.4",
    "@preact/signals-core@1.14.5",
];
/// 60 MB, once.
const INSTALL_MAX: Duration = Duration::from_secs(300);
const WEB: &str = "crates/posse-http/web";
const TESTS: &str = "crates/posse-http/tests/browser/run.mjs";

fn place() -> PathBuf {
    root().join("target/npm")
}

/// Installs what the checks need. Returns false where npm cannot be reached.
pub fn install() -> Result<bool> {
    let name = |module: &str| module.rsplit_once('@').map_or(module, |(name, _)| name).to_owned();
    let is_there = || MODULES.iter().all(|module| place().join("node_modules").join(name(module)).exists());
    if !is_there() {
        fs::create_dir_all(place()).with_context(|| format!("making {}", place().display()))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-progress", "--prefix", "."]);
        let _ = within(npm.args(MODULES).current_dir(place()), INSTALL_MAX);
    }
    Ok(is_there())
}

/// Checks the types of the dashboard's modules, which JSDoc comments declare.
pub fn check_types() -> Result<()> {
    let mut tsc = Command::new(place().join("node_modules/.bin/tsc"));
    let status =
        tsc.args(["--project", WEB]).current_dir(root()).status().context("tsc cannot be started")?;
    ensure!(status.success(), "`tsc --project {WEB}` failed ({status})");
    Ok(())
}

/// Drives every page in Chromium.
pub fn run_tests(options: &[&str]) -> Result<()> {
    let mut node = Command::new("node");
    node.arg(TESTS).arg(place()).args(options).current_dir(root());
    // The stage of the tests builds both.
    for (option, program) in [("--program", "posse"), ("--writer", "examples/exported_page")] {
        let program = root().join("target/debug").join(program);
        if program.exists() {
            node.arg(option).arg(program);
        }
    }
    let status = node.status().context("node cannot be started")?;
    ensure!(status.success(), "the tests of the dashboard failed ({status})");
    Ok(())
}

/// `cargo xtask dashboard`: checks types and pages, or makes the pictures of the documentation.
pub fn dashboard(options: &[&str]) -> Result<()> {
    ensure!(install()?, "npm cannot be reached");
    match options {
        ["pictures"] => {
            let directory = root().join("docs/images");
            fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
            run_tests(&["--pictures", "docs/images"])
        }
        _ => {
            check_types()?;
            run_tests(options)
        }
    }
}
