//! Edited files of a task and its subagents, read from their journals: for the summary, the envelope and `posse tasks
//! diff`; `undo` takes them back.

pub mod undo;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use posse_core::Result;
use posse_core::edits::{ChangeKind, FileChange, FileImage, LineCounts, WithheldReason};
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, TaskStart, start_of};
use posse_core::message::{Block, ToolResult};
use posse_core::tool::{DELEGATION, canonical};
use posse_messages::{LocalizedText, localized};
use posse_runtime::ports::{Store, StoredRecord, TaskFilter, TaskQuery, TaskRow};
use posse_sandbox::protected::FileProtection;
use posse_sandbox::workspace::Workspace;
use serde_json::{Value, json};

use crate::diff;
use crate::files::content_after;

/// Bytes of a file; `None` if there is no file.
type FileContent = Option<Vec<u8>>;

/// Span of edits to collect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EditSpan {
    Whole,
    /// Since the last message of the person; children created earlier do not count.
    LastMessage,
    /// One turn of the task, with the children that it created.
    Turn(u32),
}

/// A file that differs from its state before the task.
pub struct EditedFile {
    pub change: FileChange,
    /// Incompleteness of the diff, if any.
    pub gap: Option<DiffGap>,
    /// Tasks that changed it, in order.
    pub authors: Vec<EditAuthor>,
    /// Contents before and after, where both are known.
    contents: Option<(FileContent, FileContent)>,
}

/// A task that changed a file, with the turns in which it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditAuthor {
    pub task: TaskId,
    pub agent: String,
    pub turns: Vec<u32>,
}

impl EditAuthor {
    /// Formats the turns: `2`, `2–4, 7`.
    pub fn turn_list(&self) -> String {
        let mut spans: Vec<(u32, u32)> = Vec::new();
        for turn in &self.turns {
            match spans.last_mut() {
                Some((_, last)) if *last + 1 == *turn => *last = *turn,
                _ => spans.push((*turn, *turn)),
            }
        }
        let shown = spans.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}–{last}"),
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Returns the task, its agent and its turns.
    pub fn to_json(&self) -> Value {
        json!({ "task_id": self.task.as_str(), "agent": self.agent, "turns": self.turns })
    }
}

/// Reason why a diff is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffGap {
    /// A command changed it, and there is no before-image.
    Command,
    /// A command changed it first; the diff begins after that.
    CommandBefore,
    Withheld(WithheldReason),
    /// The process died during the change.
    InDoubt,
    /// The content that the task left is no longer known.
    AfterUnknown,
}

impl DiffGap {
    /// Returns the word for it in JSON.
    pub fn wire(self) -> &'static str {
        match self {
            DiffGap::Command => "command",
            DiffGap::CommandBefore => "command_before",
            DiffGap::Withheld(why) => why.wire(),
            DiffGap::InDoubt => "in_doubt",
            DiffGap::AfterUnknown => "after_unknown",
        }
    }

    /// Explains the gap to people.
    pub fn text(self) -> LocalizedText {
        match self {
            DiffGap::Command => localized!("gap-command"),
            DiffGap::CommandBefore => localized!("gap-command-before"),
            DiffGap::Withheld(WithheldReason::TooLarge) => localized!("gap-too-large"),
            DiffGap::Withheld(WithheldReason::TaskLimit) => localized!("gap-task-limit"),
            DiffGap::Withheld(WithheldReason::Protected) => localized!("gap-protected"),
            DiffGap::Withheld(WithheldReason::Secret) => localized!("gap-secret"),
            DiffGap::Withheld(WithheldReason::Damaged) => localized!("gap-damaged"),
            DiffGap::InDoubt => localized!("gap-in-doubt"),
            DiffGap::AfterUnknown => localized!("gap-after-unknown"),
        }
    }
}

impl EditedFile {
    /// Formats a unified diff, if the contents are known.
    pub fn diff(&self) -> Option<String> {
        let (before, after) = self.contents.as_ref()?;
        Some(diff::unified(&self.change.path, before.as_deref(), after.as_deref()))
    }

    /// Returns the change and what its diff lacks.
    pub fn to_json(&self) -> Value {
        let mut value = self.change.to_json();
        value["gap"] = json!(self.gap.map(DiffGap::wire));
        value
    }
}

