//! Files that steer programs or hold secrets: no tool of ours writes them, because whoever changes a hook, a
//! configuration or a key can do more than the task was allowed to.

use std::ffi::OsStr;
use std::path::Path;

use posse_messages::say;

use crate::workspace::show;

/// Directories of which everything is protected, and files, by their whole name. Among them are all places where agents
/// are looked for: an agent that could write one would write its own rights.
const NAMES: &[&str] = &[
    ".git",
    ".posse",
    ".acai",
    ".claude",
    ".opencode",
    ".kilo",
    ".gemini",
    ".codex",
    ".qwen",
    ".cursor",
    ".agents",
    ".openhands",
    ".pi",
    ".factory",
    ".goose",
    ".copilot",
    ".aider.conf.yml",
    ".amazonq",
    ".continue",
    ".kiro",
    ".roo",
    ".windsurf",
    "posse.toml",
    ".mcp.json",
    // What git and its helpers run on somebody else's commit.
    ".gitmodules",
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    // What an editor runs when a directory is opened.
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".devcontainer.json",
    ".exrc",
    ".nvim.lua",
    ".vimrc",
    ".dir-locals.el",
    // What a build server runs.
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker",
    ".woodpecker.yml",
    ".buildkite",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    // What a shell runs when it starts.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    "config.fish",
    // Keys and what proves who somebody is.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".vault-token",
    ".git-credentials",
];
/// The same for what is directly below another name.
const PAIRS: &[(&str, &str)] = &[
    (".github", "agents"),
    (".github", "chatmodes"),
    (".github", "workflows"),
    (".github", "actions"),
    // Names programs that take the place of the compiler and of what it made.
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
];
const BEGINNINGS: &[&str] = &[".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore"];

/// Refuses a path, relative to the workspace, that has a protected name anywhere. Case does not count: there are file
/// systems where `.GIT` is `.git`.
pub(crate) fn refuse(path: &Path) -> Result<(), String> {
    match name_in(path) {
        Some(name) => Err(say!("path-protected", path = show(path), name = show(Path::new(name)))),
        None => Ok(()),
    }
}

/// The first name in a path that is protected.
pub(crate) fn name_in(path: &Path) -> Option<&OsStr> {
    path.iter().find(|name| is_protected(name)).or_else(|| protected_pair(path))
}

/// Whether something directly below this may be protected although it is not.
pub(crate) fn begins_pair(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PAIRS.iter().any(|(outer, _)| name.eq_ignore_ascii_case(outer))
}

fn protected_pair(path: &Path) -> Option<&OsStr> {
    let same = |name: &OsStr, wanted: &str| name.to_string_lossy().eq_ignore_ascii_case(wanted);
    let mut pairs = path.iter().zip(path.iter().skip(1));
    let found = pairs.find(|(outer, inner)| PAIRS.iter().any(|(a, b)| same(outer, a) && same(inner, b)));
    found.map(|(_, inner)| inner)
}

fn is_protected(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
