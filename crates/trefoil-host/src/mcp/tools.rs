//! Descriptions of flows for clients: names, descriptions, and input schemas.

use std::sync::{Arc, Mutex};

use crate::catalog::{CatalogFlow, CatalogSnapshot};
use crate::engine::Engine;
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;
use trefoil_project::Flow;
use trefoil_project::tool_interface::FlowToolInterface;
use trefoil_runtime::locks::lock;
use trefoil_syntax::diagnostic::render::render_text;

/// Maximum length of a name that clients accept.
const LONGEST_NAME: usize = 64;

/// A flow as a tool.
pub struct OfferedFlow {
    /// Its name in the catalog.
    pub name: String,
    /// The flow.
    pub flow: Flow,
    /// The engine that runs it.
    pub engine: Arc<Engine>,
    /// The description for the client.
    tool: Tool,
    as_tool: FlowToolInterface,
}

impl OfferedFlow {
    /// A flow of a catalog.
    pub fn of_catalog(offered: &CatalogFlow) -> Self {
        let (flow, engine) = (offered.flow.clone(), offered.engine.clone());
        let as_tool = flow.as_tool();
        let (about, schema) = (as_tool.description.clone(), Arc::new(as_tool.parameters.clone()));
        let mut tool = Tool::new_with_raw(named(flow.name()), Some(about.into()), schema).with_title(flow.name());
        if let Some(result) = &as_tool.result {
            tool = tool.with_raw_output_schema(Arc::new(result.clone()));
        }
        Self { name: offered.name.clone(), flow, engine, tool, as_tool }
    }

    /// The description for the client.
    pub fn tool_description(&self) -> &Tool {
        &self.tool
    }

    /// The input of a run, or why it is invalid.
    pub fn parse_input(&self, arguments: Option<JsonObject>) -> Result<Value, String> {
        let input = self.as_tool.run_input(Value::Object(arguments.unwrap_or_default()));
        input.map_err(|error| {
            let findings = render_text(&[error.to_diagnostic()], &self.flow.loaded_target().files, Default::default());
            format!("the run did not start\n\n{}", findings.trim_end())
        })
    }
}

/// The flows of a catalog as tools.
pub struct ServedFlows {
    catalog: Box<dyn Fn() -> Arc<CatalogSnapshot> + Send + Sync>,
    tools: Mutex<(Arc<CatalogSnapshot>, Arc<OfferedTools>)>,
}

impl ServedFlows {
    /// Those of a catalog, which is asked for its flows before each use. `snapshot`: those at first.
    pub fn from_catalog(
        snapshot: Arc<CatalogSnapshot>,
        catalog: impl Fn() -> Arc<CatalogSnapshot> + Send + Sync + 'static,
    ) -> Self {
        let tools = Arc::new(OfferedTools::from_snapshot(&snapshot));
        Self { catalog: Box::new(catalog), tools: Mutex::new((snapshot, tools)) }
    }

    /// The flows as they were when somebody last asked.
    pub fn last_tools(&self) -> Arc<OfferedTools> {
        lock(&self.tools).1.clone()
    }

    /// The flows in their current state.
    pub fn current_tools(&self) -> Arc<OfferedTools> {
        let snapshot = (self.catalog)();
        let mut tools = lock(&self.tools);
        if !Arc::ptr_eq(&tools.0, &snapshot) {
            let offered = Arc::new(OfferedTools::from_snapshot(&snapshot));
            *tools = (snapshot, offered);
        }
        tools.1.clone()
    }
}

/// All offered tools, with unique names.
#[derive(Default)]
pub struct OfferedTools(Vec<OfferedFlow>);

impl OfferedTools {
    fn from_snapshot(snapshot: &CatalogSnapshot) -> Self {
        let mut tools = Self::default();
        for offered in snapshot.offered_flows() {
            if offered.is_root {
                tools.add_flow(OfferedFlow::of_catalog(offered));
            }
        }
        tools
    }
    /// Adds a tool.
    fn add_flow(&mut self, mut offered: OfferedFlow) {
        let plain = offered.tool.name.clone();
        let mut number = 2;
        while self.get(&offered.tool.name).is_some() {
            let end = format!("_{number}");
            let kept: String = plain.chars().take(LONGEST_NAME - end.len()).collect();
            offered.tool.name = format!("{kept}{end}").into();
            number += 1;
        }
        self.0.push(offered);
    }
    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&OfferedFlow> {
        self.0.iter().find(|offered| offered.tool.name == name)
    }
    /// The names of all tools.
    pub fn tool_names(&self) -> Vec<&str> {
        self.0.iter().map(|offered| &*offered.tool.name).collect()
    }
    /// All flows.
    pub fn offered_flows(&self) -> &[OfferedFlow] {
        &self.0
    }
}

/// Converts a name to a form that clients and model providers accept.
fn named(flow: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = flow.chars().map(fits).take(LONGEST_NAME).collect();
    if name.is_empty() { "flow".to_owned() } else { name }
}
