//! Models: the port to a provider, and the sink that watches a reply arrive.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use posse_core::Result;
use posse_core::agent::{Agent, ModelSettings};
use posse_core::board::Urgency;
use posse_core::definition::OnUnknownModel;
use posse_core::message::Message;
use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::tool::ToolSpec;
use posse_core::usage::{ByModel, Usage};

use super::BoxFuture;
use crate::budget::ModelTariff;

/// Reply of a model call, or its failure.
pub type ModelReply = Result<Reply, ModelFailure>;

/// A model behind any wire format. Retry, fallback, recording and watching are models that wrap a model.
///
/// A provider translates and never loops. The future may be dropped at any await: that is how a call is cancelled.
pub trait Model: Send + Sync {
    /// `provider:model`, for people and for the journal.
    fn name(&self) -> &str;

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply>;
}

/// Opens models by reference. The composition root knows keys, base URLs and wrappers.
pub trait ModelResolver: Send + Sync {
    fn open(&self, agent: &Agent) -> Result<OpenModel>;

    /// Resolves a reference or an alias to a usable `provider:model`.
    fn resolve(&self, reference: &str) -> Result<String> {
        Ok(reference.to_owned())
    }

    /// Returns how to treat an agent file that names an unknown model.
    fn on_unknown_model(&self) -> OnUnknownModel {
        OnUnknownModel::Fallback
    }
}

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
    /// The same list for the whole run, so that a provider's prompt cache keeps its prefix.
    pub tools: &'a [ToolSpec],
    pub tool_use: ToolUse,
    pub output_tokens_max: u32,
    pub settings: &'a ModelSettings,
    /// Models that gave the replies of this run so far.
    pub answered_by: &'a ByModel,
    /// Calls of this run without an answer since its last reply, in any process.
    pub unanswered: u32,
    /// Incremented when an old message changed; otherwise `messages` has only grown.
    pub generation: u64,
    /// The model's cache between the calls of one run: the bytes serialized so far.
    pub memo: &'a mut ModelMemo,
    pub allowance: &'a dyn CallAllowance,
    /// Priority in the provider's queue.
    pub urgency: Urgency,
}

impl ModelRequest<'_> {
    /// Clones the request for a retry.
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

/// Budget of a call. A model that retries asks before each further attempt, so that failed attempts cannot exceed
/// the budget.
pub trait CallAllowance: Send + Sync {
    /// Maximum wait that is worth it.
    fn time_left(&self) -> Duration;

    /// Reserves another attempt of this call, whose failed ones may have consumed `lost` so far. The error says what is
    /// short.
    fn again(&self, lost: &Usage) -> Result<(), String>;

    /// Reserves an attempt by the default model at its own price. Returns the output tokens that it may take.
    fn again_by_default(&self, lost: &Usage, output_tokens: u32) -> Result<u32, String> {
        self.again(lost).map(|()| output_tokens)
    }

    /// Marks the start of an attempt. Between [`again`](Self::again) and this, the call costs nothing.
    fn attempt_begins(&self) {}

    /// Marks the call as waiting for the rate limit, which does not count against the run's time.
    fn queues(&self);

    /// Marks the call as no longer waiting.
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

/// A slot for one value of the model's own type; another model's value is replaced.
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

/// Watches a reply arrive. Streaming is an observer, not a second way to run.
pub trait DeltaSink: Send + Sync {
    /// Bytes arrived, even without content (a ping, a comment).
    fn alive(&self);
    fn delta(&self, delta: Delta<'_>);
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// The model started a tool call.
    ToolCall {
        index: usize,
        name: &'a str,
    },
    ToolArguments {
        index: usize,
        fragment: &'a str,
    },
    /// The attempt failed: its deltas are void.
    Restarted {
        kind: FailureKind,
        /// HTTP status of the attempt, if there was an answer.
        status: Option<u16>,
        why: &'a str,
        wait: Duration,
    },
    /// The provider asked all calls with this key to pause; this one is sent after the wait.
    Paused {
        wait: Duration,
    },
}

/// A sink that ignores deltas.
pub struct NoDeltas;

impl DeltaSink for NoDeltas {
    fn alive(&self) {}
    fn delta(&self, _: Delta<'_>) {}
}
