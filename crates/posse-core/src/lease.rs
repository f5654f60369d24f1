//! Write leases. A task with write paths holds one lease on all of them, or none; two leases never overlap, except that a
//! task works inside the leases of its ancestors.

use posse_messages::{LocalizedText, localized};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode, Result};
use crate::glob::Glob;
use crate::id::TaskId;

/// Maximum number and length of write paths.
const PATHS_MAX: usize = 100;
const PATH_BYTES_MAX: usize = 1_024;

/// Silence after which a holder may lose its lease, even if its process is alive. Heartbeats come every five seconds.
pub const SILENCE_MS_MAX: u64 = 60_000;

/// Reaction to paths that another task holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    #[default]
    Fail,
    /// It is created, and starts when the paths are free.
    Wait,
}

/// Paths that a task wants to write: globs below one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritePaths {
    pub workspace: String,
    pub paths: Vec<String>,
}

/// A lease: paths that a task holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub task: TaskId,
    /// Fencing token of this lease; a lease acquired again has another one.
    pub token: u64,
    pub places: WritePaths,
    pub since_ms: u64,
    /// Process that drives the task; `seen_ms` is its last heartbeat.
    pub owner: String,
    pub epoch: u64,
    pub seen_ms: u64,
}

/// A running process of a task without a lease of its own: it may write these paths, except those leased to others when it
/// started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritingCommand {
    pub by: Lease,
    /// Token of the newest lease when it started.
    pub after: u64,
}

/// State to check before a task writes, read in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteState {
    /// Current epoch of the task.
    pub epoch: u64,
    /// Last heartbeat of its owner.
    pub seen_ms: u64,
    /// Ancestors of the task.
    pub ancestors: Vec<TaskId>,
    /// All leases.
    pub leases: Vec<Lease>,
}

impl WritePaths {
    /// Parses globs. Accepts only those that can be compared with the paths that tools write.
    pub fn parse(workspace: &str, paths: &[String]) -> Result<Self> {
        if paths.len() > PATHS_MAX {
            let text = localized!("write-paths-too-many", count = paths.len(), paths_max = PATHS_MAX);
            return Err(
                Error::new(ErrorCode::InvalidRequest, text).hint(localized!("write-paths-too-many-hint"))
            );
        }
        for path in paths {
            let shown = crate::text::prefix(path, 80).escape_debug();
            let text = match path {
                _ if path.trim().is_empty() => localized!("write-path-empty", shown),
                _ if path.len() > PATH_BYTES_MAX => localized!("write-path-too-long", shown),
                _ if path.chars().any(char::is_control) => localized!("write-path-control-character", shown),
                _ if path.starts_with('/') => localized!("write-path-not-relative", shown),
                _ if path.split('/').any(|part| part == "..") => localized!("write-path-goes-up", shown),
                _ => continue,
            };
            return Err(Error::new(ErrorCode::InvalidRequest, text).hint(localized!("write-path-hint")));
        }
        Ok(Self { workspace: workspace.trim_end_matches('/').to_owned(), paths: paths.to_vec() })
    }

    /// Returns the globs that overlap one of the others.
    fn common<'a>(&'a self, other: &WritePaths) -> Vec<&'a str> {
        let theirs: Vec<Glob> = other.globs(&self.workspace);
        let mine = self.paths.iter().zip(self.globs(&other.workspace));
        let common = mine.filter(|(_, mine)| theirs.iter().any(|theirs| mine.overlaps(theirs)));
        common.map(|(path, _)| path.as_str()).collect()
    }

    /// Compares relative paths in one workspace, absolute ones otherwise: one workspace may be inside the other.
    fn globs(&self, compared_with: &str) -> Vec<Glob> {
        let glob = |path: &String| match self.workspace == compared_with {
            true => Glob::place(path),
            false => Glob::place(&format!("{}/{}", self.workspace, path.trim_start_matches("./"))),
        };
        self.paths.iter().map(glob).collect()
    }

    /// Tells whether a file, relative to this workspace, matches one of the globs.
    fn has(&self, workspace: &str, path: &str) -> bool {
        let whole = format!("{}/{path}", workspace.trim_end_matches('/'));
        match whole.strip_prefix(&self.workspace).and_then(|rest| rest.strip_prefix('/')) {
            Some(relative) => self.paths.iter().any(|glob| Glob::place(glob).fits(relative)),
            None => false,
        }
    }
}

