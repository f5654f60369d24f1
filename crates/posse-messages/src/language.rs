//! Which language this process speaks. It is chosen once, by the binary; a library speaks English unless its program chooses.

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
}
