//! Changes of a configuration file that keep its comments and its order. A change is written only if the result can be
//! loaded.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::redact::SecretRedactor;
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_mcp::files::{replace, unwritable};
use posse_messages::say;
use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use crate::config::{self, ConfigScope};

/// Settings with a fixed name, for suggestions and completion. Tables of names of your own are left out.
pub const SETTINGS: &[&str] = &[
    "model",
    "fallback_models",
    "on_unknown_model",
    "limits.max_turns",
    "limits.max_tool_calls",
    "limits.timeout_s",
    "limits.max_output_tokens",
    "limits.context_window",
    "limits.max_input_tokens",
    "limits.max_cost_usd",
    "model_settings.effort",
    "model_settings.temperature",
    "model_settings.thinking_tokens",
    "grant.allow",
    "grant.deny",
    "bash.env",
    "sandbox.tier",
    "sandbox.network",
    "sandbox.top",
    "sandbox.read",
    "sandbox.write",
    "sandbox.unprotected",
    "sandbox.memory_mib",
    "sandbox.file_mib",
    "sandbox.processes",
    "log.file",
    "log.level",
    "telemetry.otlp_endpoint",
    "session.mode",
    "session.tools",
    "session.max_depth",
    "session.max_running",
    "session.max_open_tasks",
    "session.on_limit",
    "session.lease_s",
    "store.max_age",
    "store.max_size",
    "network.hosts",
    "network.allow_private",
    "secrets.redact",
    "approvals.mode",
    "approvals.deadline_s",
    "approvals.default",
    "approvals.ask",
    "approvals.allow",
    "mcp.tools",
    "mcp.on_exit",
    "mcp.write",
    "mcp.http_hosts",
    "mcp.http_origins",
    "ui.symbols",
];

/// Names of keys whose values are secrets or may hold one.
const SECRET_NAMES: &[&str] =
    &["api_key", "key", "token", "secret", "password", "authorization", "headers", "env"];

/// A configuration file that is being changed.
pub struct ConfigEdit {
    path: PathBuf,
    scope: ConfigScope,
    document: DocumentMut,
}

impl ConfigEdit {
    /// Reads a file; one that is absent counts as empty.
    pub fn open(path: &Path, scope: ConfigScope) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
            Err(e) => return Err(unwritable(path).caused_by(e)),
        };
        // The loader says best what is wrong with a text.
        config::check(path, &text, scope)?;
        let document = text.parse::<DocumentMut>().map_err(|e| {
            Error::new(ErrorCode::ConfigInvalid, format!("{}: {}", path.display(), e.message()))
        })?;
        Ok(Self { path: path.to_owned(), scope, document })
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[Key]) -> Option<&Item> {
        let mut item = self.document.as_item();
        for part in key {
            item = item.get(part.get())?;
        }
        Some(item)
    }

    /// Sets a key, in the place where it stands or in its table.
    pub fn set(&mut self, key: &[Key], mut value: Value) -> Result<()> {
        let Some((last, tables)) = key.split_last() else { return Ok(()) };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for part in tables {
            let item = table.entry(part.get()).or_insert_with(|| {
                let mut new = Table::new();
                new.set_implicit(true);
                Item::Table(new)
            });
            table = item.as_table_like_mut().ok_or_else(|| {
                let text = say!("config-not-a-table", key = part.get());
                Error::new(ErrorCode::ConfigInvalid, text)
            })?;
        }
        match table.get_mut(last.get()) {
            Some(Item::Value(there)) => {
                *value.decor_mut() = there.decor().clone();
                *there = value;
            }
            Some(other) => *other = Item::Value(value),
            None => drop(table.insert(last.get(), Item::Value(value))),
        }
        Ok(())
    }

    /// Removes a key; false if it is not there.
    pub fn unset(&mut self, key: &[Key]) -> bool {
        let Some((last, tables)) = key.split_last() else { return false };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for part in tables {
            match table.get_mut(part.get()).and_then(Item::as_table_like_mut) {
                Some(inner) => table = inner,
                None => return false,
            }
        }
        table.remove(last.get()).is_some()
    }

    /// Lists all values by their full key.
    pub fn values(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        flatten(self.document.as_table(), "", &mut found);
        found
    }

    /// Writes the file if the loader accepts it.
    pub fn save(&self) -> Result<()> {
        let text = self.document.to_string();
        config::check(&self.path, &text, self.scope)?;
        replace(&self.path, &text)
    }
}

