//! `cargo xtask requirements`: which test checks which line of `docs/requirements.md`. A test says so with a comment
//! that consists of ids, such as `// R115, R175` or `// R189-R194: why`, before it or inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

const LISTED: &str = "docs/requirements.md";
const WAIVED: &str = "xtask/requirements-waived.md";
/// Kinds of which a line can be beyond any test: purposes, background, documents, shapes of code and later wishes.
const WAIVABLE: [&str; 5] = ["goal", "context", "doc", "arch", "future"];
/// More tests of one line than this are counted, not named.
const NAMED_MAX: usize = 3;

/// The number in `R123`.
pub type Id = u16;

#[derive(Debug)]
pub struct Requirement {
    pub id: Id,
    pub kind: String,
    pub title: String,
    /// The heading it stands under.
    pub group: String,
}

/// A marker: the ids it names and the test it belongs to, if there is one.
#[derive(Debug, PartialEq)]
pub struct Marker {
    pub line: usize,
    pub ids: Vec<Id>,
    pub test: Option<String>,
}

/// Everything known about a checkout.
pub struct Table {
    pub requirements: Vec<Requirement>,
    pub tests: BTreeMap<Id, BTreeSet<String>>,
    pub waived: BTreeMap<Id, String>,
    /// What is wrong with markers and waivers, in words.
    pub faults: Vec<String>,
}

impl Table {
    /// Reads the workspace at `root`.
    pub fn load(root: &Path) -> Result<Self> {
        let requirements = listed(&read(&root.join(LISTED))?);
        let (waived, mut faults) = waived(&read(&root.join(WAIVED))?);
        let mut tests: BTreeMap<Id, BTreeSet<String>> = BTreeMap::new();
        for file in sources(root)? {
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for marker in markers(&read(&file)?, is_suite(&file)) {
                let Some(test) = marker.test else {
                    faults.push(format!("{shown}:{}: a marker that belongs to no test", marker.line));
                    continue;
                };
                for id in marker.ids {
                    tests.entry(id).or_default().insert(format!("{test} ({shown})"));
                }
            }
        }
        let mut table = Self { requirements, tests, waived, faults };
        table.check();
        Ok(table)
    }

    fn check(&mut self) {
        let kinds: BTreeMap<Id, &str> =
            self.requirements.iter().map(|line| (line.id, line.kind.as_str())).collect();
        if kinds.len() < self.requirements.len() {
            self.faults.push(format!("{LISTED} has an id twice"));
        }
        for (id, tests) in &self.tests {
            if !kinds.contains_key(id) {
                self.faults.push(format!("R{id:03} does not exist, but is named by {tests:?}"));
            }
        }
        for (id, reason) in &self.waived {
            match kinds.get(id) {
                None => self.faults.push(format!("R{id:03} is waived, but does not exist")),
                Some(kind) if !WAIVABLE.contains(kind) => {
                    self.faults.push(format!("R{id:03} is waived, but a `{kind}` can be tested"));
                }
                Some(_) if reason.is_empty() => {
                    self.faults.push(format!("R{id:03} is waived without a reason"));
                }
                Some(_) => {}
            }
            if let Some(tests) = self.tests.get(id) {
                self.faults.push(format!("R{id:03} is waived, but tested by {tests:?}"));
            }
        }
    }

    /// Lines that are neither tested nor waived.
    pub fn open(&self) -> Vec<&Requirement> {
        let is_open =
            |line: &&Requirement| !self.tests.contains_key(&line.id) && !self.waived.contains_key(&line.id);
        self.requirements.iter().filter(is_open).collect()
    }

    /// One row for each line, in the order of the document.
    pub fn render(&self, open_only: bool) -> String {
        let mut text = String::new();
        let mut group = "";
        for line in &self.requirements {
            let (state, detail) = self.state(line);
            if open_only && state != "OPEN" {
                continue;
            }
            if line.group != group {
                group = &line.group;
                let _ = writeln!(text, "\n{group}");
            }
            let _ = writeln!(text, "  R{:03}  {state:7}  {}: {detail}", line.id, line.title);
        }
        let (all, open) = (self.requirements.len(), self.open().len());
        let waived = self.waived.len();
        let covered = self.requirements.iter().filter(|line| self.tests.contains_key(&line.id)).count();
        let _ =
            writeln!(text, "\n{all} requirements: {covered} covered by tests, {waived} waived, {open} open");
        text
    }

    fn state(&self, line: &Requirement) -> (&'static str, String) {
        if let Some(tests) = self.tests.get(&line.id) {
            let mut named: Vec<String> = tests.iter().take(NAMED_MAX).cloned().collect();
            if tests.len() > NAMED_MAX {
                named.push(format!("{} more", tests.len() - NAMED_MAX));
            }
            return ("tested", named.join(", "));
        }
        match self.waived.get(&line.id) {
            Some(reason) => ("waived", reason.clone()),
            None => ("OPEN", line.kind.clone()),
        }
    }
}

