//! The cache of parsed files: each look reads only those that changed.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::{DefinitionScope, Format, ParsedFile, Remark};
use posse_messages::localized;

use super::{AgentCandidate, Reader, TrustStanding};
use crate::frontmatter::error;
use crate::places::AgentDirectory;
use crate::places::find::{
    FoundContent, FoundFile, ScanAllowance, ScanStamp, ScanSummary, UnreadableFile, find, shown,
};
use crate::read::{DefinitionFile, unusable};
use crate::trust::ProjectTrust;

/// Age in seconds below which a time stamp is not reliable, so the file is read again at the next look.
const SETTLED_AFTER_S: i64 = 2;

/// All agent files with their parsed content.
#[derive(Default)]
pub(super) struct FileCache {
    /// In order of precedence.
    files: Vec<CachedFile>,
    positions: HashMap<PathBuf, usize>,
    seen: Vec<ScanSummary>,
}

struct CachedFile {
    path: PathBuf,
    /// `None` forces another read.
    stamp: Option<ScanStamp>,
    scope: DefinitionScope,
    is_ours: bool,
    reads: Vec<Arc<ParsedFile>>,
}

impl FileCache {
    /// Checks all directories; returns whether anything changed. `now_s` is in seconds since 1970.
    pub fn scan(&mut self, directories: &[AgentDirectory], reader: Reader, user: u32, now_s: i64) -> bool {
        let before = &*self;
        let mut look = FileScan { before, files: Vec::new(), differs: false, reader, user, now_s };
        let mut seen = Vec::with_capacity(directories.len());
        let (mut project, mut own) = (ScanAllowance::default(), ScanAllowance::default());
        for directory in directories {
            let allowance = if is_project(directory.scope) { &mut project } else { &mut own };
            let known = |path: &Path| before.known(path)?.stamp;
            seen.push(find(directory, user, allowance, &known, &mut |file| look.add(directory, file)));
        }
        let differs = look.differs || look.files.len() != before.files.len() || seen != before.seen;
        let files = look.files;
        self.positions = files.iter().map(|file| file.path.clone()).zip(0..).collect();
        (self.files, self.seen) = (files, seen);
        differs
    }

    /// Lists the agents in order of precedence, each with its trust status.
    pub fn candidates(&self, project: Option<ProjectTrust<'_>>) -> impl Iterator<Item = AgentCandidate> {
        self.files.iter().flat_map(move |file| {
            file.reads.iter().map(move |read| AgentCandidate::new(read, file.standing(read, project)))
        })
    }

    /// Returns the remarks about directories.
    pub fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.seen.iter().flat_map(|seen| &seen.remarks)
    }

    /// Returns every existing agent directory and its subdirectories.
    pub fn entered(&self) -> impl Iterator<Item = &PathBuf> {
        self.seen.iter().flat_map(|seen| &seen.directories)
    }

    fn known(&self, path: &Path) -> Option<&CachedFile> {
        self.positions.get(path).map(|at| &self.files[*at])
    }
}

struct FileScan<'a> {
    before: &'a FileCache,
    files: Vec<CachedFile>,
    differs: bool,
    reader: Reader,
    user: u32,
    now_s: i64,
}

impl FileScan<'_> {
    fn add(&mut self, directory: &AgentDirectory, found: FoundFile) {
        let before = self.before.known(&found.path);
        let path = shown(&found.path);
        let file = |bytes| DefinitionFile {
            path: &path,
            relative: &found.relative,
            format: Some(directory.format),
            scope: directory.scope,
            bytes,
        };
        let reads = match found.content {
            FoundContent::Same => before.map(|known| known.reads.clone()).unwrap_or_default(),
            FoundContent::Bytes(bytes) => arcs(read_safely(self.reader, file(&bytes))),
            FoundContent::Unreadable(why) => arcs(vec![broken(file(&[]), why)]),
        };
        let is_ours = found.owner == self.user;
        // The position counts as well: another file may now precede it.
        let in_place = self.before.files.get(self.files.len()).filter(|known| known.path == found.path);
        self.differs |= in_place.is_none_or(|known| known.is_ours != is_ours || known.reads != reads);
        let stamp = found.stamp.filter(|stamp| stamp.changed_s() + SETTLED_AFTER_S < self.now_s);
        self.files.push(CachedFile { path: found.path, stamp, scope: directory.scope, is_ours, reads });
    }
}

impl CachedFile {
    fn standing(&self, read: &ParsedFile, project: Option<ProjectTrust<'_>>) -> TrustStanding {
        match self.scope {
            DefinitionScope::User | DefinitionScope::BuiltIn | DefinitionScope::Session => {
                TrustStanding::Trusted
            }
            DefinitionScope::Project { .. } if !self.is_ours => TrustStanding::NotOurs,
            DefinitionScope::Project { .. }
                if project.is_some_and(|project| project.trusts(&read.origin.hash)) =>
            {
                TrustStanding::Trusted
            }
            DefinitionScope::Project { .. } => TrustStanding::NotTrusted,
        }
    }
}

fn is_project(scope: DefinitionScope) -> bool {
    match scope {
        DefinitionScope::Project { .. } => true,
        DefinitionScope::User | DefinitionScope::BuiltIn | DefinitionScope::Session => false,
    }
}

fn arcs(reads: Vec<ParsedFile>) -> Vec<Arc<ParsedFile>> {
    reads.into_iter().map(Arc::new).collect()
}

/// Reads a file and turns a panic into an error of that file alone.
pub(super) fn read_safely(reader: Reader, file: DefinitionFile<'_>) -> Vec<ParsedFile> {
    let bug = || UnreadableFile { why: localized!("place-bug"), hint: localized!("place-bug-hint") };
    catch_unwind(AssertUnwindSafe(|| reader(file))).unwrap_or_else(|_| vec![broken(file, bug())])
}

fn broken(file: DefinitionFile<'_>, UnreadableFile { why, hint }: UnreadableFile) -> ParsedFile {
    let remark = error(localized!("file-remark", why), None, Some(&hint));
    let mut read = unusable(file, file.format.unwrap_or(Format::Native), vec![remark]);
    // An empty hash can never be trusted.
    read.origin.hash.clear();
    read
}
