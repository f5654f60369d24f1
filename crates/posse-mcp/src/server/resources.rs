//! Resources that a host reads without a tool call: agents, tasks, and each task's result and transcript.

use posse_core::id::TaskId;
use posse_core::text::head_and_tail;
use posse_core::{ErrorCode, Result};
use posse_runtime::delegation::{ResultRequest, TaskReport, ToolReply, tasks_json};
use posse_runtime::ports::BoxFuture;
use posse_runtime::session::HostSession;
use rmcp::model::{ErrorData, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

/// Address of the agent list.
pub const AGENTS: &str = "posse://agents";
/// Address of the task list.
pub const TASKS: &str = "posse://tasks";
/// Maximum tasks listed, newest first; all others remain readable by address.
const LISTED_MAX: usize = 50;
/// Maximum bytes of a transcript; `posse tasks export` has the rest.
const TRANSCRIPT_BYTES_MAX: usize = 1 << 20;

/// A source of task transcripts, one JSON object per line.
pub trait TranscriptSource: Send + Sync {
    fn transcript<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<String>>;
}

/// A readable part of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptPart {
    Result,
    Transcript,
}

impl TranscriptPart {
    fn name(self) -> &'static str {
        match self {
            TranscriptPart::Result => "result",
            TranscriptPart::Transcript => "transcript",
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            TranscriptPart::Result => "text/plain",
            TranscriptPart::Transcript => "application/jsonl",
        }
    }
}

/// A parsed resource address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceAddress {
    Agents,
    Tasks,
    Of(String, TranscriptPart),
}

impl ResourceAddress {
    /// Parses an address; `None` if it names no resource.
    pub fn parse(uri: &str) -> Option<Self> {
        if uri == AGENTS {
            return Some(ResourceAddress::Agents);
        }
        let below = uri.strip_prefix(TASKS)?;
        if below.is_empty() {
            return Some(ResourceAddress::Tasks);
        }
        let (task, part) = below.strip_prefix('/')?.split_once('/')?;
        let part = [TranscriptPart::Result, TranscriptPart::Transcript]
            .into_iter()
            .find(|known| known.name() == part)?;
        Some(ResourceAddress::Of(task.to_owned(), part))
    }

    /// Formats the address of a task's part.
    pub fn of(task: &str, part: TranscriptPart) -> String {
        format!("{TASKS}/{task}/{}", part.name())
    }
}

/// Lists the resources.
pub fn list(tasks: &[TaskReport]) -> Vec<Resource> {
    let json = "application/json";
    let mut all = vec![
        Resource::new(AGENTS, "agents").with_description("Who can be delegated to").with_mime_type(json),
        Resource::new(TASKS, "tasks").with_description("What was delegated from here").with_mime_type(json),
    ];
    for task in tasks.iter().rev().take(LISTED_MAX) {
        let (id, status) = (task.id.short(), task.wire_status());
        for part in [TranscriptPart::Result, TranscriptPart::Transcript] {
            if part == TranscriptPart::Result && task.state().is_running() {
                continue;
            }
            let description = format!("{} · {status} · {}", task.agent, task.title);
            all.push(
                Resource::new(ResourceAddress::of(id, part), format!("{id} {}", part.name()))
                    .with_description(description)
                    .with_mime_type(part.mime_type()),
            );
        }
    }
    all
}

/// Lists the resource templates.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |part: TranscriptPart, description: &str| {
        ResourceTemplate::new(ResourceAddress::of("{task_id}", part), format!("task {}", part.name()))
            .with_description(description)
            .with_mime_type(part.mime_type())
    };
    vec![
        template(TranscriptPart::Result, "The full text that a task answered"),
        template(TranscriptPart::Transcript, "Everything that was said and done in a task"),
    ]
}

/// Reads a resource.
pub async fn read(
    hosted: &HostSession,
    transcripts: &dyn TranscriptSource,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let unknown = || ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })));
    let as_json = |value: Value| {
        let text = hosted.print(ToolReply::object(value)).text;
        ResourceContents::text(text, uri).with_mime_type("application/json")
    };
    let address = ResourceAddress::parse(uri).ok_or_else(unknown)?;
    let delegation = hosted.delegation().await.map_err(|e| failed(&e))?;
    match address {
        ResourceAddress::Agents => Ok(as_json(delegation.list_agents(None).to_json())),
        ResourceAddress::Tasks => Ok(as_json(tasks_json(&delegation.list_tasks()))),
        ResourceAddress::Of(id, part) => {
            let tasks = hosted.tasks().await.map_err(|e| failed(&e))?;
            let task = tasks.into_iter().find(|task| task.id.short() == id).ok_or_else(unknown)?;
            let text = match part {
                TranscriptPart::Result => whole_result(hosted, &id).await.ok_or_else(unknown)?,
                TranscriptPart::Transcript => {
                    let text = transcripts.transcript(&task.id).await.map_err(|e| failed(&e))?;
                    head_and_tail(&text, TRANSCRIPT_BYTES_MAX)
                }
            };
            Ok(ResourceContents::text(text, uri).with_mime_type(part.mime_type()))
        }
    }
}

/// Reads all pages of a finished task's text; `None` while it runs.
async fn whole_result(hosted: &HostSession, id: &str) -> Option<String> {
    let delegation = hosted.delegation().await.ok()?;
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let request = ResultRequest { task_id: id.to_owned(), offset, limit: Some(usize::MAX) };
        let page = delegation.result(&request).await.ok()?;
        text += &page.text;
        match page.next_offset {
            Some(next) if text.len() < TRANSCRIPT_BYTES_MAX => offset = next,
            Some(_) | None => return Some(hosted.print(ToolReply::text(text)).text),
        }
    }
}

fn failed(e: &posse_core::Error) -> ErrorData {
    match e.code() {
        ErrorCode::TaskNotFound => ErrorData::resource_not_found(e.message().english().to_owned(), None),
        _ => ErrorData::internal_error(e.english(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_back_as_it_was_made() {
        for part in [TranscriptPart::Result, TranscriptPart::Transcript] {
            let parsed = ResourceAddress::parse(&ResourceAddress::of("t_07", part));
            assert_eq!(parsed, Some(ResourceAddress::Of("t_07".to_owned(), part)));
        }
        assert_eq!(ResourceAddress::parse("posse://agents"), Some(ResourceAddress::Agents));
        assert_eq!(ResourceAddress::parse("posse://tasks"), Some(ResourceAddress::Tasks));
        for wrong in [
            "",
            "posse://",
            "posse://tasks/",
            "posse://tasks/t_01",
            "posse://tasks/t_01/secret",
            "file:///etc/passwd",
        ] {
            assert_eq!(ResourceAddress::parse(wrong), None, "{wrong}");
        }
    }
}
