//! Caches of build tools. What a tool keeps goes to a directory of ours, through the tool's own variables. What the user's
//! caches hold is linked there, so that builds work without a network, nothing is copied and nothing of the user's is
//! changed.
//!
//! Commands write in that directory. Whatever is done here happens beneath its open handle and follows no link in it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::survey::open_beneath;

/// Entries of the user's caches that are linked; a first command must not wait for more.
const LINKS_MAX: usize = 50_000;
/// Longest index entry of npm that is copied.
const INDEX_BYTES_MAX: u64 = 1 << 20;
/// Entries of a workspace that are looked through for a package of npm.
const LOOKED_MAX: usize = 1_000;

/// The user's caches that are there.
#[derive(Debug, Default)]
pub(crate) struct CacheSources {
    /// `CARGO_HOME`.
    cargo: Option<PathBuf>,
    /// Cache directory of npm.
    npm: Option<PathBuf>,
    /// Module downloads of go, in the layout of a proxy.
    go: Option<PathBuf>,
}

impl CacheSources {
    /// Finds the caches at home and in the toolchains.
    pub fn find(home: Option<&Path>, toolchains: &[PathBuf]) -> Self {
        let at_home = |name: &str| home.map(|home| home.join(name));
        let places = |name: &str| toolchains.iter().cloned().chain(at_home(name)).collect::<Vec<_>>();
        let real = |place: PathBuf| fs::canonicalize(place).ok();
        let cargo = places(".cargo").into_iter().find(|place| place.join("registry").is_dir());
        let go = places("go").into_iter().map(|place| place.join("pkg/mod/cache/download"));
        let npm = at_home(".npm").filter(|place| place.join("_cacache").is_dir());
        Self {
            cargo: cargo.and_then(real),
            npm: npm.and_then(real),
            go: go.into_iter().find(|place| place.is_dir()).and_then(real),
        }
    }

    /// Returns the variables that make tools keep what they write below `root`. Without a network they are told so:
    /// they fail at once instead of trying again, and resolve versions from what is there.
    pub fn variables(&self, root: &Path, is_online: bool) -> Vec<(OsString, OsString)> {
        const PLACES: &[(&str, &str)] = &[
            ("XDG_CACHE_HOME", ""),
            ("CARGO_HOME", "cargo"),
            ("npm_config_cache", "npm"),
            // The user's own has tokens in it and is closed.
            ("npm_config_userconfig", "npmrc"),
            ("npm_config_store_dir", "pnpm"),
            ("YARN_CACHE_FOLDER", "yarn"),
            ("PIP_CACHE_DIR", "pip"),
            ("GOCACHE", "go-build"),
            ("GOMODCACHE", "go-mod"),
        ];
        const OFFLINE: &[(&str, &str)] = &[
            ("CARGO_NET_OFFLINE", "true"),
            ("npm_config_offline", "true"),
            ("PIP_RETRIES", "0"),
            ("UV_OFFLINE", "1"),
            ("GOSUMDB", "off"),
            ("GOTOOLCHAIN", "local"),
        ];
        let places = PLACES.iter().map(|(name, below)| (name.into(), root.join(below).into()));
        let offline = OFFLINE.iter().filter(|_| !is_online).map(|(name, value)| (name.into(), value.into()));
        let proxy = self.go.as_ref().map(|go| {
            let further = if is_online { ",https://proxy.golang.org,direct" } else { "" };
            ("GOPROXY".into(), format!("file://{}{further}", go.display()).into())
        });
        places.chain(offline).chain(proxy).collect()
    }
}

/// Directories that were made ready by this process.
#[derive(Debug, Default)]
pub(crate) struct ToolCaches {
    ready: Mutex<HashSet<PathBuf>>,
}

impl ToolCaches {
    /// Makes the directory and links what the user's caches hold, once in a process.
    pub fn prepare(&self, root: &Path, workspace: &Path, sources: &CacheSources) -> io::Result<()> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.contains(root) {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = rustix::fs::open(root, flags, Mode::empty())?;
        let mut mirror = CacheMirror { root: &open, left: LINKS_MAX };
        if let Some(cargo) = &sources.cargo {
            mirror.cargo(cargo);
        }
        if let Some(npm) = sources.npm.as_ref().filter(|_| has_package(workspace)) {
            mirror.npm(npm);
        }
        ready.insert(root.to_owned());
        Ok(())
    }
}

