//! Parses a file's bytes into keys and body. Bounded and total: any input gives keys or an error.

use posse_core::definition::{Remark, RemarkSeverity};
use posse_core::text::prefix;
use posse_messages::{LocalizedText, localized};
use serde_saphyr::Error;
use toml::de::{DeTable, DeValue};

use crate::fields::is_right;
use crate::node::{YamlEntry, YamlNode};

/// Maximum file size; a prompt of this size fills a context window.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Maximum frontmatter size; real files stay below 8 KiB.
pub const FRONT_BYTES_MAX: usize = 64 << 10;
/// Maximum keys: far above any format; each one costs a line of the report.
const KEYS_MAX: usize = 256;

/// A parsed file before its format is known.
#[derive(Debug, Default)]
pub struct FrontmatterDocument {
    /// The keys; `None` if the file has no frontmatter.
    pub front: Option<YamlNode>,
    pub body: String,
    /// The line on which the body starts.
    pub body_line: u32,
    pub remarks: Vec<Remark>,
}

/// Creates an error remark.
pub fn error(text: impl Into<LocalizedText>, line: Option<u32>, hint: Option<&LocalizedText>) -> Remark {
    Remark { severity: RemarkSeverity::Error, text: text.into(), line, hint: hint.cloned() }
}

/// Creates a warning remark.
pub fn warning(text: impl Into<LocalizedText>, line: Option<u32>, hint: Option<&LocalizedText>) -> Remark {
    Remark { severity: RemarkSeverity::Warning, ..error(text, line, hint) }
}

/// Quotes file text for a message: short and escaped.
pub fn shown(text: &str) -> String {
    format!("`{}`", prefix(text, 80).escape_debug())
}

