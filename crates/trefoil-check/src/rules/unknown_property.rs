//! Paths that continue with a property that the value before it does not have, judging by its type or its names. Other rules
//! about paths use the functions here that find the segments of a path and their places.

use std::sync::Arc;

use trefoil_ir::types::TypeMember;
use trefoil_ir::{
    AnswerFormat, BindingFault, DeclarationKind, FlowCallee, FlowId, Intake, SchemaId, SlotId, Source, Step, StepId,
    StepKind, ValidatorKind, path_location, walk,
};
use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::{SemanticModel, ValueRead, locals};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unknown-property",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Error),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unknown_property.md"),
    run: RuleSource::Several(&[RuleSource::Program(check_reads), RuleSource::Program(check_loop_paths)]),
};

/// The maximum number of properties that advice lists.
const MAX_LISTED: usize = 12;

/// Checks the paths that a run reads: for a property that an object does not have, or that an open object does not declare.
fn check_reads(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for read in model.value_reads() {
        let Some((at, declared)) = &read.undeclared else { continue };
        let Some((before, name)) = split_path(read, *at) else { continue };
        let message = format!("the schema of `{before}` declares no `{name}`");
        let place = segment_location(read, *at);
        let finding = cx.new_finding(place.unwrap_or(read.at), message);
        let is_closed = rejects_member(model, read, *at, &name);
        if let Some(near) = suggestions::find_near_match(&name, declared.iter().map(|m| &**m)) {
            let finding = Diagnostic { severity: FindingSeverity::Warning, ..finding };
            let finding = finding.with_help(format!("did you mean `{}`?", near.name));
            let finding = label_intended(model, Some(read), finding, near.name);
            cx.report_finding(with_respelling(finding, place, near, is_closed));
            continue;
        }
        // No declared name is similar, so it is not a misspelling. The caller may pass a property that the schema does not declare.
        let may_exist = is_flow_input(model, read) && !lists_all_properties(model, read, *at) && !is_closed;
        let severity = if may_exist { FindingSeverity::Info } else { FindingSeverity::Warning };
        let declares = words::quoted_names(declared.iter().take(MAX_LISTED));
        let finding = Diagnostic { severity, ..finding }.with_help(format!("it declares {declares}"));
        cx.report_finding(label_declaration(model, read, finding));
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
    let property_names = words::quoted_names(members.iter().take(MAX_LISTED));
    if let Some(near) = suggestions::find_near_match(&name, members.iter().map(|m| &**m)) {
        let help = format!("did you mean `{}`? its properties are {property_names}", near.name);
        let intended = Some(IntendedName { name: near.name.to_owned(), is_sure: near.sure });
        return Some(PropertyFault { message, help, intended });
    }
    if property_names.is_empty() {
        return Some(PropertyFault { message, help: "it has no properties".to_owned(), intended: None });
    }
    let help = match nested_property_help(model, read, at, members, &name) {
        Some(help) => help,
        None => format!("its properties are {property_names}"),
    };
    Some(PropertyFault { message, help, intended: None })
}

/// Whether a value is the input of a flow, or a part of it. The caller may pass properties that are not declared.
fn is_flow_input(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    match read.source {
        Source::Slot(slot) | Source::Member(slot, _) => is_input_slot(&model.program.flows[read.flow].intake, *slot),
        _ => false,
    }
}

/// Whether a slot has the whole input of a flow.
pub(super) fn is_input_slot(intake: &Intake, slot: SlotId) -> bool {
    intake.slot == slot || matches!(intake.raw, Some((raw, _)) if raw == slot)
}

/// Whether the path reads the input of a flow, and an input with this property is rejected.
fn rejects_member(model: &SemanticModel<'_>, read: &ValueRead<'_>, at: usize, name: &str) -> bool {
    let Some(reference) = read.reference else { return false };
    let intake = &model.program.flows[read.flow].intake;
    usize::from(reference.binding.skip) == at && intake.closed && !intake.tolerated.contains(&name)
}

/// Checks the paths in loops of templates: a property of an item, judging by the type of the list.
fn check_loop_paths(cx: &mut RuleContext<'_>) {
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
        let mut finding = Diagnostic { severity, ..cx.new_finding(place.unwrap_or(item.at), message) };
        if let Some(near) = near {
            finding = finding.with_help(format!("did you mean `{}`?", near.name));
            finding = label_intended(model, None, finding, near.name);
            finding = with_respelling(finding, place, near, what == "an object");
        }
        cx.report_finding(finding);
    }
}

