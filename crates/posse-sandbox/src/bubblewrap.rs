//! The same walls inside of name spaces: a view of the file system that has nothing else in it, no other process, no
//! network device. `bwrap` builds them; the helper is started once more inside and adds what tier T1 has.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use posse_core::confinement::NetworkReach;

use crate::apply::SandboxWorkspace;
use crate::confinement::{ProcessConfinement, SandboxWalls};
use crate::layout::SandboxLayout;

/// Without a capability nobody inside can mount again what is read-only, and no further name space gives one back.
const FLAGS: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--cap-drop",
    "ALL",
    "--disable-userns",
    "--new-session",
    "--die-with-parent",
];

/// Path of the helper inside.
const HELPER: &str = "/.posse";

/// Names that lead into `/usr` on most systems.
const LINKS: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// The first argument of the helper that is started inside.
pub(crate) const CONFINE: &str = "confine";

/// All arguments for `bwrap` up to those of the helper inside, and what that one has to confine the command to.
pub(crate) fn arguments(
    confinement: &ProcessConfinement,
    walls: &SandboxWalls,
    here: &SandboxWorkspace,
    helper: &Path,
) -> Result<(Vec<OsString>, ProcessConfinement), String> {
    let workspace = here.path.as_path();
    let layout = SandboxLayout::of(walls, workspace)?;
    // Before the paths are handed on.
    let known = here.numbers(layout.write.iter().flatten().chain(&layout.guarded));
    let mut view = MountView::new(&walls.network);
    for path in LINKS {
        if let Ok(target) = std::fs::read_link(path) {
            view.put("--symlink", &target, Path::new(path));
        }
    }
    for path in layout.read.iter().filter(|path| !is_ours(path)) {
        view.same("--ro-bind-try", path);
    }
    for path in &walls.read.programs {
        view.same("--ro-bind-try", path);
    }
    // The last list is the narrowest as a rule; inside, Landlock holds the command to all of them.
    for path in layout.write.last().into_iter().flatten() {
        view.same("--bind-try", &workspace.join(path));
    }
    if walls.opens_top() {
        // What holds something read-only could be renamed and put together anew, unless something is mounted there as well.
        for holder in holders(&layout.guarded) {
            view.same("--bind-try", &workspace.join(holder));
        }
    }
    // A mount would be made where a link leads, and of what is there.
    for path in layout.guarded.iter().map(|path| workspace.join(path)).filter(|path| !path.is_symlink()) {
        view.same("--ro-bind-try", &path);
    }
    let outside = walls.write.always.iter().filter(|path| !path.starts_with(workspace));
    for path in outside.chain([&walls.scratch]) {
        view.same("--bind-try", path);
    }
    view.put("--ro-bind", helper, Path::new(HELPER));
    view.0.extend(["--remount-ro", "/", "--chdir"].map(OsString::from));
    view.0.push(workspace.into());
    view.0.extend(["--", HELPER].map(OsString::from));
    view.0.extend(walls.helper_args.iter().map(OsString::from));
    view.0.push(CONFINE.into());
    let inside = SandboxWalls { bubblewrap: None, known_files: Some(known), ..walls.clone() };
    Ok((
        view.0,
        ProcessConfinement {
            walls: Some(inside),
            limits: confinement.limits,
            ..ProcessConfinement::default()
        },
    ))
}

/// Directories in the workspace that these are in, outer ones first.
fn holders(paths: &[PathBuf]) -> BTreeSet<&Path> {
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    above.filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Tells whether the path gets a fresh mount inside.
fn is_ours(path: &Path) -> bool {
    let is_link = LINKS.iter().any(|link| path == Path::new(link)) && path.is_symlink();
    is_link || path.starts_with("/proc") || path.starts_with("/dev")
}

struct MountView(Vec<OsString>);

impl MountView {
    fn new(network: &NetworkReach) -> Self {
        let mut view = Self(FLAGS.iter().map(OsString::from).collect());
        if *network == NetworkReach::None {
            view.0.push("--unshare-net".into());
        }
        view.0.extend(["--proc", "/proc", "--dev", "/dev"].map(OsString::from));
        view
    }

    fn same(&mut self, how: &str, path: &Path) {
        self.put(how, path, path);
    }

    fn put(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }
}

/// `bwrap` in one of the directories of a search path.
pub(crate) fn find(search: &std::ffi::OsStr) -> Option<PathBuf> {
    let places = std::env::split_paths(search).filter(|place| place.is_absolute());
    places.map(|place| place.join("bwrap")).find(|path| path.is_file())
}

/// Checks that bubblewrap works here. Namespaces are often forbidden, above all inside of containers.
pub(crate) fn works(bubblewrap: &Path) -> Result<(), String> {
    let mut command = Command::new(bubblewrap);
    command.args(MountView::new(&NetworkReach::None).0).args([
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "true",
    ]);
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stdout(Stdio::null());
    let done = command.output().map_err(|cause| format!("`{}`: {cause}", bubblewrap.display()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(posse_core::event::reason(&said))
}
