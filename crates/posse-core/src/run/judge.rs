//! Checks an answer: its form against the output schema, its truth by verification commands. Either may send the model
//! back to work once; after that the run has failed, with its text kept.

use std::fmt::Write;

use serde_json::Value;

use super::{Run, RunPhase, WrapUp};
use crate::journal::TaskStart;
use crate::outcome::StopReason;
use crate::output::{ExtractedJson, extract, normalize};
use crate::text::prefix;
use crate::verify::{VerifyEnding, VerifyEvidence};

/// Maximum size of a schema that is repeated with its violations: not every provider shows it to its model.
const SCHEMA_BYTES_SHOWN: usize = 8_000;

/// Times a model is asked for better JSON, and times it is notified that a check failed.
const REPAIRS_MAX: u32 = 1;
const CORRECTIONS_MAX: u32 = 1;

/// Maximum number and length of the paths of an answer that a warning names.
const PLACES_NAMED: usize = 5;
const PLACES_BYTES_MAX: usize = 300;

/// Requirements on the answer, and the verdict on the last one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AnswerJudge {
    schema: Option<String>,
    verify: Vec<String>,
    /// The value that satisfied the schema, and the text around it.
    pub data: Option<Value>,
    wrapping: Option<&'static str>,
    /// Paths of the value that were rewritten to satisfy the schema.
    normalized: Vec<String>,
    pub errors: Vec<String>,
    pub evidence: Vec<VerifyEvidence>,
    /// Correction that a failed run never saw; a resumed one does.
    pub unsaid: Option<String>,
}

impl AnswerJudge {
    /// Creates the requirements of a task.
    pub fn for_task(start: &TaskStart) -> Self {
        let schema = start.agent.settings.output_schema.clone();
        Self { schema, verify: start.verify.clone(), ..Self::default() }
    }

    /// Tells whether an answer has to be JSON.
    pub fn wants_json(&self) -> bool {
        self.schema.is_some()
    }

    fn schema_value(&self) -> Value {
        let schema = self.schema.as_deref().unwrap_or_default();
        serde_json::from_str(schema).unwrap_or_default()
    }

    /// Clears the verdict before another answer.
    pub fn reset(&mut self) {
        let (schema, verify) = (self.schema.take(), std::mem::take(&mut self.verify));
        *self = Self { schema, verify, ..Self::default() };
    }
}

impl Run {
    /// Checks the model's final answer.
    pub(super) fn judge(&mut self) {
        self.answer.clear();
        self.judgement.reset();
        if self.judgement.schema.is_none() {
            return self.verify();
        }
        match extract(&self.last_text) {
            Ok(ExtractedJson { mut value, wrapping }) => {
                self.judgement.wrapping = wrapping;
                self.judgement.normalized = normalize(&mut value, &self.judgement.schema_value());
                self.phase = RunPhase::Checking(Box::new(value));
            }
            Err(why) => self.repair(vec![why]),
        }
    }

    /// Feeds the schema errors of the answer; empty if it satisfies the schema.
    pub fn on_checked(&mut self, errors: &[String]) {
        let RunPhase::Checking(value) = &mut self.phase else { return };
        if !errors.is_empty() {
            return self.repair(errors.to_vec());
        }
        self.judgement.data = Some(std::mem::take(&mut **value));
        if let Some(wrapping) = self.judgement.wrapping {
            self.note(format!("the JSON of the answer stood {wrapping}, and was taken out"));
        }
        let normalized = std::mem::take(&mut self.judgement.normalized);
        if !normalized.is_empty() {
            let named = normalized.iter().take(PLACES_NAMED).map(String::as_str).collect::<Vec<_>>();
            let places = prefix(&named.join(", "), PLACES_BYTES_MAX).to_owned();
            let rewritten = match normalized.len() {
                1 => "1 value of the answer was".to_owned(),
                count => format!("{count} values of the answer were"),
            };
            self.note(format!("{rewritten} rewritten to satisfy the output schema: {places}"));
        }
        self.verify();
    }

    /// Feeds the reply to a wrap-up. One that has to be JSON is checked against the schema like any other answer.
    pub(super) fn report(&mut self, has_text: bool) {
        match has_text && self.judgement.wants_json() {
            true => self.judge(),
            false => self.verify(),
        }
    }

