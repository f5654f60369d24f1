//! Text of the panes beside the transcript: changes, shared context and limits.

use posse_core::context::ContextEntry;
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::lease::Lease;
use posse_core::text::{prefix, visible};
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::ports::TaskRow;
use posse_terminal::diff::NumberedDiff;
use posse_terminal::rows::{RowView, figures};
use posse_terminal::style::{StyledLine, SymbolSet, TextStyle, columns};

use super::TaskPatch;

/// Lines of a patch that are shown; `posse tasks diff` has the rest.
const PATCH_LINES_MAX: usize = 5_000;
/// Bytes of a shared value that are shown; `posse context get` has the rest.
const VALUE_BYTES_MAX: usize = 4_000;

/// Lays out the changes of a task, file by file.
pub fn patch_lines(patch: &TaskPatch, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for file in files(&patch.text) {
        let mut numbered = NumberedDiff::default();
        let room = PATCH_LINES_MAX.saturating_sub(lines.len());
        let body: Vec<StyledLine> =
            file.lines.iter().take(room).filter_map(|line| numbered.line(&visible(line))).collect();
        if !lines.is_empty() {
            lines.push(StyledLine::new());
        }
        let mut title = StyledLine::new();
        title.push(&visible(&file.name), TextStyle::BOLD);
        let counts = format!("  +{} −{}", numbered.added(), numbered.removed());
        title.push(&symbols.adapt(&counts), TextStyle::PLAIN);
        lines.push(title.cut(width, symbols));
        lines.extend(body.into_iter().flat_map(|line| line.wrap(width)));
        if lines.len() >= PATCH_LINES_MAX {
            lines.push(StyledLine::plain(say!("top-patch-cut")));
            break;
        }
    }
    if lines.is_empty() && patch.notes.is_empty() {
        lines.push(StyledLine::plain(say!("top-no-changes")));
    }
    lines.extend(patch.notes.iter().flat_map(|note| StyledLine::plain(visible(note)).wrap(width)));
    lines
}

/// The part of a patch about one file.
struct PatchFile<'a> {
    name: String,
    lines: Vec<&'a str>,
}

/// Splits a patch at the headers of its files. A header is outside of the lines that a hunk announces, whatever those say.
fn files(patch: &str) -> Vec<PatchFile<'_>> {
    let mut files: Vec<PatchFile<'_>> = Vec::new();
    let (mut old_name, mut left) = ("", (0, 0));
    for line in patch.lines() {
        if left != (0, 0) {
            match line.as_bytes().first() {
                Some(b'+') => left.1 = u64::saturating_sub(left.1, 1),
                Some(b'-') => left.0 = u64::saturating_sub(left.0, 1),
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            left = hunk_sizes(hunk);
        } else if line.starts_with("diff --git ") || line.starts_with("--- ") {
            let goes_on = files.last().is_some_and(|file| file.lines.is_empty() && line.starts_with("--- "));
            if !goes_on {
                let name = line.rsplit(" b/").next().unwrap_or_default().to_owned();
                files.push(PatchFile { name, lines: Vec::new() });
            }
            old_name = line.strip_prefix("--- ").unwrap_or(old_name);
            continue;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            if let Some(file) = files.last_mut() {
                file.name = file_name(if name.starts_with("/dev/null") { old_name } else { name });
            }
            continue;
        } else if line.starts_with("index ") {
            continue;
        }
        match files.last_mut() {
            Some(file) => file.lines.push(line),
            None => files.push(PatchFile { name: String::new(), lines: vec![line] }),
        }
    }
    files
}

/// Returns the numbers of old and new lines of a hunk, from `-41,2 +41 @@`.
fn hunk_sizes(hunk: &str) -> (u64, u64) {
    let size = |sign: char| {
        let range = hunk.split(' ').find_map(|part| part.strip_prefix(sign))?;
        Some(range.split_once(',').map_or(1, |(_, size)| size.parse().unwrap_or(0)))
    };
    (size('-').unwrap_or(0), size('+').unwrap_or(0))
}

fn file_name(name: &str) -> String {
    let name = name.split('\t').next().unwrap_or(name);
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    bare.unwrap_or(name).to_owned()
}

/// Lays out the shared context of a session.
pub fn context_lines(
    entries: &[ContextEntry],
    width: usize,
    symbols: SymbolSet,
    now_ms: u64,
) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for ContextEntry { head, value } in entries {
        if !lines.is_empty() {
            lines.push(StyledLine::new());
        }
        let mut title = StyledLine::new();
        title.push(&visible(head.key.as_str()), TextStyle::BOLD);
        let ago = figures::time(now_ms.saturating_sub(head.written_at_ms));
        let about = say!(
            "top-context-head",
            version = head.version,
            by = visible(&head.written_by).as_ref(),
            ago,
            tokens = figures::count(head.tokens)
        );
        title.push(&format!("  {}", symbols.adapt(&about)), TextStyle::PLAIN);
        lines.push(title.cut(width, symbols));
        let shown = prefix(value, VALUE_BYTES_MAX);
        for text in visible(shown).lines() {
            let line = StyledLine::plain(format!("  {}", text.replace('\t', "    ")));
            lines.extend(line.wrap(width));
        }
        if shown.len() < value.len() {
            let rest = say!("top-value-cut", bytes = figures::count((value.len() - shown.len()) as u64));
            lines.push(StyledLine::plain(format!("  {}", symbols.adapt(&rest))));
        }
    }
    if lines.is_empty() {
        lines.push(StyledLine::plain(say!("top-no-context")));
    }
    lines
}

