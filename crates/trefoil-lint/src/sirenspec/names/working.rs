//! Nodes that a template reads through `working`, where only conditions find them.

use std::sync::Arc;

use trefoil_ir::types as ir;
use trefoil_syntax::Diagnostic;
use trefoil_template::NodeThroughWorking;

use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::mend;
use trefoil_front::sirenspec::manifest::Root;
use trefoil_front::sirenspec::names::known::NodeName;
use trefoil_front::sirenspec::names::stand::Stand;
use trefoil_front::sirenspec::names::types;

/// A path after `working`. Answers whether the finding is complete: what follows the mistake is not another one.
pub fn check(name: Name<'_, '_>, path: &[Arc<str>], found: &mut Found) -> bool {
    let known = name.known();
    let Some((node, taken)) = known.node_at(path).and_then(|(at, taken)| Some((known.nodes.get(at)?, taken))) else {
        return false;
    };
    let rest = path.get(taken..).unwrap_or(&[]);
    // The list is what a fan-out iterates over; the text would not be one.
    let fans = name.here().stand == Stand::Decides("for_each");
    let list = fans && rest.is_empty() && types::at(&node.schema, "outputs").is_some();
    let (fixed, sure) = if list { (format!("{}.outputs", node.id), true) } else { through(node, rest) };
    let said = NodeThroughWorking::new(&name.dotted(), &node.id, &fixed);
    let d = Diagnostic::error(said.rule, name.at(), said.message).help(said.help);
    let whole = mend::segments(name.reference(), name.at(), 0, name.reference().path.len().saturating_sub(1));
    found.push(mend::rewritten(d, whole, &fixed, sure));
    !known.leads(Root::Working, path)
}

/// The path to a node's result, or to what is in it, and whether all that was written is in it. Whoever reads a node as a key
/// of `working` may leave out `output` and `outputs`.
fn through(node: &NodeName, rest: &[Arc<str>]) -> (String, bool) {
    let (id, main) = (&node.id, node.output.join("."));
    if rest.is_empty() {
        return (format!("{id}.{main}"), true);
    }
    if types::missing(&node.schema, rest).is_none() {
        return (format!("{id}.{}", rest.join(".")), true);
    }
    for within in [&*main, "outputs"] {
        let inside = within.split('.').try_fold(node.schema.clone(), |of, key| types::at(&of, key));
        if let Some(inside) = inside.filter(|of| types::missing(of, rest).is_none()) {
            // If nothing is known of it, that name may be anywhere in it.
            return (format!("{id}.{within}.{}", rest.join(".")), inside != ir::any());
        }
    }
    (format!("{id}.{main}"), false)
}
