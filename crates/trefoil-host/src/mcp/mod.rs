//! Flows as tools of the Model Context Protocol: clients list and call them, receive progress, answer questions and
//! stop runs. The SDK implements the protocol itself.

mod answer_route;
mod call;
mod caller_policy;
mod calls;
mod id;
mod lines;
mod open_question;
mod question;
mod result;
mod running_calls;
mod tools;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Engine;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use trefoil_machine::text::shorten_text;
use trefoil_project::Error;
use trefoil_runtime::CancelSwitch;

use lines::{LineTransport, wrong_params};
use result::error_result;

use crate::command::RunOptions;
pub use answer_route::AnswerRoute;
pub use caller_policy::{CallerPolicy, HeldCall, McpAction, OneCaller};
pub use calls::ServerCalls;
pub use lines::{RejectionWatch, ServerStreams};
pub use tools::{OfferedFlow, OfferedTools, ServedFlows};

/// The most characters of an unknown name in a message.
const LONGEST_UNKNOWN: usize = 100;
/// How long runs may take to end after the client has disconnected.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server side of the protocol, for one session or one request. Copies share their flows and calls.
#[derive(Clone)]
pub struct McpFlowServer {
    flows: Arc<ServedFlows>,
    calls: Arc<ServerCalls>,
}

impl McpFlowServer {
    /// A server of these flows.
    pub fn new(flows: Arc<ServedFlows>, calls: Arc<ServerCalls>) -> Self {
        Self { flows, calls }
    }
}

/// What a server is given by its host.
pub struct ServerOptions {
    /// The options of commands that continue runs; `None`: runs are not stored.
    pub commands: Option<RunOptions>,
    /// How long a run waits for the client's answer between two calls.
    pub wait: Duration,
    /// Gets why a message of the client is rejected.
    pub watch: Arc<dyn RejectionWatch>,
    /// The streams of the client.
    pub streams: ServerStreams,
}

/// Why a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStop {
    /// The client disconnected.
    Disconnected,
    /// The host stopped it.
    Requested,
}

/// How a server ended.
pub struct ServerEnd {
    /// Why it ended, or how the protocol failed.
    pub why: Result<ServerStop, Box<dyn std::error::Error + Send + Sync>>,
    /// Whether its runs were given back.
    pub released: Result<(), Error>,
}

/// Serves until the client disconnects, or it is stopped. Runs in progress are then interrupted, and their commands are
/// ended. `base`: an engine with the owner of the runs.
pub async fn serve_flows(
    flows: ServedFlows,
    base: &Engine,
    options: ServerOptions,
    stopped: &CancelSwitch,
) -> ServerEnd {
    let ServerOptions { commands, wait, watch, streams } = options;
    let route = match commands {
        Some(options) => AnswerRoute::Commands(options),
        None => AnswerRoute::NotStored,
    };
    let calls = Arc::new(ServerCalls::new(route, wait, Arc::new(OneCaller)));
    let server = McpFlowServer::new(Arc::new(flows), calls.clone());
    let left = calls.clone();
    let lines = LineTransport::read_from(streams, watch, move || left.interrupt_runs());
    // Not dropped before the runs are interrupted, because its end cancels them.
    let mut session = pin!(session(server, lines));
    let why = tokio::select! {
        why = &mut session => why,
        () = stopped.wait_cancelled() => Ok(ServerStop::Requested),
    };
    calls.stop_runs(PATIENCE).await;
    ServerEnd { why, released: base.end_process().await }
}

/// Serves until the client disconnects.
async fn session(
    server: McpFlowServer,
    lines: LineTransport,
) -> Result<ServerStop, Box<dyn std::error::Error + Send + Sync>> {
    match serve_server(server, lines).await {
        Ok(running) => running.waiting().await.map(|_| ServerStop::Disconnected).map_err(Into::into),
        // The client disconnected before the handshake.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(ServerStop::Disconnected),
        Err(error) => Err(error.into()),
    }
}

impl ServerHandler for McpFlowServer {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("trefoil", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(me)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Err(why) = self.calls.policy().check_action(&context.extensions, McpAction::ListTools) {
            return Err(ErrorData::invalid_request(why, None));
        }
        let tools = self.flows.current_tools();
        let mut descriptions = Vec::new();
        for offered in tools.offered_flows() {
            if self.calls.policy().may_use_flow(&context.extensions, &offered.name) {
                descriptions.push(offered.tool_description().clone());
            }
        }
        Ok(ListToolsResult::with_all_items(descriptions))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let action = match request.request_state {
            None => McpAction::CallTool,
            Some(_) => McpAction::AnswerQuestion,
        };
        for needed in [McpAction::CallTool, action] {
            if let Err(why) = self.calls.policy().check_action(&context.extensions, needed) {
                return Ok(error_result(why).into());
            }
        }
        let tools = self.flows.current_tools();
        let may_use = |offered: &OfferedFlow| self.calls.policy().may_use_flow(&context.extensions, &offered.name);
        let tool = match tools.get(&request.name) {
            Some(offered) if may_use(offered) => offered,
            _ => {
                let mut names = Vec::new();
                for offered in tools.offered_flows() {
                    if may_use(offered) {
                        names.push(&*offered.tool_description().name);
                    }
                }
                let unknown = shorten_text(&request.name, LONGEST_UNKNOWN);
                let message = format!("unknown tool `{unknown}`; available: {}", names.join(", "));
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        match &request.request_state {
            None => self.calls.begin_call(tool, request, context).await,
            Some(state) => match self.calls.taken_up(&request.name, state, &context.extensions) {
                Some(parked) => self.calls.continue_call(parked, &request, context).await,
                None => Ok(error_result("this question is no longer open; call the tool again").into()),
            },
        }
    }

    /// The SDK takes a known method with wrong parameters for an unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match wrong_params(&request.method, request.params.as_ref()) {
            Some(why) => Err(ErrorData::invalid_params(why, None)),
            None => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        }
    }
}