/// Decodes a file: bounded, UTF-8, without a byte order mark, with plain line ends.
pub fn text_of(bytes: &[u8]) -> Result<String, Remark> {
    if bytes.len() > FILE_BYTES_MAX {
        let text = localized!("file-bytes", bytes = bytes.len(), most = FILE_BYTES_MAX);
        return Err(error(text, None, Some(&localized!("file-bytes-hint"))));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let good = &bytes[..e.valid_up_to()];
        let line = line_at(good, good.len());
        let column = good.len() - good.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) + 1;
        let text = localized!("file-not-utf8", column, line);
        error(text, Some(line), Some(&localized!("file-not-utf8-hint")))
    })?;
    if let Some(at) = text.find('\0') {
        return Err(error(
            localized!("file-nul"),
            Some(line_at(bytes, at)),
            Some(&localized!("file-nul-hint")),
        ));
    }
    Ok(plain_lines(text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// Normalizes line ends. A lone carriage return could make a terminal overwrite its output.
pub fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn line_at(bytes: &[u8], at: usize) -> u32 {
    let breaks = bytes[..at.min(bytes.len())].iter().filter(|b| **b == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
}

/// Parses a Markdown file: YAML between two `---` lines, then the prompt.
pub fn markdown(text: &str) -> FrontmatterDocument {
    let Some((front, first_line, body, body_line)) = split(text) else {
        let unclosed = text.trim_start().lines().next().is_some_and(|line| line.trim_end() == "---");
        let remarks = if unclosed {
            vec![error(localized!("front-open"), Some(1), Some(&localized!("front-open-hint")))]
        } else {
            Vec::new()
        };
        return FrontmatterDocument { front: None, body: text.trim().to_owned(), body_line: 1, remarks };
    };
    let mut document =
        FrontmatterDocument { front: None, body: body.trim().to_owned(), body_line, remarks: Vec::new() };
    if front.len() > FRONT_BYTES_MAX {
        let text = localized!("front-bytes", bytes = front.len(), most = FRONT_BYTES_MAX);
        document.remarks.push(error(text, Some(1), Some(&localized!("front-bytes-hint"))));
        return document;
    }
    let (node, remarks) = yaml_or_lines(front, first_line);
    document.remarks = remarks;
    document.front = Some(node);
    document
}

/// Splits at the fences; returns frontmatter and body, each with its first line number.
fn split(text: &str) -> Option<(&str, u32, &str, u32)> {
    let mut at = 0;
    let mut front = None;
    for (line, piece) in (1..).zip(text.split_inclusive('\n')) {
        let content = piece.trim_end();
        let next = at + piece.len();
        match front {
            None if content == "---" => front = Some((next, line + 1)),
            None if content.is_empty() => {}
            None => return None,
            Some((from, first_line)) if content == "---" => {
                return Some((&text[from..at], first_line, &text[next..], line + 1));
            }
            Some(_) => {}
        }
        at = next;
    }
    None
}

/// Parses YAML, or line by line if it is invalid. `first_line` is the position of `front` in its file.
fn yaml_or_lines(front: &str, first_line: u32) -> (YamlNode, Vec<Remark>) {
    let nothing = || YamlNode::Map(Vec::new());
    let failure = match yaml(front) {
        Ok(mut node) => {
            node.shift(first_line - 1);
            return match node {
                YamlNode::Null => (nothing(), Vec::new()),
                YamlNode::Map(entries) if entries.len() > KEYS_MAX => {
                    (nothing(), vec![error(localized!("front-keys-many", most = KEYS_MAX), None, None)])
                }
                YamlNode::Map(_) | YamlNode::List(_) => (node, Vec::new()),
                other => {
                    let text = localized!("front-not-keys", kind = other.kind());
                    (nothing(), vec![error(text, Some(first_line), Some(&localized!("front-keys-hint")))])
                }
            };
        }
        Err(failure) => failure,
    };
    let line = failure.location().and_then(|at| u32::try_from(at.line()).ok()).filter(|line| *line > 0);
    let line = line.map(|line| line.saturating_add(first_line - 1));
    let (entries, mut remarks) = by_lines(front, first_line);
    if is_refused(&failure) {
        remarks.clear();
        remarks.push(error(refusal(&failure, &entries, first_line), line, None));
    } else if !remarks.iter().any(|remark| remark.severity == RemarkSeverity::Error) {
        let text = localized!("front-not-yaml", why = message(&failure));
        remarks.insert(0, warning(text, line, Some(&localized!("front-not-yaml-hint"))));
    }
    (YamlNode::Map(entries), remarks)
}

fn yaml(text: &str) -> Result<YamlNode, Error> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_aliases: 64,
            max_anchors: 64,
            max_depth: 32,
            max_documents: 1,
            max_nodes: 8_192,
            max_events: 32_768,
            max_total_scalar_bytes: 4 * FRONT_BYTES_MAX,
            max_merge_keys: 16,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// Returns whether an error rules out line-by-line recovery: duplicate keys or an exceeded limit.
fn is_refused(failure: &Error) -> bool {
    match failure.without_snippet() {
        Error::Budget { .. }
        | Error::DuplicateMappingKey { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::RecursiveReferencesRequireWeakTypes { .. } => true,
        Error::AliasError { error, .. } => is_refused(error),
        // The scanner's limit on nested brackets has no variant.
        other => other.to_string().contains("recursion limit exceeded"),
    }
}

fn refusal(failure: &Error, entries: &[YamlEntry], first_line: u32) -> LocalizedText {
    let Error::DuplicateMappingKey { key, location } = failure.without_snippet() else {
        return localized!("front-too-much");
    };
    let key = key.as_deref().unwrap_or("?");
    let second = u32::try_from(location.line()).unwrap_or(0).saturating_add(first_line - 1);
    match entries.iter().find(|entry| entry.key == key && entry.line < second) {
        Some(first) => localized!("key-twice", key = shown(key), first = first.line, second),
        None => localized!("key-twice-in-map", key = shown(key), second),
    }
}

fn message(failure: &Error) -> String {
    let message = failure.without_snippet().to_string();
    // The parser repeats the location at the end of its message.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    prefix(message, 200).replace('\n', " ")
}

/// Splits at each line that starts with `key:` and parses every piece alone, so that one bad line spoils one
/// key.
fn by_lines(front: &str, first_line: u32) -> (Vec<YamlEntry>, Vec<Remark>) {
    let mut remarks = Vec::new();
    let mut pieces: Vec<(u32, Vec<&str>)> = Vec::new();
    for (line, text) in (first_line..).zip(front.lines()) {
        match pieces.last_mut() {
            _ if key_of(text).is_some() => pieces.push((line, vec![text])),
            Some((_, lines)) => lines.push(text),
            None if text.trim().is_empty() || text.starts_with('#') => {}
            None => {
                remarks.push(warning(localized!("line-without-key", shown = shown(text)), Some(line), None))
            }
        }
    }
    if pieces.is_empty() || pieces.len() > KEYS_MAX {
        let text = if pieces.is_empty() {
            localized!("front-no-key")
        } else {
            localized!("front-keys-many", most = KEYS_MAX)
        };
        return (Vec::new(), vec![error(text, Some(first_line), Some(&localized!("front-keys-hint")))]);
    }
    let mut entries: Vec<YamlEntry> = Vec::new();
    for (line, lines) in pieces {
        match piece(line, &lines) {
            Ok(entry) => {
                if let Some(first) = entries.iter().find(|other| other.key == entry.key) {
                    let text =
                        localized!("key-twice", key = shown(&entry.key), first = first.line, second = line);
                    remarks.push(error(text, Some(line), None));
                } else {
                    entries.push(entry);
                }
            }
            Err(remark) => remarks.push(remark),
        }
    }
    (entries, remarks)
}

/// Splits a `key:` at the start of a line from the rest.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_end();
    let mut characters = key.chars();
    let first = characters.next()?;
    let legal = (first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && (rest.is_empty() || rest.starts_with([' ', '\t']));
    legal.then_some((key, rest))
}

fn piece(line: u32, lines: &[&str]) -> Result<YamlEntry, Remark> {
    let (key, rest) = lines.first().and_then(|first| key_of(first)).unwrap_or_default();
    match yaml(&lines.join("\n")) {
        Ok(YamlNode::Map(mut entries)) if entries.len() == 1 => {
            let mut entry = entries.remove(0);
            entry.value.shift(line - 1);
            return Ok(YamlEntry { line, ..entry });
        }
        Err(failure) if is_refused(&failure) => {
            return Err(error(refusal(&failure, &[], line), Some(line), None));
        }
        Ok(_) | Err(_) => {}
    }
    let mut text = rest.split(" # ").next().unwrap_or_default().trim().to_owned();
    for (line, more) in (line + 1..).zip(&lines[1..]) {
        // A misplaced line that restricts rights must not become part of a description.
        if let Some((inner, _)) = key_of(more.trim()).filter(|(inner, _)| is_right(inner)) {
            let text = localized!("right-below", inner = shown(inner), key = shown(key));
            return Err(error(text, Some(line), Some(&localized!("right-below-hint"))));
        }
        text.push('\n');
        text.push_str(more.trim());
    }
    Ok(YamlEntry { key: key.to_owned(), line, value: YamlNode::Text(unquoted(text.trim()).to_owned()) })
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Parses a Codex role, in which everything is a key.
pub fn toml(text: &str) -> FrontmatterDocument {
    match DeTable::parse(text) {
        Ok(table) if table.get_ref().len() > KEYS_MAX => {
            let remarks = vec![error(localized!("front-keys-many", most = KEYS_MAX), None, None)];
            FrontmatterDocument { remarks, ..FrontmatterDocument::default() }
        }
        Ok(table) => {
            let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
            FrontmatterDocument {
                front: Some(toml_table(&breaks, table.get_ref())),
                ..FrontmatterDocument::default()
            }
        }
        Err(failure) => {
            let line = failure.span().map(|span| line_at(text.as_bytes(), span.start));
            let text = localized!("file-not-toml", why = prefix(failure.message(), 200).replace('\n', " "));
            FrontmatterDocument { remarks: vec![error(text, line, None)], ..FrontmatterDocument::default() }
        }
    }
}

/// Converts a table. `breaks` holds the positions of line ends, because searching for them at each key would
/// be quadratic.
fn toml_table(breaks: &[usize], table: &DeTable<'_>) -> YamlNode {
    let line = |at: usize| u32::try_from(breaks.partition_point(|end| *end < at)).unwrap_or(u32::MAX - 1) + 1;
    let mut entries: Vec<YamlEntry> = table
        .iter()
        .map(|(key, value)| YamlEntry {
            key: key.get_ref().to_string(),
            line: line(key.span().start),
            value: toml_value(breaks, value.get_ref()),
        })
        .collect();
    entries.sort_by_key(|entry| entry.line);
    YamlNode::Map(entries)
}

fn toml_value(breaks: &[usize], value: &DeValue<'_>) -> YamlNode {
    match value {
        DeValue::String(string) => YamlNode::Text(string.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(
                |_| YamlNode::Text(number.as_str().to_owned()),
                |number| YamlNode::Number(number.into()),
            )
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            parsed.map_or_else(|| YamlNode::Text(number.as_str().to_owned()), YamlNode::Number)
        }
        DeValue::Boolean(flag) => YamlNode::Bool(*flag),
        DeValue::Datetime(time) => YamlNode::Text(time.to_string()),
        DeValue::Array(items) => {
            YamlNode::List(items.iter().map(|item| toml_value(breaks, item.get_ref())).collect())
        }
        DeValue::Table(table) => toml_table(breaks, table),
    }
}
