//! Asking a person before a call is made: what is asked, what is answered, and for how long an answer holds. Stores keep
//! these values and apply these rules inside one transaction, so that of several answers the first one counts.

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::wire::utc;
use crate::error::{Error, ErrorCode, Result};
use crate::fact::LiveFact;
use crate::grant::RequestedCall;
use crate::id::{CallKey, TaskId};
use crate::pattern::{CallSubject, PatternFit, PatternPurpose, ToolPattern};
use crate::text::{prefix, visible};

/// Longest reason that is kept: the model reads it.
pub const REASON_BYTES_MAX: usize = 2_000;

/// A yes to one call is for now: whoever comes back later is asked again.
pub const ONCE_MS_MAX: u64 = 3_600_000;

/// Default time that a call waits for its answer.
pub const DEADLINE_MS_USUAL: u64 = 600_000;

/// Characters of a prompt that a launch shows first (the whole of it is among the arguments).
pub const PROMPT_CHARS_SHOWN: usize = 100;

/// A question about one call, as `Grant::decide` puts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// Why a person has to say yes, for the person and for the model.
    pub why: String,
    /// The rules that ask, as patterns. An answer for more than this call covers what the same rules ask about.
    pub covers: Vec<String>,
}

/// A call that waits, exactly as it would be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub task: TaskId,
    pub key: CallKey,
    pub agent: String,
    /// Ancestors of the task, the session's own task first, without the task itself.
    pub path: Vec<TaskId>,
    /// The canonical name.
    pub tool: String,
    /// Canonical JSON, whole. These bytes are what the tool gets.
    pub arguments: String,
    /// Hash of everything that decides what is executed.
    pub hash: String,
    pub why: String,
    pub covers: Vec<String>,
    /// The tool's own description of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
    pub asked_ms: u64,
    pub deadline_ms: u64,
    /// Verdict that applies when no answer came in time.
    pub on_deadline: ApprovalVerdict,
}

wire_enum! {
    /// A yes or a no.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ApprovalVerdict {
        Approve = "approve",
        Deny = "deny",
    }
}

wire_enum! {
    /// The calls that an answer covers.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ApprovalScope {
        /// This call and no other.
        #[default]
        Once = "once",
        /// Every call of this task that the same rules ask about.
        Task = "task",
        /// The same, and in the tasks below it.
        Subtree = "subtree",
        Session = "session",
    }
}

/// An answer with its scope and its author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    pub verdict: ApprovalVerdict,
    #[serde(default)]
    pub scope: ApprovalScope,
    /// The model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub by: DecidedBy,
    pub at_ms: u64,
    /// From then on it does not count any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// The party that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A person, or a program in their place; its name.
    Person(String),
    /// The deadline passed without an answer.
    Deadline,
    /// The operator's configuration: nobody was asked.
    Policy,
    /// An earlier answer that covers this call; its id.
    Standing(String),
}

impl std::fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecidedBy::Person(name) => f.write_str(name),
            DecidedBy::Deadline => f.write_str("deadline"),
            DecidedBy::Policy => f.write_str("policy"),
            DecidedBy::Standing(id) => write!(f, "earlier answer {id}"),
        }
    }
}

/// A parked call and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParkedCall {
    /// Short enough to type; never used again in its store.
    pub id: String,
    pub request: ApprovalRequest,
    pub state: ApprovalState,
}

/// Life cycle of a parked call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Open,
    Answered(ApprovalAnswer),
    /// The task no longer waits for an answer; holds the reason.
    Closed(String),
}

impl ApprovalState {
    /// Returns the wire name of the state.
    pub fn wire(&self) -> &'static str {
        match self {
            ApprovalState::Open => "open",
            ApprovalState::Answered(ApprovalAnswer { verdict: ApprovalVerdict::Approve, .. }) => "approved",
            ApprovalState::Answered(ApprovalAnswer { verdict: ApprovalVerdict::Deny, .. }) => "denied",
            ApprovalState::Closed(_) => "closed",
        }
    }
}

impl ParkedCall {
    /// Returns the fact that shows the call: the file that it names, and the tool's diff.
    pub fn fact(&self) -> LiveFact {
        let ApprovalRequest { arguments, shown, .. } = &self.request;
        let fields: Value = serde_json::from_str(arguments).unwrap_or_default();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        LiveFact::Approval {
            approval: self.id.clone(),
            path: text(fields.get("path")),
            diff: text(shown.as_ref().and_then(|shown| shown.get(DIFF))),
        }
    }

