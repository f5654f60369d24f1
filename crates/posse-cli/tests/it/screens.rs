//! Whole screens of `posse run` in tmux, with models that do not answer before the test has looked.

use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{LoopbackFormat, Say};
use serde_json::json;

use crate::support::{Place, until};
use crate::tmux::TmuxScreen;

/// A reply that streams its first word and then waits for longer than any test.
const FIRST_WORD: &str = "{text: 'I look at it.', word_ms: 3600000}";
/// A reply that waits until the test says so.
const HELD: &str = "{text: Fine., until_file: go}";

/// An orchestrator that spawns these tasks and waits for them. A task names its agent, what it does, and fields of the
/// call beside them; an agent has the name of its role in the script, or a model of its own.
struct Family<'a> {
    tasks: &'a [(&'a str, &'a str, &'a str)],
    /// Roles of the agents, as YAML lists of steps.
    roles: &'a [(&'a str, &'a str)],
}

impl Family<'_> {
    /// Writes script and agents; returns the model of the orchestrator.
    fn write(&self, place: &Place) -> String {
        let spawn = |(agent, task, more): &(&str, &str, &str)| {
            format!("{{subagent: {{action: spawn, agent: {agent}, task: \"{task}\", queue: true{more}}}}}")
        };
        let calls: Vec<String> = self.tasks.iter().map(spawn).collect();
        let mut script = format!(
            "boss:\n- {{text: \"I look at **all** of it.\", calls: [{}]}}\n\
             - {{calls: [subagent: {{action: wait, mode: all, timeout_ms: 30000}}], repeat_until: '\"timed_out\":false'}}\n\
             - text: All is fine.\n",
            calls.join(", ")
        );
        self.roles.iter().for_each(|(role, steps)| script.push_str(&format!("{role}: [{steps}]\n")));
        let model = place.script(&script);
        for (role, _) in self.roles {
            define(place, role, &format!("{model}#{role}"));
        }
        format!("{model}#boss")
    }
}

fn define(place: &Place, agent: &str, model: &str) {
    let text = format!("---\nname: {agent}\ndescription: Works\nmodel: {model}\n---\nYou work.\n");
    place.write(&format!("home/.config/posse/agents/{agent}.md"), &text);
}

/// Workers that look first and whose answers wait for the test.
fn workers(place: &Place, tasks: &[&str], answer: &str) -> String {
    let tasks: Vec<(&str, &str, &str)> = tasks.iter().map(|task| ("worker", *task, "")).collect();
    let steps = format!("{{text: I look., calls: [{{ls: {{}}}}]}}, {answer}");
    Family { tasks: &tasks, roles: &[("worker", &steps)] }.write(place)
}

/// Lets the models go on that wait for the test.
fn go(place: &Place) {
    place.write("go", "");
}

const THREE: [&str; 3] = ["Token checks in src/auth", "Session expiry", "Tests for the gaps"];

fn review(model: &str) -> String {
    format!("run --mode plan --model {model} 'Review the auth code'")
}

