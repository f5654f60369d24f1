//! Which files count: of several agents with one name the nearest, in a version that grows when what it says changes.
//!
//! A snapshot never changes; whoever holds one keeps the agents as they were. Nothing that was found is left out: a
//! broken file keeps its name and tells its errors, a shadowed one is listed with what hides it.

mod extend;
mod files;
mod lookup;
mod rank;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::definition::{Definition, Read, Remark};
use posse_messages::localized;

use crate::builtin;
use crate::places::find::warning;
use crate::places::{Directory, Places};
use crate::read::File;
use crate::trust::{Trust, Trusted};

/// Turns one file into what it says; `posse_definitions::read` in the product.
pub type Reader = fn(File<'_>) -> Vec<Read>;

pub struct Registry {
    places: Places,
    directories: Vec<Directory>,
    reader: Reader,
    trust: Trust,
    /// Held while files are read, so that no reload overtakes another.
    known: Mutex<Known>,
    current: RwLock<Arc<Snapshot>>,
}

/// Every agent there is, at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// In the order of names.
    entries: Vec<Entry>,
    /// About directories and the list of trusted files; those about an agent stand with it.
    remarks: Vec<Remark>,
}

/// Everything that is known about one name.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    /// Starts at 1 and grows when the content changes, its own or that of what it extends.
    pub version: u32,
    pub state: State,
    pub chosen: Candidate,
    /// The others of that name, in the order in which they would be chosen.
    pub shadowed: Vec<Candidate>,
}

/// One agent that was found in a file.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub read: Arc<Read>,
    pub standing: Standing,
    /// What came up when it was put beside the others; those of the file alone are in `read`.
    pub remarks: Vec<Remark>,
}

/// Whether what a file says may be acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Trusted,
    /// Nobody said yes to this content.
    NotTrusted,
    /// A file of the project that belongs to somebody else, which no yes can change.
    NotOurs,
}

/// Whether the agent can be asked.
#[derive(Debug, Clone)]
pub enum State {
    Ready(Ready),
    Disabled,
    /// The file, its own or one that it extends, and why not.
    NotTrusted {
        path: String,
        standing: Standing,
        /// What it will be once it is trusted. For the person who decides that; never for a model.
        then: Box<State>,
    },
    /// What is wrong, at least one thing.
    Invalid(Vec<Remark>),
}

/// An agent together with everything that it extends.
#[derive(Debug, Clone)]
pub struct Ready(Whole);

#[derive(Debug, Clone)]
enum Whole {
    /// It extends nothing, so it is what its file says. Most are, and they are not copied.
    Alone(Arc<Read>),
    Joined(Arc<Definition>),
}

/// What is remembered from one look at the files to the next.
struct Known {
    builtin: Vec<Arc<Read>>,
    files: files::Files,
    trusted: Trusted,
    versions: rank::Versions,
}

impl Registry {
    /// Reads every file of `places`. Never fails: what is wrong is in the snapshot.
    pub fn load(places: Places, reader: Reader, trust: Trust) -> Self {
        let builtin =
            builtin::files().flat_map(|file| files::read_safely(reader, file)).map(Arc::new).collect();
        let known = Known {
            builtin,
            files: files::Files::default(),
            trusted: Trusted::default(),
            versions: rank::Versions::default(),
        };
        let registry = Self {
            directories: places.directories(),
            places,
            reader,
            trust,
            known: Mutex::new(known),
            current: RwLock::default(),
        };
        {
            let mut known = registry.known();
            registry.look(&mut known, now_s());
            registry.publish(&mut known);
        }
        registry
    }

    /// The agents as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Looks at every file and reads those that changed. Returns the new snapshot if anything is different.
    pub fn reload(&self) -> Option<Arc<Snapshot>> {
        self.reload_at(now_s())
    }

    fn reload_at(&self, now_s: i64) -> Option<Arc<Snapshot>> {
        let mut known = self.known();
        self.look(&mut known, now_s).then(|| self.publish(&mut known))
    }

    /// Whether anything is different from the last look.
    fn look(&self, known: &mut Known, now_s: i64) -> bool {
        let files_differ = known.files.look(&self.directories, self.reader, self.places.user(), now_s);
        let trusted = self.trust.load();
        let trust_differs = trusted != known.trusted;
        known.trusted = trusted;
        files_differ || trust_differs
    }

    fn publish(&self, known: &mut Known) -> Arc<Snapshot> {
        let project = self.places.root().map(|root| known.trusted.project(root));
        let builtin = known.builtin.iter().map(|read| Candidate::new(read, Standing::Trusted));
        let candidates = known.files.candidates(project).chain(builtin);
        let entries = rank::arrange(candidates, &mut known.versions);
        let mut remarks: Vec<Remark> = known.files.remarks().cloned().collect();
        remarks.extend(self.places.skipped().iter().map(|path| {
            let text = localized!("place-beyond-home", path = path.display());
            warning(text, &localized!("place-beyond-home-hint"))
        }));
        if let Some(problem) = known.trusted.problem() {
            remarks.push(warning(problem.to_owned(), &localized!("trust-writes-list")));
        }
        let snapshot = Arc::new(Snapshot { entries, remarks });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        snapshot
    }

    /// What to watch: each path that matters, whether it exists or not, with a directory above it from where on it may
    /// come into being.
    pub(crate) fn points(&self) -> Vec<(PathBuf, PathBuf)> {
        let roots = self.directories.iter().map(|directory| (directory.base.clone(), directory.path.clone()));
        let entered =
            self.known().files.entered().map(|path| (path.clone(), path.clone())).collect::<Vec<_>>();
        let list = match &self.trust {
            Trust::Store(store) => Some(store.path()),
            Trust::All | Trust::Nothing => None,
        };
        let list = list.map(|path| (path.parent().unwrap_or(Path::new("/")).to_owned(), path.to_owned()));
        roots.chain(entered).chain(list).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What it is, or will be once it is trusted.
    pub fn once_trusted(&self) -> &State {
        match self {
            State::NotTrusted { then, .. } => then,
            State::Ready(_) | State::Disabled | State::Invalid(_) => self,
        }
    }
}

impl Ready {
    pub fn definition(&self) -> &Definition {
        match &self.0 {
            Whole::Alone(read) => read.definition.as_ref().expect("only a read with a definition is ready"),
            Whole::Joined(definition) => definition,
        }
    }
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

impl Candidate {
    fn new(read: &Arc<Read>, standing: Standing) -> Self {
        Self { read: read.clone(), standing, remarks: Vec::new() }
    }

    /// Everything a person should know about it.
    pub fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.read.remarks.iter().chain(&self.remarks)
    }
}
