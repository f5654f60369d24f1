//! Message catalog in six languages: [`say!`] makes a text for people, in the language of this process; [`localized!`] makes
//! one for people and models, as in errors. A text that only models read is English and stands where it is decided.

#![forbid(unsafe_code)]

mod catalogue;
mod given;
mod language;
mod localized;

pub use catalogue::{AREAS, entries, find, localized, say};
pub use given::{Argument, Given, Number, Text};
pub use language::{Language, language, speak};
pub use localized::LocalizedText;

/// Makes a `String` for people: `say!("agent-not-found", name)`, or `say!("too-many", most = LIMIT, count = list.len())`.
/// The key is in `locales/en/*.ftl`; a test compares keys and arguments with the catalog.
#[macro_export]
macro_rules! say {
    ($key:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        #[allow(unused_imports)]
        use $crate::{Number as _, Text as _};
        $crate::say($key, &[$((stringify!($name), $crate::argument!($name $(= $value)?))),*])
    }};
}

/// Makes a [`LocalizedText`], which people read in their language and models in English. Everything below the binary uses
/// this for errors and for whatever may reach both.
#[macro_export]
macro_rules! localized {
    ($key:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        #[allow(unused_imports)]
        use $crate::{Number as _, Text as _};
        $crate::localized($key, &[$((stringify!($name), $crate::argument!($name $(= $value)?))),*])
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
        assert!(matches!(argument!(count).local, fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(seen).local, fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(x = 3_usize).local, fluent_bundle::FluentValue::Number(_)));
        assert!(matches!(argument!(name).local, fluent_bundle::FluentValue::String(text) if text == "007"));
        assert!(
            matches!(argument!(x = 0.5).local, fluent_bundle::FluentValue::String(text) if text == "0.5")
        );
        let exact = argument!(x = u64::MAX).local;
        assert!(matches!(exact, fluent_bundle::FluentValue::String(text) if text == u64::MAX.to_string()));
    }

    // R446 R448
    #[test]
    fn every_language_says_it_in_words_of_its_own() {
        let limit = |language| find(language, "launch-resource-limit", &[]);
        assert_eq!(limit(Language::English).as_deref(), Some("Maximum concurrent agents limit reached"));
        let all: std::collections::BTreeSet<_> = Language::ALL.iter().map(|&each| limit(each)).collect();
        assert_eq!(all.len(), Language::ALL.len(), "{all:?}");
        assert_eq!(catalogue::say_in(Language::German, "no-such-key", &[]), "no-such-key");
    }

    #[test]
    fn a_key_that_is_the_beginning_of_another_is_not_taken_for_it() {
        assert_eq!(find(Language::English, "launch-resource", &[]), None);
        assert_eq!(find(Language::English, "resource-limit", &[]), None);
    }
}
