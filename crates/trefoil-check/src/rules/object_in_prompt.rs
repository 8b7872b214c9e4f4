//! An object printed in a text for a model or a person, when one of its fields was probably meant.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{BoundTemplate, CommandCall, FlowId, SlotId, Source, StepKind, ValueExpression, walk};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};
use trefoil_template::{BuiltinFunction, ConditionExpression};

use super::unknown_property::is_input_slot;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;
use crate::semantic::paths::path_in_source;
use crate::semantic::text_pieces::{TextPiece, template_pieces};
use crate::words;

/// The maximum number of fields that advice lists.
const MOST_FIELDS: usize = 8;

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
    let mut found = Vec::new();
    for (flow, _, step) in model.all_steps() {
        let texts: Vec<&ValueExpression> = match &step.kind {
            StepKind::Call(call) => call.input.iter().collect(),
            StepKind::Command(call) => command_values(call),
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
                for object in printed(model, flow, text) {
                    if object.severity == FindingSeverity::Warning || !alone && !command {
                        found.push(object);
                    }
                }
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
    for PrintedObject { at, message, severity, help } in found {
        let d = Diagnostic { severity, ..cx.new_finding(at, message) };
        cx.report_finding(d.with_help(help));
    }
}

/// An object that a text prints, and what to say about it.
struct PrintedObject {
    at: Location,
    message: String,
    severity: FindingSeverity,
    help: String,
}

/// The arguments and the environment of a command.
pub(super) fn command_values(call: &CommandCall) -> Vec<&ValueExpression> {
    let mut values: Vec<&ValueExpression> = call.arguments.iter().collect();
    for (_, value) in call.env.iter() {
        values.push(value);
    }
    values
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

/// The objects that a text prints.
fn printed(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate) -> Vec<PrintedObject> {
    let references = text.template.references();
    let mut objects = HashMap::default();
    for index in 0..references.len() {
        if let Some(object) = object(model, flow, text, index) {
            objects.insert(index, object);
        }
    }
    let mut found = Vec::new();
    if objects.is_empty() {
        return found;
    }
    for piece in template_pieces(text) {
        let TextPiece::Value(value) = piece else { continue };
        let (Some(at), Some((_, index))) = (value.source_location(), value.text) else { continue };
        let Some((severity, fields)) = objects.get(&index) else { continue };
        if text.template.inner_expressions().iter().any(|e| in_json(e, index) || taken_apart(e, index)) {
            continue; // Written to be JSON, or what is printed is another value.
        }
        let Some(reference) = references.get(index) else { continue };
        let name = reference.dotted_path();
        if name.is_empty() {
            continue; // `this` outside of blocks: `loop-variable` tells.
        }
        let paths = fields.iter().take(MOST_FIELDS).map(|field| format!("{name}.{field}"));
        found.push(PrintedObject {
            at,
            message: format!("`{name}` is an object, so it is printed as JSON"),
            severity: *severity,
            help: format!("its fields are {}", words::quoted_names(paths)),
        });
    }
    found
}

/// The fields of an object that a reference prints as a whole, and the severity.
fn object(
    model: &SemanticModel<'_>,
    flow: FlowId,
    text: &BoundTemplate,
    reference: usize,
) -> Option<(FindingSeverity, Vec<String>)> {
    let reference = text.template.references().get(reference)?;
    let source = text.sources.get(reference.binding.source as usize)?;
    let path = path_in_source(reference);
    if path.is_empty()
        && let Some(slot) = whole_result(source)
    {
        let of = model.program_types().slot_type(flow, slot);
        let fields = fields(&of);
        let is_object = of.is_kind(ValueKind::Object) && !fields.is_empty();
        return if is_object { Some((FindingSeverity::Warning, fields)) } else { None };
    }
    let walk = model.program_types().source_type(flow, source, &path, None);
    if walk.stop.is_some() || !walk.schema.is_kind(ValueKind::Object) {
        return None;
    }
    let intake = &model.program.flows[flow].intake;
    if path.is_empty() && matches!(source, Source::Slot(slot) if is_input_slot(intake, *slot)) {
        return None; // All of what was given, as it was given.
    }
    let fields = fields(&walk.schema);
    if fields.is_empty() {
        return None;
    }
    // The whole result of a step includes the wrapper that the format itself adds.
    let wrapped = path.is_empty() && matches!(source, Source::Slot(slot) if wraps(model, flow, *slot));
    Some((if wrapped { FindingSeverity::Warning } else { FindingSeverity::Info }, fields))
}

/// The slot of a step's result that is read as a whole, together with values next to its answer.
fn whole_result(source: &Source) -> Option<SlotId> {
    let Source::Compose { parts, .. } = source else { return None };
    let (first, rest) = parts.split_first()?;
    let whole = first.at.is_empty() && first.member.is_empty() && rest.iter().all(|p| p.slot == first.slot);
    if whole { Some(first.slot) } else { None }
}

/// Whether an expression converts this reference to JSON.
pub(super) fn in_json(expression: &ConditionExpression, reference: usize) -> bool {
    let ConditionExpression::Call(function, arguments) = expression else { return false };
    arguments.iter().any(|a| match a {
        ConditionExpression::Reference(r) => *function == BuiltinFunction::Json && *r as usize == reference,
        ConditionExpression::Call(BuiltinFunction::Default, of) if *function == BuiltinFunction::Json => {
            of.contains(&ConditionExpression::Reference(reference as u32))
        }
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
    for alternative in any_of {
        for field in fields(alternative) {
            if !all.contains(&field) {
                all.push(field);
            }
        }
    }
    all
}

/// Whether a slot holds a step's result in a wrapper that the format adds.
fn wraps(model: &SemanticModel<'_>, flow: FlowId, slot: SlotId) -> bool {
    model.steps_of(flow).iter().any(|(_, id)| {
        let step = &model.program.steps[*id];
        step.out == Some(slot) && step.shape.is_some()
    })
}
