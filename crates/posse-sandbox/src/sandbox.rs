//! Where processes of tools are held by the kernel. The operator says which tier is wanted, the machine says which there
//! is, the grant of the task says what may be written and whom it may talk to. What cannot be built is refused.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::confinement::{NetworkReach, ProcessRights as Policy};
use posse_core::grant::SandboxTier;
use posse_core::id::TaskId;
use posse_runtime::ports::ToolContext;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::apply::SandboxWorkspace;
use crate::cache::RulesetCache;
use crate::confinement::{
    ProcessConfinement, ProcessLimits, ReadWalls, SandboxWalls, WorkspaceTop, WriteWalls,
};
use crate::landlock::LandlockRulesets;
use crate::places::closed_at_home;
use crate::protected::FileProtection;
use crate::scratch::{ScratchDirectory, private_directory};
use crate::supervisor::Supervisor;
use crate::tool_caches::{CacheSources, ToolCaches};
use crate::{bubblewrap, landlock, places, seccomp, set_aside};

/// The version of Landlock from which tier T1 is what it says: with older ones a command can still signal processes
/// outside, and reach abstract sockets. The name spaces of T2 hold that too, so there any version will do.
const LANDLOCK_OF_T1: u32 = 6;
const LANDLOCK_OF_T2: u32 = 1;
/// The first that knows ports.
const LANDLOCK_OF_PORTS: u32 = 4;

/// File that describes a user's own tool. Programs beside or below it may read its directory.
pub const TOOL_MANIFEST: &str = "tool.json";

/// Sandbox tier that the operator asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxWish {
    /// The highest tier there is, and not less than T1.
    #[default]
    Auto,
    T1,
    T2,
    /// Commands can do what their user can.
    Off,
}

/// The operator's settings for all processes.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub wish: SandboxWish,
    /// Upper bound of network access of any process.
    pub network: NetworkReach,
    /// The user's home: tools and toolchains are readable, secrets never.
    pub home: Option<PathBuf>,
    /// Search path for programs.
    pub search: OsString,
    /// Toolchain directories named by variables that commands get; readable like those at home.
    pub toolchains: Vec<PathBuf>,
    /// Absolute paths that commands may read beyond the usual ones.
    pub read: Vec<PathBuf>,
    /// Absolute paths that every command may write.
    pub write: Vec<PathBuf>,
    /// Absolute paths of our own: state and configuration.
    pub closed: Vec<PathBuf>,
    /// Parent of the directory for temporary files.
    pub temporary: PathBuf,
    /// Parent of the caches that tools keep from command to command, one for each workspace. Without it they are kept
    /// for a task.
    pub caches: Option<PathBuf>,
    pub limits: ProcessLimits,
    pub top: WorkspaceTop,
    /// Names that no tool and no command writes in a workspace.
    pub protection: FileProtection,
}

impl Default for SandboxSettings {
    /// The least that there is.
    fn default() -> Self {
        Self {
            wish: SandboxWish::Auto,
            network: NetworkReach::None,
            home: None,
            search: OsString::new(),
            toolchains: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            closed: Vec::new(),
            temporary: "/tmp".into(),
            caches: None,
            limits: ProcessLimits::default(),
            top: WorkspaceTop::Closed,
            protection: FileProtection::default(),
        }
    }
}

/// Builds the confinement of processes.
pub struct Sandbox {
    settings: SandboxSettings,
    machine: OnceLock<SandboxSupport>,
    read: OnceLock<Vec<PathBuf>>,
    closed: OnceLock<Vec<PathBuf>>,
    scratch: OnceLock<Result<ScratchDirectory, String>>,
    kept: RulesetCache,
    sources: OnceLock<CacheSources>,
    caches: ToolCaches,
}

/// Sandbox mechanisms available on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SandboxSupport {
    landlock: u32,
    seccomp: bool,
    /// `bwrap`, or why it cannot be used.
    bubblewrap: Result<PathBuf, String>,
}