/// Tells whether each glob is certainly within the outer ones.
pub fn are_within(paths: &[String], outer: &[String]) -> bool {
    let outer: Vec<Glob> = outer.iter().map(|path| Glob::place(path)).collect();
    paths.iter().all(|path| Glob::place(path).is_within(&outer))
}

/// Returns directories, or files, that contain every match of these globs; an empty path is the workspace. For sandboxes
/// that confine by directory.
pub fn roots(paths: &[String]) -> Vec<String> {
    let root = |path: &String| {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let path = if path == "." { "" } else { path };
        match path.find(['*', '?']) {
            None => path.to_owned(),
            Some(at) => path[..at].rfind('/').map_or(String::new(), |end| path[..end].to_owned()),
        }
    };
    let mut roots: Vec<String> = paths.iter().map(root).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

impl Lease {
    /// Tells whether the holder's heartbeat is too old.
    pub fn is_expired(&self, now_ms: u64, silence_ms_max: u64) -> bool {
        now_ms > self.expires_ms(silence_ms_max)
    }

    /// Returns the instant at which the lease expires without another heartbeat.
    pub fn expires_ms(&self, silence_ms_max: u64) -> u64 {
        self.seen_ms.saturating_add(silence_ms_max)
    }
}

/// Returns the leases of other tasks that conflict with a task's paths.
pub fn conflicting_leases<'a>(
    wanted: &WritePaths,
    task: &TaskId,
    ancestors: &[TaskId],
    held: &'a [Lease],
) -> Vec<&'a Lease> {
    let others = held.iter().filter(|lease| lease.task != *task && !ancestors.contains(&lease.task));
    others.filter(|lease| !wanted.common(&lease.places).is_empty()).collect()
}

/// Returns commands of others that started before a task's lease (`token`) and may write to its paths. Later ones cannot.
pub fn still_writing<'a>(
    places: &WritePaths,
    task: &TaskId,
    token: u64,
    running: &'a [WritingCommand],
) -> Vec<&'a WritingCommand> {
    let others = running.iter().filter(|command| command.by.task != *task && command.after < token);
    others.filter(|command| !places.common(&command.by.places).is_empty()).collect()
}

/// Lists the directories and files a command of this task must not write because others lease them. Paths are
/// relative to the workspace; an empty path is the workspace.
pub fn closed_to(now: &WriteState, task: &TaskId, workspace: &str) -> Vec<String> {
    let workspace = workspace.trim_end_matches('/');
    let others =
        now.leases.iter().filter(|lease| lease.task != *task && !now.ancestors.contains(&lease.task));
    let whole = |lease: &Lease| -> Vec<String> {
        let below =
            |root: String| format!("{}/{root}", lease.places.workspace).trim_end_matches('/').to_owned();
        roots(&lease.places.paths).into_iter().map(below).collect()
    };
    let inside = |path: &String| match path.strip_prefix(workspace) {
        Some("") => Some(String::new()),
        Some(rest) => rest.strip_prefix('/').map(str::to_owned),
        // The workspace itself may be inside a leased path.
        None => {
            workspace.strip_prefix(path.as_str()).filter(|rest| rest.starts_with('/')).map(|_| String::new())
        }
    };
    let mut closed: Vec<String> = others.flat_map(whole).filter_map(|path| inside(&path)).collect();
    closed.sort_unstable();
    closed.dedup();
    closed
}

