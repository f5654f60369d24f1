//! The model of a host, lent to Posse's tasks (`model: host`): each call of a task is a `sampling/createMessage` to a connected host that
//! offers it. The protocol says nothing about usage, so tokens are estimated and said to be.

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
use posse_messages::{fixed, localized};
use posse_runtime::ports::{Allowance, BoxFuture, Delta, Deltas, Model, ModelRequest};
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ErrorData, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use tokio::sync::watch;

use self::translate::Speech;

/// The provider that stands for whichever host is connected: `host:NAME`, where the name is only a wish.
pub const PROVIDER: &str = "host";
/// The name that wishes for nothing.
pub const ANY: &str = "any";

/// A host may ask its person first, and its model may take as long as any.
const ANSWER_WAIT: Duration = Duration::from_secs(300);
/// A host that was here, or that is starting, comes back soon or not at all.
const RETURN_WAIT: Duration = Duration::from_secs(60);
/// Longest part of a host's words that we repeat.
const EXCERPT_BYTES_MAX: usize = 500;
/// By the protocol: a person said no.
const REJECTED: i32 = -1;

/// The hosts that are connected to this process, and which of them lend their model.
pub struct Hosts {
    guests: Mutex<Guests>,
    came: watch::Sender<u64>,
    /// Whether hosts connect to this process at all.
    is_served: bool,
}

#[derive(Default)]
struct Guests {
    connected: Vec<Guest>,
    /// Somebody came who has no connection that we could ask through.
    strangers: bool,
}

#[derive(Clone)]
struct Guest {
    number: u64,
    peer: Peer<RoleServer>,
}

/// Who can be asked now.
enum Lender {
    Here(Guest, Speech),
    /// Nobody is connected, and somebody may be soon.
    Expected,
    Nobody,
}

impl Hosts {
    /// Of a process that serves hosts.
    pub fn served() -> Arc<Self> {
        Self::new(true)
    }

    /// Of a process to which no host ever connects.
    pub fn none() -> Arc<Self> {
        Self::new(false)
    }

    fn new(is_served: bool) -> Arc<Self> {
        Arc::new(Self { guests: Mutex::default(), came: watch::Sender::new(0), is_served })
    }

    /// A host has connected.
    pub fn welcome(&self, peer: Peer<RoleServer>) {
        self.came.send_modify(|number| {
            *number += 1;
            self.guests().connected.push(Guest { number: *number, peer });
        });
    }

    /// A host without a connection of its own speaks: nothing can be asked of it.
    pub fn meet_stranger(&self) {
        self.guests().strangers = true;
    }

    /// Whether a task that begins now can have the model of a host.
    pub fn check(&self) -> Result<()> {
        match self.lender() {
            Lender::Here(..) | Lender::Expected => Ok(()),
            Lender::Nobody => {
                Err(Error::new(ErrorCode::HostModelUnavailable, localized!("host-model-unavailable"))
                    .hint(localized!("host-model-unavailable-hint")))
            }
        }
    }

    /// Who came last is asked first.
    fn lender(&self) -> Lender {
        let mut guests = self.guests();
        guests.connected.retain(|guest| !guest.peer.is_transport_closed());
        let lends = |guest: &Guest| Some((guest.clone(), Speech::of(&guest.peer)?));
        match guests.connected.iter().rev().find_map(lends) {
            Some((guest, speech)) => Lender::Here(guest, speech),
            None if self.is_served && guests.connected.is_empty() && !guests.strangers => Lender::Expected,
            None => Lender::Nobody,
        }
    }

    fn forget(&self, gone: &Guest) {
        self.guests().connected.retain(|guest| guest.number != gone.number);
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model behind `host:NAME`.
pub struct HostModel {
    hosts: Arc<Hosts>,
    name: String,
    /// What the host should take, if it has the choice.
    wish: Option<String>,
}

/// Why there is no answer.
enum Missed {
    /// The connection is closed; another host may be asked.
    Gone,
    Failed(FailureKind, String),
}

impl HostModel {
    /// `model` is the second half of a reference.
    pub fn new(hosts: Arc<Hosts>, model: &str) -> Self {
        let wish = (model != ANY).then(|| model.to_owned());
        Self { hosts, name: format!("{PROVIDER}:{model}"), wish }
    }

    async fn ask(&self, request: ModelRequest<'_>, deltas: &dyn Deltas) -> Result<Reply, ModelFailure> {
        let mut lost = Usage::default();
        loop {
            let failed = |kind, message: String| ModelFailure { lost, ..ModelFailure::new(kind, message) };
            let found = self.lender(request.allowance).await;
            let (guest, speech) = found.map_err(|why| failed(FailureKind::Connection, why))?;
            if lost.total() > 0
                && let Err(missing) = request.allowance.again(&lost)
            {
                return Err(failed(FailureKind::BudgetSpent, fixed!("host-asked-again-unpaid", missing)));
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
                        Missed::Gone => self.hosts.forget(&guest),
                        Missed::Failed(kind, why) => {
                            return Err(ModelFailure { lost, ..ModelFailure::new(kind, why) });
                        }
                    }
                }
            }
        }
    }

