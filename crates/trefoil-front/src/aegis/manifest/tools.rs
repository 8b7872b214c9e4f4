//! `tools` of an agent.

use std::sync::Arc;

use trefoil_syntax::yaml::{Node, Text};

use super::declared::{self, DeclaredPart};
use crate::Reader;

/// A tool that an agent's model may call.
pub struct Tool {
    /// Its name; with a server, only a label.
    pub name: Text,
    /// The MCP server whose tools are offered, by the operator's name for it.
    pub server: Option<Arc<str>>,
    /// The only tool of the server that is offered; `None`: all.
    pub only: Option<Arc<str>>,
}

/// The start of a name that means tools of a server: `mcp:files`, `mcp:files/read_text_file`.
const SERVER: &str = "mcp:";

/// `tools` of an agent: names, or mappings as documented for the original system.
pub fn read(reader: &Reader<'_>, node: &Node) -> Vec<Tool> {
    let items = reader.list(node, "tools").unwrap_or_default();
    items.iter().filter_map(|item| tool(reader, item)).collect()
}

fn tool(reader: &Reader<'_>, item: &Node) -> Option<Tool> {
    if let Some(name) = item.string() {
        // The original system ignores empty names.
        let server = name.value.strip_prefix(SERVER).filter(|server| !server.is_empty());
        let (server, only) = server.map(parts).unzip();
        return (!name.value.is_empty()).then(|| Tool { name: name.clone(), server, only: only.flatten() });
    }
    let mut tool = reader.fields(item, "a tool")?;
    let (name, server) = (tool.require_text("name").cloned(), tool.text("server").cloned());
    declared::read(&mut tool, &[("config", DeclaredPart::Any, false)]);
    if server.is_some() {
        tool.no_effect(&["config"], "a server is configured in `trefoil.toml`");
    }
    tool.misspelt();
    let written = server.as_ref().map(|server| server.value.strip_prefix(SERVER).unwrap_or(&server.value));
    let (server, only) = written.map(parts).unzip();
    Some(Tool { name: name?, server, only: only.flatten() })
}

/// A server, and one of its tools. An address also contains slashes.
fn parts(text: &str) -> (Arc<str>, Option<Arc<str>>) {
    match text.split_once('/').filter(|(server, tool)| !text.contains("://") && !server.is_empty() && !tool.is_empty())
    {
        Some((server, tool)) => (server.into(), Some(tool.into())),
        None => (text.into(), None),
    }
}
