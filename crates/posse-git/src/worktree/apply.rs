//! Bringing what a task changed into the work tree that its copy was made of. Each file is merged three ways: as it was, as
//! it is there now, as the task left it. Everything is worked out before anything is written, and one conflict is enough that nothing is.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_sandbox::protected::FileProtection;
use posse_sandbox::workspace::Workspace;

use super::{ChangeSide, ChangedFile, ChangedKind, GitWorktree, failed, inside, remove};
use crate::patch::{self, PatchContent};

/// So many conflicts are named.
const NAMED: usize = 20;

/// Result of applying a worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AppliedChanges {
    /// Put in place as the task left them.
    pub written: Vec<String>,
    /// Put in place with what was changed there meanwhile.
    pub merged: Vec<String>,
    /// Were like this already.
    pub same: Vec<String>,
}

/// Planned action for one file.
enum FilePlan {
    Same,
    Write { expected: Option<PatchContent>, wanted: Option<PatchContent>, merged: bool },
}

impl GitWorktree {
    /// The files that applying would change, relative to the work tree that the copy was made of.
    pub fn changed_files(&self) -> Result<Vec<PathBuf>> {
        Ok(self.changed(&self.tree_now()?)?.into_iter().map(|changed| changed.path).collect())
    }

    /// Merges the changes into the origin, then removes the copy; the patch stays. With a protection, no protected file is
    /// changed.
    pub fn apply(mut self, protection: Option<&FileProtection>) -> Result<AppliedChanges> {
        self.keep()?;
        let changed = self.changed(&self.tree_now()?)?;
        if let Some(protection) = protection {
            refuse_protected(&changed, &protection.within(&self.about.origin))?;
        }
        let objects = self.objects(&changed)?;
        let workspace = Workspace::open(&self.about.origin)?;
        let mut plans = Vec::with_capacity(changed.len());
        let mut conflicts = Vec::new();
        for changed in &changed {
            match self.plan(&workspace, changed, &objects)? {
                Ok(plan) => plans.push((&changed.path, plan)),
                Err(why) => conflicts.push(format!("{}: {why}", shown(&changed.path))),
            }
        }
        if !conflicts.is_empty() {
            return Err(self.conflict(&conflicts));
        }
        let mut applied = AppliedChanges::default();
        for (path, plan) in plans {
            self.perform(&workspace, path, plan, &mut applied)?;
        }
        self.about.applied = true;
        self.write_down()?;
        for part in ["tree", "git", "merge"] {
            remove(&self.root.join(part))?;
        }
        Ok(applied)
    }

    fn conflict(&self, conflicts: &[String]) -> Error {
        let more = conflicts.len().saturating_sub(NAMED);
        let conflicts = conflicts[..conflicts.len() - more].join("; ");
        let text = match more {
            0 => localized!("apply-conflicts", conflicts),
            more => localized!("apply-conflicts-more", conflicts, more),
        };
        let hint = localized!("apply-conflicts-hint", place = self.workspace().display());
        Error::new(ErrorCode::MergeConflict, text).hint(hint)
    }

    /// The inner error says why it cannot be decided.
    fn plan(
        &self,
        workspace: &Workspace,
        changed: &ChangedFile,
        objects: &HashMap<String, Vec<u8>>,
    ) -> Result<Result<FilePlan, String>> {
        let side = |side: &Option<ChangeSide>| -> Result<Option<PatchContent>, String> {
            side.as_ref().map(|side| content(side, objects)).transpose()
        };
        let sides = side(&changed.before).and_then(|before| Ok((before, side(&changed.after)?)));
        let current = PatchContent::read(workspace, &changed.path);
        let ((before, after), current) = match sides.and_then(|sides| Ok((sides, current?))) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        if current == after {
            return Ok(Ok(FilePlan::Same));
        }
        if current == before {
            return Ok(Ok(FilePlan::Write { expected: current, wanted: after, merged: false }));
        }
        let (
            Some(PatchContent::File { bytes: mine, program }),
            Some(PatchContent::File { bytes: theirs, program: wanted }),
        ) = (&current, &after)
        else {
            return Ok(Err(match (&current, &after) {
                (None, _) => localized!("conflict-gone").to_string(),
                (_, None) => localized!("conflict-deleted").to_string(),
                _ => localized!("conflict-kind").to_string(),
            }));
        };
        let (was, was_program) = match &before {
            Some(PatchContent::File { bytes, program }) => (bytes.as_slice(), *program),
            _ => (&[][..], *program),
        };
        // Whoever changed it is followed.
        let program = if *program == was_program { *wanted } else { *program };
        Ok(self.merge(mine, was, theirs)?.map(|bytes| FilePlan::Write {
            expected: current.clone(),
            wanted: Some(PatchContent::File { bytes, program }),
            merged: true,
        }))
    }

