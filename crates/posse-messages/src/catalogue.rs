//! Finding and formatting messages. Only what is said is parsed: a message is looked for in the text of its language and put
//! into the bundle when it is first said, so whoever says nothing pays nothing.

use std::sync::{LazyLock, PoisonError, RwLock};

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

use crate::given::Argument;
use crate::language::{Language, language};
use crate::localized::LocalizedText;

type Bundle = FluentBundle<FluentResource>;

macro_rules! files {
    ($($area:literal)*) => {
        /// One file for each member that speaks, in the directory of every language.
        pub const AREAS: &[&str] = &[$($area),*];

        fn texts(language: Language) -> &'static [&'static str] {
            match language {
                Language::English => &[$(include_str!(concat!("../locales/en/", $area, ".ftl"))),*],
                Language::German => &[$(include_str!(concat!("../locales/de/", $area, ".ftl"))),*],
                Language::Spanish => &[$(include_str!(concat!("../locales/es/", $area, ".ftl"))),*],
                Language::French => &[$(include_str!(concat!("../locales/fr/", $area, ".ftl"))),*],
                Language::Japanese => &[$(include_str!(concat!("../locales/ja/", $area, ".ftl"))),*],
                Language::Chinese => &[$(include_str!(concat!("../locales/zh/", $area, ".ftl"))),*],
            }
        }
    };
}

files! { "core" "runtime" "sandbox" "git" "review" "tools" "store" "models" "telemetry" "mcp" "http" "servers" "terminal" "console" "setup" "cli" "help" "definitions" }

/// A message in the language of this process. [`crate::say!`] calls this.
pub fn say(key: &str, arguments: &[(&'static str, Argument)]) -> String {
    say_in(language(), key, arguments)
}

/// A message in the language of this process and in English. [`crate::localized!`] calls this.
pub fn localized(key: &str, arguments: &[(&'static str, Argument)]) -> LocalizedText {
    let english = english(key, arguments);
    match language() {
        Language::English => LocalizedText::from(english),
        other => LocalizedText::new(say_in(other, key, arguments), english),
    }
}

/// A message in English.
fn english(key: &str, arguments: &[(&'static str, Argument)]) -> String {
    let arguments: Vec<_> =
        arguments.iter().map(|(name, argument)| (*name, argument.in_english().clone())).collect();
    find(Language::English, key, &arguments).unwrap_or_else(|| key.to_owned())
}

/// A message in this language, or in English where it has none. A test holds that English has every key.
pub(crate) fn say_in(language: Language, key: &str, arguments: &[(&'static str, Argument)]) -> String {
    let local: Vec<_> = arguments.iter().map(|(name, argument)| (*name, argument.local.clone())).collect();
    find(language, key, &local).unwrap_or_else(|| english(key, arguments))
}

/// A message of one language, if it has it.
pub fn find(
    language: Language,
    key: &str,
    arguments: &[(&'static str, FluentValue<'static>)],
) -> Option<String> {
    let place = &BUNDLES[language as usize];
    let known = place.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = format(&known, key, arguments) {
        return Some(text);
    }
    drop(known);
    let source = texts(language).iter().find_map(|text| entry(text, key))?;
    let mut bundle = place.write().unwrap_or_else(PoisonError::into_inner);
    // Somebody else may have been first; then this one is refused and the same.
    let (Ok(resource) | Err((resource, _))) = FluentResource::try_new(source.to_owned());
    let _ = bundle.add_resource(resource);
    format(&bundle, key, arguments)
}

/// The messages of one area as they stand in its file, for tests that compare whole catalogues.
pub fn entries(language: Language, area: &str) -> &'static str {
    AREAS.iter().position(|known| *known == area).map_or("", |at| texts(language)[at])
}

static BUNDLES: [LazyLock<RwLock<Bundle>>; 6] = [
    LazyLock::new(|| empty(Language::English)),
    LazyLock::new(|| empty(Language::German)),
    LazyLock::new(|| empty(Language::Spanish)),
    LazyLock::new(|| empty(Language::French)),
    LazyLock::new(|| empty(Language::Japanese)),
    LazyLock::new(|| empty(Language::Chinese)),
];

fn empty(language: Language) -> RwLock<Bundle> {
    let mut bundle = Bundle::new_concurrent(vec![language.tag().parse().expect("our tags are tags")]);
    // Marks around arguments would be seen by models and in pipes.
    bundle.set_use_isolating(false);
    RwLock::new(bundle)
}

fn format(bundle: &Bundle, key: &str, arguments: &[(&'static str, FluentValue<'static>)]) -> Option<String> {
    let pattern = bundle.get_message(key)?.value()?;
    let arguments: FluentArgs<'_> = arguments.iter().map(|(name, value)| (*name, value.clone())).collect();
    Some(bundle.format_pattern(pattern, Some(&arguments), &mut Vec::new()).into_owned())
}

/// The lines of one message: the one that begins with its key, and those after it that are indented or empty.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let begins_line = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let start = text
        .match_indices(key)
        .map(|(at, _)| at)
        .find(|&at| begins_line(at) && text[at + key.len()..].starts_with(" ="))?;
    let end = text[start..]
        .match_indices('\n')
        .map(|(at, _)| start + at + 1)
        .find(|&at| !text[at..].starts_with([' ', '\n', '}']));
    Some(&text[start..end.unwrap_or(text.len())])
}
