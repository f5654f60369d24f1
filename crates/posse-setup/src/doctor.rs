//! Checks of an installation, each with a remedy.

use posse_core::approval::ApprovalHandling;
use posse_core::board::{BoardLimits, OnLimit};
use posse_core::grant::SandboxTier;
use posse_core::text::estimate_tokens;
use posse_core::{ErrorCode, Result, sizes, spans};
use posse_mcp::registry::ServerFilter;
use posse_messages::say;
use posse_models::listing::ProbeReport;
use posse_models::providers::{KNOWN, KeyOrigin};
use posse_runtime::context::now_ms;
use posse_runtime::ports::ModelResolver;
use serde_json::{Value, json};

use crate::options::RunOptions;
use crate::retention::{REPORT, caps};
use crate::setup::{ORCHESTRATOR, Setup};

/// Mark of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMark {
    /// Checked now.
    Fine,
    /// Told, not checked.
    Info,
    /// Works with limits.
    Limited,
    /// Broken.
    Trouble,
}

impl CheckMark {
    /// Returns the mark.
    pub fn symbol(self) -> &'static str {
        match self {
            CheckMark::Fine => "✓",
            CheckMark::Info => "·",
            CheckMark::Limited => "!",
            CheckMark::Trouble => "✗",
        }
    }

    fn wire(self) -> &'static str {
        match self {
            CheckMark::Fine => "checked",
            CheckMark::Info => "not_checked",
            CheckMark::Limited => "limited",
            CheckMark::Trouble => "broken",
        }
    }
}

/// A finding about one topic.
#[derive(Debug)]
pub struct DoctorFinding {
    /// Topic, as programs get it.
    pub topic: &'static str,
    /// Its mark.
    pub mark: CheckMark,
    /// Finding in the language of the person.
    pub text: String,
}

/// Checks everything below a setup. `is_online` also asks each provider; `is_attended` means that a person sits here.
pub async fn examine(setup: &Setup, is_online: bool, is_attended: bool) -> Vec<DoctorFinding> {
    let mut findings = vec![configuration(setup)];
    findings.extend(keys(setup));
    findings.push(model(setup, is_online));
    if is_online {
        findings.extend(online(setup).await);
    }
    let watched = setup.telemetry.places().into_iter();
    findings.extend(watched.map(|(topic, place)| DoctorFinding::new(topic, CheckMark::Info, place)));
    findings.push(mode(setup));
    findings.push(confinement(setup));
    findings.push(DoctorFinding::or_error("approvals", approvals(setup, is_attended)));
    findings.extend(tools(setup));
    findings.push(delegation(setup));
    findings.extend(servers(setup));
    findings.push(agents(setup));
    findings.push(DoctorFinding::or_error("prompt tokens", prompts(setup)));
    findings.push(DoctorFinding::or_error("store", store(setup).await));
    findings.push(retention(setup));
    findings
}

fn configuration(setup: &Setup) -> DoctorFinding {
    let files: Vec<String> =
        setup.config.origin.files.iter().map(|path| path.display().to_string()).collect();
    let user = setup
        .process
        .config_dir()
        .map(|dir| dir.join("config.toml").display().to_string())
        .unwrap_or_default();
    match files.as_slice() {
        [] => DoctorFinding::new("configuration", CheckMark::Info, say!("doctor-no-configuration", user)),
        files => DoctorFinding::new("configuration", CheckMark::Fine, files.join(", ")),
    }
}

/// Reports where the key of each provider comes from and which place wins; never the key itself. An unreadable key file
/// is checked now, a key is not.
fn keys(setup: &Setup) -> Vec<DoctorFinding> {
    let models = &setup.config.models;
    let mut findings = Vec::new();
    for provider in models.set_up_providers(&setup.process.reader()) {
        let KeyOrigin { file, variable } = models.key_origin(&provider, &setup.process.reader());
        let (mark, text) = match (file, variable) {
            (Some(file), variable) => {
                let readable = std::fs::read_to_string(&file).is_ok_and(|key| !key.trim().is_empty());
                let shown = file.display().to_string();
                match (readable, variable) {
                    (false, _) => (CheckMark::Trouble, say!("doctor-key-unreadable", file = shown)),
                    (true, Some(variable)) => {
                        (CheckMark::Info, say!("doctor-key-wins", file = shown, variable))
                    }
                    (true, None) => (CheckMark::Info, shown),
                }
            }
            (None, Some(variable)) => (CheckMark::Info, variable),
            (None, None) => (CheckMark::Info, say!("doctor-key-none")),
        };
        findings.push(DoctorFinding::new("keys", mark, format!("{provider}: {text}")));
    }
    if findings.is_empty() {
        findings.push(DoctorFinding::new("keys", CheckMark::Info, say!("doctor-no-keys")));
    }
    let named = KNOWN.iter().filter_map(|known| known.base_env);
    let mut urls: Vec<String> =
        named.filter_map(|name| Some(format!("{name}={}", setup.process.text(name)?))).collect();
    urls.dedup();
    findings.extend(urls.into_iter().map(|url| DoctorFinding::new("base URL", CheckMark::Info, url)));
    findings
}

