//! Tools of MCP servers, over the standard streams of a child process or over HTTP.
//!
//! A server is declared by the operator, or is a URL in a manifest, which the guarded client calls. A connection is
//! opened at the first call, reused for all calls of a run, and closed at its end. A server's messages are untrusted:
//! names, sizes, times and results are checked, and a tool that changes its description during a run is not called.

mod answer;
mod caller;
mod connection;
mod handshake;
mod http;
mod incoming;
mod listing;
mod probe;
mod spec;
mod stdio;
mod trouble;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_ir::credential::is_header;
use trefoil_machine::{ToolRequest, ToolSpec};
use trefoil_runtime::ports::{CallSite, Secrets};
use trefoil_runtime::{ToolError, ToolHost, ToolRefusal};
use trefoil_template::{HoleKind, Value};

use self::http::Wanted;
use crate::guard::{Client, Rules};
use crate::http::refusal_of;
use crate::process::{self, Program};

use connection::Connection;
use handshake::Generation;
use spec::Seen;

/// A server that the operator has declared.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How to reach it.
    pub place: McpPlace,
    /// The tools that may be called; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Which of its tools are idempotent, as the operator says: the server's own claims are not enough.
    pub idempotent: Idempotent,
    /// The time limit of a call.
    pub time: Duration,
    /// The time limit of its start and the handshake; `None`: that of a call.
    pub start: Option<Duration>,
}

/// How to reach a server.
#[derive(Debug, Clone)]
pub enum McpPlace {
    /// A child process that uses its standard streams.
    Process(Program),
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
pub enum Idempotent {
    /// All.
    All,
    /// These.
    These(Vec<String>),
}

impl Idempotent {
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
            place: McpPlace::Http { url: url.to_owned(), headers: Vec::new() },
            tools: None,
            idempotent: Idempotent::These(Vec::new()),
            time: crate::TIME,
            start: None,
        }
    }

    /// Adds headers from a manifest. The operator's headers take precedence.
    fn with(&self, more: &[(Arc<str>, Value)]) -> Result<Self, ToolError> {
        let mut server = self.clone();
        let McpPlace::Http { headers, .. } = &mut server.place else {
            let why = format!("`{}` is a program, so it cannot have `headers`", self.name);
            return Err(ToolError::advised(why, "remove `headers`; a program gets secrets with `env` of `[mcp.NAME]`"));
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
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }

    /// The environment values and secrets that the server gets.
    pub fn holes(&self) -> Vec<(HoleKind, Arc<str>)> {
        match &self.place {
            McpPlace::Process(program) => program.environment.holes(),
            McpPlace::Http { headers, .. } => headers.iter().flat_map(|(_, text)| process::holes(text)).collect(),
        }
    }

    /// The environment variables among them that the server gets as credentials.
    pub fn credentials(&self) -> Vec<Arc<str>> {
        match &self.place {
            McpPlace::Process(program) => program.environment.credentials(),
            McpPlace::Http { headers, .. } => {
                let named = headers.iter().filter(|(name, _)| is_header(name));
                process::variables(named.flat_map(|(_, text)| process::holes(text)))
            }
        }
    }

    /// Those without which it is not called.
    pub fn required(&self) -> Vec<(HoleKind, Arc<str>)> {
        match &self.place {
            McpPlace::Process(program) => program.environment.required(),
            McpPlace::Http { .. } => self.holes(),
        }
    }
}

/// The servers of one run.
pub struct McpTools {
    declared: Arc<BTreeMap<String, Arc<McpServer>>>,
    /// The client for servers that a manifest names; `None`: they are not called.
    client: Option<Client>,
    secrets: Arc<dyn Secrets>,
    open: Mutex<HashMap<String, Arc<Slot>>>,
    seen: Seen,
}

/// The connection to a server, opened at the first use.
type Slot = tokio::sync::Mutex<Held>;

struct Held {
    connection: Option<Arc<Connection>>,
    /// The protocol of the connection before, which the next one uses at once.
    generation: Generation,
}

impl Default for Held {
    fn default() -> Self {
        Self { connection: None, generation: Generation::Either }
    }
}

impl McpTools {
    /// Creates the host. `client` is for servers that a manifest names by address; `None`: they are not called.
    pub fn new(
        declared: impl IntoIterator<Item = McpServer>,
        client: Option<Client>,
        secrets: Arc<dyn Secrets>,
    ) -> Self {
        let declared = declared.into_iter().map(|server| (server.name.clone(), Arc::new(server))).collect();
        Self { declared: Arc::new(declared), client, secrets, open: Mutex::default(), seen: Seen::default() }
    }

    /// Closes all connections, and waits until the servers that were started have ended.
    pub async fn close(&self) {
        let slots: Vec<_> = self.open.lock().unwrap_or_else(PoisonError::into_inner).drain().collect();
        let ends = slots.into_iter().map(|(_, slot)| async move {
            let held = slot.lock().await.connection.take();
            if let Some(connection) = held {
                connection.close().await;
            }
        });
        futures::future::join_all(ends).await;
    }

    fn server(&self, named: &str) -> Option<Arc<McpServer>> {
        let declared = self.declared.get(named).cloned();
        declared.or_else(|| (self.client.is_some() && is_address(named)).then(|| Arc::new(McpServer::at(named))))
    }

