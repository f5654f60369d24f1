//! Spending of projects.

use std::path::Path;

use posse_core::usage::{SpendingTotal, dollars};
use posse_git::project_of;
use posse_store::SpendingLine;
use serde_json::{Value, json};

/// Merges the workspaces of one project, most expensive project first.
pub fn by_project(lines: Vec<SpendingLine>, home: Option<&Path>) -> Vec<SpendingLine> {
    let mut joined = Vec::<SpendingLine>::new();
    for line in lines {
        let name = match line.name.as_str() {
            "" => String::new(),
            workspace => project_of(Path::new(workspace), home).display().to_string(),
        };
        match joined.iter_mut().find(|project| project.name == name) {
            Some(project) => {
                project.total.add(&line.total);
                project.cached_tokens += line.cached_tokens;
            }
            None => joined.push(SpendingLine { name, ..line }),
        }
    }
    joined.sort_by_key(|project| std::cmp::Reverse(project.total.cost_micros));
    joined
}

/// Formats spending for programs.
pub fn spending_json(by: &str, name: Option<&str>, total: &SpendingTotal) -> Value {
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
