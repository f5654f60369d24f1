//! How far the processes of a task can reach. Derived from its grant alone; what the kernel makes of it is the business
//! of whoever starts them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What the kernel holds a process to. A higher tier includes the lower ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Nothing: it can do what its user can.
    #[default]
    Off,
    /// No capabilities, limits, Landlock, seccomp.
    T1,
    /// The same inside of namespaces of its own.
    T2,
}

impl Tier {
    pub fn wire(self) -> &'static str {
        match self {
            Tier::Off => "off",
            Tier::T1 => "t1",
            Tier::T2 => "t2",
        }
    }

    pub fn is_off(&self) -> bool {
        *self == Tier::Off
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wire())
    }
}

/// Where a process may connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    None,
    /// TCP to these ports of any machine.
    Ports(BTreeSet<u16>),
    #[default]
    Full,
}

impl Network {
    pub fn is_full(&self) -> bool {
        *self == Network::Full
    }

    /// What both allow.
    pub fn narrow(&self, other: &Network) -> Network {
        match (self, other) {
            (Network::Full, any) | (any, Network::Full) => any.clone(),
            (Network::Ports(mine), Network::Ports(theirs)) => {
                let both: BTreeSet<u16> = mine.intersection(theirs).copied().collect();
                if both.is_empty() { Network::None } else { Network::Ports(both) }
            }
            (Network::None, _) | (_, Network::None) => Network::None,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::None => f.write_str("none"),
            Network::Full => f.write_str("full"),
            Network::Ports(ports) => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                write!(f, "TCP to port {}", ports.join(", "))
            }
        }
    }
}

/// What a grant says about processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// At least this.
    pub tier: Tier,
    /// A file of the workspace may be written if each of these lists has a glob that fits it. No list: any file; an empty
    /// list: none.
    pub write: Vec<Vec<String>>,
    pub network: Network,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_network() -> impl Strategy<Value = Network> {
        prop_oneof![
            Just(Network::None),
            Just(Network::Full),
            proptest::collection::btree_set(1u16..5, 1..4).prop_map(Network::Ports),
        ]
    }

    fn allows(network: &Network, port: u16) -> bool {
        match network {
            Network::None => false,
            Network::Full => true,
            Network::Ports(ports) => ports.contains(&port),
        }
    }

    proptest! {
        #[test]
        fn a_narrowed_network_has_what_both_have(a in any_network(), b in any_network(), port in 0u16..6) {
            prop_assert_eq!(allows(&a.narrow(&b), port), allows(&a, port) && allows(&b, port));
        }
    }
}
