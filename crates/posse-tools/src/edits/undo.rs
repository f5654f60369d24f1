//! Takes back the file changes of a task from the before-images in its journal.
//!
//! Each file is restored in one step, and only if it still is as the task left it. Running it again after a crash
//! finds the restored files as they were before, so it is idempotent.

use std::path::Path;
use std::sync::Arc;

use posse_core::id::TaskId;
use posse_core::lease::WritePaths;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_runtime::leases::refuse_leased;
use posse_runtime::ports::Store;
use posse_sandbox::workspace::Workspace;
use serde_json::{Value, json};

use super::{
    ChangeKind, DiffGap, EditHistory, EditSpan, FileContent, PresentFiles, TouchKind, before, settle,
};
use crate::diff::sha256;
use crate::replace::{FileSlot, ParentPolicy, expected_place};

/// File changes of a task to take back.
pub struct UndoPlan {
    task: TaskId,
    workspace: Arc<Workspace>,
    steps: Vec<PlannedUndo>,
}

/// Step of an undo: one file, and the action that is planned or was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoStep {
    /// Relative to the task's workspace.
    pub path: String,
    pub action: UndoAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoAction {
    /// Gets the content from before the change.
    Restore,
    /// Is removed: the task created it.
    Remove,
    /// Is as it was before the change already.
    Nothing,
    Keep(KeptReason),
}

/// Reason why a file is not taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    /// The file changed since, by another hand.
    ChangedSince,
    /// A command of the task changed it last, so the state that the task left is not known.
    CommandSince,
    /// The content from before is not known.
    Gap(DiffGap),
    /// Its name is protected.
    Protected,
    /// The system refused it; the text says how.
    Refused(String),
}

impl KeptReason {
    /// Returns the word for it in JSON.
    pub fn wire(&self) -> &'static str {
        match self {
            KeptReason::ChangedSince => "changed_since",
            KeptReason::CommandSince => "command_since",
            KeptReason::Gap(gap) => gap.wire(),
            KeptReason::Protected => "protected",
            KeptReason::Refused(_) => "refused",
        }
    }

    /// Explains the reason to people.
    pub fn text(&self) -> LocalizedText {
        match self {
            KeptReason::ChangedSince => localized!("undo-changed-since"),
            KeptReason::CommandSince => localized!("undo-command-since"),
            KeptReason::Gap(DiffGap::CommandBefore) => DiffGap::Command.text(),
            KeptReason::Gap(gap) => gap.text(),
            KeptReason::Protected => localized!("undo-protected"),
            KeptReason::Refused(why) => localized!("undo-refused", why),
        }
    }
}

impl UndoStep {
    /// Tells whether the file stays as the task left it.
    pub fn is_kept(&self) -> bool {
        matches!(self.action, UndoAction::Keep(_))
    }

    /// Returns the step for programs.
    pub fn to_json(&self) -> Value {
        let (action, why) = match &self.action {
            UndoAction::Restore => ("restore", None),
            UndoAction::Remove => ("remove", None),
            UndoAction::Nothing => ("nothing", None),
            UndoAction::Keep(why) => ("keep", Some(why.wire())),
        };
        json!({ "path": self.path, "action": action, "why": why })
    }
}

/// A step with what it compares and writes.
struct PlannedUndo {
    step: UndoStep,
    /// SHA-256 of the content that the task left; `None` for no file.
    left: Option<String>,
    before: FileContent,
}

/// Plans to take back the changes of a task and its subagents in its workspace. Changes nothing.
pub async fn plan(store: &dyn Store, id: &TaskId, span: EditSpan) -> Result<UndoPlan> {
    let EditHistory { start, by_path } = EditHistory::read(store, id, span).await?;
    let workspace = Workspace::open(Path::new(&start.workspace))?;
    let present = PresentFiles::of(&start);
    let steps = by_path.into_iter();
    let steps =
        steps.filter_map(|(path, history)| planned(path, history.touches, &workspace, &present)).collect();
    Ok(UndoPlan { task: id.clone(), workspace, steps })
}

impl UndoPlan {
    /// Lists the files with what would be done, sorted by path.
    pub fn steps(&self) -> Vec<UndoStep> {
        self.steps.iter().map(|planned| planned.step.clone()).collect()
    }

    /// Performs the plan and reports what was done. Refuses as a whole if a living task leases one of the files.
    pub async fn perform(self, store: &dyn Store) -> Result<Vec<UndoStep>> {
        let Self { task, workspace, steps } = self;
        let writes =
            |planned: &&PlannedUndo| matches!(planned.step.action, UndoAction::Restore | UndoAction::Remove);
        let paths: Vec<String> =
            steps.iter().filter(writes).map(|planned| planned.step.path.clone()).collect();
        if !paths.is_empty() {
            let workspace = workspace.root().to_string_lossy().into_owned();
            refuse_leased(store, &task, WritePaths { workspace, paths }).await?;
        }
        let work = move || steps.into_iter().map(|planned| planned.perform(&workspace)).collect();
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|cause| Error::new(ErrorCode::Internal, localized!("undo-failed")).caused_by(cause))
    }
}

