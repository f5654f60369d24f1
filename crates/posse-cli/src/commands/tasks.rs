//! `posse tasks`: what is in the store, and going on with it.

use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use posse_core::budget::Caps;
use posse_core::id::TaskId;
use posse_core::journal::{Record, TaskStart, start_of};
use posse_core::message::Block;
use posse_core::text::{head_and_tail, prefix, visible};
use posse_core::{Error, ErrorCode, Result};
use posse_runtime::driver::Onward;
use posse_runtime::ports::{Store, TaskRow};
use serde_json::json;

use super::drive::{Room, Work};
use super::run::{self, Furniture};
use crate::args::{Global, How, More};
use crate::render::count;
use crate::setup::{Setup, is_alive};
use crate::terminal;

/// Results in a transcript are shown up to this size; `--result` shows one in full.
const SHOWN: usize = 600;

pub async fn list(global: &Global, limit: u32) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let rows = setup.store()?.tasks(limit).await?;
    if rows.is_empty() && !global.json {
        terminal::note("no tasks yet; `posse run \"…\"` starts one");
    }
    for row in rows {
        if global.json {
            terminal::out(&row_json(&row).to_string());
        } else {
            let status = status(&row);
            let title = row.title.lines().next().unwrap_or_default();
            terminal::out(&format!(
                "{:<14} {status:<12} {:<13} {:>3} turns {:>7} tokens  {:>5}  {}",
                row.id.as_str(),
                row.agent,
                row.turns,
                count(row.input_tokens.saturating_add(row.output_tokens)),
                age(row.updated_ms),
                visible(prefix(title, 60))
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn show(global: &Global, wanted: &str, result: Option<&str>) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = setup.store()?;
    let row = find(&*store, wanted).await?;
    let records = store.records(&row.id).await?;
    if let Some(key) = result {
        return show_result(&row.id, &records, key);
    }
    if global.json {
        terminal::out(&row_json(&row).to_string());
        for record in &records {
            terminal::out(&String::from_utf8_lossy(&record.encode()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    terminal::out(&format!("{} · {} · {} · {} turns", row.id, row.agent, status(&row), row.turns));
    for record in &records {
        for line in lines(record) {
            terminal::out_foreign(&line);
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn resume(global: &Global, wanted: &str, more: &More) -> Result<ExitCode> {
    let taken_up = TakenUp::find(global, wanted).await?;
    let TakenUp { row, start, .. } = &taken_up;
    let how = How { max_cost: more.max_cost, ..How::default() };
    let room = taken_up.room(&how, global.json, &row.title)?;
    let began = Instant::now();
    let wall_ms_max = more.timeout.map(|seconds| seconds * 1000);
    let onward = Onward::Finish { turns_max: more.max_turns, wall_ms_max };
    let outcome = room.work(Work::GoOn { id: row.id.clone(), onward }).await?;
    // What is told at the end is about the time it had now.
    let mut agent = start.agent.clone();
    agent.limits.wall_ms_max = agent.limits.wall_ms_max.max(wall_ms_max.unwrap_or(0));
    Ok(room.conclude(&row.id, &agent, &outcome, began))
}

/// A task of the store that goes on, and where it was begun: it keeps its workspace, its limits, and its tools unless
/// they are denied today.
pub struct TakenUp {
    pub row: TaskRow,
    pub start: TaskStart,
    pub setup: Setup,
}

impl TakenUp {
    pub async fn find(global: &Global, wanted: &str) -> Result<Self> {
        let mut setup = Setup::load(global)?;
        let store = setup.store()?;
        let row = find(&*store, wanted).await?;
        take_from_the_dead(&row)?;
        let start = start_of(&store.records(&row.id).await?)?;
        setup.workspace = start.workspace.clone().into();
        Ok(Self { row, start, setup })
    }

    pub fn caps(&self, how: &How) -> Caps {
        self.setup.caps_again(how, &self.start.caps)
    }

    /// Of `how` counts what may change from one day to the next: the tape and the cost limit.
    pub fn room(&self, how: &How, json: bool, title: &str) -> Result<Room> {
        let Self { row, start, setup } = self;
        let found = setup.tools()?;
        let grant = setup.grant_again(&start.grant, &found)?;
        if let Some(missing) = grant.tools().find(|name| !found.has(name)) {
            let text = format!("`{}` was given the tool `{missing}`, which is not there any more", row.id);
            return Err(Error::new(ErrorCode::InvalidTool, text).hint(
                "`posse doctor` in its workspace shows which tools there are and what is wrong with others",
            ));
        }
        run::furnish(
            setup,
            how,
            found,
            Furniture {
                session_id: row.id.session().to_owned(),
                agent: &start.agent,
                grant,
                caps: self.caps(how),
                json,
                title,
            },
        )
    }
}

/// Refuses a task that a living process drives, and ends what a dead one left running: it must not work beside us.
fn take_from_the_dead(row: &TaskRow) -> Result<()> {
    if row.status == "running" && is_alive(&row.owner) {
        let pid = row.owner.split(':').next().unwrap_or_default();
        let text = format!("`{}` is being driven by process {pid}", row.id);
        return Err(
            Error::new(ErrorCode::TaskNotResumable, text).hint("wait for it, or end that process first")
        );
    }
    posse_tools::supervisor::sweep(&row.id);
    Ok(())
}

/// A task by its id, the beginning of its id, or the short id of a child in the newest session.
pub async fn find(store: &dyn Store, wanted: &str) -> Result<TaskRow> {
    let rows = store.tasks(u32::MAX).await?;
    if let Some(row) = rows.iter().find(|row| row.id.as_str() == wanted) {
        return Ok(row.clone());
    }
    if let Some(row) = rows.iter().find(|row| row.id.short() == wanted) {
        return Ok(row.clone());
    }
    let roots: Vec<&TaskRow> =
        rows.iter().filter(|row| !wanted.is_empty() && row.id.as_str().starts_with(wanted)).collect();
    let sessions: Vec<&&TaskRow> = roots.iter().filter(|row| row.parent.is_none()).collect();
    match (sessions.as_slice(), roots.as_slice()) {
        ([row], _) => Ok((**row).clone()),
        ([], [row]) => Ok((*row).clone()),
        ([], []) => {
            Err(Error::new(ErrorCode::TaskNotFound, format!("no task is called `{}`", prefix(wanted, 80)))
                .hint("`posse tasks list` shows what there is"))
        }
        _ => Err(Error::new(ErrorCode::TaskNotFound, format!("several tasks begin with `{wanted}`"))
            .hint("give more of the id")),
    }
}

/// A task whose process is gone is not running, whatever its last record says.
pub fn status(row: &TaskRow) -> &str {
    if row.status == "running" && !is_alive(&row.owner) { "interrupted" } else { &row.status }
}

fn row_json(row: &TaskRow) -> serde_json::Value {
    json!({
        "task_id": row.id.as_str(),
        "parent": row.parent.as_ref().map(TaskId::as_str),
        "agent": row.agent,
        "title": row.title,
        "status": status(row),
        "turns": row.turns,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "created_ms": row.created_ms,
        "updated_ms": row.updated_ms,
    })
}

fn show_result(id: &TaskId, records: &[Record], key: &str) -> Result<ExitCode> {
    let found = records.iter().find_map(|record| match record {
        Record::Done { result, full_text, .. } if result.key.to_string() == key => {
            Some(full_text.as_ref().unwrap_or(&result.text))
        }
        _ => None,
    });
    let Some(text) = found else {
        return Err(Error::new(
            ErrorCode::InvalidRequest,
            format!("`{id}` has no result `{}`", prefix(key, 40)),
        )
        .hint("results are numbered TURN.INDEX, such as 3.0"));
    };
    terminal::out_foreign(text);
    Ok(ExitCode::SUCCESS)
}

/// A record as a person reads it.
fn lines(record: &Record) -> Vec<String> {
    match record {
        Record::Started(start) => vec![format!("> {}", start.task)],
        Record::Said { text, .. } | Record::Steered { text, .. } => vec![format!("> {text}")],
        Record::Asked { .. } => Vec::new(),
        Record::Replied { reply, .. } => reply.blocks.iter().filter_map(block_line).collect(),
        Record::Unanswered { failure, .. } => vec![format!("! model: {failure}")],
        Record::Intended { .. } => Vec::new(),
        Record::Done { result, .. } => {
            let mark = if result.in_doubt {
                " (in doubt)"
            } else if result.is_error {
                " (error)"
            } else {
                ""
            };
            let text = head_and_tail(&result.text, SHOWN);
            vec![format!("  [{}]{mark} {}", result.key, text.replace('\n', "\n        "))]
        }
        Record::Checked { errors, .. } if errors.is_empty() => {
            vec!["-- the answer satisfies its schema".to_owned()]
        }
        Record::Checked { errors, .. } => {
            vec![format!("-- the answer does not satisfy its schema\n        {}", errors.join("\n        "))]
        }
        Record::Verifying { .. } => Vec::new(),
        Record::Verified { evidence, .. } => {
            let output = head_and_tail(evidence.output.trim_end(), SHOWN);
            let text = format!("-- verify: {} · {}\n{output}", evidence.command, evidence.ending());
            vec![text.trim_end().replace('\n', "\n        ")]
        }
        Record::Resumed { epoch, .. } => vec![format!("-- resumed (epoch {epoch})")],
        Record::Withdrawn { tools, .. } => vec![format!("-- not allowed any more: {}", tools.join(", "))],
        Record::BudgetSpent { shortfall, .. } => vec![format!("-- budget spent: {shortfall}")],
        Record::Cancelled { .. } => vec!["-- cancelled".to_owned()],
        Record::Finished { outcome, .. } => {
            vec![format!("-- {} · {}", outcome.status().wire(), outcome.stop.wire())]
        }
    }
}

fn block_line(block: &Block) -> Option<String> {
    match block {
        Block::Text { text, .. } if text.trim().is_empty() => None,
        Block::Text { text, .. } => Some(text.clone()),
        Block::Thinking { .. } | Block::Opaque { .. } => None,
        Block::ToolCall(call) => {
            Some(format!("  · {} {}", call.name, head_and_tail(call.arguments.as_object_text(), SHOWN)))
        }
    }
}

pub fn age(then_ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX).saturating_sub(then_ms) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
