//! Configuration files. The user's file may set everything; a project's file only what cannot harm a person who runs
//! Posse in a directory that someone else wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_core::agent::Effort;
use posse_core::approval::ApprovalVerdict;
use posse_core::board::OnLimit;
use posse_core::bounded::BoundedInteger;
use posse_core::definition::OnUnknownModel;
use posse_core::grant::NetworkGrant;
use posse_core::mode::WorkMode;
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result, sizes, spans};
use posse_definitions::places::nearest_file;
use posse_mcp::registry::McpServerConfig;
use posse_messages::say;
use posse_models::providers::ModelsConfig;
use posse_net::AddressException;
use posse_sandbox::config::SandboxConfig;
use posse_telemetry::hooks::{HOOKS_MAX, HookConfig};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny};
use toml::Spanned;

pub const PROJECT_FILE: &str = "posse.toml";
/// Largest file that is read: configuration is written by hand.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub struct Config {
    /// Keys at the top level of the file.
    #[serde(skip)]
    pub models: ModelsConfig,
    pub limits: LimitsConfig,
    pub model_settings: ModelSettingsConfig,
    pub grant: GrantConfig,
    pub bash: BashConfig,
    pub sandbox: SandboxConfig,
    pub log: LogConfig,
    pub telemetry: TelemetryConfig,
    pub session: SessionSettings,
    pub store: StoreConfig,
    pub network: NetworkConfig,
    pub secrets: SecretsConfig,
    pub approvals: ApprovalsConfig,
    pub mcp: McpConfig,
    #[serde(deserialize_with = "hooks")]
    pub hooks: Vec<HookConfig>,
    pub ui: UiConfig,
    #[serde(skip)]
    pub origin: ConfigOrigin,
}

/// Files that a configuration comes from.
#[derive(Debug, Clone, Default)]
pub struct ConfigOrigin {
    /// Files that were read, for `posse doctor`.
    pub files: Vec<PathBuf>,
    /// Files that were found and not read, with the reason.
    pub warnings: Vec<String>,
}

/// Keys at the top level, in the order of the manual. The models have no table of their own, so each part of the file is
/// read by itself, and an unknown key is found here.
const KEYS: &[&str] = &[
    "model",
    "fallback_models",
    "on_unknown_model",
    "aliases",
    "limits",
    "model_settings",
    "grant",
    "providers",
    "prices",
    "bash",
    "sandbox",
    "log",
    "telemetry",
    "session",
    "store",
    "network",
    "secrets",
    "approvals",
    "mcp",
    "hooks",
    "ui",
];

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    pub max_turns: Option<BoundedInteger<1, 10_000>>,
    pub max_tool_calls: Option<BoundedInteger<0, 100_000>>,
    pub timeout_s: Option<BoundedInteger<1, 86_400>>,
    pub max_output_tokens: Option<BoundedInteger<1, 1_000_000>>,
    pub context_window: Option<BoundedInteger<1_000, 100_000_000>>,
    pub max_input_tokens: Option<BoundedInteger<0, 1_000_000_000_000>>,
    pub max_cost_usd: Option<f64>,
}

/// Model settings. Unset ones are left to the provider.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettingsConfig {
    pub effort: Option<Effort>,
    #[serde(deserialize_with = "temperature")]
    pub temperature: Option<f32>,
    /// Thinking budget, for models that take tokens instead of an effort.
    pub thinking_tokens: Option<BoundedInteger<1, 1_000_000>>,
}

fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
    let value = f32::deserialize(deserializer)?;
    if (0.0..=2.0).contains(&value) {
        return Ok(Some(value));
    }
    Err(de::Error::invalid_value(de::Unexpected::Float(value.into()), &say!("temperature-range").as_str()))
}

/// Looks of screens and lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UiConfig {
    pub symbols: SymbolChoice,
}

