//! Configuration files. The user's own may set everything; a project's may only set what cannot hurt whoever runs
//! Posse in a directory that someone else wrote.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use posse_core::usage::Price;
use posse_core::{Error, ErrorCode, Result};
use serde::de::{self, Deserialize, Deserializer, Visitor};

pub const PROJECT_FILE: &str = "posse.toml";
/// A configuration is written by hand; more than this is a mistake.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `provider:model` or an alias.
    pub model: Option<String>,
    /// Tried in order when the model cannot answer.
    pub fallback_models: Vec<String>,
    pub aliases: BTreeMap<String, String>,
    pub limits: LimitsConfig,
    pub grant: GrantConfig,
    pub providers: BTreeMap<String, ProviderConfig>,
    pub prices: BTreeMap<String, Price>,
    pub bash: BashConfig,
    /// Where this came from, for the doctor.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    pub max_turns: Option<Whole<1, 10_000>>,
    pub max_tool_calls: Option<Whole<0, 100_000>>,
    pub timeout_s: Option<Whole<1, 86_400>>,
    pub max_output_tokens: Option<Whole<1, 1_000_000>>,
    pub context_window: Option<Whole<1_000, 100_000_000>>,
    pub max_input_tokens: Option<Whole<0, 1_000_000_000_000>>,
    pub max_cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrantConfig {
    /// Tools beyond the usual ones, such as `bash`.
    pub allow: Vec<String>,
    /// Tools that are never given.
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BashConfig {
    /// Names of environment variables that commands may see beyond the usual ones.
    pub env: Vec<String>,
}

#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    pub wire: Option<Wire>,
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// A file that holds the key; read again when the provider refuses it.
    pub api_key_file: Option<PathBuf>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    Anthropic,
    Openai,
    OpenaiCompatible,
    OpenaiResponses,
    Gemini,
}

/// A whole number in a range that the error message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const MIN: u64, const MAX: u64>(pub u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InRange<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for InRange<MIN, MAX> {
            type Value = u64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
                let in_range = u64::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value));
                in_range.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
            }
        }
        deserializer.deserialize_i64(InRange::<MIN, MAX>).map(Whole)
    }
}

/// Reads what is there: the file that was named, or the user's and then the project's on top.
pub fn load(explicit: Option<&Path>, user_dir: Option<&Path>, here: &Path) -> Result<Config> {
    if let Some(path) = explicit {
        let mut config = parse(path, &read(path)?)?;
        config.files.push(path.to_owned());
        return Ok(config);
    }
    let mut config = Config::default();
    if let Some(path) = user_dir.map(|dir| dir.join("config.toml")).filter(|path| path.exists()) {
        config = parse(&path, &read(&path)?)?;
        config.files.push(path);
    }
    if let Some(path) = nearest_project_file(here) {
        let project = parse(&path, &read(&path)?)?;
        forbid_rights(&path, &project)?;
        config.take_over(project);
        config.files.push(path);
    }
    Ok(config)
}

impl Config {
    fn take_over(&mut self, project: Config) {
        self.model = project.model.or(self.model.take());
        if !project.fallback_models.is_empty() {
            self.fallback_models = project.fallback_models;
        }
        self.aliases.extend(project.aliases);
        let (mine, theirs) = (&mut self.limits, project.limits);
        mine.max_turns = theirs.max_turns.or(mine.max_turns);
        mine.max_tool_calls = theirs.max_tool_calls.or(mine.max_tool_calls);
        mine.timeout_s = theirs.timeout_s.or(mine.timeout_s);
        mine.max_output_tokens = theirs.max_output_tokens.or(mine.max_output_tokens);
        mine.context_window = theirs.context_window.or(mine.context_window);
        // A project can lower what a run may cost, never raise it.
        mine.max_input_tokens = lower(mine.max_input_tokens, theirs.max_input_tokens, |a, b| a.0 <= b.0);
        mine.max_cost_usd = lower(mine.max_cost_usd, theirs.max_cost_usd, |a, b| a <= b);
        self.grant.deny.extend(project.grant.deny);
    }
}

fn lower<T: Copy>(mine: Option<T>, theirs: Option<T>, le: fn(&T, &T) -> bool) -> Option<T> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(if le(&mine, &theirs) { mine } else { theirs }),
        (mine, theirs) => mine.or(theirs),
    }
}

