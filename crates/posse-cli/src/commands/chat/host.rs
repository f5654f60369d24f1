//! The setup of this directory, or of an earlier task, as a conversation sees it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use posse_console::chat::{ChatHost, FileExcerpt, KnownModel, OpenedSession};
use posse_core::Result;
use posse_core::agent::{Agent, ChosenModel, ModelLimits};
use posse_core::grant::Grant;
use posse_core::id::TaskId;
use posse_core::mode::WorkMode;
use posse_messages::say;
use posse_models::catalogue::{ModelRef, family, known_models};
use posse_runtime::ports::{AgentLookup, Observer, Store};
use posse_sandbox::workspace::Workspace;
use posse_store::SqliteStore;
use posse_terminal::rows::figures;
use posse_tools::edits::{self, EditSpan, undo};

use super::super::drive::{ProgressView, RunKind, RunSession, RunView};
use super::super::run::{self, LeadAgent};
use super::super::tasks::{TakenUp, undo as undo_lines};
use super::kept;
use crate::args::{GlobalArgs, RunOptions};
use crate::lists::short_path;
use crate::mode::ModeChoice;
use crate::setup::process_env;
use crate::setup::{Setup, in_project};

/// Files that the menu offers.
const FILES_MAX: usize = 20_000;
/// Largest file that is opened for a message, in bytes.
const READ_BYTES_MAX: u64 = 4 << 20;

/// A setup, the agent that answers, and the flags.
pub(super) struct SetupHost<'a> {
    global: &'a GlobalArgs,
    how: RunOptions,
    lead: LeadAgent,
    source: SessionSource,
    store: Arc<SqliteStore>,
}

/// Source of the sessions: this directory's setup, or an earlier task.
enum SessionSource {
    New(Box<Setup>),
    Earlier(Box<TakenUp>),
}

impl<'a> SetupHost<'a> {
    pub(super) fn begin(global: &'a GlobalArgs, how: RunOptions, setup: Setup) -> Result<Self> {
        let lead = lead(&setup, &how)?;
        let store = setup.store()?;
        Ok(Self { global, how, lead, source: SessionSource::New(Box::new(setup)), store })
    }

    pub(super) fn take_up(global: &'a GlobalArgs, how: RunOptions, taken_up: TakenUp) -> Result<Self> {
        let (lead, store) = (LeadAgent::of(taken_up.start.agent.clone()), taken_up.setup.store()?);
        Ok(Self { global, how, lead, source: SessionSource::Earlier(Box::new(taken_up)), store })
    }

    pub(super) fn setup(&self) -> &Setup {
        match &self.source {
            SessionSource::New(setup) => setup,
            SessionSource::Earlier(taken_up) => &taken_up.setup,
        }
    }

    /// Returns the model that a flag asks for in a conversation that has another one.
    pub(super) fn asked_model(&self) -> Result<Option<ChosenModel>> {
        match (&self.source, &self.how.common.model) {
            (SessionSource::Earlier(_), Some(model)) => self.find_model(model).map(Some),
            _ => Ok(None),
        }
    }

    /// Fails before the first prompt if no model could answer.
    pub(super) fn check(&self) -> Result<()> {
        self.check_model(&self.lead.agent)
    }

    fn check_model(&self, agent: &Agent) -> Result<()> {
        let caps = match &self.source {
            SessionSource::New(setup) => setup.caps(&self.how),
            SessionSource::Earlier(taken_up) => taken_up.caps(&self.how),
        };
        run::check_model(&*self.setup().models(&self.how)?, agent, &caps)
    }

    /// Announces the mode of the messages that follow.
    pub(super) fn tell_mode(&self, json: bool) -> Result<()> {
        let (choice, grant) = self.mode_and_grant()?;
        self.setup().tell_mode(choice, &grant, json);
        Ok(())
    }

    fn mode_and_grant(&self) -> Result<(ModeChoice, Grant)> {
        match &self.source {
            SessionSource::New(setup) => {
                let found = setup.tools()?;
                let choice = setup.mode(&self.how, &found)?;
                let grant = setup.grant(&self.how, choice.mode, &found)?;
                Ok((choice, grant.keep(&self.lead.agent.rights)))
            }
            SessionSource::Earlier(taken_up) => taken_up.mode(&self.how),
        }
    }

    /// Builds the session of the next message.
    pub(super) fn room(&mut self, session: &str, regrants: bool, view: RunView<'_>) -> Result<RunSession> {
        self.lead.mode_changed = regrants;
        match &self.source {
            SessionSource::New(setup) => {
                run::room(setup, &self.how, setup.tools()?, &self.lead, session.to_owned(), view)
            }
            SessionSource::Earlier(taken_up) => taken_up.room(&self.how, view),
        }
    }

    fn workspace_files(&self) -> Option<Arc<Workspace>> {
        let Setup { workspace, sandbox, .. } = self.setup();
        Workspace::open_with(workspace, sandbox.closed(), sandbox.protection()).ok()
    }
}

/// Describes a model with its window and its prices, as far as they are known.
fn known_model(reference: String, setup: &Setup) -> KnownModel {
    let parsed = ModelRef::parse(&reference).ok();
    let window = parsed.as_ref().and_then(family).map(|family| figures::count(family.context_window));
    let price = parsed.and_then(|model| setup.models.get()?.price(&model));
    let price = price.map(|price| format!("${:.2} / ${:.2}", price.input, price.output));
    KnownModel { reference, facts: vec![window.unwrap_or_default(), price.unwrap_or_default()] }
}

