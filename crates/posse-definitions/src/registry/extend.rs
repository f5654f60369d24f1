//! Merges an agent with the agents it extends. Its own fields override inherited ones; inherited denials
//! stay. The grant of the delegating task limits the result.

use std::sync::Arc;

use posse_core::definition::{
    AgentMode, AnswerRules, ApprovalSetting, DefinedLimits, Definition, Isolation, KeptKeys, ModelChoice,
    Remark, RemarkSeverity,
};
use posse_core::grant::{AccessLevel, Rights};
use posse_messages::{LocalizedText, localized};

use super::rank::Groups;
use super::{AgentCandidate, AgentState, ExtendedState, ReadyAgent, TrustStanding};

/// Maximum length of an `extends` chain; longer ones are a mistake.
const EXTENDS_MAX: usize = 8;

/// Returns the state of a name's chosen agent, and the hashes of everything it consists of.
pub(super) fn resolve(groups: &Groups, name: &str) -> (AgentState, String) {
    let (chain, fault) = follow(groups, name);
    let contents =
        chain.iter().map(|candidate| candidate.read.origin.hash.as_str()).collect::<Vec<_>>().join(" ");
    (state(&chain, fault), contents)
}

fn state(chain: &[&AgentCandidate], fault: Option<Remark>) -> AgentState {
    let then = once_trusted(chain, fault);
    // Trust comes first: a model sees nothing of an untrusted file, not even its errors.
    match chain.iter().find(|candidate| candidate.standing != TrustStanding::Trusted) {
        None => then,
        Some(doubtful) => AgentState::NotTrusted {
            path: doubtful.read.origin.path.clone(),
            standing: doubtful.standing,
            then: Box::new(then),
        },
    }
}

fn once_trusted(chain: &[&AgentCandidate], fault: Option<Remark>) -> AgentState {
    if let Some(fault) = fault {
        let own = chain.iter().take(1).flat_map(|candidate| candidate.read.errors().cloned());
        return AgentState::Invalid(own.chain([fault]).collect());
    }
    let mut definitions = Vec::with_capacity(chain.len());
    for (candidate, is_own) in chain.iter().zip(std::iter::once(true).chain(std::iter::repeat(false))) {
        match usable(candidate) {
            Ok(definition) => definitions.push(definition),
            Err(errors) if is_own => return AgentState::Invalid(errors),
            Err(errors) => return AgentState::Invalid(vec![inherited(candidate, &errors)]),
        }
    }
    if definitions[0].mode.disabled {
        return AgentState::Disabled;
    }
    AgentState::Ready(ReadyAgent(match (chain, definitions.as_slice()) {
        ([only], [definition]) if definition.prompt_append.is_none() => {
            ExtendedState::Alone(only.read.clone())
        }
        (_, definitions) => {
            let mut parents = definitions.iter().rev().copied().cloned();
            let base = joined(parents.next().expect("a chain has at least the agent itself"));
            ExtendedState::Joined(Arc::new(parents.fold(base, |parent, child| overlay(child, parent))))
        }
    }))
}

/// Follows `extends` from an agent; returns the chain and the fault that ended it, if any.
fn follow<'a>(groups: &'a Groups, name: &'a str) -> (Vec<&'a AgentCandidate>, Option<Remark>) {
    let (mut name, mut rank) = (name, 0);
    let mut visited: Vec<(&str, usize)> = Vec::new();
    let mut chain = Vec::new();
    loop {
        let Some(candidate) = groups.get(name).and_then(|group| group.get(rank)) else {
            return (chain, Some(fault(localized!("extends-missing", name))));
        };
        visited.push((name, rank));
        chain.push(candidate);
        let Some(next) =
            candidate.read.definition.as_ref().and_then(|definition| definition.extends.as_ref())
        else {
            return (chain, None);
        };
        // An agent that extends its own name means the one it hides: a variation of `general`.
        rank = if next.as_str() == name { rank + 1 } else { 0 };
        name = next.as_str();
        if visited.contains(&(name, rank)) {
            let circle: Vec<&str> = visited.iter().map(|(name, _)| *name).chain([name]).collect();
            return (chain, Some(fault(localized!("extends-circle", names = circle.join(", ")))));
        }
        if chain.len() > EXTENDS_MAX {
            return (chain, Some(fault(localized!("extends-too-many", most = EXTENDS_MAX))));
        }
    }
}

fn usable(candidate: &AgentCandidate) -> Result<&Definition, Vec<Remark>> {
    let errors: Vec<Remark> = candidate.read.errors().cloned().collect();
    match &candidate.read.definition {
        Some(definition) if errors.is_empty() => Ok(definition),
        None if errors.is_empty() => Err(vec![fault(localized!("file-without-agent"))]),
        _ => Err(errors),
    }
}

