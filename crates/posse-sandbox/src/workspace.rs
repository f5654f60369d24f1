//! The directory a task works in, held by handle. Every file is opened by the kernel beneath that handle
//! (`openat2` with `RESOLVE_BENEATH`), so there is no moment between checking a path and using it: `..`, absolute
//! names, symbolic links and a link swapped in at the wrong time are all refused by the same system call.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use posse_core::text::{prefix, visible};
use posse_core::{Error, error::ErrorCode};
use posse_messages::localized;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::protected::FileProtection;

/// Linux refuses longer paths and names; refusing them here gives a better message.
const PATH_BYTES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 255;

/// `openat2` answers EAGAIN when a directory moved while `..` of a link was resolved. Asking again settles it unless
/// somebody moves directories all the time.
const RESOLVE_TRIES: usize = 128;

/// Suffix the kernel adds to the name of a removed open file.
const REMOVED: &[u8] = b" (deleted)";

/// Files up to this size are handled as a whole: hashed, edited, written. Larger ones are only paged through.
pub const WHOLE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A directory that file tools cannot leave.
pub struct Workspace {
    handle: OwnedFd,
    /// The spellings of the root under which absolute paths are accepted: as given, and with links resolved.
    spellings: Vec<PathBuf>,
    /// Paths that no tool opens, relative to the root.
    closed: Vec<PathBuf>,
    protection: FileProtection,
}

/// A file opened through the workspace, known to be a regular file.
pub struct OpenFile {
    pub file: File,
    pub stat: Stat,
}

pub enum ResolvedPath {
    Directory(OwnedFd),
    File(OpenFile),
}

impl Workspace {
    /// Opens the root once; the handle stays on this directory even if the path is renamed or replaced later.
    pub fn open(root: &Path) -> posse_core::Result<Arc<Workspace>> {
        Self::open_without(root, &[])
    }

    /// The same where some absolute paths are closed, with everything in them. One that the root is in is not: then it was
    /// meant.
    pub fn open_without(root: &Path, closed: &[PathBuf]) -> posse_core::Result<Arc<Workspace>> {
        Self::open_with(root, closed, &FileProtection::default())
    }

