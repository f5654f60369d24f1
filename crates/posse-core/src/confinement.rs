//! How far the processes of a task can reach. Derived from its grant alone; what the kernel makes of it is the business
//! of whoever starts them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::grant::{Grant, SandboxTier};

/// The part of a grant that concerns processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRights {
    /// At least this.
    pub tier: SandboxTier,
    /// A file of the workspace may be written if each of these lists has a glob that fits it. No list: any file; an empty
    /// list: none.
    pub write: Vec<Vec<String>>,
    /// Absolute paths of what may be read instead of the workspace, beside what every program needs.
    pub read: Option<Vec<String>>,
    pub reach: NetworkReach,
}

/// Ports a process may connect to. The kernel knows ports and no hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkReach {
    None,
    /// TCP to these ports of any machine.
    Ports(BTreeSet<u16>),
    Full,
}

impl ProcessRights {
    /// `real` says where an absolute path really is, `None` for one that opens nothing.
    pub fn of(grant: &Grant, workspace: &str, real: impl Fn(String) -> Option<String>) -> Self {
        let mut write: Vec<Vec<String>> = grant.write_paths().map(<[String]>::to_vec).collect();
        if grant.is_read_only() {
            write.push(Vec::new());
        }
        let reach = grant.network().reach();
        Self { tier: grant.sandbox(), write, read: grant.read_roots(workspace, real), reach }
    }
}

impl NetworkReach {
    /// Returns the intersection of both.
    pub fn narrow(&self, other: &NetworkReach) -> NetworkReach {
        match (self, other) {
            (NetworkReach::Full, any) | (any, NetworkReach::Full) => any.clone(),
            (NetworkReach::Ports(mine), NetworkReach::Ports(theirs)) => {
                let both: BTreeSet<u16> = mine.intersection(theirs).copied().collect();
                if both.is_empty() { NetworkReach::None } else { NetworkReach::Ports(both) }
            }
            (NetworkReach::None, _) | (_, NetworkReach::None) => NetworkReach::None,
        }
    }
}

impl fmt::Display for NetworkReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkReach::None => f.write_str("none"),
            NetworkReach::Full => f.write_str("full"),
            NetworkReach::Ports(ports) => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                write!(f, "TCP to port {}", ports.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{AccessLevel, NetworkGrant, Rights, RootGrant};
    use proptest::prelude::*;

    fn any_reach() -> impl Strategy<Value = NetworkReach> {
        prop_oneof![
            Just(NetworkReach::None),
            Just(NetworkReach::Full),
            proptest::collection::btree_set(1u16..5, 1..4).prop_map(NetworkReach::Ports),
        ]
    }

    fn allows(reach: &NetworkReach, port: u16) -> bool {
        match reach {
            NetworkReach::None => false,
            NetworkReach::Full => true,
            NetworkReach::Ports(ports) => ports.contains(&port),
        }
    }

    proptest! {
        #[test]
        fn a_narrowed_reach_has_what_both_have(a in any_reach(), b in any_reach(), port in 0u16..6) {
            prop_assert_eq!(allows(&a.narrow(&b), port), allows(&a, port) && allows(&b, port));
        }
    }

    // G16 Seen to fail without the list that a read-only task adds.
    #[test]
    fn a_grant_says_what_its_processes_may_do() {
        let root =
            Grant::of_root(RootGrant { sandbox: SandboxTier::Kernel, depth: 3, ..RootGrant::default() });
        let whole =
            ProcessRights { tier: SandboxTier::Kernel, write: vec![], read: None, reach: NetworkReach::Full };
        assert_eq!(ProcessRights::of(&root, "/w", Some), whole);
        let rights = Rights {
            write_paths: Some(vec!["docs/**".to_owned()]),
            read_roots: Some(vec!["docs".to_owned()]),
            network: Some(NetworkGrant::parse(["*:443", "docs.rs"]).unwrap()),
            sandbox: Some(SandboxTier::Namespaces),
            ..Rights::default()
        };
        let child = root.narrow(&rights);
        let reach = NetworkReach::Ports([443].into());
        let expected = ProcessRights {
            tier: SandboxTier::Namespaces,
            write: vec![vec!["docs/**".to_owned()]],
            read: Some(vec!["/w/docs".to_owned()]),
            reach,
        };
        assert_eq!(ProcessRights::of(&child, "/w", Some), expected);
        let network = Some(NetworkGrant::parse(["docs.rs"]).unwrap());
        let looks = child.narrow(&Rights { access: AccessLevel::ReadOnly, network, ..Rights::default() });
        let looks = ProcessRights::of(&looks, "/w", Some);
        assert_eq!(
            (looks.write.last(), looks.reach),
            (Some(&vec![]), NetworkReach::None),
            "hosts are not ports"
        );
    }
}
