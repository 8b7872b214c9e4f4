//! A connection to a server.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, PaginatedRequestParams};
use rmcp::service::{ClientCacheConfig, ClientServiceExt as _, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::time::Instant;
use trefoil_machine::ToolSpec;
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::{Meter, Secrets};
use trefoil_template::Value;

use super::caller::McpClient;
use super::connection_failure::ConnectionFailure;
use super::handshake::{
    HandshakeEvidence, PATIENCE, ProtocolGeneration, before_sending, ended_server_error, explain_failed_handshake,
    late_server_error, unsent_message_error,
};
use super::http::GuardedTransport;
use super::incoming::open_envelope;
use super::listing::ToolListing;
use super::probe::{HandshakeProbe, ProbingTransport};
use super::server_transport::ServerTransport;
use super::spec::DescriptionDigests;
use super::stdio::{OutputBudget, ServerOutputTail, StdioLines};
use super::{McpServer, McpTransport, answer, failed};
use crate::guard::GuardedClient;
use crate::process::{self, ChildProcess, OperatorProgram, fill_holes};
use trefoil_runtime::locks::lock;

/// How old the server's list may be before a call that is not safe to repeat. Not every server reports changes.
const FRESH: Duration = Duration::from_secs(5);
/// The longest time limit of a start: an instant cannot be arbitrarily far away.
const LONGEST_START: Duration = Duration::from_secs(86_400);
/// The number of remarks on a server that are remembered, so that they are said once.
const REMARKS: usize = 1_000;
/// The advice for a call of a tool that does not exist.
const NO_TOOL: &str = "write the name of one of its tools, or use a version of the server that has this one";
/// Maximum number of tools that a message lists.
const NAMED: usize = 8;

/// An initialized connection to a server.
pub struct McpConnection {
    server: Arc<McpServer>,
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, McpClient>>>,
    process: tokio::sync::Mutex<Option<ChildProcess>>,
    output_tail: ServerOutputTail,
    budget: Arc<OutputBudget>,
    trouble: ConnectionFailure,
    caller: McpClient,
    probe: HandshakeProbe,
    /// The list, and when it was requested.
    tools: tokio::sync::Mutex<Option<(Arc<ToolListing>, Instant)>>,
    /// What was said about the server.
    remarked: Mutex<HashSet<String>>,
}

/// The outcome of a handshake.
enum HandshakeOutcome {
    Open(Box<McpConnection>),
    /// The server may have the other generation of the protocol, which is to be tried; otherwise this is the failure.
    Odd(ProtocolGeneration, ToolError),
}

impl McpConnection {
    /// Starts or calls a server, and agrees on a protocol: the current one, or the generation before it. `known`: the
    /// generation that it had before.
    pub async fn open(
        server: Arc<McpServer>,
        client: Option<GuardedClient>,
        secrets: &dyn Secrets,
        known: &mut ProtocolGeneration,
    ) -> Result<Self, ToolError> {
        let until = Instant::now() + server.start_limit().min(LONGEST_START);
        let mut tried = vec![known.clone()];
        let mut began = Self::begin(server.clone(), client.clone(), secrets, known, until).await;
        // Of a server that was open before, the protocol is known.
        while let (Ok(HandshakeOutcome::Odd(other, _)), Some(ProtocolGeneration::Either)) = (&began, tried.first())
            && !tried.contains(other)
        {
            *known = other.clone();
            tried.push(other.clone());
            began = Self::begin(server.clone(), client.clone(), secrets, known, until).await;
        }
        match began {
            Ok(HandshakeOutcome::Open(connection)) => {
                if connection.probe.is_ignored() {
                    *known = ProtocolGeneration::EARLIER;
                }
                Ok(*connection)
            }
            Ok(HandshakeOutcome::Odd(_, why)) | Err(why) => {
                // It may be another program by now.
                *known = ProtocolGeneration::Either;
                Err(why)
            }
        }
    }

    async fn begin(
        server: Arc<McpServer>,
        client: Option<GuardedClient>,
        secrets: &dyn Secrets,
        generation: &ProtocolGeneration,
        until: Instant,
    ) -> Result<HandshakeOutcome, ToolError> {
        let trouble = ConnectionFailure::default();
        let (budget, output_tail, probe) =
            (Arc::<OutputBudget>::default(), ServerOutputTail::default(), HandshakeProbe::default());
        let mut process = None;
        let client_side = McpClient::of_version(generation.initialize_version());
        let caller = client_side.clone();
        let transport = match &server.transport {
            McpTransport::Process(program) => {
                let mut started = start(program, secrets)?;
                let (stdin, stdout) = (started.child.stdin.take(), started.child.stdout.take());
                if let Some(stderr) = started.child.stderr.take() {
                    output_tail.read_stderr(stderr);
                }
                let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
                    return Err(failed("the server has no standard streams".to_owned()));
                };
                process = Some(started);
                let streams = StdioLines::new(stdout, stdin, budget.clone(), output_tail.clone(), trouble.clone());
                match generation {
                    ProtocolGeneration::Either => ServerTransport::new(ProbingTransport::new(streams, probe.clone())),
                    _ => ServerTransport::new(streams),
                }
            }
            McpTransport::Http { url, headers } => {
                let Some(client) = client else { return Err(failed("HTTP is not available here".to_owned())) };
                let mut filled = Vec::new();
                for (name, text) in headers {
                    filled.push((name.clone(), fill_holes(text, secrets)?));
                }
                let guarded = GuardedTransport::new(client, filled, server.time, trouble.clone());
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                ServerTransport::new(StreamableHttpClientTransport::with_client(guarded, config))
            }
        };
        let begun = caller.serve_with_lifecycle(transport, generation.lifecycle_mode());
        let running = match tokio::time::timeout_at(until, begun).await {
            Ok(Ok(running)) => running,
            Ok(Err(why)) => {
                let (other, why) = explain_failed_handshake(
                    &server,
                    &why,
                    &HandshakeEvidence { probe, trouble, output_tail },
                    process,
                )
                .await;
                return match other {
                    Some(other) => Ok(HandshakeOutcome::Odd(other, why)),
                    None => Err(why),
                };
            }
            Err(_) => return Err(late_server_error(&server, &output_tail)),
        };
        // Discard a failure of the first handshake with a server of the other generation.
        trouble.take();
        // A server decides how long the SDK keeps its answers, and could hide a change of its tools that way.
        running.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        Ok(HandshakeOutcome::Open(Box::new(Self {
            server,
            peer: running.peer().clone(),
            running: Mutex::new(Some(running)),
            process: tokio::sync::Mutex::new(process),
            output_tail,
            budget,
            trouble,
            caller: client_side,
            probe,
            tools: tokio::sync::Mutex::default(),
            remarked: Mutex::default(),
        })))
    }

    /// Whether it can still be used.
    pub fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// Closes the connection. A server that was started is asked to end, and has ended when this returns.
    pub async fn close(&self) {
        let running = lock(&self.running).take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(PATIENCE).await;
        }
        let process = self.process.lock().await.take();
        if let Some(process) = process {
            process.end_process(PATIENCE).await;
        }
    }

    /// Lists all tools that may be called. The server is asked each time, because a model decides by this list. Tools that
    /// cannot be offered are reported to the meter.
    pub async fn list_tools(&self, seen: &DescriptionDigests, meter: &Meter) -> Result<Vec<ToolSpec>, ToolError> {
        meter.mark_sent();
        let tools = self.within(self.tools(Duration::ZERO)).await.inspect_err(|why| unsent_by(why, meter))?;
        self.remark(&tools.remarks, meter);
        let mut all = Vec::with_capacity(tools.all.len());
        for (name, tool) in &tools.all {
            let tool = match tool {
                Ok(tool) => tool,
                Err(why) => {
                    meter.report_skipped_tool(name, why.to_string());
                    continue;
                }
            };
            match seen.check_unchanged(&self.server, tool, meter) {
                Ok(()) => {
                    self.remark(&tool.remarks, meter);
                    all.push(tool.spec.clone());
                }
                Err(why) => meter.report_skipped_tool(name, why.to_string()),
            }
        }
        Ok(all)
    }

    /// Calls a tool with these arguments. `plans` reports the call, after the list of tools that is requested first.
    pub async fn call_tool(
        &self,
        (name, arguments): (&str, &Value),
        seen: &DescriptionDigests,
        meter: &Meter,
        plans: impl Fn() + Send,
    ) -> Result<Value, ToolError> {
        if !self.server.allows(name) {
            let why = format!("`{name}` is not one of the allowed tools of `{}`", self.server.name);
            return Err(ToolError::with_advice(why, "add it to `tools` of `[mcp.NAME]`"));
        }
        let outcome = self.within(async {
            let age = if self.server.idempotent.holds(name) { Duration::MAX } else { FRESH };
            meter.mark_sent();
            let tools = self.tools(age).await.inspect_err(|why| unsent_by(why, meter)).map_err(before_sending)?;
            plans();
            self.remark(&tools.remarks, meter);
            let tool = match tools.all.get(name) {
                Some(Ok(tool)) => tool,
                Some(Err(why)) => return Err(why.clone()),
                None => return Err(self.unknown(name, &tools)),
            };
            seen.check_unchanged(&self.server, tool, meter)?;
            self.remark(&tool.remarks, meter);
            let serde_json::Value::Object(arguments) = arguments.to_json() else {
                return Err(failed("the arguments of an MCP tool must be an object".to_owned()));
            };
            let arguments = tool.check_arguments(arguments)?;
            let shape = tool.compile_result_schema().await?;
            let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
            self.budget.reset_count();
            meter.mark_sent();
            let result = match self.peer.call_tool_once(params).await {
                Ok(CallToolResponse::Complete(result)) => open_envelope(result.meta).map_err(ToolError::Unusable)?,
                Ok(_) => return Err(failed("the server violated the protocol".to_owned())),
                Err(why) => return Err(self.explain(why).await).inspect_err(|why| unsent_by(why, meter)),
            };
            answer::answer_value(&self.server, name, shape, result).await
        });
        let outcome = outcome.await;
        for what in self.caller.take_declined() {
            meter.add_warning(format!(
                "the MCP server `{}` asked for {what} during the call of `{name}`, which was declined",
                self.server.name
            ));
        }
        outcome
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::time::timeout(self.server.time, work).await.unwrap_or(Err(ToolError::Timeout))
    }

    /// The server's tools. They are requested again if the list is older than this, or the server has reported a change.
    async fn tools(&self, age: Duration) -> Result<Arc<ToolListing>, ToolError> {
        let wanted = Instant::now();
        let mut held = self.tools.lock().await;
        if let Some((tools, since)) = &*held
            && !self.caller.has_changed()
            // Of those that wait here at the same time, only one needs to ask.
            && (*since >= wanted || since.elapsed() < age)
        {
            return Ok(tools.clone());
        }
        self.caller.reads_again();
        let since = Instant::now();
        let tools = Arc::new(self.pages().await?);
        *held = Some((tools.clone(), since));
        Ok(tools)
    }

    async fn pages(&self) -> Result<ToolListing, ToolError> {
        let mut listing = ToolListing::default();
        let mut cursor: Option<String> = None;
        loop {
            self.budget.reset_count();
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = match self.peer.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(why) => return Err(self.explain(why).await),
            };
            let read: HashSet<String> = page.tools.iter().map(|tool| tool.name.to_string()).collect();
            let page = open_envelope(page.meta).map_err(ToolError::Unusable)?;
            // On another thread: a page may have megabytes of schemas, and this thread sees the time limit.
            let server = self.server.clone();
            let added =
                tokio::task::spawn_blocking(move || listing.add_page(&server, page, &read).map(|next| (listing, next)));
            let added = added.await.map_err(|_| failed("the list of tools could not be read".to_owned()))?;
            (listing, cursor) = added?;
            if cursor.is_none() {
                return Ok(listing);
            }
        }
    }

    /// Reports what is odd about the server, once for each connection.
    fn remark(&self, remarks: &[String], meter: &Meter) {
        let mut remarked = lock(&self.remarked);
        for remark in remarks {
            if remarked.len() < REMARKS && remarked.insert(remark.clone()) {
                meter.add_warning(remark.clone());
            }
        }
    }

    fn unknown(&self, name: &str, tools: &ToolListing) -> ToolError {
        let server = &self.server.name;
        let tools = &tools.all;
        let mut known: Vec<&str> = Vec::new();
        for (name, tool) in tools {
            if tool.is_ok() {
                known.push(name);
            }
        }
        if let (true, Some(Err(why))) = (known.is_empty(), tools.values().next()) {
            return why.clone();
        }
        if let Some(near) = trefoil_syntax::suggestions::nearest_name(name, known.iter().copied()) {
            let why = format!("`{server}` has no tool `{name}`; did you mean `{near}`?");
            return ToolError::with_advice(why, NO_TOOL);
        }
        let some = known.get(..NAMED).unwrap_or(&known);
        let more = if known.len() > NAMED { ", ..." } else { "" };
        let why = format!("`{server}` has no tool `{name}`; available: `{}`{more}", some.join("`, `"));
        ToolError::with_advice(why, NO_TOOL)
    }

    /// The error for a request without a response.
    async fn explain(&self, why: ServiceError) -> ToolError {
        if let ServiceError::McpError(error) = &why {
            self.trouble.take();
            return ToolError::with_advice(process::last_words(&error.message), answer::REJECTED);
        }
        if let Some(trouble) = self.trouble.take() {
            return trouble;
        }
        if let Some(ended) = ended_server_error(self.process.lock().await.as_mut(), &self.output_tail).await {
            return ended;
        }
        match why {
            ServiceError::TransportClosed => ToolError::Broken("the server closed the connection".to_owned()),
            ServiceError::Timeout { .. } => ToolError::Timeout,
            ServiceError::TransportSend(error) => unsent_message_error(&error),
            ServiceError::UnexpectedResponse => failed("the server answered another request than this one".to_owned()),
            _ => failed("the server violated the protocol".to_owned()),
        }
    }
}

/// Reports that nothing was sent if that is how a request failed.
pub fn unsent_by(why: &ToolError, meter: &Meter) {
    if matches!(why, ToolError::Network(_)) {
        meter.mark_unsent();
    }
}

fn start(program: &OperatorProgram, secrets: &dyn Secrets) -> Result<ChildProcess, ToolError> {
    process::start_process(program.build_command(&program.command, secrets)?, true)
}