/// Collects the files that a task and its subagents changed in its workspace, sorted by path.
pub async fn gather(store: &dyn Store, id: &TaskId, span: EditSpan) -> Result<Vec<EditedFile>> {
    let EditHistory { start, by_path } = EditHistory::read(store, id, span).await?;
    // Reads only changed files, so the disk access is short.
    let place = PresentFiles::of(&start);
    let edited = |(path, history): (String, FileHistory)| {
        let authors = history.authors;
        edited(path, history.touches, &place).map(|file| EditedFile { authors, ..file })
    };
    Ok(by_path.into_iter().filter_map(edited).collect())
}

/// The history of one file: its changes in order, and their authors.
#[derive(Default)]
struct FileHistory {
    touches: Vec<TouchKind>,
    authors: Vec<EditAuthor>,
}

impl FileHistory {
    fn add(&mut self, touch: FileTouch, tasks: &[(TaskId, String)]) {
        self.touches.push(touch.how);
        let Some((task, agent)) = tasks.get(touch.order.1) else { return };
        match self.authors.iter_mut().find(|author| author.task == *task) {
            Some(author) if author.turns.contains(&touch.turn) => {}
            Some(author) => author.turns.push(touch.turn),
            None => {
                let (task, agent, turns) = (task.clone(), agent.clone(), vec![touch.turn]);
                self.authors.push(EditAuthor { task, agent, turns });
            }
        }
    }
}

/// Changes of a task and its subagents in its workspace, by path and in the order they happened.
struct EditHistory {
    start: TaskStart,
    by_path: BTreeMap<String, FileHistory>,
}

impl EditHistory {
    async fn read(store: &dyn Store, id: &TaskId, span: EditSpan) -> Result<Self> {
        let stored = store.records_from(id, 0, usize::MAX).await?;
        let window = SpanWindow::of(&stored, span);
        let records: Vec<Record> = stored.into_iter().map(|stored| stored.record).collect();
        let start = start_of(&records)?;
        let mut touches = EditTimeline::read(&records[window.records.clone()], 0);
        let mut tasks = vec![(id.clone(), start.agent.name.as_str().to_owned())];
        for (number, row) in below(store, id).await?.into_iter().enumerate() {
            tasks.push((row.id.clone(), row.agent.clone()));
            if !window.created_ms.contains(&row.created_ms) {
                continue;
            }
            let records = store.records(&row.id).await?;
            if start_of(&records)?.workspace == start.workspace {
                touches.extend(EditTimeline::read(&records, number + 1));
            }
        }
        touches.sort_by_key(|touch| touch.order);
        let mut by_path: BTreeMap<String, FileHistory> = BTreeMap::new();
        for touch in touches {
            by_path.entry(touch.path.clone()).or_default().add(touch, &tasks);
        }
        Ok(Self { start, by_path })
    }
}

/// Part of a journal that a span covers.
struct SpanWindow {
    records: Range<usize>,
    /// Creation times of the children that count.
    created_ms: Range<u64>,
}

impl SpanWindow {
    fn of(stored: &[StoredRecord], span: EditSpan) -> Self {
        let all = 0..stored.len();
        let records = match span {
            EditSpan::Whole => all,
            EditSpan::LastMessage => {
                let said = stored.iter().rposition(|stored| matches!(stored.record, Record::Said { .. }));
                said.unwrap_or(0)..stored.len()
            }
            EditSpan::Turn(turn) => {
                let is_turn = |wanted: &dyn Fn(u32) -> bool, stored: &StoredRecord| matches!(stored.record, Record::Asked { turn, .. } if wanted(turn));
                let from = stored.iter().position(|stored| is_turn(&|asked| asked == turn, stored));
                let to = stored.iter().position(|stored| is_turn(&|asked| asked > turn, stored));
                from.map_or(0..0, |from| from..to.unwrap_or(stored.len()).max(from))
            }
        };
        let at = |index: usize| stored.get(index).map(|stored| stored.at_ms);
        let from_ms = if records.start == 0 { 0 } else { at(records.start).unwrap_or(u64::MAX) };
        let created_ms = match records.is_empty() {
            true => 0..0,
            false => from_ms..at(records.end).unwrap_or(u64::MAX),
        };
        Self { records, created_ms }
    }
}