/// Builds the error for paths that others hold.
pub fn conflict(wanted: &WritePaths, conflicting: &[&Lease]) -> Error {
    let mut places: Vec<&str> = conflicting.iter().flat_map(|lease| wanted.common(&lease.places)).collect();
    places.sort_unstable();
    places.dedup();
    let holders: Vec<LocalizedText> = conflicting.iter().take(3).map(|lease| holder(lease)).collect();
    let text = localized!("lease-conflict", places = places.join(", "));
    Error::new(ErrorCode::LeaseConflict, text)
        .hint(localized!("lease-conflict-hint", holders = LocalizedText::join(&holders, ", ")))
}

/// Builds the error for a task that has ended and asks for paths.
pub fn has_ended(task: &TaskId) -> Error {
    Error::new(ErrorCode::InvalidRequest, localized!("lease-after-end", task))
}

fn holder(lease: &Lease) -> LocalizedText {
    localized!("lease-holder", task = lease.task, paths = lease.places.paths.join(", "))
}

/// Checks that a file may be replaced now. `token` is the lease that the call began with, if the task has one. The
/// refusal is for the model.
pub fn permit(
    now: &WriteState,
    task: &TaskId,
    epoch: u64,
    token: Option<u64>,
    workspace: &str,
    path: &str,
) -> Result<(), String> {
    if now.epoch != epoch {
        return Err(format!(
            "another process drives this task now (epoch {}, this was {epoch}); nothing was written",
            now.epoch
        ));
    }
    if let Some(token) = token {
        let own = now.leases.iter().find(|lease| lease.task == *task && lease.token == token);
        let Some(own) = own else {
            return Err(
                "the lease on this task's write paths was lost meanwhile; nothing was written. Read \
                 the file again, then repeat the change on its present content"
                    .to_owned(),
            );
        };
        if !own.places.has(workspace, path) {
            return Err(format!(
                "`{path}` is not in this task's write paths: {}; nothing was written",
                own.places.paths.join(", ")
            ));
        }
    }
    let others =
        now.leases.iter().filter(|lease| lease.task != *task && !now.ancestors.contains(&lease.task));
    match others.into_iter().find(|lease| lease.places.has(workspace, path)) {
        None => Ok(()),
        Some(lease) => Err(format!(
            "`{path}` is leased to another task: {}; nothing was written. Wait until that task has \
             ended, or leave the file to it",
            holder(lease).english()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(workspace: &str, paths: &[&str]) -> WritePaths {
        WritePaths::parse(workspace, &strings(paths)).unwrap()
    }

    fn strings(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn lease(task: &str, places: WritePaths) -> Lease {
        let (task, owner) = (TaskId::from_store(task.to_owned()), "me".to_owned());
        Lease { task, token: 1, places, since_ms: 0, owner, epoch: 1, seen_ms: 0 }
    }

    fn id(raw: &str) -> TaskId {
        TaskId::from_store(raw.to_owned())
    }

    #[test]
    fn only_others_stand_in_the_way_and_what_conflicts_is_named() {
        // R416
        let held = [
            lease("s", places("/w", &["src/**", "docs"])),
            lease("s.t_01", places("/w", &["src/a/**"])),
            lease("x", places("/elsewhere", &["src/**"])),
        ];
        let wanted = places("/w", &["src/a/b.rs", "src/c.rs", "docs/x.md"]);
        let found = conflicting_leases(&wanted, &id("s.t_02"), &[id("s")], &held);
        assert_eq!(found, [&held[1]], "a sibling conflicts, the parent does not");
        let e = conflict(&wanted, &found);
        assert_eq!(e.message(), "Cannot acquire file locks. Conflicts: src/a/b.rs");
        let found = conflicting_leases(&wanted, &id("y"), &[], &held);
        let e = conflict(&wanted, &found);
        assert_eq!(e.message(), "Cannot acquire file locks. Conflicts: docs/x.md, src/a/b.rs, src/c.rs");
        assert!(conflicting_leases(&places("/w", &["test"]), &id("y"), &[], &held).is_empty());
        assert!(
            conflicting_leases(&wanted, &id("s.t_01"), &[id("s")], &held).is_empty(),
            "its own is no conflict"
        );
    }

    #[test]
    fn a_workspace_inside_of_another_one_is_seen_as_that() {
        let held = [lease("x", places("/w", &["crates/**"]))];
        let meets = |workspace: &str, path: &str| {
            !conflicting_leases(&places(workspace, &[path]), &id("y"), &[], &held).is_empty()
        };
        assert!(meets("/w/crates/core", "src") && meets("/w/crates", ".") && meets("/", "w"));
        assert!(!meets("/w/docs", "**") && !meets("/w2", "crates/**"));
    }

    #[test]
    fn a_write_needs_the_lease_it_was_begun_with_and_nobody_elses() {
        // G9 Seen to fail without the comparison of epochs, and without that of tokens.
        let own = lease("s.t_01", places("/w", &["src/**"]));
        let now = WriteState {
            epoch: 2,
            seen_ms: 0,
            ancestors: vec![id("s")],
            leases: vec![lease("s", places("/w", &["."])), own, lease("x", places("/w", &["docs"]))],
        };
        let permit = |epoch, token, path: &str| permit(&now, &id("s.t_01"), epoch, token, "/w", path);
        assert_eq!(permit(2, Some(1), "src/a.rs"), Ok(()));
        assert!(permit(1, Some(1), "src/a.rs").unwrap_err().contains("another process drives"));
        assert!(permit(2, Some(9), "src/a.rs").unwrap_err().contains("was lost"));
        assert!(permit(2, Some(1), "test/a.rs").unwrap_err().contains("not in this task's write paths"));
        assert!(permit(2, None, "docs/a.md").unwrap_err().contains("`x` holds docs"));
        assert_eq!(
            permit(2, None, "test/a.rs"),
            Ok(()),
            "without places of its own it may write what is free"
        );
    }

    #[test]
    fn a_command_may_not_write_what_is_leased_to_others() {
        let leases = vec![
            lease("s", places("/w", &["."])),
            lease("s.t_01", places("/w", &["own"])),
            lease("x", places("/w", &["src/*.rs", "docs/a.md"])),
            lease("y", places("/w/sub", &["**"])),
            lease("z", places("/elsewhere", &["src"])),
        ];
        let now = WriteState { epoch: 1, seen_ms: 0, ancestors: vec![id("s")], leases };
        assert_eq!(closed_to(&now, &id("s.t_01"), "/w"), ["docs/a.md", "src", "sub"]);
        assert_eq!(closed_to(&now, &id("s.t_01"), "/w/sub/deep"), [""], "all of it is leased");
        assert_eq!(closed_to(&now, &id("s.t_01"), "/w2"), [] as [&str; 0]);
    }

    #[test]
    fn only_commands_that_began_before_a_lease_are_waited_for() {
        let command = |task: &str, paths: &[&str], after| WritingCommand {
            by: lease(task, places("/w", paths)),
            after,
        };
        let running = [
            command("a", &["**"], 6),
            command("b", &["**"], 7),
            command("c", &["docs/**"], 6),
            command("me", &["**"], 6),
        ];
        let found = still_writing(&places("/w", &["src"]), &id("me"), 7, &running);
        assert_eq!(found, [&running[0]]);
    }

    #[test]
    fn paths_that_no_tool_could_write_are_no_places() {
        for wrong in ["", " ", "/etc", "../x", "a/../../b", "a\nb", &"x".repeat(2_000)] {
            let e = WritePaths::parse("/w", &strings(&[wrong])).unwrap_err();
            assert_eq!(e.code(), ErrorCode::InvalidRequest, "{wrong:?}");
        }
        assert!(WritePaths::parse("/w", &vec!["a".to_owned(); 101]).is_err());
    }

    #[test]
    fn a_root_is_where_everything_of_a_glob_is() {
        let paths = strings(&["src/**/*.ts", "docs/a.md", "./lib/", "*.rs", "src/x?y/z", "."]);
        assert_eq!(roots(&paths), ["", "docs/a.md", "lib", "src"]);
        assert!(are_within(&strings(&["src/a/**"]), &strings(&["src"])));
        assert!(!are_within(&strings(&["src/a/**", "docs"]), &strings(&["src"])));
    }
}
