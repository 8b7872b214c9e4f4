//! Two nodes that write the same path, or a path and one below it, at the same time.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

use trefoil_ir::{DeclarationKind, Facts, NameDeclaration, NodeId, Program, StepGraph};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location};

use super::{lost_write, value_replacements};
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::concurrency::overlap::WriteOverlap;
use crate::semantic::concurrency::{self, GraphConcurrency, NodeConcurrency};
use crate::words;

/// The maximum number of earlier writers of a path with which each is compared.
const MOST: usize = 16;

/// A path that several nodes write, and its writers in order.
type ConflictingPath = (Arc<str>, Vec<PathWriter>);

/// A node that writes a path.
struct PathWriter {
    node: Arc<str>,
    file: FileId,
    /// Whether it writes below the path.
    beneath: bool,
}

pub(super) const RULE: Rule = Rule {
    name: "write-conflict",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("write_conflict.md"),
    run: RuleSource::Several(&[
        RuleSource::Whole(run),
        RuleSource::Whole(lost_write::run),
        RuleSource::Program(value_replacements::check_branches),
        RuleSource::Program(value_replacements::check_node_results),
        RuleSource::Program(value_replacements::check_seeds),
    ]),
};

/// Two nodes that write to the same place, in the order in which their values are merged.
struct WriterPair {
    first: NodeId,
    second: NodeId,
    /// The path that the outer one writes.
    path: String,
    /// Which of them writes below that path, if one does.
    beneath: Option<NodeId>,
}

/// Checks the nodes of every graph.
fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    let written = written(model.facts);
    for (flow, graph) in concurrency::overlap::reachable_graphs(model) {
        let mut pairs = WriterPairs::default();
        for overlap in concurrency::overlap::find_overlaps(model, flow, graph, MOST).iter().flatten() {
            pairs.read(overlap);
        }
        pairs.named(model.program, graph, &written);
        let meetings = OnceCell::new();
        for pair in pairs.all {
            let meetings = meetings.get_or_init(|| GraphConcurrency::for_graph(graph));
            let values = match meetings.relation_of_pair(pair.first, pair.second) {
                NodeConcurrency::AtOnce => None,
                NodeConcurrency::With(values) => Some(values),
                NodeConcurrency::InOrder { .. }
                | NodeConcurrency::InReverse
                | NodeConcurrency::Never
                | NodeConcurrency::Either => continue,
            };
            cx.report_finding(conflict(cx, graph, &pair, values));
        }
    }
}

/// The pairs of nodes that write to the same place, each once.
#[derive(Default)]
struct WriterPairs {
    all: Vec<WriterPair>,
    seen: HashSet<(NodeId, NodeId)>,
}

impl WriterPairs {
    fn add(&mut self, first: NodeId, second: NodeId, path: &[Arc<str>], beneath: Option<NodeId>) {
        if first != second && self.seen.insert((first, second)) {
            self.all.push(WriterPair { first, second, path: path.join("."), beneath });
        }
    }

    /// Adds a pair whose merged values are read.
    fn read(&mut self, overlap: &WriteOverlap<'_>) {
        let ((first, second), (one, other)) = (overlap.nodes, overlap.parts);
        match one.at.len().cmp(&other.at.len()) {
            Ordering::Less => self.add(first, second, &one.at, Some(second)),
            Ordering::Equal => self.add(first, second, &one.at, None),
            Ordering::Greater => self.add(first, second, &other.at, Some(first)),
        }
    }

    /// Adds pairs that write the same path, whether or not it is read.
    fn named(&mut self, program: &Program, graph: &StepGraph, written: &[ConflictingPath]) {
        let named = named_nodes(program, graph);
        for (path, writers) in written {
            let path = std::slice::from_ref(path);
            let mut before: Vec<(NodeId, bool)> = Vec::new();
            for writer in writers {
                let Some(&b) = named.get(&(&*writer.node, writer.file)) else { continue };
                for &(a, beneath) in before.iter().rev().take(MOST) {
                    match (beneath, writer.beneath) {
                        // Two writes below the path are to different places.
                        (true, true) => {}
                        (true, false) => self.add(a, b, path, Some(a)),
                        (false, true) => self.add(a, b, path, Some(b)),
                        (false, false) => self.add(a, b, path, None),
                    }
                }
                before.push((b, writer.beneath));
            }
        }
    }
}

