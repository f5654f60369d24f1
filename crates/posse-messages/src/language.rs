//! Which language this process speaks. It is chosen once, by the binary; a library speaks English unless its program chooses.

use std::ffi::OsString;
use std::sync::OnceLock;

/// Languages of the message catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
    Spanish,
    French,
    Japanese,
    /// Simplified.
    Chinese,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 6] =
        [Self::English, Self::German, Self::Spanish, Self::French, Self::Japanese, Self::Chinese];

    /// As `--lang` takes it, and the name of its directory.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Spanish => "es",
            Self::French => "fr",
            Self::Japanese => "ja",
            Self::Chinese => "zh",
        }
    }

    /// Parses a locale such as `de`, `de-AT` or `de_DE.UTF-8@euro`. `C` and `POSIX` are English. Traditional
    /// Chinese is not supported.
    pub fn of(locale: &str) -> Option<Self> {
        let plain = locale.split(['.', '@']).next().unwrap_or_default().trim();
        if ["C", "POSIX"].contains(&plain) {
            return Some(Self::English);
        }
        let mut parts = plain.split(['-', '_']).map(str::to_ascii_lowercase);
        let first = parts.next()?;
        let found = Self::ALL.into_iter().find(|language| language.tag() == first)?;
        let is_traditional = parts.any(|part| ["hant", "tw", "hk", "mo"].contains(&part.as_str()));
        (found != Self::Chinese || !is_traditional).then_some(found)
    }

    /// Decides the language of a process: `--lang` among its words, then the variables. Also returns an explicitly named
    /// language that is not available; an unsupported system locale is not reported.
    pub fn decide(
        words: impl Iterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Self, Option<String>) {
        let system = || {
            ["LC_ALL", "LC_MESSAGES", "LANG"]
                .iter()
                .find_map(|name| variable(name))
                .and_then(|locale| Self::of(&locale))
        };
        let Some(named) = flag(words).or_else(|| variable("POSSE_LANG")) else {
            return (system().unwrap_or(Self::English), None);
        };
        match Self::of(&named) {
            Some(language) => (language, None),
            None => (system().unwrap_or(Self::English), Some(named)),
        }
    }
}

/// Finds the flag's value anywhere before `--`.
fn flag(words: impl Iterator<Item = OsString>) -> Option<String> {
    let mut words = words.map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--");
    while let Some(word) = words.next() {
        if word == "--lang" {
            return words.next();
        }
        if let Some(value) = word.strip_prefix("--lang=") {
            return Some(value.to_owned());
        }
    }
    None
}

static SPOKEN: OnceLock<Language> = OnceLock::new();

/// Chooses the language of this process. The first choice stands.
pub fn speak(language: Language) {
    let _ = SPOKEN.set(language);
}

/// Returns the language of this process.
pub fn language() -> Language {
    SPOKEN.get().copied().unwrap_or(Language::English)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_understood_in_every_spelling() {
        let cases = [
            ("de", Some(Language::German)),
            ("de_AT.UTF-8@euro", Some(Language::German)),
            ("DE-ch", Some(Language::German)),
            ("ja_JP.UTF-8", Some(Language::Japanese)),
            ("zh_CN.UTF-8", Some(Language::Chinese)),
            ("zh-Hans", Some(Language::Chinese)),
            ("zh_TW.UTF-8", None),
            ("zh-Hant-HK", None),
            ("C", Some(Language::English)),
            ("C.UTF-8", Some(Language::English)),
            ("POSIX", Some(Language::English)),
            ("it_IT.UTF-8", None),
            ("", None),
            ("deutsch", None),
        ];
        for (locale, expected) in cases {
            assert_eq!(Language::of(locale), expected, "{locale}");
        }
    }

    fn decided(words: &[&str], environment: &[(&str, &str)]) -> (Language, Option<String>) {
        let find = |name: &str| environment.iter().find(|(known, _)| *known == name);
        Language::decide(words.iter().map(OsString::from), |name| {
            find(name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_flag_wins_then_our_variable_then_the_locale() {
        let all =
            [("POSSE_LANG", "fr"), ("LC_ALL", "es_ES.UTF-8"), ("LC_MESSAGES", "zh_CN"), ("LANG", "ja_JP")];
        assert_eq!(decided(&["run", "--lang", "de", "x"], &all), (Language::German, None));
        assert_eq!(decided(&["--lang=de"], &all), (Language::German, None));
        assert_eq!(decided(&["run", "--", "--lang", "de"], &all), (Language::French, None));
        assert_eq!(decided(&[], &all[1..]), (Language::Spanish, None));
        assert_eq!(decided(&[], &all[2..]), (Language::Chinese, None));
        assert_eq!(decided(&[], &all[3..]), (Language::Japanese, None));
        assert_eq!(decided(&[], &[]), (Language::English, None));
    }

    #[test]
    fn only_what_was_named_on_purpose_is_complained_about() {
        assert_eq!(decided(&[], &[("LANG", "it_IT.UTF-8")]), (Language::English, None));
        let named = Some("it".to_owned());
        assert_eq!(decided(&[], &[("POSSE_LANG", "it")]), (Language::English, named.clone()));
        assert_eq!(decided(&["--lang", "it"], &[("LANG", "de_DE")]), (Language::German, named));
        assert_eq!(decided(&["--lang"], &[]), (Language::English, None));
    }
}
