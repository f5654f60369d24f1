//! Rows of the live tree, from events to screens.

use posse_core::approval::{ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict, ParkedCall};
use posse_core::edits::{ChangeKind, FileChange, LineCounts};
use posse_core::event::{Event, EventEntry, WaitCause};
use posse_core::fact::{LiveFact, QueuePlace};
use posse_core::grant::SandboxTier;
use posse_core::id::{CallKey, TaskId};
use posse_core::outcome::{OutcomeStatus, StopReason};
use posse_core::reply::FailureKind;
use posse_core::usage::Usage;
use posse_terminal::rows::{ApprovalCard, RowDelta, RowState, TreeLayout, TreeModel, key_lines};
use posse_terminal::style::{StyledLine, SymbolSet, columns};

const KEY: CallKey = CallKey { turn: 1, index: 0 };

/// A tree under test with its clock, in seconds.
struct TestTree {
    model: TreeModel,
    second: u64,
}

impl TestTree {
    fn new() -> Self {
        Self { model: TreeModel::new(TaskId::root("k3v9")), second: 1_000 }
    }

    fn id(number: u32) -> TaskId {
        if number == 0 { TaskId::root("k3v9") } else { TaskId::child("k3v9", number) }
    }

    fn tell(&mut self, number: u32, event: Event) {
        let at_ms = self.second * 1_000;
        self.model.observe(&EventEntry { v: 1, seq: 0, task_id: Self::id(number), at_ms, event });
    }

    fn learn(&mut self, number: u32, fact: LiveFact) {
        self.model.learn(&Self::id(number), &fact);
    }

    fn introduce(&mut self, number: u32, agent: &str, title: &str) {
        let parent = (number > 0).then(|| Self::id(0));
        self.learn(number, LiveFact::Task { agent: agent.to_owned(), parent, title: title.to_owned() });
    }

    /// Queues a task at this place, with three of three slots taken.
    fn place(&mut self, number: u32, place: u32) {
        let place = QueuePlace { after: Vec::new(), position: Some(place), running: 3, slots: 3 };
        self.learn(number, LiveFact::Queued(place));
    }

    fn retry(&mut self, number: u32, kind: FailureKind, status: Option<u16>, wait_ms: u64) {
        self.tell(number, Event::ModelRetry { kind, status, why: "of the provider".to_owned(), wait_ms });
    }

    fn queue(&mut self, number: u32, agent: &str, title: &str) {
        self.introduce(number, agent, title);
        self.tell(number, Event::Queued { agent: agent.to_owned(), after: Vec::new() });
    }

    fn start(&mut self, number: u32, agent: &str, title: &str, second: u64) {
        self.second = second;
        self.introduce(number, agent, title);
        self.begin(number, agent, 100_000);
    }

    fn begin(&mut self, number: u32, agent: &str, window: u64) {
        let (agent, model) = (agent.to_owned(), "openai:gpt-5-mini".to_owned());
        let (context_window, sandbox) = (Some(window), SandboxTier::Namespaces);
        self.tell(number, Event::Started { agent, model, context_window, sandbox });
    }

    fn turn(&mut self, number: u32, turn: u32, turns_max: u32) {
        self.tell(number, Event::TurnStarted { turn, turns_max });
    }

    fn reply(&mut self, number: u32, tokens: u64, micros: u64) {
        let usage = Usage { input: tokens, ..Usage::default() }.costing(Some(micros));
        self.tell(number, Event::Replied { turn: 1, model: "openai:gpt-5-mini".to_owned(), usage, calls: 1 });
    }

    fn call(&mut self, number: u32, tool: &str, summary: &str) {
        self.tell(
            number,
            Event::ToolStarted { key: KEY, tool: tool.to_owned(), summary: summary.to_owned() },
        );
    }

    fn finish(&mut self, number: u32, status: OutcomeStatus, stop: StopReason, turns: u32, micros: u64) {
        let usage = Usage { input: 1, ..Usage::default() }.costing(Some(micros));
        self.tell(number, Event::Finished { status, stop, turns, tool_calls: 0, usage });
    }

