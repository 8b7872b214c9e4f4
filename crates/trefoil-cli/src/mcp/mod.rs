//! Flows as tools of the Model Context Protocol: clients list and call them, receive progress, answer questions and
//! stop runs. The SDK implements the protocol itself.

mod call;
mod question;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use trefoil::internals::engine::Engine;

use crate::{exit, output};
use call::Calls;
pub use tools::{Offered, Tools};

/// Maximum size of a client's message in bytes.
const LONGEST: usize = 8 << 20;
/// How long runs may take to end after the client has disconnected.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server side of the protocol.
#[derive(Clone)]
struct Server {
    tools: Arc<Tools>,
    calls: Arc<Calls>,
}

/// Serves until the client disconnects. Returns the exit code.
pub fn serve(tools: Tools, base: Engine) -> u8 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::refuse(&format!("the server could not start: {error}"), None);
            return exit::NOT_STARTED;
        }
    };
    let server = Server { tools: Arc::new(tools), calls: Arc::default() };
    let calls = server.calls.clone();
    let code = runtime.block_on(async {
        let streams = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
        let code = match serve_server(server, streams.with_max_line_length(LONGEST)).await {
            Ok(running) => match running.waiting().await {
                Ok(_) => exit::OK,
                Err(error) => failed(&error),
            },
            // The client disconnected before the handshake.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => exit::OK,
            Err(error) => failed(&error),
        };
        calls.stop(PATIENCE).await;
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
        Ok(ListToolsResult::with_all_items(self.tools.described()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.get(&request.name) else {
            let names = self.tools.names().join(", ");
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

/// The result of a call that failed, for a model.
fn told(why: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why.into())])
}