/// Configures a provider `local` that answers so, on a thread of its own for the rest of the process.
fn serve(place: &Place, answer: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) {
    let (send, url) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::handler(answer).await;
            send.send(server.url().to_owned()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let url = url.recv().unwrap();
    let provider = format!("[providers.local]\nwire = \"openai-compatible\"\nbase_url = \"{url}\"\n");
    place.write("home/.config/posse/config.toml", &provider);
}

/// A provider that refuses every call for longer than a test takes.
fn limited(place: &Place) {
    serve(place, |_| {
        Answer::json(429, &json!({"error": {"message": "slow down"}})).header("retry-after", "57")
    });
}

#[test]
fn three_subagents_working_rate_limited_and_queued_at_four_widths() {
    let place = Place::new();
    limited(&place);
    define(&place, "limited", "local:m");
    let tasks = [
        ("reviewer", "Token checks in src/auth", ""),
        ("limited", "Session expiry", ""),
        ("writer", "Tests for the gaps", ", depends_on: [t_01]"),
    ];
    let model = Family { tasks: &tasks, roles: &[("reviewer", FIRST_WORD), ("writer", HELD)] }.write(&place);
    let screens = [
        (
            60,
            "
I look at all of it.
● root     Review the auth c…  waits for 3 subagen…  $0.000
├─ ● t_01  Token checks in s…  writing, 2 characte…
├─ ! t_02  Session expiry      retry in #s: rate …
└─ ◌ t_03  Tests for the gaps  queued: after t_01
  ↑↓ Enter open   s steer   c cancel   q leave   ? keys",
        ),
        (
            80,
            "
I look at all of it.
● orchestrator      Review the auth co…  waits for 3 subagents    $0.000
├─ ● reviewer t_01  Token checks in sr…  writing, 2 characters
├─ ! limited t_02   Session expiry       retry in #s: rate lim…
└─ ◌ writer t_03    Tests for the gaps   queued: after t_01
  ↑↓ Enter open   s steer   c cancel   q leave   ? keys",
        ),
        (
            120,
            "
I look at all of it.
● orchestrator      Review the auth code      waits for 3 subagents                  turn 2/50  8.3k tok  $0.000
├─ ● reviewer t_01  Token checks in src/auth  writing, 2 characters                  turn 1/25
├─ ! limited t_02   Session expiry            retry in #s: rate limited             turn 1/25
└─ ◌ writer t_03    Tests for the gaps        queued: after t_01
  ↑↓ Enter open   s steer   c cancel   q leave   ? keys",
        ),
        (200, ""),
    ];
    for (columns, expected) in screens {
        let Some(screen) = TmuxScreen::open(&place, columns, 24) else { return };
        screen.runs(&review(&model));
        match columns {
            // The name of the model is the path of its script.
            200 => {
                let seen = screen.sees("retry in ");
                let row = seen.lines().find(|row| row.contains("limited t_02")).unwrap().to_owned();
                assert!(
                    row.contains("retry in #s: rate limited") && row.ends_with("  m   turn 1/25"),
                    "{row}"
                );
                assert!(seen.lines().all(|row| row.chars().count() < 200), "{seen}");
            }
            _ => screen.shows(expected),
        }
        screen.press("C-c");
        screen.sees("exit 130");
    }
}

#[test]
fn a_limited_provider_is_reported_once() {
    let place = Place::new();
    limited(&place);
    define(&place, "limited", "local:m");
    let tasks = THREE.map(|task| ("limited", task, ""));
    let model = Family { tasks: &tasks, roles: &[] }.write(&place);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("; 3 tasks wait");
    let rows = screen.rows();
    let said: Vec<&String> =
        rows.iter().filter(|row| row.starts_with("! local is rate limited until ")).collect();
    assert_eq!(said.len(), 1, "{rows:#?}");
    assert_eq!(rows.iter().filter(|row| row.ends_with("rate limited")).count(), 3, "{rows:#?}");
    assert!(!rows.iter().any(|row| row.contains("retry in")), "{rows:#?}");
}

#[test]
fn twenty_queued_subagents_are_folded_in_a_low_window_and_all_shown_in_a_high_one() {
    let place = Place::new();
    let tasks: Vec<String> = (1..=20).map(|n| format!("Check crate {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let model = workers(&place, &tasks, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 12) else { return };
    screen.runs(&review(&model));
    screen.shows(
        "
I look at all of it.
● orchestrator    Review the auth code  waits for 20 subagents    $0.000
├─ ● worker t_01  Check crate 1         waiting for the model     $0.000
├─ ● worker t_02  Check crate 2         waiting for the model     $0.000
├─ ● worker t_03  Check crate 3         waiting for the model     $0.000
├─ ● worker t_04  Check crate 4         waiting for the model     $0.000
├─ ● worker t_05  Check crate 5         waiting for the model     $0.000
├─ ◌ worker t_06  Check crate 6         queued: 1st, 5 of 5 run
├─ ◌ worker t_07  Check crate 7         queued: 2nd, 5 of 5 run
└─ ◌ 13 more queued  t_08 … t_20
  ↑↓ Enter open   s steer   c cancel   q leave   ? keys",
    );
    screen.resize(80, 30);
    until("every task has a row", || {
        let rows = screen.rows();
        (rows.iter().filter(|row| row.contains("worker t_")).count() == 20).then_some(())
    });
    screen.resize(80, 12);
    screen.sees("more queued");
    go(&place);
    screen.sees("exit 0");
    let history = screen.history();
    assert_eq!(history.iter().filter(|row| row.contains("● orchestrator")).count(), 0, "{history:#?}");
}

#[test]
fn twenty_subagents_do_not_fill_the_scrollback() {
    let place = Place::new();
    let tasks: Vec<String> = (1..=20).map(|n| format!("Check crate {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let model = workers(&place, &tasks, "{text: Fine., delay_ms: 700}");
    let Some(screen) = TmuxScreen::open(&place, 80, 12) else { return };
    screen.runs(&review(&model));
    screen.sees("more queued");
    screen.sees("completed");
    let scrolled = screen.scrolled();
    assert!(scrolled <= 2, "the tree was scrolled away {scrolled} times: {:?}", screen.history());
    screen.sees("exit 0");
    assert!(screen.scrolled() < 60, "{:?}", screen.history());
    let history = screen.history();
    for line in ["I look at all of it.", "All is fine."] {
        assert_eq!(history.iter().filter(|row| *row == line).count(), 1, "{line}: {history:?}");
    }
    assert_eq!(history.iter().filter(|row| row.contains("● orchestrator")).count(), 0, "{history:?}");
}

#[test]
fn a_resize_keeps_every_line_once_and_one_tree() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 20) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    for columns in [120, 60, 100] {
        screen.resize(columns, 20);
        until("the tree has the new width", || {
            let rows = screen.rows();
            let trees = rows.iter().filter(|row| row.contains("t_03")).count();
            let is_wide = rows.iter().any(|row| row.contains("● orchestrator")) == (columns > 60);
            (trees == 1 && is_wide).then_some(())
        });
    }
    let history = screen.history();
    assert_eq!(history.iter().filter(|row| *row == "I look at all of it.").count(), 1, "{history:?}");
}

#[test]
fn an_approval_shows_path_and_diff_without_paging_at_four_widths() {
    let place = Place::new();
    let source = (1..=30).map(|n| format!("line {n}\n")).collect::<String>();
    let model = place.script(
        "[{calls: [{read: {path: src/auth.rs}}]}, {text: The limit is wrong., calls: [{edit: {path: src/auth.rs, old_string: line 12, new_string: \"line twelve\\nand more\"}}]}, \
         {text: Mended.}]",
    );
    let diff = "     9  line 9
    10  line 10
    11  line 11
  - 12  line 12
  + 12  line twelve
  + 13  and more
    14  line 13
    15  line 14
    16  line 15";
    let keys = "  y once   t this task   s session   n no, say why   d whole diff   Esc later";
    let narrow = "  y once   t this task   s session   n no, say why\n  d whole diff   Esc later";
    for (columns, keys) in [(60, narrow), (80, keys), (120, keys), (200, keys)] {
        place.write("workspace/src/auth.rs", &source);
        let Some(screen) = TmuxScreen::open(&place, columns, 24) else { return };
        screen.runs(&format!("run --mode ask --model {model} 'Mend the limit'"));
        screen.sees("denied by itself");
        let rows = screen.rows();
        let from = rows.iter().position(|row| row.starts_with("? ")).unwrap();
        let title = &rows[from];
        assert!(title.contains(" orchestrator wants to edit src/auth.rs  "), "{title}");
        assert!(title.ends_with("+2 −1") && title.chars().count() == usize::from(columns) - 1, "{title}");
        let card = rows[from + 1..].join("\n");
        let (card, tree) = card.rsplit_once("\n? ").unwrap();
        assert_eq!(card, format!("{diff}\n{keys}\n  denied by itself in"), "{columns}");
        assert!(tree.contains("approve: Edit src/auth.rs"), "{tree}");
        screen.hears_the_bell();
        // What is typed before the question was read answers nothing, so the key is pressed until it counts.
        screen.presses_until("y", "exit 0");
        screen.sees("✓ approved once: edit src/auth.rs");
        screen.sees("1 file changed: src/auth.rs +2 −1");
        screen.sees("posse tasks undo ");
    }
}

#[test]
fn a_denial_takes_a_reason_and_escape_puts_the_question_off() {
    let place = Place::new();
    let model = place
        .script("[{calls: [{write: {path: a.txt, content: hello}}]}, {text: I leave it., until_file: go}]");
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&format!("run --mode ask --model {model} 'Write it'"));
    screen.sees("wants to write a.txt");
    screen.presses_until("Escape", "a answer");
    assert!(!screen.has("wants to write"), "{:#?}", screen.rows());
    screen.press("a");
    screen.sees("wants to write a.txt");
    screen.presses_until("n", "why?");
    screen.types("use b.txt");
    screen.press("Enter");
    screen.sees("because: use b.txt");
    go(&place);
    screen.sees("exit 0");
    let rows = screen.rows();
    assert!(rows.iter().any(|row| row.starts_with("– denied: write a.txt")), "{rows:#?}");
    assert!(!rows.iter().any(|row| row.contains("refused")), "it is said once: {rows:#?}");
    assert!(!place.workspace().join("a.txt").exists());
}

#[test]
fn a_retry_is_told_in_the_row_and_broken_text_is_void() {
    let place = Place::new();
    let calls = std::sync::Mutex::new(0);
    serve(&place, move |request| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match *calls {
            1 => {
                let events =
                    Say::text("The pool is small.\n\nSo it waits.\n").events(LoopbackFormat::OpenAiChat);
                let cut = events.len() - 3;
                Answer::sse("").chunks(events).cut_after(cut)
            }
            2 => Answer::json(503, &json!({"error": {"message": "busy"}})).header("retry-after", "57"),
            _ => Say::text("never").answer(request),
        }
    });
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs("run --mode plan --model local:m 'Why is it slow?'");
    screen.sees("! orchestrator  retry in #s: HTTP 503");
    let rows = screen.rows();
    let from = rows.iter().position(|row| row == "The pool is small.").unwrap();
    assert_eq!(rows[from + 2], "· the reply broke off; it is written again", "{rows:#?}");
    assert!(rows[from + 3].starts_with("! orchestrator"), "text that was not finished is gone: {rows:#?}");
}

#[test]
fn a_paste_into_the_tree_does_nothing_and_into_a_message_is_one_line() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    screen.sees("? keys");
    screen.pastes("sq\nc\ny\n");
    screen.press("Down");
    screen.press("Down");
    screen.press("s");
    screen.sees("steer t_01:");
    screen.pastes("look at\nthe tests too\n");
    screen.sees("steer t_01: look at the tests too");
    screen.press("Enter");
    screen.sees("t_01 ↳ queued: look at the tests too");
    screen.press("s");
    screen.sees("steer t_01:");
    screen.types("not this");
    screen.press("Escape");
    screen.sees("? keys");
    let rows = screen.rows();
    assert!(!rows.iter().any(|row| row.contains("not this") || row.contains("leaves when")), "{rows:#?}");
    go(&place);
    screen.sees("exit 0");
    // The message came too late for its turn.
    assert!(screen.has("t_01 ↳ too late, the task has ended: look at the tests too"), "{:#?}", screen.rows());
}