    fn repair(&mut self, errors: Vec<String>) {
        let mut complaint =
            "Your answer is not what was asked for: it has to be JSON that satisfies the schema. What \
             is wrong:"
                .to_owned();
        for error in &errors {
            let _ = write!(complaint, "\n- {error}");
        }
        let schema = self.judgement.schema.as_deref().unwrap_or_default();
        if schema.len() <= SCHEMA_BYTES_SHOWN {
            let _ = write!(complaint, "\nThe schema: {schema}");
        }
        complaint
            .push_str("\nReply with only the corrected JSON, without a fence and without any other text.");
        self.judgement.errors = errors;
        if self.attempt.repairs < REPAIRS_MAX && self.turns_left() > 0 {
            self.attempt.repairs += 1;
            return self.ask_to_correct(complaint);
        }
        self.judgement.unsaid = Some(complaint);
        let reason =
            self.attempt.wrapping_up.as_ref().map_or(StopReason::OutputInvalid, |wrap_up| wrap_up.reason);
        self.finish(reason, Some("the answer does not satisfy the output schema".to_owned()));
    }

    /// Starts with the first command, if there is any. The report of a stopped run is not verified.
    fn verify(&mut self) {
        if let Some(WrapUp { reason, detail }) = self.attempt.wrapping_up.clone() {
            return self.finish(reason, detail);
        }
        match self.judgement.verify.first() {
            Some(command) => self.phase = RunPhase::Verifying(command.clone()),
            None => self.finish(StopReason::Answered, None),
        }
    }

    /// Feeds the result of the command that `RunStep::Verify` named.
    pub fn on_verified(&mut self, evidence: VerifyEvidence) {
        if !matches!(self.phase, RunPhase::Verifying(_)) {
            return;
        }
        let not_run = matches!(evidence.ending, VerifyEnding::NotRun(_));
        self.judgement.evidence.push(evidence);
        match self.judgement.verify.get(self.judgement.evidence.len()) {
            Some(next) if !not_run => self.phase = RunPhase::Verifying(next.clone()),
            Some(_) | None => self.judge_evidence(),
        }
    }

    /// Ends verification: all commands were run, or one of them cannot be.
    fn judge_evidence(&mut self) {
        let failed: Vec<&VerifyEvidence> =
            self.judgement.evidence.iter().filter(|found| !found.passed()).collect();
        let Some(first) = failed.first() else { return self.accept() };
        let detail = format!("`{}`: {}", prefix(&first.command, 80), first.ending());
        let helpless = failed.iter().any(|found| matches!(found.ending, VerifyEnding::NotRun(_)));
        let complaint = complaint(&failed);
        // The last request has no tools, so nothing can be corrected with it.
        if self.attempt.corrections < CORRECTIONS_MAX && self.turns_left() > 1 && !helpless {
            self.attempt.corrections += 1;
            return self.ask_to_correct(complaint);
        }
        self.judgement.unsaid = (!helpless).then_some(complaint);
        self.finish(StopReason::VerifyFailed, Some(detail));
    }

    fn accept(&mut self) {
        if self.tool_calls_used() == 0 {
            self.note(
                "nothing was done with tools; the commands that verify the result passed without".to_owned(),
            );
        }
        self.finish(StopReason::Answered, None);
    }

    /// Warns if a run stops before its answer was checked.
    pub(super) fn unverified(&self, stop: StopReason) -> Option<String> {
        let AnswerJudge { verify, evidence, .. } = &self.judgement;
        let is_missing = stop != StopReason::Answered && evidence.is_empty() && !verify.is_empty();
        is_missing.then(|| "the result was not verified: the task ended before that".to_owned())
    }

    fn ask_to_correct(&mut self, complaint: String) {
        self.phase = RunPhase::Asking;
        self.history.push_user(complaint);
        self.guard_context();
    }
}

fn complaint(failed: &[&VerifyEvidence]) -> String {
    let mut text =
        "You said that the task is done, so the result was checked in the workspace. This failed:".to_owned();
    for found in failed {
        let _ = write!(text, "\n\n$ {}\n[{}]\n{}", found.command, found.ending(), found.output.trim_end());
    }
    text.push_str(
        "\n\nCorrect what is wrong, then give your whole answer again. The check is made once more.",
    );
    text
}
