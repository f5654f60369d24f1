//! Falls back to the next model of a list when one cannot serve. Failures that another model would share are returned at
//! once: a wrong request, a conversation that is too long, a bad key. A default model takes over a run whose own models do
//! not exist.

use std::sync::Arc;
use std::time::Duration;

use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::usage::Usage;
use posse_runtime::budget::takes_over;
use posse_runtime::ports::{BoxFuture, CallAllowance, Delta, DeltaSink, Model, ModelReply, ModelRequest};

use crate::retry::unpaid;

/// Models in fallback order. Each call starts with the first.
pub struct FallbackModel {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    /// Asked only if none of the models above exists.
    default: Option<Arc<dyn Model>>,
}

impl FallbackModel {
    /// Creates a model that falls back to `others` in order.
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others, default: None }
    }

    /// Adds a default model for runs whose models are all unknown to their providers, as their first request shows.
    pub fn with_default(mut self, default: Arc<dyn Model>) -> Self {
        self.default = Some(default);
        self
    }

    async fn ask_first_to_last(&self, request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        match &self.default {
            Some(default) if takes_over(default.name(), request.answered_by) => {
                default.call(request, deltas).await
            }
            Some(default) if request.answered_by.is_empty() => {
                self.ask_default(default, request, deltas).await
            }
            Some(_) | None => self.ask_in_order(request, deltas).await,
        }
    }

    async fn ask_default(
        &self,
        default: &Arc<dyn Model>,
        mut request: ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> ModelReply {
        let failure = match self.ask_in_order(request.again(), deltas).await {
            Err(failure) if failure.kind == FailureKind::UnknownModel => failure,
            answer => return answer,
        };
        let lost = failure.lost;
        let output_tokens_max = request
            .allowance
            .again_by_default(&lost, request.output_tokens_max)
            .map_err(|missing| unpaid(&failure, lost, &missing))?;
        let note =
            format!("the model {} does not exist, so {} is used: {failure}", self.name(), default.name());
        deltas.delta(restarted(&failure, &note));
        let allowance = AfterOthers { allowance: request.allowance, lost };
        let asked = ModelRequest { allowance: &allowance, output_tokens_max, ..request.again() };
        match default.call(asked, deltas).await {
            Ok(mut reply) => {
                reply.lost.add(&lost);
                reply.notes.insert(0, note);
                Ok(reply)
            }
            Err(mut failure) => {
                failure.lost.add(&lost);
                failure.message = format!("{} ({note})", failure.message);
                Err(failure)
            }
        }
    }

    async fn ask_in_order(&self, mut request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        let mut lost = Usage::default();
        let mut notes = Vec::new();
        let mut model = &self.first;
        let mut others = self.others.iter();
        loop {
            let allowance = AfterOthers { allowance: request.allowance, lost };
            let asked = ModelRequest { allowance: &allowance, ..request.again() };
            let mut failure = match model.call(asked, deltas).await {
                Ok(mut reply) => {
                    reply.lost.add(&lost);
                    notes.append(&mut reply.notes);
                    reply.notes = notes;
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            lost.add(&failure.lost);
            let next = if another_may_do_better(failure.kind) { others.next() } else { None };
            let Some(next) = next else {
                failure.lost = lost;
                if !notes.is_empty() {
                    failure.message = format!("{} ({})", failure.message, notes.join("; "));
                }
                return Err(failure);
            };
            if let Err(missing) = request.allowance.again(&lost) {
                return Err(unpaid(&failure, lost, &missing));
            }
            let note = format!(
                "fell back from {from} to {to}: {kind}",
                from = model.name(),
                to = next.name(),
                kind = failure.kind.wire()
            );
            deltas.delta(restarted(&failure, &note));
            notes.push(note);
            model = next;
        }
    }
}

/// Creates the delta of a call that goes to another model at once.
fn restarted<'a>(failure: &ModelFailure, why: &'a str) -> Delta<'a> {
    Delta::Restarted { kind: failure.kind, status: failure.status, why, wait: Duration::ZERO }
}

impl Model for FallbackModel {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.ask_first_to_last(request, deltas))
    }
}

/// Allowance of a fallback after the attempts of earlier models.
struct AfterOthers<'a> {
    allowance: &'a dyn CallAllowance,
    lost: Usage,
}

