//! `posse cost`: spending by agent, model, day or project.

use std::path::Path;
use std::process::ExitCode;

use posse_core::Result;
use posse_core::text::visible;
use posse_core::usage::{SpendingTotal, dollars};
use posse_git::project_of;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_store::{SpendingGroup, SpendingLine};
use serde_json::{Value, json};

use crate::args::{CostArgs, CostGroup, GlobalArgs};
use crate::columns::PaddedCell;
use crate::render::{price, tokens};
use crate::retention::millis;
use crate::{setup, terminal};

pub async fn run(global: &GlobalArgs, args: &CostArgs) -> Result<ExitCode> {
    let store = setup::store(global)?;
    let since_ms = args.since.map_or(0, |span| now_ms().saturating_sub(millis(span)));
    let mut lines = store.spending(group(args.by), since_ms).await?;
    if args.by == CostGroup::Project {
        lines = by_project(lines);
    }
    // Counted by workspace: a task that used two models, or worked on two days, is still one task.
    let tasks = store.spending(SpendingGroup::Workspace, since_ms).await?;
    let mut total = SpendingTotal::default();
    lines.iter().for_each(|line| total.add(&line.total));
    total.tasks = tasks.iter().map(|line| line.total.tasks).sum();
    if global.json {
        for line in &lines {
            terminal::out(&as_json(args.by.wire(), Some(&line.name), &line.total).to_string());
        }
        terminal::out(&as_json("total", None, &total).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    for line in &lines {
        let name = if line.name.is_empty() { say!("cost-no-name") } else { line.name.clone() };
        terminal::out(&format!(
            "{:>12} {:>9} {:>10} {:>14}  {}",
            PaddedCell(price(&line.total)),
            PaddedCell(say!("many-tasks", n = line.total.tasks)),
            PaddedCell(say!("many-turns", n = line.total.turns)),
            PaddedCell(tokens(line.total.tokens())),
            visible(&name)
        ));
    }
    let tasks = say!("many-tasks", n = total.tasks);
    terminal::note(&say!("tree-total", tasks, tokens = tokens(total.tokens()), price = price(&total)));
    if total.unpriced_tokens > 0 {
        terminal::note(&say!("cost-unpriced", tokens = tokens(total.unpriced_tokens)));
    }
    Ok(ExitCode::SUCCESS)
}

fn group(by: CostGroup) -> SpendingGroup {
    match by {
        CostGroup::Agent => SpendingGroup::Agent,
        CostGroup::Model => SpendingGroup::Model,
        CostGroup::Day => SpendingGroup::Day,
        CostGroup::Project => SpendingGroup::Workspace,
    }
}

/// Merges the workspaces of one project, most expensive project first.
fn by_project(lines: Vec<SpendingLine>) -> Vec<SpendingLine> {
    let (home, mut joined) = (setup::home(), Vec::<SpendingLine>::new());
    for line in lines {
        let name = match line.name.as_str() {
            "" => String::new(),
            workspace => project_of(Path::new(workspace), home.as_deref()).display().to_string(),
        };
        match joined.iter_mut().find(|project| project.name == name) {
            Some(project) => project.total.add(&line.total),
            None => joined.push(SpendingLine { name, ..line }),
        }
    }
    joined.sort_by_key(|project| std::cmp::Reverse(project.total.cost_micros));
    joined
}

fn as_json(by: &str, name: Option<&str>, total: &SpendingTotal) -> Value {
    json!({
        "by": by,
        "name": name.filter(|name| !name.is_empty()),
        "tasks": total.tasks,
        "turns": total.turns,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "cost_usd": total.cost_usd(),
        "known_cost_usd": dollars(total.cost_micros),
        "unpriced_tokens": total.unpriced_tokens,
    })
}
