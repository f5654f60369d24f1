//! State that all processes with one provider key share: slots, window and pause. In its directory a locked file is a
//! taken slot; a lock ends with its process, however that ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::COOL_DOWN_MAX;
use super::window::WORDS;

/// Age at which shared rate information is ignored.
const LEARNED_MAX: Duration = Duration::from_secs(600);

/// Stored words: window, end of the pause, time of the last change, and a checksum.
const SHAPE_WORDS: usize = WORDS + 3;
const SHAPE_BYTES: usize = SHAPE_WORDS * 8;

/// Retries: a read during a write has a wrong checksum.
const READINGS_MAX: usize = 8;

pub(super) struct SharedWindow {
    directory: PathBuf,
    /// Locked while it is changed; read without a lock.
    shape: File,
    places: Vec<SharedSlot>,
}

struct SharedSlot {
    file: File,
    is_ours: bool,
}

/// The window, and the rest of the pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowShape {
    pub window: [u64; WORDS],
    pub pause: Duration,
}

impl SharedWindow {
    /// Opens the shared window of a provider key.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let shape = open(&directory.join("window"))?;
        Ok(Self { directory: directory.to_owned(), shape, places: Vec::new() })
    }

    /// Takes one of the first `limit` slots, if one is free.
    pub fn claim_slot(&mut self, limit: usize) -> Option<usize> {
        (0..limit).find(|number| {
            self.slot(*number).is_some_and(|place| {
                let free = !place.is_ours && place.file.try_lock().is_ok();
                place.is_ours |= free;
                free
            })
        })
    }

    /// Releases a slot.
    pub fn release_slot(&mut self, number: usize) {
        if let Some(place) = self.places.get_mut(number) {
            place.is_ours = false;
            // A slot that cannot be unlocked is free when this process ends.
            let _ = place.file.unlock();
        }
    }

    /// Counts the taken slots among the first `limit`, across processes.
    pub fn count_taken(&mut self, limit: usize) -> usize {
        (0..limit)
            .filter(|number| {
                self.slot(*number).is_some_and(|place| {
                    if place.is_ours {
                        return true;
                    }
                    let free = place.file.try_lock().is_ok();
                    if free {
                        let _ = place.file.unlock();
                    }
                    !free
                })
            })
            .count()
    }

    fn slot(&mut self, number: usize) -> Option<&mut SharedSlot> {
        while self.places.len() <= number {
            let file = open(&self.directory.join(format!("place-{}", self.places.len()))).ok()?;
            self.places.push(SharedSlot { file, is_ours: false });
        }
        self.places.get_mut(number)
    }

    /// Returns recent shared information.
    pub fn read(&self) -> Option<WindowShape> {
        let mut bytes = [0; SHAPE_BYTES];
        for _ in 0..READINGS_MAX {
            // Too short: not written yet.
            self.shape.read_exact_at(&mut bytes, 0).ok()?;
            if let Some(words) = checked(&bytes) {
                return shape(words, now_ms());
            }
        }
        None
    }

    /// Changes the shared state. `change` gets the current one.
    pub fn change(&mut self, change: impl FnOnce(Option<WindowShape>) -> WindowShape) -> io::Result<()> {
        self.shape.lock()?;
        let WindowShape { window, pause } = change(self.read());
        let now = now_ms();
        let mut words = [0; SHAPE_WORDS];
        words[..WORDS].copy_from_slice(&window);
        words[WORDS] = now + millis(pause);
        words[WORDS + 1] = now;
        words[WORDS + 2] = sum(&words[..WORDS + 2]);
        let mut bytes = [0; SHAPE_BYTES];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        let written = self.shape.write_all_at(&bytes, 0);
        self.shape.unlock()?;
        written
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn checked(bytes: &[u8; SHAPE_BYTES]) -> Option<[u64; SHAPE_WORDS]> {
    let mut words = [0; SHAPE_WORDS];
    for (word, slot) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(slot.try_into().ok()?);
    }
    (words[SHAPE_WORDS - 1] == sum(&words[..SHAPE_WORDS - 1])).then_some(words)
}

fn shape(words: [u64; SHAPE_WORDS], now: u64) -> Option<WindowShape> {
    let (opens, changed) = (words[WORDS], words[WORDS + 1]);
    // After the clock was set back, the state is meaningless.
    if changed > now + 1000 {
        return None;
    }
    let pause = Duration::from_millis(opens.saturating_sub(now)).min(COOL_DOWN_MAX);
    if pause.is_zero() && now - changed.min(now) > millis(LEARNED_MAX) {
        return None;
    }
    let mut window = [0; WORDS];
    window.copy_from_slice(&words[..WORDS]);
    Some(WindowShape { window, pause })
}

/// Computes the checksum; never zero, so that a file of zeros is not valid.
fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |sum, word| {
        (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
    })
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}