/// Finds the descendants of a task.
async fn below(store: &dyn Store, id: &TaskId) -> Result<Vec<TaskRow>> {
    let rows = store.find_tasks(TaskQuery::of(TaskFilter::Session(id.session().to_owned()))).await?;
    let parents: HashMap<TaskId, Option<TaskId>> =
        rows.iter().map(|row| (row.id.clone(), row.parent.clone())).collect();
    let is_below = |row: &TaskRow| {
        let mut above = row.parent.clone();
        while let Some(parent) = above {
            if parent == *id {
                return true;
            }
            above = parents.get(&parent).cloned().flatten();
        }
        false
    };
    Ok(rows.into_iter().filter(is_below).collect())
}

/// One change of one file.
struct FileTouch {
    path: String,
    /// Order: time, then task, then position in its journal.
    order: (u64, usize, usize),
    turn: u32,
    how: TouchKind,
}

enum TouchKind {
    /// Change by a file tool, with its before-image and the call.
    Edited { image: Box<FileImage>, call: Option<Arc<(String, String)>>, doubtful: bool },
    /// Change by a command, or by a file tool before images were kept.
    Unkept(ChangeKind),
}

/// Reads the changes in one journal.
#[derive(Default)]
struct EditTimeline {
    task: usize,
    touches: Vec<FileTouch>,
    calls: HashMap<CallKey, Arc<(String, String)>>,
    open: Vec<FileImage>,
    last_ms: u64,
}

impl EditTimeline {
    fn read(records: &[Record], task: usize) -> Vec<FileTouch> {
        let mut timeline = EditTimeline { task, ..EditTimeline::default() };
        for record in records {
            match record {
                Record::Replied { reply, .. } => {
                    let calls = reply.blocks.iter().filter_map(Block::as_call);
                    for call in calls.filter(|call| is_file_tool(&call.name)) {
                        let arguments = call.arguments.as_object_text().to_owned();
                        timeline.calls.insert(call.key, Arc::new((call.name.clone(), arguments)));
                    }
                }
                Record::Saved { image } => {
                    timeline.last_ms = image.saved_ms;
                    timeline.open.push(image.clone());
                }
                Record::Done { result, .. } => timeline.close(result),
                _ => {}
            }
        }
        for image in std::mem::take(&mut timeline.open) {
            timeline.edited(image, true);
        }
        timeline.touches
    }

    fn close(&mut self, result: &ToolResult) {
        let (images, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|image| image.key == result.key);
        self.open = open;
        let is_named =
            |image: &FileImage| result.changed.iter().any(|change| change.path == image.change.path);
        for change in result.changed.iter().filter(|_| canonical(&result.name) != DELEGATION) {
            if !images.iter().any(|image| image.change.path == change.path) {
                self.touch(change.path.clone(), self.last_ms, result.key, TouchKind::Unkept(change.kind));
            }
        }
        for image in images {
            // A failed call changed nothing.
            if is_named(&image) || result.in_doubt {
                self.edited(image, result.in_doubt);
            }
        }
    }

    fn edited(&mut self, image: FileImage, doubtful: bool) {
        let call = self.calls.get(&image.key).cloned();
        let (path, ms, key) = (image.change.path.clone(), image.saved_ms, image.key);
        self.touch(path, ms, key, TouchKind::Edited { image: Box::new(image), call, doubtful });
    }

    fn touch(&mut self, path: String, ms: u64, key: CallKey, how: TouchKind) {
        let order = (ms, self.task, self.touches.len());
        self.touches.push(FileTouch { path, order, turn: key.turn, how });
    }
}

fn is_file_tool(name: &str) -> bool {
    matches!(canonical(name).as_ref(), "write" | "edit")
}

/// Current state of the workspace.
struct PresentFiles {
    workspace: Option<Arc<Workspace>>,
    protection: FileProtection,
}

impl PresentFiles {
    fn of(start: &TaskStart) -> Self {
        Self {
            workspace: Workspace::open(Path::new(&start.workspace)).ok(),
            protection: FileProtection::default(),
        }
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.workspace.as_ref()?.content(path)
    }

    fn is_protected(&self, path: &str) -> bool {
        self.protection.find(Path::new(path)).is_some()
    }
}