    /// Creates an open question.
    pub fn new(id: String, request: ApprovalRequest) -> Self {
        Self { id, request, state: ApprovalState::Open }
    }

    /// Serializes the parked call for the store.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("approvals hold no maps with foreign keys and no failing serialisers")
    }

    /// Parses a stored parked call.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|e| {
            Error::new(ErrorCode::JournalInvalid, localized!("approval-unreadable")).caused_by(e)
        })
    }

    /// Tells whether an answer is still awaited.
    pub fn is_open(&self) -> bool {
        self.state == ApprovalState::Open
    }

    /// For programs: everything there is to know before and after an answer.
    pub fn to_json(&self) -> Value {
        let ApprovalRequest { task, key, agent, path, tool, arguments, hash, why, covers, shown, .. } =
            &self.request;
        let mut value = json!({
            "approval": self.id, "status": self.state.wire(), "task_id": task.as_str(),
            "session_id": task.session(), "path": path.iter().map(TaskId::as_str).collect::<Vec<_>>(),
            "agent": agent, "call": key.to_string(), "tool": tool, "arguments": arguments, "hash": hash,
            "why": why, "covers": covers, "shown": shown, "asked_at": utc(self.request.asked_ms),
            "deadline_at": utc(self.request.deadline_ms), "default": self.request.on_deadline.wire(),
        });
        match &self.state {
            ApprovalState::Open => {}
            ApprovalState::Closed(why) => value["closed"] = json!(why),
            ApprovalState::Answered(ApprovalAnswer { scope, reason, by, at_ms, expires_ms, .. }) => {
                value["answer"] = json!({
                    "scope": scope.wire(), "reason": reason, "by": by.to_string(), "answered_at": utc(*at_ms),
                    "expires_at": expires_ms.map(utc),
                });
            }
        }
        value
    }

    /// Tells whether the answer covers more than its own call.
    pub fn is_standing(&self) -> bool {
        matches!(&self.state, ApprovalState::Answered(answer) if answer.scope != ApprovalScope::Once)
    }

    /// The same call is asked about again, by whoever drives its task now. What still waits goes on waiting, an answer
    /// stands while it counts; otherwise the question is new.
    pub fn park_again(&self, request: ApprovalRequest) -> Result<ParkedCall> {
        self.check_hash(&request.hash)?;
        let goes_on = match &self.state {
            ApprovalState::Open => true,
            ApprovalState::Answered(answer) => answer.counts(request.asked_ms),
            ApprovalState::Closed(_) => false,
        };
        Ok(if goes_on { self.clone() } else { ParkedCall::new(self.id.clone(), request) })
    }

    /// The first answer counts. It names what it answers by its hash: an answer to something else is refused.
    pub fn answer(&self, hash: &str, answer: ApprovalAnswer) -> Result<ParkedCall> {
        self.check_hash(hash)?;
        match &self.state {
            ApprovalState::Open => {}
            ApprovalState::Answered(first) => {
                let why = localized!("approval-was-answered", state = self.state.wire(), by = first.by);
                return Err(closed(&self.id, &why));
            }
            ApprovalState::Closed(why) => return Err(closed(&self.id, &why.into())),
        }
        let overdue = answer.at_ms > self.request.deadline_ms && answer.by != DecidedBy::Deadline;
        if overdue {
            return Err(closed(&self.id, &localized!("approval-overdue")));
        }
        Ok(ParkedCall { state: ApprovalState::Answered(answer.bounded()), ..self.clone() })
    }

    /// Closes the question without an answer.
    pub fn close(&self, why: &str) -> ParkedCall {
        match self.state {
            ApprovalState::Open => {
                ParkedCall { state: ApprovalState::Closed(why.to_owned()), ..self.clone() }
            }
            ApprovalState::Answered(_) | ApprovalState::Closed(_) => self.clone(),
        }
    }

    /// Permits this very call now; fails unless the answer is a valid yes and the call is the one that was
    /// approved.
    pub fn permits(&self, task: &TaskId, key: CallKey, hash: &str, now_ms: u64) -> Result<()> {
        self.check_hash(hash)?;
        if self.request.task != *task || self.request.key != key {
            return Err(mismatch(&self.id));
        }
        match &self.state {
            ApprovalState::Answered(answer)
                if answer.verdict == ApprovalVerdict::Approve && answer.counts(now_ms) =>
            {
                Ok(())
            }
            state => Err(Error::new(
                ErrorCode::ApprovalClosed,
                localized!("approval-not-allowing", id = self.id, state = state.wire()),
            )),
        }
    }

    fn check_hash(&self, hash: &str) -> Result<()> {
        if self.request.hash == hash { Ok(()) } else { Err(mismatch(&self.id)) }
    }
}

