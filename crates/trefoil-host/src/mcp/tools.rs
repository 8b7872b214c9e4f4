//! Descriptions of flows for clients: names, descriptions, and input schemas.

use std::sync::Arc;

use crate::engine::Engine;
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;
use trefoil_project::Flow;
use trefoil_project::tool_interface::FlowToolInterface;
use trefoil_syntax::diagnostic::render::render_text;

/// Maximum length of a name that clients accept.
const LONGEST_NAME: usize = 64;

/// A flow as a tool.
pub struct OfferedFlow {
    /// The flow.
    pub flow: Flow,
    /// The engine that runs it.
    pub engine: Arc<Engine>,
    /// The description for the client.
    tool: Tool,
    as_tool: FlowToolInterface,
}

impl OfferedFlow {
    /// A flow with its engine.
    pub fn new(flow: Flow, engine: Arc<Engine>) -> Self {
        let as_tool = flow.as_tool();
        let (about, schema) = (as_tool.description.clone(), Arc::new(as_tool.parameters.clone()));
        let mut tool = Tool::new_with_raw(named(flow.name()), Some(about.into()), schema).with_title(flow.name());
        if let Some(result) = &as_tool.result {
            tool = tool.with_raw_output_schema(Arc::new(result.clone()));
        }
        Self { flow, engine, tool, as_tool }
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

/// All offered tools, with unique names.
#[derive(Default)]
pub struct OfferedTools(Vec<OfferedFlow>);

impl OfferedTools {
    /// Adds a tool. Returns its name.
    pub fn add_flow(&mut self, mut offered: OfferedFlow) -> String {
        let plain = offered.tool.name.clone();
        let mut number = 2;
        while self.get(&offered.tool.name).is_some() {
            let end = format!("_{number}");
            let kept: String = plain.chars().take(LONGEST_NAME - end.len()).collect();
            offered.tool.name = format!("{kept}{end}").into();
            number += 1;
        }
        let name = offered.tool.name.to_string();
        self.0.push(offered);
        name
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
    /// The descriptions for the client.
    pub fn tool_descriptions(&self) -> Vec<Tool> {
        self.0.iter().map(|offered| offered.tool.clone()).collect()
    }
}

/// Converts a name to a form that clients and model providers accept.
fn named(flow: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = flow.chars().map(fits).take(LONGEST_NAME).collect();
    if name.is_empty() { "flow".to_owned() } else { name }
}
