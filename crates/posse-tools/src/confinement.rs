//! What the kernel enforces on a process that a tool starts. This is the one place for it: everything here is applied
//! in the child, after `fork` and before `exec`, so that the command can never run without it.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// Travels to the supervisor helper as data and is applied there. A limit that cannot be set refuses the command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confinement {
    /// Processes of this user, all of them counted, that may exist when the command forks. The superuser is exempt.
    pub processes_max: Option<u64>,
    /// Bytes of the largest file the command may write.
    pub file_bytes_max: Option<u64>,
    /// Bytes of address space of each process.
    pub memory_bytes_max: Option<u64>,
}

impl Confinement {
    /// Runs between `fork` and `exec`: it must not allocate, lock or panic.
    pub(crate) fn apply(&self) -> io::Result<()> {
        // A core file would copy a command's memory, secrets included, into the workspace.
        limit(Resource::Core, Some(0))?;
        limit(Resource::Nproc, self.processes_max)?;
        limit(Resource::Fsize, self.file_bytes_max)?;
        limit(Resource::As, self.memory_bytes_max)
    }
}

fn limit(resource: Resource, max: Option<u64>) -> io::Result<()> {
    match max {
        None => Ok(()),
        Some(_) => Ok(setrlimit(resource, Rlimit { current: max, maximum: max })?),
    }
}
