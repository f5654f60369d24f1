//! The transcript of a conversation as Markdown.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use posse_core::context::wire::utc;
use posse_core::event::summary;
use posse_core::id::CallKey;
use posse_core::journal::{Record, reply_text};
use posse_core::message::{Block, ToolCall};
use posse_core::reply::Reply;
use posse_core::text::{prefix, visible};
use posse_messages::say;
use posse_runtime::ports::TaskRow;

use super::attach::typed;
use super::compact::REQUEST;

/// Longest description of a call, in bytes.
const CALL_BYTES_MAX: usize = 200;

/// Formats a conversation: what the person wrote, what was answered, and a line for each tool call.
pub(super) fn markdown(row: &TaskRow, records: &[Record]) -> String {
    let mut transcript = Transcript { failed: failures(records), ..Transcript::default() };
    for record in records {
        transcript.add(record);
    }
    let title = transcript.title.clone();
    let (id, agent, began) = (row.id.as_str(), &row.agent, utc(row.created_ms));
    let models = transcript.models.join(", ");
    let head = say!("chat-export-head", id, agent, models, began, n = row.turns());
    format!("# {title}\n\n{head}\n{}", transcript.text)
}

/// Creates a file that only its owner can read; fails if it exists.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[derive(Default)]
struct Transcript {
    title: String,
    text: String,
    models: Vec<String>,
    /// Calls that failed, and why.
    failed: BTreeMap<CallKey, String>,
    /// The last paragraph is a list of calls.
    is_listing: bool,
}

impl Transcript {
    fn add(&mut self, record: &Record) {
        match record {
            Record::Started(start) => {
                self.title = visible(prefix(first_line(typed(&start.task)), CALL_BYTES_MAX)).into_owned();
                self.model(&start.agent.model);
                self.person(&start.task);
            }
            Record::Said { text, .. } if text == REQUEST => self.paragraph(&say!("chat-export-summary")),
            Record::Said { text, .. } | Record::Steered { text, .. } => self.person(text),
            Record::ModelChosen { choice, .. } => self.model(&choice.model),
            Record::Replied { reply, .. } => self.reply(reply),
            Record::Unanswered { said, .. } => self.paragraph(said),
            _ => {}
        }
    }

    fn model(&mut self, model: &str) {
        if !self.models.iter().any(|known| known == model) {
            self.models.push(model.to_owned());
        }
    }

    fn person(&mut self, text: &str) {
        let quoted: String = typed(text).lines().map(|line| format!("> {line}\n")).collect();
        self.paragraph(&quoted.replace("> \n", ">\n"));
    }

    fn reply(&mut self, reply: &Reply) {
        self.paragraph(&reply_text(reply));
        for call in reply.blocks.iter().filter_map(Block::as_call) {
            let gap = if self.is_listing { "" } else { "\n" };
            let failed = self.failed.get(&call.key).map(|why| say!("chat-export-failed", why));
            self.text.push_str(&format!("{gap}- `{}`{}\n", call_text(call), failed.unwrap_or_default()));
            self.is_listing = true;
        }
    }

    fn paragraph(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text.push_str(&format!("\n{}\n", text.trim_end()));
            self.is_listing = false;
        }
    }
}

/// Returns the calls that failed, with the first line of their results.
fn failures(records: &[Record]) -> BTreeMap<CallKey, String> {
    let failed = records.iter().filter_map(|record| match record {
        Record::Done { result, .. } if result.is_error => {
            Some((result.key, visible(prefix(first_line(&result.text), CALL_BYTES_MAX)).into_owned()))
        }
        _ => None,
    });
    failed.collect()
}

fn call_text(call: &ToolCall) -> String {
    let text = format!("{} {}", call.name, summary(call)).replace('`', "'");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(prefix(&line, CALL_BYTES_MAX)).into_owned()
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
