//! Stories of journals made by hand.

use std::sync::Arc;

use posse_core::agent::Agent;
use posse_core::approval::{ApprovalScope, ApprovalVerdict, DecidedBy};
use posse_core::edits::{ChangeKind, FileChange, LineCounts};
use posse_core::grant::Grant;
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::message::{Block, CallArguments, ToolCall, ToolResult};
use posse_core::outcome::OutcomeStatus;
use posse_core::reply::{Reply, ReplyStop};
use posse_core::state::TaskState;
use posse_core::usage::{SpendingTotal, Usage};
use posse_runtime::ports::{ResultDelivery, TaskRow};
use posse_terminal::style::{StyledLine, SymbolSet};

use super::{StoryHead, StoryStyle, story, turn_lines, turn_records};

fn call(turn: u32, index: u32, name: &str, arguments: &str) -> Block {
    let key = CallKey { turn, index };
    let arguments = CallArguments::judge(arguments);
    Block::ToolCall(Arc::new(ToolCall {
        key,
        id: key.to_string(),
        name: name.to_owned(),
        arguments,
        signature: None,
    }))
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned(), signature: None }
}

fn asked(turn: u32, elapsed_ms: u64) -> Record {
    Record::Asked { turn, turns_max: 50, estimate: 0, elapsed_ms }
}

fn replied(turn: u32, blocks: Vec<Block>, elapsed_ms: u64) -> Record {
    let usage = Usage { input: 10, output: 1, cost_micros: Some(4_000), ..Usage::default() };
    let (stop, lost) = (ReplyStop::EndTurn, Usage::default());
    let reply = Reply { blocks, stop, usage, model: "m".to_owned(), lost, notes: Vec::new() };
    Record::Replied { turn, reply, elapsed_ms }
}

fn done(turn: u32, index: u32, name: &str, text: &str, elapsed_ms: u64) -> ToolResultRecord {
    let key = CallKey { turn, index };
    let (is_error, changed) = (text.starts_with("no such"), Vec::new());
    let (mistake, in_doubt, pending) = (false, false, false);
    let (id, name, text) = (key.to_string(), name.to_owned(), text.to_owned());
    let result = ToolResult { key, id, name, text, is_error, mistake, in_doubt, pending, changed };
    ToolResultRecord { result, elapsed_ms }
}

/// A result on its way to a record.
struct ToolResultRecord {
    result: ToolResult,
    elapsed_ms: u64,
}

impl ToolResultRecord {
    fn changing(mut self, path: &str, added: u64, removed: u64) -> Self {
        let lines = Some(LineCounts { added, removed });
        self.result.changed.push(FileChange { path: path.to_owned(), kind: ChangeKind::Modified, lines });
        self
    }

    fn record(self) -> Record {
        Record::done(self.result, self.elapsed_ms)
    }
}

fn started() -> Record {
    let name = AgentName::parse("code-reviewer").unwrap();
    let agent = Agent::new(name, "anthropic:sonnet-5", "");
    Record::Started(Arc::new(TaskStart::new(agent, "Token checks in src/auth", Grant::root([], 0))))
}

fn shown(records: &[Record], width: Option<usize>) -> Vec<String> {
    let tree = SpendingTotal { tasks: 1, cost_micros: 24_000, input_tokens: 10, ..SpendingTotal::default() };
    let row = TaskRow {
        id: TaskId::child("k3v9", 1),
        parent: Some(TaskId::root("k3v9")),
        agent: "code-reviewer".to_owned(),
        title: "Token checks".to_owned(),
        state: TaskState::Ended(OutcomeStatus::Completed),
        owner: String::new(),
        epoch: 1,
        created_ms: 0,
        updated_ms: 41_000,
        seen_ms: 0,
        cancel_requested: false,
        total: SpendingTotal { turns: 6, ..tree },
        delivery: ResultDelivery::default(),
    };
    let head =
        StoryHead { row: &row, status: "completed", tree: &tree, tool_calls: Some(2), took_ms: 41_000 };
    let style = StoryStyle { width, symbols: SymbolSet::Unicode };
    story(&head, records, style).iter().map(StyledLine::text).collect()
}

