//! `posse approvals`: calls that wait for approval, in any process.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use posse_console::Console;
use posse_console::ask::{AskEnd, ask};
use posse_console::run::OPERATOR;
use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalScope, ApprovalState, ApprovalVerdict, CallLine, DIFF_MARGIN,
    DecidedBy, ParkedCall, call_lines, gist,
};
use posse_core::context::wire::utc;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result, spans};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{ApprovalQuery, ApprovalStore};
use posse_store::SqliteStore;
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};

use super::tasks::{age, find};
use crate::args::{AnswerArgs, ApprovalsCommand, GlobalArgs};
use crate::columns::cut;
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
        lists::print(&table(&found));
        terminal::note(&say!("approvals-footer"));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[ParkedCall]) -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::text(say!("column-id"), ColumnFit::Fixed),
        TableColumn::text(say!("column-state"), ColumnFit::Fixed),
        TableColumn::text(say!("column-task"), ColumnFit::Fixed),
        TableColumn::text(say!("column-agent"), ColumnFit::Optional(2)),
        TableColumn::text(say!("column-tool"), ColumnFit::Fixed),
        TableColumn::text(say!("column-call"), ColumnFit::Flexible(12)),
        TableColumn::number(say!("column-age"), ColumnFit::Optional(1)),
        TableColumn::text(say!("column-left"), ColumnFit::Optional(3)),
    ]);
    for parked in found {
        let request = &parked.request;
        table.row(vec![
            parked.id.as_str().into(),
            parked.state.wire().into(),
            request.task.as_str().into(),
            visible(&request.agent).into_owned().into(),
            visible(&request.tool).into_owned().into(),
            visible(&gist(&request.arguments)).into_owned().into(),
            age(request.asked_ms).into(),
            visible(&left(parked)).into_owned().into(),
        ]);
    }
    table
}

/// Says how much time is left, or how the call was decided.
fn left(parked: &ParkedCall) -> String {
    match &parked.state {
        ApprovalState::Open => time_left(&parked.request),
        ApprovalState::Answered(answer) => say!("approval-by", scope = answer.scope.wire(), by = answer.by),
        ApprovalState::Closed(why) => why.clone(),
    }
}

fn tell(parked: &ParkedCall, json: bool) {
    match json {
        true => terminal::out(&parked.to_json().to_string()),
        false => terminal::out(&line(parked)),
    }
}

/// Formats one line: enough to identify the call, not enough to decide on it.
fn line(parked: &ParkedCall) -> String {
    let request = &parked.request;
    let left = left(parked);
    let about = cut(&gist(&request.arguments), 60);
    format!(
        "{:<5} {:<9} {:<16} {:<12} {:<10} {:>4}  {}  {about}",
        parked.id,
        parked.state.wire(),
        request.task.as_str(),
        visible(&request.agent),
        visible(&request.tool),
        age(request.asked_ms),
        visible(&left),
    )
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
    terminal::out(&match &parked.state {
        ApprovalState::Open => {
            let (left, deadline) = (time_left(&parked.request), utc(parked.request.deadline_ms));
            say!("approval-is-open", left, deadline)
        }
        ApprovalState::Closed(why) => format!("{} · {}", parked.state.wire(), visible(why)),
        ApprovalState::Answered(ApprovalAnswer { by, scope, reason, at_ms, .. }) => {
            let reason = reason.as_ref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
            let (state, scope, instant) = (parked.state.wire(), scope.wire(), utc(*at_ms));
            format!("{}{reason}", say!("approval-is-answered", state, by, scope, instant))
        }
    });
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

/// Formats the time left, such as `denied automatically in 10 min`.
fn time_left(request: &ApprovalRequest) -> String {
    let left = spans::in_words(request.deadline_ms.saturating_sub(now_ms()) / 1000);
    match request.on_deadline {
        ApprovalVerdict::Approve => say!("approved-in", left),
        ApprovalVerdict::Deny => say!("denied-in", left),
    }
}

/// Colors a line if it belongs to a diff.
fn painted(line: &CallLine) -> String {
    match line.text.strip_prefix(DIFF_MARGIN).filter(|_| line.is_diff) {
        None => line.text.clone(),
        Some(of_diff) => format!("{DIFF_MARGIN}{}", terminal::diff_line(of_diff)),
    }
}
