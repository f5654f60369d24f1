//! Earlier conversations: finding them, listing them to choose from, and showing where one stopped.

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::journal::{Record, reply_text};
use posse_core::spans;
use posse_core::text::visible;
use posse_core::usage::SpendingTotal;
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::liveness;
use posse_runtime::ports::{Store, TaskQuery, TaskRow};
use posse_terminal::prompt::PickerEntry;
use posse_terminal::rows::figures;

use super::attach::typed;
use super::compact::REQUEST;
use super::thread::ChatMark;

/// Tasks that are looked through, newest first.
const ROWS_MAX: u32 = 5_000;
/// Conversations that are listed.
const CHATS_MAX: usize = 100;

/// Projects whose conversations are wanted.
#[derive(Clone, Copy)]
pub enum ChatScope<'a> {
    /// Conversations with a workspace for which this holds.
    Project(&'a dyn Fn(&str) -> bool),
    /// All.
    All,
}

/// A conversation in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownChat {
    /// Its task.
    pub row: TaskRow,
    /// First line of its first message.
    pub title: String,
    /// Directory in which it was begun.
    pub workspace: String,
    /// Sums over it and its subagents.
    pub total: SpendingTotal,
}

/// Lists conversations, the last used first.
pub async fn chats(store: &dyn Store, scope: ChatScope<'_>) -> Result<Vec<KnownChat>> {
    let mut rows = store.find_tasks(TaskQuery { limit: ROWS_MAX, ..TaskQuery::default() }).await?;
    rows.retain(|row| row.parent.is_none());
    rows.sort_by_key(|row| std::cmp::Reverse(row.updated_ms));
    let mut found = Vec::new();
    for row in rows {
        if found.len() == CHATS_MAX {
            break;
        }
        let first = store.records_from(&row.id, 0, 1).await?;
        let Some(Record::Started(start)) = first.first().map(|stored| &stored.record) else { continue };
        let is_wanted = match scope {
            ChatScope::Project(is_here) => is_here(start.origin()),
            ChatScope::All => true,
        };
        if !is_wanted || ChatMark::of(start).is_none() {
            continue;
        }
        let total = store.tree_total(&row.id).await?;
        let (title, workspace) = (first_line(typed(&start.task)), start.origin().to_owned());
        found.push(KnownChat { row, title, workspace, total });
    }
    Ok(found)
}

/// Finds the conversation that was used last.
pub async fn newest_chat(store: &dyn Store, scope: ChatScope<'_>) -> Result<Option<TaskId>> {
    Ok(chats(store, scope).await?.into_iter().next().map(|chat| chat.row.id))
}

impl KnownChat {
    /// Returns the row of a list to choose from. `project` is empty unless several projects are listed.
    pub(super) fn entry(&self, project: String) -> PickerEntry {
        let Self { row, title, total, .. } = self;
        let age = spans::short(now_ms().saturating_sub(row.updated_ms) / 1_000);
        let state = match row.state.is_running() {
            true if liveness::lives(row) => say!("chat-state-open"),
            true => say!("chat-state-interrupted"),
            false => String::new(),
        };
        let cost = (total.unpriced_tokens == 0).then_some(total.cost_micros);
        PickerEntry {
            key: row.id.to_string(),
            age: say!("chat-age", age),
            title: title.clone(),
            state,
            figures: vec![say!("chat-turns", n = row.turns()), figures::cost(cost)],
            project,
        }
    }
}

/// The last message of a conversation and what was said to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastExchange {
    /// Text that the person typed.
    pub(super) message: String,
    /// Text of the replies.
    pub(super) reply: String,
}

/// Finds the last exchange in a journal. A request for a summary was not typed by the person.
pub(super) fn last_exchange(records: &[Record]) -> LastExchange {
    let mut last = LastExchange::default();
    let mut is_typed = true;
    for record in records {
        match record {
            Record::Started(start) => last = LastExchange::of(&start.task),
            Record::Said { text, .. } => {
                is_typed = text != REQUEST;
                if is_typed {
                    last = LastExchange::of(text);
                }
            }
            _ if !is_typed => {}
            Record::Replied { reply, .. } => last.add(&reply_text(reply)),
            Record::Unanswered { said, .. } => last.add(said),
            _ => {}
        }
    }
    last
}

impl LastExchange {
    fn of(message: &str) -> Self {
        Self { message: typed(message).to_owned(), reply: String::new() }
    }

    fn add(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let gap = if self.reply.is_empty() { "" } else { "\n\n" };
            self.reply.push_str(&format!("{gap}{}", text.trim_end()));
        }
    }
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    visible(posse_core::text::prefix(line.trim(), 200)).into_owned()
}
