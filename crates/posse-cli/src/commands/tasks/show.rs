//! `posse tasks show`: the story of a task, one of its turns or results, or its answer.

use std::collections::BTreeMap;
use std::process::ExitCode;

use posse_console::lists::tasks::{row_json, status, took_ms};
use posse_console::story::{self, StoryHead};
use posse_core::journal::{Record, start_of};
use posse_core::run::replay;
use posse_core::text::prefix;
use posse_core::tool::ToolEffect;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::ports::{JournalStore, TaskRow};
use serde_json::json;

use super::find;
use crate::args::{GlobalArgs, ShowArgs};
use crate::setup;
use crate::{lists, terminal};

pub async fn run(global: &GlobalArgs, args: &ShowArgs) -> Result<ExitCode> {
    let store = setup::store_to_read(global)?;
    let row = find(&*store, &args.task).await?;
    let records = store.records(&row.id).await?;
    if let Some(key) = &args.result {
        return result(&row, &records, key);
    }
    if let Some(turn) = args.turn {
        return one_turn(global, &row, &records, turn);
    }
    if args.text {
        answer(global, &row, &records);
        return Ok(ExitCode::SUCCESS);
    }
    let tree = store.tree_total(&row.id).await?;
    let tool_calls = tool_calls(&records);
    if global.json {
        let mut shown = row_json(&row, &tree);
        shown["tool_calls"] = json!(tool_calls);
        shown["sandbox"] = json!(start_of(&records)?.grant.sandbox().wire());
        terminal::out(&shown.to_string());
        print_records(&records);
        return Ok(ExitCode::SUCCESS);
    }
    let (status, took_ms) = (status(&row), took_ms(&row));
    let head = StoryHead { row: &row, status, tree: &tree, tool_calls, took_ms };
    let style = lists::story_style();
    lists::page(&story::story(&head, &records, style));
    if style.width.is_some() {
        terminal::note(&say!("story-more", task = row.id));
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts the tool calls in a journal as its outcome does; `None` for a damaged journal, which is shown all the same.
fn tool_calls(records: &[Record]) -> Option<u32> {
    // No tool is called here, so their effects do not matter.
    let grant = start_of(records).ok()?.grant;
    let effects: BTreeMap<_, _> = grant.tools().map(|name| (name.to_owned(), ToolEffect::Unsafe)).collect();
    Some(replay(records, effects, 0).ok()?.run.tool_calls())
}

fn print_records(records: &[Record]) {
    records.iter().for_each(|record| terminal::out(&String::from_utf8_lossy(&record.encode())));
}

fn one_turn(global: &GlobalArgs, row: &TaskRow, records: &[Record], turn: u32) -> Result<ExitCode> {
    let records = story::turn_records(records, turn);
    if records.is_empty() {
        let text = say!("turn-unknown", id = row.id, turn, turns = row.turns());
        return Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("turn-unknown-hint", id = row.id)));
    }
    match global.json {
        true => print_records(records),
        false => lists::page(&story::turn_lines(records, lists::story_style())),
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(global: &GlobalArgs, row: &TaskRow, records: &[Record]) {
    let text = story::answer(records);
    match (global.json, text.trim().is_empty()) {
        (true, _) => terminal::out(&json!({ "task_id": row.id.as_str(), "text": text }).to_string()),
        (false, true) => terminal::note(&say!("answer-none-yet", task = row.id)),
        (false, false) => terminal::page_text(text.trim_end()),
    }
}

fn result(row: &TaskRow, records: &[Record], key: &str) -> Result<ExitCode> {
    let found = records.iter().find_map(|record| match record {
        Record::Done { result, full_text, .. } if result.key.to_string() == key => {
            Some(full_text.as_ref().unwrap_or(&result.text))
        }
        _ => None,
    });
    let Some(text) = found else {
        let text = say!("result-unknown", id = row.id, key = prefix(key, 40));
        return Err(Error::new(ErrorCode::InvalidRequest, text).hint(say!("result-unknown-hint")));
    };
    terminal::page_text(text);
    Ok(ExitCode::SUCCESS)
}
