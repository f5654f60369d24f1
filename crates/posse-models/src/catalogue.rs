//! Facts about models by name: parsing of references, context windows, prices.
//!
//! Unknown facts are `None`: a wrong window makes a run fail late, and a wrong price makes a budget lie. Where public
//! tables disagree about a window, the smaller one is taken; where they disagree about a price, it is left out.

use std::collections::BTreeMap;

use posse_core::limits::Limits;
use posse_core::usage::Price;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};

/// Maximum length of a reference.
const REFERENCE_BYTES_MAX: usize = 1024;

/// `provider:model`. The model may contain `:` and `/` itself (`ollama:qwen3:8b`, `openrouter:openai/gpt-4o`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelRef {
    provider: String,
    model: String,
}

impl ModelRef {
    /// Parses `provider:model`.
    pub fn parse(reference: &str) -> Result<Self> {
        let reference = reference.trim();
        let shown = || posse_core::text::prefix(reference, 100).escape_debug();
        let unknown = |message: LocalizedText| Error::new(ErrorCode::ModelUnknown, message);
        if reference.len() > REFERENCE_BYTES_MAX || reference.chars().any(char::is_control) {
            return Err(unknown(localized!("not-a-model-reference", reference = shown()))
                .hint(localized!("write-model-reference")));
        }
        let Some((provider, model)) = reference.split_once(':') else {
            let hint = match vendor_of(reference) {
                Some(provider) => localized!("did-you-mean-model", provider, reference),
                None => localized!("write-model-reference-example"),
            };
            return Err(unknown(localized!("names-no-provider", reference = shown())).hint(hint));
        };
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if provider.is_empty() || !provider.chars().all(legal) {
            return Err(unknown(localized!("begins-without-provider", reference = shown()))
                .hint(localized!("provider-shape-hint")));
        }
        let model = model.trim();
        if model.is_empty() {
            return Err(unknown(localized!("names-no-model", reference = shown()))
                .hint(localized!("write-model-reference")));
        }
        Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
    }

    /// Returns the provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns the model name.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

/// Returns the vendor of a model with this bare name: the provider of that name serves it.
pub fn vendor_of(name: &str) -> Option<&'static str> {
    const BEGINNINGS: &[(&str, &str)] = &[
        ("claude-", "anthropic"),
        ("gpt-", "openai"),
        ("chatgpt-", "openai"),
        ("codex-", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("gemini-", "gemini"),
    ];
    BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, provider)| *provider)
}

/// Token limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFamily {
    /// Context window.
    pub context_window: u64,
    pub output_max: u32,
}

/// Finds the limits of a model by its name or the last part of its path.
pub fn family(model: &ModelRef) -> Option<ModelFamily> {
    let name = last_part(&model.model);
    let rows = FAMILIES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    let (_, context_window, output_max) =
        rows.filter(|(key, ..)| fits(key, name)).max_by_key(|(key, ..)| key.len())?;
    Some(ModelFamily { context_window, output_max })
}

/// Lists the models of a vendor that are known by name.
pub fn known_models(vendor: &str) -> impl Iterator<Item = &'static str> {
    let names = FAMILIES.lines().filter_map(|line| line.split(' ').next());
    names.filter(move |name| vendor_of(name) == Some(vendor))
}

/// Computes the limits of a run on this model. `context_window` and `output_tokens` override the table.
pub fn limits_of(model: &str, context_window: Option<u64>, output_tokens: Option<u32>) -> Limits {
    let known = ModelRef::parse(model).ok().and_then(|reference| family(&reference));
    let usual = Limits::default();
    let context_window = context_window.or(known.map(|family| family.context_window));
    // The reply's share comes out of the window; most of it has to remain for the conversation.
    let share = context_window.map_or(u32::MAX, |window| u32::try_from(window / 4).unwrap_or(u32::MAX));
    let output_max = known.map_or(u32::MAX, |family| family.output_max).min(share);
    let output = output_tokens.unwrap_or(usual.output_tokens_per_call).min(output_max);
    Limits {
        output_tokens_per_call: output,
        output_tokens_per_call_max: usual.output_tokens_per_call_max.max(output).min(output_max),
        wrap_up_tokens: usual.wrap_up_tokens.min(output),
        context_window,
        ..usual
    }
}

/// Name, window and output of a model per line. A larger window that needs a request header is not counted.
const FAMILIES: &str = include_str!("families.txt");

/// Prices by model name; see `prices.toml` for the form of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// Tables in order of precedence, the user's first.
    tables: Vec<BTreeMap<String, Price>>,
}

impl PriceTable {
    /// The text of the built-in table, for users who edit a copy.
    pub const BUILT_IN: &str = include_str!("prices.toml");