/// A cloned repository must not be able to send keys to its own server or to allow itself tools.
fn forbid_rights(path: &Path, project: &Config) -> Result<()> {
    let refused = [
        ("providers", !project.providers.is_empty()),
        ("grant.allow", !project.grant.allow.is_empty()),
        ("bash.env", !project.bash.env.is_empty()),
        ("prices", !project.prices.is_empty()),
    ];
    let Some((key, _)) = refused.into_iter().find(|(_, set)| *set) else { return Ok(()) };
    let text = format!("{}: `{key}` cannot be set by a project", path.display());
    Err(Error::new(ErrorCode::ConfigInvalid, text).hint(format!(
        "put it into the user's configuration, or pass `--config {}` if you trust this file",
        path.display()
    )))
}

fn nearest_project_file(here: &Path) -> Option<PathBuf> {
    for dir in here.ancestors() {
        let file = dir.join(PROJECT_FILE);
        if file.exists() {
            return Some(file);
        }
        if dir.join(".git").exists() {
            return None;
        }
    }
    None
}

fn read(path: &Path) -> Result<String> {
    let unreadable = |e: std::io::Error| {
        Error::new(ErrorCode::ConfigUnreadable, format!("{} cannot be read", path.display()))
            .caused_by(e)
            .hint("check the path and its permissions")
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > BYTES_MAX {
        return Err(Error::new(ErrorCode::ConfigInvalid, format!("{} is larger than 1 MiB", path.display())));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

fn parse(path: &Path, text: &str) -> Result<Config> {
    toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        let (line, column, key) = place(text, at);
        let what = match key {
            Some(key) if !e.message().contains(&format!("`{key}`")) => format!("`{key}`: {}", e.message()),
            _ => e.message().to_owned(),
        };
        let text = format!("{}:{line}:{column}: {}", path.display(), what.trim_end().replace('\n', ", "));
        Error::new(ErrorCode::ConfigInvalid, text)
    })
}

/// Line, column and key of a place in a TOML text.
fn place(text: &str, at: usize) -> (usize, usize, Option<String>) {
    let before = posse_core::text::prefix(text, at);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[start..].chars().count() + 1;
    let key = text[start..].lines().next().and_then(|line| line.split_once('='));
    (line, column, key.map(|(key, _)| key.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn complaint(text: &str) -> String {
        parse(Path::new("posse.toml"), text).unwrap_err().message().to_owned()
    }

    #[test]
    fn a_wrong_value_is_named_with_its_place_and_what_is_allowed() {
        assert_eq!(
            complaint("model = \"a:b\"\n[limits]\nmax_turns = \"three\"\n"),
            "posse.toml:3:13: `max_turns`: invalid type: string \"three\", expected a whole number from 1 to 10000"
        );
        assert_eq!(
            complaint("[limits]\nmax_turns = 0\n"),
            "posse.toml:2:13: `max_turns`: invalid value: integer `0`, expected a whole number from 1 to 10000"
        );
        let unknown = complaint("[limits]\nmax_turn = 3\n");
        assert!(
            unknown.starts_with("posse.toml:2:1: unknown field `max_turn`, expected one of `max_turns`"),
            "{unknown}"
        );
        let wire = complaint("[providers.x]\nwire = \"open-ai\"\n");
        assert!(wire.contains("unknown variant `open-ai`, expected one of `anthropic`, `openai`"), "{wire}");
    }

    #[test]
    fn a_project_cannot_redirect_keys_or_allow_itself_tools() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(PROJECT_FILE);
        for text in [
            "[providers.openai]\nbase_url = \"http://evil\"\n",
            "[grant]\nallow = [\"bash\"]\n",
            "[bash]\nenv = [\"X\"]\n",
        ] {
            std::fs::write(&file, text).unwrap();
            let e = load(None, None, dir.path()).unwrap_err();
            assert_eq!(e.code(), ErrorCode::ConfigInvalid, "{text}");
            assert!(load(Some(&file), None, dir.path()).is_ok(), "{text}");
        }
        std::fs::write(&file, "model = \"a:b\"\n[limits]\nmax_cost_usd = 5.0\n").unwrap();
        let user = dir.path().join("user");
        std::fs::create_dir(&user).unwrap();
        std::fs::write(user.join("config.toml"), "[limits]\nmax_cost_usd = 2.0\n").unwrap();
        let config = load(None, Some(&user), dir.path()).unwrap();
        assert_eq!((config.model.as_deref(), config.limits.max_cost_usd), (Some("a:b"), Some(2.0)));
    }
}
