//! Flows as tools of the Model Context Protocol: clients list and call them, receive progress, answer questions and
//! stop runs. The SDK implements the protocol itself.

mod call;
mod calls;
mod flows;
mod id;
mod lines;
mod notices;
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
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use trefoil_project::{Error, shell};
use trefoil_runtime::CancelSwitch;

use calls::ServerCalls;
use lines::LineTransport;
use result::error_result;

use crate::command::RunOptions;
pub use flows::{FlowSource, ServedFlows};
pub use lines::ServerStreams;
pub use notices::{ServerNotice, ServerWatch};
pub use tools::{OfferedFlow, OfferedTools};

/// How long runs may take to end after the client has disconnected.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server side of the protocol.
#[derive(Clone)]
struct FlowServer {
    flows: Arc<ServedFlows>,
    calls: Arc<ServerCalls>,
}

/// What a server is given by its host.
pub struct ServerOptions {
    /// The options of commands that continue runs; `None`: runs are not stored.
    pub commands: Option<RunOptions>,
    /// How long a run waits for the client's answer between two calls.
    pub wait: Duration,
    /// Gets what the server says.
    pub watch: Arc<dyn ServerWatch>,
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
    let calls = Arc::new(ServerCalls::new(commands, wait));
    let server = FlowServer { flows: Arc::new(flows), calls: calls.clone() };
    let left = calls.clone();
    let lines = LineTransport::read_from(streams, watch, move || left.interrupt_runs());
    // Not dropped before the runs are interrupted, because its end cancels them.
    let mut session = pin!(session(server, lines));
    let why = tokio::select! {
        why = &mut session => why,
        () = stopped.wait_cancelled() => Ok(ServerStop::Requested),
    };
    calls.stop_runs(PATIENCE).await;
    shell::end_all();
    ServerEnd { why, released: base.release_runs().await }
}

/// Serves until the client disconnects.
async fn session(
    server: FlowServer,
    lines: LineTransport,
) -> Result<ServerStop, Box<dyn std::error::Error + Send + Sync>> {
    match serve_server(server, lines).await {
        Ok(running) => running.waiting().await.map(|_| ServerStop::Disconnected).map_err(Into::into),
        // The client disconnected before the handshake.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(ServerStop::Disconnected),
        Err(error) => Err(error.into()),
    }
}

impl ServerHandler for FlowServer {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("trefoil", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(me)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.flows.current_tools().tool_descriptions()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.flows.current_tools();
        let Some(tool) = tools.get(&request.name) else {
            let names = tools.tool_names().join(", ");
            let message = format!("unknown tool `{}`; available: {names}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        match &request.request_state {
            None => self.calls.begin_call(tool, request, context).await,
            Some(state) => match self.calls.taken_up(&request.name, state) {
                Some(parked) => self.calls.continue_call(parked, &request, context).await,
                None => Ok(error_result("this question is no longer open; call the tool again").into()),
            },
        }
    }
}