    fn layout(columns: usize, rows_max: usize) -> TreeLayout {
        TreeLayout { columns, rows_max, symbols: SymbolSet::Unicode, selected: None }
    }

    fn lines(&self, columns: usize, rows_max: usize) -> Vec<String> {
        texts(&self.model.lines(&Self::layout(columns, rows_max), self.second * 1_000))
    }

    /// Compares the rows that the text shows; a row of `...` stands for any.
    fn check(&self, columns: usize, rows_max: usize, expected: &str) {
        let shown = self.lines(columns, rows_max);
        let expected: Vec<&str> = expected.trim_matches('\n').lines().collect();
        assert_eq!(shown.join("\n"), expected.join("\n"), "\n{}\n", shown.join("\n"));
    }

    /// The tree of three subagents: working, rate limited, queued.
    fn of_three() -> Self {
        let mut tree = Self::new();
        tree.start(0, "orchestrator", "Review the auth code and write tests for what is missing", 1_000);
        tree.turn(0, 4, 50);
        tree.reply(0, 6_000, 31_000);
        tree.call(0, "subagent", "code-reviewer");
        tree.start(1, "code-reviewer", "Token checks in src/auth", 1_007);
        tree.turn(1, 6, 10);
        tree.reply(1, 12_000, 21_000);
        tree.call(1, "grep", "\"verify_token\" src/auth/middleware.rs");
        tree.introduce(2, "code-reviewer", "Session expiry");
        // The window makes three percent of it.
        tree.begin(2, "code-reviewer", 70_000);
        tree.turn(2, 2, 10);
        tree.reply(2, 2_100, 9_000);
        tree.second = 1_038;
        tree.retry(2, FailureKind::RateLimited, Some(429), 4_000);
        tree.queue(3, "test-writer", "Tests for the gaps");
        let after = vec!["t_01".to_owned(), "t_02".to_owned()];
        tree.learn(3, LiveFact::Queued(QueuePlace { after, position: None, running: 2, slots: 3 }));
        tree
    }

    /// Twenty subagents of which three run at once.
    fn of_twenty() -> Self {
        let mut tree = Self::new();
        tree.start(0, "orchestrator", "Check every crate", 1_000);
        tree.reply(0, 1_000, 17_000);
        tree.call(0, "subagent", "general");
        for (number, micros) in [(1, 60_000), (2, 60_000), (3, 40_000), (6, 19_000)] {
            tree.start(number, "general", "Check a crate", 1_001);
            tree.finish(number, OutcomeStatus::Completed, StopReason::Answered, 3, micros);
        }
        tree.start(4, "general", "Check posse-git", 1_020);
        tree.reply(4, 1_000, 11_000);
        tree.start(5, "general", "Check posse-http", 1_021);
        tree.reply(5, 1_000, 18_000);
        tree.model.stream(&Self::id(5), RowDelta::Text(&"x".repeat(1_200)));
        tree.start(7, "general", "Check posse-models", 1_041);
        tree.reply(7, 1_000, 6_000);
        for number in 8..=20 {
            tree.queue(number, "general", "Check posse-tools");
            tree.place(number, number - 7);
        }
        tree.second = 1_072;
        tree.retry(7, FailureKind::Overloaded, Some(529), 9_000);
        tree.tell(
            4,
            Event::ApprovalRequested {
                key: KEY,
                approval: "a1".to_owned(),
                tool: "bash".to_owned(),
                summary: "git gc".to_owned(),
                why: "rule".to_owned(),
                deadline_ms: 0,
            },
        );
        tree
    }
}

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

#[test]
fn one_agent_shows_its_action_and_no_task() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "why is the login test flaky?", 1_000);
    tree.turn(0, 3, 50);
    tree.reply(0, 1_000, 21_000);
    tree.call(0, "grep", "\"retry\" in tests/login_test.rs");
    tree.second = 1_014;
    tree.check(
        80,
        20,
        r#"
● orchestrator  Grep "retry" in tests/login_test.rs     turn 3/50  $0.021   14s
"#,
    );
    let keys = tree.model.key_line(&TestTree::layout(80, 20), true).text();
    assert_eq!(keys, "  ? keys   q leave it running   Ctrl-C stop");
}

