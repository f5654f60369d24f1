//! Tables of the documentation whose rows are named by tests: `| S01 | what | answer | tests |`, tests in backticks. A test says
//! which rows it is about with a comment such as `// S05, G23: why`, before it or at its beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Row ids and the names of tests.
pub type Tested = BTreeMap<String, BTreeSet<String>>;

fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix(['S', 'G', 'R', 'P', 'T']);
    digits.is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The rows of one table in a comment.
fn ids(line: &str, table: char) -> Vec<String> {
    let Some(comment) = line.trim().strip_prefix("// ") else { return Vec::new() };
    let words = comment.split([',', ':', ' ']).map(str::trim).filter(|word| !word.is_empty());
    words.take_while(|word| is_id(word)).filter(|word| word.starts_with(table)).map(str::to_owned).collect()
}

/// The tests of a file by the rows they name. What a helper says does not count: it may never be called.
pub fn marked(source: &str, table: char, found: &mut Tested) {
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
            before.extend(ids(line, table));
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

/// What is said in the comments before and inside of each test of a file.
pub fn comments(source: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let is_comment = |line: &&&str| line.trim_start().starts_with("//");
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let Some(rest) = text.strip_prefix("async fn ").or_else(|| text.strip_prefix("fn ")) else {
            continue;
        };
        let is_before = |line: &&&str| is_comment(line) || line.trim_start().starts_with("#[");
        let before: Vec<&&str> = lines[..at].iter().rev().take_while(is_before).collect();
        let is_test =
            |line: &&&str| ["#[test", "#[tokio::test"].iter().any(|mark| line.trim_start().starts_with(mark));
        if !before.iter().any(is_test) {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - text.len()]);
        let within = lines[at..].iter().take_while(|line| ***line != end);
        let said = before.into_iter().rev().chain(within).filter(is_comment).copied();
        let name = rest.split('(').next().unwrap_or_default().to_owned();
        found.push((name, said.collect::<Vec<_>>().join(" ")));
    }
    found
}

pub fn sources(directory: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// The rows of a document and the tests in their last cells.
pub fn listed(document: &str) -> Tested {
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, what, answer, tests] = cells.as_slice() else { return None };
        if !is_id(id) {
            return None;
        }
        assert!(!what.is_empty() && !answer.is_empty() && !tests.is_empty(), "{id} says nothing");
        let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(((*id).to_owned(), tests))
    });
    rows.collect()
}

/// Tests as they stand in a last cell.
pub fn cell(tests: &BTreeSet<String>) -> String {
    tests.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
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
    marked(source, 'S', &mut found);
    let pairs: Vec<String> = found
        .iter()
        .map(|(id, tests)| format!("{id} {}", tests.iter().cloned().collect::<Vec<_>>().join(" ")))
        .collect();
    assert_eq!(pairs, ["S01 before", "S03 before", "S07 within", "S08 next"]);
}
