//! Tools of MCP servers, over the standard streams of a child process or over HTTP.
//!
//! A server is declared by the operator, or is a URL in a manifest, which the guarded client calls. A connection is
//! opened at the first call, reused for all calls of a run, and closed at its end. A server's messages are untrusted:
//! names, sizes, times and results are checked, and a tool that changes its description during a run is not called.

mod answer;
mod caller;
mod connection;
mod connection_failure;
mod handshake;
mod http;
mod incoming;
mod listing;
mod probe;
mod server_transport;
mod spec;
mod stdio;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_ir::credential::is_header;
use trefoil_machine::{ToolRequest, ToolSpec};
use trefoil_runtime::ports::{CallSite, Secrets};
use trefoil_runtime::{ToolError, ToolHost, ToolRefusal};
use trefoil_template::{HoleKind, Value};

use self::http::McpRequest;
use crate::guard::{GuardRules, GuardedClient};
use crate::http::refusal_of;
use crate::process::{self, OperatorProgram};
use trefoil_runtime::locks::lock;

use connection::McpConnection;
use handshake::ProtocolGeneration;
use spec::DescriptionDigests;

/// A server that the operator has declared.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// The tools that may be called; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Which of its tools are idempotent, as the operator says: the server's own claims are not enough.
    pub idempotent: IdempotentTools,
    /// The time limit of a call.
    pub time: Duration,
    /// The time limit of its start and the handshake; `None`: that of a call.
    pub start: Option<Duration>,
}

/// How to reach a server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process that uses its standard streams.
    Process(OperatorProgram),
    /// An address, and headers that may have holes for secrets.
    Http {
        /// Its address.
        url: String,
        /// Sent with each request.
        headers: Vec<(String, Value)>,
    },
}

/// Which tools are idempotent, according to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotentTools {
    /// All.
    All,
    /// These.
    These(Vec<String>),
}

impl IdempotentTools {
    fn holds(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.iter().any(|name| name == tool),
        }
    }
}

impl McpServer {
    /// A server that a manifest names by its address.
    fn at(url: &str) -> Self {
        Self {
            name: url.to_owned(),
            transport: McpTransport::Http { url: url.to_owned(), headers: Vec::new() },
            tools: None,
            idempotent: IdempotentTools::These(Vec::new()),
            time: crate::TIME,
            start: None,
        }
    }

    /// Adds headers from a manifest. The operator's headers take precedence.
    fn with(&self, more: &[(Arc<str>, Value)]) -> Result<Self, ToolError> {
        let mut server = self.clone();
        let McpTransport::Http { headers, .. } = &mut server.transport else {
            let why = format!("`{}` is a program, so it cannot have `headers`", self.name);
            return Err(ToolError::with_advice(
                why,
                "remove `headers`; a program gets secrets with `env` of `[mcp.NAME]`",
            ));
        };
        for (name, text) in more {
            if !headers.iter().any(|(have, _)| have.eq_ignore_ascii_case(name)) {
                headers.push((name.to_string(), text.clone()));
            }
        }
        Ok(server)
    }

    /// The time limit of its start and the handshake.
    fn start_limit(&self) -> Duration {
        self.start.unwrap_or(self.time)
    }

    fn allows(&self, tool: &str) -> bool {
        match &self.tools {
            Some(tools) => tools.iter().any(|name| name == tool),
            None => true,
        }
    }

    /// The environment values and secrets that the server gets.
    pub fn list_holes(&self) -> Vec<(HoleKind, Arc<str>)> {
        match &self.transport {
            McpTransport::Process(program) => program.environment.list_holes(),
            McpTransport::Http { headers, .. } => {
                let mut holes = Vec::new();
                for (_, text) in headers {
                    holes.extend(process::holes_in_text(text));
                }
                holes
            }
        }
    }

    /// The environment variables among them that the server gets as credentials.
    pub fn credential_variables(&self) -> Vec<Arc<str>> {
        match &self.transport {
            McpTransport::Process(program) => program.environment.credential_variables(),
            McpTransport::Http { headers, .. } => {
                let mut holes = Vec::new();
                for (name, text) in headers {
                    if is_header(name) {
                        holes.extend(process::holes_in_text(text));
                    }
                }
                process::environment_names(holes.into_iter())
            }
        }
    }