fn mismatch(id: &str) -> Error {
    Error::new(ErrorCode::ApprovalMismatch, localized!("approval-mismatch", id))
        .hint(localized!("approval-mismatch-hint"))
}

/// Builds the error for an answer to a question that is closed.
fn closed(id: &str, why: &LocalizedText) -> Error {
    Error::new(ErrorCode::ApprovalClosed, localized!("approval-closed", id, why))
        .hint(localized!("approvals-list-hint"))
}

/// The same, because its task has ended.
pub fn closed_with_task(id: &str) -> Error {
    closed(id, &localized!("approval-task-ended"))
}

impl ApprovalAnswer {
    /// Creates an answer for one call, without an expiry.
    pub fn new(verdict: ApprovalVerdict, by: DecidedBy, at_ms: u64) -> Self {
        Self { verdict, scope: ApprovalScope::Once, reason: None, by, at_ms, expires_ms: None }
    }

    fn counts(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|end| now_ms < end)
    }

    fn bounded(mut self) -> Self {
        self.reason = self.reason.filter(|reason| !reason.trim().is_empty());
        self.reason = self.reason.map(|reason| prefix(&reason, REASON_BYTES_MAX).to_owned());
        if self.scope == ApprovalScope::Once {
            let end = self.at_ms.saturating_add(ONCE_MS_MAX);
            self.expires_ms = Some(self.expires_ms.map_or(end, |asked| asked.min(end)));
        }
        self
    }
}

/// Combines earlier answers for a call: one no denies it, a yes is needed for every question.
pub fn standing(
    covers: &[String],
    task: &TaskId,
    path: &[TaskId],
    earlier: &[ParkedCall],
    now_ms: u64,
) -> Option<ApprovalAnswer> {
    let reaches = |parked: &&ParkedCall| match &parked.state {
        ApprovalState::Answered(answer) if answer.counts(now_ms) => match answer.scope {
            ApprovalScope::Once => false,
            ApprovalScope::Task => parked.request.task == *task,
            ApprovalScope::Subtree => parked.request.task == *task || path.contains(&parked.request.task),
            ApprovalScope::Session => parked.request.task.session() == task.session(),
        },
        ApprovalState::Answered(_) | ApprovalState::Open | ApprovalState::Closed(_) => false,
    };
    let reaching: Vec<&ParkedCall> = earlier.iter().filter(reaches).collect();
    let of = |verdict: ApprovalVerdict, rule: &String| {
        reaching.iter().copied().find(|parked| {
            let says = matches!(&parked.state, ApprovalState::Answered(answer) if answer.verdict == verdict);
            says && parked.request.covers.contains(rule)
        })
    };
    let denied = covers.iter().find_map(|rule| of(ApprovalVerdict::Deny, rule));
    let approved = || {
        let all = covers.iter().all(|rule| of(ApprovalVerdict::Approve, rule).is_some());
        covers.first().filter(|_| all).and_then(|rule| of(ApprovalVerdict::Approve, rule))
    };
    let (verdict, parked) = match denied {
        Some(parked) => (ApprovalVerdict::Deny, parked),
        None => (ApprovalVerdict::Approve, approved()?),
    };
    let reason = match &parked.state {
        ApprovalState::Answered(answer) => answer.reason.clone(),
        ApprovalState::Open | ApprovalState::Closed(_) => None,
    };
    Some(ApprovalAnswer {
        reason,
        ..ApprovalAnswer::new(verdict, DecidedBy::Standing(parked.id.clone()), now_ms)
    })
}

/// The operator's policy for calls that need an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub mode: ApprovalHandling,
    /// The operator's yes in advance.
    pub allow: Vec<ToolPattern>,
    pub deadline_ms: u64,
    pub on_deadline: ApprovalVerdict,
}

/// Ways to handle a call that needs an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalHandling {
    /// The call waits for a person.
    Ask,
    /// Denies without asking.
    Deny,
    /// Allows what is on the list and denies the rest, without asking.
    AllowListed,
    /// No person is present and the operator chose no mode: same as `AllowListed`.
    Unattended,
}

/// The policy's decision for a call that needs an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyResolution {
    Allow,
    /// A person decides.
    Park,
    /// Why, for the model and for whoever reads the warnings.
    Deny(String),
}

