//! Commands that only look at the conversation, and its transcript.

use std::collections::BTreeMap;
use std::path::PathBuf;

use posse_core::journal::Record;
use posse_core::text::{prefix, visible};
use posse_core::usage::SpendingTotal;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::liveness;
use posse_runtime::ports::{TaskFilter, TaskQuery, TaskRow};
use posse_terminal::prompt::MenuEntry;
use posse_terminal::rows::figures;
use posse_terminal::style::{AnsiColor, StyledLine, TextStyle};
use posse_terminal::table::{ColumnFit, TableColumn, TextTable};

use super::super::commands::ChatCommand;
use super::super::host::ChatHost;
use super::super::{context, export};
use super::ChatTalk;

/// Lines of a diff that are printed; `posse tasks diff` prints all.
const DIFF_LINES_MAX: usize = 400;
/// Smallest width of a column that gives way.
const TEXT_COLUMNS_MIN: usize = 12;

impl<H: ChatHost> ChatTalk<H> {
    /// Serves a command that changes nothing.
    pub(super) async fn look(&mut self, command: ChatCommand) -> Result<()> {
        match command {
            ChatCommand::Agents => self.list_agents(),
            ChatCommand::Cost => self.list_costs().await?,
            ChatCommand::Diff => self.show_diff().await?,
            ChatCommand::Tasks => self.list_tasks().await?,
            _ => self.list_commands(),
        }
        Ok(())
    }

    fn print_table(&mut self, table: &TextTable) {
        let (width, symbols) = (self.screen.columns().saturating_sub(3), self.screen.symbols());
        let indented = |line: &StyledLine| {
            let mut row = StyledLine::plain("  ");
            row.extend(line);
            row
        };
        self.screen.print(table.lines(Some(width), symbols).iter().map(indented).collect());
    }

    fn list_agents(&mut self) {
        let mut table = TextTable::new(vec![
            TableColumn::text(say!("chat-column-agent"), ColumnFit::Fixed),
            TableColumn::text(say!("chat-column-does"), ColumnFit::Flexible(TEXT_COLUMNS_MIN)),
        ]);
        for (name, description) in self.host.agents() {
            table.row(vec![name.into(), one_line(&description).into()]);
        }
        self.print_table(&table);
    }

    fn list_commands(&mut self) {
        let shell = MenuEntry::new(say!("chat-shell-word"), say!("chat-does-shell"));
        let lines = ChatCommand::menu().into_iter().chain([shell]).map(|entry| {
            let mut line = StyledLine::plain(format!("  {}", entry.value));
            line.pad_to(13);
            line.push(&entry.note, TextStyle::PLAIN);
            line
        });
        let lines = lines.collect();
        self.screen.print(lines);
    }

    async fn rows(&self) -> Result<Vec<TaskRow>> {
        let of = TaskFilter::Session(self.thread.session().to_owned());
        let mut rows = self.host.store().find_tasks(TaskQuery::of(of)).await?;
        rows.reverse();
        Ok(rows)
    }

    async fn list_tasks(&mut self) -> Result<()> {
        let rows = self.rows().await?;
        if rows.is_empty() {
            self.screen.note(&say!("chat-no-tasks"));
            return Ok(());
        }
        let mut table = TextTable::new(vec![
            TableColumn::text(say!("chat-column-id"), ColumnFit::Fixed),
            TableColumn::text(say!("chat-column-state"), ColumnFit::Fixed),
            TableColumn::text(say!("chat-column-agent"), ColumnFit::Optional(1)),
            TableColumn::text(say!("chat-column-task"), ColumnFit::Flexible(TEXT_COLUMNS_MIN)),
            TableColumn::number(say!("chat-column-turns"), ColumnFit::Optional(2)),
            TableColumn::number(say!("chat-column-cost"), ColumnFit::Fixed),
        ]);
        for row in rows {
            let is_left = row.state.is_running() && !liveness::lives(&row);
            let state = if is_left { say!("chat-state-interrupted") } else { row.state.wire().to_owned() };
            table.row(vec![
                row.id.short().to_owned().into(),
                state.into(),
                row.agent.clone().into(),
                one_line(&row.title).into(),
                row.turns().to_string().into(),
                price(&row.total).into(),
            ]);
        }
        self.print_table(&table);
        Ok(())
    }

