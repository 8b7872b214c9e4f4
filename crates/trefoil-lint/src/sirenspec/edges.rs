//! Edges with nodes that do not exist, and edges without effect.

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, suggestions};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{NodeKind, SirenEdge};
use trefoil_front::sirenspec::names::links::NodeEdge;
use trefoil_front::spelling_fixes::fix_spelling;

/// Names of other systems for the end and the start of a workflow.
const ENDS: [&str; 4] = ["end", "__end__", "finish", "done"];
const BEGINNINGS: [&str; 3] = ["start", "__start__", "begin"];

/// Checks the edges.
pub fn check_edges(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for edge in &subject.manifest.edges {
        for (end, key) in [(edge.from, "from"), (edge.to, "to")] {
            if subject.known.node_of(&end.value).is_none() {
                unknown_node(subject, end, key, found);
            }
        }
    }
    let links = subject.links;
    let mut all: Vec<(&NodeEdge, &SirenEdge<'_>)> = Vec::new();
    for link in [&links.edges, &links.idle].into_iter().flatten() {
        if let Some(edge) = subject.manifest.edges.get(link.edge) {
            all.push((link, edge));
        }
    }
    all.sort_unstable_by_key(|(link, _)| link.edge);
    let mut by_ends: HashMap<(usize, usize), ParallelEdges<'_, '_>> = HashMap::default();
    for (link, edge) in all {
        let same = by_ends.entry((link.from, link.to)).or_default();
        if !is_twin(subject, edge, same, found) {
            is_needless(subject, edge, same, found);
        }
        same.push(edge);
    }
    for link in &links.idle {
        idle(subject, link, found);
    }
}

/// The edges between two nodes.
#[derive(Default)]
struct ParallelEdges<'e, 'm> {
    /// The first one with each condition.
    by_condition: HashMap<Option<String>, &'e SirenEdge<'m>>,
    /// The first one that has a condition.
    conditional: Option<&'e SirenEdge<'m>>,
}

impl<'e, 'm> ParallelEdges<'e, 'm> {
    fn push(&mut self, edge: &'e SirenEdge<'m>) {
        self.by_condition.entry(condition(edge)).or_insert(edge);
        if self.conditional.is_none() && edge.when.is_some() {
            self.conditional = Some(edge);
        }
    }
}

fn condition(edge: &SirenEdge<'_>) -> Option<String> {
    edge.when.map(|when| when.value.trim().to_owned())
}

/// An edge that repeats an earlier one with the same condition.
fn is_twin(
    subject: &CheckedWorkflow<'_>,
    edge: &SirenEdge<'_>,
    same: &ParallelEdges<'_, '_>,
    found: &mut FindingList,
) -> bool {
    let Some(twin) = same.by_condition.get(&condition(edge)) else { return false };
    let message = format!("the edge from `{}` to `{}` is listed twice", edge.from.value, edge.to.value);
    let d = Diagnostic::new_warning("redundant", subject.location_of(edge.node.span), message);
    found.push(d.with_label(subject.location_of(twin.node.span), "the first one").with_help("remove one of them"));
    true
}

/// A conditional edge next to an unconditional one with the same nodes.
fn is_needless(
    subject: &CheckedWorkflow<'_>,
    edge: &SirenEdge<'_>,
    same: &ParallelEdges<'_, '_>,
    found: &mut FindingList,
) {
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
    let d = Diagnostic::new_warning("redundant", subject.location_of(when.span), message);
    found
        .push(d.with_label(subject.location_of(free.span), "this one is always taken").with_help("remove one of them"));
}

/// An edge to a fallback, which runs when its node fails, whatever edges it has.
fn idle(subject: &CheckedWorkflow<'_>, link: &NodeEdge, found: &mut FindingList) {
    let Some([main, ..]) = subject.links.fallback_of.get(link.to).map(Vec::as_slice) else { return };
    let Some(edge) = subject.manifest.edges.get(link.edge) else { return };
    let message = format!(
        "the edge to `{}` has no effect: that node runs only if `{}` fails",
        edge.to.value,
        subject.known.node_id(*main)
    );
    let d = Diagnostic::new_warning("redundant", subject.location_of(edge.node.span), message);
    found.push(d.with_help("remove it, or keep it only for the order of the two nodes"));
}

/// A key that names an unknown node.
pub fn unknown_node(subject: &CheckedWorkflow<'_>, text: &YamlText, key: &str, found: &mut FindingList) {
    let at = subject.location_of(text.span);
    let d =
        Diagnostic::new_error("unknown-reference", at, format!("`{key}` refers to an unknown node `{}`", text.value));
    let mut nodes: Vec<&str> = Vec::new();
    for node in &subject.manifest.nodes {
        if let NodeKind::Agent(agent_node) = &node.kind
            && let Some(agent) = agent_node.agent
            && agent.value == text.value
        {
            nodes.push(&node.id.value);
        }
    }
    let is = |words: &[&str]| words.iter().any(|word| text.value.eq_ignore_ascii_case(word));
    let near = suggestions::find_near_match(&text.value, subject.known.node_ids());
    found.push(match (nodes.as_slice(), near) {
        ([node], _) => {
            let near = suggestions::NearMatch { name: node, distance: usize::MAX, sure: false };
            fix_spelling(d.with_help(format!("`{}` is an agent; its node is `{node}`", text.value)), at, text, near)
        }
        (_, Some(near)) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, text, near),
        _ if key == "to" && is(&ENDS) => d.with_help("remove this edge: a node without outgoing edges is an end"),
        _ if key == "from" && is(&BEGINNINGS) => {
            d.with_help("remove this edge: a node without incoming edges is a start")
        }
        _ => d,
    });
}