#[test]
fn three_subagents_at_60_columns() {
    TestTree::of_three().check(
        60,
        20,
        r#"
● root     Review the auth c…  waits for 3 subagen…  $0.061
├─ ● t_01  Token checks in s…  Grep "verify_token"…  $0.021
├─ ! t_02  Session expiry      retry in 4s: rate l…  $0.009
└─ ◌ t_03  Tests for the gaps  queued: after t_01,…
"#,
    );
}

#[test]
fn three_subagents_at_80_columns() {
    TestTree::of_three().check(
        80,
        20,
        r#"
● orchestrator           Review the auth …  waits for 3 subagen…  $0.061    38s
├─ ● code-reviewer t_01  Token checks in …  Grep "verify_token"…  $0.021    31s
├─ ! code-reviewer t_02  Session expiry     retry in 4s: rate l…  $0.009    31s
└─ ◌ test-writer t_03    Tests for the ga…  queued: after t_01,…
"#,
    );
}

#[test]
fn three_subagents_at_120_and_200_columns() {
    let tree = TestTree::of_three();
    assert_eq!(
        tree.lines(120, 20)[1],
        r#"├─ ● code-reviewer t_01  Token checks in src/auth    Grep "verify_token" src/auth/…   turn 6/10  ctx 12%  $0.021    31s"#
    );
    assert_eq!(
        tree.lines(200, 20)[2],
        "├─ ! code-reviewer t_02  Session expiry                                        retry in 4s: rate limited                                       gpt-5-mini   turn 2/10   ctx 3%  2.1k tok  $0.009    31s"
    );
}

#[test]
fn twenty_subagents_in_10_rows_are_folded_from_the_end() {
    let tree = TestTree::of_twenty();
    // Two rows stay free, one has the keys.
    tree.check(
        80,
        7,
        "
● orchestrator     Check every crate   waits for 20 subagents     $0.231  1m12s
├─ ? general t_04  Check posse-git     approve: Bash git gc       $0.011    52s
├─ ● general t_05  Check posse-http    writing, 1.2k characters   $0.018    51s
├─ ! general t_07  Check posse-models  retry in 9s: HTTP 529      $0.006    31s
├─ ◌ general t_08  Check posse-tools   queued: 1st, 3 of 3 run
├─ ◌ 12 more queued  t_09 … t_20
└─ ✓ 4 completed     t_01 … t_03, t_06                            $0.179
",
    );
    let keys = tree.model.key_line(&TestTree::layout(80, 7), true).text();
    assert_eq!(keys, "  a answer t_04   ↑↓ Enter open   s steer   c cancel   q leave   ? keys");
    let narrow = tree.model.key_line(&TestTree::layout(60, 7), true).text();
    assert_eq!(narrow, "  a answer t_04   ↑↓ Enter open   s steer   ? keys");
    let stays = tree.model.key_line(&TestTree::layout(80, 7), false).text();
    assert_eq!(stays, "  a answer t_04   ↑↓ Enter open   s steer   c cancel   ? keys");
    assert_eq!(tree.lines(80, 21).len(), 21, "24 rows show all");
}

#[test]
fn a_limit_that_several_tasks_wait_for_is_said_once() {
    let mut tree = TestTree::of_three();
    assert_eq!(tree.model.limits(), [], "the row of a single task says it");
    tree.retry(1, FailureKind::RateLimited, Some(429), 42_000);
    let limits = tree.model.limits();
    let until_ms = (tree.second + 42) * 1_000;
    assert_eq!((limits.len(), limits[0].provider.as_str(), limits[0].until_ms), (1, "openai", until_ms));
    assert_eq!(limits[0].tasks.len(), 2);
    let lines = tree.lines(120, 20);
    let limited: Vec<&String> = lines.iter().filter(|line| line.contains("  rate limited ")).collect();
    assert!(limited.len() == 2 && !lines.iter().any(|line| line.contains("retry in")), "{lines:#?}");
    tree.retry(1, FailureKind::Overloaded, Some(529), 42_000);
    assert_eq!(tree.model.limits(), [], "an overload is of one call");
}