/// Characters for marks, branches and ellipses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolChoice {
    /// Unicode where the locale and the terminal are sure to show it in one column.
    #[default]
    Auto,
    Unicode,
    Ascii,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrantConfig {
    /// Tools beyond the default ones, such as `bash`.
    pub allow: Vec<String>,
    /// Tools that are never granted.
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BashConfig {
    /// Environment variables that commands may see beyond the default ones.
    pub env: Vec<String>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    pub file: Option<PathBuf>,
    /// Filter such as `info` or `posse=debug,posse_models=warn`.
    pub level: Option<String>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// Base URL of an OTLP collector over HTTP, such as `http://localhost:4318`.
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkConfig {
    /// Hosts that `fetch` may connect to; unset allows every public host.
    pub hosts: Option<NetworkGrant>,
    /// Non-public addresses that `fetch` may connect to, such as `127.0.0.1:8080`.
    pub allow_private: Vec<PrivateAddress>,
}

/// An IP address with an optional port.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct PrivateAddress(pub AddressException);

impl TryFrom<String> for PrivateAddress {
    type Error = String;
    fn try_from(raw: String) -> Result<Self, String> {
        let found = AddressException::parse(&raw);
        found.map(Self).ok_or_else(|| say!("private-address-invalid", raw))
    }
}

#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsConfig {
    /// Redacts keys from tool results before a model or the journal sees them.
    pub redact: bool,
}

impl Default for SecretsConfig {
    fn default() -> Self {
        Self { redact: true }
    }
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Mode of new tasks, also without a terminal.
    pub mode: Option<WorkMode>,
    /// Delegation tools offered to models; each costs tokens in every request.
    pub tools: Option<Vec<String>>,
    /// Levels of delegation: at 1 only the orchestrator delegates.
    pub max_depth: Option<BoundedInteger<1, 8>>,
    /// Maximum number of running tasks per parent.
    pub max_running: Option<BoundedInteger<1, 64>>,
    /// Maximum number of tasks per parent that run, wait, or have ended uncollected.
    pub max_open_tasks: Option<BoundedInteger<1, 10_000>>,
    /// Handling of a task beyond `max_running` that does not set `queue`.
    pub on_limit: Option<OnLimit>,
    /// Seconds without a heartbeat after which a task may lose its write lease.
    pub lease_s: Option<BoundedInteger<1, 86_400>>,
}

/// Retention of tasks in the store. Unset keeps them forever.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Maximum age since they ended, such as `90d`.
    #[serde(deserialize_with = "span")]
    pub max_age: Option<Duration>,
    /// Maximum size of all of them, such as `2GB`; the oldest are deleted first.
    #[serde(deserialize_with = "size")]
    pub max_size: Option<u64>,
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    spans::parse(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    sizes::parse(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

fn hooks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HookConfig>, D::Error> {
    let hooks = Vec::<HookConfig>::deserialize(deserializer)?;
    match hooks.len() {
        0..=HOOKS_MAX => Ok(hooks),
        _ => Err(de::Error::custom(say!("hooks-too-many", most = HOOKS_MAX))),
    }
}

/// Settings of `posse mcp`, and the MCP servers that agents use.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Tools that `posse mcp` offers.
    pub tools: Vec<String>,
    /// Handling of running tasks when the host disconnects.
    pub on_exit: Option<OnExit>,
    /// Paths that tasks of hosts may write: globs below the workspace. Unset allows none.
    pub write: Vec<String>,
    /// Host names of the HTTP server beside those of this machine.
    pub http_hosts: Vec<String>,
    /// Origins of web pages that may use the HTTP server, such as `https://chat.example:443`. Unset allows none.
    pub http_origins: Vec<String>,
    /// MCP servers that agents may use.
    pub servers: BTreeMap<String, McpServerConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum OnExit {
    /// Hand them over to a background worker.
    HandOver,
    /// Cancel them.
    Cancel,
    /// Leave them for a later `posse worker` or `posse tasks resume`.
    Leave,
}

/// Approvals: who is asked, and the default without an answer.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// Unset asks at a terminal and denies elsewhere.
    pub mode: Option<ApprovalMode>,
    /// Seconds that a call waits for its answer.
    pub deadline_s: Option<BoundedInteger<1, 604_800>>,
    /// Verdict at the deadline; `deny` if unset.
    pub default: Option<ApprovalVerdict>,
    /// Calls to ask about, such as `bash`, `bash(git push *)`, `write(docs/**)` or `subagent`.
    pub ask: Vec<String>,
    /// Calls that run without asking although a rule would ask.
    pub allow: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Calls wait for an answer, from this terminal or from `posse approvals`.
    Ask,
    /// Calls that would be asked about are refused.
    Deny,
    /// Calls in `approvals.allow` run, the rest is refused; nobody is asked.
    AllowListed,
}

/// Search places for configuration, and the user.
#[derive(Clone, Copy)]
pub struct ConfigSources<'a> {
    /// The one file to read, given by the user.
    pub explicit: Option<&'a Path>,
    pub user_dir: Option<&'a Path>,
    pub here: &'a Path,
    pub home: Option<&'a Path>,
    pub user: u32,
}

/// Loads the named file, or the user's file overridden by the project's.
pub fn load(sources: ConfigSources<'_>) -> Result<Config> {
    if let Some(path) = sources.explicit {
        let mut config = parse(path, &read(path)?)?;
        config.origin.files.push(path.to_owned());
        return Ok(config);
    }
    let mut config = Config::default();
    if let Some(path) = sources.user_dir.map(|dir| dir.join("config.toml")).filter(|path| path.exists()) {
        config = parse(&path, &read(&path)?)?;
        config.origin.files.push(path);
    }
    let (file, foreign) = nearest_file(PROJECT_FILE, sources.here, sources.home, sources.user);
    let warning = |path: &PathBuf| say!("foreign-project-file", path = path.display());
    config.origin.warnings.extend(foreign.iter().map(warning));
    if let Some(path) = file {
        let project = parse(&path, &read(&path)?)?;
        forbid_rights(&path, &project)?;
        config.take_over(project);
        config.origin.files.push(path);
    }
    Ok(config)
}

/// Reads the looks from the user's file. A file that cannot be read has none: the command that needs it says why.
pub fn looks(explicit: Option<&Path>, user_dir: Option<&Path>) -> UiConfig {
    let path = explicit.map(Path::to_owned).or_else(|| user_dir.map(|dir| dir.join("config.toml")));
    let config = path.filter(|path| path.exists()).map(|path| parse(&path, &read(&path)?));
    config.and_then(Result::ok).map(|config| config.ui).unwrap_or_default()
}

impl Config {
    fn take_over(&mut self, project: Config) {
        let (mine, theirs) = (&mut self.models, project.models);
        mine.model = theirs.model.or(mine.model.take());
        if !theirs.fallback_models.is_empty() {
            mine.fallback_models = theirs.fallback_models;
        }
        if theirs.on_unknown_model == OnUnknownModel::Error {
            mine.on_unknown_model = OnUnknownModel::Error;
        }
        // Aliases of the user win.
        for (alias, model) in theirs.aliases {
            mine.aliases.entry(alias).or_insert(model);
        }
        let (mine, theirs) = (&mut self.limits, project.limits);
        mine.context_window = theirs.context_window.or(mine.context_window);
        // A project can lower the user's limits, never raise them.
        mine.max_turns = lower(mine.max_turns, theirs.max_turns, |a, b| a.0 <= b.0);
        mine.max_tool_calls = lower(mine.max_tool_calls, theirs.max_tool_calls, |a, b| a.0 <= b.0);
        mine.timeout_s = lower(mine.timeout_s, theirs.timeout_s, |a, b| a.0 <= b.0);
        mine.max_output_tokens = lower(mine.max_output_tokens, theirs.max_output_tokens, |a, b| a.0 <= b.0);
        mine.max_input_tokens = lower(mine.max_input_tokens, theirs.max_input_tokens, |a, b| a.0 <= b.0);
        mine.max_cost_usd = lower(mine.max_cost_usd, theirs.max_cost_usd, |a, b| a <= b);
        let (mine, theirs) = (&mut self.model_settings, project.model_settings);
        mine.effort = theirs.effort.or(mine.effort);
        mine.temperature = theirs.temperature.or(mine.temperature);
        mine.thinking_tokens = theirs.thinking_tokens.or(mine.thinking_tokens);
        self.grant.deny.extend(project.grant.deny);
        self.approvals.ask.extend(project.approvals.ask);
    }
}

fn lower<T: Copy>(mine: Option<T>, theirs: Option<T>, le: fn(&T, &T) -> bool) -> Option<T> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(if le(&mine, &theirs) { mine } else { theirs }),
        (mine, theirs) => mine.or(theirs),
    }
}

