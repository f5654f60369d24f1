//! The file tools, and the frame they share: arguments are parsed, the work runs on a blocking thread,
//! refusals become results that a model can act on.

use std::fmt;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::approval::DIFF;
use posse_core::edits::{FileChange, FileImage};
use posse_core::grant::{Grant, RequestedCall};
use posse_core::id::{CallKey, TaskId};
use posse_core::tool::{ToolEffect, ToolSpec, canonical};
use posse_runtime::leases::LeaseGuard;
use posse_runtime::ports::{BoxFuture, CallProposal, Tool, ToolInput, ToolOutput};
use posse_sandbox::workspace::{Workspace, show};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::seen::SeenFiles;
use crate::skill::SkillCatalog;
use crate::{diff, edit, glob, grep, list, read, replace, skill, think, write};

/// An answer is at most this long even if the conversation has room for more.
pub(crate) const ANSWER_BYTES_MAX: usize = 50_000;

/// Below this an answer could not even hold its notes. A caller with less room cuts further itself.
pub const ANSWER_BYTES_MIN: usize = 2_048;

/// The tools of the tasks that work in one workspace. Each task knows only the files it read itself.
pub fn toolset(workspace: Arc<Workspace>, skills: SkillCatalog) -> Vec<Arc<dyn Tool>> {
    let context = Arc::new(FileToolContext { workspace, seen: SeenFiles::default(), skills });
    vec![
        tool(&context, read::spec(), read::run),
        tool(&context, edit::spec(), edit::run),
        tool(&context, write::spec(), write::run),
        tool(&context, grep::spec(), grep::run),
        tool(&context, glob::spec(), glob::run),
        tool(&context, list::ls_spec(), list::ls),
        tool(&context, list::tree_spec(), list::tree),
        tool(&context, think::spec(), think::run),
        tool(&context, skill::spec(&context.skills), skill::run),
    ]
}

/// The content that a call of `write` or `edit` makes of a file; `None` if it would be refused, or is a call of something else.
pub fn content_after(tool: &str, arguments: &str, before: Option<&[u8]>) -> Option<Vec<u8>> {
    match canonical(tool).as_ref() {
        "write" => Some(serde_json::from_str::<write::WriteArguments>(arguments).ok()?.into_content()),
        "edit" => edit::content_after(&serde_json::from_str(arguments).ok()?, before?),
        _ => None,
    }
}

/// Shared state of the file tools.
pub(crate) struct FileToolContext {
    pub workspace: Arc<Workspace>,
    pub seen: SeenFiles,
    pub skills: SkillCatalog,
}

/// One call at work.
pub(crate) struct FileJob {
    pub context: Arc<FileToolContext>,
    pub task: TaskId,
    pub cancel: CancellationToken,
    /// Bytes the answer may have, notes included.
    pub room: usize,
    pub turn: u32,
    pub key: CallKey,
    grant: Arc<Grant>,
    /// The canonical name of the tool, what it does, and what it was called with.
    tool: String,
    effect: ToolEffect,
    arguments: String,
    /// The workspace as the grant writes it in absolute paths.
    root: String,
    fence: Option<Arc<LeaseGuard>>,
    runtime: Handle,
}

impl FileJob {
    /// Tells whether resolved paths must be checked: the grant decided on the path as written, and links inside of
    /// the workspace can lead elsewhere.
    pub fn minds_places(&self) -> bool {
        self.context.workspace.has_closed() || self.grant.looks_at_places(&self.tool)
    }

    /// Refuses what is open if the task may not have it where it really is. Returns that place, if it matters.
    pub fn check(&self, path: &Path, open: BorrowedFd<'_>) -> Result<Option<PathBuf>, String> {
        if !self.minds_places() {
            return Ok(None);
        }
        let place = self.context.workspace.place_of(path, open)?;
        self.check_place(path, &place)?;
        Ok(Some(place))
    }

    /// The same for a place that is known; `path` is how it was named.
    pub fn check_place(&self, path: &Path, place: &Path) -> Result<(), String> {
        self.context.workspace.refuse_closed(place)?;
        let (tool, effect, arguments) = (self.tool.as_str(), self.effect, self.arguments.as_str());
        let call = RequestedCall { tool, effect, arguments, workspace: &self.root };
        self.grant.permit_place(call, &place.to_string_lossy()).map_err(|why| match path == place {
            true => why,
            false => format!("`{}` is really `{}`: {why}", show(path), show(place)),
        })
    }

    /// Returns a filter for directories that a search skips; `start` is the search root, which resolves to `place`.
    pub fn leaves_out(&self, start: &Path, place: Option<PathBuf>) -> impl Fn(&Path) -> bool {
        move |path: &Path| match (&place, path.strip_prefix(start)) {
            (None, _) => false,
            (Some(place), Ok(below)) => self.check_place(path, &place.join(below)).is_err(),
            (Some(_), Err(_)) => true,
        }
    }

