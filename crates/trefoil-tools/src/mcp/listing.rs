//! The list of a server's tools, read entry by entry: one that cannot be used does not take the others away.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_runtime::ToolError;

use super::spec::McpToolDescription;
use super::{McpServer, lies};

/// Limits of a list.
const PAGES: usize = 100;
const TOOLS: usize = 2_000;

/// The tools of a server.
#[derive(Debug, Default)]
pub struct ToolListing {
    /// The tools by name, or what is wrong with their descriptions.
    pub all: BTreeMap<Arc<str>, Result<McpToolDescription, ToolError>>,
    /// What is odd about the list.
    pub remarks: Vec<String>,
    /// The names of all tools, also of those that may not be called.
    names: HashSet<String>,
    pages: usize,
}

impl ToolListing {
    /// Adds a page, and returns the cursor of the next one. `read`: the names of the tools that the SDK accepts.
    pub fn add_page(
        &mut self,
        server: &McpServer,
        page: Json,
        read: &HashSet<String>,
    ) -> Result<Option<String>, ToolError> {
        self.pages += 1;
        let Json::Object(mut page) = page else {
            return Err(lies(format!("the list of tools of `{}` is not an object", server.name)));
        };
        let Some(Json::Array(tools)) = page.remove("tools") else {
            return Err(lies(format!("the list of tools of `{}` has no list `tools`", server.name)));
        };
        let before = self.names.len();
        for (place, tool) in tools.iter().enumerate() {
            let name = tool.get("name").and_then(Json::as_str);
            let label = name.map_or_else(|| format!("tool {}", before + place + 1), str::to_owned);
            self.names.insert(label.clone());
            if name.is_some() && !server.allows(&label) {
                continue;
            }
            let mut described = McpToolDescription::from_json(server, &label, tool);
            if described.is_ok() && !read.contains(&label) {
                described = Err(lies(format!(
                    "`{}` describes its tool `{label}` incorrectly: a header of its arguments is invalid",
                    server.name
                )));
            }
            self.insert(server, label, described);
        }
        if self.all.len() > TOOLS {
            let why = format!("`{}` has more than {TOOLS} tools", server.name);
            return Err(ToolError::with_advice(why, "name those to use in `tools` of `[mcp.NAME]`"));
        }
        let next = match page.remove("nextCursor") {
            Some(Json::String(next)) => Some(next),
            _ => None,
        };
        let remark = match &next {
            None => return Ok(None),
            Some(_) if self.names.len() == before => {
                "announces another page of tools, but sends no new ones".to_owned()
            }
            Some(_) if self.pages == PAGES => format!("has more than {PAGES} pages of tools, and the rest is not read"),
            Some(_) => return Ok(next),
        };
        self.remarks.push(format!("the MCP server `{}` {remark}", server.name));
        Ok(None)
    }

    /// Pages may overlap, but what is said twice must be the same.
    fn insert(&mut self, server: &McpServer, name: String, described: Result<McpToolDescription, ToolError>) {
        let same = match (self.all.get(&*name), &described) {
            (None, _) => None,
            (Some(Ok(before)), Ok(now)) => Some(before.says_same(now)),
            (Some(Err(before)), Err(now)) => Some(before == now),
            (Some(_), _) => Some(false),
        };
        match same {
            Some(true) => {}
            Some(false) => {
                let twice = lies(format!("`{}` has two tools named `{name}`", server.name));
                self.all.insert(name.into(), Err(twice));
            }
            None => drop(self.all.insert(name.into(), described)),
        }
    }
}
