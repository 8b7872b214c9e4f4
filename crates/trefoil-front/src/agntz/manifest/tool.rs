//! `kind: tool`: one tool call, no model.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::http::{self, Http};
use super::texts::{not_empty, text_map};
use crate::agntz::ids::is_tool_name;
use crate::read::Fields;

/// An agent that is one tool call.
pub struct ToolAgent<'n> {
    /// The tool's name.
    pub name: Option<&'n Text>,
    /// The tool.
    pub tool: Option<ToolUse<'n>>,
    /// The place of the `tool` key.
    pub span: Span,
}

/// A tool and its arguments.
pub enum ToolUse<'n> {
    /// A function of the host.
    Local(Vec<(&'n Text, &'n Text)>),
    /// A tool of an MCP server.
    Mcp {
        /// The address or the name of a connection.
        server: Option<&'n Text>,
        /// Arguments.
        params: Vec<(&'n Text, &'n Text)>,
    },
    /// A request.
    Http(Box<Http<'n>>),
}

impl ToolUse<'_> {
    /// The kind, as written in manifests.
    pub fn sort(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::Mcp { .. } => "mcp",
            Self::Http(_) => "http",
        }
    }
}

#[derive(Clone, Copy)]
enum ToolKindWord {
    Local,
    Mcp,
    Http,
}

/// Reads the keys of a tool agent.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> ToolAgent<'n> {
    let reader = fields.reader;
    let Some(entry) = fields.require("tool") else {
        return ToolAgent { name: None, tool: None, span: fields.head() };
    };
    let Some(mut inner) = reader.fields(&entry.value, "tool") else {
        return ToolAgent { name: None, tool: None, span: entry.key.span };
    };
    inner.require("kind");
    let kind =
        inner.word("kind", &[("local", ToolKindWord::Local), ("mcp", ToolKindWord::Mcp), ("http", ToolKindWord::Http)]);
    let name = inner.require_text("name").filter(|t| not_empty(reader, t, "name"));
    let params = |inner: &mut Fields<'n, '_>| {
        inner.take("params").map(|e| text_map(reader, &e.value, "params")).unwrap_or_default()
    };
    let tool = match kind {
        Some(ToolKindWord::Local) => Some(ToolUse::Local(params(&mut inner))),
        Some(ToolKindWord::Mcp) => {
            let server = inner.require_text("server").filter(|t| not_empty(reader, t, "server"));
            if let Some(server) = server {
                super::tools::server(reader, server);
            }
            Some(ToolUse::Mcp { server, params: params(&mut inner) })
        }
        Some(ToolKindWord::Http) => {
            if let Some(name) = name.filter(|n| !is_tool_name(&n.value)) {
                super::texts::bad_name(
                    reader,
                    name,
                    "an http tool",
                    "start with a letter or `_`, then use letters, digits and `_`",
                );
            }
            inner.text("description");
            Some(ToolUse::Http(Box::new(http::read(&mut inner))))
        }
        None => return ToolAgent { name, tool: None, span: entry.key.span },
    };
    inner.finish();
    ToolAgent { name, tool, span: entry.key.span }
}
