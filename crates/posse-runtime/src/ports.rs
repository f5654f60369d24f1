//! What the runtime needs from outside. Each port has one conformance suite that every implementation passes.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use posse_core::agent::{Agent, ModelSettings};
use posse_core::approval::{self, ParkedCall};
use posse_core::board::Urgency;
use posse_core::context::{
    ChangeResult, ContextChange, ContextEntry, ContextKey, ContextSnapshot, HistoryLine, SnapshotLabel,
    ValueHead,
};
use posse_core::definition::{Definition, OnUnknownModel};
use posse_core::edits::FileChange;
use posse_core::event::Event;
use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::journal::{Record, TaskStart};
use posse_core::lease::{Lease, WritePaths, WriteState, WritingCommand};
use posse_core::message::{Message, ToolCall, ToolResult};
use posse_core::reply::{ModelFailure, Reply};
use posse_core::tool::ToolSpec;
use posse_core::usage::{ByModel, SpendingTotal, Usage};
use posse_core::verify::VerifyEvidence;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::budget::ModelTariff;
use crate::driver::NestedRuns;
use crate::leases::LeaseGuard;

/// A boxed future, as object-safe traits need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model behind any wire format. Retry, fallback, recording and watching are models that wrap a model.
///
/// A provider translates and never loops. The future may be dropped at any await: that is how a call is cancelled.
pub trait Model: Send + Sync {
    /// `provider:model`, for people and for the journal.
    fn name(&self) -> &str;

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        deltas: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>>;
}

/// Opens models by reference. The composition root knows keys, base URLs and wrappers.
pub trait ModelResolver: Send + Sync {
    fn open(&self, agent: &Agent) -> Result<OpenModel>;

    /// The `provider:model` that a reference or an alias stands for, if it can be used here.
    fn resolve(&self, reference: &str) -> Result<String> {
        Ok(reference.to_owned())
    }

    /// The fate of tasks whose agent file names a model that does not exist.
    fn on_unknown_model(&self) -> OnUnknownModel {
        OnUnknownModel::Fallback
    }
}

/// Source of agents to delegate to. It may change while a session runs; a task keeps the agent it started with.
pub trait AgentLookup: Send + Sync {
    fn list(&self) -> Vec<Arc<Definition>>;

    /// Finds a definition; for a broken one, the error says why it cannot be used.
    fn find(&self, name: &str) -> Result<Arc<Definition>>;

    /// Definitions that are broken: they are in no list, and asking for one by name gives the same error.
    fn diagnostics(&self) -> Vec<AgentDiagnostic> {
        Vec::new()
    }

    /// Returns a remark for people about definitions that cannot be used.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// A definition that cannot be used, and why.
#[derive(Debug)]
pub struct AgentDiagnostic {
    pub name: String,
    pub path: String,
    pub error: Error,
}

/// A fixed list.
impl AgentLookup for Vec<Arc<Definition>> {
    fn list(&self) -> Vec<Arc<Definition>> {
        self.clone()
    }

    fn find(&self, name: &str) -> Result<Arc<Definition>> {
        let found = self.iter().find(|definition| definition.name.as_str() == name).cloned();
        let shown = self.iter().filter(|definition| !definition.mode.hidden);
        found.ok_or_else(|| unknown_agent(name, shown.map(|definition| definition.name.as_str())))
    }
}

/// The error for a name that no agent has.
pub fn unknown_agent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let near = posse_core::text::nearest(name, known.iter().copied());
    let near = near.map(|name| localized!("did-you-mean", name));
    let name = posse_core::text::prefix(name, 80);
    let there_are = match known.is_empty() {
        true => localized!("there-are-none"),
        false => localized!("there-are", names = known[..known.len().min(AGENTS_NAMED)].join(", ")),
    };
    let hint = LocalizedText::join(near.iter().chain([&there_are]), " ");
    Error::new(ErrorCode::AgentNotFound, localized!("agent-not-found", name)).hint(hint)
}

/// Names in an error message; a model can ask for the others.
const AGENTS_NAMED: usize = 50;

/// A model with its prices.
#[derive(Clone)]
pub struct OpenModel {
    pub model: Arc<dyn Model>,
    /// Prices of the model and its fallbacks.
    pub tariff: ModelTariff,
}

