//! HTTP tools and MCP servers whose host may not be called, or may not receive a secret: known before a run if the manifest spells the host out.

use std::collections::HashSet;

use trefoil_check::semantic::text_pieces::{TextPiece, expression_pieces};
use trefoil_ir::{Program, StepId, StepKind, ToolCall, ToolKind, ValueExpression, walk};
use trefoil_syntax::Diagnostic;
use trefoil_tools::guard::{GuardedClient, HttpFault};

/// A host that an HTTP tool may not call, or an MCP server may not be at.
pub const NOT_ALLOWED: &str = "host-not-allowed";

/// The steps of a run that the client would refuse. `is_sent`: whether a call is made by this client. `library`: whether the library
/// is embedded in another program.
pub fn refused_hosts(
    program: &Program,
    client: &GuardedClient,
    is_sent: &dyn Fn(StepId, &ToolCall) -> bool,
    library: bool,
) -> Vec<Diagnostic> {
    let mut reported = HashSet::new();
    let mut found = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        let StepKind::Tool(call) = &step.kind else { continue };
        let origin = match &call.kind {
            ToolKind::Http => url(&call.arguments).and_then(origin),
            ToolKind::Mcp { server, .. } => written_origin(server, true),
            ToolKind::Local | ToolKind::Python => None,
        };
        let Some(origin) = origin else { continue };
        if !is_sent(id, call) {
            continue;
        }
        // Values of the environment and secrets anywhere in the request are sent to this host.
        let discloses = !walk::holes_of(step).is_empty();
        let checked = if discloses { client.may_disclose(&origin) } else { client.check_url(&origin) };
        if let Err(fault) = checked
            && reported.insert((step.origin, origin.clone()))
        {
            let name = match origin.split_once("://") {
                Some((_, rest)) => rest.trim_end_matches('/'),
                None => origin.trim_end_matches('/'),
            };
            let text = fault.to_string();
            let why = match fault.refusal_reason() {
                // The advice comes below.
                Some((why, _)) => why,
                None => &*text,
            };
            let called = match &call.kind {
                ToolKind::Mcp { server, .. } => server,
                _ => &call.name,
            };
            let message = format!("`{called}` cannot be called: {why}");
            let help = match (&fault, library) {
                (HttpFault::Restricted { help, .. }, _) => format!("review the tool, then {help}"),
                (_, true) => format!("review the tool, then allow `{name}` in the rules of `Engine::http`"),
                (_, false) => format!(
                    "review the tool, then pass `--allow-host {name}`, or set `allow` under `[http]` in your settings"
                ),
            };
            found.push(Diagnostic::new_error(NOT_ALLOWED, step.origin, message).with_help(help));
        }
    }
    found
}

fn url(arguments: &ValueExpression) -> Option<&ValueExpression> {
    let ValueExpression::Object(members) = arguments else { return None };
    let (_, url) = members.iter().find(|(name, _)| &**name == "url")?;
    Some(url)
}

/// Scheme, host and port of an address, if no placeholder is part of them: `https://api.example.com:8443/`.
fn origin(url: &ValueExpression) -> Option<String> {
    let pieces = expression_pieces(url);
    let Some(TextPiece::Written(text)) = pieces.first() else { return None };
    written_origin(text, pieces.len() == 1)
}

/// The same of the start of an address. `whole`: of a whole address.
fn written_origin(text: &str, whole: bool) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let host = match rest.find(['/', '?', '#']) {
        Some(end) => rest.get(..end)?,
        None if whole => rest,
        None => return None,
    };
    // In agntz, `{name}` is a placeholder as well.
    let is_literal = !host.is_empty() && !host.contains(['{', '}', '@']);
    if is_literal { Some(format!("{}://{host}/", scheme.trim())) } else { None }
}