impl Sandbox {
    /// Detects the mechanisms and creates the sandbox.
    pub fn new(settings: SandboxSettings) -> Arc<Self> {
        let (machine, read, closed) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Arc::new(Self {
            settings,
            machine,
            read,
            closed,
            scratch: OnceLock::new(),
            kept: RulesetCache::default(),
            sources: OnceLock::new(),
            caches: ToolCaches::default(),
        })
    }

    /// For programs that hold their processes by other means, or not at all.
    pub fn off() -> Arc<Self> {
        Self::new(SandboxSettings { wish: SandboxWish::Off, ..SandboxSettings::default() })
    }

    /// The tier in force, or why there is none.
    pub fn tier(&self) -> Result<SandboxTier, String> {
        if self.settings.wish == SandboxWish::Off {
            Ok(SandboxTier::None)
        } else {
            self.machine().choose(self.settings.wish)
        }
    }

    /// Describes the rights of a command, for the model and for the doctor.
    pub fn describe(&self) -> String {
        match self.tier() {
            Ok(SandboxTier::None) => "not confined: a command can do what its user can".to_owned(),
            Ok(tier) => format!("confined by the kernel (tier {tier})"),
            Err(why) => format!("refused: {why}"),
        }
    }

    /// Returns the rules that the author of a command has to know.
    pub fn rules(&self, workspace: Option<&Path>) -> String {
        let tier = match self.tier() {
            Ok(SandboxTier::None) => return "Commands are not confined.".to_owned(),
            Err(why) => return format!("Commands are refused here: {why}."),
            Ok(tier) => tier,
        };
        let is_apart =
            workspace.is_some_and(|place| places::private_copy(place, &self.settings.closed).is_some());
        let top = match self.settings.top {
            WorkspaceTop::Open | WorkspaceTop::Closed if is_apart => {
                " This is a copy of the workspace for this task alone: what is made, removed or renamed in it, also at its top, \
                 reaches nobody before a person has looked at it."
            }
            WorkspaceTop::Open if tier == SandboxTier::Namespaces => {
                " They make, change and remove everything else in the workspace."
            }
            WorkspaceTop::Open | WorkspaceTop::Closed => {
                " Nothing new can be made, removed or renamed directly at the top of the workspace, only below its directories; \
                 the tool `write` can make files there."
            }
        };
        let network = match self.settings.network {
            NetworkReach::None => "There is no network.",
            NetworkReach::Ports(_) | NetworkReach::Full => "The network is there as far as it was granted.",
        };
        // The top of a copy is open, so the kernel tells nothing in it apart.
        let protected = if is_apart {
            ""
        } else {
            " write .git (leave commits to the person), configuration of tools or secrets, and cannot"
        };
        format!(
            "Commands are confined by the kernel (tier {tier}): they write only where the task may, and below $TMPDIR; they \
             cannot{protected} read the home directory beyond toolchains.{top} {network} \
             \"Permission denied\" there is final: do not try to get around it."
        )
    }

    /// Tells whether commands may make entries at the top of the workspace.
    pub fn opens_top(&self) -> bool {
        self.settings.top == WorkspaceTop::Open && self.tier() == Ok(SandboxTier::Namespaces)
    }

