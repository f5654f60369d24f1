//! What does not have to be found out and built anew for every command: where something protected is, and rulesets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::apply::{self, DEVICES, SandboxWorkspace};
use crate::confinement::SandboxWalls;
use crate::landlock::LandlockRulesets;
use crate::layout::SandboxLayout;
use crate::protected::FileProtection;
use crate::survey::{SurveyStamp, WorkspaceSurvey, or_here};

/// Tasks that work side by side have rulesets of their own.
const BUILT_MAX: usize = 16;
/// Each task that works apart has a workspace of its own.
const WORKSPACES_MAX: usize = 16;

#[derive(Default)]
pub(crate) struct RulesetCache {
    surveys: Mutex<HashMap<PathBuf, Arc<Mutex<WorkspaceSurvey>>>>,
    built: Mutex<Vec<CachedRuleset>>,
}

struct CachedRuleset {
    workspace: PathBuf,
    walls: SandboxWalls,
    layout: SandboxLayout,
    /// Stamps of every path, taken when the rules were built.
    stamps: Vec<Option<SurveyStamp>>,
    rulesets: LandlockRulesets,
}

impl RulesetCache {
    /// Returns the protected paths of a workspace.
    pub fn protected(&self, workspace: &Path, protection: &FileProtection) -> Result<Vec<PathBuf>, String> {
        let here = SandboxWorkspace::at(workspace)?;
        let survey = {
            let mut surveys = lock(&self.surveys);
            if surveys.len() >= WORKSPACES_MAX && !surveys.contains_key(workspace) {
                surveys.clear();
            }
            surveys.entry(workspace.to_owned()).or_default().clone()
        };
        lock(&survey).protected(&here.open, protection)
    }

    /// Returns the cached rulesets if every path is unchanged, otherwise builds them.
    pub fn rulesets(&self, walls: &SandboxWalls, workspace: &Path) -> Result<LandlockRulesets, String> {
        let here = SandboxWorkspace::at(workspace)?;
        let mut all = lock(&self.built);
        let earlier = all.iter().position(|built| built.workspace == workspace && built.walls == *walls);
        if let Some(mut built) = earlier.map(|at| all.remove(at))
            && built.is_valid(&here)?
        {
            let rulesets = built.rulesets.clone();
            all.push(built);
            return Ok(rulesets);
        }
        let layout = SandboxLayout::of(walls, workspace)?;
        // Before anything is opened: what is replaced meanwhile is noticed the next time.
        let stamps = stamps(walls, &layout, &here);
        let rulesets = apply::rulesets(walls, &layout, &here)?;
        if all.len() >= BUILT_MAX {
            all.remove(0);
        }
        let workspace = workspace.to_owned();
        all.push(CachedRuleset {
            workspace,
            walls: walls.clone(),
            layout,
            stamps,
            rulesets: rulesets.clone(),
        });
        Ok(rulesets)
    }
}

impl CachedRuleset {
    fn is_valid(&mut self, here: &SandboxWorkspace) -> Result<bool, String> {
        let written = std::mem::take(&mut self.layout.write);
        self.layout.place_writing(&self.walls, &self.workspace)?;
        Ok(written == self.layout.write && self.stamps == stamps(&self.walls, &self.layout, here))
    }
}

/// Takes the stamps of every path. For directories opened entry by entry, their entries count too.
fn stamps(walls: &SandboxWalls, layout: &SandboxLayout, here: &SandboxWorkspace) -> Vec<Option<SurveyStamp>> {
    let lasting = |path: &Path| SurveyStamp::of(None, path).map(SurveyStamp::lasting);
    let places =
        layout.read.iter().chain(&walls.read.programs).chain(&walls.write.always).chain([&walls.scratch]);
    let places = places.map(PathBuf::as_path).chain(DEVICES.iter().map(Path::new)).map(lasting);
    let names = layout.names.iter().map(|path| SurveyStamp::of(None, path));
    let inside = |path: &PathBuf| SurveyStamp::of(Some(&here.open), or_here(path)).map(SurveyStamp::lasting);
    let written = layout.write.iter().flatten().map(inside);
    places.chain(names).chain(written).collect()
}

/// Locks, ignoring poisoning: a panic leaves at most fewer entries in the cache.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
