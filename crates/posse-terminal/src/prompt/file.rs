//! The file of earlier messages: one entry per line, readable by its owner only, shared by all conversations.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{HISTORY_ENTRIES_MAX, PromptHistory, decode_history, encode_entry};

/// A file beyond this size is cut to the newest entries.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// The history file of a state directory.
#[derive(Debug, Clone)]
pub struct HistoryFile(PathBuf);

impl HistoryFile {
    /// Returns the history file of a state directory.
    pub fn in_state(state: &Path) -> Self {
        Self(state.join("history"))
    }

    /// Reads the entries; a file that cannot be read is empty.
    pub fn load(&self) -> PromptHistory {
        let text = self.open().and_then(|mut file| read(&mut file)).unwrap_or_default();
        PromptHistory::new(decode_history(&text))
    }

    /// Appends an entry, in one write under a lock: several conversations write the same file.
    pub fn append(&self, entry: &str) -> io::Result<()> {
        let mut file = self.open()?;
        file.lock()?;
        let length = file.seek(SeekFrom::End(0))?;
        if length > FILE_BYTES_MAX {
            return shrink(&mut file, entry);
        }
        // A line without its end was cut off by a crash; the entry gets a line of its own.
        let gap = if length > 0 && !ends_with_line(&mut file)? { "\n" } else { "" };
        file.write_all(format!("{gap}{}", encode_entry(entry)).as_bytes())
    }

    fn open(&self) -> io::Result<File> {
        if let Some(directory) = self.0.parent() {
            std::fs::create_dir_all(directory)?;
        }
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.0)
    }
}

fn read(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let start = file.seek(SeekFrom::End(0))?.saturating_sub(2 * FILE_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    file.take(2 * FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ends_with_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Keeps the newest half of the entries and the new one.
fn shrink(file: &mut File, entry: &str) -> io::Result<()> {
    let entries = decode_history(&read(file)?);
    let kept = entries.len().saturating_sub(HISTORY_ENTRIES_MAX / 2);
    let lines: String = entries[kept..].iter().map(String::as_str).chain([entry]).map(encode_entry).collect();
    file.set_len(0)?;
    file.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn entries(file: &HistoryFile) -> Vec<String> {
        decode_history(&std::fs::read_to_string(&file.0).unwrap())
    }

    #[test]
    fn entries_of_several_writers_are_all_there_and_only_the_owner_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = HistoryFile::in_state(&directory.path().join("state"));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = file.clone();
                scope.spawn(move || {
                    (0..25).for_each(|n| file.append(&format!("{writer}\n{n}")).unwrap());
                });
            }
        });
        assert_eq!(entries(&file).len(), 100);
        assert_eq!(file.load().len(), 100);
        let mode = std::fs::metadata(&file.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_torn_line_does_not_swallow_the_next_entry() {
        let directory = tempfile::tempdir().unwrap();
        let file = HistoryFile::in_state(directory.path());
        std::fs::write(directory.path().join("history"), "one\ntor").unwrap();
        file.append("two").unwrap();
        assert_eq!(entries(&file), ["one", "tor", "two"]);
    }

    #[test]
    fn a_file_that_is_too_large_keeps_its_newest_entries() {
        let directory = tempfile::tempdir().unwrap();
        let file = HistoryFile::in_state(directory.path());
        let line = |n: usize| format!("{n} {}\n", "x".repeat(3_000));
        let text: String = (0..900).map(line).collect();
        std::fs::write(directory.path().join("history"), text).unwrap();
        file.append("newest").unwrap();
        let kept = entries(&file);
        assert_eq!((kept.len(), kept.last().map(String::as_str)), (501, Some("newest")));
        assert!(kept[0].starts_with("400 "), "{}", &kept[0][..20]);
    }
}
