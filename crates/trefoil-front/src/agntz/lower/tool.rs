//! `kind: tool` to a tool call.

use std::sync::Arc;

use trefoil_ir::{Declaration, DeclarationKind, Expr, Position, StepKind, ToolCall, ToolKind, types};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::Lowering;
use super::agent::{Body, Subject};
use super::text::{self, Scope};
use crate::agntz::lint::braces;
use crate::agntz::manifest::{Http, ToolAgent, ToolUse, Tree};
use crate::agntz::names::{At, Purpose};
use crate::build::plain;
use crate::read::Reader;

/// Lowers a tool agent. Whether a tool of this name is there, the host knows.
pub fn lower(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    agent: &ToolAgent<'_>,
    scope: &mut Scope,
) -> Body {
    let Some(tool) = &agent.tool else { return Body::of(None, types::any()) };
    let purpose = if matches!(tool, ToolUse::Http(_)) { Purpose::Request } else { Purpose::Data };
    if let ToolUse::Local(params) | ToolUse::Mcp { params, .. } = tool {
        for (key, value) in params {
            braces::check(reader, &scope.names, value, At::End, &key.value);
        }
    }
    if let ToolUse::Http(http) = tool {
        braces::request(reader, &scope.names, http);
    }
    let mut typed = |t: &Text, position| text::typed(reader, scope, t, At::End, purpose, position).0;
    let (kind, sort, arguments) = match tool {
        ToolUse::Local(params) => (ToolKind::Local, "local", object(params, Position::Data, &mut typed)),
        ToolUse::Mcp { server, params } => {
            let server = server.map_or_else(|| Arc::from(""), |s| s.value.clone());
            (ToolKind::Mcp { server }, "mcp", object(params, Position::Data, &mut typed))
        }
        ToolUse::Http(http) => (ToolKind::Http, "http", request(http, &mut typed)),
    };
    let Some(name) = agent.name else { return Body::of(None, types::any()) };
    reader.facts(|f| {
        f.declare(Declaration {
            kind: DeclarationKind::Tool,
            name: name.value.clone(),
            at: reader.at(name.content()),
            extent: Span::new(agent.span.start.min(name.span.start), agent.span.end.max(name.span.end)),
            parent: Some(subject.at),
            schema: Value::Bool(true),
            note: Some(format!("a tool, {sort}").into()),
        });
    });
    let message = format!("the {sort} tool `{}` runs only when a tool of this name is provided", name.value);
    let help = "this version has no tools of its own: scripted answers or an embedding program provide them";
    reader.report(Diagnostic::warning("refused", reader.at(name.span), message).help(help));
    let call = ToolCall { name: name.value.clone(), kind, arguments };
    let mut step = plain(StepKind::Tool(Box::new(call)), reader.at(agent.span));
    step.label = subject.entry.then(|| subject.id.clone());
    Body::of(Some(lowering.builder.step(step)), types::any())
}

fn object(pairs: &[(&Text, &Text)], position: Position, typed: &mut dyn FnMut(&Text, Position) -> Expr) -> Expr {
    Expr::Object(pairs.iter().map(|(k, v)| (k.value.clone(), typed(v, position))).collect())
}

/// The arguments of an http tool: the request, complete.
fn request(http: &Http<'_>, typed: &mut dyn FnMut(&Text, Position) -> Expr) -> Expr {
    let mut parts: Vec<(Arc<str>, Expr)> = vec![("method".into(), Expr::Const(Value::from(http.method)))];
    parts.extend(http.url.map(|u| ("url".into(), typed(u, Position::Url))));
    if !http.params.is_empty() {
        parts.push(("params".into(), object(&http.params, Position::Data, typed)));
    }
    if !http.headers.is_empty() {
        parts.push(("headers".into(), object(&http.headers, Position::Header, typed)));
    }
    parts.extend(http.body_type.map(|t| ("body_type".into(), Expr::Const(Value::from(t)))));
    parts.extend(http.body.as_ref().map(|b| ("body".into(), tree(b, typed))));
    for text in &http.auth {
        typed(text, Position::Header);
    }
    Expr::Object(parts)
}

fn tree(node: &Tree<'_>, typed: &mut dyn FnMut(&Text, Position) -> Expr) -> Expr {
    match node {
        Tree::Text(text) => typed(text, Position::Data),
        Tree::Data(value) => Expr::Const(value.clone()),
        Tree::List(items) => Expr::List(items.iter().map(|t| tree(t, typed)).collect()),
        Tree::Object(entries) => Expr::Object(entries.iter().map(|(k, t)| (k.value.clone(), tree(t, typed))).collect()),
    }
}
