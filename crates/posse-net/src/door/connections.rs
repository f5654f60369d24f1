//! Connection limits. A connection is unauthenticated until it presents the token. Both kinds have separate
//! limits, so that unauthenticated connections cannot crowd out clients. One connection too many evicts the
//! oldest unauthenticated one of its peer, which has had time to send its head.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Maximum authenticated connections unless the server says otherwise; each may hold a long-lived stream.
const KNOWN_MAX: usize = 256;
/// Maximum unauthenticated connections. A head arrives within milliseconds, so this suffices for hundreds of
/// clients per second.
const STRANGERS_MAX: usize = 256;
/// Maximum unauthenticated connections of one peer.
const PEER_MAX: usize = 128;

/// The open connections of a server.
pub struct ConnectionTable {
    known_max: usize,
    connections: Mutex<Connections>,
}

impl Default for ConnectionTable {
    fn default() -> Self {
        Self::with_known_max(KNOWN_MAX)
    }
}

#[derive(Default)]
struct Connections {
    next: u64,
    /// Oldest first.
    strangers: VecDeque<UnknownPeer>,
    known: usize,
}

struct UnknownPeer {
    id: u64,
    peer: IpAddr,
    evicted: CancellationToken,
}

impl ConnectionTable {
    /// Creates a table for this many authenticated connections.
    pub fn with_known_max(known_max: usize) -> Self {
        Self { known_max, connections: Mutex::default() }
    }

    /// Registers a connection, and evicts an unauthenticated one if there are too many.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> ConnectionPlace {
        let (peer, evicted) = (peer(address), CancellationToken::new());
        let mut connections = self.lock();
        connections.next += 1;
        let id = connections.next;
        connections.strangers.push_back(UnknownPeer { id, peer, evicted: evicted.clone() });
        connections.evict(peer);
        ConnectionPlace { table: self.clone(), id, evicted, is_known: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    fn evict(&mut self, newest: IpAddr) {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in &self.strangers {
            *counts.entry(stranger.peer).or_default() += 1;
        }
        let crowd = match counts[&newest] > PEER_MAX {
            true => Some(newest),
            false if self.strangers.len() > STRANGERS_MAX => {
                counts.into_iter().max_by_key(|(_, count)| *count).map(|(peer, _)| peer)
            }
            false => None,
        };
        let oldest =
            crowd.and_then(|crowd| self.strangers.iter().position(|stranger| stranger.peer == crowd));
        if let Some(stranger) = oldest.and_then(|at| self.strangers.remove(at)) {
            stranger.evicted.cancel();
        }
    }
}

/// A connection's slot in the table, freed on drop.
pub struct ConnectionPlace {
    table: Arc<ConnectionTable>,
    id: u64,
    evicted: CancellationToken,
    is_known: AtomicBool,
}

impl ConnectionPlace {
    /// Marks the connection as authenticated; returns `false` if no slot is left.
    pub fn admit(&self) -> bool {
        if self.is_known.load(Ordering::Relaxed) {
            return true;
        }
        let mut connections = self.table.lock();
        if connections.known >= self.table.known_max {
            return false;
        }
        // A connection evicted just now is no longer in the list, and stays connected.
        connections.strangers.retain(|stranger| stranger.id != self.id);
        connections.known += 1;
        self.is_known.store(true, Ordering::Relaxed);
        true
    }

    /// Resolves when an unauthenticated connection is evicted.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
        if self.is_known.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut connections = self.table.lock();
        match self.is_known.load(Ordering::Relaxed) {
            true => connections.known -= 1,
            false => connections.strangers.retain(|stranger| stranger.id != self.id),
        }
    }
}

/// Reduces an IPv6 address to its /64 network, because one peer owns 2^64 addresses.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_evicted(place: &ConnectionPlace) -> bool {
        place.evicted.is_cancelled()
    }

    #[test]
    fn a_crowd_of_one_peer_evicts_its_own_oldest_and_nobody_else() {
        let table = Arc::new(ConnectionTable::default());
        let other = table.enter("10.0.0.1".parse().unwrap());
        let crowd: Vec<_> = (0..PEER_MAX + 20).map(|_| table.enter("10.0.0.2".parse().unwrap())).collect();
        let evicted = crowd.iter().filter(|place| is_evicted(place)).count();
        assert_eq!((evicted, is_evicted(&other)), (20, false));
        assert!(crowd[..20].iter().all(is_evicted), "the oldest went first");
        assert!(other.admit() && crowd[0].admit(), "whoever has the token stays");
    }

    #[test]
    fn many_peers_evict_the_oldest_of_the_largest_crowd() {
        let table = Arc::new(ConnectionTable::default());
        let address = |n: usize| IpAddr::from([10, 1, (n / 256) as u8, (n % 256) as u8]);
        let pair = [table.enter(address(0)), table.enter(address(0))];
        let others: Vec<_> = (1..STRANGERS_MAX).map(|n| table.enter(address(n))).collect();
        assert!(is_evicted(&pair[0]) && !is_evicted(&pair[1]) && !others.iter().any(is_evicted));
    }

    #[test]
    fn known_clients_have_places_of_their_own_and_give_them_back() {
        let table = Arc::new(ConnectionTable::default());
        let home: IpAddr = "127.0.0.1".parse().unwrap();
        let known: Vec<_> =
            (0..KNOWN_MAX).map(|_| table.enter(home)).inspect(|place| assert!(place.admit())).collect();
        assert!(known[0].admit(), "once is enough");
        let late = table.enter(home);
        assert!(!late.admit(), "no place is left");
        for _ in 0..2 * STRANGERS_MAX {
            drop(table.enter(home));
        }
        drop(known.into_iter().next());
        assert!(table.enter(home).admit());
        drop(late);
        let left = table.lock();
        assert_eq!((left.known, left.strangers.len()), (0, 0));
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let same = |a: &str, b: &str| peer(a.parse().unwrap()) == peer(b.parse().unwrap());
        assert!(same("2001:db8:1:2:3::4", "2001:db8:1:2:ffff::1") && same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1") && !same("10.0.0.1", "10.0.0.2"));
    }
}