fn review() -> Vec<Record> {
    let grep = r#"{"pattern": "verify_token"}"#;
    let edit = r#"{"path": "src/auth.rs", "old_string": "a", "new_string": "b"}"#;
    let read = r#"{"path": "src/auth.rs"}"#;
    let resolved = Record::Resolved {
        key: CallKey { turn: 2, index: 0 },
        tool: "edit".to_owned(),
        approval: Some("a1".to_owned()),
        verdict: ApprovalVerdict::Approve,
        scope: ApprovalScope::Once,
        by: DecidedBy::Person("operator".to_owned()),
        elapsed_ms: 5_000,
    };
    vec![
        started(),
        asked(1, 0),
        replied(1, vec![call(1, 0, "grep", grep), call(1, 1, "read", read)], 4_000),
        done(1, 0, "grep", &"match\n".repeat(7), 4_050).record(),
        done(1, 1, "read", "no such file", 4_100).record(),
        asked(2, 4_100),
        replied(2, vec![text("The expiry test is inverted."), call(2, 0, "edit", edit)], 5_000),
        resolved,
        done(2, 0, "edit", "ok", 7_100).changing("src/auth.rs", 2, 1).record(),
        asked(3, 7_100),
        replied(3, vec![text("Two gaps: expired tokens pass.")], 9_000),
    ]
}

#[test]
fn each_turn_says_what_it_did_who_approved_and_what_it_cost() {
    let lines = shown(&review(), None);
    assert!(
        lines[0].starts_with("✓ code-reviewer k3v9.t_01 · completed · 41s · 6 turns · 2 tools · "),
        "{lines:?}"
    );
    assert_eq!(
        lines[1..],
        [
            "task    Token checks in src/auth  from k3v9",
            "1       Grep verify_token (7 lines) · ✗ Read src/auth.rs: no such file  $0.004   4.1s",
            "2       \"The expiry test is inverted.\" · Edit src/auth.rs +2 −1 (operator: once)  $0.004   3.0s",
            "3       answered  $0.004   1.9s",
            "answer  Two gaps: expired tokens pass.",
        ]
    );
}

#[test]
fn a_turn_takes_two_lines_of_the_terminal_and_its_figures_stand_at_the_right() {
    for width in [60, 80] {
        let lines = shown(&review(), Some(width));
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
        let second = lines.iter().position(|line| line.starts_with("2   ")).unwrap();
        assert!(lines[second].ends_with(" $0.004   3.0s"), "{lines:#?}");
        assert_eq!(lines[second].chars().count(), width);
        assert!(lines[second + 1].starts_with("        "), "{lines:#?}");
        assert!(lines[second + 2].starts_with("3   "), "no turn takes more: {lines:#?}");
    }
}

#[test]
fn turns_that_only_look_are_folded_in_a_long_story() {
    let mut records = vec![started()];
    for turn in 1..=12_u32 {
        let at = u64::from(turn) * 1_000;
        records.push(asked(turn, at - 1_000));
        let (tool, result) = if turn == 5 { ("grep", "no such directory") } else { ("read", "text") };
        records.push(replied(turn, vec![call(turn, 0, tool, r#"{"path": "a"}"#)], at));
        records.push(done(turn, 0, tool, result, at).record());
    }
    let lines = shown(&records, None);
    let folded = "1–12  Read ×11 · Grep · ✗ Grep a: no such directory  $0.048    12s";
    assert_eq!(lines[2..], [folded], "{lines:#?}");
}

#[test]
fn a_delegation_names_its_task_and_an_error_in_json_says_its_message() {
    let spawn = r#"{"action": "spawn", "agent": "helper", "task": "Look"}"#;
    let mut refused = done(1, 1, "subagent", r#"{"error":"INVALID_REQUEST","message":"no `model`"}"#, 20);
    refused.result.is_error = true;
    let records = [
        started(),
        asked(1, 0),
        replied(1, vec![call(1, 0, "subagent", spawn), call(1, 1, "subagent", spawn)], 10),
        done(1, 0, "subagent", r#"{"task_id":"k3v9.t_01","status":"running"}"#, 20).record(),
        refused.record(),
    ];
    let lines = shown(&records, None);
    let expected = "1     Subagent spawn helper t_01 · ✗ Subagent spawn helper: no `model`";
    assert!(lines[2].starts_with(expected), "{lines:#?}");
}

#[test]
fn one_turn_is_shown_as_a_whole() {
    let style = StoryStyle { width: None, symbols: SymbolSet::Ascii };
    let records = review();
    let lines = turn_lines(turn_records(&records, 2), style);
    let lines: Vec<String> = lines.iter().map(StyledLine::text).collect();
    assert_eq!(lines[..2], ["turn 2 | $0.004 | 3.0s", "The expiry test is inverted."]);
    assert!(lines.contains(&"    \"old_string\": \"a\",".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"2.0 approved by operator (a1)".to_owned()), "{lines:#?}");
    assert_eq!(lines[lines.len() - 2..], ["+ 2.0 edit · src/auth.rs +2 −1", "    ok"]);
    assert!(turn_records(&records, 4).is_empty());
}