impl PlannedUndo {
    fn keep(path: String, why: KeptReason) -> Self {
        Self { step: UndoStep { path, action: UndoAction::Keep(why) }, left: None, before: None }
    }

    fn perform(self, workspace: &Workspace) -> UndoStep {
        let Self { mut step, left, before } = self;
        if matches!(step.action, UndoAction::Restore | UndoAction::Remove)
            && let Err(why) = take_back(workspace, &step.path, left.as_deref(), before.as_deref())
        {
            step.action = UndoAction::Keep(why);
        }
        step
    }
}

/// Decides about one file; `None` if the task left it as it was.
fn planned(
    path: String,
    mut history: Vec<TouchKind>,
    workspace: &Workspace,
    present: &PresentFiles,
) -> Option<PlannedUndo> {
    if workspace.refuse_protected(Path::new(&path)).is_err() {
        return Some(PlannedUndo::keep(path, KeptReason::Protected));
    }
    let doubts = settle(&path, &mut history, present);
    let Some(last) = history.last() else {
        return doubts.then(|| PlannedUndo::keep(path, KeptReason::Gap(DiffGap::InDoubt)));
    };
    let now = match content_now(workspace, &path) {
        Ok(now) => now,
        Err(why) => return Some(PlannedUndo::keep(path, why)),
    };
    let before = match before(&history) {
        (Some(before), None) => before,
        (_, gap) => return Some(PlannedUndo::keep(path, KeptReason::Gap(gap.unwrap_or(DiffGap::Command)))),
    };
    if let TouchKind::Edited { image, .. } = last
        && before.as_deref().map(sha256).as_ref() == Some(&image.after_sha256)
    {
        return None;
    }
    let hash_now = now.as_deref().map(sha256);
    if now == before {
        return Some(PlannedUndo {
            step: UndoStep { path, action: UndoAction::Nothing },
            left: hash_now,
            before,
        });
    }
    let left = match last {
        TouchKind::Edited { image, .. } => Some(image.after_sha256.clone()),
        TouchKind::Unkept(ChangeKind::Deleted) => None,
        TouchKind::Unkept(ChangeKind::Created | ChangeKind::Modified) => {
            return Some(PlannedUndo::keep(path, KeptReason::CommandSince));
        }
    };
    if left != hash_now {
        return Some(PlannedUndo::keep(path, KeptReason::ChangedSince));
    }
    let action = if before.is_some() { UndoAction::Restore } else { UndoAction::Remove };
    Some(PlannedUndo { step: UndoStep { path, action }, left, before })
}

/// Reads the current content; `None` if there is no file. A file that is too large to compare is not what a task wrote.
fn content_now(workspace: &Workspace, path: &str) -> Result<FileContent, KeptReason> {
    let path = workspace.path(path).map_err(KeptReason::Refused)?;
    if workspace.open_directory(path.parent().unwrap_or(Path::new(""))).is_err() {
        return Ok(None);
    }
    let slot = FileSlot::open(workspace, &path, ParentPolicy::MustExist).map_err(KeptReason::Refused)?;
    match slot.now().map_err(KeptReason::Refused)? {
        None => Ok(None),
        Some(existing) => existing.content.map(Some).ok_or(KeptReason::ChangedSince),
    }
}

/// Puts the earlier content back, or removes the file, if it still is as the task left it.
fn take_back(
    workspace: &Workspace,
    path: &str,
    left: Option<&str>,
    before: Option<&[u8]>,
) -> Result<(), KeptReason> {
    let refused = KeptReason::Refused;
    let path = workspace.path(path).map_err(refused)?;
    let is_protected = |place: &Path| workspace.refuse_protected(place).map_err(|_| KeptReason::Protected);
    is_protected(&expected_place(workspace, &path).map_err(refused)?)?;
    let parents = if left.is_none() { ParentPolicy::Create } else { ParentPolicy::MustExist };
    let slot = FileSlot::open(workspace, &path, parents).map_err(refused)?;
    is_protected(&slot.place().map_err(refused)?)?;
    let lock = slot.lock().map_err(refused)?;
    let now = slot.now().map_err(refused)?;
    let hash_now = now.as_ref().and_then(|now| now.content.as_deref()).map(sha256);
    if now.is_some() != left.is_some() || hash_now.as_deref() != left {
        return Err(KeptReason::ChangedSince);
    }
    match before {
        Some(content) => {
            let staged = slot.stage(now.as_ref(), content).map_err(refused)?;
            slot.put(staged, now.as_ref()).map_err(refused)?;
        }
        None => slot.remove().map_err(refused)?,
    }
    drop(lock);
    slot.sync().map_err(refused)
}