    /// Builds the confinement of one process of a task. The error says why it is refused.
    pub(crate) fn confine(&self, scene: &ProcessScene<'_>) -> Result<ConfinedProcess, String> {
        let tier = scene.policy.tier.max(self.tier()?);
        let limits = ProcessLimits {
            memory_bytes_max: self
                .settings
                .limits
                .memory_bytes_max
                .into_iter()
                .chain(scene.memory_bytes_max)
                .min(),
            ..self.settings.limits
        };
        if tier == SandboxTier::None {
            let confinement = ProcessConfinement { limits, ..ProcessConfinement::default() };
            return Ok(ConfinedProcess { confinement, environment: Vec::new(), protected: None });
        }
        let machine = self.machine();
        machine.has(tier)?;
        let network = self.settings.network.narrow(&scene.policy.reach);
        if matches!(network, NetworkReach::Ports(_)) && machine.landlock < LANDLOCK_OF_PORTS {
            return Err("this kernel cannot keep a command to some ports (Landlock 4 can)".to_owned());
        }
        let scratch = self.scratch(scene.task)?;
        let mut read = self.read().to_vec();
        let (mut programs, copy) =
            (scene.programs.clone(), places::private_copy(scene.workspace, &self.settings.closed));
        match &copy {
            Some(copy) => {
                read.extend(copy.borrowed());
                programs.push(copy.repository.clone());
            }
            None => read.extend(places::repository(scene.workspace, self.settings.home.as_deref())),
        }
        let mut walls = SandboxWalls {
            tier,
            landlock: machine.landlock.min(LANDLOCK_KNOWN),
            read: ReadWalls {
                roots: read,
                instead: scene
                    .policy
                    .read
                    .clone()
                    .map(|roots| roots.into_iter().map(PathBuf::from).collect()),
                programs,
                closed: self.closed().to_vec(),
            },
            write: WriteWalls {
                globs: scene.policy.write.clone(),
                leased: scene.leased.clone(),
                always: self.settings.write.iter().filter(|path| !scene.is_leased(path)).cloned().collect(),
                guarded: Vec::new(),
            },
            network,
            top: self.settings.top,
            is_private_copy: copy.is_some(),
            bubblewrap: if tier == SandboxTier::Namespaces {
                Some(machine.bubblewrap.clone()?)
            } else {
                None
            },
            helper_args: scene
                .supervisor
                .args
                .iter()
                .filter_map(|arg| arg.to_str())
                .map(str::to_owned)
                .collect(),
            scratch: scratch.clone(),
            protection: self.settings.protection.within(scene.workspace),
            rulesets: 0,
            known_files: None,
        };
        let mut protected = None;
        if walls.writes() {
            let there = protected.insert(self.kept.protected(scene.workspace, &walls.protection)?);
            walls.write.guarded =
                there.iter().filter(|path| walls.protection.guards(path)).cloned().collect();
            // What keeps something in an open directory is a mount, and there is none over a link.
            if walls.write.guarded.iter().any(|path| scene.workspace.join(path).is_symlink()) {
                walls.top = WorkspaceTop::Closed;
            }
        }
        let mut environment = self.cache_variables(scene, &mut walls);
        environment.push(("TMPDIR".into(), scratch.into_os_string()));
        let mut rulesets = LandlockRulesets::default();
        if tier == SandboxTier::Kernel {
            rulesets = self.kept.rulesets(&walls, scene.workspace)?;
            walls.rulesets = rulesets.iter().count();
        }
        let confinement = ProcessConfinement { limits, walls: Some(walls), rulesets };
        Ok(ConfinedProcess { confinement, environment, protected })
    }

    /// Opens a cache for the tools of a command, and returns the variables that lead them there. Tasks that may write
    /// and read the whole workspace share one; a task that may do less could otherwise have others run what it left
    /// there, so it has one of its own, and so has a copy of the workspace.
    fn cache_variables(
        &self,
        scene: &ProcessScene<'_>,
        walls: &mut SandboxWalls,
    ) -> Vec<(OsString, OsString)> {
        let own = walls.scratch.join("cache");
        if scene.kind == ProcessKind::Server {
            return vec![("XDG_CACHE_HOME".into(), own.into_os_string())];
        }
        let SandboxSettings { home, toolchains, caches, .. } = &self.settings;
        let sources = self.sources.get_or_init(|| CacheSources::find(home.as_deref(), toolchains));
        let is_whole = scene.policy.write.is_empty() && scene.policy.read.is_none() && !walls.is_private_copy;
        let shared = caches
            .as_ref()
            .filter(|_| is_whole)
            .map(|caches| caches.join(digest(scene.workspace.as_os_str().as_bytes())));
        let prepared = |root: &PathBuf| self.caches.prepare(root, scene.workspace, sources).is_ok();
        let root = match shared.filter(prepared) {
            Some(root) => {
                walls.write.always.push(root.clone());
                root
            }
            None => {
                // Without what is linked there, tools still work.
                let _ = self.caches.prepare(&own, scene.workspace, sources);
                own
            }
        };
        sources.variables(&root, walls.network != NetworkReach::None)
    }

