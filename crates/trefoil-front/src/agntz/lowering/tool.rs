//! Lowers `kind: tool` to a tool call. Only the host knows whether a tool with this name exists.

use std::sync::Arc;

use trefoil_ir::{StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::YamlText;
use trefoil_template::Value;

use super::body::{AgntzFlowBody, entry_label};
use super::{AgntzLowering, text};
use crate::agntz::binding::BoundAgent;
use crate::agntz::manifest::{HttpToolRequest, TemplateTree, ToolAgent, ToolInvocation};
use crate::agntz::names::PipelinePosition;
use crate::program_builder::plain_step;

/// Lowers a tool agent.
pub fn lower_tool(
    lowering: &mut AgntzLowering<'_, '_>,
    bound: &BoundAgent<'_>,
    agent: &ToolAgent<'_>,
) -> AgntzFlowBody {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return AgntzFlowBody::from_step(None) };
    let typed = |t: &YamlText| text::typed_expression(bound, t, PipelinePosition::End);
    let (kind, arguments) = match tool {
        ToolInvocation::Local(params) => (ToolKind::Local, object_expression(params, &typed)),
        ToolInvocation::Mcp { server, params } => {
            let server = match server {
                Some(server) => server.value.clone(),
                None => Arc::from(""),
            };
            (ToolKind::for_mcp_server(server), object_expression(params, &typed))
        }
        ToolInvocation::Http(http) => (ToolKind::Http, request_arguments(http, &typed, None)),
    };
    let call = ToolCall { name: name.value.clone(), kind, arguments };
    let mut step = plain_step(StepKind::Tool(Box::new(call)), Location::new(bound.at.file, agent.span));
    step.label = entry_label(bound);
    AgntzFlowBody::from_step(Some(lowering.builder.add_step(step)))
}

/// An object of texts.
pub fn object_expression(
    pairs: &[(&YamlText, &YamlText)],
    typed: &dyn Fn(&YamlText) -> ValueExpression,
) -> ValueExpression {
    ValueExpression::Object(pairs.iter().map(|(k, v)| (k.value.clone(), typed(v))).collect())
}

/// The arguments of an http tool: the complete request. `given`: values for placeholders of its address that are not
/// pinned.
pub fn request_arguments(
    http: &HttpToolRequest<'_>,
    typed: &dyn Fn(&YamlText) -> ValueExpression,
    given: Option<ValueExpression>,
) -> ValueExpression {
    let mut parts: Vec<(Arc<str>, ValueExpression)> =
        vec![("method".into(), ValueExpression::Const(Value::from(http.method)))];
    if let Some(url) = http.url {
        parts.push(("url".into(), typed(url)));
    }
    let mut params = given;
    if !http.params.is_empty() {
        let pinned = object_expression(&http.params, typed);
        params = Some(match params {
            Some(given) => ValueExpression::Merge(vec![given, pinned]),
            None => pinned,
        });
    }
    if let Some(params) = params {
        parts.push(("params".into(), params));
    }
    if !http.headers.is_empty() {
        parts.push(("headers".into(), object_expression(&http.headers, typed)));
    }
    if let Some(body_type) = http.body_type {
        parts.push(("body_type".into(), ValueExpression::Const(Value::from(body_type))));
    }
    if let Some(body) = &http.body {
        parts.push(("body".into(), tree(body, typed)));
    }
    if let Some(auth) = &http.auth {
        parts.push(("auth".into(), tree(auth, typed)));
    }
    ValueExpression::Object(parts)
}

fn tree(node: &TemplateTree<'_>, typed: &dyn Fn(&YamlText) -> ValueExpression) -> ValueExpression {
    match node {
        TemplateTree::Text(text) => typed(text),
        TemplateTree::Data(value) => ValueExpression::Const(value.clone()),
        TemplateTree::List(items) => ValueExpression::List(items.iter().map(|t| tree(t, typed)).collect()),
        TemplateTree::Object(entries) => {
            ValueExpression::Object(entries.iter().map(|(k, t)| (k.value.clone(), tree(t, typed))).collect())
        }
    }
}