    /// Those without which it is not called.
    pub fn required_holes(&self) -> Vec<(HoleKind, Arc<str>)> {
        match &self.transport {
            McpTransport::Process(program) => program.environment.required_holes(),
            McpTransport::Http { .. } => self.list_holes(),
        }
    }
}

/// The servers of one run.
pub struct McpTools {
    declared: Arc<BTreeMap<String, Arc<McpServer>>>,
    /// The client for servers that a manifest names; `None`: they are not called.
    client: Option<GuardedClient>,
    secrets: Arc<dyn Secrets>,
    open: Mutex<HashMap<String, Arc<ConnectionSlot>>>,
    seen: DescriptionDigests,
}

/// The connection to a server, opened at the first use.
type ConnectionSlot = tokio::sync::Mutex<ServerConnection>;

struct ServerConnection {
    connection: Option<Arc<McpConnection>>,
    /// The protocol of the connection before, which the next one uses at once.
    generation: ProtocolGeneration,
}

impl Default for ServerConnection {
    fn default() -> Self {
        Self { connection: None, generation: ProtocolGeneration::Either }
    }
}

impl McpTools {
    /// Creates the host. `client` is for servers that a manifest names by address; `None`: they are not called.
    pub fn new(
        declared: impl IntoIterator<Item = McpServer>,
        client: Option<GuardedClient>,
        secrets: Arc<dyn Secrets>,
    ) -> Self {
        let declared = declared.into_iter().map(|server| (server.name.clone(), Arc::new(server))).collect();
        Self {
            declared: Arc::new(declared),
            client,
            secrets,
            open: Mutex::default(),
            seen: DescriptionDigests::default(),
        }
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<String, Arc<ConnectionSlot>>> {
        lock(&self.open)
    }

    /// Closes all connections, and waits until the servers that were started have ended.
    pub async fn close(&self) {
        let slots: Vec<_> = self.lock_slots().drain().collect();
        let ends = slots.into_iter().map(|(_, slot)| async move {
            let held = slot.lock().await.connection.take();
            if let Some(connection) = held {
                connection.close().await;
            }
        });
        futures::future::join_all(ends).await;
    }

    fn server(&self, named: &str) -> Option<Arc<McpServer>> {
        if let Some(declared) = self.declared.get(named) {
            return Some(declared.clone());
        }
        if self.client.is_some() && is_address(named) { Some(Arc::new(McpServer::at(named))) } else { None }
    }

    /// Reports a request that is to be sent to a server at an address.
    fn plans(&self, at: CallSite<'_>, named: &str, wanted: McpRequest<'_>) {
        if let Some(server) = self.server(named)
            && let McpTransport::Http { url, .. } = &server.transport
        {
            at.meter.plan_request(http::display_request(url, wanted));
        }
    }

    /// Returns the connection to a server; opens one if there is none or it has ended. Other headers in a manifest mean
    /// another connection.
    async fn connect_server(
        &self,
        at: CallSite<'_>,
        (named, headers): ManifestServer<'_>,
        discloses: bool,
    ) -> Result<Arc<McpConnection>, ToolError> {
        self.plans(at, named, McpRequest::Handshake);
        let Some(server) = self.server(named) else {
            let why = format!("the MCP server `{named}` is not declared");
            return Err(ToolError::with_advice(why, "declare it under `[mcp.NAME]` in the settings"));
        };
        let server = if headers.is_empty() { server } else { Arc::new(server.with(headers)?) };
        let discloses = discloses || headers.iter().any(|(_, text)| text.is_masked());
        if discloses
            && !self.declared.contains_key(named)
            && let Some(client) = &self.client
        {
            client.may_disclose(named)?;
        }
        let slot = {
            let mut open = self.lock_slots();
            let sent: String = headers.iter().map(|(name, text)| format!("\n{name}: {text:?}")).collect();
            open.entry(format!("{named}{sent}")).or_default().clone()
        };
        let mut held = slot.lock().await;
        if let Some(connection) = &held.connection
            && connection.is_open()
        {
            return Ok(connection.clone());
        }
        // The old connection is closed before the new one is opened.
        held.connection = None;
        let client = match (&server.transport, self.declared.contains_key(named)) {
            (McpTransport::Http { url, .. }, true) => Some(own_client(url, server.time)?),
            _ => self.client.clone(),
        };
        if let (McpTransport::Http { url, .. }, Some(client)) = (&server.transport, &client) {
            client.check_url(url)?;
        }
        at.meter.mark_sent();
        let opened = McpConnection::open(server, client, &*self.secrets, &mut held.generation).await;
        let connection = Arc::new(opened.inspect_err(|why| connection::unsent_by(why, at.meter))?);
        held.connection = Some(connection.clone());
        Ok(connection)
    }
}

/// A client that calls only the operator's address, so that a manifest gains no access through it.
fn own_client(url: &str, time: Duration) -> Result<GuardedClient, ToolError> {
    let wrong = || ToolError::with_advice("its `url` is not a valid URL", "fix `url` of `[mcp.NAME]`");
    let Ok(parsed) = url::Url::parse(url) else { return Err(wrong()) };
    let (Some(host), Some(port)) = (parsed.host_str(), parsed.port_or_known_default()) else { return Err(wrong()) };
    let Ok(allow) = format!("{host}:{port}").parse() else { return Err(wrong()) };
    let mut rules = GuardRules { allow: vec![allow], ..GuardRules::default() };
    (rules.limits.time, rules.limits.longest) = (time, time);
    Ok(GuardedClient::new(rules))
}

/// A server as a manifest names it, and the headers that the manifest sends.
type ManifestServer<'k> = (&'k str, &'k [(Arc<str>, Value)]);

fn named_server(kind: &ToolKind) -> Option<ManifestServer<'_>> {
    match kind {
        ToolKind::Mcp { server, headers } => Some((server, headers)),
        _ => None,
    }
}

