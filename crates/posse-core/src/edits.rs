//! Changed files: what a call did to them, and what they were before, so that a change can be shown and taken back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::CallKey;

/// Larger files have no before-image: a journal is no place for data.
pub const IMAGE_BYTES_MAX: usize = 1 << 20;

/// All before-images of a task together; later changes have none.
pub const TASK_IMAGE_BYTES_MAX: u64 = 16 << 20;

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredChange")]
pub struct FileChange {
    /// Relative to the task's workspace.
    pub path: String,
    pub kind: ChangeKind,
    /// `None` where nobody counted: a file that is no text, or one that a command changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ChangeKind {
        Created = "created",
        Modified = "modified",
        Deleted = "deleted",
    }
}

/// Lines of a unified diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    pub added: u64,
    pub removed: u64,
}

/// Journals of earlier versions have the path alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredChange {
    Path(String),
    Whole {
        path: String,
        kind: ChangeKind,
        #[serde(default)]
        lines: Option<LineCounts>,
    },
}

impl From<StoredChange> for FileChange {
    fn from(stored: StoredChange) -> Self {
        match stored {
            StoredChange::Path(path) => Self::named(path),
            StoredChange::Whole { path, kind, lines } => Self { path, kind, lines },
        }
    }
}

impl FileChange {
    /// A change of which only the path is known.
    pub fn named(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: ChangeKind::Modified, lines: None }
    }

    pub fn to_json(&self) -> Value {
        let Self { path, kind, lines } = self;
        let (added, removed) = (lines.map(|lines| lines.added), lines.map(|lines| lines.removed));
        json!({ "path": path, "change": kind.wire(), "added": added, "removed": removed })
    }
}

/// A file as it was right before a call replaced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileImage {
    /// The call that is about to replace it. Whether it did is said by its result.
    pub key: CallKey,
    pub change: FileChange,
    pub before: ImageContent,
    /// SHA-256 of the new content in hexadecimal digits: a file that has another one was changed by somebody else since.
    pub after_sha256: String,
    /// Orders the changes of several tasks.
    pub saved_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageContent {
    /// There was no such file.
    Absent,
    Text(String),
    /// Content that is not UTF-8.
    Base64(String),
    Withheld(WithheldReason),
}

wire_enum! {
    /// Why there is no before-image of a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WithheldReason {
        /// Larger than `IMAGE_BYTES_MAX`.
        TooLarge = "too_large",
        /// The images of the task have reached `TASK_IMAGE_BYTES_MAX`.
        TaskLimit = "task_limit",
        /// Its name is in the table of protected files.
        Protected = "protected",
        /// It holds a key or a password.
        Secret = "secret",
        /// The journaled content cannot be decoded.
        Damaged = "damaged",
    }
}

impl ImageContent {
    /// Keeps content that is within the bound for one file.
    pub fn from_bytes(content: &[u8]) -> Self {
        match std::str::from_utf8(content) {
            _ if content.len() > IMAGE_BYTES_MAX => Self::Withheld(WithheldReason::TooLarge),
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(content)),
        }
    }

    /// The kept bytes, none for a file that was not there; the error is why they are not kept.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, WithheldReason> {
        match self {
            ImageContent::Absent => Ok(None),
            ImageContent::Text(text) => Ok(Some(text.clone().into_bytes())),
            ImageContent::Base64(text) => {
                STANDARD.decode(text).map(Some).map_err(|_| WithheldReason::Damaged)
            }
            ImageContent::Withheld(why) => Err(*why),
        }
    }

    /// Bytes that it takes in the journal.
    pub fn size(&self) -> u64 {
        match self {
            ImageContent::Text(text) | ImageContent::Base64(text) => text.len() as u64,
            ImageContent::Absent | ImageContent::Withheld(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_an_earlier_journal_is_a_change_without_counts() {
        let read: Vec<FileChange> = serde_json::from_str(r#"["a.rs"]"#).unwrap();
        assert_eq!(read, [FileChange::named("a.rs")]);
        let lines = Some(LineCounts { added: 2, removed: 1 });
        let change = FileChange { path: "b".into(), kind: ChangeKind::Created, lines };
        let again: FileChange = serde_json::from_str(&serde_json::to_string(&change).unwrap()).unwrap();
        assert_eq!(again, change);
    }

    #[test]
    fn an_image_keeps_every_byte_up_to_its_bound() {
        for content in [b"plain\n".to_vec(), vec![0xff, 0x00, 0x80], Vec::new()] {
            let image = ImageContent::from_bytes(&content);
            let stored: ImageContent = serde_json::from_str(&serde_json::to_string(&image).unwrap()).unwrap();
            assert_eq!(stored.bytes(), Ok(Some(content)));
        }
        let largest = vec![b'x'; IMAGE_BYTES_MAX];
        assert_eq!(ImageContent::from_bytes(&largest).size(), IMAGE_BYTES_MAX as u64);
        let larger = vec![b'x'; IMAGE_BYTES_MAX + 1];
        assert_eq!(ImageContent::from_bytes(&larger).bytes(), Err(WithheldReason::TooLarge));
        assert_eq!(ImageContent::Absent.bytes(), Ok(None));
    }
}
