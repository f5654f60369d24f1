//! The official conformance suite of the Model Context Protocol, from npm, with a Node of its own: it needs a newer one than many
//! systems have.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::{root, run};

const PACKAGES: [&str; 2] = ["@modelcontextprotocol/conformance@0.1.16", "node@22.23.3"];

/// The suite, installed below `target`.
pub struct Suite {
    directory: PathBuf,
}

impl Suite {
    /// `None` where there is no npm, or nothing to fetch from.
    pub fn install() -> Result<Option<Self>> {
        let directory = root().join("target/mcp-conformance");
        let suite = Self { directory };
        if suite.is_there() {
            return Ok(Some(suite));
        }
        fs::create_dir_all(&suite.directory)?;
        fs::write(suite.directory.join("package.json"), "{\"private\": true}\n")?;
        let installed = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent"])
            .args(PACKAGES)
            .current_dir(&suite.directory)
            .status();
        Ok((installed.is_ok_and(|status| status.success()) && suite.is_there()).then_some(suite))
    }

    fn node(&self) -> PathBuf {
        self.directory.join("node_modules/node/bin/node")
    }

    fn program(&self) -> PathBuf {
        self.directory.join("node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }

    fn is_there(&self) -> bool {
        self.node().exists() && self.program().exists()
    }

    /// Runs it with these arguments; its results are for looking at, below `target`.
    pub fn run(&self, arguments: &[&str]) -> Result<()> {
        let what = arguments.join(" ");
        let done = Command::new(self.node())
            .arg(self.program())
            .args(arguments)
            .current_dir(&self.directory)
            .output()
            .context("the conformance suite cannot be started")?;
        let said = [done.stdout, done.stderr].concat();
        ensure!(done.status.success(), "conformance {what}:\n{}", String::from_utf8_lossy(&said));
        eprintln!("ok conformance {what}");
        Ok(())
    }
}

/// What the suite expects of every client that uses tools. docs/mcp.md says why the others do not apply.
const OF_CLIENTS: [&str; 3] = ["initialize", "tools_call", "sse-retry"];

/// Our client against the servers of the suite.
pub fn clients(suite: &Suite) -> Result<()> {
    run(&["build", "--locked", "-p", "posse-mcp", "--example", "conformance_client"])?;
    let client = root().join("target/debug/examples/conformance_client");
    for scenario in OF_CLIENTS {
        suite.run(&["client", "--command", &client.display().to_string(), "--scenario", scenario])?;
    }
    Ok(())
}
