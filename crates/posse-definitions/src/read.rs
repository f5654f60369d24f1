//! Reads one file of any format: a definition or the errors, and a report of each key.

use posse_core::definition::{
    Definition, DefinitionOrigin, DefinitionScope, Format, ParsedFile, Remark, RemarkSeverity, TaskIn,
};
use posse_core::id::AgentName;
use posse_core::text::prefix;
use posse_messages::localized;

use crate::fields::FieldReader;
use crate::frontmatter::{self, FrontmatterDocument, error, warning};
use crate::node::{YamlEntry, YamlNode};
use crate::trust::hash;
use crate::{formats, names};

/// A file found on disk, with the facts known before it is read.
#[derive(Debug, Clone, Copy)]
pub struct DefinitionFile<'a> {
    /// Path as shown to people.
    pub path: &'a str,
    /// Path below the agent directory, with `/` as separator: `review/security.md`.
    pub relative: &'a str,
    /// The format of the directory; `None` lets the keys decide.
    pub format: Option<Format>,
    pub scope: DefinitionScope,
    pub bytes: &'a [u8],
}

/// Reads the agents of a file. Never fails or panics: problems are in the returned value. Most files hold one
/// agent.
pub fn read(file: DefinitionFile<'_>) -> Vec<ParsedFile> {
    let text = match frontmatter::text_of(file.bytes) {
        Ok(text) => text,
        Err(remark) => return vec![unusable(file, file.format.unwrap_or(Format::Native), vec![remark])],
    };
    let is_toml = file.relative.ends_with(".toml") || file.format == Some(Format::Codex);
    let mut document = if is_toml { frontmatter::toml(&text) } else { frontmatter::markdown(&text) };
    let format = match file.format {
        None => detect(file, is_toml, &document),
        // goose shares a directory with OpenHands; only the keys tell the format.
        Some(Format::OpenHands) if marked(&document) == Some(Format::Goose) => Format::Goose,
        Some(format) => format,
    };
    let broken = document.remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error);
    match document.front.take() {
        Some(YamlNode::Map(entries)) => vec![one(file, format, entries, document)],
        // Gemini allows a list of remote agents in one file.
        Some(YamlNode::List(items)) if format == Format::Gemini => remotes(file, items),
        None if !broken && !needs_frontmatter(format) => vec![one(file, format, Vec::new(), document)],
        None if !broken => {
            let hint = localized!("no-frontmatter-hint");
            vec![unusable(file, format, vec![error(localized!("no-frontmatter"), Some(1), Some(&hint))])]
        }
        None => vec![unusable(file, format, document.remarks)],
        Some(other) => {
            let text = localized!("front-not-keys", kind = other.kind());
            vec![unusable(file, format, vec![error(text, Some(1), Some(&localized!("front-keys-hint")))])]
        }
    }
}

fn one(
    file: DefinitionFile<'_>,
    format: Format,
    entries: Vec<YamlEntry>,
    document: FrontmatterDocument,
) -> ParsedFile {
    let origin = origin(file, format);
    let mut f = FieldReader::new(entries, document.remarks);
    let named = names::of(format, file.relative, &mut f);
    let would_be = match &named {
        Ok(name) => name.as_str().to_owned(),
        Err(raw) => label(raw),
    };
    // A missing name is already an error, so no definition results.
    let Ok(name) = named.or_else(|_| AgentName::parse("unnamed")) else {
        return unusable(file, format, f.remarks);
    };
    let mut definition = Definition::new(name, origin.clone(), String::new(), document.body);
    formats::apply(format, &mut f, &mut definition);
    // Formats with the prompt in a key allow any character in it.
    definition.prompt = frontmatter::plain_lines(&definition.prompt).trim().to_owned();
    for (what, text) in [("description", &definition.description), ("prompt", &definition.prompt)] {
        if text.contains('\0') {
            f.remarks.push(error(localized!("nul-character", what), None, None));
        }
    }
    if definition.task_in.is_none() && definition.extends.is_none() {
        let has_place = definition.prompt.contains("{{task}}");
        definition.task_in = Some(if has_place { TaskIn::System } else { TaskIn::User });
    }
    let body_line = (document.body_line > 0).then_some(document.body_line);
    if !f.remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error) {
        f.remarks.extend(doubts(&definition, body_line));
    }
    let report = f.finish();
    definition.kept.extra = report.extra;
    let usable = !report.remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error);
    let name = if usable { definition.name.as_str().to_owned() } else { would_be };
    let definition = usable.then_some(definition);
    ParsedFile { name, origin, definition, fields: report.fields, remarks: report.remarks }
}

fn remotes(file: DefinitionFile<'_>, items: Vec<YamlNode>) -> Vec<ParsedFile> {
    let format = Format::Gemini;
    if items.is_empty() {
        return vec![unusable(file, format, vec![error(localized!("agents-list-empty"), Some(1), None)])];
    }
    items
        .into_iter()
        .take(64)
        .map(|item| {
            let YamlNode::Map(entries) = item else {
                return unusable(file, format, vec![error(localized!("entry-not-agent"), None, None)]);
            };
            let mut f = FieldReader::new(entries, Vec::new());
            let name = match names::of(format, file.relative, &mut f) {
                Ok(name) => name.as_str().to_owned(),
                Err(raw) => label(&raw),
            };
            formats::remote(&mut f);
            let report = f.finish();
            ParsedFile {
                name,
                origin: origin(file, format),
                definition: None,
                fields: report.fields,
                remarks: report.remarks,
            }
        })
        .collect()
}

