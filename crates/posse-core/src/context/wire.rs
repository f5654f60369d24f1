//! The requests and answers of the `shared_context` tool, as they stand in JSON.

use posse_messages::{LocalizedText, localized};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::{
    Audience, AudienceChange, ChangeResult, ContextEntry, ContextKey, ContextSnapshot, HISTORY_MAX,
    HistoryLine, KEYS_MAX, SnapshotLabel, TTL_S_MAX, ValueHead,
};
use crate::arguments::{ActionFields, ArgumentReader, parse_object};
use crate::error::{Error, ErrorCode, Result};

/// A request whose names were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextRequest {
    ListKeys,
    Read(ContextKey),
    ReadBatch(Vec<ContextKey>),
    ReadHistory {
        key: ContextKey,
        versions: u32,
    },
    Write {
        key: ContextKey,
        value: String,
        expected_version: Option<u64>,
        ttl_s: Option<u64>,
        audience: AudienceChange,
    },
    Delete(ContextKey),
    Snapshot(SnapshotLabel),
    Wait(ContextWait),
}

/// Until one of these keys is written or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextWait {
    pub keys: Vec<ContextKey>,
    /// Versions the caller has seen, 0 for an absent key; unlisted keys count from their current version.
    pub known: BTreeMap<ContextKey, u64>,
    pub timeout_s: u64,
}

/// Default and longest wait.
const WAIT_S: u64 = 60;
const WAIT_S_MAX: u64 = 300;

/// The actions of the tool. A field that is not here, such as `written_by`, is refused.
const ACTIONS: &[ActionFields] = &[
    ActionFields { action: "list_keys", fields: &[] },
    ActionFields { action: "read", fields: &["key"] },
    ActionFields { action: "read_batch", fields: &["keys"] },
    ActionFields { action: "read_history", fields: &["key", "versions"] },
    ActionFields {
        action: "write",
        fields: &["key", "value", "expected_version", "ttl_s", "readable_by", "writable_by"],
    },
    ActionFields { action: "delete", fields: &["key"] },
    ActionFields { action: "snapshot", fields: &["label"] },
    ActionFields { action: "wait", fields: &["keys", "known_versions", "timeout_s"] },
];

impl ContextRequest {
    /// Parses the JSON arguments of the `shared_context` tool.
    pub fn parse(arguments: &str) -> Result<Self> {
        Self::read(parse_object(arguments)?)
    }

    /// Reads the arguments of the `shared_context` tool.
    pub fn read(arguments: Map<String, Value>) -> Result<Self> {
        let reader = ArgumentReader::of_action(arguments, ACTIONS)?;
        let any = 0..=u64::MAX;
        let key = || ContextKey::parse(&reader.needed("key", reader.text("key")?)?);
        let keys = || reader.needed("keys", reader.texts("keys")?);
        match reader.action() {
            "list_keys" => Ok(Self::ListKeys),
            "read" => Ok(Self::Read(key()?)),
            "read_batch" => Self::read_batch(&keys()?),
            "read_history" => {
                let versions = reader.integer("versions", any)?;
                Self::read_history(
                    key()?,
                    versions.map(|versions| u32::try_from(versions).unwrap_or(u32::MAX)),
                )
            }
            "write" => Self::write(
                key()?,
                reader.needed("value", reader.text("value")?)?,
                reader.integer("expected_version", any.clone())?,
                reader.integer("ttl_s", any)?,
                AudienceChange::parse(reader.texts("readable_by")?, reader.texts("writable_by")?)?,
            ),
            "delete" => Ok(Self::Delete(key()?)),
            "snapshot" => {
                Ok(Self::Snapshot(SnapshotLabel::parse(&reader.needed("label", reader.text("label")?)?)?))
            }
            "wait" => Self::wait(
                &keys()?,
                reader.integers("known_versions")?.unwrap_or_default(),
                reader.integer("timeout_s", any)?,
            ),
            other => unreachable!("`{other}` is in the table of actions"),
        }
    }

    /// Builds a request for several keys.
    pub fn read_batch(keys: &[String]) -> Result<Self> {
        if keys.len() > KEYS_MAX {
            return Err(invalid(localized!("keys-too-many", keys_max = KEYS_MAX)));
        }
        Ok(Self::ReadBatch(keys.iter().map(|key| ContextKey::parse(key)).collect::<Result<_>>()?))
    }

    /// Builds a request for a key's history.
    pub fn read_history(key: ContextKey, versions: Option<u32>) -> Result<Self> {
        match versions.unwrap_or(HISTORY_MAX) {
            0 => Err(invalid(localized!("versions-too-few"))),
            versions => Ok(Self::ReadHistory { key, versions: versions.min(HISTORY_MAX) }),
        }
    }

