//! A confinement made ready: everything that can fail for a reason worth telling happens here, before `fork`. What is
//! left for the child are system calls on what is open already.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::Resource;

use crate::confinement::{ProcessConfinement, SandboxWalls, limit};
use crate::landlock::{LandlockRuleset, LandlockRulesets, RuleAccess};
use crate::layout::SandboxLayout;
use crate::privileges;
use crate::seccomp::SeccompFilter;
use crate::survey::open_beneath;

/// Error of a child that could not be confined. No `exec` fails with this.
pub(crate) const NOT_CONFINED: i32 = libc::ENOTRECOVERABLE;

/// The kernel stacks 16 rulesets; some may be there already.
pub(crate) const LAYERS_MAX: usize = 12;

/// Devices that every program expects.
pub(crate) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

pub(crate) struct AppliedSandbox {
    limits: [(Resource, Option<u64>); 4],
    walls: Option<(LandlockRulesets, SeccompFilter)>,
}

impl AppliedSandbox {
    /// Builds the Landlock rules and the seccomp filter.
    pub fn build(confinement: &ProcessConfinement) -> Result<Self, String> {
        let limits = confinement
            .limits
            .resolve()
            .map_err(|cause| format!("its limits cannot be found out: {cause}"))?;
        let walls = match &confinement.walls {
            None => None,
            Some(walls) => Some((ready(confinement, walls)?, SeccompFilter::new(walls.tier, &walls.network))),
        };
        Ok(Self { limits, walls })
    }

    /// Runs between `fork` and `exec`: it must not allocate, lock or panic.
    pub fn apply(&self) -> io::Result<()> {
        self.raise().map_err(|_| io::Error::from_raw_os_error(NOT_CONFINED))
    }

    fn raise(&self) -> io::Result<()> {
        for (resource, max) in self.limits {
            limit(resource, max)?;
        }
        let Some((rulesets, filter)) = &self.walls else { return Ok(()) };
        privileges::drop_all()?;
        for ruleset in rulesets.iter() {
            ruleset.apply()?;
        }
        filter.apply()
    }
}

/// Returns the rulesets that were passed along, or builds new ones: inside of namespaces some paths differ.
fn ready(confinement: &ProcessConfinement, walls: &SandboxWalls) -> Result<LandlockRulesets, String> {
    if walls.rulesets > 0 {
        let came = confinement.rulesets.clone();
        return if came.iter().count() == walls.rulesets {
            Ok(came)
        } else {
            Err("its walls are gone".to_owned())
        };
    }
    let here = SandboxWorkspace::current()?;
    let layout = SandboxLayout::of(walls, &here.path)?;
    rulesets(walls, &layout, &here)
}

/// The workspace: where the command will run.
pub(crate) struct SandboxWorkspace {
    /// As the kernel names it.
    pub path: PathBuf,
    pub open: OwnedFd,
}

impl SandboxWorkspace {
    /// Opens the workspace at this path.
    pub fn at(path: &Path) -> Result<Self, String> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|cause| format!("the workspace `{}` cannot be opened: {cause}", path.display()))?;
        Ok(Self { path: path.to_owned(), open })
    }

    /// Opens the current directory as the workspace.
    pub fn current() -> Result<Self, String> {
        let path = std::fs::read_link("/proc/self/cwd").map_err(|cause| format!("no workspace: {cause}"))?;
        Ok(Self { path, ..Self::at(Path::new("."))? })
    }

    /// In the workspace no link is followed: a command could have put it there.
    fn open(&self, path: &Path) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match path.strip_prefix(&self.path) {
            Ok(inside) => self.inside(inside),
            Err(_) => rustix::fs::open(path, flags, Mode::empty()).ok(),
        }
    }

    fn inside(&self, path: &Path) -> Option<OwnedFd> {
        open_beneath(&self.open, path, OFlags::PATH | OFlags::CLOEXEC).ok()
    }

    /// Returns the inode numbers of these paths in the workspace.
    pub fn numbers<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> BTreeSet<Number> {
        paths.filter_map(|path| number(self.inside(path)?.as_fd()).ok()).collect()
    }
}

/// The number of a file and of its device.
pub(crate) type Number = (u64, u64);

fn number(open: BorrowedFd<'_>) -> io::Result<Number> {
    let stat = rustix::fs::fstat(open)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// The first holds everything; one more for each further list of places that may be written, so that the kernel gives
/// what all of them give.
pub(crate) fn rulesets(
    walls: &SandboxWalls,
    layout: &SandboxLayout,
    here: &SandboxWorkspace,
) -> Result<LandlockRulesets, String> {
    build(walls, layout, here)
        .map_err(|cause| format!("this kernel does not build the sandbox (Landlock): {cause}"))
}

fn build(
    walls: &SandboxWalls,
    layout: &SandboxLayout,
    here: &SandboxWorkspace,
) -> io::Result<LandlockRulesets> {
    if layout.write.len() > LAYERS_MAX {
        return Err(io::Error::other("more narrowings than can be stacked"));
    }
    // What is not there gives nothing.
    let give = |ruleset: &LandlockRuleset, path: &Path, gives: RuleAccess| match here.open(path) {
        Some(open) => ruleset.add(open.as_fd(), gives),
        None => Ok(()),
    };
    let whole = LandlockRuleset::whole(walls.landlock, &walls.network)?;
    for path in layout.read.iter().chain(&walls.read.programs) {
        give(&whole, path, RuleAccess::Reading)?;
    }
    for path in &layout.names {
        give(&whole, path, RuleAccess::Names)?;
    }
    let mut all = vec![whole];
    for _ in layout.write.iter().skip(1) {
        all.push(LandlockRuleset::changes(walls.landlock)?);
    }
    for (ruleset, places) in all.iter().zip(&layout.write) {
        for device in DEVICES {
            give(ruleset, Path::new(device), RuleAccess::Device)?;
        }
        let outside = walls.write.always.iter().filter(|path| !path.starts_with(&here.path));
        for path in outside.chain([&walls.scratch]) {
            give(ruleset, path, RuleAccess::Everything)?;
        }
        // Where read roots say what may be read, being allowed to write somewhere does not.
        let gives = if walls.read.instead.is_some() { RuleAccess::Changing } else { RuleAccess::Everything };
        for path in places {
            match here.inside(path) {
                Some(open) if is_known(walls, open.as_fd())? => {
                    // What the operator opens is open altogether.
                    let is_also = walls.write.always.iter().any(|also| *also == here.path.join(path));
                    ruleset.add(open.as_fd(), if is_also { RuleAccess::Everything } else { gives })?;
                }
                Some(_) | None => {}
            }
        }
    }
    for path in layout.guarded.iter().filter(|_| walls.known_files.is_some()) {
        if let Some(open) = here.inside(path)
            && !is_known(walls, open.as_fd())?
        {
            return Err(io::Error::other("the workspace was changed meanwhile"));
        }
    }
    Ok(LandlockRulesets::new(all))
}

/// Checks that a path inside of namespaces is what was mounted. A link can have taken its place just then.
fn is_known(walls: &SandboxWalls, open: BorrowedFd<'_>) -> io::Result<bool> {
    match &walls.known_files {
        Some(known) => Ok(known.contains(&number(open)?)),
        None => Ok(true),
    }
}
