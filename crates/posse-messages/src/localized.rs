//! Texts with two kinds of readers: people, in their language, and models, in English.

use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

/// A text in the language of this process and in English. It derefs to, and displays as, the text for people; whatever a
/// model reads takes [`LocalizedText::english`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalizedText {
    // Boxed so that errors, which hold two of these, stay small.
    local: Box<str>,
    /// `None` if it is the same.
    english: Option<Box<str>>,
}

impl LocalizedText {
    /// Creates a text from both languages.
    pub fn new(local: impl Into<String>, english: impl Into<String>) -> Self {
        let (local, english) = (local.into(), english.into());
        let english = (english != local).then(|| english.into());
        Self { local: local.into(), english }
    }

    /// The text for people.
    pub fn as_str(&self) -> &str {
        &self.local
    }

    /// The text for models.
    pub fn english(&self) -> &str {
        self.english_if_other().unwrap_or(&self.local)
    }

    pub(crate) fn english_if_other(&self) -> Option<&str> {
        self.english.as_deref()
    }

    /// Rewrites both texts the same way, for example to put a place before them.
    pub fn map(&self, rewrite: impl Fn(&str) -> String) -> Self {
        let english = self.english.as_deref().map(|text| rewrite(text).into());
        Self { local: rewrite(&self.local).into(), english }
    }

    /// Joins texts, each language for itself.
    pub fn join<'a>(texts: impl IntoIterator<Item = &'a LocalizedText>, separator: &str) -> Self {
        let texts: Vec<&LocalizedText> = texts.into_iter().collect();
        let all = |text: fn(&'a LocalizedText) -> &'a str| {
            texts.iter().map(|each| text(each)).collect::<Vec<_>>().join(separator)
        };
        Self::new(all(LocalizedText::as_str), all(LocalizedText::english))
    }
}

impl PartialEq<str> for LocalizedText {
    fn eq(&self, other: &str) -> bool {
        &*self.local == other
    }
}

impl PartialEq<&str> for LocalizedText {
    fn eq(&self, other: &&str) -> bool {
        &*self.local == *other
    }
}

impl Deref for LocalizedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.local
    }
}

impl fmt::Display for LocalizedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.local)
    }
}

impl Default for &LocalizedText {
    fn default() -> Self {
        static EMPTY: LazyLock<LocalizedText> = LazyLock::new(LocalizedText::default);
        &EMPTY
    }
}

/// A text without a translation: names, numbers, somebody else's words.
impl From<String> for LocalizedText {
    fn from(text: String) -> Self {
        Self { local: text.into(), english: None }
    }
}

impl From<&str> for LocalizedText {
    fn from(text: &str) -> Self {
        Self { local: text.into(), english: None }
    }
}

impl From<&String> for LocalizedText {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&LocalizedText> for LocalizedText {
    fn from(text: &LocalizedText) -> Self {
        text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Number as _, argument};

    #[test]
    fn a_text_inside_of_another_keeps_both_its_languages() {
        let inner = LocalizedText::new("kein Agent", "no agent");
        let given = argument!(inner);
        assert!(matches!(&given.local, fluent_bundle::FluentValue::String(text) if text == "kein Agent"));
        assert!(matches!(given.in_english(), fluent_bundle::FluentValue::String(text) if text == "no agent"));
        let said = inner.map(|text| format!("x: {text}"));
        assert_eq!((&*said, said.english()), ("x: kein Agent", "x: no agent"));
        let joined = LocalizedText::join([&inner, &LocalizedText::from("1")], " ");
        assert_eq!((&*joined, joined.english()), ("kein Agent 1", "no agent 1"));
    }
}
