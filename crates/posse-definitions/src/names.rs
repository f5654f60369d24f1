//! Agent names: each format has its own rule, and our names allow fewer characters.

use posse_core::definition::Format;
use posse_core::id::{AGENT_NAME_MAX, AgentName};
use posse_messages::{LocalizedText, localized};

use crate::fields::FieldReader;
use crate::frontmatter::shown;

enum NameRule {
    /// The key `name`, which must match the file name.
    AsFile,
    /// The key `name`.
    Key,
    /// The key `name`, or else the file name.
    KeyOrFile,
    /// The path; the key `name` is only displayed.
    Path,
}

fn rule(format: Format) -> NameRule {
    match format {
        Format::Native | Format::Acai => NameRule::AsFile,
        Format::Claude | Format::Gemini | Format::Codex | Format::Qwen | Format::Factory => NameRule::Key,
        Format::Cursor | Format::OpenHands | Format::Pi | Format::Goose => NameRule::KeyOrFile,
        Format::Opencode | Format::Copilot => NameRule::Path,
    }
}

/// Determines the name. On failure, adds an error remark and returns the text that should have been the name.
pub fn of(format: Format, relative: &str, f: &mut FieldReader) -> Result<AgentName, String> {
    let stem = stem(relative);
    match rule(format) {
        NameRule::AsFile => as_file(stem, f),
        NameRule::Key => match f.text("name") {
            Some(raw) => from_key(format, &raw, f),
            None => {
                f.fail("name", localized!("name-missing"), Some(&localized!("name-missing-hint")));
                Err(stem.to_owned())
            }
        },
        NameRule::KeyOrFile => match f.text("name") {
            Some(raw) => from_key(format, &raw, f),
            None => from_path(stem, f),
        },
        NameRule::Path => {
            let path = relative.strip_suffix(".md").unwrap_or(relative);
            from_path(if format == Format::Opencode { path } else { stem }, f)
        }
    }
}

/// Returns the file name without suffixes: `review/security.agent.md` is `security`.
pub fn stem(relative: &str) -> &str {
    let file = relative.rsplit('/').next().unwrap_or(relative);
    let stem = file.strip_suffix(".md").or_else(|| file.strip_suffix(".toml")).unwrap_or(file);
    stem.strip_suffix(".agent").or_else(|| stem.strip_suffix(".chatmode")).unwrap_or(stem)
}

fn as_file(stem: &str, f: &mut FieldReader) -> Result<AgentName, String> {
    let Some(raw) = f.text("name") else {
        f.fail("name", localized!("name-missing"), Some(&localized!("name-missing-write", stem)));
        return Err(stem.to_owned());
    };
    match AgentName::parse(&raw) {
        Ok(name) if name.as_str() == stem => Ok(name),
        Ok(name) => {
            let text = localized!("name-not-file", name, file = shown(stem));
            f.fail("name", text, Some(&localized!("name-not-file-hint")));
            // Callers know the agent by its file name.
            Err(stem.to_owned())
        }
        Err(e) => {
            f.fail("name", e.message(), e.advice());
            Err(raw)
        }
    }
}

fn from_key(format: Format, raw: &str, f: &mut FieldReader) -> Result<AgentName, String> {
    if format == Format::Claude && (raw.starts_with('-') || raw.contains(':')) {
        f.fail("name", localized!("name-skipped", shown = shown(raw)), None);
        return Err(raw.to_owned());
    }
    match normal(raw) {
        Ok(name) => {
            if name.as_str() != raw {
                f.mapped("name", format!("`{name}`"));
            }
            Ok(name)
        }
        Err(why) => {
            f.fail(
                "name",
                localized!("not-a-name", shown = shown(raw), why),
                Some(&localized!("agent-name-invalid-hint")),
            );
            Err(raw.to_owned())
        }
    }
}

fn from_path(path: &str, f: &mut FieldReader) -> Result<AgentName, String> {
    normal(path).map_err(|why| {
        f.fail(
            "name",
            localized!("not-a-name", shown = shown(path), why),
            Some(&localized!("file-name-hint")),
        );
        path.to_owned()
    })
}

/// Normalizes a vendor's name. Rejects everything that could be a path out of its directory.
pub fn normal(raw: &str) -> Result<AgentName, LocalizedText> {
    let raw = raw.trim();
    if raw.is_empty() {
        return Err(localized!("name-empty"));
    }
    if raw.chars().any(char::is_control) {
        return Err(localized!("name-control-character"));
    }
    if raw.contains("..") || raw.contains('\\') || raw.starts_with(['/', '~']) {
        return Err(localized!("name-like-path"));
    }
    let name: String = raw
        .chars()
        .map(|c| if matches!(c, ' ' | '/' | '.') { '-' } else { c.to_ascii_lowercase() })
        .collect();
    if name.len() > AGENT_NAME_MAX {
        return Err(localized!("agent-name-too-long", most = AGENT_NAME_MAX));
    }
    AgentName::parse(&name).map_err(|_| localized!("name-odd-character"))
}
