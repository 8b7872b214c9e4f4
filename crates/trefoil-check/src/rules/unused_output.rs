//! A step whose result is not used, so that a model is called for nothing.
//!
//! Only steps that do nothing but call models; tools, commands and people have side effects.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::facts::DeclarationKind;
use trefoil_ir::walk::{self, callees_of, children_of};
use trefoil_ir::{Facts, FlowId, GraphNode, NodeId, Program, SlotId, Source, Step, StepContents, StepId, StepKind};
use trefoil_syntax::{FileId, FindingSeverity};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;
use crate::semantic::paths::path_in_source;

pub(super) const RULE: Rule = Rule {
    name: "unused-output",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Warning),
    strict: None,
    page: include_str!("unused_output.md"),
    run: RuleSource::Whole(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    let used = used(model);
    let mentioned = mentioned(model.facts);
    for (flow, id, step) in model.all_steps() {
        let (Some(out), Some(label)) = (step.out, &step.label) else { continue };
        if used.contains(&(flow, out)) || !only_models(model.program, id, 0) || implicit(model, flow, id, out) {
            continue;
        }
        if mentioned.contains(&(step.origin.file, &**label)) {
            continue;
        }
        let d = cx.new_finding(step.origin, format!("nothing reads the result of `{label}`"));
        cx.report_finding(d.with_help("read it in a later step or in the output, or remove the step"));
    }
}

/// The steps that a template names, by file and name. Includes texts that are not evaluated (`env` of a plain `echo`).
fn mentioned(facts: &Facts) -> HashSet<(FileId, &str)> {
    use DeclarationKind::{Node, State, Step};
    let mut read = HashSet::default();
    for mention in &facts.mentions {
        if mention.template {
            read.extend(mention.to);
        }
    }
    let mut steps = HashSet::default();
    for declaration in &facts.declarations {
        if matches!(declaration.kind, Step | State | Node) && read.contains(&declaration.at) {
            steps.insert((declaration.at.file, &*declaration.name));
        }
    }
    steps
}

/// The slots that are read.
fn used(model: &SemanticModel<'_>) -> HashSet<(FlowId, SlotId)> {
    let mut used = HashSet::default();
    for read in model.value_reads() {
        for slot in read.source.slot_ids() {
            used.insert((read.flow, slot));
        }
    }
    for (flow, _, step) in model.all_steps() {
        let mut add = |source: &Source| match source {
            Source::Slot(slot) | Source::Member(slot, _) => drop(used.insert((flow, *slot))),
            Source::Layered { top, .. } => drop(used.insert((flow, *top))),
            Source::Compose { parts, .. } => used.extend(parts.iter().map(|p| (flow, p.slot))),
            _ => {}
        };
        for evaluated in walk::evaluated_by_step(step) {
            evaluated.visit_sources(&mut add);
        }
        if let StepKind::Call(call) = &step.kind
            && let Some(under) = call.exports
        {
            add_read_exports(model, flow, step, under, &mut used);
        }
    }
    used
}

/// Marks what a caller of a flow reads of its inner results.
fn add_read_exports(
    model: &SemanticModel<'_>,
    flow: FlowId,
    call: &Step,
    exports: SlotId,
    used: &mut HashSet<(FlowId, SlotId)>,
) {
    for read in model.reads_of(flow) {
        if !matches!(read.source, Source::Layered { under, .. } if *under == exports) {
            continue;
        }
        let path = read.reference.map(path_in_source);
        for callee in callees_of(call) {
            exported(model, callee, path.as_deref(), used, 0);
        }
    }
}

/// Marks the inner results of a flow that a path reads; without a path, all of them.
fn exported(
    model: &SemanticModel<'_>,
    flow: FlowId,
    path: Option<&[&str]>,
    used: &mut HashSet<(FlowId, SlotId)>,
    depth: usize,
) {
    if depth >= 32 {
        return;
    }
    for export in &model.program.flows[flow].exports {
        let rest = match path {
            None => None,
            Some([first, rest @ ..]) if is_key(first, &export.key) => Some(rest),
            Some(_) => continue,
        };
        used.insert((flow, export.slot));
        let Some(inner) = export.inner else { continue };
        for (_, step) in model.steps_of(flow) {
            let step = &model.program.steps[*step];
            if !matches!(&step.kind, StepKind::Call(call) if call.exports == Some(inner)) {
                continue;
            }
            for callee in callees_of(step) {
                exported(model, callee, rest, used, depth + 1);
            }
        }
    }
}

/// Whether a segment names a key, with or without hyphens: the id from which a key is made is also a name for it.
fn is_key(segment: &str, key: &str) -> bool {
    segment == key || without_hyphens(segment) == without_hyphens(key)
}

/// A text in lower case without hyphens.
fn without_hyphens(text: &str) -> String {
    let mut letters = String::new();
    for letter in text.chars() {
        if letter != '-' {
            letters.extend(letter.to_lowercase());
        }
    }
    letters
}

/// Whether a result is used without being named: it is the flow's result, or that of an end of a graph or machine.
fn implicit(model: &SemanticModel<'_>, flow: FlowId, id: StepId, out: SlotId) -> bool {
    let found = &model.program.flows[flow];
    if found.output.is_none() && last(model.program, found.body).contains(&id) {
        return true;
    }
    for (_, outer) in model.steps_of(flow) {
        let outer = &model.program.steps[*outer];
        match &outer.kind {
            StepKind::Graph(graph) => {
                let Some(node) = graph.nodes.find_id(|n| n.step == id) else { continue };
                // If the flow declares its output, an end that is not part of it is not a result.
                return found.output.is_none() && !graph.nodes.iter().any(|other| follows(other, node));
            }
            StepKind::StateMachine(machine) => {
                let Some(state) = machine.states.iter().find(|s| s.step == id) else { continue };
                return state.may_end();
            }
            _ => {}
        }
    }
    // If two steps share a key, the slot does not show which of them is read.
    model.steps_of(flow).iter().any(|(_, s)| *s != id && model.program.steps[*s].out == Some(out))
}

/// Whether a node runs after another one.
fn follows(node: &GraphNode, other: NodeId) -> bool {
    node.after.contains(&other) || node.incoming.iter().any(|edge| edge.from == other)
}

/// The steps whose result is the result of this one.
fn last(program: &Program, id: StepId) -> Vec<StepId> {
    let mut all = vec![id];
    let step = &program.steps[id];
    let inside = step.kind.step_info().inside;
    // Its ends are looked at for themselves.
    if matches!(inside, StepContents::StateMachine(_)) {
        return all;
    }
    for inner in inside.result_steps() {
        all.extend(last(program, inner));
    }
    all
}

/// Whether a step only calls models.
fn only_models(program: &Program, id: StepId, depth: usize) -> bool {
    let step = &program.steps[id];
    if depth > 32 {
        return false;
    }
    if matches!(step.kind, StepKind::Model(_)) {
        return true;
    }
    let mut inner = children_of(step);
    for flow in callees_of(step) {
        let flow = &program.flows[flow];
        // The effects of an agent that is not declared are unknown.
        if program.missing_agents.iter().any(|(name, _)| *name == flow.name) {
            return false;
        }
        inner.push(flow.body);
    }
    !inner.is_empty() && inner.into_iter().all(|s| only_models(program, s, depth + 1))
}
