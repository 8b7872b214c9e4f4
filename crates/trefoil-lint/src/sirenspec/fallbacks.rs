//! Fallbacks to nodes that do not exist, or to the node itself.

use trefoil_syntax::Diagnostic;

use super::edges::unknown_node;
use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{NodeFailurePolicy, NodeKind};

/// Checks `fallback_node` of every agent node.
pub fn check_fallbacks(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (at, node) in subject.manifest.nodes.iter().enumerate() {
        let NodeKind::Agent(agent) = &node.kind else { continue };
        let own = agent.on_failure.as_ref();
        let Some(NodeFailurePolicy::Fallback(target)) = own.or(subject.manifest.defaults.on_failure.as_ref()) else {
            continue;
        };
        match subject.known.node_of(&target.value) {
            // The target of the default fallback has no fallback itself.
            Some(named) if named == at && own.is_some() => {
                let message = format!("`{}` cannot be its own fallback", node.id.value);
                found.push(Diagnostic::new_error("reference-cycle", subject.location_of(target.span), message));
            }
            Some(_) => {}
            None => unknown_node(subject, target, "fallback_node", found),
        }
    }
}
