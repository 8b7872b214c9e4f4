//! `tools` of an agent.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlNode, YamlText};

use super::unsupported_parts::{self, UnsupportedValueType};
use crate::ManifestReader;

/// A tool that an agent's model may call.
pub struct AegisTool {
    /// Its name; with a server, only a label.
    pub name: YamlText,
    /// The MCP server whose tools are offered, by the operator's name for it.
    pub server: Option<Arc<str>>,
    /// The only tool of the server that is offered; `None`: all.
    pub only: Option<Arc<str>>,
}

/// The start of a name that means tools of a server: `mcp:files`, `mcp:files/read_text_file`.
const SERVER: &str = "mcp:";

/// `tools` of an agent: names, or mappings as documented for the original system.
pub fn read_tools(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<AegisTool> {
    let items = reader.read_list(node, "tools").unwrap_or_default();
    items.iter().filter_map(|item| tool(reader, item)).collect()
}

fn tool(reader: &ManifestReader<'_>, item: &YamlNode) -> Option<AegisTool> {
    if let Some(name) = item.as_string() {
        // The original system ignores empty names.
        if name.value.is_empty() {
            return None;
        }
        let server = name.value.strip_prefix(SERVER).filter(|server| !server.is_empty());
        return Some(offered_tool(name.clone(), server));
    }
    let mut tool = reader.read_mapping(item, "a tool")?;
    let (name, server) = (tool.require_text("name").cloned(), tool.read_text("server").cloned());
    unsupported_parts::check_keys(&mut tool, &[("config", UnsupportedValueType::Any, false)]);
    if server.is_some() {
        tool.no_effect(&["config"], "a server is configured in `trefoil.toml`");
    }
    tool.report_misspelt();
    let server = server.as_ref().map(|server| server.value.strip_prefix(SERVER).unwrap_or(&server.value));
    Some(offered_tool(name?, server))
}

fn offered_tool(name: YamlText, server: Option<&str>) -> AegisTool {
    let Some(server) = server else { return AegisTool { name, server: None, only: None } };
    let (server, only) = parts(server);
    AegisTool { name, server: Some(server), only }
}

/// A server, and one of its tools. An address also contains slashes.
fn parts(text: &str) -> (Arc<str>, Option<Arc<str>>) {
    match text.split_once('/') {
        Some((server, tool)) if !text.contains("://") && !server.is_empty() && !tool.is_empty() => {
            (server.into(), Some(tool.into()))
        }
        _ => (text.into(), None),
    }
}
