//! Whole screens of `posse chat` in tmux, with models that are slow enough to be watched.

use std::fs;

use posse_core::journal::Record;

use crate::support::{Place, until};
use crate::tmux::TmuxScreen;

/// Longer than any test.
const NEVER_MS: u64 = 3_600_000;

/// A conversation in a window; `None` where there is no tmux.
fn chat(place: &Place, (columns, rows): (u16, u16), args: &[&str]) -> Option<TmuxScreen> {
    let screen = TmuxScreen::open(place, columns, rows)?;
    screen.runs(&["chat"].iter().chain(args).copied().collect::<Vec<_>>().join(" "));
    screen.sees("? keys");
    Some(screen)
}

/// One in `plan` with this script, whose prompt is ready.
fn plan(place: &Place, size: (u16, u16), script: &str) -> Option<TmuxScreen> {
    let model = place.script(script);
    let screen = chat(place, size, &["--mode", "plan", "--model", &model])?;
    screen.sees("· $0.000 · plan");
    Some(screen)
}

fn say(screen: &TmuxScreen, text: &str) {
    screen.types(text);
    screen.press("Enter");
}

/// Waits until no answer is under way.
fn idle(screen: &TmuxScreen) {
    until("an idle prompt", || (!screen.has("Esc stops")).then_some(()));
}

/// Returns the rows with everything left out that differs from run to run: the place, and how many tokens prompts have. Times are `#s`.
fn calm(place: &Place, screen: &TmuxScreen) -> Vec<String> {
    let root = place.root().display().to_string();
    let calm = |row: &String| {
        let row = row.replace(&root, "ROOT");
        let words: Vec<String> = row.split(' ').map(calm_word).collect();
        words.join(" ").trim_end().to_owned()
    };
    screen.rows().iter().map(calm).collect()
}

fn calm_word(word: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    match word.strip_suffix('k') {
        Some(count) if is_number(count) => "Nk".to_owned(),
        _ => word.to_owned(),
    }
}

