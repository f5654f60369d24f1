//! What every catalogue has to be: whole, parsable, and with the same arguments in every language.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use fluent_syntax::parser;
use posse_messages::{AREAS, Language, entries, find};

pub type Messages = BTreeMap<String, BTreeSet<String>>;

/// The keys of one file with the arguments of each.
pub fn messages(language: Language, area: &str) -> Messages {
    let tag = language.tag();
    let resource = parser::parse(entries(language, area))
        .unwrap_or_else(|(_, errors)| panic!("{tag}/{area}.ftl: {errors:?}"));
    let mut found = Messages::new();
    for entry in &resource.body {
        match entry {
            Entry::Message(message) => {
                let key = message.id.name;
                assert!(message.attributes.is_empty(), "{tag}/{area}.ftl: `{key}` has attributes");
                let pattern = message.value.as_ref().unwrap_or_else(|| panic!("{tag}: `{key}` is empty"));
                let mut names = BTreeSet::new();
                arguments(pattern, &mut names);
                assert!(
                    found.insert(key.to_owned(), names).is_none(),
                    "{tag}/{area}.ftl: `{key}` is there twice"
                );
            }
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
            Entry::Term(_) | Entry::Junk { .. } => panic!("{tag}/{area}.ftl: only messages are understood"),
        }
    }
    found
}

fn arguments(pattern: &Pattern<&str>, names: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        match expression {
            Expression::Inline(inline) => argument(inline, names),
            Expression::Select { selector, variants } => {
                argument(selector, names);
                variants.iter().for_each(|variant| arguments(&variant.value, names));
            }
        }
    }
}

fn argument(inline: &InlineExpression<&str>, names: &mut BTreeSet<String>) {
    match inline {
        InlineExpression::VariableReference { id } => {
            names.insert(id.name.to_owned());
        }
        InlineExpression::StringLiteral { .. } => {}
        // A message is parsed alone when it is said, so it cannot refer to others.
        other => panic!("only arguments and quoted text are understood: {other:?}"),
    }
}

pub fn all(language: Language) -> Messages {
    let mut found = Messages::new();
    for area in AREAS {
        for (key, names) in messages(language, area) {
            assert!(found.insert(key.clone(), names).is_none(), "`{key}` is in two files");
        }
    }
    found
}

#[test]
fn each_message_is_found_alone() {
    for language in Language::ALL {
        for key in all(language).keys() {
            assert!(find(language, key, &[]).is_some(), "{}: `{key}`", language.tag());
        }
    }
}

#[test]
fn a_translation_has_an_original_and_the_same_arguments() {
    let mut wrong = Vec::new();
    let originals = all(Language::English);
    for language in Language::ALL {
        for (key, names) in all(language) {
            match originals.get(&key) {
                None => wrong.push(format!("{}: `{key}` is not in English", language.tag())),
                Some(original) if *original != names => {
                    wrong.push(format!("{}: `{key}` has {names:?}, English {original:?}", language.tag()));
                }
                Some(_) => {}
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

// R448
#[test]
fn every_language_has_every_message() {
    let mut missing = Vec::new();
    for area in AREAS {
        let originals = messages(Language::English, area);
        for language in Language::ALL {
            let there = messages(language, area);
            let lacking = originals.keys().filter(|key| !there.contains_key(*key));
            missing.extend(lacking.map(|key| format!("{}/{area}.ftl: {key}", language.tag())));
        }
    }
    assert_eq!(missing, [""; 0], "translate these");
}

#[test]
fn files_are_in_order() {
    for language in Language::ALL {
        for area in AREAS {
            let text = entries(language, area);
            assert!(text.starts_with('#'), "{}/{area}.ftl says what it is", language.tag());
            let odd = text.lines().find(|line| line.ends_with(' ') || line.contains('\t'));
            assert_eq!(odd, None, "{}/{area}.ftl", language.tag());
        }
    }
}