/// One model call.
pub struct ModelRequest<'a> {
    pub system: &'a str,
    pub messages: &'a [Message],
    /// Always the same list over a run, so that a provider's prompt cache keeps its prefix.
    pub tools: &'a [ToolSpec],
    pub tool_use: ToolUse,
    pub output_tokens_max: u32,
    pub settings: &'a ModelSettings,
    /// Models that gave the replies of this run so far.
    pub answered_by: &'a ByModel,
    /// Calls of this run without an answer since its last reply, in any process.
    pub unanswered: u32,
    /// Changes when an old message changed. While it stays, `messages` has only grown.
    pub generation: u64,
    /// Memory of the model between the calls of one run: the bytes serialized so far.
    pub memo: &'a mut ModelMemo,
    pub allowance: &'a dyn CallAllowance,
    /// Rank in the provider's queue.
    pub urgency: Urgency,
}

/// Budget of a call. A model that retries asks before each further attempt, so that failed attempts cannot exceed
/// the budget.
pub trait CallAllowance: Send + Sync {
    /// A wait that is longer than this is in vain.
    fn time_left(&self) -> Duration;

    /// May another attempt be made, when those of this call may have consumed `lost` so far? The error says what is
    /// missing.
    fn again(&self, lost: &Usage) -> Result<(), String>;

    /// The same for an attempt by the default model, which has a price of its own: the output tokens that it may take.
    fn again_by_default(&self, lost: &Usage, output_tokens: u32) -> Result<u32, String> {
        self.again(lost).map(|()| output_tokens)
    }

    /// From now on the call only waits for its turn at the provider, which does not count against the run's time.
    fn queues(&self);

    /// It does not wait any more.
    fn served(&self);
}

/// An allowance without limits.
pub struct UnlimitedCalls;

impl CallAllowance for UnlimitedCalls {
    fn time_left(&self) -> Duration {
        Duration::MAX
    }

    fn again(&self, _: &Usage) -> Result<(), String> {
        Ok(())
    }

    fn queues(&self) {}

    fn served(&self) {}
}

/// Permission, obligation or ban to call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolUse {
    Auto,
    /// The tools stay declared (history refers to them), but the model must answer in text.
    Forbidden,
}

impl ModelRequest<'_> {
    /// The same request once more, for a retry.
    pub fn again(&mut self) -> ModelRequest<'_> {
        ModelRequest {
            system: self.system,
            messages: self.messages,
            tools: self.tools,
            tool_use: self.tool_use,
            output_tokens_max: self.output_tokens_max,
            settings: self.settings,
            answered_by: self.answered_by,
            unanswered: self.unanswered,
            generation: self.generation,
            memo: self.memo,
            allowance: self.allowance,
            urgency: self.urgency,
        }
    }
}

/// A place for one value of whatever type the model needs; another model's value is replaced.
#[derive(Default)]
pub struct ModelMemo(Option<Box<dyn Any + Send>>);

impl ModelMemo {
    /// Returns the stored value of this type, creating it if absent.
    pub fn value<T: Default + Send + 'static>(&mut self) -> &mut T {
        if !self.0.as_ref().is_some_and(|held| held.is::<T>()) {
            self.0 = Some(Box::new(T::default()));
        }
        self.0.as_mut().and_then(|held| held.downcast_mut()).expect("the value was just put there")
    }
}

/// Watches a reply being made. Streaming is an observer, not a second way to run.
pub trait DeltaSink: Send + Sync {
    /// Bytes arrived, even if they mean nothing (a ping, a comment).
    fn alive(&self);
    fn delta(&self, delta: Delta<'_>);
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// The model began to ask for a tool.
    ToolCall {
        index: usize,
        name: &'a str,
    },
    ToolArguments {
        index: usize,
        fragment: &'a str,
    },
    /// The attempt failed: what was shown of it is void.
    Restarted {
        why: &'a str,
        wait: Duration,
    },
}

/// A sink that ignores deltas.
pub struct NoDeltas;

impl DeltaSink for NoDeltas {
    fn alive(&self) {}
    fn delta(&self, _: Delta<'_>) {}
}

/// A tool. Its failure is a result the model can act on, never a Rust error.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Tells whether the tool checks its own arguments and reports errors better than a schema would. `arguments`
    /// is then any JSON object.
    fn checks_arguments(&self) -> bool {
        false
    }

