//! Acquires write leases of tasks, and guards writes against lost ones.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::edits::{FileChange, FileImage};
use posse_core::event::{Event, WaitCause};
use posse_core::grant::{Grant, Rights};
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::lease::{
    self, SILENCE_MS_MAX, WritePaths, WritingCommand, are_within, conflict, conflicting_leases, still_writing,
};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

use crate::context::now_ms;
use crate::driver::DriverPorts;
use crate::images::ImageLedger;
use crate::journal::TaskJournal;
use crate::liveness::lives;
use crate::ports::{LeaseRequest, Store, TaskRow};
use crate::toolbox::Toolbox;

/// Poll interval of a task that waits for its lease.
pub(crate) const LEASE_POLL: Duration = Duration::from_millis(250);

/// Decides which lease holders count as dead.
#[derive(Clone, Copy)]
pub struct HolderLiveness {
    /// Tells whether the process that drives a running task is alive.
    pub lives: fn(&TaskRow) -> bool,
    /// A holder without a heartbeat for longer than this is dead, whatever its process does.
    pub silence_ms_max: u64,
}

impl Default for HolderLiveness {
    /// Declares no process dead; only silence counts.
    fn default() -> Self {
        Self { lives: |_| true, silence_ms_max: SILENCE_MS_MAX }
    }
}

impl HolderLiveness {
    /// Builds a lease request for a task's paths.
    pub async fn request(
        &self,
        store: &dyn Store,
        task: &TaskId,
        places: WritePaths,
    ) -> Result<LeaseRequest> {
        let held = store.leases().await?;
        let mut dead = Vec::new();
        for lease in conflicting_leases(&places, task, &[], &held) {
            let row = store.task(&lease.task).await?;
            if !(self.lives)(&row) {
                dead.push(lease.token);
            }
        }
        Ok(LeaseRequest { places, dead, silence_ms_max: self.silence_ms_max, now_ms: now_ms() })
    }

    /// Finds a command of another task that started before this task's lease (`token`) and may still write to its paths.
    async fn still_writing(
        &self,
        store: &dyn Store,
        task: &TaskId,
        token: u64,
        places: &WritePaths,
    ) -> Result<Option<WritingCommand>> {
        let running = store.commands().await?;
        for command in still_writing(places, task, token, &running) {
            // The supervisor has ended the command of a dead holder by then.
            let is_gone = command.by.is_expired(now_ms(), self.silence_ms_max);
            if !is_gone && (self.lives)(&store.task(&command.by.task).await?) {
                return Ok(Some(command.clone()));
            }
        }
        Ok(None)
    }
}

/// Returns the write paths that a task leases: the requested ones, or its agent's. They are within the paths of every
/// ancestor; a task without paths of its own writes where its ancestors may, and leases nothing.
pub fn own_write_paths(above: &Grant, agent: &Rights, asked: &Rights, grant: &Grant) -> Result<Vec<String>> {
    let (of_agent, asked) = (agent.write_paths.as_deref(), asked.write_paths.as_deref());
    let Some(own) = asked.or(of_agent).filter(|own| !own.is_empty() && grant.can_write()) else {
        return Ok(Vec::new());
    };
    let mut outer = above.write_paths().chain(asked.and(of_agent));
    if let Some(outer) = outer.find(|outer| !are_within(own, outer)) {
        let text = localized!("write-paths-not-within", own = own.join(", "), outer = outer.join(", "));
        return Err(
            Error::new(ErrorCode::InvalidRequest, text).hint(localized!("write-paths-not-within-hint"))
        );
    }
    Ok(own.to_vec())
}

/// Refuses a write on behalf of a task to paths that another living task has leased.
pub async fn refuse_leased(store: &dyn Store, task: &TaskId, wanted: WritePaths) -> Result<()> {
    let mut living = Vec::new();
    for lease in store.leases().await? {
        if lives(&store.task(&lease.task).await?) {
            living.push(lease);
        }
    }
    match conflicting_leases(&wanted, task, &[], &living) {
        none if none.is_empty() => Ok(()),
        some => Err(conflict(&wanted, &some)),
    }
}

pub(crate) fn write_paths_of(start: &TaskStart) -> Result<Option<WritePaths>> {
    match start.write_lease.is_empty() {
        true => Ok(None),
        false => WritePaths::parse(&start.workspace, &start.write_lease).map(Some),
    }
}

