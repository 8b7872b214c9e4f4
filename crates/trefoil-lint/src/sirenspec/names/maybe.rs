//! Values that some paths lead past (decision C9), and values that are null.

use std::sync::Arc;

use trefoil_ir::{Defined, OnItemFailure};
use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::name::Name;
use trefoil_front::sirenspec::manifest::{NodeKind, Root};
use trefoil_front::sirenspec::names::leads::There;
use trefoil_front::sirenspec::names::stand::Reading;

/// A path to values that are there by now, or may be.
pub fn check(name: Name<'_, '_, '_>, root: Root, path: &[Arc<str>], there: &There) {
    if there.seeded && there.node.is_none() && name.known().seeded(root, path).is_some_and(Value::is_null) {
        seeded_null(name, there);
    }
    if there.seeded || name.reference().default.is_some() || name.here().is_condition() {
        return;
    }
    let producers = name.here().producers(there, path);
    if name.used.bound.last().is_some_and(|last| last.defined != Defined::Always) {
        return;
    }
    let Some((node, taken)) = there.node else { return };
    let id = name.known().id(node);
    match name.kind(node) {
        Some(NodeKind::Tool(tool))
            if tool.skip
                && there.writes.is_empty()
                && path.len() > taken + tool.output_key.len()
                && !asked_before(name, &producers) =>
        {
            perhaps(name, &format!("`{id}` may have failed, and its result is then null"));
        }
        Some(NodeKind::Swrm(swrm)) if swrm.on_failure == OnItemFailure::Continue => {
            if let Some([agents, agent, ..]) = path.get(taken..)
                && **agents == *"agents"
            {
                perhaps(name, &format!("agent `{agent}` may have failed"));
            }
        }
        _ => {}
    }
}

/// An agent of the reader's own swarm.
pub fn agent(name: Name<'_, '_, '_>, path: &[Arc<str>]) {
    let taken = name.known().node_at(path).map_or(0, |(_, taken)| taken);
    if let Some(agent) = path.get(taken + 1)
        && name.here().is_lenient()
        && name.reference().default.is_none()
    {
        perhaps(name, &format!("agent `{agent}` may have failed"));
    }
}

fn perhaps(name: Name<'_, '_, '_>, why: &str) {
    let path = name.dotted();
    let d = Diagnostic::warning("maybe-undefined", name.at(), format!("`{path}` may be missing: {why}"));
    name.report(d.help(format!("write `{{{{ {path} | default('...') }}}}`")));
}

/// Whether every edge that leads here asks for the value, or for another one that the same node leaves: where that is missing
/// none of them is taken (decision S8).
fn asked_before(name: Name<'_, '_, '_>, producers: &[usize]) -> bool {
    let Reading::Node(me) = name.here().who else { return false };
    let (known, dotted) = (name.known(), name.dotted());
    let own = known.id(me);
    let results: Vec<String> = producers.iter().map(|p| format!("{}.output", known.id(*p))).collect();
    let asks = |when: &str| when.contains(&dotted) || results.iter().any(|result| when.contains(&**result));
    let mut into = name.subject.manifest.edges.iter().filter(|e| *e.to.value == *own).peekable();
    into.peek().is_some() && into.all(|e| e.when.is_some_and(|when| asks(&when.value)))
}

/// A value of `state` without content that nothing writes before it is read: templates print a word for it (decision S3).
fn seeded_null(name: Name<'_, '_, '_>, there: &There) {
    let Some(node) = name.reader() else { return };
    // For a tool or another workflow, null may be intended.
    let prompt = !matches!(node.kind, NodeKind::Tool(_) | NodeKind::Call(_));
    if !there.writes.is_empty() || !prompt || name.reference().default.is_some() {
        return;
    }
    let message = format!("`{}` is null: `state` has no value for it, and no node writes it before", name.dotted());
    let d = Diagnostic::warning("maybe-undefined", name.at(), message);
    name.report(d.help("write `\"\"` for an empty text; a template prints the word `null`"));
}
