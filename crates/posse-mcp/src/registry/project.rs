//! The project's own file of MCP servers.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use rustix::fs::OFlags;
use serde_json::{Map, Value};

use crate::client::sha256_hex;
use crate::hosts::is_posse;

/// File in which a project names its MCP servers, as other tools call it.
pub const PROJECT_FILE: &str = ".mcp.json";
const FILE_BYTES_MAX: u64 = 1 << 20;
/// A link, or a pipe that nobody writes to, is not followed.
const OPEN_FLAGS: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits() as i32;

/// The file in which a project names its MCP servers.
pub struct ProjectFile {
    pub path: PathBuf,
    /// Directory of the project.
    pub root: PathBuf,
    text: String,
}

impl ProjectFile {
    /// Finds the file, if there is one. A file of another user, or a link, is an error.
    pub fn find(root: &Path) -> Option<Result<Self>> {
        let path = root.join(PROJECT_FILE);
        std::fs::symlink_metadata(&path).ok()?;
        let read = Self::read(path, root.to_owned());
        // A file that `posse mcp install` wrote is for hosts.
        let is_ours =
            |file: &Self| file.named().is_ok_and(|all| !all.is_empty() && all.values().all(is_posse));
        (!read.as_ref().is_ok_and(is_ours)).then_some(read)
    }

    fn read(path: PathBuf, root: PathBuf) -> Result<Self> {
        let unusable = |why: LocalizedText| {
            Error::new(ErrorCode::ConfigUnreadable, why.map(|text| format!("{}: {text}", path.display())))
        };
        let opened = OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(&path);
        let file = opened.map_err(|e| unusable(e.to_string().into()))?;
        let about = file.metadata().map_err(|e| unusable(e.to_string().into()))?;
        if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(unusable(localized!("mcp-file-not-ours")));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(|e| unusable(e.to_string().into()))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(unusable(localized!("file-too-large", path = path.display())));
        }
        Ok(Self { path, root, text })
    }

    /// Returns the hash of the content, which trust is bound to.
    pub fn hash(&self) -> String {
        sha256_hex(self.text.as_bytes())
    }

    /// Returns the servers for agents by name, without Posse itself.
    pub fn servers(&self) -> Result<Map<String, Value>> {
        let mut servers = self.named()?;
        servers.retain(|_, server| !is_posse(server));
        Ok(servers)
    }

    /// Parses all servers by name.
    fn named(&self) -> Result<Map<String, Value>> {
        let wrong = |why: LocalizedText| {
            Error::new(ErrorCode::ConfigInvalid, why.map(|text| format!("{}: {text}", self.path.display())))
        };
        let whole: Value = serde_json::from_str(&self.text).map_err(|e| wrong(e.to_string().into()))?;
        match whole.get("mcpServers").or(whole.get("servers")) {
            Some(Value::Object(servers)) => Ok(servers.clone()),
            _ => Err(wrong(localized!("mcp-file-without-servers"))),
        }
    }
}
