//! Keeps what a server says about its tools as it came over the wire. What the SDK makes of it lacks the fields that it does not
//! know, and a change of those must be noticed too.

use std::sync::Mutex;

use serde_json::Value;

/// Listens while somebody asks for the list of tools.
#[derive(Debug, Default)]
pub(super) struct Tap(Mutex<Option<Vec<Value>>>);

impl Tap {
    pub fn open(&self) {
        *self.kept() = Some(Vec::new());
    }

    /// What was said since it was opened.
    pub fn close(&self) -> Vec<Value> {
        self.kept().take().unwrap_or_default()
    }

    /// One message of the server, as it is.
    pub fn observe(&self, message: &[u8]) {
        let mut kept = self.kept();
        let Some(kept) = kept.as_mut() else { return };
        let Ok(mut message) = serde_json::from_slice::<Value>(message) else { return };
        if let Some(Value::Array(tools)) = message.pointer_mut("/result/tools").map(Value::take) {
            kept.extend(tools);
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Vec<Value>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
