//! `cargo xtask test --stress`: the tests again and again on a machine that has no time for them. What fails there fails for
//! somebody with a slow laptop.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{cargo, run};

const RUNS: u32 = 10;

/// Computes for ever, in pieces between which it looks whether whoever started it is still there.
const BUSY: &str =
    "while kill -0 \"$1\" 2>/dev/null; do i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; done";

/// `[N]`, then arguments for nextest, such as `-p posse-net`.
pub fn stress(options: &[&str]) -> Result<()> {
    let (runs, rest) = match options {
        [first, rest @ ..] if !first.starts_with('-') => {
            (first.parse().with_context(|| format!("`{first}` is no number of runs"))?, rest)
        }
        rest => (RUNS, rest),
    };
    let mut arguments = vec!["nextest", "run", "--locked"];
    if !rest.iter().any(|option| matches!(*option, "-p" | "--package")) {
        arguments.push("--workspace");
    }
    arguments.extend(rest);
    run(&[&arguments[..], &["--no-run"]].concat())?;
    arguments.extend(["--color", "never", "--final-status-level", "flaky", "--no-fail-fast"]);
    let _load = Load::start()?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for number in 1..=runs {
        let began = Instant::now();
        let output = cargo(&arguments).stderr(Stdio::piped()).output().context("cargo cannot be started")?;
        let text = String::from_utf8_lossy(&output.stderr);
        let Some((summary, troubles)) = summary(&text) else {
            bail!("run {number} has no summary ({}):\n{text}", output.status)
        };
        eprintln!("run {number} of {runs}, {:.0} s: {summary}", began.elapsed().as_secs_f64());
        for Trouble { test, status } in troubles {
            eprintln!("    {status}  {test}");
            found.entry(test).or_default().push(format!("{status} in run {number}"));
        }
    }
    for (test, runs) in &found {
        eprintln!("{test}: {}", runs.join(", "));
    }
    ensure!(found.is_empty(), "{} tests failed or were flaky under load", found.len());
    Ok(())
}

/// One busy process for each core; they end with this value, and with this program if that is killed.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let me = std::process::id().to_string();
        let mut load = Self(Vec::new());
        for _ in 0..cores {
            let busy = Command::new("sh").args(["-c", BUSY, "busy", &me]).stdin(Stdio::null()).spawn();
            load.0.push(busy.context("no busy process can be started")?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            // It is ended either way; waiting only collects it.
            let _ = busy.kill();
            let _ = busy.wait();
        }
    }
}

/// A test that did not pass at its first try.
#[derive(Debug, PartialEq, Eq)]
struct Trouble {
    test: String,
    /// As nextest says it: `FAIL`, `FLAKY 2/2`, `TIMEOUT`, …
    status: String,
}

/// The summary of a run of nextest, and what it lists below that.
fn summary(output: &str) -> Option<(String, Vec<Trouble>)> {
    let mut lines = output.lines().skip_while(|line| !line.trim_start().starts_with("Summary ["));
    let summary = lines.next()?.split_once("] ")?.1.trim().to_owned();
    Some((summary, lines.filter_map(trouble).collect()))
}

/// `  TRY 2 FAIL [   0.787s] (25/67) posse-store reader::tests::…`
fn trouble(line: &str) -> Option<Trouble> {
    let (status, rest) = line.split_once('[')?;
    let status = status.trim().trim_start_matches(|c: char| !c.is_ascii_uppercase());
    let test = rest.split_once(") ")?.1.trim();
    let status =
        status.strip_prefix("TRY ").and_then(|tried| tried.split_once(' ')).map_or(status, |(_, last)| last);
    Some(Trouble { test: test.to_owned(), status: status.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_and_what_was_flaky_is_read_from_the_summary() {
        let output = "\
  TRY 1 FAIL [   0.813s] (─────) posse-store reader::tests::one
        PASS [   0.100s] ( 3/67) posse-store reader::tests::two
────────────
     Summary [  20.687s] 67 tests run: 66 passed (1 flaky), 1 failed, 0 skipped
   FLAKY 2/2 [   0.123s] (12/67) posse-tools::it survivors::three
  TRY 2 FAIL [   0.787s] (25/67) posse-store reader::tests::one
error: test run failed
";
        let trouble = |test: &str, status: &str| Trouble { test: test.to_owned(), status: status.to_owned() };
        let (summary, troubles) = summary(output).unwrap();
        assert_eq!(summary, "67 tests run: 66 passed (1 flaky), 1 failed, 0 skipped");
        assert_eq!(
            troubles,
            [
                trouble("posse-tools::it survivors::three", "FLAKY 2/2"),
                trouble("posse-store reader::tests::one", "FAIL"),
            ]
        );
        assert_eq!(super::summary("error: could not compile\n"), None);
    }
}
