//! `posse approvals`: calls that wait for approval, in any process.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use posse_console::Console;
use posse_console::ask::{AskEnd, ask};
use posse_console::lists::approvals::{approval_line, approval_table, state_text};
use posse_console::run::OPERATOR;
use posse_core::approval::{
    ApprovalAnswer, ApprovalScope, ApprovalVerdict, CallLine, DIFF_MARGIN, DecidedBy, ParkedCall, call_lines,
};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{ApprovalQuery, ApprovalStore};
use posse_store::SqliteStore;

use super::tasks::find;
use crate::args::{AnswerArgs, ApprovalsCommand, GlobalArgs};
use crate::{lists, setup, terminal};

/// Poll interval for new requests.
const LOOK: Duration = Duration::from_millis(300);

pub async fn run(global: &GlobalArgs, command: ApprovalsCommand) -> Result<ExitCode> {
    let store = match command {
        ApprovalsCommand::List { .. } | ApprovalsCommand::Show { .. } => setup::store_to_read(global)?,
        _ => setup::store(global)?,
    };
    match command {
        ApprovalsCommand::List { newest } => list(&store, newest, global.json).await,
        ApprovalsCommand::Show { id } => show(&store, &id, global.json).await,
        ApprovalsCommand::Approve { answer } => {
            give(&store, answer, ApprovalVerdict::Approve, global.json).await
        }
        ApprovalsCommand::Deny { answer } => give(&store, answer, ApprovalVerdict::Deny, global.json).await,
        ApprovalsCommand::Watch => watch(&store, global.json).await,
    }
}

async fn list(store: &SqliteStore, newest: Option<u32>, json: bool) -> Result<ExitCode> {
    let query = newest.map_or(ApprovalQuery::Open, ApprovalQuery::Newest);
    let found = store.approvals(query).await?;
    if found.is_empty() && !json {
        terminal::note(&say!("no-approvals"));
    }
    if json {
        found.iter().for_each(|parked| tell(parked, json));
        return Ok(ExitCode::SUCCESS);
    }
    if !found.is_empty() {
        lists::print(&approval_table(&found));
        terminal::note(&say!("approvals-footer"));
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(parked: &ParkedCall, json: bool) {
    match json {
        true => terminal::out(&parked.to_json().to_string()),
        false => terminal::out(&approval_line(parked)),
    }
}

async fn show(store: &SqliteStore, id: &str, json: bool) -> Result<ExitCode> {
    let parked = find_parked(store, id).await?;
    if json {
        terminal::out(&parked.to_json().to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let is_terminal = std::io::stdout().is_terminal();
    for line in call_lines(&parked) {
        terminal::out(&if is_terminal { painted(&line) } else { line.text });
    }
    terminal::out(&state_text(&parked));
    Ok(ExitCode::SUCCESS)
}

/// Finds a call by its approval id, or by the id of the task that waits for it.
async fn find_parked(store: &SqliteStore, wanted: &str) -> Result<ParkedCall> {
    let unknown = match store.approval(wanted).await {
        Err(e) if e.code() == ErrorCode::ApprovalNotFound => e,
        found => return found,
    };
    let Ok(row) = find(store, wanted).await else { return Err(unknown) };
    let below = format!("{}.", row.id);
    let mut open = store.approvals(ApprovalQuery::Open).await?;
    open.retain(|parked| parked.request.task == row.id || parked.request.task.as_str().starts_with(&below));
    let ids: Vec<&str> = open.iter().map(|parked| parked.id.as_str()).collect();
    let text = match ids.as_slice() {
        [_] => return Ok(open.remove(0)),
        [] => say!("approval-none-of-task", task = row.id),
        ids => say!("approvals-of-task", task = row.id, ids = ids.join(", ")),
    };
    Err(Error::new(ErrorCode::ApprovalNotFound, text).hint(say!("approvals-of-task-hint")))
}

async fn give(
    store: &SqliteStore,
    args: AnswerArgs,
    verdict: ApprovalVerdict,
    json: bool,
) -> Result<ExitCode> {
    let parked = find_parked(store, &args.id).await?;
    if args.hash.is_some_and(|hash| hash.is_empty() || !parked.request.hash.starts_with(&hash)) {
        let text = say!("approval-other-hash", id = parked.id);
        return Err(Error::new(ErrorCode::ApprovalMismatch, text).hint(say!("approval-mismatch-hint")));
    }
    let now = now_ms();
    let answer = ApprovalAnswer {
        scope: ApprovalScope::ALL
            .iter()
            .copied()
            .find(|scope| scope.wire() == args.scope)
            .unwrap_or_default(),
        reason: args.reason,
        expires_ms: args.expires.map(|seconds| now.saturating_add(seconds * 1000)),
        ..ApprovalAnswer::new(verdict, DecidedBy::Person(OPERATOR.to_owned()), now)
    };
    let answered = store.answer(&parked.id, &parked.request.hash, answer).await?;
    match json {
        true => terminal::out(&answered.to_json().to_string()),
        false => terminal::note(&say!("approval-now", id = answered.id, state = answered.state.wire())),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints new requests and their outcomes; at a terminal, asks about each.
async fn watch(store: &SqliteStore, json: bool) -> Result<ExitCode> {
    let answers_here = !json && terminal::is_attended();
    let mut known: BTreeSet<String> = BTreeSet::new();
    if !json {
        terminal::note(&say!("approvals-watching"));
    }
    loop {
        let open = store.approvals(ApprovalQuery::Open).await?;
        for parked in &open {
            if !known.insert(parked.id.clone()) {
                continue;
            }
            if !answers_here {
                tell(parked, json);
            } else if ask_here(store, parked).await? == AskEnd::Stopped {
                return Ok(ExitCode::from(130));
            }
        }
        let gone: Vec<String> =
            known.iter().filter(|id| !open.iter().any(|parked| parked.id == **id)).cloned().collect();
        for id in gone {
            known.remove(&id);
            tell(&store.approval(&id).await?, json);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Asks the person here about a call. Without a terminal any more, the call waits for an answer from elsewhere.
async fn ask_here(store: &SqliteStore, parked: &ParkedCall) -> Result<AskEnd> {
    let Some(io) = terminal::screen() else { return Ok(AskEnd::Later) };
    let failed = |e| Error::new(ErrorCode::Io, say!("screen-not-opened")).caused_by(e);
    let options = terminal::looks();
    let (console, mut events) = Console::open(io, options).map_err(failed)?;
    ask(&console, &mut events, options.symbols, store, parked).await
}

/// Colors a line if it belongs to a diff.
fn painted(line: &CallLine) -> String {
    match line.text.strip_prefix(DIFF_MARGIN).filter(|_| line.is_diff) {
        None => line.text.clone(),
        Some(of_diff) => format!("{DIFF_MARGIN}{}", terminal::diff_line(of_diff)),
    }
}
