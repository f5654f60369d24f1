//! `posse top`: every task of the store on a full screen, live, whichever process drives it.
//!
//! [`open`] takes the terminal, polls the store through [`TopHost`] and the ports, and gives the terminal back when the person
//! leaves. A screen that has the terminal itself, such as the live run, suspends, opens `top` on one task and resumes.
//! Layout and text are pure: [`view`](self) knows no terminal, clock or store.

mod actions;
mod board;
mod copy;
mod draw;
mod feed;
mod panes;
mod screen;
#[cfg(test)]
mod tests;
mod transcript;
mod view;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::Result;
use posse_core::id::TaskId;
use posse_core::usage::SpendingTotal;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{BoxFuture, Store, TaskRow};
use posse_runtime::worker::CancelEnd;
use posse_terminal::style::{StylePalette, SymbolSet};
use tokio::sync::mpsc;

use self::actions::TopActions;
use self::feed::TopFeed;
use self::screen::{FullScreen, ScreenInput};
use self::view::{TopRequest, TopView};

/// Time between two looks at the clock: elapsed times count seconds.
const TICK: Duration = Duration::from_millis(1_000);
/// Shortest time between two frames: 12 a second at most.
const FRAME: Duration = Duration::from_millis(83);

/// Tasks that are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopScope {
    /// Tasks of the project that `TopHost::is_here` knows.
    Project,
    /// Tasks of all projects.
    Everything,
    /// One task and everything below it.
    Tree(TaskId),
}

/// Looks of the screen, and what it lists.
#[derive(Debug, Clone)]
pub struct TopOptions {
    /// Tasks that are listed.
    pub scope: TopScope,
    /// Name of the project for people, such as `~/app`.
    pub project: String,
    /// Colors and attributes, or none.
    pub palette: StylePalette,
    /// Characters for marks and lines.
    pub symbols: SymbolSet,
    /// Name of the person who answers approvals.
    pub person: String,
    /// Task whose pane is open from the start. Leaving that pane leaves the screen.
    pub opened: Option<TaskId>,
}

/// Way into `top` for a screen that has the terminal.
#[derive(Clone)]
pub struct TopDoor {
    /// Knowledge of the program.
    pub host: Arc<dyn TopHost>,
    /// Looks of the screen.
    pub options: TopOptions,
}

impl TopDoor {
    /// Shows a task and the tree that it belongs to, as [`open`] does.
    pub async fn open_task(&self, store: Arc<dyn Store>, tree: TaskId, task: TaskId) -> io::Result<()> {
        let options = TopOptions { scope: TopScope::Tree(tree), opened: Some(task), ..self.options.clone() };
        open(store, self.host.clone(), options).await
    }
}

/// Changes of a task as a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPatch {
    /// Unified diff of all files.
    pub text: String,
    /// Remarks about changes that the patch does not show.
    pub notes: Vec<String>,
}

/// Knowledge of the program that `top` has no port for.
pub trait TopHost: Send + Sync {
    /// Tells whether a workspace belongs to the project.
    fn is_here(&self, workspace: &str) -> bool;

    /// Tells whether the process that drives a running task is alive.
    fn lives(&self, row: &TaskRow) -> bool;

    /// Returns the changes of a task and its subagents.
    fn patch<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskPatch>>;

    /// Sums up the spending of the last 24 hours, of the project or of everything.
    fn spent(&self, scope: TopScope) -> BoxFuture<'_, Result<SpendingTotal>>;

    /// Cancels a task and everything below it, and returns its row.
    fn cancel(&self, row: TaskRow) -> BoxFuture<'_, Result<(TaskRow, CancelEnd)>>;
}

/// Shows the screen until the person leaves. Dropping the future restores the terminal too, so a caller can end it at a
/// signal.
pub async fn open(store: Arc<dyn Store>, host: Arc<dyn TopHost>, options: TopOptions) -> io::Result<()> {
    let (mut screen, mut inputs) = FullScreen::enter(true)?;
    let mut view = TopView::new(options);
    let (mut feed, mut news) = TopFeed::start(store.clone(), host.clone());
    let (told, mut notices) = mpsc::channel(16);
    let actions = TopActions::new(store, host, told, view.person());
    let mut clock = tokio::time::interval(TICK);
    let mut next_frame = Instant::now();
    loop {
        let wait = next_frame.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            screen.draw(&mut view, now_ms())?;
            feed.attend(view.interest());
            next_frame = Instant::now() + FRAME;
        }
        tokio::select! {
            () = tokio::time::sleep(wait), if !wait.is_zero() => {}
            input = inputs.recv() => {
                // The terminal is gone.
                let Some(input) = input else { return Ok(()) };
                let mut waiting = vec![input];
                // Keys that were typed meanwhile belong to the same frame.
                while let Ok(more) = inputs.try_recv() {
                    waiting.push(more);
                }
                for input in waiting {
                    for request in take(&mut view, input) {
                        match request {
                            TopRequest::Leave => return Ok(()),
                            TopRequest::Stop => screen.stop().await?,
                            TopRequest::Repaint => screen.repaint()?,
                            TopRequest::Mouse(is_on) => screen.set_mouse(is_on)?,
                            TopRequest::Copy(text) => screen.copy(&text)?,
                            TopRequest::Act(act) => actions.perform(act),
                        }
                    }
                }
            }
            Some(found) = news.recv() => view.take_news(found, now_ms()),
            Some(notice) = notices.recv() => view.take_notice(notice, now_ms()),
            _ = clock.tick() => view.tick(now_ms()),
        }
    }
}

fn take(view: &mut TopView, input: ScreenInput) -> Vec<TopRequest> {
    match input {
        ScreenInput::Key(key) => view.on_key(&key, now_ms()),
        ScreenInput::Mouse(mouse) => view.on_mouse(&mouse, now_ms()),
        ScreenInput::Paste(text) => view.on_paste(&text),
        ScreenInput::Resized => Vec::new(),
    }
}
