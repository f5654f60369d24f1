//! Which hosts a task may reach, as a value: it can be narrowed, compared and asked.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use crate::confinement::NetworkReach;
use crate::error::{Error, ErrorCode, Result};
use crate::text::{prefix, visible};
use crate::web::{WebHost, authority_of};

/// More hosts than a person lists.
const HOSTS_MAX: usize = 1_000;

/// Hosts that may be reached; none, all, or those that one of the patterns fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct NetworkGrant(Arc<BTreeSet<HostPattern>>);

/// `docs.rs` is that host alone, `*.docs.rs` every host below it, `*` every host; with `:8443` at that port only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    hosts: AllowedHosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AllowedHosts {
    All,
    /// A name without the dot in front of it.
    Below(String),
    One(WebHost),
}

impl NetworkGrant {
    /// Allows every host.
    pub fn full() -> Self {
        Self(Arc::new(BTreeSet::from([HostPattern { hosts: AllowedHosts::All, port: None }])))
    }

    /// Allows no host.
    pub fn none() -> Self {
        Self(Arc::default())
    }

    /// Parses host patterns.
    pub fn parse(hosts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let hosts = hosts.into_iter().map(|host| HostPattern::parse(host.as_ref()));
        let hosts: BTreeSet<HostPattern> = hosts.take(HOSTS_MAX + 1).collect::<Result<_>>()?;
        if hosts.len() > HOSTS_MAX {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("hosts-too-many")));
        }
        Ok(Self(Arc::new(hosts)))
    }

    /// Tells whether the host and port may be reached.
    pub fn allows(&self, host: &WebHost, port: u16) -> bool {
        self.0.iter().any(|pattern| pattern.fits(host, port))
    }

    /// Tells whether every host is allowed.
    pub fn is_full(&self) -> bool {
        self.0.iter().any(|pattern| pattern.hosts == AllowedHosts::All && pattern.port.is_none())
    }

    /// Tells whether no host is allowed.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ports a process can be given. The kernel cannot restrict hosts.
    pub fn reach(&self) -> NetworkReach {
        if self.is_full() {
            return NetworkReach::Full;
        }
        let open = self.0.iter().filter(|pattern| pattern.hosts == AllowedHosts::All);
        let ports: BTreeSet<u16> = open.filter_map(|pattern| pattern.port).collect();
        if ports.is_empty() { NetworkReach::None } else { NetworkReach::Ports(ports) }
    }

    /// Returns the intersection of both.
    pub fn narrow(&self, other: &NetworkGrant) -> NetworkGrant {
        let pairs = self.0.iter().flat_map(|mine| other.0.iter().filter_map(|theirs| mine.common(theirs)));
        NetworkGrant(Arc::new(pairs.collect()))
    }

    /// Tells whether everything the other allows is allowed here.
    pub fn contains(&self, other: &NetworkGrant) -> bool {
        // Neither finitely many hosts nor finitely many ports make up a pattern that is open, so one alone must cover it.
        let is_covered = |theirs: &HostPattern| self.0.iter().any(|mine| mine.covers(theirs));
        other.0.iter().all(is_covered)
    }
}

impl HostPattern {
    /// Parses one host pattern.
    pub fn parse(raw: &str) -> Result<Self> {
        let wrong = |why: LocalizedText| {
            let shown = visible(prefix(raw.trim(), 80)).into_owned();
            Error::new(ErrorCode::InvalidRequest, localized!("host-invalid", shown, why))
                .hint(localized!("host-invalid-hint"))
        };
        let text = raw.trim();
        // As other tools write it.
        let text = text.strip_prefix("domain:").unwrap_or(text);
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if !below && (rest == "*" || rest.starts_with("*:")) {
            let port = match rest.strip_prefix("*:").map(|port| port.parse::<u16>()) {
                None => None,
                Some(Ok(port @ 1..)) => Some(port),
                Some(_) => return Err(wrong(localized!("not-a-port"))),
            };
            return Ok(Self { hosts: AllowedHosts::All, port });
        }
        let (host, port) = authority_of(rest).map_err(|why| wrong(why.into()))?;
        let hosts = match (below, host) {
            (false, host) => AllowedHosts::One(host),
            (true, WebHost::Name(name)) => AllowedHosts::Below(name),
            (true, WebHost::V4(_) | WebHost::V6(_)) => return Err(wrong(localized!("below-a-number"))),
        };
        Ok(Self { hosts, port })
    }

    /// Tells whether the host and port match.
    pub fn fits(&self, host: &WebHost, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
            && match (&self.hosts, host) {
                (AllowedHosts::All, _) => true,
                (AllowedHosts::Below(parent), WebHost::Name(name)) => is_below(name, parent),
                (AllowedHosts::Below(_), WebHost::V4(_) | WebHost::V6(_)) => false,
                (AllowedHosts::One(one), host) => one == host,
            }
    }

    fn covers(&self, other: &HostPattern) -> bool {
        self.common(other).as_ref() == Some(other)
    }

