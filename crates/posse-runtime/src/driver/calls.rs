//! Tool calls: `Intended` before the effect, `Done` after it, exactly one result for each call.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use posse_core::Result;
use posse_core::event::{Event, summary};
use posse_core::id::CallKey;
use posse_core::journal::{Record, ResultOrigin};
use posse_core::message::{ToolCall, ToolResult};
use posse_core::run::{CallAction, PlannedCall, Run, batches};
use posse_core::text::head_and_tail;
use posse_core::tool::ToolEffect;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{DriverContext, DriverPorts, RunDriver};
use crate::journal::TaskJournal;
use crate::leases::LeaseGuard;
use crate::ports::{ObservedPayload, ToolContext, ToolInput, ToolOutput};
use crate::toolbox::ToolAnswer;

impl RunDriver<'_> {
    pub(super) async fn call_tools(&mut self, run: &mut Run, calls: Vec<PlannedCall>) -> Result<()> {
        let tools = &self.context.ports.tools;
        for batch in batches(calls, |call| tools.delegates(&call.name)) {
            if self.context.ports.stop.now.is_cancelled() || !self.stopped.is_empty() {
                break;
            }
            let Some(batch) = self.permit(run, batch).await? else { break };
            self.context.announce(&batch).await?;
            let (fence, lost) = self.context.raise_fence(&batch).await?;
            let context = ToolContext { fence, ..self.context.tool_context(run) };
            // In journal order, so that a replay decides the same.
            let results = Mutex::new(Vec::with_capacity(batch.len()));
            {
                let make = |planned| self.context.make(planned, &context, lost.as_deref(), &results);
                let calls = pin!(join_all(batch.iter().map(make)));
                while_writing(&self.context.journal, calls).await?;
            }
            if let Some(failure) = context.fence.as_ref().and_then(|fence| fence.failure()) {
                return Err(failure);
            }
            let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
            let keys = batch.iter().map(|planned| planned.call.key);
            self.stopped.extend(keys.filter(|key| !results.iter().any(|result| result.key == *key)));
            run.on_results(results);
        }
        Ok(())
    }
}

impl DriverContext<'_> {
    /// Journals the intents of a batch. The intent of every call with an effect is durable before any of them starts.
    async fn announce(&self, batch: &[PlannedCall]) -> Result<()> {
        let mut effectful = false;
        let mut begun = Vec::with_capacity(batch.len());
        for PlannedCall { call, action } in batch {
            let (key, tool) = (call.key, &call.name);
            let record = match action {
                CallAction::Refuse(_) => continue,
                CallAction::Ask(..) => unreachable!("whoever had to be asked was asked"),
                CallAction::Execute(ToolEffect::Pure) => Record::Observed {
                    event: Event::ToolStarted { key, tool: tool.clone(), summary: summary(call) },
                },
                CallAction::Execute(effect) => {
                    effectful = true;
                    Record::Intended {
                        key,
                        tool: tool.clone(),
                        summary: summary(call),
                        arguments_hash: hash(call.arguments.as_object_text()),
                        effect: *effect,
                        epoch: self.journal.epoch(),
                    }
                }
            };
            begun.push((call, self.journal.hold(record)));
        }
        if effectful {
            self.journal.commit().await?;
        }
        for (call, started) in begun {
            self.payload(ObservedPayload::Call(call));
            self.journal.tell(started);
        }
        Ok(())
    }

    /// Returns the lease guard for calls that may write, or why the task has no lease.
    async fn raise_fence(&self, batch: &[PlannedCall]) -> Result<(Option<Arc<LeaseGuard>>, Option<String>)> {
        let DriverContext { ports, id, start, images, journal, .. } = self;
        if !batch.iter().any(|planned| self.may_write(planned)) {
            return Ok((None, None));
        }
        Ok(match LeaseGuard::acquire(ports, id, journal, start, images).await? {
            Ok(fence) => (Some(Arc::new(fence)), None),
            Err(why) => (None, Some(why)),
        })
    }

    /// Checks if a call delegates to a task that was stopped with this run.
    fn is_stopped(&self, PlannedCall { call, action }: &PlannedCall) -> bool {
        let DriverPorts { stop, tools, .. } = self.ports;
        let is_repeatable = matches!(action, CallAction::Execute(ToolEffect::Idempotent));
        stop.is_requested() && is_repeatable && tools.delegates(&call.name)
    }

    /// Makes one call, journals its result and adds it to `results`. `lost`: why files may not be written.
    async fn make(
        &self,
        planned: &PlannedCall,
        context: &ToolContext,
        lost: Option<&str>,
        results: &Mutex<Vec<ToolResult>>,
    ) {
        let call = &planned.call;
        if let CallAction::Refuse(result) = &planned.action {
            return self.done(result.clone(), None, ResultOrigin::Refused, 0, results);
        }
        let began = Instant::now();
        let idempotency_key = self.idempotency_key(call.key);
        let arguments = call.arguments.as_object_text();
        let input = ToolInput { key: call.key, arguments, idempotency_key: &idempotency_key, context };
        let answered = async {
            match lost.filter(|_| self.may_write(planned)) {
                Some(why) => ToolAnswer::Ran(ToolOutput::error(why)),
                None => self.ports.tools.call(&call.name, input).await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answered => answer,
            () = self.overdue(context) => ToolAnswer::Ran(ToolOutput::cut_off(
                "the tool did not end when it was told to, and was given up".to_owned(),
            )),
        };
        let effectful = !matches!(planned.action, CallAction::Execute(ToolEffect::Pure));
        let mut result = answer.into_result(call);
        result.in_doubt &= effectful;
        self.payload(ObservedPayload::Result { call, result: &result });
        // Without a result, the call is repeated when the run is resumed, and finds its task by its key.
        if result.is_error && self.is_stopped(planned) {
            return;
        }
        let (result, full_text) = shorten(result, context.output_bytes_max);
        let origin = match self.ports.tools.delegates(&call.name) {
            true => ResultOrigin::Delegated,
            false => ResultOrigin::Ran,
        };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.done(result, full_text, origin, duration_ms, results);
    }

    /// Journals a result, with the full text if it had to be truncated.
    fn done(
        &self,
        result: ToolResult,
        full_text: Option<String>,
        origin: ResultOrigin,
        duration_ms: u64,
        results: &Mutex<Vec<ToolResult>>,
    ) {
        let elapsed_ms = self.elapsed_ms();
        self.journal.note(Record::Done {
            result: result.clone(),
            full_text,
            origin,
            duration_ms,
            elapsed_ms,
        });
        results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    }

    /// Tells whether a call will be made that may change files.
    fn may_write(&self, planned: &PlannedCall) -> bool {
        let is_made = matches!(planned.action, CallAction::Execute(_) | CallAction::Ask(..));
        is_made && self.ports.tools.writes_files(&planned.call.name)
    }

    /// Returns the key of a call, equal for every attempt.
    pub(super) fn idempotency_key(&self, call: CallKey) -> String {
        call.idempotency_key(&self.id)
    }

    /// Resolves when a call has timed out, or was cancelled and did not end within a grace period.
    pub(super) async fn overdue(&self, context: &ToolContext) {
        const GRACE: Duration = Duration::from_secs(5);
        tokio::select! {
            () = context.cancel.cancelled() => {}
            () = tokio::time::sleep(context.time_left) => {}
        }
        tokio::time::sleep(GRACE).await;
    }

    pub(super) fn tool_context(&self, run: &Run) -> ToolContext {
        ToolContext {
            task: self.id.clone(),
            grant: self.grant.clone(),
            cancel: self.ports.stop.now.clone(),
            time_left: self.time_left(run),
            output_bytes_max: run.limits().result_bytes_max,
            run: Some(self.run.clone()),
            fence: None,
        }
    }
}