impl CallAllowance for AfterOthers<'_> {
    fn time_left(&self) -> Duration {
        self.allowance.time_left()
    }

    fn again(&self, lost: &Usage) -> Result<(), String> {
        let mut all = self.lost;
        all.add(lost);
        self.allowance.again(&all)
    }

    fn attempt_begins(&self) {
        self.allowance.attempt_begins();
    }

    fn queues(&self) {
        self.allowance.queues();
    }

    fn served(&self) {
        self.allowance.served();
    }
}

fn another_may_do_better(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Overloaded
        | FailureKind::RateLimited
        | FailureKind::QuotaExhausted
        | FailureKind::UnknownModel
        | FailureKind::Connection
        | FailureKind::Stalled => true,
        // A person has to see and fix a bad key or certificate, and a wrong request must not be paid twice.
        FailureKind::Unauthorised
        | FailureKind::Certificate
        | FailureKind::InvalidRequest
        | FailureKind::ContextTooLong
        | FailureKind::Protocol
        | FailureKind::Cancelled
        | FailureKind::BudgetSpent => false,
    }
}

#[cfg(test)]
mod tests {
    use posse_core::agent::ModelSettings;
    use posse_core::message::Message;
    use posse_core::reply::{ModelFailure, Reply};

    use super::*;
    use crate::fake::{Fake, Seen, ask, ask_with, failure};

    fn spent(input: u64) -> Usage {
        Usage { input, estimated: true, ..Usage::default() }
    }

    fn losing(kind: FailureKind, input: u64) -> ModelFailure {
        ModelFailure { lost: spent(input), ..failure(kind) }
    }

    #[tokio::test]
    async fn the_next_model_answers_and_the_reply_says_so() {
        let a = Arc::new(Fake::failing("p:a", [losing(FailureKind::Overloaded, 5)]));
        let b = Arc::new(Fake::failing("p:b", [losing(FailureKind::UnknownModel, 7)]));
        let c = Arc::new(Fake::new("p:c", []));
        let model = FallbackModel::new(a, vec![b, c.clone()]);
        let seen = Seen::default();
        let reply = ask_with(&model, &[Message::user("go")], &ModelSettings::default(), &seen).await.unwrap();
        let notes = ["fell back from p:a to p:b: overloaded", "fell back from p:b to p:c: unknown_model"];
        let expected = Reply { lost: spent(12), notes: notes.map(str::to_owned).to_vec(), ..c.reply() };
        assert_eq!(reply, expected);
        assert_eq!(seen.all(), notes.map(|note| format!("restarted: {note}")));
        assert_eq!(model.name(), "p:a");
    }

    #[tokio::test]
    async fn only_failures_that_another_model_can_help_with_move_on() {
        use FailureKind::*;
        for (kind, moves) in [
            (Overloaded, true),
            (RateLimited, true),
            (QuotaExhausted, true),
            (UnknownModel, true),
            (Connection, true),
            (Stalled, true),
            (InvalidRequest, false),
            (ContextTooLong, false),
            (Unauthorised, false),
            (Protocol, false),
            (Cancelled, false),
        ] {
            let a = Arc::new(Fake::failing("p:a", [failure(kind)]));
            let b = Arc::new(Fake::new("p:b", []));
            let result = ask(&FallbackModel::new(a, vec![b.clone()])).await;
            assert_eq!(b.times().len(), usize::from(moves), "{kind:?}");
            assert_eq!(result.err().map(|failure| failure.kind), (!moves).then_some(kind));
        }
    }

    #[tokio::test]
    async fn when_all_fail_the_last_failure_tells_the_whole_story() {
        let a = Arc::new(Fake::failing("p:a", [losing(FailureKind::Stalled, 3)]));
        let b = Arc::new(Fake::failing("p:b", [losing(FailureKind::QuotaExhausted, 4)]));
        let failed = ask(&FallbackModel::new(a, vec![b])).await.unwrap_err();
        let expected = ModelFailure {
            lost: spent(7),
            ..ModelFailure::new(FailureKind::QuotaExhausted, "no luck (fell back from p:a to p:b: stalled)")
        };
        assert_eq!(failed, expected);
    }
}
