//! What a tool says about itself, and the one table of names that other tools and vendors use for ours.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Consequence of making a call twice. A tool that declares none counts as `Unsafe`. Later variants need more care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Changes nothing: may run beside others and may be run again.
    Pure,
    /// Running it again with the same key has no further effect.
    Idempotent,
    /// Never run again behind the model's back.
    Unsafe,
}

/// A tool as the model sees it. The description is product text.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON text of the schema of the arguments, an object schema.
    pub input_schema: String,
    pub effect: ToolEffect,
}

/// The right to delegate. It has several doors: tools whose names stand for this one.
pub const DELEGATION: &str = "subagent";

/// Tools that look at files or change them, named by `path`.
pub const FILE_TOOLS: &[&str] = &["read", "write", "edit", "grep", "glob", "ls", "directory_tree"];

/// Tools that act inside the session and on nothing else.
pub const SESSION_TOOLS: &[&str] = &["subagent", "shared_context", "ask_parent", "report_progress"];

/// Names are compared in this form: lower snake case, aliases resolved. Unknown names only change case.
pub fn canonical(name: &str) -> Cow<'_, str> {
    let lower = own_name(name);
    let beginning = beginning(&lower);
    let from = KNOWN.partition_point(|known| known.0 < beginning);
    let mut alike = KNOWN[from..].iter().take_while(|known| known.0 == beginning);
    match alike.find(|known| known.1 == lower) {
        Some((_, _, canonical)) => Cow::Borrowed(canonical),
        None => lower,
    }
}

/// `ALIASES` the other way round, in the order of their beginnings: every call is looked up several times, and most names are
/// no alias, which a comparison of numbers shows.
static KNOWN: LazyLock<Vec<(u64, &str, &str)>> = LazyLock::new(|| {
    let all = ALIASES
        .iter()
        .flat_map(|(canonical, aliases)| aliases.iter().map(|alias| (beginning(alias), *alias, *canonical)));
    let mut known: Vec<_> = all.collect();
    known.sort_unstable();
    known
});

/// The first eight bytes of a name as a number.
fn beginning(name: &str) -> u64 {
    name.bytes().take(8).fold(0, |number, byte| (number << 8) | u64::from(byte))
}

/// A tool's own name in one spelling: lower snake case, aliases as they are.
pub fn own_name(name: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit();
    if name.bytes().all(plain) {
        return Cow::Borrowed(name);
    }
    let name = name.trim();
    if name.bytes().any(|byte| byte == b'-' || byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase().replace('-', "_"));
    }
    Cow::Borrowed(name)
}

/// Expands a name from a list of tools: Copilot's `search` is two of ours.
pub fn expand(name: &str) -> Vec<String> {
    let lower = name.trim().to_ascii_lowercase();
    match GROUPS.iter().find(|(group, _)| *group == lower) {
        Some((_, members)) => members.iter().map(|m| (*m).to_owned()).collect(),
        None => vec![canonical(name).into_owned()],
    }
}

/// Other spellings, in lower case with `_` for `-`.
const ALIASES: &[(&str, &[&str])] = &[
    ("read", &["read_file", "readfile", "read_many_files", "view", "notebookread", "notebook_read", "cat"]),
    (
        "edit",
        &[
            "edit_file",
            "multiedit",
            "multi_edit",
            "str_replace",
            "replace",
            "apply_patch",
            "applypatch",
            "editfiles",
            "edit_files",
        ],
    ),
    ("write", &["write_file", "writefile", "create_file", "createfile"]),
    (
        "bash",
        &[
            "shell",
            "execute",
            "run_shell_command",
            "run_terminal_command",
            "run_in_terminal",
            "runinterminal",
            "runcommands",
            "powershell",
            "terminal",
        ],
    ),
    (
        "grep",
        &[
            "search_file_content",
            "search_for_pattern",
            "find_symbol",
            "find_usages",
            "grep_search",
            "ripgrep",
            "rg",
            "textsearch",
            "text_search",
        ],
    ),
    ("glob", &["glob_search", "find_files", "file_search", "filesearch"]),
    ("ls", &["list", "list_dir", "list_directory", "listdirectory", "listdir"]),
    ("directory_tree", &["directorytree", "tree", "get_symbols_overview"]),
    ("think", &["sequential_thinking"]),
    ("skill", &["skills", "activate_skill"]),
    ("fetch", &["web_fetch", "webfetch", "fetch_url", "fetchurl", "read_web_page", "url_fetch", "http_get"]),
    // Not among our own; a server may bring them, and lists that name them mean the same thing.
    ("web_search", &["websearch", "google_web_search"]),
    ("todo_write", &["todowrite", "write_todos"]),
    ("subagent", &["agent", "task", "custom_agent", "run_subagent", "runsubagent"]),
];

/// Names that vendors use for several tools at once.
/// Only what means the same everywhere: Copilot's `edit` is two tools, Claude's is one.
const GROUPS: &[(&str, &[&str])] = &[("search", &["grep", "glob"])];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_seed_documents_and_of_other_vendors_resolves() {
        for (name, ours) in [
            ("Read", "read"),
            ("DirectoryTree", "directory_tree"),
            ("LS", "ls"),
            ("Bash", "bash"),
            ("run_shell_command", "bash"),
            ("search-file-content", "grep"),
            // R271
            ("get_symbols_overview", "directory_tree"),
            ("list_directory", "ls"),
            ("find_symbol", "grep"),
            ("read_file", "read"),
            ("find_usages", "grep"),
            ("search_for_pattern", "grep"),
            ("Agent", "subagent"),
            ("Subagent", "subagent"),
            ("Task", "subagent"),
            ("my-own-tool", "my_own_tool"),
            // Only notebooks: that is not every file.
            ("NotebookEdit", "notebookedit"),
        ] {
            assert_eq!(canonical(name), ours, "{name}");
        }
        assert_eq!(expand("search"), ["grep", "glob"]);
        assert_eq!(expand("Think"), ["think"]);
    }

    #[test]
    fn no_alias_is_listed_twice_or_shadows_a_canonical_name() {
        let mut seen = std::collections::HashSet::new();
        for (canonical, aliases) in ALIASES {
            assert!(seen.insert(*canonical), "{canonical}");
            for alias in *aliases {
                assert!(seen.insert(*alias), "{alias}");
            }
        }
    }
}
