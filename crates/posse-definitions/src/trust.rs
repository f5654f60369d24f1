//! Trust in project files. Agents, servers and hooks of a project stay inert until a person approves their
//! content by hash; a new or changed file needs another approval. The user's own files need none.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Maximum size of the store; a larger file is not ours.
const STORE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum hashes per project; the oldest are dropped first.
const HASHES_MAX: usize = 20_000;
/// Lock timeout; another process holds the lock only while it writes a small file.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The trust policy of a registry.
#[derive(Debug, Clone)]
pub enum TrustPolicy {
    /// Trusts the content that a person approved.
    Store(TrustStore),
    /// Trusts every project file for one run; for machines that only see reviewed code.
    All,
    /// Trusts no project file.
    Nothing,
}

/// The store of approved content hashes per project: a small file in the state directory.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

/// A loaded snapshot of the store; lookups use no I/O.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TrustIndex {
    projects: BTreeMap<PathBuf, HashSet<String>>,
    everything: bool,
    problem: Option<LocalizedText>,
}

/// The trusted hashes of one project.
#[derive(Debug, Clone, Copy)]
pub struct ProjectTrust<'a> {
    everything: bool,
    hashes: Option<&'a HashSet<String>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustContents {
    version: u32,
    /// Project root, then the SHA-256 of each trusted file, oldest first.
    projects: BTreeMap<String, Vec<String>>,
}

const VERSION: u32 = 1;

impl TrustPolicy {
    /// Loads the approvals that this policy grants.
    pub fn load(&self) -> TrustIndex {
        match self {
            TrustPolicy::Store(store) => store.load(),
            TrustPolicy::All => TrustIndex { everything: true, ..TrustIndex::default() },
            TrustPolicy::Nothing => TrustIndex::default(),
        }
    }
}

impl TrustIndex {
    /// Returns whether the content with this `hash` is trusted in the project at `root`.
    pub fn trusts(&self, root: &Path, hash: &str) -> bool {
        self.project(root).trusts(hash)
    }

    /// Returns the trust of one project, for repeated lookups.
    pub fn project(&self, root: &Path) -> ProjectTrust<'_> {
        ProjectTrust { everything: self.everything, hashes: self.projects.get(&resolved(root)) }
    }

    /// Returns why the store could not be used; then nothing is trusted.
    pub fn problem(&self) -> Option<&LocalizedText> {
        self.problem.as_ref()
    }
}

impl ProjectTrust<'_> {
    /// Returns whether the content with this hash is trusted.
    pub fn trusts(&self, hash: &str) -> bool {
        // An unreadable file has an empty hash: fail closed.
        !hash.is_empty() && (self.everything || self.hashes.is_some_and(|hashes| hashes.contains(hash)))
    }
}

impl TrustStore {
    /// Creates a store at `path`, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the store. Never fails: an unusable file trusts nothing and reports why.
    pub fn load(&self) -> TrustIndex {
        match self.contents() {
            Ok(contents) => {
                let projects = contents.projects.into_iter();
                let projects =
                    projects.map(|(root, hashes)| (root.into(), hashes.into_iter().collect())).collect();
                TrustIndex { projects, ..TrustIndex::default() }
            }
            Err(why) => TrustIndex { problem: Some(self.damaged(&why)), ..TrustIndex::default() },
        }
    }

    /// Loads the store and looks up one hash.
    pub fn trusted(&self, root: &Path, hash: &str) -> bool {
        self.load().trusts(root, hash)
    }

