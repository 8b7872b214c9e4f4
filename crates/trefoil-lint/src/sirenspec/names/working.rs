//! Nodes that a template reads through `working`, which only conditions can do.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_syntax::Diagnostic;
use trefoil_template::NodeThroughWorking;

use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::mend;
use trefoil_front::sirenspec::manifest::Root;
use trefoil_front::sirenspec::names::known::NodeName;
use trefoil_front::sirenspec::names::stand::Stand;
use trefoil_front::sirenspec::names::types;

/// A path after `working`. Returns whether the mistake is fully reported, so that the following segments need no
/// further check.
pub fn check(name: Name<'_, '_>, path: &[Arc<str>], found: &mut Found) -> bool {
    let known = name.known();
    let Some((node, taken)) = known.node_at(path).and_then(|(at, taken)| Some((known.nodes.get(at)?, taken))) else {
        return false;
    };
    let rest = path.get(taken..).unwrap_or(&[]);
    // A fan-out iterates over the list, not over the text.
    let fans = name.here().stand == Stand::Decides("for_each");
    let list = fans && rest.is_empty() && types::at(&node.schema, "outputs").is_some();
    let (fixed, sure) = if list { (format!("{}.outputs", node.id), true) } else { through(node, rest) };
    let said = NodeThroughWorking::new(&name.dotted(), &node.id, &fixed);
    let d = Diagnostic::error(said.rule, name.at(), said.message).help(said.help);
    let whole = name.used.whole();
    found.push(mend::rewritten(d, whole, &fixed, sure));
    !known.leads(Root::Working, path)
}

/// The path to a node's result or to a member of it, and whether it has all written segments. People who read a node
/// through `working` may omit `output` and `outputs`.
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
            // If its type is unknown, the name may be anywhere in it.
            return (format!("{id}.{within}.{}", rest.join(".")), inside != Type::Any);
        }
    }
    (format!("{id}.{main}"), false)
}
