//! Workflow nodes: calls of another file's flow with the message and the node's inputs.

use std::sync::Arc;

use trefoil_ir::{FlowCallee, Source, StepKind, SubflowCall, ValueExpression};
use trefoil_template::{Value, ValueObject};

use super::flow::{FlowBuilder, NodeTextSite, WorkflowLowering};
use super::lowered_node::LoweredNode;
use crate::sirenspec::manifest::CallNode;

/// Lowers a workflow node: `{output}`, the sub-workflow's output tree.
pub fn lower_call_node(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    at: usize,
    node: &CallNode<'_>,
) -> Option<LoweredNode> {
    let mut scope = NodeTextSite::for_node(at);
    let mut given: Vec<(Arc<str>, ValueExpression)> = Vec::with_capacity(node.inputs.len());
    for entry in &node.inputs {
        given.push((entry.key.value.clone(), flow.input_expression(&mut scope, &entry.value)));
    }
    let child = flow.children.get(at)?.as_ref()?;
    let mut layers = Vec::new();
    let overridden = node.inputs.iter().any(|e| &*e.key.value == "message");
    if child.wanted.known.iter().any(|n| &**n == "message") && !overridden {
        let source = Source::Member(flow.known.inputs.slot, vec!["message".into()]);
        let message = ValueExpression::Object(vec![("message".into(), ValueExpression::Read(source.clone()))]);
        if child.wanted.needed.iter().any(|n| &**n == "message") {
            made.message.get_or_insert(flow.location_of(node.reference?.span));
            layers.push(message);
        } else {
            // The sub-workflow has its own default message.
            let nothing = ValueExpression::Const(Value::Object(Arc::new(ValueObject::default())));
            layers.push(ValueExpression::If { source, then: Box::new(message), otherwise: Box::new(nothing) });
        }
    }
    layers.push(ValueExpression::Object(given));
    let input = match layers.len() {
        1 => layers.pop(),
        _ => Some(ValueExpression::Merge(layers)),
    };
    let exports = match flow.known.nodes.get(at) {
        Some(name) => name.exports,
        None => None,
    };
    let mut lowered = LoweredNode::new(StepKind::Call(Box::new(SubflowCall {
        callee: FlowCallee::Flow(child.flow),
        input,
        exports,
        span: None,
    })));
    lowered.shape = Some(ValueExpression::Object(vec![("output".into(), ValueExpression::Read(Source::Result))]));
    Some(lowered)
}