#[test]
fn ctrl_c_leaves_what_there_is_and_says_how_to_resume_it() {
    let place = Place::new();
    let model = place.script(&format!("[{FIRST_WORD}, {{text: Whole.}}]"));
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&format!("run --model {model} 'Look'"));
    screen.sees("writing");
    screen.press("C-c");
    screen.sees("exit 130");
    let task = place.tasks().pop().unwrap();
    let id = task["task_id"].as_str().unwrap();
    screen.shows(&format!(
        "
I
‖ interrupted after
  resume: posse tasks resume {id}
exit 130
$"
    ));
    assert_eq!(task["status"], "interrupted");
    place.script("[{text: Whole.}]");
    assert_eq!(place.run(["tasks", "resume", id]).stdout, "Whole.\n");
}

#[test]
fn ctrl_c_leaves_a_tree_whose_tasks_are_all_resumed() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    // A second one ends at once what is left of the first.
    screen.press("C-c");
    screen.press("C-c");
    screen.sees("exit 130");
    until("every task is interrupted", || {
        let tasks = place.tasks();
        tasks.iter().all(|task| task["status"] == "interrupted").then_some(())
    });
    // The shell echoes again.
    screen.types("echo he''re");
    screen.press("Enter");
    screen.sees("here");
    let root = place.tasks().into_iter().find(|row| row["parent"].is_null()).unwrap();
    go(&place);
    let resumed = place.run(["tasks", "resume", root["task_id"].as_str().unwrap()]);
    assert_eq!(resumed.stdout, "All is fine.\n", "{resumed:?}");
}

