//! The dialog about an approval, and the line that is typed into it.

use posse_core::approval::{ApprovalScope, ApprovalVerdict};
use posse_terminal::dialog::{ApprovalDialog, DialogAnswer, DialogLayout, DialogStep};
use posse_terminal::input::{InputStep, LineInput};
use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};
use posse_terminal::style::SymbolSet;

use crate::rows::{DIFF, parked};

const LAYOUT: DialogLayout = DialogLayout { columns: 80, rows_max: 20, symbols: SymbolSet::Unicode };

fn key(character: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE)
}

fn dialog() -> ApprovalDialog {
    let call = parked("edit", r#"{"path":"src/auth.rs","old_string":"a","new_string":"b"}"#, Some(DIFF));
    ApprovalDialog::new(&call, 1_000)
}

fn approved(scope: ApprovalScope) -> DialogStep {
    DialogStep::Answered(DialogAnswer { verdict: ApprovalVerdict::Approve, scope, reason: None })
}

#[test]
fn keys_count_half_a_second_after_the_question_is_shown() {
    let mut dialog = dialog();
    assert_eq!(dialog.key(&key('y'), &LAYOUT, 1_499), DialogStep::Open, "typed ahead");
    assert_eq!(dialog.key(&key('y'), &LAYOUT, 1_500), approved(ApprovalScope::Once));
    assert_eq!(dialog.key(&key('t'), &LAYOUT, 1_500), approved(ApprovalScope::Task));
    assert_eq!(dialog.key(&key('s'), &LAYOUT, 1_500), approved(ApprovalScope::Session));
    assert_eq!(dialog.key(&key('x'), &LAYOUT, 1_500), DialogStep::Open);
    let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(dialog.key(&escape, &LAYOUT, 1_500), DialogStep::Later);
    dialog.reopen(9_000);
    assert_eq!(dialog.key(&key('y'), &LAYOUT, 9_400), DialogStep::Open, "shown anew");
}

#[test]
fn a_key_that_approves_prints_hidden_lines_first_and_a_held_key_does_not_approve_them() {
    let mut dialog = dialog();
    let small = DialogLayout { rows_max: 6, ..LAYOUT };
    let (rows, _) = dialog.lines(&small, 2_000);
    assert!(rows.iter().any(|row| row.text() == "  2 more lines: d shows them"), "{rows:?}");
    let DialogStep::Print(lines) = dialog.key(&key('y'), &small, 2_000) else { panic!("it is not printed") };
    let lines: Vec<String> = lines.iter().map(|line| line.text()).collect();
    assert!(lines.contains(&"  + 43        return Err(Expired);".to_owned()), "{lines:?}");
    assert!(lines.last().unwrap().contains("edit"), "what a wider approval covers: {lines:?}");
    assert_eq!(dialog.key(&key('y'), &small, 2_100), DialogStep::Open, "the key is held down");
    assert_eq!(dialog.key(&key('y'), &small, 2_500), approved(ApprovalScope::Once));
}

#[test]
fn a_denial_takes_a_reason_with_letters_that_would_be_keys() {
    let mut dialog = dialog();
    assert_eq!(dialog.key(&key('n'), &LAYOUT, 2_000), DialogStep::Open);
    "yes, but not ".chars().for_each(|c| drop(dialog.key(&key(c), &LAYOUT, 2_000)));
    dialog.paste("this\nfile");
    let (rows, cursor) = dialog.lines(&LAYOUT, 2_000);
    let cursor = cursor.unwrap();
    assert_eq!(rows[cursor.row].text(), "  why? (Enter without a reason) yes, but not this file");
    assert_eq!(cursor.column, rows[cursor.row].width());
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    let reason = Some("yes, but not this file".to_owned());
    let denied = DialogAnswer { verdict: ApprovalVerdict::Deny, scope: ApprovalScope::Once, reason };
    assert_eq!(dialog.key(&enter, &LAYOUT, 2_000), DialogStep::Answered(denied));
}

#[test]
fn a_typed_line_is_edited_by_grapheme_and_shows_the_part_around_the_cursor() {
    let mut input = LineInput::default();
    let press = |input: &mut LineInput, code| input.key(&KeyEvent::new(code, KeyModifiers::NONE));
    for character in "héllo wörld".chars() {
        press(&mut input, KeyCode::Char(character));
    }
    assert_eq!(press(&mut input, KeyCode::Backspace), InputStep::Editing);
    for _ in 0..3 {
        press(&mut input, KeyCode::Left);
    }
    press(&mut input, KeyCode::Delete);
    assert_eq!(input.text(), "héllo wrl");
    input.key(&KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
    assert_eq!(input.text(), "héllo rl");
    let (line, column) = input.line("> ", 80);
    assert_eq!((line.text().as_str(), column), ("> héllo rl", 8));
    input.paste(&"x".repeat(100));
    let (line, column) = input.line("> ", 20);
    assert!(line.text().starts_with("> xxx") && column < 20, "{line:?} {column}");
    assert_eq!(press(&mut input, KeyCode::Enter), InputStep::Done);
    assert_eq!(press(&mut input, KeyCode::Esc), InputStep::Dropped);
}
