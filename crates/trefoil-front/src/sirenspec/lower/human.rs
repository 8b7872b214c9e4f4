//! Human nodes: a question to a person.

use trefoil_ir::{Expr, HumanCall, Source, StepKind};
use trefoil_template::Value;

use super::flow::{Scope, Workflow};
use super::lowered::Lowered;
use crate::sirenspec::manifest::HumanNode;

/// Lowers a human node: `{output}`.
pub fn lower(flow: &Workflow<'_>, at: usize, node: &HumanNode<'_>) -> Option<Lowered> {
    let prompt = match node.prompt {
        Some(prompt) => flow.text(&mut Scope::plain(at), prompt),
        None => Expr::Const(Value::Str(flow.known.nodes.get(at)?.id.clone())),
    };
    let mut lowered = Lowered::new(StepKind::Human(Box::new(HumanCall {
        prompt,
        timeout_ms: node.timeout_ms,
        on_timeout: node.on_timeout.clone(),
        answer_at: None,
    })));
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.at(at));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    Some(lowered)
}
