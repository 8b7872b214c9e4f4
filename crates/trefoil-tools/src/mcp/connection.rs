//! A connection to a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams,
    ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RunningService,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError};
use trefoil_machine::ToolSpec;
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::Secrets;
use trefoil_template::Value;

use super::http::{Guarded, HttpFailure};
use super::spec::{Described, Seen};
use super::stdio::{Bounded, Budget, LastWords};
use super::trouble::Trouble;
use super::{McpPlace, McpServer, answer, failed};
use crate::guard::Client;
use crate::process::{self, Process, Program, fill};

/// Time limit for starting a server and the handshake.
const GREETING: Duration = Duration::from_secs(30);
/// Time limit for a server to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Limits of a server's tool list.
const PAGES: usize = 100;
const TOOLS: usize = 2_000;
/// Maximum number of tools that a message lists.
const NAMED: usize = 8;

/// The client side of the protocol. It only receives notifications of changed tools, and offers no capabilities.
#[derive(Clone)]
struct Caller(Arc<AtomicBool>);

impl ClientHandler for Caller {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new("trefoil", env!("CARGO_PKG_VERSION"));
        // The protocol version for the handshake with `initialize`; with the current protocol, each request states its
        // version.
        ClientConfig::new(ClientCapabilities::default(), me)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

type Tools = Arc<BTreeMap<Arc<str>, Described>>;

/// An initialized connection to a server.
pub struct Connection {
    server: Arc<McpServer>,
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Caller>>>,
    process: tokio::sync::Mutex<Option<Process>>,
    said: LastWords,
    budget: Arc<Budget>,
    trouble: Trouble,
    changed: Arc<AtomicBool>,
    tools: tokio::sync::Mutex<Option<Tools>>,
}

/// The outcome of a handshake.
enum Handshake {
    Open(Box<Connection>),
    /// The server responded with something that does not match the request.
    Odd(Box<ClientInitializeError>),
}

impl Connection {
    /// Starts or calls a server, and agrees on a protocol: the current one, or the generation before it.
    pub async fn open(
        server: Arc<McpServer>,
        client: Option<Client>,
        secrets: &dyn Secrets,
    ) -> Result<Self, ToolError> {
        let either = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        match Self::begin(server.clone(), client.clone(), secrets, either).await? {
            Handshake::Open(connection) => Ok(*connection),
            // The server answers an unknown request with something else instead of an error, so use the older
            // handshake.
            Handshake::Odd(_) => match Self::begin(server, client, secrets, ClientLifecycleMode::Initialize).await? {
                Handshake::Open(connection) => Ok(*connection),
                Handshake::Odd(why) => Err(refused(&why)),
            },
        }
    }

    async fn begin(
        server: Arc<McpServer>,
        client: Option<Client>,
        secrets: &dyn Secrets,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Handshake, ToolError> {
        let (trouble, changed) = (Trouble::default(), Arc::<AtomicBool>::default());
        let (budget, said) = (Arc::<Budget>::default(), LastWords::default());
        let mut process = None;
        let caller = Caller(changed.clone());
        let begun = match &server.place {
            McpPlace::Process(program) => {
                let mut started = start(program, secrets)?;
                let (stdin, stdout) = (started.child.stdin.take(), started.child.stdout.take());
                started.child.stderr.take().into_iter().for_each(|stderr| said.listen(stderr));
                let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
                    return Err(failed("the server has no standard streams".to_owned()));
                };
                process = Some(started);
                let stdout = Bounded::new(stdout, budget.clone(), trouble.clone());
                let streams = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(Bounded::LONGEST);
                tokio::time::timeout(GREETING, caller.serve_with_lifecycle(streams, lifecycle)).await
            }
            McpPlace::Http { url, headers } => {
                let client = client.ok_or_else(|| failed("HTTP is not available here".to_owned()))?;
                let headers = headers.iter().map(|(name, text)| Ok((name.clone(), fill(text, secrets)?)));
                let headers = headers.collect::<Result<Vec<_>, ToolError>>()?;
                let guarded = Guarded::new(client, headers, server.time, trouble.clone());
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                let transport = StreamableHttpClientTransport::with_client(guarded, config);
                tokio::time::timeout(GREETING, caller.serve_with_lifecycle(transport, lifecycle)).await
            }
        };
        let running = match begun {
            Ok(Ok(running)) => running,
            Ok(Err(why @ ClientInitializeError::ExpectedInitResult(Some(_)))) => {
                if let Some(process) = process {
                    process.end(PATIENCE).await;
                }
                return Ok(Handshake::Odd(Box::new(why)));
            }
            Ok(Err(why)) => {
                let ended = ending(process.as_mut(), &said).await;
                let why = trouble.take().unwrap_or_else(|| ended.unwrap_or_else(|| refused(&why)));
                // No tool was called yet, so nothing can have been done.
                return Err(match why {
                    ToolError::Broken(why) => ToolError::Network(why),
                    ToolError::Unusable(why) => ToolError::Failed(why),
                    why => why,
                });
            }
            Err(_) => return Err(ToolError::Timeout),
        };
        // Discard a failure of the first handshake with a server of the other generation.
        trouble.take();
        Ok(Handshake::Open(Box::new(Self {
            server,
            peer: running.peer().clone(),
            running: Mutex::new(Some(running)),
            process: tokio::sync::Mutex::new(process),
            said,
            budget,
            trouble,
            changed,
            tools: tokio::sync::Mutex::default(),
        })))
    }

