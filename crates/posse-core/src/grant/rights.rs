//! What an agent asks for, and what each part of that has against a call.

use serde::{Deserialize, Serialize};

use super::network::NetworkGrant;
use super::{AccessLevel, Autonomy, GrantRule, RuleVerdict, SandboxTier, subject};
use crate::pattern::{CallSubject, PatternFit, PatternPurpose, ToolPattern};
use crate::tool::ToolEffect;

/// Rights an agent asks for. Absent fields leave the parent's rights as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rights {
    /// Only these; `None`: whatever the parent has.
    pub tools: Option<Vec<ToolPattern>>,
    /// Never these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ToolPattern>,
    /// For each call the last rule that fits decides; where none fits, nothing is taken away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<GrantRule>,
    #[serde(skip_serializing_if = "AccessLevel::is_whole")]
    pub access: AccessLevel,
    /// Files may be written only where one of these globs fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_paths: Option<Vec<String>>,
    /// Files may be read only in these directories, or these files alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_roots: Option<Vec<String>>,
    /// Hosts it may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkGrant>,
    /// Upper bound of the autonomy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// Lower bound of the confinement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxTier>,
}

/// An objection to a call. Later variants weigh more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Objection {
    /// A rule wants a person to be asked.
    Rule(String),
    /// Undecidable by rule: only a person can decide.
    Doubt(String),
    Never(String),
}

/// A call as conditions see it.
pub(super) struct CallCase<'a> {
    pub tool: &'a str,
    pub effect: ToolEffect,
    pub workspace: &'a str,
    /// The kernel enforces the paths and the network of the grant on processes.
    pub is_confined: bool,
}

