//! Files that steer programs or hold secrets: no tool of ours writes them, because whoever changes a hook, a
//! configuration or a key can do more than the task was allowed to.

use std::ffi::OsStr;
use std::path::Path;

use crate::workspace::show;

/// Directories of which everything is protected, and files, by their whole name.
const NAMES: &[&str] =
    &[".git", ".posse", ".claude", ".ssh", ".gnupg", "posse.toml", ".mcp.json", ".netrc", ".git-credentials"];
const BEGINNINGS: &[&str] = &[".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore"];

/// Refuses a path, relative to the workspace, that has a protected name anywhere. Case does not count: there are file
/// systems where `.GIT` is `.git`.
pub(crate) fn refuse(path: &Path) -> Result<(), String> {
    match path.iter().find(|name| is_protected(name)) {
        Some(name) => Err(format!(
            "`{}` is protected: files that configure programs or hold secrets (`{}` here) are not written by tools. \
             Nothing was written. Say in your answer what should be changed there, so that a person can do it",
            show(path),
            show(Path::new(name))
        )),
        None => Ok(()),
    }
}

fn is_protected(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
