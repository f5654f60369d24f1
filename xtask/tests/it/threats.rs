//! Every threat that `docs/threats.md` lists has a test, or says why it has none yet. A test says which rows it is about
//! with a comment such as `// S05, G23`, before it or at its beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Tested = BTreeMap<String, BTreeSet<String>>;

/// Rows are never taken out.
const ROWS: usize = 35;

/// Rows that may be without a test, and who owes it. This only shrinks: what has a test has to leave the list.
const OPEN: &[(&str, &str)] = &[
    ("S13", "Posse starts no MCP servers yet"),
    ("S15", "with provenance of children's results"),
    ("S16", "Posse listens on no port yet"),
    ("S17", "Posse listens on no port yet"),
    ("S18", "Posse listens on no port yet"),
    ("S19", "Posse listens on no port yet"),
    ("S20", "there is no dashboard yet"),
    ("S35", "`cargo xtask test` runs cargo-deny; there is nothing else to run"),
];

fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix(['S', 'G', 'R', 'P', 'T']);
    digits.is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The rows of this table in a comment such as `// S05, G23: why`.
fn ids(line: &str) -> Vec<String> {
    let Some(comment) = line.trim().strip_prefix("// ") else { return Vec::new() };
    let words = comment.split([',', ':', ' ']).map(str::trim).filter(|word| !word.is_empty());
    words.take_while(|word| is_id(word)).filter(|word| word.starts_with('S')).map(str::to_owned).collect()
}

/// The tests of a file by the rows they name. What a helper says does not count: it may never be called.
fn marked(source: &str, found: &mut Tested) {
    let (mut before, mut is_test) = (Vec::new(), false);
    let (mut around, mut in_helper): (Option<String>, bool) = (None, false);
    for line in source.lines() {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("async fn ").or_else(|| text.strip_prefix("fn ")) {
            let name = rest.split('(').next().unwrap_or_default().to_owned();
            around = std::mem::take(&mut is_test).then_some(name);
            in_helper = around.is_none() && !text.ends_with('}');
            if around.is_none() {
                before.clear();
            }
        } else if !in_helper {
            before.extend(ids(line));
        }
        is_test |= text.starts_with("#[test") || text.starts_with("#[tokio::test");
        in_helper &= line != "}" && line != "    }";
        if let Some(test) = &around {
            // Behind a test, a comment belongs to the next one.
            if !is_test {
                for id in before.drain(..) {
                    found.entry(id).or_default().insert(test.clone());
                }
            }
            if line == "}" || line == "    }" {
                around = None;
            }
        }
    }
}

fn sources(directory: &Path, look: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// `| S01 | threat | what is done | tests |`, tests in backticks.
fn listed(document: &str) -> Tested {
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, threat, answer, tests] = cells.as_slice() else { return None };
        if !is_id(id) {
            return None;
        }
        assert!(!threat.is_empty() && !answer.is_empty() && !tests.is_empty(), "{id} says nothing");
        let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(((*id).to_owned(), tests))
    });
    rows.collect()
}

#[test]
fn every_listed_threat_is_tested_or_says_why_not() {
    let document = fs::read_to_string(crate::root().join("docs/threats.md")).unwrap();
    let listed = listed(&document);
    let expected: Vec<String> = (1..=ROWS).map(|row| format!("S{row:02}")).collect();
    assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), expected);
    let mut marked_in_sources = Tested::new();
    sources(&crate::root().join("crates"), &mut |source| marked(source, &mut marked_in_sources));
    let mut wrong = Vec::new();
    for id in &expected {
        let open = OPEN.iter().find(|(row, _)| row == id);
        match (marked_in_sources.get(id), open) {
            (None, None) => wrong.push(format!("no test names {id}")),
            (Some(tests), Some(_)) => wrong.push(format!("{id} is listed as open, and tested by {tests:?}")),
            (None, Some((_, why))) if !document.contains(&format!("open: {why}")) => {
                wrong.push(format!("the last cell of {id} should be: open: {why}"));
            }
            (None, Some(_)) => {}
            (Some(tests), None) if listed.get(id) != Some(tests) => {
                let names = tests.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                wrong.push(format!("the last cell of {id} in docs/threats.md should be: {names}"));
            }
            (Some(_), None) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_comment_belongs_to_the_test_after_it_or_around_it() {
    let source = "\
// S01, G02: because
#[tokio::test]
async fn before() {
    // S03
    // S04x is mentioned, not meant
}

// S05
fn helper() {
    // S06
}

mod tests {
    // R001, S07
    #[test]
    fn within() {
        check();
    }

    // S08
    #[test]
    fn next() {}
}
";
    let mut found = Tested::new();
    marked(source, &mut found);
    let pairs: Vec<String> = found
        .iter()
        .map(|(id, tests)| format!("{id} {}", tests.iter().cloned().collect::<Vec<_>>().join(" ")))
        .collect();
    assert_eq!(pairs, ["S01 before", "S03 before", "S07 within", "S08 next"]);
}
