//! Nodes that wait for each other: because of edges and fallbacks, or because of template reads.

use trefoil_syntax::{Diagnostic, Location, Span};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{NodeFailurePolicy, NodeKind};
use trefoil_front::sirenspec::names::links::NodeEdge;
use trefoil_front::sirenspec::names::node_reads::NodeRead;

/// Checks the cycles that prevent an order of the nodes.
pub fn check_cycles(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    let knots = &subject.links.knots;
    knots.reads.iter().for_each(|ring| of_reads(subject, ring, found));
    knots.edges.iter().for_each(|ring| of_edges(subject, ring, found));
}

/// The pairs of consecutive nodes in a cycle.
fn steps(ring: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    ring.iter().copied().zip(ring.iter().skip(1).chain(ring.first()).copied())
}

fn of_edges(subject: &CheckedWorkflow<'_>, ring: &[usize], found: &mut FindingList) {
    let id = |at: usize| subject.known.node_id(at);
    let place = |(from, to): (usize, usize)| -> Option<(Location, String)> {
        if let Some(at) = falls_back(subject, from, to) {
            return Some((subject.location_of(at), format!("`{}` falls back to `{}`", id(from), id(to))));
        }
        let mut edges = subject.links.edges.iter().chain(&subject.links.idle);
        let edge = subject.manifest.edges.get(edges.find(|l: &&NodeEdge| l.from == from && l.to == to)?.edge)?;
        Some((subject.location_of(edge.node.span), format!("`{}` -> `{}`", edge.from.value, edge.to.value)))
    };
    let places: Vec<(Location, String)> = steps(ring).filter_map(place).collect();
    let start = ring.first().and_then(|at| subject.manifest.nodes.get(*at)).map(|n| subject.location_of(n.id.span));
    let Some(at) = places.last().map(|(at, _)| *at).or(start) else { return };
    let falls = steps(ring).any(|(from, to)| falls_back(subject, from, to).is_some());
    let (what, help) = match falls {
        true => ("the edges and a `fallback_node`", "a fallback cannot run before the node that it replaces"),
        false => ("the edges", "remove one of these edges: a workflow has no loops"),
    };
    let named: Vec<String> = ring.iter().chain(ring.first()).map(|at| format!("`{}`", id(*at))).collect();
    let message = format!("{what} form a cycle: {}", named.join(" -> "));
    let mut d = Diagnostic::new_error("edge-cycle", at, message).with_help(help);
    for (at, what) in places.iter().rev().skip(1).rev() {
        d = d.with_label(*at, what.clone());
    }
    found.push(d);
}

/// The place where a node declares its fallback.
fn falls_back(subject: &CheckedWorkflow<'_>, from: usize, to: usize) -> Option<Span> {
    subject.links.fallback.get(from).copied().flatten().filter(|f| *f == to)?;
    let NodeKind::Agent(agent) = &subject.manifest.nodes.get(from)?.kind else { return None };
    match agent.on_failure.as_ref().or(subject.manifest.defaults.on_failure.as_ref()) {
        Some(NodeFailurePolicy::Fallback(target)) => Some(target.span),
        _ => None,
    }
}

/// Nodes that read each other: reported at the reference that contradicts the order of edges or of the file.
fn of_reads(subject: &CheckedWorkflow<'_>, ring: &[usize], found: &mut FindingList) {
    let base = subject.links.knots.base.as_ref();
    let read = |(source, reader): (usize, usize)| {
        subject.links.reads.iter().find(|r| r.source == source && r.reader == reader)
    };
    let reads: Vec<&NodeRead> = steps(ring).filter_map(read).collect();
    let id = |at: usize| subject.known.node_id(at);
    let against = |r: &&&NodeRead| base.is_some_and(|order| order.ends_before(r.reader, r.source));
    let unordered = |r: &&&NodeRead| base.is_some_and(|order| !order.ends_before(r.source, r.reader));
    let first = reads.iter().find(against).or_else(|| reads.iter().find(unordered)).or(reads.first());
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
