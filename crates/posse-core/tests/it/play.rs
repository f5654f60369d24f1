//! A driver without I/O: plays replies against a run and writes down what happened. The only code of these tests that
//! knows the API.

use std::collections::BTreeMap;
use std::fmt::Write;

use posse_core::agent::Agent;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{AgentName, CallKey};
use posse_core::journal::TaskStart;
use posse_core::limits::Limits;
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult, find_fault};
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::run::{CallAction, Run, RunStep};
use posse_core::tool::ToolEffect;
use posse_core::usage::Usage;

pub fn tools() -> BTreeMap<String, ToolEffect> {
    let effects =
        [("read", ToolEffect::Pure), ("write", ToolEffect::Idempotent), ("bash", ToolEffect::Unsafe)];
    effects.map(|(name, effect)| (name.to_owned(), effect)).into()
}

pub fn grant() -> Grant {
    Grant::root(["read", "write"].map(str::to_owned), 1)
}

/// A reply in one line: `text`, `[tool {json}]` for calls, `!stop` for a stop reason, `?kind` for a failure,
/// `~text` for thinking. Parts are separated by ` & `.
pub fn parse_reply(line: &str) -> Result<Reply, ModelFailure> {
    let mut reply = Reply {
        blocks: Vec::new(),
        stop: ReplyStop::EndTurn,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        model: "test:model".to_owned(),
        lost: Usage::default(),
        notes: Vec::new(),
    };
    for part in line.split(" & ").filter(|part| !part.is_empty()) {
        if let Some(call) = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
            let (name, id) = name.split_once('#').unwrap_or((name, ""));
            reply.blocks.push(Block::call(ToolCall {
                key: CallKey { turn: 0, index: 0 },
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: CallArguments::judge(arguments),
                signature: None,
            }));
            reply.stop = ReplyStop::ToolUse;
        } else if let Some(stop) = part.strip_prefix('!') {
            reply.stop = match stop {
                "max_tokens" => ReplyStop::MaxTokens,
                "refusal" => ReplyStop::Refusal,
                "paused" => ReplyStop::Paused,
                "tool_use" => ReplyStop::ToolUse,
                "context_full" => ReplyStop::ContextFull,
                other => ReplyStop::Other(other.to_owned()),
            };
        } else if let Some(kind) = part.strip_prefix('?') {
            let kind = match kind {
                "context" => FailureKind::ContextTooLong,
                _ => FailureKind::Overloaded,
            };
            return Err(ModelFailure::new(kind, "from the test"));
        } else if let Some(tokens) = part.strip_prefix("usage=") {
            reply.usage.input = tokens.parse().unwrap();
        } else if let Some(text) = part.strip_prefix('~') {
            let signature = Some("signed".to_owned());
            reply.blocks.push(Block::Thinking { text: text.to_owned(), signature });
        } else {
            reply.blocks.push(Block::text(part));
        }
    }
    Ok(reply)
}

/// Runs the script; every tool that is executed answers `ok <name>` padded to `result_bytes`.
pub fn play(limits: Limits, script: &str, result_bytes: usize) -> String {
    let agent = Agent { limits, ..Agent::new(AgentName::parse("a").unwrap(), "p:m", "") };
    let mut run = Run::new(&TaskStart::new(agent, "the task", grant()), tools(), 0);
    let mut replies = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut log = String::new();
    for _ in 0..200 {
        match run.next_step(0) {
            RunStep::CallModel(ask) => {
                assert_eq!(find_fault(run.messages()), None, "the history is valid before every call");
                let Some(line) = replies.next() else {
                    writeln!(log, "asks again: turn {}", ask.turn).unwrap();
                    break;
                };
                if !ask.with_tools {
                    writeln!(log, "asked to report").unwrap();
                }
                match parse_reply(line) {
                    Ok(reply) => run.on_reply(reply),
                    Err(failure) => run.on_failure(&failure),
                }
            }
            RunStep::CallTools(calls) => {
                let results = calls.into_iter().map(|planned| match planned.action {
                    CallAction::Refuse(result) => {
                        writeln!(log, "{} refused: {}", result.name, result.text).unwrap();
                        result
                    }
                    CallAction::Execute(_) | CallAction::Ask(..) => {
                        writeln!(log, "{} runs", planned.call.name).unwrap();
                        let text = format!("ok {}", planned.call.name);
                        ToolResult::new(&planned.call, format!("{text:<result_bytes$}"))
                    }
                });
                let results = results.collect();
                run.on_results(results);
            }
            RunStep::Check(_) | RunStep::Verify(_) => unreachable!("these runs are not judged"),
            RunStep::Finish(outcome) => {
                let detail = outcome.detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default();
                let (status, stop) = (outcome.status().wire(), outcome.stop.wire());
                writeln!(log, "{status}: {stop}{detail} {:?} turns={}", outcome.text, outcome.turns).unwrap();
                break;
            }
        }
        for event in run.take_events() {
            if let Event::Elided { results, bytes } = event {
                writeln!(log, "elided {results} results, {bytes} bytes").unwrap();
            }
        }
    }
    let left = replies.count();
    if left > 0 {
        writeln!(log, "{left} replies left").unwrap();
    }
    log
}

#[track_caller]
pub fn check(limits: Limits, script: &str, expected: &str) {
    let clean =
        |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(clean(&play(limits, script, 0)), clean(expected));
}

/// All tool results of a history, in order.
pub fn results(run: &Run) -> Vec<ToolResult> {
    let results = run.messages().iter().filter_map(|message| match message {
        Message::Results { results } => Some(results.clone()),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    results.flatten().collect()
}
