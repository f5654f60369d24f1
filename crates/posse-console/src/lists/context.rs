//! Values of shared context in lists.

use posse_core::context::wire::utc;
use posse_core::context::{Audience, ChangeResult, VALUE_TOKENS_MAX, ValueHead};
use posse_messages::say;
use posse_terminal::columns::PaddedCell;

use super::age;

/// Formats a value of a list.
pub fn line(head: &ValueHead) -> String {
    format!(
        "{:<24} v{:<3} {:>19}  {:>5}  {}{}",
        head.key.as_str(),
        head.version,
        PaddedCell(say!("tokens-of", tokens = head.tokens, most = VALUE_TOKENS_MAX)),
        PaddedCell(age(head.written_at_ms)),
        head.written_by,
        until(head)
    )
}

/// Formats a value with everything known of it.
pub fn described(head: &ValueHead) -> String {
    let (at, by) = (utc(head.written_at_ms), &head.written_by);
    let before = head
        .previous_version
        .map(|version| format!(" {}", say!("before-deleted", version)))
        .unwrap_or_default();
    let size = say!("tokens-shown", shown = head.tokens);
    format!("{} v{}{before} · {size} · {by} · {at}{}", head.key, head.version, until(head))
}

fn until(head: &ValueHead) -> String {
    let until = head
        .expires_at_ms
        .map(|end| format!(" · {}", say!("until-instant", end = utc(end))))
        .unwrap_or_default();
    let Audience { readable_by, writable_by } = &head.audience;
    if head.audience == Audience::default() {
        return until;
    }
    let (readers, writers) = (listed(readable_by), listed(writable_by));
    format!("{until} · {}", say!("audience-shown", readers, writers))
}

fn listed(patterns: &[String]) -> String {
    if patterns.is_empty() { say!("nobody-else") } else { patterns.join(", ") }
}

/// Indents the lines of a value.
pub fn indented(value: &str) -> String {
    format!("  {}", value.replace('\n', "\n  "))
}

/// Says what a change did.
pub fn told(changed: &ChangeResult) -> String {
    match changed {
        ChangeResult::Written(head) => {
            let wrote = say!("context-wrote", entry = described(head));
            match head.warning() {
                Some(warning) => format!("{wrote}\n{}", say!("warning", text = warning)),
                None => wrote,
            }
        }
        ChangeResult::Deleted { key, previous_version } => say!("context-deleted", key, previous_version),
        ChangeResult::SnapshotTaken(taken) => {
            say!("snapshot-taken", label = taken.label, keys = say!("many-keys", n = taken.keys))
        }
        ChangeResult::Restored { written, deleted } => say!("context-restored", written, deleted),
    }
}
