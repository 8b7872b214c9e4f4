//! Nodes that wait for each other: because of edges and fallbacks, or because of template reads.

use trefoil_syntax::{Diagnostic, Location, Span};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{NodeFailurePolicy, NodeKind, SirenEdge};
use trefoil_front::sirenspec::names::node_reads::NodeRead;

/// Checks the cycles that prevent an order of the nodes.
pub fn check_cycles(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    let knots = &subject.links.knots;
    for ring in &knots.reads {
        of_reads(subject, ring, found);
    }
    for ring in &knots.edges {
        of_edges(subject, ring, found);
    }
}

/// The pairs of consecutive nodes in a cycle.
fn steps(ring: &[usize]) -> Vec<(usize, usize)> {
    let mut steps: Vec<(usize, usize)> = ring.array_windows().map(|[from, to]| (*from, *to)).collect();
    if let (Some(last), Some(first)) = (ring.last(), ring.first()) {
        steps.push((*last, *first));
    }
    steps
}

fn of_edges(subject: &CheckedWorkflow<'_>, ring: &[usize], found: &mut FindingList) {
    let id = |at: usize| subject.known.node_id(at);
    let mut has_fallback = false;
    let mut places: Vec<(Location, String)> = Vec::new();
    for (from, to) in steps(ring) {
        if let Some(at) = falls_back(subject, from, to) {
            has_fallback = true;
            places.push((subject.location_of(at), format!("`{}` falls back to `{}`", id(from), id(to))));
        } else if let Some(edge) = edge_between(subject, from, to) {
            let what = format!("`{}` -> `{}`", edge.from.value, edge.to.value);
            places.push((subject.location_of(edge.node.span), what));
        }
    }
    let at = match (places.pop(), ring.first()) {
        (Some((at, _)), _) => at,
        (None, Some(first)) => match subject.manifest.nodes.get(*first) {
            Some(node) => subject.location_of(node.id.span),
            None => return,
        },
        (None, None) => return,
    };
    let (what, help) = if has_fallback {
        ("the edges and a `fallback_node`", "a fallback cannot run before the node that it replaces")
    } else {
        ("the edges", "remove one of these edges: a workflow has no loops")
    };
    let mut named: Vec<String> = ring.iter().map(|at| format!("`{}`", id(*at))).collect();
    named.extend(named.first().cloned());
    let message = format!("{what} form a cycle: {}", named.join(" -> "));
    let mut d = Diagnostic::new_error("edge-cycle", at, message).with_help(help);
    for (at, what) in places {
        d = d.with_label(at, what);
    }
    found.push(d);
}

/// The first edge between two nodes.
fn edge_between<'s>(subject: &CheckedWorkflow<'s>, from: usize, to: usize) -> Option<&'s SirenEdge<'s>> {
    let links = [&subject.links.edges, &subject.links.idle];
    let link = links.into_iter().flatten().find(|link| link.from == from && link.to == to)?;
    subject.manifest.edges.get(link.edge)
}

/// The place where a node declares its fallback.
fn falls_back(subject: &CheckedWorkflow<'_>, from: usize, to: usize) -> Option<Span> {
    if *subject.links.fallback.get(from)? != Some(to) {
        return None;
    }
    let NodeKind::Agent(agent) = &subject.manifest.nodes.get(from)?.kind else { return None };
    match agent.on_failure.as_ref().or(subject.manifest.defaults.on_failure.as_ref()) {
        Some(NodeFailurePolicy::Fallback(target)) => Some(target.span),
        _ => None,
    }
}

/// Nodes that read each other: reported at the reference that contradicts the order of edges or of the file.
fn of_reads(subject: &CheckedWorkflow<'_>, ring: &[usize], found: &mut FindingList) {
    let mut reads: Vec<&NodeRead> = Vec::new();
    for (source, reader) in steps(ring) {
        reads.extend(subject.links.reads.iter().find(|read| read.source == source && read.reader == reader));
    }
    let id = |at: usize| subject.known.node_id(at);
    let mut first = reads.first();
    if let Some(order) = &subject.links.knots.base {
        let against = reads.iter().find(|read| order.ends_before(read.reader, read.source));
        let unordered = || reads.iter().find(|read| !order.ends_before(read.source, read.reader));
        first = against.or_else(unordered).or(first);
    }
    let Some(first) = first else { return };
    let who: Vec<String> = ring.iter().map(|at| format!("`{}`", id(*at))).collect();
    let message =
        format!("InterpolationError [circular_ref]: circular template reference among the nodes {}", who.join(", "));
    let mut d = Diagnostic::new_error("circular-ref", first.at, message)
        .with_help("remove one of these references: a node can read only nodes that ended before it");
    for read in &reads {
        d = d.with_label(read.at, format!("`{}` reads `{}` of `{}`", id(read.reader), read.path, id(read.source)));
    }
    found.push(d);
}
