//! Every fault that `docs/faults.md` lists is met by a test that plays the provider on the loopback and looks at what
//! was sent.

use std::fs;

use crate::rows::{Tested, cell, listed, marked, sources};

/// Where the provider is played.
const DIRECTORIES: [&str; 2] = ["crates/posse/tests/it", "crates/posse-models/tests/it"];
const LOOPBACK: &str = "use posse_testkit::server::";
/// Rows are never taken out: a fault that providers have shown once can come again.
const ROWS: usize = 46;

fn marked_in_the_sources() -> Tested {
    let mut found = Tested::new();
    for directory in DIRECTORIES {
        sources(&crate::root().join(directory), &mut |_, source| {
            if source.contains(LOOPBACK) {
                marked(source, 'P', &mut found);
            }
        });
    }
    found
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
        let cell = cell(tests);
        assert_eq!(listed.get(id), Some(tests), "the last cell of {id} in docs/faults.md should be: {cell}");
    }
}
