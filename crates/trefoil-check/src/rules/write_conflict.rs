//! Two nodes that write one path at the same time.

use trefoil_ir::{Flow, FlowId, Graph, SlotId, Source, StepId, StepKind, walk};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
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
    let writer = |slot: SlotId| {
        graph.nodes.iter().position(|n| program.step(n.step).is_some_and(|s| s.out == Some(slot)))
    };
    let mut pairs: Vec<(usize, usize, String)> = Vec::new();
    let mut look = |source: &Source| {
        let Source::Compose { parts, .. } = source else { return };
        for (at, second) in parts.iter().enumerate() {
            for first in parts.iter().take(at).filter(|p| p.at == second.at && !p.at.is_empty()) {
                let (Some(a), Some(b)) = (writer(first.slot), writer(second.slot)) else { continue };
                let pair = (a, b, second.at.join("."));
                if a != b && !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
    };
    for step in steps.iter().filter_map(|s| program.step(*s)) {
        walk::evaluated(step).into_iter().for_each(|e| e.sources(&mut look));
    }
    walk::evaluated_by_flow(flow).into_iter().for_each(|e| e.sources(&mut look));
    for (a, b, path) in pairs {
        let (Some(first), Some(second)) = (graph.nodes.get(a), graph.nodes.get(b)) else { continue };
        if !cx.model.reach().together(program, first.step, second.step) || !both_run(graph, a, b) {
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

/// Whether some node, whenever it runs, leads to both.
fn both_run(graph: &Graph, a: usize, b: usize) -> bool {
    let starts = (0..graph.nodes.len()).map(|s| vec![s]);
    let roots = graph.nodes.iter().enumerate();
    let roots = roots.filter(|(_, n)| n.incoming.is_empty() && n.fallback_of.is_empty()).map(|(i, _)| i).collect();
    std::iter::once(roots).chain(starts).any(|start: Vec<usize>| {
        let mut seen = vec![false; graph.nodes.len()];
        let mut stack = start;
        while let Some(at) = stack.pop() {
            match seen.get_mut(at) {
                Some(place) if !*place => *place = true,
                _ => continue,
            }
            let next = graph.nodes.iter().enumerate().filter(|(_, n)| {
                n.fallback_of.is_empty() && n.incoming.iter().any(|e| e.from.index() == at && e.when.is_none())
            });
            stack.extend(next.map(|(i, _)| i));
        }
        seen.get(a) == Some(&true) && seen.get(b) == Some(&true)
    })
}
