//! One file, whatever its format: a definition or the reason why there is none, and what became of each key.

use posse_core::definition::{Format, Read, Scope};

/// A file that was found, and what is known of it before it is opened.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// As shown to people.
    pub path: &'a str,
    /// Below the directory of agents, with `/` between names: `review/security.md`.
    pub relative: &'a str,
    /// What the directory says; `None`: the keys decide.
    pub format: Option<Format>,
    pub scope: Scope,
    pub bytes: &'a [u8],
}

/// Never fails and never panics: what is wrong with a file is in what it returns. Most files hold one agent.
pub fn read(file: File<'_>) -> Vec<Read> {
    let _ = file;
    Vec::new()
}
