//! Bytes of a terminal as key strokes and pastes.
//!
//! [`KeyDecoder`] never waits: it takes bytes as they arrive, and [`KeyDecoder::expire`] settles a sequence that did not end, such
//! as the key Esc, which begins every other sequence. Replies that nobody asked for are swallowed, not typed into a prompt.

use std::time::Duration;

pub use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Time after which a lone `ESC` is the key. Sequences arrive at once, and a person notices 100 ms.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
/// Time after which a paste whose end was lost is taken as it is.
const PASTE_WAIT: Duration = Duration::from_secs(1);
/// Longest sequence that is waited for; replies to queries are shorter.
const SEQUENCE_BYTES_MAX: usize = 4_096;
/// Largest piece of a paste: a longer one arrives in pieces.
const PASTE_BYTES_MAX: usize = 1 << 20;

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Input of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key stroke.
    Key(KeyEvent),
    /// Pasted text, with line feeds as line ends.
    Paste(String),
    /// Row of the cursor, from 1: the reply to `CSI 6 n`.
    CursorRow(usize),
}

/// Decodes the bytes of a terminal.
#[derive(Debug, Default)]
pub struct KeyDecoder {
    /// Bytes of a sequence that has not ended.
    held: Vec<u8>,
    is_pasting: bool,
    /// Bytes of a paste that do not hold its end.
    searched: usize,
}

/// One step of the decoder.
enum DecodeStep {
    /// So many bytes are an input, or nothing.
    Taken(usize, Option<TerminalInput>),
    PasteStart(usize),
    /// More bytes are needed.
    Partial,
}

impl KeyDecoder {
    /// Takes the next bytes; returns what is complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        self.held.extend_from_slice(bytes);
        let mut found = Vec::new();
        while self.step(&mut found) {}
        found
    }

    /// Returns how long to wait for the rest of what was begun; `None` if nothing was.
    pub fn patience(&self) -> Option<Duration> {
        match (self.is_pasting, self.held.is_empty()) {
            (true, _) => Some(PASTE_WAIT),
            (false, false) => Some(ESCAPE_WAIT),
            (false, true) => None,
        }
    }

    /// Settles what was begun and did not go on: a lone `ESC` is the key Esc, `ESC [` is Alt with `[`.
    pub fn expire(&mut self) -> Vec<TerminalInput> {
        let held = std::mem::take(&mut self.held);
        self.searched = 0;
        if std::mem::replace(&mut self.is_pasting, false) {
            return vec![TerminalInput::Paste(pasted(&held))];
        }
        match held.as_slice() {
            [ESC] => vec![key(KeyCode::Esc, KeyModifiers::NONE)],
            [ESC, byte] => vec![key(KeyCode::Char(char::from(*byte)), KeyModifiers::ALT)],
            _ => Vec::new(),
        }
    }

    /// Decodes the first input of the held bytes; returns false if there is none yet.
    fn step(&mut self, found: &mut Vec<TerminalInput>) -> bool {
        if self.is_pasting {
            return self.take_paste(found);
        }
        match decode(&self.held) {
            DecodeStep::Taken(length, input) => {
                self.held.drain(..length);
                found.extend(input);
                true
            }
            DecodeStep::PasteStart(length) => {
                self.held.drain(..length);
                self.is_pasting = true;
                true
            }
            DecodeStep::Partial => {
                if self.held.len() > SEQUENCE_BYTES_MAX {
                    self.held.clear();
                }
                false
            }
        }
    }

    fn take_paste(&mut self, found: &mut Vec<TerminalInput>) -> bool {
        let from = self.searched.min(self.held.len());
        let end = self.held[from..].windows(PASTE_END.len()).position(|window| window == PASTE_END);
        self.searched = (self.held.len() + 1).saturating_sub(PASTE_END.len());
        match end.map(|end| from + end) {
            Some(end) => {
                self.searched = 0;
                found.push(TerminalInput::Paste(pasted(&self.held[..end])));
                self.held.drain(..end + PASTE_END.len());
                self.is_pasting = false;
                true
            }
            None => {
                if self.held.len() > PASTE_BYTES_MAX {
                    // The end may be half there.
                    let length = utf8_boundary(&self.held, self.held.len() - PASTE_END.len());
                    found.push(TerminalInput::Paste(pasted(&self.held[..length])));
                    self.held.drain(..length);
                    self.searched = 0;
                }
                false
            }
        }
    }
}

