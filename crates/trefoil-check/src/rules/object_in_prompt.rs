//! An object printed in a text for a model or a person, when one of its fields was probably meant.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{ValueExpression, FlowId, SlotId, Source, StepKind, BoundTemplate, walk};
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};
use trefoil_template::{ConditionExpression, BuiltinFunction};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::text_pieces::{TextPiece, template_pieces};
use crate::semantic::SemanticModel;

pub(super) const RULE: Rule = Rule {
    name: "object-in-prompt",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("object_in_prompt.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    let mut found: Vec<(Location, String, FindingSeverity, String)> = Vec::new();
    for (flow, _, step) in model.all_steps() {
        let texts: Vec<&ValueExpression> = match &step.kind {
            StepKind::Call(call) => call.input.iter().collect(),
            StepKind::Command(call) => call.arguments.iter().chain(call.env.iter().map(|(_, e)| e)).collect(),
            StepKind::Compute(value) => concatenated(value),
            kind => kind.message_texts(),
        };
        // In the input of a flow, an object is printed only inside other text; alone it keeps its type. Commands often
        // get objects, but rarely with the wrapper that a format adds.
        let given = matches!(step.kind, StepKind::Call(_));
        let command = matches!(step.kind, StepKind::Command(_) | StepKind::Compute(_));
        for expr in texts {
            walk::visit_expressions(expr, &mut |e| {
                let (text, typed) = match e {
                    ValueExpression::Template(text) => (text, false),
                    ValueExpression::Typed(text) => (text, true),
                    _ => return,
                };
                let alone = given && text.template.is_single();
                if alone && (typed || matches!(expr, ValueExpression::Structured(_))) {
                    return;
                }
                let all = printed(model, flow, text).into_iter();
                found.extend(all.filter(|(_, _, severity, _)| !(alone || command) || *severity == FindingSeverity::Warning));
            });
        }
    }
    for (id, flow) in model.program.flows.entries() {
        // A single placeholder keeps the object; inside other text it is printed.
        let Some(output) = flow.output.as_ref() else { continue };
        walk::visit_expressions(output, &mut |e| {
            if let ValueExpression::Typed(text) = e
                && !text.template.is_single()
            {
                found.extend(printed(model, id, text));
            }
        });
    }
    for (at, message, severity, help) in found {
        let d = Diagnostic { severity, ..cx.new_finding(at, message) };
        cx.report_finding(d.with_help(help));
    }
}

/// The parts of a concatenated text.
fn concatenated(value: &ValueExpression) -> Vec<&ValueExpression> {
    let mut parts = Vec::new();
    walk::visit_expressions(value, &mut |e| {
        if let ValueExpression::Concat(all) = e {
            parts.extend(all);
        }
    });
    parts
}

fn printed(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate) -> Vec<(Location, String, FindingSeverity, String)> {
    let objects: Vec<_> = (0..text.template.references().len())
        .filter_map(|i| Some((i, object(model, flow, text, i)?)))
        .collect();
    if objects.is_empty() {
        return Vec::new();
    }
    let values = template_pieces(text).into_iter().filter_map(|piece| match piece {
        TextPiece::Value(value) => Some((value.source_location()?, value.text?.1)),
        TextPiece::Written(_) => None,
    });
    let found = values.filter_map(|(at, i)| {
        let (_, (severity, fields)) = objects.iter().find(|(index, _)| *index == i)?;
        if text.template.inner_expressions().iter().any(|e| in_json(e, i) || taken_apart(e, i)) {
            return None; // Written to be JSON, or what is printed is another value.
        }
        let name = text.template.references().get(i)?.dotted_path();
        if name.is_empty() {
            return None; // `this` outside of blocks: `loop-variable` tells.
        }
        let list = fields.iter().take(8).map(|f| format!("`{name}.{f}`")).collect::<Vec<_>>().join(", ");
        Some((at, format!("`{name}` is an object, so it is printed as JSON"), *severity, format!("its fields are {list}")))
    });
    found.collect()
}

/// The fields of an object that a reference prints as a whole, and the severity.
fn object(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate, reference: usize) -> Option<(FindingSeverity, Vec<String>)> {
    let reference = text.template.references().get(reference)?;
    let source = text.sources.get(reference.binding.source as usize)?;
    let path: Vec<&str> = reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
    if let (Some(slot), true) = (whole_result(source), path.is_empty()) {
        let of = model.program_types().slot_type(flow, slot);
        let fields = fields(&of);
        return (of.is_kind(ValueKind::Object) && !fields.is_empty()).then_some((FindingSeverity::Warning, fields));
    }
    let walk = model.program_types().source_type(flow, source, &path, None);
    if walk.stop.is_some() || !walk.schema.is_kind(ValueKind::Object) {
        return None;
    }
    let intake = &model.program.flows[flow].intake;
    let taken = |slot: &SlotId| intake.slot == *slot || intake.raw.as_ref().is_some_and(|(raw, _)| raw == slot);
    if path.is_empty() && matches!(source, Source::Slot(slot) if taken(slot)) {
        return None; // All of what was given, as it was given.
    }
    let fields = fields(&walk.schema);
    // The whole result of a step includes the wrapper that the format itself adds.
    let wrapped = path.is_empty() && matches!(source, Source::Slot(slot) if wraps(model, flow, *slot));
    (!fields.is_empty()).then_some((if wrapped { FindingSeverity::Warning } else { FindingSeverity::Info }, fields))
}

/// The slot of a step's result that is read as a whole, together with values next to its answer.
fn whole_result(source: &Source) -> Option<SlotId> {
    let Source::Compose { parts, .. } = source else { return None };
    let (first, rest) = parts.split_first()?;
    let whole = first.at.is_empty() && first.member.is_empty() && rest.iter().all(|p| p.slot == first.slot);
    whole.then_some(first.slot)
}

/// Whether an expression converts this reference to JSON.
pub(super) fn in_json(expression: &ConditionExpression, reference: usize) -> bool {
    let ConditionExpression::Call(function, arguments) = expression else { return false };
    arguments.iter().any(|a| match a {
        ConditionExpression::Reference(r) => *function == BuiltinFunction::Json && *r as usize == reference,
        ConditionExpression::Call(BuiltinFunction::Default, of) if *function == BuiltinFunction::Json => of.contains(&ConditionExpression::Reference(reference as u32)),
        other => in_json(other, reference),
    })
}

/// Whether an expression uses only the keys, the length or a member of this reference.
fn taken_apart(expression: &ConditionExpression, reference: usize) -> bool {
    let ConditionExpression::Call(function, arguments) = expression else { return false };
    let apart = matches!(function, BuiltinFunction::Keys | BuiltinFunction::Length | BuiltinFunction::Lookup);
    arguments.iter().any(|a| match a {
        ConditionExpression::Reference(r) => apart && *r as usize == reference,
        other => taken_apart(other, reference),
    })
}

/// The names of an object's members.
fn fields(of: &ValueType) -> Vec<String> {
    let mut all: Vec<String> = of.object_members().map(|(name, _)| name.to_string()).collect();
    let [any_of, ..] = of.schema_forms();
    for one in any_of {
        for field in fields(one) {
            if !all.contains(&field) {
                all.push(field);
            }
        }
    }
    all
}

/// Whether a slot holds a step's result in a wrapper that the format adds.
fn wraps(model: &SemanticModel<'_>, flow: FlowId, slot: SlotId) -> bool {
    let mut steps = model.steps_of(flow).iter().map(|(_, id)| &model.program.steps[*id]);
    steps.any(|s| s.out == Some(slot) && s.shape.is_some())
}