/// Creates the event of a task that waits for the lease of its write paths.
pub(crate) fn lease_wait(paths: Vec<String>) -> Event {
    Event::Waiting { why: WaitCause::Lease, paths, retry_ms: None }
}

/// Acquires a task's lease before its first step, waiting until it is free or the task is stopped. Returns its token.
pub(crate) async fn wait(
    ports: &DriverPorts,
    task: &TaskId,
    journal: &TaskJournal,
    start: &TaskStart,
) -> Result<Option<u64>> {
    let Some(places) = write_paths_of(start)? else { return Ok(None) };
    let mut told = false;
    let mut tell = |paths: Vec<String>| {
        if !std::mem::replace(&mut told, true) {
            journal.observe_now(lease_wait(paths));
        }
    };
    loop {
        let request = ports.holders.request(&*ports.store, task, places.clone()).await?;
        match ports.store.lease(task, journal.epoch(), request).await {
            Ok(token) => {
                let busy = ports.holders.still_writing(&*ports.store, task, token, &places).await?;
                if busy.is_none() {
                    return Ok(Some(token));
                }
                tell(places.paths.clone());
            }
            Err(e) if e.code() == ErrorCode::LeaseConflict => {
                tell(places.paths.clone());
            }
            Err(e) => return Err(e),
        }
        if !pause_before_retry(ports).await {
            return Ok(None);
        }
    }
}

/// Returns `false` if the task is stopped.
async fn pause_before_retry(ports: &DriverPorts) -> bool {
    tokio::select! {
        () = tokio::time::sleep(LEASE_POLL) => true,
        () = ports.stop.soon.cancelled() => false,
        () = ports.stop.now.cancelled() => false,
    }
}

/// Checks a file write of a task right before the rename: refused if another process drives the task, if its lease is not
/// the one that the call began with, or if the file is leased to another task.
pub struct LeaseGuard {
    store: Arc<dyn Store>,
    task: TaskId,
    journal: TaskJournal,
    epoch: u64,
    token: Option<u64>,
    workspace: String,
    silence_ms_max: u64,
    images: Arc<ImageLedger>,
    tools: Toolbox,
    /// Store error that ends the run, as with every step that cannot be persisted.
    failure: Mutex<Option<Error>>,
}

/// State of a task's right to write, for the supervisor of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseHolding {
    Held,
    /// The owner's last heartbeat is too old, or the store cannot be read.
    Doubtful,
    Lost,
}

/// A process that may write, from before its start to its end.
pub struct WritingProcess {
    fence: Arc<LeaseGuard>,
    /// Id of the running-command note, if the task has no lease of its own.
    command: Option<u64>,
    /// Paths leased to others that the process must not write: relative to the workspace, with everything below; an
    /// empty path is the workspace.
    pub closed: Vec<String>,
}

impl WritingProcess {
    /// Returns the guard that checks the lease before each write.
    pub fn fence(&self) -> &Arc<LeaseGuard> {
        &self.fence
    }
}

impl Drop for WritingProcess {
    fn drop(&mut self) {
        // Without a runtime the task has ended, and the note with it.
        if let (Some(token), Ok(runtime)) = (self.command, tokio::runtime::Handle::try_current()) {
            let fence = self.fence.clone();
            // Waiting tasks poll; if the store fails here, the note ends with the task.
            runtime.spawn(async move { fence.store.end_command(&fence.task, token).await });
        }
    }
}

/// Returns the fencing token of the task's lease, acquiring it if needed. The inner error is for the model.
async fn token(
    ports: &DriverPorts,
    task: &TaskId,
    epoch: u64,
    places: WritePaths,
) -> Result<Result<u64, String>> {
    let now = ports.store.writing(task).await?;
    let own = now.leases.iter().find(|lease| lease.task == *task && lease.places == places);
    if let Some(own) = own {
        return Ok(Ok(own.token));
    }
    let request = ports.holders.request(&*ports.store, task, places.clone()).await?;
    match ports.store.lease(task, epoch, request).await {
        Ok(token) => {
            while ports.holders.still_writing(&*ports.store, task, token, &places).await?.is_some() {
                if !pause_before_retry(ports).await {
                    return Ok(Err("refused: the task is to stop; nothing was run".to_owned()));
                }
            }
            Ok(Ok(token))
        }
        Err(e) if e.code() == ErrorCode::LeaseConflict => {
            let why = format!(
                "this task was silent for too long and lost its write paths: {}; nothing was run",
                e.advice().unwrap_or_default().english()
            );
            Ok(Err(format!("refused: {why}")))
        }
        Err(e) => Err(e),
    }
}