/// The chore itself: prints the table and fails if there is a gap.
pub fn requirements(root: &Path, options: &[&str]) -> Result<()> {
    let open_only = match options {
        [] => false,
        ["--open"] => true,
        other => bail!("`requirements` takes `--open` or nothing, not {other:?}"),
    };
    let table = Table::load(root)?;
    print!("{}", table.render(open_only));
    ensure!(table.faults.is_empty(), "{}", table.faults.join("\n"));
    let open = table.open().len();
    ensure!(open == 0, "{open} requirements have no test and no reason to have none");
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Rows such as `| R001 | goal | title |`, under headings.
pub fn listed(document: &str) -> Vec<Requirement> {
    let mut group = String::new();
    let mut found = Vec::new();
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut group);
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [id, kind, title] = cells.as_slice()
            && let Some(id) = parse_id(id)
        {
            let (kind, title, group) = ((*kind).to_owned(), (*title).to_owned(), group.clone());
            found.push(Requirement { id, kind, title, group });
        }
    }
    found
}

/// Rows such as `| R238-R240 | why |`, and what is wrong with them.
pub fn waived(document: &str) -> (BTreeMap<Id, String>, Vec<String>) {
    let (mut found, mut faults) = (BTreeMap::new(), Vec::new());
    for line in document.lines().filter(|line| line.starts_with("| R")) {
        let cells: Vec<&str> = line.trim_matches('|').splitn(2, '|').map(str::trim).collect();
        let [named, reason] = cells.as_slice() else { continue };
        let Some(ids) = parse_ids(named) else {
            faults.push(format!("{WAIVED}: `{named}` is no list of ids"));
            continue;
        };
        for id in ids {
            if found.insert(id, (*reason).to_owned()).is_some() {
                faults.push(format!("R{id:03} is waived twice"));
            }
        }
    }
    (found, faults)
}

/// `R115, R175`, `R192 R197`, `R189-R194`; `None` if anything else is in it.
fn parse_ids(text: &str) -> Option<Vec<Id>> {
    let mut ids = Vec::new();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        ids.extend(parse_id(first)?..=parse_id(last)?);
    }
    (!ids.is_empty()).then_some(ids)
}

fn parse_id(word: &str) -> Option<Id> {
    let digits = word.strip_prefix('R')?;
    let is_id = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_id { digits.parse().ok() } else { None }
}

/// The ids of a comment line that is a marker: nothing but ids, or ids before a colon, with rows of other lists
/// between them.
fn marker(line: &str) -> Option<Vec<Id>> {
    let comment = line.strip_prefix("// ")?;
    let Some((named, _)) = comment.split_once(':') else { return parse_ids(comment) };
    let is_beside = |word: &&str| {
        let (letter, digits) = word.split_at_checked(1).unwrap_or_default();
        let is_row = letter.bytes().all(|byte| byte.is_ascii_uppercase())
            && digits.len() == 2
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        *word == "and" || is_row
    };
    let words: Vec<&str> = named.split([',', ' ']).filter(|word| !is_beside(word)).collect();
    parse_ids(&words.join(" "))
}

/// The markers of a source file. A helper's do not count, because it may never be called; the cases of a suite
/// (`*_suite.rs`) do, because one that is not called is dead code, which the compiler reports.
///
/// Functions are found by their indentation, which rustfmt keeps exact.
pub fn markers(source: &str, is_suite: bool) -> Vec<Marker> {
    let mut found: Vec<Marker> = Vec::new();
    // Markers that wait for the function after them begin here.
    let mut waiting = 0;
    let mut is_test = is_suite;
    // How deep the function around a line stands, and its name if it is a test.
    let mut around: Option<(usize, Option<String>)> = None;
    for (number, line) in source.lines().enumerate() {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if let Some(ids) = marker(text) {
            let test = around.as_ref().and_then(|(_, test)| test.clone());
            found.push(Marker { line: number + 1, ids, test });
        }
        if around.is_some() {
            waiting = found.len();
        }
        is_test |= text.starts_with("#[test") || text.starts_with("#[tokio::test");
        match &around {
            None => {
                if let Some(name) = function_name(text) {
                    let test = is_test.then(|| name.to_owned());
                    for marker in &mut found[waiting..] {
                        marker.test.clone_from(&test);
                    }
                    waiting = found.len();
                    is_test = is_suite;
                    if !text.ends_with([';', '}']) {
                        around = Some((depth, test));
                    }
                }
            }
            Some((at, _)) if depth == *at && (text == "}" || text.ends_with(");")) => around = None,
            Some(_) => {}
        }
    }
    found
}

fn function_name(text: &str) -> Option<&str> {
    let mut rest = text;
    if let Some(after) = rest.strip_prefix("pub(") {
        rest = after.split_once(") ").map_or("", |(_, after)| after);
    }
    while let Some(after) =
        ["pub ", "const ", "async ", "unsafe "].iter().find_map(|word| rest.strip_prefix(word))
    {
        rest = after;
    }
    rest.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next())
}

fn is_suite(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_suite"))
}

fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for directory in ["crates", "xtask"] {
        collect(&root.join(directory), &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