    /// True for tools whose calls hand a task to an agent and wait for it. Neighboring calls of such tools run side by side, each with
    /// its own intent and its own key.
    fn delegates(&self) -> bool {
        false
    }

    /// Returns a preview of the call for the person who decides on it. An error answers a call that would fail
    /// anyway, without asking.
    fn propose(&self, _input: &ToolInput<'_>) -> Result<CallProposal, ToolOutput> {
        Ok(CallProposal::default())
    }

    /// Runs the call to its end or until `context.cancel` fires; then it returns soon with what it has.
    fn call<'a>(&'a self, input: ToolInput<'a>) -> BoxFuture<'a, ToolOutput>;
}

/// A tool's presentation of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallProposal {
    /// The most important about it, an object.
    pub shown: Option<Value>,
    /// Refusal text for the model, instead of the default.
    pub refusal: Option<&'static str>,
}

/// Input of a tool call.
pub struct ToolInput<'a> {
    pub key: CallKey,
    /// JSON text of an object that satisfies the tool's schema.
    pub arguments: &'a str,
    /// The same for every attempt at this call, in any process.
    pub idempotency_key: &'a str,
    pub context: &'a ToolContext,
}

/// Context of a tool call.
#[derive(Clone)]
pub struct ToolContext {
    pub task: TaskId,
    /// The task's grant, for decisions that can only be made while the call runs.
    pub grant: Arc<Grant>,
    pub cancel: CancellationToken,
    /// Rest of the run's wall time.
    pub time_left: Duration,
    /// Bytes of output that make sense to return.
    pub output_bytes_max: usize,
    /// Context for running a nested agent; `None` outside of a run.
    pub nesting: Option<Arc<NestedRuns>>,
    /// Asked right before a file is put in place; without one, nobody else can be meant.
    pub fence: Option<Arc<LeaseGuard>>,
}

/// Output of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub is_error: bool,
    pub changed: Vec<FileChange>,
    /// The call was ended before it was done (cancel, timeout, crash): what it had begun may or may not have happened.
    pub cut_off: bool,
    /// The arguments were wrong and nothing was run. A model that makes nothing but mistakes is stopped.
    pub mistake: bool,
    /// A poll that was answered "not yet": repeating it is no circle.
    pub pending: bool,
}

impl ToolOutput {
    /// Creates a successful output.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates an error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// Creates an error caused by the model, such as wrong arguments.
    pub fn mistake(text: impl Into<String>) -> Self {
        Self { mistake: true, ..Self::error(text) }
    }

    /// Creates an error of a call whose effect is in doubt.
    pub fn cut_off(text: impl Into<String>) -> Self {
        Self { cut_off: true, ..Self::error(text) }
    }
}

/// Is asked before a call that has an effect is made, and about calls that a rule wants to be asked about. With one, nothing is
/// parked in the store.
pub trait Approver: Send + Sync {
    fn approve<'a>(&'a self, call: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision>;
}

/// A call that would be made. Its arguments satisfy the tool's schema.
#[derive(Debug, Clone, Copy)]
pub struct ProposedCall<'a> {
    pub task: &'a TaskId,
    pub tool: &'a str,
    pub arguments: &'a str,
    /// The tool's own presentation.
    pub shown: Option<&'a Value>,
    /// Why a person should be asked, if a rule says so.
    pub why: Option<&'a str>,
}

/// Decision of a program's approver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    Granted,
    /// Why, in words that help the model to do something else.
    Denied(String),
}

/// Says yes to everything, for an agent that works on its own. Nobody sees its calls before they are made.
pub struct AutoApprove;

impl Approver for AutoApprove {
    fn approve<'a>(&'a self, _: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Granted))
    }
}

/// Runs the commands that check a result, for tasks whose definition or whose asker wants that. A command has the
/// rights of whoever runs Posse, so whoever passes one on has asked `posse_core::verify::permit`.
pub trait Verifier: Send + Sync {
    /// Runs a command in the task's workspace to its end or until `context.cancel` fires. It may be run again after a
    /// crash.
    fn run<'a>(&'a self, command: &'a str, context: &'a ToolContext) -> BoxFuture<'a, VerifyEvidence>;
}

