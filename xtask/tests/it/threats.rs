//! Every threat that `docs/threats.md` lists has a test that was seen to fail.

use std::collections::BTreeSet;
use std::fs;

use crate::rows::{Tested, cell, comments, listed, marked, sources};

/// Rows are never taken out.
const ROWS: usize = 35;

/// Where programs are started. Who adds a place looks at what stands in the arguments there: a value of a model, a file, a
/// repository or a person comes behind the end of the options, or cannot begin with a dash.
const STARTERS: &[&str] = &[
    "posse-cli/src/commands/config.rs",
    // tmux, with fixed arguments.
    "posse-cli/src/commands/doctor.rs",
    "posse-cli/src/commands/mcp/doctor.rs",
    "posse-cli/src/commands/servers/login.rs",
    "posse-cli/src/commands/worker.rs",
    // A shell command that the person types in a conversation.
    "posse-console/src/chat/shell.rs",
    "posse-git/src/git.rs",
    "posse-sandbox/src/bubblewrap.rs",
    "posse-sandbox/src/supervisor.rs",
    "posse-sandbox/src/supervisor/helper.rs",
    "posse-telemetry/src/hooks.rs",
    // The pager that the person's environment names.
    "posse-terminal/src/pager.rs",
    // The program of an MCP server that the program itself names.
    "posse/src/mcp.rs",
];

/// Guarantees whose tests say as well what they were seen to fail without.
const GUARANTEES: &[&str] =
    &["G8", "G9", "G16", "G17", "G18", "G19", "G20", "G21", "G22", "G23", "G24", "G25", "G26", "G29"];

fn rows() -> Vec<String> {
    (1..=ROWS).map(|row| format!("S{row:02}")).collect()
}

#[test]
fn every_listed_threat_is_tested() {
    let document = fs::read_to_string(crate::root().join("docs/threats.md")).unwrap();
    let listed = listed(&document);
    assert_eq!(listed.keys().cloned().collect::<Vec<_>>(), rows());
    let mut marked_in_sources = Tested::new();
    sources(&crate::root().join("crates"), &mut |_, source| marked(source, 'S', &mut marked_in_sources));
    marked(include_str!("threats.rs"), 'S', &mut marked_in_sources);
    let mut wrong = Vec::new();
    for id in &rows() {
        match marked_in_sources.get(id) {
            None => wrong.push(format!("no test names {id}")),
            Some(tests) if listed.get(id) != Some(tests) => {
                wrong.push(format!("the last cell of {id} in docs/threats.md should be: {}", cell(tests)));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A test that nobody has seen failing may be one that cannot.
#[test]
fn every_test_of_a_threat_says_without_what_it_was_seen_to_fail() {
    let wanted: BTreeSet<String> =
        rows().into_iter().chain(GUARANTEES.iter().map(|row| (*row).to_owned())).collect();
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut look = |source: &str| {
        for (test, said) in comments(source) {
            let words = said.split(|c: char| !c.is_ascii_alphanumeric());
            let named: Vec<String> = words.filter(|word| wanted.contains(*word)).map(str::to_owned).collect();
            if !named.is_empty() && !said.contains("een to fail") {
                wrong.push(format!("{test} ({})", named.join(", ")));
            }
            seen.extend(named);
        }
    };
    sources(&crate::root().join("crates"), &mut |_, source| look(source));
    look(include_str!("threats.rs"));
    assert!(wrong.is_empty(), "these do not say what was removed to see them fail: {wrong:#?}");
    assert_eq!(seen, wanted, "every row is named by a test");
}

// S07 Seen to fail with a `grep` that starts `rg`.
#[test]
fn programs_are_started_where_somebody_looked_at_their_arguments() {
    let crates = crate::root().join("crates");
    let mut found = BTreeSet::new();
    sources(&crates, &mut |path, source| {
        let path = path.strip_prefix(&crates).unwrap().display().to_string();
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        if path.contains("/src/") && !path.starts_with("posse-testkit") && code.contains("Command::new(") {
            found.insert(path);
        }
    });
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), STARTERS);
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
