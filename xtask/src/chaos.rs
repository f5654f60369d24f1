//! `cargo xtask chaos`: kills servers, workers and supervisors at random instants, many more of them than `cargo xtask test` does.

use anyhow::{Context, Result, bail};

use crate::command::cargo;

pub fn chaos(options: &[&str]) -> Result<()> {
    let (mut kills, mut seed) = (1_000u64, 1u64);
    for option in options.chunks(2) {
        match option {
            ["--kills", n] => kills = n.parse().context("--kills takes a number")?,
            ["--seed", n] => seed = n.parse().context("--seed takes a number")?,
            _ => bail!("usage: cargo xtask chaos [--kills N] [--seed S]"),
        }
    }
    let status = cargo(&["test", "-p", "posse-cli", "--test", "it", "chaos::", "--", "--nocapture"])
        .env("POSSE_CHAOS_KILLS", kills.to_string())
        .env("POSSE_TEST_SEED", seed.to_string())
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("a kill lost, repeated or hid something; the seed is above");
    }
    Ok(())
}
