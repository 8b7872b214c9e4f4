//! Nodes that a template reads through `working`, which only conditions can do.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_syntax::Diagnostic;
use trefoil_template::NodeThroughWorking;

use super::name::NameReference;
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::manifest::StateTree;
use trefoil_front::sirenspec::names::node_part::NodePart;
use trefoil_front::sirenspec::names::types;
use trefoil_front::sirenspec::names::workflow_names::NodeName;
use trefoil_front::spelling_fixes;

/// A path after `working`. Returns whether the mistake is fully reported, so that the following segments need no
/// further check.
pub fn check_working_path(name: NameReference<'_, '_>, path: &[Arc<str>], found: &mut FindingList) -> bool {
    let known = name.workflow_names();
    let Some((node, taken)) = known.node_at(path).and_then(|(at, taken)| Some((known.nodes.get(at)?, taken))) else {
        return false;
    };
    let rest = path.get(taken..).unwrap_or(&[]);
    // A fan-out iterates over the list, not over the text.
    let fans = name.text_position().stand == NodePart::Decides("for_each");
    let list = fans && rest.is_empty() && types::type_at_key(&node.schema, "outputs").is_some();
    let (fixed, sure) = if list { (format!("{}.outputs", node.id), true) } else { through(node, rest) };
    let said = NodeThroughWorking::new(&name.dotted_path(), &node.id, &fixed);
    let d = Diagnostic::new_error(said.rule, name.source_location(), said.message).with_help(said.help);
    let whole = name.used.path_location();
    found.push(spelling_fixes::fix_path(d, whole, &fixed, sure));
    !known.has_value_at(StateTree::Working, path)
}

/// The path to a node's result or to a member of it, and whether it has all written segments. People who read a node
/// through `working` may omit `output` and `outputs`.
fn through(node: &NodeName, rest: &[Arc<str>]) -> (String, bool) {
    let (id, main) = (&node.id, node.output.join("."));
    if rest.is_empty() {
        return (format!("{id}.{main}"), true);
    }
    if types::missing_segment(&node.schema, rest).is_none() {
        return (format!("{id}.{}", rest.join(".")), true);
    }
    for within in [&*main, "outputs"] {
        let inside = within.split('.').try_fold(node.schema.clone(), |of, key| types::type_at_key(&of, key));
        if let Some(inside) = inside.filter(|of| types::missing_segment(of, rest).is_none()) {
            // If its type is unknown, the name may be anywhere in it.
            return (format!("{id}.{within}.{}", rest.join(".")), inside != ValueType::Any);
        }
    }
    (format!("{id}.{main}"), false)
}