impl Default for ApprovalPolicy {
    /// For programs that say nothing: nobody is asked.
    fn default() -> Self {
        Self::new(ApprovalHandling::Unattended)
    }
}

impl ApprovalPolicy {
    /// Creates a policy with an empty allow-list.
    pub fn new(mode: ApprovalHandling) -> Self {
        let (deadline_ms, on_deadline) = (DEADLINE_MS_USUAL, ApprovalVerdict::Deny);
        Self { mode, allow: Vec::new(), deadline_ms, on_deadline }
    }

    /// Decides how to handle the call.
    pub fn resolve(&self, call: RequestedCall<'_>) -> PolicyResolution {
        match self.mode {
            ApprovalHandling::Deny => {
                PolicyResolution::Deny("nobody is asked here (`approvals.mode` is `deny`)".to_owned())
            }
            ApprovalHandling::Ask | ApprovalHandling::AllowListed | ApprovalHandling::Unattended
                if self.allows(call) =>
            {
                PolicyResolution::Allow
            }
            ApprovalHandling::Ask => PolicyResolution::Park,
            ApprovalHandling::AllowListed => PolicyResolution::Deny(
                "nobody is asked here, and it is not among `approvals.allow`".to_owned(),
            ),
            ApprovalHandling::Unattended => PolicyResolution::Deny("nobody can be asked here".to_owned()),
        }
    }

    /// Every part of the call has to be on the list, for certain.
    fn allows(&self, call: RequestedCall<'_>) -> bool {
        let subjects = crate::grant::subjects(call);
        let listed = |subject: &CallSubject<'_>| {
            let fits = |pattern: &ToolPattern| {
                pattern
                    .argument()
                    .is_none_or(|wanted| subject.fit(wanted, PatternPurpose::Give) == PatternFit::Surely)
            };
            self.allow.iter().filter(|pattern| pattern.names(call.tool)).any(fits)
        };
        !subjects.is_empty() && subjects.iter().all(listed)
    }
}

/// The arguments in one form: keys sorted, no space, each value as a tool reads it. `None` if they are no JSON.
pub fn canonical_arguments(arguments: &str) -> Option<String> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    Some(value.to_string())
}

/// The beginning of a prompt, as a launch shows it.
pub fn shown_prompt(prompt: &str) -> String {
    match prompt.char_indices().nth(PROMPT_CHARS_SHOWN) {
        None => prompt.to_owned(),
        Some((at, _)) => format!("{}...", &prompt[..at]),
    }
}

/// Name of the unified diff that a file tool shows in place of `IN_DIFF`.
pub const DIFF: &str = "diff";

/// Arguments that a diff shows.
const IN_DIFF: &[&str] = &["content", "old_string", "new_string"];

/// Arguments that decide, shown before everything else.
const FIRST: &[&str] = &["command", "path"];

/// The argument that says most about a call, for a line in a list; all of them if none does.
pub fn gist(arguments: &str) -> String {
    let fields: Value = serde_json::from_str(arguments).unwrap_or_default();
    let told = FIRST.iter().find_map(|name| fields[*name].as_str());
    legible(told.unwrap_or(arguments)).replace('\n', " ")
}

/// A line of what a person sees before they answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLine {
    pub text: String,
    /// A line of the tool's diff, after `DIFF_MARGIN`.
    pub is_diff: bool,
}

/// Stands before each line of a long text.
pub const DIFF_MARGIN: &str = "  | ";

impl CallLine {
    fn plain(text: String) -> Self {
        Self { text, is_diff: false }
    }
}

/// The texts of `call_lines`.
pub fn described(parked: &ParkedCall) -> Vec<String> {
    call_lines(parked).into_iter().map(|line| line.text).collect()
}