/// Reports the default model. Opening it checks the name and finds a key; only `--online` asks the provider.
fn model(setup: &Setup, is_online: bool) -> DoctorFinding {
    let opened = setup.config.models.default_model(None, &setup.process.reader()).and_then(|model| {
        setup.models(&RunOptions::default())?.resolve(&model)?;
        Ok(model)
    });
    match opened {
        Ok(model) if is_online || model.starts_with("scripted:") => {
            DoctorFinding::new("model", CheckMark::Info, model)
        }
        Ok(model) => DoctorFinding::new("model", CheckMark::Info, say!("doctor-model-not-asked", model)),
        Err(e) if e.code() == ErrorCode::ModelNotConfigured => {
            let text = format!("{} · {}", e.message(), e.advice().unwrap_or_default());
            DoctorFinding::new("model", CheckMark::Limited, text)
        }
        Err(e) => DoctorFinding::error("model", &e),
    }
}

/// Sends one tiny request to each configured provider: latency, and what its key may use.
async fn online(setup: &Setup) -> Vec<DoctorFinding> {
    let source = match setup.models(&RunOptions::default()) {
        Ok(source) => source,
        Err(e) => return vec![DoctorFinding::error("online", &e)],
    };
    let default = setup.config.models.configured_model(None, &setup.process.reader()).ok().flatten();
    let mut findings = Vec::new();
    for provider in setup.config.models.set_up_providers(&setup.process.reader()) {
        let listed = source.list_models(&provider).await;
        let preset = KNOWN.iter().find(|known| known.name == provider).and_then(|known| known.default_model);
        let own = default.clone().filter(|model| model.split(':').next() == Some(provider.as_str()));
        let first = || Some(listed.as_ref().ok()?.first()?.reference.clone());
        let model = own.or(preset.map(|model| format!("{provider}:{model}"))).or_else(first);
        let Some(model) = model else {
            let finding = match &listed {
                Ok(_) => {
                    DoctorFinding::new("online", CheckMark::Limited, say!("doctor-lists-nothing", provider))
                }
                Err(e) => DoctorFinding::error("online", e),
            };
            findings.push(finding);
            continue;
        };
        findings.push(match (source.probe(&model).await, &listed) {
            (Ok(ProbeReport { took, .. }), Ok(models)) => {
                let seconds = format!("{:.1}", took.as_secs_f64());
                let text = say!("doctor-answered", model, seconds, models = models.len());
                DoctorFinding::new("online", CheckMark::Fine, text)
            }
            (Ok(ProbeReport { took, .. }), Err(e)) => {
                let seconds = format!("{:.1}", took.as_secs_f64());
                let text = say!("doctor-answered-unlisted", model, seconds, why = e.message());
                DoctorFinding::new("online", CheckMark::Limited, text)
            }
            (Err(e), _) => DoctorFinding::error("online", &e),
        });
    }
    findings
}

/// Reports the mode of new tasks.
fn mode(setup: &Setup) -> DoctorFinding {
    let of = |is_attended| setup.config.session.mode.unwrap_or_else(|| setup.usual_mode(is_attended));
    DoctorFinding::new("mode", CheckMark::Info, say!("doctor-mode", here = of(true), elsewhere = of(false)))
}