/// Refuses settings with which a cloned repository could send keys to its own server, grant itself tools, or script
/// the model.
fn forbid_rights(path: &Path, project: &Config) -> Result<()> {
    let refused = [
        ("providers", !project.models.providers.is_empty()),
        ("grant.allow", !project.grant.allow.is_empty()),
        ("bash.env", !project.bash.env.is_empty()),
        ("sandbox", project.sandbox != SandboxConfig::default()),
        ("session.mode", project.session.mode.is_some()),
        ("session.tools", project.session.tools.is_some()),
        ("session.max_depth", project.session.max_depth.is_some()),
        ("session.max_running", project.session.max_running.is_some()),
        ("session.max_open_tasks", project.session.max_open_tasks.is_some()),
        ("session.on_limit", project.session.on_limit.is_some()),
        ("session.lease_s", project.session.lease_s.is_some()),
        ("store", project.store != StoreConfig::default()),
        ("approvals.mode", project.approvals.mode.is_some()),
        ("approvals.deadline_s", project.approvals.deadline_s.is_some()),
        ("approvals.default", project.approvals.default.is_some()),
        ("approvals.allow", !project.approvals.allow.is_empty()),
        ("prices", !project.models.prices.is_empty()),
        ("mcp", !project.mcp.servers.is_empty()),
        ("mcp.write", !project.mcp.write.is_empty()),
        ("network", project.network.hosts.is_some() || !project.network.allow_private.is_empty()),
        ("secrets.redact", !project.secrets.redact),
        ("log", project.log.file.is_some() || project.log.level.is_some()),
        ("telemetry", project.telemetry.otlp_endpoint.is_some()),
        ("hooks", !project.hooks.is_empty()),
        ("ui", project.ui != UiConfig::default()),
    ];
    let is_script = |model: &String| model.trim_start().starts_with("scripted:");
    let scripts = [
        ("model", project.models.model.iter().any(is_script)),
        ("fallback_models", project.models.fallback_models.iter().any(is_script)),
        ("aliases", project.models.aliases.values().any(is_script)),
    ];
    let text = match (refused.iter().find(|(_, set)| *set), scripts.iter().find(|(_, set)| *set)) {
        (Some((key, _)), _) => say!("project-cannot-set", path = path.display(), key),
        (None, Some((key, _))) => {
            say!("project-cannot-script", path = path.display(), key)
        }
        (None, None) => return Ok(()),
    };
    Err(Error::new(ErrorCode::ConfigInvalid, text).hint(say!("project-cannot-hint", path = path.display())))
}

