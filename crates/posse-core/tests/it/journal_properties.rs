//! Random lives of a run: whatever the model answers and wherever the process dies.

use std::sync::Arc;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::id::AgentName;
use posse_core::journal::{Record, TaskStart};
use posse_core::limits::Limits;
use posse_core::message::{Block, Message, ToolResult, find_fault};
use posse_core::run::{CallAction, Run, RunStep, replay};
use posse_core::usage::Usage;
use posse_core::verify::{VerifyEnding, VerifyEvidence};
use proptest::prelude::*;

use crate::play::{grant, parse_reply, results, tools};

fn reply_line() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => Just("[read {\"path\":\"a\"}]".to_owned()),
        3 => "[a-c]".prop_map(|id| format!("[read#{id} {{\"path\":\"{id}\"}}]")),
        3 => Just("[write {\"path\":\"b\"}]".to_owned()),
        2 => Just("[bash {\"command\":\"x\"}]".to_owned()),
        1 => Just("[no.such/tool {}]".to_owned()),
        2 => Just("[write {\"pa]".to_owned()),
        1 => Just("[read {\"a\":1,\"a\":2}]".to_owned()),
        2 => "[a-z ]{0,8}".prop_map(|text| text.trim().to_owned()),
        2 => Just("{\"n\":1.5e300}".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just("<findings>so</findings>".to_owned()),
        1 => Just("~thought".to_owned()),
        1 => Just("!max_tokens".to_owned()),
        1 => Just("!paused".to_owned()),
        1 => Just("!tool_use".to_owned()),
        1 => Just("?context".to_owned()),
        1 => Just("usage=190000".to_owned()),
    ];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.join(" & "))
}

/// What becomes of an answer: nothing is asked of it, it must satisfy a schema, commands check it, or both.
#[derive(Debug, Clone, Copy)]
struct Judged {
    schema: bool,
    commands: usize,
}

fn judged() -> impl Strategy<Value = Judged> {
    (any::<bool>(), 0usize..3).prop_map(|(schema, commands)| Judged { schema, commands })
}

fn start(limits: Limits, judged: Judged) -> TaskStart {
    let output_schema = judged.schema.then(|| "{}".to_owned());
    let settings = ModelSettings { output_schema, ..ModelSettings::default() };
    let agent =
        Agent { limits, settings, ..Agent::new(AgentName::parse("worker").unwrap(), "test:model", "") };
    let verify = (0..judged.commands).map(|n| format!("check {n}")).collect();
    TaskStart { verify, ..TaskStart::new(agent, "the task", grant()) }
}

/// Something different at each step, so that every way to end is met.
fn evidence(command: String, step: usize) -> VerifyEvidence {
    let ending = match step % 5 {
        0 => VerifyEnding::Stopped("timed out".to_owned()),
        1 => VerifyEnding::NotRun("no shell".to_owned()),
        2 => VerifyEnding::Exited(1),
        _ => VerifyEnding::Exited(0),
    };
    VerifyEvidence { command, ending, duration_ms: 3, output: "o".repeat(step) }
}

