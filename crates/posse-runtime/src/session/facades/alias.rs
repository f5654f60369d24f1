//! Aliases of launched tasks, `subagent_<ms>_<tag>`. The tag is derived from the task's id, so an alias means the same
//! after a restart; the time is for people only.

use posse_core::id::TaskId;
use sha2::{Digest, Sha256};

const TAG_CHARS: usize = 9;

/// Returns the alias of a launched task.
pub fn alias(task: &TaskId, now_ms: u64) -> String {
    format!("subagent_{now_ms}_{}", tag(task))
}

/// Returns the tag of an alias.
pub fn alias_tag(name: &str) -> Option<&str> {
    let (ms, tag) = name.strip_prefix("subagent_")?.split_once('_')?;
    let digits = !ms.is_empty() && ms.bytes().all(|byte| byte.is_ascii_digit());
    (digits && tag.len() == TAG_CHARS).then_some(tag)
}

/// Returns a short tag derived from the task id.
pub fn tag(task: &TaskId) -> String {
    const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digest = Sha256::digest(task.as_str().as_bytes());
    digest.iter().take(TAG_CHARS).map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()] as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // R414
    #[test]
    fn the_second_name_has_its_form_and_leads_back_to_its_task() {
        let (first, second) = (TaskId::child("s1", 1), TaskId::child("s1", 2));
        let name = alias(&first, 1_700_000_000_000);
        assert!(name.starts_with("subagent_1700000000000_"), "{name}");
        assert_eq!(alias_tag(&name), Some(tag(&first).as_str()));
        assert_ne!(tag(&first), tag(&second));
        for other in ["t_01", "subagent_x_123456789", "subagent_1_short", "subagent_1", ""] {
            assert_eq!(alias_tag(other), None, "{other}");
        }
    }
}
