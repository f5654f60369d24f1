//! Architecture documents name only files and symbols that exist.
//!
//! Checked are the links and the spans in backticks of `README.md`, `ARCHITECTURE.md`, `docs/guides`, `docs/internals` and
//! `docs/decisions`, outside of fenced blocks:
//! paths, and names that look like Rust (`TypeName`, `Type::method`, `function()`, `macro!`). Plain lower-case words are not
//! checked, because most of them are tool names, keys or commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rows::sources;

/// Longest map that a newcomer reads to its end.
const MAP_BYTES_MAX: usize = 8_000;

/// Longest README by which a stranger decides in half a minute.
const README_LINES_MAX: usize = 150;

/// Folders that a path in a document starts with. A shorter path is the end of one, such as `session/adopt.rs`.
const PATH_STARTS: &[&str] = &["crates/", "posse-", "xtask/", "docs/"];

/// A span in backticks that can be checked.
#[derive(Debug, PartialEq)]
enum Mention<'a> {
    Path(&'a str),
    /// The identifiers of a Rust path, without `()` or `!`.
    Symbol(Vec<&'a str>),
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_type_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric())
        && text.contains(|c: char| c.is_ascii_lowercase())
}

fn is_path(span: &str) -> bool {
    let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
    let known_start = span.contains('/') && PATH_STARTS.iter().any(|start| span.starts_with(*start));
    plain && (known_start || span.ends_with(".rs"))
}

fn mention(span: &str) -> Option<Mention<'_>> {
    if is_path(span) {
        return Some(Mention::Path(span.trim_end_matches('/')));
    }
    let bare = span.strip_suffix("()").or_else(|| span.strip_suffix('!')).unwrap_or(span);
    let names: Vec<&str> = bare.split("::").collect();
    let looks_like_rust = bare != span || names.len() > 1 || is_type_name(bare);
    (looks_like_rust && names.iter().all(|name| is_identifier(name))).then_some(Mention::Symbol(names))
}

/// The lines of a document outside of fenced blocks, with their numbers.
fn prose(document: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in document.lines().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of links to files, without anchors.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// Whether a file or a folder has this path, or a path that ends in it.
fn exists(known: &BTreeSet<String>, path: &str) -> bool {
    let end = format!("/{path}");
    known.iter().any(|known| known == path || known.ends_with(&end))
}

/// Adds the paths below a folder, relative to the workspace.
fn paths(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(crate::root()).unwrap().display().to_string();
        if path.is_dir() && !path.ends_with("target") {
            paths(&path, found);
        }
        found.insert(relative);
    }
}

/// Adds the identifiers of a source file. A name in a comment alone does not count.
fn identifiers(source: &str, found: &mut BTreeSet<String>) {
    for line in source.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        found.extend(words.filter(|word| is_identifier(word)).map(str::to_owned));
    }
}

fn documents() -> Vec<PathBuf> {
    let mut found = ["README.md", "ARCHITECTURE.md"].map(|file| crate::root().join(file)).to_vec();
    for folder in ["docs/guides", "docs/internals", "docs/decisions"] {
        let files = fs::read_dir(crate::root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    found.sort();
    found
}

#[test]
fn documents_name_only_files_and_symbols_that_exist() {
    let (mut files, mut names) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["crates", "xtask", "docs"] {
        files.insert(folder.to_owned());
        paths(&crate::root().join(folder), &mut files);
    }
    // Not the tests of this crate: the sample below would keep its names alive.
    for folder in ["crates", "xtask/src"] {
        sources(&crate::root().join(folder), &mut |_, source| identifiers(source, &mut names));
    }
    let (mut checked, mut dead) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for (number, line) in prose(&text) {
            let mut complain = |what: &str| dead.push(format!("{}:{number}: {what}", document.display()));
            for span in spans(line) {
                let known = match mention(span) {
                    None => continue,
                    Some(Mention::Path(path)) => exists(&files, path),
                    Some(Mention::Symbol(parts)) => parts.iter().all(|part| names.contains(*part)),
                };
                checked += 1;
                if !known {
                    complain(span);
                }
            }
            for target in links(line) {
                if !document.parent().unwrap().join(target).exists() {
                    complain(target);
                }
            }
        }
    }
    assert!(checked > 300, "only {checked} names were found");
    assert_eq!(dead, [""; 0], "these do not exist; rename them in the documents, too");
}

/// One step of a call trace, such as ``3. `Type::name` (`posse-core/src/run.rs`): …``.
#[derive(Debug, PartialEq)]
struct TraceStep<'a> {
    number: usize,
    function: &'a str,
    file: &'a str,
}

fn trace_step(line: &str) -> Option<TraceStep<'_>> {
    let number = line.split_once(". `")?.0.parse().ok()?;
    let mut spans = spans(line);
    Some(TraceStep { number, function: spans.next()?, file: spans.next()? })
}

/// Complains about a step that its file does not define. A method needs an `impl` of its type around it.
fn missing(step: &TraceStep<'_>, source: &str) -> Option<String> {
    let (owner, name) = match step.function.rsplit_once("::") {
        Some((owner, name)) => (Some(owner), name),
        None => (None, step.function.strip_suffix("()").unwrap_or_default()),
    };
    let mut around = None;
    for line in source.lines() {
        if line.starts_with("impl") {
            around = Some(line);
        } else if line.starts_with('}') {
            around = None;
        }
        let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let is_method_of = |owner: &str| {
            let mut words = around.unwrap_or_default().split(|c: char| !c.is_ascii_alphanumeric());
            words.any(|word| word == owner)
        };
        let is_here = match owner {
            Some(owner) => is_method_of(owner),
            None => around.is_none() && !line.starts_with(' '),
        };
        if is_here && words.windows(2).any(|pair| pair == ["fn", name]) {
            return None;
        }
    }
    Some(format!("{} has no `{}`", step.file, step.function))
}