/// Ends the processes that drivers of a task before this epoch left behind, and returns how many there were. Called right after
/// the claim that gave `epoch`. Blocks for up to two seconds.
pub type LeftoverSweep = fn(task: &TaskId, epoch: u64) -> u32;

/// Gives tasks that work apart from others a copy of the workspace, and keeps what they changed there.
pub trait WorktreeSource: Send + Sync {
    /// Makes the copy of the workspace as it is now. Of a task that has one already, that one.
    fn open<'a>(&'a self, task: &'a TaskId, workspace: &'a str) -> BoxFuture<'a, Result<TaskWorktree>>;

    /// Writes down what is different in there now, so that it survives the process, and names the files. Before the task
    /// has ended.
    fn keep<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Removes it, for a task that was not created or changed nothing.
    fn discard<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>>;
}

/// A copy of a workspace, and what works in it.
#[derive(Clone)]
pub struct TaskWorktree {
    pub workspace: String,
    /// Directory-bound tools of the session, bound to this worktree.
    pub tools: Vec<Arc<dyn Tool>>,
    pub verifier: Option<Arc<dyn Verifier>>,
}

/// Keeps calls that wait for a person's yes, and the answers. What a returned future resolved for is on disk and seen by every
/// process on the same store. The rules are those of `posse_core::approval`, applied inside one transaction, so that of
/// several answers one counts. Time is passed in.
pub trait ApprovalStore: Send + Sync {
    /// Parks a call. One that was parked before keeps its place and its answer, as `ParkedCall::park_again` says;
    /// `APPROVAL_MISMATCH` if it was another call then.
    fn park(&self, request: approval::ApprovalRequest) -> BoxFuture<'_, Result<ParkedCall>>;

    /// `APPROVAL_CLOSED` if somebody was faster or its task has ended, `APPROVAL_MISMATCH` if `hash` is of something else.
    fn answer<'a>(
        &'a self,
        id: &'a str,
        hash: &'a str,
        answer: approval::ApprovalAnswer,
    ) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Closes the open questions of a task that no longer waits for answers.
    fn close_approvals<'a>(&'a self, task: &'a TaskId, why: &'a str) -> BoxFuture<'a, Result<()>>;

    /// `APPROVAL_NOT_FOUND` if there is none.
    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ParkedCall>>;

    /// Oldest first.
    fn approvals(&self, query: ApprovalQuery) -> BoxFuture<'_, Result<Vec<ParkedCall>>>;
}

/// Filter for approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalQuery {
    /// The newest ones, whatever became of them.
    Newest(u32),
    /// Open questions of tasks that have not ended.
    Open,
    /// Answers of a session that hold for more than one call.
    Standing(String),
    /// That of one call, if it was ever parked.
    Call(TaskId, CallKey),
}

/// The error for an id that no approval has.
pub fn unknown_approval(id: &str) -> Error {
    let id = posse_core::text::prefix(id, 80);
    Error::new(ErrorCode::ApprovalNotFound, localized!("approval-not-found", id))
        .hint(localized!("approvals-list-hint"))
}

/// Keeps tasks and their journals. What a returned future resolved for is on disk.
pub trait Store: ContextStore + ApprovalStore {
    /// Creates a task with its first records, owned by `owner` at epoch 1, with its lease, and its session if that is new.
    /// Fails with `INVALID_REQUEST` if the id exists, and with `LEASE_CONFLICT` as `lease` does.
    fn create(&self, task: NewTask) -> BoxFuture<'_, Result<()>>;

    /// Queues records at once and in order; the future resolves when they are durable. Dropping the future does not
    /// take the records back. Fails with `OWNER_LOST`, writing nothing, if `epoch` is no longer the task's.
    fn append(&self, task: &TaskId, epoch: u64, records: &[Record]) -> BoxFuture<'static, Result<()>>;

