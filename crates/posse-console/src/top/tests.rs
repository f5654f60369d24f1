//! Screens of `top`, drawn from news of the store without a terminal.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use posse_core::approval::{ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict, ParkedCall};
use posse_core::event::{Event, EventEntry};
use posse_core::grant::SandboxTier;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::Record;
use posse_core::message::Block;
use posse_core::outcome::OutcomeStatus;
use posse_core::reply::{FailureKind, Reply, ReplyStop};
use posse_core::state::TaskState;
use posse_core::usage::{SpendingTotal, Usage};
use posse_runtime::ports::{ParentQuestion, ResultDelivery, StoredRecord, TaskRow};
use posse_terminal::style::{StylePalette, SymbolSet};
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::Color;
use ratatui::{Frame, Terminal};

use super::actions::TaskAction;
use super::draw::draw;
use super::feed::{FeedNews, PaneNews};
use super::view::{TopRequest, TopView};
use super::{TaskPatch, TopOptions, TopScope};

const NOW: u64 = 1_000_000;
const KEY: CallKey = CallKey { turn: 1, index: 0 };

fn root() -> TaskId {
    TaskId::root("k3v9qd2m")
}

fn child(number: u32) -> TaskId {
    TaskId::child("k3v9qd2m", number)
}

fn row(id: TaskId, agent: &str, title: &str, state: TaskState) -> TaskRow {
    TaskRow {
        parent: (!id.is_root()).then(|| TaskId::root(id.session())),
        id,
        agent: agent.to_owned(),
        title: title.to_owned(),
        state,
        owner: "1:1:x".to_owned(),
        epoch: 1,
        created_ms: NOW - 31_000,
        updated_ms: NOW - 1_000,
        seen_ms: NOW,
        cancel_requested: false,
        total: SpendingTotal { tasks: 1, cost_micros: 21_000, input_tokens: 10, ..SpendingTotal::default() },
        delivery: ResultDelivery::default(),
    }
}

fn entry(task: TaskId, event: Event) -> EventEntry {
    EventEntry { v: 1, seq: 0, task_id: task, at_ms: NOW - 31_000, event }
}

fn started(task: TaskId, agent: &str) -> EventEntry {
    let (agent, model) = (agent.to_owned(), "openai:gpt-5-mini".to_owned());
    entry(task, Event::Started { agent, model, sandbox: SandboxTier::Namespaces, context_window: None })
}

fn retry() -> Event {
    let (kind, status) = (FailureKind::RateLimited, Some(429));
    Event::ModelRetry { why: "rate limited".to_owned(), wait_ms: 35_000, kind, status }
}

fn approval(lines: usize) -> ParkedCall {
    let diff: String = (1..=lines).map(|n| format!("+line {n}\n")).collect();
    let request = ApprovalRequest {
        task: child(4),
        key: KEY,
        agent: "test-writer".to_owned(),
        path: vec![root()],
        tool: "edit".to_owned(),
        arguments: "{\"path\":\"src/auth.rs\"}".to_owned(),
        hash: "h".to_owned(),
        why: "rule".to_owned(),
        covers: vec!["edit".to_owned()],
        shown: Some(serde_json::json!({
            "path": "src/auth.rs",
            "diff": format!("--- a/src/auth.rs\n+++ b/src/auth.rs\n@@ -0,0 +1,{lines} @@\n{diff}"),
        })),
        asked_ms: NOW,
        deadline_ms: NOW + 600_000,
        on_deadline: ApprovalVerdict::Deny,
    };
    ParkedCall { id: "a1".to_owned(), request, state: ApprovalState::Open }
}

