//! A value that is read where it is not written on any path: the result of a state that never runs before, or a key of
//! shared state that only such states write.

use trefoil_ir::{BoundCondition, DeclarationKind, ValueExpression, FlowId, StepGraph, BindingFault, SlotId, Source, Step, StepId, StepKind};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
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
    for read in model.value_reads().iter().filter(|r| r.reference.is_some() && r.defined == ReadPresence::Never) {
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
        let around = read.step.and_then(|step| around(model, step));
        let path = read.path_text();
        let (message, help) = match around.map(|around| &around.kind) {
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

/// The step that runs a step concurrently with others; the step itself for the condition of an edge.
fn around<'p>(model: &SemanticModel<'p>, step: StepId) -> Option<&'p Step> {
    let own = &model.program.steps[step];
    if matches!(own.kind, StepKind::Graph(_)) && own.label.is_none() {
        return Some(own);
    }
    model.parent_step(model.named_ancestor(step)?).map(|parent| &model.program.steps[parent])
}

/// A node, or the condition of an edge, that reads a node which does not end before it.
fn in_graph(model: &SemanticModel<'_>, read: &ValueRead<'_>, graph: &StepGraph, name: &str, writes: bool) -> (String, String) {
    let program = model.program;
    let path = read.path_text();
    let (file, span) = (read.at.file, read.at.span);
    let is_here = |cond: &BoundCondition| {
        let at = cond.origin;
        at.file == file && at.span.start <= span.start && span.end <= at.span.end
    };
    let edges = || graph.nodes.iter().flat_map(|node| &node.incoming);
    let edge = edges().find(|edge| edge.when.as_ref().is_some_and(is_here));
    let (who, help) = match edge {
        Some(edge) => {
            let from = words::step_name(program, graph.nodes[edge.from].step);
            (format!("the condition on an edge from {from}"), format!("add an edge: `{name}` must end before {from}"))
        }
        None => {
            let who = reader_name(model, read);
            let reader = read.step.and_then(|step| model.named_ancestor(step));
            let reader = reader.and_then(|reader| graph.nodes.find_id(|node| node.step == reader));
            let other = graph.nodes.find_id(|node| program.steps[node.step].label.as_deref() == Some(name));
            let order = NodeOrder::from_graph(graph);
            let help = if edges().next().is_none() {
                format!("declare `{name}` first: without edges nodes run in the order of the file")
            } else if reader.zip(other).is_some_and(|(reader, other)| order.is_before(reader, other)) {
                format!("the edges lead from {who} to `{name}`, not back")
            } else {
                format!("add an edge from `{name}` to {who}")
            };
            (who, help)
        }
    };
    let what = if writes { ", which writes it," } else { "" };
    (format!("{who} reads `{path}`, but `{name}`{what} does not end before it"), help)
}

fn unvisited(cx: &RuleContext<'_>, read: &ValueRead<'_>, name: &str, state: StepId) -> Diagnostic {
    let own = read.step.and_then(|step| cx.model.named_ancestor(step)) == Some(state);
    let (message, help) = match own {
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
    let message = format!("`{}` is always empty in {}: no state fails before it", read.path_text(), reader_name(cx.model, read));
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
    let slot = slots.first().filter(|first| slots.iter().all(|slot| slot == *first))?;
    let step = *results.get(&(read.flow, *slot))?;
    Some((words::step_name(model.program, step), step))
}

/// The key that is read from an object that is written key by key, and where it is written first.
fn key<'p>(model: &SemanticModel<'p>, read: &ValueRead<'p>) -> Option<(&'p str, Location)> {
    let Source::Slot(slot) = read.source else { return None };
    let reference = read.reference?;
    let key = &*reference.path.get(usize::from(reference.binding.skip))?.name;
    let writes =
        |value: &ValueExpression| matches!(value, ValueExpression::Object(members) if members.iter().any(|(name, _)| &**name == key));
    let steps = model.steps_of(read.flow).iter().map(|(_, id)| &model.program.steps[*id]);
    let mut writers = steps.filter(|step| match &step.kind {
        StepKind::Compute(ValueExpression::Merge(layers)) => step.out == Some(*slot) && layers.iter().any(writes),
        _ => false,
    });
    let writer = writers.next()?.origin;
    let declared = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Key && &*d.name == key);
    let declared = declared.map(|d| d.at).filter(|at| at.file == writer.file).min_by_key(|at| at.span.start);
    Some((key, declared.unwrap_or(writer)))
}

/// Where something is read: a named step, or the end of the run.
pub(super) fn reader_name(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> String {
    let named = read.step.and_then(|step| model.named_ancestor(step));
    named.map_or_else(|| "the end".to_owned(), |step| words::step_name(model.program, step))
}
