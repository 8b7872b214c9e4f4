//! Two nodes that write one path, or a path and one beneath it, at the same time.

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{DeclarationKind, Facts, Flow, FlowId, Graph, SlotId, Source, StepId, StepKind, walk};
use trefoil_syntax::{FileId, Location, Span};

use crate::rule::Context;
use crate::semantic::flow::Order;
use crate::semantic::together::Together;
use crate::words;

/// With how many earlier writers of one path each is compared.
const MOST: usize = 16;

/// A path that several nodes write, and who writes it, in order.
type Written = (Arc<str>, Vec<Writer>);

/// A node that writes a path.
struct Writer {
    node: Arc<str>,
    file: FileId,
    /// It writes something beneath the path.
    beneath: bool,
}

/// Two nodes that write to one place, in the order in which their values are laid over each other.
struct Pair {
    first: usize,
    second: usize,
    /// What the outer one of them writes.
    path: String,
    /// Which of them writes beneath that, if one does.
    beneath: Option<usize>,
}

/// Looks at nodes of a graph; branches that share a key keep a program from loading.
pub(super) fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let written = written(cx.model.facts);
    for &(id, at) in cx.model.steps() {
        let Some(StepKind::Graph(graph)) = program.step(at).map(|s| &s.kind) else { continue };
        let Some(flow) = program.flow(id).filter(|_| cx.model.reach().is_called(id)) else { continue };
        conflicts(cx, flow, graph, cx.model.steps_of(id), &written);
    }
}

fn conflicts(cx: &mut Context<'_>, flow: &Flow, graph: &Graph, steps: &[(FlowId, StepId)], written: &[Written]) {
    let program = cx.model.program;
    let slots = graph.nodes.iter().enumerate().filter_map(|(at, n)| Some((program.step(n.step)?.out?, at)));
    let writers: HashMap<SlotId, usize> = slots.collect();
    let writer = |slot: SlotId| writers.get(&slot).copied();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut seen = HashSet::default();
    let mut pair = |first: usize, second: usize, path: &dyn Fn() -> String, beneath: Option<usize>| {
        if first != second && seen.insert((first, second)) {
            pairs.push(Pair { first, second, path: path(), beneath });
        }
    };
    let mut look = |source: &Source| {
        let Source::Compose { parts, .. } = source else { return };
        // The nodes that wrote a path, and those that wrote something beneath it.
        let mut whole: HashMap<&[Arc<str>], Vec<usize>> = HashMap::default();
        let mut inner: HashMap<&[Arc<str>], Vec<usize>> = HashMap::default();
        let latest = |all: Option<&Vec<usize>>| all.into_iter().flatten().rev().take(MOST).copied().collect::<Vec<_>>();
        for part in parts.iter().filter(|p| !p.at.is_empty()) {
            let Some(b) = writer(part.slot) else { continue };
            let path = || part.at.join(".");
            for a in latest(whole.get(&*part.at)) {
                pair(a, b, &path, None);
            }
            for a in latest(inner.get(&*part.at)) {
                pair(a, b, &path, Some(a));
            }
            whole.entry(&part.at).or_default().push(b);
            for outer in (1..part.at.len()).filter_map(|n| part.at.get(..n)) {
                for a in latest(whole.get(outer)) {
                    pair(a, b, &|| outer.join("."), Some(b));
                }
                inner.entry(outer).or_default().push(b);
            }
        }
    };
    for step in steps.iter().filter_map(|(_, s)| program.step(*s)) {
        walk::evaluated(step).into_iter().for_each(|e| e.sources(&mut look));
    }
    walk::evaluated_by_flow(flow).into_iter().for_each(|e| e.sources(&mut look));
    let named = graph.nodes.iter().enumerate().rev();
    let named: HashMap<(&str, FileId), usize> = named
        .filter_map(|(at, n)| program.step(n.step).and_then(|s| Some(((&**s.label.as_ref()?, s.origin.file), at))))
        .collect();
    for (path, writers) in written {
        let mut before: Vec<(usize, bool)> = Vec::new();
        for one in writers {
            let Some(&b) = named.get(&(&*one.node, one.file)) else { continue };
            for &(a, beneath) in before.iter().rev().take(MOST) {
                match (beneath, one.beneath) {
                    // What two write beneath it are two places.
                    (true, true) => {}
                    (true, false) => pair(a, b, &|| path.to_string(), Some(a)),
                    (false, true) => pair(a, b, &|| path.to_string(), Some(b)),
                    (false, false) => pair(a, b, &|| path.to_string(), None),
                }
            }
            before.push((b, one.beneath));
        }
    }
    if pairs.is_empty() {
        return;
    }
    let order = Order::of(graph);
    let mut together: Option<Option<Together<'_>>> = None;
    for Pair { first: a, second: b, path, beneath } in pairs {
        let (Some(first), Some(second)) = (graph.nodes.get(a), graph.nodes.get(b)) else { continue };
        if order.precedes(a, b) || order.precedes(b, a) {
            continue;
        }
        // In every run that comes so far, or with some values only.
        let values = if both_run(graph, &order, a, b) {
            None
        } else {
            let tried = together.get_or_insert_with(|| Together::of(graph)).as_ref();
            let Some(values) = tried.and_then(|t| t.both(a, b)) else { continue };
            Some(values)
        };
        let names = [first, second].map(|n| words::step(program, n.step));
        let [one, two] = names;
        let message = match beneath {
            None if values.is_some() => format!("{one} and {two} can both run and write `{path}` at the same time"),
            None => format!("{one} and {two} write `{path}` at the same time"),
            Some(at) => {
                let (outer, inner) = if at == b { (&one, &two) } else { (&two, &one) };
                format!("{outer} writes `{path}` and {inner} writes below it at the same time")
            }
        };
        let (Some(at), Some(other)) = (program.step(second.step), program.step(first.step)) else { continue };
        let label = if beneath == Some(a) { "writes below it" } else { "writes it too" };
        let mut finding = cx.finding(at.origin, message).label(other.origin, label);
        if values.is_some() {
            for cond in [first, second].iter().flat_map(|n| &n.incoming).filter_map(|e| e.when.as_ref()) {
                finding = finding.label(cond.origin, "can be true together with the other");
            }
        }
        let with = values.filter(|v| !v.is_empty()).map(|v| format!("both run with {v}; ")).unwrap_or_default();
        let help = format!(
            "{with}{two} wins, because it is later in the file; write to different paths, or add an edge between them"
        );
        cx.report(finding.help(help));
    }
}

