//! Plans the calls of a reply: which run, and which are answered by a refusal that the model can act on.

use std::sync::Arc;

use super::Run;
use crate::approval::ApprovalQuestion;
use crate::grant::{Decision, Grant, RequestedCall};
use crate::id::CallKey;
use crate::message::{Block, CallArguments, ToolCall, ToolResult};
use crate::provenance::{is_foreign, marked};
use crate::reply::{Reply, ReplyStop};
use crate::text::prefix;
use crate::tool::{FILE_TOOLS, ToolEffect, canonical};

/// Longest tool name kept in a history; providers refuse longer ones.
const NAME_MAX: usize = 64;

/// A call, and its treatment.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    pub call: Arc<ToolCall>,
    pub action: CallAction,
}

/// The treatment of a planned call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAction {
    Execute(ToolEffect),
    /// The call is run if a person approves it.
    Ask(ToolEffect, ApprovalQuestion),
    /// The call is not run; this is its result.
    Refuse(ToolResult),
}

impl Run {
    /// Gives every call its key and a unique id, and sanitizes its name for the history.
    pub(super) fn name_calls(&mut self, reply: &mut Reply) {
        let turn = self.work.turns;
        let calls = reply.blocks.iter_mut().filter_map(|block| match block {
            Block::ToolCall(call) => Some(Arc::make_mut(call)),
            Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
        });
        for (index, call) in calls.enumerate() {
            call.key = CallKey { turn, index: index as u32 };
            if !is_legal(&call.name) {
                call.name = legal_name(&call.name);
            }
            if call.id.is_empty() || !self.history.call_ids.insert(call.id.clone()) {
                call.id = format!("call_{turn}_{index}");
                while !self.history.call_ids.insert(call.id.clone()) {
                    call.id.push('x');
                }
            }
        }
    }

    pub(super) fn plan(&mut self, calls: Vec<Arc<ToolCall>>, stop: &ReplyStop) -> Vec<PlannedCall> {
        let last = calls.len() - 1;
        let mut planned = Vec::with_capacity(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let cut_off = matches!(stop, ReplyStop::MaxTokens | ReplyStop::ContextFull) && index == last;
            let action = self.decide(&call, index, cut_off);
            match &action {
                CallAction::Refuse(_) => self.remember_refusal(&call.name),
                CallAction::Execute(_) | CallAction::Ask(..) => {
                    self.work.tool_calls += 1;
                    self.work.file_operations +=
                        u32::from(FILE_TOOLS.contains(&canonical(&call.name).as_ref()));
                }
            }
            planned.push(PlannedCall { call, action });
        }
        planned
    }

    /// Records a refused tool for the outcome, if a person can grant it. An unknown one is the model's mistake.
    fn remember_refusal(&mut self, name: &str) {
        let name = canonical(name);
        let ungranted = self
            .policy
            .tools
            .get(name.as_ref())
            .is_some_and(|effect| !self.policy.grant.offers(&name, *effect));
        if ungranted && !self.facts.refused_tools.iter().any(|refused| *refused == name) {
            self.facts.refused_tools.push(name.into_owned());
        }
    }

    /// Decides on a call before anything happens: make it, refuse it, or ask a person.
    fn decide(&self, call: &ToolCall, index: usize, cut_off: bool) -> CallAction {
        let mistake = |text: String| CallAction::Refuse(ToolResult::mistake(call, text));
        let name = canonical(&call.name);
        let Some(&effect) = self.policy.tools.get(name.as_ref()) else {
            let known: Vec<&str> =
                self.policy.grant.tools().filter(|tool| self.policy.tools.contains_key(*tool)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return mistake(format!("there is no tool `{}`; you have: {known}", call.name));
        };
        let workspace = self.policy.workspace.as_str();
        let decide = |arguments: &str| {
            self.policy.grant.decide(RequestedCall { tool: &name, effect, arguments, workspace })
        };
        if !self.policy.grant.offers(&name, effect)
            && let Decision::Deny(why) = decide("{}")
        {
            return mistake(format!("refused: {why}"));
        }
        let action = match &call.arguments {
            CallArguments::Truncated(_) => return CallAction::Refuse(truncated(call)),
            // Some providers report a call that was cut off before its first argument as an empty object.
            CallArguments::Object(text) if cut_off && text.trim() == "{}" => {
                return CallAction::Refuse(truncated(call));
            }
            CallArguments::Object(text) => match decide(text) {
                Decision::Allow => CallAction::Execute(effect),
                Decision::Ask(asked) => CallAction::Ask(effect, asked),
                Decision::Deny(why) => return mistake(format!("refused: {why}")),
            },
            CallArguments::Invalid(_, why) => {
                return mistake(format!("the arguments are not usable, nothing was run: {why}"));
            }
        };
        if index as u32 >= self.policy.limits.calls_per_turn_max {
            let text = format!("not run: at most {} calls per turn", self.policy.limits.calls_per_turn_max);
            return CallAction::Refuse(ToolResult::error(call, text));
        }
        let file_operations = self.work.file_operations - self.earlier.work.file_operations;
        if FILE_TOOLS.contains(&name.as_ref()) && file_operations >= self.policy.limits.file_operations_max {
            let max = self.policy.limits.file_operations_max;
            let text = format!("not run: the limit of {max} file operations is reached");
            return CallAction::Refuse(ToolResult::error(call, text));
        }
        if self.tool_calls_used() >= self.policy.limits.tool_calls_max {
            let text =
                format!("not run: the limit of {} tool calls is reached", self.policy.limits.tool_calls_max);
            return CallAction::Refuse(ToolResult::error(call, text));
        }
        action
    }
}

/// A call by its concurrency class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallKind {
    /// Calls that change nothing.
    Readers,
    /// Calls that hand a task to an agent and wait for it, as `delegates` says.
    Delegations,
    Alone,
}

