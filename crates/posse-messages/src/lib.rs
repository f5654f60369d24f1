//! What Posse says to people and models: one catalogue of messages, in every language there is. It knows nothing of who
//! speaks. [`say!`] gives a message in the language of this process, [`fixed!`] one that is part of a record.

mod catalogue;
mod given;
mod language;

pub use catalogue::{AREAS, english, entries, find, say};
pub use given::{Given, Number, Text};
pub use language::{Language, language, speak};

/// A message in the language of this process: `say!("agent-not-found", name)`, or `say!("too-many", most = LIMIT, count = list.len())`.
/// The key is in `locales/en/*.ftl`; a test compares keys and arguments with the catalogue.
#[macro_export]
macro_rules! say {
    ($key:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        #[allow(unused_imports)]
        use $crate::{Number as _, Text as _};
        $crate::say($key, &[$((stringify!($name), $crate::argument!($name $(= $value)?))),*])
    }};
}

/// The same, in English whatever the language is: for what a run says in its conversation. A run is a function of its
/// journal, and the next process that goes on with it may speak another language.
#[macro_export]
macro_rules! fixed {
    ($key:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        #[allow(unused_imports)]
        use $crate::{Number as _, Text as _};
        $crate::english($key, &[$((stringify!($name), $crate::argument!($name $(= $value)?))),*])
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! argument {
    ($name:ident) => {
        (&$crate::Given(&$name)).value()
    };
    ($name:ident = $value:expr) => {
        (&$crate::Given(&$value)).value()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_number_only_if_its_type_is_one() {
        let (count, name) = (1_u64, "007");
        let seen = &count;
        assert!(matches!(argument!(count), fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(seen), fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(x = 3_usize), fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(name), fluent_bundle::FluentValue::String(text) if text == "007"));
        assert!(matches!(argument!(x = 0.5), fluent_bundle::FluentValue::String(text) if text == "0.5"));
        let exact = argument!(x = u64::MAX);
        assert!(matches!(exact, fluent_bundle::FluentValue::String(text) if text == u64::MAX.to_string()));
    }

    // R446 R448
    #[test]
    fn every_language_says_it_and_what_it_lacks_is_said_in_english() {
        let limit = |language| find(language, "launch-resource-limit", &[]);
        assert_eq!(limit(Language::English).as_deref(), Some("Maximum concurrent agents limit reached"));
        let all: std::collections::BTreeSet<_> = Language::ALL.iter().map(|&each| limit(each)).collect();
        assert_eq!(all.len(), Language::ALL.len(), "{all:?}");
        assert_eq!(find(Language::German, "not-run-stopped", &[]), None, "a fixed text has one wording");
        assert_eq!(catalogue::say_in(Language::German, "not-run-stopped", &[]), fixed!("not-run-stopped"));
    }

    #[test]
    fn a_key_that_is_the_beginning_of_another_is_not_taken_for_it() {
        assert_eq!(find(Language::English, "launch-resource", &[]), None);
        assert_eq!(find(Language::English, "resource-limit", &[]), None);
    }
}
