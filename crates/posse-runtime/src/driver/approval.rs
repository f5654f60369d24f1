//! Approval before a call. It precedes the `Intended` record, so a waiting call is never in doubt: a process that takes
//! the task over keeps waiting, and an answer given meanwhile counts.

use std::sync::Arc;
use std::time::Duration;

use posse_core::approval::{
    ApprovalAnswer, ApprovalQuestion, ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict,
    DecidedBy, ParkedCall, PolicyResolution,
};
use posse_core::approval::{canonical_arguments, standing};
use posse_core::event::{Event, summary};
use posse_core::grant::RequestedCall;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::message::{CallArguments, ToolCall, ToolResult};
use posse_core::run::{CallAction, PlannedCall, Run};
use posse_core::tool::{ToolEffect, canonical};
use posse_core::{ErrorCode, Result};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{DriverContext, RunDriver};
use crate::context::now_ms;
use crate::panics::PanicGuard;
use crate::ports::{ApprovalDecision, ApprovalQuery, CallProposal, ProposedCall, ToolInput};

/// Poll interval for answers given in other processes.
const LISTEN: Duration = Duration::from_millis(200);

/// Maximum levels of delegation; a longer chain of ancestors is a cycle in a damaged store.
const PATH_MAX: usize = 64;

/// A decision on a call, and the id of its parked request.
struct ResolvedApproval {
    approval: Option<String>,
    answer: ApprovalAnswer,
}

impl RunDriver<'_> {
    /// Gets the approvals of a batch. Returns the calls to execute or refuse; `None` if the run ended first.
    pub(super) async fn permit(
        &mut self,
        run: &mut Run,
        mut batch: Vec<PlannedCall>,
    ) -> Result<Option<Vec<PlannedCall>>> {
        for planned in &mut batch {
            let (effect, asked) = match &planned.action {
                CallAction::Refuse(_) => continue,
                CallAction::Ask(effect, asked) => (*effect, Some(asked.clone())),
                CallAction::Execute(ToolEffect::Pure) => continue,
                CallAction::Execute(_) if self.context.ports.tools.approver().is_none() => continue,
                CallAction::Execute(effect) => (*effect, None),
            };
            if asked.is_some()
                && let Some(whole) = canonical_arguments(planned.call.arguments.as_object_text())
            {
                // Executes exactly the bytes that are shown.
                Arc::make_mut(&mut planned.call).arguments = CallArguments::Object(whole);
            }
            // Journaled first: a process that takes the task over must find the waiting call.
            if asked.is_some() {
                self.context.journal.commit().await?
            } else {
                self.context.journal.send()
            }
            match Box::pin(self.review(run, &planned.call, effect, asked)).await? {
                ApprovalReview::Granted => planned.action = CallAction::Execute(effect),
                ApprovalReview::Refused(result) => planned.action = CallAction::Refuse(result),
                ApprovalReview::Over => return Ok(None),
            }
        }
        Ok(Some(batch))
    }

    async fn review(
        &mut self,
        run: &mut Run,
        call: &ToolCall,
        effect: ToolEffect,
        asked: Option<ApprovalQuestion>,
    ) -> Result<ApprovalReview> {
        let context = self.context.tool_context(run);
        let idempotency_key = self.context.idempotency_key(call.key);
        let arguments = call.arguments.as_object_text();
        let input =
            ToolInput { key: call.key, arguments, idempotency_key: &idempotency_key, context: &context };
        let proposal = match self.context.ports.tools.propose(&call.name, &input) {
            Ok(proposal) => proposal,
            Err(answer) => return Ok(ApprovalReview::Refused(answer.into_result(call))),
        };
        // The call has not started, so a stop request takes effect at once.
        let stop = &self.context.ports.stop;
        let over = async {
            tokio::select! {
                () = stop.soon.cancelled() => {}
                () = stop.now.cancelled() => {}
                () = tokio::time::sleep(context.time_left) => {}
            }
        };
        let resolved = tokio::select! {
            biased;
            resolved = self.context.resolve(call, effect, asked.as_ref(), &proposal) => Some(resolved?),
            () = over => None,
        };
        let Some(resolved) = resolved else {
            self.context.ports.store.close_approvals(&self.context.id, "its task was stopped").await?;
            return Ok(ApprovalReview::Over);
        };
        if asked.is_some() {
            self.write_down(run, call, &resolved);
        }
        if stop.now.is_cancelled() {
            return Ok(ApprovalReview::Over);
        }
        match resolved.answer.verdict {
            ApprovalVerdict::Approve => Ok(ApprovalReview::Granted),
            ApprovalVerdict::Deny => {
                Ok(ApprovalReview::Refused(refused(call, asked.as_ref(), &resolved.answer, &proposal)))
            }
        }
    }

    fn write_down(&mut self, run: &mut Run, call: &ToolCall, resolved: &ResolvedApproval) {
        let ResolvedApproval { approval, answer } = resolved;
        let (key, verdict, by) = (call.key, answer.verdict, answer.by.clone());
        run.on_resolved(key, verdict, &by);
        self.context.journal.note(Record::Resolved {
            key,
            tool: call.name.clone(),
            approval: approval.clone(),
            verdict,
            scope: answer.scope,
            by,
            elapsed_ms: self.elapsed_ms(),
        });
        self.journal_events(run);
    }
}