/// Facts for the limits of a task.
#[derive(Debug)]
pub struct LimitFacts<'a> {
    /// The task.
    pub row: &'a TaskRow,
    /// Its cells.
    pub view: &'a RowView,
    /// Start record of the task.
    pub start: &'a TaskStart,
    /// Sums of the task and everything below it.
    pub tree: SpendingTotal,
    /// Leases of all tasks.
    pub leases: &'a [Lease],
    /// The time.
    pub now_ms: u64,
}

/// Lays out what a task used of its limits.
pub fn limit_lines(facts: &LimitFacts<'_>, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let LimitFacts { row, view, start, tree, leases, now_ms } = facts;
    let limits = &start.agent.limits;
    let end_ms = if row.state.is_running() { *now_ms } else { row.updated_ms };
    let elapsed = figures::time(end_ms.saturating_sub(row.created_ms));
    let of = |used: String, most: String| say!("top-used-of", used, most);
    let price =
        |total: &SpendingTotal| figures::cost((total.unpriced_tokens == 0).then_some(total.cost_micros));
    let tokens = |total: &SpendingTotal| {
        let (input, output) = (figures::count(total.input_tokens), figures::count(total.output_tokens));
        say!("top-token-counts", input, output)
    };
    let cap = start.caps.cost_micros.map(|cap| figures::cost(Some(cap)));
    let mut fields = vec![
        (say!("top-limit-model"), start.agent.model.clone()),
        (say!("top-limit-turns"), of(row.turns().to_string(), limits.turns_max.to_string())),
        (say!("top-limit-time"), of(elapsed, figures::time(limits.wall_ms_max))),
        (say!("top-limit-context"), view.figures.context.clone()),
        (say!("top-limit-tokens"), tokens(&row.total)),
        (say!("top-limit-cost"), price(&row.total)),
    ];
    if tree.tasks > 1 {
        fields.push((say!("top-limit-tree-tokens"), tokens(tree)));
        fields.push((say!("top-limit-tree-cost"), price(tree)));
    }
    fields.extend([
        (say!("top-limit-cap"), cap.unwrap_or_else(|| say!("top-no-cap"))),
        (say!("top-limit-sandbox"), start.grant.sandbox().to_string()),
        (say!("top-limit-workspace"), visible(&start.workspace).into_owned()),
    ]);
    for lease in leases.iter().filter(|lease| lease.task == row.id) {
        let since = figures::time(now_ms.saturating_sub(lease.since_ms));
        let paths = visible(&lease.places.paths.join(", ")).into_owned();
        fields.push((say!("top-limit-lease"), say!("top-lease-since", paths, since)));
    }
    table(fields, width, symbols)
}

/// Returns the paths that a task holds leases on.
pub fn held_paths(leases: &[Lease], task: &TaskId) -> Vec<String> {
    let held = leases.iter().filter(|lease| lease.task == *task);
    held.flat_map(|lease| lease.places.paths.iter().map(|path| visible(path).into_owned())).collect()
}

fn table(fields: Vec<(String, String)>, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let fields: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let label = fields.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let line = |(name, value): (String, String)| {
        let mut line = StyledLine::new();
        line.push(&name, TextStyle::BOLD);
        line.pad_to(label + 2);
        line.push(&symbols.adapt(&value), TextStyle::PLAIN);
        line.wrap(width)
    };
    fields.into_iter().flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_shown_file_by_file_with_counts_and_line_numbers() {
        let text = "diff --git a/src/auth.rs b/src/auth.rs\nindex 1..2 100644\n--- a/src/auth.rs\n+++ b/src/auth.rs\n\
                    @@ -41,3 +41,2 @@\n fn check() {\n-    a > b\n--- x\n+    a <= b\n--- a/new.txt\n+++ b/new.txt\n\
                    @@ -0,0 +1 @@\n+hello\n";
        let patch = TaskPatch { text: text.to_owned(), notes: vec!["big.bin: too large".to_owned()] };
        let lines: Vec<String> =
            patch_lines(&patch, 60, SymbolSet::Unicode).iter().map(StyledLine::text).collect();
        assert_eq!(
            lines,
            [
                "src/auth.rs  +1 −2",
                "    41  fn check() {",
                "  - 42      a > b",
                "  - 43  -- x",
                "  + 42      a <= b",
                "",
                "new.txt  +1 −0",
                "  +  1  hello",
                "big.bin: too large",
            ]
        );
    }
}