fn flatten(table: &dyn TableLike, above: &str, found: &mut Vec<(String, String)>) {
    for (name, item) in table.iter() {
        let key = format!("{above}{}", Key::new(name));
        match (item.as_table_like(), item.as_value()) {
            (Some(_), _) if is_secret(name) => found.push((key, "…".to_owned())),
            (Some(inner), _) => flatten(inner, &format!("{key}."), found),
            (None, Some(_)) if is_secret(name) => found.push((key, "…".to_owned())),
            (None, Some(value)) => {
                let shown = value.clone().decorated("", "").to_string();
                found.push((key, SecretRedactor::default().redact(&shown).into_owned()));
            }
            (None, None) => {}
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.contains(&name.as_str()) || name.ends_with("_token") || name.ends_with("_secret")
}

/// Parses a dotted key, such as `limits.max_turns` or `prices."work:big".input`.
pub fn parse_key(text: &str) -> Result<Vec<Key>> {
    Key::parse(text).map_err(|_| {
        let error = Error::new(ErrorCode::InvalidRequest, say!("config-key-invalid", key = text));
        error.hint(say!("config-key-hint"))
    })
}

/// Parses a value as TOML, or takes it as a text.
pub fn parse_value(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| Value::from(text))
}

/// Refuses a value that is a secret: a configuration is copied, shown and committed, a key file is not.
pub fn refuse_secret(key: &[Key], value: &str) -> Result<()> {
    let names_one = key.iter().any(|part| is_secret(part.get()));
    if !names_one && SecretRedactor::default().redact(value) == value {
        return Ok(());
    }
    let name: Vec<&str> = key.iter().map(Key::get).collect();
    Err(Error::new(ErrorCode::InvalidRequest, say!("config-secret", key = name.join(".")))
        .hint(say!("config-secret-hint")))
}

/// Says that a key is unknown or not set, with the one that was probably meant.
pub fn not_set(key: &str) -> Error {
    let error = Error::new(ErrorCode::KeyNotFound, say!("config-not-set", key));
    match nearest(key, SETTINGS.iter().copied()).filter(|name| *name != key) {
        Some(name) => error.hint(say!("usage-did-you-mean", name)),
        None => error.hint(say!("config-list-hint")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(before: &str, key: &str, value: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, before).unwrap();
        let mut edit = ConfigEdit::open(&path, ConfigScope::User).unwrap();
        edit.set(&parse_key(key).unwrap(), parse_value(value)).unwrap();
        edit.save().unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn a_change_keeps_comments_and_order() {
        let before =
            "# mine\n[limits] # few\nmax_turns = 5 # enough\n\n# fast ones\n[aliases]\nfast = \"a:b\"\n";
        assert_eq!(edited(before, "limits.max_turns", "9"), before.replace("= 5", "= 9"));
        let with_model = edited(before, "model", "openai:gpt-5");
        assert!(with_model.contains("model = \"openai:gpt-5\"\n"), "{with_model}");
        assert!(with_model.contains("max_turns = 5 # enough"), "{with_model}");
        let nested = edited("", "providers.work.wire", "openai");
        assert_eq!(nested, "[providers.work]\nwire = \"openai\"\n");
        let inline = "providers = { anthropic = { max_in_flight = 2 } }\n";
        let inline = edited(inline, "providers.anthropic.api_key_file", "/k");
        assert_eq!(inline, "providers = { anthropic = { max_in_flight = 2 , api_key_file = \"/k\" } }\n");
    }

    #[test]
    fn what_cannot_be_loaded_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        for (key, value) in [("limits.max_turns", "0"), ("limits.max_trns", "5"), ("modle", "a:b")] {
            let mut edit = ConfigEdit::open(&path, ConfigScope::User).unwrap();
            edit.set(&parse_key(key).unwrap(), parse_value(value)).unwrap();
            assert_eq!(edit.save().unwrap_err().code(), ErrorCode::ConfigInvalid, "{key}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn every_named_setting_is_known_to_the_loader() {
        for key in SETTINGS {
            let mut edit = ConfigEdit::open(Path::new("none.toml"), ConfigScope::User).unwrap();
            // A date is no value of any setting, so an error names the value, unless the key itself is unknown.
            edit.set(&parse_key(key).unwrap(), parse_value("2026-01-01")).unwrap();
            let e = config::check(Path::new("x"), &edit.document.to_string(), ConfigScope::User).unwrap_err();
            assert!(!e.message().contains("unknown field"), "{key}: {e}");
        }
    }
}