#[test]
fn commands_at_the_end_are_never_cut() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "Look", 1_000);
    tree.finish(0, OutcomeStatus::Completed, StopReason::Answered, 1, 0);
    let hints = ["diff", "undo", "show"].map(|verb| format!("posse tasks {verb} k3v9qd2m"));
    let ends = |columns| texts(&tree.model.ending(&TestTree::layout(columns, 20), &hints, 0))[1..].to_vec();
    assert_eq!(
        ends(80),
        ["  posse tasks diff k3v9qd2m · posse tasks undo k3v9qd2m", "  posse tasks show k3v9qd2m"]
    );
    assert_eq!(ends(40).len(), 3);
    assert_eq!(ends(100).len(), 1);
}

#[test]
fn keys_flow_into_the_width() {
    let keys = "↑↓ selects a task   Enter opens it\nq leaves the task running";
    let flow = |columns| texts(&key_lines(keys, columns, SymbolSet::Unicode));
    assert_eq!(flow(80), ["  ↑↓ selects a task   Enter opens it   q leaves the task running"]);
    assert_eq!(flow(40), ["  ↑↓ selects a task   Enter opens it", "  q leaves the task running"]);
}

#[test]
fn the_most_urgent_rows_are_folded_last() {
    let tree = TestTree::of_twenty();
    for rows_max in 1..=21 {
        let lines = tree.lines(80, rows_max);
        assert!(lines.len() <= rows_max, "{rows_max}: {lines:#?}");
        assert!(lines[0].starts_with("● orchestrator"), "{rows_max}: {lines:#?}");
        if rows_max >= 3 {
            assert!(lines[1].contains("approve: Bash git gc"), "{rows_max}: {lines:#?}");
        }
    }
    assert_eq!(
        tree.lines(80, 3)[2],
        "└─ ● 19 more  t_01 … t_03, t_05 … t_20                            $0.203"
    );
}