#[test]
fn a_stopped_job_gives_the_terminal_back_and_continues_with_one_tree() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    screen.sees("? keys");
    screen.press("C-z");
    screen.sees("Stopped");
    assert!(!screen.has("? keys"), "{:#?}", screen.rows());
    screen.line("fg");
    screen.sees("? keys");
    let trees = screen.rows().iter().filter(|row| row.contains("t_03")).count();
    assert_eq!(trees, 1, "{:#?}", screen.rows());
    go(&place);
    // The shell forgot the rest of the line when the job was stopped.
    screen.sees("completed in");
    let history = screen.history();
    assert_eq!(history.iter().filter(|row| *row == "I look at all of it.").count(), 1, "{history:?}");
}

#[test]
fn a_question_of_a_subagent_is_a_card_that_takes_a_number_or_a_text() {
    let place = Place::new();
    let script = "
boss:
- {text: I ask., calls: [{subagent: {action: spawn, agent: asker, task: Session expiry}}]}
- calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
  repeat_until: '\"completed\"'
- text: All is fine.
asker:
- calls:
  - ask_parent:
      question: Should a session without `exp` count as expired?
      options: [refuse it, keep it]
      default: refuse it
      deadline_s: 600
- text: Decided.
";
    let model = place.script(script);
    define(&place, "asker", &format!("{model}#asker"));
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&format!("{model}#boss")));
    screen.shows(
        "
I ask.
? t_01 asks: Should a session without `exp` count as expired?
  1 refuse it   2 keep it   a types an answer
● orchestrator   Review the auth code  waits for 1 subagent       $0.000
└─ ? asker t_01  Session expiry        asks: Should a session w…  $0.000
  a answer t_01   ↑↓ Enter open   s steer   c cancel   q leave   ? keys",
    );
    screen.hears_the_bell();
    screen.presses_until("2", "answered: keep it");
    screen.sees("exit 0");
}