/// A tree with an approval, work, a retry and a queued task; an ended tree; an interrupted one of another project.
fn news() -> FeedNews {
    let completed = TaskState::Ended(OutcomeStatus::Completed);
    let ended = TaskId::root("p6ipaaaa");
    let ended_child = TaskId::child("p6ipaaaa", 1);
    let other = TaskId::root("x7x7x7x7");
    let tool = |tool: &str, summary: &str| Event::ToolStarted {
        key: KEY,
        tool: tool.to_owned(),
        summary: summary.to_owned(),
    };
    let asked = Event::ApprovalRequested {
        key: KEY,
        approval: "a1".to_owned(),
        tool: "edit".to_owned(),
        summary: "src/auth.rs".to_owned(),
        why: "rule".to_owned(),
        deadline_ms: NOW + 600_000,
    };
    FeedNews {
        rows: vec![
            row(other.clone(), "orchestrator", "Another project", TaskState::Running),
            row(child(5), "general", "Later", TaskState::Running),
            row(child(4), "test-writer", "Tests for the gaps", TaskState::Running),
            row(child(2), "code-reviewer", "Session expiry", TaskState::Running),
            row(child(1), "code-reviewer", "Token checks in src/auth", TaskState::Running),
            row(root(), "orchestrator", "Review the auth code", TaskState::Running),
            row(ended_child, "general", "Part of it", completed),
            row(ended.clone(), "orchestrator", "Why did it slow down?", completed),
        ],
        dead: BTreeSet::from([other]),
        here: BTreeSet::from(["k3v9qd2m".to_owned(), "p6ipaaaa".to_owned()]),
        events: vec![
            started(root(), "orchestrator"),
            entry(root(), tool("subagent", "")),
            started(child(1), "code-reviewer"),
            entry(child(1), Event::TurnStarted { turn: 6, turns_max: 10 }),
            entry(child(1), tool("grep", "verify_token")),
            started(child(2), "code-reviewer"),
            entry(child(2), retry()),
            started(child(4), "test-writer"),
            entry(child(4), asked),
            entry(child(5), Event::Queued { agent: "general".to_owned(), after: Vec::new() }),
        ],
        answers: vec![(ended, "Root cause: pool".to_owned())],
        approvals: vec![approval(3)],
        spent: Some(SpendingTotal { cost_micros: 310_000, ..SpendingTotal::default() }),
        ..FeedNews::default()
    }
}

struct TestScreen {
    view: TopView,
    terminal: Terminal<TestBackend>,
}

impl TestScreen {
    fn new(columns: u16, rows: u16) -> Self {
        Self::of(columns, rows, TopScope::Project)
    }

    fn of(columns: u16, rows: u16, scope: TopScope) -> Self {
        let options = TopOptions {
            scope,
            project: "~/app".to_owned(),
            palette: StylePalette::Ansi,
            symbols: SymbolSet::Unicode,
            person: "operator".to_owned(),
            opened: None,
        };
        let terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let mut screen = Self { view: TopView::new(options), terminal };
        screen.lines();
        screen.view.take_news(news(), NOW);
        screen
    }

    fn lines(&mut self) -> Vec<String> {
        let view = &mut self.view;
        let paint = |frame: &mut Frame<'_>| {
            draw(view, frame.area(), frame.buffer_mut(), NOW);
        };
        self.terminal.draw(paint).unwrap();
        let buffer = self.terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let cells: Vec<&str> = buffer.content.iter().map(|cell| cell.symbol()).collect();
        cells.chunks(width).map(|row| row.concat().trim_end().to_owned()).collect()
    }

    fn press(&mut self, keys: &str) -> Vec<TopRequest> {
        let key = |c| match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        };
        keys.chars()
            .flat_map(|c| {
                let asked = self.view.on_key(&KeyEvent::new(key(c), KeyModifiers::NONE), NOW + 5_000);
                self.lines();
                asked
            })
            .collect()
    }

    fn select(&mut self, task: TaskId) {
        self.view.select(Some(task));
        self.lines();
    }

    /// Takes content of the pane of the selected task.
    fn take_pane(&mut self, pane: PaneNews) {
        self.view.take_news(FeedNews { panes: vec![pane], ..news() }, NOW);
    }

    fn shows(&mut self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }
}

fn replied(turn: u32, blocks: Vec<Block>) -> Record {
    let (stop, usage, lost) = (ReplyStop::EndTurn, Usage::default(), Usage::default());
    let reply = Reply { blocks, stop, usage, model: "m".to_owned(), lost, notes: Vec::new() };
    Record::Replied { turn, reply, elapsed_ms: 0 }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned(), signature: None }
}

fn transcript(task: TaskId, turns: u32) -> PaneNews {
    let records = (1..=turns)
        .map(|turn| StoredRecord {
            seq: u64::from(turn),
            at_ms: NOW,
            record: replied(turn, vec![text(&format!("Reply **{turn}**."))]),
        })
        .collect();
    PaneNews::Records { task, records, is_first: true }
}

