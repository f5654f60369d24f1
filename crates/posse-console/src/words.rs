//! Figures and files in the words of lists and lines.

use posse_core::edits::{ChangeKind, FileChange, LineCounts};
use posse_core::event::Event;
use posse_core::text::visible;
use posse_core::usage::{SpendingTotal, dollars};
use posse_messages::say;

/// Formats a number for people: 950, 1.2k, 3.4M.
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// Formats `1 token`, `950 tokens`, `1.2k tokens`.
pub fn tokens(n: u64) -> String {
    match n {
        0..1_000 => say!("many-tokens", n = n),
        _ => say!("tokens-shown", shown = count(n)),
    }
}

/// Formats `$0.0123`; `≥ $0.0123` if part of it has no known price; `$?` if nothing has one.
pub fn price(total: &SpendingTotal) -> String {
    match (total.cost_micros, total.unpriced_tokens) {
        (micros, 0) => format!("${:.4}", dollars(micros)),
        (0, _) => "$?".to_owned(),
        (micros, _) => format!("≥ ${:.4}", dollars(micros)),
    }
}

/// Formats ` · 12.3k tokens, $0.0421 with its subagents` for a tree of more than one task.
pub fn with_subagents(tree: &SpendingTotal) -> String {
    match tree.tasks {
        0 | 1 => String::new(),
        _ => format!(" · {}", say!("with-subagents", tokens = tokens(tree.tokens()), price = price(tree))),
    }
}

/// Files named per line of progress; the summary has a limit of its own.
const FILES_SHOWN: usize = 10;

/// Formats the files changed by a call as one line.
pub fn changed(event: &Event, colours: bool) -> Option<String> {
    match event {
        Event::ToolFinished { changed, .. } if !changed.is_empty() => {
            Some(say!("plain-changed", files = changes(changed, colours)))
        }
        _ => None,
    }
}

/// Formats changed files, such as `src/a.rs +3 −1`, `notes.md +10 (new)`.
pub fn changes(changed: &[FileChange], colours: bool) -> String {
    let mut parts: Vec<String> =
        changed.iter().take(FILES_SHOWN).map(|change| file(change, colours)).collect();
    if changed.len() > FILES_SHOWN {
        parts.push(say!("changes-more", n = changed.len() - FILES_SHOWN));
    }
    parts.join(", ")
}

/// Formats a changed file with its counts, colored on request.
pub fn file(change: &FileChange, colours: bool) -> String {
    let FileChange { path, kind, lines } = change;
    let mut text = visible(path).into_owned();
    let paint = |colour: &str, text: String| match colours {
        true => format!("\x1b[{colour}m{text}\x1b[0m"),
        false => text,
    };
    if let Some(LineCounts { added, removed }) = lines {
        if *added > 0 || *removed == 0 {
            text.push_str(&format!(" {}", paint("32", format!("+{added}"))));
        }
        if *removed > 0 {
            text.push_str(&format!(" {}", paint("31", format!("−{removed}"))));
        }
    }
    match kind {
        ChangeKind::Created => format!("{text} ({})", say!("change-new")),
        ChangeKind::Modified => text,
        ChangeKind::Deleted => format!("{text} ({})", say!("change-deleted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_many_are_shortened() {
        let shown = [0, 1, 2, 999, 1_000].map(tokens);
        assert_eq!(shown, ["0 tokens", "1 token", "2 tokens", "999 tokens", "1.0k tokens"]);
        assert_eq!(
            (say!("many-tasks", n = 1_u64), say!("many-trees", n = 2_u64)),
            ("1 task".into(), "2 trees".into())
        );
    }
}
