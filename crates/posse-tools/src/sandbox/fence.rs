//! A confinement made ready: everything that can fail for a reason worth telling happens here, before `fork`. What is
//! left for the child are system calls on what is open already.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::process::Resource;

use super::landlock::{Gives, Ruleset};
use super::layout::{Guarded, Layout};
use super::privileges;
use super::seccomp::Filter;
use crate::confinement::{Confinement, Walls, limit};

/// What a child says when it could not be confined. No `exec` fails with this.
pub(crate) const NOT_CONFINED: i32 = libc::ENOTRECOVERABLE;

/// The kernel stacks 16 rulesets; some may be there already.
const LAYERS_MAX: usize = 12;

/// Devices that every program expects.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

pub(crate) struct Fence {
    limits: [(Resource, Option<u64>); 4],
    walls: Option<(Vec<Ruleset>, Filter)>,
    /// What is protected and there already.
    pub guarded: Guarded,
}

impl Fence {
    pub fn build(confinement: &Confinement) -> Result<Self, String> {
        let limits = confinement
            .limits
            .resolve()
            .map_err(|cause| format!("its limits cannot be found out: {cause}"))?;
        let mut guarded = Guarded::default();
        let walls = match &confinement.walls {
            None => None,
            Some(walls) => {
                let workspace = workspace()?;
                let layout = Layout::of(walls, &workspace)?;
                let rulesets = rulesets(walls, &layout, &workspace)
                    .map_err(|cause| format!("this kernel does not build the sandbox (Landlock): {cause}"))?;
                guarded = layout.guarded;
                Some((rulesets, Filter::new(&walls.network)))
            }
        };
        Ok(Self { limits, walls, guarded })
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
        for ruleset in rulesets {
            ruleset.apply()?;
        }
        filter.apply()
    }
}

/// Where the command will run, as the kernel names it.
pub(crate) fn workspace() -> Result<PathBuf, String> {
    let place = std::fs::read_link("/proc/self/cwd").map_err(|cause| format!("no workspace: {cause}"))?;
    if place.is_dir() { Ok(place) } else { Err(format!("the workspace `{}` is gone", place.display())) }
}

/// The first holds everything; one more for each further list of places that may be written, so that the kernel gives
/// what all of them give.
fn rulesets(walls: &Walls, layout: &Layout, workspace: &Path) -> io::Result<Vec<Ruleset>> {
    if layout.write.len() > LAYERS_MAX {
        return Err(io::Error::other("more narrowings than can be stacked"));
    }
    let whole = Ruleset::whole(walls.landlock, &walls.network)?;
    let reading = layout.read.iter().map(|path| (path, Gives::Reading));
    for (path, gives) in reading.chain(layout.names.iter().map(|path| (path, Gives::Names))) {
        let is_root = walls.instead.iter().flatten().any(|root| path.starts_with(root));
        match path.strip_prefix(workspace) {
            Ok(inside) if is_root => give_inside(&whole, inside, gives)?,
            _ => give(&whole, path, gives)?,
        }
    }
    for path in &walls.programs {
        give(&whole, path, Gives::Reading)?;
    }
    let mut all = vec![whole];
    for _ in layout.write.iter().skip(1) {
        all.push(Ruleset::changes(walls.landlock)?);
    }
    for (ruleset, places) in all.iter().zip(&layout.write) {
        for device in DEVICES {
            give(ruleset, Path::new(device), Gives::Device)?;
        }
        for path in walls.also.iter().chain([&walls.scratch]) {
            give(ruleset, path, Gives::Everything)?;
        }
        // Where read roots say what may be read, being allowed to write somewhere does not.
        let gives = if walls.instead.is_some() { Gives::Changing } else { Gives::Everything };
        for path in places {
            give_inside(ruleset, path, gives)?;
        }
    }
    Ok(all)
}

fn give_inside(ruleset: &Ruleset, path: &Path, gives: Gives) -> io::Result<()> {
    open_in_workspace(path).map_or(Ok(()), |open| ruleset.add(open.as_fd(), gives))
}

/// What is not there gives nothing.
fn give(ruleset: &Ruleset, path: &Path, gives: Gives) -> io::Result<()> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(open) => ruleset.add(open.as_fd(), gives),
        Err(_) => Ok(()),
    }
}

/// Relative to the workspace and without any link on the way: somebody else may be changing it just now.
fn open_in_workspace(path: &Path) -> Option<OwnedFd> {
    let here = File::open(".").ok()?;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(&here, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).ok()
}
