//! The `[sandbox]` table of a configuration, and the sandbox that it asks for.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::bounded::BoundedInteger;
use posse_core::confinement::NetworkReach;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use crate::closed_at_home;
use crate::confinement::{ProcessLimits, WorkspaceTop};
use crate::protected::FileProtection;
use crate::sandbox::{Sandbox, SandboxSettings, SandboxWish};

/// Limits on processes that tools start.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    pub tier: SandboxWish,
    pub network: ReachConfig,
    /// Entries that commands make at the top of the workspace. Only namespaces (T2) can open it.
    pub top: WorkspaceTop,
    /// Paths that commands may read beyond the default ones, and paths that every command may write. `~/` is home;
    /// other relative paths start in the workspace.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Protected names that tools and commands may write anyway.
    pub unprotected: Vec<String>,
    /// Memory of each process, and size of the largest file that it writes.
    pub memory_mib: BoundedInteger<16, 1_048_576>,
    pub file_mib: BoundedInteger<1, 1_048_576>,
    /// Processes and threads that a command may add. Not enforced for root.
    pub processes: BoundedInteger<16, 1_000_000>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            tier: SandboxWish::Auto,
            network: ReachConfig::Word(ReachWord::None),
            top: WorkspaceTop::Open,
            read: Vec::new(),
            write: Vec::new(),
            unprotected: Vec::new(),
            // Enough to link a large program, but not to make the machine swap for long.
            memory_mib: BoundedInteger(8_192),
            file_mib: BoundedInteger(8_192),
            processes: BoundedInteger(1_024),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged, expecting = "expected \"none\", \"full\" or a list of ports such as [443]")]
pub enum ReachConfig {
    Word(ReachWord),
    Ports(std::collections::BTreeSet<u16>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReachWord {
    None,
    Full,
}

impl From<&ReachConfig> for NetworkReach {
    fn from(config: &ReachConfig) -> Self {
        match config {
            ReachConfig::Word(ReachWord::Full) => NetworkReach::Full,
            ReachConfig::Word(ReachWord::None) => NetworkReach::None,
            ReachConfig::Ports(ports) if ports.is_empty() => NetworkReach::None,
            ReachConfig::Ports(ports) => NetworkReach::Ports(ports.clone()),
        }
    }
}

/// Overrides of the operator's settings, for the process of one MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxOverrides {
    pub tier: Option<SandboxWish>,
    pub network: Option<ReachConfig>,
    /// Additional paths that it may read and write.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// Directories and search path of the process that a sandbox is built for.
#[derive(Debug, Clone, Copy)]
pub struct SandboxPlaces<'a> {
    pub workspace: &'a Path,
    /// Directory of the store. No command reads it.
    pub state: &'a Path,
    /// Directory of the user's configuration. No command reads it.
    pub config: Option<&'a Path>,
    pub home: Option<&'a Path>,
    /// `PATH` of this process.
    pub path: &'a OsStr,
    /// Parent of directories for temporary files.
    pub temporary: &'a Path,
    /// Cache directory of the user.
    pub caches: Option<&'a Path>,
}

impl SandboxConfig {
    /// Returns the settings with the overrides of one server.
    pub fn overridden_by(&self, own: &SandboxOverrides) -> Self {
        Self {
            tier: own.tier.unwrap_or(self.tier),
            network: own.network.clone().unwrap_or_else(|| self.network.clone()),
            read: [&self.read[..], &own.read[..]].concat(),
            write: [&self.write[..], &own.write[..]].concat(),
            ..self.clone()
        }
    }

