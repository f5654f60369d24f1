//! Adds a server to a configuration file without touching the rest, byte for byte.

use serde_json::{Value, json};

use super::{HostFileChange, NAME};

/// Inserts the server as the first member of the object at `key`, creating that object if needed. Comments stay.
pub(super) fn into_json(before: &str, key: &str, server: &Value) -> Option<HostFileChange> {
    let parse = |text: &str| serde_json::from_str::<Value>(&without_comments(text)).ok();
    let old = parse(before).filter(Value::is_object)?;
    if !(old[key].is_null() || old[key].is_object()) {
        return None;
    }
    if old[key].get(NAME).is_some() {
        return Some(HostFileChange::Present);
    }
    let found = object_at(before, key);
    let (at, depth, member) = match found {
        Some(at) => (at, 2, json!({ NAME: server })),
        None => (open_of_file(before)?, 1, json!({ key: { NAME: server } })),
    };
    let pretty = serde_json::to_string_pretty(&member).ok()?;
    let inner: Vec<&str> = pretty.lines().collect();
    let indent = "  ".repeat(depth - 1);
    let inner =
        inner[1..inner.len() - 1].iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n");
    let is_empty = match found {
        Some(_) => old[key].as_object()?.is_empty(),
        None => old.as_object()?.is_empty(),
    };
    let rest = &before[at..];
    let after = match is_empty {
        true => format!("{}\n{inner}\n{indent}{}", &before[..at], rest.trim_start()),
        false => format!("{}\n{inner},{rest}", &before[..at]),
    };
    // What was there is there, and the server is too.
    let mut expected = old;
    expected[key][NAME] = server.clone();
    (parse(&after)? == expected).then_some(HostFileChange::Added(after))
}

fn open_of_file(text: &str) -> Option<usize> {
    without_comments(text).find('{').map(|at| at + 1)
}

/// Finds where the object at this top-level key begins.
fn object_at(text: &str, key: &str) -> Option<usize> {
    let plain = without_comments(text);
    let bytes = plain.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = end_of_string(bytes, at)?;
                let after = plain[end..].trim_start();
                if depth == 1 && &plain[at + 1..end - 1] == key && after.starts_with(':') {
                    let value = after[1..].trim_start();
                    return value.starts_with('{').then(|| plain.len() - value.len() + 1);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Blanks out comments and trailing commas, so that every other byte keeps its offset.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => at = end_of_string(&bytes, at).unwrap_or(bytes.len()),
            (b'/', Some(b'/')) => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    bytes[at] = b' ';
                    at += 1;
                }
            }
            (b'/', Some(b'*')) => {
                let end = text[at + 2..].find("*/").map_or(bytes.len(), |found| at + 2 + found + 2);
                bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at = end;
            }
            (b',', _) => {
                let next = bytes[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                if matches!(next, Some(b'}' | b']')) {
                    bytes[at] = b' ';
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}
