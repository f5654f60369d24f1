//! Calls that wait for approval, in lists.

use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalState, ApprovalVerdict, ParkedCall, gist,
};
use posse_core::context::wire::utc;
use posse_core::spans;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_terminal::columns::cut;
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};

use super::age;

/// Lists calls as a table.
pub fn approval_table(found: &[ParkedCall]) -> TextTable {
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

/// Formats one line: enough to identify the call, not enough to decide on it.
pub fn approval_line(parked: &ParkedCall) -> String {
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

/// Formats the time left, such as `denied automatically in 10 min`.
fn time_left(request: &ApprovalRequest) -> String {
    let left = spans::in_words(request.deadline_ms.saturating_sub(now_ms()) / 1000);
    match request.on_deadline {
        ApprovalVerdict::Approve => say!("approved-in", left),
        ApprovalVerdict::Deny => say!("denied-in", left),
    }
}

/// Says what became of a call.
pub fn state_text(parked: &ParkedCall) -> String {
    match &parked.state {
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
    }
}
