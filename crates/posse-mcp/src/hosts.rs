//! Hosts that can start Posse as their MCP server: the file each reads, its syntax, and the entry to write. The rest of a
//! file stays as it is, byte for byte.

mod json;
pub mod probe;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use serde_json::{Value, json};

use crate::files;

/// Name of the server in a host's configuration.
const NAME: &str = "posse";

/// A host that can be told to use Posse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostName {
    ClaudeCode,
    Codex,
    Opencode,
    Gemini,
    Qwen,
    Copilot,
    Vscode,
    Cursor,
    Zed,
    Goose,
    Cline,
}

impl HostName {
    /// All hosts with their names on the command line, in the order of the help text.
    const NAMES: [(HostName, &str); 11] = [
        (HostName::ClaudeCode, "claude-code"),
        (HostName::Codex, "codex"),
        (HostName::Opencode, "opencode"),
        (HostName::Gemini, "gemini"),
        (HostName::Qwen, "qwen"),
        (HostName::Copilot, "copilot"),
        (HostName::Vscode, "vscode"),
        (HostName::Cursor, "cursor"),
        (HostName::Zed, "zed"),
        (HostName::Goose, "goose"),
        (HostName::Cline, "cline"),
    ];

    /// Returns all hosts, in the order of the help text.
    pub fn all() -> [HostName; 11] {
        Self::NAMES.map(|(host, _)| host)
    }

    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// Parses the name on the command line.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(host, _)| *host)
    }
}

/// Directories in which hosts look for their configuration, beside the project.
#[derive(Debug, Clone, Default)]
pub struct HostDirectories {
    pub home: Option<PathBuf>,
    /// `CODEX_HOME`, if it is set.
    pub codex: Option<PathBuf>,
}

impl HostDirectories {
    fn at_home(&self, path: &str) -> Result<PathBuf> {
        let home = self.home.as_ref();
        let home = home.ok_or_else(|| Error::new(ErrorCode::Io, localized!("mcp-install-nowhere")))?;
        Ok(home.join(path))
    }
}

/// Syntax of a host's configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigSyntax {
    /// Servers are members of the object with this name.
    Json(&'static str),
    Toml,
    Yaml,
}

/// Entry for Posse in the configuration of one host.
#[derive(Debug)]
pub struct HostEntry {
    pub host: HostName,
    pub file: PathBuf,
    syntax: ConfigSyntax,
    server: Value,
}

/// Result of adding an entry to a configuration.
#[derive(Debug, PartialEq, Eq)]
enum HostFileChange {
    /// The file with the entry in it.
    Added(String),
    /// The file names Posse already.
    Present,
}

impl HostEntry {
    /// Returns the entry of a host that starts `program`. Relative files belong to the project.
    pub fn new(host: HostName, program: &str, directories: &HostDirectories) -> Result<Self> {
        let here = |path: &str| PathBuf::from(path);
        let home = |path: &str| directories.at_home(path);
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
                let dir = directories.codex.clone().map_or_else(|| home(".codex"), Ok)?;
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
            HostName::Cline => {
                (home(".cline/data/settings/cline_mcp_settings.json")?, servers, plain.clone())
            }
        };
        Ok(Self { host, file, syntax, server })
    }

    /// Writes the entry into the host's file. Returns false and writes nothing if the file names Posse already; fails
    /// with `CONFIG_INVALID` if the file is not understood.
    pub fn install(&self) -> Result<bool> {
        let before = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(files::unwritable(&self.file).caused_by(e)),
        };
        let added = self.added_to(&before).ok_or_else(|| {
            let (file, host) = (self.file.display(), self.host.as_str());
            Error::new(ErrorCode::ConfigInvalid, localized!("mcp-install-unreadable", file, host))
                .hint(localized!("mcp-install-unreadable-hint"))
        })?;
        match added {
            HostFileChange::Present => Ok(false),
            HostFileChange::Added(text) => files::replace(&self.file, &text).map(|()| true),
        }
    }

    /// Returns the content of a file that has nothing else.
    pub fn whole(&self) -> String {
        match self.syntax {
            ConfigSyntax::Json(key) => {
                let value = json!({ key: { NAME: self.server } });
                format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
            }
            ConfigSyntax::Toml => {
                let server = toml::to_string(&self.server).unwrap_or_default();
                format!("[mcp_servers.{NAME}]\n{server}")
            }
            ConfigSyntax::Yaml => format!("extensions:\n{}", self.yaml()),
        }
    }

    fn yaml(&self) -> String {
        format!(
            "  {NAME}:\n    enabled: true\n    type: stdio\n    name: {NAME}\n    cmd: {}\n    args: [mcp]\n    timeout: 300\n",
            self.server["command"]
        )
    }

    /// Adds the entry to a file's content; `None` if that is not understood.
    fn added_to(&self, before: &str) -> Option<HostFileChange> {
        if before.trim().is_empty() {
            return Some(HostFileChange::Added(self.whole()));
        }
        match self.syntax {
            ConfigSyntax::Json(key) => json::into_json(before, key, &self.server),
            ConfigSyntax::Toml => self.added_to_toml(before),
            ConfigSyntax::Yaml => self.added_to_yaml(before),
        }
    }

    fn added_to_toml(&self, before: &str) -> Option<HostFileChange> {
        let parsed: toml::Table = before.parse().ok()?;
        if parsed.get("mcp_servers").and_then(|servers| servers.get(NAME)).is_some() {
            return Some(HostFileChange::Present);
        }
        let after = format!("{}\n\n{}", before.trim_end(), self.whole());
        after.parse::<toml::Table>().ok()?;
        Some(HostFileChange::Added(after))
    }

    fn added_to_yaml(&self, before: &str) -> Option<HostFileChange> {
        if before.lines().any(|line| line.trim_end() == format!("  {NAME}:")) {
            return Some(HostFileChange::Present);
        }
        let at = before.lines().position(|line| line.trim_end() == "extensions:");
        Some(HostFileChange::Added(match at {
            Some(at) => {
                let (mut lines, server) = (before.lines().collect::<Vec<_>>(), self.yaml());
                lines.insert(at + 1, server.trim_end());
                format!("{}\n", lines.join("\n"))
            }
            // A list of another form is not ours to change.
            None if before.lines().any(|line| line.starts_with("extensions")) => return None,
            None => format!("{}\n{}", before.trim_end(), self.whole()),
        }))
    }
}

