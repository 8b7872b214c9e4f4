//! A declared input that nothing reads.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_ir::{FlowDefinition, FlowId, FlowInputField, SlotId, Source, StepId, StepKind, ValueExpression};
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::Value;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::{SemanticModel, ValueRead};

pub(super) const RULE: Rule = Rule {
    name: "unused-input",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unused_input.md"),
    run: RuleSource::Whole(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (id, flow) in model.program.flows.entries() {
        if flow.intake.fields.is_empty() || refused(model, id) {
            continue;
        }
        let Some(read) = names_read(model, id, flow) else { continue };
        for field in &flow.intake.fields {
            let wrapped = flow.intake.wrap.as_ref() == Some(&field.name);
            if wrapped || !is_declared(field) || read.contains(&field.name) || mentioned(model, field.origin) {
                continue;
            }
            let message = format!("nothing in `{}` reads the input `{}`", flow.name, field.name);
            let d = cx.new_finding(field.origin, message);
            cx.report_finding(d.with_help("remove it, or use it"));
        }
    }
}

/// Whether an input is declared in the manifest. Inputs from a caller, and those that the format itself adds, are not.
fn is_declared(field: &FlowInputField) -> bool {
    match &field.default {
        Some(default) => *default != Value::from("") || field.schema.get("type").is_some(),
        None => matches!(field.schema.as_object(), Some(keywords) if !keywords.is_empty()),
    }
}

/// Whether a template names this declaration. Some texts are checked but are not part of a program.
fn mentioned(model: &SemanticModel<'_>, declared: Location) -> bool {
    let names = |to: Location| to.file == declared.file && to.span.start == declared.span.start;
    model.facts.mentions.iter().any(|m| m.template && matches!(m.to, Some(to) if names(to)))
}

/// Whether a part of the flow is not supported, so that what it reads is unknown.
fn refused(model: &SemanticModel<'_>, flow: FlowId) -> bool {
    let program = model.program;
    // A refused feature at the start; the work after it is complete.
    let first = match &program.steps[program.flows[flow].body].kind {
        StepKind::Sequence(steps) if steps.len() == 2 => steps.first().copied(),
        _ => None,
    };
    let is_refused = |step: StepId| Some(step) != first && matches!(program.steps[step].kind, StepKind::Refused(_));
    model.steps_of(flow).iter().any(|(_, step)| is_refused(*step))
}

/// The names in paths of a flow and of its fan-outs; `None`: the input is read as a whole somewhere.
fn names_read(model: &SemanticModel<'_>, id: FlowId, flow: &FlowDefinition) -> Option<HashSet<Arc<str>>> {
    let mut holders = input_holders(id, flow);
    let within = add_fan_outs(model, id, &mut holders);
    let mut names = HashSet::default();
    for read in within.iter().flat_map(|f| model.reads_of(*f)) {
        if whole(read, &holders) && !lays(read, flow) {
            return None;
        }
        if let Some(reference) = read.reference {
            names.extend(reference.path.iter().map(|segment| segment.name.clone()));
        }
        let sources = match read.source {
            Source::Either(first, second) => vec![&**first, &**second],
            source => vec![source],
        };
        for source in sources {
            if let Source::Member(_, path) = source {
                names.extend(path.iter().cloned());
            }
        }
    }
    Some(names)
}

/// The slots of a flow that hold the input, or a value made by merging something into it.
fn input_holders(id: FlowId, flow: &FlowDefinition) -> HashSet<(FlowId, SlotId)> {
    let input = flow.intake.slot;
    let mut holders = HashSet::from_iter([(id, input)]);
    if let Some((raw, _)) = &flow.intake.raw {
        holders.insert((id, *raw));
    }
    for (slot, value) in &flow.init {
        if let ValueExpression::Merge(layers) = value
            && layers.iter().any(|l| matches!(l, ValueExpression::Read(Source::Slot(s)) if *s == input))
        {
            holders.insert((id, *slot));
        }
    }
    holders
}

/// Adds the slots of fan-outs that capture one of these values. Returns the flow and the bodies of its fan-outs.
fn add_fan_outs(model: &SemanticModel<'_>, flow: FlowId, holders: &mut HashSet<(FlowId, SlotId)>) -> Vec<FlowId> {
    let mut within = vec![flow];
    let mut at = 0;
    while let Some(outer) = within.get(at).copied() {
        at += 1;
        for (_, step) in model.steps_of(outer) {
            let StepKind::ForEach(each) = &model.program.steps[*step].kind else { continue };
            if within.contains(&each.body) {
                continue;
            }
            within.push(each.body);
            for (slot, source) in &each.captures {
                if matches!(source, Source::Slot(s) if holders.contains(&(outer, *s))) {
                    holders.insert((each.body, *slot));
                }
            }
        }
    }
    within
}

/// Whether an input is read as a whole.
fn whole(read: &ValueRead<'_>, holders: &HashSet<(FlowId, SlotId)>) -> bool {
    if let Some(reference) = read.reference
        && reference.path.len() > usize::from(reference.binding.skip)
    {
        return false;
    }
    let holds = |slot: SlotId| holders.contains(&(read.flow, slot));
    match read.source {
        Source::Slot(slot) => holds(*slot),
        Source::Compose { parts, .. } => parts.iter().any(|p| holds(p.slot) && p.member.is_empty()),
        Source::Either(..) => read.source.slot_ids().into_iter().any(holds),
        _ => false,
    }
}

/// Whether this only merges other values into the input.
fn lays(read: &ValueRead<'_>, flow: &FlowDefinition) -> bool {
    read.reference.is_none()
        && read.guarded
        && matches!(read.source, Source::Slot(s) if read.step.is_none() && *s == flow.intake.slot || laid(flow, *s))
}

/// Whether a slot is the input with other values merged into it.
fn laid(flow: &FlowDefinition, slot: SlotId) -> bool {
    flow.init.iter().any(|(s, value)| *s == slot && matches!(value, ValueExpression::Merge(_)))
}