/// Links a cache of the user's into one of ours. What cannot be linked is left out: a tool then does without it.
struct CacheMirror<'a> {
    root: &'a OwnedFd,
    left: usize,
}

impl CacheMirror<'_> {
    /// Sources, archives and the index of registries, checkouts of git dependencies, and the user's settings. Each
    /// crate is a link of its own, so that cargo can add others.
    fn cargo(&mut self, home: &Path) {
        for (place, depth) in [
            ("registry/index", 0),
            ("registry/cache", 1),
            ("registry/src", 1),
            ("git/db", 0),
            ("git/checkouts", 1),
        ] {
            if let Some(into) = self.directory(&format!("cargo/{place}")) {
                self.link_all(&home.join(place), &into, depth);
            }
        }
        if let Some(into) = self.directory("cargo") {
            for name in ["config.toml", "config"] {
                let file = home.join(name);
                if file.is_file() {
                    let _ = rustix::fs::symlinkat(&file, &into, name);
                }
            }
        }
    }

    /// Contents are linked. The index is copied, because npm appends to its entries.
    fn npm(&mut self, cache: &Path) {
        let (content, index) = ("_cacache/content-v2", "_cacache/index-v5");
        if let Some(into) = self.directory(&format!("npm/{content}")) {
            self.link_all(&cache.join(content), &into, 3);
        }
        if let Some(into) = self.directory(&format!("npm/{index}")) {
            self.copy_all(&cache.join(index), &into, 2);
        }
    }

    fn directory(&self, path: &str) -> Option<OwnedFd> {
        let mut names = path.split('/');
        let first = make(self.root, Path::new(names.next()?))?;
        names.try_fold(first, |above, name| make(&above, Path::new(name)))
    }

    /// Makes `depth` levels of directories and links what is below them.
    fn link_all(&mut self, from: &Path, into: &OwnedFd, depth: u32) {
        forget_dangling(into);
        self.walk(from, into, depth, |file, into, name| {
            let _ = rustix::fs::symlinkat(file, into, name);
        });
    }

    fn copy_all(&mut self, from: &Path, into: &OwnedFd, depth: u32) {
        self.walk(from, into, depth, |file, into, name| {
            let _ = copy(file, into, name);
        });
    }

    fn walk(&mut self, from: &Path, into: &OwnedFd, depth: u32, put: fn(&Path, &OwnedFd, &Path)) {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let (path, name) = (entry.path(), PathBuf::from(entry.file_name()));
            if depth == 0 {
                put(&path, into, &name);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Some(below) = make(into, &name)
            {
                if depth == 1 {
                    forget_dangling(&below);
                }
                self.walk(&path, &below, depth - 1, put);
            }
        }
    }
}

/// Makes a directory and opens it, without following a link.
fn make(above: &OwnedFd, name: &Path) -> Option<OwnedFd> {
    match rustix::fs::mkdirat(above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(_) => return None,
    }
    open_beneath(above, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC).ok()
}