    /// Shows the cost by agent and model.
    async fn list_costs(&mut self) -> Result<()> {
        let (store, mut sums, mut whole) = (self.host.store(), BTreeMap::new(), SpendingTotal::default());
        for row in self.rows().await? {
            let first = store.records_from(&row.id, 0, 1).await?;
            let model = match first.first().map(|stored| &stored.record) {
                Some(Record::Started(start)) => start.agent.model.clone(),
                _ => String::new(),
            };
            let sum: &mut SpendingTotal = sums.entry((row.agent.clone(), model)).or_default();
            sum.add(&row.total);
            whole.add(&row.total);
        }
        if sums.is_empty() {
            self.screen.note(&say!("chat-no-tasks"));
            return Ok(());
        }
        let mut table = TextTable::new(vec![
            TableColumn::text(say!("chat-column-agent"), ColumnFit::Fixed),
            TableColumn::text(say!("chat-column-model"), ColumnFit::Flexible(TEXT_COLUMNS_MIN)),
            TableColumn::number(say!("chat-column-tasks"), ColumnFit::Optional(1)),
            TableColumn::number(say!("chat-column-input"), ColumnFit::Fixed),
            TableColumn::number(say!("chat-column-output"), ColumnFit::Fixed),
            TableColumn::number(say!("chat-column-cost"), ColumnFit::Fixed),
        ]);
        let is_several = sums.len() > 1;
        let total = is_several.then(|| ((say!("chat-column-total"), String::new()), whole));
        for ((agent, model), sum) in sums.into_iter().chain(total) {
            table.row(vec![
                agent.into(),
                visible(&model).into_owned().into(),
                sum.tasks.to_string().into(),
                figures::count(sum.input_tokens).into(),
                figures::count(sum.output_tokens).into(),
                price(&sum).into(),
            ]);
        }
        self.print_table(&table);
        Ok(())
    }

    async fn show_diff(&mut self) -> Result<()> {
        let Some(id) = self.thread.id().cloned() else {
            self.screen.note(&say!("chat-no-change"));
            return Ok(());
        };
        let diffs = self.host.diff(&id).await?;
        if diffs.trim().is_empty() {
            self.screen.note(&say!("chat-no-change"));
        }
        let mut lines: Vec<StyledLine> = diffs.lines().take(DIFF_LINES_MAX).map(diff_line).collect();
        if diffs.lines().count() > DIFF_LINES_MAX {
            lines.push(StyledLine::plain(say!("chat-diff-cut", id)));
        }
        self.screen.print(lines);
        Ok(())
    }

    pub(super) fn show_context(&mut self) {
        let (width, symbols) = (self.screen.columns(), self.screen.symbols());
        let lines = context::lines(&self.status.context, &self.status.model, width, symbols);
        self.screen.print(lines);
        self.screen.note(&format!("  {}", say!("chat-context-hint")));
    }

    /// Writes the transcript to a file of the workspace.
    pub(super) async fn export(&mut self, file: &str) -> Result<()> {
        let Some(id) = self.thread.id().cloned() else {
            self.screen.note(&say!("chat-no-tasks"));
            return Ok(());
        };
        let store = self.host.store();
        let (row, records) = (store.task(&id).await?, store.records(&id).await?);
        let name = if file.is_empty() { format!("chat-{}.md", id.short()) } else { file.to_owned() };
        let path: PathBuf = self.host.workspace().join(&name);
        let shown = visible(&name).into_owned();
        let (text, target) = (export::markdown(&row, &records), path.clone());
        let written = tokio::task::spawn_blocking(move || export::write(&target, &text)).await;
        let written = written.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        if let Err(e) = written {
            let error = Error::new(ErrorCode::Io, say!("chat-not-exported", file = shown, why = e));
            return Err(error.hint(say!("chat-not-exported-hint")));
        }
        self.screen.note(&say!("chat-exported", file = shown));
        Ok(())
    }
}

fn price(total: &SpendingTotal) -> String {
    figures::cost((total.unpriced_tokens == 0).then_some(total.cost_micros))
}

fn one_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    visible(prefix(line.trim(), 200)).into_owned()
}

fn diff_line(line: &str) -> StyledLine {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => TextStyle::BOLD,
        [b'+', ..] => TextStyle::colored(AnsiColor::Green),
        [b'-', ..] => TextStyle::colored(AnsiColor::Red),
        [b'@', b'@', ..] => TextStyle::colored(AnsiColor::Cyan),
        _ => TextStyle::PLAIN,
    };
    let mut out = StyledLine::new();
    out.push(&visible(line).replace('\t', "    "), style);
    out
}
