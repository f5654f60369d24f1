//! The way into a server of this program: who may connect, and how many at once. A request must present a token and address
//! this server: the `Host` check stops DNS rebinding, the `Origin` check stops pages of other sites.

mod connections;
mod guard;

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

pub use connections::{ConnectionPlace, ConnectionTable};
pub use guard::{HostError, OriginError, RequestGuard, bearer, same};

/// Time limit for a request's head.
pub const HEAD_WAIT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, for example when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Headers that keep a browser from rendering a response as a page. A response may repeat text of the
/// request, a model or a file.
pub const HARMLESS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

/// Accepts connections until `ending` fires. Each is served on a task of its own, until it ends or is evicted.
pub async fn accept<F: Future<Output = ()> + Send>(
    listener: TcpListener,
    connections: Arc<ConnectionTable>,
    ending: CancellationToken,
    converse: impl Fn(TcpStream, IpAddr, Arc<ConnectionPlace>) -> F + Clone + Send + Sync + 'static,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => return,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let place = Arc::new(connections.enter(peer.ip()));
        let converse = converse.clone();
        tokio::spawn(async move {
            tokio::select! {
                // Check an arrived token before the connection can be evicted.
                biased;
                () = converse(stream, peer.ip(), place.clone()) => {}
                () = place.evicted() => {}
            }
        });
    }
}
