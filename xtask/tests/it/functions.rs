//! No function is longer than a reader can hold. A flat table of independent entries may be: the line before it says
//! `// flat table`.

use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 120;
const ALLOWED: &str = "// flat table";

#[derive(Debug, PartialEq)]
struct Function {
    line: usize,
    lines: usize,
    is_table: bool,
}

/// Finds functions by their indentation, which rustfmt keeps exact: one ends at the first closing brace that stands
/// as deep as it began.
fn functions(source: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, bool)> = None;
    let mut before = "";
    for (number, line) in source.lines().enumerate() {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        match open {
            None if starts_function(text) && !text.ends_with([';', '}']) => {
                open = Some((number, depth, before.trim() == ALLOWED));
            }
            Some((start, at, is_table)) if depth == at => {
                if text == "}" {
                    found.push(Function { line: start + 1, lines: number - start + 1, is_table });
                }
                // A declaration over several lines has no body.
                if text == "}" || (text.starts_with(')') && text.ends_with(';')) {
                    open = None;
                }
            }
            None | Some(_) => {}
        }
        before = line;
    }
    found
}

fn starts_function(text: &str) -> bool {
    let mut rest = text;
    if let Some(after) = rest.strip_prefix("pub(") {
        rest = after.split_once(") ").map_or("", |(_, after)| after);
    }
    while let Some(after) = ["pub ", "const ", "async ", "unsafe ", "extern \"C\" "]
        .iter()
        .find_map(|qualifier| rest.strip_prefix(qualifier))
    {
        rest = after;
    }
    rest.starts_with("fn ")
}

fn source_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_function_is_too_long() {
    let mut files = Vec::new();
    for directory in ["crates", "xtask"] {
        source_files(&crate::root().join(directory), &mut files);
    }
    let mut seen = 0;
    let mut too_long = Vec::new();
    for file in files {
        for function in functions(&fs::read_to_string(&file).unwrap()) {
            seen += 1;
            if function.lines > LINES_MAX && !function.is_table {
                too_long.push(format!("{}:{}: {} lines", file.display(), function.line, function.lines));
            }
        }
    }
    assert!(seen > 100, "only {seen} functions were found");
    assert_eq!(too_long, [""; 0], "split these, or write `{ALLOWED}` before what is one");
}

#[test]
fn the_scanner_measures_functions_and_nothing_else() {
    let source = "\
trait T {
    fn declared(&self);
    fn declared_over_lines(
        &self,
    ) -> u32;
    fn default(&self) {
        if x {
        }
    }
}
// flat table
pub(crate) async fn table() {
    1
}
const fn one_line() {}
pub unsafe fn last(
    a: u32,
) {
    fn inner() {
    }
}
";
    let expected = [
        Function { line: 6, lines: 4, is_table: false },
        Function { line: 12, lines: 3, is_table: true },
        Function { line: 16, lines: 6, is_table: false },
    ];
    assert_eq!(functions(source), expected);
}
