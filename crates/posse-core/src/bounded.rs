//! Whole numbers of configuration files, each with its range.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// An integer in a range that the error message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedInteger<const MIN: u64, const MAX: u64>(pub u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for BoundedInteger<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InRange<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for InRange<MIN, MAX> {
            type Value = u64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
                let in_range = u64::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value));
                in_range.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
            }
        }
        deserializer.deserialize_i64(InRange::<MIN, MAX>).map(BoundedInteger)
    }
}
