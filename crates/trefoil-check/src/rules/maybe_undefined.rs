//! A name that has no value on some paths to where it is read.
//!
//! Caused by skipped steps, first passes of loops, inner results of called pipelines, and keys of shared state that
//! only some states write.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{FlowId, OnStepFailure, SlotId, StepId, StepKind, TextRole, ValueExpression};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::Value;

use super::unknown_property::is_input_slot;
use super::unordered_read::{reader_name, reading_step, state_result};
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::paths::path_in_source;
use crate::semantic::{AbsenceReason, ReadPresence, SemanticModel, ValueRead};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "maybe-undefined",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("maybe_undefined.md"),
    run: RuleSource::Program(run),
};

/// Checks every written path.
fn run(cx: &mut RuleContext<'_>) {
    let (model, results, left) = (cx.model, cx.model.state_result_slots(), cx.model.node_result_slots());
    let (mut told, mut told_null) = (HashSet::default(), HashSet::default());
    for read in model.value_reads() {
        let ReadPresence::Sometimes(why) = &read.defined else {
            printed_null(cx, read);
            if told_null.insert(read.at) {
                failed_null(cx, &left, read);
                not_required(cx, read);
            }
            continue;
        };
        if read.reference.is_none() || read.guarded || read.position == TextRole::Condition || !told.insert(read.at) {
            continue;
        }
        let path = read.path_text();
        if let AbsenceReason::Excluded { .. } = why {
            let d = cx.new_finding(
                read.at,
                format!("`{path}` is always null here: its step is skipped whenever this one runs"),
            );
            cx.report_finding(Diagnostic { severity: FindingSeverity::Warning, ..d }.with_help(why.in_words()));
            continue;
        }
        // In a typical loop, the first pass lacks the result of a later step.
        let mut usual = *why == AbsenceReason::FirstPass;
        let message = match (why, state_result(model, &results, read)) {
            (AbsenceReason::NotVisited, Some((name, state))) if reading_step(model, read) == Some(state) => {
                usual = true;
                format!("`{path}` has no value on the first visit of {name}")
            }
            (AbsenceReason::NotVisited, Some((name, _))) => {
                format!(
                    "`{path}` may have no value, because {name} may not have run before {}",
                    reader_name(model, read)
                )
            }
            (AbsenceReason::Failed, Some((name, _))) => format!("`{path}` has no value if {name} has failed"),
            _ => format!("`{path}` has no value if {}", because(model, &left, read, why)),
        };
        let d = cx.new_finding(read.at, message);
        let d = match (read.strict, usual) {
            (true, _) => Diagnostic { severity: FindingSeverity::Warning, ..d },
            (false, true) => Diagnostic { severity: FindingSeverity::Hint, ..d },
            (false, false) => d,
        };
        cx.report_finding(with_missing_advice(d, read, &path));
    }
}

/// Adds how to handle a missing value in the language of the text.
fn with_missing_advice(d: Diagnostic, read: &ValueRead<'_>, path: &str) -> Diagnostic {
    match read.words {
        Some(words) => d.with_help(words.missing_advice(path)),
        None => d,
    }
}

/// Whether a text is shown to a model or to a person.
fn is_shown(role: TextRole) -> bool {
    matches!(role, TextRole::System | TextRole::User | TextRole::Person)
}

/// A null value that nothing writes before it is read, if text prints it as `null`.
fn printed_null(cx: &mut RuleContext<'_>, read: &ValueRead<'_>) {
    let Some(words) = read.words else { return };
    if words.null.is_empty() || !is_shown(read.position) || read.guarded || read.defined != ReadPresence::Always {
        return;
    }
    let Some(kinds) = read.schema.value_kinds() else { return };
    if !kinds.is_only(ValueKind::Null) || !read.source.slot_ids().is_empty() {
        return;
    }
    let message =
        format!("`{}` is null here: it is declared without a value, and nothing writes it before", read.path_text());
    let d = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(read.at, message) };
    cx.report_finding(
        d.with_help(format!("write `\"\"` for an empty text; a template prints the word `{}`", words.null)),
    );
}