    /// The same where the operator opened protected names.
    pub fn open_with(
        root: &Path,
        closed: &[PathBuf],
        protection: &FileProtection,
    ) -> posse_core::Result<Arc<Workspace>> {
        let failed = |what: &str, cause: std::io::Error| {
            Error::new(ErrorCode::Io, localized!("workspace-failed", what, root = root.display(), cause))
                .caused_by(cause)
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(root, flags, Mode::empty())
            .map_err(|e| failed("open", e.into()).hint(localized!("workspace-failed-hint")))?;
        let resolved = std::fs::canonicalize(root).map_err(|e| failed("resolve", e))?;
        let mut spellings = vec![resolved];
        if root.is_absolute() && root != spellings[0] {
            spellings.push(root.to_owned());
        }
        let inside = |path: &PathBuf| Some(path.strip_prefix(&spellings[0]).ok()?.to_owned());
        let closed = closed.iter().filter_map(inside).filter(|path| !path.as_os_str().is_empty()).collect();
        let protection = protection.within(&spellings[0]);
        let workspace = Workspace { handle, spellings, closed, protection };
        workspace.require_openat2()?;
        Ok(Arc::new(workspace))
    }

    /// Without `openat2` a path could only be checked before it is opened, which is a race. Then nothing is opened.
    fn require_openat2(&self) -> posse_core::Result<()> {
        match open_beneath(
            self.handle.as_fd(),
            Path::new("."),
            OFlags::PATH | OFlags::DIRECTORY,
            Mode::empty(),
        ) {
            Ok(_) => Ok(()),
            Err(cause) => Err(Error::new(ErrorCode::Io, localized!("openat2-missing", cause))
                .hint(localized!("openat2-missing-hint"))),
        }
    }

    /// The root as people write it.
    pub fn root(&self) -> &Path {
        &self.spellings[0]
    }

    /// Refuses to write a path, relative to the root, that is protected. The refusal is for the model.
    pub fn refuse_protected(&self, path: &Path) -> Result<(), String> {
        self.protection.refuse(path)
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Turns what a model wrote into a path relative to the root, without `.`; the root itself is the empty path.
    /// This is spelling only: what may be opened is decided by the kernel. The refusal is written for the model.
    pub fn path(&self, raw: &str) -> Result<PathBuf, String> {
        if raw.is_empty() {
            return Err(
                "the path is empty; give a path relative to the workspace, or `.` for its root".to_owned()
            );
        }
        if raw.contains('\0') {
            return Err("the path contains a NUL character, which no file name can have".to_owned());
        }
        if raw.len() > PATH_BYTES_MAX {
            return Err(format!(
                "the path has {} bytes; the longest allowed has {PATH_BYTES_MAX}",
                raw.len()
            ));
        }
        let given = Path::new(raw);
        let relative = if given.is_absolute() {
            let under = self.spellings.iter().find_map(|root| given.strip_prefix(root).ok());
            under.ok_or_else(|| self.outside(raw))?
        } else {
            given
        };
        let mut path = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) if name.len() > NAME_BYTES_MAX => {
                    return Err(format!(
                        "a name in the path has {} bytes; the longest allowed has {NAME_BYTES_MAX}",
                        name.len()
                    ));
                }
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                // What `..` means depends on links, and one file would have many names.
                Component::ParentDir => {
                    return Err(format!(
                        "`{}` contains `..`, which is not accepted; write the path from the workspace \
                         root `{}`",
                        show(given),
                        self.root().display()
                    ));
                }
                Component::RootDir | Component::Prefix(_) => return Err(self.outside(raw)),
            }
        }
        Ok(path)
    }

    fn outside(&self, raw: &str) -> String {
        let root = self.root().display();
        format!("`{}` is outside the workspace; paths are relative to `{root}`", show(Path::new(raw)))
    }

    /// Opens a regular file for reading, following links that stay inside.
    pub fn open_file(&self, path: &Path) -> Result<OpenFile, String> {
        self.regular(path, open_for_reading(self.handle(), or_dot(path), OFlags::empty()))
    }

    /// The whole content of a file, if it is one that is handled as a whole.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.open_file(&self.path(path).ok()?).ok()?.whole(WHOLE_BYTES_MAX).ok().flatten()
    }

    pub fn regular(&self, path: &Path, opened: Result<(File, Stat), Errno>) -> Result<OpenFile, String> {
        let (file, stat) = opened.map_err(|cause| self.explain(path, cause))?;
        match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::RegularFile => Ok(OpenFile { file, stat }),
            rustix::fs::FileType::Directory => Err(format!(
                "`{}` is a directory; use the tool `ls` or `directory_tree` to see what is in it",
                show(path)
            )),
            _ => Err(format!("`{}` is not a regular file (it is a pipe, socket or device)", show(path))),
        }
    }

    /// Opens a path for searching, whatever of the two it is.
    pub fn open_place(&self, path: &Path) -> Result<ResolvedPath, String> {
        let opened = open_for_reading(self.handle(), or_dot(path), OFlags::empty());
        match opened {
            Ok((file, stat))
                if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory =>
            {
                Ok(ResolvedPath::Directory(file.into()))
            }
            opened => self.regular(path, opened).map(ResolvedPath::File),
        }
    }

    /// Opens a directory so that it can be listed, locked and synchronised.
    pub fn open_directory(&self, path: &Path) -> Result<OwnedFd, String> {
        open_directory(self.handle(), or_dot(path)).map_err(|cause| self.explain(path, cause))
    }

    /// Opens the directory that holds `path`, creating what is missing step by step. Each step is resolved by the
    /// kernel from the root, so a link swapped in between leads nowhere outside.
    pub fn create_directory(&self, path: &Path) -> Result<OwnedFd, String> {
        let mut current = self.open_directory(Path::new(""))?;
        let mut so_far = PathBuf::new();
        for part in path.components() {
            so_far.push(part);
            current = match open_directory(self.handle(), &so_far) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&current, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                        Ok(()) => {
                            // Without this a crash could lose the directory after the file in it was reported.
                            let _ = rustix::fs::fsync(&current);
                        }
                        Err(Errno::EXIST) => {}
                        Err(cause) => return Err(self.explain(&so_far, cause)),
                    }
                    open_directory(self.handle(), &so_far)
                }
                opened => opened,
            }
            .map_err(|cause| self.explain(&so_far, cause))?;
        }
        Ok(current)
    }

    /// Resolves an open file's path relative to the root.
    pub fn place_of(&self, path: &Path, open: BorrowedFd<'_>) -> Result<PathBuf, String> {
        let real = |fd: BorrowedFd<'_>| std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        let relative = real(open).and_then(|place| {
            let root = real(self.handle())?;
            let place = place.strip_prefix(root).map_err(std::io::Error::other)?;
            // What was removed meanwhile has another name there, which no rule knows.
            match place.as_os_str().as_bytes().ends_with(REMOVED) && !self.is_at(place, open)? {
                true => Err(Errno::NOENT.into()),
                false => Ok(place.to_owned()),
            }
        });
        relative
            .map_err(|cause| format!("cannot tell where `{}` is: {cause}; nothing was written", show(path)))
    }

    fn is_at(&self, place: &Path, open: BorrowedFd<'_>) -> std::io::Result<bool> {
        let open = rustix::fs::fstat(open)?;
        let there = rustix::fs::statat(self.handle(), place, AtFlags::SYMLINK_NOFOLLOW);
        Ok(there.is_ok_and(|there| (there.st_dev, there.st_ino) == (open.st_dev, open.st_ino)))
    }

    /// Tells whether a part of the workspace is closed.
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Refuses what nobody opens; `place` is where it really is, relative to the root.
    pub fn refuse_closed(&self, place: &Path) -> Result<(), String> {
        match self.closed.iter().any(|closed| place.starts_with(closed)) {
            true => Err(format!(
                "`{}` holds keys or sessions of the person, or is Posse's own; no tool opens it",
                show(place)
            )),
            false => Ok(()),
        }
    }

    /// Says what the kernel refused in words that lead to a better call.
    pub fn explain(&self, path: &Path, cause: Errno) -> String {
        let shown = show(path);
        match cause {
            Errno::XDEV => format!(
                "`{shown}` leads outside the workspace through a symbolic link, which is refused; only \
                 files below `{}` can be used",
                self.root().display()
            ),
            Errno::LOOP => format!(
                "`{shown}` is or contains a symbolic link that cannot be followed here (a loop, a link \
                 of /proc, or the name itself is a link)"
            ),
            Errno::NOENT => format!(
                "there is no `{shown}` in the workspace; use `ls` or `glob` to find the right name (a \
                 symbolic link whose target is missing counts as missing)"
            ),
            Errno::NOTDIR => format!("a part of `{shown}` that should be a directory is not one"),
            Errno::ISDIR => format!("`{shown}` is a directory"),
            Errno::ACCESS | Errno::PERM => format!("no permission to open `{shown}`"),
            Errno::NAMETOOLONG => format!("`{shown}` is too long a path"),
            Errno::AGAIN => format!("`{shown}` kept moving while it was opened; try again"),
            Errno::NOSYS => "this system lacks openat2, so no file can be opened safely".to_owned(),
            Errno::NOSPC | Errno::DQUOT => format!("no space left on the disk for `{shown}`"),
            other => format!("cannot open `{shown}`: {other}"),
        }
    }
}

