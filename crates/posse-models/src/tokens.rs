//! Usage as providers report it, with estimates for missing or invalid figures.

use posse_core::message::{Block, Message};
use posse_core::tokens::{tokens_at_least, tokens_at_most};
use posse_core::usage::Usage;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Maximum plausible count; a larger figure is an error of the provider.
const PLAUSIBLE_MAX: u64 = 1_000_000_000_000;

/// A count in a usage report. An invalid one must not make the reply unreadable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReportedCount {
    #[default]
    Missing,
    Nonsense,
    Known(u64),
}

impl<'de> Deserialize<'de> for ReportedCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = ReportedCount;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("anything")
    }
    fn visit_u64<E>(self, count: u64) -> Result<ReportedCount, E> {
        Ok(if count <= PLAUSIBLE_MAX { ReportedCount::Known(count) } else { ReportedCount::Nonsense })
    }
    fn visit_unit<E>(self) -> Result<ReportedCount, E> {
        Ok(ReportedCount::Missing)
    }
    fn visit_i64<E>(self, _: i64) -> Result<ReportedCount, E> {
        Ok(ReportedCount::Nonsense)
    }
    fn visit_f64<E>(self, _: f64) -> Result<ReportedCount, E> {
        Ok(ReportedCount::Nonsense)
    }
    fn visit_bool<E>(self, _: bool) -> Result<ReportedCount, E> {
        Ok(ReportedCount::Nonsense)
    }
    fn visit_str<E>(self, _: &str) -> Result<ReportedCount, E> {
        Ok(ReportedCount::Nonsense)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ReportedCount, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| ReportedCount::Nonsense)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReportedCount, A::Error> {
        IgnoredAny.visit_map(map).map(|_| ReportedCount::Nonsense)
    }
}

/// Reads a whole report: one of the wrong shape counts as none, and the reply stays readable.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let report = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(report.get()).unwrap_or_default())
}

impl ReportedCount {
    /// Returns the count, 0 if absent or malformed.
    pub fn or_zero(self) -> u64 {
        match self {
            ReportedCount::Known(count) => count,
            ReportedCount::Missing | ReportedCount::Nonsense => 0,
        }
    }

    /// Adds counts; an invalid part makes the sum invalid.
    pub fn plus(self, other: ReportedCount) -> ReportedCount {
        match (self, other) {
            (ReportedCount::Nonsense, _) | (_, ReportedCount::Nonsense) => ReportedCount::Nonsense,
            (ReportedCount::Missing, other) => other,
            (known, ReportedCount::Missing) => known,
            (ReportedCount::Known(a), ReportedCount::Known(b)) => ReportedCount::Known(a.saturating_add(b)),
        }
    }

    /// Replaces an earlier report, unless this one is empty.
    pub fn update(&mut self, later: ReportedCount) {
        if later != ReportedCount::Missing {
            *self = later;
        }
    }
}

/// Usage that a reply reported, in our terms: `input` and `output` are totals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReportedUsage {
    pub input: ReportedCount,
    pub output: ReportedCount,
    pub cache_read: ReportedCount,
    pub cache_write: ReportedCount,
    pub reasoning: ReportedCount,
}

impl ReportedUsage {
    /// Fills in missing or impossible figures with the maximum for the bytes sent and received: a missing report must
    /// never make a call free. A figure that is too small for the bytes is raised to their minimum.
    pub fn settle(self, sent: &Weight, received: &Weight) -> (Usage, Soundness) {
        let mut soundness = Soundness::Reported;
        let mut settle = |count: ReportedCount, weight: &Weight| match count {
            ReportedCount::Known(count) if count >= weight.least() && (count > 0 || weight.bytes == 0) => {
                count
            }
            ReportedCount::Known(count) if count > 0 => {
                soundness = soundness.max(Soundness::Raised);
                weight.least()
            }
            ReportedCount::Known(_) | ReportedCount::Missing | ReportedCount::Nonsense => {
                soundness = Soundness::Estimated;
                (weight.most)()
            }
        };
        let input = settle(self.input, sent);
        let output = settle(self.output, received);
        let estimated = soundness != Soundness::Reported;
        let cache_read = self.cache_read.or_zero().min(input);
        let cache_write = self.cache_write.or_zero().min(input - cache_read);
        let reasoning = self.reasoning.or_zero().min(output);
        let usage = Usage { input, output, cache_read, cache_write, reasoning, estimated, cost_micros: None };
        (usage, soundness)
    }
}

/// Plausibility of a usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Soundness {
    Reported,
    /// A figure was too small for the bytes.
    Raised,
    /// A figure was missing or invalid.
    Estimated,
}