#[test]
fn every_state_has_its_mark_in_both_symbol_sets() {
    let states = [
        RowState::Working,
        RowState::Queued,
        RowState::Waiting,
        RowState::NeedsInput,
        RowState::Completed,
        RowState::Partial,
        RowState::Failed,
        RowState::Cancelled,
        RowState::Interrupted,
    ];
    let marks = |symbols| states.map(|state| state.mark(symbols)).join(" ");
    assert_eq!(marks(SymbolSet::Unicode), "● ◌ ! ? ✓ ◐ ✗ – ‖");
    assert_eq!(marks(SymbolSet::Ascii), "* . ! ? + % x - =");
    let tree = TestTree::of_twenty();
    let layout = TreeLayout { symbols: SymbolSet::Ascii, ..TestTree::layout(80, 7) };
    let lines = texts(&tree.model.lines(&layout, tree.second * 1_000));
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
    assert_eq!(lines[5], "|- . 12 more queued  t_09 ... t_20");
    assert!(lines[6].starts_with("`- + 4 completed     t_01 ... t_03, t_06"));
    let mut others = tree.model.ending(&layout, &["posse tasks show k3v9".to_owned()], 0);
    others.push(tree.model.key_line(&layout, true));
    let card = ApprovalCard::new(&parked("edit", r#"{"path":"a"}"#, Some(DIFF)));
    others.extend(card.lines(80, 20, SymbolSet::Ascii, 0));
    assert!(others.iter().all(|line| line.text().is_ascii()), "{:#?}", texts(&others));
}

#[test]
fn rows_end_before_the_edge_and_columns_do_not_move_with_the_action() {
    let mut tree = TestTree::of_three();
    for width in 40..=220 {
        let before = tree.lines(width, 20);
        assert!(before.iter().all(|line| columns(line) < width), "{width}: {before:#?}");
        let cost = |lines: &[String]| lines[1].find("$0.021").map(|at| columns(&lines[1][..at]));
        let at = cost(&before);
        tree.call(
            1,
            "read",
            "日本語/とても長い名前のファイル.rs and more of it, longer than any column is wide",
        );
        let after = tree.lines(width, 20);
        assert!(after.iter().all(|line| columns(line) < width), "{width}: {after:#?}");
        assert_eq!(cost(&after), at, "{width}");
        tree.call(1, "ls", "");
    }
}

#[test]
fn a_retry_counts_down_and_an_unknown_price_is_told() {
    let mut tree = TestTree::of_three();
    tree.second += 3;
    assert!(tree.lines(120, 20)[2].contains("retry in 1s: rate limited"));
    let usage = Usage { input: 10, ..Usage::default() };
    tree.tell(1, Event::Replied { turn: 6, model: "x:local".to_owned(), usage, calls: 0 });
    let lines = tree.lines(80, 20);
    assert!(lines[0].contains("    $?    41s") && lines[1].contains("    $?    34s"), "{lines:#?}");
}

#[test]
fn late_facts_do_not_take_a_state_back() {
    let mut tree = TestTree::of_three();
    tree.place(1, 1);
    assert_eq!(tree.model.state(&TestTree::id(1)), Some(RowState::Working));
    tree.finish(2, OutcomeStatus::Completed, StopReason::Answered, 1, 1);
    tree.learn(2, LiveFact::Interrupted);
    assert_eq!(tree.model.state(&TestTree::id(2)), Some(RowState::Completed));
}

#[test]
fn a_retry_names_its_cause_and_a_passed_wait_is_over() {
    let mut tree = TestTree::of_three();
    let action =
        |tree: &TestTree, number| tree.model.view(&TestTree::id(number), tree.second * 1_000).unwrap().action;
    for (kind, status, shown) in [
        (FailureKind::RateLimited, None, "retry in 4s: rate limited"),
        (FailureKind::Overloaded, Some(529), "retry in 4s: HTTP 529"),
        (FailureKind::Overloaded, None, "retry in 4s: of the provider"),
        (FailureKind::Stalled, None, "retry in 4s: no progress"),
        (FailureKind::Connection, None, "retry in 4s: connection failed"),
    ] {
        tree.retry(1, kind, status, 4_000);
        assert_eq!(action(&tree, 1), shown);
    }
    tree.retry(1, FailureKind::UnknownModel, Some(404), 0);
    assert_eq!(action(&tree, 1), "of the provider", "another model is asked at once");
    let waiting = Event::Waiting { why: WaitCause::RateLimited, paths: Vec::new(), retry_ms: Some(9_000) };
    tree.tell(1, waiting);
    assert_eq!(action(&tree, 1), "retry in 9s: rate limited");
    assert_eq!(tree.model.state(&TestTree::id(1)), Some(RowState::Waiting));
    tree.second += 9;
    assert_eq!(action(&tree, 1), "waiting for the model");
}

#[test]
fn waits_say_what_they_wait_for() {
    let mut tree = TestTree::of_three();
    let action =
        |tree: &TestTree, number| tree.model.view(&TestTree::id(number), tree.second * 1_000).unwrap().action;
    tree.tell(1, Event::Waiting { why: WaitCause::Lease, paths: vec!["src/**".to_owned()], retry_ms: None });
    assert_eq!(
        (action(&tree, 1), tree.model.state(&TestTree::id(1))),
        ("waits for lease src/**".to_owned(), Some(RowState::Waiting))
    );
    let question = "Should a session\nwithout `exp` count?".to_owned();
    tree.learn(2, LiveFact::Question { id: 1, question, options: Vec::new() });
    assert_eq!(action(&tree, 2), "asks: Should a session without `exp` count?");
    tree.learn(2, LiveFact::QuestionClosed { id: 1 });
    assert_eq!(tree.model.state(&TestTree::id(2)), Some(RowState::Working));
    tree.place(3, 4);
    assert_eq!(action(&tree, 3), "queued: no. 4, 3 of 3 run");
    tree.finish(1, OutcomeStatus::Completed, StopReason::Answered, 1, 1);
    tree.finish(2, OutcomeStatus::Completed, StopReason::Answered, 1, 1);
    tree.tell(0, Event::TurnStarted { turn: 5, turns_max: 50 });
    tree.call(0, "Task", "");
    assert_eq!(action(&tree, 0), "waits for 1 subagent", "those that ended before are not counted");
    tree.learn(3, LiveFact::Interrupted);
    assert_eq!(tree.lines(60, 20)[1].chars().nth(3), Some('‖'));
}

// R390
#[test]
fn what_is_about_to_be_delegated_is_shown_while_it_is_written() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "x", 1_000);
    let action = |tree: &TestTree| tree.model.view(&TestTree::id(0), 0).unwrap().action;
    tree.model.stream(&TestTree::id(0), RowDelta::ToolCall { index: 0, name: "subagent" });
    for (fragment, shown) in [
        (r#"{"descr"#, "asking for subagent"),
        (r#"iption": "Analyze the"#, "asking for subagent: Analyze the"),
        (r#" auth\n code", "prompt": "Look"#, "asking for subagent: Analyze the auth code"),
    ] {
        tree.model.stream(&TestTree::id(0), RowDelta::ToolArguments { index: 0, fragment });
        assert_eq!(action(&tree), shown);
    }
    tree.model.stream(&TestTree::id(0), RowDelta::ToolCall { index: 1, name: "write" });
    let secret = RowDelta::ToolArguments { index: 1, fragment: r#"{"description": "secret"}"# };
    tree.model.stream(&TestTree::id(0), secret);
    assert_eq!(action(&tree), "asking for write");
}

#[test]
fn subagents_of_subagents_are_nested() {
    let mut tree = TestTree::of_three();
    tree.start(4, "general", "Below", 1_038);
    let (agent, parent, title) = ("general".to_owned(), Some(TestTree::id(1)), "Below".to_owned());
    tree.learn(4, LiveFact::Task { agent, parent, title });
    tree.reply(4, 10, 5_000);
    let lines = tree.lines(80, 20);
    assert!(lines[0].contains("waits for 3") && lines[0].contains("$0.066"), "{lines:#?}");
    assert!(lines[1].starts_with("├─ ● code-reviewer t_01") && lines[1].contains("$0.026"), "{lines:#?}");
    assert!(lines[2].starts_with("│  └─ ● general t_04"), "{lines:#?}");
}

#[test]
fn text_of_models_cannot_steer_the_terminal() {
    let mut tree = TestTree::of_three();
    tree.introduce(1, "general", "a\u{1b}[2J\nb");
    tree.call(1, "bash", "echo \u{1b}]0;x\u{7}");
    let lines = tree.lines(200, 20);
    assert!(lines[1].contains("a\\u{1b}[2J b") && lines[1].contains("echo \\u{1b}]0;x\\u{7}"), "{lines:#?}");
}

#[test]
fn the_selected_row_is_reversed() {
    let tree = TestTree::of_three();
    let layout = TreeLayout { selected: Some(TestTree::id(2)), ..TestTree::layout(80, 20) };
    let lines = tree.model.lines(&layout, tree.second * 1_000);
    let is_reversed = |line: &StyledLine| line.spans().iter().all(|span| span.style.reverse);
    assert_eq!(lines.iter().map(is_reversed).collect::<Vec<_>>(), [false, false, true, false]);
}

fn change(path: &str, kind: ChangeKind, added: u64, removed: u64) -> FileChange {
    FileChange { path: path.to_owned(), kind, lines: Some(LineCounts { added, removed }) }
}

#[test]
fn the_end_says_what_changed_and_what_to_type() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "x", 1_000);
    let finished = |changed| Event::ToolFinished {
        key: KEY,
        tool: "edit".to_owned(),
        is_error: false,
        in_doubt: false,
        why: None,
        changed,
        bytes: 0,
        millis: 0,
    };
    tree.start(1, "code-reviewer", "y", 1_020);
    tree.tell(1, finished(vec![change("src/auth.rs", ChangeKind::Modified, 1, 1)]));
    tree.tell(1, finished(vec![change("src/auth.rs", ChangeKind::Modified, 1, 0)]));
    tree.model.stream(&TestTree::id(1), RowDelta::Text("\n2 gaps in the token checks\nmore"));
    tree.second = 1_061;
    tree.finish(1, OutcomeStatus::Completed, StopReason::Answered, 6, 24_000);
    tree.start(3, "test-writer", "z", 1_043);
    tree.tell(3, finished(vec![change("tests/auth_test.rs", ChangeKind::Created, 48, 0)]));
    tree.learn(3, LiveFact::Answer { line: "5 of 6 tests written".to_owned() });
    tree.second = 1_072;
    tree.finish(3, OutcomeStatus::Partial, StopReason::TurnsExhausted, 6, 21_000);
    tree.finish(0, OutcomeStatus::Completed, StopReason::Answered, 11, 31_000);
    let hints =
        ["posse tasks diff k3v9", "posse tasks undo k3v9", "posse tasks show k3v9"].map(str::to_owned);
    let lines = texts(&tree.model.ending(&TestTree::layout(80, 20), &hints, 0));
    assert_eq!(
        lines,
        [
            "✓ completed in 1m12s · 11 turns · $0.076 with 2 subagents",
            "├─ ✓ code-reviewer t_01  2 gaps in the token checks               $0.024    41s",
            "└─ ◐ test-writer t_03    turn limit: 5 of 6 tests written         $0.021    29s",
            "2 files changed: src/auth.rs +2 −1 · tests/auth_test.rs +48 new",
            "  posse tasks diff k3v9 · posse tasks undo k3v9 · posse tasks show k3v9",
        ]
    );
}

#[test]
fn the_end_of_a_failure_says_that_no_file_was_changed() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "x", 1_000);
    tree.second = 1_011;
    let message = "anthropic answered HTTP 500 five times".to_owned();
    tree.tell(0, Event::ModelFailed { kind: posse_core::reply::FailureKind::Overloaded, message });
    tree.finish(0, OutcomeStatus::Failed, StopReason::ModelFailed, 1, 4_000);
    let hint = ["try again: posse tasks resume k3v9".to_owned()];
    assert_eq!(
        texts(&tree.model.ending(&TestTree::layout(80, 20), &hint, 0)),
        [
            "✗ failed after 11s · anthropic answered HTTP 500 five times · $0.004",
            "  no file was changed · try again: posse tasks resume k3v9"
        ]
    );
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "x", 1_000);
    tree.turn(0, 10, 10);
    tree.second = 1_042;
    tree.learn(0, LiveFact::Answer { line: "3 of 5 questions answered".to_owned() });
    tree.finish(0, OutcomeStatus::Partial, StopReason::TurnsExhausted, 10, 18_000);
    let hints = ["posse tasks resume k3v9 --max-turns 20", "posse tasks show k3v9"].map(str::to_owned);
    assert_eq!(
        texts(&tree.model.ending(&TestTree::layout(80, 20), &hints, 0)),
        [
            "◐ partial after 42s · turn limit (10) · 3 of 5 questions answered · $0.018",
            "  posse tasks resume k3v9 --max-turns 20 · posse tasks show k3v9"
        ]
    );
}

