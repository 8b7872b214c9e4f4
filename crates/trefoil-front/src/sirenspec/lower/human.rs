//! Human nodes: a person's answer.

use trefoil_ir::{Expr, HumanCall, Position, Source, StepKind};
use trefoil_template::Value;

use super::flow::Workflow;
use super::node::Lowered;
use super::scope::{Reading, Scope};
use crate::sirenspec::manifest::HumanNode;

/// Lowers a human node: `{output}`.
pub fn lower(flow: &Workflow<'_, '_>, at: usize, node: &HumanNode<'_>) -> Option<Lowered> {
    let scope = Scope::new(flow, Reading::Node(at));
    let id = flow.names.nodes.get(at)?.id;
    let prompt = match node.prompt {
        Some(prompt) => flow.text(&scope, Position::Person, prompt),
        None => Expr::Const(Value::Str(id.value.clone())),
    };
    let mut lowered = Lowered::new(StepKind::Human(Box::new(HumanCall {
        prompt,
        timeout_ms: node.timeout_ms,
        on_timeout: node.on_timeout.clone(),
    })));
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.reader.at(at));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    Some(lowered)
}
