//! `posse tasks export`: the whole conversation of a task, as lines for programs or as a page for people.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use posse_core::Result;
use posse_core::context::wire::utc;
use posse_core::redact::SecretRedactor;
use posse_core::text::visible;
use posse_http::{ApiServer, ServerOptions};
use posse_mcp::files::unwritable;
use posse_mcp::server::http::RequestGuard;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::follow::with_descendants;
use posse_runtime::ports::JournalStore;
use posse_telemetry::transcript;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::serve::host::ProgramHost;
use super::tasks::{find, status};
use super::tokens::token_file;
use crate::args::GlobalArgs;
use crate::setup::{self, Setup};
use crate::terminal;

pub async fn run(global: &GlobalArgs, wanted: &str, out: Option<&Path>, tree: bool) -> Result<ExitCode> {
    let store = setup::store_to_read(global)?;
    let task = find(&*store, wanted).await?;
    let tasks = if tree { with_descendants(&*store, task).await? } else { vec![task] };
    let mut text = String::new();
    for task in &tasks {
        for line in transcript::lines(task, status(task), &store.records(&task.id).await?)? {
            text.push_str(&format!("{line}\n"));
        }
    }
    deliver(out, &text)
}

/// Writes a task as one HTML file: the dashboard's pages with the API's answers, without secrets.
pub async fn page(global: &GlobalArgs, wanted: &str, out: Option<&Path>, tree: bool) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = setup.store()?;
    let task = find(&*store, wanted).await?;
    let (root, title) = (task.id.to_string(), format!("{} · Posse", task.title));
    let tasks = if tree { with_descendants(&*store, task).await? } else { vec![task] };
    let options = ServerOptions {
        guard: RequestGuard::of_this_machine(None),
        tokens: token_file(global)?,
        cookie: String::new(),
        is_secure: false,
        tls: None,
    };
    let host = ProgramHost::new(global, &setup, Arc::default())?;
    let server = ApiServer::new(store, Arc::new(host), options, CancellationToken::new());
    let (mut answers, mut shown) = (Map::new(), Vec::new());
    for id in tasks.iter().map(|task| task.id.to_string()) {
        shown.push(gather(&server, &id, &mut answers).await?);
    }
    answers.insert(format!("/tasks/{root}/tree"), json!({ "items": &shown, "next_cursor": null }));
    let mut data = json!({
        "exported_at": utc(now_ms()), "version": env!("CARGO_PKG_VERSION"), "root": root, "tasks": shown, "answers": answers,
    });
    redact(&mut data, &[setup.redactor(), SecretRedactor::default()]);
    deliver(out, &posse_http::export::page(&title, &data))
}

/// Reads everything that the pages show of one task, and returns its line of lists.
async fn gather(server: &ApiServer, id: &str, answers: &mut Map<String, Value>) -> Result<Value> {
    let detail = server.read(&format!("/v1/tasks/{id}")).await?;
    let task = detail["task"].clone();
    answers.insert(format!("/tasks/{id}"), detail);
    for part in ["budget", "diff"] {
        // A worktree may be gone; the page says that it does not hold the answer.
        if let Ok(answer) = server.read(&format!("/v1/tasks/{id}/{part}")).await {
            answers.insert(format!("/tasks/{id}/{part}"), answer);
        }
    }
    let lines =
        pages(server, &format!("/v1/tasks/{id}/transcript?limit=500"), "items", "next_cursor", "cursor")
            .await?;
    answers.insert(format!("/tasks/{id}/transcript"), json!({ "items": lines, "next_cursor": null }));
    let events =
        pages(server, &format!("/v1/tasks/{id}/events?limit=1000"), "events", "next", "since").await?;
    answers.insert(format!("/tasks/{id}/events"), json!({ "events": events, "next": 0, "at_end": true }));
    Ok(task)
}

/// Reads a list to its end.
async fn pages(server: &ApiServer, path: &str, list: &str, next: &str, cursor: &str) -> Result<Vec<Value>> {
    let (mut all, mut at) = (Vec::new(), String::new());
    loop {
        let mut page = server.read(&format!("{path}{at}")).await?;
        all.append(page[list].as_array_mut().unwrap_or(&mut Vec::new()));
        let last = page["at_end"] == true || page[next].is_null();
        let place = page[next].as_str().map_or_else(|| page[next].to_string(), str::to_owned);
        let following = format!("&{cursor}={place}");
        if last || following == at {
            return Ok(all);
        }
        at = following;
    }
}

/// Removes secrets from every text of a value.
fn redact(value: &mut Value, redactors: &[SecretRedactor]) {
    match value {
        Value::String(text) => {
            for redactor in redactors {
                if let Cow::Owned(redacted) = redactor.redact(text) {
                    *text = redacted;
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactors)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(field, redactors)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes to a file, or to standard output.
fn deliver(out: Option<&Path>, text: &str) -> Result<ExitCode> {
    match out {
        None => terminal::deliver(text.trim_end()),
        Some(path) => {
            write(path, text).map_err(|e| unwritable(path).caused_by(e))?;
            terminal::note(&say!("file-written", file = visible(&path.display().to_string())));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the transcript. It holds everything the task has seen, so a new file is readable by its owner only.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