enum ApprovalReview {
    Granted,
    Refused(ToolResult),
    /// The run is over.
    Over,
}

/// Builds the refusal for the model. A person's no is not the model's mistake; a no of the configuration stays the same
/// next time.
fn refused(
    call: &ToolCall,
    asked: Option<&ApprovalQuestion>,
    answer: &ApprovalAnswer,
    proposal: &CallProposal,
) -> ToolResult {
    let because = |text: &str| match &answer.reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text.to_owned(),
    };
    let why = asked.map_or("", |asked| asked.why.as_str());
    match (&answer.by, proposal.refusal) {
        (DecidedBy::Person(_) | DecidedBy::Deadline | DecidedBy::Standing(_), Some(refusal)) => {
            ToolResult::error(call, because(refusal))
        }
        (DecidedBy::Person(_), None) if asked.is_none() => ToolResult::error(
            call,
            match &answer.reason {
                Some(reason) => format!("refused: {reason}"),
                None => "refused: no".to_owned(),
            },
        ),
        (DecidedBy::Person(_) | DecidedBy::Standing(_), None) => {
            ToolResult::error(call, because("refused: a person said no"))
        }
        (DecidedBy::Deadline, None) => {
            ToolResult::error(call, format!("refused: {why}, and nobody answered in time"))
        }
        (DecidedBy::Policy, _) => {
            let policy = answer.reason.clone().unwrap_or_else(|| "nobody is asked here".to_owned());
            ToolResult::mistake(call, format!("refused: {why}, and {policy}"))
        }
    }
}

