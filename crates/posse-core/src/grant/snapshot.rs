//! How the journal keeps a grant. Nothing else reads one from a text: whoever could, could make one up.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Autonomy, Grant, NetworkGrant, Rights, SandboxTier};

#[derive(Serialize, Deserialize)]
struct GrantSnapshot {
    tools: std::collections::BTreeSet<String>,
    depth: u32,
    #[serde(default, skip_serializing_if = "is_usual")]
    level: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Rights>,
    // What journals of earlier versions do not say was not restricted.
    #[serde(default, skip_serializing_if = "is_usual")]
    network: NetworkGrant,
    #[serde(default, skip_serializing_if = "is_usual")]
    autonomy: Autonomy,
    #[serde(default, skip_serializing_if = "is_usual")]
    sandbox: SandboxTier,
    #[serde(default, skip_serializing_if = "is_usual")]
    confined: bool,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Serializes a grant for the journal.
pub fn serialize<S: Serializer>(grant: &Grant, serializer: S) -> Result<S::Ok, S::Error> {
    let Grant { tools, depth, level, conditions, network, autonomy, sandbox, confined } = grant.clone();
    let tools = Arc::unwrap_or_clone(tools);
    GrantSnapshot { tools, depth, level, conditions, network, autonomy, sandbox, confined }
        .serialize(serializer)
}

/// Deserializes a grant from the journal, the only other way to obtain one.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Grant, D::Error> {
    let GrantSnapshot { tools, depth, level, conditions, network, autonomy, sandbox, confined } =
        GrantSnapshot::deserialize(deserializer)?;
    let tools = Arc::new(tools);
    Ok(Grant { tools, depth, level, conditions, network, autonomy, sandbox, confined })
}

/// The same for one that need not be there.
pub mod option {
    use super::*;

    /// Serializes an optional grant for the journal.
    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub fn serialize<S: Serializer>(grant: &Option<Box<Grant>>, serializer: S) -> Result<S::Ok, S::Error> {
        match grant {
            Some(grant) => super::serialize(grant, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Deserializes an optional grant from the journal.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Grant>>, D::Error> {
        super::deserialize(deserializer).map(|grant| Some(Box::new(grant)))
    }
}
