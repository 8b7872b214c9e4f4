//! Nodes in an order in which one destroys what another wrote: a text replaces an object, a value is written below a
//! text, or a value is replaced before it was read (`write-conflict`).

use std::cmp::Ordering;

use trefoil_ir::types::ValueKind;
use trefoil_ir::{ComposedPart, DeclarationKind, FlowId, NodeId, Source, StepGraph, StepId};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};

use crate::rule::RuleContext;
use crate::semantic::SemanticModel;
use crate::semantic::concurrency::overlap::{self, WriteOverlap};
use crate::semantic::concurrency::{GraphConcurrency, NodeConcurrency};
use crate::words;

/// The maximum number of earlier writers of a path with which each is compared.
const MOST: usize = 64;

/// Checks the nodes of every graph.
pub(super) fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, graph) in overlap::reachable_graphs(model) {
        for lost in lost(model, flow, graph) {
            report(cx, graph, &lost);
        }
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
    how: LostWriteKind,
}

#[derive(PartialEq, Clone, Copy)]
enum LostWriteKind {
    /// A value replaces an object that contains the written value.
    Above,
    /// A value is written below a text.
    Below,
    /// The same path, which was not read in between.
    Unread,
}

fn lost(model: &SemanticModel<'_>, flow: FlowId, graph: &StepGraph) -> Vec<LostWrite> {
    let (meetings, read) = (GraphConcurrency::for_graph(graph), all_read(model, flow));
    let mut found: Vec<LostWrite> = Vec::new();
    let mut seen = HashSet::default();
    for mut overlaps in overlap::find_overlaps(model, flow, graph, MOST) {
        overlaps.sort_by_key(|overlap| overlap.at);
        for WriteOverlap { nodes: (first, second), parts: (one, other), .. } in overlaps {
            let Some(NodeConcurrency::InOrder { follows }) = meetings.order_of_pair(first, second) else { continue };
            let how = match one.at.len().cmp(&other.at.len()) {
                Ordering::Greater if is_single_value(model, flow, other) => LostWriteKind::Above,
                Ordering::Less if is_single_value(model, flow, one) => LostWriteKind::Below,
                Ordering::Equal if follows && !read.iter().any(|source| sees(source, one, other)) => {
                    LostWriteKind::Unread
                }
                _ => continue,
            };
            if seen.insert((first, second)) {
                found.push(LostWrite { first, second, path: one.at.join("."), over: other.at.join("."), how });
            }
        }
    }
    found
}

/// Whether a written value has no members or items, judging by its type.
fn is_single_value(model: &SemanticModel<'_>, flow: FlowId, part: &ComposedPart) -> bool {
    let member: Vec<&str> = part.member.iter().map(|m| &**m).collect();
    let walk = model.program_types().source_type(flow, &Source::Slot(part.slot), &member, None);
    if walk.schema.is_answer() {
        return true;
    }
    match walk.schema.solid_kinds() {
        Some(kinds) => !kinds.contains(ValueKind::Object) && !kinds.contains(ValueKind::List),
        None => false,
    }
}

/// Everything that the flow reads, including the message that a node gets from its predecessor.
fn all_read<'p>(model: &SemanticModel<'p>, flow: FlowId) -> Vec<&'p Source> {
    model.reads_of(flow).iter().map(|read| read.source).collect()
}

/// Whether a read sees the value of one part before another part replaces it.
fn sees(source: &Source, part: &ComposedPart, over: &ComposedPart) -> bool {
    let mut found = false;
    source.visit_alternatives(&mut |source| {
        found |= match source {
            Source::Compose { parts, .. } => parts.contains(part) && !parts.contains(over),
            Source::Slot(slot) | Source::Member(slot, _) => *slot == part.slot,
            _ => false,
        };
    });
    found
}

fn report(cx: &mut RuleContext<'_>, graph: &StepGraph, lost: &LostWrite) {
    let program = cx.model.program;
    let (one, other) = (graph.nodes[lost.first].step, graph.nodes[lost.second].step);
    let (first, second) = (words::step_name(program, one), words::step_name(program, other));
    let (path, over) = (&lost.path, &lost.over);
    let (message, help) = match lost.how {
        LostWriteKind::Above => {
            (format!("{second} writes `{over}`, which destroys `{path}` of {first}"), "write to a different path")
        }
        LostWriteKind::Below => (
            format!("{second} writes below `{path}`, which destroys the value from {first}"),
            "write to a path that is not below the value of another node",
        ),
        LostWriteKind::Unread => (
            format!("{second} overwrites `{path}` of {first} before anything has read it"),
            "write to a different path, or read the value first",
        ),
    };
    let place = |step: StepId, path: &str| {
        let node = program.steps[step].origin;
        find_write_location(cx.model, node, path).unwrap_or(node)
    };
    let (here, there) = (place(other, over), place(one, path));
    let severity = if lost.how == LostWriteKind::Unread { FindingSeverity::Info } else { FindingSeverity::Warning };
    let d = Diagnostic { severity, ..cx.new_finding(here, message) };
    cx.report_finding(d.with_label(there, "written here").with_help(help));
}

/// Where a node writes a path: its last name, within the node.
pub(super) fn find_write_location(model: &SemanticModel<'_>, node: Location, path: &str) -> Option<Location> {
    let facts = model.facts;
    let extent = facts.declarations.iter().find(|d| d.kind == DeclarationKind::Node && d.at == node)?.extent;
    let last = path.rsplit('.').next()?;
    let mut keys = Vec::new();
    for declaration in &facts.declarations {
        if declaration.kind == DeclarationKind::Key && *declaration.name == *last {
            keys.push(declaration.at);
        }
    }
    let mut places = keys.clone();
    for mention in &facts.mentions {
        if let Some(to) = mention.to
            && !mention.template
            && keys.contains(&to)
        {
            places.push(mention.at);
        }
    }
    places.retain(|at| at.file == node.file && extent.start <= at.span.start && at.span.end <= extent.end);
    places.into_iter().min_by_key(|at| at.span.start)
}
