//! What the protocol asks, answered from a session.

#![expect(
    deprecated,
    reason = "hosts of today log and subscribe in the ways that the newest protocol leaves"
)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::tool::ToolSpec;
use posse_runtime::delegation::{TaskReport, wire_status};
use posse_runtime::ports::AgentLookup;
use posse_runtime::session::HostSession;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::bounded::{self, BoundedCall, ProgressListener};
use super::elicitation::{AskedQuestions, can_ask};
use super::resources::{self, ResourceAddress, TranscriptSource};
use super::sampling::ConnectedHosts;
use super::session_slot::SessionSlot;
use super::tools::{HostTool, TaskReach};
use super::watch::{POLL_INTERVAL, ResourceChanges, SeenResources};
use super::{prompts, tasks};

const INSTRUCTIONS: &str = include_str!("../../prompts/instructions.md");
/// With the names of the agents; some hosts cut what is longer.
const INSTRUCTIONS_CHARS_MAX: usize = 2_000;

/// Longest wait for the session to open. The greeting does not wait for it.
const OPENING_MAX: Duration = Duration::from_secs(15);

/// Context of a request of a host.
type HostContext = RequestContext<RoleServer>;
/// Page of a list that a host asks for.
type PageRequest = Option<PaginatedRequestParams>;
/// Answer to a request of a host.
type HostReply<T> = Result<T, ErrorData>;

/// Everything a server is built from.
pub struct ServerParts {
    pub entrance: SessionSlot,
    /// Descriptions of the tools that a host may call.
    pub specs: Vec<ToolSpec>,
    pub agents: Arc<dyn AgentLookup>,
    pub transcripts: Arc<dyn TranscriptSource>,
    /// Hosts whose models tasks may use.
    pub hosts: Arc<ConnectedHosts>,
    pub offers: Vec<HostTool>,
    /// Effects that hosts are told of in the annotations of tools.
    pub reach: TaskReach,
    /// Makes the keys of calls differ from those of all other processes.
    pub process: String,
    pub version: String,
    /// Fires when this process is about to end: what waits is answered at once.
    pub leaving: CancellationToken,
}

/// One connection. All of a process are in the same session; copies are the same connection.
#[derive(Clone)]
pub struct McpServer {
    inside: Arc<ServerState>,
    /// Tells connections of this process apart.
    connection: u64,
    wishes: Arc<Mutex<NotificationWishes>>,
}

/// Notifications this connection asked for.
#[derive(Default)]
struct NotificationWishes {
    subscribed: HashSet<String>,
    level: Option<LoggingLevel>,
    /// It is being told.
    told: bool,
}

/// The member of `_meta` in which a host names a request, so that it can make it again after a lost answer or a restart.
const REQUEST_ID: &str = "posse/request_id";
const REQUEST_ID_BYTES_MAX: usize = 200;

/// Addresses that one connection may watch; more than a person looks at.
const SUBSCRIBED_MAX: usize = 1_000;

struct ServerState {
    serving: ServerParts,
    tools: Vec<(HostTool, Tool)>,
    connections: AtomicU64,
}

impl McpServer {
    pub fn new(serving: ServerParts) -> Self {
        let spec =
            |offer: HostTool| serving.specs.iter().find(|spec: &&ToolSpec| spec.name == offer.session_tool());
        let offered = |offer: &HostTool| Some((*offer, offer.describe(spec(*offer)?, serving.reach)));
        let tools = serving.offers.iter().filter_map(offered).collect();
        let inside = Arc::new(ServerState { serving, tools, connections: AtomicU64::new(1) });
        Self { inside, connection: 0, wishes: Arc::default() }
    }

    /// Another connection.
    pub fn another(&self) -> Self {
        let connection = self.inside.connections.fetch_add(1, Ordering::Relaxed);
        Self { inside: self.inside.clone(), connection, wishes: Arc::default() }
    }

    fn wishes(&self) -> MutexGuard<'_, NotificationWishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first that is heard of a connection: a call can be faster than the end of the handshake. In the newest protocol there is none,
    /// and nothing can be asked of a host.
    fn register_host(&self, peer: &Peer<RoleServer>) {
        let newest = ProtocolVersion::V_2026_07_28;
        let shook_hands =
            peer.peer_info().is_some_and(|info| info.protocol_version.as_str() < newest.as_str());
        if !shook_hands {
            return self.inside.serving.hosts.meet_stranger();
        }
        if !std::mem::replace(&mut self.wishes().told, true) {
            self.inside.serving.hosts.welcome(peer.clone());
            tokio::spawn(self.clone().notify_changes(peer.clone()));
        }
    }