#[test]
fn more_than_six_subagents_are_folded_at_the_end() {
    let mut tree = TestTree::new();
    tree.start(0, "orchestrator", "x", 1_000);
    for number in 1..=9 {
        tree.start(number, "general", "y", 1_000);
        let (status, stop) = match number {
            3 => (OutcomeStatus::Failed, StopReason::Stalled),
            _ => (OutcomeStatus::Completed, StopReason::Answered),
        };
        tree.finish(number, status, stop, 1, 1_000);
    }
    tree.finish(0, OutcomeStatus::Completed, StopReason::Answered, 2, 1_000);
    let lines = texts(&tree.model.ending(&TestTree::layout(80, 20), &[], 0));
    assert_eq!(
        lines,
        [
            "✓ completed in 0s · 2 turns · $0.010 with 9 subagents",
            "├─ ✗ general t_03  no call succeeded                              $0.001     0s",
            "└─ ✓ 8 completed  t_01, t_02, t_04 … t_09                         $0.008",
        ]
    );
}

/// A call of `t_04` that waits for approval for another 9m58s at 0.
pub fn parked(tool: &str, arguments: &str, diff: Option<&str>) -> ParkedCall {
    let request = ApprovalRequest {
        task: TestTree::id(4),
        key: KEY,
        agent: "test-writer".to_owned(),
        path: vec![TestTree::id(0)],
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        hash: "h".to_owned(),
        why: "rule".to_owned(),
        covers: vec!["edit".to_owned()],
        shown: diff.map(|diff| serde_json::json!({ "diff": diff })),
        asked_ms: 0,
        deadline_ms: 598_000,
        on_deadline: ApprovalVerdict::Deny,
    };
    ParkedCall { id: "a1".to_owned(), request, state: ApprovalState::Open }
}

