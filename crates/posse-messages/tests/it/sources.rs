//! Finds every `say!` and `localized!` in the workspace and compares keys and arguments with the catalog, both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use posse_messages::{AREAS, Language};

use crate::catalogue::{self, Messages};

/// Looked up by the names of flags and commands; a test of `posse-cli` compares them with those.
const BY_NAME: &str = "help";

#[derive(Debug, PartialEq)]
struct Use {
    key: String,
    arguments: BTreeSet<String>,
}

/// Every use of a message in a source.
fn uses(source: &str) -> Vec<Use> {
    let mut found = Vec::new();
    for name in ["say!(", "localized!("] {
        for (at, _) in source.match_indices(name) {
            let line = &source[source[..at].rfind('\n').map_or(0, |end| end + 1)..at];
            let is_word = !line.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if is_word && !line.trim_start().starts_with("//") {
                found.extend(parse(&source[at + name.len()..]));
            }
        }
    }
    found
}

/// Of what stands behind the opening parenthesis. None if that is not a key, as in the definition of the macros.
fn parse(rest: &str) -> Option<Use> {
    let (key, rest) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    let arguments = split(rest)
        .into_iter()
        .map(|argument| argument.split(['=', ' ', '\n']).next().unwrap_or_default().trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    Some(Use { key: key.to_owned(), arguments })
}

/// The arguments up to the closing parenthesis, split at the commas between them.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_u32, 0, Vec::new());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                parts.push(text[start..at].trim());
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            '"' => {
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            // A character such as '(' or '\''; lifetimes do not stand in arguments.
            '\'' => {
                if chars.next().is_some_and(|(_, c)| c == '\\') {
                    chars.next();
                }
                chars.next();
            }
            _ => {}
        }
    }
    parts
}

fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Of the sources of every member, without their integration tests.
fn all_uses() -> Vec<(PathBuf, Use)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for member in fs::read_dir(crates).unwrap() {
        rust_files(&member.unwrap().path().join("src"), &mut files);
    }
    let read = |file: &PathBuf| uses(&fs::read_to_string(file).unwrap());
    files.iter().flat_map(|file| read(file).into_iter().map(|used| (file.clone(), used))).collect()
}

/// What is wrong with uses, and which messages nobody uses.
fn compare(uses: &[(PathBuf, Use)], catalogue: &Messages) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut unused: BTreeMap<&str, ()> = catalogue.keys().map(|key| (key.as_str(), ())).collect();
    for (file, used) in uses {
        unused.remove(used.key.as_str());
        let place = file.display();
        match catalogue.get(&used.key) {
            None => wrong.push(format!("{place}: `{}` is not in locales/en", used.key)),
            Some(names) if *names != used.arguments => wrong
                .push(format!("{place}: `{}` is given {:?} and takes {names:?}", used.key, used.arguments)),
            Some(_) => {}
        }
    }
    wrong.extend(unused.keys().map(|key| format!("nobody says `{key}`")));
    wrong
}

#[test]
fn what_is_said_is_in_the_catalogue_and_what_is_in_the_catalogue_is_said() {
    let mut catalogue = Messages::new();
    for area in AREAS.iter().filter(|area| **area != BY_NAME) {
        catalogue.extend(catalogue::messages(Language::English, area));
    }
    assert_eq!(compare(&all_uses(), &catalogue), [""; 0]);
}

/// `say!` is a text for people alone. What is made below the binary may reach a model, which reads English; what
/// `posse-console` and `posse-terminal` make reaches a screen, and what `posse-setup` makes the person who set it up.
#[test]
fn nothing_below_the_binary_speaks_the_language_of_people_alone() {
    let binary = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("posse-cli");
    let mut files = Vec::new();
    for member in fs::read_dir(binary.parent().unwrap()).unwrap() {
        rust_files(&member.unwrap().path().join("src"), &mut files);
    }
    let screens = [
        binary.clone(),
        binary.with_file_name("posse-console"),
        binary.with_file_name("posse-setup"),
        binary.with_file_name("posse-terminal"),
        env!("CARGO_MANIFEST_DIR").into(),
    ];
    let is_below = |file: &&PathBuf| !screens.iter().any(|screen| file.starts_with(screen));
    let says = |file: &&PathBuf| {
        let source = fs::read_to_string(file).unwrap();
        source.match_indices("say!(\"").any(|(at, _)| !source[..at].ends_with(|c: char| c.is_alphanumeric()))
    };
    let wrong: Vec<PathBuf> = files.iter().filter(is_below).filter(says).cloned().collect();
    assert_eq!(
        wrong,
        Vec::<PathBuf>::new(),
        "use `localized!` for errors, a literal for what only models read"
    );
}

#[test]
fn the_scanner_finds_keys_and_arguments() {
    let source = r#"
        // say!("in-a-comment")
        let a = say!("plain");
        let b = say!(
            "with-arguments",
            name,
            list = list.join(", "),
            count = f(a, b == c),
            odd = x.split(')').count() == 1,
        );
        localized!("other", n = if a { "(" } else { "\")" });
        essay!("not-ours");
        ($key:literal) => { say!($key) };
    "#;
    let used = |key: &str, arguments: &[&str]| Use {
        key: key.to_owned(),
        arguments: arguments.iter().map(|name| (*name).to_owned()).collect(),
    };
    let expected = [
        used("plain", &[]),
        used("with-arguments", &["name", "list", "count", "odd"]),
        used("other", &["n"]),
    ];
    assert_eq!(uses(source), expected);
}

#[test]
fn missing_unused_and_different_are_told() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let catalogue: Messages =
        [("a".to_owned(), names(&["x"])), ("b".to_owned(), names(&[])), ("c".to_owned(), names(&[]))].into();
    let used = |source: &str| -> Vec<(PathBuf, Use)> {
        uses(source).into_iter().map(|used| (PathBuf::from("f.rs"), used)).collect()
    };
    let found = |source: &str| compare(&used(source), &catalogue);
    assert_eq!(found(r#"say!("a", x); say!("b"); say!("c")"#), [""; 0]);
    assert_eq!(found(r#"say!("a", x); say!("b"); say!("c"); say!("d")"#).len(), 1);
    assert_eq!(found(r#"say!("a", y = x); say!("b"); say!("c")"#).len(), 1);
    assert_eq!(found(r#"say!("a", x); say!("b")"#), ["nobody says `c`"]);
}