impl Rights {
    /// Only the tools with these canonical names.
    pub fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let tools = names.into_iter().map(ToolPattern::tool).collect();
        Self { tools: Some(tools), ..Self::default() }
    }

    /// Checks if the list of tools names this one. A right that is only inherited is not listed.
    pub fn lists(&self, tool: &str) -> bool {
        self.tools.iter().flatten().any(|pattern| pattern.names(tool))
    }

    /// Tells whether some call of the tool may be allowed, judging by names alone.
    pub fn mentions(&self, tool: &str) -> bool {
        let listed = self.tools.as_ref().is_none_or(|patterns| patterns.iter().any(|p| p.names(tool)));
        let denied = self.deny.iter().any(|p| p.names(tool) && p.argument().is_none());
        listed && !denied && !self.is_ruled_out(tool)
    }

    /// Tells whether the rules refuse every call of the tool.
    fn is_ruled_out(&self, tool: &str) -> bool {
        let mut ruled_out = false;
        for rule in self.rules.iter().filter(|rule| rule.pattern.names(tool)) {
            match (rule.verdict, rule.pattern.argument()) {
                (RuleVerdict::Allow | RuleVerdict::Ask, _) => ruled_out = false,
                (RuleVerdict::Deny, None) => ruled_out = true,
                (RuleVerdict::Deny, Some(_)) => {}
            }
        }
        ruled_out
    }

    /// Returns the rights to check on each call; the rest is already part of the grant.
    pub(super) fn conditions(&self) -> Option<Rights> {
        let with_argument = |patterns: &[ToolPattern]| patterns.iter().any(|p| p.argument().is_some());
        let has_some = self.tools.as_deref().is_some_and(with_argument)
            || with_argument(&self.deny)
            || !self.rules.is_empty()
            || self.access != AccessLevel::Whole
            || self.write_paths.is_some()
            || self.read_roots.is_some();
        has_some.then(|| Rights { network: None, autonomy: None, sandbox: None, ..self.clone() })
    }

    /// Tells whether a rule concerns the paths of the tool's calls.
    pub(super) fn looks_at_places(&self, tool: &str) -> bool {
        let about = |p: &ToolPattern| p.argument().is_some() && p.names(tool);
        self.tools.iter().flatten().chain(&self.deny).any(about)
            || self.rules.iter().any(|rule| about(&rule.pattern))
            || self.read_roots.is_some()
            || self.write_paths.is_some() && matches!(tool, "write" | "edit")
    }

    /// The most that stands against a call.
    pub(super) fn objection(&self, case: &CallCase<'_>, subject: &CallSubject<'_>) -> Option<Objection> {
        let CallCase { tool, effect, .. } = *case;
        if !self.access.allows(tool, effect) {
            return Some(Objection::Never(format!(
                "this task may only look: `{tool}` could change something"
            )));
        }
        let all = [
            self.by_list(tool, subject),
            self.by_denial(tool, subject),
            self.by_rule(tool, subject),
            self.by_write_path(case, subject),
            self.by_read_root(case, subject),
        ];
        // Of equals the first: a list says best what is possible.
        all.into_iter().flatten().reduce(|most, next| if next.weight() > most.weight() { next } else { most })
    }

    fn by_list(&self, tool: &str, subject: &CallSubject<'_>) -> Option<Objection> {
        let ours: Vec<&ToolPattern> = self.tools.as_ref()?.iter().filter(|p| p.names(tool)).collect();
        let fit = |p: &&ToolPattern| {
            p.argument().map_or(PatternFit::Surely, |a| subject.fit(a, PatternPurpose::Give))
        };
        let best = ours.iter().map(fit).max().unwrap_or(PatternFit::Not);
        let allowed: Vec<&str> = ours.iter().filter_map(|p| p.argument()).collect();
        let why = || format!("`{tool}` is allowed to this task only for: {}", allowed.join(", "));
        Objection::unless(best, why)
    }

    fn by_denial(&self, tool: &str, subject: &CallSubject<'_>) -> Option<Objection> {
        let fit = |p: &ToolPattern| match p.names(tool) {
            true => p.argument().map_or(PatternFit::Surely, |a| subject.fit(a, PatternPurpose::Take)),
            false => PatternFit::Not,
        };
        let (fit, pattern) = self
            .deny
            .iter()
            .map(|p| (fit(p), p))
            .reduce(|most, next| if next.0 > most.0 { next } else { most })?;
        Objection::because(fit, || format!("this task must not call `{pattern}`"))
    }

    fn by_rule(&self, tool: &str, subject: &CallSubject<'_>) -> Option<Objection> {
        let mut doubt = None;
        for GrantRule { pattern, verdict } in self.rules.iter().rev().filter(|rule| rule.pattern.names(tool))
        {
            let purpose =
                if *verdict == RuleVerdict::Allow { PatternPurpose::Give } else { PatternPurpose::Take };
            let fit = pattern.argument().map_or(PatternFit::Surely, |a| subject.fit(a, purpose));
            let denied = || format!("a rule of this agent denies `{pattern}`");
            match (verdict, fit) {
                (_, PatternFit::Not) => {}
                // To look after one's tasks is nothing to be asked about.
                (RuleVerdict::Ask, _) if *subject == CallSubject::Free => return doubt,
                // What might be allowed by this one is decided by those before it.
                (RuleVerdict::Allow, PatternFit::Perhaps) => {}
                (RuleVerdict::Allow, PatternFit::Surely) => return doubt,
                (RuleVerdict::Ask, PatternFit::Perhaps | PatternFit::Surely) => {
                    let asked = Objection::Rule(format!("`{pattern}` needs a person's yes"));
                    return Some(doubt.unwrap_or(asked));
                }
                (RuleVerdict::Deny, PatternFit::Surely) => return Some(Objection::Never(denied())),
                (RuleVerdict::Deny, PatternFit::Perhaps) => {
                    doubt = doubt.or_else(|| Objection::because(fit, denied));
                }
            }
        }
        doubt
    }

    /// The rule by which a person has to be asked.
    pub(super) fn asking_rule(&self, tool: &str, subject: &CallSubject<'_>) -> Option<&ToolPattern> {
        let fits = |rule: &&GrantRule| {
            let wanted = match rule.verdict {
                RuleVerdict::Allow => (PatternPurpose::Give, PatternFit::Surely),
                RuleVerdict::Ask | RuleVerdict::Deny => (PatternPurpose::Take, PatternFit::Perhaps),
            };
            rule.pattern.names(tool)
                && rule.pattern.argument().map_or(PatternFit::Surely, |a| subject.fit(a, wanted.0))
                    >= wanted.1
        };
        let rule = self.rules.iter().rev().filter(|_| *subject != CallSubject::Free).find(fits)?;
        (rule.verdict == RuleVerdict::Ask).then_some(&rule.pattern)
    }

    fn by_write_path(&self, case: &CallCase<'_>, subject: &CallSubject<'_>) -> Option<Objection> {
        let globs = self.write_paths.as_ref()?;
        let where_to = || if globs.is_empty() { "nowhere".to_owned() } else { globs.join(", ") };
        match case.tool {
            "write" | "edit" => {
                let inside =
                    globs.iter().any(|glob| subject.fit(glob, PatternPurpose::Give) == PatternFit::Surely);
                let why = || Objection::Never(format!("this task may write only here: {}", where_to()));
                (!inside).then(why)
            }
            // What a command writes cannot be told from its text.
            "bash" if !case.is_confined => Some(Objection::Never(format!(
                "this task may write only here: {}, and a command is not held to that",
                where_to()
            ))),
            _ => None,
        }
    }

    fn by_read_root(&self, case: &CallCase<'_>, subject: &CallSubject<'_>) -> Option<Objection> {
        let roots = self.read_roots.as_ref()?;
        let where_to = || if roots.is_empty() { "nowhere".to_owned() } else { roots.join(", ") };
        match case.tool {
            "read" | "edit" | "grep" | "glob" | "ls" | "directory_tree" => {
                let inside = match subject {
                    CallSubject::Path(path) => {
                        roots.iter().any(|root| subject::is_below(root, path, case.workspace))
                    }
                    _ => false,
                };
                let why = || Objection::Never(format!("this task may read only here: {}", where_to()));
                (!inside).then(why)
            }
            "bash" if !case.is_confined => Some(Objection::Never(format!(
                "this task may read only here: {}, and a command is not held to that",
                where_to()
            ))),
            _ => None,
        }
    }
}

impl Objection {
    fn because(fit: PatternFit, why: impl Fn() -> String) -> Option<Self> {
        match fit {
            PatternFit::Not => None,
            PatternFit::Perhaps => Some(Objection::Doubt(why())),
            PatternFit::Surely => Some(Objection::Never(why())),
        }
    }

    fn unless(fit: PatternFit, why: impl Fn() -> String) -> Option<Self> {
        match fit {
            PatternFit::Not => Some(Objection::Never(why())),
            PatternFit::Perhaps => Some(Objection::Doubt(why())),
            PatternFit::Surely => None,
        }
    }

    /// Returns the rank for comparing objections.
    pub fn weight(&self) -> u8 {
        match self {
            Objection::Rule(_) => 0,
            Objection::Doubt(_) => 1,
            Objection::Never(_) => 2,
        }
    }

    /// Rewrites the text of the objection.
    pub fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Objection::Rule(why) => Objection::Rule(change(why)),
            Objection::Doubt(why) => Objection::Doubt(change(why)),
            Objection::Never(why) => Objection::Never(change(why)),
        }
    }
}
