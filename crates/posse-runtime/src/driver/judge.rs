//! Checks an answer: its value against the schema, the result by commands. `Run` decides the consequence.

use std::sync::Arc;

use posse_core::Result;
use posse_core::journal::Record;
use posse_core::run::Run;
use posse_core::text::head_and_tail;
use posse_core::verify::{OUTPUT_BYTES_MAX, VerifyEnding, VerifyEvidence};
use serde_json::Value;
use tokio::time::Instant;

use super::{DriverContext, RunDriver};
use crate::leases::LeaseGuard;
use crate::panics::PanicGuard;
use crate::ports::ToolContext;
use crate::schema::OutputSchema;

impl RunDriver<'_> {
    /// Validates the final answer against the task's JSON Schema.
    pub(super) fn check(&mut self, run: &mut Run, value: &Value) {
        let schema = self.context.start.agent.settings.output_schema.as_deref().unwrap_or("true");
        let errors = match OutputSchema::parse(schema) {
            Ok(schema) => schema.errors(value, "the answer"),
            Err(why) => vec![format!("the schema itself is broken: {why}")],
        };
        run.on_checked(&errors);
        self.context.journal.note(Record::Checked { errors, elapsed_ms: self.elapsed_ms() });
    }

    /// Runs a verification command. The intent is durable first; after a crash the command runs again.
    pub(super) async fn verify(&mut self, run: &mut Run, command: String) -> Result<()> {
        let DriverContext { ports, id, start, images, journal, .. } = &self.context;
        let verifying = journal.hold(Record::Verifying { command: command.clone(), epoch: journal.epoch() });
        journal.commit().await?;
        journal.tell(verifying);
        let evidence = match LeaseGuard::acquire(ports, id, journal, start, images).await? {
            Ok(fence) => {
                let fence = Some(Arc::new(fence));
                let usual = self.context.tool_context(run);
                let context = ToolContext { output_bytes_max: OUTPUT_BYTES_MAX, fence, ..usual };
                self.context.run_command(&command, &context).await
            }
            Err(why) => VerifyEvidence::not_run(&command, why),
        };
        // A command that was cut off with its run proves nothing about the result.
        if self.context.ports.stop.now.is_cancelled() || self.context.time_left(run).is_zero() {
            return Ok(());
        }
        journal.note(Record::Verified { evidence: evidence.clone(), elapsed_ms: self.elapsed_ms() });
        run.on_verified(evidence);
        Ok(())
    }
}

impl DriverContext<'_> {
    async fn run_command(&self, command: &str, context: &ToolContext) -> VerifyEvidence {
        let verifier = match &self.ports.verifier {
            Some(_) if self.commands_withdrawn => {
                return VerifyEvidence::not_run(
                    command,
                    "`bash` is not allowed to this task any more".to_owned(),
                );
            }
            Some(verifier) => verifier,
            None => {
                return VerifyEvidence::not_run(
                    command,
                    "this session runs no commands to verify a result".to_owned(),
                );
            }
        };
        let began = Instant::now();
        let stopped = |why: &str| VerifyEvidence {
            command: command.to_owned(),
            ending: VerifyEnding::Stopped(why.to_owned()),
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            output: String::new(),
        };
        let ran = tokio::select! {
            biased;
            ran = PanicGuard(verifier.run(command, context)) => ran,
            () = self.overdue(context) => return stopped("it did not end when it was told to, and was given up"),
        };
        match ran {
            Ok(mut evidence) => {
                let output = self.ports.tools.redactor().redact(&evidence.output);
                evidence.output = head_and_tail(&output, OUTPUT_BYTES_MAX);
                evidence
            }
            Err(panic) => {
                VerifyEvidence::not_run(command, format!("internal_error: the verifier crashed ({panic})"))
            }
        }
    }
}
