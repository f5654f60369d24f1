//! Converts a call's result to bounded text for a model, and names the content that it leaves out.

use posse_core::text::{head_and_tail, visible};
use posse_runtime::ports::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::connection::AskedParty;

/// Renders the result in at most `bytes_max` bytes.
pub(super) fn output(result: &CallToolResult, asked: AskedParty, bytes_max: usize) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(part).collect();
    if parts.is_empty()
        && let Some(value) = &result.structured_content
    {
        parts.push(value.to_string());
    }
    if parts.is_empty() {
        parts.push("[the answer is empty]".to_owned());
    }
    // Otherwise the model would assume that a person made the choice.
    if asked == AskedParty::Person {
        parts.insert(
            0,
            "[the server asked a person something before this answer; it was declined, because no \
             server gets a person's answer]"
                .to_owned(),
        );
    }
    let text = parts.join("\n");
    let text = head_and_tail(&visible(&text), bytes_max);
    match result.is_error == Some(true) {
        true => ToolOutput::error(text),
        false => ToolOutput::text(text),
    }
}

fn part(content: &ContentBlock) -> String {
    let left_out =
        |kind: &str, what: &str, bytes: usize| format!("[{kind} {what}, {bytes} bytes: not shown]");
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => left_out("resource", uri, blob.len()),
            _ => left_out("resource", "?", 0),
        },
        ContentBlock::ResourceLink(link) => format!("{} {}", link.name, link.uri),
        // The SDK may add further kinds; it rejects those it does not know.
        _ => left_out("content", "?", 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn shown(result: serde_json::Value, bytes_max: usize) -> ToolOutput {
        output(&serde_json::from_value(result).unwrap(), AskedParty::Nobody, bytes_max)
    }

    #[test]
    fn every_part_is_shown_or_said_to_be_left_out() {
        let content = json!([
            {"type": "text", "text": "one\u{1b}"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "two"}},
            {"type": "resource_link", "uri": "c://d", "name": "link"},
        ]);
        let both = shown(json!({"content": content, "structuredContent": {"a": 1}}), 1_000);
        assert_eq!(both.text, "one\\u{1b}\n[image image/png, 4 bytes: not shown]\na://b\ntwo\nlink c://d");
        assert_eq!(shown(json!({"content": [], "structuredContent": {"a": 1}}), 1_000).text, "{\"a\":1}");
        let failed = shown(json!({"content": [{"type": "text", "text": "no"}], "isError": true}), 1_000);
        assert_eq!((failed.text.as_str(), failed.is_error), ("no", true));
        assert!(!shown(json!({"content": []}), 1_000).text.is_empty());
        let long = shown(json!({"content": [{"type": "text", "text": "x".repeat(5_000)}]}), 1_000);
        assert!(long.text.len() <= 1_000 && long.text.contains("left out"), "{}", long.text);
    }
}
