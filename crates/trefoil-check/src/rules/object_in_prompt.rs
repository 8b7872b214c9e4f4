//! An object printed in a text for a model or a person, when one of its fields was probably meant.

use trefoil_ir::types::{Kind, Type};
use trefoil_ir::{Expr, FlowId, SlotId, Source, StepKind, Text, walk};
use trefoil_syntax::{Diagnostic, Location, Severity};
use trefoil_template::{Expression, Function};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, pieces};
use crate::semantic::Model;

pub(super) const RULE: Rule = Rule {
    name: "object-in-prompt",
    group: Group::Types,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("object_in_prompt.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    let mut found: Vec<(Location, String, Severity, String)> = Vec::new();
    for (flow, _, step) in model.all_steps() {
        let texts: Vec<&Expr> = match &step.kind {
            StepKind::Call(call) => call.input.iter().collect(),
            StepKind::Command(call) => call.arguments.iter().chain(call.env.iter().map(|(_, e)| e)).collect(),
            StepKind::Compute(value) => concatenated(value),
            kind => kind.messages(),
        };
        // In the input of a flow, an object is printed only inside other text; alone it keeps its type. Commands often
        // get objects, but rarely with the wrapper that a format adds.
        let given = matches!(step.kind, StepKind::Call(_));
        let command = matches!(step.kind, StepKind::Command(_) | StepKind::Compute(_));
        for expr in texts {
            walk::expressions(expr, &mut |e| {
                let (text, typed) = match e {
                    Expr::Template(text) => (text, false),
                    Expr::Typed(text) => (text, true),
                    _ => return,
                };
                let alone = given && text.template.is_single();
                if alone && (typed || matches!(expr, Expr::Structured(_))) {
                    return;
                }
                let all = printed(model, flow, text).into_iter();
                found.extend(all.filter(|(_, _, severity, _)| !(alone || command) || *severity == Severity::Warning));
            });
        }
    }
    for (id, flow) in model.program.flows.entries() {
        // A single placeholder keeps the object; inside other text it is printed.
        let Some(output) = flow.output.as_ref() else { continue };
        walk::expressions(output, &mut |e| {
            if let Expr::Typed(text) = e
                && !text.template.is_single()
            {
                found.extend(printed(model, id, text));
            }
        });
    }
    for (at, message, severity, help) in found {
        let d = Diagnostic { severity, ..cx.finding(at, message) };
        cx.report(d.help(help));
    }
}

/// The parts of a concatenated text.
fn concatenated(value: &Expr) -> Vec<&Expr> {
    let mut parts = Vec::new();
    walk::expressions(value, &mut |e| {
        if let Expr::Concat(all) = e {
            parts.extend(all);
        }
    });
    parts
}

fn printed(model: &Model<'_>, flow: FlowId, text: &Text) -> Vec<(Location, String, Severity, String)> {
    let objects: Vec<_> = (0..text.template.references().len())
        .filter_map(|i| Some((i, object(model, flow, text, i)?)))
        .collect();
    if objects.is_empty() {
        return Vec::new();
    }
    let values = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Value(value) => Some((value.at()?, value.text?.1)),
        Piece::Written(_) => None,
    });
    let found = values.filter_map(|(at, i)| {
        let (_, (severity, fields)) = objects.iter().find(|(index, _)| *index == i)?;
        if text.template.expressions().iter().any(|e| in_json(e, i) || taken_apart(e, i)) {
            return None; // Written to be JSON, or what is printed is another value.
        }
        let name = text.template.references().get(i)?.dotted();
        if name.is_empty() {
            return None; // `this` outside of blocks: `loop-variable` tells.
        }
        let list = fields.iter().take(8).map(|f| format!("`{name}.{f}`")).collect::<Vec<_>>().join(", ");
        Some((at, format!("`{name}` is an object, so it is printed as JSON"), *severity, format!("its fields are {list}")))
    });
    found.collect()
}

/// The fields of an object that a reference prints as a whole, and the severity.
fn object(model: &Model<'_>, flow: FlowId, text: &Text, reference: usize) -> Option<(Severity, Vec<String>)> {
    let reference = text.template.references().get(reference)?;
    let source = text.sources.get(reference.binding.source as usize)?;
    let path: Vec<&str> = reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
    if let (Some(slot), true) = (whole_result(source), path.is_empty()) {
        let of = model.types().slot(flow, slot);
        let fields = fields(&of);
        return (of.is(Kind::Object) && !fields.is_empty()).then_some((Severity::Warning, fields));
    }
    let walk = model.types().source(flow, source, &path, None);
    if walk.stop.is_some() || !walk.schema.is(Kind::Object) {
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
    (!fields.is_empty()).then_some((if wrapped { Severity::Warning } else { Severity::Info }, fields))
}

/// The slot of a step's result that is read as a whole, together with values next to its answer.
fn whole_result(source: &Source) -> Option<SlotId> {
    let Source::Compose { parts, .. } = source else { return None };
    let (first, rest) = parts.split_first()?;
    let whole = first.at.is_empty() && first.member.is_empty() && rest.iter().all(|p| p.slot == first.slot);
    whole.then_some(first.slot)
}

/// Whether an expression converts this reference to JSON.
pub(super) fn in_json(expression: &Expression, reference: usize) -> bool {
    let Expression::Call(function, arguments) = expression else { return false };
    arguments.iter().any(|a| match a {
        Expression::Reference(r) => *function == Function::Json && *r as usize == reference,
        Expression::Call(Function::Default, of) if *function == Function::Json => of.contains(&Expression::Reference(reference as u32)),
        other => in_json(other, reference),
    })
}

/// Whether an expression uses only the keys, the length or a member of this reference.
fn taken_apart(expression: &Expression, reference: usize) -> bool {
    let Expression::Call(function, arguments) = expression else { return false };
    let apart = matches!(function, Function::Keys | Function::Length | Function::Lookup);
    arguments.iter().any(|a| match a {
        Expression::Reference(r) => apart && *r as usize == reference,
        other => taken_apart(other, reference),
    })
}

/// The names of an object's members.
fn fields(of: &Type) -> Vec<String> {
    let mut all: Vec<String> = of.members().map(|(name, _)| name.to_string()).collect();
    let [any_of, ..] = of.forms();
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
fn wraps(model: &Model<'_>, flow: FlowId, slot: SlotId) -> bool {
    let mut steps = model.steps_of(flow).iter().map(|(_, id)| &model.program.steps[*id]);
    steps.any(|s| s.out == Some(slot) && s.shape.is_some())
}
