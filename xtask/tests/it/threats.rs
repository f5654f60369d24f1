//! Every threat that `docs/threats.md` lists has a test, or says why it has none yet.

use std::fs;

use crate::rows::{Tested, cell, listed, marked, sources};

/// Rows are never taken out.
const ROWS: usize = 35;

/// Rows that may be without a test, and who owes it. This only shrinks: what has a test has to leave the list.
const OPEN: &[(&str, &str)] = &[
    ("S15", "with provenance of children's results"),
    ("S20", "there is no dashboard yet"),
    ("S35", "`cargo xtask test` runs cargo-deny; there is nothing else to run"),
];

#[test]
fn every_listed_threat_is_tested_or_says_why_not() {
    let document = fs::read_to_string(crate::root().join("docs/threats.md")).unwrap();
    let listed = listed(&document);
    let expected: Vec<String> = (1..=ROWS).map(|row| format!("S{row:02}")).collect();
    assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), expected);
    let mut marked_in_sources = Tested::new();
    sources(&crate::root().join("crates"), &mut |source| marked(source, 'S', &mut marked_in_sources));
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
                wrong.push(format!("the last cell of {id} in docs/threats.md should be: {}", cell(tests)));
            }
            (Some(_), None) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
