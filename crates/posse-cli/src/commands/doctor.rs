//! `posse doctor`: what this installation has and lacks, and what to do about it.

use std::process::ExitCode;

use posse_core::Result;
use posse_core::approval::Mode;
use posse_core::board::{OnLimit, Rules};
use posse_core::grant::Tier;
use posse_core::text::estimate_tokens;
use posse_messages::say;
use posse_runtime::context::now_ms;
use serde_json::{Value, json};

use crate::agents::load;
use crate::args::{Global, How};
use crate::columns::Cell;
use crate::models::{self, KNOWN, process_env};
use crate::render::{Thing, many};
use crate::retention::{REPORT, RetentionCaps};
use crate::servers::{Servers, Wanted};
use crate::setup::{ORCHESTRATOR, Setup, user_config_dir};
use crate::{sizes, spans, terminal};

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Fine,
    Info,
    Trouble,
}

struct Finding {
    topic: &'static str,
    mark: Mark,
    text: String,
}

pub async fn run(global: &Global) -> Result<ExitCode> {
    let findings = examine(global).await;
    for finding in &findings {
        if global.json {
            terminal::out(&finding.json().to_string());
        } else {
            let mark = match finding.mark {
                Mark::Fine => "✓",
                Mark::Info => "·",
                Mark::Trouble => "✗",
            };
            terminal::out_foreign(&format!("{mark} {:<14} {}", Cell(topic(finding.topic)), finding.text));
        }
    }
    let trouble = findings.iter().any(|finding| finding.mark == Mark::Trouble);
    Ok(if trouble { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn examine(global: &Global) -> Vec<Finding> {
    let mut findings = vec![Finding::new("version", Mark::Info, env!("CARGO_PKG_VERSION"))];
    let setup = match Setup::load(global) {
        Ok(setup) => setup,
        Err(e) => {
            findings.push(Finding::error("configuration", &e));
            return findings;
        }
    };
    findings.push(configuration(&setup));
    findings.extend(keys(&setup));
    findings.push(match models::default_model(&setup.config, None, process_env) {
        Ok(model) => Finding::new("model", Mark::Fine, model),
        Err(e) => {
            Finding::new("model", Mark::Info, format!("{} · {}", e.message(), e.advice().unwrap_or_default()))
        }
    });
    let watched = setup.telemetry.places().into_iter();
    findings.extend(watched.map(|(topic, place)| Finding::new(topic, Mark::Info, place)));
    findings.push(confinement(&setup));
    findings.extend(setup.ignored_top().map(|text| Finding::new("confinement", Mark::Info, text)));
    findings.push(approvals(&setup));
    findings.extend(tools(&setup));
    findings.push(delegation(&setup));
    findings.extend(servers(&setup));
    findings.push(agents(&setup));
    findings.push(prompts(&setup));
    findings.push(store(&setup).await);
    findings.push(retention(&setup));
    findings
}

fn configuration(setup: &Setup) -> Finding {
    let files: Vec<String> = setup.config.files.iter().map(|path| path.display().to_string()).collect();
    let user = user_config_dir().map(|dir| dir.join("config.toml").display().to_string()).unwrap_or_default();
    match files.as_slice() {
        [] => Finding::new("configuration", Mark::Info, say!("doctor-no-configuration", user)),
        files => Finding::new("configuration", Mark::Fine, files.join(", ")),
    }
}

/// Which keys are seen; never what they are.
fn keys(setup: &Setup) -> Vec<Finding> {
    let mut names: Vec<String> =
        KNOWN.iter().flat_map(|known| known.key_envs).map(|name| (*name).to_owned()).collect();
    names.extend(setup.config.providers.values().filter_map(|provider| provider.key_variable()));
    names.sort_unstable();
    names.dedup();
    let seen: Vec<String> = names.into_iter().filter(|name| process_env(name).is_some()).collect();
    let text = if seen.is_empty() { say!("doctor-no-keys") } else { seen.join(", ") };
    let urls = KNOWN
        .iter()
        .filter_map(|known| known.base_env)
        .filter_map(|name| Some(format!("{name}={}", process_env(name)?)));
    let mut urls: Vec<String> = urls.collect();
    urls.dedup();
    let mut findings =
        vec![Finding::new("keys", if seen.is_empty() { Mark::Info } else { Mark::Fine }, text)];
    findings.extend(urls.into_iter().map(|url| Finding::new("base URL", Mark::Info, url)));
    findings
}

/// Which tier is in force. That commands are refused is a state in which nothing is broken but they do not run.
fn confinement(setup: &Setup) -> Finding {
    let tier = setup.sandbox.tier();
    let mark = match &tier {
        Ok(Tier::None) => Mark::Info,
        Ok(Tier::Kernel | Tier::Namespaces) => Mark::Fine,
        Err(_) => Mark::Trouble,
    };
    let more = match &tier {
        Ok(Tier::None) => " (`sandbox.tier` is `off`)".to_owned(),
        Ok(Tier::Kernel | Tier::Namespaces) => format!(" · network: {}", setup.network()),
        Err(_) => " · or set `tier = \"off\"` under `[sandbox]` in the user's configuration".to_owned(),
    };
    let mut text = say!("doctor-confinement", commands = format!("{}{more}", setup.sandbox.describe()));
    let opened = setup.sandbox.protection().opened();
    if !opened.is_empty() {
        let names = opened.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        text.push_str(&say!("doctor-unprotected", names));
    }
    Finding::new("confinement", mark, text)
}

/// What happens with calls that somebody has to be asked about.
fn approvals(setup: &Setup) -> Finding {
    let attended = terminal::is_attended();
    let policy = setup.tools().and_then(|found| setup.approvals(&How::default(), attended, &found));
    let policy = match policy {
        Ok(policy) => policy,
        Err(e) => return Finding::error("approvals", &e),
    };
    let who = match policy.mode {
        Mode::Ask => {
            let default = policy.on_deadline.wire();
            format!("you are asked; {default} after {} s without an answer", policy.deadline_ms / 1000)
        }
        Mode::Deny => "nobody is asked: refused".to_owned(),
        Mode::AllowListed => {
            "nobody is asked: what `approvals.allow` lists is done, all else is refused".to_owned()
        }
        Mode::Unattended => "nobody sits here: refused; at a terminal you are asked".to_owned(),
    };
    let asked = match setup.config.approvals.ask.as_slice() {
        [] => "what agents' files ask about".to_owned(),
        ask => ask.join(", "),
    };
    Finding::new("approvals", Mark::Info, format!("{asked} · {who}"))
}

fn tools(setup: &Setup) -> Vec<Finding> {
    let found = match setup.tools() {
        Ok(found) => found,
        Err(e) => return vec![Finding::error("tools", &e)],
    };
    let mut findings: Vec<Finding> = found.problems.iter().map(|e| Finding::error("tools", e)).collect();
    match setup.grant(&How::default(), &found) {
        Ok(grant) => {
            let granted: Vec<&str> = grant.tools().collect();
            let asked: Vec<&str> = found
                .tools
                .iter()
                .map(|tool| tool.spec().name.as_str())
                .filter(|name| !granted.contains(name))
                .collect();
            let more = if asked.is_empty() {
                String::new()
            } else {
                format!(" · {}", say!("doctor-only-with-allow", names = asked.join(", ")))
            };
            findings.push(Finding::new("tools", Mark::Fine, format!("{}{more}", granted.join(", "))));
        }
        Err(e) => findings.push(Finding::error("tools", &e)),
    }
    findings
}

/// Reports the depth of delegation and the limits on tasks.
fn delegation(setup: &Setup) -> Finding {
    let Rules { running_max, open_max, on_limit } = setup.rules();
    let beyond = match on_limit {
        OnLimit::Reject => say!("doctor-limit-rejects"),
        OnLimit::Queue => say!("doctor-limit-queues"),
    };
    let text = say!("doctor-delegation", depth = setup.max_depth(), running_max, open_max, beyond);
    Finding::new("delegation", Mark::Info, text)
}

/// Each MCP server with its state and how it is held; nobody is started.
fn servers(setup: &Setup) -> Vec<Finding> {
    let servers = Servers::load(setup, Wanted::All);
    let of_servers = servers.all().iter().map(|named| Finding::new("MCP servers", Mark::Info, named.line()));
    let problems =
        servers.problems().iter().map(|e| Finding::new("MCP servers", Mark::Info, e.message().to_string()));
    of_servers.chain(problems).collect()
}

fn agents(setup: &Setup) -> Finding {
    let snapshot = load(setup.places(), setup.trust(false)).snapshot();
    let (usable, all) = (snapshot.agents().count(), snapshot.entries().len());
    let untrusted = snapshot.untrusted().count();
    let mut parts = vec![say!("doctor-agents", usable, all)];
    parts.extend((untrusted > 0).then(|| say!("doctor-not-trusted", untrusted)));
    parts.push(say!("doctor-agents-check"));
    let text = parts.join(" · ");
    Finding::new("agents", if usable == all { Mark::Fine } else { Mark::Info }, text)
}

/// What every request of an orchestrator carries along, in tokens, before a word was said.
fn prompts(setup: &Setup) -> Finding {
    let facades = match setup.facades() {
        Ok(facades) => facades,
        Err(e) => return Finding::error("prompt tokens", &e),
    };
    let mut costs = vec![("prompt".to_owned(), estimate_tokens(ORCHESTRATOR))];
    costs.extend(facades.costs(&*setup.agents(&How::default())));
    let total: u64 = costs.iter().map(|(_, tokens)| tokens).sum();
    let parts: Vec<String> = costs.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    Finding::new("prompt tokens", Mark::Info, say!("doctor-to-delegate", parts = parts.join(", "), total))
}

async fn store(setup: &Setup) -> Finding {
    let examined = async {
        let store = setup.store()?;
        store.integrity().await?;
        let tasks = many(store.count().await?, Thing::Task);
        let size = sizes::in_words(store.size().await?.file_bytes);
        Ok(say!("doctor-store", path = store.path().display(), tasks, size))
    };
    match examined.await {
        Ok(text) => Finding::new("store", Mark::Fine, text),
        Err(e) => Finding::error("store", &e),
    }
}

/// How long tasks stay, and what the last `posse gc` deleted.
fn retention(setup: &Setup) -> Finding {
    let caps = RetentionCaps::of(&setup.config.store);
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
        let (age, tasks) = (spans::in_words(seconds), many(tasks, Thing::Task));
        parts.push(say!("doctor-retention-last", age, tasks));
    }
    Finding::new("retention", Mark::Info, parts.join(" · "))
}

/// For people; programs get the topic itself.
fn topic(topic: &str) -> String {
    match topic {
        "version" => say!("topic-version"),
        "configuration" => say!("topic-configuration"),
        "model" => say!("topic-model"),
        "keys" => say!("topic-keys"),
        "base URL" => say!("topic-base-url"),
        "confinement" => say!("topic-confinement"),
        "tools" => say!("topic-tools"),
        "delegation" => say!("topic-delegation"),
        "agents" => say!("topic-agents"),
        "MCP servers" => say!("topic-servers"),
        "prompt tokens" => say!("topic-prompt-tokens"),
        "store" => say!("topic-store"),
        "retention" => say!("topic-retention"),
        "log" => say!("topic-log"),
        "traces" => say!("topic-traces"),
        other => other.to_owned(),
    }
}

impl Finding {
    fn new(topic: &'static str, mark: Mark, text: impl Into<String>) -> Self {
        Self { topic, mark, text: text.into() }
    }

    fn error(topic: &'static str, e: &posse_core::Error) -> Self {
        let hint = e.advice().map(|hint| format!(" · {hint}")).unwrap_or_default();
        Self::new(topic, Mark::Trouble, format!("{}{hint}", e.message()))
    }

    fn json(&self) -> Value {
        json!({ "topic": self.topic, "ok": self.mark != Mark::Trouble, "text": self.text })
    }
}
