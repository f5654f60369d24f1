//! Registry tests over real directories, with a reader that knows a few keys.

mod extending;
mod files;
mod ranking;
mod trusting;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use posse_core::definition::{Definition, DefinitionOrigin, Format, ParsedFile, Remark, RemarkSeverity};
use posse_core::grant::{AccessLevel, Rights};
use posse_core::id::AgentName;
use posse_core::pattern::ToolPattern;
use posse_core::{Error, ErrorCode};

use super::*;
use crate::trust::{TrustStore, hash};

thread_local! {
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of files that this thread has read since the last call.
fn reads() -> usize {
    READS.replace(0)
}

/// Reads `key: value` lines, a `---` line and the prompt. `name` and `description` are optional; `broken:
/// why` is an error, `panic:` a bug.
pub(crate) fn reader(file: DefinitionFile<'_>) -> Vec<ParsedFile> {
    READS.set(READS.get() + 1);
    let text = String::from_utf8_lossy(file.bytes);
    let (head, prompt) = text.split_once("---\n").unwrap_or(("", &text));
    let value = |key: &str| {
        head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).map(str::to_owned)
    };
    assert!(value("panic").is_none(), "as asked");
    let stem = file.relative.rsplit('/').next().unwrap().split('.').next().unwrap();
    let name = value("name").unwrap_or_else(|| stem.to_owned());
    let format = file.format.unwrap_or(Format::Native);
    let origin =
        DefinitionOrigin { path: file.path.to_owned(), format, scope: file.scope, hash: hash(file.bytes) };
    let parsed = AgentName::parse(&name).ok().filter(|_| value("broken").is_none());
    let definition = parsed.map(|name| {
        let description = value("description").unwrap_or_default();
        let mut definition = Definition::new(name, origin.clone(), description, prompt.to_owned());
        fill(&mut definition, &value);
        definition
    });
    let why = value("broken").unwrap_or_else(|| "the name is wrong".to_owned());
    let error = Remark { severity: RemarkSeverity::Error, text: why.into(), line: Some(1), hint: None };
    let remarks = if definition.is_none() { vec![error] } else { Vec::new() };
    vec![ParsedFile { name, origin, definition, fields: Vec::new(), remarks }]
}

fn fill(definition: &mut Definition, value: &dyn Fn(&str) -> Option<String>) {
    definition.extends = value("extends").map(|name| AgentName::parse(&name).unwrap());
    definition.prompt_append = value("append");
    definition.rights.tools = value("tools").map(|tools| Rights::only(tools.split(' ')).tools.unwrap());
    definition.rights.deny = value("deny").iter().map(|tool| ToolPattern::tool(tool)).collect();
    definition.rights.access =
        if value("read_only").is_some() { AccessLevel::ReadOnly } else { AccessLevel::Whole };
    definition.limits.turns = value("turns").map(|turns| turns.parse().unwrap());
    definition.limits.wall_s = value("wall").map(|wall| wall.parse().unwrap());
    definition.model.candidates = value("model").into_iter().collect();
    definition.mode.hidden = value("hidden").is_some();
    definition.mode.disabled = value("disabled").is_some();
}

/// A repository `project` with a directory `project/sub`, a home and a configuration directory, all empty.
pub(crate) struct Case {
    directory: tempfile::TempDir,
    user: u32,
}

impl Case {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["project/.git", "project/sub", "home", "config", "state"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self { directory, user: rustix::process::geteuid().as_raw() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub fn places(&self) -> AgentPlaces {
        let (home, config) = (self.path("home"), self.path("config"));
        AgentPlaces::find(&self.path("project/sub"), Some(&home), Some(&config), self.user)
    }

    pub fn store(&self) -> TrustStore {
        TrustStore::at(self.path("state/trust.json"))
    }

    pub fn load(&self) -> AgentRegistry {
        AgentRegistry::load(self.places(), reader, TrustPolicy::All)
    }

    pub fn load_with_store(&self) -> AgentRegistry {
        AgentRegistry::load(self.places(), reader, TrustPolicy::Store(self.store()))
    }

    /// Shortens a path to the part below the test directory.
    fn short(&self, path: &str) -> String {
        let top = format!("{}/", self.path("").display()).replace("//", "/");
        path.replace(&top, "")
    }
}

fn code(error: &Error) -> ErrorCode {
    error.code()
}

/// Returns the complete text of an error.
fn told(snapshot: &RegistrySnapshot, name: &str) -> String {
    let error = snapshot.find(name).unwrap_err();
    format!("{error}\nhint: {}", error.advice().map_or("none", |hint| hint.as_str()))
}

fn texts<'a>(remarks: impl IntoIterator<Item = &'a Remark>) -> Vec<&'a str> {
    remarks.into_iter().map(|remark| remark.text.as_str()).collect()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