/// Splits calls into groups that run one after the other. Neighboring pure calls share a group and run side by side, and
/// so do neighboring delegations; any other call runs alone. A refused call joins its neighbors.
pub fn batches(calls: Vec<PlannedCall>, delegates: impl Fn(&ToolCall) -> bool) -> Vec<Vec<PlannedCall>> {
    let mut groups: Vec<(Option<CallKind>, Vec<PlannedCall>)> = Vec::new();
    for planned in calls {
        let kind = planned.kind(&delegates);
        match groups.last_mut() {
            Some((shared, group)) if may_share(*shared, kind) => {
                *shared = shared.or(kind);
                group.push(planned);
            }
            _ => groups.push((kind, vec![planned])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn may_share(group: Option<CallKind>, call: Option<CallKind>) -> bool {
    match (group, call) {
        (Some(CallKind::Alone), _) | (_, Some(CallKind::Alone)) => false,
        (Some(group), Some(call)) => group == call,
        (None, _) | (_, None) => true,
    }
}

impl PlannedCall {
    pub(super) fn refuse_unless_granted(&mut self, grant: &Grant, workspace: &str) {
        let (CallAction::Execute(effect) | CallAction::Ask(effect, _), CallArguments::Object(arguments)) =
            (&self.action, &self.call.arguments)
        else {
            return;
        };
        let tool = canonical(&self.call.name);
        let call = RequestedCall { tool: &tool, effect: *effect, arguments, workspace };
        self.action = match grant.decide(call) {
            Decision::Allow => CallAction::Execute(*effect),
            Decision::Ask(asked) => CallAction::Ask(*effect, asked),
            Decision::Deny(why) => {
                CallAction::Refuse(ToolResult::mistake(&self.call, format!("refused: {why}")))
            }
        };
    }

    /// Marks results that come from outside. Refusals are our own words and stay unmarked.
    pub(super) fn marked(&self, result: ToolResult) -> ToolResult {
        let ours = matches!(self.action, CallAction::Refuse(_)) || result.mistake || result.in_doubt;
        match ours || !is_foreign(&result.name) {
            true => result,
            false => ToolResult { text: marked(&result.name, &result.text), ..result },
        }
    }

    /// Returns the concurrency class; `None` for a call that is not run.
    fn kind(&self, delegates: impl Fn(&ToolCall) -> bool) -> Option<CallKind> {
        match self.action {
            CallAction::Refuse(_) => None,
            CallAction::Execute(_) | CallAction::Ask(..) if delegates(&self.call) => {
                Some(CallKind::Delegations)
            }
            CallAction::Execute(ToolEffect::Pure) => Some(CallKind::Readers),
            CallAction::Execute(_) | CallAction::Ask(..) => Some(CallKind::Alone),
        }
    }
}

fn truncated(call: &ToolCall) -> ToolResult {
    ToolResult::mistake(
        call,
        "truncated: your output limit cut this call off inside its arguments, nothing was run. Make \
         the call again with shorter arguments, or split the work into several calls",
    )
}

fn is_legal(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(legal)
}

fn legal_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = prefix(name.trim(), NAME_MAX).chars().map(legal).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_that_only_read_or_only_delegate_share_a_group_and_writers_run_alone() {
        let planned = |name: &str| {
            let (id, arguments) = (name.to_owned(), CallArguments::Object("{}".to_owned()));
            let key = CallKey { turn: 1, index: 0 };
            let call = ToolCall { key, id, name: name.to_owned(), arguments, signature: None };
            let action = match name {
                "read" => CallAction::Execute(ToolEffect::Pure),
                "refused" => CallAction::Refuse(ToolResult::error(&call, "no")),
                _ => CallAction::Execute(ToolEffect::Idempotent),
            };
            PlannedCall { call: Arc::new(call), action }
        };
        let grouped = |names: &str| {
            let calls = names.split(' ').map(planned).collect();
            let groups = batches(calls, |call| call.name.starts_with("agent"));
            let names = |group: &Vec<PlannedCall>| {
                group.iter().map(|planned| planned.call.name.clone()).collect::<Vec<_>>().join(" ")
            };
            groups.iter().map(names).collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(grouped("agent agent refused agent"), "agent agent refused agent");
        assert_eq!(grouped("read read agent agent read"), "read read | agent agent | read");
        assert_eq!(grouped("agent write agent"), "agent | write | agent");
        assert_eq!(grouped("refused agent write refused read"), "refused agent | write | refused read");
    }
}
