//! Modes of tasks: which one a new task gets, the grant that goes with it, and the line that announces it.

use posse_core::confinement::NetworkReach;
use posse_core::grant::{Grant, SandboxTier};
use posse_core::mode::WorkMode;
use posse_core::tool::{ToolEffect, canonical};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;

use crate::config::ApprovalMode;
use crate::options::RunOptions;
use crate::setup::Setup;
use crate::tools::ToolInventory;

/// The mode of a new task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeChoice {
    pub mode: WorkMode,
    /// True if no one chose it and there is no terminal.
    pub is_fallback: bool,
    /// True if someone can answer about calls.
    pub can_ask: bool,
}

impl Setup {
    /// Chooses the mode of a new task: the flag, the user's configuration, or the default of this place. Nothing in a
    /// repository counts.
    pub fn mode(&self, how: &RunOptions, found: &ToolInventory) -> Result<ModeChoice> {
        let chosen = self.chosen_mode(how);
        let mode = match chosen {
            Some(mode) => mode,
            // A tool that changes something was allowed for this run, by name.
            None if self.changing(how, found)?.is_some() => WorkMode::Auto,
            None => self.usual_mode(self.is_attended),
        };
        let is_fallback = chosen.is_none() && mode == WorkMode::Plan;
        Ok(ModeChoice { mode, is_fallback, can_ask: self.can_ask(how, self.is_attended) })
    }

    /// Tells whether someone can answer about calls: a person here, or one who uses `posse approvals`.
    pub fn can_ask(&self, how: &RunOptions, is_attended: bool) -> bool {
        match how.common.approvals.or(self.config.approvals.mode) {
            Some(ApprovalMode::Ask) => true,
            Some(ApprovalMode::Deny | ApprovalMode::AllowListed) => false,
            None => is_attended,
        }
    }

    /// Refuses a tool that changes something where the mode leaves it out, instead of ignoring the flag.
    pub fn refuse_contradiction(&self, how: &RunOptions, found: &ToolInventory) -> Result<()> {
        match (self.chosen_mode(how), self.changing(how, found)?) {
            (Some(WorkMode::Plan), Some(tool)) => {
                let e = Error::new(ErrorCode::InvalidRequest, say!("mode-plan-allows-no", tool));
                Err(e.hint(say!("mode-plan-allows-no-hint")))
            }
            _ => Ok(()),
        }
    }

    fn chosen_mode(&self, how: &RunOptions) -> Option<WorkMode> {
        how.mode.or(how.common.read_only.then_some(WorkMode::Plan)).or(self.config.session.mode)
    }

    /// Returns the mode of tasks that nobody chose one for.
    pub fn usual_mode(&self, is_attended: bool) -> WorkMode {
        match (is_attended, self.confines()) {
            (false, _) => WorkMode::Plan,
            (true, true) => WorkMode::Auto,
            (true, false) => WorkMode::Ask,
        }
    }

    /// Tells whether the kernel confines commands here.
    pub fn confines(&self) -> bool {
        self.sandbox.tier().is_ok_and(|tier| tier != SandboxTier::None)
    }

    /// Finds a tool among those allowed for this run that changes something.
    fn changing(&self, how: &RunOptions, found: &ToolInventory) -> Result<Option<String>> {
        let named = found.named(&how.common.allow)?;
        let changes =
            |name: &String| found.effects().any(|(tool, effect)| tool == *name && effect != ToolEffect::Pure);
        Ok(named.into_iter().find(changes))
    }

    /// Announces mode and sandbox of a task with this grant. A program that reads JSON finds the mode in the result, and
    /// is told of one that nobody chose.
    pub fn tell_mode(&self, choice: ModeChoice, grant: &Grant, json: bool) {
        if !json || choice.is_fallback {
            (self.process.note)(&self.mode_line(choice, grant));
        }
    }

    /// Describes mode and sandbox of a task with this grant, in one line.
    pub fn mode_line(&self, choice: ModeChoice, grant: &Grant) -> String {
        let has_commands = grant.offers("bash", ToolEffect::Unsafe);
        // An agent file can ask for less than the mode gives.
        let mode = choice.mode.min(WorkMode::of(grant));
        let has_edits =
            grant.offers("edit", ToolEffect::Unsafe) || grant.offers("write", ToolEffect::Idempotent);
        if mode != WorkMode::Plan && !has_edits && !has_commands {
            return say!("mode-changes-nothing", mode);
        }
        let words = match (mode, has_commands) {
            (WorkMode::Plan, _) => say!("mode-plan"),
            (WorkMode::Ask, _) if !choice.can_ask => say!("mode-ask-nobody"),
            (WorkMode::Ask, true) => say!("mode-ask"),
            (WorkMode::Ask, false) => say!("mode-ask-edits"),
            (WorkMode::Auto, true) => say!("mode-auto"),
            (WorkMode::Auto, false) => say!("mode-auto-edits"),
        };
        let more = match mode {
            WorkMode::Plan if choice.is_fallback && (self.process.is_terminal)() => say!("mode-no-screen"),
            WorkMode::Plan if choice.is_fallback => say!("mode-no-terminal"),
            WorkMode::Plan => return words,
            WorkMode::Ask | WorkMode::Auto if has_commands => self.sandbox_words(grant),
            WorkMode::Ask | WorkMode::Auto => self.why_no_commands(),
        };
        format!("{words} · {more}")
    }

    /// Describes the sandbox of the commands of a task.
    fn sandbox_words(&self, grant: &Grant) -> String {
        let tier = self.sandbox.tier().map_or(grant.sandbox(), |tier| tier.max(grant.sandbox()));
        let network = match self.network().narrow(&grant.network().reach()) {
            NetworkReach::None => say!("mode-no-network"),
            reach @ (NetworkReach::Ports(_) | NetworkReach::Full) => say!("mode-network", reach),
        };
        match tier {
            SandboxTier::None => say!("mode-unconfined"),
            SandboxTier::Kernel => say!("mode-landlock", network),
            SandboxTier::Namespaces if self.sandbox.opens_top() => say!("mode-bubblewrap", network),
            SandboxTier::Namespaces => say!("mode-bubblewrap-closed", network),
        }
    }

    /// Says why a task has no commands, and the remedy.
    fn why_no_commands(&self) -> String {
        match self.sandbox.tier() {
            Ok(SandboxTier::None) => say!("mode-sandbox-off"),
            Ok(_) if self.config.grant.deny.iter().any(|name| canonical(name) == "bash") => {
                say!("mode-commands-denied")
            }
            Ok(SandboxTier::Kernel | SandboxTier::Namespaces) => say!("mode-commands-not-granted"),
            Err(_) => say!("mode-no-sandbox"),
        }
    }
}
