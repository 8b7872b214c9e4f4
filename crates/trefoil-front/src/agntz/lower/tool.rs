//! `kind: tool` to a tool call.

use std::sync::Arc;

use trefoil_ir::{Declaration, DeclarationKind, Expr, Position, StepKind, ToolCall, ToolKind};
use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::agent::{Body, Subject};
use super::scope::{At, Purpose, Scope};
use super::shape::Shape;
use super::{Lowering, text, there};
use crate::agntz::manifest::{Http, ToolAgent, ToolUse, Tree};
use crate::build::plain;
use crate::read::Reader;

/// Lowers a tool agent. Whether a tool of this name is there, the host knows.
pub fn lower(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    agent: &ToolAgent<'_>,
    scope: &Scope<'_>,
) -> Body {
    let Some(tool) = &agent.tool else { return Body::of(None, Shape::Any) };
    let purpose = if matches!(tool, ToolUse::Http(_)) { Purpose::Request } else { Purpose::Data };
    let typed = |t: &Text, position| text::typed(reader, scope, t, At::End, purpose, position).0;
    if let ToolUse::Local(params) | ToolUse::Mcp { params, .. } = tool {
        for (key, value) in params {
            there::check(reader, scope, value, At::End, &key.value);
        }
    }
    if let ToolUse::Http(http) = tool {
        without_braces(reader, scope, http);
    }
    let (kind, sort, arguments) = match tool {
        ToolUse::Local(params) => (ToolKind::Local, "local", object(params, Position::Data, &typed)),
        ToolUse::Mcp { server, params } => {
            let server = server.map_or_else(|| Arc::from(""), |s| s.value.clone());
            (ToolKind::Mcp { server }, "mcp", object(params, Position::Data, &typed))
        }
        ToolUse::Http(http) => (ToolKind::Http, "http", request(http, &typed)),
    };
    let Some(name) = agent.name else { return Body::of(None, Shape::Any) };
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
    Body::of(Some(lowering.builder.step(step)), Shape::Any)
}

/// Looks at the texts of a request for values that are names without their braces.
pub fn without_braces(reader: &Reader<'_>, scope: &Scope<'_>, http: &Http<'_>) {
    for (key, value) in http.params.iter().chain(&http.headers) {
        there::check(reader, scope, value, At::End, &key.value);
    }
    http.headers.iter().map(|(_, value)| *value).chain(http.auth.iter().copied()).for_each(|t| shell(reader, t));
    if let Some(body) = &http.body {
        leaves(body, &mut |key, value| there::check(reader, scope, value, At::End, key));
    }
}

fn object(pairs: &[(&Text, &Text)], position: Position, typed: &dyn Fn(&Text, Position) -> Expr) -> Expr {
    Expr::Object(pairs.iter().map(|(k, v)| (k.value.clone(), typed(v, position))).collect())
}

/// The texts in the objects of a body, with their keys.
fn leaves(node: &Tree<'_>, see: &mut dyn FnMut(&str, &Text)) {
    match node {
        Tree::Object(entries) => entries.iter().for_each(|(key, inner)| match inner {
            Tree::Text(text) => see(&key.value, text),
            inner => leaves(inner, see),
        }),
        Tree::List(items) => items.iter().for_each(|inner| leaves(inner, see)),
        Tree::Text(_) | Tree::Data(_) => {}
    }
}

/// A variable of the environment as shells write it: `$TOKEN`, `${TOKEN}`, `%TOKEN%`.
fn shell(reader: &Reader<'_>, text: &Text) {
    let value = &*text.value;
    for (start, _) in value.match_indices(['$', '%']) {
        let rest = value.get(start..).unwrap_or_default();
        let forms = [("${", "}"), ("$", ""), ("%", "%")];
        let Some((left, right)) = forms.into_iter().find(|(left, _)| rest.starts_with(left)) else { continue };
        let inner = rest.get(left.len()..).unwrap_or_default();
        let end = inner.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let (name, behind) = inner.split_at(end.unwrap_or(inner.len()));
        let named = name.len() > 2 && name.starts_with(|c: char| c.is_ascii_uppercase());
        if !named || !behind.starts_with(right) {
            continue;
        }
        let whole = start..start + left.len() + name.len() + right.len();
        let place = text.source(whole.start as u32..whole.end as u32);
        let straight = (place.end - place.start) as usize == whole.len();
        let message = format!("`{left}{name}{right}` is text, and the environment is not read");
        let d = Diagnostic::warning("not-a-placeholder", reader.at(place), message);
        let meant = format!("{{{{env.{name}}}}}");
        reader.report(match straight && text.style != Style::Plain {
            true => d.suggestion(format!("write `{meant}`"), reader.at(place), meant),
            false => d.help(format!("write `{meant}`")),
        });
        return;
    }
}

/// The arguments of an http tool: the request, complete.
fn request(http: &Http<'_>, typed: &dyn Fn(&Text, Position) -> Expr) -> Expr {
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

fn tree(node: &Tree<'_>, typed: &dyn Fn(&Text, Position) -> Expr) -> Expr {
    match node {
        Tree::Text(text) => typed(text, Position::Data),
        Tree::Data(value) => Expr::Const(value.clone()),
        Tree::List(items) => Expr::List(items.iter().map(|t| tree(t, typed)).collect()),
        Tree::Object(entries) => Expr::Object(entries.iter().map(|(k, t)| (k.value.clone(), tree(t, typed))).collect()),
    }
}