    /// Sets aside the protected files that were created since, but for `ours`. Returns their new names, and those that
    /// stay: in a copy of the workspace, where a person looks first, all of them.
    pub(crate) fn settle(
        &self,
        workspace: &Path,
        before: &[PathBuf],
        ours: &[&Path],
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let protection = self.settings.protection.within(workspace);
        let mut now = self.kept.protected(workspace, &protection).unwrap_or_default();
        now.retain(|path| before.binary_search(path).is_err() && !ours.contains(&path.as_path()));
        let is_copy = places::private_copy(workspace, &self.settings.closed).is_some();
        let Some(here) = SandboxWorkspace::at(workspace).ok().filter(|_| !is_copy) else {
            return (Vec::new(), now);
        };
        let mut aside = Vec::new();
        now.retain(|path| {
            let moved = if protection.guards(path) { set_aside::rename(&here, path) } else { None };
            aside.extend(moved.clone());
            moved.is_none()
        });
        (aside, now)
    }

    fn machine(&self) -> &SandboxSupport {
        self.machine.get_or_init(|| SandboxSupport::examine(&self.settings))
    }

    fn read(&self) -> &[PathBuf] {
        let SandboxSettings { home, search, toolchains, read, .. } = &self.settings;
        self.read.get_or_init(|| {
            let usual = places::default_read_roots(home.as_deref(), search, toolchains);
            usual
                .into_iter()
                .filter(|path| !places::is_closed(path, self.closed()))
                .chain(read.clone())
                .collect()
        })
    }

    /// Returns the directory in which temporary directories are made.
    pub fn temporary(&self) -> &Path {
        &self.settings.temporary
    }

    /// Returns the table of protected names.
    pub fn protection(&self) -> &FileProtection {
        &self.settings.protection
    }

    /// Returns the paths that no process and no file tool opens: as written and resolved.
    pub fn closed(&self) -> &[PathBuf] {
        self.closed.get_or_init(|| {
            let SandboxSettings { home, toolchains, closed, .. } = &self.settings;
            let home = home.as_deref().map(closed_at_home).unwrap_or_default();
            let of_toolchains = toolchains.iter().flat_map(|place| places::closed_in_toolchain(place));
            let all = closed.iter().cloned().chain(home).chain(of_toolchains);
            all.flat_map(places::with_real).collect()
        })
    }

    /// A directory that only this task has.
    fn scratch(&self, task: &TaskId) -> Result<PathBuf, String> {
        let made = self.scratch.get_or_init(|| {
            ScratchDirectory::make(&self.settings.temporary)
                .map_err(|cause| format!("no directory for temporary files can be made: {cause}"))
        });
        let own = made.as_ref().map_err(String::clone)?.path().join(digest(task.as_str().as_bytes()));
        match private_directory(&own) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                Err(format!("`{}`: {cause}", own.display()))
            }
            Ok(()) | Err(_) => Ok(own),
        }
    }
}

/// A confinement and what goes with it.
pub(crate) struct ConfinedProcess {
    pub confinement: ProcessConfinement,
    /// Variables that the process needs in there.
    pub environment: Vec<(OsString, OsString)>,
    /// Protected files that exist in the workspace, sorted. `None` if the process writes nothing.
    pub protected: Option<Vec<PathBuf>>,
}