    /// Writes down what a file was before it is replaced. Outside of a run nobody keeps it.
    pub fn save(&self, image: FileImage) -> Result<(), String> {
        match &self.fence {
            Some(fence) => self.runtime.block_on(fence.save(image)),
            None => Ok(()),
        }
    }

    /// The change of a file that this call announced before a crash.
    pub fn announced(&self, path: &Path) -> Option<FileChange> {
        self.fence.as_ref()?.saved(self.key, &path.to_string_lossy())
    }

    /// Checks that a file may be replaced now; `place` is its resolved path relative to the workspace.
    pub fn permit(&self, place: &Path) -> Result<(), String> {
        match &self.fence {
            Some(fence) => self.runtime.block_on(fence.permit(&place.to_string_lossy())),
            None => Ok(()),
        }
    }
}

/// A refusal is text for the model.
pub(crate) type Answer = Result<ToolOutput, String>;

pub(crate) fn describe(name: &str, effect: ToolEffect, description: &str, input_schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: input_schema.to_owned(),
        effect,
    }
}

struct FileTool<A> {
    spec: ToolSpec,
    context: Arc<FileToolContext>,
    run: fn(&FileJob, A) -> Answer,
    arguments: PhantomData<fn(A)>,
}

fn tool<A: DeserializeOwned + Send + 'static>(
    context: &Arc<FileToolContext>,
    spec: ToolSpec,
    run: fn(&FileJob, A) -> Answer,
) -> Arc<dyn Tool> {
    Arc::new(FileTool { spec, context: context.clone(), run, arguments: PhantomData })
}

impl<A: DeserializeOwned + Send + 'static> Tool for FileTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes_files(&self) -> bool {
        self.spec.effect != ToolEffect::Pure
    }

    /// A diff of what the call would do, where that can be told.
    fn propose(&self, input: &ToolInput<'_>) -> Result<CallProposal, ToolOutput> {
        let shown = self.proposed_diff(input.arguments).map(|diff| json!({ DIFF: diff }));
        Ok(CallProposal { shown, ..CallProposal::default() })
    }

    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments: A = match serde_json::from_str(input.arguments) {
                Ok(arguments) => arguments,
                Err(cause) => return ToolOutput::error(self.wrong_arguments(&cause)),
            };
            let job = FileJob {
                context: self.context.clone(),
                task: input.context.task.clone(),
                cancel: input.context.cancel.clone(),
                room: input.context.output_bytes_max.clamp(ANSWER_BYTES_MIN, ANSWER_BYTES_MAX),
                turn: input.key.turn,
                key: input.key,
                grant: input.context.grant.clone(),
                tool: canonical(&self.spec.name).into_owned(),
                effect: self.spec.effect,
                arguments: input.arguments.to_owned(),
                root: match &input.context.run {
                    Some(nesting) => nesting.workspace.clone(),
                    None => self.context.workspace.root().to_string_lossy().into_owned(),
                },
                fence: input.context.fence.clone(),
                runtime: Handle::current(),
            };
            let run = self.run;
            match tokio::task::spawn_blocking(move || run(&job, arguments)).await {
                Ok(Ok(output)) => output,
                Ok(Err(refusal)) => ToolOutput::error(refusal),
                Err(_) => ToolOutput::error(format!(
                    "the tool `{}` failed inside; this is a bug of the tool, not of the call",
                    self.spec.name
                )),
            }
        })
    }
}

impl<A> FileTool<A> {
    fn proposed_diff(&self, arguments: &str) -> Option<String> {
        let fields: serde_json::Value = serde_json::from_str(arguments).ok()?;
        let path = self.context.workspace.path(fields["path"].as_str()?).ok()?;
        let before = replace::shown_before(&self.context.workspace, &path)?;
        let after = content_after(&self.spec.name, arguments, before.as_deref())?;
        diff::to_approve(path.to_str()?, before.as_deref(), &after)
    }

    fn wrong_arguments(&self, cause: &serde_json::Error) -> String {
        // The position in the JSON text means nothing to a model that never sees the text.
        let message = cause.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before);
        let schema = serde_json::from_str::<serde_json::Value>(&self.spec.input_schema).unwrap_or_default();
        let known: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(k, _)| k.as_str()).collect();
        format!("wrong arguments for `{}`: {message}; it takes: {}", self.spec.name, known.join(", "))
    }
}

/// A whole number, also written `12.0`: to a schema that is an integer too. `"12"` is not, and no call comes here with it.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(NumberVisitor)
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number that is not negative")
    }
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        u64::try_from(value)
            .map(Some)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(value), &self))
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        if value >= 0.0 && value.fract() == 0.0 && value <= 9e15 {
            return Ok(Some(value as u64));
        }
        Err(E::invalid_value(serde::de::Unexpected::Float(value), &self))
    }
}
