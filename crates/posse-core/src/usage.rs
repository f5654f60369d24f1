//! What a model call consumed. Arithmetic saturates: a provider's nonsense must never turn into a free call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// The part of `input` that was read from the provider's prompt cache.
    pub cache_read: u64,
    /// The part of `input` that was written to the provider's prompt cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
    /// The provider did not say (or said nonsense), so the figures are our estimate.
    pub estimated: bool,
}

/// Usage by the model that answered, in the order of their names. A task has one or two of them, so it is no tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, Usage>")]
pub struct ByModel(Vec<(String, Usage)>);

impl ByModel {
    pub fn add(&mut self, model: &str, usage: &Usage) {
        let at = match self.0.binary_search_by(|(name, _)| name.as_str().cmp(model)) {
            Ok(at) => at,
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (model.to_owned(), Usage::default()));
                at
            }
        };
        self.0[at].1.add(usage);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Usage)> {
        self.0.iter().map(|(model, usage)| (model.as_str(), usage))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<BTreeMap<String, Usage>> for ByModel {
    fn from(usages: BTreeMap<String, Usage>) -> Self {
        Self(usages.into_iter().collect())
    }
}

impl Serialize for ByModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Usage {
    pub fn is_nothing(&self) -> bool {
        *self == Usage::default()
    }

    pub fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.estimated |= other.estimated;
    }

    /// What is left of this when a part of it is taken away.
    pub fn without(&self, part: &Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(part.input),
            output: self.output.saturating_sub(part.output),
            cache_read: self.cache_read.saturating_sub(part.cache_read),
            cache_write: self.cache_write.saturating_sub(part.cache_write),
            reasoning: self.reasoning.saturating_sub(part.reasoning),
            estimated: self.estimated,
        }
    }

    pub fn to_json(&self) -> Value {
        json!({
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_read_tokens": self.cache_read,
            "cache_write_tokens": self.cache_write,
            "reasoning_tokens": self.reasoning,
            "estimated": self.estimated,
        })
    }

    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    #[serde(default)]
    pub cache_read: Option<f64>,
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// Cost in millionths of a dollar, rounded up so that many small calls never add up to less than they cost.
    pub fn micros(&self, usage: &Usage) -> u64 {
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        // Dollars per million tokens are micro-dollars per token.
        let cost = fresh as f64 * self.input
            + usage.cache_read as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        if cost.is_finite() && cost > 0.0 { cost.ceil() as u64 } else { 0 }
    }

    /// What a call can cost at most: nobody knows beforehand which tokens will be written to a cache.
    pub fn micros_at_most(&self, usage: &Usage) -> u64 {
        let dearest = self.cache_write.unwrap_or(self.input).max(self.input);
        Price { input: dearest, cache_read: None, cache_write: None, ..*self }.micros(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_by_model_is_summed_and_read_back_as_it_was_written() {
        let part = |input| Usage { input, ..Usage::default() };
        let mut usages = ByModel::default();
        for (model, input) in [("b", 1), ("a", 2), ("c", 4), ("b", 8)] {
            usages.add(model, &part(input));
        }
        assert_eq!(usages.iter().collect::<Vec<_>>(), [("a", &part(2)), ("b", &part(9)), ("c", &part(4))]);
        let json = serde_json::to_string(&usages).unwrap();
        assert!(json.starts_with(r#"{"a":{"input":2,"#), "{json}");
        assert_eq!(serde_json::from_str::<ByModel>(&json).unwrap(), usages);
    }

    #[test]
    fn cached_tokens_are_charged_at_their_own_price_and_the_sum_is_rounded_up() {
        let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        let usage = Usage { input: 1012, cache_read: 900, cache_write: 100, output: 7, ..Usage::default() };
        assert_eq!(
            price.micros(&usage),
            (12.0 * 3.0 + 900.0 * 0.3 + 100.0 * 3.75 + 7.0 * 15.0_f64).ceil() as u64
        );
    }

    #[test]
    fn overflow_saturates() {
        let mut usage = Usage { input: u64::MAX, ..Usage::default() };
        usage.add(&Usage { input: 1, output: 5, ..Usage::default() });
        assert_eq!((usage.input, usage.total()), (u64::MAX, u64::MAX));
    }
}
