//! The tools of a session: looked up by name or alias, checked against their schema, run with panics contained.

mod plain;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use posse_core::approval::{ApprovalPolicy, DIFF};
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::redact::SecretRedactor;
use posse_core::tool::{DELEGATION, ToolEffect, ToolSpec, canonical, own_name};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::Value;

use self::plain::PlainSchema;
use crate::panics::PanicGuard;
use crate::ports::{Approver, CallProposal, LeftoverSweep, Tool, ToolInput, ToolOutput};
use crate::schema::OutputSchema;

/// The tools of a run, with policy and redaction.
#[derive(Clone, Default)]
pub struct Toolbox {
    /// By canonical name. Only delegation has several tools under one name.
    entries: Arc<BTreeMap<String, Vec<ToolEntry>>>,
    /// By the same names.
    effects: Arc<BTreeMap<String, ToolEffect>>,
    /// Grant that decides which tools are shown, if not the task's own.
    shown: Option<Arc<Grant>>,
    approver: Option<Arc<dyn Approver>>,
    /// Removes secrets from results.
    redactor: Arc<SecretRedactor>,
    /// Policy for calls that need an approval when there is no approver.
    policy: Arc<ApprovalPolicy>,
    /// Ends processes that tools of a dead driver left running.
    sweep: Option<LeftoverSweep>,
}

struct ToolEntry {
    tool: Arc<dyn Tool>,
    /// Built when the tool is first called: most tools of a session never are.
    plain: OnceLock<Option<PlainSchema>>,
    /// Compiled when arguments fail the plain check.
    schema: OnceLock<Option<OutputSchema>>,
}

pub(crate) enum ToolAnswer {
    Ran(ToolOutput),
    /// The arguments do not satisfy the schema; nothing was run.
    Mistake(String),
}

impl Toolbox {
    /// Creates a toolbox; fails on two tools of one name.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self> {
        let mut entries: BTreeMap<String, Vec<ToolEntry>> = BTreeMap::new();
        for tool in tools {
            let name = canonical(&tool.spec().name).into_owned();
            let doors = entries.entry(name.clone()).or_default();
            let own = own_name(&tool.spec().name);
            if !doors.is_empty() && (name != DELEGATION || doors.iter().any(|door| door.own_name() == own)) {
                return Err(Error::new(ErrorCode::DuplicateTool, localized!("tool-twice", own))
                    .hint(localized!("tool-twice-hint")));
            }
            doors.push(ToolEntry { tool, plain: OnceLock::new(), schema: OnceLock::new() });
        }
        let effects = Arc::new(effects_of(&entries));
        Ok(Self { entries: Arc::new(entries), effects, ..Self::default() })
    }

    /// Returns the toolbox with more tools.
    pub fn with(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self> {
        let mine = self.entries.values().flatten().map(|entry| entry.tool.clone());
        Ok(Self {
            shown: self.shown.clone(),
            approver: self.approver.clone(),
            redactor: self.redactor.clone(),
            policy: self.policy.clone(),
            sweep: self.sweep,
            ..Self::new(mine.chain(tools))?
        })
    }

    /// Returns the toolbox with these tools in place of those with the same names. None is added.
    pub fn replaced_by(&self, tools: &[Arc<dyn Tool>]) -> Result<Self> {
        let stand_in = |tool: &Arc<dyn Tool>| {
            let name = own_name(&tool.spec().name);
            tools.iter().find(|other| own_name(&other.spec().name) == name).unwrap_or(tool).clone()
        };
        let mine = self.entries.values().flatten().map(|entry| stand_in(&entry.tool));
        let Self { entries, effects, .. } = Self::new(mine)?;
        // Approver, redactor and policy stay the same.
        Ok(Self { entries, effects, ..self.clone() })
    }

    /// Returns the toolbox that also shows the tools of another grant. The task's own grant still decides its calls.
    /// Requests of two agents then share a prefix, which a provider's prompt cache needs.
    pub fn showing(&self, grant: Grant) -> Self {
        Self { shown: Some(Arc::new(grant)), ..self.clone() }
    }

    /// Returns the toolbox with this approver for calls with side effects.
    pub fn approved_by(&self, approver: Arc<dyn Approver>) -> Self {
        Self { approver: Some(approver), ..self.clone() }
    }

    /// Returns the toolbox with this redactor. The default one finds keys by their shape.
    pub fn redacted_by(&self, redactor: SecretRedactor) -> Self {
        Self { redactor: Arc::new(redactor), ..self.clone() }
    }

    pub(crate) fn redactor(&self) -> &SecretRedactor {
        &self.redactor
    }

    /// Returns the toolbox with this policy for calls that need an approval.
    pub fn with_approvals(&self, policy: ApprovalPolicy) -> Self {
        Self { policy: Arc::new(policy), ..self.clone() }
    }

    /// Returns the toolbox with this sweep, which ends processes that tools of a dead driver left running.
    pub fn swept_by(&self, sweep: LeftoverSweep) -> Self {
        Self { sweep: Some(sweep), ..self.clone() }
    }

    /// Ends the processes that earlier drivers of a task left running. The caller has claimed the task at `epoch`.
    pub(crate) async fn sweep(&self, task: &TaskId, epoch: u64) {
        let Some(sweep) = self.sweep else { return };
        let task = task.clone();
        // Ignored: after a panic in the sweep, the task runs beside leftover processes.
        let _ = tokio::task::spawn_blocking(move || sweep(&task, epoch)).await;
    }

    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.approver.as_ref()
    }

    pub(crate) fn policy(&self) -> &ApprovalPolicy {
        &self.policy
    }

    /// Returns the tool's preview of a call; fails if the call cannot be made.
    pub(crate) fn propose(&self, name: &str, input: &ToolInput<'_>) -> Result<CallProposal, ToolAnswer> {
        let Some(entry) = self.find(name) else { return Ok(CallProposal::default()) };
        if let Some(complaint) = entry.complaint(input.arguments) {
            return Err(ToolAnswer::Mistake(complaint));
        }
        let mut proposal = entry.tool.propose(input).map_err(ToolAnswer::Ran)?;
        // The preview is stored, so one with a secret in its diff is dropped; the arguments are shown instead.
        let is_secret = |shown: &Value| {
            shown[DIFF].as_str().is_some_and(|diff| matches!(self.redactor.redact(diff), Cow::Owned(_)))
        };
        proposal.shown = proposal.shown.filter(|shown| !is_secret(shown));
        Ok(proposal)
    }

    /// Returns how arguments violate the schema of a tool; `None` if they fit.
    pub(crate) fn misfit(&self, name: &str, arguments: &Value) -> Option<String> {
        match self.find(name) {
            Some(entry) => entry.violations(arguments),
            None => Some(localized!("tool-not-there", unknown = name).english().to_owned()),
        }
    }

    /// Tells whether a call of this tool may change files.
    pub(crate) fn writes_files(&self, name: &str) -> bool {
        self.find(name).is_some_and(|entry| entry.tool.writes_files())
    }

    /// Checks if a call of this tool hands a task to an agent and waits for it.
    pub(crate) fn delegates(&self, name: &str) -> bool {
        self.find(name).is_some_and(|entry| entry.tool.delegates())
    }

    /// Iterates over the names that can be granted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns the declared effect of each tool.
    pub fn effects(&self) -> Arc<BTreeMap<String, ToolEffect>> {
        self.effects.clone()
    }

    /// Estimates the tokens that the specs of these tools take in a request.
    pub fn cost(specs: &[ToolSpec]) -> u64 {
        let size = |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.input_schema.len();
        specs.iter().map(|spec| size(spec) as u64 / 4 + 10).sum()
    }

    /// Returns the descriptions of the tools a task may call; others would only waste turns.
    pub fn offered(&self, grant: &Grant) -> Vec<ToolSpec> {
        let grant = self.shown.as_deref().unwrap_or(grant);
        let granted = grant.tools().filter_map(|name| self.entries.get(name)).flatten();
        let offers = |spec: &ToolSpec| grant.offers(&canonical(&spec.name), spec.effect);
        granted.filter(|entry| offers(entry.tool.spec())).map(|entry| entry.tool.spec_for(grant)).collect()
    }

    pub(crate) async fn call(&self, name: &str, input: ToolInput<'_>) -> ToolAnswer {
        let Some(entry) = self.find(name) else {
            return ToolAnswer::Mistake(localized!("tool-not-there", unknown = name).english().to_owned());
        };
        if let Some(complaint) = entry.complaint(input.arguments) {
            return ToolAnswer::Mistake(complaint);
        }
        match PanicGuard(entry.tool.call(input)).await {
            Ok(output) => ToolAnswer::Ran(self.redact_output(output)),
            Err(panic) => ToolAnswer::Ran(ToolOutput::cut_off(format!(
                "internal_error: the tool `{name}` crashed ({panic}). This is a bug of the tool, not \
                 of your call"
            ))),
        }
    }

    /// Removes secrets from an output. File and screen keep them; conversation, journal and provider do not get them.
    fn redact_output(&self, mut output: ToolOutput) -> ToolOutput {
        if let Cow::Owned(redacted) = self.redactor.redact(&output.text) {
            output.text = redacted;
        }
        output
    }

    /// Finds the tool by its exact name, or the first one that the name is an alias of.
    fn find(&self, name: &str) -> Option<&ToolEntry> {
        let doors = self.entries.get(canonical(name).as_ref())?;
        let own = own_name(name);
        doors.iter().find(|door| door.own_name() == own).or_else(|| doors.first())
    }
}