    /// Three texts become one, or it is said how many places contradict each other.
    fn merge(&self, mine: &[u8], base: &[u8], theirs: &[u8]) -> Result<Result<Vec<u8>, String>> {
        let directory = self.root.join("merge");
        fs::create_dir_all(&directory).map_err(|e| failed("make", &directory, e))?;
        for (name, content) in [("mine", mine), ("base", base), ("theirs", theirs)] {
            fs::write(directory.join(name), content).map_err(|e| failed("write", &directory, e))?;
        }
        let merge = ["merge-file", "-p", "-q", "mine", "base", "theirs"];
        let call = self.git.call(&directory, &merge).with("GIT_DIR", self.root.join("git"));
        let answer = call.run()?;
        Ok(match answer.code {
            0 => Ok(answer.output),
            places @ 1..=127 => Err(localized!("conflict-places", places).to_string()),
            _ => Err(localized!("conflict-binary").to_string()),
        })
    }

    fn perform(
        &self,
        workspace: &Workspace,
        path: &Path,
        plan: FilePlan,
        applied: &mut AppliedChanges,
    ) -> Result<()> {
        let name = shown(path);
        match plan {
            FilePlan::Same => applied.same.push(name),
            FilePlan::Write { expected, wanted, merged } => {
                let put = patch::put(workspace, path, expected.as_ref(), wanted.as_ref());
                put.map_err(|why| {
                    let done = applied.written.len() + applied.merged.len();
                    Error::new(ErrorCode::Io, localized!("apply-broke-off", why, done))
                        .hint(localized!("apply-broke-off-hint"))
                })?;
                if merged { applied.merged.push(name) } else { applied.written.push(name) }
            }
        }
        Ok(())
    }

    /// The contents of all sides, by their names.
    fn objects(&self, changed: &[ChangedFile]) -> Result<HashMap<String, Vec<u8>>> {
        let sides = changed.iter().flat_map(|changed| changed.before.iter().chain(&changed.after));
        let mut names: Vec<&str> = sides
            .filter(|side| side.kind != ChangedKind::Repository)
            .map(|side| side.object.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let list = names.iter().flat_map(|name| [name.as_bytes(), b"\n"].concat()).collect();
        let batch = inside(&self.git, &self.root, &["cat-file", "--batch"]).input(list).output()?;
        let mut rest = batch.as_slice();
        let mut objects = HashMap::new();
        for name in names {
            let missing = || Error::new(ErrorCode::Io, localized!("git-no-object", name));
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
            let header = String::from_utf8_lossy(&rest[..end]).into_owned();
            let size: Option<usize> = header.rsplit(' ').next().and_then(|size| size.parse().ok());
            let size = size.filter(|size| rest.len() > end + 1 + size).ok_or_else(missing)?;
            objects.insert(name.to_owned(), rest[end + 1..end + 1 + size].to_vec());
            rest = &rest[end + 2 + size..];
        }
        Ok(objects)
    }
}

fn content(side: &ChangeSide, objects: &HashMap<String, Vec<u8>>) -> Result<PatchContent, String> {
    let bytes = objects.get(&side.object).cloned().unwrap_or_default();
    match side.kind {
        ChangedKind::File => Ok(PatchContent::File { bytes, program: false }),
        ChangedKind::Program => Ok(PatchContent::File { bytes, program: true }),
        ChangedKind::Link => Ok(PatchContent::Link(OsStr::from_bytes(&bytes).to_owned())),
        ChangedKind::Repository => Err(localized!("conflict-repository").to_string()),
    }
}

fn refuse_protected(changed: &[ChangedFile], protection: &FileProtection) -> Result<()> {
    let protected: Vec<String> = changed
        .iter()
        .filter(|changed| protection.find(&changed.path).is_some())
        .map(|changed| shown(&changed.path))
        .collect();
    if protected.is_empty() {
        return Ok(());
    }
    let text = localized!("apply-protected", paths = protected.join(", "));
    Err(Error::new(ErrorCode::InvalidRequest, text).hint(localized!("apply-protected-hint")))
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}