/// Returns the largest place up to `at` where no character is cut.
fn utf8_boundary(bytes: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|at| !is_continuation(bytes[*at])).unwrap_or(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Terminals send the line ends of a paste as carriage returns.
fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> TerminalInput {
    TerminalInput::Key(KeyEvent::new(code, modifiers))
}

fn decode(bytes: &[u8]) -> DecodeStep {
    match bytes {
        [] | [ESC] => DecodeStep::Partial,
        [ESC, b'[', rest @ ..] => control_sequence(rest),
        [ESC, b'O', rest @ ..] => match rest.first() {
            None => DecodeStep::Partial,
            // Enter of the keypad.
            Some(b'M') => DecodeStep::Taken(3, Some(key(KeyCode::Enter, KeyModifiers::NONE))),
            Some(last) => DecodeStep::Taken(3, named(*last).map(|code| key(code, KeyModifiers::NONE))),
        },
        // Replies of the terminal: OSC, DCS, APC, PM.
        [ESC, b']' | b'P' | b'_' | b'^', rest @ ..] => string_sequence(rest),
        [ESC, ESC, ..] => DecodeStep::Taken(1, Some(key(KeyCode::Esc, KeyModifiers::NONE))),
        [ESC, rest @ ..] => match character(rest) {
            DecodeStep::Taken(length, Some(TerminalInput::Key(stroke))) => {
                let modifiers = stroke.modifiers | KeyModifiers::ALT;
                DecodeStep::Taken(length + 1, Some(key(stroke.code, modifiers)))
            }
            DecodeStep::Taken(length, _) => DecodeStep::Taken(length + 1, None),
            step => step,
        },
        bytes => character(bytes),
    }
}

/// Decodes a character or a control byte.
fn character(bytes: &[u8]) -> DecodeStep {
    let control = |letter: u8| key(KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    let input = match bytes[0] {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE),
        0x7f => key(KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        byte @ 0x01..=0x1a => control(byte + 0x60),
        byte @ 0x1c..=0x1f => control(byte + 0x18),
        byte @ 0x20..=0x7e => typed(char::from(byte)),
        _ => return wide_character(bytes),
    };
    DecodeStep::Taken(1, Some(input))
}

fn wide_character(bytes: &[u8]) -> DecodeStep {
    let head = &bytes[..bytes.len().min(4)];
    let chunk = head.utf8_chunks().next();
    match chunk {
        Some(chunk) if !chunk.valid().is_empty() => {
            let character = chunk.valid().chars().next().unwrap_or_default();
            DecodeStep::Taken(character.len_utf8(), Some(typed(character)))
        }
        // The rest of the character may come.
        Some(chunk) if chunk.invalid().len() == head.len() && head.len() < width(head[0]) => {
            DecodeStep::Partial
        }
        Some(chunk) => DecodeStep::Taken(chunk.invalid().len().max(1), None),
        None => DecodeStep::Partial,
    }
}

/// Returns the bytes of a character that begins with this byte.
fn width(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

fn typed(character: char) -> TerminalInput {
    let shift = if character.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    key(KeyCode::Char(character), shift)
}

/// Decodes the rest of `ESC [`.
fn control_sequence(rest: &[u8]) -> DecodeStep {
    let length = rest.iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
    let Some(last) = rest.get(length) else { return DecodeStep::Partial };
    let taken = length + 3;
    if !(0x40..=0x7e).contains(last) {
        // Another sequence begins inside this one.
        return DecodeStep::Taken(length + 2, None);
    }
    // Private parameters belong to replies of the terminal.
    if rest.first().is_some_and(|byte| b"<=>?".contains(byte)) {
        return DecodeStep::Taken(taken, None);
    }
    let numbers: Vec<u32> = String::from_utf8_lossy(&rest[..length])
        .split(';')
        .map(|number| number.split(':').next().unwrap_or_default().parse().unwrap_or(0))
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let input = match (last, number(0)) {
        (b'~', 200) => return DecodeStep::PasteStart(taken),
        (b'~', 27) => coded(number(2), number(1)),
        (b'~', code) => numbered(code).map(|code| key(code, modifiers(number(1)))),
        (b'u', code) => coded(code, number(1)),
        (b'R', row) if row > 0 => usize::try_from(row).ok().map(TerminalInput::CursorRow),
        (b'Z', _) => Some(key(KeyCode::BackTab, KeyModifiers::SHIFT)),
        (last, _) => named(*last).map(|code| key(code, modifiers(number(1)))),
    };
    DecodeStep::Taken(taken, input)
}

/// Skips a reply that ends in BEL or `ESC \`.
fn string_sequence(rest: &[u8]) -> DecodeStep {
    let bell = rest.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let end = rest.windows(2).position(|pair| pair == [ESC, b'\\']).map(|at| at + 2);
    match bell.into_iter().chain(end).min() {
        Some(length) => DecodeStep::Taken(length + 2, None),
        None => DecodeStep::Partial,
    }
}

/// Decodes a key that a terminal sends by its code, such as Shift-Enter.
fn coded(code: u32, modifier: u32) -> Option<TerminalInput> {
    let modifiers = modifiers(modifier);
    let code = match char::from_u32(code)? {
        '\r' => KeyCode::Enter,
        '\t' if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        '\t' => KeyCode::Tab,
        '\u{1b}' => KeyCode::Esc,
        '\u{7f}' => KeyCode::Backspace,
        character => KeyCode::Char(character),
    };
    Some(key(code, modifiers))
}

fn modifiers(parameter: u32) -> KeyModifiers {
    let bits = parameter.saturating_sub(1);
    let known = [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    known
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, modifier)| all | modifier)
}

/// Returns the key of a sequence that ends in this letter.
fn named(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// Returns the key of a sequence `CSI number ~`.
fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(number - 11).ok()?),
        23 | 24 => KeyCode::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}
