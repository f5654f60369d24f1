//! The idle connections of a pool.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;

/// Maximum idle time of a connection.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The idle connections of one endpoint, longest idle first.
#[derive(Default)]
pub(crate) struct IdleConnections(Mutex<IdleList>);

#[derive(Default)]
struct IdleList {
    lines: Vec<(Instant, Box<Connection>)>,
    /// Closes connections that are idle too long.
    sweeper: Option<AbortHandle>,
}

/// A weak reference to a connection's pool, which may be gone by the time the response is read.
#[derive(Clone)]
pub(crate) struct ConnectionHome(Weak<IdleConnections>);

impl IdleConnections {
    /// Takes the most recently used connection. The server may have closed it; that shows on use.
    pub fn take(&self) -> Option<Box<Connection>> {
        let (since, line) = self.change(|lines| lines.lines.pop())?;
        (since.elapsed() < IDLE_MAX).then_some(line)
    }

    /// Returns a weak reference, for connections to come back to.
    pub fn home(self: &Arc<Self>) -> ConnectionHome {
        ConnectionHome(Arc::downgrade(self))
    }

    /// Closes connections that are idle too long; returns when the next one is due.
    fn sweep(&self) -> Option<Instant> {
        let now = Instant::now();
        let (closed, next) = self.change(|lines| {
            let old = lines.lines.iter().take_while(|(since, _)| *since + IDLE_MAX <= now).count();
            let closed: Vec<_> = lines.lines.drain(..old).collect();
            let next = lines.lines.first().map(|(since, _)| *since + IDLE_MAX);
            if next.is_none() {
                lines.sweeper = None;
            }
            (closed, next)
        });
        drop(closed);
        next
    }

    fn change<T>(&self, change: impl FnOnce(&mut IdleList) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ConnectionHome {
    /// Takes a connection back for reuse.
    pub fn keep(&self, line: Box<Connection>) {
        let Some(idle) = self.0.upgrade() else { return };
        idle.change(|lines| {
            lines.lines.push((Instant::now(), line));
            if lines.sweeper.as_ref().is_none_or(AbortHandle::is_finished) {
                lines.sweeper = self.sweeper();
            }
        });
    }

    fn sweeper(&self) -> Option<AbortHandle> {
        let (home, first) = (self.clone(), Instant::now() + IDLE_MAX);
        let sweeping = async move {
            let mut next = Some(first);
            while let Some(at) = next {
                sleep_until(at).await;
                next = home.0.upgrade().and_then(|idle| idle.sweep());
            }
        };
        Some(Handle::try_current().ok()?.spawn(sweeping).abort_handle())
    }
}

impl Drop for IdleConnections {
    fn drop(&mut self) {
        if let Some(sweeper) = self.change(|lines| lines.sweeper.take()) {
            sweeper.abort();
        }
    }
}

impl std::fmt::Debug for IdleConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Idle").field(&self.change(|lines| lines.lines.len())).finish()
    }
}
