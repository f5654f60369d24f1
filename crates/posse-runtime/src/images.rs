//! Before-images of a task: which files are kept, within which bounds.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_core::edits::{FileChange, FileImage, ImageContent, TASK_IMAGE_BYTES_MAX, WithheldReason};
use posse_core::id::CallKey;
use posse_core::redact::SecretRedactor;
use posse_core::run::ReplayedRun;

/// Before-images of the files a task changed.
#[derive(Default)]
pub(crate) struct ImageLedger(Mutex<LedgerState>);

#[derive(Default)]
struct LedgerState {
    bytes: u64,
    /// Changes of unfinished calls; a call that is repeated after a crash finds its own.
    announced: Vec<(CallKey, FileChange)>,
}

impl ImageLedger {
    /// Restores the ledger of a replayed run.
    pub fn from_run(replayed: &ReplayedRun) -> Self {
        let ReplayedRun { image_bytes, unfinished, .. } = replayed;
        Self(Mutex::new(LedgerState { bytes: *image_bytes, announced: unfinished.clone() }))
    }

    /// Returns the image to journal, without content that is secret or beyond the task's bound; `None` if the call
    /// announced this change before.
    pub fn admit(&self, mut image: FileImage, redactor: &SecretRedactor) -> Option<FileImage> {
        if let ImageContent::Text(text) = &image.before
            && let Cow::Owned(_) = redactor.redact(text)
        {
            image.before = ImageContent::Withheld(WithheldReason::Secret);
        }
        let mut kept = self.lock();
        if kept.has(image.key, &image.change.path) {
            return None;
        }
        let bytes = kept.bytes.saturating_add(image.before.size());
        match bytes > TASK_IMAGE_BYTES_MAX {
            true => image.before = ImageContent::Withheld(WithheldReason::TaskLimit),
            false => kept.bytes = bytes,
        }
        // One call of a task writes at a time, so changes of other calls are done.
        kept.announced.retain(|(key, _)| *key == image.key);
        kept.announced.push((image.key, image.change.clone()));
        Some(image)
    }

    pub fn announced(&self, key: CallKey, path: &str) -> Option<FileChange> {
        let kept = self.lock();
        let found = kept.announced.iter().find(|(of, change)| *of == key && change.path == path);
        found.map(|(_, change)| change.clone())
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    fn has(&self, key: CallKey, path: &str) -> bool {
        self.announced.iter().any(|(of, change)| *of == key && change.path == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::edits::{ChangeKind, IMAGE_BYTES_MAX};

    fn image(turn: u32, before: ImageContent) -> FileImage {
        let change = FileChange { path: "a".into(), kind: ChangeKind::Modified, lines: None };
        let key = CallKey { turn, index: 0 };
        FileImage { key, change, before, after_sha256: String::new(), saved_ms: 0 }
    }

    #[test]
    fn a_task_keeps_so_many_bytes_of_images_and_says_so_of_the_rest() {
        let ledger = ImageLedger::default();
        let redactor = SecretRedactor::default();
        let full = ImageContent::from_bytes(&vec![b'x'; IMAGE_BYTES_MAX]);
        let admitted = |turn, before| ledger.admit(image(turn, before), &redactor).unwrap().before;
        let most = u32::try_from(TASK_IMAGE_BYTES_MAX / IMAGE_BYTES_MAX as u64).unwrap();
        for turn in 0..most {
            assert_eq!(admitted(turn, full.clone()), full, "{turn}");
        }
        let withheld = ImageContent::Withheld(WithheldReason::TaskLimit);
        assert_eq!(admitted(most, ImageContent::from_bytes(b"x")), withheld);
        assert_eq!(admitted(most + 1, ImageContent::Absent), ImageContent::Absent);
    }

    #[test]
    fn content_with_a_key_in_it_is_not_kept() {
        let ledger = ImageLedger::default();
        let text = format!("token = \"{}\"\n", ["ghp", &"a1B2".repeat(9)].join("_"));
        let admitted = ledger.admit(image(1, ImageContent::Text(text)), &SecretRedactor::default()).unwrap();
        assert_eq!(admitted.before, ImageContent::Withheld(WithheldReason::Secret));
    }

    #[test]
    fn a_call_that_is_made_again_announces_its_change_once() {
        let ledger = ImageLedger::default();
        let redactor = SecretRedactor::default();
        assert!(ledger.admit(image(1, ImageContent::Absent), &redactor).is_some());
        assert!(ledger.admit(image(1, ImageContent::from_bytes(b"other")), &redactor).is_none());
        assert!(ledger.announced(CallKey { turn: 1, index: 0 }, "a").is_some());
        assert!(ledger.announced(CallKey { turn: 2, index: 0 }, "a").is_none());
    }
}
