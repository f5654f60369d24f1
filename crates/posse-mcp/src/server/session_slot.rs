//! Late access to the session. Opening it can take a while, because its agents' MCP servers list their tools
//! first. Until then the handler can already greet hosts and list its tools.

use std::sync::Arc;

use posse_runtime::session::HostSession;
use tokio::sync::watch;

/// A handle to a session that may not be open yet.
#[derive(Clone)]
pub struct SessionSlot(watch::Receiver<Option<Arc<HostSession>>>);

/// Opens the session, once. Dropping it unused means that the session never opens.
pub struct SlotOpener(watch::Sender<Option<Arc<HostSession>>>);

impl SessionSlot {
    /// Creates a closed handle and its opener.
    pub fn closed() -> (SlotOpener, Self) {
        let (sender, receiver) = watch::channel(None);
        (SlotOpener(sender), Self(receiver))
    }

    /// Returns the session if it is open now.
    pub fn hosted(&self) -> Option<Arc<HostSession>> {
        self.0.borrow().clone()
    }

    /// Waits for the session; `None` if it never opens.
    pub async fn opened(&self) -> Option<Arc<HostSession>> {
        self.0.clone().wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl SlotOpener {
    /// Publishes the session to all waiters.
    pub fn open(&self, hosted: Arc<HostSession>) {
        self.0.send_replace(Some(hosted));
    }
}