    async fn snapshot(&self) -> (SeenResources, Vec<TaskReport>) {
        let tasks = match self.hosted().await {
            Ok(hosted) => hosted.tasks().await.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let agents = self.inside.serving.agents.list();
        let names = agents.iter().filter(|agent| !agent.mode.hidden).map(|agent| agent.name.to_string());
        (SeenResources::new(names.collect(), &tasks), tasks)
    }

    /// The session; the error is that it is not open yet.
    async fn hosted(&self) -> HostReply<Arc<HostSession>> {
        let ServerParts { entrance, leaving, .. } = &self.inside.serving;
        let opened = tokio::select! {
            biased;
            opened = entrance.opened() => opened,
            () = leaving.cancelled() => None,
            () = tokio::time::sleep(OPENING_MAX) => None,
        };
        opened.ok_or_else(|| {
            ErrorData::internal_error(
                "the session is not open yet: MCP servers that its agents use are being asked for their \
             tools. Call again in a moment",
                None,
            )
        })
    }

    /// Tells one connection what changes, until it is closed.
    async fn notify_changes(self, peer: Peer<RoleServer>) {
        let Some(hosted) = self.inside.serving.entrance.opened().await else { return };
        let (mut seen, _) = self.snapshot().await;
        let mut asked = AskedQuestions::default();
        while !peer.is_transport_closed() && !self.inside.serving.leaving.is_cancelled() {
            tokio::time::sleep(POLL_INTERVAL).await;
            let (now, tasks) = self.snapshot().await;
            let changes = seen.compare(&now);
            seen = now;
            // Who does not listen any more is noticed by the next look.
            let _ = self.send(&peer, changes).await;
            if can_ask(&peer) {
                asked.ask(&peer, &hosted, &tasks).await;
            }
        }
    }

    async fn send(
        &self,
        peer: &Peer<RoleServer>,
        changes: ResourceChanges,
    ) -> Result<(), rmcp::ServiceError> {
        if changes.prompts_listed {
            peer.notify_prompt_list_changed().await?;
        }
        if changes.resources_listed {
            peer.notify_resource_list_changed().await?;
        }
        let wanted: Vec<String> = {
            let wishes = self.wishes();
            changes.updated.into_iter().filter(|uri| wishes.subscribed.contains(uri)).collect()
        };
        for uri in wanted {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
        let wants_ends = matches!(self.wishes().level, Some(LoggingLevel::Debug | LoggingLevel::Info));
        for (task, state) in changes.ended.into_iter().filter(|_| wants_ends) {
            let data = json!({ "task_id": task, "status": wire_status(state) });
            peer.notify_logging_message(LoggingMessageNotificationParam::new(LoggingLevel::Info, data))
                .await?;
        }
        Ok(())
    }

    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.inside.tools.iter().map(|(_, tool)| tool)
    }

    fn instructions(&self) -> String {
        let mut text = INSTRUCTIONS.trim_end().to_owned();
        let agents = self.inside.serving.agents.list();
        let names = agents.iter().filter(|agent| !agent.mode.hidden).map(|agent| agent.name.as_str());
        for (at, name) in names.enumerate() {
            let more = format!("{}{name}", if at == 0 { "\n\nAgents here: " } else { ", " });
            if text.chars().count() + more.chars().count() > INSTRUCTIONS_CHARS_MAX {
                break;
            }
            text += &more;
        }
        text
    }

    /// The idempotency key of a call. A call that is sent again with the same id on the same connection has the same key; one that
    /// names its request has it in every process.
    fn key_of(&self, request: &CallToolRequestParams, context: &HostContext) -> HostReply<String> {
        let content = json!([request.name, request.arguments]).to_string();
        let digest = fingerprint(&content);
        let Some(named) = context.meta.get(REQUEST_ID) else {
            let ServerParts { process, .. } = &self.inside.serving;
            return Ok(format!("mcp/{process}/{}/{:?}/{digest:016x}", self.connection, context.id));
        };
        match named.as_str().filter(|id| (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())) {
            Some(id) => Ok(format!("mcp/request/{id}/{digest:016x}")),
            None => {
                let text = format!("`{REQUEST_ID}` is a string of 1 to {REQUEST_ID_BYTES_MAX} bytes");
                Err(ErrorData::invalid_params(text, None))
            }
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        if self.inside.serving.offers.iter().any(|offer| offer.leaves_a_task()) {
            let tasks = (rmcp::model::TASKS_EXTENSION_ID.to_owned(), Default::default());
            capabilities.extensions = Some([tasks].into_iter().collect());
        }
        let server =
            Implementation::new("posse", self.inside.serving.version.clone()).with_title("Posse subagents");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(self.instructions())
    }

    async fn list_tools(&self, _: PageRequest, _: HostContext) -> HostReply<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(self.tools().cloned().collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: HostContext,
    ) -> HostReply<CallToolResponse> {
        let Some((offer, _)) = self.inside.tools.iter().find(|(_, tool)| tool.name == request.name) else {
            let name = posse_core::text::prefix(&request.name, 80);
            return Err(ErrorData::invalid_params(format!("no tool is called `{name}`"), None));
        };
        self.register_host(&context.peer);
        let key = self.key_of(&request, &context)?;
        let token = context.meta.get_progress_token();
        let listener = token.map(|token| ProgressListener { peer: context.peer.clone(), token });
        let call = BoundedCall {
            offer: *offer,
            arguments: request.arguments.unwrap_or_default(),
            key,
            listener,
            cancelled: context.ct.clone(),
            leaving: self.inside.serving.leaving.clone(),
            began: Instant::now(),
        };
        let hosted = match self.hosted().await {
            Ok(hosted) => hosted,
            Err(why) => return Ok(bounded::failed(&why.message).into()),
        };
        let follows = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        if follows && offer.leaves_a_task() {
            return Ok(match tasks::begin(&hosted, call).await {
                Ok(task) => CallToolResponse::Task(task),
                Err(result) => result.into(),
            });
        }
        Ok(bounded::answer(&hosted, call).await.into())
    }

    async fn get_task(&self, request: GetTaskParams, _: HostContext) -> HostReply<GetTaskResult> {
        tasks::get(&*self.hosted().await?, &request.task_id).await
    }

    /// None of our tasks waits for input in this way: what a task asks is answered with the `subagent` tool or by elicitation.
    async fn update_task(&self, request: UpdateTaskParams, _: HostContext) -> HostReply<()> {
        tasks::get(&*self.hosted().await?, &request.task_id).await.map(drop)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: HostContext) -> HostReply<()> {
        tasks::cancel(&*self.hosted().await?, &request.task_id).await
    }

    async fn list_resources(&self, _: PageRequest, _: HostContext) -> HostReply<ListResourcesResult> {
        let (_, tasks) = self.snapshot().await;
        Ok(ListResourcesResult::with_all_items(resources::list(&tasks)))
    }

    async fn list_resource_templates(
        &self,
        _: PageRequest,
        _: HostContext,
    ) -> HostReply<ListResourceTemplatesResult> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: HostContext,
    ) -> HostReply<ReadResourceResponse> {
        let (hosted, transcripts) = (self.hosted().await?, &*self.inside.serving.transcripts);
        let contents = resources::read(&hosted, transcripts, &request.uri).await?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: HostContext) -> HostReply<()> {
        // What is not there yet may come; what never comes never changes.
        let mut wishes = self.wishes();
        if wishes.subscribed.len() >= SUBSCRIBED_MAX {
            return Err(ErrorData::invalid_params("too many subscriptions", None));
        }
        wishes.subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: HostContext) -> HostReply<()> {
        self.wishes().subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        accepted.tools_list_changed = None;
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| ResourceAddress::parse(uri).is_some());
            uris.truncate(SUBSCRIBED_MAX);
        }
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> HostReply<()> {
        let (mut seen, _) = self.snapshot().await;
        let leaving = &self.inside.serving.leaving;
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = leaving.cancelled() => return Ok(()),
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let (now, _) = self.snapshot().await;
            let changes = seen.compare(&now);
            seen = now;
            let (sink, accepted) = (subscription.sink(), subscription.accepted().clone());
            // What was not asked for is refused by the sink; that is no reason to end.
            if changes.prompts_listed && accepted.prompts_list_changed == Some(true) {
                let _ = sink.notify_prompt_list_changed().await;
            }
            if changes.resources_listed && accepted.resources_list_changed == Some(true) {
                let _ = sink.notify_resource_list_changed().await;
            }
            let wanted = accepted.resource_subscriptions.unwrap_or_default();
            for uri in changes.updated.into_iter().filter(|uri| wanted.contains(uri)) {
                let _ = sink.notify_resource_updated(uri).await;
            }
        }
    }

    async fn list_prompts(&self, _: PageRequest, _: HostContext) -> HostReply<ListPromptsResult> {
        Ok(ListPromptsResult::with_all_items(prompts::list(&self.inside.serving.agents.list())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: HostContext,
    ) -> HostReply<GetPromptResponse> {
        let arguments = request.arguments.unwrap_or_default();
        prompts::get(&self.inside.serving.agents.list(), &request.name, &arguments).map(Into::into)
    }

    async fn complete(&self, request: CompleteRequestParams, _: HostContext) -> HostReply<CompleteResult> {
        let (_, tasks) = self.snapshot().await;
        let ids: Vec<String> = tasks.iter().rev().map(|task| task.id.short().to_owned()).collect();
        let (argument, agents) = (&request.argument, self.inside.serving.agents.list());
        let found = prompts::complete(&agents, &ids, &request.r#ref, &argument.name, &argument.value);
        Ok(CompleteResult::new(found))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: HostContext) -> HostReply<()> {
        self.wishes().level = Some(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.register_host(&context.peer);
    }

    /// Methods that nobody knows, and known ones whose parameters are not what they should be.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: HostContext,
    ) -> HostReply<CustomResult> {
        let method = posse_core::text::prefix(&request.method, 80).to_owned();
        let version = context.meta.protocol_version().or(context.protocol_version());
        let newest =
            version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let known = METHODS.contains(&method.as_str()) && !(newest && REMOVED.contains(&method.as_str()));
        Err(match known {
            true => ErrorData::invalid_params(
                format!("`{method}` was asked with parameters it does not take"),
                None,
            ),
            false => {
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method is called `{method}`"), None)
            }
        })
    }
}

/// FNV-1a: the same in every process.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Methods that the newest protocol no longer has.
const REMOVED: &[&str] =
    &["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods whose parameters can be wrong.
const METHODS: &[&str] = &[
    "initialize",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