/// The nodes of a graph by their names and files; of two with one name, the first.
fn named_nodes<'p>(program: &'p Program, graph: &StepGraph) -> HashMap<(&'p str, FileId), NodeId> {
    let mut named = HashMap::default();
    for (id, node) in graph.nodes.entries() {
        let step = &program.steps[node.step];
        if let Some(label) = &step.label {
            named.entry((&**label, step.origin.file)).or_insert(id);
        }
    }
    named
}

/// The finding about two nodes that run at the same time. `values`: the values with which both run, if not always.
fn conflict(cx: &RuleContext<'_>, graph: &StepGraph, pair: &WriterPair, values: Option<String>) -> Diagnostic {
    let program = cx.model.program;
    let WriterPair { first, second, path, beneath } = pair;
    let (first, later) = (&graph.nodes[*first], &graph.nodes[*second]);
    let (one, two) = (words::step_name(program, first.step), words::step_name(program, later.step));
    let message = match beneath {
        None if values.is_some() => format!("{one} and {two} can both run and write `{path}` at the same time"),
        None => format!("{one} and {two} write `{path}` at the same time"),
        Some(at) => {
            let (outer, inner) = if at == second { (&one, &two) } else { (&two, &one) };
            format!("{outer} writes `{path}` and {inner} writes below it at the same time")
        }
    };
    let (at, other) = (&program.steps[later.step], &program.steps[first.step]);
    let label = if *beneath == Some(pair.first) { "writes below it" } else { "writes it too" };
    let mut finding = cx.new_finding(at.origin, message).with_label(other.origin, label);
    if values.is_some() {
        for edge in first.incoming.iter().chain(&later.incoming) {
            if let Some(cond) = &edge.when {
                finding = finding.with_label(cond.origin, "can be true together with the other");
            }
        }
    }
    let with = match values {
        Some(values) if !values.is_empty() => format!("both run with {values}; "),
        _ => String::new(),
    };
    let help = format!(
        "{with}{two} wins, because it is later in the file; write to different paths, or add an edge between them"
    );
    finding.with_help(help)
}

/// The paths that are written more than once, whether or not they are read: keys of shared state that several nodes
/// write, at least one of them as a whole.
fn written(facts: &Facts) -> Vec<ConflictingPath> {
    let mut places: HashMap<Location, Vec<Location>> = HashMap::default();
    for mention in &facts.mentions {
        if let Some(to) = mention.to
            && !mention.template
        {
            places.entry(to).or_default().push(mention.at);
        }
    }
    let (mut keys, mut nodes) = (Vec::new(), Vec::new());
    for declaration in &facts.declarations {
        match declaration.kind {
            DeclarationKind::Key => keys.push(declaration),
            DeclarationKind::Node => nodes.push(declaration),
            _ => {}
        }
    }
    // A segment that is followed by another one is written below.
    let mut starts: HashSet<(FileId, u32)> = HashSet::default();
    for key in &keys {
        starts.insert((key.at.file, key.at.span.start));
    }
    for at in places.values().flatten() {
        starts.insert((at.file, at.span.start));
    }
    let mut all = Vec::new();
    for key in keys {
        let Some(others) = places.get(&key.at) else { continue };
        let mut writers: Vec<PathWriter> = Vec::new();
        for at in std::iter::once(&key.at).chain(others) {
            let is_around = |node: &NameDeclaration| {
                node.at.file == at.file && node.extent.start <= at.span.start && at.span.end <= node.extent.end
            };
            if let Some(node) = nodes.iter().find(|node| is_around(node)) {
                let beneath = starts.contains(&(at.file, at.span.end + 1));
                writers.push(PathWriter { node: node.name.clone(), file: at.file, beneath });
            }
        }
        if writers.len() > 1 && writers.iter().any(|w| !w.beneath) {
            all.push((key.name.clone(), writers));
        }
    }
    all
}
