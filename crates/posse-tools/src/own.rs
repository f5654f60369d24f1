//! The user's own tools: an executable with a manifest beside it, `.posse/tools/<name>/tool.json`.
//!
//! A call gets the arguments as JSON on standard input and answers on standard output; an exit code other than 0 is a
//! failure. It runs in the workspace, under the same supervisor and with the same environment as a shell command.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::tool::{ToolEffect, ToolSpec, canonical, expand};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::{BoxFuture, Tool, ToolInput, ToolOutput};
use posse_sandbox::TOOL_MANIFEST;
use posse_sandbox::launch::ProcessLauncher;
use posse_sandbox::supervisor::{CommandJob, StreamMode};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::bash::{self, TIMEOUT_MAX};

/// A manifest goes into every prompt, so it is small or a mistake.
const MANIFEST_BYTES_MAX: u64 = 64 * 1024;
/// Tools per directory: each of them costs prompt tokens in every turn.
const TOOLS_MAX: usize = 256;
const NAME_MAX: usize = 64;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);

/// Names that are ours; aliases of them are found by `canonical`.
pub(crate) const BUILT_IN: &[&str] = &[
    "ask_parent",
    "bash",
    "directory_tree",
    "edit",
    "fetch",
    "glob",
    "grep",
    "ls",
    "read",
    "report_progress",
    "shared_context",
    "skill",
    "subagent",
    "think",
    "write",
];

/// A tool as its manifest describes it. `bind` makes it callable.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnTool {
    pub spec: ToolSpec,
    /// The file it was loaded from.
    pub manifest: PathBuf,
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    /// Names of variables it gets beyond the usual ones.
    env: Vec<String>,
    whose: ToolOwner,
}

/// Author of a tool's manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolOwner {
    User,
    /// The project's author: the manifest's claims about itself are not trusted.
    Project,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolManifest {
    name: String,
    description: String,
    input_schema: Box<RawValue>,
    #[serde(default = "unsafe_effect")]
    effect: ToolEffect,
    command: Vec<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    env: Vec<String>,
}

fn unsafe_effect() -> ToolEffect {
    ToolEffect::Unsafe
}

/// Loads every `<dir>/<name>/tool.json`. Of two tools with one name the one of the earlier directory stays. A directory
/// that does not exist holds no tools; whatever else is wrong is an error, and the other tools are loaded.
pub fn load(dirs: &[PathBuf]) -> (Vec<OwnTool>, Vec<Error>) {
    let mut tools: Vec<OwnTool> = Vec::new();
    let mut errors = Vec::new();
    let mut origins: HashMap<String, PathBuf> = HashMap::new();
    for dir in dirs {
        for manifest in manifests(dir, &mut errors) {
            match load_one(&manifest) {
                Err(error) => errors.push(error),
                Ok(tool) => match origins.get(&tool.spec.name) {
                    Some(earlier) => errors.push(duplicate(&manifest, &tool.spec.name, earlier)),
                    None => {
                        origins.insert(tool.spec.name.clone(), manifest);
                        tools.push(tool);
                    }
                },
            }
        }
    }
    (tools, errors)
}

/// Tools of the user and of a project that can be called.
#[derive(Default)]
pub struct BoundTools {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of the project, each with its digest.
    pub foreign: BTreeMap<String, String>,
    pub problems: Vec<Error>,
}

/// Loads the tools of `dirs` and binds them. Those below `project.0` belong to the project in `project.1`.
pub fn bind_all(dirs: &[PathBuf], project: (&Path, &Path), launch: &ProcessLauncher) -> BoundTools {
    let (own, problems) = load(dirs);
    let mut bound = BoundTools { problems, ..BoundTools::default() };
    for tool in own {
        let is_foreign = tool.manifest.starts_with(project.0);
        if is_foreign {
            bound.foreign.insert(tool.spec.name.clone(), tool.digest().unwrap_or_default());
        }
        let tool = if is_foreign { tool.of_project(project.1) } else { Ok(tool) };
        match tool.and_then(|tool| tool.bind(launch.clone())) {
            Ok(tool) => bound.tools.push(Arc::new(tool)),
            Err(e) => bound.problems.push(e),
        }
    }
    bound
}

impl OwnTool {
    /// The same tool as one that a project brings along: it counts as one that changes something, gets no variable that the operator
    /// does not pass on, and is a program of the project or one of the system.
    pub fn of_project(mut self, project: &Path) -> Result<Self> {
        let program = Path::new(&self.program);
        let real = fs::canonicalize(project).map_err(|error| unreadable(project, error))?;
        if program.is_absolute() && !program.starts_with(&real) {
            let message = localized!(
                "tool-program-outside",
                manifest = self.manifest.display(),
                program = program.display()
            );
            return Err(
                Error::new(ErrorCode::ToolInvalid, message).hint(localized!("tool-program-outside-hint"))
            );
        }
        self.spec.effect = ToolEffect::Unsafe;
        self.whose = ToolOwner::Project;
        Ok(self)
    }

