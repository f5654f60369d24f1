//! The way into the session behind a door. Opening one can take a while, because servers that its agents use are asked for their tools
//! first; meanwhile a host is greeted and told what it can call.

use std::sync::Arc;

use posse_runtime::session::Hosted;
use tokio::sync::watch;

#[derive(Clone)]
pub struct Entrance(watch::Receiver<Option<Arc<Hosted>>>);

/// Opens it, once. If this is dropped before, nobody gets in.
pub struct Opener(watch::Sender<Option<Arc<Hosted>>>);

impl Entrance {
    pub fn closed() -> (Opener, Self) {
        let (sender, receiver) = watch::channel(None);
        (Opener(sender), Self(receiver))
    }

    /// The session, if it is open now.
    pub fn hosted(&self) -> Option<Arc<Hosted>> {
        self.0.borrow().clone()
    }

    /// Waits until it is open; `None` if it never will be.
    pub async fn opened(&self) -> Option<Arc<Hosted>> {
        self.0.clone().wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl Opener {
    pub fn open(&self, hosted: Arc<Hosted>) {
        self.0.send_replace(Some(hosted));
    }
}
