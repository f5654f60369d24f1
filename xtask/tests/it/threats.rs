//! Every threat that `docs/threats.md` lists has a test, or says why it has none yet.

use std::fs;

use crate::rows::{Tested, cell, listed, marked, sources};

/// Rows are never taken out.
const ROWS: usize = 35;

/// Rows that may be without a test, and who owes it. This only shrinks: what has a test has to leave the list.
const OPEN: &[(&str, &str)] = &[("S20", "there is no dashboard yet")];

#[test]
fn every_listed_threat_is_tested_or_says_why_not() {
    let document = fs::read_to_string(crate::root().join("docs/threats.md")).unwrap();
    let listed = listed(&document);
    let expected: Vec<String> = (1..=ROWS).map(|row| format!("S{row:02}")).collect();
    assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), expected);
    let mut marked_in_sources = Tested::new();
    sources(&crate::root().join("crates"), &mut |source| marked(source, 'S', &mut marked_in_sources));
    marked(include_str!("threats.rs"), 'S', &mut marked_in_sources);
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

// S35 Seen to fail without the stages, and with `unknown-registry = "allow"`.
#[test]
fn what_we_depend_on_is_locked_and_looked_through_by_the_test_command() {
    let read = |path: &str| fs::read_to_string(crate::root().join(path)).unwrap();
    let (rules, stages) = (read("deny.toml"), read("xtask/src/test.rs"));
    for rule in ["[advisories]", "[licenses]", "unknown-registry = \"deny\"", "unknown-git = \"deny\""] {
        assert!(rules.contains(rule), "deny.toml has no {rule}");
    }
    for check in ["(\"licences, bans, sources\", licences)", "(\"advisories\", advisories)"] {
        assert!(stages.contains(check), "{check} is no stage of `cargo xtask test`");
    }
    assert!(stages.matches("\"--locked\"").count() >= 2, "lints and tests use the lock file");
    assert!(read(".ci/run").contains("cargo xtask test"));
    assert!(read("Cargo.lock").contains("checksum = "));
}
