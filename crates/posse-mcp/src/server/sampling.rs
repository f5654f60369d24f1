//! The host's model for Posse's tasks (`model: host`): each model call becomes a `sampling/createMessage`
//! request to a connected host that supports it. The protocol reports no usage, so token counts are estimates
//! and marked as such.

#![expect(deprecated, reason = "hosts of today lend their model in the way that the newest protocol leaves")]

mod text;
mod translate;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::reply::{FailureKind, ModelFailure, Reply};
use posse_core::text::{prefix, visible};
use posse_core::tokens::tokens_at_most;
use posse_core::usage::Usage;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{BoxFuture, CallAllowance, Delta, DeltaSink, Model, ModelReply, ModelRequest};
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ErrorData, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use tokio::sync::watch;

use self::translate::ToolSpeech;

/// Provider name of the connected host's model: `host:NAME`, where the name is only a hint.
pub const PROVIDER: &str = "host";
/// The model name that gives no hint.
pub const ANY: &str = "any";

/// Time limit for an answer; a host may ask its person first, and its model may be slow.
const ANSWER_WAIT: Duration = Duration::from_secs(300);
/// Time to wait for a host to connect or come back.
const RETURN_WAIT: Duration = Duration::from_secs(60);
/// Maximum bytes of a host's message that are repeated.
const EXCERPT_BYTES_MAX: usize = 500;
/// Error code of the protocol for a request that a person rejected.
const REJECTED: i32 = -1;
const NO_MODEL_MESSAGE: &str = "the answer of the host is no message of a model";

/// The hosts connected to this process, and which of them offer sampling.
pub struct ConnectedHosts {
    guests: Mutex<HostList>,
    came: watch::Sender<u64>,
    /// Set if hosts can connect to this process.
    is_served: bool,
}

#[derive(Default)]
struct HostList {
    connected: Vec<ConnectedHost>,
    /// Set after a request from a host that has no connection for our requests.
    strangers: bool,
}

#[derive(Clone)]
struct ConnectedHost {
    number: u64,
    peer: Peer<RoleServer>,
}

/// The result of looking for a host that offers sampling.
enum ModelLender {
    Here(ConnectedHost, ToolSpeech),
    /// No host is connected yet, but one may be soon.
    Expected,
    Nobody,
}

impl ConnectedHosts {
    /// Creates the registry of a process that serves hosts.
    pub fn served() -> Arc<Self> {
        Self::new(true)
    }

    /// Creates the registry of a process that no host connects to.
    pub fn none() -> Arc<Self> {
        Self::new(false)
    }

    fn new(is_served: bool) -> Arc<Self> {
        Arc::new(Self { guests: Mutex::default(), came: watch::Sender::new(0), is_served })
    }

    /// Registers a connected host.
    pub fn welcome(&self, peer: Peer<RoleServer>) {
        self.came.send_modify(|number| {
            *number += 1;
            self.guests().connected.push(ConnectedHost { number: *number, peer });
        });
    }

    /// Records a request from a host that cannot take requests.
    pub fn meet_stranger(&self) {
        self.guests().strangers = true;
    }

    /// Checks that a task that starts now can use a host's model.
    pub fn check(&self) -> Result<()> {
        match self.lender() {
            ModelLender::Here(..) | ModelLender::Expected => Ok(()),
            ModelLender::Nobody => {
                Err(Error::new(ErrorCode::HostModelUnavailable, localized!("host-model-unavailable"))
                    .hint(localized!("host-model-unavailable-hint")))
            }
        }
    }

    /// Finds a host that offers sampling; the latest one comes first.
    fn lender(&self) -> ModelLender {
        let mut guests = self.guests();
        guests.connected.retain(|guest| !guest.peer.is_transport_closed());
        let lends = |guest: &ConnectedHost| Some((guest.clone(), ToolSpeech::of(&guest.peer)?));
        match guests.connected.iter().rev().find_map(lends) {
            Some((guest, speech)) => ModelLender::Here(guest, speech),
            None if self.is_served && guests.connected.is_empty() && !guests.strangers => {
                ModelLender::Expected
            }
            None => ModelLender::Nobody,
        }
    }

    fn forget(&self, gone: &ConnectedHost) {
        self.guests().connected.retain(|guest| guest.number != gone.number);
    }

    fn guests(&self) -> MutexGuard<'_, HostList> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model `host:NAME`.
pub struct HostModel {
    hosts: Arc<ConnectedHosts>,
    name: String,
    /// The model name to suggest to the host.
    wish: Option<String>,
}

/// The reason why there is no answer.
enum SamplingFailure {
    /// The connection is closed; another host may answer.
    Gone,
    Failed(FailureKind, String),
}

impl HostModel {
    /// Creates a model; `model` is the part of the reference after the colon.
    pub fn new(hosts: Arc<ConnectedHosts>, model: &str) -> Self {
        let wish = (model != ANY).then(|| model.to_owned());
        Self { hosts, name: format!("{PROVIDER}:{model}"), wish }
    }

