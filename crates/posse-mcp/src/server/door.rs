//! What the protocol asks, answered from a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use posse_core::tool::ToolSpec;
use posse_runtime::ports::Agents;
use posse_runtime::session::Hosted;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::bounded::{self, Call, Listener};
use super::tools::Offer;

const INSTRUCTIONS: &str = include_str!("../../prompts/instructions.md");
/// With the names of the agents; some hosts cut what is longer.
const INSTRUCTIONS_CHARS_MAX: usize = 2_000;

/// What a door is made of.
pub struct Serving {
    pub hosted: Arc<Hosted>,
    pub agents: Arc<dyn Agents>,
    pub offers: Vec<Offer>,
    /// Makes the keys of calls differ from those of all other processes.
    pub process: String,
    pub version: String,
    /// Fires when this process is about to end: what waits is answered at once.
    pub leaving: CancellationToken,
}

/// One server. Every connection of a process gets a copy; all of them are in the same session.
#[derive(Clone)]
pub struct Door(Arc<Inside>);

struct Inside {
    serving: Serving,
    tools: Vec<(Offer, Tool)>,
    calls: AtomicU64,
}

impl Door {
    pub fn new(serving: Serving) -> Self {
        let specs = serving.hosted.tools();
        let spec = |offer: Offer| specs.iter().find(|spec: &&ToolSpec| spec.name == offer.session_tool());
        let offered = |offer: &Offer| Some((*offer, offer.describe(spec(*offer)?)));
        let tools = serving.offers.iter().filter_map(offered).collect();
        Self(Arc::new(Inside { serving, tools, calls: AtomicU64::new(0) }))
    }

    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.0.tools.iter().map(|(_, tool)| tool)
    }

    fn instructions(&self) -> String {
        let mut text = INSTRUCTIONS.trim_end().to_owned();
        let agents = self.0.serving.agents.list();
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

    fn next_key(&self) -> String {
        format!("mcp/{}/{}", self.0.serving.process, self.0.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server =
            Implementation::new("posse", self.0.serving.version.clone()).with_title("Posse subagents");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().cloned().collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((offer, _)) = self.0.tools.iter().find(|(_, tool)| tool.name == request.name) else {
            let name = posse_core::text::prefix(&request.name, 80);
            return Err(ErrorData::invalid_params(format!("no tool is called `{name}`"), None));
        };
        let token = context.meta.get_progress_token();
        let listener = token.map(|token| Listener { peer: context.peer.clone(), token });
        let call = Call {
            offer: *offer,
            arguments: request.arguments.unwrap_or_default(),
            key: self.next_key(),
            listener,
            cancelled: context.ct.clone(),
            leaving: self.0.serving.leaving.clone(),
        };
        Ok(bounded::answer(&self.0.serving.hosted, call).await.into())
    }

    /// Methods that nobody knows, and known ones whose parameters are not what they should be.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = posse_core::text::prefix(&request.method, 80).to_owned();
        Err(match METHODS.contains(&method.as_str()) {
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

/// Those whose parameters can be wrong.
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