    /// Returns the built-in prices.
    pub fn built_in() -> Self {
        let table = toml::from_str(Self::BUILT_IN).expect("the built-in table is parsed by a test");
        Self { tables: vec![table] }
    }

    /// Adds a table that overrides earlier ones. `origin` names it in errors.
    pub fn with(self, origin: &str, table: &str) -> Result<Self> {
        let entries = toml::from_str(table).map_err(|e| {
            let what = match e.span() {
                Some(span) => localized!("line-number", line = line_of(table, span.start))
                    .map(|place| format!("{place}: {}", e.message())),
                None => e.message().into(),
            };
            invalid_prices(origin, what).hint(localized!("price-entry-hint"))
        })?;
        self.with_entries(origin, entries)
    }

    /// Adds prices that override earlier ones. `origin` names them in errors.
    pub fn with_entries(mut self, origin: &str, entries: BTreeMap<String, Price>) -> Result<Self> {
        if let Some((model, _)) = entries.iter().find(|(_, price)| !is_sound(price)) {
            let what = localized!("price-unsound", model);
            return Err(invalid_prices(origin, what).hint(localized!("price-unsound-hint")));
        }
        self.tables.insert(0, entries);
        Ok(self)
    }

    /// Returns the price of a model; `None` if it is unknown.
    pub fn price(&self, model: &ModelRef) -> Option<Price> {
        let full = model.to_string();
        let names = [full.as_str(), model.model(), last_part(model.model())];
        self.tables.iter().find_map(|table| {
            let fitting = table.iter().filter(|(key, _)| names.iter().any(|name| fits(key, name)));
            fitting.max_by_key(|(key, _)| key.len()).map(|(_, price)| *price)
        })
    }
}

fn invalid_prices(origin: &str, what: LocalizedText) -> Error {
    Error::new(ErrorCode::ConfigInvalid, what.map(|what| format!("{origin}: {what}")))
}

