//! Language of this process: `--lang`, then the environment.

use std::ffi::OsString;

use posse_messages::{Language, say, speak};

use crate::terminal;

/// Variable that names the language of Posse; the ones below describe the whole system.
const OWN: &str = "POSSE_LANG";
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Chooses the language before the command line is parsed, because help and usage errors are texts too.
pub fn choose() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (language, unknown) = decide(std::env::args_os().skip(1), variable);
    speak(language);
    if let Some(unknown) = unknown {
        let names = Language::ALL.map(Language::tag).join(", ");
        terminal::note(&say!("language-unknown", unknown, names));
    }
}

/// Decides the language, and returns an explicitly named language that is not available. An unsupported system locale
/// is not reported.
fn decide(
    words: impl Iterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> (Language, Option<String>) {
    let system = || LOCALE.iter().find_map(|name| variable(name)).and_then(|locale| Language::of(&locale));
    let Some(named) = flag(words).or_else(|| variable(OWN)) else {
        return (system().unwrap_or(Language::English), None);
    };
    match Language::of(&named) {
        Some(language) => (language, None),
        None => (system().unwrap_or(Language::English), Some(named)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(words: &[&str], environment: &[(&str, &str)]) -> (Language, Option<String>) {
        let find = |name: &str| environment.iter().find(|(known, _)| *known == name);
        decide(words.iter().map(OsString::from), |name| find(name).map(|(_, value)| (*value).to_owned()))
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
