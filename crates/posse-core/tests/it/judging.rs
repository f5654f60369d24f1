//! What becomes of an answer that has to be JSON or is checked by commands, without running either.

use posse_core::agent::{Agent, ModelSettings};
use posse_core::id::AgentName;
use posse_core::journal::TaskStart;
use posse_core::limits::Limits;
use posse_core::message::Message;
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_core::run::{Run, RunStep};
use posse_core::verify::{VerifyEnding, VerifyEvidence};
use serde_json::json;

use crate::play::{grant, parse_reply, tools};

/// What a schema that wants `{"n": <integer>}` would say.
fn errors(value: &serde_json::Value) -> Vec<String> {
    let fits = value["n"].is_i64();
    if fits { Vec::new() } else { vec!["/n: is not an integer".to_owned()] }
}

struct Game {
    run: Run,
    endings: Vec<VerifyEnding>,
}

impl Game {
    fn new(limits: Limits, schema: Option<&str>, verify: &[&str], endings: Vec<VerifyEnding>) -> Self {
        let settings = ModelSettings { output_schema: schema.map(str::to_owned), ..ModelSettings::default() };
        let agent = Agent { limits, settings, ..Agent::new(AgentName::parse("worker").unwrap(), "m", "") };
        let verify = verify.iter().map(|command| (*command).to_owned()).collect();
        let start = TaskStart { verify, ..TaskStart::new(agent, "the task", grant()) };
        Self { run: Run::new(&start, tools(), 0), endings }
    }

    /// Answers the next model call and goes on to the one after it.
    fn answer(&mut self, line: &str) -> Option<Outcome> {
        self.run.on_reply(parse_reply(line).unwrap());
        loop {
            match self.run.next_step(0) {
                RunStep::CallModel(_) => return None,
                RunStep::CallTools(calls) => {
                    let made =
                        calls.iter().map(|planned| posse_core::message::ToolResult::new(&planned.call, "ok"));
                    let made = made.collect();
                    self.run.on_results(made);
                }
                RunStep::Check(value) => self.run.on_checked(&errors(&value)),
                RunStep::Verify(command) => {
                    let ending = self.endings.remove(0);
                    let output = format!("output of {command}\n");
                    self.run.on_verified(VerifyEvidence { command, ending, duration_ms: 1, output });
                }
                RunStep::Finish(outcome) => {
                    self.run.on_finished(&outcome);
                    return Some((*outcome).clone());
                }
            }
        }
    }

