//! Keeps a registry current while files change. It uses file system events and falls back to polling twice a
//! second. Polling is cheap: a file with unchanged time stamps is not opened.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use crate::registry::{AgentRegistry, RegistrySnapshot};

/// Debounce interval: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// Maximum debounce delay, for a directory that is never quiet.
const QUIET_WAIT_MAX: Duration = Duration::from_millis(400);
/// Polling interval without file system events.
const POLL_PAUSE: Duration = Duration::from_millis(500);
/// Interval of full checks; some file systems (network, shared with a host) accept a watch and never report.
const SWEEP_PAUSE: Duration = Duration::from_secs(5);
/// Maximum watches; systems allow a user a few thousand for all programs together.
const POINTS_MAX: usize = 1_024;

/// The change detection in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMethod {
    /// File system events; falls back to `Polling` if they are unavailable.
    Events,
    /// Periodic checks of the files.
    Polling,
}

/// A running watcher; dropping it ends its thread.
#[derive(Debug)]
pub struct FileWatcher {
    signal: Arc<WatchSignal>,
    polling: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Watches the registry's files. Calls `on_change` with each new snapshot from the watcher's thread, less
/// than a second after a change.
pub fn watch(
    registry: Arc<AgentRegistry>,
    how: WatchMethod,
    mut on_change: impl FnMut(&Arc<RegistrySnapshot>) + Send + 'static,
) -> Result<FileWatcher> {
    let tell = move |news: WatchNews<'_>| match news {
        WatchNews::Changed(snapshot) => on_change(snapshot),
        WatchNews::Idle => {}
    };
    start(registry, how, SWEEP_PAUSE, tell)
}

/// Messages from the watcher's thread.
enum WatchNews<'a> {
    Changed(&'a Arc<RegistrySnapshot>),
    /// All earlier changes are handled, and later ones will be noticed.
    Idle,
}