pub const DIFF: &str = "--- a/src/auth.rs\n+++ b/src/auth.rs\n@@ -41,2 +41,3 @@\n   let claims = decode(token)?;\n-  if claims.exp > now() {\n+  if claims.exp <= now() {\n+      return Err(Expired);";

#[test]
fn an_approval_shows_path_diff_and_keys() {
    let arguments = r#"{"path":"src/auth.rs","old_string":"a","new_string":"b"}"#;
    let card = ApprovalCard::new(&parked("edit", arguments, Some(DIFF)));
    let shown = texts(&card.lines(80, 20, SymbolSet::Unicode, 0)).join("\n");
    let expected = "
? t_04 test-writer wants to edit src/auth.rs                              +2 −1
    41    let claims = decode(token)?;
  - 42    if claims.exp > now() {
  + 42    if claims.exp <= now() {
  + 43        return Err(Expired);
  y once   t this task   s session   n no, say why   d whole diff   Esc later
  denied by itself in 9m58s
";
    assert_eq!(shown, expected.trim(), "\n{shown}\n");
    let receipt = card.receipt(ApprovalVerdict::Approve, ApprovalScope::Once, SymbolSet::Unicode);
    assert_eq!(receipt.text(), "✓ approved once: edit src/auth.rs (t_04)");
}

#[test]
fn a_long_approval_says_how_much_it_hides() {
    let diff = format!("@@ -1,0 +1,30 @@{}", "\n+x".repeat(30));
    let card = ApprovalCard::new(&parked("write", r#"{"path":"a","content":"x"}"#, Some(&diff)));
    let lines = texts(&card.lines(80, 10, SymbolSet::Unicode, 0));
    assert_eq!((lines.len(), card.hidden(80, 10), card.body(80).len()), (10, 24, 30));
    assert_eq!(lines[7], "  24 more lines: d shows them");
    assert_eq!(card.hidden(80, 33), 0);
}

#[test]
fn an_approval_without_a_diff_shows_every_argument() {
    let arguments = r#"{"command":"git gc\u001b[2J","timeout_ms":5,"path":"pаyload"}"#;
    let lines =
        texts(&ApprovalCard::new(&parked("bash", arguments, None)).lines(80, 20, SymbolSet::Unicode, 0));
    assert_eq!(lines[0], "? t_04 test-writer wants to run: git gc\\u{1b}[2J");
    let shown = lines.join("\n");
    assert!(shown.contains("timeout_ms: 5") && shown.contains("p\\u{430}yload"), "{shown}");
}

#[test]
fn a_call_longer_than_the_title_is_shown_whole_below_it() {
    let command = format!("echo {} && rm -rf /", "a".repeat(200));
    let arguments = format!(r#"{{"command":"{command}"}}"#);
    let card = ApprovalCard::new(&parked("bash", &arguments, None));
    let body = texts(&card.body(60)).concat();
    assert!(body.contains(&command), "{body}");
    assert!(card.body(60).iter().all(|line| line.width() < 60));
    assert!(card.hidden(60, 6) > 0, "so that `y` opens the whole call first");
}
