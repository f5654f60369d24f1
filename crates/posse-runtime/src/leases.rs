//! How a task gets its write lease, and how a write is kept from being made without it.

use std::sync::Arc;
use std::time::Duration;

use posse_core::event::Event;
use posse_core::grant::{Grant, Rights};
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::lease::{self, Places, SILENCE_MS_MAX, are_within, in_the_way};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

use crate::context::now_ms;
use crate::driver::Ports;
use crate::ports::{LeaseRequest, Store, TaskRow};

/// How often a task that waits for its lease looks whether it is free.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// Which holders of leases count as gone.
#[derive(Clone, Copy)]
pub struct Holders {
    /// Whether the process that drives a running task still lives.
    pub lives: fn(&TaskRow) -> bool,
    /// One that was not heard of for longer than this is gone, whatever its process does.
    pub silence_ms_max: u64,
}

impl Default for Holders {
    /// Nobody is taken for dead; silence alone counts.
    fn default() -> Self {
        Self { lives: |_| true, silence_ms_max: SILENCE_MS_MAX }
    }
}

impl Holders {
    pub async fn request(&self, store: &dyn Store, task: &TaskId, places: Places) -> Result<LeaseRequest> {
        let held = store.leases().await?;
        let mut dead = Vec::new();
        for lease in in_the_way(&places, task, &[], &held) {
            let row = store.task(&lease.task).await?;
            if !(self.lives)(&row) {
                dead.push(lease.token);
            }
        }
        Ok(LeaseRequest { places, dead, silence_ms_max: self.silence_ms_max, now_ms: now_ms() })
    }
}

/// The places that a task is to hold itself: what was asked for, or what its agent says. They are within those of every task
/// above it; a task that says nothing writes wherever those above it may, and holds nothing.
pub fn own_places(above: &Grant, agent: &Rights, asked: &Rights, grant: &Grant) -> Result<Vec<String>> {
    let (of_agent, asked) = (agent.write_paths.as_deref(), asked.write_paths.as_deref());
    let Some(own) = asked.or(of_agent).filter(|own| !own.is_empty() && grant.can_write()) else {
        return Ok(Vec::new());
    };
    let mut outer = above.write_paths().chain(asked.and(of_agent));
    if let Some(outer) = outer.find(|outer| !are_within(own, outer)) {
        let text = say!("write-paths-not-within", own = own.join(", "), outer = outer.join(", "));
        return Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("write-paths-not-within-hint")));
    }
    Ok(own.to_vec())
}

pub(crate) fn places_of(start: &TaskStart) -> Result<Option<Places>> {
    match start.write_lease.is_empty() {
        true => Ok(None),
        false => Places::parse(&start.workspace, &start.write_lease).map(Some),
    }
}

/// Gets a task's lease before anything of it is done, waiting until it is free or the task is to stop. Returns its token.
pub(crate) async fn wait(ports: &Ports, task: &TaskId, epoch: u64, start: &TaskStart) -> Result<Option<u64>> {
    let Some(places) = places_of(start)? else { return Ok(None) };
    let mut told = false;
    loop {
        let request = ports.holders.request(&*ports.store, task, places.clone()).await?;
        let refused = match ports.store.lease(task, epoch, request).await {
            Err(e) if e.code() == ErrorCode::LeaseConflict => e,
            answer => return answer.map(Some),
        };
        if !std::mem::replace(&mut told, true) {
            let note = say!("lease-waits", holders = refused.advice().unwrap_or_default());
            ports.observers.event(task, &Event::Noted { note });
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = ports.stop.soon.cancelled() => return Ok(None),
            () = ports.stop.now.cancelled() => return Ok(None),
        }
    }
}

/// A task whose file is about to be put in place: refused if another process drives the task, if its lease is not the
/// one that the call began with, or if the file is leased to somebody else.
pub struct Fence {
    store: Arc<dyn Store>,
    task: TaskId,
    epoch: u64,
    token: Option<u64>,
    workspace: String,
}

impl Fence {
    /// For a call that is about to be made. A lease that was lost is asked for again: what was changed meanwhile is noticed
    /// by whoever writes. The inner error is for the model; the outer one ends the run.
    pub(crate) async fn raise(
        ports: &Ports,
        task: &TaskId,
        epoch: u64,
        start: &TaskStart,
    ) -> Result<Result<Fence, String>> {
        let fence = |token| Fence {
            store: ports.store.clone(),
            task: task.clone(),
            epoch,
            token,
            workspace: start.workspace.clone(),
        };
        let Some(places) = places_of(start)? else { return Ok(Ok(fence(None))) };
        let now = ports.store.writing(task).await?;
        let own = now.leases.iter().find(|lease| lease.task == *task && lease.places == places);
        if let Some(own) = own {
            return Ok(Ok(fence(Some(own.token))));
        }
        let request = ports.holders.request(&*ports.store, task, places).await?;
        match ports.store.lease(task, epoch, request).await {
            Ok(token) => Ok(Ok(fence(Some(token)))),
            Err(e) if e.code() == ErrorCode::LeaseConflict => {
                let why = say!("lease-lost-silent", holders = e.advice().unwrap_or_default());
                Ok(Err(format!("refused: {why}")))
            }
            Err(e) => Err(e),
        }
    }

    /// `path` is relative to the workspace, with links resolved. The refusal is for the model.
    pub async fn permit(&self, path: &str) -> Result<(), String> {
        // A check that cannot be made counts as refused.
        let now = self.store.writing(&self.task).await;
        let now = now.map_err(|e| say!("write-not-decidable", why = e.message()))?;
        lease::permit(&now, &self.task, self.epoch, self.token, &self.workspace, path)
    }
}