/// Everything a person has to see before they answer, line by line and whole. What is invisible is made visible, and letters
/// that pretend to be Latin ones are named.
pub fn call_lines(parked: &ParkedCall) -> Vec<CallLine> {
    let ApprovalRequest { task, key, agent, path, tool, arguments, hash, why, covers, shown, .. } =
        &parked.request;
    let (agent, tool, why) = (legible(agent), legible(tool), legible(why));
    let plain = |text: LocalizedText| CallLine::plain(text.to_string());
    let mut lines = vec![plain(localized!("approval-wants", agent, tool, why))];
    let way: Vec<&str> = path.iter().chain([task]).map(TaskId::as_str).collect();
    lines.push(plain(localized!("approval-about", way = way.join(" > "), key, id = parked.id)));
    let fields = match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::from_iter([("arguments".to_owned(), json!(arguments))]),
    };
    // What the tool says beside what is there anyway.
    let said = shown.iter().filter_map(Value::as_object).flatten();
    let said: Vec<_> = said.filter(|(name, _)| !fields.contains_key(*name)).collect();
    // Only the diff of the tool stands for arguments; an argument of that name is one like all others.
    let has_diff = said.iter().any(|(name, value)| *name == DIFF && value.is_string());
    let is_shown = |name: &str| has_diff && IN_DIFF.contains(&name);
    let (first, rest): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| FIRST.contains(&name.as_str()));
    let rest = rest.into_iter().filter(|(name, _)| !is_shown(name));
    for (name, value) in first.into_iter().chain(said).chain(rest) {
        let is_diff = has_diff && name == DIFF;
        lines.extend(field(name, value).into_iter().map(|text| CallLine { text, is_diff }));
    }
    lines.push(plain(localized!("approval-bytes", bytes = arguments.len(), hash)));
    lines.push(plain(localized!("approval-covers", covers = legible(&covers.join(", ")))));
    lines
}

/// One argument; the lines of a long text stand below its name.
fn field(name: &str, value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = legible(name);
    match text.contains('\n') {
        false => vec![format!("  {name}: {}", legible(&text))],
        true => {
            let below = text.split('\n').map(|line| format!("{DIFF_MARGIN}{}", legible(line)));
            std::iter::once(format!("  {name}:")).chain(below).collect()
        }
    }
}

