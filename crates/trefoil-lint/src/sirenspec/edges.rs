//! Edges with nodes that do not exist, and edges without effect.

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};

use super::subject::{Found, Subject};
use trefoil_front::mend::respelt;
use trefoil_front::sirenspec::manifest::{Edge, Node, NodeKind};
use trefoil_front::sirenspec::names::links::Link;

/// Names of other systems for the end and the start of a workflow.
const ENDS: [&str; 4] = ["end", "__end__", "finish", "done"];
const BEGINNINGS: [&str; 3] = ["start", "__start__", "begin"];

/// Checks the edges.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for edge in &subject.manifest.edges {
        for (end, key) in [(edge.from, "from"), (edge.to, "to")] {
            if subject.known.node_of(&end.value).is_none() {
                unknown_node(subject, end, key, found);
            }
        }
    }
    let links = subject.links;
    let mut all: Vec<(&Link, &Edge<'_>)> =
        links.edges.iter().chain(&links.idle).filter_map(|l| Some((l, subject.manifest.edges.get(l.edge)?))).collect();
    all.sort_unstable_by_key(|(link, _)| link.edge);
    let mut by_ends: HashMap<(usize, usize), Twins<'_, '_>> = HashMap::default();
    for (link, edge) in all {
        let same = by_ends.entry((link.from, link.to)).or_default();
        if !is_twin(subject, edge, same, found) {
            is_needless(subject, edge, same, found);
        }
        same.push(edge);
    }
    links.idle.iter().for_each(|link| idle(subject, link, found));
}

/// The edges between two nodes.
#[derive(Default)]
struct Twins<'e, 'm> {
    /// The first one with each condition.
    by_condition: HashMap<Option<String>, &'e Edge<'m>>,
    /// The first one that has a condition.
    conditional: Option<&'e Edge<'m>>,
}

impl<'e, 'm> Twins<'e, 'm> {
    fn push(&mut self, edge: &'e Edge<'m>) {
        self.by_condition.entry(condition(edge)).or_insert(edge);
        self.conditional = self.conditional.or(edge.when.map(|_| edge));
    }
}

fn condition(edge: &Edge<'_>) -> Option<String> {
    edge.when.map(|when| when.value.trim().to_owned())
}

/// An edge that repeats an earlier one with the same condition.
fn is_twin(subject: &Subject<'_>, edge: &Edge<'_>, same: &Twins<'_, '_>, found: &mut Found) -> bool {
    let Some(twin) = same.by_condition.get(&condition(edge)) else { return false };
    let message = format!("the edge from `{}` to `{}` is listed twice", edge.from.value, edge.to.value);
    let d = Diagnostic::warning("redundant", subject.at(edge.node.span), message);
    found.push(d.label(subject.at(twin.node.span), "the first one").help("remove one of them"));
    true
}

/// A conditional edge next to an unconditional one with the same nodes.
fn is_needless(subject: &Subject<'_>, edge: &Edge<'_>, same: &Twins<'_, '_>, found: &mut Found) {
    let other = match edge.when {
        Some(_) => same.by_condition.get(&None).copied(),
        None => same.conditional,
    };
    let Some(other) = other else { return };
    let Some(when) = edge.when.or(other.when) else { return };
    let free = if edge.when.is_none() { edge.node } else { other.node };
    let message = format!(
        "`when` has no effect: another edge from `{}` to `{}` has no condition",
        edge.from.value, edge.to.value
    );
    let d = Diagnostic::warning("redundant", subject.at(when.span), message);
    found.push(d.label(subject.at(free.span), "this one is always taken").help("remove one of them"));
}

/// An edge to a fallback, which runs when its node fails, whatever edges it has.
fn idle(subject: &Subject<'_>, link: &Link, found: &mut Found) {
    let main = subject.links.fallback_of.get(link.to).and_then(|mains| mains.first());
    let (Some(main), Some(edge)) = (main, subject.manifest.edges.get(link.edge)) else { return };
    let message = format!(
        "the edge to `{}` has no effect: that node runs only if `{}` fails",
        edge.to.value,
        subject.known.id(*main)
    );
    let d = Diagnostic::warning("redundant", subject.at(edge.node.span), message);
    found.push(d.help("remove it, or keep it only for the order of the two nodes"));
}

/// A key that names an unknown node.
pub fn unknown_node(subject: &Subject<'_>, text: &Text, key: &str, found: &mut Found) {
    let at = subject.at(text.span);
    let d = Diagnostic::error("unknown-reference", at, format!("`{key}` refers to an unknown node `{}`", text.value));
    let uses = |n: &&Node<'_>| matches!(&n.kind, NodeKind::Agent(node) if node.agent.is_some_and(|agent| agent.value == text.value));
    let nodes: Vec<&str> = subject.manifest.nodes.iter().filter(uses).map(|n| &*n.id.value).collect();
    let is = |words: &[&str]| words.iter().any(|word| text.value.eq_ignore_ascii_case(word));
    let near = suggest::near(&text.value, subject.known.ids());
    found.push(match (nodes.as_slice(), near) {
        ([node], _) => {
            let near = suggest::Near { name: node, distance: usize::MAX, sure: false };
            respelt(d.help(format!("`{}` is an agent; its node is `{node}`", text.value)), at, text, near)
        }
        (_, Some(near)) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, text, near),
        _ if key == "to" && is(&ENDS) => d.help("remove this edge: a node without outgoing edges is an end"),
        _ if key == "from" && is(&BEGINNINGS) => d.help("remove this edge: a node without incoming edges is a start"),
        _ => d,
    });
}