    /// Returns a digest of what would be run; `None` if it cannot be read now.
    pub fn digest(&self) -> Option<String> {
        let mut hash = Sha256::new();
        let mut files = vec![self.manifest.as_path()];
        files.extend([Path::new(&self.program)].into_iter().filter(|program| program.is_absolute()));
        for file in files {
            let bytes = fs::read(file).ok()?;
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
        Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Refuses a tool that asks for a variable it may not have.
    pub fn bind(self, launch: ProcessLauncher) -> Result<BoundTool> {
        if let Some(name) = self.env.iter().find(|name| launch.environment.is_withheld(name)) {
            let message = localized!("tool-env-withheld", manifest = self.manifest.display(), name);
            return Err(
                Error::new(ErrorCode::ToolInvalid, message).hint(localized!("tool-env-withheld-hint"))
            );
        }
        let is_too_much =
            |name: &&String| self.whose == ToolOwner::Project && !launch.environment.passes(name);
        if let Some(name) = self.env.iter().find(is_too_much) {
            let message = localized!("tool-env-not-passed", manifest = self.manifest.display(), name);
            return Err(Error::new(ErrorCode::ToolInvalid, message)
                .hint(localized!("tool-env-not-passed-hint", name)));
        }
        Ok(BoundTool { tool: self, launch })
    }
}

/// A user's tool that can be called.
pub struct BoundTool {
    tool: OwnTool,
    launch: ProcessLauncher,
}

impl Tool for BoundTool {
    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.run(input))
    }
}

impl BoundTool {
    async fn run(&self, input: ToolInput<'_>) -> ToolOutput {
        let mut environment = self.launch.environment.select(&self.tool.env);
        environment.push(("POSSE_TOOL".into(), self.tool.spec.name.clone().into()));
        environment.push(("POSSE_IDEMPOTENCY_KEY".into(), input.idempotency_key.into()));
        let OwnTool { program, args, timeout, .. } = &self.tool;
        let job = CommandJob {
            environment,
            stdin: input.arguments.as_bytes().to_vec(),
            streams: StreamMode::Separate,
            ..self.launch.job(input.context, program, args.clone(), *timeout)
        };
        if let Err(refusal) = self.launch.refuse_unheld(&self.tool.spec.name, &job, input.context) {
            return ToolOutput::error(refusal);
        }
        bash::run("tool", &self.launch, job, input.context).await
    }
}

/// The manifests of a directory, sorted so that a list of tools is the same on every machine.
fn manifests(dir: &Path, errors: &mut Vec<Error>) -> Vec<PathBuf> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            errors.push(unreadable(dir, error));
            return Vec::new();
        }
    };
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    if found.len() > TOOLS_MAX {
        let message = localized!(
            "tools-too-many",
            directory = dir.display(),
            count = found.len(),
            tools_max = TOOLS_MAX
        );
        errors.push(Error::new(ErrorCode::ToolInvalid, message));
        found.truncate(TOOLS_MAX);
    }
    found.into_iter().map(|tool| tool.join(TOOL_MANIFEST)).collect()
}

fn load_one(path: &Path) -> Result<OwnTool> {
    let size = fs::metadata(path).map_err(|error| unreadable(path, error))?.len();
    if size > MANIFEST_BYTES_MAX {
        let message = localized!(
            "manifest-too-large",
            path = path.display(),
            size,
            manifest_bytes_max = MANIFEST_BYTES_MAX
        );
        return Err(Error::new(ErrorCode::ToolInvalid, message));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<OwnTool> {
    let manifest: ToolManifest = serde_json::from_str(text).map_err(|error| syntax(path, text, &error))?;
    let wrong = |key: &str, problem: LocalizedText| {
        let (line, column) = position(text, key);
        let place = format!("{}:{line}:{column}", path.display());
        Error::new(ErrorCode::ToolInvalid, problem.map(|problem| format!("{place}: `{key}`: {problem}")))
    };
    check_name(&manifest.name).map_err(|problem| wrong("name", problem))?;
    if let Some(taken) = taken(&manifest.name) {
        let (line, column) = position(text, "name");
        let message = taken.map(|taken| format!("{}:{line}:{column}: `name`: {taken}", path.display()));
        return Err(Error::new(ErrorCode::DuplicateTool, message).hint(localized!("choose-another-name")));
    }
    if manifest.description.trim().is_empty() {
        return Err(wrong("description", localized!("tool-description-missing")));
    }
    check_schema(manifest.input_schema.get()).map_err(|problem| wrong("input_schema", problem))?;
    check_env(&manifest.env).map_err(|problem| wrong("env", problem))?;
    let timeout = timeout(manifest.timeout_ms).map_err(|problem| wrong("timeout_ms", problem))?;
    let base = path.parent().unwrap_or(Path::new("."));
    let program = program(base, &manifest.command).map_err(|problem| wrong("command", problem))?;
    Ok(OwnTool {
        spec: ToolSpec {
            name: manifest.name,
            description: manifest.description,
            input_schema: manifest.input_schema.get().to_owned(),
            effect: manifest.effect,
        },
        manifest: path.to_owned(),
        program,
        args: manifest.command.into_iter().skip(1).map(OsString::from).collect(),
        timeout,
        env: manifest.env,
        whose: ToolOwner::User,
    })
}

fn check_name(name: &str) -> Result<(), LocalizedText> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(legal) {
        let shown: String = name.chars().take(NAME_MAX).collect();
        return Err(localized!("tool-name-invalid", name = shown.escape_default(), name_max = NAME_MAX));
    }
    Ok(())
}

/// A built-in tool, or a name that stands for built-in ones in a list of tools, cannot be replaced.
fn taken(name: &str) -> Option<LocalizedText> {
    let meant = expand(name);
    if BUILT_IN.contains(&name) {
        return Some(localized!("tool-is-built-in", name));
    }
    let is_built_in = meant.iter().all(|name| BUILT_IN.contains(&name.as_str()));
    (meant != [name] || canonical(name) != name).then(|| {
        let meant = meant.join("`, `");
        match is_built_in {
            true => localized!("tool-stands-for-built-in", name, meant),
            false => localized!("tool-stands-for", name, meant),
        }
    })
}

fn check_schema(schema: &str) -> Result<(), LocalizedText> {
    let Ok(Value::Object(schema)) = serde_json::from_str(schema) else {
        return Err(localized!("tool-schema-not-object"));
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(localized!("tool-schema-type"));
    }
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        return Err(localized!("tool-properties-not-object"));
    }
    let is_names = |names: &Value| names.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    match schema.get("required") {
        Some(required) if !is_names(required) => Err(localized!("tool-required-not-names")),
        Some(_) | None => Ok(()),
    }
}