    /// Whether it can still be used.
    pub fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// Closes the connection. A server that was started is asked to end, and has ended when this returns.
    pub async fn close(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(PATIENCE).await;
        }
        let process = self.process.lock().await.take();
        if let Some(process) = process {
            process.end(PATIENCE).await;
        }
    }

    /// Lists all tools that may be called.
    pub async fn list(&self, seen: &Seen) -> Result<Vec<ToolSpec>, ToolError> {
        let tools = self.within(self.tools()).await?;
        tools.values().try_for_each(|tool| seen.compare(&self.server, tool))?;
        Ok(tools.values().map(|tool| tool.spec.clone()).collect())
    }

    /// Calls a tool.
    pub async fn call(&self, name: &str, arguments: &Value, seen: &Seen) -> Result<Value, ToolError> {
        if !self.server.allows(name) {
            return Err(failed(format!("`{name}` is not one of the allowed tools of `{}`", self.server.name)));
        }
        self.within(async {
            let tools = self.tools().await?;
            let tool = tools.get(name).ok_or_else(|| self.unknown(name, &tools))?;
            seen.compare(&self.server, tool)?;
            let serde_json::Value::Object(arguments) = arguments.to_json() else {
                return Err(failed("the arguments of an MCP tool must be an object".to_owned()));
            };
            tool.takes(&arguments)?;
            let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
            self.budget.renew();
            match self.peer.call_tool_once(params).await {
                Ok(CallToolResponse::Complete(result)) => answer::value(&self.server, tool, result),
                Ok(_) => Err(failed(format!(
                    "`{}` requires an answer from the client, which is not supported yet",
                    self.server.name
                ))),
                Err(why) => Err(self.explain(why).await),
            }
        })
        .await
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::time::timeout(self.server.time, work).await.unwrap_or(Err(ToolError::Timeout))
    }

