//! `posse cost`: spending by agent, model, day or project.

use std::process::ExitCode;

use posse_core::Result;
use posse_core::text::visible;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_setup::spending::{by_project, spending_json};
use posse_store::{SpendingGroup, SpendingLine};
use posse_terminal::table::{ColumnFit, TableCell, TableColumn, TextTable};
use serde_json::json;

use crate::args::{CostArgs, CostGroup, GlobalArgs};
use crate::render::{count, price, tokens};
use crate::retention::millis;
use crate::{lists, setup, terminal};

pub async fn run(global: &GlobalArgs, args: &CostArgs) -> Result<ExitCode> {
    let store = setup::store_to_read(global)?;
    let since_ms = args.since.map_or(0, |span| now_ms().saturating_sub(millis(span)));
    let mut lines = store.spending(group(args.by), since_ms).await?;
    if args.by == CostGroup::Project {
        lines = by_project(lines, setup::home().as_deref());
    }
    // Counted by workspace: a task that used two models, or worked on two days, is still one task.
    let tasks = store.spending(SpendingGroup::Workspace, since_ms).await?;
    let mut total = SpendingTotal::default();
    lines.iter().for_each(|line| total.add(&line.total));
    total.tasks = tasks.iter().map(|line| line.total.tasks).sum();
    if global.json {
        for line in &lines {
            let mut value = spending_json(args.by.wire(), Some(&line.name), &line.total);
            value["cached_tokens"] = json!(line.cached_tokens);
            terminal::out(&value.to_string());
        }
        let mut value = spending_json("total", None, &total);
        value["cached_tokens"] = json!(lines.iter().map(|line| line.cached_tokens).sum::<u64>());
        terminal::out(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    lists::print(&table(args.by, &lines, &total));
    if total.unpriced_tokens > 0 {
        terminal::note(&say!("cost-unpriced", tokens = tokens(total.unpriced_tokens)));
    }
    terminal::note("--since 7d · --by agent|model|day|project|task");
    Ok(ExitCode::SUCCESS)
}

fn table(by: CostGroup, lines: &[SpendingLine], total: &SpendingTotal) -> TextTable {
    let key = match by {
        CostGroup::Agent => say!("column-agent"),
        CostGroup::Model => say!("column-model"),
        CostGroup::Day => say!("column-day"),
        CostGroup::Project => say!("column-project"),
        CostGroup::Task => say!("column-task"),
    };
    let mut table = TextTable::new(vec![
        TableColumn::text(key, ColumnFit::Flexible(16)),
        TableColumn::number(say!("column-tasks"), ColumnFit::Optional(2)),
        TableColumn::number(say!("column-turns"), ColumnFit::Optional(4)),
        TableColumn::number(say!("column-input"), ColumnFit::Optional(1)),
        TableColumn::number(say!("column-cached"), ColumnFit::Optional(3)),
        TableColumn::number(say!("column-output"), ColumnFit::Optional(0)),
        TableColumn::number(say!("column-cost"), ColumnFit::Fixed),
    ]);
    let cells = |name: String, total: &SpendingTotal, cached: u64| -> Vec<TableCell> {
        let share = match total.input_tokens {
            0 => String::new(),
            input => format!("{:.0}%", cached as f64 * 100.0 / input as f64),
        };
        vec![
            visible(&name).into_owned().into(),
            total.tasks.to_string().into(),
            total.turns.to_string().into(),
            count(total.input_tokens).into(),
            share.into(),
            count(total.output_tokens).into(),
            price(total).into(),
        ]
    };
    for line in lines {
        let name = if line.name.is_empty() { say!("cost-no-name") } else { line.name.clone() };
        table.row(cells(name, &line.total, line.cached_tokens));
    }
    table.row(cells(say!("cost-total"), total, lines.iter().map(|line| line.cached_tokens).sum()));
    table
}

fn group(by: CostGroup) -> SpendingGroup {
    match by {
        CostGroup::Agent => SpendingGroup::Agent,
        CostGroup::Model => SpendingGroup::Model,
        CostGroup::Day => SpendingGroup::Day,
        CostGroup::Project => SpendingGroup::Workspace,
        CostGroup::Task => SpendingGroup::Session,
    }
}
