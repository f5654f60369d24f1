//! Finds the commit that this is built from, for `posse --version`.
//!
//! It reads files of `.git` instead of running git, and names exactly the files that change with the commit, so that
//! cargo runs it again then and only then. Without a repository of our own there is no commit: a source package says
//! it in `.cargo_vcs_info.json`, a packager in `POSSE_COMMIT`.

use std::fs;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "POSSE_COMMIT";
/// Digits that are shown.
const DIGITS: usize = 9;

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let told = std::env::var(VARIABLE).ok();
    let commit = told.or_else(|| of_package(&package)).or_else(|| of_repository(&package.join("../..")));
    let is_commit = |text: &&str| text.len() >= DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let shown = match commit.as_deref().map(str::trim).filter(is_commit) {
        Some(commit) => format!("{version} ({})", &commit[..DIGITS]),
        None => version,
    };
    println!("cargo::rustc-env=POSSE_VERSION={shown}");
}

/// Reads the commit that cargo notes in a package.
fn of_package(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// Reads the commit of the repository whose work tree starts here. A repository further up is somebody else's.
fn of_repository(root: &Path) -> Option<String> {
    let dot_git = root.join(".git");
    let git = match fs::read_to_string(&dot_git) {
        Ok(link) => root.join(link.strip_prefix("gitdir:")?.trim()),
        Err(_) if dot_git.is_dir() => dot_git,
        Err(_) => return None,
    };
    let head = watched(&git.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref:").map(str::trim) else { return Some(head) };
    // A linked work tree has its own HEAD; branches are in the repository that it belongs to.
    let common = fs::read_to_string(git.join("commondir")).map_or(git.clone(), |to| git.join(to.trim()));
    watched(&common.join(reference)).or_else(|| packed(&common.join("packed-refs"), reference))
}

fn packed(file: &Path, reference: &str) -> Option<String> {
    let lines = watched(file)?;
    let found = lines.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' '));
    found.map(str::to_owned)
}

/// Reads a file and has cargo watch it. A file that is not there is not named: cargo would run this every time.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}