#[test]
fn tasks_are_grouped_by_what_they_need_and_only_ended_ones_are_completed() {
    let mut screen = TestScreen::new(80, 24);
    let lines = screen.lines();
    let list: Vec<&str> = lines[1..10].iter().map(String::as_str).collect();
    assert_eq!(
        list,
        [
            "NEEDS INPUT 1",
            "▸ ? t_04 test-writer    Tests for the gaps  approve: Edit src/a…            31s",
            "WORKING 3 · 1 queued",
            "  ● k3v9 orchestrator   Review the auth c…  waits for 4 subagen…            31s",
            "  ● t_01 code-reviewer  Token checks in s…  Grep verify_token               31s",
            "  ! t_02 code-reviewer  Session expiry      retry in 4s: rate l…            31s",
            "  ◌ t_05 general        Later               queued",
            "COMPLETED 1",
            "  ✓ p6ip orchestrator   Why did it slow d…  +1                    $0.042    30s",
        ]
    );
    assert!(lines[0].starts_with("posse top · ~/app · 4 running · $0.310/24h"), "{}", lines[0]);
}

#[test]
fn an_interrupted_task_is_working_and_named_and_shown_for_all_projects() {
    let mut screen = TestScreen::new(80, 24);
    assert!(!screen.shows("Another project"));
    screen.press("A");
    let lines = screen.lines();
    assert!(lines[0].contains("all projects"), "{}", lines[0]);
    let at = lines.iter().position(|line| line.contains("x7x7")).unwrap();
    assert!(lines[at].contains("‖") && lines[at].contains("interrupted"), "{}", lines[at]);
    assert!(lines.iter().any(|line| line.starts_with("WORKING 3 · 1 queued · 1 interrupted")), "{lines:#?}");
    assert!(lines[..at].iter().all(|line| !line.starts_with("COMPLETED")));
    screen.press("A");
    assert!(!screen.shows("Another project"));
}

#[test]
fn subagents_of_an_ended_task_are_unfolded_with_space() {
    let mut screen = TestScreen::new(80, 24);
    screen.select(TaskId::root("p6ipaaaa"));
    assert!(!screen.shows("Part of it"));
    screen.press(" ");
    assert!(screen.shows("Part of it"));
    screen.press(" ");
    assert!(!screen.shows("Part of it"));
}

#[test]
fn list_and_pane_stand_side_by_side_from_110_columns() {
    for (columns, is_split) in [(80, false), (109, false), (110, true), (120, true), (200, true)] {
        let mut screen = TestScreen::new(columns, 24);
        screen.select(child(1));
        screen.take_pane(transcript(child(1), 2));
        let lines = screen.lines();
        assert_eq!(lines[4].contains('│'), is_split, "{columns}: {lines:#?}");
        assert_eq!(screen.shows("Reply 2."), is_split, "{columns}");
        if !is_split {
            screen.press("\n");
            assert!(screen.shows("Reply 2.") && !screen.shows("NEEDS INPUT"), "{columns}");
            screen.press("\x1b");
            assert!(screen.shows("NEEDS INPUT") && !screen.shows("Reply 2."), "{columns}");
        }
    }
}

#[test]
fn no_row_reaches_the_last_column() {
    for columns in [40, 60, 80, 110, 120, 200] {
        let mut screen = TestScreen::new(columns, 24);
        screen.select(child(1));
        screen.take_pane(transcript(child(1), 40));
        for keys in ["", "\n", "\x1b?", "\x1ba"] {
            screen.press(keys);
            let buffer = screen.terminal.backend().buffer().clone();
            let last: String = (0..24).map(|y| buffer[(columns - 1, y)].symbol()).collect();
            assert!(last.trim().is_empty(), "{columns} {keys:?}: {last:?}");
        }
    }
}

#[test]
fn search_filters_while_it_is_typed_and_escape_clears_it() {
    let mut screen = TestScreen::new(80, 24);
    screen.press("/EXPIRY");
    assert!(screen.shows("Session expiry") && !screen.shows("Token checks"));
    screen.press("\n");
    assert!(!screen.shows("Token checks"));
    assert_eq!(screen.press("\x1b"), []);
    assert!(screen.shows("Token checks"));
    screen.press("/nothing like it\n");
    assert!(screen.shows("no task contains `nothing like it`"));
}

#[test]
fn the_transcript_follows_its_end_until_it_is_scrolled() {
    let mut screen = TestScreen::new(80, 24);
    screen.select(child(1));
    screen.press("\n");
    screen.take_pane(transcript(child(1), 40));
    assert!(screen.shows("Reply 40.") && screen.shows("following"));
    screen.press("g");
    assert!(screen.shows("Reply 1.") && !screen.shows("Reply 40."));
    screen.take_pane(transcript(child(1), 41));
    assert!(screen.shows("Reply 1."), "new text does not move what is read");
    screen.press("G");
    assert!(screen.shows("Reply 41.") && screen.shows("following"));
    screen.press("/reply 7.\n");
    assert!(screen.shows("Reply 7."));
}