/// The result of a node that is null if the node has failed, in a text. A default does not help, because null is a value.
/// Whoever tests the result on an edge knows that.
fn failed_null(cx: &mut RuleContext<'_>, left: &HashMap<(FlowId, SlotId), StepId>, read: &ValueRead<'_>) {
    let Some(words) = read.words else { return };
    if words.null.is_empty() || !is_shown(read.position) {
        return;
    }
    let [slot] = read.source.slot_ids()[..] else { return };
    let Some(node) = left.get(&(read.flow, slot)) else { return };
    let on_failure = &cx.model.program.steps[*node].policy.on_failure;
    let becomes_null =
        matches!(on_failure, OnStepFailure::Use(value) if matches!(&**value, ValueExpression::Const(Value::Null)));
    if !becomes_null || is_tested(cx.model, read.flow, slot) {
        return;
    }
    let (path, name) = (read.path_text(), words::step_name(cx.model.program, *node));
    let message = format!("`{path}` is null if {name} has failed, so the text says `{}`", words.null);
    let d = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(read.at, message) };
    let and = if read.guarded { "; `default` does not apply to null" } else { "" };
    let tested = if path.starts_with("working.") { path } else { format!("working.{path}") };
    cx.report_finding(d.with_help(format!("test it on the edge that leads here: `when: {tested} != None`{and}")));
}

/// A property that its schema does not require, in a text of a workflow: of the start input, or of an answer. An agent does
/// not know what its callers pass. Where a missing input is null, its default is part of its declaration.
fn not_required(cx: &mut RuleContext<'_>, read: &ValueRead<'_>) {
    let text = !matches!(read.position, TextRole::Condition | TextRole::Url | TextRole::Header);
    if !text || !read.optional || read.guarded || read.stop.is_some() || read.undeclared.is_some() {
        return;
    }
    let Some(reference) = read.reference else { return };
    let flow = &cx.model.program.flows[read.flow];
    let path = path_in_source(reference);
    let Some((name, before)) = path.split_last() else { return };
    let workflow = matches!(cx.model.program.steps[flow.body].kind, StepKind::StateMachine(_));
    if !workflow {
        return;
    }
    let parent = cx.model.program_types().source_type(read.flow, read.source, before, None).schema;
    let intake = &flow.intake;
    let of_input = read.source.slot_ids().iter().all(|slot| is_input_slot(intake, *slot));
    if !may_lack(&parent, name) || of_input && intake.fields.iter().any(|field| field.nullable) {
        return;
    }
    let path = read.path_text();
    let message = match of_input {
        true => format!("`{path}` has no value if the input does not have it: its schema does not require it"),
        false => format!("`{path}` may have no value: its schema does not require it"),
    };
    let d = cx.new_finding(read.at, message);
    cx.report_finding(with_missing_advice(d, read, &path));
}

/// Whether a type declares a property that its objects need not have.
fn may_lack(of: &ValueType, name: &str) -> bool {
    let mut is_declared = false;
    for alternative in of.type_alternatives().unwrap_or(std::slice::from_ref(of)) {
        if !alternative.declared_members().iter().any(|property| **property == *name) {
            continue;
        }
        if let Some(object) = alternative.as_object()
            && object.requires_member(name)
        {
            return false;
        }
        is_declared = true;
    }
    is_declared
}

/// Whether a condition of an edge reads a slot.
fn is_tested(model: &SemanticModel<'_>, flow: FlowId, slot: SlotId) -> bool {
    for (_, id) in model.steps_of(flow) {
        let StepKind::Graph(graph) = &model.program.steps[*id].kind else { continue };
        for edge in graph.nodes.iter().flat_map(|node| &node.incoming) {
            if let Some(when) = &edge.when
                && when.sources.iter().any(|source| source.slot_ids().contains(&slot))
            {
                return true;
            }
        }
    }
    false
}

/// Why a path has no value, with the nodes that would have provided one.
fn because(
    model: &SemanticModel<'_>,
    left: &HashMap<(FlowId, SlotId), StepId>,
    read: &ValueRead<'_>,
    why: &AbsenceReason,
) -> String {
    let mut nodes: Vec<StepId> = Vec::new();
    for slot in read.source.slot_ids() {
        if let Some(node) = left.get(&(read.flow, slot))
            && !nodes.contains(node)
        {
            nodes.push(*node);
        }
    }
    let names: Vec<String> = nodes.into_iter().map(|node| words::step_name(model.program, node)).collect();
    match (why, names.as_slice()) {
        (AbsenceReason::NotRun, [name]) => format!("{name} has not completed"),
        (AbsenceReason::Failed, [name]) => format!("{name} has failed"),
        (AbsenceReason::NotRun | AbsenceReason::Failed, [_, ..]) => {
            format!("none of {} has completed", names.join(", "))
        }
        _ => why.in_words(),
    }
}
