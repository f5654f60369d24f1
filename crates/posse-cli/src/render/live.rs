//! Live tree: one line per task, redrawn in place.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_core::event::{Event, EventEntry};
use posse_core::id::TaskId;
use posse_core::outcome::OutcomeStatus;
use posse_core::streamed::StreamedText;
use posse_core::text::{prefix, visible};
use posse_core::tool::{DELEGATION, canonical};
use posse_core::usage::{SpendingTotal, Usage};
use posse_messages::say;
use posse_runtime::ports::{Delta, Observer};

use super::{changed, plain, price, tokens};
use crate::columns::{PaddedCell, cut};
use crate::terminal;

/// Frame interval: often enough to look alive, seldom enough to cost nothing.
const FRAME: Duration = Duration::from_millis(100);
/// Longer than a line.
const SAID_MAX: usize = 200;
/// Longest beginning of streamed arguments: their subject stands first.
const ARGUMENTS_MAX: usize = 2_000;

pub struct LiveTree(Mutex<TreeScreen>);

struct TreeScreen {
    title: String,
    rows: BTreeMap<TaskId, TreeRow>,
    /// Number of terminal lines that belong to the tree.
    drawn: usize,
    last: Instant,
    frame: usize,
    /// Notes held back while a prompt owns the terminal; `None` while the tree is drawn.
    held: Option<Vec<String>>,
}

struct TreeRow {
    agent: String,
    turn: u32,
    turns_max: u32,
    tools: u32,
    usage: Usage,
    doing: String,
    /// Beginning of the model's last message, shown for a finished task.
    said: String,
    /// Delegation call being streamed: index, tool and the beginning of its arguments.
    asking: Option<(usize, String, String)>,
    began: Instant,
    took: Option<Duration>,
    /// True while it waits for approval.
    asks: bool,
    status: Option<OutcomeStatus>,
}

impl LiveTree {
    pub fn new(title: &str) -> Self {
        let title = visible(title.lines().next().unwrap_or_default()).into_owned();
        Self(Mutex::new(TreeScreen {
            title,
            rows: BTreeMap::new(),
            drawn: 0,
            last: Instant::now() - FRAME,
            frame: 0,
            held: None,
        }))
    }

    /// Draws the tree a last time and leaves it on the screen.
    pub fn finish(&self) {
        self.go_on();
        let mut screen = self.lock();
        screen.draw();
        screen.drawn = 0;
    }

    /// Redraws spinner and clock between events.
    pub async fn tick(&self) {
        loop {
            tokio::time::sleep(FRAME).await;
            self.lock().draw();
        }
    }

    /// Prints a line above the tree.
    pub fn note(&self, text: &str) {
        let mut screen = self.lock();
        if let Some(held) = &mut screen.held {
            return held.push(text.to_owned());
        }
        screen.clear();
        terminal::note(text);
        screen.draw();
    }

    /// Yields the terminal to a prompt.
    pub fn pause(&self) {
        let mut screen = self.lock();
        screen.clear();
        screen.held.get_or_insert_default();
    }

    pub fn go_on(&self) {
        let held = self.lock().held.take();
        held.into_iter().flatten().for_each(|text| self.note(&text));
    }

    fn lock(&self) -> MutexGuard<'_, TreeScreen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for LiveTree {
    fn event(&self, EventEntry { task_id: task, event, .. }: &EventEntry) {
        if let Event::Queued { .. } = event {
            return;
        }
        let mut screen = self.lock();
        screen.take(task, event);
        if screen.last.elapsed() >= FRAME {
            screen.draw();
        }
        drop(screen);
        traces(event).iter().for_each(|line| self.note(&format!("{}: {line}", task.short())));
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        let mut screen = self.lock();
        let Some(row) = screen.rows.get_mut(task) else { return };
        row.doing = match delta {
            Delta::Text(text) => {
                row.said.push_str(prefix(text, SAID_MAX.saturating_sub(row.said.len())));
                say!("live-writing")
            }
            Delta::Thinking(_) => say!("live-thinking"),
            Delta::ToolCall { index, name } => {
                row.asking = (canonical(name) == DELEGATION).then(|| (index, name.to_owned(), String::new()));
                say!("asking-for", name)
            }
            Delta::ToolArguments { index, fragment } => match row.delegating(index, fragment) {
                Some(doing) => doing,
                None => return,
            },
            Delta::Restarted { why, wait, .. } => {
                row.said.clear();
                say!("live-retry", why, seconds = wait.as_secs().max(1))
            }
            Delta::Paused { .. } => return,
        };
    }
}