    async fn ask(&self, request: ModelRequest<'_>, deltas: &dyn DeltaSink) -> ModelReply {
        let mut lost = Usage::default();
        loop {
            let failed = |kind, message: String| ModelFailure { lost, ..ModelFailure::new(kind, message) };
            let found = self.lender(request.allowance).await;
            let (guest, speech) = found.map_err(|why| failed(FailureKind::Connection, why))?;
            if lost.total() > 0
                && let Err(missing) = request.allowance.again(&lost)
            {
                return Err(failed(
                    FailureKind::BudgetSpent,
                    format!("the host that was asked has gone, and another one cannot be asked: {missing}"),
                ));
            }
            let params = translate::request(&request, speech, self.wish.as_deref());
            let input = tokens_at_most(serde_json::to_string(&params).unwrap_or_default());
            match sample(&guest.peer, params).await {
                Ok(result) => {
                    let reply = Reply { lost, ..self.read(&request, speech, result, input) };
                    show(&reply, deltas);
                    return Ok(reply);
                }
                Err(missed) => {
                    lost.add(&Usage { input, estimated: true, ..Usage::default() });
                    match missed {
                        SamplingFailure::Gone => self.hosts.forget(&guest),
                        SamplingFailure::Failed(kind, why) => {
                            return Err(ModelFailure { lost, ..ModelFailure::new(kind, why) });
                        }
                    }
                }
            }
        }
    }

    /// Finds a host that offers sampling, and waits a moment for one to connect. The error says why there is
    /// none.
    async fn lender(&self, allowance: &dyn CallAllowance) -> Result<(ConnectedHost, ToolSpeech), String> {
        let mut came = self.hosts.came.subscribe();
        let found = match self.hosts.lender() {
            ModelLender::Expected => {
                allowance.queues();
                let soon = async {
                    loop {
                        // The sender lives in the registry, so this cannot fail.
                        let _ = came.changed().await;
                        let found = self.hosts.lender();
                        if !matches!(found, ModelLender::Expected) {
                            return found;
                        }
                    }
                };
                let found = tokio::time::timeout(RETURN_WAIT, soon).await;
                allowance.served();
                found.unwrap_or(ModelLender::Expected)
            }
            found => found,
        };
        match found {
            ModelLender::Here(guest, speech) => Ok((guest, speech)),
            ModelLender::Expected => {
                Err(format!("no host that lends its model was connected for {} s", RETURN_WAIT.as_secs()))
            }
            ModelLender::Nobody => Err("no connected host lends its model".to_owned()),
        }
    }

    fn read(
        &self,
        request: &ModelRequest<'_>,
        speech: ToolSpeech,
        result: CreateMessageResult,
        input: u64,
    ) -> Reply {
        let answered_by = visible(prefix(&result.model, 200)).to_string();
        let read = translate::reply(request, speech, result);
        let usage = Usage { input, output: read.tokens, estimated: true, ..Usage::default() };
        let model = match answered_by.trim() {
            "" => self.name.clone(),
            name => format!("{PROVIDER}:{name}"),
        };
        Reply {
            blocks: read.blocks,
            stop: read.stop,
            usage,
            model,
            lost: Usage::default(),
            notes: read.notes,
        }
    }
}

impl Model for HostModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a dyn DeltaSink) -> BoxFuture<'a, ModelReply> {
        Box::pin(self.ask(request, deltas))
    }
}

fn show(reply: &Reply, deltas: &dyn DeltaSink) {
    deltas.alive();
    for block in &reply.blocks {
        if let posse_core::message::Block::Text { text, .. } = block {
            deltas.delta(Delta::Text(text));
        }
    }
}

/// Sends one request. Dropping the future cancels the request at the host.
async fn sample(
    peer: &Peer<RoleServer>,
    params: CreateMessageRequestParams,
) -> Result<CreateMessageResult, SamplingFailure> {
    let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let handle = sent.map_err(missed)?;
    let mut open = OpenRequest { peer: peer.clone(), id: Some(handle.id.clone()) };
    let Ok(answer) = tokio::time::timeout(ANSWER_WAIT, handle.await_response()).await else {
        let why = format!("the host gave no answer in {} s", ANSWER_WAIT.as_secs());
        return Err(SamplingFailure::Failed(FailureKind::Stalled, why));
    };
    open.id = None;
    match answer.map_err(missed)? {
        ClientResult::CreateMessageResult(result) => Ok(*result),
        _ => Err(SamplingFailure::Failed(FailureKind::Protocol, NO_MODEL_MESSAGE.to_owned())),
    }
}

/// A pending request; dropping it cancels the request at the host.
struct OpenRequest {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let told = CancelledNotificationParam::new(Some(id), Some("nobody waits any more".to_owned()));
            // Best effort: the host may be gone.
            let _ = peer.notify_cancelled(told).await;
        });
    }
}

fn missed(error: ServiceError) -> SamplingFailure {
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => SamplingFailure::Gone,
        ServiceError::McpError(ErrorData { code, message, .. }) => {
            let why = visible(prefix(&message, EXCERPT_BYTES_MAX)).to_string();
            // A person's refusal must not fall back to another model; a missing ability may.
            let kind = match code.0 {
                REJECTED => FailureKind::Unauthorised,
                code if code == rmcp::model::ErrorCode::INVALID_PARAMS.0 => FailureKind::InvalidRequest,
                code if code == rmcp::model::ErrorCode::METHOD_NOT_FOUND.0 => FailureKind::UnknownModel,
                _ => FailureKind::Overloaded,
            };
            SamplingFailure::Failed(kind, format!("the host did not lend its model: {why}"))
        }
        ServiceError::UnexpectedResponse => {
            SamplingFailure::Failed(FailureKind::Protocol, NO_MODEL_MESSAGE.to_owned())
        }
        other => SamplingFailure::Failed(
            FailureKind::Connection,
            format!("the host did not lend its model: {other}"),
        ),
    }
}