fn check_env(names: &[String]) -> Result<(), LocalizedText> {
    let legal = |name: &str| {
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match names.iter().find(|name| !legal(name)) {
        Some(name) => Err(localized!("variable-invalid", name = name.escape_default())),
        None => Ok(()),
    }
}

fn timeout(ms: Option<u64>) -> Result<Duration, LocalizedText> {
    let timeout = ms.map_or(TIMEOUT_DEFAULT, Duration::from_millis);
    if timeout.is_zero() || timeout > TIMEOUT_MAX {
        return Err(localized!("between-1-and", most = TIMEOUT_MAX.as_millis()));
    }
    Ok(timeout)
}

/// A path is relative to the manifest; a bare name is looked for in `PATH` when the tool is called.
fn program(base: &Path, command: &[String]) -> Result<OsString, LocalizedText> {
    let Some(first) = command.first().filter(|first| !first.is_empty()) else {
        return Err(localized!("program-missing"));
    };
    if command.iter().any(|part| part.contains('\0')) {
        return Err(localized!("contains-nul"));
    }
    if !first.contains('/') {
        return Ok(first.into());
    }
    let path = fs::canonicalize(base.join(first)).map_err(|error| format!("`{first}`: {error}"))?;
    let metadata = fs::metadata(&path).map_err(|error| format!("`{first}`: {error}"))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(localized!("program-not-executable", first));
    }
    Ok(path.into())
}

fn syntax(path: &Path, text: &str, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    // The message names a missing, unknown or repeated key itself, and broken syntax belongs to no key.
    let is_named = !error.is_data() || message.contains("field `");
    let key = if is_named { None } else { key_at(text, line, column) };
    let key = key.map(|key| format!("`{key}`: ")).unwrap_or_default();
    Error::new(ErrorCode::ToolInvalid, format!("{}:{line}:{column}: {key}{message}", path.display()))
}

/// Returns line and column of a top-level key's value, counted from 1; the start of the file if the key is absent.
fn position(text: &str, key: &str) -> (usize, usize) {
    let at = keys(text).into_iter().find(|(name, _)| *name == key).map_or(0, |(_, at)| at);
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

/// The top-level key whose value is at or before a place.
fn key_at(text: &str, line: usize, column: usize) -> Option<&str> {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    keys(text).into_iter().take_while(|(_, at)| *at <= start + column).last().map(|(key, _)| key)
}

/// The top-level keys of an object in order, with the byte offset of each.
fn keys(text: &str) -> Vec<(&str, usize)> {
    let members: BTreeMap<&str, IgnoredAny> = serde_json::from_str(text).unwrap_or_default();
    // A key is a part of the text, so its address says where it stands; its quote is before it.
    let offset = |key: &str| key.as_ptr().addr() - text.as_ptr().addr() - 1;
    let mut keys: Vec<(&str, usize)> = members.into_keys().map(|key| (key, offset(key))).collect();
    keys.sort_by_key(|(_, at)| *at);
    keys
}

fn duplicate(manifest: &Path, name: &str, earlier: &Path) -> Error {
    let message =
        localized!("tool-defined-twice", manifest = manifest.display(), name, earlier = earlier.display());
    Error::new(ErrorCode::DuplicateTool, message).hint(localized!("tool-defined-twice-hint"))
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    let message = format!("{}: {error}", path.display());
    Error::new(ErrorCode::ConfigUnreadable, message).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_a_tool_or_an_error(text in "[\\[\\]{}\":,a-z\\\\ \n€]{0,60}") {
            let _ = parse(Path::new("tool.json"), &text);
            for (key, at) in keys(&text) {
                prop_assert!(text[at + 1..].starts_with(key));
            }
        }
    }
}
