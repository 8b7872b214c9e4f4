//! Nodes in an order in which one destroys what another wrote: a text replaces an object, a value is written below a
//! text, or a value is replaced before it was read (`write-conflict`).

use std::cmp::Ordering;
use std::sync::Arc;

use trefoil_ir::types::Kind;
use trefoil_ir::{ComposedPart, DeclarationKind, FlowId, Graph, NodeId, Source};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, Location, Severity};

use crate::rule::Context;
use crate::semantic::Model;
use crate::semantic::meeting::overlap::{self, Overlap};
use crate::semantic::meeting::{Meeting, Meetings};
use crate::words;

/// The maximum number of earlier writers of a path with which each is compared.
const MOST: usize = 64;

/// Checks the nodes of every graph.
pub(super) fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for (flow, graph) in overlap::graphs(model) {
        lost(model, flow, graph).into_iter().for_each(|lost| report(cx, graph, &lost));
    }
}

/// One node destroys the value of another one.
struct LostWrite {
    first: NodeId,
    second: NodeId,
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

fn lost(model: &Model<'_>, flow: FlowId, graph: &Graph) -> Vec<LostWrite> {
    let single = |part: &ComposedPart| {
        let member: Vec<&str> = part.member.iter().map(|m| &**m).collect();
        let walk = model.types().source(flow, &Source::Slot(part.slot), &member, None);
        let kinds = walk.schema.solid_kinds();
        walk.schema.is_answer() || kinds.is_some_and(|kinds| !kinds.has(Kind::Object) && !kinds.has(Kind::List))
    };
    let (meetings, read) = (Meetings::of(graph), all_read(model, flow));
    let mut found: Vec<LostWrite> = Vec::new();
    let mut seen = HashSet::default();
    for mut overlaps in overlap::overlaps(model, flow, graph, MOST) {
        overlaps.sort_by_key(|overlap| overlap.at);
        for Overlap { nodes: (first, second), parts: (one, other), .. } in overlaps {
            let Some(Meeting::InOrder { follows }) = meetings.ordered(first, second) else { continue };
            let how = match one.at.len().cmp(&other.at.len()) {
                Ordering::Greater if single(other) => How::Above,
                Ordering::Less if single(one) => How::Below,
                Ordering::Equal if follows && !read.iter().any(|source| sees(source, one, other)) => How::Unread,
                _ => continue,
            };
            if seen.insert((first, second)) {
                found.push(LostWrite { first, second, path: one.at.join("."), over: other.at.join("."), how });
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

fn report(cx: &mut Context<'_>, graph: &Graph, lost: &LostWrite) {
    let program = cx.model.program;
    let steps = [lost.first, lost.second].map(|id| graph.nodes[id].step);
    let [one, other] = steps.map(|step| &program.steps[step]);
    let [first, second] = steps.map(|step| words::step(program, step));
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