impl ToolAnswer {
    pub(super) fn into_result(self, call: &ToolCall) -> ToolResult {
        match self {
            ToolAnswer::Mistake(why) => ToolResult::mistake(call, why),
            ToolAnswer::Ran(output) if output.mistake => ToolResult::mistake(call, never_empty(output.text)),
            ToolAnswer::Ran(output) => ToolResult {
                in_doubt: output.cut_off,
                is_error: output.is_error,
                pending: output.pending,
                changed: output.changed,
                ..ToolResult::new(call, never_empty(output.text))
            },
        }
    }
}

/// Awaits calls. Quick calls share a commit with the reply before them; slow ones do not delay it.
async fn while_writing<T>(journal: &TaskJournal, mut calls: Pin<&mut impl Future<Output = T>>) -> Result<T> {
    const QUICK: Duration = Duration::from_millis(5);
    // Most in-process calls are ready at the first poll, and a timer costs more than they do.
    let first = std::future::poll_fn(|context| Poll::Ready(calls.as_mut().poll(context))).await;
    if let Poll::Ready(finished) = first {
        return Ok(finished);
    }
    tokio::select! {
        finished = &mut calls => return Ok(finished),
        () = tokio::time::sleep(QUICK) => {}
    }
    let (finished, written) = tokio::join!(calls, journal.commit());
    written.map(|()| finished)
}

/// Builds the result for a call whose process died between intent and outcome.
pub(super) fn in_doubt(call: &ToolCall) -> ToolResult {
    let text = "in doubt: the process that made this call ended before its outcome was written down. It may \
         or may not have happened, and it was not repeated. Check its effect before you decide whether \
         to make the call again"
        .to_owned();
    ToolResult { in_doubt: true, ..ToolResult::error(call, text) }
}

/// Truncates a result; returns the full text too if it was longer.
fn shorten(mut result: ToolResult, bytes_max: usize) -> (ToolResult, Option<String>) {
    if result.text.len() <= bytes_max {
        return (result, None);
    }
    let short = head_and_tail(&result.text, bytes_max);
    let full_text = std::mem::replace(&mut result.text, short);
    (result, Some(full_text))
}

/// Fills in an empty result, which some providers refuse.
fn never_empty(text: String) -> String {
    if text.is_empty() { "(no output)".to_owned() } else { text }
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
