//! Options of a task: flags shared by the commands that start one, and their values. Doc comments are help texts.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use posse_core::agent::Effort;
use posse_core::mode::WorkMode;
use posse_messages::say;

use crate::config::ApprovalMode;

/// Flags shared by every command that starts tasks.
#[derive(ClapArgs, Clone, Default)]
pub struct TaskFlags {
    /// Model, as provider:model [default: $POSSE_MODEL, the configuration, or the provider whose key is set].
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    pub model: Option<String>,
    /// Trust this project's agent files, whatever they contain; for machines without `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// Also allow these tools, such as bash (comma-separated).
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Allow only tools that change nothing, as `--mode plan` does.
    #[arg(long, conflicts_with = "allow")]
    pub read_only: bool,
    /// Handling of calls that need approval [default: the configuration; or ask at a terminal, deny elsewhere].
    #[arg(long, value_name = "MODE")]
    pub approvals: Option<ApprovalMode>,
    /// Spend at most this many US dollars, for models whose price is known.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
}

#[derive(ClapArgs, Clone, Default)]
pub struct RunOptions {
    #[command(flatten)]
    pub common: TaskFlags,
    /// Mode: `plan` reads only, `ask` asks before every edit and command, `auto` edits and runs commands in the sandbox
    /// without asking [default: the configuration; or auto at a terminal, plan elsewhere].
    #[arg(long, value_name = "MODE", value_parser = modes(), conflicts_with = "read_only")]
    pub mode: Option<WorkMode>,
    /// Run the task with this agent instead of the orchestrator.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Stop after this many turns, with a report of what was done.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Stop after this time: seconds, or a span such as 90s, 20m or 2h.
    #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<86_400>)]
    pub timeout: Option<u64>,
    /// Reasoning effort: low, medium, high or max [default: the configuration, or the provider's default].
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub effort: Option<Effort>,
    /// Request whole replies instead of streams.
    #[arg(long)]
    pub no_stream: bool,
    /// Record every exchange with the model in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Replay a recording instead of calling a model.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

impl From<TaskFlags> for RunOptions {
    fn from(common: TaskFlags) -> Self {
        Self { common, ..Self::default() }
    }
}

/// Parses a mode.
pub fn modes() -> impl TypedValueParser<Value = WorkMode> {
    let words = WorkMode::ALL.iter().map(|mode| mode.wire());
    PossibleValuesParser::new(words)
        .map(|word| WorkMode::from_wire(&word).expect("the parser knows these words"))
}

/// Parses a time from one second to `MAX` seconds.
pub fn seconds_up_to<const MAX: u64>(text: &str) -> Result<u64, String> {
    let seconds = posse_core::spans::seconds(text)?;
    let in_range = (1..=MAX).contains(&seconds).then_some(seconds);
    in_range.ok_or_else(|| say!("span-range", most = posse_core::spans::in_words(MAX)))
}

/// Parses a reasoning effort.
pub fn effort(raw: &str) -> Result<Effort, String> {
    let all = [Effort::Low, Effort::Medium, Effort::High, Effort::Max];
    let found = all.into_iter().find(|effort| effort.wire() == raw);
    found.ok_or_else(|| say!("effort-invalid"))
}

/// Parses an amount of US dollars.
pub fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        Ok(_) | Err(_) => Err(say!("dollars-invalid")),
    }
}