/// What is wrong with a path that cannot continue.
pub(super) struct PropertyFault {
    /// The message.
    pub(super) message: String,
    /// The advice.
    pub(super) help: String,
    /// The property that was probably meant.
    pub(super) intended: Option<IntendedName>,
}

/// A name that was probably meant instead of another one.
pub(super) struct IntendedName {
    name: String,
    /// Whether it was almost certainly meant.
    is_sure: bool,
}

/// Whether the `properties` in the schema of the value before a segment list everything that the value can have.
fn lists_all_properties(model: &SemanticModel<'_>, read: &ValueRead<'_>, at: usize) -> bool {
    let Some(reference) = read.reference else { return false };
    let skip = usize::from(reference.binding.skip);
    let before: Vec<&str> = reference.path.get(skip..at).into_iter().flatten().map(|s| &*s.name).collect();
    model.program_types().source_type(read.flow, read.source, &before, None).schema.only_lists()
}

/// Checks every path that continues after a value without that member. `find_fault`: what is wrong with a path at the segment with
/// this index; `None` if the rule has nothing to say about it.
pub(super) fn check_stopped_paths(
    cx: &mut RuleContext<'_>,
    find_fault: impl Fn(&ValueRead<'_>, usize, &TypeMember) -> Option<PropertyFault>,
) {
    let model = cx.model;
    for read in model.value_reads() {
        let Some((at, member)) = &read.stop else { continue };
        let Some(fault) = find_fault(read, *at, member) else { continue };
        let place = segment_location(read, *at);
        // Binding already found that the path has no value.
        let binding_fault = match read.source {
            Source::Missing(_, BindingFault::Beyond(missing)) => Some(missing),
            _ => None,
        };
        let has_default = matches!(read.reference, Some(reference) if reference.default.is_some());
        let severity = match binding_fault {
            Some(missing) if missing.refused && !has_default => FindingSeverity::Error,
            _ => FindingSeverity::Warning,
        };
        let finding = cx.new_finding(place.unwrap_or(read.at), fault.message);
        let mut finding = Diagnostic { severity, ..finding }.with_help(fault.help);
        if let Some(IntendedName { name, is_sure }) = &fault.intended {
            finding = label_intended(model, Some(read), finding, name);
            finding = with_respelling(finding, place, NearMatch { name, distance: 1, sure: *is_sure }, true);
        } else if matches!(member, TypeMember::Never { what: "an object", .. }) {
            finding = label_declaration(model, read, finding);
        }
        // A path without a value is the cause of other findings, not their result.
        if binding_fault.is_some() {
            cx.report_cause(finding);
        } else {
            cx.report_finding(finding);
        }
    }
}

/// The names that other systems use for the text of an answer.
const ANSWER_NAMES: [&str; 10] =
    ["text", "stdout", "result", "content", "response", "message", "answer", "reply", "completion", "value"];

/// Advice if a property of one of the members was meant: `writer.title` for `writer.output.title`.
fn nested_property_help(
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
    let find_in_member = |member: &str| match object.find_member(member) {
        TypeMember::Is { of, .. } => of.find_member(name),
        _ => TypeMember::Never { what: "", members: Vec::new() },
    };
    let before = before.join(".");
    if let Some(member) = members.iter().find(|member| matches!(find_in_member(member), TypeMember::Is { .. })) {
        return Some(format!("write `{before}.{member}.{name}`"));
    }
    // An answer whose type is not declared may have the property.
    let member = members.iter().find(|member| matches!(find_in_member(member), TypeMember::Maybe))?;
    if !is_answer(model, read) {
        return None;
    }
    if ANSWER_NAMES.contains(&name) {
        return Some(format!("write `{before}.{member}` for the answer"));
    }
    Some(format!("write `{before}.{member}.{name}` for a field of the answer"))
}

/// The slot of the value that lacks the member.
fn incomplete_value_slot(read: &ValueRead<'_>) -> Option<SlotId> {
    let Source::Missing(_, BindingFault::Beyond(missing)) = read.source else { return None };
    missing.of.as_ref()?.slot_ids().first().copied()
}

/// Whether the value that lacks the member is an agent's answer or a part of it.
pub(super) fn is_answer(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    let Some(slot) = incomplete_value_slot(read) else { return false };
    let writes_slot = |id: StepId| model.program.steps[id].out == Some(slot);
    model.steps_of(read.flow).iter().any(|&(_, id)| writes_slot(id) && called_flow(model, id).is_some())
}

/// Adds the place where the value is declared, if that is in another file.
fn label_declaration(model: &SemanticModel<'_>, read: &ValueRead<'_>, finding: Diagnostic) -> Diagnostic {
    match declaration_location(model, read) {
        Some(at) if at.file != read.at.file => finding.with_label(at, "its properties are declared here"),
        _ => finding,
    }
}

/// The place that declares the properties of a value that a called flow returns: the schema of its answer, a property, or the flow.
fn declaration_location(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> Option<Location> {
    let source = match read.source {
        Source::Missing(_, BindingFault::Beyond(missing)) => missing.of.as_ref()?,
        source => source,
    };
    let (Source::Slot(slot) | Source::Member(slot, _)) = source else { return None };
    let program = model.program;
    let (_, writer) = model.steps_of(read.flow).iter().find(|(_, id)| program.steps[*id].out == Some(*slot))?;
    let callee = called_flow(model, *writer)?;
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
    steps.iter().find_map(|(_, id)| model_answer_schema(&model.program.steps[*id]))
}

/// The schema of the answer, if the step is a model call with one.
fn model_answer_schema(step: &Step) -> Option<SchemaId> {
    let StepKind::Model(call) = &step.kind else { return None };
    match call.format {
        AnswerFormat::Json(schema) => Some(schema),
        AnswerFormat::Text | AnswerFormat::JsonOrText => None,
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

/// Adds the declaration of the intended name, because that may be the misspelling. If it is not clear which one, adds the place where
/// the value is declared.
fn label_intended(
    model: &SemanticModel<'_>,
    read: Option<&ValueRead<'_>>,
    finding: Diagnostic,
    intended: &str,
) -> Diagnostic {
    match (only_declaration(model, intended), read) {
        (Some(at), _) => finding.with_label(at, format!("`{intended}` is declared here")),
        (None, Some(read)) => label_declaration(model, read, finding),
        (None, None) => finding,
    }
}

/// Adds a fix that replaces the name by the intended one. It is safe if that name is almost certain and `is_closed`: only declared
/// properties can exist.
fn with_respelling(finding: Diagnostic, at: Option<Location>, intended: NearMatch<'_>, is_closed: bool) -> Diagnostic {
    let Some(at) = at else { return finding };
    // Other names need quotes or brackets in a path.
    if !intended.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        return finding;
    }
    let message = format!("write `{}`", intended.name);
    if is_closed && intended.sure {
        finding.with_safe_fix(message, at, intended.name)
    } else {
        finding.with_suggestion(message, at, intended.name)
    }
}

/// The declaration of a name that is declared only once.
fn only_declaration(model: &SemanticModel<'_>, name: &str) -> Option<Location> {
    let mut declarations = model.facts.declarations.iter().filter(|d| *d.name == *name);
    let first = declarations.next()?;
    if declarations.next().is_some() { None } else { Some(first.at) }
}

/// The place of a segment of a path.
fn segment_location(read: &ValueRead<'_>, at: usize) -> Option<Location> {
    let reference = read.reference?;
    path_location::locate_part(&reference.span, read.at, reference.path.get(at)?.span.clone())
}

/// The path before a segment, and the segment.
pub(super) fn split_path(read: &ValueRead<'_>, at: usize) -> Option<(String, String)> {
    let path = &read.reference?.path;
    let before: Vec<&str> = path.get(..at)?.iter().map(|s| &*s.name).collect();
    let before = before.join(".");
    let name = path.get(at)?.name.to_string();
    if before.is_empty() { None } else { Some((before, name)) }
}
