//! Texts that go with a message: `@path` puts a file behind it, `@agent` asks for that agent, and the output of a shell command
//! follows it. What a person typed can be told from them later.

use posse_core::text::{head_and_tail, visible};
use posse_messages::say;

use super::host::FileExcerpt;

/// Largest part of one file that is put into a message, in bytes; the model reads the rest itself.
const FILE_BYTES_MAX: usize = 32 * 1024;
/// Files of one message.
const FILES_MAX: usize = 8;
/// Names of the elements that stand behind a message.
const ELEMENTS: [&str; 4] = ["file", "agent", "command", "summary"];

/// A message with its attachments, and what is said about them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AttachedMessage {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

/// Puts mentioned files behind the text. A word that names neither a file nor an agent stays a word.
pub(super) fn attach<'a>(
    text: &str,
    agents: impl Fn(&str) -> bool + 'a,
    read: impl Fn(&str) -> Option<FileExcerpt> + 'a,
) -> AttachedMessage {
    let mut message = AttachedMessage { text: text.to_owned(), notes: Vec::new() };
    let mut seen: Vec<&str> = Vec::new();
    for word in mentioned(text) {
        if seen.contains(&word) {
            continue;
        }
        seen.push(word);
        if agents(word) {
            let request = "The person addresses this agent: delegate the message to it.";
            message.text.push_str(&format!("\n\n<agent name=\"{word}\">{request}</agent>"));
            message.notes.push(say!("chat-attached-agent", agent = word));
        } else if seen.len() <= FILES_MAX
            && let Some(file) = read(word)
        {
            message.attach_file(word, &file);
        }
    }
    message
}

impl AttachedMessage {
    fn attach_file(&mut self, path: &str, file: &FileExcerpt) {
        let shown = visible(path).into_owned();
        let kib = file.bytes.div_ceil(1024);
        let Some(content) = &file.text else {
            self.notes.push(say!("chat-attached-path", path = shown, kib));
            return;
        };
        let body = head_and_tail(content, FILE_BYTES_MAX);
        self.text.push_str(&format!("\n\n<file path=\"{path}\">\n{}\n</file>", body.trim_end()));
        let n = content.lines().count();
        self.notes.push(match content.len() > FILE_BYTES_MAX {
            true => say!("chat-attached-part", path = shown, kib = FILE_BYTES_MAX / 1024, all = kib),
            false => say!("chat-attached-file", path = shown, n),
        });
    }
}

/// Returns the part of a message that a person typed.
pub(super) fn typed(message: &str) -> &str {
    let begins = |at: usize| {
        let rest = &message[at + 2..];
        ELEMENTS.iter().any(|name| {
            let rest = rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with([' ', '>']))
        })
    };
    let end = message.match_indices("\n\n").map(|(at, _)| at).find(|at| begins(*at));
    &message[..end.unwrap_or(message.len())]
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
        let read = |path: &str| {
            let text = match path {
                "notes.md" => Some("one\ntwo\n".to_owned()),
                "data.bin" => None,
                _ => return None,
            };
            Some(FileExcerpt { bytes: 8, text })
        };
        attach(text, |name| name == "reviewer", read)
    }

    #[test]
    fn a_mentioned_file_is_put_behind_the_text_once() {
        let message = attached("compare (@notes.md), @notes.md and @data.bin.");
        let expected =
            "compare (@notes.md), @notes.md and @data.bin.\n\n<file path=\"notes.md\">\none\ntwo\n</file>";
        assert_eq!(message.text, expected);
        assert_eq!(
            message.notes,
            [
                "attached notes.md (2 lines)",
                "data.bin is not text or too large (1 KiB): only its path was sent"
            ]
        );
    }

    #[test]
    fn other_words_stay_words() {
        for text in ["mail me@example.org", "@nobody", "@../../etc/passwd", "@"] {
            let expected = AttachedMessage { text: text.to_owned(), notes: Vec::new() };
            assert_eq!(attached(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_typed_is_told_from_what_goes_with_it() {
        let message = attached("@reviewer look at @notes.md\n\n<b>not ours</b>").text;
        assert!(message.contains("<agent name=\"reviewer\">"), "{message}");
        assert_eq!(typed(&message), "@reviewer look at @notes.md\n\n<b>not ours</b>");
        assert_eq!(typed("plain\n\nsecond paragraph"), "plain\n\nsecond paragraph");
    }
}