    /// Reports a request that is to be sent to a server at an address.
    fn plans(&self, at: CallSite<'_>, named: &str, wanted: Wanted<'_>) {
        if let Some(server) = self.server(named)
            && let McpPlace::Http { url, .. } = &server.place
        {
            at.meter.plans(http::shown(url, wanted));
        }
    }

    /// Returns the connection to a server; opens one if there is none or it has ended. Other headers in a manifest mean
    /// another connection.
    async fn connected(
        &self,
        at: CallSite<'_>,
        (named, headers): Named<'_>,
        discloses: bool,
    ) -> Result<Arc<Connection>, ToolError> {
        self.plans(at, named, Wanted::Handshake);
        let server = self.server(named).ok_or_else(|| {
            let why = format!("the MCP server `{named}` is not declared");
            ToolError::advised(why, "declare it under `[mcp.NAME]` in the settings")
        })?;
        let server = if headers.is_empty() { server } else { Arc::new(server.with(headers)?) };
        let discloses = discloses || headers.iter().any(|(_, text)| text.is_masked());
        if discloses
            && !self.declared.contains_key(named)
            && let Some(client) = &self.client
        {
            client.may_disclose(named)?;
        }
        let slot = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let sent: String = headers.iter().map(|(name, text)| format!("\n{name}: {text:?}")).collect();
            open.entry(format!("{named}{sent}")).or_default().clone()
        };
        let mut held = slot.lock().await;
        if let Some(connection) = held.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(connection.clone());
        }
        // The old connection is closed before the new one is opened.
        held.connection = None;
        let client = match (&server.place, self.declared.contains_key(named)) {
            (McpPlace::Http { url, .. }, true) => Some(own_client(url, server.time)?),
            _ => self.client.clone(),
        };
        if let (McpPlace::Http { url, .. }, Some(client)) = (&server.place, &client) {
            client.check(url)?;
        }
        at.meter.sends();
        let opened = Connection::open(server, client, &*self.secrets, &mut held.generation).await;
        let connection = Arc::new(opened.inspect_err(|why| connection::unsent_by(why, at.meter))?);
        held.connection = Some(connection.clone());
        Ok(connection)
    }
}

/// A client that calls only the operator's address, so that a manifest gains no access through it.
fn own_client(url: &str, time: Duration) -> Result<Client, ToolError> {
    let wrong = || ToolError::advised("its `url` is not a valid URL", "fix `url` of `[mcp.NAME]`");
    let parsed = url::Url::parse(url).map_err(|_| wrong())?;
    let (host, port) = (parsed.host_str().ok_or_else(wrong)?, parsed.port_or_known_default().ok_or_else(wrong)?);
    let allow = format!("{host}:{port}").parse().map_err(|_| wrong())?;
    let mut rules = Rules { allow: vec![allow], ..Rules::default() };
    (rules.limits.time, rules.limits.longest) = (time, time);
    Ok(Client::new(rules))
}

/// A server as a manifest names it, and the headers that the manifest sends.
type Named<'k> = (&'k str, &'k [(Arc<str>, Value)]);

fn named(kind: &ToolKind) -> Option<Named<'_>> {
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
    fn offers(&self, name: &str, kind: &ToolKind) -> bool {
        let Some((server, _)) = named(kind) else { return false };
        // An empty name stands for all tools of the server.
        self.server(server).is_some_and(|server| name.is_empty() || server.allows(name))
    }

    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let server = named(&request.kind).ok_or_else(|| failed("it is not an MCP tool".to_owned()))?;
        let connection = self.connected(at, server, at.discloses).await?;
        self.plans(at, server.0, Wanted::Tools);
        let plans = || {
            let arguments = at.meter.shown().unwrap_or(&Value::Null);
            self.plans(at, server.0, Wanted::Call(&request.name, arguments));
        };
        connection.call((&request.name, &request.arguments), &self.seen, at.meter, plans).await
    }

    async fn list(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        match named(kind).filter(|(server, _)| self.server(server).is_some()) {
            Some(server) => {
                let connection = self.connected(at, server, false).await?;
                self.plans(at, server.0, Wanted::Tools);
                connection.list(&self.seen, at.meter).await
            }
            None => Ok(Vec::new()),
        }
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        let Some((server, _)) = named(&request.kind) else { return false };
        self.declared.get(server).is_some_and(|server| server.idempotent.holds(&request.name))
    }

    fn refusal(&self, _name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        let (server, headers) = named(kind)?;
        let client = self.client.as_ref().filter(|_| is_address(server) && !self.declared.contains_key(server))?;
        let discloses = arguments.is_masked() || headers.iter().any(|(_, text)| text.is_masked());
        let checked = if discloses { client.may_disclose(server) } else { client.check(server) };
        refusal_of(&checked.err()?)
    }
}

fn failed(what: String) -> ToolError {
    ToolError::Failed(what)
}

/// The failure of a server that breaks the rules of the protocol.
fn lies(what: String) -> ToolError {
    ToolError::advised(what, "report this to the maintainers of the server, or use another version of it")
}