fn read(path: &Path) -> Result<String> {
    let unreadable = |e: std::io::Error| {
        Error::new(ErrorCode::ConfigUnreadable, say!("file-unreadable", path = path.display()))
            .caused_by(e)
            .hint(say!("file-unreadable-hint"))
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > BYTES_MAX {
        return Err(Error::new(ErrorCode::ConfigInvalid, say!("file-too-large", path = path.display())));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    User,
    /// It can set only what cannot harm a person who runs Posse there.
    Project,
}

/// Checks a text as loading it would.
pub fn check(path: &Path, text: &str, scope: ConfigScope) -> Result<()> {
    if text.len() as u64 > BYTES_MAX {
        return Err(Error::new(ErrorCode::ConfigInvalid, say!("file-too-large", path = path.display())));
    }
    let config = parse(path, text)?;
    match scope {
        ConfigScope::User => Ok(()),
        ConfigScope::Project => forbid_rights(path, &config),
    }
}

/// Parses the text of a file.
fn parse(path: &Path, text: &str) -> Result<Config> {
    let wrong = |e: toml::de::Error, at: usize| {
        let (line, column, key) = place(text, at);
        let what = match key {
            Some(key) if !e.message().contains(&format!("`{key}`")) => format!("`{key}`: {}", e.message()),
            _ => e.message().to_owned(),
        };
        let text = format!("{}:{line}:{column}: {}", path.display(), what.trim_end().replace('\n', ", "));
        let error = Error::new(ErrorCode::ConfigInvalid, text);
        match likely_key(e.message()) {
            Some(name) => error.hint(say!("usage-did-you-mean", name)),
            None => error,
        }
    };
    let invalid = |e: toml::de::Error| {
        let at = e.span().map_or(0, |span| span.start);
        wrong(e, at)
    };
    let keys: BTreeMap<Spanned<String>, IgnoredAny> = toml::from_str(text).map_err(invalid)?;
    let unknown = keys.keys().filter(|key| !KEYS.contains(&key.get_ref().as_str()));
    if let Some(key) = unknown.min_by_key(|key| key.span().start) {
        return Err(wrong(de::Error::unknown_field(key.get_ref(), KEYS), key.span().start));
    }
    let models: ModelsConfig = toml::from_str(text).map_err(invalid)?;
    let config = Config { models, ..toml::from_str(text).map_err(invalid)? };
    for (model, price) in &config.models.prices {
        let all = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
        if let Some(wrong) = all.into_iter().flatten().find(|dollars| !dollars.is_finite() || *dollars < 0.0)
        {
            let text = say!("not-a-price", path = path.display(), model, wrong);
            return Err(Error::new(ErrorCode::ConfigInvalid, text).hint(say!("price-unsound-hint")));
        }
    }
    Ok(config)
}

/// Finds the name that was probably meant instead of an unknown one, in serde's words: "unknown field `a`, expected one
/// of `b`, `c`".
fn likely_key(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest(unknown, quoted).map(str::to_owned)
}

/// Locates a byte offset in a TOML text: line, column and key.
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
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// From a directory, as the user who runs the test.
    fn at(here: &Path) -> ConfigSources<'_> {
        let user = std::fs::metadata(here).unwrap().uid();
        ConfigSources { explicit: None, user_dir: None, here, home: None, user }
    }

    #[test]
    fn a_project_lowers_limits_and_adds_aliases() {
        let dir = tempfile::tempdir().unwrap();
        let text = "model = \"a:b\"\n[aliases]\nfast = \"x:theirs\"\nslow = \"x:theirs\"\n[limits]\nmax_cost_usd = 5.0\nmax_turns = 900\ntimeout_s = 9\n";
        std::fs::write(dir.path().join(PROJECT_FILE), text).unwrap();
        let user = dir.path().join("user");
        std::fs::create_dir(&user).unwrap();
        let text =
            "[aliases]\nfast = \"x:mine\"\n[limits]\nmax_cost_usd = 2.0\nmax_turns = 3\ntimeout_s = 60\n";
        std::fs::write(user.join("config.toml"), text).unwrap();
        let Config { models, limits, .. } =
            load(ConfigSources { user_dir: Some(&user), ..at(dir.path()) }).unwrap();
        assert_eq!((models.model.as_deref(), limits.max_cost_usd), (Some("a:b"), Some(2.0)));
        let lower = (limits.max_turns.map(|most| most.0), limits.timeout_s.map(|most| most.0));
        assert_eq!(lower, (Some(3), Some(9)), "the lower one counts");
        assert_eq!((&models.aliases["fast"][..], &models.aliases["slow"][..]), ("x:mine", "x:theirs"));
    }

    #[test]
    fn a_project_file_of_another_user_is_not_read_and_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PROJECT_FILE), "model = \"a:b\"\n").unwrap();
        let mine = at(dir.path());
        assert_eq!(load(mine).unwrap().models.model.as_deref(), Some("a:b"));
        let config = load(ConfigSources { user: mine.user + 1, ..mine }).unwrap();
        assert_eq!(config.models.model, None);
        assert!(
            config.origin.warnings[0].contains("belongs to another user"),
            "{:?}",
            config.origin.warnings
        );
    }
}
