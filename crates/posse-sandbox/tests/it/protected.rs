//! The table of protected files as it is documented.

use std::fmt::Write;
use std::path::PathBuf;

use posse_sandbox::protected::{ProtectedName, names};

/// One row for each program and reason.
fn rendered() -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for ProtectedName { pattern, program, reason } in names() {
        let why = format!("{program} {}", reason.text());
        match rows.last_mut() {
            Some((last, patterns)) if *last == why => patterns.push(format!("`{pattern}`")),
            _ => rows.push((why, vec![format!("`{pattern}`")])),
        }
    }
    let mut table = "| names | why |\n|---|---|\n".to_owned();
    for (why, patterns) in rows {
        writeln!(table, "| {} | {why} |", patterns.join(", ")).unwrap();
    }
    table
}

/// `POSSE_UPDATE_DOCS=1` writes the table into the document.
#[test]
fn the_documented_table_is_the_one_that_is_used() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/protected.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.find("| names | why |").expect("docs/protected.md has the table");
    let (before, table) = text.split_at(at);
    if std::env::var_os("POSSE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{}", rendered())).unwrap();
        return;
    }
    assert_eq!(table, rendered(), "run this test with POSSE_UPDATE_DOCS=1");
}
