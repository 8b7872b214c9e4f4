//! Conditions that test whether a value exists or is not empty, although it certainly is: a loop with such a condition
//! ends after the first pass.

use std::cell::OnceCell;

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{BoundCondition, FlowId, StepKind, TextRole, walk};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashMap;
use trefoil_template::{ComparisonOperator, ConditionExpression, Value};

use crate::rule::RuleContext;
use crate::semantic::{ReadPresence, SemanticModel, ValueRead};

/// The reads of conditions, by place.
type ConditionReads<'m> = HashMap<Location, &'m ValueRead<'m>>;

/// Checks the conditions of steps and loops.
pub(super) fn run(cx: &mut RuleContext<'_>, wanted: bool) {
    let model = cx.model;
    let reads = OnceCell::new();
    let mut found = Vec::new();
    for (_, _, step) in model.reachable_steps() {
        if let Some(when) = &step.when {
            parts(model, &reads, when, when.condition.expression_tree(), "the step always runs", &mut found);
        }
        if let StepKind::Loop(it) = &step.kind {
            parts(
                model,
                &reads,
                &it.until,
                it.until.condition.expression_tree(),
                "the loop ends after its first iteration",
                &mut found,
            );
        }
    }
    for ConstantConditionPart { at, holds, message, help } in found {
        if holds == wanted {
            cx.report_finding(cx.new_finding(at, message).with_help(help));
        }
    }
}

/// A part of a condition with a constant result.
struct ConstantConditionPart {
    at: Location,
    holds: bool,
    message: String,
    help: String,
}

/// The parts of a condition that test whether a value exists. `so`: the effect on the whole, if no other part decides.
fn parts<'m>(
    model: &'m SemanticModel<'m>,
    reads: &OnceCell<ConditionReads<'m>>,
    cond: &BoundCondition,
    part: &ConditionExpression,
    so: &str,
    found: &mut Vec<ConstantConditionPart>,
) {
    match part {
        ConditionExpression::And(all) => {
            for part in all {
                parts(model, reads, cond, part, "this part of the condition has no effect", found);
            }
        }
        ConditionExpression::Or(all) => {
            for part in all {
                parts(model, reads, cond, part, so, found);
            }
        }
        ConditionExpression::Reference(reference) => {
            let Some((at, read)) = certain_read(model, reads, cond, *reference) else { return };
            if !is_true(&read.schema) || !is_answered(model, read) {
                return;
            }
            let message =
                format!("`{}` is always true here, because it always has a value and is never empty", read.path_text());
            found.push(ConstantConditionPart {
                at,
                holds: true,
                message,
                help: format!("{so}: compare it with a value"),
            });
        }
        ConditionExpression::Compare(operands, comparisons) => {
            let Some((reference, always)) = null_test(operands, comparisons) else { return };
            let Some((at, read)) = certain_read(model, reads, cond, reference) else { return };
            if read.schema.is_nullable() || !is_answered(model, read) {
                return;
            }
            let verdict = if always { "is always true" } else { "can never be true" };
            let message =
                format!("this comparison {verdict}: `{}` always has a value here and is never null", read.path_text());
            let so = if always { so } else { "" };
            let help = if so.is_empty() {
                "compare it with a value".to_owned()
            } else {
                format!("{so}: compare it with a value")
            };
            found.push(ConstantConditionPart { at, holds: always, message, help });
        }
        _ => {}
    }
}

/// The read of a reference that certainly has a value, and its place.
fn certain_read<'m>(
    model: &'m SemanticModel<'m>,
    reads: &OnceCell<ConditionReads<'m>>,
    cond: &BoundCondition,
    reference: u32,
) -> Option<(Location, &'m ValueRead<'m>)> {
    let at = Location::new(cond.origin.file, *cond.spans.get(reference as usize)?);
    let read = *reads.get_or_init(|| in_conditions(model)).get(&at)?;
    let sure =
        read.defined == ReadPresence::Always && !read.optional && read.stop.is_none() && read.undeclared.is_none();
    if sure && read.reference?.default.is_none() { Some((at, read)) } else { None }
}

/// The reference that a comparison tests for null, and whether the comparison holds if it is not null.
fn null_test(operands: &[ConditionExpression], comparisons: &[ComparisonOperator]) -> Option<(u32, bool)> {
    let ([a, b], [comparison]) = (operands, comparisons) else { return None };
    let ((ConditionExpression::Reference(reference), ConditionExpression::Literal(Value::Null, _))
    | (ConditionExpression::Literal(Value::Null, _), ConditionExpression::Reference(reference))) = (a, b)
    else {
        return None;
    };
    match comparison {
        ComparisonOperator::NotEqual => Some((*reference, true)),
        ComparisonOperator::Equal => Some((*reference, false)),
        _ => None,
    }
}

/// Whether a value is a result that is not passed on by a pipeline: the output of a pipeline is null if one of its
/// steps was skipped or left something out, which its type does not show.
fn is_answered(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    let slots = read.source.slot_ids();
    for (_, id) in model.steps_of(read.flow) {
        let step = &model.program.steps[*id];
        if let Some(out) = step.out
            && slots.contains(&out)
            && !walk::callees_of(step).into_iter().all(|callee| is_simple(model, callee))
        {
            return false;
        }
    }
    true
}

/// Whether a flow runs all of its steps, and passes on nothing from other flows.
fn is_simple(model: &SemanticModel<'_>, flow: FlowId) -> bool {
    for (_, id) in model.steps_of(flow) {
        let step = &model.program.steps[*id];
        if step.when.is_some() || matches!(step.kind, StepKind::Call(_) | StepKind::ForEach(_)) {
            return false;
        }
    }
    true
}

fn in_conditions<'m>(model: &'m SemanticModel<'m>) -> ConditionReads<'m> {
    let mut reads: ConditionReads<'m> = HashMap::default();
    for read in model.value_reads() {
        if read.position != TextRole::Condition {
            continue;
        }
        // If one of several flows knows less about it, the result is not certain.
        let less = read.defined != ReadPresence::Always;
        if less || !reads.contains_key(&read.at) {
            reads.insert(read.at, read);
        }
    }
    reads
}

/// Whether every value of a type is truthy.
fn is_true(of: &ValueType) -> bool {
    if let Some(choices) = of.allowed_values() {
        return !choices.is_empty() && choices.iter().all(|c| c.truth_value() == Some(true));
    }
    let Some(kinds) = of.value_kinds() else { return false };
    !kinds.is_empty() && kinds.iter().all(|kind| is_kind_true(of, kind))
}

/// Whether every value of a type that is of this kind is truthy.
fn is_kind_true(of: &ValueType, kind: ValueKind) -> bool {
    let has_least = |keyword: &str| matches!(of.keyword_limit(keyword), Some(least) if least >= 1.0);
    match kind {
        ValueKind::Text => has_least("minLength"),
        ValueKind::List => has_least("minItems"),
        ValueKind::Number => {
            matches!(of.keyword_limit("minimum"), Some(least) if least > 0.0)
                || matches!(of.keyword_limit("maximum"), Some(most) if most < 0.0)
                || matches!(of.keyword_limit("exclusiveMinimum"), Some(below) if below >= 0.0)
        }
        ValueKind::Object => {
            if let Some(object) = of.as_object()
                && let Some(required) = &object.required
                && !required.is_empty()
            {
                return true;
            }
            has_least("minProperties")
        }
        ValueKind::Boolean | ValueKind::Null => false,
    }
}