/// Copies a small file, unless something is there.
fn copy(file: &Path, into: &OwnedFd, name: &Path) -> io::Result<()> {
    if fs::symlink_metadata(file)?.len() > INDEX_BYTES_MAX {
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = rustix::fs::openat(into, name, flags, Mode::RUSR | Mode::WUSR)?;
    io::copy(&mut fs::File::open(file)?, &mut fs::File::from(new)).map(drop)
}

/// Removes links whose target the user's tool has deleted: the tool would not replace them.
fn forget_dangling(directory: &OwnedFd) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type() == FileType::Symlink) {
        let name = entry.file_name();
        if matches!(rustix::fs::statat(directory, name, AtFlags::empty()), Err(Errno::NOENT)) {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Tells whether a package of npm is in the workspace or directly below it.
fn has_package(workspace: &Path) -> bool {
    const PACKAGE: &str = "package.json";
    let below = || fs::read_dir(workspace).into_iter().flatten().flatten().take(LOOKED_MAX);
    workspace.join(PACKAGE).is_file() || below().any(|entry| entry.path().join(PACKAGE).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A home with caches, a workspace with a package, and a place for ours.
    fn scene() -> (tempfile::TempDir, [PathBuf; 3]) {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        let [home, workspace, root] = ["home", "workspace", "cache/ours"].map(|name| at.join(name));
        put(&home.join(".cargo/registry/src/io-1/serde-1.0/.cargo-ok"), "ok");
        put(&home.join(".cargo/registry/cache/io-1/serde-1.0.crate"), "crate");
        put(&home.join(".cargo/registry/index/io-1/config.json"), "{}");
        put(&home.join(".cargo/git/checkouts/dep-1/abc/Cargo.toml"), "");
        put(&home.join(".cargo/config.toml"), "[net]");
        put(&home.join(".cargo/credentials.toml"), "secret");
        put(&home.join(".npm/_cacache/content-v2/sha512/aa/bb/cc"), "content");
        put(&home.join(".npm/_cacache/index-v5/aa/bb/cc"), "index");
        put(&workspace.join("web/package.json"), "{}");
        (dir, [home, workspace, root])
    }

    #[test]
    fn what_the_users_caches_hold_is_linked_and_what_tools_add_is_not_put_there() {
        let (_keep, [home, workspace, root]) = scene();
        let sources = CacheSources::find(Some(&home), &[]);
        ToolCaches::default().prepare(&root, &workspace, &sources).unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        for (path, text) in [
            ("cargo/registry/src/io-1/serde-1.0/.cargo-ok", "ok"),
            ("cargo/registry/cache/io-1/serde-1.0.crate", "crate"),
            ("cargo/registry/index/io-1/config.json", "{}"),
            ("cargo/git/checkouts/dep-1/abc/Cargo.toml", ""),
            ("cargo/config.toml", "[net]"),
            ("npm/_cacache/content-v2/sha512/aa/bb/cc", "content"),
            ("npm/_cacache/index-v5/aa/bb/cc", "index"),
        ] {
            assert_eq!(read(path).as_deref(), Some(text), "{path}");
        }
        assert_eq!(read("cargo/credentials.toml"), None);
        fs::create_dir(root.join("cargo/registry/src/io-1/new-1.0")).unwrap();
        fs::write(root.join("npm/_cacache/index-v5/aa/bb/cc"), "more").unwrap();
        assert!(!home.join(".cargo/registry/src/io-1/new-1.0").exists());
        assert_eq!(fs::read_to_string(home.join(".npm/_cacache/index-v5/aa/bb/cc")).unwrap(), "index");
        // The user's tool cleans up: the link goes, so that the crate can be unpacked again.
        fs::remove_dir_all(home.join(".cargo/registry/src/io-1/serde-1.0")).unwrap();
        ToolCaches::default().prepare(&root, &workspace, &sources).unwrap();
        assert!(fs::symlink_metadata(root.join("cargo/registry/src/io-1/serde-1.0")).is_err());
    }

    // S01 Seen to fail with an `open_beneath` that follows links.
    #[test]
    fn a_link_that_a_command_left_in_the_cache_leads_nowhere() {
        let (keep, [home, workspace, root]) = scene();
        let outside = keep.path().join("outside");
        fs::create_dir(&outside).unwrap();
        for planted in ["cargo/registry/src", "npm/_cacache"] {
            let at = root.join(planted);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&outside, at).unwrap();
        }
        let sources = CacheSources::find(Some(&home), &[]);
        ToolCaches::default().prepare(&root, &workspace, &sources).unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert!(root.join("cargo/registry/cache/io-1/serde-1.0.crate").exists(), "the rest is linked");
    }

    #[test]
    fn tools_are_told_where_to_write_and_that_there_is_no_network() {
        let (_keep, [home, _, root]) = scene();
        put(&home.join("go/pkg/mod/cache/download/x"), "");
        let sources = CacheSources::find(Some(&home), &[]);
        let value = |name: &str, is_online: bool| {
            let all = sources.variables(&root, is_online);
            all.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_string().unwrap())
        };
        assert_eq!(value("CARGO_HOME", true), Some(root.join("cargo").display().to_string()));
        assert_eq!(
            (value("CARGO_NET_OFFLINE", true), value("CARGO_NET_OFFLINE", false)),
            (None, Some("true".into()))
        );
        let proxy = format!("file://{}", home.join("go/pkg/mod/cache/download").display());
        assert_eq!(value("GOPROXY", false), Some(proxy.clone()));
        assert_eq!(value("GOPROXY", true), Some(format!("{proxy},https://proxy.golang.org,direct")));
    }
}