/// Tells whether an entry of a configuration is Posse itself, as [`HostEntry::install`] writes it.
pub fn is_posse(server: &Value) -> bool {
    let program = server["command"].as_str().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name == NAME) && server["args"][0] == "mcp"
}

#[cfg(test)]
mod tests {
    use super::json::without_comments;
    use super::*;

    fn into(before: &str, syntax: ConfigSyntax) -> Option<HostFileChange> {
        let server = json!({ "command": "/bin/posse", "args": ["mcp"] });
        HostEntry { host: HostName::Codex, file: PathBuf::new(), syntax, server }.added_to(before)
    }

    #[track_caller]
    fn added(before: &str, syntax: ConfigSyntax) -> String {
        match into(before, syntax) {
            Some(HostFileChange::Added(text)) => text,
            other => panic!("{before}: {other:?}"),
        }
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
            let after = added(before, json);
            let value: Value = serde_json::from_str(&without_comments(&after)).unwrap();
            assert_eq!(value["mcpServers"]["posse"]["args"], json!(["mcp"]), "{after}");
            for line in
                before.lines().filter(|line| line.len() > 2 && !line.contains("{}") && !line.contains("none"))
            {
                assert!(after.contains(line.trim_start_matches('{')), "{line} is gone from {after}");
            }
            assert_eq!(into(&after, json), Some(HostFileChange::Present), "twice is once: {after}");
        }
        for broken in ["{", "[]", "not json", "{\"mcpServers\": []}"] {
            assert_eq!(into(broken, json), None, "{broken}");
        }
        let toml = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let after = added(toml, ConfigSyntax::Toml);
        assert!(after.starts_with(toml.trim_end()) && after.contains("[mcp_servers.posse]"), "{after}");
        assert_eq!(into(&after, ConfigSyntax::Toml), Some(HostFileChange::Present));
        assert_eq!(into("a = = b", ConfigSyntax::Toml), None);
        let yaml = "GOOSE_MODEL: x\nextensions:\n  developer:\n    enabled: true\n";
        let after = added(yaml, ConfigSyntax::Yaml);
        assert!(
            after.contains("extensions:\n  posse:\n") && after.contains("  developer:\n    enabled: true\n"),
            "{after}"
        );
        assert_eq!(into(&after, ConfigSyntax::Yaml), Some(HostFileChange::Present));
        assert_eq!(into("extensions: {}\n", ConfigSyntax::Yaml), None);
    }

    #[test]
    fn every_host_has_an_entry_that_its_own_syntax_reads() {
        let directories = HostDirectories { home: Some("/home/u".into()), codex: None };
        for host in HostName::all() {
            assert_eq!(HostName::parse(host.as_str()), Some(host));
            let entry = HostEntry::new(host, "/usr/bin/posse", &directories).unwrap();
            let text = entry.whole();
            assert!(text.contains("/usr/bin/posse") && text.contains("mcp"), "{host:?}: {text}");
            assert_eq!(entry.added_to(&text), Some(HostFileChange::Present), "{host:?}: {text}");
        }
    }
}