/// Plays a life and returns its journal together with the run as it was after each record.
fn live(
    limits: Limits,
    judged: Judged,
    replies: &[String],
    result_bytes: usize,
    interrupt: usize,
) -> (Vec<Record>, Vec<Run>) {
    let start = start(limits, judged);
    let mut run = Run::new(&start, tools(), 0);
    run.take_events();
    let (mut records, mut states) = (vec![Record::Started(Arc::new(start))], vec![run.clone()]);
    let mut replies = replies.iter();
    let mut write = |record: Record, run: &mut Run| {
        run.take_events();
        records.push(record);
        states.push(run.clone());
    };
    for step in 0..200 {
        if step + 3 == interrupt && !run.is_finished() {
            let (shortfall, input_excess) = ("spent".to_owned(), result_bytes as u64 / 3);
            run.on_budget_spent(&shortfall, input_excess);
            write(Record::BudgetSpent { shortfall, input_excess, elapsed_ms: 0 }, &mut run);
        }
        if step == interrupt {
            run.on_cancel(&[]);
            write(Record::Cancelled { elapsed_ms: 0, with_parent: false }, &mut run);
        }
        match run.next_step(0) {
            RunStep::CallModel(_) => {
                let Some(line) = replies.next() else { break };
                match parse_reply(line) {
                    Ok(reply) => {
                        run.on_reply(reply.clone());
                        write(Record::Replied { turn: 1, reply, elapsed_ms: 0 }, &mut run);
                    }
                    Err(failure) => {
                        run.on_failure(&failure);
                        write(Record::Unanswered { failure, said: String::new(), elapsed_ms: 0 }, &mut run);
                    }
                }
            }
            RunStep::CallTools(calls) => {
                // One result at a time, last call first: the order of completion must not matter.
                let planned = calls.into_iter().last().unwrap();
                let result = match planned.action {
                    CallAction::Refuse(result) => result,
                    CallAction::Execute(_) | CallAction::Ask(..) => {
                        ToolResult::new(&planned.call, "r".repeat(result_bytes))
                    }
                };
                run.on_results(vec![result.clone()]);
                write(Record::done(result, 0), &mut run);
            }
            RunStep::Check(_) => {
                let errors = if step % 3 == 0 { vec!["/n: is wrong".to_owned()] } else { Vec::new() };
                run.on_checked(&errors);
                write(Record::Checked { errors, elapsed_ms: 0 }, &mut run);
            }
            RunStep::Verify(command) => {
                write(Record::Verifying { command: command.clone(), epoch: 1 }, &mut run);
                let evidence = evidence(command, step);
                run.on_verified(evidence.clone());
                write(Record::Verified { evidence, elapsed_ms: 0 }, &mut run);
            }
            RunStep::Finish(outcome) => {
                run.on_finished(&outcome);
                write(Record::Finished { outcome, elapsed_ms: 0 }, &mut run);
                if step > interrupt {
                    break;
                }
                if step % 2 == 0 {
                    run.on_message("and now?", 0);
                    let text = "and now?".to_owned();
                    write(
                        Record::Said {
                            text,
                            epoch: 2,
                            lost_tokens: 0,
                            lost_cost_micros: None,
                            elapsed_ms: 0,
                        },
                        &mut run,
                    );
                } else {
                    run.on_lost(&posse_core::journal::lost_usage(7, None));
                    run.on_resume(Some(9), None);
                    let (turns_max, wall_ms_max) = (Some(9), None);
                    let resumed = Record::Resumed {
                        epoch: 2,
                        turns_max,
                        wall_ms_max,
                        lost_tokens: 7,
                        lost_cost_micros: None,
                        elapsed_ms: 0,
                    };
                    write(resumed, &mut run);
                    let tools = vec!["write".to_owned()];
                    run.on_withdrawn(&tools, None);
                    write(Record::Withdrawn { tools, left: None, elapsed_ms: 0 }, &mut run);
                }
            }
        }
    }
    (records, states)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_prefix_of_a_journal_rebuilds_the_same_run(
        replies in proptest::collection::vec(reply_line(), 1..12), turns_max in 0u32..8, bytes in 0usize..4000,
        interrupt in 0usize..40, judged in judged()
    ) {
        let limits = Limits { turns_max, context_window: Some(200_000), ..Limits::default() };
        let (records, states) = live(limits, judged, &replies, bytes, interrupt);
        for length in 1..=records.len() {
            // Through the bytes, as a store would keep them.
            let stored: Vec<Record> = records[..length].iter().map(|r| Record::decode(&r.encode()).unwrap()).collect();
            let replayed = replay(&stored, tools(), 0).unwrap();
            prop_assert_eq!(&replayed.run, &states[length - 1]);
            let mut spent = Usage::default();
            stored.iter().for_each(|record| spent.add(&record.spent()));
            prop_assert_eq!(&spent, replayed.run.usage());
        }
    }

    #[test]
    fn each_call_is_answered_once_and_in_order_and_the_history_stays_valid(
        replies in proptest::collection::vec(reply_line(), 1..12), turns_max in 0u32..8, bytes in 0usize..4000,
        interrupt in 0usize..40, resume_at in 0usize..100, judged in judged()
    ) {
        let limits = Limits { turns_max, context_window: Some(200_000), ..Limits::default() };
        let (records, states) = live(limits, judged, &replies, bytes, interrupt);
        for state in &states {
            let asked: Vec<_> = state.messages().iter().flat_map(|m| match m {
                Message::Assistant { blocks } => blocks.iter().filter_map(Block::as_call).map(|c| c.key).collect(),
                Message::User { .. } | Message::Results { .. } => Vec::new(),
            }).collect();
            let answered: Vec<_> = results(state).iter().map(|r| r.key).collect();
            prop_assert!(asked.starts_with(&answered), "{:?} answered as {:?}", asked, answered);
            if matches!(state.next_step(0), RunStep::CallModel(_)) {
                prop_assert_eq!(find_fault(state.messages()), None);
            }
        }
        // Taken up again at any point, the next request is valid too.
        let mut run = replay(&records[..=resume_at % records.len()], tools(), 0).unwrap().run;
        run.on_resume(Some(30), None);
        run.on_withdrawn(&["read".to_owned()], None);
        if matches!(run.next_step(0), RunStep::CallModel(_)) {
            prop_assert_eq!(find_fault(run.messages()), None);
        }
    }
}

/// The journal as a version wrote it that named no rules.
fn of_the_first_version(limits: Limits, lines: &[&str]) -> Vec<Record> {
    let start = start(limits, Judged { schema: false, commands: 0 });
    let mut written: serde_json::Value =
        serde_json::from_slice(&Record::Started(Arc::new(start)).encode()).unwrap();
    written.as_object_mut().unwrap().remove("rules").expect("new journals name their rules");
    let replies = lines.iter().map(|line| Record::Replied {
        turn: 1,
        reply: parse_reply(line).unwrap(),
        elapsed_ms: 0,
    });
    let started = Record::decode(written.to_string().as_bytes()).unwrap();
    std::iter::once(started).chain(replies).collect()
}

#[test]
fn a_task_of_an_earlier_version_goes_on_with_the_calls_it_had() {
    // The first version let the last turn call tools and asked for the report afterwards.
    let limits = Limits { turns_max: 1, ..Limits::default() };
    let records = of_the_first_version(limits, &["[write {\"path\":\"b\"}]"]);
    let mut run = replay(&records, tools(), 0).unwrap().run;
    let RunStep::CallTools(open) = run.next_step(0) else { panic!("{:?}", run.next_step(0)) };
    run.on_results(vec![ToolResult::new(&open[0].call, "ok")]);
    let RunStep::CallModel(ask) = run.next_step(0) else { panic!("{:?}", run.next_step(0)) };
    assert!(!ask.with_tools);
    // It did not count paused replies, and calls are known by the number of their turn.
    let records = of_the_first_version(Limits::default(), &["so & !paused", "[write {\"path\":\"b\"}]"]);
    let RunStep::CallTools(open) = replay(&records, tools(), 0).unwrap().run.next_step(0) else { panic!() };
    assert_eq!(open[0].call.key.turn, 1);
}
