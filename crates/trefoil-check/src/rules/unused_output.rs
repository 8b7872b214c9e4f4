//! A step whose result is not used, so that a model is called for nothing.
//!
//! Only steps that do nothing but call models; tools, commands and people have side effects.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::walk::{callees_of, children_of};
use trefoil_ir::facts::DeclarationKind;
use trefoil_ir::{Facts, FlowId, StepContents, Program, SlotId, Source, StepId, StepKind};
use trefoil_syntax::{FileId, FindingSeverity};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::SemanticModel;

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
    let read: HashSet<_> = facts.mentions.iter().filter(|m| m.template).filter_map(|m| m.to).collect();
    let steps = facts.declarations.iter().filter(|d| matches!(d.kind, Step | State | Node) && read.contains(&d.at));
    steps.map(|d| (d.at.file, &*d.name)).collect()
}

/// The slots that are read.
fn used(model: &SemanticModel<'_>) -> HashSet<(FlowId, SlotId)> {
    let mut used: HashSet<_> = model.value_reads().iter().flat_map(|r| r.source.slot_ids().into_iter().map(|s| (r.flow, s))).collect();
    for (flow, _, step) in model.all_steps() {
        let mut add = |source: &Source| match source {
            Source::Slot(slot) | Source::Member(slot, _) => drop(used.insert((flow, *slot))),
            Source::Layered { top, .. } => drop(used.insert((flow, *top))),
            Source::Compose { parts, .. } => used.extend(parts.iter().map(|p| (flow, p.slot))),
            _ => {}
        };
        for evaluated in trefoil_ir::walk::evaluated_by_step(step) {
            evaluated.visit_sources(&mut add);
        }
        // A caller of the flow may read its inner results.
        if let StepKind::Call(call) = &step.kind
            && let Some(under) = call.exports
        {
            for read in model.reads_of(flow) {
                if matches!(read.source, Source::Layered { under: u, .. } if *u == under) {
                    let rest = read.reference.map(|r| r.path.get(usize::from(r.binding.skip)..).unwrap_or_default());
                    let rest: Option<Vec<&str>> = rest.map(|all| all.iter().map(|s| &*s.name).collect());
                    callees_of(step).into_iter().for_each(|c| exported(model, c, rest.as_deref(), &mut used, 0));
                }
            }
        }
    }
    used
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
            if matches!(&step.kind, StepKind::Call(call) if call.exports == Some(inner)) {
                callees_of(step).into_iter().for_each(|c| exported(model, c, rest, used, depth + 1));
            }
        }
    }
}

/// Whether a segment names a key, with or without hyphens: the id from which a key is made is also a name for it.
fn is_key(segment: &str, key: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect::<String>();
    segment == key || letters(segment) == letters(key)
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
                let follows = |n: &trefoil_ir::GraphNode| {
                    n.incoming.iter().any(|e| e.from == node) || n.after.contains(&node)
                };
                // If the flow declares its output, an end that is not part of it is not a result.
                return found.output.is_none() && !graph.nodes.iter().any(follows);
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

/// The steps whose result is the result of this one.
fn last(program: &Program, id: StepId) -> Vec<StepId> {
    let mut all = vec![id];
    let step = &program.steps[id];
    match step.kind.step_info().inside {
        // Its ends are looked at for themselves.
        StepContents::StateMachine(_) => {}
        inside => all.extend(inside.result_steps().into_iter().flat_map(|s| last(program, s))),
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
    let flows = callees_of(step);
    // The effects of an agent that is not declared are unknown.
    let missing = |f: &FlowId| {
        let name = &program.flows[*f].name;
        program.missing_agents.iter().any(|(n, _)| n == name)
    };
    if flows.iter().any(missing) {
        return false;
    }
    let bodies = flows.into_iter().map(|f| program.flows[f].body);
    let inner: Vec<_> = children_of(step).into_iter().chain(bodies).collect();
    !inner.is_empty() && inner.into_iter().all(|s| only_models(program, s, depth + 1))
}