    /// Builds the sandbox. `toolchains` are directories named by variables that commands get. Fails with
    /// `CONFIG_INVALID` if a writable path would open a secret.
    pub fn build(&self, places: SandboxPlaces<'_>, toolchains: Vec<PathBuf>) -> Result<Arc<Sandbox>> {
        const MIB: u64 = 1 << 20;
        let place = |path: &PathBuf| match (path.strip_prefix("~"), places.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => places.workspace.join(path),
        };
        // Compared by resolved path.
        let closed: Vec<PathBuf> = places.config.into_iter().chain([places.state]).map(really).collect();
        // Resolved first: a link in the repository must not choose what is writable.
        let write: Vec<PathBuf> = self.write.iter().map(|path| really(&place(path))).collect();
        refuse_secrets(&write, &closed, places.home)?;
        let protection = FileProtection::without(&self.unprotected).map_err(|name| {
            Error::new(ErrorCode::ConfigInvalid, localized!("sandbox-unprotected-unknown", name))
                .hint(localized!("sandbox-unprotected-unknown-hint"))
        })?;
        Ok(Sandbox::new(SandboxSettings {
            wish: self.tier,
            network: NetworkReach::from(&self.network),
            home: places.home.map(|home| home.canonicalize().unwrap_or(home.to_owned())),
            search: search_path(places.path, &[places.workspace, places.state]),
            toolchains,
            read: self.read.iter().map(place).collect(),
            write,
            closed,
            temporary: places.temporary.to_owned(),
            caches: places.caches.map(|caches| really(caches).join("posse")),
            limits: ProcessLimits {
                processes_more: Some(self.processes.0),
                file_bytes_max: Some(self.file_mib.0 * MIB),
                memory_bytes_max: Some(self.memory_mib.0 * MIB),
            },
            top: self.top,
            protection,
        }))
    }
}

/// Fails if a writable path contains a secret, or lies in one.
fn refuse_secrets(write: &[PathBuf], closed: &[PathBuf], home: Option<&Path>) -> Result<()> {
    let secrets: Vec<PathBuf> = home.map(closed_at_home).unwrap_or_default();
    for path in write {
        if let Some(secret) =
            closed.iter().chain(&secrets).find(|secret| secret.starts_with(path) || path.starts_with(secret))
        {
            let text = localized!("sandbox-write-opens", path = path.display(), secret = secret.display());
            return Err(
                Error::new(ErrorCode::ConfigInvalid, text).hint(localized!("sandbox-write-opens-hint"))
            );
        }
    }
    Ok(())
}

/// Resolves links in a path whose last parts may not exist yet.
fn really(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            Ok(_) | Err(_) => real,
        },
        None => path,
    }
}

/// Returns the search path for programs that we start ourselves: `path` without directories that a task can write.
pub fn search_path(path: &OsStr, writable: &[&Path]) -> OsString {
    let writable: Vec<PathBuf> = writable.iter().map(|place| really(place)).collect();
    let safe = std::env::split_paths(path).filter(|directory| {
        let real = really(directory);
        directory.is_absolute() && !writable.iter().any(|place| real.starts_with(place))
    });
    std::env::join_paths(safe).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sandbox.write` and the state directory are compared with secrets and workspaces by where they are.
    #[test]
    fn a_path_is_where_it_leads_also_before_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("real")).unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();
        assert_eq!(really(&top.join("link")), top.join("real"));
        assert_eq!(really(&top.join("link/new/state")), top.join("real/new/state"));
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(really(Path::new("not-there-yet")), here.join("not-there-yet"));
    }

    #[test]
    fn no_link_of_a_repository_chooses_what_commands_write() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, workspace) = (top.join("home"), top.join("workspace"));
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir(&workspace).unwrap();
        std::os::unix::fs::symlink(&home, workspace.join("target")).unwrap();
        let config = SandboxConfig { write: vec!["target".into()], ..SandboxConfig::default() };
        let state = top.join("state");
        let places = SandboxPlaces {
            workspace: &workspace,
            state: &state,
            config: None,
            home: Some(&home),
            path: OsStr::new(""),
            temporary: Path::new("/tmp"),
            caches: None,
        };
        let refused = config.build(places, Vec::new()).err().unwrap();
        assert_eq!(refused.code(), ErrorCode::ConfigInvalid);
    }
}
