//! `posse mcp install`: what each host is told, and where. What a file has already stays as it is, byte for byte.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use serde_json::{Value, json};

use super::key;
use crate::args::{GlobalArgs, HostName};
use crate::models::process_env;
use crate::terminal;

const NAME: &str = "posse";

/// How a host's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigSyntax {
    /// Servers are members of the object with this name.
    Json(&'static str),
    Toml,
    Yaml,
}

/// What a host is told.
struct HostEntry {
    file: PathBuf,
    syntax: ConfigSyntax,
    server: Value,
}

pub fn run(global: &GlobalArgs, host: HostName, write: bool, no_key: bool) -> Result<ExitCode> {
    let json = global.json;
    let program = std::env::current_exe().unwrap_or_else(|_| NAME.into());
    let entry = entry(host, &program.display().to_string())?;
    let file = entry.file.display().to_string();
    let host = clap::ValueEnum::to_possible_value(&host)
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default();
    if !write {
        terminal::note(&say!("mcp-install-where", host, file));
        terminal::out(whole(&entry).trim_end());
        terminal::note(&writes_nothing());
        return Ok(ExitCode::SUCCESS);
    }
    let before = match std::fs::read_to_string(&entry.file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(cannot_write(&entry.file).caused_by(e)),
    };
    let added = added(&before, &entry).ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, say!("mcp-install-unreadable", file = file.clone(), host))
            .hint(say!("mcp-install-unreadable-hint"))
    })?;
    let changed = added.is_some();
    if let Some(text) = added {
        replace(&entry.file, &text)?;
    }
    let key = if no_key { None } else { key::offer(global)? };
    let key_file = key.as_ref().map(|key| key.file.display().to_string());
    if let (Some(key), Some(file)) = (&key, &key_file) {
        terminal::note(&say!("mcp-key-stored", file, config = key.config.display()));
    }
    match (json, changed) {
        (true, _) => {
            terminal::out(&json!({ "file": file, "changed": changed, "key_file": key_file }).to_string());
        }
        (false, true) => {
            terminal::note(&say!("file-written", file));
            terminal::note(&writes_nothing());
        }
        (false, false) => terminal::note(&say!("mcp-install-there", file)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What tasks of hosts get when nobody says more.
pub fn writes_nothing() -> String {
    say!("mcp-writes-nothing", advice = say!("mcp-writing-advice"))
}

fn entry(host: HostName, program: &str) -> Result<HostEntry> {
    let here = |path: &str| PathBuf::from(path);
    let home = |path: &str| {
        let home =
            process_env("HOME").ok_or_else(|| Error::new(ErrorCode::Io, say!("mcp-install-nowhere")))?;
        Ok::<_, Error>(Path::new(&home).join(path))
    };
    let plain = json!({ "command": program, "args": ["mcp"] });
    let with = |more: Value| {
        let mut all = plain.clone();
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
        }
        all
    };
    let servers = ConfigSyntax::Json("mcpServers");
    let (file, syntax, server) = match host {
        HostName::ClaudeCode => (here(".mcp.json"), servers, plain.clone()),
        HostName::Codex => {
            let dir = process_env("CODEX_HOME").map(PathBuf::from).map_or_else(|| home(".codex"), Ok)?;
            (dir.join("config.toml"), ConfigSyntax::Toml, plain.clone())
        }
        HostName::Opencode => {
            let server = json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
            (here("opencode.json"), ConfigSyntax::Json("mcp"), server)
        }
        HostName::Gemini => (here(".gemini/settings.json"), servers, plain.clone()),
        HostName::Qwen => (here(".qwen/settings.json"), servers, plain.clone()),
        HostName::Copilot => {
            (home(".copilot/mcp-config.json")?, servers, with(json!({ "type": "local", "tools": ["*"] })))
        }
        HostName::Vscode => {
            (here(".vscode/mcp.json"), ConfigSyntax::Json("servers"), with(json!({ "type": "stdio" })))
        }
        HostName::Cursor => (here(".cursor/mcp.json"), servers, plain.clone()),
        HostName::Zed => {
            let server = with(json!({ "source": "custom", "env": {} }));
            (home(".config/zed/settings.json")?, ConfigSyntax::Json("context_servers"), server)
        }
        HostName::Goose => (home(".config/goose/config.yaml")?, ConfigSyntax::Yaml, plain.clone()),
        HostName::Cline => (home(".cline/data/settings/cline_mcp_settings.json")?, servers, plain.clone()),
    };
    Ok(HostEntry { file, syntax, server })
}

/// As a file that has nothing else.
fn whole(entry: &HostEntry) -> String {
    match entry.syntax {
        ConfigSyntax::Json(key) => {
            let value = json!({ key: { NAME: entry.server } });
            format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
        }
        ConfigSyntax::Toml => {
            let server = toml::to_string(&entry.server).unwrap_or_default();
            format!("[mcp_servers.{NAME}]\n{server}")
        }
        ConfigSyntax::Yaml => format!("extensions:\n{}", yaml(entry)),
    }
}

fn yaml(entry: &HostEntry) -> String {
    format!(
        "  {NAME}:\n    enabled: true\n    type: stdio\n    name: {NAME}\n    cmd: {}\n    args: [mcp]\n    timeout: 300\n",
        entry.server["command"]
    )
}

/// The file with the server in it; `Some(None)` if it is there already, `None` if the file is not understood.
fn added(before: &str, entry: &HostEntry) -> Option<Option<String>> {
    if before.trim().is_empty() {
        return Some(Some(whole(entry)));
    }
    match entry.syntax {
        ConfigSyntax::Json(key) => into_json(before, key, &entry.server),
        ConfigSyntax::Toml => {
            let parsed: toml::Table = before.parse().ok()?;
            if parsed.get("mcp_servers").and_then(|servers| servers.get(NAME)).is_some() {
                return Some(None);
            }
            let after = format!("{}\n\n{}", before.trim_end(), whole(entry));
            after.parse::<toml::Table>().ok()?;
            Some(Some(after))
        }
        ConfigSyntax::Yaml => {
            if before.lines().any(|line| line.trim_end() == format!("  {NAME}:")) {
                return Some(None);
            }
            let at = before.lines().position(|line| line.trim_end() == "extensions:");
            Some(Some(match at {
                Some(at) => {
                    let (mut lines, server) = (before.lines().collect::<Vec<_>>(), yaml(entry));
                    lines.insert(at + 1, server.trim_end());
                    format!("{}\n", lines.join("\n"))
                }
                // A list of another form is not ours to change.
                None if before.lines().any(|line| line.starts_with("extensions")) => return None,
                None => format!("{}\n{}", before.trim_end(), whole(entry)),
            }))
        }
    }
}

/// Puts the server first into the object of this name, or the object first into the file. Comments stay where they are.
fn into_json(before: &str, key: &str, server: &Value) -> Option<Option<String>> {
    let parse = |text: &str| serde_json::from_str::<Value>(&without_comments(text)).ok();
    let old = parse(before).filter(Value::is_object)?;
    if !(old[key].is_null() || old[key].is_object()) {
        return None;
    }
    if old[key].get(NAME).is_some() {
        return Some(None);
    }
    let found = object_at(before, key);
    let (at, depth, member) = match found {
        Some(at) => (at, 2, json!({ NAME: server })),
        None => (open_of_file(before)?, 1, json!({ key: { NAME: server } })),
    };
    let pretty = serde_json::to_string_pretty(&member).ok()?;
    let inner: Vec<&str> = pretty.lines().collect();
    let indent = "  ".repeat(depth - 1);
    let inner =
        inner[1..inner.len() - 1].iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n");
    let is_empty = match found {
        Some(_) => old[key].as_object()?.is_empty(),
        None => old.as_object()?.is_empty(),
    };
    let rest = &before[at..];
    let after = match is_empty {
        true => format!("{}\n{inner}\n{indent}{}", &before[..at], rest.trim_start()),
        false => format!("{}\n{inner},{rest}", &before[..at]),
    };
    // What was there is there, and the server is too.
    let mut expected = old;
    expected[key][NAME] = server.clone();
    (parse(&after)? == expected).then_some(Some(after))
}

fn open_of_file(text: &str) -> Option<usize> {
    without_comments(text).find('{').map(|at| at + 1)
}

/// Where the object begins that is the value of this key at the top.
fn object_at(text: &str, key: &str) -> Option<usize> {
    let plain = without_comments(text);
    let bytes = plain.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = end_of_string(bytes, at)?;
                let after = plain[end..].trim_start();
                if depth == 1 && &plain[at + 1..end - 1] == key && after.starts_with(':') {
                    let value = after[1..].trim_start();
                    return value.starts_with('{').then(|| plain.len() - value.len() + 1);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Comments and commas before a closing bracket as blanks, so that every other byte keeps its place.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => at = end_of_string(&bytes, at).unwrap_or(bytes.len()),
            (b'/', Some(b'/')) => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    bytes[at] = b' ';
                    at += 1;
                }
            }
            (b'/', Some(b'*')) => {
                let end = text[at + 2..].find("*/").map_or(bytes.len(), |found| at + 2 + found + 2);
                bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at = end;
            }
            (b',', _) => {
                let next = bytes[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                if matches!(next, Some(b'}' | b']')) {
                    bytes[at] = b' ';
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Beside the old file first, so that no half of it is ever there.
pub(super) fn replace(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        std::fs::create_dir_all(parent)?;
        let unfinished = tempfile::NamedTempFile::new_in(parent)?;
        std::fs::write(unfinished.path(), text)?;
        if let Ok(there) = std::fs::metadata(path) {
            std::fs::set_permissions(unfinished.path(), there.permissions())?;
        }
        unfinished.persist(path).map(drop).map_err(|e| e.error)
    };
    write().map_err(|e| cannot_write(path).caused_by(e))
}

fn cannot_write(path: &Path) -> Error {
    Error::new(ErrorCode::Io, say!("cannot-be-written", path = path.display()))
}

#[cfg(test)]
mod tests {
    use posse_tools::protected::FileProtection;

    use super::*;

    fn into(before: &str, syntax: ConfigSyntax) -> Option<Option<String>> {
        let server = json!({ "command": "/bin/posse", "args": ["mcp"] });
        added(before, &HostEntry { file: PathBuf::new(), syntax, server })
    }

    #[test]
    fn what_a_file_has_stays_byte_for_byte() {
        let json = ConfigSyntax::Json("mcpServers");
        for before in [
            "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  },\n  \"theme\": \"dark\"\n}\n",
            "{\n  // a comment with { and \"mcpServers\": {\n  \"a\": [1, 2,],\n}\n",
            "{ \"mcpServers\": {} }",
            "{}",
            "{\"nested\": {\"mcpServers\": {\"x\": 1}}, \"mcpServers\": {/* none */}}",
        ] {
            let after = into(before, json).unwrap().unwrap_or_else(|| panic!("{before}"));
            let value: Value = serde_json::from_str(&without_comments(&after)).unwrap();
            assert_eq!(value["mcpServers"]["posse"]["args"], json!(["mcp"]), "{after}");
            for line in
                before.lines().filter(|line| line.len() > 2 && !line.contains("{}") && !line.contains("none"))
            {
                assert!(after.contains(line.trim_start_matches('{')), "{line} is gone from {after}");
            }
            assert_eq!(into(&after, json), Some(None), "twice is once: {after}");
        }
        for broken in ["{", "[]", "not json", "{\"mcpServers\": []}"] {
            assert_eq!(into(broken, json), None, "{broken}");
        }
        let toml = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let after = into(toml, ConfigSyntax::Toml).unwrap().unwrap();
        assert!(after.starts_with(toml.trim_end()) && after.contains("[mcp_servers.posse]"), "{after}");
        assert_eq!(into(&after, ConfigSyntax::Toml), Some(None));
        assert_eq!(into("a = = b", ConfigSyntax::Toml), None);
        let yaml = "GOOSE_MODEL: x\nextensions:\n  developer:\n    enabled: true\n";
        let after = into(yaml, ConfigSyntax::Yaml).unwrap().unwrap();
        assert!(
            after.contains("extensions:\n  posse:\n") && after.contains("  developer:\n    enabled: true\n"),
            "{after}"
        );
        assert_eq!(into(&after, ConfigSyntax::Yaml), Some(None));
        assert_eq!(into("extensions: {}\n", ConfigSyntax::Yaml), None);
    }

    // G20 S11 Seen to fail without `opencode.json` in the table.
    #[test]
    fn every_file_that_install_writes_is_protected() {
        let home = PathBuf::from(process_env("HOME").unwrap_or_default());
        for host in <HostName as clap::ValueEnum>::value_variants() {
            let file = entry(*host, "/usr/bin/posse").unwrap().file;
            let path = file.strip_prefix(&home).unwrap_or(&file);
            assert!(FileProtection::default().find(path).is_some(), "{host:?}: {}", path.display());
        }
    }

    #[test]
    fn every_host_has_an_entry_that_its_own_syntax_reads() {
        for host in <HostName as clap::ValueEnum>::value_variants() {
            let entry = entry(*host, "/usr/bin/posse").unwrap();
            let text = whole(&entry);
            assert!(text.contains("/usr/bin/posse") && text.contains("mcp"), "{host:?}: {text}");
            assert_eq!(added(&text, &entry), Some(None), "{host:?}: {text}");
        }
    }
}