fn lead(setup: &Setup, how: &RunOptions) -> Result<LeadAgent> {
    let found = setup.tools()?;
    setup.refuse_contradiction(how, &found)?;
    let mut lead = run::lead(setup, how, &found)?;
    if !lead.verify.is_empty() {
        lead.notes.push(say!("chat-not-verified"));
    }
    Ok(lead)
}

impl ChatHost for SetupHost<'_> {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn agent(&self) -> &Agent {
        &self.lead.agent
    }

    fn notes(&self) -> Vec<String> {
        self.lead.notes.clone()
    }

    fn open(
        &mut self,
        session: &str,
        regrants: bool,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<OpenedSession> {
        let progress = ProgressView::Watched(observer.as_ref());
        let view = RunView { progress, json: false, kind: RunKind::Message };
        let room = self.room(session, regrants, view)?;
        Ok(OpenedSession { session: room.session, problems: room.problems })
    }

    fn mode(&self) -> Result<WorkMode> {
        let (choice, grant) = self.mode_and_grant()?;
        Ok(choice.mode.min(WorkMode::of(&grant)))
    }

    fn set_mode(&mut self, mode: WorkMode) {
        self.how.mode = Some(mode);
    }

    fn keep_mode(&self, id: &TaskId, mode: Option<WorkMode>) -> Result<()> {
        kept::keep(&self.setup().state, id, mode)
    }

    fn kept_mode(&self, id: &TaskId) -> Option<WorkMode> {
        kept::of(&self.setup().state, id)
    }

    fn mode_line(&self) -> Result<String> {
        let (choice, grant) = self.mode_and_grant()?;
        Ok(self.setup().mode_line(choice, &grant))
    }

    fn find_model(&self, reference: &str) -> Result<ChosenModel> {
        let model = self.setup().config.models.resolve_alias(reference, &process_env)?;
        let chosen = self.setup().orchestrator_with(&self.how, model);
        let choice = ChosenModel { model: chosen.model.clone(), limits: ModelLimits::of(&chosen.limits) };
        let mut agent = self.lead.agent.clone();
        agent.choose_model(&choice);
        self.check_model(&agent)?;
        Ok(choice)
    }

    fn use_model(&mut self, choice: &ChosenModel) {
        self.lead.agent.choose_model(choice);
    }

    fn known_models(&self) -> Vec<KnownModel> {
        let config = &self.setup().config.models;
        let vendors = config.set_up_providers(&process_env);
        let named =
            |vendor: &String| known_models(vendor).map(|name| format!("{vendor}:{name}")).collect::<Vec<_>>();
        let references = config.aliases.keys().cloned().chain(vendors.iter().flat_map(named));
        references.map(|reference| known_model(reference, self.setup())).collect()
    }

    fn agents(&self) -> Vec<(String, String)> {
        let listed = self.setup().agents(&self.how).list();
        listed.iter().map(|agent| (agent.name.to_string(), agent.description.clone())).collect()
    }

    fn workspace(&self) -> &Path {
        &self.setup().workspace
    }

    fn short_path(&self, path: &str) -> String {
        short_path(Path::new(path))
    }

    fn is_here(&self, workspace: &str) -> bool {
        in_project(&self.setup().project)(Path::new(workspace))
    }

    fn files(&self) -> Vec<String> {
        let files = self.workspace_files();
        files.map(|place| posse_tools::workspace_files(&place, FILES_MAX)).unwrap_or_default()
    }

    fn read_file(&self, path: &str) -> Option<FileExcerpt> {
        let mut file = self.workspace_files()?.open_file(Path::new(path)).ok()?;
        let whole = file.whole(READ_BYTES_MAX).ok().flatten();
        Some(FileExcerpt { bytes: file.size(), text: whole.and_then(|bytes| String::from_utf8(bytes).ok()) })
    }

    fn shell(&self) -> OsString {
        std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
    }

    fn renew(&mut self) -> Result<()> {
        if let SessionSource::Earlier(taken_up) = &self.source {
            let setup = Setup::load_in(self.global, taken_up.setup.workspace.clone())?;
            self.source = SessionSource::New(Box::new(setup));
        }
        // Here may be no default model.
        self.how.common.model = Some(self.lead.agent.model.clone());
        self.lead = lead(self.setup(), &self.how)?;
        Ok(())
    }

    async fn resume(&mut self, id: &TaskId) -> Result<()> {
        let taken_up = TakenUp::find(self.global, id.as_str()).await?;
        // It keeps the mode that it had.
        self.how.mode = None;
        self.lead = LeadAgent::of(taken_up.start.agent.clone());
        self.source = SessionSource::Earlier(Box::new(taken_up));
        Ok(())
    }

    async fn diff(&self, id: &TaskId) -> Result<String> {
        let edited = edits::gather(&*self.store, id, EditSpan::Whole).await?;
        Ok(edited.iter().filter_map(|file| file.diff()).collect())
    }

    async fn changed_files(&self, id: &TaskId) -> Result<usize> {
        Ok(edits::gather(&*self.store, id, EditSpan::LastMessage).await?.len())
    }

    async fn undo(&self, id: &TaskId) -> Result<Vec<String>> {
        let plan = undo::plan(&*self.store, id, EditSpan::LastMessage).await?;
        let steps = plan.perform(&*self.store).await?;
        Ok(steps.iter().map(|step| undo_lines::line(step, false)).collect())
    }
}
