//! Paths that continue with a property that the value before it does not have, judging by its type or its names.

use std::sync::Arc;

use trefoil_ir::types::TypeMember;
use trefoil_ir::{
    AnswerFormat, BindingFault, DeclarationKind, FlowCallee, FlowId, Intake, SchemaId, SlotId, Source, Step, StepId,
    StepKind, ValidatorKind, path_location, walk,
};
use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};
use trefoil_template::Reference;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::{SemanticModel, ValueRead, locals};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unknown-property",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Error),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unknown_property.md"),
    run: RuleSource::Several(&[RuleSource::Program(run), RuleSource::Program(of_items)]),
};

/// The maximum number of properties that advice lists.
const MOST_LISTED: usize = 12;

/// A property that an object does not have, or that an open object does not declare.
fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for read in model.value_reads() {
        let Some((at, declared)) = &read.undeclared else { continue };
        let Some((before, name)) = split_path(read, *at) else { continue };
        let message = format!("the schema of `{before}` declares no `{name}`");
        let here = segment_location(read, *at).unwrap_or(read.at);
        let closed = is_closed(model, read, *at, &name);
        // An open object may still have it, unless it is a misspelling.
        let Some(near) = suggestions::find_near_match(&name, declared.iter().map(|m| &**m)) else {
            let open = is_given(model, read) && !is_listed(model, read, *at) && !closed;
            let severity = if open { FindingSeverity::Info } else { FindingSeverity::Warning };
            let d = Diagnostic { severity, ..cx.new_finding(here, message) };
            let declares = words::quoted_names(declared.iter().take(MOST_LISTED));
            cx.report_finding(label_declaration(model, read, d.with_help(format!("it declares {declares}"))));
            continue;
        };
        let d = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(here, message) };
        let d = d.with_help(format!("did you mean `{}`?", near.name));
        cx.report_finding(respelt(model, Some(read), d, segment_location(read, *at), near, closed));
    }
    check_stopped_paths(cx, |read, at, member| match member {
        TypeMember::Never { what: "an object", members } => missing_property(model, read, at, members),
        _ => None,
    });
}

/// What is wrong with a path to a property that an object with these members does not have.
fn missing_property(
    model: &SemanticModel<'_>,
    read: &ValueRead<'_>,
    at: usize,
    members: &[Arc<str>],
) -> Option<PropertyFault> {
    let (before, name) = split_path(read, at)?;
    let message = format!("`{before}` has no `{name}`");
    let has = words::quoted_names(members.iter().take(MOST_LISTED));
    if let Some(near) = suggestions::find_near_match(&name, members.iter().map(|m| &**m)) {
        let help = format!("did you mean `{}`? its properties are {has}", near.name);
        return Some((message, help, Some((near.name.to_owned(), near.sure))));
    }
    if has.is_empty() {
        return Some((message, "it has no properties".to_owned(), None));
    }
    let help = match deeper(model, read, at, members, &name) {
        Some(help) => help,
        None => format!("its properties are {has}"),
    };
    Some((message, help, None))
}

/// Whether a value is the input of a flow, which may have undeclared properties.
fn is_given(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    match read.source {
        Source::Slot(slot) | Source::Member(slot, _) => is_input_slot(&model.program.flows[read.flow].intake, *slot),
        _ => false,
    }
}

/// Whether a slot has the whole input of a flow.
pub(super) fn is_input_slot(intake: &Intake, slot: SlotId) -> bool {
    intake.slot == slot || matches!(intake.raw, Some((raw, _)) if raw == slot)
}

/// Whether the input of a flow can certainly not have this first member.
fn is_closed(model: &SemanticModel<'_>, read: &ValueRead<'_>, at: usize, name: &str) -> bool {
    let Some(reference) = read.reference else { return false };
    let intake = &model.program.flows[read.flow].intake;
    usize::from(reference.binding.skip) == at && intake.closed && !intake.tolerated.contains(&name)
}

/// Paths in loops of templates: a member of an item, judging by the type of the list.
fn of_items(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for item in locals::find_loop_paths(model) {
        let (at, declared, what) = match (&item.walk.stop, &item.walk.undeclared) {
            (Some((at, TypeMember::Never { what, members })), _) => (*at, members, *what),
            (None, Some((at, declared))) => (*at, declared, ""),
            _ => continue,
        };
        let Some(name) = item.path.get(at) else { continue };
        let near = suggestions::find_near_match(name, declared.iter().map(|m| &**m));
        let place = item.places.get(at).copied().flatten();
        let message = match what {
            "" => format!("the schema of the item declares no `{name}`"),
            "an object" => format!("the item has no `{name}`"),
            other => format!("the item is {other}, so it has no `{name}`"),
        };
        let severity = if what.is_empty() && near.is_none() { FindingSeverity::Info } else { FindingSeverity::Warning };
        let d = Diagnostic { severity, ..cx.new_finding(place.unwrap_or(item.at), message) };
        cx.report_finding(match near {
            Some(near) => respelt(
                model,
                None,
                d.with_help(format!("did you mean `{}`?", near.name)),
                place,
                near,
                what == "an object",
            ),
            None => d,
        });
    }
}

