//! The kernel refuses with the words of any other refusal. Whoever reads them should not look for the cause elsewhere.

use posse_core::confinement::NetworkReach;
use posse_core::grant::SandboxTier;

use crate::confinement::{SandboxWalls, WorkspaceTop};
use crate::supervisor::{CommandEnd, CommandReport, StreamOutput};

const DENIED: &[&str] = &["permission denied", "operation not permitted", "read-only file system"];
/// Error texts of programs without network access, in lower case.
const CUT_OFF: &[&str] = &[
    "could not resolve",
    "couldn't resolve",
    "couldn't connect to server",
    "could not connect to server",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "failed to lookup address",
    "unable to resolve host",
    "getaddrinfo",
    "network is unreachable",
    "only-if-cached",
    "offline mode",
    "module lookup disabled by goproxy=off",
];

/// Facts about a command's sandbox for hints after a refusal.
pub struct SandboxHint {
    tier: SandboxTier,
    network: NetworkReach,
    /// The top of the workspace is closed to the command and not to its task.
    writes_around: bool,
    /// The repository of the workspace is closed to the command.
    closes_git: bool,
}

impl SandboxHint {
    /// Extracts the facts from the walls.
    pub(crate) fn of(walls: &SandboxWalls) -> Self {
        let writes_around = walls.writes() && !walls.opens_top();
        let closes_git = !walls.is_private_copy;
        Self { tier: walls.tier, network: walls.network.clone(), writes_around, closes_git }
    }

    /// One line, if the command failed and its words fit.
    pub fn remark(&self, report: &CommandReport) -> Option<String> {
        let failed = matches!(report.end, CommandEnd::Exited { code } if code != 0) && report.stop.is_none();
        if !failed {
            return None;
        }
        let said = [small(&report.out), small(&report.err)];
        let says = |words: &[&str]| words.iter().any(|words| said.iter().any(|said| said.contains(words)));
        let tier = self.tier;
        match &self.network {
            NetworkReach::None if says(CUT_OFF) => {
                return Some(format!(
                    "[sandbox {tier}: commands have no network here. Operator: docs/sandbox.md]"
                ));
            }
            NetworkReach::Ports(_) if says(CUT_OFF) => {
                return Some(format!(
                    "[sandbox {tier}: the network of commands is {}, and names are not resolved. \
                     Operator: docs/sandbox.md]",
                    self.network
                ));
            }
            NetworkReach::None | NetworkReach::Ports(_) | NetworkReach::Full => {}
        }
        // Git names what it could not make.
        let is_git = self.closes_git && said.iter().any(|said| said.contains(".git/"));
        says(DENIED).then(|| match self.writes_around {
            _ if is_git => format!(
                "[sandbox {tier}: `.git` is closed to commands: git can look, but not stage, commit or switch. Leave \
                 the changes in the files and say in your answer what to commit; the person commits. A task with \
                 `isolation: worktree` has a repository of its own. Operator: docs/sandbox.md]"
            ),
            true => format!(
                "[sandbox {tier}: closed to commands are new entries at the top of the workspace, \
                 .git, protected files, the home directory and what the task may not write; the tool \
                 `write` makes files. Operator: docs/sandbox.md]"
            ),
            false => format!(
                "[sandbox {tier}: closed to commands are protected files, the home directory and what \
                 the task may not write. Operator: docs/sandbox.md]"
            ),
        })
    }
}

impl SandboxWalls {
    /// Tells whether commands may write anywhere in the workspace.
    pub(crate) fn writes(&self) -> bool {
        let all_is_leased = self.write.leased.iter().any(|path| path.as_os_str().is_empty());
        !all_is_leased && !self.write.globs.iter().any(Vec::is_empty)
    }

    /// Tells whether commands may create entries at the top of the workspace.
    pub(crate) fn opens_top(&self) -> bool {
        self.is_private_copy || (self.tier == SandboxTier::Namespaces && self.top == WorkspaceTop::Open)
    }
}

fn small(output: &StreamOutput) -> String {
    let kept = [output.head.as_slice(), &output.tail].concat();
    String::from_utf8_lossy(&kept).to_ascii_lowercase()
}
