//! A value that is read where it is not written on any path: the result of a state that never runs before, or a key of
//! shared state that only such states write.

use trefoil_ir::{
    BindingFault, DeclarationKind, FlowId, GraphEdge, SlotId, Source, Step, StepGraph, StepId, StepKind,
    ValueExpression,
};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::concurrency::NodeOrder;
use crate::semantic::{ReadPresence, SemanticModel, ValueRead};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unordered-read",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Error),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unordered_read.md"),
    run: RuleSource::Program(run),
};

/// Checks every written path.
fn run(cx: &mut RuleContext<'_>) {
    let (model, results) = (cx.model, cx.model.state_result_slots());
    late(cx);
    let mut told = HashSet::default();
    for read in model.value_reads() {
        if read.reference.is_none() || read.defined != ReadPresence::Never {
            continue;
        }
        if matches!(read.source, Source::Missing(_, BindingFault::Late { .. })) {
            continue;
        }
        let d = match state_result(model, &results, read) {
            Some((name, state)) => unvisited(cx, read, &name, state),
            None => match key(model, read) {
                Some((name, at)) => unwritten(cx, read, name, at),
                None if is_error(model, read) => {
                    cx.report_finding(unfailed(cx, read));
                    continue;
                }
                None => continue,
            },
        };
        if told.insert(read.at) {
            cx.report_finding(Diagnostic { severity: FindingSeverity::Warning, ..d });
        }
    }
}

/// Reads of steps, branches and nodes that have not ended yet.
fn late(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for read in model.value_reads() {
        let Source::Missing(_, BindingFault::Late { name, writes, own }) = read.source else { continue };
        let path = read.path_text();
        let (message, help) = match surrounding_kind(model, read) {
            _ if *own => (
                format!("`{path}` is the output of the step that reads it, which has no value before it has run"),
                "read the output of a step that ends before it".to_owned(),
            ),
            Some(StepKind::Graph(graph)) => in_graph(model, read, graph, name, *writes),
            Some(StepKind::Parallel(_)) => (
                format!("`{name}` runs in parallel with this branch, so `{path}` is always empty"),
                "branches see the state as it was before them; use a sequential pipeline".to_owned(),
            ),
            _ => (
                format!("`{name}` has not run yet here, so `{path}` is always empty"),
                match model.format_words().until {
                    Some(until) => format!(
                        "a step sees only the steps before it; with `{until}` it sees the others from the second iteration on"
                    ),
                    None => "a step sees only the steps before it".to_owned(),
                },
            ),
        };
        cx.report_cause(cx.new_finding(read.at, message).with_help(help));
    }
}

/// What runs the reading step concurrently with others; for the condition of an edge, the graph that has the edge.
fn surrounding_kind<'p>(model: &SemanticModel<'p>, read: &ValueRead<'_>) -> Option<&'p StepKind> {
    let step = read.step?;
    let reader = &model.program.steps[step];
    if matches!(reader.kind, StepKind::Graph(_)) && reader.label.is_none() {
        return Some(&reader.kind);
    }
    let parent = model.parent_step(model.named_ancestor(step)?)?;
    Some(&model.program.steps[parent].kind)
}

/// A node, or the condition of an edge, that reads a node which does not end before it.
fn in_graph(
    model: &SemanticModel<'_>,
    read: &ValueRead<'_>,
    graph: &StepGraph,
    name: &str,
    writes: bool,
) -> (String, String) {
    let (who, help) = match edge_with_condition(graph, read.at) {
        Some(edge) => {
            let from = words::step_name(model.program, graph.nodes[edge.from].step);
            (format!("the condition on an edge from {from}"), format!("add an edge: `{name}` must end before {from}"))
        }
        None => {
            let who = reader_name(model, read);
            let help = order_advice(model, read, graph, name, &who);
            (who, help)
        }
    };
    let what = if writes { ", which writes it," } else { "" };
    (format!("{who} reads `{}`, but `{name}`{what} does not end before it", read.path_text()), help)
}

/// The edge whose condition contains a place.
fn edge_with_condition(graph: &StepGraph, place: Location) -> Option<&GraphEdge> {
    let contains =
        |at: Location| at.file == place.file && at.span.start <= place.span.start && place.span.end <= at.span.end;
    for node in graph.nodes.iter() {
        for edge in &node.incoming {
            if let Some(cond) = &edge.when
                && contains(cond.origin)
            {
                return Some(edge);
            }
        }
    }
    None
}