/// The message, the advice, and the intended name with whether it is certain.
pub(super) type PropertyFault = (String, String, Option<(String, bool)>);

/// Whether the `properties` in the schema of the value before a segment list everything that it can have.
fn is_listed(model: &SemanticModel<'_>, read: &ValueRead<'_>, at: usize) -> bool {
    let Some(reference) = read.reference else { return false };
    let skip = usize::from(reference.binding.skip);
    let before: Vec<&str> = reference.path.get(skip..at).into_iter().flatten().map(|s| &*s.name).collect();
    model.program_types().source_type(read.flow, read.source, &before, None).schema.only_lists()
}

/// Checks every path that continues after a value without that member.
pub(super) fn check_stopped_paths(
    cx: &mut RuleContext<'_>,
    wrong: impl Fn(&ValueRead<'_>, usize, &TypeMember) -> Option<PropertyFault>,
) {
    let model = cx.model;
    for read in model.value_reads() {
        let Some((at, member)) = &read.stop else { continue };
        let Some((message, help, meant)) = wrong(read, *at, member) else { continue };
        let here = segment_location(read, *at).unwrap_or(read.at);
        let known = match read.source {
            Source::Missing(_, BindingFault::Beyond(beyond)) => Some(beyond),
            _ => None,
        };
        let is_caught = matches!(read.reference, Some(reference) if reference.default.is_some());
        let severity = match known {
            Some(known) if known.refused && !is_caught => FindingSeverity::Error,
            _ => FindingSeverity::Warning,
        };
        let d = Diagnostic { severity, ..cx.new_finding(here, message) }.with_help(help);
        let d = match &meant {
            Some((name, sure)) => {
                let near = NearMatch { name, distance: 1, sure: *sure };
                respelt(model, Some(read), d, segment_location(read, *at), near, true)
            }
            None if matches!(member, TypeMember::Never { what: "an object", .. }) => label_declaration(model, read, d),
            None => d,
        };
        match known {
            Some(_) => cx.report_cause(d),
            None => cx.report_finding(d),
        }
    }
}

/// Names of answers in other systems.
const ANSWER: [&str; 10] =
    ["text", "stdout", "result", "content", "response", "message", "answer", "reply", "completion", "value"];

/// Advice if a member of a member was meant: `writer.title` for `writer.output.title`.
fn deeper(
    model: &SemanticModel<'_>,
    read: &ValueRead<'_>,
    at: usize,
    members: &[Arc<str>],
    name: &str,
) -> Option<String> {
    let path = &read.reference?.path;
    let before: Vec<&str> = path.get(..at)?.iter().map(|s| &*s.name).collect();
    let slot = Source::Slot(incomplete_value_slot(read)?);
    let object = model.program_types().source_type(read.flow, &slot, before.get(1..)?, None).schema;
    let inner = |member: &str| match object.find_member(member) {
        TypeMember::Is { of, .. } => of.find_member(name),
        _ => TypeMember::Never { what: "", members: Vec::new() },
    };
    let before = before.join(".");
    if let Some(member) = members.iter().find(|member| matches!(inner(member), TypeMember::Is { .. })) {
        return Some(format!("write `{before}.{member}.{name}`"));
    }
    // An answer of undeclared type may have it.
    let member = members.iter().find(|member| matches!(inner(member), TypeMember::Maybe))?;
    if !is_answer(model, read) {
        return None;
    }
    Some(match ANSWER.contains(&name) {
        true => format!("write `{before}.{member}` for the answer"),
        false => format!("write `{before}.{member}.{name}` for a field of the answer"),
    })
}

/// The slot of the value that lacks the member.
fn incomplete_value_slot(read: &ValueRead<'_>) -> Option<SlotId> {
    let Source::Missing(_, BindingFault::Beyond(beyond)) = read.source else { return None };
    beyond.of.as_ref()?.slot_ids().first().copied()
}

/// Whether the value that lacks the member is an agent's answer or a part of it.
pub(super) fn is_answer(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    let Some(slot) = incomplete_value_slot(read) else { return false };
    let writes_slot = |id: StepId| model.program.steps[id].out == Some(slot);
    model.steps_of(read.flow).iter().any(|&(_, id)| writes_slot(id) && called_flow(model, id).is_some())
}

/// Adds the place, in another file, where the value is declared.
fn label_declaration(model: &SemanticModel<'_>, read: &ValueRead<'_>, d: Diagnostic) -> Diagnostic {
    match declaration_location(model, read) {
        Some(at) if at.file != read.at.file => d.with_label(at, "its properties are declared here"),
        _ => d,
    }
}

/// The schema of a called flow's answer, otherwise the flow.
fn declaration_location(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> Option<Location> {
    let source = match read.source {
        Source::Missing(_, BindingFault::Beyond(beyond)) => beyond.of.as_ref()?,
        source => source,
    };
    let (Source::Slot(slot) | Source::Member(slot, _)) = source else { return None };
    let program = model.program;
    let writer = model.steps_of(read.flow).iter().find(|(_, id)| program.steps[*id].out == Some(*slot))?;
    let callee = called_flow(model, writer.1)?;
    if let Some(schema) = answer_schema(model, callee) {
        return Some(program.schemas[schema].origin);
    }
    let flow = program.flows[callee].origin;
    for declaration in &model.facts.declarations {
        if declaration.kind == DeclarationKind::Property && declaration.parent == Some(flow) {
            return Some(declaration.at);
        }
    }
    Some(flow)
}

/// The schema with which a flow validates its answer, otherwise that of its first model call that has one.
fn answer_schema(model: &SemanticModel<'_>, flow: FlowId) -> Option<SchemaId> {
    let steps = model.steps_of(flow);
    for (_, id) in steps {
        let StepKind::Attempts(attempts) = &model.program.steps[*id].kind else { continue };
        for validator in &attempts.validators {
            if let ValidatorKind::JsonSchema(schema) = &validator.kind {
                return Some(*schema);
            }
        }
    }
    steps.iter().find_map(|(_, id)| answered(&model.program.steps[*id]))
}

/// The schema of a model's answer.
fn answered(step: &Step) -> Option<SchemaId> {
    match &step.kind {
        StepKind::Model(call) => match call.format {
            AnswerFormat::Json(schema) => Some(schema),
            AnswerFormat::Text | AnswerFormat::JsonOrText => None,
        },
        _ => None,
    }
}

/// The flow that a step calls, possibly within other steps.
fn called_flow(model: &SemanticModel<'_>, step: StepId) -> Option<FlowId> {
    let step = &model.program.steps[step];
    match &step.kind {
        StepKind::Call(call) => match &call.callee {
            FlowCallee::Flow(flow) => Some(*flow),
            FlowCallee::Named { .. } => None,
        },
        _ => walk::children_of(step).into_iter().find_map(|child| called_flow(model, child)),
    }
}

/// Adds a fix that replaces the name by the intended one, and the declaration of that one, which may be the
/// misspelling. `closed`: only declared properties can exist.
fn respelt(
    model: &SemanticModel<'_>,
    read: Option<&ValueRead<'_>>,
    d: Diagnostic,
    at: Option<Location>,
    near: NearMatch<'_>,
    closed: bool,
) -> Diagnostic {
    let d = match (only(model, near.name), read) {
        (Some(place), _) => d.with_label(place, format!("`{}` is declared here", near.name)),
        (None, Some(read)) => label_declaration(model, read, d),
        (None, None) => d,
    };
    let is_plain = near.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let Some(at) = at else { return d };
    if !is_plain {
        return d;
    }
    let message = format!("write `{}`", near.name);
    if closed && near.sure {
        d.with_safe_fix(message, at, near.name)
    } else {
        d.with_suggestion(message, at, near.name)
    }
}

/// The declaration of a name that is declared only once.
fn only(model: &SemanticModel<'_>, name: &str) -> Option<Location> {
    let mut declarations = model.facts.declarations.iter().filter(|d| *d.name == *name);
    let first = declarations.next()?;
    if declarations.next().is_some() { None } else { Some(first.at) }
}

/// The place of a segment of a path.
fn segment_location(read: &ValueRead<'_>, at: usize) -> Option<Location> {
    let reference = read.reference?;
    path_location::locate_part(&reference.span, read.at, reference.path.get(at)?.span.clone())
}

/// The names after the variable of a path.
pub(super) fn member_names(reference: &Reference) -> Vec<&str> {
    reference.path.iter().skip(usize::from(reference.binding.skip)).map(|segment| &*segment.name).collect()
}

/// The path before a segment, and the segment.
pub(super) fn split_path(read: &ValueRead<'_>, at: usize) -> Option<(String, String)> {
    let path = &read.reference?.path;
    let before: Vec<&str> = path.get(..at)?.iter().map(|s| &*s.name).collect();
    let before = before.join(".");
    let name = path.get(at)?.name.to_string();
    if before.is_empty() { None } else { Some((before, name)) }
}