fn inherited(parent: &AgentCandidate, errors: &[Remark]) -> Remark {
    let why = errors.first().map(|error| error.text.clone()).unwrap_or_default();
    fault(localized!("extends-unusable", name = parent.read.name, why, path = parent.read.origin.path))
}

fn fault(text: LocalizedText) -> Remark {
    Remark { severity: RemarkSeverity::Error, text, line: None, hint: Some(localized!("extends-hint")) }
}

/// Appends the agent's own addition to its prompt.
fn joined(mut definition: Definition) -> Definition {
    if let Some(more) = definition.prompt_append.take() {
        definition.prompt = match definition.prompt.trim_end() {
            "" => more,
            prompt => format!("{prompt}\n\n{more}"),
        };
    }
    definition
}

/// Overlays a child on its resolved parent. Identity is not inherited: name, origin, display name, hidden,
/// disabled and ignored keys.
fn overlay(child: Definition, parent: Definition) -> Definition {
    fn own_or<T>(own: Vec<T>, parent: Vec<T>) -> Vec<T> {
        if own.is_empty() { parent } else { own }
    }
    let text = |own: String, parent: String| if own.trim().is_empty() { parent } else { own };
    joined(Definition {
        name: child.name,
        origin: child.origin,
        description: text(child.description, parent.description),
        prompt: text(child.prompt, parent.prompt),
        prompt_append: child.prompt_append,
        extends: child.extends,
        task_in: child.task_in.or(parent.task_in),
        model: overlay_model(child.model, parent.model),
        kept: KeptKeys {
            tools_written: if child.rights.tools.is_some() {
                child.kept.tools_written
            } else {
                parent.kept.tools_written
            },
            skills: own_or(child.kept.skills, parent.kept.skills),
            color: child.kept.color.or(parent.kept.color),
            ..child.kept
        },
        rights: overlay_rights(child.rights, parent.rights),
        limits: overlay_limits(child.limits, parent.limits),
        approval: stricter(child.approval, parent.approval),
        answer: AnswerRules {
            output_schema: child.answer.output_schema.or(parent.answer.output_schema),
            verify: own_or(child.answer.verify, parent.answer.verify),
        },
        mcp_servers: parent.mcp_servers.into_iter().chain(child.mcp_servers).collect(),
        mode: AgentMode {
            background: child.mode.background || parent.mode.background,
            isolation: match child.mode.isolation {
                Isolation::None => parent.mode.isolation,
                Isolation::Worktree => Isolation::Worktree,
            },
            ..child.mode
        },
    })
}

fn overlay_model(child: ModelChoice, parent: ModelChoice) -> ModelChoice {
    ModelChoice {
        candidates: if child.candidates.is_empty() { parent.candidates } else { child.candidates },
        effort: child.effort.or(parent.effort),
        temperature: child.temperature.or(parent.temperature),
        options: parent.options.into_iter().chain(child.options).collect(),
    }
}

/// Merges rights. A child can replace the tool list; it inherits denials, rules and the read-only setting.
fn overlay_rights(child: Rights, parent: Rights) -> Rights {
    let read_only = child.access == AccessLevel::ReadOnly || parent.access == AccessLevel::ReadOnly;
    Rights {
        tools: child.tools.or(parent.tools),
        deny: parent.deny.into_iter().chain(child.deny).collect(),
        rules: parent.rules.into_iter().chain(child.rules).collect(),
        access: if read_only { AccessLevel::ReadOnly } else { AccessLevel::Whole },
        write_paths: child.write_paths.or(parent.write_paths),
        read_roots: child.read_roots.or(parent.read_roots),
        network: match (child.network, parent.network) {
            (Some(child), Some(parent)) => Some(parent.narrow(&child)),
            (child, parent) => child.or(parent),
        },
        autonomy: child.autonomy.max(parent.autonomy),
        sandbox: child.sandbox.max(parent.sandbox),
    }
}

fn stricter(child: Option<ApprovalSetting>, parent: Option<ApprovalSetting>) -> Option<ApprovalSetting> {
    let strictness = |approval: &ApprovalSetting| match approval {
        ApprovalSetting::Auto => 0,
        ApprovalSetting::Ask => 1,
        ApprovalSetting::Deny => 2,
    };
    child.into_iter().chain(parent).max_by_key(strictness)
}

fn overlay_limits(child: DefinedLimits, parent: DefinedLimits) -> DefinedLimits {
    DefinedLimits {
        turns: child.turns.or(parent.turns),
        tool_calls: child.tool_calls.or(parent.tool_calls),
        wall_s: child.wall_s.or(parent.wall_s),
        input_tokens: child.input_tokens.or(parent.input_tokens),
        output_tokens: child.output_tokens.or(parent.output_tokens),
        cost_micros: child.cost_micros.or(parent.cost_micros),
    }
}
