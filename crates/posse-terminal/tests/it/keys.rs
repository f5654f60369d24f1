//! Bytes of a terminal as keys.

use posse_terminal::keys::{KeyCode, KeyDecoder, KeyEvent, KeyModifiers, TerminalInput};

fn keys(bytes: &[u8]) -> Vec<TerminalInput> {
    KeyDecoder::default().push(bytes)
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> TerminalInput {
    TerminalInput::Key(KeyEvent::new(code, modifiers))
}

fn plain(code: KeyCode) -> TerminalInput {
    key(code, KeyModifiers::NONE)
}

#[test]
fn keys_and_their_modifiers_are_told_apart() {
    let (control, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
    for (bytes, expected) in [
        ("a", plain(KeyCode::Char('a'))),
        ("A", key(KeyCode::Char('A'), shift)),
        ("é", plain(KeyCode::Char('é'))),
        ("漢", plain(KeyCode::Char('漢'))),
        ("\r", plain(KeyCode::Enter)),
        ("\n", key(KeyCode::Char('j'), control)),
        ("\x03", key(KeyCode::Char('c'), control)),
        ("\x1a", key(KeyCode::Char('z'), control)),
        ("\x7f", plain(KeyCode::Backspace)),
        ("\t", plain(KeyCode::Tab)),
        ("\x1b[Z", key(KeyCode::BackTab, shift)),
        ("\x1b\r", key(KeyCode::Enter, alt)),
        ("\x1bb", key(KeyCode::Char('b'), alt)),
        ("\x1b[A", plain(KeyCode::Up)),
        ("\x1bOA", plain(KeyCode::Up)),
        ("\x1b[1;5D", key(KeyCode::Left, control)),
        ("\x1b[3~", plain(KeyCode::Delete)),
        ("\x1b[3;5~", key(KeyCode::Delete, control)),
        ("\x1b[H", plain(KeyCode::Home)),
        ("\x1b[13;2u", key(KeyCode::Enter, shift)),
        ("\x1b[27;2;13~", key(KeyCode::Enter, shift)),
        ("\x1b[17~", plain(KeyCode::F(6))),
        ("\x1b[12;40R", TerminalInput::CursorRow(12)),
    ] {
        assert_eq!(keys(bytes.as_bytes()), [expected], "{bytes:?}");
    }
}

#[test]
fn input_is_the_same_however_it_is_split() {
    let text = "aé漢\x1b[A\x1b[1;5C\x1bx\x1b[200~one\rtwo\x1b[201~q\x1b[7;1R\x1b]11;rgb:00/00/00\x07z";
    let whole = keys(text.as_bytes());
    assert_eq!(whole.len(), 10, "{whole:?}");
    for size in 1..9 {
        let mut decoder = KeyDecoder::default();
        let split: Vec<_> = text.as_bytes().chunks(size).flat_map(|chunk| decoder.push(chunk)).collect();
        assert_eq!(split, whole, "{size}");
        assert_eq!(decoder.patience(), None);
    }
}

#[test]
fn a_paste_is_one_input_and_keeps_its_lines() {
    assert_eq!(
        keys(b"\x1b[200~one\r\ntwo\rthree\x1b[A\x1b[201~\r"),
        [TerminalInput::Paste("one\ntwo\nthree\x1b[A".to_owned()), plain(KeyCode::Enter)]
    );
    let mut decoder = KeyDecoder::default();
    assert_eq!(decoder.push(b"\x1b[200~lost"), []);
    assert!(decoder.patience().is_some());
    assert_eq!(decoder.expire(), [TerminalInput::Paste("lost".to_owned())]);
    assert_eq!(decoder.push(b"a"), [plain(KeyCode::Char('a'))]);
}

#[test]
fn a_huge_paste_arrives_in_pieces_and_loses_nothing() {
    let text = "é".repeat(1 << 20);
    let mut decoder = KeyDecoder::default();
    let mut inputs = decoder.push(b"\x1b[200~");
    for chunk in text.as_bytes().chunks(1_021) {
        inputs.extend(decoder.push(chunk));
    }
    inputs.extend(decoder.push(b"\x1b[201~"));
    assert!(inputs.len() > 1);
    let pieces = inputs.into_iter().map(|input| match input {
        TerminalInput::Paste(piece) => piece,
        other => panic!("{other:?}"),
    });
    assert_eq!(pieces.collect::<String>(), text);
}

#[test]
fn a_lone_escape_is_the_key_once_nothing_follows() {
    let mut decoder = KeyDecoder::default();
    assert_eq!(decoder.push(b"\x1b"), []);
    assert!(decoder.patience().is_some());
    assert_eq!(decoder.expire(), [plain(KeyCode::Esc)]);
    assert_eq!(decoder.patience(), None);
    assert_eq!(keys(b"\x1b\x1bx")[0], plain(KeyCode::Esc), "pressed twice");
}

#[test]
fn replies_that_nobody_asked_for_are_not_typed() {
    for reply in
        ["\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", "\x1b[?62;4c", "\x1bP>|term 1\x1b\\", "\x1b[I", "\x1b[?1u"]
    {
        assert_eq!(keys(format!("{reply}a").as_bytes()), [plain(KeyCode::Char('a'))], "{reply:?}");
    }
    assert_eq!(keys(b"\xff\xfea"), [plain(KeyCode::Char('a'))], "bytes that are no text");
}