/// Use of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessKind {
    /// Runs to its end during one call.
    Command,
    /// Lasts beyond a call, and may have a network that commands lack: it uses nothing that they left.
    Server,
}

/// A process about to be started.
pub(crate) struct ProcessScene<'a> {
    pub task: &'a TaskId,
    pub policy: Policy,
    pub memory_bytes_max: Option<u64>,
    pub workspace: &'a Path,
    pub supervisor: &'a Supervisor,
    pub programs: Vec<PathBuf>,
    pub kind: ProcessKind,
    /// Paths that others hold, relative to the workspace.
    pub leased: Vec<PathBuf>,
}

impl<'a> ProcessScene<'a> {
    /// Collects what the confinement of a process depends on.
    pub fn of(
        context: &'a ToolContext,
        program: &OsStr,
        workspace: &'a Path,
        supervisor: &'a Supervisor,
    ) -> Self {
        let nesting = context.run.as_deref();
        Self {
            task: &context.task,
            policy: Policy::of(&context.grant, &workspace.to_string_lossy(), |root| {
                let real = places::read_root(Path::new(&root), workspace)?;
                real.into_os_string().into_string().ok()
            }),
            memory_bytes_max: nesting.and_then(|nesting| nesting.limits.process_bytes_max),
            workspace,
            supervisor,
            programs: programs(Path::new(program)),
            kind: ProcessKind::Command,
            leased: Vec::new(),
        }
    }

    /// Tells whether the task may do less than its user.
    pub fn is_restricted(&self) -> bool {
        let Policy { write, read, reach, .. } = &self.policy;
        !write.is_empty() || read.is_some() || *reach != NetworkReach::Full
    }
}

/// A program itself, and the directory of the own tool that it is. Not the directory it lies in: that can be anybody's.
fn programs(program: &Path) -> Vec<PathBuf> {
    let all = [Some(program), tool_directory(program)];
    all.into_iter().flatten().filter(|path| path.is_absolute()).map(Path::to_owned).collect()
}

/// Returns the manifest directory of the own tool that this program belongs to.
fn tool_directory(program: &Path) -> Option<&Path> {
    const UP_MAX: usize = 4;
    let above = program.ancestors().skip(1).take(UP_MAX);
    above.filter(|place| place.is_absolute()).find(|place| place.join(TOOL_MANIFEST).is_file())
}

impl ProcessScene<'_> {
    /// Tells whether another task holds the path or a part of it.
    fn is_leased(&self, path: &Path) -> bool {
        let leased = self.leased.iter().map(|leased| self.workspace.join(leased));
        leased.into_iter().any(|leased| path.starts_with(&leased) || leased.starts_with(path))
    }
}

/// The last version whose rights we know; a later kernel has them too.
const LANDLOCK_KNOWN: u32 = 6;

impl SandboxSupport {
    fn examine(settings: &SandboxSettings) -> Self {
        let bubblewrap = match bubblewrap::find(&settings.search) {
            _ if settings.wish == SandboxWish::T1 => Err("tier t1 was asked for".to_owned()),
            None => Err("bubblewrap (`bwrap`) is not installed".to_owned()),
            Some(path) => bubblewrap::works(&path)
                .map(|()| path)
                .map_err(|why| format!("bubblewrap cannot build name spaces here: {why}")),
        };
        Self { landlock: landlock::version(), seccomp: seccomp::is_there(), bubblewrap }
    }

    fn choose(&self, wish: SandboxWish) -> Result<SandboxTier, String> {
        match wish {
            SandboxWish::Off => Ok(SandboxTier::None),
            SandboxWish::T1 => self.has(SandboxTier::Kernel).map(|()| SandboxTier::Kernel),
            SandboxWish::T2 => self.has(SandboxTier::Namespaces).map(|()| SandboxTier::Namespaces),
            SandboxWish::Auto if self.has(SandboxTier::Namespaces).is_ok() => Ok(SandboxTier::Namespaces),
            SandboxWish::Auto => self.has(SandboxTier::Kernel).map(|()| SandboxTier::Kernel),
        }
    }

