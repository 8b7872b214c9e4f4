//! Fallbacks to nodes that do not exist, or to the node itself.

use trefoil_syntax::Diagnostic;

use super::edges::unknown_node;
use super::subject::{Found, Subject};
use trefoil_front::sirenspec::manifest::{NodeKind, OnFailure};

/// Checks `fallback_node` of every agent node.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for (at, node) in subject.manifest.nodes.iter().enumerate() {
        let NodeKind::Agent(agent) = &node.kind else { continue };
        let own = agent.on_failure.as_ref();
        let Some(OnFailure::Fallback(target)) = own.or(subject.manifest.defaults.on_failure.as_ref()) else { continue };
        match subject.known.node_of(&target.value) {
            // The target of the default fallback has no fallback itself.
            Some(named) if named == at && own.is_some() => {
                let message = format!("`{}` cannot be its own fallback", node.id.value);
                found.push(Diagnostic::error("reference-cycle", subject.at(target.span), message));
            }
            Some(_) => {}
            None => unknown_node(subject, target, "fallback_node", found),
        }
    }
}