/// Lines that stay on the screen after the tree has moved on: failures, changed files, notes.
fn traces(event: &Event) -> Vec<String> {
    match event {
        Event::Noted { note } => vec![visible(note).into_owned()],
        Event::ToolRefused { .. }
        | Event::ToolFinished { .. }
        | Event::ModelFailed { .. }
        | Event::Verified { .. } => {
            let said = plain::line(event).map(|line| visible(&line).into_owned());
            said.into_iter().chain(changed(event, terminal::colours())).collect()
        }
        _ => Vec::new(),
    }
}

impl TreeRow {
    /// Describes the delegation that the model is writing, as far as it is streamed.
    fn delegating(&mut self, index: usize, fragment: &str) -> Option<String> {
        let (_, name, arguments) = self.asking.as_mut().filter(|(at, ..)| *at == index)?;
        arguments.push_str(prefix(fragment, ARGUMENTS_MAX.saturating_sub(arguments.len())));
        let StreamedText { description, prompt, .. } = StreamedText::of(arguments);
        let about = description.or(prompt)?.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(format!("{}: {}", say!("asking-for", name = name.as_str()), prefix(&about, SAID_MAX)))
    }
}

impl TreeScreen {
    fn take(&mut self, task: &TaskId, event: &Event) {
        let row = self.rows.entry(task.clone()).or_insert_with(|| TreeRow {
            agent: "task".to_owned(),
            turn: 0,
            turns_max: 0,
            tools: 0,
            usage: Usage::default(),
            doing: String::new(),
            said: String::new(),
            asking: None,
            began: Instant::now(),
            took: None,
            asks: false,
            status: None,
        });
        match event {
            Event::Started { agent, .. } => row.agent.clone_from(agent),
            Event::Resumed { agent, turns, turns_max, tool_calls, usage, .. } => {
                row.agent.clone_from(agent);
                (row.turn, row.turns_max, row.tools, row.usage) = (*turns, *turns_max, *tool_calls, *usage);
                row.doing = say!("live-resumed");
            }
            Event::TurnStarted { turn, turns_max } => {
                (row.turn, row.turns_max) = (*turn, *turns_max);
                row.said.clear();
                row.doing = say!("waiting-for-model");
            }
            Event::Replied { usage, .. } => row.usage.add(usage),
            Event::ToolStarted { tool, summary, .. } => {
                row.tools += 1;
                row.doing = format!("{tool} {summary}");
            }
            Event::ApprovalRequested { tool, summary, approval, .. } => {
                row.asks = true;
                row.doing = say!("approval-waits", approval, call = format!("{tool} {summary}"));
            }
            Event::ApprovalResolved { .. } => {
                row.asks = false;
                row.doing.clear();
            }
            Event::ToolFinished { tool, why: Some(why), .. } => row.doing = say!("tool-failed", tool, why),
            Event::WrappingUp { .. } => row.doing = say!("live-reporting"),
            Event::Verifying { command } => row.doing = say!("plain-verify", command),
            Event::Verified { command, passed: false, ending, .. } => {
                row.doing = say!("verify-failing", command, ending);
            }
            Event::Finished { status, turns, tool_calls, usage, .. } => {
                (row.status, row.turn, row.tools, row.usage) = (Some(*status), *turns, *tool_calls, *usage);
                row.took = Some(row.began.elapsed());
                row.doing = match status {
                    OutcomeStatus::Completed => row.said.lines().next().unwrap_or_default().to_owned(),
                    OutcomeStatus::Partial | OutcomeStatus::Failed | OutcomeStatus::Cancelled => {
                        status.wire().to_owned()
                    }
                };
            }
            Event::Queued { .. }
            | Event::Noted { .. }
            | Event::ModelRetry { .. }
            | Event::Waiting { .. }
            | Event::ModelFailed { .. }
            | Event::ToolRefused { .. }
            | Event::ToolFinished { .. }
            | Event::Verified { .. }
            | Event::Elided { .. } => {}
        }
    }