fn start(
    registry: Arc<AgentRegistry>,
    how: WatchMethod,
    sweep_pause: Duration,
    tell: impl FnMut(WatchNews<'_>) + Send + 'static,
) -> Result<FileWatcher> {
    let signal = Arc::new(WatchSignal::default());
    let polling = Arc::new(AtomicBool::new(how == WatchMethod::Polling));
    let mut work = WatchThread {
        registry,
        signal: signal.clone(),
        polling: polling.clone(),
        armed: None,
        sweep_pause,
        tell,
    };
    let thread = std::thread::Builder::new()
        .name("posse-watch".to_owned())
        .spawn(move || work.run())
        .map_err(|cause| Error::new(ErrorCode::Internal, localized!("no-thread")).caused_by(cause))?;
    Ok(FileWatcher { signal, polling, thread: Some(thread) })
}

impl FileWatcher {
    /// Returns the change detection in use.
    pub fn how(&self) -> WatchMethod {
        if self.polling.load(Ordering::Relaxed) { WatchMethod::Polling } else { WatchMethod::Events }
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        self.signal.set(|pending| pending.stop = true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has no one to report to.
            let _ = thread.join();
        }
    }
}

/// Pending work for the thread; its size stays constant however many events arrive.
#[derive(Debug, Default)]
struct WatchSignal {
    pending: Mutex<PendingWatch>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct PendingWatch {
    changed: bool,
    /// A watched directory was removed or replaced, so its watch may be dead.
    replaced: bool,
    stop: bool,
}

impl WatchSignal {
    fn set(&self, set: impl FnOnce(&mut PendingWatch)) {
        set(&mut self.lock());
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, PendingWatch> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits up to `pause` for an event, then until events stop arriving.
    fn wait(&self, pause: Duration) -> PendingWatch {
        let waiting = |pending: &mut PendingWatch| !pending.changed && !pending.stop;
        let waited = self.arrived.wait_timeout_while(self.lock(), pause, waiting);
        let mut pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        let mut all = std::mem::take(&mut *pending);
        let deadline = Instant::now() + QUIET_WAIT_MAX;
        while all.changed && !all.stop && Instant::now() < deadline {
            let waited = self.arrived.wait_timeout_while(pending, QUIET, waiting);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
            let more = std::mem::take(&mut *pending);
            all.replaced |= more.replaced;
            all.stop |= more.stop;
            if !more.changed {
                break;
            }
        }
        all
    }
}

struct WatchThread<F> {
    registry: Arc<AgentRegistry>,
    signal: Arc<WatchSignal>,
    polling: Arc<AtomicBool>,
    armed: Option<ArmedWatches>,
    sweep_pause: Duration,
    tell: F,
}

/// Active watches, with the device and inode of each directory.
struct ArmedWatches {
    points: Points,
    /// Ends its watches when dropped.
    _watcher: RecommendedWatcher,
}

type Points = BTreeMap<PathBuf, (u64, u64)>;

impl<F: FnMut(WatchNews<'_>)> WatchThread<F> {
    fn run(&mut self) {
        let mut replaced = false;
        loop {
            self.follow(replaced);
            let pause = if self.polling.load(Ordering::Relaxed) { POLL_PAUSE } else { self.sweep_pause };
            (self.tell)(WatchNews::Idle);
            let pending = self.signal.wait(pause);
            if pending.stop {
                return;
            }
            replaced = pending.replaced;
        }
    }

    /// Reloads until every directory found was watched before the reload. A change in a new directory before
    /// its watch starts is seen by the next reload.
    fn follow(&mut self, mut replaced: bool) {
        loop {
            if let Some(snapshot) = self.registry.reload() {
                (self.tell)(WatchNews::Changed(&snapshot));
            }
            if self.polling.load(Ordering::Relaxed) || !self.arm(replaced) {
                return;
            }
            replaced = false;
        }
    }

    /// Updates the watches; returns whether there are new ones.
    fn arm(&mut self, replaced: bool) -> bool {
        let matter = self.registry.points();
        let points = points(&matter);
        if !replaced && self.armed.as_ref().is_some_and(|armed| armed.points == points) {
            return false;
        }
        let matter = matter.into_iter().map(|(_, path)| path).collect();
        match ArmedWatches::new(points, matter, self.signal.clone()) {
            Ok(armed) => self.armed = Some(armed),
            Err(()) => {
                self.armed = None;
                self.polling.store(true, Ordering::Relaxed);
            }
        }
        true
    }
}

impl ArmedWatches {
    /// Sets the watches; fails if an existing directory cannot be watched.
    fn new(points: Points, matter: BTreeSet<PathBuf>, signal: Arc<WatchSignal>) -> Result<Self, ()> {
        if points.len() > POINTS_MAX {
            return Err(());
        }
        let watched: BTreeSet<PathBuf> = points.keys().cloned().collect();
        let handler = move |event: notify::Result<notify::Event>| on_event(event, &matter, &watched, &signal);
        let mut watcher = notify::recommended_watcher(handler).map_err(drop)?;
        for path in points.keys() {
            // A directory removed meanwhile is noticed by the next reload.
            if watcher.watch(path, RecursiveMode::NonRecursive).is_err() && path.exists() {
                return Err(());
            }
        }
        Ok(Self { points, _watcher: watcher })
    }
}

fn on_event(
    event: notify::Result<notify::Event>,
    matter: &BTreeSet<PathBuf>,
    watched: &BTreeSet<PathBuf>,
    signal: &WatchSignal,
) {
    let Ok(event) = event else {
        // An event was lost, so check everything.
        return signal.set(|pending| pending.changed = true);
    };
    let goes = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
    let changes = match event.kind {
        // Our own reads cause these.
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    };
    let concerns = |path: &PathBuf| matter.iter().any(|it| path.starts_with(it) || it.starts_with(path));
    if event.need_rescan() || changes && event.paths.iter().any(concerns) {
        let replaced = goes && event.paths.iter().any(|path| watched.contains(path));
        signal.set(|pending| {
            pending.changed = true;
            pending.replaced |= replaced;
        });
    }
}

/// Collects the directories to watch: every existing directory on the way to each path, so that a missing
/// path is noticed when it appears and an existing one when it vanishes.
fn points(matter: &[(PathBuf, PathBuf)]) -> Points {
    let mut points = Points::new();
    for (base, path) in matter {
        let below: Vec<&Path> = path.ancestors().take_while(|dir| dir.starts_with(base)).collect();
        // The base itself may be missing, for example a configuration directory not created yet.
        let base = base.ancestors().find(|dir| dir.is_dir());
        for directory in below.into_iter().chain(base) {
            if points.contains_key(directory) {
                continue;
            }
            if let Ok(about) = directory.metadata()
                && about.is_dir()
            {
                points.insert(directory.to_owned(), (about.dev(), about.ino()));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::Case;
    use std::fs;
    use std::sync::mpsc::{Receiver, channel};

    /// Generous: only a broken watcher takes this long.
    const DEADLINE: Duration = Duration::from_secs(20);

    struct Watching {
        case: Case,
        registry: Arc<AgentRegistry>,
        /// A snapshot, or `None` when the watcher became idle.
        news: Receiver<Option<Arc<RegistrySnapshot>>>,
        watcher: FileWatcher,
    }

    /// Starts a watcher and waits until it is idle. It never sweeps, so event tests rely on events alone.
    fn watching(case: Case, how: WatchMethod) -> Watching {
        let registry = Arc::new(case.load_with_store());
        let (sender, news) = channel();
        let tell = move |told: WatchNews<'_>| {
            let told = match told {
                WatchNews::Changed(snapshot) => Some(snapshot.clone()),
                WatchNews::Idle => None,
            };
            // The test may have ended.
            let _ = sender.send(told);
        };
        let watcher = start(registry.clone(), how, Duration::from_secs(3600), tell).unwrap();
        let watching = Watching { case, registry, news, watcher };
        assert!(watching.next("the beginning").is_none());
        watching
    }

    impl Watching {
        fn next(&self, what: &str) -> Option<Arc<RegistrySnapshot>> {
            self.news.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("not noticed: {what}"))
        }

        /// Waits until the watcher has noticed the change and is idle again.
        fn until_prompt(&self, what: &str, name: &str, prompt: Option<&str>) {
            let fits = |snapshot: &RegistrySnapshot| {
                snapshot.find(name).ok().map(|a| a.prompt.clone()).as_deref() == prompt
            };
            let mut noticed = false;
            loop {
                match self.next(what) {
                    Some(snapshot) => noticed = fits(&snapshot),
                    None if noticed => break,
                    None => {}
                }
            }
            assert!(fits(&self.registry.snapshot()));
        }
    }

    fn life_of_a_file(how: WatchMethod) {
        let case = Case::new();
        case.write("home/.posse/agents/a.md", "one");
        let w = watching(case, how);
        w.case.write("home/.posse/agents/a.md", "two");
        w.until_prompt("a change", "a", Some("two"));
        w.case.write("home/.posse/new", "three");
        fs::rename(w.case.path("home/.posse/new"), w.case.path("home/.posse/agents/a.md")).unwrap();
        w.until_prompt("a replacement", "a", Some("three"));
        w.case.write("home/.posse/agents/b.md", "b");
        w.until_prompt("a new file", "b", Some("b"));
        w.case.remove("home/.posse/agents/a.md");
        w.until_prompt("a removal", "a", None);
        assert_eq!(w.watcher.how(), how);
    }

    #[test]
    fn the_life_of_a_file_is_followed_by_events() {
        life_of_a_file(WatchMethod::Events);
    }

    #[test]
    fn the_life_of_a_file_is_followed_by_polling() {
        life_of_a_file(WatchMethod::Polling);
    }

    #[test]
    fn directories_that_come_later_go_and_come_back_are_followed() {
        let w = watching(Case::new(), WatchMethod::Events);
        w.case.write("home/.claude/agents/deep/a.md", "one");
        w.until_prompt("a directory that did not exist", "a", Some("one"));
        w.case.write("home/.claude/agents/deep/a.md", "two");
        w.until_prompt("a change in it", "a", Some("two"));
        fs::remove_dir_all(w.case.path("home/.claude")).unwrap();
        w.until_prompt("its removal", "a", None);
        w.case.write("home/.claude/agents/a.md", "three");
        w.until_prompt("its return", "a", Some("three"));
        fs::rename(w.case.path("home/.claude"), w.case.path("home/away")).unwrap();
        w.until_prompt("its departure", "a", None);
        fs::rename(w.case.path("home/away"), w.case.path("home/.claude")).unwrap();
        w.until_prompt("its arrival", "a", Some("three"));
        w.case.write("home/.claude/agents/a.md", "four");
        w.until_prompt("a change after it", "a", Some("four"));
        assert_eq!(w.watcher.how(), WatchMethod::Events);
    }

    #[test]
    fn a_directory_of_agents_that_comes_into_one_that_was_there_is_followed() {
        let case = Case::new();
        fs::create_dir_all(case.path("home/.claude")).unwrap();
        let w = watching(case, WatchMethod::Events);
        w.case.write("home/.claude/agents/a.md", "one");
        w.until_prompt("a directory", "a", Some("one"));
    }

    #[test]
    fn what_comes_into_a_new_directory_before_it_is_watched_is_not_missed() {
        let case = Case::new();
        let registry = Arc::new(case.load());
        let (sender, news) = channel();
        let path = case.path("home/.claude/agents/b.md");
        let tell = move |told: WatchNews<'_>| {
            // The files were checked, and the new directory has no watch yet.
            if let WatchNews::Changed(snapshot) = told {
                fs::write(&path, "b").unwrap();
                let _ = sender.send(snapshot.find("b").is_ok());
            }
        };
        let _watcher = start(registry, WatchMethod::Events, Duration::from_secs(3600), tell).unwrap();
        case.write("home/.claude/agents/a.md", "a");
        while !news.recv_timeout(DEADLINE).expect("both files are noticed") {}
    }

    #[test]
    fn too_many_directories_to_watch_are_looked_at_instead() {
        let case = Case::new();
        for number in 0..=POINTS_MAX {
            fs::create_dir_all(case.path(&format!("home/.claude/agents/{number}"))).unwrap();
        }
        let w = watching(case, WatchMethod::Events);
        assert_eq!(w.watcher.how(), WatchMethod::Polling);
        w.case.write("home/.claude/agents/7/a.md", "one");
        w.until_prompt("a new file", "a", Some("one"));
    }

    #[test]
    fn a_yes_in_another_process_is_noticed() {
        let case = Case::new();
        case.write("project/.posse/agents/a.md", "one");
        let w = watching(case, WatchMethod::Events);
        let snapshot = w.registry.snapshot();
        let hashes = snapshot.untrusted().map(|candidate| candidate.read.origin.hash.as_str());
        w.case.store().trust(w.registry.places().root().unwrap(), hashes).unwrap();
        w.until_prompt("trust", "a", Some("one"));
    }

    #[test]
    fn what_happens_beside_the_agents_and_our_own_reading_wake_nobody() {
        let matter = [PathBuf::from("/p/.posse/agents")].into();
        let watched = [PathBuf::from("/p"), PathBuf::from("/p/.posse")].into();
        let tell = |kind: EventKind, path: &str| {
            let signal = WatchSignal::default();
            on_event(Ok(notify::Event::new(kind).add_path(path.into())), &matter, &watched, &signal);
            let pending = signal.lock();
            (pending.changed, pending.replaced)
        };
        use notify::event::{CreateKind, RemoveKind};
        let created = EventKind::Create(CreateKind::Any);
        let removed = EventKind::Remove(RemoveKind::Any);
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert_eq!(tell(created, "/p/target"), (false, false));
        assert_eq!(tell(opened, "/p/.posse/agents/a.md"), (false, false));
        assert_eq!(tell(written, "/p/.posse/agents/a.md"), (true, false));
        assert_eq!(tell(created, "/p/.posse"), (true, false));
        assert_eq!(tell(removed, "/p/.posse/agents/a.md"), (true, false));
        assert_eq!(tell(removed, "/p/.posse"), (true, true));
    }

    #[test]
    fn dropping_ends_the_thread() {
        let w = watching(Case::new(), WatchMethod::Events);
        drop(w.watcher);
        // The thread held the sender, so the channel closes when the thread ends.
        assert_eq!(w.news.try_iter().count(), 0);
        assert!(matches!(w.news.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected)));
    }
}