    /// Trusts these contents in the project at `root`. It takes hashes instead of paths, so that a person
    /// approves exactly what they saw.
    pub fn trust<'a>(&self, root: &Path, hashes: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let root = key(root)?;
        self.change(|contents| {
            let known = contents.projects.entry(root).or_default();
            let hashes: Vec<&str> = hashes.into_iter().filter(|hash| !hash.is_empty()).collect();
            // Trusting again moves a hash to the end.
            let again: HashSet<&str> = hashes.iter().copied().collect();
            known.retain(|old| !again.contains(old.as_str()));
            known.extend(hashes.into_iter().map(str::to_owned));
            known.drain(..known.len().saturating_sub(HASHES_MAX));
        })
    }

    /// Removes the project; returns whether anything was trusted there.
    pub fn revoke(&self, root: &Path) -> Result<bool> {
        let root = key(root)?;
        let mut had = false;
        self.change(|contents| had = contents.projects.remove(&root).is_some())?;
        Ok(had)
    }

    /// Lists the projects with their number of trusted contents.
    pub fn list(&self) -> Result<Vec<(PathBuf, usize)>> {
        let contents = self.contents().map_err(|why| {
            Error::new(ErrorCode::Io, self.damaged(&why)).hint(localized!("trust-writes-list"))
        })?;
        Ok(contents.projects.into_iter().map(|(root, hashes)| (root.into(), hashes.len())).collect())
    }

    fn damaged(&self, why: &LocalizedText) -> LocalizedText {
        localized!("trust-list-unusable", path = self.path.display(), why)
    }

    fn contents(&self) -> Result<TrustContents, LocalizedText> {
        let how = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        let opened = OpenOptions::new().read(true).custom_flags(how.cast_signed()).open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(TrustContents { version: VERSION, ..TrustContents::default() });
            }
            Err(cause) => return Err(localized!("trust-list-unopened", cause)),
        };
        let about = file.metadata().map_err(|cause| localized!("trust-list-unexamined", cause))?;
        if !about.is_file() {
            return Err(localized!("trust-list-irregular"));
        }
        // Write access to this file decides what runs.
        if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o022 != 0 {
            return Err(localized!("trust-list-writable"));
        }
        let mut text = String::new();
        match file.take(STORE_BYTES_MAX + 1).read_to_string(&mut text) {
            Err(cause) => return Err(localized!("trust-list-unreadable", cause)),
            Ok(_) if text.len() as u64 > STORE_BYTES_MAX => return Err(localized!("trust-list-too-large")),
            Ok(_) => {}
        }
        let contents: TrustContents =
            serde_json::from_str(&text).map_err(|cause| localized!("trust-list-damaged", cause))?;
        match contents.version {
            VERSION => Ok(contents),
            other => Err(localized!("trust-list-version", other)),
        }
    }

    /// Reads, changes and replaces the file under the lock.
    fn change(&self, change: impl FnOnce(&mut TrustContents)) -> Result<()> {
        let failed = |cause: io::Error| {
            let text = localized!("trust-list-unwritten", path = self.path.display());
            Error::new(ErrorCode::Io, text).caused_by(cause)
        };
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let _lock = self.lock().map_err(failed)?;
        let mut contents = match self.contents() {
            Ok(contents) => contents,
            // Keep the damaged file for a person to inspect; it no longer counted as trusted.
            Err(_) => {
                fs::rename(&self.path, self.beside("damaged")).map_err(failed)?;
                TrustContents { version: VERSION, ..TrustContents::default() }
            }
        };
        change(&mut contents);
        let text = serde_json::to_string_pretty(&contents).map_err(|cause| {
            Error::new(ErrorCode::Internal, localized!("trust-list-not-json")).caused_by(cause)
        })?;
        self.replace(directory, text.as_bytes()).map_err(failed)
    }

    fn replace(&self, directory: &Path, text: &[u8]) -> io::Result<()> {
        let temporary = self.beside(&format!("{}.new", std::process::id()));
        // A leftover of a dead process with the same ID; we hold the lock.
        let _ = fs::remove_file(&temporary);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let written = file.write_all(text).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| fs::rename(&temporary, &self.path));
        if renamed.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        renamed?;
        // Best effort: approvals lost in a power cut are asked for again.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    }

    /// Locks a separate file, because the store itself is replaced.
    fn lock(&self) -> io::Result<File> {
        let path = self.beside("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
        let deadline = Instant::now() + LOCK_WAIT_MAX;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(cause)) => return Err(cause),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        localized!("trust-list-locked").to_string(),
                    ));
                }
            }
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        name.into()
    }
}

/// Returns the SHA-256 in hex.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Resolves links, so that a project has one root however it is reached.
fn resolved(root: &Path) -> PathBuf {
    root.canonicalize().unwrap_or_else(|_| root.to_owned())
}

