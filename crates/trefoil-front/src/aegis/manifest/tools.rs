//! `tools` of an agent.

use trefoil_syntax::yaml::{Node, Text};

use super::declared::{self, DeclaredPart};
use crate::Reader;

/// A tool that an agent's model may call.
pub struct Tool {
    /// Its name; with a server, only a label.
    pub name: Text,
    /// The MCP server whose tools are offered, by the operator's name for it.
    pub server: Option<Text>,
}

/// `tools` of an agent: names, or mappings as documented for the original system.
pub fn read(reader: &Reader<'_>, node: &Node) -> Vec<Tool> {
    let items = reader.list(node, "tools").unwrap_or_default();
    items.iter().filter_map(|item| tool(reader, item)).collect()
}

fn tool(reader: &Reader<'_>, item: &Node) -> Option<Tool> {
    if let Some(name) = item.string() {
        // The original system ignores empty names.
        return (!name.value.is_empty()).then(|| Tool { name: name.clone(), server: None });
    }
    let mut tool = reader.fields(item, "a tool")?;
    let (name, server) = (tool.require_text("name").cloned(), tool.text("server").cloned());
    declared::read(&mut tool, &[("config", DeclaredPart::Any, false)]);
    if server.is_some() {
        tool.no_effect(&["config"], "a server is configured in `trefoil.toml`");
    }
    tool.misspelt();
    Some(Tool { name: name?, server })
}