/// What is written more than once, whether or not somebody reads it: keys of shared state that more than one node names,
/// and that one of them writes as a whole.
fn written(facts: &Facts) -> Vec<Written> {
    let mut places: HashMap<Location, Vec<Location>> = HashMap::default();
    for mention in facts.mentions.iter().filter(|m| !m.template) {
        if let Some(to) = mention.to {
            places.entry(to).or_default().push(mention.at);
        }
    }
    let keys = || facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Key);
    // A segment with another one behind its dot is written beneath.
    let starts: HashSet<(FileId, u32)> =
        keys().map(|d| d.at).chain(places.values().flatten().copied()).map(|at| (at.file, at.span.start)).collect();
    let nodes: Vec<_> = facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Node).collect();
    let mut all = Vec::new();
    for key in keys() {
        let Some(others) = places.get(&key.at) else { continue };
        let mut writers: Vec<Writer> = Vec::new();
        for at in std::iter::once(&key.at).chain(others) {
            let inside = |span: Span| span.start <= at.span.start && at.span.end <= span.end;
            let node = nodes.iter().find(|n| n.at.file == at.file && inside(n.extent));
            if let Some(node) = node {
                let beneath = starts.contains(&(at.file, at.span.end + 1));
                writers.push(Writer { node: node.name.clone(), file: at.file, beneath });
            }
        }
        if writers.len() > 1 && writers.iter().any(|w| !w.beneath) {
            all.push((key.name.clone(), writers));
        }
    }
    all
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
