//! Flows as tools of the Model Context Protocol: clients list and call them, receive progress, answer questions and
//! stop runs. The SDK implements the protocol itself.

mod asked;
mod call;
mod calls;
mod flows;
mod id;
mod lines;
mod question;
mod result;
mod running;
mod tools;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use trefoil::Cancel;
use trefoil::internals::engine::Engine;
use trefoil::internals::shell;

use crate::run::SignalStop;
use crate::{exit, output};
use calls::Calls;
pub use flows::{Flows, Source};
use lines::Lines;
use result::told;
pub use tools::{Offered, Tools};
use trefoil::internals::command::RunOptions;

/// How long runs may take to end after the client has disconnected.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server side of the protocol.
#[derive(Clone)]
struct Server {
    flows: Arc<Flows>,
    calls: Arc<Calls>,
}

/// Serves until the client disconnects, or a signal arrives. Runs in progress are then interrupted, and their commands
/// are ended. `options`: those of commands that continue runs; `None`: runs are not stored. Returns the exit code.
pub fn serve(flows: Flows, base: Engine, options: Option<RunOptions>) -> u8 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return not_started(&error),
    };
    let calls = Arc::new(Calls::new(options));
    let server = Server { flows: Arc::new(flows), calls: calls.clone() };
    let stopped = Cancel::new();
    // Ends the process soon after a signal, whatever it is doing.
    if let Err(error) = SignalStop::listen(stopped.clone(), None, None) {
        return not_started(&error);
    }
    let code = runtime.block_on(async {
        let left = calls.clone();
        let lines = Lines::of_process(move || left.interrupt());
        // Not dropped before the runs are interrupted, because its end cancels them.
        let mut session = pin!(session(server, lines));
        let code = tokio::select! {
            code = &mut session => code,
            () = stopped.cancelled() => exit::CANCELLED,
        };
        calls.stop(PATIENCE).await;
        shell::end_all();
        if let Err(error) = base.release().await {
            output::refuse(&error.to_string(), None);
            return exit::FAILED;
        }
        code
    });
    // Reading stdin cannot be cancelled.
    runtime.shutdown_background();
    code
}

/// Serves until the client disconnects.
async fn session(server: Server, lines: Lines) -> u8 {
    match serve_server(server, lines).await {
        Ok(running) => match running.waiting().await {
            Ok(_) => exit::OK,
            Err(error) => failed(&error),
        },
        // The client disconnected before the handshake.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => exit::OK,
        Err(error) => failed(&error),
    }
}

fn not_started(error: &std::io::Error) -> u8 {
    output::refuse(&format!("the server could not start: {error}"), None);
    exit::NOT_STARTED
}

fn failed(error: &dyn std::error::Error) -> u8 {
    output::refuse(&format!("the server failed: {error}"), None);
    exit::FAILED
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("trefoil", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(me)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.flows.now().described()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.flows.now();
        let Some(tool) = tools.get(&request.name) else {
            let names = tools.names().join(", ");
            let message = format!("unknown tool `{}`; available: {names}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        match &request.request_state {
            None => self.calls.begin(tool, request, context).await,
            Some(state) => match self.calls.taken_up(&request.name, state) {
                Some(parked) => self.calls.answered(parked, &request, context).await,
                None => Ok(told("this question is no longer open; call the tool again").into()),
            },
        }
    }
}