/// How a node that reads another one can run after it.
fn order_advice(
    model: &SemanticModel<'_>,
    read: &ValueRead<'_>,
    graph: &StepGraph,
    name: &str,
    reader: &str,
) -> String {
    if graph.nodes.iter().all(|node| node.incoming.is_empty()) {
        return format!("declare `{name}` first: without edges nodes run in the order of the file");
    }
    let other = graph.nodes.find_id(|node| model.program.steps[node.step].label.as_deref() == Some(name));
    if let Some(step) = reading_step(model, read)
        && let Some(node) = graph.nodes.find_id(|node| node.step == step)
        && let Some(other) = other
        && NodeOrder::from_graph(graph).is_before(node, other)
    {
        return format!("the edges lead from {reader} to `{name}`, not back");
    }
    format!("add an edge from `{name}` to {reader}")
}

fn unvisited(cx: &RuleContext<'_>, read: &ValueRead<'_>, name: &str, state: StepId) -> Diagnostic {
    let is_own = reading_step(cx.model, read) == Some(state);
    let (message, help) = match is_own {
        true => (
            format!("{name} reads its own result, which has no value before it has run"),
            "read the result of a state that ran before, or read this one in a transition",
        ),
        false => (
            format!(
                "`{}` never has a value here, because {name} never runs before {}",
                read.path_text(),
                reader_name(cx.model, read)
            ),
            "check the transitions, or the name",
        ),
    };
    cx.new_finding(read.at, message).with_help(help)
}

/// Whether the reason of the last failure is read.
fn is_error(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    let Source::Slot(slot) = read.source else { return false };
    model.steps_of(read.flow).iter().any(|(_, id)| match &model.program.steps[*id].kind {
        StepKind::StateMachine(machine) => machine.previous_error == Some(*slot),
        _ => false,
    })
}

/// Templates often show the reason just in case, so that is only information.
fn unfailed(cx: &RuleContext<'_>, read: &ValueRead<'_>) -> Diagnostic {
    let message =
        format!("`{}` is always empty in {}: no state fails before it", read.path_text(), reader_name(cx.model, read));
    let d = cx.new_finding(read.at, message).with_help("add a transition for failure that leads here, or remove it");
    Diagnostic { severity: FindingSeverity::Info, ..d }
}

fn unwritten(cx: &RuleContext<'_>, read: &ValueRead<'_>, key: &str, written: Location) -> Diagnostic {
    let message = format!("nothing writes `{key}` before {}, so it is always empty", reader_name(cx.model, read));
    cx.new_finding(read.at, message).with_label(written, "written here").with_help("check the transitions, or the name")
}

/// The state whose result is read, if it is one: its name and its step.
pub(super) fn state_result(
    model: &SemanticModel<'_>,
    results: &HashMap<(FlowId, SlotId), StepId>,
    read: &ValueRead<'_>,
) -> Option<(String, StepId)> {
    let (Source::Slot(_) | Source::Member(..) | Source::Either(..)) = read.source else { return None };
    let slots = read.source.slot_ids();
    let (first, others) = slots.split_first()?;
    if others.iter().any(|slot| slot != first) {
        return None;
    }
    let step = *results.get(&(read.flow, *first))?;
    Some((words::step_name(model.program, step), step))
}

/// The key that is read from an object that is written key by key, and where it is written first.
fn key<'p>(model: &SemanticModel<'p>, read: &ValueRead<'p>) -> Option<(&'p str, Location)> {
    let Source::Slot(slot) = read.source else { return None };
    let reference = read.reference?;
    let key = &*reference.path.get(usize::from(reference.binding.skip))?.name;
    let writer = key_writer(model, read.flow, *slot, key)?.origin;
    let mut first: Option<Location> = None;
    for declaration in &model.facts.declarations {
        let at = declaration.at;
        if declaration.kind == DeclarationKind::Key
            && &*declaration.name == key
            && at.file == writer.file
            && first.is_none_or(|first| at.span.start < first.span.start)
        {
            first = Some(at);
        }
    }
    Some((key, first.unwrap_or(writer)))
}

/// The first step that writes a key of an object.
fn key_writer<'p>(model: &SemanticModel<'p>, flow: FlowId, slot: SlotId, key: &str) -> Option<&'p Step> {
    for (_, id) in model.steps_of(flow) {
        let step = &model.program.steps[*id];
        let StepKind::Compute(ValueExpression::Merge(layers)) = &step.kind else { continue };
        if step.out != Some(slot) {
            continue;
        }
        for layer in layers {
            if let ValueExpression::Object(members) = layer
                && members.iter().any(|(name, _)| &**name == key)
            {
                return Some(step);
            }
        }
    }
    None
}

/// The named step that contains the reading step, which may be the step itself.
pub(super) fn reading_step(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> Option<StepId> {
    model.named_ancestor(read.step?)
}

/// Where something is read: a named step, or the end of the run.
pub(super) fn reader_name(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> String {
    match reading_step(model, read) {
        Some(step) => words::step_name(model.program, step),
        None => "the end".to_owned(),
    }
}
