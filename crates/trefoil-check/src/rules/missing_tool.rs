//! Tools that a project does not declare.

use trefoil_ir::{StepKind, ToolCall, ToolKind};
use trefoil_syntax::FindingSeverity;
use trefoil_syntax::suggestions::nearest_name;

use crate::rule::{DeclaredServer, Rule, RuleContext, RuleGroup, RuleSource};
use crate::words::{server_as_tool, toml_key};

pub(super) const RULE: Rule = Rule {
    name: "missing-tool",
    group: RuleGroup::Models,
    level: Some(FindingSeverity::Warning),
    strict: None,
    page: include_str!("missing_tool.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, step) in cx.model.reachable_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        let Some((message, help)) = missing(cx, call) else { continue };
        cx.report_finding(cx.new_finding(step.origin, message).with_help(help));
    }
}

fn missing(cx: &RuleContext<'_>, call: &ToolCall) -> Option<(String, String)> {
    match &call.kind {
        // A tool that is fully described in the manifest needs no declaration.
        ToolKind::Http | ToolKind::Python => None,
        ToolKind::Mcp { server, .. } if server.contains("://") => None,
        ToolKind::Local => missing_local_tool(cx, &call.name),
        ToolKind::Mcp { server, .. } => {
            if let Some(server) = find_server(cx, server) {
                return not_allowed(server, &call.name);
            }
            let message = format!("the MCP server `{server}` is not declared");
            let help = match nearest_name(server, server_names(cx)) {
                Some(near) => suggestion_text(near),
                None => {
                    let form = "with `command = [\"program\", \"argument\"]` or `url = \"...\"`";
                    format!("declare it in `trefoil.toml`: `[mcp.{}]` {form}", toml_key(server))
                }
            };
            Some((message, help))
        }
    }
}

fn missing_local_tool(cx: &RuleContext<'_>, name: &str) -> Option<(String, String)> {
    let known = tool_names(cx);
    if known.contains(&name) {
        return None;
    }
    let message = format!("the tool `{name}` is not declared");
    let help = if find_server(cx, name).is_some() {
        server_as_tool(name, None)
    } else if let Some((server, tool)) = name.split_once('/')
        && find_server(cx, server).is_some()
    {
        server_as_tool(server, Some(tool))
    } else if let Some(near) = nearest_name(name, known) {
        suggestion_text(near)
    } else if let Some(near) = nearest_name(name, server_names(cx)) {
        format!("{} {}", suggestion_text(near), server_as_tool(near, None))
    } else {
        let (name, form) = (toml_key(name), "with `command = [\"program\", \"argument\"]`");
        format!("declare it in `trefoil.toml`: `[tools.{name}]` {form}")
    };
    Some((message, help))
}

fn tool_names<'c>(cx: &RuleContext<'c>) -> Vec<&'c str> {
    cx.supplied.iter().flat_map(|all| &all.tools).map(|tool| &*tool.name).collect()
}

fn server_names<'c>(cx: &RuleContext<'c>) -> Vec<&'c str> {
    cx.supplied.iter().flat_map(|all| &all.servers).map(|server| &*server.name).collect()
}

fn find_server<'c>(cx: &RuleContext<'c>, name: &str) -> Option<&'c DeclaredServer> {
    cx.supplied.iter().flat_map(|all| &all.servers).find(|server| server.name == name)
}

fn suggestion_text(near: &str) -> String {
    format!("did you mean `{near}`?")
}

/// A tool that is missing in the list of those that may be called. An empty name stands for all tools of the server.
fn not_allowed(server: &DeclaredServer, tool: &str) -> Option<(String, String)> {
    let allowed = server.tools.as_ref()?;
    if tool.is_empty() || allowed.iter().any(|name| name == tool) {
        return None;
    }
    let table = toml_key(&server.name);
    let message = format!("`{tool}` is not in the `tools` of the MCP server `{}`", server.name);
    let help = match nearest_name(tool, allowed.iter().map(String::as_str)) {
        Some(near) => suggestion_text(near),
        None => format!("to allow it, add it to `tools` under `[mcp.{table}]` in `trefoil.toml`"),
    };
    Some((message, help))
}