#[test]
fn thinking_is_folded_and_shown_on_request() {
    let place = Place::new();
    let model = place.script(
        "[{thinking: 'The pool is small.', text: 'I see.', calls: [{ls: {}}]}, \
         {thinking: 'So it waits for a connection.', text: 'It is the pool.', until_file: go}]",
    );
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&format!("run --mode plan --model {model} 'Why is it slow?'"));
    screen.sees("I see.");
    screen.sees("turn 2/");
    assert!(!screen.has("The pool is small."), "{:#?}", screen.rows());
    screen.press("C-t");
    screen.sees("The pool is small.");
    go(&place);
    screen.sees("exit 0");
    screen.sees("  So it waits for a connection.");
}

#[test]
fn a_long_run_calls_at_its_end() {
    let place = Place::new();
    let model = place.script("[{text: Done., until_file: go}]");
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&format!("run --mode plan --model {model} 'Wait'"));
    until("ten seconds", || {
        let row = screen.tmux(&["capture-pane", "-p"]);
        let seconds = row.lines().find(|row| row.starts_with('●'))?.trim_end().rsplit(' ').next()?.to_owned();
        (seconds.len() == 3 && seconds.ends_with('s')).then_some(())
    });
    assert_eq!(screen.tmux(&["display", "-p", "#{window_bell_flag}"]).trim(), "0");
    go(&place);
    screen.hears_the_bell();
    screen.sees("exit 0");
}

#[test]
fn a_task_that_is_left_goes_on_in_the_background_and_can_be_watched_again() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 100, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    screen.presses_until("q", "exit 0");
    let id = place.tasks().into_iter().find(|row| row["parent"].is_null()).unwrap()["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    screen.sees(&format!("{id} goes on: posse tasks watch {id}"));
    screen.runs(&format!("tasks watch {id}"));
    screen.sees("WORKING 4");
    go(&place);
    screen.sees("COMPLETED 4");
    screen.press("q");
    screen.sees("exit 0");
    assert!(screen.has("All is fine."), "{:#?}", screen.rows());
}

#[test]
fn enter_opens_the_selected_task_and_escape_comes_back_to_one_tree() {
    let place = Place::new();
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("t_03");
    screen.sees("? keys");
    ["Down", "Down", "Down", "Enter"].iter().for_each(|key| screen.press(key));
    screen.sees("> Session expiry");
    assert!(screen.is_full_screen());
    screen.press("Escape");
    until("the tree is back", || (!screen.is_full_screen() && screen.has("? keys")).then_some(()));
    assert_eq!(screen.rows().iter().filter(|row| row.contains("t_03")).count(), 1, "{:#?}", screen.rows());
    screen.press("Enter");
    screen.sees("> Session expiry");
    go(&place);
    // The run ends below, and waits for the reader.
    screen.sees("✓ completed");
    assert!(screen.is_full_screen());
    screen.press("q");
    screen.sees("exit 0");
    let history = screen.history();
    for line in ["I look at all of it.", "All is fine."] {
        assert_eq!(history.iter().filter(|row| *row == line).count(), 1, "{line}: {history:?}");
    }
}

#[test]
fn symbols_are_those_of_the_configuration() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[ui]\nsymbols = \"ascii\"\n");
    let model = workers(&place, &THREE, HELD);
    let Some(screen) = TmuxScreen::open(&place, 80, 24) else { return };
    screen.runs(&review(&model));
    screen.sees("`- * worker t_03");
    let rows = screen.rows();
    assert!(rows.iter().all(|row| row.is_ascii()), "{rows:#?}");
    go(&place);
    screen.sees("exit 0");
    screen.runs("tasks list");
    screen.sees("1 task of ");
    assert!(screen.has("Review the au...") || screen.has("Review the auth code"), "{:#?}", screen.rows());
    screen.runs("top");
    screen.sees("COMPLETED");
    assert!(screen.rows().iter().all(|row| row.is_ascii()), "{:#?}", screen.rows());
}