impl DriverContext<'_> {
    async fn resolve(
        &self,
        call: &ToolCall,
        effect: ToolEffect,
        asked: Option<&ApprovalQuestion>,
        proposal: &CallProposal,
    ) -> Result<ResolvedApproval> {
        if let Some(approver) = self.ports.tools.approver() {
            let call = ProposedCall {
                task: &self.id,
                tool: &call.name,
                arguments: call.arguments.as_object_text(),
                shown: proposal.shown.as_ref(),
                why: asked.map(|asked| asked.why.as_str()),
            };
            return Ok(ResolvedApproval {
                approval: None,
                answer: told(PanicGuard(approver.approve(call)).await),
            });
        }
        let Some(asked) = asked else {
            unreachable!("without an approver only what a rule asks about comes here")
        };
        let resolved = self.ask(call, effect, asked, proposal).await;
        // The parked or approved call is another one, so this call is not made.
        match resolved {
            Err(e) if e.code() == ErrorCode::ApprovalMismatch => {
                let reason = Some("what was approved is another call".to_owned());
                let answer = ApprovalAnswer {
                    reason,
                    ..ApprovalAnswer::new(ApprovalVerdict::Deny, DecidedBy::Policy, now_ms())
                };
                Ok(ResolvedApproval { approval: None, answer })
            }
            resolved => resolved,
        }
    }

    async fn ask(
        &self,
        call: &ToolCall,
        effect: ToolEffect,
        asked: &ApprovalQuestion,
        proposal: &CallProposal,
    ) -> Result<ResolvedApproval> {
        let sealed = self.sealed(call, asked, proposal).await?;
        let parked = match self.known(&sealed).await? {
            Some(parked) => parked,
            None => match self.decided(&sealed, effect).await? {
                Some(answer) => return Ok(ResolvedApproval { approval: None, answer }),
                None => self.ports.store.park(sealed.clone()).await?,
            },
        };
        self.wait(call, &sealed, parked).await
    }

    /// Builds the approval request with the call exactly as it would be executed.
    async fn sealed(
        &self,
        call: &ToolCall,
        asked: &ApprovalQuestion,
        proposal: &CallProposal,
    ) -> Result<ApprovalRequest> {
        let (tool, arguments) = (canonical(&call.name), call.arguments.as_object_text());
        let policy = self.ports.tools.policy();
        let asked_ms = now_ms();
        Ok(ApprovalRequest {
            task: self.id.clone(),
            key: call.key,
            agent: self.start.agent.name.to_string(),
            path: self.path().await?,
            hash: seal([
                self.id.as_str(),
                &call.key.to_string(),
                &call.name,
                &self.start.workspace,
                arguments,
            ]),
            arguments: arguments.to_owned(),
            tool: tool.into_owned(),
            why: asked.why.clone(),
            covers: asked.covers.clone(),
            shown: proposal.shown.clone(),
            asked_ms,
            deadline_ms: asked_ms.saturating_add(policy.deadline_ms),
            on_deadline: policy.on_deadline,
        })
    }

    /// Returns the chain of ancestors.
    async fn path(&self) -> Result<Vec<TaskId>> {
        let mut path = Vec::new();
        let mut next = self.ports.store.task(&self.id).await?.parent;
        while let Some(id) = next.take().filter(|_| path.len() < PATH_MAX) {
            next = match self.ports.store.task(&id).await {
                Ok(row) => row.parent,
                Err(e) if e.code() == ErrorCode::TaskNotFound => None,
                Err(e) => return Err(e),
            };
            path.push(id);
        }
        path.reverse();
        Ok(path)
    }

    /// Finds the request that an earlier process parked, and keeps it open.
    async fn known(&self, sealed: &ApprovalRequest) -> Result<Option<ParkedCall>> {
        let query = ApprovalQuery::Call(sealed.task.clone(), sealed.key);
        match self.ports.store.approvals(query).await?.is_empty() {
            true => Ok(None),
            false => self.ports.store.park(sealed.clone()).await.map(Some),
        }
    }

    /// Returns an earlier answer whose scope covers this call.
    async fn covered(&self, sealed: &ApprovalRequest) -> Result<Option<ApprovalAnswer>> {
        let query = ApprovalQuery::Standing(self.id.session().to_owned());
        let earlier = self.ports.store.approvals(query).await?;
        Ok(standing(&sealed.covers, &sealed.task, &sealed.path, &earlier, now_ms()))
    }

    /// Decides without asking: by an earlier answer or by the operator's policy.
    async fn decided(&self, sealed: &ApprovalRequest, effect: ToolEffect) -> Result<Option<ApprovalAnswer>> {
        if let Some(answer) = self.covered(sealed).await? {
            return Ok(Some(answer));
        }
        let now_ms = sealed.asked_ms;
        let ApprovalRequest { tool, arguments, .. } = sealed;
        let call = RequestedCall { tool, effect, arguments, workspace: &self.start.workspace };
        Ok(match self.ports.tools.policy().resolve(call) {
            PolicyResolution::Park => None,
            PolicyResolution::Allow => {
                Some(ApprovalAnswer::new(ApprovalVerdict::Approve, DecidedBy::Policy, now_ms))
            }
            PolicyResolution::Deny(why) => Some(ApprovalAnswer {
                reason: Some(why),
                ..ApprovalAnswer::new(ApprovalVerdict::Deny, DecidedBy::Policy, now_ms)
            }),
        })
    }

    /// Waits for an answer from any process, or for the deadline.
    async fn wait(
        &self,
        call: &ToolCall,
        sealed: &ApprovalRequest,
        mut parked: ParkedCall,
    ) -> Result<ResolvedApproval> {
        let store = &self.ports.store;
        let deadline_ms = parked.request.deadline_ms;
        if parked.is_open() {
            let (key, approval, tool) = (call.key, parked.id.clone(), call.name.clone());
            let why = parked.request.why.clone();
            self.journal.observe_now(Event::ApprovalRequested {
                key,
                approval,
                tool,
                summary: summary(call),
                why,
                deadline_ms,
            });
            self.fact(&parked.fact());
        }
        let until = Instant::now() + Duration::from_millis(deadline_ms.saturating_sub(now_ms()));
        loop {
            match &parked.state {
                ApprovalState::Answered(answer) => {
                    if answer.verdict == ApprovalVerdict::Approve {
                        parked.permits(&self.id, call.key, &sealed.hash, now_ms())?;
                    }
                    return Ok(ResolvedApproval {
                        approval: Some(parked.id.clone()),
                        answer: answer.clone(),
                    });
                }
                ApprovalState::Closed(why) => {
                    let reason = Some(why.clone());
                    let answer = ApprovalAnswer {
                        reason,
                        ..ApprovalAnswer::new(ApprovalVerdict::Deny, DecidedBy::Policy, now_ms())
                    };
                    return Ok(ResolvedApproval { approval: Some(parked.id.clone()), answer });
                }
                ApprovalState::Open => {
                    let over = Instant::now() >= until;
                    let default =
                        || ApprovalAnswer::new(sealed.on_deadline, DecidedBy::Deadline, deadline_ms);
                    // An answer to another call may cover this one, too.
                    let answer = if over { Some(default()) } else { self.covered(sealed).await? };
                    match answer {
                        None => tokio::time::sleep_until(until.min(Instant::now() + LISTEN)).await,
                        Some(answer) => match store.answer(&parked.id, &sealed.hash, answer).await {
                            // Another process answered first.
                            Err(e) if e.code() == ErrorCode::ApprovalClosed => {}
                            answered => drop(answered?),
                        },
                    }
                }
            }
            parked = store.approval(&parked.id).await?;
        }
    }
}

/// Converts the answer of a program's approver. A failed check counts as refused.
fn told(said: std::result::Result<ApprovalDecision, String>) -> ApprovalAnswer {
    let by = DecidedBy::Person("handler".to_owned());
    let (verdict, reason) = match said {
        Ok(ApprovalDecision::Granted) => (ApprovalVerdict::Approve, None),
        Ok(ApprovalDecision::Denied(why)) => (ApprovalVerdict::Deny, Some(why)),
        Err(panic) => {
            (ApprovalVerdict::Deny, Some(format!("internal_error: the approver crashed ({panic})")))
        }
    };
    ApprovalAnswer { reason, scope: ApprovalScope::Once, ..ApprovalAnswer::new(verdict, by, now_ms()) }
}

/// Hashes several texts as one; length prefixes separate them.
fn seal<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