    /// Makes `owner` the task's driver and returns the new epoch; appends of earlier epochs fail from then on.
    fn claim<'a>(&'a self, task: &'a TaskId, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// The same, if the task is still at this epoch; fails with `OWNER_LOST` otherwise. Of several that saw the same dead
    /// owner, one gets the task.
    fn claim_from<'a>(&'a self, task: &'a TaskId, epoch: u64, owner: &'a str) -> BoxFuture<'a, Result<u64>>;

    /// Says that somebody wants a running task to end. Whoever drives it finds it among `cancel_requests`. The wish is
    /// over when the task has ended; of a task that has ended already, nothing changes.
    fn request_cancel<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<()>>;

    /// Notes how far the result of a task has reached whoever delegated it, and returns what holds now. It never goes back, and the
    /// first `Collected` stays: of several requests that collect at once, one finds its own key in the answer.
    fn deliver<'a>(
        &'a self,
        task: &'a TaskId,
        delivery: ResultDelivery,
    ) -> BoxFuture<'a, Result<ResultDelivery>>;

    /// Running tasks that somebody wants to end.
    fn cancel_requests(&self) -> BoxFuture<'_, Result<Vec<TaskId>>>;

    /// Says that this owner lives now. Those that were silent for a day are forgotten.
    fn beat<'a>(&'a self, owner: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Gives a task all of these places, or none: fails with `LEASE_CONFLICT` if another task holds one of them, and with
    /// `OWNER_LOST` if `epoch` is no longer the task's. Returns the lease's token; of a task that has these places already,
    /// the one it has. A lease ends with its task, in the same write.
    fn lease<'a>(&'a self, task: &'a TaskId, epoch: u64, request: LeaseRequest)
    -> BoxFuture<'a, Result<u64>>;

    /// Takes a lease away. Nothing changes if the task has another one by now, or none.
    fn end_lease<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Everybody's, oldest first.
    fn leases(&self) -> BoxFuture<'_, Result<Vec<Lease>>>;

    fn writing<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<WriteState>>;

    /// Notes that a task starts a process which may write these places. Nothing stands in its way; leases that are given from
    /// now on are newer than it. Fails with `OWNER_LOST` if `epoch` is no longer the task's. It is over with `end_command`, with the
    /// epoch, and with the task.
    fn begin_command<'a>(
        &'a self,
        task: &'a TaskId,
        epoch: u64,
        places: WritePaths,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<u64>>;

    fn end_command<'a>(&'a self, task: &'a TaskId, token: u64) -> BoxFuture<'a, Result<()>>;

    /// Everybody's, oldest first.
    fn commands(&self) -> BoxFuture<'_, Result<Vec<WritingCommand>>>;

    /// All records of a task in order. `TASK_NOT_FOUND` if there is no such task.
    fn records<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<Record>>>;

    fn task<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<TaskRow>>;

    /// Newest first, at most `limit`.
    fn tasks(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TaskRow>>> {
        self.find_tasks(TaskQuery { limit, ..TaskQuery::default() })
    }

    /// Lists matching tasks, newest first.
    fn find_tasks(&self, query: TaskQuery) -> BoxFuture<'_, Result<Vec<TaskRow>>>;

    /// Sums of a task and of everything below it.
    fn tree_total<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<SpendingTotal>> {
        Box::pin(async move {
            let mut total = self.task(task).await?.total();
            let mut parents = vec![task.clone()];
            while let Some(parent) = parents.pop() {
                for child in self.find_tasks(TaskQuery::of(TaskFilter::ChildrenOf(parent))).await? {
                    total.add(&child.total());
                    parents.push(child.id);
                }
            }
            Ok(total)
        })
    }
}

/// Filter for tasks; all given parts must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    pub of: TaskFilter,
    pub status: Option<String>,
    pub limit: u32,
}

impl Default for TaskQuery {
    fn default() -> Self {
        Self { of: TaskFilter::All, status: None, limit: u32::MAX }
    }
}

impl TaskQuery {
    /// Creates a query without further restrictions.
    pub fn of(of: TaskFilter) -> Self {
        Self { of, ..Self::default() }
    }
}

/// Groups of tasks to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskFilter {
    All,
    /// A session's own task and everything below it.
    Session(String),
    ChildrenOf(TaskId),
    /// Ids that begin so.
    Prefix(String),
    /// Ids whose part after the session is this: `t_01`, or a session's own id.
    Short(String),
}