    /// Checks that a tier can be enforced; the error says why not.
    fn has(&self, tier: SandboxTier) -> Result<(), String> {
        let needed = match tier {
            SandboxTier::None => return Ok(()),
            SandboxTier::Kernel => LANDLOCK_OF_T1,
            SandboxTier::Namespaces => {
                self.bubblewrap.as_ref().map_err(|why| missing(tier, why))?;
                LANDLOCK_OF_T2
            }
        };
        if self.landlock < needed {
            let has = if self.landlock == 0 { "none".to_owned() } else { self.landlock.to_string() };
            return Err(missing(tier, &format!("it needs Landlock {needed} of the kernel, which has {has}")));
        }
        if self.seccomp { Ok(()) } else { Err(missing(tier, "the kernel does not filter system calls")) }
    }
}

fn missing(tier: SandboxTier, why: &str) -> String {
    format!("the sandbox (tier {tier}) cannot be built on this machine: {why}")
}

/// Makes a short file name of these bytes.
fn digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes).iter().take(8) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(landlock: u32, bubblewrap: bool) -> SandboxSupport {
        let bubblewrap = if bubblewrap { Ok("/usr/bin/bwrap".into()) } else { Err("no bwrap".to_owned()) };
        SandboxSupport { landlock, seccomp: true, bubblewrap }
    }

    // G17 S24 Seen to fail with `unwrap_or(Tier::None)` in place of the error.
    #[test]
    fn what_is_wished_is_there_or_refused_and_never_less() {
        for (landlock, bubblewrap, auto, t1, t2) in [
            (7, true, Some(SandboxTier::Namespaces), true, true),
            (7, false, Some(SandboxTier::Kernel), true, false),
            (6, false, Some(SandboxTier::Kernel), true, false),
            (5, false, None, false, false),
            (4, true, Some(SandboxTier::Namespaces), false, true),
            (0, true, None, false, false),
            (0, false, None, false, false),
        ] {
            let machine = machine(landlock, bubblewrap);
            assert_eq!(machine.choose(SandboxWish::Auto).ok(), auto, "{machine:?}");
            assert_eq!(machine.choose(SandboxWish::T1).is_ok(), t1, "{machine:?}");
            assert_eq!(machine.choose(SandboxWish::T2).is_ok(), t2, "{machine:?}");
            assert_eq!(machine.choose(SandboxWish::Off), Ok(SandboxTier::None));
            let unfiltered = SandboxSupport { seccomp: false, ..machine };
            assert!(
                [SandboxWish::Auto, SandboxWish::T1, SandboxWish::T2]
                    .iter()
                    .all(|wish| unfiltered.choose(*wish).is_err())
            );
        }
        let why = machine(5, false).choose(SandboxWish::Auto).unwrap_err();
        assert!(why.contains("needs Landlock 6 of the kernel, which has 5"), "{why}");
    }

    // Seen to fail without `is_apart`.
    #[test]
    fn a_command_is_told_what_holds_where_it_runs() {
        let sandbox =
            Sandbox::new(SandboxSettings { closed: vec!["/s".into()], ..SandboxSettings::default() });
        sandbox.machine.set(machine(6, false)).unwrap();
        let rules = |place: &str| sandbox.rules(Some(Path::new(place)));
        let (usual, copy) = (rules("/w"), rules("/s/worktrees/t/tree"));
        assert!(
            usual.contains("directly at the top of the workspace") && usual.contains("write .git"),
            "{usual}"
        );
        assert!(copy.contains("a copy of the workspace") && !copy.contains("write .git"), "{copy}");
        assert!(!copy.contains("directly at the top") && copy.contains("cannot read the home"), "{copy}");
    }
}
