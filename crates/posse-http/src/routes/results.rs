//! Results of a task: events, answer, transcript, calls, budget and changes.

use std::collections::HashMap;

use axum::extract::State;
use posse_core::event::EventEntry;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::Record;
use posse_core::message::{Block, CallArguments};
use posse_core::usage::{SpendingTotal, dollars};
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use posse_runtime::follow::task_tree;
use posse_runtime::ports::{ResultDelivery, TaskRow};
use serde_json::{Value, json};

use crate::extract::{CallId, JsonReply, PageBounds, Params, SegmentPair, TaskPath, invalid};
use crate::feed::OwnerLooks;
use crate::problem::RouteResult;
use crate::routes::tasks::detail;
use crate::state::ApiState;
use crate::summary::status_of;
use crate::wire::{
    BudgetAmounts, BudgetBounds, BudgetNode, BudgetTree, CallRecord, EventQuery, PageQuery, TaskChanges,
    TaskDetail, TaskEvents, TextPage, TextQuery, TranscriptPage,
};

const EVENTS_USUAL: u32 = 200;
const EVENTS_MAX: u32 = 1_000;
/// Characters of a page of the answer.
const TEXT_USUAL: u64 = 4_000;
const TEXT_MAX: u64 = 20_000;
/// Characters of a text in a transcript.
const SHOWN_CHARS: usize = 16_000;

/// Reads events of a task.
#[utoipa::path(get, path = "/v1/tasks/{id}/events", tag = "results", params(("id" = String, Path), EventQuery),
    responses((status = 200, body = TaskEvents)))]
pub async fn events(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Params(query): Params<EventQuery>,
) -> RouteResult<JsonReply<TaskEvents>> {
    let limit = query.limit.unwrap_or(EVENTS_USUAL);
    if !(1..=EVENTS_MAX).contains(&limit) {
        return Err(invalid(format_args!("limit: expected 1 to {EVENTS_MAX}")));
    }
    let since = query.since.unwrap_or_default();
    let records = api.store.records_from(&id, since, limit as usize).await?;
    let entry = |stored: &posse_runtime::ports::StoredRecord| {
        EventEntry::from_record(&id, stored.seq, stored.at_ms, &stored.record).map(|entry| json!(entry))
    };
    Ok(JsonReply(TaskEvents {
        task_id: id.to_string(),
        events: records.iter().filter_map(entry).collect(),
        next: records.last().map_or(since, |last| last.seq + 1),
        at_end: records.len() < limit as usize,
    }))
}

/// Reads a page of the answer.
#[utoipa::path(get, path = "/v1/tasks/{id}/result", tag = "results", params(("id" = String, Path), TextQuery),
    responses((status = 200, body = TextPage)))]
pub async fn result(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Params(query): Params<TextQuery>,
) -> RouteResult<JsonReply<TextPage>> {
    let limit = query.limit.unwrap_or(TEXT_USUAL);
    if !(1..=TEXT_MAX).contains(&limit) {
        return Err(invalid(format_args!("limit: expected 1 to {TEXT_MAX}")));
    }
    let row = api.store.task(&id).await?;
    refuse_running(&row)?;
    let records = api.store.records(&id).await?;
    let text = records.into_iter().rev().find_map(|record| match record {
        Record::Finished { outcome, .. } => Some(outcome.text.clone()),
        _ => None,
    });
    let (text, offset) = (text.unwrap_or_default(), query.offset.unwrap_or_default());
    let total_chars = text.chars().count() as u64;
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    let page: String = text.chars().skip(from).take(limit as usize).collect();
    let end = offset.saturating_add(page.chars().count() as u64);
    let next_offset = (end < total_chars).then_some(end);
    Ok(JsonReply(TextPage { task_id: id.to_string(), text: page, offset, next_offset, total_chars }))
}

fn refuse_running(row: &TaskRow) -> RouteResult<()> {
    if !row.state.is_running() {
        return Ok(());
    }
    let text = localized!("task-not-ended", id = row.id);
    Err(Error::new(ErrorCode::TaskNotReady, text).hint(localized!("task-not-ended-hint")).into())
}

/// Delivers the result of a task: no host is told of it again.
#[utoipa::path(post, path = "/v1/tasks/{id}/collect", tag = "results", params(("id" = String, Path)),
    responses((status = 200, body = TaskDetail)))]
