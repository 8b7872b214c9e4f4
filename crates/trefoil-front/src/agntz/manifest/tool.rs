//! `kind: tool`: one tool call, no model.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::http::{self, HttpToolRequest};
use super::texts::{non_empty_text, take_text_map};
use crate::agntz::ids::is_tool_name;
use crate::yaml_reader::MappingReader;

/// An agent that is one tool call.
pub struct ToolAgent<'n> {
    /// The tool's name.
    pub name: Option<&'n YamlText>,
    /// The tool.
    pub tool: Option<ToolInvocation<'n>>,
    /// The place of the `tool` key.
    pub span: Span,
}

/// A tool and its arguments.
pub enum ToolInvocation<'n> {
    /// A function of the host.
    Local(Vec<(&'n YamlText, &'n YamlText)>),
    /// A tool of an MCP server.
    Mcp {
        /// The address or the name of a connection.
        server: Option<&'n YamlText>,
        /// Arguments.
        params: Vec<(&'n YamlText, &'n YamlText)>,
    },
    /// A request.
    Http(Box<HttpToolRequest<'n>>),
}

impl ToolInvocation<'_> {
    /// The kind, as written in manifests.
    pub fn kind_word(&self) -> &'static str {
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
pub fn read_tool<'n>(fields: &mut MappingReader<'n, '_>) -> ToolAgent<'n> {
    let reader = fields.reader;
    let Some(entry) = fields.require_entry("tool") else {
        return ToolAgent { name: None, tool: None, span: fields.head_span() };
    };
    let Some(mut inner) = reader.read_mapping(&entry.value, "tool") else {
        return ToolAgent { name: None, tool: None, span: entry.key.span };
    };
    inner.require_entry("kind");
    let kind = inner
        .read_word("kind", &[("local", ToolKindWord::Local), ("mcp", ToolKindWord::Mcp), ("http", ToolKindWord::Http)]);
    let name = non_empty_text(reader, inner.require_text("name"), "name");
    let tool = match kind {
        Some(ToolKindWord::Local) => Some(ToolInvocation::Local(take_text_map(&mut inner, "params"))),
        Some(ToolKindWord::Mcp) => {
            let server = non_empty_text(reader, inner.require_text("server"), "server");
            if let Some(server) = server {
                super::tools::check_server(reader, server);
            }
            Some(ToolInvocation::Mcp { server, params: take_text_map(&mut inner, "params") })
        }
        Some(ToolKindWord::Http) => {
            if let Some(name) = name
                && !is_tool_name(&name.value)
            {
                super::texts::bad_name(
                    reader,
                    name,
                    "an http tool",
                    "start with a letter or `_`, then use letters, digits and `_`",
                );
            }
            inner.read_text("description");
            Some(ToolInvocation::Http(Box::new(http::read_request(&mut inner))))
        }
        None => return ToolAgent { name, tool: None, span: entry.key.span },
    };
    inner.finish_mapping();
    ToolAgent { name, tool, span: entry.key.span }
}