#[test]
fn the_diff_has_its_own_pane() {
    let mut screen = TestScreen::new(120, 24);
    screen.select(child(1));
    screen.press("2");
    let patch = "--- a/src/auth.rs\n+++ b/src/auth.rs\n@@ -42 +42 @@\n-a > b\n+a <= b\n";
    let patch = TaskPatch { text: patch.to_owned(), notes: Vec::new() };
    screen.take_pane(PaneNews::Patch { task: child(1), patch: Ok(patch.clone()) });
    for line in ["[2 diff]", "src/auth.rs  +1 −1", "- 42  a > b", "+ 42  a <= b"] {
        assert!(screen.shows(line), "{line}: {:#?}", screen.lines());
    }
    assert_eq!(screen.press("y"), [TopRequest::Copy(patch.text)]);
}

#[test]
fn an_approval_shows_its_diff_and_keys_count_after_half_a_second() {
    let mut screen = TestScreen::new(80, 24);
    let press = |screen: &mut TestScreen, c, after| {
        screen.view.on_key(&KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE), NOW + after)
    };
    press(&mut screen, 'a', 0);
    for line in ["? t_04 test-writer wants to edit src/auth.rs", "+  3  line 3", "y once   t this task"] {
        assert!(screen.shows(line), "{line}: {:#?}", screen.lines());
    }
    assert_eq!(press(&mut screen, 'y', 499), [], "typed ahead");
    let asked = press(&mut screen, 'y', 500);
    let [TopRequest::Act(TaskAction::Decide { parked, verdict, scope, .. })] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((parked.id.as_str(), *verdict, *scope), ("a1", ApprovalVerdict::Approve, ApprovalScope::Once));
}

#[test]
fn a_long_call_is_approved_only_after_its_last_line_was_shown() {
    let mut screen = TestScreen::new(80, 24);
    let waiting = || FeedNews { approvals: vec![approval(60)], ..news() };
    screen.view.take_news(waiting(), NOW);
    screen.view.on_key(&KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE), NOW);
    assert_eq!(screen.press("y"), []);
    assert!(screen.shows("line 1") && !screen.shows("line 60"), "{:#?}", screen.lines());
    assert_eq!(screen.press("yy"), []);
    assert_eq!(screen.press("t"), []);
    assert!(screen.shows("line 60"), "{:#?}", screen.lines());
    assert!(matches!(screen.press("y").as_slice(), [TopRequest::Act(TaskAction::Decide { .. })]));
}

#[test]
fn a_denial_asks_why_and_an_answer_from_elsewhere_closes_the_dialog() {
    let mut screen = TestScreen::new(80, 24);
    screen.view.on_key(&KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE), NOW);
    let asked = screen.press("nnot now\n");
    let [TopRequest::Act(TaskAction::Decide { verdict, reason, .. })] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((*verdict, reason.as_deref()), (ApprovalVerdict::Deny, Some("not now")));
    screen.press("a");
    screen.view.take_news(FeedNews { approvals: Vec::new(), ..news() }, NOW);
    assert!(screen.shows("the call was answered elsewhere") && screen.shows("NEEDS INPUT"));
}

#[test]
fn a_question_is_answered_by_number_or_by_text() {
    let question = ParentQuestion {
        id: 1,
        text: "Does a session without `exp` count as expired?".to_owned(),
        options: vec!["yes".to_owned(), "no".to_owned()],
    };
    for (keys, answer) in [("2", "no"), ("maybe\n", "maybe")] {
        let mut screen = TestScreen::new(80, 24);
        let questions = vec![(child(1), question.clone())];
        screen.view.take_news(FeedNews { approvals: Vec::new(), questions, ..news() }, NOW);
        screen.press("a");
        assert!(screen.shows("asks: Does a session without") && screen.shows("  2 no"));
        let text = answer.to_owned();
        let expected = TopRequest::Act(TaskAction::Answer { task: child(1), text });
        assert_eq!(screen.press(keys), [expected]);
    }
}