/// Collects the effects; of several tools under one name, the most restrictive counts.
fn effects_of(entries: &BTreeMap<String, Vec<ToolEntry>>) -> BTreeMap<String, ToolEffect> {
    let most_careful = |doors: &[ToolEntry]| doors.iter().map(|door| door.tool.spec().effect).max();
    let known = entries.iter().filter_map(|(name, doors)| Some((name.clone(), most_careful(doors)?)));
    known.collect()
}

impl ToolEntry {
    fn own_name(&self) -> Cow<'_, str> {
        own_name(&self.tool.spec().name)
    }

    /// Returns the violations of the arguments, each with its path.
    fn complaint(&self, arguments: &str) -> Option<String> {
        if self.tool.checks_arguments() {
            return None;
        }
        let plain = self.plain.get_or_init(|| PlainSchema::of(&self.schema()?));
        if plain.as_ref().is_some_and(|plain| plain.surely_fits(arguments)) {
            return None;
        }
        match serde_json::from_str(arguments) {
            Ok(arguments) => self.violations(&arguments),
            Err(e) => Some(e.to_string()),
        }
    }

    fn violations(&self, arguments: &Value) -> Option<String> {
        let schema = self.schema.get_or_init(|| OutputSchema::parse(&self.tool.spec().input_schema).ok());
        let Some(schema) = schema else {
            return Some("the tool's own schema is broken; it cannot be called".to_owned());
        };
        let errors = schema.errors(arguments, "arguments");
        if errors.is_empty() {
            return None;
        }
        let mut text = "the arguments do not fit the tool's schema, nothing was run:".to_owned();
        for error in errors {
            let _ = write!(text, "\n- {error}");
        }
        Some(text)
    }

    fn schema(&self) -> Option<Value> {
        serde_json::from_str(&self.tool.spec().input_schema).ok()
    }
}