    fn draw(&mut self) {
        if self.held.is_some() {
            return;
        }
        let width = terminal::width();
        let colours = terminal::colours();
        self.frame += 1;
        self.last = Instant::now();
        let last = self.rows.len().saturating_sub(1);
        let lines: Vec<String> = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, (task, row))| {
                let branch = match at {
                    0 => "",
                    _ if at == last => "└─ ",
                    _ => "├─ ",
                };
                let label =
                    if at == 0 { row.agent.clone() } else { format!("{} {}", row.agent, task.short()) };
                let title = if at == 0 { self.title.as_str() } else { "" };
                row.line(branch, &label, title, self.frame, width, colours)
            })
            .collect();
        let lines: Vec<String> =
            lines.into_iter().chain(self.total().map(|total| cut(&total, width.saturating_sub(1)))).collect();
        self.clear();
        let mut stderr = std::io::stderr().lock();
        for line in &lines {
            let _ = writeln!(stderr, "{line}");
        }
        self.drawn = lines.len();
    }

    /// Formats the sums of a tree with more than one task.
    fn total(&self) -> Option<String> {
        let mut total = SpendingTotal::default();
        self.rows.values().for_each(|row| total.add(&row.total()));
        (self.rows.len() > 1).then(|| {
            let tasks = say!("many-tasks", n = total.tasks);
            say!("tree-total", tasks, tokens = tokens(total.tokens()), price = price(&total))
        })
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\x1b[{}F\x1b[0J", self.drawn);
            self.drawn = 0;
        }
    }
}

impl TreeRow {
    fn total(&self) -> SpendingTotal {
        self.usage.spending(self.turn)
    }

    fn line(
        &self,
        branch: &str,
        label: &str,
        title: &str,
        frame: usize,
        width: usize,
        colours: bool,
    ) -> String {
        const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];
        let (mark, colour) = match self.status {
            None if self.asks => ("?", "33"),
            None => (SPINNER[frame % SPINNER.len()], "36"),
            Some(OutcomeStatus::Completed) => ("✓", "32"),
            Some(OutcomeStatus::Partial) => ("◐", "33"),
            Some(OutcomeStatus::Failed | OutcomeStatus::Cancelled) => ("✗", "31"),
        };
        let turns = match self.status {
            // No request was made yet.
            None if self.turns_max == 0 => String::new(),
            None => say!("live-turn", turn = self.turn, turns_max = self.turns_max),
            Some(_) => say!("many-turns", n = self.turn),
        };
        let took = self.took.unwrap_or_else(|| self.began.elapsed()).as_secs_f64();
        let what = if self.doing.is_empty() { title } else { &self.doing };
        let label_width = 21 - branch.chars().count();
        let plain = format!(
            "{branch}{mark} {label:<label_width$} {:<11} {:>9} {:>13} {:>9} {took:>5.1}s  {}",
            PaddedCell(turns),
            PaddedCell(say!("live-tools", n = self.tools)),
            PaddedCell(tokens(self.usage.total())),
            PaddedCell(price(&self.total())),
            visible(what)
        );
        let cut = cut(&plain, width.saturating_sub(1));
        if colours { cut.replacen(mark, &format!("\x1b[{colour}m{mark}\x1b[0m"), 1) } else { cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R390
    #[test]
    fn what_is_about_to_be_delegated_is_shown_while_it_is_written() {
        let (live, task) = (LiveTree::new("title"), TaskId::root("s1"));
        let event = Event::TurnStarted { turn: 1, turns_max: 5 };
        live.event(&EventEntry { v: 1, seq: 1, task_id: task.clone(), at_ms: 0, event });
        let doing = || live.lock().rows[&task].doing.clone();
        live.delta(&task, Delta::ToolCall { index: 0, name: "subagent" });
        assert_eq!(doing(), "asking for subagent");
        for (fragment, shown) in [
            (r#"{"descr"#, "asking for subagent"),
            (r#"iption": "Analyze the"#, "asking for subagent: Analyze the"),
            (r#" auth\n code", "prompt": "Look"#, "asking for subagent: Analyze the auth code"),
        ] {
            live.delta(&task, Delta::ToolArguments { index: 0, fragment });
            assert_eq!(doing(), shown);
        }
        live.delta(&task, Delta::ToolCall { index: 1, name: "write" });
        live.delta(&task, Delta::ToolArguments { index: 1, fragment: r#"{"description": "secret"}"# });
        assert_eq!(doing(), "asking for write");
    }
}
