//! Mentions in a message: `@path` puts a file into it, `@agent` asks for that agent.

use std::path::Path;

use posse_core::text::{head_and_tail, visible};
use posse_messages::say;
use posse_sandbox::workspace::Workspace;

/// Largest part of one file that is put into a message, in bytes; the model reads the rest itself.
const FILE_BYTES_MAX: usize = 32 * 1024;
/// Largest file that is opened for it, in bytes.
const READ_BYTES_MAX: u64 = 4 << 20;
/// Files of one message.
const FILES_MAX: usize = 8;

/// A message with its attachments, and what is said about them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AttachedMessage {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

/// Puts mentioned files behind the text. A word that names neither a file nor an agent stays a word.
pub(super) fn attach(text: &str, workspace: &Workspace, agents: &[String]) -> AttachedMessage {
    let mut message = AttachedMessage { text: text.to_owned(), notes: Vec::new() };
    let mut seen: Vec<&str> = Vec::new();
    for word in mentioned(text) {
        if seen.contains(&word) {
            continue;
        }
        seen.push(word);
        if agents.iter().any(|agent| agent == word) {
            let request = "The person addresses this agent: delegate the message to it.";
            message.text.push_str(&format!("\n\n<agent name=\"{word}\">{request}</agent>"));
            message.notes.push(say!("chat-attached-agent", agent = word));
        } else if seen.len() <= FILES_MAX {
            attach_file(&mut message, word, workspace);
        }
    }
    message
}

fn attach_file(message: &mut AttachedMessage, path: &str, workspace: &Workspace) {
    let Ok(mut file) = workspace.open_file(Path::new(path)) else { return };
    let shown = visible(path).into_owned();
    let kib = file.size().div_ceil(1024);
    let content = file.whole(READ_BYTES_MAX).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(content) = content else {
        message.notes.push(say!("chat-attached-path", path = shown, kib));
        return;
    };
    let body = head_and_tail(&content, FILE_BYTES_MAX);
    message.text.push_str(&format!("\n\n<file path=\"{path}\">\n{}\n</file>", body.trim_end()));
    let n = content.lines().count();
    message.notes.push(match content.len() > FILE_BYTES_MAX {
        true => say!("chat-attached-part", path = shown, kib = FILE_BYTES_MAX / 1024, all = kib),
        false => say!("chat-attached-file", path = shown, n),
    });
}

/// Returns the words that begin with `@`, without it and without punctuation at their end.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(|word| {
        let word = word.trim_start_matches(['(', '"', '\'', '`']).strip_prefix('@')?;
        let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '`']);
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(text: &str) -> AttachedMessage {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.txt"), "alpha\nbeta\n").unwrap();
        std::fs::write(directory.path().join("big.txt"), "x".repeat(100_000)).unwrap();
        std::fs::write(directory.path().join("data.bin"), [0xff, 0xfe]).unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        attach(text, &workspace, &["reviewer".to_owned()])
    }

    #[test]
    fn a_mentioned_file_is_part_of_the_message() {
        let message = attached("explain @a.txt, and (@a.txt) again");
        assert_eq!(
            message.text,
            "explain @a.txt, and (@a.txt) again\n\n<file path=\"a.txt\">\nalpha\nbeta\n</file>"
        );
        assert_eq!(message.notes, ["attached a.txt (2 lines)"]);
    }

    #[test]
    fn a_large_file_is_shortened_and_a_binary_one_is_only_named() {
        let message = attached("@big.txt @data.bin");
        assert!(message.text.len() < 34_000, "{}", message.text.len());
        assert_eq!(
            message.notes,
            [
                "attached 32 KiB of big.txt (98 KiB)",
                "data.bin is not text or too large (1 KiB): only its path was sent"
            ]
        );
    }

    #[test]
    fn other_words_stay_words_and_nothing_outside_is_read() {
        for text in ["mail me@example.org", "@nobody", "@../../etc/passwd", "@/etc/passwd", "@"] {
            assert_eq!(
                attached(text),
                AttachedMessage { text: text.to_owned(), notes: Vec::new() },
                "{text}"
            );
        }
    }

    #[test]
    fn a_mentioned_agent_is_asked_for() {
        let message = attached("@reviewer look at this");
        assert!(message.text.contains("<agent name=\"reviewer\">"), "{}", message.text);
        assert_eq!(message.notes, ["asks the agent reviewer"]);
    }
}