    /// The server's tools, requested once and again after a notification that they have changed.
    async fn tools(&self) -> Result<Tools, ToolError> {
        let mut held = self.tools.lock().await;
        if let Some(tools) = held.as_ref().filter(|_| !self.changed.load(Ordering::Relaxed)) {
            return Ok(tools.clone());
        }
        self.changed.store(false, Ordering::Relaxed);
        let mut all = BTreeMap::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            self.budget.renew();
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = match self.peer.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(why) => return Err(self.explain(why).await),
            };
            for tool in page.tools.iter().filter(|tool| self.server.allows(&tool.name)) {
                let described = Described::of(&self.server, tool)?;
                if all.insert(described.spec.name.clone(), described).is_some() {
                    return Err(failed(format!("`{}` has two tools named `{}`", self.server.name, tool.name)));
                }
            }
            if all.len() > TOOLS {
                return Err(failed(format!("`{}` has more than {TOOLS} tools", self.server.name)));
            }
            match page.next_cursor {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                Some(_) => return Err(failed(format!("`{}` sends the same page of tools again", self.server.name))),
                None => {
                    let tools = Arc::new(all);
                    *held = Some(tools.clone());
                    return Ok(tools);
                }
            }
        }
        Err(failed(format!("the list of tools of `{}` has more than {PAGES} pages", self.server.name)))
    }

    fn unknown(&self, name: &str, tools: &BTreeMap<Arc<str>, Described>) -> ToolError {
        let server = &self.server.name;
        if let Some(near) = trefoil_syntax::suggest::nearest(name, tools.keys().map(|known| &**known)) {
            return failed(format!("`{server}` has no tool `{name}`; did you mean `{near}`?"));
        }
        let some: Vec<&str> = tools.keys().take(NAMED).map(|known| &**known).collect();
        let more = if tools.len() > NAMED { ", ..." } else { "" };
        failed(format!("`{server}` has no tool `{name}`; available: `{}`{more}", some.join("`, `")))
    }

    /// The error for a request without a response.
    async fn explain(&self, why: ServiceError) -> ToolError {
        if let ServiceError::McpError(error) = &why {
            self.trouble.take();
            return failed(process::last_words(&error.message));
        }
        if let Some(trouble) = self.trouble.take() {
            return trouble;
        }
        if let Some(ended) = ending(self.process.lock().await.as_mut(), &self.said).await {
            return ended;
        }
        match why {
            ServiceError::TransportClosed => ToolError::Broken("the server closed the connection".to_owned()),
            ServiceError::Timeout { .. } => ToolError::Timeout,
            ServiceError::TransportSend(error) => unsent(&error),
            ServiceError::UnexpectedResponse => failed("the server answered another request than this one".to_owned()),
            _ => failed("the server violated the protocol".to_owned()),
        }
    }
}

fn start(program: &Program, secrets: &dyn Secrets) -> Result<Process, ToolError> {
    process::start(program.command(&program.command, secrets)?, true)
}

/// The error for a server that has ended. The process may need a moment to exit.
async fn ending(process: Option<&mut Process>, said: &LastWords) -> Option<ToolError> {
    let ended = tokio::time::timeout(PATIENCE / 4, process?.child.wait()).await.ok()?;
    let how = match ended.ok()?.code() {
        Some(code) => format!("it exited with {code}"),
        None => "it was killed".to_owned(),
    };
    // Its last output is read by another task.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let said = said.text();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    Some(ToolError::Broken(format!("the server stopped: {how}{said}")))
}

fn refused(why: &ClientInitializeError) -> ToolError {
    match why {
        ClientInitializeError::JsonRpcError(error) => {
            failed(format!("the server rejected the request: {}", process::last_words(&error.message)))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            ToolError::Network("the server closed the connection during initialization".to_owned())
        }
        ClientInitializeError::TransportError { error, .. } => unsent(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refused(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            failed(format!(
                "the server does not support this client's versions of the protocol, only {}",
                theirs.join(", ")
            ))
        }
        _ => failed("the server does not support the protocol: its answer is not one to `initialize`".to_owned()),
    }
}

/// Why a message was not accepted, or not sent. The SDK's own words name its types.
fn unsent(error: &DynamicTransportError) -> ToolError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error.error);
    while let Some(one) = cause {
        if let Some(failure) = one.downcast_ref::<HttpFailure>() {
            return match failure {
                StreamableHttpError::Client(fault) => fault.clone().into(),
                // It did so again after a new handshake.
                StreamableHttpError::SessionExpired => ToolError::Status {
                    status: 404,
                    message: "answered with 404: it does not know the session that it began".to_owned(),
                    retry_after_ms: None,
                },
                StreamableHttpError::UnexpectedServerResponse(said) => failed(said.to_string()),
                _ => ToolError::Network("the connection failed".to_owned()),
            };
        }
        if let Some(failure) = one.downcast_ref::<std::io::Error>() {
            return ToolError::Network(format!("the connection failed: {failure}"));
        }
        cause = one.source();
    }
    ToolError::Network("the connection failed".to_owned())
}