impl TaskFilter {
    /// Tells whether the row matches.
    pub fn fits(&self, row: &TaskRow) -> bool {
        match self {
            TaskFilter::All => true,
            TaskFilter::Session(session) => row.id.session() == session,
            TaskFilter::ChildrenOf(parent) => row.parent.as_ref() == Some(parent),
            TaskFilter::Prefix(prefix) => row.id.as_str().starts_with(prefix),
            TaskFilter::Short(short) => row.id.short() == short,
        }
    }
}

/// A task to create, with its first records.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub id: TaskId,
    pub parent: Option<TaskId>,
    pub agent: String,
    pub owner: String,
    pub records: Vec<Record>,
    /// Lease to acquire with the creation. The task is not created without it.
    pub lease: Option<LeaseRequest>,
}

/// A request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    pub places: WritePaths,
    /// Leases, by their tokens, whose holders are dead: they end if they stand in the way.
    pub dead: Vec<u64>,
    /// A holder that was not heard of for longer than this loses its lease if it stands in the way.
    pub silence_ms_max: u64,
    pub now_ms: u64,
}

impl LeaseRequest {
    /// Tells whether a conflicting lease may be ended for this request.
    pub fn ends(&self, lease: &Lease) -> bool {
        self.dead.contains(&lease.token) || lease.is_expired(self.now_ms, self.silence_ms_max)
    }
}

/// A task as listings show it. `status` is `running` until a `Finished` record was appended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    pub id: TaskId,
    pub parent: Option<TaskId>,
    pub agent: String,
    /// The first 200 bytes of the task text.
    pub title: String,
    /// `running`, or the wire name of the outcome's status.
    pub status: String,
    pub owner: String,
    pub epoch: u64,
    pub created_ms: u64,
    pub updated_ms: u64,
    /// The last sign of life of its owner: what it wrote for this task, or its last `beat`.
    pub seen_ms: u64,
    /// A cancel was requested.
    pub cancel_requested: bool,
    /// Summed over `Replied` and `Unanswered` records.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Counted over `Replied` records.
    pub turns: u32,
    /// Price of everything whose price is known, in millionths of a dollar.
    pub cost_micros: u64,
    /// Tokens whose price is not known.
    pub unpriced_tokens: u64,
    /// Delivery of the result to a host; an orchestrator's journal records it for its own tasks.
    pub delivery: ResultDelivery,
}

/// Delivery state of a task's result to its parent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultDelivery {
    #[default]
    Unreported,
    /// A `wait` named its end.
    Reported,
    /// Its text was read. It can still be collected.
    Read,
    /// Given to the request with this key, and to no other one.
    Collected { by: String },
}

impl ResultDelivery {
    /// Returns the state after a request for `next`.
    pub fn raised_to(&self, next: &Self) -> Self {
        match self {
            Self::Collected { .. } => self.clone(),
            _ => self.max(next).clone(),
        }
    }

    /// As a store keeps it; `None` for what is usual.
    pub fn stored(&self) -> Option<String> {
        match self {
            Self::Unreported => None,
            Self::Reported => Some("reported".to_owned()),
            Self::Read => Some("read".to_owned()),
            Self::Collected { by } => Some(format!("collected:{by}")),
        }
    }

    pub fn from_store(text: Option<&str>) -> Self {
        match text {
            None => Self::Unreported,
            Some("reported") => Self::Reported,
            Some("read") => Self::Read,
            Some(text) => Self::Collected { by: text.strip_prefix("collected:").unwrap_or(text).to_owned() },
        }
    }
}

impl TaskRow {
    /// Sums of this task alone.
    pub fn total(&self) -> SpendingTotal {
        SpendingTotal {
            tasks: 1,
            turns: self.turns.into(),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_micros: self.cost_micros,
            unpriced_tokens: self.unpriced_tokens,
        }
    }
}

/// So many agents of one session are known again; a session that makes more makes them for one task each.
pub const KEPT_AGENTS_MAX: usize = 200;

