//! Forms of values inside events, where they differ from the form in the journal.

/// An instant as RFC 3339 text.
pub(crate) mod instant {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::context::wire::{from_utc, utc};

    pub fn serialize<S: Serializer>(ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&utc(*ms))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_utc(&text).ok_or_else(|| D::Error::custom("no instant"))
    }
}

/// A call key as `turn.index`.
pub(super) mod call {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::id::CallKey;

    pub fn serialize<S: Serializer>(key: &CallKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(key)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        let key = text
            .split_once('.')
            .and_then(|(turn, index)| Some(CallKey { turn: turn.parse().ok()?, index: index.parse().ok()? }));
        key.ok_or_else(|| D::Error::custom("no call key"))
    }
}

macro_rules! by_wire_name {
    ($module:ident, $type:ty) => {
        /// A value by its wire name.
        pub(super) mod $module {
            use serde::de::{Deserialize, Deserializer, Error};
            use serde::ser::Serializer;

            pub fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(value.wire())
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let name = String::deserialize(deserializer)?;
                <$type>::from_wire(&name).ok_or_else(|| D::Error::custom("no such name"))
            }
        }
    };
}

by_wire_name!(sandbox, crate::grant::SandboxTier);
by_wire_name!(failure, crate::reply::FailureKind);

/// Usage with units in its names and the price in dollars.
pub(super) mod usage {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    use crate::usage::{Usage, dollars};

    #[derive(serde::Serialize, serde::Deserialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[cfg_attr(test, schemars(title = "Usage"))]
    pub struct UsageForm {
        /// All input tokens, cached ones included.
        input_tokens: u64,
        /// All output tokens, reasoning included.
        output_tokens: u64,
        cache_read_tokens: u64,
        cache_write_tokens: u64,
        reasoning_tokens: u64,
        /// The provider did not say, so the figures are estimates.
        estimated: bool,
        /// `null` if a part of it has no known price.
        cost_usd: Option<f64>,
    }

    pub fn serialize<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
        let form = UsageForm {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            reasoning_tokens: usage.reasoning,
            estimated: usage.estimated,
            cost_usd: usage.cost_micros.map(dollars),
        };
        form.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Usage, D::Error> {
        let form = UsageForm::deserialize(deserializer)?;
        Ok(Usage {
            input: form.input_tokens,
            output: form.output_tokens,
            cache_read: form.cache_read_tokens,
            cache_write: form.cache_write_tokens,
            reasoning: form.reasoning_tokens,
            estimated: form.estimated,
            // Saturates; negative and not-a-number become 0.
            cost_micros: form.cost_usd.map(|dollars| (dollars * 1e6).round() as u64),
        })
    }
}

/// Changed files with their counts side by side.
pub(super) mod changes {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    use crate::edits::{ChangeKind, FileChange, LineCounts};

    #[derive(serde::Serialize, serde::Deserialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[cfg_attr(test, schemars(title = "Change"))]
    pub struct ChangeForm {
        /// Relative to the task's workspace.
        path: String,
        change: ChangeKind,
        /// Added lines; `null` where nobody counted.
        added: Option<u64>,
        removed: Option<u64>,
    }

    pub fn serialize<S: Serializer>(changes: &[FileChange], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(changes.iter().map(|FileChange { path, kind, lines }| ChangeForm {
            path: path.clone(),
            change: *kind,
            added: lines.map(|lines| lines.added),
            removed: lines.map(|lines| lines.removed),
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FileChange>, D::Error> {
        let forms = Vec::<ChangeForm>::deserialize(deserializer)?;
        Ok(forms
            .into_iter()
            .map(|ChangeForm { path, change, added, removed }| {
                let lines = added.zip(removed).map(|(added, removed)| LineCounts { added, removed });
                FileChange { path, kind: change, lines }
            })
            .collect())
    }
}