/// `visible`, and a word that mixes Latin letters with Greek or Cyrillic ones shows which of them are not Latin.
pub fn legible(text: &str) -> String {
    let text = visible(text);
    let foreign =
        |c: char| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{ff01}'..='\u{ff5e}');
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        if word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(foreign) {
            for c in word.chars() {
                if foreign(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
            }
        } else {
            out.push_str(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use proptest::prelude::*;

    fn task(name: &str) -> TaskId {
        TaskId::from_store(name.to_owned())
    }

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            task: task("s.t_01"),
            key: CallKey { turn: 2, index: 1 },
            agent: "helper".to_owned(),
            path: vec![task("s")],
            tool: "bash".to_owned(),
            arguments: r#"{"command":"rm -rf build"}"#.to_owned(),
            hash: "abc".to_owned(),
            why: "`bash` needs a person's yes".to_owned(),
            covers: vec!["bash".to_owned()],
            shown: None,
            asked_ms: 1_000,
            deadline_ms: 2_000,
            on_deadline: ApprovalVerdict::Deny,
        }
    }

    fn answered(answer: ApprovalAnswer) -> ParkedCall {
        ParkedCall::new("a1".to_owned(), request()).answer("abc", answer).unwrap()
    }

    fn yes() -> ApprovalAnswer {
        ApprovalAnswer::new(ApprovalVerdict::Approve, DecidedBy::Person("ada".to_owned()), 1_500)
    }

    // G23 Seen to fail without `check_hash`, and without the comparison of task and call in `permits`.
    #[test]
    fn a_yes_is_for_this_call_and_for_a_while() {
        let parked = answered(yes());
        let (id, key) = (task("s.t_01"), CallKey { turn: 2, index: 1 });
        assert!(parked.permits(&id, key, "abc", 1_600).is_ok());
        let code = |e: Error| e.code();
        assert_eq!(parked.permits(&id, key, "abd", 1_600).map_err(code), Err(ErrorCode::ApprovalMismatch));
        let other = CallKey { turn: 2, index: 2 };
        assert_eq!(parked.permits(&id, other, "abc", 1_600).map_err(code), Err(ErrorCode::ApprovalMismatch));
        assert_eq!(parked.permits(&task("s"), key, "abc", 1).map_err(code), Err(ErrorCode::ApprovalMismatch));
        let end = 1_500 + ONCE_MS_MAX;
        assert!(parked.permits(&id, key, "abc", end - 1).is_ok());
        assert_eq!(parked.permits(&id, key, "abc", end).map_err(code), Err(ErrorCode::ApprovalClosed));
        let soon = answered(ApprovalAnswer { expires_ms: Some(1_700), ..yes() });
        assert!(
            soon.permits(&id, key, "abc", 1_699).is_ok() && soon.permits(&id, key, "abc", 1_700).is_err()
        );
        let no = answered(ApprovalAnswer { verdict: ApprovalVerdict::Deny, ..yes() });
        assert_eq!(no.permits(&id, key, "abc", 1_600).map_err(code), Err(ErrorCode::ApprovalClosed));
        let open = ParkedCall::new("a1".to_owned(), request());
        assert_eq!(open.permits(&id, key, "abc", 1_600).map_err(code), Err(ErrorCode::ApprovalClosed));
    }

    #[test]
    fn a_reason_is_bounded_and_an_empty_one_is_none() {
        let reason = |text: String| match answered(ApprovalAnswer { reason: Some(text), ..yes() }).state {
            ApprovalState::Answered(answer) => answer.reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(" ".to_owned()), None);
        assert_eq!(reason("é".repeat(2_000)).unwrap().len(), REASON_BYTES_MAX);
    }

    #[test]
    fn an_answer_reaches_as_far_as_it_says_and_no_further() {
        let asked = ["bash".to_owned()];
        let reaches = |scope: ApprovalScope, of: &str, path: &[&str]| {
            let path: Vec<TaskId> = path.iter().map(|id| task(id)).collect();
            standing(&asked, &task(of), &path, &[answered(ApprovalAnswer { scope, ..yes() })], 1_600)
                .is_some()
        };
        for (scope, itself, below, beside, elsewhere) in [
            (ApprovalScope::Once, false, false, false, false),
            (ApprovalScope::Task, true, false, false, false),
            (ApprovalScope::Subtree, true, true, false, false),
            (ApprovalScope::Session, true, true, true, false),
        ] {
            assert_eq!(reaches(scope, "s.t_01", &["s"]), itself, "{scope:?}");
            assert_eq!(reaches(scope, "s.t_02", &["s", "s.t_01"]), below, "{scope:?}");
            assert_eq!(reaches(scope, "s.t_03", &["s"]), beside, "{scope:?}");
            assert_eq!(reaches(scope, "r.t_01", &["r"]), elsewhere, "{scope:?}");
        }
        let expired =
            answered(ApprovalAnswer { scope: ApprovalScope::Session, expires_ms: Some(1_550), ..yes() });
        assert_eq!(standing(&asked, &task("s"), &[], &[expired], 1_600), None);
    }

    #[test]
    fn a_yes_covers_what_was_asked_and_a_no_counts_before_it() {
        let with = |verdict, covers: &str, id: &str| {
            let mut parked = answered(ApprovalAnswer { verdict, scope: ApprovalScope::Session, ..yes() });
            (parked.id, parked.request.covers) = (id.to_owned(), vec![covers.to_owned()]);
            parked
        };
        let asked = |covers: &[&str]| covers.iter().map(|rule| (*rule).to_owned()).collect::<Vec<String>>();
        let said = |covers: &[&str], earlier: &[ParkedCall]| {
            standing(&asked(covers), &task("s"), &[], earlier, 1_600)
                .map(|answer| (answer.verdict, answer.by))
        };
        let push = with(ApprovalVerdict::Approve, "bash(git push *)", "a1");
        let all = with(ApprovalVerdict::Approve, "bash", "a2");
        let no = with(ApprovalVerdict::Deny, "bash", "a3");
        let by = |id: &str| DecidedBy::Standing(id.to_owned());
        assert_eq!(
            said(&["bash(git push *)"], std::slice::from_ref(&push)),
            Some((ApprovalVerdict::Approve, by("a1")))
        );
        assert_eq!(said(&["bash"], std::slice::from_ref(&push)), None, "another rule asks");
        assert_eq!(
            said(&["bash", "bash(git push *)"], std::slice::from_ref(&push)),
            None,
            "one of two rules is answered"
        );
        assert!(said(&["bash", "bash(git push *)"], &[push, all.clone()]).is_some());
        assert_eq!(said(&["bash"], &[all, no]), Some((ApprovalVerdict::Deny, by("a3"))));
    }

    #[test]
    fn the_operator_decides_what_is_asked_allowed_and_refused() {
        let call = |command: &'static str| -> PolicyResolution {
            let arguments = json!({ "command": command }).to_string();
            let allow = ToolPattern::parse("Bash(git *)").unwrap();
            let policy = ApprovalPolicy { allow, ..ApprovalPolicy::new(ApprovalHandling::Ask) };
            policy.resolve(RequestedCall {
                tool: "bash",
                effect: ToolEffect::Unsafe,
                arguments: &arguments,
                workspace: "",
            })
        };
        assert_eq!(call("git status"), PolicyResolution::Allow);
        for other in ["ls", "git status; ls", "git $(ls)", ""] {
            assert_eq!(call(other), PolicyResolution::Park, "{other}");
        }
        let with = |mode, allow: &str| {
            let allow = if allow.is_empty() { Vec::new() } else { ToolPattern::parse(allow).unwrap() };
            let arguments = r#"{"path":"docs/a.md"}"#;
            let policy = ApprovalPolicy { allow, ..ApprovalPolicy::new(mode) };
            policy.resolve(RequestedCall {
                tool: "write",
                effect: ToolEffect::Unsafe,
                arguments,
                workspace: "",
            })
        };
        assert_eq!(with(ApprovalHandling::AllowListed, "*"), PolicyResolution::Allow);
        assert_eq!(with(ApprovalHandling::AllowListed, "Write(docs/**)"), PolicyResolution::Allow);
        assert_eq!(with(ApprovalHandling::Unattended, "Write(docs/**)"), PolicyResolution::Allow);
        assert!(matches!(with(ApprovalHandling::AllowListed, "Write(src/**)"), PolicyResolution::Deny(_)));
        assert!(matches!(with(ApprovalHandling::Unattended, ""), PolicyResolution::Deny(_)));
        assert!(matches!(with(ApprovalHandling::Deny, "*"), PolicyResolution::Deny(_)), "deny is deny");
    }

    // R412
    #[test]
    fn a_launch_shows_the_first_hundred_characters_of_its_prompt() {
        assert_eq!(shown_prompt(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(shown_prompt(&"é".repeat(101)), format!("{}...", "é".repeat(100)));
    }

    /// Inputs that could deceive a person. Seen to fail without each range of `is_hidden`, `is_joiner` and
    /// `legible`, and without each use of `legible` in `described`.
    // G29 S27 S28
    #[test]
    fn whatever_hides_in_a_call_is_shown() {
        for (hidden, shown) in [
            ("\u{1b}[2K\u{1b}[1A", "\\u{1b}[2K\\u{1b}[1A"),
            ("\u{1b}]0;t\u{7}", "\\u{1b}]0;t\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\rb", "a\\u{d}b"),
            ("a\u{8}b", "a\\u{8}b"),
            ("\u{0}", "\\u{0}"),
            ("\u{7f}", "\\u{7f}"),
            ("\u{202e}txt.exe\u{202c}", "\\u{202e}txt.exe\\u{202c}"),
            ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
            ("r\u{34f}m\u{17b4}\u{180b}", "r\\u{34f}m\\u{17b4}\\u{180b}"),
            ("x\u{1bca0}\u{1d173}", "x\\u{1bca0}\\u{1d173}"),
            ("\u{61c}\u{200e}\u{200f}", "\\u{61c}\\u{200e}\\u{200f}"),
            ("r\u{200b}m", "r\\u{200b}m"),
            ("r\u{200d}m\u{200c}", "r\\u{200d}m\\u{200c}"),
            ("r\u{ad}m\u{2060}\u{feff}", "r\\u{ad}m\\u{2060}\\u{feff}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("\u{3164}\u{115f}\u{ffa0}\u{2800}", "\\u{3164}\\u{115f}\\u{ffa0}\\u{2800}"),
            ("x\u{e0041}\u{e0100}", "x\\u{e0041}\\u{e0100}"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("\u{fff9}a\u{fffb}", "\\u{fff9}a\\u{fffb}"),
            ("p\u{430}ypal", "p\\u{430}ypal"),
            ("\u{3bf}pen", "\\u{3bf}pen"),
            ("\u{ff52}m x", "\\u{ff52}m x"),
            ("日本語 привет ελληνικά é", "日本語 привет ελληνικά é"),
            ("❤\u{fe0f}\u{200d}🔥 क\u{94d}\u{200d}ष", "❤\u{fe0f}\u{200d}🔥 क\u{94d}\u{200d}ष"),
            ("❤\u{fe0f}\u{200d}\u{200d}", "❤\u{fe0f}\u{200d}\\u{200d}"),
            ("a\tb", "a\tb"),
        ] {
            assert_eq!(legible(hidden).as_bytes(), shown.as_bytes(), "{hidden:?}");
            let arguments = json!({ "command": hidden, hidden: 1 }).to_string();
            let lines =
                described(&ParkedCall::new("a1".to_owned(), ApprovalRequest { arguments, ..request() }));
            assert!(lines.contains(&format!("  command: {shown}")), "{lines:?}");
            assert!(lines.contains(&format!("  {shown}: 1")), "{lines:?}");
            let [agent, tool, why] = [(); 3].map(|()| hidden.to_owned());
            let (covers, arguments) =
                (vec![agent.clone()], json!({ "content": format!("x\n{hidden}") }).to_string());
            let lines = described(&ParkedCall::new(
                "a1".to_owned(),
                ApprovalRequest { agent, tool, why, covers, arguments, ..request() },
            ));
            assert_eq!(lines[0], format!("{shown} wants to call `{shown}`: {shown}"));
            assert!(lines.contains(&format!("  | {shown}")), "{lines:?}");
            assert!(lines.last().unwrap().ends_with(&format!("covers: {shown}")), "{lines:?}");
        }
    }

    #[test]
    fn a_call_is_shown_whole_with_who_wants_it_and_why() {
        let long = format!("first\n{}\nlast", "x".repeat(100_000));
        let arguments = json!({ "path": "a.md", "content": long }).to_string();
        let (shown, bytes) = (Some(json!({ "prompt": "p..." })), arguments.len());
        let lines =
            described(&ParkedCall::new("a7".to_owned(), ApprovalRequest { arguments, shown, ..request() }));
        let expected = [
            "helper wants to call `bash`: `bash` needs a person's yes",
            "task s > s.t_01 · call 2.1 · approval a7",
            "  path: a.md",
            "  prompt: p...",
            "  content:",
            "  | first",
            &format!("  | {}", "x".repeat(100_000)),
            "  | last",
            &format!("{bytes} bytes · sha256 abc"),
            "an answer for more than this call covers: bash",
        ];
        assert_eq!(lines, expected);
    }

    fn write(arguments: &Value, shown: Option<Value>) -> Vec<CallLine> {
        let arguments = arguments.to_string();
        let request = ApprovalRequest { tool: "write".to_owned(), arguments, shown, ..request() };
        let lines = call_lines(&ParkedCall::new("a1".to_owned(), request));
        lines[2..lines.len() - 2].to_vec()
    }

    #[test]
    fn a_diff_stands_for_the_content_and_only_its_lines_are_marked_as_one() {
        let arguments = json!({ "content": "+new\n", "path": "a.md", "note": "-x\n+y" });
        let lines = write(&arguments, Some(json!({ DIFF: "-old\n+new" })));
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let expected = ["  path: a.md", "  diff:", "  | -old", "  | +new", "  note:", "  | -x", "  | +y"];
        assert_eq!(texts, expected);
        let is_diff: Vec<bool> = lines.iter().map(|line| line.is_diff).collect();
        assert_eq!(is_diff, [false, true, true, true, false, false, false]);
    }

    #[test]
    fn an_argument_called_diff_hides_no_content() {
        let arguments = json!({ "content": "evil", "path": "a.md", DIFF: "-a\n+b" });
        for shown in [None, Some(json!({ DIFF: "-old\n+evil" }))] {
            let lines = write(&arguments, shown);
            assert!(lines.iter().any(|line| line.text == "  content: evil"), "{lines:?}");
            assert!(lines.iter().all(|line| !line.is_diff), "{lines:?}");
        }
    }

    #[test]
    fn a_list_shows_the_command_or_the_path_alone() {
        assert_eq!(gist(r#"{"content":"x","path":"a.md"}"#), "a.md");
        assert_eq!(gist(r#"{"command":"ls\nrm","path":"a"}"#), "ls rm");
        assert_eq!(gist(r#"{"key":1}"#), r#"{"key":1}"#);
    }

    #[test]
    fn what_is_shown_is_what_a_tool_reads() {
        let same = |a: &str, b: &str| assert_eq!(canonical_arguments(a), canonical_arguments(b), "{a}");
        same(r#"{"b": 1, "a": "\u0072m"}"#, r#"{"a":"rm","b":1}"#);
        same(r#"{"a":1e2}"#, r#"{"a":100.0}"#);
        assert_eq!(canonical_arguments("no"), None);
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(command in "\\PC{0,40}", reason in proptest::option::of("\\PC{1,20}")) {
            let arguments = json!({ "command": command }).to_string();
            let parked = ParkedCall::new("a1".to_owned(), ApprovalRequest { arguments, ..request() });
            let parked = parked.answer("abc", ApprovalAnswer { reason, ..yes() }).unwrap();
            prop_assert_eq!(ParkedCall::decode(&parked.encode()).unwrap(), parked);
        }
    }
}
