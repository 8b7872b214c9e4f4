//! The tools of one run, from the embedder, the script and the operator, combined to one host.

use std::sync::Arc;

use trefoil_ir::ToolKind;
use trefoil_models::Scripted;
use trefoil_runtime::ToolHost;
use trefoil_runtime::ports::{NoTools, Secret, Secrets};
use trefoil_template::HoleKind;
use trefoil_tools::{CommandTools, HttpTools, PythonTools};

use super::flow_rights::restrict_tools;
use super::flow_tools::FlowTools;
use super::tools::ToolHosts;
use super::{AnswersFrom, Engine};

/// The tools of one run.
pub(super) struct RunHosts {
    /// All tools.
    pub tools: Arc<dyn ToolHost>,
    /// The flows among them.
    pub flows: Option<Arc<FlowTools>>,
    /// Those that come before the flows.
    before: Vec<Arc<dyn ToolHost>>,
    /// The client of HTTP tools.
    pub http: Option<Arc<HttpTools>>,
    /// The environment variables and secrets that they read themselves.
    pub holes: Vec<(HoleKind, Arc<str>)>,
    /// The environment variables among them that are sent or passed on as credentials.
    pub credentials: Vec<Arc<str>>,
    /// The keys of the providers that may be called.
    pub keys: Vec<Secret>,
    /// The MCP servers, whose connections are closed at the end of the run.
    #[cfg(feature = "mcp")]
    pub servers: Option<Arc<trefoil_tools::McpTools>>,
}

impl RunHosts {
    /// The embedder's tools take precedence over the script's, and these over those that access the outside, which the operator
    /// has declared, trusted or allowed. If answers are placeholders or scripted, nothing else outside is called.
    pub fn for_flow(
        engine: &Engine,
        from: Option<&AnswersFrom>,
        script: Option<Arc<Scripted>>,
        secrets: &Arc<dyn Secrets>,
        flows: Option<Arc<FlowTools>>,
    ) -> Self {
        let parts = &*engine.parts;
        let mut all: Vec<Arc<dyn ToolHost>> = Vec::new();
        if !parts.closures.is_empty() {
            all.push(Arc::new(parts.closures.clone()));
        }
        all.extend(parts.tools.clone());
        if let Some(script) = script {
            all.push(script);
        }
        // Calls of these tools are the same in every run of this engine.
        let before = all.clone();
        if let Some(flows) = flows.clone() {
            all.push(restrict_tools(&engine.parts, flows.tool_host()));
        }
        let mut hosts = Self {
            tools: Arc::new(NoTools),
            flows,
            before,
            http: None,
            holes: Vec::new(),
            credentials: Vec::new(),
            keys: Vec::new(),
            #[cfg(feature = "mcp")]
            servers: None,
        };
        // A key must not be stored or shown, whatever answers.
        hosts.keys = engine.cache.registry(parts).keys();
        if parts.commands.is_some() {
            for name in &parts.settings.command_env {
                hosts.holes.push((HoleKind::Env, Arc::from(name.as_str())));
            }
        }
        // Without models nothing runs, but what else is missing is reported, too.
        hosts.world(engine, from.is_some_and(is_rehearsal), secrets, &mut all);
        let no_python = parts.command_refusal().cloned();
        match (all.as_slice(), &no_python) {
            ([], None) => {}
            ([only], None) => hosts.tools = only.clone(),
            _ => hosts.tools = Arc::new(ToolHosts { hosts: all, no_python }),
        }
        hosts
    }

    fn world(
        &mut self,
        engine: &Engine,
        rehearsal: bool,
        secrets: &Arc<dyn Secrets>,
        all: &mut Vec<Arc<dyn ToolHost>>,
    ) {
        let parts = &*engine.parts;
        let http = engine.cache.http_tools(parts, rehearsal);
        self.http = http.clone();
        let settings = &parts.settings;
        if !settings.tools.is_empty() {
            for tool in &settings.tools {
                let environment = &tool.operator_program().environment;
                self.holes.extend(environment.list_holes());
                self.credentials.extend(environment.credential_variables());
            }
            let programs = Arc::new(CommandTools::new(settings.tools.iter().cloned(), secrets.clone()));
            all.push(restrict_tools(&engine.parts, programs));
        }
        if let Some(python) = &parts.python {
            self.holes.extend(python.environment.list_holes());
            self.credentials.extend(python.environment.credential_variables());
            all.push(Arc::new(PythonTools::new(python.clone(), secrets.clone())));
        }
        #[cfg(feature = "mcp")]
        if http.is_some() || !settings.mcp.is_empty() {
            for server in &settings.mcp {
                self.holes.extend(server.list_holes());
                self.credentials.extend(server.credential_variables());
            }
            let client = http.as_ref().map(|http| http.guarded_client().clone());
            let servers = Arc::new(trefoil_tools::McpTools::new(settings.mcp.iter().cloned(), client, secrets.clone()));
            self.servers = Some(servers.clone());
            all.push(restrict_tools(&engine.parts, servers));
        }
        if let Some(http) = http {
            all.push(http);
        }
    }
}

impl RunHosts {
    /// The flows, if one of them is called by this name.
    pub fn flow_of(&self, name: &str) -> Option<&FlowTools> {
        let flows = self.flows.as_deref()?;
        let kind = &ToolKind::Local;
        if !self.is_before(name, kind) && flows.offers_tool(name, kind) { Some(flows) } else { None }
    }

    /// Whether what is called by this name comes after the flows: a program, if one is declared.
    pub fn is_after(&self, name: &str) -> bool {
        !self.is_before(name, &ToolKind::Local) && self.flow_of(name).is_none()
    }

    /// Whether the embedder or the script has it.
    pub fn is_before(&self, name: &str, kind: &ToolKind) -> bool {
        self.before.iter().any(|host| host.offers_tool(name, kind))
    }

    /// Closes connections after the end of the run.
    pub async fn close(&self) {
        #[cfg(feature = "mcp")]
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
    }
}

impl Engine {
    /// The tools of a run that is only looked at: they are asked about, and not called.
    pub(crate) fn tools_to_ask_about(&self, from: &AnswersFrom) -> Arc<dyn ToolHost> {
        let secrets: Arc<dyn Secrets> = Arc::new(trefoil_runtime::ports::MapSecrets::new());
        let script = super::models::load_script(from).ok().flatten();
        RunHosts::for_flow(self, Some(from), script, &secrets, self.flow_tools()).tools
    }
}

/// Whether answers cost nothing and mean nothing, so that only what the operator declared, trusted or allowed is called.
pub(super) fn is_rehearsal(from: &AnswersFrom) -> bool {
    matches!(from, AnswersFrom::Embedded | AnswersFrom::Script(_))
}