/// Reports the sandbox tier. If commands are refused for lack of one, the installation is still sound.
fn confinement(setup: &Setup) -> DoctorFinding {
    let tier = setup.sandbox.tier();
    let mark = match &tier {
        Ok(SandboxTier::None) => CheckMark::Limited,
        Ok(SandboxTier::Kernel | SandboxTier::Namespaces) => CheckMark::Fine,
        Err(_) => CheckMark::Trouble,
    };
    let more = match &tier {
        Ok(SandboxTier::None) => format!(" {}", say!("doctor-sandbox-off")),
        Ok(SandboxTier::Kernel | SandboxTier::Namespaces) => {
            let top =
                if setup.sandbox.opens_top() { say!("doctor-top-open") } else { say!("doctor-top-closed") };
            format!(" · {top} · {}", say!("doctor-sandbox-network", network = setup.network()))
        }
        Err(_) => format!(" · {}", say!("doctor-sandbox-hint")),
    };
    let mut text = say!("doctor-confinement", commands = format!("{}{more}", setup.sandbox.describe()));
    let opened = setup.sandbox.protection().opened();
    if !opened.is_empty() {
        let names = opened.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        text.push_str(&say!("doctor-unprotected", names));
    }
    DoctorFinding::new("confinement", mark, text)
}

/// Reports how calls that need approval are handled.
fn approvals(setup: &Setup, is_attended: bool) -> Result<DoctorFinding> {
    let policy = setup.approvals(&RunOptions::default(), is_attended, &setup.tools()?)?;
    let who = match policy.mode {
        ApprovalHandling::Ask => {
            let default = policy.on_deadline.wire();
            say!("doctor-approvals-ask", default, seconds = policy.deadline_ms / 1000)
        }
        ApprovalHandling::Deny => say!("doctor-approvals-deny"),
        ApprovalHandling::AllowListed => say!("doctor-approvals-listed"),
        ApprovalHandling::Unattended => say!("doctor-approvals-unattended"),
    };
    let asked = match setup.config.approvals.ask.as_slice() {
        [] => say!("doctor-approvals-default"),
        ask => ask.join(", "),
    };
    Ok(DoctorFinding::new("approvals", CheckMark::Info, format!("{asked} · {who}")))
}

fn tools(setup: &Setup) -> Vec<DoctorFinding> {
    let found = match setup.tools() {
        Ok(found) => found,
        Err(e) => return vec![DoctorFinding::error("tools", &e)],
    };
    let problems = found.problems.iter().map(|e| DoctorFinding::error("tools", e));
    let mode = setup.config.session.mode.unwrap_or_else(|| setup.usual_mode(true));
    let granted = setup.grant(&RunOptions::default(), mode, &found).map(|grant| {
        let granted: Vec<&str> = grant.tools().collect();
        let names = found.tools.iter().map(|tool| tool.spec().name.as_str());
        let asked: Vec<&str> = names.filter(|name| !granted.contains(name)).collect();
        let mut text = granted.join(", ");
        if !asked.is_empty() {
            text.push_str(&format!(" · {}", say!("doctor-only-with-allow", names = asked.join(", "))));
        }
        DoctorFinding::new("tools", CheckMark::Fine, text)
    });
    problems.chain([DoctorFinding::or_error("tools", granted)]).collect()
}

/// Reports the depth of delegation and the limits on tasks.
fn delegation(setup: &Setup) -> DoctorFinding {
    let BoardLimits { running_max, open_max, on_limit } = setup.rules();
    let beyond = match on_limit {
        OnLimit::Reject => say!("doctor-limit-rejects"),
        OnLimit::Queue => say!("doctor-limit-queues"),
    };
    let text = say!("doctor-delegation", depth = setup.max_depth(), running_max, open_max, beyond);
    DoctorFinding::new("delegation", CheckMark::Info, text)
}

/// Reports each MCP server with its state and sandbox, without starting any.
fn servers(setup: &Setup) -> Vec<DoctorFinding> {
    let servers = setup.load_servers(ServerFilter::All);
    let of_servers =
        servers.all().iter().map(|named| DoctorFinding::new("MCP servers", CheckMark::Info, named.line()));
    let problems = servers
        .problems()
        .iter()
        .map(|e| DoctorFinding::new("MCP servers", CheckMark::Limited, e.message().to_string()));
    of_servers.chain(problems).collect()
}

fn agents(setup: &Setup) -> DoctorFinding {
    let snapshot = setup.snapshot();
    let (usable, all) = (snapshot.agents().count(), snapshot.entries().len());
    let untrusted = snapshot.untrusted().count();
    let mut parts = vec![say!("doctor-agents", usable, all)];
    parts.extend((untrusted > 0).then(|| say!("doctor-not-trusted", untrusted)));
    parts.push(say!("doctor-agents-check"));
    let text = parts.join(" · ");
    DoctorFinding::new("agents", if usable == all { CheckMark::Fine } else { CheckMark::Limited }, text)
}