/// Merges the history of one file; `None` if it ended up unchanged.
fn edited(path: String, mut history: Vec<TouchKind>, place: &PresentFiles) -> Option<EditedFile> {
    let doubts = settle(&path, &mut history, place);
    let Some(last) = history.last() else {
        let change = FileChange::named(path);
        let (gap, authors) = (Some(DiffGap::InDoubt), Vec::new());
        return doubts.then_some(EditedFile { change, gap, authors, contents: None });
    };
    let (before, mut gap) = before(&history);
    let after = after(&path, last, place);
    let kind = match (&before, &after) {
        (Some(None), Ok(None)) => return None,
        (Some(None), _) => ChangeKind::Created,
        (_, Ok(None)) => ChangeKind::Deleted,
        _ => ChangeKind::Modified,
    };
    let contents = match (before, after) {
        (Some(before), Ok(after)) if before == after => return None,
        (Some(before), Ok(after)) => Some((before, after)),
        (Some(_), Err(why)) => {
            gap = Some(why);
            None
        }
        (None, _) => None,
    };
    let lines = match &contents {
        Some((before, after)) => diff::count(before.as_deref(), after.as_deref()),
        None => summed(&history),
    };
    if doubts {
        gap = Some(DiffGap::InDoubt);
    }
    let change = FileChange { path, kind, lines };
    Some(EditedFile { change, gap, authors: Vec::new(), contents })
}

/// Drops changes in doubt that did not happen, by the current content. Returns true if that cannot tell.
fn settle(path: &str, history: &mut Vec<TouchKind>, place: &PresentFiles) -> bool {
    let mut doubts = false;
    history.retain(|how| match how {
        TouchKind::Edited { image, doubtful: true, .. } => {
            let now = place.content(path);
            let happened = now.as_deref().map(diff::sha256).as_ref() == Some(&image.after_sha256);
            doubts |= !happened && image.before.bytes() != Ok(now);
            happened
        }
        TouchKind::Edited { .. } | TouchKind::Unkept(_) => true,
    });
    doubts
}

/// Sums the counts of each call, for when the whole cannot be compared.
fn summed(history: &[TouchKind]) -> Option<LineCounts> {
    let mut sum = LineCounts::default();
    for how in history {
        let TouchKind::Edited { image, .. } = how else { return None };
        let LineCounts { added, removed } = image.change.lines?;
        (sum.added, sum.removed) = (sum.added + added, sum.removed + removed);
    }
    Some(sum)
}

/// Finds the content before the first change, if known; `Some(None)` means no file.
fn before(history: &[TouchKind]) -> (Option<FileContent>, Option<DiffGap>) {
    match history.first() {
        Some(TouchKind::Unkept(ChangeKind::Created)) => return (Some(None), None),
        Some(TouchKind::Edited { image, .. }) => {
            return match image.before.bytes() {
                Ok(bytes) => (Some(bytes), None),
                Err(why) => (None, Some(DiffGap::Withheld(why))),
            };
        }
        Some(TouchKind::Unkept(_)) | None => {}
    }
    let first_image = history.iter().find_map(|how| match how {
        TouchKind::Edited { image, .. } => image.before.bytes().ok(),
        TouchKind::Unkept(_) => None,
    });
    match first_image {
        Some(bytes) => (Some(bytes), Some(DiffGap::CommandBefore)),
        None => (None, Some(DiffGap::Command)),
    }
}

/// Finds the content after the last change: as the call left it, or the current file if a command was last.
fn after(path: &str, last: &TouchKind, place: &PresentFiles) -> Result<FileContent, DiffGap> {
    match last {
        TouchKind::Unkept(ChangeKind::Deleted) => Ok(None),
        TouchKind::Unkept(_) if place.is_protected(path) => Err(DiffGap::Withheld(WithheldReason::Protected)),
        TouchKind::Unkept(_) => place.content(path).map(Some).ok_or(DiffGap::AfterUnknown),
        TouchKind::Edited { image, call, .. } => {
            let made = call.as_ref().and_then(|call| {
                let before = image.before.bytes().ok()?;
                content_after(&call.0, &call.1, before.as_deref())
            });
            let is_it = |content: &Vec<u8>| diff::sha256(content) == image.after_sha256;
            let found = made.filter(is_it).or_else(|| place.content(path).filter(is_it));
            found.map(Some).ok_or(DiffGap::AfterUnknown)
        }
    }
}
