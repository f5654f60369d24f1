//! What a model call consumed. Arithmetic saturates: a provider's nonsense must never turn into a free call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Tokens and price of model calls.
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
    /// Price in millionths of a dollar on the day of the call; `None` if a part of it has no known price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// Usage by the model that answered, in the order of their names. A task has one or two of them, so it is no tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, Usage>")]
pub struct ByModel(Vec<(String, Usage)>);

impl ByModel {
    /// The list of a run without a reply.
    pub fn nobody() -> &'static Self {
        static NOBODY: ByModel = ByModel(Vec::new());
        &NOBODY
    }

    /// Adds usage under the model's name.
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

    /// Iterates over the models and their usage.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Usage)> {
        self.0.iter().map(|(model, usage)| (model.as_str(), usage))
    }

    /// Tells whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, model: &str) -> bool {
        self.0.binary_search_by(|(name, _)| name.as_str().cmp(model)).is_ok()
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
    /// Tells whether all counts are zero.
    pub fn is_nothing(&self) -> bool {
        *self == Usage::default()
    }

    /// Adds the other counts to these.
    pub fn add(&mut self, other: &Usage) {
        self.cost_micros = match (self.cost_micros, other.cost_micros) {
            (sum, _) if other.is_nothing() => sum,
            (_, cost) if self.is_nothing() => cost,
            (Some(sum), Some(cost)) => Some(sum.saturating_add(cost)),
            (None, _) | (_, None) => None,
        };
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.estimated |= other.estimated;
    }

    /// Subtracts a part.
    pub fn without(&self, part: &Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(part.input),
            output: self.output.saturating_sub(part.output),
            cache_read: self.cache_read.saturating_sub(part.cache_read),
            cache_write: self.cache_write.saturating_sub(part.cache_write),
            reasoning: self.reasoning.saturating_sub(part.reasoning),
            estimated: self.estimated,
            cost_micros: self
                .cost_micros
                .zip(part.cost_micros.or(part.is_nothing().then_some(0)))
                .map(|(sum, part)| sum.saturating_sub(part)),
        }
    }

    /// Sums of one task that has used this. Tokens without a known price are counted as unpriced.
    pub fn spending(&self, turns: u32) -> SpendingTotal {
        SpendingTotal {
            tasks: 1,
            turns: turns.into(),
            input_tokens: self.input,
            output_tokens: self.output,
            cost_micros: self.cost_micros.unwrap_or(0),
            unpriced_tokens: if self.cost_micros.is_none() { self.total() } else { 0 },
        }
    }

    /// The same usage with its price.
    pub fn costing(self, cost_micros: Option<u64>) -> Usage {
        Usage { cost_micros, ..self }
    }

    /// Prints the usage as JSON.
    pub fn to_json(&self) -> Value {
        crate::event::usage_json(self)
    }

    /// Returns input and output tokens together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Millionths of a dollar as dollars, for JSON and people.
pub fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Sums over one or several tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingTotal {
    pub tasks: u64,
    pub turns: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Price of everything whose price is known.
    pub cost_micros: u64,
    /// Tokens whose price is not known.
    pub unpriced_tokens: u64,
}

impl SpendingTotal {
    /// Returns input and output tokens together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The whole price in dollars; `None` if a part of it is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.unpriced_tokens == 0).then(|| dollars(self.cost_micros))
    }

    /// Adds the other sums to these.
    pub fn add(&mut self, other: &SpendingTotal) {
        self.tasks = self.tasks.saturating_add(other.tasks);
        self.turns = self.turns.saturating_add(other.turns);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
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

    /// Returns the highest price a call can have: nobody knows beforehand which tokens will be written to a cache.
    pub fn micros_at_most(&self, usage: &Usage) -> u64 {
        Price { input: self.input_at_most(), cache_read: None, cache_write: None, ..*self }.micros(usage)
    }

    /// Input tokens that cost at least this much, for finding out how much shorter a request has to be.
    pub fn input_tokens_for(&self, micros: u64) -> u64 {
        let tokens = micros as f64 / self.input_at_most();
        if tokens.is_finite() { tokens.ceil() as u64 } else { 0 }
    }

    fn input_at_most(&self) -> f64 {
        self.cache_write.unwrap_or(self.input).max(self.input)
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
    fn a_sum_has_a_price_only_if_every_part_has_one() {
        let part = |input, cost| Usage { input, ..Usage::default() }.costing(cost);
        let sum = |parts: &[Usage]| {
            let mut sum = Usage::default();
            parts.iter().for_each(|part| sum.add(part));
            sum.cost_micros
        };
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[part(1, Some(2)), Usage::default(), part(1, Some(3))]), Some(5));
        assert_eq!(sum(&[part(1, Some(2)), part(1, None), part(1, Some(3))]), None);
        assert_eq!(sum(&[part(1, None), part(1, Some(3))]), None);
        assert_eq!(part(5, Some(5)).without(&part(2, Some(2))).cost_micros, Some(3));
        assert_eq!(part(5, Some(5)).without(&Usage::default()).cost_micros, Some(5));
        assert_eq!(part(5, Some(5)).without(&part(2, None)).cost_micros, None);
        let old: Usage = serde_json::from_str(r#"{"input":7,"output":1}"#).unwrap();
        assert_eq!((old.input, old.cost_micros), (7, None), "as it was written before");
    }

    #[test]
    fn overflow_saturates() {
        let mut usage = Usage { input: u64::MAX, ..Usage::default() };
        usage.add(&Usage { input: 1, output: 5, ..Usage::default() });
        assert_eq!((usage.input, usage.total()), (u64::MAX, u64::MAX));
    }
}