fn key(root: &Path) -> Result<String> {
    resolved(root).into_os_string().into_string().map_err(|root| {
        Error::new(
            ErrorCode::InvalidRequest,
            localized!("trust-path-not-utf8", path = format_args!("{root:?}")),
        )
        .hint(localized!("trust-path-hint"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Case {
        directory: tempfile::TempDir,
        store: TrustStore,
    }

    fn case() -> Case {
        let directory = tempfile::tempdir().unwrap();
        let store = TrustStore::at(directory.path().join("state/trust.json"));
        Case { directory, store }
    }

    impl Case {
        fn project(&self, name: &str) -> PathBuf {
            let path = self.directory.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        }
    }

    #[test]
    fn only_what_was_trusted_in_a_project_is_trusted_there_until_it_is_revoked() {
        let case = case();
        let (a, b) = (case.project("a"), case.project("b"));
        assert!(!case.store.trusted(&a, "1"));
        case.store.trust(&a, ["1", "2"]).unwrap();
        case.store.trust(&a, ["3", ""]).unwrap();
        for (root, hash, expected) in [
            (&a, "1", true),
            (&a, "2", true),
            (&a, "3", true),
            (&a, "4", false),
            (&a, "", false),
            (&b, "1", false),
        ] {
            assert_eq!(case.store.trusted(root, hash), expected, "{root:?} {hash:?}");
        }
        assert_eq!(case.store.list().unwrap(), [(resolved(&a), 3)]);
        assert!(case.store.revoke(&a).unwrap() && !case.store.revoke(&a).unwrap());
        assert!(!case.store.trusted(&a, "1"));
        assert_eq!(case.store.list().unwrap(), []);
    }

    #[test]
    fn a_project_is_the_same_through_a_link() {
        let case = case();
        let (project, link) = (case.project("a"), case.directory.path().join("link"));
        std::os::unix::fs::symlink(&project, &link).unwrap();
        case.store.trust(&link, ["1"]).unwrap();
        assert!(case.store.trusted(&project, "1"));
    }

    #[test]
    fn the_file_is_for_its_owner_alone_and_one_that_others_can_write_trusts_nothing() {
        let case = case();
        let project = case.project("a");
        case.store.trust(&project, ["1"]).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(case.store.path()), mode(case.store.path().parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(case.store.path(), fs::Permissions::from_mode(0o620)).unwrap();
        let loaded = case.store.load();
        assert!(!loaded.trusts(&project, "1"));
        assert!(loaded.problem().unwrap().contains("can be written by others, so nothing is trusted"));
    }

    #[test]
    fn a_damaged_file_trusts_nothing_says_so_and_is_kept_when_a_new_one_is_written() {
        let case = case();
        let project = case.project("a");
        case.store.trust(&project, ["1"]).unwrap();
        for text in
            ["{", "[]", r#"{"version":2,"projects":{}}"#, r#"{"version":1,"projects":{},"x":1}"#, "\u{0}"]
        {
            fs::write(case.store.path(), text).unwrap();
            let loaded = case.store.load();
            assert!(loaded.problem().is_some() && !loaded.trusts(&project, "1"), "{text}");
            assert!(case.store.list().is_err(), "{text}");
            case.store.trust(&project, ["2"]).unwrap();
            assert_eq!(fs::read_to_string(case.store.beside("damaged")).unwrap(), text);
            assert!(case.store.trusted(&project, "2") && !case.store.trusted(&project, "1"), "{text}");
        }
    }

    #[test]
    fn a_link_in_place_of_the_file_is_not_followed() {
        let case = case();
        let project = case.project("a");
        let elsewhere = TrustStore::at(case.directory.path().join("elsewhere.json"));
        elsewhere.trust(&project, ["1"]).unwrap();
        fs::create_dir(case.store.path().parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), case.store.path()).unwrap();
        assert!(case.store.load().problem().is_some() && !case.store.trusted(&project, "1"));
    }

    #[test]
    fn processes_that_trust_at_once_lose_nothing() {
        let case = case();
        let roots: Vec<PathBuf> = (0..8).map(|n| case.project(&n.to_string())).collect();
        std::thread::scope(|scope| {
            for root in &roots {
                // Each thread has its own store, like separate processes.
                let store = TrustStore::at(case.store.path());
                scope.spawn(move || {
                    for n in 0..5 {
                        store.trust(root, [n.to_string().as_str()]).unwrap();
                    }
                });
            }
        });
        assert!(case.store.list().unwrap().iter().all(|(_, hashes)| *hashes == 5));
        assert_eq!(case.store.list().unwrap().len(), 8);
        let left: Vec<_> = fs::read_dir(case.store.path().parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 2, "the list and its lock: {left:?}");
    }

    #[test]
    fn the_oldest_contents_are_forgotten_first() {
        let case = case();
        let project = case.project("a");
        let hashes: Vec<String> = (0..HASHES_MAX).map(|n| n.to_string()).collect();
        let contents =
            TrustContents { version: VERSION, projects: [(key(&project).unwrap(), hashes)].into() };
        fs::create_dir(case.store.path().parent().unwrap()).unwrap();
        case.store
            .replace(
                case.store.path().parent().unwrap(),
                serde_json::to_string(&contents).unwrap().as_bytes(),
            )
            .unwrap();
        case.store.trust(&project, ["0", "new"]).unwrap();
        let trusted = case.store.load();
        assert!(
            trusted.trusts(&project, "0")
                && trusted.trusts(&project, "new")
                && !trusted.trusts(&project, "1")
        );
    }

    #[test]
    fn the_hash_is_sha_256_in_hex() {
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
