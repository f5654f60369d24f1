//! Chores of the project that need more than one command. `cargo xtask help` lists them.

#![forbid(unsafe_code)]

mod bench;
mod chaos;
mod command;
mod dashboard;
mod fuzz;
mod screens;
mod simulate;
mod stress;
mod test;
mod watchers;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <task>

  test    everything that must hold: installs what is missing, then formatting, lints, all tests,
          documentation tests, licences and known vulnerabilities; one line per stage at the end
  test --stress [N] [nextest arguments]  all tests N times, 10 unless told otherwise, while every core is busy; says which
          failed or passed only at the second try, and in which run; `-p posse-net` takes one member
  bench [start|workloads|commit|pool|bodies|agents|sandbox]  time from start to the first request, CPU time of whole
          workloads against the wire floor, and what parts of ours cost beside plain ones; builds a release first, fails
          above the bounds
  fuzz    [--seconds N] [--seed S]  damaged and invented agent files and tool patterns, 60 seconds for each target
          unless told otherwise; prints the seed, and keeps an input that breaks something
  simulate [--schedules N] [--seed S]  random delegations on a paused clock, 100,000 unless told otherwise; a failure
          names the seed that repeats it
  chaos [--kills N] [--seed S]  kill -9 on an MCP server, three workers and supervisors of calls, 1,000 times unless told
          otherwise; fails if a task is lost, an effect repeated or a call in doubt not marked
  requirements [--open]  which test checks which line of docs/requirements.md; fails while one has neither a test nor
          a reason to have none; `--open` shows only those
  dashboard [pictures | --only WORD]  checks the types of the dashboard's modules and drives its pages in Chromium;
          `pictures` makes those of docs/images
  screens [NAME ...]  plays scripted tasks in tmux and writes the pictures of docs/screens
  watchers [--watchers N] [--tasks N] [--events N] [--listed N]  memory of an idle `posse serve`, event streams that
          each get every event of many running tasks, and the time of a list of 100,000 tasks; builds a release first
  help    this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test"] => test::run_all(),
        ["test", "--stress", options @ ..] => finish(stress::stress(options)),
        ["bench", parts @ ..] => finish(bench::bench(parts)),
        ["simulate", options @ ..] => finish(simulate::simulate(options)),
        ["chaos", options @ ..] => finish(chaos::chaos(options)),
        ["fuzz", options @ ..] => finish(fuzz::fuzz(options)),
        ["dashboard", options @ ..] => finish(dashboard::dashboard(options)),
        ["watchers", options @ ..] => finish(watchers::watchers(options)),
        ["screens", names @ ..] => finish(screens::screens(names)),
        ["requirements", options @ ..] => {
            finish(xtask::requirements::requirements(&command::root(), options))
        }
        [] | ["help" | "--help" | "-h"] => {
            eprint!("{HELP}");
            ExitCode::SUCCESS
        }
        [unknown, ..] => {
            eprint!("there is no task `{unknown}`\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn finish(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}
