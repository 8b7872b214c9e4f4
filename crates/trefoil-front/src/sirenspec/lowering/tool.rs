//! Tool nodes: a tool call with the node's id as its name. Only the host knows whether the tool exists.

use std::sync::Arc;

use trefoil_ir::{OnStepFailure, Retry, RetryBackoff, RetryOn, Source, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar};
use trefoil_template::Value;

use super::flow::{NodeTextSite, WorkflowLowering};
use super::lowered_node::LoweredNode;
use crate::sirenspec::manifest::{ToolNode, ToolSettings};
use crate::yaml_reader::to_value;

/// Lowers a tool node: its result under `output_key`.
pub fn lower_tool_node(flow: &WorkflowLowering<'_>, at: usize, node: &ToolNode<'_>) -> Option<LoweredNode> {
    let mut scope = NodeTextSite::for_node(at);
    let name = flow.known.nodes.get(at)?.id.clone();
    let (kind, arguments, limit) = match node.settings.as_ref()? {
        ToolSettings::Http { url, method, headers, body, timeout_ms, timeout_at } => {
            let mut arguments: Vec<(Arc<str>, ValueExpression)> = vec![
                ("url".into(), flow.text_or(&mut scope, *url)),
                ("method".into(), ValueExpression::Const(Value::from(*method))),
            ];
            if !headers.is_empty() {
                let mut members = Vec::with_capacity(headers.len());
                for (name, value) in headers {
                    members.push((name.value.clone(), flow.text_expression(&mut scope, value)));
                }
                arguments.push(("headers".into(), ValueExpression::Object(members)));
            }
            if let Some(body) = body {
                arguments.push(("body".into(), flow.text_expression(&mut scope, body)));
            }
            (ToolKind::Http, arguments, Some((*timeout_ms, *timeout_at)))
        }
        ToolSettings::Python { module, function, args } => {
            let args = match args {
                Some(entry) => nested_expression(flow, &mut scope, &entry.value),
                None => ValueExpression::Object(Vec::new()),
            };
            let arguments = vec![
                ("module".into(), flow.text_or(&mut scope, *module)),
                ("function".into(), flow.text_or(&mut scope, *function)),
                ("args".into(), args),
            ];
            (ToolKind::Python, arguments, None)
        }
    };
    let mut lowered = LoweredNode::new(StepKind::Tool(Box::new(ToolCall {
        name,
        kind,
        arguments: ValueExpression::Object(arguments),
    })));
    let mut shape = ValueExpression::Read(Source::Result);
    for key in node.output_key.iter().rev() {
        shape = ValueExpression::Object(vec![(key.clone(), shape)]);
    }
    lowered.shape = Some(shape);
    if let Some((timeout_ms, timeout_at)) = limit {
        lowered.policy.timeout_ms = Some(timeout_ms);
        lowered.policy.timeout_at = timeout_at.map(|at| flow.location_of(at));
    }
    lowered.policy.retry = node.retries.map(retry);
    if node.skip {
        lowered.policy.on_failure = OnStepFailure::Use(Box::new(ValueExpression::Const(Value::Null)));
    }
    Some(lowered)
}

fn retry(retries: u32) -> Retry {
    Retry {
        max_attempts: retries.saturating_add(1),
        backoff: RetryBackoff::Constant,
        base_delay_ms: 0,
        max_delay_ms: 0,
        jitter: false,
        on: vec![
            RetryOn::Code("TOOL_ERROR".into()),
            RetryOn::Code("TOOL_TIMEOUT".into()),
            RetryOn::Network,
            RetryOn::Timeout,
        ],
    }
}

/// A value whose texts are templates; its keys are not.
fn nested_expression(flow: &WorkflowLowering<'_>, scope: &mut NodeTextSite<'_>, node: &YamlNode) -> ValueExpression {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, text) => flow.typed_expression(scope, text),
        YamlNodeKind::Scalar(..) => ValueExpression::Const(to_value(node)),
        YamlNodeKind::Sequence(items) => {
            ValueExpression::List(items.iter().map(|item| nested_expression(flow, scope, item)).collect())
        }
        YamlNodeKind::Mapping(mapping) => ValueExpression::Object(
            mapping.entries.iter().map(|e| (e.key.value.clone(), nested_expression(flow, scope, &e.value))).collect(),
        ),
    }
}