    /// Builds a request that waits for changes of keys.
    pub fn wait(keys: &[String], known: BTreeMap<String, u64>, timeout_s: Option<u64>) -> Result<Self> {
        let Self::ReadBatch(keys) = Self::read_batch(keys)? else { unreachable!("it makes one of these") };
        if keys.is_empty() {
            return Err(invalid(localized!("keys-empty")).hint(localized!("keys-empty-hint")));
        }
        let known = known.iter().map(|(key, version)| Ok((ContextKey::parse(key)?, *version)));
        let known: BTreeMap<ContextKey, u64> = known.collect::<Result<_>>()?;
        if let Some(key) = known.keys().find(|key| !keys.contains(key)) {
            return Err(invalid(localized!("known-version-stray", key)));
        }
        match timeout_s.unwrap_or(WAIT_S) {
            timeout_s @ 1..=WAIT_S_MAX => Ok(Self::Wait(ContextWait { keys, known, timeout_s })),
            _ => Err(invalid(localized!("wait-out-of-range", wait_s_max = WAIT_S_MAX))),
        }
    }

    /// Builds a write request.
    pub fn write(
        key: ContextKey,
        value: String,
        expected_version: Option<u64>,
        ttl_s: Option<u64>,
        audience: AudienceChange,
    ) -> Result<Self> {
        if ttl_s.is_some_and(|ttl_s| ttl_s == 0 || ttl_s > TTL_S_MAX) {
            return Err(invalid(localized!("ttl-out-of-range", ttl_s_max = TTL_S_MAX))
                .hint(localized!("ttl-out-of-range-hint")));
        }
        Ok(Self::Write { key, value, expected_version, ttl_s, audience })
    }
}

fn invalid(text: impl Into<LocalizedText>) -> Error {
    Error::new(ErrorCode::InvalidRequest, text)
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextAnswer {
    Keys {
        heads: Vec<ValueHead>,
        /// Number of entries the caller may not read; `bytes` counts them too.
        hidden: u64,
        hidden_tokens: u64,
    },
    Value(ContextEntry),
    Batch {
        entries: Vec<ContextEntry>,
        missing: Vec<ContextKey>,
        /// Keys that are there and not for the caller.
        denied: Vec<ContextKey>,
    },
    History {
        key: ContextKey,
        past: Vec<HistoryLine>,
    },
    Changed(ChangeResult),
    Waited(WaitResult),
}

/// Changes that ended a wait; empty on timeout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitResult {
    pub written: Vec<ValueHead>,
    pub deleted: Vec<ContextKey>,
}

impl ContextWait {
    /// Returns the versions to compare with from now on: the caller's, otherwise the current ones.
    pub fn baseline(&self, now: &[ValueHead]) -> BTreeMap<ContextKey, u64> {
        let version =
            |key: &ContextKey| now.iter().find(|head| head.key == *key).map_or(0, |head| head.version);
        self.keys
            .iter()
            .map(|key| (key.clone(), self.known.get(key).copied().unwrap_or_else(|| version(key))))
            .collect()
    }

    /// Returns the changes since the baseline.
    pub fn news(baseline: &BTreeMap<ContextKey, u64>, now: &[ValueHead]) -> WaitResult {
        let mut news = WaitResult::default();
        for (key, known) in baseline {
            match now.iter().find(|head| head.key == *key) {
                Some(head) if head.version != *known => news.written.push(head.clone()),
                None if *known != 0 => news.deleted.push(key.clone()),
                Some(_) | None => {}
            }
        }
        news
    }
}

impl WaitResult {
    /// Tells whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.deleted.is_empty()
    }
}

impl ContextAnswer {
    /// Prints the answer as JSON.
    pub fn to_json(&self) -> Value {
        match self {
            ContextAnswer::Keys { heads, hidden, hidden_tokens } => {
                let tokens: u64 = heads.iter().map(|head| head.tokens).sum();
                let mut answer = json!({
                    "keys": heads.iter().map(|head| sized(json!({}), head)).collect::<Vec<_>>(),
                    "total_size_tokens": tokens + hidden_tokens,
                });
                if *hidden > 0 {
                    answer["hidden_keys"] = json!(hidden);
                }
                answer
            }
            ContextAnswer::Value(entry) => value(entry),
            ContextAnswer::Batch { entries, missing, denied } => {
                let names =
                    |keys: &[ContextKey]| keys.iter().map(|key| json!(key.as_str())).collect::<Vec<_>>();
                let mut answer = json!({
                    "entries": entries.iter().map(value).collect::<Vec<_>>(),
                    "not_found": names(missing),
                });
                if !denied.is_empty() {
                    answer["access_denied"] = json!(names(denied));
                }
                answer
            }
            ContextAnswer::History { key, past } => {
                json!({ "key": key.as_str(), "versions": past.iter().map(line).collect::<Vec<_>>() })
            }
            ContextAnswer::Changed(changed) => self::changed(changed),
            ContextAnswer::Waited(waited) => json!({
                "written": waited.written.iter().map(|head| sized(json!({}), head)).collect::<Vec<_>>(),
                "deleted": waited.deleted.iter().map(ContextKey::as_str).collect::<Vec<_>>(),
                "timed_out": waited.is_empty(),
            }),
        }
    }
}