/// The steps of the first trace that a line of the second repeats, such as
/// ``- Steps 3 to 5 of the first trace, `first()` to `last()`.``
fn repeated(line: &str) -> Option<(usize, usize)> {
    let (from, rest) = line.strip_prefix("- Steps ")?.split_once(" to ")?;
    Some((from.parse().ok()?, rest.split_once(' ')?.0.parse().ok()?))
}

#[test]
fn the_call_traces_name_functions_of_their_files_and_count_them() {
    let page = fs::read_to_string(crate::root().join("docs/internals/follow-a-call.md")).unwrap();
    let traces: Vec<&str> =
        page.split("\n## ").filter(|part| part.lines().any(|l| trace_step(l).is_some())).collect();
    assert_eq!(traces.len(), 2);
    let mut wrong = Vec::new();
    let mut first: Vec<&str> = Vec::new();
    for trace in &traces {
        let steps: Vec<TraceStep<'_>> = trace.lines().filter_map(trace_step).collect();
        for (index, step) in steps.iter().enumerate() {
            assert_eq!(step.number, index + 1, "the steps are numbered in order");
            let source = fs::read_to_string(crate::root().join("crates").join(step.file));
            wrong.extend(missing(step, &source.unwrap_or_else(|e| panic!("{}: {e}", step.file))));
        }
        let stated = format!("{} functions from ", steps.len());
        assert!(trace.contains(&format!("\n{stated}")), "the trace does not say `{stated}…`");
        if first.is_empty() {
            first = steps.iter().map(|step| step.function).collect();
        }
    }
    let mut shared = 0;
    for line in traces[1].lines() {
        let Some((from, to)) = repeated(line) else { continue };
        let ends: Vec<&str> = spans(line).collect();
        assert_eq!(ends, [first[from - 1], first[to - 1]], "{line}");
        shared += to + 1 - from;
    }
    assert!(traces[1].contains(&format!("and {shared} more in stretches")), "{shared} steps are repeated");
    assert_eq!(wrong, [""; 0], "follow the calls again");
}

#[test]
fn a_step_is_found_in_its_file_only_under_its_own_type() {
    let source = "fn free() {}\nimpl<T> Codec for Reader<T> {\n    pub async fn read(&self) {}\n}\nimpl Writer {\n    fn write() {}\n}\n";
    let is_found =
        |function: &str| missing(&TraceStep { number: 1, function, file: "a.rs" }, source).is_none();
    assert!(is_found("free()") && is_found("Reader::read") && is_found("Writer::write"));
    for wrong in ["read()", "Writer::read", "Reader::write", "Reader::free", "Reader", "free"] {
        assert!(!is_found(wrong), "{wrong}");
    }
    let step = TraceStep { number: 12, function: "A::b", file: "c/d.rs" };
    assert_eq!(trace_step("12. `A::b` (`c/d.rs`): adds `E`."), Some(step));
    assert_eq!(trace_step("Of 12. `A::b` (`c/d.rs`)."), None);
    assert_eq!(repeated("- Steps 3 to 5 of the first trace, `a()` to `b()`."), Some((3, 5)));
}

#[test]
fn the_map_stays_short() {
    let bytes = fs::read(crate::root().join("ARCHITECTURE.md")).unwrap().len();
    assert!(
        bytes <= MAP_BYTES_MAX,
        "ARCHITECTURE.md has {bytes} bytes; move details to docs/internals or docs/decisions"
    );
}

#[test]
fn the_readme_stays_short_and_names_the_first_commands() {
    let readme = fs::read_to_string(crate::root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines; move details to docs/guides");
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    ")).take(2).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "cargo xtask test"]);
}

#[test]
fn paths_and_rust_names_are_told_from_other_words() {
    let symbol = |names: &[&'static str]| Some(Mention::Symbol(names.to_vec()));
    assert_eq!(mention("crates/posse-core/"), Some(Mention::Path("crates/posse-core")));
    assert_eq!(mention("session/adopt.rs"), Some(Mention::Path("session/adopt.rs")));
    assert_eq!(mention("SomeType"), symbol(&["SomeType"]));
    assert_eq!(mention("Some::method"), symbol(&["Some", "method"]));
    assert_eq!(mention("some_function()"), symbol(&["some_function"]));
    assert_eq!(mention("say!"), symbol(&["say"]));
    for other in ["bash", "OWNER_LOST", "cargo xtask test", "Bash(git *)", "posse-core", "/proc", ""] {
        assert_eq!(mention(other), None, "{other}");
    }
    let known = BTreeSet::from(["crates/posse-core/src/run.rs".to_owned()]);
    assert!(exists(&known, "posse-core/src/run.rs") && exists(&known, "run.rs"));
    assert!(!exists(&known, "un.rs"));
    assert_eq!(links("[a](b.md#c), [d](https://e) and [f](#g)"), ["b.md"]);
    assert_eq!(prose("a\n```\nb\n```\nc"), [(1, "a"), (5, "c")]);
}
