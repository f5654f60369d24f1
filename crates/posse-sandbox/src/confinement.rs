//! What the kernel enforces on a process that a tool starts. It travels to the supervisor helper as data, is made ready
//! there, and is applied in the child after `fork` and before `exec`, so that the command can never run without it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use posse_core::confinement::NetworkReach;
use posse_core::grant::SandboxTier;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::apply::{AppliedSandbox, Number};
use crate::landlock::LandlockRulesets;
use crate::protected::FileProtection;

/// A limit or a wall that cannot be set up refuses the command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessConfinement {
    pub limits: ProcessLimits,
    /// `None`: it reaches what its user does.
    pub walls: Option<SandboxWalls>,
    /// Made ready where they can be kept for the next command, and sent along as descriptors.
    #[serde(skip)]
    pub(crate) rulesets: LandlockRulesets,
}

/// Resource limits of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// Threads that may exist beyond those of the whole machine when the command starts. The kernel counts those of the
    /// user, exempts the superuser, and looks when one is made.
    pub processes_more: Option<u64>,
    /// Bytes of the largest file the command may write.
    pub file_bytes_max: Option<u64>,
    /// Bytes of private writable memory of each process. Address space that is only reserved does not count.
    pub memory_bytes_max: Option<u64>,
}

/// The reach of a command. Paths are absolute; its workspace is the directory it starts in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxWalls {
    pub tier: SandboxTier,
    /// The version of Landlock to ask for. A kernel that lacks any of it refuses, and so do we.
    pub landlock: u32,
    pub read: ReadWalls,
    pub write: WriteWalls,
    pub scratch: PathBuf,
    pub network: NetworkReach,
    pub top: WorkspaceTop,
    /// The workspace is a private copy of this task. Its top is then writable: a person reviews new files before
    /// they reach anybody.
    pub is_private_copy: bool,
    /// At tier T2.
    pub bubblewrap: Option<PathBuf>,
    /// Command line that starts this program again as a helper, at tier T2.
    pub helper_args: Vec<String>,
    /// Names that no command may write in the workspace.
    pub protection: FileProtection,
    /// Number of rulesets passed along, at tier T1.
    pub rulesets: usize,
    /// Inside of name spaces: which files may be meant by the paths.
    pub(crate) known_files: Option<BTreeSet<Number>>,
}

/// Paths that a command may read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadWalls {
    pub roots: Vec<PathBuf>,
    /// Readable paths that replace the workspace.
    pub instead: Option<Vec<PathBuf>>,
    /// Paths of the command's own program. They stay readable whatever surrounds them.
    pub programs: Vec<PathBuf>,
    /// Never to be read or written, also where something above is.
    pub closed: Vec<PathBuf>,
}

/// Paths that a command may write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteWalls {
    /// As `posse_core::confinement::Confinement::write`.
    pub globs: Vec<Vec<String>>,
    /// Relative to the workspace, not to be written whatever else says: somebody else holds it.
    pub leased: Vec<PathBuf>,
    /// Places outside of the workspace or in it that every command may write.
    pub always: Vec<PathBuf>,
    /// Protected files that exist, relative to the workspace.
    pub guarded: Vec<PathBuf>,
}

/// Policy for new entries at the top of the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceTop {
    /// No: then none of them can be a protected one. Landlock could not tell them apart.
    #[default]
    Closed,
    /// Yes. What is protected and exists is read-only all the same, which needs tier T2; what is not there yet can be made.
    Open,
}

impl ProcessLimits {
    /// As the kernel wants them. Reads how many threads there are.
    pub(crate) fn resolve(self) -> io::Result<[(Resource, Option<u64>); 4]> {
        let processes = match self.processes_more {
            None => None,
            Some(more) => Some(threads()?.saturating_add(more)),
        };
        Ok([
            // A core file would copy a command's memory, secrets included, into the workspace.
            (Resource::Core, Some(0)),
            (Resource::Nproc, processes),
            (Resource::Fsize, self.file_bytes_max),
            (Resource::Data, self.memory_bytes_max),
        ])
    }
}

/// Counts the threads of the whole machine: counting one user's would mean to inspect each process.
fn threads() -> io::Result<u64> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let count = load.split_ascii_whitespace().nth(3).and_then(|field| field.split('/').nth(1)?.parse().ok());
    count.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Runs between `fork` and `exec`: it must not allocate, lock or panic. What is lower already stays.
pub(crate) fn limit(resource: Resource, max: Option<u64>) -> io::Result<()> {
    let Some(wanted) = max else { return Ok(()) };
    let now = rustix::process::getrlimit(resource);
    let max = Some(now.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
    Ok(setrlimit(resource, Rlimit { current: max, maximum: max })?)
}

impl ProcessConfinement {
    /// Returns the part a helper has to be told; passed rulesets are left out.
    pub(crate) fn for_helper(&self) -> Self {
        let mut told = self.clone();
        if let Some(walls) = told.walls.as_mut().filter(|walls| walls.rulesets > 0) {
            (walls.read, walls.write) = Default::default();
        }
        told
    }

    /// Tells whether another program starts the command inside of namespaces.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.walls.as_ref().is_some_and(|walls| walls.bubblewrap.is_some())
    }

    /// Everything that can be done before `fork`. The error says why the command is refused.
    pub(crate) fn fence(&self) -> Result<AppliedSandbox, String> {
        AppliedSandbox::build(self)
    }
}
