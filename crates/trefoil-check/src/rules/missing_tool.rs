//! Tools that a project does not declare.

use trefoil_ir::{StepKind, ToolCall, ToolKind};
use trefoil_syntax::FindingSeverity;
use trefoil_syntax::suggestions::nearest_name;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource, DeclaredServer};
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
    let has_tool = |name: &str| cx.supplied.iter().any(|all| all.tools.iter().any(|known| known.name == name));
    let server = |name: &str| cx.supplied.iter().flat_map(|all| &all.servers).find(|known| known.name == name);
    match &call.kind {
        // A tool that is fully described in the manifest needs no declaration.
        ToolKind::Http | ToolKind::Python => None,
        ToolKind::Mcp { server, .. } if server.contains("://") => None,
        ToolKind::Local if has_tool(&call.name) => None,
        ToolKind::Local => {
            let message = format!("the tool `{}` is not declared", call.name);
            let of_server = call.name.split_once('/').filter(|(name, _)| server(name).is_some());
            let known = cx.supplied.iter().flat_map(|all| &all.tools).map(|tool| &*tool.name);
            let servers = cx.supplied.iter().flat_map(|all| &all.servers).map(|server| &*server.name);
            let help = if server(&call.name).is_some() {
                server_as_tool(&call.name, None)
            } else if let Some((name, tool)) = of_server {
                server_as_tool(name, Some(tool))
            } else if let Some(near) = nearest_name(&call.name, known) {
                suggestion_text(near)
            } else if let Some(near) = nearest_name(&call.name, servers) {
                format!("{} {}", suggestion_text(near), server_as_tool(near, None))
            } else {
                let (name, form) = (toml_key(&call.name), "with `command = [\"program\", \"argument\"]`");
                format!("declare it in `trefoil.toml`: `[tools.{name}]` {form}")
            };
            Some((message, help))
        }
        ToolKind::Mcp { server: name, .. } if let Some(server) = server(name) => not_allowed(server, &call.name),
        ToolKind::Mcp { server, .. } => {
            let message = format!("the MCP server `{server}` is not declared");
            let known = cx.supplied.iter().flat_map(|all| &all.servers).map(|known| &*known.name);
            let form = "with `command = [\"program\", \"argument\"]` or `url = \"...\"`";
            let declare = format!("declare it in `trefoil.toml`: `[mcp.{}]` {form}", toml_key(server));
            Some((message, nearest_name(server, known).map_or(declare, suggestion_text)))
        }
    }
}

fn suggestion_text(near: &str) -> String {
    format!("did you mean `{near}`?")
}

/// A tool that is missing in the list of those that may be called. An empty name stands for all tools of the server.
fn not_allowed(server: &DeclaredServer, tool: &str) -> Option<(String, String)> {
    let allowed = server.tools.as_ref().filter(|_| !tool.is_empty())?;
    if allowed.iter().any(|one| one == tool) {
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
