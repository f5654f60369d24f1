//! `cargo xtask simulate`: the simulation of delegations, many more of them than `cargo xtask test` plays.

use anyhow::{Context, Result, bail};

use crate::command::cargo;

pub fn simulate(options: &[&str]) -> Result<()> {
    let (mut schedules, mut seed) = (100_000u64, 1u64);
    for option in options.chunks(2) {
        match option {
            ["--schedules", n] => schedules = n.parse().context("--schedules takes a number")?,
            ["--seed", n] => seed = n.parse().context("--seed takes a number")?,
            _ => bail!("usage: cargo xtask simulate [--schedules N] [--seed S]"),
        }
    }
    let arguments =
        ["test", "--release", "-p", "posse-runtime", "--test", "it", "simulation::", "--", "--nocapture"];
    let status = cargo(&arguments)
        .env("POSSE_SCHEDULES", schedules.to_string())
        .env("POSSE_SEED", seed.to_string())
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("a schedule broke a promise; its seed is above");
    }
    Ok(())
}