/// Builds the result for an unusable file.
pub(crate) fn unusable(file: DefinitionFile<'_>, format: Format, remarks: Vec<Remark>) -> ParsedFile {
    let name = label(names::stem(file.relative));
    ParsedFile { name, origin: origin(file, format), definition: None, fields: Vec::new(), remarks }
}

fn origin(file: DefinitionFile<'_>, format: Format) -> DefinitionOrigin {
    DefinitionOrigin { path: file.path.to_owned(), format, scope: file.scope, hash: hash(file.bytes) }
}

/// Shortens and escapes text that should have been a name.
fn label(raw: &str) -> String {
    prefix(raw, 64).escape_debug().to_string()
}

/// Returns whether a format needs frontmatter; in the others a prompt alone suffices, because the path names
/// the agent.
fn needs_frontmatter(format: Format) -> bool {
    !matches!(
        format,
        Format::Opencode | Format::Copilot | Format::Cursor | Format::OpenHands | Format::Pi | Format::Goose
    )
}

/// Warns about content that a person should check before the agent runs.
fn doubts(definition: &Definition, body_line: Option<u32>) -> Vec<Remark> {
    let mut doubts = Vec::new();
    let says_nothing =
        definition.prompt.is_empty() && definition.prompt_append.is_none() && definition.extends.is_none();
    if says_nothing && definition.origin.format != Format::Codex {
        doubts.push(warning(localized!("no-prompt"), body_line, Some(&localized!("no-prompt-hint"))));
    }
    for (what, text) in [("description", &definition.description), ("prompt", &definition.prompt)] {
        if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
            let text = localized!("hidden-character", what, code = format!("U+{:04X}", u32::from(hidden)));
            doubts.push(warning(text, None, Some(&localized!("hidden-character-hint"))));
        }
    }
    doubts
}

/// Returns whether people cannot see a character that models read.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Directories that identify a format. `.agents/agents` is missing, because two formats share it.
const PLACES: &[(&str, Format)] = &[
    (".posse/agents/", Format::Native),
    (".acai/subagents/", Format::Acai),
    (".claude/agents/", Format::Claude),
    (".opencode/", Format::Opencode),
    ("opencode/agent", Format::Opencode),
    (".kilo/agents/", Format::Opencode),
    ("kilo/agents/", Format::Opencode),
    (".gemini/agents/", Format::Gemini),
    (".github/agents/", Format::Copilot),
    (".copilot/agents/", Format::Copilot),
    (".codex/agents/", Format::Codex),
    (".qwen/agents/", Format::Qwen),
    (".cursor/agents/", Format::Cursor),
    (".openhands/agents/", Format::OpenHands),
    (".pi/agents/", Format::Pi),
    (".pi/agent/agents/", Format::Pi),
    (".factory/droids/", Format::Factory),
    (".goose/agents/", Format::Goose),
];

/// Keys that only one format has, in order of precedence.
const MARKS: &[(&str, Format)] = &[
    ("developer_instructions", Format::Codex),
    ("permissionMode", Format::Claude),
    ("disallowedTools", Format::Claude),
    ("maxTurns", Format::Claude),
    ("permission", Format::Opencode),
    ("kind", Format::Gemini),
    ("timeout_mins", Format::Gemini),
    ("user-invocable", Format::Copilot),
    ("disable-model-invocation", Format::Copilot),
    ("argument-hint", Format::Copilot),
    ("handoffs", Format::Copilot),
    ("approvalMode", Format::Qwen),
    ("runConfig", Format::Qwen),
    ("is_background", Format::Cursor),
    ("readonly", Format::Cursor),
    ("max_iteration_per_run", Format::OpenHands),
    ("permission_mode", Format::OpenHands),
    ("systemPromptMode", Format::Pi),
    ("inheritProjectContext", Format::Pi),
    ("fallbackModels", Format::Pi),
    ("extensions", Format::Goose),
    ("sub_recipes", Format::Goose),
    ("mode", Format::Opencode),
];

/// Detects the format from the path, then from the keys.
fn detect(file: DefinitionFile<'_>, is_toml: bool, document: &FrontmatterDocument) -> Format {
    if is_toml {
        return Format::Codex;
    }
    if file.relative.ends_with(".agent.md") || file.relative.ends_with(".chatmode.md") {
        return Format::Copilot;
    }
    let path = file.path.replace('\\', "/");
    if let Some((_, format)) = PLACES.iter().find(|(place, _)| path.contains(place)) {
        return *format;
    }
    if matches!(document.front, Some(YamlNode::List(_))) {
        return Format::Gemini;
    }
    let shared = path.contains(".agents/agents/");
    marked(document).unwrap_or(if shared { Format::OpenHands } else { Format::Native })
}

/// Returns the format that one of the keys identifies.
fn marked(document: &FrontmatterDocument) -> Option<Format> {
    let Some(YamlNode::Map(entries)) = &document.front else { return None };
    let mark = MARKS.iter().find(|(key, _)| entries.iter().any(|entry| entry.key == *key));
    mark.map(|(_, format)| *format)
}
