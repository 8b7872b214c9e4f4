//! The tools of one run: what the embedder, the script and the operator offer, as one host.

use std::sync::Arc;

use trefoil_models::Scripted;
use trefoil_runtime::ToolHost;
use trefoil_runtime::ports::{NoTools, Secret, Secrets};
use trefoil_template::HoleKind;
use trefoil_tools::{CommandTools, PythonTools};

use super::flows::FlowTools;
use super::models::Aimed;
use super::tools::All;
use super::{AnswersFrom, Engine};

/// The tools of one run.
pub(super) struct Hosts {
    /// All of them.
    pub tools: Arc<dyn ToolHost>,
    /// The flows among them.
    pub flows: Option<Arc<FlowTools>>,
    /// What they read of the environment and the secrets by themselves.
    pub holes: Vec<(HoleKind, Arc<str>)>,
    /// The keys of the providers that may be called.
    pub keys: Vec<Secret>,
    /// Those whose connections end with the run.
    #[cfg(feature = "mcp")]
    pub servers: Option<Arc<trefoil_tools::McpTools>>,
}

impl Hosts {
    /// The embedder's come before the script's, and these before what calls the world. Where answers are made up or read from
    /// a script, the world is not called: a run that only tries things out changes nothing.
    pub fn of(
        engine: &Engine,
        aimed: Option<&Aimed>,
        script: Option<Arc<Scripted>>,
        secrets: &Arc<dyn Secrets>,
    ) -> Self {
        let parts = &*engine.parts;
        let mut all: Vec<Arc<dyn ToolHost>> = Vec::new();
        if !parts.closures.is_empty() {
            all.push(Arc::new(parts.closures.clone()));
        }
        all.extend(parts.tools.clone());
        all.extend(script.map(|script| script as Arc<dyn ToolHost>));
        // What these call is what every run here calls.
        let flows = super::flows::of(engine);
        all.extend(flows.clone().map(|flows| flows as Arc<dyn ToolHost>));
        let mut hosts = Self {
            tools: Arc::new(NoTools),
            flows,
            holes: Vec::new(),
            keys: Vec::new(),
            #[cfg(feature = "mcp")]
            servers: None,
        };
        if let Some(aimed) = aimed.filter(|aimed| !is_rehearsal(&aimed.from)) {
            hosts.keys = engine.kept.registry(parts).keys();
            hosts.world(engine, aimed, secrets, &mut all);
        }
        match all.as_slice() {
            [] => {}
            [one] => hosts.tools = one.clone(),
            _ => hosts.tools = Arc::new(All(all)),
        }
        hosts
    }

    fn world(&mut self, engine: &Engine, aimed: &Aimed, secrets: &Arc<dyn Secrets>, all: &mut Vec<Arc<dyn ToolHost>>) {
        let parts = &*engine.parts;
        let http = engine.kept.http(parts, &aimed.from);
        let settings = &parts.settings;
        if !settings.tools.is_empty() {
            self.holes.extend(settings.tools.iter().flat_map(|tool| tool.program().environment.holes()));
            all.push(Arc::new(CommandTools::new(settings.tools.iter().cloned(), secrets.clone())));
        }
        if let Some(python) = &parts.python {
            self.holes.extend(python.environment.holes());
            all.push(Arc::new(PythonTools::new(python.clone(), secrets.clone())));
        }
        #[cfg(feature = "mcp")]
        if http.is_some() || !settings.mcp.is_empty() {
            self.holes.extend(settings.mcp.iter().flat_map(trefoil_tools::McpServer::holes));
            let client = http.as_ref().map(|http| http.client().clone());
            let servers = Arc::new(trefoil_tools::McpTools::new(settings.mcp.iter().cloned(), client, secrets.clone()));
            self.servers = Some(servers.clone());
            all.push(servers);
        }
        all.extend(http.map(|http| http as Arc<dyn ToolHost>));
    }
}

impl Hosts {
    /// The run has ended.
    pub async fn close(&self) {
        #[cfg(feature = "mcp")]
        if let Some(servers) = &self.servers {
            servers.close().await;
        }
    }
}

/// Whether nothing outside is to be touched.
pub(super) fn is_rehearsal(from: &AnswersFrom) -> bool {
    matches!(from, AnswersFrom::Embedded | AnswersFrom::Script(_))
}
