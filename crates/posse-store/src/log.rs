//! Room in the log before it is needed. A commit that makes the file longer also has to write the file's length, which
//! costs as much as its data; a commit into room that is already there does not.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The log doubles up to this much at once, so that a short run does not write much for nothing.
const STEP_BYTES_MAX: u64 = 1 << 20;

/// Zeros that are kept in memory for it.
const CHUNK_BYTES: u64 = 1 << 16;

/// Enough of the end to tell a written page from room: pages are filled from their end.
const TAIL_BYTES: u64 = 64;

/// The `-wal` file of a store.
pub(crate) struct Log {
    path: PathBuf,
    seen: Option<Seen>,
}

struct Seen {
    file: File,
    bytes: u64,
}

impl Log {
    pub fn of(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), seen: None }
    }

    /// Adds zeros at the end if a commit had to make the file longer. The caller holds the write lock and has written
    /// nothing under it, so nobody appends meanwhile. To SQLite zeros are what an unfinished write is, a frame without a
    /// valid checksum, before which the log ends.
    pub fn make_room(&mut self) {
        // Failing is harmless: commits are slower then, and what is wrong with the file SQLite will find out.
        let _ = self.try_to_make_room();
    }

    fn try_to_make_room(&mut self) -> io::Result<()> {
        let Some(Seen { file, bytes }) = &mut self.seen else {
            // It exists since the first transaction, and is the same one for as long as the store is open.
            let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
            let bytes = length_of(&file)?;
            self.seen = Some(Seen { file, bytes });
            return Ok(());
        };
        let length = length_of(file)?;
        if length > *bytes {
            *bytes = length;
            if !ends_with_room(file, length)? {
                *bytes += add_zeros(file, length, length.min(STEP_BYTES_MAX))?;
            }
        }
        Ok(())
    }
}

/// By `lseek` and not by `stat`: once a file's times were looked at, the kernel has to write down a finer time for the next
/// write, and on a file system without a journal every sync then writes the inode as well.
fn length_of(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// Returns how many bytes were added: fewer on a full disk.
fn add_zeros(file: &File, at: u64, wanted: u64) -> io::Result<u64> {
    let zeros = vec![0; wanted.min(CHUNK_BYTES) as usize];
    let mut added = 0;
    while added < wanted {
        let rest = (wanted - added).min(CHUNK_BYTES) as usize;
        let written = file.write_at(&zeros[..rest], at + added)?;
        added += written as u64;
        if written < rest {
            break;
        }
    }
    Ok(added)
}

/// Another process may have made it.
fn ends_with_room(file: &File, length: u64) -> io::Result<bool> {
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact_at(&mut tail, length.saturating_sub(TAIL_BYTES))?;
    Ok(tail == [0; TAIL_BYTES as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(log: &Log) -> u64 {
        std::fs::metadata(&log.path).unwrap().len()
    }

    /// As SQLite does at the end of the file.
    fn append(log: &Log, bytes: usize) {
        let file = OpenOptions::new().write(true).open(&log.path).unwrap();
        file.write_all_at(&vec![7; bytes], length(log)).unwrap();
    }

    #[test]
    fn room_doubles_the_log_and_is_made_once_by_whoever_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("posse.db");
        let (mut one, mut other) = (Log::of(&store), Log::of(&store));
        std::fs::write(&one.path, [7; 100]).unwrap();
        one.make_room();
        other.make_room();
        assert_eq!(length(&one), 100, "a log that did not grow gets no room");
        append(&one, 100);
        one.make_room();
        assert_eq!(length(&one), 400);
        for _ in 0..3 {
            other.make_room();
            one.make_room();
        }
        assert_eq!(length(&one), 400, "room is not made for room");
        append(&one, 4 << 20);
        let before = length(&one);
        other.make_room();
        assert_eq!(length(&one), before + STEP_BYTES_MAX);
        let bytes = std::fs::read(&one.path).unwrap();
        assert!(bytes[..200].iter().all(|byte| *byte == 7), "nothing that was there is changed");
    }
}
