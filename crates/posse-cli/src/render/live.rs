//! The live tree: one line per task, drawn again in place.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::outcome::Status;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::{Delta, Observer};

use super::{Thing, many, tokens};
use crate::terminal;

/// Often enough to look alive, seldom enough to cost nothing.
const FRAME: Duration = Duration::from_millis(100);
/// More than fits on a line.
const SAID_MAX: usize = 200;

pub struct Live(Mutex<Screen>);

struct Screen {
    title: String,
    rows: BTreeMap<TaskId, Row>,
    /// Lines on the terminal that belong to the tree.
    drawn: usize,
    last: Instant,
    frame: usize,
}

struct Row {
    agent: String,
    turn: u32,
    turns_max: u32,
    tools: u32,
    tokens: u64,
    doing: String,
    /// How the model's last message begins: what a finished task has to say.
    said: String,
    began: Instant,
    took: Option<Duration>,
    status: Option<Status>,
}

impl Live {
    pub fn new(title: &str) -> Self {
        let title = visible(title.lines().next().unwrap_or_default()).into_owned();
        Self(Mutex::new(Screen {
            title,
            rows: BTreeMap::new(),
            drawn: 0,
            last: Instant::now() - FRAME,
            frame: 0,
        }))
    }

    /// Draws the tree a last time and leaves it there.
    pub fn finish(&self) {
        let mut screen = self.lock();
        screen.draw();
        screen.drawn = 0;
    }

    /// Keeps the spinner and the clock going while nothing happens.
    pub async fn tick(&self) {
        loop {
            tokio::time::sleep(FRAME).await;
            self.lock().draw();
        }
    }

    /// Prints a line above the tree.
    pub fn note(&self, text: &str) {
        let mut screen = self.lock();
        screen.clear();
        terminal::note(text);
        screen.draw();
    }

    fn lock(&self) -> MutexGuard<'_, Screen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Live {
    fn event(&self, task: &TaskId, event: &Event) {
        let mut screen = self.lock();
        screen.take(task, event);
        if screen.last.elapsed() >= FRAME {
            screen.draw();
        }
        drop(screen);
        match event {
            Event::Noted { note } => self.note(&format!("{}: {}", task.short(), visible(note))),
            Event::ToolRefused { tool, why, .. } => {
                self.note(&format!(
                    "{}: {}",
                    task.short(),
                    say!("plain-refused", tool = visible(tool), why = visible(why))
                ));
            }
            _ => {}
        }
    }

    fn delta(&self, task: &TaskId, delta: Delta<'_>) {
        let mut screen = self.lock();
        let Some(row) = screen.rows.get_mut(task) else { return };
        row.doing = match delta {
            Delta::Text(text) => {
                row.said.push_str(posse_core::text::prefix(text, SAID_MAX.saturating_sub(row.said.len())));
                say!("live-writing")
            }
            Delta::Thinking(_) => say!("live-thinking"),
            Delta::ToolCall { name, .. } => say!("asking-for", name),
            Delta::ToolArguments { .. } => return,
            Delta::Restarted { why, wait } => {
                row.said.clear();
                say!("live-retry", why, seconds = wait.as_secs().max(1))
            }
        };
    }
}

impl Screen {
    fn take(&mut self, task: &TaskId, event: &Event) {
        let row = self.rows.entry(task.clone()).or_insert_with(|| Row {
            agent: "task".to_owned(),
            turn: 0,
            turns_max: 0,
            tools: 0,
            tokens: 0,
            doing: String::new(),
            said: String::new(),
            began: Instant::now(),
            took: None,
            status: None,
        });
        match event {
            Event::Started { agent, .. } => row.agent.clone_from(agent),
            Event::Resumed { agent, .. } => {
                row.agent.clone_from(agent);
                row.doing = say!("live-resumed");
            }
            Event::TurnStarted { turn, turns_max } => {
                (row.turn, row.turns_max) = (*turn, *turns_max);
                row.said.clear();
                row.doing = say!("waiting-for-model");
            }
            Event::Replied { usage, .. } => row.tokens += usage.total(),
            Event::ToolStarted { tool, summary, .. } => {
                row.tools += 1;
                row.doing = format!("{tool} {summary}");
            }
            Event::ToolFinished { tool, why: Some(why), .. } => row.doing = say!("tool-failed", tool, why),
            Event::WrappingUp { .. } => row.doing = say!("live-reporting"),
            Event::Verifying { command } => row.doing = say!("plain-verify", command),
            Event::Verified { command, passed: false, ending, .. } => {
                row.doing = say!("verify-failing", command, ending);
            }
            Event::Finished { status, turns, .. } => {
                (row.status, row.turn) = (Some(*status), *turns);
                row.took = Some(row.began.elapsed());
                row.doing = match status {
                    Status::Completed => row.said.lines().next().unwrap_or_default().to_owned(),
                    Status::Partial | Status::Failed | Status::Cancelled => status.wire().to_owned(),
                };
            }
            Event::Noted { .. }
            | Event::ModelFailed { .. }
            | Event::ToolRefused { .. }
            | Event::ToolFinished { .. }
            | Event::Verified { .. }
            | Event::Elided { .. } => {}
        }
    }

    fn draw(&mut self) {
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
        self.clear();
        let mut stderr = std::io::stderr().lock();
        for line in &lines {
            let _ = writeln!(stderr, "{line}");
        }
        self.drawn = lines.len();
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\x1b[{}F\x1b[0J", self.drawn);
            self.drawn = 0;
        }
    }
}

impl Row {
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
            None => (SPINNER[frame % SPINNER.len()], "36"),
            Some(Status::Completed) => ("✓", "32"),
            Some(Status::Partial) => ("◐", "33"),
            Some(Status::Failed | Status::Cancelled) => ("✗", "31"),
        };
        let turns = match self.status {
            None => say!("live-turn", turn = self.turn, turns_max = self.turns_max),
            Some(_) => many(self.turn, Thing::Turn),
        };
        let took = self.took.unwrap_or_else(|| self.began.elapsed()).as_secs_f64();
        let what = if self.doing.is_empty() { title } else { &self.doing };
        let label_width = 21 - branch.chars().count();
        let plain = format!(
            "{branch}{mark} {label:<label_width$} {turns:<11} {:>9} {:>13} {took:>5.1}s  {}",
            say!("live-tools", n = self.tools),
            tokens(self.tokens),
            visible(what)
        );
        let cut: String = plain.chars().take(width.saturating_sub(1)).collect();
        if colours { cut.replacen(mark, &format!("\x1b[{colour}m{mark}\x1b[0m"), 1) } else { cut }
    }
}