    fn common(&self, other: &HostPattern) -> Option<HostPattern> {
        let port = match (self.port, other.port) {
            (Some(mine), Some(theirs)) if mine != theirs => return None,
            (mine, theirs) => mine.or(theirs),
        };
        let hosts = match (&self.hosts, &other.hosts) {
            (AllowedHosts::All, hosts) | (hosts, AllowedHosts::All) => hosts.clone(),
            (AllowedHosts::One(one), AllowedHosts::One(other)) => {
                (one == other).then(|| AllowedHosts::One(one.clone()))?
            }
            (AllowedHosts::One(one), AllowedHosts::Below(parent))
            | (AllowedHosts::Below(parent), AllowedHosts::One(one)) => match one {
                WebHost::Name(name) if is_below(name, parent) => AllowedHosts::One(one.clone()),
                WebHost::Name(_) | WebHost::V4(_) | WebHost::V6(_) => return None,
            },
            (AllowedHosts::Below(mine), AllowedHosts::Below(theirs)) => match (mine, theirs) {
                (mine, theirs) if mine == theirs || is_below(mine, theirs) => {
                    AllowedHosts::Below(mine.clone())
                }
                (mine, theirs) if is_below(theirs, mine) => AllowedHosts::Below(theirs.clone()),
                _ => return None,
            },
        };
        Some(HostPattern { hosts, port })
    }
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

impl Default for NetworkGrant {
    fn default() -> Self {
        Self::full()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            AllowedHosts::All => f.write_str("*")?,
            AllowedHosts::Below(parent) => write!(f, "*.{parent}")?,
            AllowedHosts::One(host) => write!(f, "{host}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// For people and models.
impl fmt::Display for NetworkGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_full() {
            return f.write_str("everywhere");
        }
        if self.is_none() {
            return f.write_str("nowhere");
        }
        let hosts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&hosts.join(", "))
    }
}

impl TryFrom<Vec<String>> for NetworkGrant {
    type Error = Error;
    fn try_from(hosts: Vec<String>) -> Result<Self> {
        Self::parse(hosts)
    }
}

impl From<NetworkGrant> for Vec<String> {
    fn from(network: NetworkGrant) -> Self {
        network.0.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn network(hosts: &[&str]) -> NetworkGrant {
        NetworkGrant::parse(hosts).unwrap()
    }

    fn allows(network: &NetworkGrant, authority: &str) -> bool {
        let (host, port) = authority_of(authority).unwrap();
        network.allows(&host, port.unwrap_or(443))
    }

    #[test]
    fn a_name_is_one_host_and_a_star_is_those_below_it() {
        let docs = network(&["docs.rs", "*.example.com", "localhost:8080", "[::1]:80"]);
        for inside in
            ["docs.rs", "DOCS.rs.", "docs.rs:8443", "a.example.com", "a.b.example.com", "localhost:8080"]
        {
            assert!(allows(&docs, inside), "{inside}");
        }
        for outside in [
            "x.docs.rs",
            "docs.rs.evil.test",
            "evildocs.rs",
            "example.com",
            "evilexample.com",
            "localhost",
            "[::1]",
        ] {
            assert!(!allows(&docs, outside), "{outside}");
        }
        assert!(
            allows(&NetworkGrant::full(), "anywhere.test") && !allows(&NetworkGrant::none(), "anywhere.test")
        );
        assert_eq!(network(&["domain:docs.rs"]), network(&["docs.rs"]));
        assert_eq!(docs.to_string(), "*.example.com, docs.rs, localhost:8080, [::1]:80");
    }

    #[test]
    fn what_names_no_host_is_an_error() {
        for wrong in [
            "",
            "https://docs.rs",
            "docs.rs/x",
            "a@b",
            "*docs.rs",
            "a.*.b",
            "**",
            "*.",
            "*.1.2.3.4",
            "*:0",
            "*:x",
            "a b",
        ] {
            assert_eq!(HostPattern::parse(wrong).unwrap_err().code(), ErrorCode::InvalidRequest, "{wrong}");
        }
        assert!(NetworkGrant::parse((0..=HOSTS_MAX).map(|n| format!("h{n}.test"))).is_err());
    }

    fn any_network() -> impl Strategy<Value = NetworkGrant> {
        let host = proptest::sample::select(vec![
            "*",
            "*:80",
            "a.b",
            "*.b",
            "*.a.b",
            "b",
            "c.a.b",
            "c.a.b:80",
            "*.b:443",
            "127.0.0.1",
            "*.c",
        ]);
        proptest::collection::vec(host, 0..4).prop_map(|hosts| network(&hosts))
    }

    proptest! {
        // G16 Seen to fail when `narrow` keeps what was there, and with a `contains` that is always true.
        #[test]
        fn narrowing_gives_what_both_allow(one in any_network(), other in any_network()) {
            let both = one.narrow(&other);
            for authority in ["a.b:80", "a.b", "b", "c.a.b:80", "c.a.b:22", "d.c.a.b", "127.0.0.1", "x.c", "y"] {
                let expected = allows(&one, authority) && allows(&other, authority);
                prop_assert_eq!(allows(&both, authority), expected, "{}", authority);
                if one.contains(&other) && allows(&other, authority) {
                    prop_assert!(allows(&one, authority), "{}", authority);
                }
            }
            prop_assert!(one.contains(&both) && other.contains(&both));
            prop_assert_eq!(one.contains(&other), both.contains(&other));
            let written = serde_json::to_string(&both).unwrap();
            prop_assert_eq!(serde_json::from_str::<NetworkGrant>(&written).unwrap(), both);
        }
    }
}