/// A text on the wire: its bytes, and its maximum tokens.
pub(crate) struct Weight<'a> {
    pub bytes: u64,
    pub most: &'a dyn Fn() -> u64,
}

impl Weight<'_> {
    fn least(&self) -> u64 {
        tokens_at_least(self.bytes)
    }
}

/// Counts the tokens of a message with this counter of texts.
pub(crate) fn message_tokens(message: &Message, count: impl Fn(&str) -> u64) -> u64 {
    match message {
        Message::User { text } => count(text),
        Message::Assistant { blocks } => blocks.iter().map(|block| block_tokens(block, &count)).sum(),
        Message::Results { results } => results.iter().map(|result| count(&result.text)).sum(),
    }
}

/// Counts the tokens of a block with this counter of texts.
pub(crate) fn block_tokens(block: &Block, count: impl Fn(&str) -> u64) -> u64 {
    match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => count(text),
        Block::ToolCall(call) => count(&call.name) + count(call.arguments.as_object_text()),
        Block::Opaque { json, .. } => count(json),
    }
}

/// Estimates the cost of a call that gave no reply.
pub(crate) fn lost(sent: &[u8], output: u64) -> Usage {
    Usage { input: tokens_at_most(sent), output, estimated: true, ..Usage::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P42
    #[test]
    fn a_count_is_read_from_anything() {
        for (json, expected) in [
            ("7", ReportedCount::Known(7)),
            ("null", ReportedCount::Missing),
            ("-1", ReportedCount::Nonsense),
            ("1.5", ReportedCount::Nonsense),
            ("\"7\"", ReportedCount::Nonsense),
            ("18446744073709551615", ReportedCount::Nonsense),
            ("99999999999999999999999", ReportedCount::Nonsense),
            ("{}", ReportedCount::Nonsense),
            (r#"{"a":[1]}"#, ReportedCount::Nonsense),
            ("[[7],8]", ReportedCount::Nonsense),
            ("true", ReportedCount::Nonsense),
        ] {
            assert_eq!(serde_json::from_str::<ReportedCount>(json).unwrap(), expected, "{json}");
        }
    }

    // P42
    #[test]
    fn a_report_of_the_wrong_shape_counts_as_none() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Answer {
            #[serde(default, deserialize_with = "lenient")]
            usage: Option<Report>,
            after: u8,
        }
        #[derive(Debug, PartialEq, Deserialize)]
        struct Report {
            count: ReportedCount,
        }
        let known = Some(Report { count: ReportedCount::Known(7) });
        for (json, usage) in [
            (r#"{"usage":{"count":7},"after":1}"#, known),
            (r#"{"after":1}"#, None),
            (r#"{"usage":null,"after":1}"#, None),
            (r#"{"usage":"7 tokens","after":1}"#, None),
            (r#"{"usage":{"count":7,"count":8},"after":1}"#, None),
        ] {
            assert_eq!(serde_json::from_str::<Answer>(json).unwrap(), Answer { usage, after: 1 }, "{json}");
        }
    }

    // P42
    #[test]
    fn what_is_missing_or_nonsense_is_estimated_and_said_to_be() {
        let settle = |counts: ReportedUsage, sent_bytes| {
            let (sent, received) =
                (Weight { bytes: sent_bytes, most: &|| 100 }, Weight { bytes: 40, most: &|| 9 });
            counts.settle(&sent, &received)
        };
        let known = ReportedUsage {
            input: ReportedCount::Known(10),
            output: ReportedCount::Known(3),
            ..ReportedUsage::default()
        };
        let usage = Usage { input: 10, output: 3, ..Usage::default() };
        assert_eq!(settle(known, 160), (usage, Soundness::Reported));
        let partly = ReportedUsage { input: ReportedCount::Nonsense, ..known };
        let estimated = Usage { input: 100, estimated: true, ..usage };
        assert_eq!(settle(partly, 160), (estimated, Soundness::Estimated));
        let zero = ReportedUsage { input: ReportedCount::Known(0), ..known };
        assert_eq!(settle(zero, 160).0.input, 100);
        let too_small = Usage { input: 13, estimated: true, ..usage };
        assert_eq!(settle(known, 320), (too_small, Soundness::Raised));
        let more_cached_than_read = ReportedUsage {
            cache_read: ReportedCount::Known(99),
            cache_write: ReportedCount::Known(99),
            ..known
        };
        let (usage, _) = settle(more_cached_than_read, 160);
        assert_eq!((usage.cache_read, usage.cache_write), (10, 0));
    }
}
