//! Two nodes that write one path at the same time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use trefoil_ir::{Flow, FlowId, Graph, SlotId, Source, StepId, StepKind, walk};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::flow::Order;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "write-conflict",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("write_conflict.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for (index, flow) in program.flows.iter().enumerate() {
        let id = FlowId(index as u32);
        if !cx.model.reach().is_called(id) {
            continue;
        }
        let steps: Vec<StepId> =
            walk::reachable(program, id).into_iter().filter(|(f, _)| *f == id).map(|(_, s)| s).collect();
        for graph in steps.iter().filter_map(|s| match &program.step(*s)?.kind {
            StepKind::Graph(graph) => Some(graph),
            _ => None,
        }) {
            conflicts(cx, flow, graph, &steps);
        }
    }
}

fn conflicts(cx: &mut Context<'_>, flow: &Flow, graph: &Graph, steps: &[StepId]) {
    let program = cx.model.program;
    let slots = graph.nodes.iter().enumerate().filter_map(|(at, n)| Some((program.step(n.step)?.out?, at)));
    let writers: HashMap<SlotId, usize> = slots.collect();
    let writer = |slot: SlotId| writers.get(&slot).copied();
    let mut pairs: Vec<(usize, usize, String)> = Vec::new();
    let mut seen = HashSet::new();
    let mut look = |source: &Source| {
        let Source::Compose { parts, .. } = source else { return };
        let mut last: HashMap<&[Arc<str>], usize> = HashMap::new();
        for part in parts.iter().filter(|p| !p.at.is_empty()) {
            let Some(b) = writer(part.slot) else { continue };
            if let Some(a) = last.insert(&part.at, b).filter(|a| *a != b)
                && seen.insert((a, b))
            {
                pairs.push((a, b, part.at.join(".")));
            }
        }
    };
    for step in steps.iter().filter_map(|s| program.step(*s)) {
        walk::evaluated(step).into_iter().for_each(|e| e.sources(&mut look));
    }
    walk::evaluated_by_flow(flow).into_iter().for_each(|e| e.sources(&mut look));
    if pairs.is_empty() {
        return;
    }
    let order = Order::of(graph);
    for (a, b, path) in pairs {
        let (Some(first), Some(second)) = (graph.nodes.get(a), graph.nodes.get(b)) else { continue };
        if order.precedes(a, b) || order.precedes(b, a) || !both_run(graph, &order, a, b) {
            continue;
        }
        let names = [first, second].map(|n| words::step(program, n.step));
        let [one, two] = names;
        let message = format!("{one} and {two} write `{path}` at the same time");
        let (Some(at), Some(other)) = (program.step(second.step), program.step(first.step)) else { continue };
        let finding = cx.finding(at.origin, message).label(other.origin, "writes it too");
        cx.report(finding.help(format!("{two} wins, as it stands later; write to two paths, or order the two by an edge")));
    }
}

/// Whether some node, or the beginning, whenever it runs, leads to both.
fn both_run(graph: &Graph, order: &Order, a: usize, b: usize) -> bool {
    let mut next = vec![Vec::new(); graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.fallback_of.is_empty()) {
        for edge in node.incoming.iter().filter(|e| e.when.is_none()) {
            if let Some(list) = next.get_mut(edge.from.index()) {
                list.push(at);
            }
        }
    }
    let roots = graph.nodes.iter().enumerate();
    let roots = roots.filter(|(_, n)| n.incoming.is_empty() && n.fallback_of.is_empty()).map(|(i, _)| i).collect();
    let common = (0..graph.nodes.len()).filter(|n| order.precedes(*n, a) && order.precedes(*n, b)).map(|n| vec![n]);
    std::iter::once(roots).chain(common).any(|start: Vec<usize>| {
        let mut seen = vec![false; graph.nodes.len()];
        let mut stack = start;
        while let Some(at) = stack.pop() {
            match seen.get_mut(at) {
                Some(place) if !*place => *place = true,
                _ => continue,
            }
            stack.extend(next.get(at).into_iter().flatten());
        }
        seen.get(a) == Some(&true) && seen.get(b) == Some(&true)
    })
}