impl LeaseGuard {
    /// Guards a call that is about to be made. A lost lease is acquired again: the file tools notice changes made
    /// meanwhile. The inner error is for the model; the outer one ends the run.
    pub(crate) async fn acquire(
        ports: &DriverPorts,
        task: &TaskId,
        journal: &TaskJournal,
        start: &TaskStart,
        images: &Arc<ImageLedger>,
    ) -> Result<Result<LeaseGuard, String>> {
        let epoch = journal.epoch();
        let token = match write_paths_of(start)? {
            None => None,
            // Boxed: most tasks have no lease, and every call with an effect passes here.
            Some(places) => match Box::pin(token(ports, task, epoch, places)).await? {
                Ok(token) => Some(token),
                Err(why) => return Ok(Err(why)),
            },
        };
        Ok(Ok(LeaseGuard {
            store: ports.store.clone(),
            task: task.clone(),
            journal: journal.clone(),
            epoch,
            token,
            workspace: start.workspace.clone(),
            silence_ms_max: ports.holders.silence_ms_max,
            images: images.clone(),
            tools: ports.tools.clone(),
            failure: Mutex::default(),
        }))
    }

    /// Guards a process that is about to start. It is noted before leases are read, so a task that gets a lease later
    /// knows of it and waits for its end. The refusal is for the model.
    pub async fn run(self: &Arc<Self>, grant: &Grant) -> Result<WritingProcess, String> {
        let failed = |e: Error| {
            self.fail(e, |why| {
                format!("whether this may be run cannot be told ({}); nothing was run", why.english())
            })
        };
        let mut running = WritingProcess { fence: self.clone(), command: None, closed: Vec::new() };
        if self.token.is_none() {
            let paths = grant.write_paths().last().map_or_else(|| vec!["**".to_owned()], <[String]>::to_vec);
            let places = WritePaths { workspace: self.workspace.clone(), paths };
            let noted = self.store.begin_command(&self.task, self.epoch, places, now_ms()).await;
            running.command = Some(noted.map_err(failed)?);
        }
        let now = self.store.writing(&self.task).await.map_err(failed)?;
        running.closed = lease::closed_to(&now, &self.task, &self.workspace);
        Ok(running)
    }

    /// Journals a file's content before it is replaced. After a refusal, which is for the model, nothing may be replaced.
    pub async fn save(&self, image: FileImage) -> Result<(), String> {
        let Some(image) = self.images.admit(image, self.tools.redactor()) else { return Ok(()) };
        self.journal.note(Record::Saved { image });
        let written = self.journal.commit().await;
        written.map_err(|e| {
            self.fail(e, |why| {
                format!("whether this may be written cannot be told ({}); nothing was written", why.english())
            })
        })
    }

    /// Returns the change that this call announced for a file, in this process or an earlier one.
    pub fn saved(&self, key: CallKey, path: &str) -> Option<FileChange> {
        self.images.announced(key, path)
    }

    fn fail(&self, e: Error, refusal: impl Fn(&LocalizedText) -> String) -> String {
        let why = refusal(e.message());
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
        why
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the epoch of the driver that makes the call.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns how long an owner may be silent before others may take its lease.
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.silence_ms_max)
    }

    /// Reads the state of the lease. A heartbeat must be recent: ending the process takes time, too.
    pub async fn holding(&self) -> LeaseHolding {
        let Ok(now) = self.store.writing(&self.task).await else { return LeaseHolding::Doubtful };
        let own = |token: u64| now.leases.iter().any(|lease| lease.task == self.task && lease.token == token);
        match now_ms().saturating_sub(now.seen_ms) <= self.silence_ms_max / 4 {
            _ if now.epoch != self.epoch || self.token.is_some_and(|token| !own(token)) => LeaseHolding::Lost,
            true => LeaseHolding::Held,
            false => LeaseHolding::Doubtful,
        }
    }

    /// Permits a write to `path`: relative to the workspace, with links resolved. The refusal is for the model.
    pub async fn permit(&self, path: &str) -> Result<(), String> {
        // A check that cannot be made counts as refused.
        let now = self.store.writing(&self.task).await;
        let now = now.map_err(|e| {
            format!(
                "whether this may be written cannot be told ({}); nothing was written",
                e.message().english()
            )
        })?;
        lease::permit(&now, &self.task, self.epoch, self.token, &self.workspace, path)
    }
}