    fn last_message(&self) -> String {
        match self.run.messages().last() {
            Some(Message::User { text }) => text.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn json_game() -> Game {
    Game::new(Limits::default(), Some(r#"{"required":["n"]}"#), &[], Vec::new())
}

#[test]
fn an_answer_that_satisfies_its_schema_becomes_data() {
    let outcome = json_game().answer(r#"{"n":1}"#).unwrap();
    assert_eq!(
        (outcome.status(), outcome.data, outcome.warnings.len()),
        (OutcomeStatus::Completed, Some(json!({"n":1})), 0)
    );
    let outcome = json_game().answer(r#"Here you are: {"n":1}"#).unwrap();
    assert_eq!(outcome.data, Some(json!({"n":1})));
    assert_eq!(outcome.warnings, ["the JSON of the answer stood inside other text, and was taken out"]);
}

#[test]
fn a_wrong_answer_is_repaired_once_with_what_is_wrong_in_it() {
    let mut game = json_game();
    assert_eq!(game.answer(r#"{"n":"x"}"#), None);
    assert_eq!(
        game.last_message(),
        "Your answer is not what was asked for: it has to be JSON that satisfies the schema. What is wrong:\n\
         - /n: is not an integer\nThe schema: {\"required\":[\"n\"]}\n\
         Reply with only the corrected JSON, without a fence and without any other text."
    );
    let outcome = game.answer(r#"{"n":2}"#).unwrap();
    assert_eq!(
        (outcome.status(), outcome.data, outcome.turns),
        (OutcomeStatus::Completed, Some(json!({"n":2})), 2)
    );
    assert!(outcome.schema_errors.is_empty());
}

#[test]
fn a_second_wrong_answer_fails_and_is_kept() {
    let mut game = json_game();
    assert_eq!(game.answer("no JSON"), None);
    assert!(game.last_message().contains("- the answer is not JSON: expected"), "{}", game.last_message());
    let outcome = game.answer(r#"{"n":"x"}"#).unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::OutputInvalid, OutcomeStatus::Failed));
    assert_eq!((outcome.text.as_str(), outcome.data), (r#"{"n":"x"}"#, None));
    assert_eq!(outcome.schema_errors, ["/n: is not an integer"]);
    // Whoever goes on with it is told what was wrong last, and may repair again.
    game.run.on_resume(None, None);
    assert!(game.last_message().contains("- /n: is not an integer"), "{}", game.last_message());
    assert_eq!(game.answer(r#"{"n":3}"#).unwrap().status(), OutcomeStatus::Completed);
}

#[test]
fn without_a_turn_left_there_is_no_repair() {
    let limits = Limits { turns_max: 1, ..Limits::default() };
    let mut game = Game::new(limits.clone(), Some("{}"), &[], Vec::new());
    assert_eq!(game.answer("no").unwrap().stop, StopReason::OutputInvalid);
    // Two turns: the second would have no tools to correct anything with.
    for turns_max in [1, 2] {
        let limits = Limits { turns_max, ..limits.clone() };
        let mut game = Game::new(limits, None, &["test"], vec![VerifyEnding::Exited(1)]);
        assert_eq!(game.answer("done").unwrap().stop, StopReason::VerifyFailed);
    }
}

#[test]
fn repairs_and_corrections_are_turns_like_any_other() {
    let turns = |turns_max| Limits { turns_max, ..Limits::default() };
    let mut game = Game::new(turns(2), Some("{}"), &[], Vec::new());
    assert_eq!(game.answer("no"), None);
    let outcome = game.answer(r#"{"n":1}"#).unwrap();
    assert_eq!((outcome.status(), outcome.turns), (OutcomeStatus::Completed, 2));
    let mut game =
        Game::new(turns(3), None, &["test"], vec![VerifyEnding::Exited(1), VerifyEnding::Exited(0)]);
    assert_eq!(game.answer("done"), None);
    let outcome = game.answer("really done").unwrap();
    assert_eq!((outcome.status(), outcome.turns), (OutcomeStatus::Completed, 2));
}

#[test]
fn a_report_at_a_limit_that_satisfies_the_schema_is_kept_as_data() {
    let read = "[read {\"path\":\"a\"}]";
    let mut game = Game::new(Limits { turns_max: 2, ..Limits::default() }, Some("{}"), &["test"], Vec::new());
    assert_eq!(game.answer(read), None);
    assert_eq!(
        game.last_message(),
        "This is the last of your 2 turns. You cannot call tools any more. Answer now with what you have: only JSON that \
         satisfies the schema, without a fence and without any other text."
    );
    let outcome = game.answer(r#"{"n":1}"#).unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::TurnsExhausted, OutcomeStatus::Partial));
    assert_eq!(outcome.data, Some(json!({"n":1})));

    let limits = Limits { tool_calls_max: 1, ..Limits::default() };
    let mut game = Game::new(limits, Some("{}"), &[], Vec::new());
    assert_eq!(game.answer(read), None);
    assert_eq!(game.answer("no JSON"), None, "a turn is left for a repair");
    let outcome = game.answer("no JSON either").unwrap();
    assert_eq!((outcome.stop, outcome.data), (StopReason::ToolCallsExhausted, None));
    assert_eq!(outcome.schema_errors.len(), 1);
}

#[test]
fn a_result_counts_when_every_command_passed() {
    let passed = vec![VerifyEnding::Exited(0), VerifyEnding::Exited(0)];
    let mut game = Game::new(Limits::default(), None, &["build", "test"], passed);
    game.answer("[read {\"path\":\"a\"}]");
    let outcome = game.answer("done").unwrap();
    assert_eq!(
        (outcome.status(), outcome.evidence.len(), outcome.warnings.len()),
        (OutcomeStatus::Completed, 2, 0)
    );
    let mut game = Game::new(Limits::default(), None, &["test"], vec![VerifyEnding::Exited(0)]);
    let outcome = game.answer("done").unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    assert!(outcome.warnings[0].starts_with("nothing was done with tools"), "{:?}", outcome.warnings);
}

#[test]
fn a_failed_check_is_told_once_and_all_commands_are_run_again() {
    let endings = vec![
        VerifyEnding::Exited(0),
        VerifyEnding::Exited(101),
        VerifyEnding::Exited(0),
        VerifyEnding::Stopped("timed out".to_owned()),
    ];
    let mut game = Game::new(Limits::default(), None, &["build", "test"], endings);
    assert_eq!(game.answer("done"), None);
    assert_eq!(
        game.last_message(),
        "You said that the task is done, so the result was checked in the workspace. This failed:\n\n$ test\n\
         [exit code 101]\noutput of test\n\nCorrect what is wrong, then give your whole answer again. The check is made \
         once more."
    );
    let outcome = game.answer("really done").unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::VerifyFailed, OutcomeStatus::Failed));
    assert_eq!(
        (outcome.text.as_str(), outcome.detail.as_deref()),
        ("really done", Some("`test`: timed out"))
    );
    assert_eq!(outcome.evidence.iter().map(VerifyEvidence::passed).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_command_that_cannot_be_run_ends_the_task_without_another_turn() {
    let endings = vec![VerifyEnding::NotRun("there is no shell".to_owned())];
    let mut game = Game::new(Limits::default(), None, &["build", "test"], endings);
    let outcome = game.answer("done").unwrap();
    assert_eq!((outcome.stop, outcome.text.as_str(), outcome.turns), (StopReason::VerifyFailed, "done", 1));
    assert_eq!(outcome.detail.as_deref(), Some("`build`: not run: there is no shell"));
}

#[test]
fn a_correction_has_to_satisfy_the_schema_too() {
    let endings = vec![VerifyEnding::Exited(1), VerifyEnding::Exited(0)];
    let mut game = Game::new(Limits::default(), Some("{}"), &["test"], endings);
    assert_eq!(game.answer(r#"{"n":1}"#), None);
    assert_eq!(game.answer("fixed it"), None);
    let outcome = game.answer(r#"{"n":2}"#).unwrap();
    assert_eq!((outcome.status(), outcome.data), (OutcomeStatus::Completed, Some(json!({"n":2}))));
}

#[test]
fn marked_parts_and_a_preview_come_with_the_outcome() {
    let mut game = Game::new(Limits::default(), None, &[], Vec::new());
    let outcome = game.answer("Found it. <summary>short</summary>").unwrap();
    assert_eq!(outcome.sections().summary.as_deref(), Some("short"));
    assert_eq!(outcome.preview(), "Found it. <summary>short</summary>");
    let long = Outcome { text: format!("\n\n {}\nmore", "é".repeat(300)), sections: None, ..outcome };
    assert_eq!(long.preview(), format!("{}…", "é".repeat(200)));
    assert_eq!(long.sections().findings, long.text.trim());
}

#[test]
fn an_outcome_keeps_null_as_data_and_old_outcomes_can_be_read() {
    let mut outcome = json_game().answer(r#"{"n":1}"#).unwrap();
    outcome.data = Some(serde_json::Value::Null);
    let stored = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<Outcome>(&stored).unwrap(), outcome);
    let old = r#"{"stop":"answered","text":"x","turns":1,"tool_calls":0,"usage":{},"changed_files":[]}"#;
    assert_eq!(serde_json::from_str::<Outcome>(old).unwrap().data, None);
}

#[test]
fn a_run_that_stops_before_the_check_says_that_nothing_was_verified() {
    let mut game = Game::new(Limits { turns_max: 2, ..Limits::default() }, None, &["test"], Vec::new());
    assert_eq!(game.answer("[read {\"path\":\"a\"}]"), None);
    let outcome = game.answer("half of it").unwrap();
    assert_eq!((outcome.stop, outcome.status()), (StopReason::TurnsExhausted, OutcomeStatus::Partial));
    assert_eq!(outcome.warnings, ["the result was not verified: the task ended before that"]);
}