fn value(entry: &ContextEntry) -> Value {
    described(json!({ "value": entry.value }), &entry.head)
}

fn line(past: &HistoryLine) -> Value {
    sized(json!({ "action": past.act.wire(), "value": past.value }), &past.head)
}

fn changed(changed: &ChangeResult) -> Value {
    match changed {
        ChangeResult::Written(head) => {
            let mut value = described(json!({}), head);
            if let Some(warning) = head.warning() {
                value["warning"] = json!(warning.english());
            }
            value
        }
        ChangeResult::Deleted { key, previous_version } => {
            json!({ "deleted": key.as_str(), "previous_version": previous_version })
        }
        ChangeResult::SnapshotTaken(taken) => snapshot(taken),
        ChangeResult::Restored { written, deleted } => json!({ "written": written, "deleted": deleted }),
    }
}

/// Prints a snapshot's metadata as JSON.
pub fn snapshot(taken: &ContextSnapshot) -> Value {
    json!({
        "label": taken.label.as_str(),
        "taken_by": taken.taken_by,
        "taken_at": utc(taken.taken_at_ms),
        "keys": taken.keys,
        "total_size_tokens": taken.tokens,
    })
}

fn sized(value: Value, head: &ValueHead) -> Value {
    let mut value = described(value, head);
    value["value_size_tokens"] = json!(head.tokens);
    value
}

/// The fields of the specification, and those of ours that have something to say.
fn described(mut value: Value, head: &ValueHead) -> Value {
    value["key"] = json!(head.key.as_str());
    value["version"] = json!(head.version);
    value["written_by"] = json!(head.written_by);
    value["written_at"] = json!(utc(head.written_at_ms));
    if let Some(version) = head.previous_version {
        value["previous_version"] = json!(version);
    }
    if let Some(end) = head.expires_at_ms {
        value["expires_at"] = json!(utc(end));
    }
    if head.audience != Audience::default() {
        value["readable_by"] = json!(head.audience.readable_by);
        value["writable_by"] = json!(head.audience.writable_by);
    }
    value
}

/// An instant as RFC 3339 has it: `2026-02-18T09:30:00.000Z`.
pub fn utc(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Years that begin in March end in the leap day, and 400 of them always have 146,097 days (Howard Hinnant's
    // `civil_from_days`, without the times before 1970).
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Parses an instant that `utc` wrote.
pub fn from_utc(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split([':', '.']).map(|part| part.parse::<u64>().ok());
    let (hour, minute, second, milli) = (time.next()??, time.next()??, time.next()??, time.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || time.next().is_some() {
        return None;
    }
    // The inverse of the above: `days_from_civil`.
    let year = year.checked_sub(u64::from(month <= 2))?;
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let (era, year_of_era) = (year / 400, year % 400);
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let days = era.checked_mul(146_097)?.checked_add(of_era)?.checked_sub(719_468)?;
    let of_day = hour.checked_mul(3_600_000)?.checked_add(minute.checked_mul(60_000)?)?;
    let of_day = of_day.checked_add(second.checked_mul(1_000)?)?.checked_add(milli)?;
    days.checked_mul(86_400_000)?.checked_add(of_day)
}

#[cfg(test)]
mod tests {
    use super::{from_utc, utc};

    #[test]
    fn an_instant_comes_back_from_its_text() {
        let leap_day = 1_709_164_800_000; // 2024-02-29
        for ms in [0, 1, 951_782_399_999, leap_day, leap_day + 86_399_999, 1_771_407_000_000, u64::MAX] {
            assert_eq!(from_utc(&utc(ms)), Some(ms), "{}", utc(ms));
        }
        for wrong in
            ["", "2026-02-18", "2026-13-01T00:00:00.000Z", "1969-12-31T23:59:59.000Z", "x-1-1T0:0:0.0Z"]
        {
            assert_eq!(from_utc(wrong), None, "{wrong}");
        }
    }
}