#[test]
fn steering_and_cancelling_ask_and_name_their_task() {
    let mut screen = TestScreen::new(80, 24);
    screen.select(child(1));
    let steer = TaskAction::Steer { task: child(1), text: "keep q".to_owned() };
    assert_eq!(screen.press("skeep q\n"), [TopRequest::Act(steer)]);
    screen.press("c");
    assert!(screen.shows("cancel t_01? y yes   n no"));
    assert_eq!(screen.press("n"), []);
    assert!(
        matches!(screen.press("cy").as_slice(), [TopRequest::Act(TaskAction::Cancel(row))] if row.id == child(1))
    );
    screen.select(root());
    screen.press("c");
    assert!(screen.shows("and 4 subagents?"));
    screen.press("n");
    screen.select(TaskId::root("p6ipaaaa"));
    assert_eq!(screen.press("s"), []);
    assert!(screen.shows("p6ipaaaa has ended"));
}

#[test]
fn the_wheel_scrolls_what_is_below_it_and_a_click_selects() {
    let mut screen = TestScreen::new(120, 24);
    screen.select(child(4));
    screen.take_pane(transcript(child(4), 40));
    screen.lines();
    let mouse = |kind, column, row| MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    screen.view.on_mouse(&mouse(MouseEventKind::ScrollUp, 100, 10), NOW);
    assert!(!screen.shows("Reply 40."));
    screen.view.on_mouse(&mouse(MouseEventKind::ScrollDown, 100, 10), NOW);
    assert!(screen.shows("Reply 40."));
    let row = screen.lines().iter().position(|line| line.contains("t_02")).unwrap() as u16;
    screen.view.on_mouse(&mouse(MouseEventKind::Down(MouseButton::Left), 10, row), NOW);
    assert_eq!(screen.view.selected, Some(child(2)));
    let tabs = screen.lines()[2].clone();
    let column = tabs[..tabs.find("4 limits").unwrap()].chars().count() as u16;
    screen.view.on_mouse(&mouse(MouseEventKind::Down(MouseButton::Left), column, 2), NOW);
    assert!(screen.shows("[4 limits]"));
    assert_eq!(screen.press("m"), [TopRequest::Mouse(false)]);
}

#[test]
fn the_selected_task_stays_selected_when_it_moves() {
    let mut screen = TestScreen::new(80, 24);
    screen.select(child(1));
    let mut later = news();
    later.rows[4].state = TaskState::Ended(OutcomeStatus::Completed);
    let usage = Usage::default();
    let (status, stop) = (OutcomeStatus::Completed, posse_core::outcome::StopReason::Answered);
    later.events = vec![entry(child(1), Event::Finished { status, stop, turns: 7, tool_calls: 3, usage })];
    later.answers.push((child(1), "2 gaps".to_owned()));
    screen.view.take_news(later, NOW);
    let lines = screen.lines();
    let at = lines.iter().position(|line| line.starts_with('▸')).unwrap();
    assert!(lines[at].contains("✓ t_01") && lines[at].contains("2 gaps"), "{}", lines[at]);
    assert!(lines[..at].iter().any(|line| line.starts_with("COMPLETED 2")), "{lines:#?}");
}

#[test]
fn a_tree_shows_one_task_and_what_is_below_it() {
    let mut screen = TestScreen::of(80, 24, TopScope::Tree(root()));
    let lines = screen.lines();
    assert!(lines.iter().any(|line| line.starts_with("▸ ● k3v9")), "{lines:#?}");
    assert!(!screen.shows("p6ip") && screen.shows("t_05"));
}

#[test]
fn without_colors_and_unicode_the_screen_says_the_same() {
    let mut screen = TestScreen::new(80, 24);
    screen.view.options.palette = StylePalette::Plain;
    screen.view.options.symbols = SymbolSet::Ascii;
    let lines = screen.lines();
    assert!(lines[2].starts_with("> ? t_04"), "{lines:#?}");
    let buffer = screen.terminal.backend().buffer();
    let is_plain = |cell: &Cell| cell.fg == Color::Reset && cell.modifier.is_empty();
    assert!(buffer.content.iter().all(is_plain));
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
}

#[test]
fn escape_leads_back_step_by_step_and_leaves_from_the_list() {
    let mut screen = TestScreen::new(80, 24);
    assert_eq!(screen.press("\n\x1b"), []);
    assert_eq!(screen.press("?\x1b"), []);
    assert_eq!(screen.press("q"), [TopRequest::Leave]);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    screen.press("s");
    assert_eq!(screen.view.on_key(&ctrl_c, NOW), [TopRequest::Leave]);
}
