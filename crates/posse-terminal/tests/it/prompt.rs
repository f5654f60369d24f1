//! The prompt: edits, history, menus, layout and the picker, without a terminal.

use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};
use posse_terminal::painter::TerminalSize;
use posse_terminal::prompt::{
    CursorMove, HISTORY_ENTRIES_MAX, ListPicker, LiveRows, MenuEntry, MenuSources, PickerAction, PickerEntry,
    PromptAction, PromptBuffer, PromptEditor, PromptHistory, PromptLayout, decode_history, encode_entry,
    match_score,
};
use posse_terminal::style::{StyledLine, SymbolSet, columns};
use proptest::prelude::*;

fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("C", rest)) => (KeyModifiers::CONTROL, rest),
        Some(("A", rest)) => (KeyModifiers::ALT, rest),
        Some(("S", rest)) => (KeyModifiers::SHIFT, rest),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        other => KeyCode::Char(other.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

/// Presses keys by their names; `"text"` in quotes is typed. Returns the last action.
fn press(editor: &mut PromptEditor, keys: &str) -> PromptAction {
    let mut last = PromptAction::Taken;
    for (at, part) in keys.split('"').enumerate() {
        if at % 2 == 1 {
            for c in part.chars() {
                last = editor.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
            }
        } else {
            for name in part.split_whitespace() {
                last = editor.key(key(name));
            }
        }
    }
    last
}

fn layout(columns: usize, rows: usize) -> PromptLayout {
    PromptLayout { size: TerminalSize { columns, rows }, symbols: SymbolSet::Unicode }
}

/// Rows with the cursor as `▏`.
fn drawn(live: &LiveRows) -> String {
    let mut out = String::new();
    for (at, row) in live.rows.iter().enumerate() {
        let mut text = row.text();
        if at == live.cursor.row {
            let mut column = 0;
            let mut place = text.len();
            for (byte, c) in text.char_indices() {
                if column >= live.cursor.column {
                    place = byte;
                    break;
                }
                column += columns(&c.to_string());
            }
            text.insert(place, '▏');
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

fn screen(editor: &PromptEditor) -> String {
    drawn(&editor.lines(&layout(40, 24), &[], &[]))
}

fn sources() -> MenuSources {
    MenuSources {
        commands: [("/clear", "forget"), ("/compact", "summary"), ("/context", "window"), ("/cost", "money")]
            .map(|(value, note)| MenuEntry::new(value, note))
            .to_vec(),
        files: ["README.md", "src/auth/verify.rs", "src/auth/version.rs", "src/lib.rs"]
            .map(str::to_owned)
            .to_vec(),
        agents: vec![MenuEntry::new("auth-reviewer", "agent")],
    }
}

#[test]
fn keys_edit_the_text_as_in_a_shell() {
    for (keys, text) in [
        ("\"hello\"", "> hello▏\n"),
        ("\"hello\" Left Left Backspace", "> he▏lo\n"),
        ("\"hello\" C-a Delete", "> ▏ello\n"),
        ("\"one two three\" A-b C-w", "> one ▏three\n"),
        ("\"one two three\" A-b A-b A-f", "> one two▏ three\n"),
        ("\"one two three\" A-b C-k", "> one two ▏\n"),
        ("\"one two three\" A-b C-u", "> ▏three\n"),
        ("\"one two three\" A-b C-u C-e C-y", "> threeone two ▏\n"),
        ("\"one\" A-Enter \"two\"", "> one\n  two▏\n"),
        ("\"one\" C-j \"two\" S-Enter", "> one\n  two\n  ▏\n"),
        ("\"one\" C-j \"two\" C-a Backspace", "> one▏two\n"),
        ("\"one\" C-j \"two\" Up", "> one▏\n  two\n"),
        ("\"long line\" C-j \"b\" C-j \"long line\" Up Up", "> long line▏\n  b\n  long line\n"),
        ("\"long line\" C-j \"b\" C-j \"long line\" Up", "> long line\n  b▏\n  long line\n"),
        ("\"one\" C-j \"two\" C-a Up C-k", "> ▏\n  two\n"),
        ("\"one\" C-j \"two\" Up C-a C-k C-k", "> ▏two\n"),
        ("\"日本語\" Left Backspace", "> 日▏語\n"),
        ("\"e\u{301}a\" Left Backspace", "> ▏a\n"),
        ("\"👩\u{200d}👩\u{200d}👧!\" Left Backspace", "> ▏!\n"),
        ("\"a\tb\"", "> a    b▏\n"),
    ] {
        let mut editor = PromptEditor::default();
        assert_eq!(press(&mut editor, keys), PromptAction::Taken, "{keys}");
        assert_eq!(screen(&editor), text, "{keys}");
    }
}

#[test]
fn enter_sends_the_text_and_an_empty_prompt_sends_nothing() {
    let mut editor = PromptEditor::default();
    assert_eq!(press(&mut editor, "Enter"), PromptAction::Taken);
    assert_eq!(press(&mut editor, "\"  \" Enter"), PromptAction::Taken);
    assert_eq!(press(&mut editor, "C-u \"why?\" Enter"), PromptAction::Submit("why?".to_owned()));
    assert_eq!(screen(&editor), "> ▏\n");
}

#[test]
fn a_paste_is_one_insert_that_never_submits() {
    let mut editor = PromptEditor::default();
    let pasted: String = (1..=48).map(|n| format!("line {n}\r\n")).collect();
    press(&mut editor, "\"see \"");
    assert!(editor.paste(&pasted));
    press(&mut editor, "\" and say why\"");
    assert_eq!(screen(&editor), "> see [pasted 48 lines] and say why▏\n");
    let PromptAction::Submit(sent) = press(&mut editor, "Enter") else { panic!("not sent") };
    assert!(sent.starts_with("see line 1\nline 2\n") && sent.ends_with("line 48\n and say why"), "{sent}");
    // One key removes it, and yank brings it back.
    editor.paste(&pasted);
    press(&mut editor, "Backspace");
    assert!(editor.is_empty());
    editor.paste(&pasted);
    press(&mut editor, "C-w C-y C-y");
    assert_eq!(screen(&editor), "> [pasted 48 lines][pasted 48 lines]▏\n");
}

#[test]
fn a_short_paste_is_text() {
    let mut editor = PromptEditor::default();
    editor.paste("cargo test\ncargo run");
    assert_eq!(screen(&editor), "> cargo test\n  cargo run▏\n");
}

#[test]
fn control_characters_of_a_paste_are_visible() {
    let mut editor = PromptEditor::default();
    editor.paste("a\u{1b}[2Jb");
    assert_eq!(screen(&editor), "> a\\u{1b}[2Jb▏\n");
    assert_eq!(editor.text(), "a\u{1b}[2Jb");
}

#[test]
fn text_beyond_a_mebibyte_is_refused_and_said() {
    let mut editor = PromptEditor::default();
    assert!(!editor.paste(&"x".repeat((1 << 20) + 1)));
    assert_eq!(editor.text().len(), 1 << 20);
    press(&mut editor, "\"y\" C-w C-y C-y");
    assert_eq!(editor.text().len(), 1 << 20);
}

#[test]
fn wide_text_wraps_before_the_edge_and_keeps_the_cursor_on_the_screen() {
    let mut editor = PromptEditor::default();
    press(&mut editor, "\"日本語日本語\"");
    let live = editor.lines(&layout(10, 24), &[], &[]);
    assert_eq!(drawn(&live), "> 日本語\n  日本語▏\n");
    assert!(live.rows.iter().all(|row| row.width() < 10));
    press(&mut editor, "Left Left Left");
    assert_eq!(drawn(&editor.lines(&layout(10, 24), &[], &[])), "> 日本語\n  ▏日本語\n");
}

#[test]
fn a_long_text_shows_the_rows_around_the_cursor() {
    let mut editor = PromptEditor::default();
    for n in 0..30 {
        press(&mut editor, &format!("\"line {n}\" C-j"));
    }
    let below = [StyledLine::plain("  status")];
    let live = editor.lines(&layout(40, 10), &[StyledLine::plain("above")], &below);
    assert_eq!(drawn(&live), "  line 26\n  line 27\n  line 28\n  line 29\n  ▏\n  status\n");
    for _ in 0..30 {
        press(&mut editor, "Up");
    }
    let live = editor.lines(&layout(40, 10), &[], &below);
    assert_eq!(drawn(&live), "> ▏line 0\n  line 1\n  line 2\n  line 3\n  line 4\n  status\n");
}

#[test]
fn rows_above_the_prompt_give_way_at_their_start() {
    let editor = PromptEditor::default();
    let above: Vec<StyledLine> = (0..20).map(|n| StyledLine::plain(format!("above {n}"))).collect();
    let live = editor.lines(&layout(40, 10), &above, &[StyledLine::plain("  status")]);
    assert_eq!(drawn(&live), "above 16\nabove 17\nabove 18\nabove 19\n> ▏\n  status\n");
}

#[test]
fn up_walks_back_and_down_returns_to_the_draft() {
    let history = PromptHistory::new(["first", "second\nline", "third"].map(str::to_owned));
    let mut editor = PromptEditor::new(history);
    press(&mut editor, "\"draft\" Up");
    assert_eq!(editor.text(), "third");
    press(&mut editor, "Up");
    assert_eq!(screen(&editor), "> second\n  line▏\n");
    // Up moves inside the text first.
    press(&mut editor, "Up Up Up");
    assert_eq!(editor.text(), "first");
    press(&mut editor, "Down Down");
    assert_eq!(editor.text(), "third");
    press(&mut editor, "Down");
    assert_eq!(editor.text(), "draft");
    press(&mut editor, "Down");
    assert_eq!(editor.text(), "draft");
}

#[test]
fn a_sent_text_is_the_newest_entry() {
    let mut editor = PromptEditor::new(PromptHistory::new(["old".to_owned(), "same".to_owned()]));
    press(&mut editor, "\"same\" Enter \"new\" Enter Up Up Up");
    assert_eq!(editor.text(), "old");
    press(&mut editor, "Down");
    assert_eq!(editor.text(), "same");
}

#[test]
fn a_search_finds_older_entries_step_by_step() {
    let entries = ["cargo test login", "git status", "cargo test"];
    let mut editor = PromptEditor::new(PromptHistory::new(entries.map(str::to_owned)));
    press(&mut editor, "\"draft\" C-r \"test\"");
    assert_eq!(screen(&editor), "> search: test▏  cargo test\n");
    press(&mut editor, "C-r");
    assert_eq!(screen(&editor), "> search: test▏  cargo test login\n");
    press(&mut editor, "C-r");
    assert_eq!(screen(&editor), "> search: test▏  cargo test login\n");
    press(&mut editor, "\"x\"");
    assert_eq!(screen(&editor), "> search: testx▏  not found\n");
    assert_eq!(press(&mut editor, "Esc"), PromptAction::Taken);
    assert_eq!(screen(&editor), "> draft▏\n");
    assert_eq!(press(&mut editor, "C-r \"GIT\" Enter"), PromptAction::Taken);
    assert_eq!(screen(&editor), "> git status▏\n");
    press(&mut editor, "C-r \"login\" C-a");
    assert_eq!(screen(&editor), "> ▏cargo test login\n");
}

#[test]
fn ctrl_c_keeps_the_text_in_the_history() {
    let mut editor = PromptEditor::default();
    assert_eq!(
        press(&mut editor, "\"half a thought\" C-c"),
        PromptAction::Discard("half a thought".to_owned())
    );
    assert_eq!(press(&mut editor, "C-c"), PromptAction::Interrupt);
    press(&mut editor, "Up");
    assert_eq!(editor.text(), "half a thought");
}

#[test]
fn keys_of_the_conversation_are_actions() {
    for (keys, action) in [
        ("Esc", PromptAction::Stop),
        ("\"text\" Esc", PromptAction::Stop),
        ("C-d", PromptAction::Leave),
        ("\"text\" C-d", PromptAction::Taken),
        ("BackTab", PromptAction::NextMode),
        ("Tab", PromptAction::Focus),
        ("\"text\" Tab", PromptAction::Focus),
        ("C-l", PromptAction::Repaint),
        ("C-t", PromptAction::ToggleThinking),
        ("?", PromptAction::ShowKeys),
        ("\"why\" ?", PromptAction::Taken),
    ] {
        let mut editor = PromptEditor::default();
        assert_eq!(press(&mut editor, keys), action, "{keys}");
        assert!(
            !keys.starts_with("\"text\"") || editor.text() == "text",
            "Esc and Tab clear no text: {keys}"
        );
    }
}

#[test]
fn a_slash_opens_the_commands() {
    let mut editor = PromptEditor::default();
    editor.offer(sources());
    press(&mut editor, "\"/co\"");
    assert_eq!(screen(&editor), "> /co▏\n> /compact  summary\n  /context  window\n  /cost     money\n");
    press(&mut editor, "Down Tab");
    assert_eq!(screen(&editor), "> /context ▏\n");
    assert_eq!(press(&mut editor, "Enter"), PromptAction::Submit("/context ".to_owned()));
    // A command that was typed in full is sent at once, another is taken first.
    assert_eq!(press(&mut editor, "\"/cost\" Enter"), PromptAction::Submit("/cost".to_owned()));
    assert_eq!(press(&mut editor, "\"/cos\" Enter"), PromptAction::Taken);
    assert_eq!(editor.text(), "/cost ");
}

#[test]
fn a_path_is_no_command() {
    let mut editor = PromptEditor::default();
    editor.offer(sources());
    for text in ["/etc/hosts", "see /co", "/cost now"] {
        press(&mut editor, &format!("C-u \"{text}\""));
        assert_eq!(screen(&editor), format!("> {text}▏\n"));
    }
}

#[test]
fn an_at_sign_opens_files_and_agents() {
    let mut editor = PromptEditor::default();
    editor.offer(sources());
    press(&mut editor, "\"look at @auth/ver\"");
    assert_eq!(screen(&editor), "> look at @auth/ver▏\n> src/auth/verify.rs\n  src/auth/version.rs\n");
    press(&mut editor, "Up Enter");
    assert_eq!(screen(&editor), "> look at @src/auth/version.rs ▏\n");
    press(&mut editor, "\"@auth-r\" Enter");
    assert_eq!(editor.text(), "look at @src/auth/version.rs @auth-reviewer ");
}

#[test]
fn escape_closes_the_menu_until_the_word_changes() {
    let mut editor = PromptEditor::default();
    editor.offer(sources());
    assert_eq!(press(&mut editor, "\"@lib\" Esc"), PromptAction::Taken);
    assert_eq!(screen(&editor), "> @lib▏\n");
    assert_eq!(press(&mut editor, "Esc"), PromptAction::Stop);
    press(&mut editor, "\".\"");
    assert_eq!(screen(&editor), "> @lib.▏\n> src/lib.rs\n");
}

#[test]
fn a_menu_has_at_most_eight_rows_and_scrolls() {
    let mut editor = PromptEditor::default();
    let files = (0..30).map(|n| format!("f{n:02}.rs")).collect();
    editor.offer(MenuSources { files, ..MenuSources::default() });
    press(&mut editor, "\"@f\"");
    assert_eq!(editor.lines(&layout(40, 24), &[], &[]).rows.len(), 9);
    press(&mut editor, "Down Down Down Down Down Down Down Down Down");
    let rows = editor.lines(&layout(40, 24), &[], &[]).rows;
    assert_eq!((rows.len(), rows[8].text()), (9, "> f09.rs".to_owned()));
    press(&mut editor, "Up Up Up Up Up Up Up Up Up Up");
    assert_eq!(editor.lines(&layout(40, 24), &[], &[]).rows[8].text(), "> f29.rs");
}

#[test]
fn the_menu_takes_the_place_of_the_status() {
    let mut editor = PromptEditor::default();
    editor.offer(sources());
    let below = [StyledLine::plain("  status")];
    press(&mut editor, "\"/cost\"");
    assert_eq!(drawn(&editor.lines(&layout(40, 24), &[], &below)), "> /cost▏\n> /cost  money\n");
    press(&mut editor, "Esc");
    assert_eq!(drawn(&editor.lines(&layout(40, 24), &[], &below)), "> /cost▏\n  status\n");
}

#[test]
fn a_match_prefers_names_and_starts_of_words() {
    let order = |query: &str, candidates: &[&str]| {
        let mut scored: Vec<(i64, String)> = candidates
            .iter()
            .filter_map(|text| Some((match_score(text, query)?, (*text).to_owned())))
            .collect();
        scored.sort_by_key(|(score, _)| -score);
        scored.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    assert_eq!(
        order("run", &["src/prune.rs", "run/a.rs", "src/run.rs"]),
        ["src/run.rs", "run/a.rs", "src/prune.rs"]
    );
    assert_eq!(order("sar", &["src/auth/run.rs", "sarah.rs"]), ["sarah.rs", "src/auth/run.rs"]);
    assert_eq!(order("R", &["run.rs", "README"]), ["README"]);
    assert_eq!(order("xyz", &["README"]), Vec::<String>::new());
}

#[test]
fn entries_of_the_file_survive_line_ends_and_a_torn_write() {
    let entries = ["one", "two\nlines\\n", "日本\r\n", "C:\\new"];
    let file: String = entries.iter().map(|entry| encode_entry(entry)).collect();
    assert_eq!(file.lines().count(), 4);
    assert_eq!(decode_history(&file), entries);
    let torn = format!("{file}half of an en");
    assert_eq!(decode_history(&torn), entries);
    assert_eq!(decode_history("\n\nx\n"), ["x"]);
}

#[test]
fn a_history_is_bounded() {
    let entries = (0..HISTORY_ENTRIES_MAX + 10).map(|n| n.to_string());
    let mut history = PromptHistory::new(entries.chain(["x".repeat(1 << 20)]));
    assert_eq!(history.len(), HISTORY_ENTRIES_MAX);
    assert!(history.push("new") && !history.push(" "));
    assert_eq!(history.len(), HISTORY_ENTRIES_MAX);
}

fn chats() -> Vec<PickerEntry> {
    let entry = |key: &str, age: &str, title: &str, state: &str, figures: &[&str]| PickerEntry {
        key: key.to_owned(),
        age: age.to_owned(),
        title: title.to_owned(),
        state: state.to_owned(),
        figures: figures.iter().map(|text| (*text).to_owned()).collect(),
        project: String::new(),
    };
    vec![
        entry("k3v9", "5m ago", "why is the login test flaky?", "", &["14 turns", "$0.058", "2 files"]),
        entry(
            "p6ip",
            "2h ago",
            "add rate limits to the proxy",
            "interrupted",
            &["31 turns", "$0.412", "7 files"],
        ),
        entry("x1y2", "3d ago", "エラーメッセージを直す", "", &["6 turns", "$0.020"]),
    ]
}

#[test]
fn the_picker_aligns_its_columns() {
    let picker = ListPicker::new("Resume a chat of ~/app", chats());
    assert_eq!(
        drawn(&picker.lines(&layout(80, 24))),
        "\
Resume a chat of ~/app · ▏type to search · Ctrl-A all projects
> 5m ago  why is the login test flaky?                14 turns  $0.058  2 files
  2h ago  add rate limits to the proxy   interrupted  31 turns  $0.412  7 files
  3d ago  エラーメッセージを直す                       6 turns  $0.020
"
    );
}

#[test]
fn the_picker_finds_by_words_and_chooses() {
    let mut picker = ListPicker::new("Resume", chats());
    let press = |picker: &mut ListPicker, name: &str| picker.key(key(name));
    for letter in ["p", "r", "o"] {
        assert_eq!(press(&mut picker, letter), PickerAction::Taken);
    }
    assert_eq!(press(&mut picker, "Enter"), PickerAction::Chosen("p6ip".to_owned()));
    press(&mut picker, "C-u");
    press(&mut picker, "Down");
    press(&mut picker, "Down");
    press(&mut picker, "Down");
    assert_eq!(press(&mut picker, "Enter"), PickerAction::Chosen("x1y2".to_owned()));
    assert_eq!(press(&mut picker, "C-a"), PickerAction::ToggleAll);
    assert_eq!(press(&mut picker, "Esc"), PickerAction::Cancelled);
    picker.paste("nowhere\nelse");
    assert_eq!(drawn(&picker.lines(&layout(40, 24))), "Resume · nowhere▏\n   nothing found\n");
    assert_eq!(press(&mut picker, "Enter"), PickerAction::Taken);
}

#[test]
fn figures_of_the_picker_give_way_in_a_narrow_terminal() {
    let picker = ListPicker::new("Resume", chats());
    for columns in [20, 40, 60, 80, 200] {
        let live = picker.lines(&layout(columns, 24));
        assert!(live.rows.iter().all(|row| row.width() < columns), "{columns}: {}", drawn(&live));
    }
    assert!(drawn(&picker.lines(&layout(60, 24))).contains("> 5m ago  why is the login"));
}

proptest! {
    #[test]
    fn any_keys_keep_the_cursor_inside_and_every_row_within_the_width(
        keys in proptest::collection::vec(prop_oneof![
            "\\PC".prop_map(|text| format!("\"{}\"", text.replace('"', ""))),
            proptest::sample::select(vec![
                "Left", "Right", "Up", "Down", "A-b", "A-f", "C-w", "C-k", "C-u", "C-y", "C-j", "Backspace", "Delete",
                "Home", "End", "C-r", "Esc", "Tab", "Enter",
            ]).prop_map(str::to_owned),
        ], 0..60),
        width in 8usize..50,
    ) {
        let mut editor = PromptEditor::new(PromptHistory::new(["old".to_owned()]));
        editor.offer(sources());
        for one in keys {
            press(&mut editor, &one);
            let live = editor.lines(&layout(width, 12), &[], &[]);
            prop_assert!(live.cursor.row < live.rows.len() && live.cursor.column < width);
            // A single grapheme may be wider than a very narrow row.
            prop_assert!(width < 16 || live.rows.iter().all(|row| row.width() < width), "{}", drawn(&live));
        }
    }

    #[test]
    fn typed_text_comes_back_unchanged(text in "[^\r]{0,80}") {
        let mut buffer = PromptBuffer::default();
        for c in text.chars() {
            buffer.insert(&c.to_string());
        }
        prop_assert_eq!(buffer.text(), text.clone());
        buffer.go(CursorMove::Start);
        while buffer.go(CursorMove::Right) {}
        prop_assert_eq!(buffer.cursor(), buffer.spans().len());
    }

    #[test]
    fn any_entry_survives_the_file(entries in proptest::collection::vec("(?s).{0,40}", 0..8)) {
        let kept: Vec<String> = entries.into_iter().filter(|entry| !entry.trim().is_empty()).collect();
        let file: String = kept.iter().map(|entry| encode_entry(entry)).collect();
        prop_assert_eq!(decode_history(&file), kept);
    }
}