/// An agent as it was defined while a session ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAgent {
    pub name: String,
    /// Grows when it is defined again.
    pub version: u32,
    /// Idempotency key of the call that defined it.
    pub key: String,
    /// Arguments of that call, as JSON.
    pub arguments: String,
}

/// Keeps sessions and their shared context. What a returned future resolved for is on disk and seen by every process
/// on the same store. The rules are those of `posse_core::context`, applied inside one transaction, so that limits and
/// versions hold whoever else writes. Every function but `create_session` and `sessions` fails with
/// `SESSION_NOT_FOUND` for a session that is not there or was deleted. Time is passed in.
pub trait ContextStore: Send + Sync {
    /// Makes a session of a workspace known before it has a task. Nothing changes if it is there already.
    fn create_session<'a>(
        &'a self,
        session: &'a str,
        workspace: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<()>>;

    /// Newest first, at most `limit`; those that were deleted are left out.
    fn sessions(&self, limit: u32, now_ms: u64) -> BoxFuture<'_, Result<Vec<SessionRow>>>;

    /// From now on the session's context can be read and not be changed.
    fn archive_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Keeps an agent that was made in a session without a journal of its own, in place of an earlier one of its name.
    fn keep_agent<'a>(&'a self, session: &'a str, agent: KeptAgent, now_ms: u64)
    -> BoxFuture<'a, Result<()>>;

    /// The newest `KEPT_AGENTS_MAX` of them, oldest first.
    fn kept_agents<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<KeptAgent>>>;

    /// Removes the session's context with its history and snapshots, and its agents. Tasks and journals stay.
    fn delete_session<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<()>>;

    /// Makes one change, whole or not at all. A request that was made before is not made again: it gets the same answer.
    fn change_context(&self, request: ChangeRequest) -> BoxFuture<'_, Result<ChangeResult>>;

    /// Lists the keys of a session without their values.
    fn context_keys<'a>(&'a self, session: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Vec<ValueHead>>>;

    /// The values of these keys as of one instant, in the order asked for; keys that do not exist are left out.
    fn context_values<'a>(
        &'a self,
        session: &'a str,
        keys: &'a [ContextKey],
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>>;

    /// The newest `limit` lines of a key's history, newest first. The values of the last `HISTORY_MAX` are kept.
    fn context_history<'a>(
        &'a self,
        session: &'a str,
        key: &'a ContextKey,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<HistoryLine>>>;

    /// Oldest first.
    fn snapshots<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<ContextSnapshot>>>;

    /// Returns the entries of a snapshot; fails with `KEY_NOT_FOUND`.
    fn snapshot<'a>(
        &'a self,
        session: &'a str,
        label: &'a SnapshotLabel,
    ) -> BoxFuture<'a, Result<Vec<ContextEntry>>>;
}

/// A requested change of a session's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    pub session: String,
    /// Participant who requests it.
    pub participant: String,
    /// The same for every attempt at this change, in any process.
    pub idempotency_key: Option<String>,
    pub change: ContextChange,
    pub now_ms: u64,
}

/// A session as listings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    /// Title of the session's own task; empty without one.
    pub title: String,
    /// The directory that its tasks work in, or were copied from.
    pub workspace: String,
    pub created_ms: u64,
    pub archived_ms: Option<u64>,
    pub tasks: u64,
    /// Number of keys in the shared context.
    pub keys: u64,
    pub tokens: u64,
}

/// Sees everything that happens in a run. A panic in it is caught and logged; the run goes on.
pub trait Observer: Send + Sync {
    fn event(&self, task: &TaskId, event: &Event);
    fn delta(&self, _task: &TaskId, _delta: Delta<'_>) {}
    /// Receives the full text right before the event it belongs to.
    fn payload(&self, _task: &TaskId, _payload: ObservedPayload<'_>) {}
}

/// Full texts of a run, for observers that are allowed to record them.
#[derive(Debug, Clone, Copy)]
pub enum ObservedPayload<'a> {
    /// A task begins, or goes on.
    Start(&'a TaskStart),
    /// A person, or the task that delegated, says something more.
    Message(&'a str),
    Reply {
        turn: u32,
        reply: &'a Reply,
    },
    Call(&'a ToolCall),
    Result {
        call: &'a ToolCall,
        result: &'a ToolResult,
    },
}