/// Counts the prompt tokens that every request of an orchestrator carries.
fn prompts(setup: &Setup) -> Result<DoctorFinding> {
    let mut costs = vec![("prompt".to_owned(), estimate_tokens(ORCHESTRATOR))];
    costs.extend(setup.facades()?.costs(&*setup.agents(&RunOptions::default())));
    let total: u64 = costs.iter().map(|(_, tokens)| tokens).sum();
    let parts: Vec<String> = costs.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    let text = say!("doctor-to-delegate", parts = parts.join(", "), total);
    Ok(DoctorFinding::new("prompt tokens", CheckMark::Info, text))
}

async fn store(setup: &Setup) -> Result<DoctorFinding> {
    let store = setup.store()?;
    store.integrity().await?;
    let tasks = say!("many-tasks", n = store.count().await?);
    let size = sizes::in_words(store.size().await?.file_bytes);
    let text = say!("doctor-store", path = store.path().display(), tasks, size);
    Ok(DoctorFinding::new("store", CheckMark::Fine, text))
}

/// Reports the retention caps and what the last `posse gc` deleted.
fn retention(setup: &Setup) -> DoctorFinding {
    let caps = caps(&setup.config.store);
    let mut parts = Vec::new();
    parts.extend(caps.age_ms.map(|age| say!("doctor-retention-age", age = spans::in_words(age / 1000))));
    parts.extend(caps.bytes.map(|bytes| say!("doctor-retention-size", size = sizes::in_words(bytes))));
    if parts.is_empty() {
        parts.push(say!("doctor-retention-none"));
    }
    let report = std::fs::read(setup.state.join(REPORT)).unwrap_or_default();
    let report: Value = serde_json::from_slice(&report).unwrap_or_default();
    if let (Some(at_ms), Some(tasks)) = (report["at_ms"].as_u64(), report["tasks"].as_u64()) {
        let seconds = now_ms().saturating_sub(at_ms) / 1000;
        let (age, tasks) = (spans::in_words(seconds), say!("many-tasks", n = tasks));
        parts.push(say!("doctor-retention-last", age, tasks));
    }
    DoctorFinding::new("retention", CheckMark::Info, parts.join(" · "))
}

/// Localized topic for people; programs get the topic itself.
fn topic(topic: &str) -> String {
    match topic {
        "version" => say!("topic-version"),
        "configuration" => say!("topic-configuration"),
        "model" => say!("topic-model"),
        "keys" => say!("topic-keys"),
        "online" => say!("topic-online"),
        "base URL" => say!("topic-base-url"),
        "confinement" => say!("topic-confinement"),
        "mode" => say!("topic-mode"),
        "tools" => say!("topic-tools"),
        "delegation" => say!("topic-delegation"),
        "agents" => say!("topic-agents"),
        "MCP servers" => say!("topic-servers"),
        "prompt tokens" => say!("topic-prompt-tokens"),
        "store" => say!("topic-store"),
        "retention" => say!("topic-retention"),
        "terminal" => say!("topic-terminal"),
        "log" => say!("topic-log"),
        "traces" => say!("topic-traces"),
        other => other.to_owned(),
    }
}

impl DoctorFinding {
    /// Creates a finding.
    pub fn new(topic: &'static str, mark: CheckMark, text: impl Into<String>) -> Self {
        Self { topic, mark, text: text.into() }
    }

    /// Creates the finding of an error.
    pub fn error(topic: &'static str, e: &posse_core::Error) -> Self {
        let hint = e.advice().map(|hint| format!(" · {hint}")).unwrap_or_default();
        Self::new(topic, CheckMark::Trouble, format!("{}{hint}", e.message()))
    }

    fn or_error(topic: &'static str, found: Result<Self>) -> Self {
        found.unwrap_or_else(|e| Self::error(topic, &e))
    }

    /// Returns the topic in the language of the person.
    pub fn topic_word(&self) -> String {
        topic(self.topic)
    }

    /// Formats the finding for programs.
    pub fn json(&self) -> Value {
        let (ok, state) = (self.mark != CheckMark::Trouble, self.mark.wire());
        json!({ "topic": self.topic, "ok": ok, "state": state, "text": self.text })
    }
}
