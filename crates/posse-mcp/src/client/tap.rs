//! Records tool definitions as they arrive on the wire. The SDK drops fields that it does not know, and a
//! change of those must be noticed too.

use std::sync::Mutex;

use serde_json::Value;

/// A recorder that is active while the tool list is read.
#[derive(Debug, Default)]
pub(super) struct ListTap(Mutex<Option<Vec<Value>>>);

impl ListTap {
    /// Starts recording.
    pub fn open(&self) {
        *self.kept() = Some(Vec::new());
    }

    /// Stops recording and returns the definitions.
    pub fn close(&self) -> Vec<Value> {
        self.kept().take().unwrap_or_default()
    }

    /// Records the tools in one message of the server.
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
