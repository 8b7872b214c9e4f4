//! Workflow nodes: calls of another file's flow with the message and the node's inputs.

use std::sync::Arc;

use trefoil_ir::{Call, Callee, Expr, Source, StepKind};
use trefoil_template::{Object, Value};

use super::flow::{FlowBuilder, Scope, Workflow};
use super::lowered::Lowered;
use crate::sirenspec::manifest::CallNode;

/// Lowers a workflow node: `{output}`, the sub-workflow's output tree.
pub fn lower(flow: &Workflow<'_>, made: &mut FlowBuilder<'_>, at: usize, node: &CallNode<'_>) -> Option<Lowered> {
    let mut scope = Scope::plain(at);
    let given: Vec<(Arc<str>, Expr)> =
        node.inputs.iter().map(|e| (e.key.value.clone(), flow.input(&mut scope, &e.value))).collect();
    let child = flow.children.get(at)?.as_ref()?;
    let mut layers = Vec::new();
    let overridden = node.inputs.iter().any(|e| &*e.key.value == "message");
    if child.wanted.known.iter().any(|n| &**n == "message") && !overridden {
        let source = Source::Member(flow.known.inputs.slot, vec!["message".into()]);
        let message = Expr::Object(vec![("message".into(), Expr::Read(source.clone()))]);
        if child.wanted.needed.iter().any(|n| &**n == "message") {
            made.message.get_or_insert(flow.at(node.reference?.span));
            layers.push(message);
        } else {
            // The sub-workflow has its own default message.
            let nothing = Expr::Const(Value::Object(Arc::new(Object::default())));
            layers.push(Expr::If { source, then: Box::new(message), otherwise: Box::new(nothing) });
        }
    }
    layers.push(Expr::Object(given));
    let input = match layers.len() {
        1 => layers.pop(),
        _ => Some(Expr::Merge(layers)),
    };
    let exports = flow.known.nodes.get(at).and_then(|n| n.exports);
    let mut lowered =
        Lowered::new(StepKind::Call(Box::new(Call { callee: Callee::Flow(child.flow), input, exports, span: None })));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    Some(lowered)
}