/// Whether a manifest names a server by its address.
fn is_address(server: &str) -> bool {
    server.starts_with("https://") || server.starts_with("http://")
}

#[async_trait]
impl ToolHost for McpTools {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        let Some((server, _)) = named_server(kind) else { return false };
        let Some(server) = self.server(server) else { return false };
        // An empty name stands for all tools of the server.
        name.is_empty() || server.allows(name)
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let Some(server) = named_server(&request.kind) else { return Err(failed("it is not an MCP tool".to_owned())) };
        let connection = self.connect_server(at, server, at.discloses).await?;
        self.plans(at, server.0, McpRequest::Tools);
        let plans = || {
            let arguments = at.meter.displayed_arguments().unwrap_or(&Value::Null);
            self.plans(at, server.0, McpRequest::Call(&request.name, arguments));
        };
        connection.call_tool((&request.name, &request.arguments), &self.seen, at.meter, plans).await
    }

    async fn list_tools(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        match named_server(kind) {
            Some(server) if self.server(server.0).is_some() => {
                let connection = self.connect_server(at, server, false).await?;
                self.plans(at, server.0, McpRequest::Tools);
                connection.list_tools(&self.seen, at.meter).await
            }
            _ => Ok(Vec::new()),
        }
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        let Some((server, _)) = named_server(&request.kind) else { return false };
        let Some(server) = self.declared.get(server) else { return false };
        server.idempotent.holds(&request.name)
    }

    fn tool_refusal(&self, _name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        let (server, headers) = named_server(kind)?;
        let client = self.client.as_ref()?;
        if !is_address(server) || self.declared.contains_key(server) {
            return None;
        }
        let discloses = arguments.is_masked() || headers.iter().any(|(_, text)| text.is_masked());
        let checked = if discloses { client.may_disclose(server) } else { client.check_url(server) };
        refusal_of(&checked.err()?)
    }
}

fn failed(what: String) -> ToolError {
    ToolError::Failed(what)
}

/// The failure of a server that breaks the rules of the protocol.
fn lies(what: String) -> ToolError {
    ToolError::with_advice(what, "report this to the maintainers of the server, or use another version of it")
}
