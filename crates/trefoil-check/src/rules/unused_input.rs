//! A declared input that nothing reads.

use trefoil_syntax::hash::HashSet;
use std::sync::Arc;

use trefoil_ir::{ValueExpression, FlowDefinition, FlowId, SlotId, Source, StepKind};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_template::Value;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
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
            // Inputs from a caller, and those that the format itself adds, are not declared in the manifest.
            let declared = field.default.is_some() || field.schema.as_object().is_some_and(|s| !s.is_empty());
            if wrapped || !declared || field.default.as_ref().is_some_and(|d| d == &Value::from("")) && field.schema.get("type").is_none() {
                continue;
            }
            if !read.contains(&field.name) && !mentioned(model, field.origin) {
                let message = format!("nothing in `{}` reads the input `{}`", flow.name, field.name);
                let d = cx.new_finding(field.origin, message);
                cx.report_finding(d.with_help("remove it, or use it"));
            }
        }
    }
}

/// Whether a template names this declaration. Some texts are checked but are not part of a program.
fn mentioned(model: &SemanticModel<'_>, declared: Location) -> bool {
    let names = |to: Location| to.file == declared.file && to.span.start == declared.span.start;
    model.facts.mentions.iter().any(|m| m.template && m.to.is_some_and(names))
}

/// Whether a part of the flow is not supported, so that what it reads is unknown.
fn refused(model: &SemanticModel<'_>, flow: FlowId) -> bool {
    let program = model.program;
    // A refused feature at the start; the work after it is complete.
    let first = match &program.steps[program.flows[flow].body].kind {
        StepKind::Sequence(steps) if steps.len() == 2 => steps.first().copied(),
        _ => None,
    };
    let mut steps = model.steps_of(flow).iter().filter(|(_, s)| Some(*s) != first);
    steps.any(|(_, s)| matches!(program.steps[*s].kind, StepKind::Refused(_)))
}

/// The names in paths of a flow and of its fan-outs; `None`: the input is read as a whole somewhere.
fn names_read(model: &SemanticModel<'_>, id: FlowId, flow: &FlowDefinition) -> Option<HashSet<Arc<str>>> {
    // Slots that hold the input, or a value made by merging something into it.
    let mut holders: HashSet<(FlowId, SlotId)> = HashSet::from_iter([(id, flow.intake.slot)]);
    holders.extend(flow.intake.raw.iter().map(|(slot, _)| (id, *slot)));
    for (slot, value) in &flow.init {
        if let ValueExpression::Merge(layers) = value
            && layers.iter().any(|l| matches!(l, ValueExpression::Read(Source::Slot(s)) if *s == flow.intake.slot))
        {
            holders.insert((id, *slot));
        }
    }
    let mut within = vec![id];
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
    let mut names = HashSet::default();
    for read in within.iter().flat_map(|f| model.reads_of(*f)) {
        if whole(read, &holders) && !lays(read, flow) {
            return None;
        }
        names.extend(read.reference.iter().flat_map(|r| r.path.iter().map(|s| s.name.clone())));
        if let Source::Member(_, path) = read.source {
            names.extend(path.iter().cloned());
        }
        if let Source::Either(first, second) = read.source {
            for one in [&**first, &**second] {
                if let Source::Member(_, path) = one {
                    names.extend(path.iter().cloned());
                }
            }
        }
    }
    Some(names)
}

/// Whether an input is read as a whole.
fn whole(read: &ValueRead<'_>, holders: &HashSet<(FlowId, SlotId)>) -> bool {
    let rest = read.reference.map_or(0, |r| r.path.len().saturating_sub(usize::from(r.binding.skip)));
    let holds = |slot: &SlotId| holders.contains(&(read.flow, *slot));
    rest == 0
        && match read.source {
            Source::Slot(slot) => holds(slot),
            Source::Compose { parts, .. } => parts.iter().any(|p| holds(&p.slot) && p.member.is_empty()),
            Source::Either(..) => read.source.slot_ids().iter().any(holds),
            _ => false,
        }
}

/// Whether this only merges other values into the input.
fn lays(read: &ValueRead<'_>, flow: &FlowDefinition) -> bool {
    read.reference.is_none() && read.guarded && matches!(read.source, Source::Slot(s) if read.step.is_none() && *s == flow.intake.slot || laid(flow, *s))
}

/// Whether a slot is the input with other values merged into it.
fn laid(flow: &FlowDefinition, slot: SlotId) -> bool {
    flow.init.iter().any(|(s, value)| *s == slot && matches!(value, ValueExpression::Merge(_)))
}
