//! Late access to the session. Opening it can take a while, because its agents' MCP servers list their tools
//! first. Until then the handler can already greet hosts and list its tools.

use std::sync::Arc;

use posse_runtime::session::Hosted;
use tokio::sync::watch;

/// A handle to a session that may not be open yet.
#[derive(Clone)]
pub struct Entrance(watch::Receiver<Option<Arc<Hosted>>>);

/// Opens the session, once. Dropping it unused means that the session never opens.
pub struct Opener(watch::Sender<Option<Arc<Hosted>>>);

impl Entrance {
    /// Creates a closed handle and its opener.
    pub fn closed() -> (Opener, Self) {
        let (sender, receiver) = watch::channel(None);
        (Opener(sender), Self(receiver))
    }

    /// Returns the session if it is open now.
    pub fn hosted(&self) -> Option<Arc<Hosted>> {
        self.0.borrow().clone()
    }

    /// Waits for the session; `None` if it never opens.
    pub async fn opened(&self) -> Option<Arc<Hosted>> {
        self.0.clone().wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl Opener {
    /// Publishes the session to all waiters.
    pub fn open(&self, hosted: Arc<Hosted>) {
        self.0.send_replace(Some(hosted));
    }
}