pub async fn collect(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    CallId(by): CallId,
) -> RouteResult<JsonReply<TaskDetail>> {
    refuse_running(&api.store.task(&id).await?)?;
    api.store.deliver(&id, ResultDelivery::Collected { by }).await?;
    Ok(JsonReply(detail(&api, &id).await?))
}

/// Reads a page of the transcript.
#[utoipa::path(get, path = "/v1/tasks/{id}/transcript", tag = "results", params(("id" = String, Path), PageQuery),
    responses((status = 200, body = TranscriptPage)))]
pub async fn transcript(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
    Params(query): Params<PageQuery>,
) -> RouteResult<JsonReply<TranscriptPage>> {
    let bounds = PageBounds::read(query.cursor.as_deref(), query.limit)?;
    let row = api.store.task(&id).await?;
    let lives = row.state.is_running() && OwnerLooks::default().lives(&row);
    let status = serde_json::to_value(status_of(&row, lives)).unwrap_or_default();
    let lines = api.host.transcript(&id, status.as_str().unwrap_or_default()).await?;
    let (total, from) = (lines.len() as u64, bounds.before.unwrap_or_default());
    let next = from.saturating_add(u64::from(bounds.limit));
    let skipped = usize::try_from(from).unwrap_or(usize::MAX);
    let items = lines.into_iter().skip(skipped).take(bounds.limit as usize).map(shortened).collect();
    let next_cursor = (next < total).then(|| PageBounds::cursor(next));
    Ok(JsonReply(TranscriptPage { items, next_cursor, total }))
}

/// Cuts the long texts of a line, and names their fields.
fn shortened(mut line: Value) -> Value {
    let mut cut = Vec::new();
    if let Value::Object(fields) = &mut line {
        for (name, value) in fields.iter_mut() {
            if shorten(value) {
                cut.push(name.clone());
            }
        }
    }
    if !cut.is_empty() {
        line["cut"] = json!(cut);
    }
    line
}

fn shorten(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => {
                text.truncate(end);
                true
            }
            None => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |cut, item| shorten(item) | cut),
        Value::Object(fields) => fields.values_mut().fold(false, |cut, field| shorten(field) | cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Shows a tool call with its whole input and output.
#[utoipa::path(get, path = "/v1/tasks/{id}/calls/{call}", tag = "results",
    params(("id" = String, Path), ("call" = String, Path)), responses((status = 200, body = CallRecord)))]
pub async fn call(
    State(api): State<ApiState>,
    SegmentPair(id, call): SegmentPair,
) -> RouteResult<JsonReply<CallRecord>> {
    let id = TaskId::from_store(id);
    let records = api.store.records(&id).await?;
    let key = CallKey::parse_idempotency_key(&format!("x/{call}")).map(|(_, key)| key);
    let found = key.and_then(|key| find_call(&id, &records, key));
    let unknown = || Error::new(ErrorCode::RouteNotFound, localized!("http-no-call", id, call));
    Ok(JsonReply(found.ok_or_else(unknown)?))
}

fn find_call(id: &TaskId, records: &[Record], key: CallKey) -> Option<CallRecord> {
    let asked = records.iter().rev().find_map(|record| match record {
        Record::Replied { reply, .. } => {
            reply.blocks.iter().filter_map(Block::as_call).find(|call| call.key == key)
        }
        _ => None,
    })?;
    let done = records.iter().rev().find_map(|record| match record {
        Record::Done { result, full_text, duration_ms, .. } if result.key == key => {
            Some((result, full_text, *duration_ms))
        }
        _ => None,
    });
    let arguments = match &asked.arguments {
        CallArguments::Object(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        CallArguments::Truncated(text) | CallArguments::Invalid(text, _) => json!({ "_text": text }),
    };
    Some(CallRecord {
        task_id: id.to_string(),
        call: key.to_string(),
        tool: asked.name.clone(),
        arguments,
        result: done.map(|(result, ..)| result.text.clone()),
        full_result: done.and_then(|(_, full, _)| full.clone()),
        is_error: done.is_some_and(|(result, ..)| result.is_error),
        in_doubt: done.is_some_and(|(result, ..)| result.in_doubt),
        duration_ms: done.map(|(.., millis)| millis),
        changed_files: done
            .map(|(result, ..)| result.changed.iter().map(|change| change.path.clone()).collect())
            .unwrap_or_default(),
    })
}

/// Shows the budget of a task and of everything below it.
#[utoipa::path(get, path = "/v1/tasks/{id}/budget", tag = "results", params(("id" = String, Path)),
    responses((status = 200, body = BudgetTree)))]