/// Waits until the screen is exactly this.
fn shows(place: &Place, screen: &TmuxScreen, expected: &str) {
    let expected: Vec<&str> = expected.trim_matches('\n').lines().collect();
    let mut last = Vec::new();
    let deadline = std::time::Instant::now() + crate::support::PATIENCE / 3;
    loop {
        let rows = calm(place, screen);
        if rows == expected {
            return;
        }
        last = if std::time::Instant::now() < deadline { rows } else { last };
        assert!(
            std::time::Instant::now() < deadline,
            "{}\n--- instead of\n{}",
            last.join("\n"),
            expected.join("\n")
        );
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_idle_prompt_at_four_widths() {
    let place = Place::new();
    for (columns, expected) in [
        (
            60,
            "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents
· ? keys
>
  script.yaml · context Nk tokens · $0.000 · plan",
        ),
        (
            80,
            "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents · ? keys
>
  script.yaml · context Nk tokens · $0.000 · plan (Shift-Tab)",
        ),
        (
            120,
            "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents · ? keys
>
  script.yaml · context Nk tokens · $0.000 · plan (Shift-Tab)",
        ),
        (
            200,
            "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents · ? keys
>
  script.yaml · context Nk tokens · $0.000 · plan (Shift-Tab)",
        ),
    ] {
        let model = place.script("- text: Hi.");
        let Some(screen) = chat(&place, (columns, 24), &["--mode", "plan", "--model", &model]) else {
            return;
        };
        shows(&place, &screen, expected);
    }
}

#[test]
fn an_answer_streams_above_the_prompt_and_a_message_gets_a_receipt() {
    let place = Place::new();
    place.write("workspace/a.txt", "one\ntwo\n");
    let script = format!(
        "[{{text: Looking., calls: [{{read: {{path: a.txt}}}}]}},\n\
         {{calls: [{{ls: {{}}}}], delay_ms: 3000}},\n\
         {{text: \"The **server** binds its port before the pool is ready: {}\", word_ms: 400}}]",
        "and on ".repeat(100).trim_end()
    );
    let Some(screen) = plan(&place, (80, 24), &script) else { return };
    say(&screen, "why is it flaky?");
    shows(
        &place,
        &screen,
        "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents · ? keys

> why is it flaky?
Looking.
● Read a.txt (2 lines)
>
  ● waiting for the model, #s · Esc stops · Enter queues what you type
  script.yaml · context Nk tokens · $0.000 · plan",
    );
    say(&screen, "also the logout test");
    screen.sees("↳ queued: also the logout test");
    screen.types("and keep");
    // The receipt replaces the message that waited; what is being typed stays.
    screen.sees("↳ delivered at turn 3: also the logout test");
    screen.sees("The server binds its port");
    let rows = calm(&place, &screen);
    let at = rows.iter().position(|row| row == "> and keep").unwrap();
    assert!(rows[at + 1].starts_with("  ● writing, "), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.contains("also the logout test")).count(), 1, "{rows:?}");
    screen.press("Escape");
    screen.sees("stopped");
    let rows = calm(&place, &screen);
    // What was said stays, and so does what is being typed.
    assert!(rows.iter().any(|row| row.starts_with("The server binds its port")), "{rows:?}");
    assert!(rows.contains(&"> and keep".to_owned()), "{rows:?}");
    assert!(rows.last().unwrap().ends_with("plan (Shift-Tab)"), "{rows:?}");
}

#[test]
fn a_message_that_a_stop_left_unread_is_the_next_one() {
    let place = Place::new();
    let script = format!("[{{text: never, delay_ms: {NEVER_MS}}}, {{text: Second.}}]");
    let Some(screen) = plan(&place, (80, 24), &script) else { return };
    say(&screen, "first");
    screen.sees("waiting for the model");
    say(&screen, "second");
    screen.sees("↳ queued: second");
    screen.press("Escape");
    screen.sees("↳ too late, sent as the next message: second");
    // The script counts replies, and the first call had none.
    screen.sees("> second");
    assert!(!screen.rows().iter().any(|row| row.contains("delivered")), "{:?}", screen.rows());
}

#[test]
fn a_stopped_answer_counts_the_files_of_its_message_only() {
    let place = Place::new();
    let script = format!(
        "[{{text: I write., calls: [{{write: {{path: a.txt, content: a}}}}]}}, {{text: First.}}, \
         {{text: never, delay_ms: {NEVER_MS}}}]"
    );
    let model = place.script(&script);
    let Some(screen) = chat(&place, (80, 24), &["--mode", "auto", "--model", &model]) else { return };
    say(&screen, "write it");
    screen.sees("First.");
    idle(&screen);
    say(&screen, "and now?");
    screen.sees("waiting for the model");
    screen.press("Escape");
    screen.sees("stopped");
    assert!(!screen.has("stopped · 1 file"), "{:?}", screen.rows());
}

#[test]
fn a_mode_that_was_chosen_last_is_kept_without_another_message() {
    let place = Place::new();
    let model = place.script("[{text: First.}, {text: Second.}]");
    let Some(screen) = chat(&place, (80, 24), &["--mode", "auto", "--model", &model]) else { return };
    say(&screen, "hello");
    screen.sees("First.");
    idle(&screen);
    say(&screen, "/mode plan");
    screen.sees("plan (Shift-Tab)");
    screen.press("C-d");
    screen.sees("exit 0");
    assert!(!screen.has("(Shift-Tab)"), "{:?}", screen.rows());
    screen.runs("chat --continue");
    screen.sees("plan (Shift-Tab)");
    let kept = || std::fs::read_dir(place.root().join("state/chat-modes")).map_or(0, Iterator::count);
    say(&screen, "again");
    screen.sees("Second.");
    until("the message has the mode", || (kept() == 0).then_some(()));
}

#[test]
fn menus_open_below_the_prompt() {
    let place = Place::new();
    place.write("workspace/src/verify.rs", "");
    place.write("workspace/src/version.rs", "");
    let Some(screen) = plan(&place, (60, 20), "- text: Hi.") else { return };
    screen.types("/co");
    shows(
        &place,
        &screen,
        "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents
· ? keys
> /co
> /compact  continue from a summary
  /context  what fills the window
  /cost     cost of this conversation, by agent and model",
    );
    screen.press("C-c");
    screen.types("look at @ver");
    screen.sees("> src/verify.rs");
    screen.sees("  src/version.rs");
    screen.press("Tab");
    screen.sees("> look at @src/verify.rs");
}

#[test]
fn a_paste_of_many_lines_is_one_word_until_it_is_sent() {
    let place = Place::new();
    let Some(screen) = plan(&place, (80, 30), "- text: Got it.") else { return };
    let lines: Vec<String> = (1..=48).map(|n| format!("line {n}")).collect();
    screen.types("see ");
    screen.pastes(&lines.join("\n"));
    screen.sees("> see [pasted 48 lines]");
    screen.press("Enter");
    screen.sees("Got it.");
    screen.sees("37 more lines");
    let (_, records) = place.stored().pop().unwrap();
    let Record::Started(start) = &records[0] else { panic!("{records:?}") };
    assert!(
        start.task.starts_with("see line 1\nline 2\n") && start.task.ends_with("line 48"),
        "{}",
        start.task
    );
}

#[test]
fn a_write_is_approved_on_a_card_with_its_diff() {
    let place = Place::new();
    place.write("workspace/notes.md", "one\ntwo\n");
    let model = place.script(
        "[{calls: [{read: {path: notes.md}}]},\n\
         {calls: [{edit: {path: notes.md, old_string: two, new_string: three}}], delay_ms: 1500},\n\
         {text: Done.}]",
    );
    for columns in [60, 80, 120, 200] {
        place.write("workspace/notes.md", "one\ntwo\n");
        let Some(screen) = chat(&place, (columns, 24), &["--mode", "ask", "--model", &model]) else { return };
        say(&screen, "change it");
        screen.sees("waiting for the model");
        // A text that is being typed is not an answer.
        screen.types("yes");
        screen.sees("wants to edit notes.md");
        screen.sees("three");
        let rows = screen.rows();
        let card = rows.iter().position(|row| row.contains("wants to edit")).unwrap();
        let prompt = rows.iter().position(|row| row == "> yes").unwrap();
        assert!(card < prompt, "the prompt stays below the card: {rows:?}");
        assert!(rows.iter().all(|row| row.chars().count() < usize::from(columns)), "{rows:?}");
        screen.sees("Tab answers");
        until("the approval", || {
            // A key that comes too early is text.
            screen.press("C-u");
            screen.press("y");
            screen.rows().iter().any(|row| row.contains("approved once: edit notes.md")).then_some(())
        });
        screen.sees("Done.");
        assert_eq!(fs::read_to_string(place.workspace().join("notes.md")).unwrap(), "one\nthree\n");
    }
}

/// An orchestrator whose subagent asks, and says what it was answered.
const ASKING: &str = "
boss:
- calls: [{subagent: {action: spawn, agent: helper, task: Help}}]
- {calls: [{subagent: {action: status, task_id: t_01, wait_ms: 100}}], repeat_until: '\"completed\"', repeat_max: 2000, delay_ms: 100}
- text: All is answered.
helper:
- calls: [{ask_parent: {question: 'Should a session without exp count as expired?', options: [refuse it, keep it], deadline_s: 600}}]
- text: I keep it.
";

#[test]
fn the_question_of_a_subagent_is_a_card_that_a_number_or_a_text_answers() {
    for (typed, answer) in [("2", "keep it"), ("ask Ada", "ask Ada")] {
        let place = Place::new();
        let model = place.script(ASKING);
        let helper = format!(
            "---\nname: helper\ndescription: Helps\nmodel: {model}#helper\ntools: ask_parent\n---\nHelp.\n"
        );
        place.write("home/.config/posse/agents/helper.md", &helper);
        let boss = format!("{model}#boss");
        let Some(screen) = chat(&place, (80, 24), &["--mode", "plan", "--model", &boss]) else { return };
        say(&screen, "help me");
        screen.sees("t_01 asks: Should a session without exp count as expired?");
        screen.sees("1 refuse it   2 keep it   or type an answer   Esc later");
        // Esc puts it off, Tab brings it back.
        screen.press("Escape");
        screen.sees("1 question waits");
        screen.press("Tab");
        screen.sees("1 refuse it");
        if typed.len() > 1 {
            until("an answer is typed", || {
                screen.press("C-u");
                screen.types("a");
                screen.rows().iter().any(|row| row.contains("answer: a")).then_some(())
            });
            screen.press("C-u");
            say(&screen, typed);
        } else {
            until("the answer", || {
                screen.press("C-u");
                screen.press(typed);
                screen.rows().iter().any(|row| row.contains("answered t_01")).then_some(())
            });
        }
        screen.sees(&format!("✓ answered t_01: {answer}"));
        screen.sees("All is answered.");
        screen.sees("with 1 subagent");
        let stored = place.stored();
        let (_, records) = stored.iter().find(|(row, _)| row.parent.is_some()).unwrap();
        let was_told = records.iter().any(|record| match record {
            Record::Done { result, .. } => result.text.contains(answer),
            _ => false,
        });
        assert!(was_told, "{records:?}");
    }
}

#[test]
fn a_resize_keeps_every_line_once() {
    let place = Place::new();
    let script = format!(
        "[{{text: \"A paragraph that is complete.\\n\\nAnother one that is being written {}\", word_ms: 250}}]",
        "on and ".repeat(400).trim_end()
    );
    let Some(screen) = plan(&place, (80, 20), &script) else { return };
    say(&screen, "go");
    screen.sees("Another one");
    for columns in [120, 60, 100] {
        screen.resize(columns, 20);
        until("one prompt, one status", || {
            let rows = screen.rows();
            let count = |text: &str| rows.iter().filter(|row| row.contains(text)).count();
            (count("Esc stops") == 1 && count("$0.000") == 1).then_some(())
        });
    }
    screen.press("Escape");
    screen.sees("stopped");
    let history = screen.history();
    for line in ["> go", "A paragraph that is complete."] {
        assert_eq!(history.iter().filter(|row| *row == line).count(), 1, "{line}: {history:?}");
    }
}

#[test]
fn an_earlier_conversation_is_chosen_from_a_list_and_shows_its_last_exchange() {
    let place = Place::new();
    let script = "[{text: First answer.}, {text: Second answer.}, {text: Third answer.}]";
    let Some(screen) = plan(&place, (80, 24), script) else { return };
    say(&screen, "why is the login test flaky?");
    screen.sees("First answer.");
    idle(&screen);
    say(&screen, "and the logout test?");
    screen.sees("Second answer.");
    idle(&screen);
    say(&screen, "/clear");
    screen.sees("is kept: posse chat --resume");
    say(&screen, "add rate limits");
    until("a second conversation", || (place.tasks().len() == 2).then_some(()));
    screen.sees("> add rate limits");
    until("its end", || place.tasks().iter().all(|row| row["status"] == "completed").then_some(()));
    screen.sees("plan (Shift-Tab)");
    screen.press("C-d");
    screen.sees("is kept: posse chat --continue");
    screen.sees("exit 0");
    // The list needs no model: each conversation has its own.
    screen.runs("chat --mode plan --resume");
    screen.sees("Resume a chat of");
    let rows = calm(&place, &screen);
    let at = rows.iter().position(|row| row.contains("Resume a chat of")).unwrap();
    assert!(rows[at + 1].starts_with("> #s ago  add rate limits"), "{rows:?}");
    assert!(rows[at + 1].ends_with("1 turn  $0.000"), "{rows:?}");
    assert!(rows[at + 2].starts_with("  #s ago  why is the login test flaky?"), "{rows:?}");
    assert!(rows[at + 2].ends_with("2 turns  $0.000"), "{rows:?}");
    screen.types("logi");
    until("one match", || (!screen.rows().iter().any(|row| row.contains("rate limits"))).then_some(()));
    screen.press("Enter");
    screen.sees("Second answer.");
    let rows = calm(&place, &screen);
    assert!(rows.contains(&"> and the logout test?".to_owned()), "{rows:?}");
    assert!(!rows.iter().any(|row| row.contains("First answer.")), "only the last exchange: {rows:?}");
    say(&screen, "and now?");
    screen.sees("Third answer.");
}

#[test]
fn what_fills_the_window_is_shown_in_tokens_and_percent() {
    let place = Place::new();
    place.write("workspace/a.txt", &"many words of a file\n".repeat(400));
    place.write("home/.config/posse/config.toml", "[limits]\ncontext_window = 200000\n");
    let script = "[{calls: [{read: {path: a.txt}}]}, {text: Read., usage: {input: 45900, output: 100}}]";
    for columns in [60, 80, 120, 200] {
        let Some(screen) = plan(&place, (columns, 30), script) else { return };
        say(&screen, "read it");
        screen.sees("· context 23% ·");
        idle(&screen);
        say(&screen, "/context");
        screen.sees("free");
        let rows = calm(&place, &screen);
        let at = rows.iter().position(|row| {
            row == "script.yaml: 46k of 200k tokens, 23%".replace("46k", "Nk").replace("200k", "Nk").as_str()
        });
        let at = at.unwrap_or_else(|| panic!("{rows:?}"));
        assert!(rows[at + 1].starts_with("  █") && rows[at + 1].ends_with('░'), "{rows:?}");
        let labels = ["system prompt", "tools", "messages", "tool results", "free"];
        for (row, label) in rows[at + 2..].iter().zip(labels) {
            assert!(row.contains(label) && row.ends_with('%'), "{row}");
        }
        assert!(rows[at + 6].ends_with("77%"), "{rows:?}");
        assert!(rows.iter().all(|row| row.chars().count() < usize::from(columns)), "{rows:?}");
    }
}

#[test]
fn a_shell_command_of_the_person_is_part_of_the_next_message() {
    let place = Place::new();
    let Some(screen) = plan(&place, (80, 24), "[{text: I see.}, {text: Fine.}]") else { return };
    say(&screen, "!seq 3; exit 4");
    shows(
        &place,
        &screen,
        "
posse 0.1.0 · plan · reads only
ROOT/workspace · / commands · @ files and agents · ? keys

> !seq 3; exit 4
  1
  2
  3
· exit code 4, 3 lines go with the next message
>
  script.yaml · context Nk tokens · $0.000 · plan (Shift-Tab)",
    );
    say(&screen, "!sleep 600");
    screen.sees("● ! sleep 600");
    screen.press("Escape");
    screen.sees("stopped; nothing of it goes with the next message");
    say(&screen, "why?");
    screen.sees("I see.");
    idle(&screen);
    let (_, records) = place.stored().pop().unwrap();
    let Record::Started(start) = &records[0] else { panic!("{records:?}") };
    assert!(
        start.task.starts_with("why?\n\n<command line=\"seq 3; exit 4\" ending=\"exit code 4\">"),
        "{}",
        start.task
    );
    assert!(!start.task.contains("sleep"), "{}", start.task);
    // It goes once.
    say(&screen, "and now?");
    screen.sees("Fine.");
    let (_, records) = place.stored().pop().unwrap();
    assert!(records.iter().any(|record| matches!(record, Record::Said { text, .. } if text == "and now?")));
}

#[test]
fn a_conversation_goes_on_from_a_summary_and_the_old_one_is_named() {
    let place = Place::new();
    let script = "[{text: First answer.}, {text: The person asked something.}, {text: Third.}]";
    let Some(screen) = plan(&place, (80, 24), script) else { return };
    say(&screen, "tell me");
    screen.sees("First answer.");
    idle(&screen);
    say(&screen, "/compact");
    screen.sees("· summed up:");
    say(&screen, "/export notes.md");
    screen.sees("nothing was said yet");
    say(&screen, "go on");
    until("a new task", || (place.tasks().len() == 2).then_some(()));
    until("its end", || place.tasks().iter().all(|row| row["status"] == "completed").then_some(()));
    let stored = place.stored();
    let starts: Vec<_> = stored
        .iter()
        .map(|(row, records)| match &records[0] {
            Record::Started(start) => (row.id.clone(), start.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let (new, start) = starts.iter().find(|(_, start)| start.task.starts_with("go on")).unwrap();
    let (old, _) = starts.iter().find(|(id, _)| id != new).unwrap();
    let expected = format!(
        "go on\n\n<summary conversation=\"{old}\">\nThis conversation continues an earlier one, of which this is a summary.\n\n\
         The person asked something.\n</summary>"
    );
    assert_eq!(start.task, expected);
    assert_eq!(start.delivery.as_ref().unwrap()["chat"]["continues"], old.as_str());
    // The old one can be read and continued.
    screen.sees("plan (Shift-Tab)");
    say(&screen, &format!("/resume {old}"));
    screen.sees("> tell me");
    say(&screen, "/export notes.md");
    screen.sees("wrote notes.md");
    let exported = fs::read_to_string(place.workspace().join("notes.md")).unwrap();
    assert!(
        exported.starts_with("# tell me\n") && exported.contains("\n> tell me\n\nFirst answer.\n"),
        "{exported}"
    );
    assert!(
        exported.contains("another conversation continues:\n\nThe person asked something.\n"),
        "{exported}"
    );
    say(&screen, "/export notes.md");
    screen.sees("error[IO]: `notes.md` cannot be written");
}

#[test]
fn a_model_is_changed_between_two_messages() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[limits]\ncontext_window = 1000\n");
    place.write("workspace/other.yaml", "[{text: no}, {text: From the other model.}]");
    let Some(screen) = plan(&place, (200, 24), "[{text: First., usage: {input: 900, output: 5}}]") else {
        return;
    };
    say(&screen, "hello");
    screen.sees("First.");
    idle(&screen);
    say(&screen, "/model nowhere:x");
    screen.sees("error[MODEL_UNKNOWN]");
    say(&screen, "/model scripted:other.yaml");
    screen.sees(
        "other.yaml answers from the next message on, and reads the whole conversation anew (905 tokens)",
    );
    screen.sees("  other.yaml · context 91%");
    say(&screen, "again");
    screen.sees("From the other model.");
}
