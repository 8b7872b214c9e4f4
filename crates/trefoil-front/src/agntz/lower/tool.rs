//! Lowers `kind: tool` to a tool call. Only the host knows whether a tool with this name exists.

use std::sync::Arc;

use trefoil_ir::{Expr, StepKind, ToolCall, ToolKind};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use super::body::Body;
use super::{Lowering, text};
use crate::agntz::bind::BoundAgent;
use crate::agntz::manifest::{Http, ToolAgent, ToolUse, Tree};
use crate::agntz::names::At;
use crate::build::plain;

/// Lowers a tool agent.
pub fn lower(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, agent: &ToolAgent<'_>) -> Body {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return Body::of(None) };
    let typed = |t: &Text| text::typed(bound, t, At::End);
    let (kind, arguments) = match tool {
        ToolUse::Local(params) => (ToolKind::Local, object(params, &typed)),
        ToolUse::Mcp { server, params } => {
            let server = server.map_or_else(|| Arc::from(""), |s| s.value.clone());
            (ToolKind::mcp(server), object(params, &typed))
        }
        ToolUse::Http(http) => (ToolKind::Http, request(http, &typed, None)),
    };
    let call = ToolCall { name: name.value.clone(), kind, arguments };
    let mut step = plain(StepKind::Tool(Box::new(call)), Location::new(bound.at.file, agent.span));
    step.label = bound.entry.then(|| bound.id.clone());
    Body::of(Some(lowering.builder.step(step)))
}

/// An object of texts.
pub fn object(pairs: &[(&Text, &Text)], typed: &dyn Fn(&Text) -> Expr) -> Expr {
    Expr::Object(pairs.iter().map(|(k, v)| (k.value.clone(), typed(v))).collect())
}

/// The arguments of an http tool: the complete request. `given`: values for placeholders of its address that are not
/// pinned.
pub fn request(http: &Http<'_>, typed: &dyn Fn(&Text) -> Expr, given: Option<Expr>) -> Expr {
    let mut parts: Vec<(Arc<str>, Expr)> = vec![("method".into(), Expr::Const(Value::from(http.method)))];
    parts.extend(http.url.map(|u| ("url".into(), typed(u))));
    let pinned = (!http.params.is_empty()).then(|| object(&http.params, typed));
    let params = match (given, pinned) {
        (Some(given), Some(pinned)) => Some(Expr::Merge(vec![given, pinned])),
        (given, pinned) => given.or(pinned),
    };
    parts.extend(params.map(|params| ("params".into(), params)));
    if !http.headers.is_empty() {
        parts.push(("headers".into(), object(&http.headers, typed)));
    }
    parts.extend(http.body_type.map(|t| ("body_type".into(), Expr::Const(Value::from(t)))));
    parts.extend(http.body.as_ref().map(|b| ("body".into(), tree(b, typed))));
    parts.extend(http.auth.as_ref().map(|a| ("auth".into(), tree(a, typed))));
    Expr::Object(parts)
}

fn tree(node: &Tree<'_>, typed: &dyn Fn(&Text) -> Expr) -> Expr {
    match node {
        Tree::Text(text) => typed(text),
        Tree::Data(value) => Expr::Const(value.clone()),
        Tree::List(items) => Expr::List(items.iter().map(|t| tree(t, typed)).collect()),
        Tree::Object(entries) => Expr::Object(entries.iter().map(|(k, t)| (k.value.clone(), tree(t, typed))).collect()),
    }
}