    /// Whoever lends its model now, or in a moment. The error says why nobody does.
    async fn lender(&self, allowance: &dyn Allowance) -> Result<(Guest, Speech), String> {
        let mut came = self.hosts.came.subscribe();
        let found = match self.hosts.lender() {
            Lender::Expected => {
                allowance.queues();
                let soon = async {
                    loop {
                        // The sender is ours: there is always another one to come.
                        let _ = came.changed().await;
                        let found = self.hosts.lender();
                        if !matches!(found, Lender::Expected) {
                            return found;
                        }
                    }
                };
                let found = tokio::time::timeout(RETURN_WAIT, soon).await;
                allowance.served();
                found.unwrap_or(Lender::Expected)
            }
            found => found,
        };
        match found {
            Lender::Here(guest, speech) => Ok((guest, speech)),
            Lender::Expected => Err(fixed!("host-never-came", seconds = RETURN_WAIT.as_secs())),
            Lender::Nobody => Err(fixed!("host-lends-nothing")),
        }
    }

    fn read(
        &self,
        request: &ModelRequest<'_>,
        speech: Speech,
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

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        deltas: &'a dyn Deltas,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(self.ask(request, deltas))
    }
}

fn show(reply: &Reply, deltas: &dyn Deltas) {
    deltas.alive();
    for block in &reply.blocks {
        if let posse_core::message::Block::Text { text, .. } = block {
            deltas.delta(Delta::Text(text));
        }
    }
}

/// One request. Whoever drops this future has the host told that nobody waits any more.
async fn sample(
    peer: &Peer<RoleServer>,
    params: CreateMessageRequestParams,
) -> Result<CreateMessageResult, Missed> {
    let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let handle = sent.map_err(missed)?;
    let mut open = Open { peer: peer.clone(), id: Some(handle.id.clone()) };
    let Ok(answer) = tokio::time::timeout(ANSWER_WAIT, handle.await_response()).await else {
        let why = fixed!("host-silent", seconds = ANSWER_WAIT.as_secs());
        return Err(Missed::Failed(FailureKind::Stalled, why));
    };
    open.id = None;
    match answer.map_err(missed)? {
        ClientResult::CreateMessageResult(result) => Ok(*result),
        _ => Err(Missed::Failed(FailureKind::Protocol, fixed!("host-answer-unreadable"))),
    }
}

/// A request that has no answer yet.
struct Open {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let told = CancelledNotificationParam::new(Some(id), Some("nobody waits any more".to_owned()));
            // Whoever has gone needs not be told.
            let _ = peer.notify_cancelled(told).await;
        });
    }
}

fn missed(error: ServiceError) -> Missed {
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => Missed::Gone,
        ServiceError::McpError(ErrorData { code, message, .. }) => {
            let why = visible(prefix(&message, EXCERPT_BYTES_MAX)).to_string();
            // A no of a person is not asked of another model instead; what the host cannot do may be.
            let kind = match code.0 {
                REJECTED => FailureKind::Unauthorised,
                code if code == rmcp::model::ErrorCode::INVALID_PARAMS.0 => FailureKind::InvalidRequest,
                code if code == rmcp::model::ErrorCode::METHOD_NOT_FOUND.0 => FailureKind::UnknownModel,
                _ => FailureKind::Overloaded,
            };
            Missed::Failed(kind, fixed!("host-refused", why))
        }
        ServiceError::UnexpectedResponse => {
            Missed::Failed(FailureKind::Protocol, fixed!("host-answer-unreadable"))
        }
        other => Missed::Failed(FailureKind::Connection, fixed!("host-refused", why = other)),
    }
}
