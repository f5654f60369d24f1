//! Public types have unique names, and doc comments lead with a noun or a verb.

use std::collections::BTreeMap;
use std::path::Path;

use crate::rows::sources;

/// Public types that may share a name, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("Agent", "the library's builder, and the snapshot that a run keeps"),
    ("Session", "the library's session wraps the runtime's"),
];

/// First words that describe a thing by a riddle instead of naming it.
const RIDDLES: &[&str] = &[
    "What", "Who", "Whoever", "Whose", "Whom", "Whether", "Where", "Wherever", "Which", "How", "Of", "Those",
    "Nobody", "Nothing", "Somebody", "To whom", "For whom", "At which", "In which",
];

/// Names of the types that a source makes public.
fn public_types(source: &str) -> Vec<&str> {
    let declared = source.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        let name = ["struct ", "enum ", "trait ", "type ", "union "]
            .iter()
            .find_map(|kind| line.strip_prefix(kind))?;
        Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
    });
    declared.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).collect()
}

/// First lines of doc comments that open with a riddle, with their line numbers.
fn riddles(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (index, line) in source.lines().enumerate() {
        let text = line.trim_start().strip_prefix("///").filter(|text| !text.starts_with('/'));
        if let Some(text) = text.map(str::trim).filter(|_| !inside) {
            let opens = |word: &&&str| {
                let rest = text.strip_prefix(**word);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            if RIDDLES.iter().any(|word| opens(&word)) {
                found.push((index + 1, text));
            }
        }
        inside = text.is_some();
    }
    found
}

fn crate_sources(look: &mut impl FnMut(&Path, &str)) {
    for member in std::fs::read_dir(crate::root().join("crates")).unwrap() {
        sources(&member.unwrap().path().join("src"), look);
    }
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    crate_sources(&mut |path, source| {
        for name in public_types(source) {
            places.entry(name.to_owned()).or_default().push(path.display().to_string());
        }
    });
    assert!(places.len() > 500, "only {} types were found", places.len());
    let is_allowed = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let shared: Vec<_> =
        places.into_iter().filter(|(name, places)| places.len() > 1 && !is_allowed(name)).collect();
    assert!(shared.is_empty(), "name each by what it holds: {shared:#?}");
}

#[test]
fn no_doc_comment_opens_with_a_riddle() {
    let mut found = Vec::new();
    crate_sources(&mut |path, source| {
        found.extend(riddles(source).iter().map(|(line, text)| format!("{}:{line}: {text}", path.display())));
    });
    assert!(found.is_empty(), "lead with a noun or a third-person verb: {found:#?}");
}

#[test]
fn types_and_riddles_are_recognized() {
    let source =
        "pub struct First<T>(T);\n    pub enum Second {}\npub(crate) struct Third;\npub fn Fourth() {}\n";
    assert_eq!(public_types(source), ["First", "Second"]);
    let source =
        "/// What it holds.\n/// More of it.\nfn a() {}\n/// Whatever else.\n/// Of so many.\nfn b() {}\n";
    assert_eq!(riddles(source), [(1, "What it holds.")]);
    assert_eq!(riddles("/// A lease.\n/// What a second line says.\n"), []);
    assert_eq!(riddles("    /// Whether it is there.\n"), [(1, "Whether it is there.")]);
}
