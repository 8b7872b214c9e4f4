//! Human nodes: a question to a person.

use trefoil_ir::{HumanCall, Source, StepKind, ValueExpression};
use trefoil_template::Value;

use super::flow::{NodeTextSite, WorkflowLowering};
use super::lowered_node::LoweredNode;
use crate::sirenspec::manifest::HumanNode;

/// Lowers a human node: `{output}`.
pub fn lower_human_node(flow: &WorkflowLowering<'_>, at: usize, node: &HumanNode<'_>) -> Option<LoweredNode> {
    let prompt = match node.prompt {
        Some(prompt) => flow.text_expression(&mut NodeTextSite::for_node(at), prompt),
        None => ValueExpression::Const(Value::Str(flow.known.nodes.get(at)?.id.clone())),
    };
    let mut lowered = LoweredNode::new(StepKind::Human(Box::new(HumanCall {
        prompt,
        timeout_ms: node.timeout_ms,
        on_timeout: node.on_timeout.clone(),
        answer_at: None,
    })));
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.location_of(at));
    lowered.shape = Some(ValueExpression::Object(vec![("output".into(), ValueExpression::Read(Source::Result))]));
    Some(lowered)
}
