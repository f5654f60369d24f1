//! Every fault that `docs/faults.md` lists is met by a test that plays the provider on the loopback and looks at what
//! was sent. A test says which rows it is about with a comment such as `// P07, P45`, before it or at its beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Row ids and the names of tests.
type Tested = BTreeMap<String, BTreeSet<String>>;

/// Where the provider is played.
const DIRECTORIES: [&str; 2] = ["crates/posse/tests/it", "crates/posse-models/tests/it"];
const LOOPBACK: &str = "use posse_testkit::server::";
/// Rows are never taken out: a fault that providers have shown once can come again.
const ROWS: usize = 46;

/// The ids of a comment such as `// P05, P06: why`.
fn ids(line: &str) -> Vec<String> {
    let Some(comment) = line.trim().strip_prefix("// ") else { return Vec::new() };
    let words = comment.split([',', ':']).map(str::trim);
    words.take_while(|word| is_id(word)).map(str::to_owned).collect()
}

fn is_id(word: &str) -> bool {
    word.strip_prefix('P')
        .is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The tests of a file by the rows they name. What a helper says does not count: it may never be called.
fn marked(source: &str, found: &mut Tested) {
    let mut before = Vec::new();
    let mut is_test = false;
    // The function around a line; a helper has no name.
    let mut around: Option<Option<String>> = None;
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn ")) {
            let name = rest.split('(').next().unwrap_or_default().to_owned();
            around = Some(std::mem::take(&mut is_test).then_some(name));
        }
        match &around {
            None => before.extend(ids(line)),
            Some(None) => before.clear(),
            Some(Some(test)) => {
                for id in before.drain(..).chain(ids(line)) {
                    found.entry(id).or_default().insert(test.clone());
                }
            }
        }
        is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
        if line == "}" {
            around = None;
        }
    }
}

fn marked_in_the_sources() -> Tested {
    let mut found = Tested::new();
    for directory in DIRECTORIES {
        for file in files(&crate::root().join(directory)) {
            let source = fs::read_to_string(&file).unwrap();
            if source.contains(LOOPBACK) {
                marked(&source, &mut found);
            }
        }
    }
    found
}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// `| P01 | what goes wrong | what is done | tests |`, tests in backticks.
fn listed(document: &str) -> Tested {
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, fault, answer, tests] = cells.as_slice() else { return None };
        if !is_id(id) {
            return None;
        }
        assert!(!fault.is_empty() && !answer.is_empty(), "{id} says nothing");
        let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(((*id).to_owned(), tests))
    });
    rows.collect()
}

#[test]
fn every_listed_fault_is_tested_against_a_provider_on_the_loopback() {
    let listed = listed(&fs::read_to_string(crate::root().join("docs/faults.md")).unwrap());
    let expected: Vec<String> = (1..=ROWS).map(|row| format!("P{row:02}")).collect();
    assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), expected);
    let marked = marked_in_the_sources();
    let untested: Vec<&String> = listed.keys().filter(|id| !marked.contains_key(*id)).collect();
    assert_eq!(untested, [""; 0], "no test names these rows");
    for (id, tests) in &marked {
        let names = tests.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        assert_eq!(listed.get(id), Some(tests), "the last cell of {id} in docs/faults.md should be: {names}");
    }
}

#[test]
fn a_comment_belongs_to_the_test_after_it_or_around_it() {
    let source = "\
// P01, P02
#[tokio::test]
async fn before() {
    // P03: because
    // P04 is mentioned, not meant
}

// P05
fn helper() {
    // P06
}

#[test]
fn within() {
    // P07
}
";
    let mut found = Tested::new();
    marked(source, &mut found);
    let pairs: Vec<(&str, String)> = found
        .iter()
        .map(|(id, tests)| (id.as_str(), tests.iter().cloned().collect::<Vec<_>>().join(" ")))
        .collect();
    let expected = [("P01", "before"), ("P02", "before"), ("P03", "before"), ("P07", "within")];
    assert_eq!(pairs, expected.map(|(id, test)| (id, test.to_owned())));
}