pub async fn budget(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
) -> RouteResult<JsonReply<BudgetTree>> {
    api.store.task(&id).await?;
    let rows = task_tree(&*api.store, &id).await?;
    let totals = api.store.subtree_totals(rows.iter().map(|row| row.id.clone()).collect()).await?;
    let mut accounts = Vec::with_capacity(rows.len());
    for (row, total) in rows.into_iter().zip(totals) {
        let first = api.store.records_from(&row.id, 0, 1).await?;
        let caps = match first.first().map(|stored| &stored.record) {
            Some(Record::Started(start)) => start.caps,
            _ => Default::default(),
        };
        let caps = [caps.input_tokens, caps.output_tokens, caps.cost_micros];
        let spent = spent_of(&total);
        accounts.push(BudgetAccount { row, caps, spent, reserved: [0; 3] });
    }
    reserve(&mut accounts);
    let mut owners = OwnerLooks::default();
    let nodes = accounts.iter().map(|account| account.node(&mut owners)).collect();
    Ok(JsonReply(BudgetTree { nodes }))
}

/// Amounts of input tokens, output tokens and millionths of a dollar.
type Amounts = [u64; 3];

struct BudgetAccount {
    row: TaskRow,
    caps: [Option<u64>; 3],
    /// Spent by the task and everything below it.
    spent: Amounts,
    reserved: Amounts,
}

fn spent_of(total: &SpendingTotal) -> Amounts {
    [total.input_tokens, total.output_tokens, total.cost_micros]
}

/// Sums up the open shares of running tasks at the nearest account above them that has a cap, or at the top.
fn reserve(accounts: &mut [BudgetAccount]) {
    let index: HashMap<TaskId, usize> =
        accounts.iter().enumerate().map(|(at, account)| (account.row.id.clone(), at)).collect();
    for at in 0..accounts.len() {
        if !accounts[at].row.state.is_running() {
            continue;
        }
        for kind in 0..3 {
            let Some(cap) = accounts[at].caps[kind] else { continue };
            let open = cap.saturating_sub(accounts[at].spent[kind]);
            let mut above = accounts[at].row.parent.clone();
            while let Some(parent) = above.and_then(|parent| index.get(&parent).copied()) {
                let account = &mut accounts[parent];
                account.reserved[kind] = account.reserved[kind].saturating_add(open);
                if account.caps[kind].is_some() {
                    break;
                }
                above = account.row.parent.clone();
            }
        }
    }
}

impl BudgetAccount {
    fn node(&self, owners: &mut OwnerLooks) -> BudgetNode {
        let lives = self.row.state.is_running() && owners.lives(&self.row);
        let left = |kind: usize| {
            let used = self.spent[kind].saturating_add(self.reserved[kind]);
            self.caps[kind].map(|cap| cap.saturating_sub(used))
        };
        let caps = |amount: &dyn Fn(usize) -> Option<u64>| BudgetBounds {
            input_tokens: amount(0),
            output_tokens: amount(1),
            cost_usd: amount(2).map(dollars),
        };
        let amounts = |of: &Amounts| BudgetAmounts {
            input_tokens: of[0],
            output_tokens: of[1],
            cost_usd: dollars(of[2]),
        };
        BudgetNode {
            task_id: self.row.id.to_string(),
            parent: self.row.parent.as_ref().map(TaskId::to_string),
            agent: self.row.agent.clone(),
            status: status_of(&self.row, lives),
            caps: caps(&|kind| self.caps[kind]),
            spent: amounts(&self.spent),
            reserved: amounts(&self.reserved),
            left: caps(&left),
        }
    }
}

/// Shows the changes of a task and everything below it.
#[utoipa::path(get, path = "/v1/tasks/{id}/diff", tag = "results", params(("id" = String, Path)),
    responses((status = 200, body = TaskChanges)))]
pub async fn diff(
    State(api): State<ApiState>,
    TaskPath(id): TaskPath,
) -> RouteResult<JsonReply<TaskChanges>> {
    let row = api.store.task(&id).await?;
    Ok(JsonReply(api.host.changes(&row).await?))
}
