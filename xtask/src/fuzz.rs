//! `cargo xtask fuzz`: runs the fuzz targets, one after the other, on the toolchain that builds everything else.

use anyhow::{Result, ensure};

use crate::command::run;

const TARGETS: &[&str] = &["frontmatter", "tool_pattern"];

/// `options` are passed on: `--seconds N` and `--seed S`.
pub fn fuzz(options: &[&str]) -> Result<()> {
    let pairs = options.chunks(2);
    let known =
        |pair: &[&str]| matches!(pair, ["--seconds" | "--seed", value] if value.parse::<u64>().is_ok());
    ensure!(pairs.clone().all(known), "`fuzz` takes `--seconds N` and `--seed S`");
    for target in TARGETS {
        let mut arguments = vec![
            "run",
            "--quiet",
            "--locked",
            "--package",
            "posse-definitions",
            "--example",
            "fuzz",
            "--",
            target,
        ];
        arguments.extend(options);
        run(&arguments)?;
    }
    Ok(())
}