/// A path as shown to a model: `.` for the root, hidden characters made visible, never longer than a few lines.
pub fn show(path: &Path) -> String {
    let text = or_dot(path).to_string_lossy();
    match visible(prefix(&text, 300)) {
        short if text.len() > 300 => format!("{short}… ({} bytes)", text.len()),
        whole => whole.into_owned(),
    }
}

pub fn or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Opens a path below `directory`. The kernel refuses a symlink that would escape from it.
pub fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RESOLVE_TRIES {
        match rustix::fs::openat2(directory, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => continue,
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opening must not wait for the other end of a pipe nor take over a terminal.
pub fn open_for_reading(
    directory: BorrowedFd<'_>,
    path: &Path,
    extra: OFlags,
) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | extra;
    let opened = open_beneath(directory, path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    Ok((File::from(opened), stat))
}

pub fn open_directory(directory: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(directory, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

impl OpenFile {
    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// The content, or `None` if there is more than `max` bytes of it (also when it grew while being read).
    pub fn whole(&mut self, max: u64) -> std::io::Result<Option<Vec<u8>>> {
        if self.size() > max {
            return Ok(None);
        }
        let mut content = Vec::with_capacity(self.size() as usize + 1);
        (&mut self.file).take(max + 1).read_to_end(&mut content)?;
        Ok((content.len() as u64 <= max).then_some(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn temporary() -> (tempfile::TempDir, Arc<Workspace>) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        (directory, workspace)
    }

    #[test]
    fn spellings_of_a_path_become_one_relative_path() {
        let (_keep, workspace) = temporary();
        let root = workspace.root().to_str().unwrap().to_owned();
        for (raw, expected) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            (".", ""),
            (root.as_str(), ""),
            (&format!("{root}/a"), "a"),
            (&format!("{root}//./a"), "a"),
        ] {
            assert_eq!(workspace.path(raw).as_deref(), Ok(Path::new(expected)), "{raw}");
        }
    }

    #[test]
    fn paths_that_cannot_be_meant_are_refused_with_a_reason() {
        let (_keep, workspace) = temporary();
        let root = workspace.root().to_str().unwrap().to_owned();
        let long = "x".repeat(256);
        let longer = "x/".repeat(2049);
        for (raw, why) in [
            ("", "empty"),
            ("a\0b", "NUL"),
            ("../a", "`..`"),
            ("a/../b", "`..`"),
            ("/etc/passwd", "outside the workspace; paths are relative to"),
            (&format!("{root}-sibling/a"), "outside the workspace"),
            (&format!("{root}/../a"), "`..`"),
            (&long, "256 bytes"),
            (&longer, "4098 bytes"),
        ] {
            let refusal = workspace.path(raw).expect_err(raw);
            assert!(refusal.contains(why), "{raw}: {refusal}");
        }
    }

    /// Returns the kernel's path of an open file.
    fn place_of(file: &impl AsFd) -> PathBuf {
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())).unwrap()
    }

    /// Files, directories and links of all kinds, inside and outside, under few names, so that random paths hit them.
    fn maze() -> (tempfile::TempDir, Arc<Workspace>) {
        let (keep, workspace) = temporary();
        let outside = keep.path().canonicalize().unwrap();
        for file in ["root/f", "root/a/f", "root/a/b/f", "out/f", "out/b/f"] {
            std::fs::create_dir_all(outside.join(file).parent().unwrap()).unwrap();
            std::fs::write(outside.join(file), file).unwrap();
        }
        for (target, link) in [
            ("a", "in"),
            ("a/b/..", "up"),
            ("../out", "out"),
            ("../../out", "a/out"),
            ("in/b", "a/in"),
            ("/", "a/root"),
            ("/proc/self/cwd", "proc"),
            ("out", "chain"),
        ] {
            std::os::unix::fs::symlink(target, outside.join("root").join(link)).unwrap();
        }
        std::os::unix::fs::symlink(outside.join("out"), outside.join("root/a/b/absolute")).unwrap();
        (keep, workspace)
    }

    #[test]
    fn whatever_can_be_opened_is_inside_as_the_kernel_sees_it() {
        let (_keep, workspace) = maze();
        let name = prop::sample::select(vec![
            "f", "a", "b", "in", "up", "out", "root", "proc", "chain", "absolute", ".", "..", "new",
        ]);
        let opened = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let result = runner.run(&prop::collection::vec(name, 1..6), |names| {
            let raw = names.join("/");
            let Ok(path) = workspace.path(&raw) else { return Ok(()) };
            for place in [
                workspace.open_file(&path).map(|open| place_of(&open.file)),
                workspace.open_directory(&path).map(|directory| place_of(&directory)),
                workspace.create_directory(&path).map(|directory| place_of(&directory)),
            ]
            .into_iter()
            .flatten()
            {
                prop_assert!(place.starts_with(workspace.root()), "{} opened {:?}", raw, place);
                opened.borrow_mut().insert(raw.clone());
            }
            Ok(())
        });
        result.unwrap();
        let opened = opened.into_inner();
        assert!(
            opened.len() > 50 && opened.iter().any(|path| path.starts_with("in/")),
            "the maze was entered: {}",
            opened.len()
        );
    }

    proptest! {
        #[test]
        fn an_accepted_path_has_only_plain_names(raw in "[a./\\\\~\0é-]{0,40}") {
            let (_keep, workspace) = temporary();
            if let Ok(path) = workspace.path(&raw) {
                prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{:?}", path);
            }
        }
    }
}
