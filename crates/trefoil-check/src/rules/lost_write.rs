//! Nodes in an order in which one destroys what another wrote: a text replaces an object, a value is written below a
//! text, or a value is replaced before it was read (`write-conflict`).

use std::sync::Arc;

use trefoil_ir::{ComposedPart, DeclarationKind, FlowId, Graph, NodeId, SlotId, Source, StepKind, types, walk};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, Location, Severity};

use crate::rule::Context;
use crate::semantic::Model;
use crate::semantic::flow::Order;
use crate::words;

/// The maximum number of writers of one path that are compared.
const MOST: usize = 64;

/// Checks the nodes of every graph.
pub(super) fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for &(flow, at) in model.steps() {
        let Some(StepKind::Graph(graph)) = model.program.step(at).map(|s| &s.kind) else { continue };
        if model.reach().is_called(flow) {
            lost(model, flow, graph).into_iter().for_each(|lost| report(cx, graph, &lost));
        }
    }
}

/// One node destroys the value of another one.
struct LostWrite {
    first: usize,
    second: usize,
    /// The path that the first node writes.
    path: String,
    /// The path that the second node writes.
    over: String,
    how: How,
}

#[derive(PartialEq, Clone, Copy)]
enum How {
    /// A value replaces an object that contains the written value.
    Above,
    /// A value is written below a text.
    Below,
    /// The same path, which was not read in between.
    Unread,
}

fn lost<'p>(model: &Model<'p>, flow: FlowId, graph: &Graph) -> Vec<LostWrite> {
    let slots = graph.nodes.iter().enumerate().filter_map(|(at, n)| Some((model.program.step(n.step)?.out?, at)));
    let writers: HashMap<SlotId, usize> = slots.collect();
    let mut composed: Vec<&'p [ComposedPart]> = Vec::new();
    let steps = model.steps_of(flow).iter().filter_map(|(_, id)| model.program.step(*id));
    let mut see = |source: &'p Source| {
        if let Source::Compose { parts, .. } = source {
            composed.push(parts);
        }
    };
    steps.flat_map(walk::evaluated).for_each(|e| e.sources(&mut see));
    let flow_itself = model.program.flow(flow);
    flow_itself.into_iter().flat_map(walk::evaluated_by_flow).for_each(|e| e.sources(&mut see));
    let order = Order::of(graph);
    let read = all_read(model, flow);
    let mut found: Vec<LostWrite> = Vec::new();
    let mut seen = HashSet::default();
    for parts in composed {
        for (i, one) in parts.iter().enumerate().take(MOST) {
            for other in parts.iter().skip(i + 1).take(MOST) {
                let (Some(&first), Some(&second)) = (writers.get(&one.slot), writers.get(&other.slot)) else {
                    continue;
                };
                if one.at.is_empty() || other.at.is_empty() || !order.precedes(first, second) {
                    continue;
                }
                let single = |part: &ComposedPart| {
                    let member: Vec<&str> = part.member.iter().map(|m| &**m).collect();
                    let walk = model.types().source(flow, &Source::Slot(part.slot), &member, None);
                    let kinds = types::solid_kinds(&walk.schema).filter(|k| !k.is_empty());
                    types::is_answer(&walk.schema)
                        || kinds.is_some_and(|kinds| !kinds.contains(&"object") && !kinds.contains(&"array"))
                };
                let is_over = |outer: &ComposedPart, inner: &ComposedPart| {
                    outer.at.len() < inner.at.len() && inner.at.starts_with(&outer.at)
                };
                let how = if is_over(other, one) && single(other) {
                    How::Above
                } else if is_over(one, other) && single(one) {
                    How::Below
                } else if one.at == other.at
                    && always_follows(graph, first, second)
                    && !read.iter().any(|source| sees(source, one, other))
                {
                    How::Unread
                } else {
                    continue;
                };
                if seen.insert((first, second)) {
                    found.push(LostWrite { first, second, path: one.at.join("."), over: other.at.join("."), how });
                }
            }
        }
    }
    found
}

/// Everything that the flow reads, including the message that a node gets from its predecessor.
fn all_read<'p>(model: &Model<'p>, flow: FlowId) -> Vec<&'p Source> {
    model.reads_of(flow).iter().map(|read| read.source).collect()
}

/// Whether a read sees the value of one part before another part replaces it.
fn sees(source: &Source, part: &ComposedPart, over: &ComposedPart) -> bool {
    let mut found = false;
    source.tried(&mut |source| {
        found |= match source {
            Source::Compose { parts, .. } => parts.contains(part) && !parts.contains(over),
            Source::Slot(slot) | Source::Member(slot, _) => *slot == part.slot,
            _ => false,
        };
    });
    found
}

/// Whether a node runs in every run after another node has run.
fn always_follows(graph: &Graph, first: usize, second: usize) -> bool {
    let mut stack = vec![second];
    let mut seen = HashSet::default();
    while let Some(at) = stack.pop() {
        if at == first || !seen.insert(at) {
            continue;
        }
        let Some(node) = graph.nodes.get(at) else { return false };
        if !node.fallback_of.is_empty() || node.incoming.iter().any(|edge| edge.when.is_some()) {
            return false;
        }
        stack.extend(node.incoming.iter().map(|edge| NodeId::index(edge.from)));
    }
    graph.nodes.get(first).is_some_and(|node| node.fallback_of.is_empty())
}

fn report(cx: &mut Context<'_>, graph: &Graph, lost: &LostWrite) {
    let program = cx.model.program;
    let node = |at: usize| graph.nodes.get(at).map(|node| node.step);
    let (Some(first), Some(second)) = (node(lost.first), node(lost.second)) else { return };
    let (Some(one), Some(other)) = (program.step(first), program.step(second)) else { return };
    let [first, second] = [first, second].map(|step| words::step(program, step));
    let (path, over) = (&lost.path, &lost.over);
    let (message, help) = match lost.how {
        How::Above => {
            (format!("{second} writes `{over}`, which destroys `{path}` of {first}"), "write to a different path")
        }
        How::Below => (
            format!("{second} writes below `{path}`, which destroys the value from {first}"),
            "write to a path that is not below the value of another node",
        ),
        How::Unread => (
            format!("{second} overwrites `{path}` of {first} before anything has read it"),
            "write to a different path, or read the value first",
        ),
    };
    let place = |step: &trefoil_ir::Step, path: &str| written(cx.model, step.origin, path).unwrap_or(step.origin);
    let (here, there) = (place(other, over), place(one, path));
    let severity = if lost.how == How::Unread { Severity::Info } else { Severity::Warning };
    let d = Diagnostic { severity, ..cx.finding(here, message) };
    cx.report(d.label(there, "written here").help(help));
}

/// Where a node writes a path: its last name, within the node.
pub(super) fn written(model: &Model<'_>, node: Location, path: &str) -> Option<Location> {
    let facts = model.facts;
    let extent = facts.declarations.iter().find(|d| d.kind == DeclarationKind::Node && d.at == node)?.extent;
    let last: Arc<str> = path.rsplit('.').next()?.into();
    let inside = |at: &Location| at.file == node.file && extent.start <= at.span.start && at.span.end <= extent.end;
    let keys = facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Key && d.name == last);
    let places: Vec<Location> = keys.map(|d| d.at).collect();
    let mentions = facts.mentions.iter().filter(|m| !m.template && m.to.is_some_and(|to| places.contains(&to)));
    let all = places.iter().copied().chain(mentions.map(|m| m.at));
    all.filter(inside).min_by_key(|at| at.span.start)
}