fn is_sound(price: &Price) -> bool {
    let all = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
    all.into_iter().flatten().all(|dollars| dollars.is_finite() && dollars >= 0.0)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn last_part(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// Tells whether a key matches a name: the name and its versions, or with a final `*` every name with that prefix. A plain
/// prefix would take `gpt-5-pro` for a `gpt-5`, at a twelfth of its price.
fn fits(key: &str, name: &str) -> bool {
    match key.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name.strip_prefix(key).is_some_and(is_version),
    }
}

/// Tells whether the rest of a name is a version: empty, a date, a number of at least three digits, `latest`,
/// `preview` or `exp`. A leading short number means another model: `claude-opus-4` and `claude-opus-4-5`.
fn is_version(rest: &str) -> bool {
    if rest.is_empty() {
        return true;
    }
    let mut parts = rest.split(['-', '@']);
    if parts.next() != Some("") {
        return false;
    }
    let is_word = |part: &str| matches!(part, "latest" | "preview" | "exp");
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts
        .enumerate()
        .all(|(index, part)| is_word(part) || (is_number(part) && (index > 0 || part.len() >= 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(reference: &str) -> ModelRef {
        ModelRef::parse(reference).unwrap()
    }

    #[test]
    fn a_small_window_keeps_room_for_the_conversation() {
        let usual = Limits::default();
        let small = limits_of("ollama:qwen3", Some(8192), None);
        assert_eq!((small.output_tokens_per_call, small.output_tokens_per_call_max), (2048, 2048));
        assert_eq!(limits_of("ollama:qwen3", Some(2000), None).wrap_up_tokens, 500);
        assert_eq!(limits_of("openai:gpt-4", None, None).output_tokens_per_call, 2048);
        for model in ["anthropic:claude-sonnet-4-5", "ollama:qwen3"] {
            let large = limits_of(model, None, None);
            assert_eq!(large.output_tokens_per_call, usual.output_tokens_per_call, "{model}");
            assert_eq!(large.output_tokens_per_call_max, usual.output_tokens_per_call_max, "{model}");
        }
    }

    #[test]
    fn a_reference_is_split_at_its_first_colon() {
        for (text, provider, name) in [
            ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
            (" ollama:qwen3:8b ", "ollama", "qwen3:8b"),
            ("scripted:my demos/a.yaml#lead", "scripted", "my demos/a.yaml#lead"),
        ] {
            let parsed = model(text);
            assert_eq!((parsed.provider(), parsed.model()), (provider, name));
            assert_eq!(parsed.to_string(), text.trim());
        }
    }

    #[test]
    fn a_wrong_reference_says_what_to_write() {
        for (text, hint) in [
            ("claude-sonnet-4-5", "did you mean `anthropic:claude-sonnet-4-5`?"),
            ("gpt-5", "did you mean `openai:gpt-5`?"),
            ("something", "write `provider:model`"),
            ("", "write `provider:model`"),
            ("openai:", "write `provider:model`"),
            (":gpt-5", "a provider is made of"),
            ("Open AI:gpt-5", "a provider is made of"),
            ("a:b\u{1b}[0m", "write `provider:model`"),
        ] {
            let error = ModelRef::parse(text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ModelUnknown, "{text}");
            assert!(error.advice().unwrap().starts_with(hint), "{text}: {:?}", error.advice());
            assert!(!error.message().contains('\u{1b}'));
        }
        assert!(ModelRef::parse(&format!("a:{}", "b".repeat(2000))).unwrap_err().message().len() < 200);
    }

    #[test]
    fn windows_are_known_for_a_model_and_its_versions_but_not_for_its_cousins() {
        let window = |reference: &str| family(&model(reference)).map(|family| family.context_window);
        for (reference, expected) in [
            ("anthropic:claude-sonnet-4-5-20250929", Some(200_000)),
            ("vertex:claude-opus-4-1@20250805", Some(200_000)),
            ("openai:gpt-4", Some(8_192)),
            ("openai:gpt-4-0613", Some(8_192)),
            ("openai:gpt-5.2-2025-12-11", Some(272_000)),
            ("gemini:gemini-3-pro-preview", Some(1_048_576)),
            ("openrouter:openai/gpt-4o-2024-08-06", Some(128_000)),
            ("openai:gpt-4.1-mini", Some(1_047_576)),
            ("gemini:gemini-2.5-pro-preview-06-05", Some(1_048_576)),
            ("openai:gpt-4-32k", None),
            ("openai:gpt-4o-audio-preview", None),
            ("gemini:gemini-2.5-flash-image", None),
            ("openai:o3-deep-research", None),
            ("anthropic:claude-sonnet-9", None),
            ("anthropic:claude-opus-4-99", None),
            ("ollama:llama3", None),
        ] {
            assert_eq!(window(reference), expected, "{reference}");
        }
        assert_eq!(family(&model("anthropic:claude-opus-4-5")).unwrap().output_max, 64_000);
        assert_eq!(family(&model("anthropic:claude-opus-4-20250514")).unwrap().output_max, 32_000);
        assert_eq!(family(&model("openai:gpt-4o-2024-05-13")).unwrap().output_max, 4_096);
    }

    #[test]
    fn the_built_in_prices_are_sound_and_the_longest_key_wins() {
        let prices = PriceTable::built_in();
        assert!(prices.tables[0].values().all(is_sound));
        let input = |reference: &str| prices.price(&model(reference)).map(|price| price.input);
        assert_eq!(input("openai:gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(input("openai:gpt-5-mini"), Some(0.25));
        assert_eq!(input("openai:gpt-5-pro"), Some(15.0));
        assert_eq!(input("openai:gpt-5-search-api"), None);
        assert_eq!(input("gemini:gemini-2.5-pro"), None, "it depends on the length of the prompt");
        assert_eq!(input("anthropic:claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(input("anthropic:claude-opus-4-20250514"), Some(15.0));
        assert_eq!(input("scripted:demo.yaml#lead"), Some(0.0));
        assert_eq!(input("ollama:llama3"), None);
    }

    #[test]
    fn a_table_of_the_user_wins_and_may_name_providers() {
        let table = r#"
            "gpt-5*" = { input = 9, output = 9 }
            "ollama:*" = { input = 0, output = 0 }
            "work:gpt-5" = { input = 1, output = 2, cache_read = 0.5 }
        "#;
        let prices = PriceTable::built_in().with("mine.toml", table).unwrap();
        let price =
            |reference: &str| prices.price(&model(reference)).map(|price| (price.input, price.output));
        assert_eq!(price("openai:gpt-5-mini"), Some((9.0, 9.0)));
        assert_eq!(price("work:gpt-5"), Some((1.0, 2.0)));
        assert_eq!(price("ollama:qwen3:8b"), Some((0.0, 0.0)));
        assert_eq!(price("openai:gpt-4o"), Some((2.5, 10.0)));
    }

    #[test]
    fn a_wrong_table_is_refused_with_its_place() {
        for (table, what) in [
            ("\n\"a\" = { input = 1, output = 1, inptu = 2 }", "mine.toml: line 2: unknown field `inptu`"),
            ("\"a\" = 3", "mine.toml: line 1: "),
            ("\"a\" = { input = -1, output = 1 }", "mine.toml: the price of `a` is not a sum of money"),
            ("\"a\" = { input = nan, output = 1 }", "mine.toml: the price of `a` is not a sum of money"),
        ] {
            let error = PriceTable::built_in().with("mine.toml", table).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ConfigInvalid);
            assert!(error.message().starts_with(what), "{error}");
        }
    }
}
