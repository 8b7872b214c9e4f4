//! Conditions that test whether a value exists or is not empty, although it certainly is: a loop with such a condition
//! ends after the first pass.

use std::cell::OnceCell;

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{BoundCondition, FlowId, Step, StepKind, walk};
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
    for ConstantConditionPart { at, message, help, .. } in found.into_iter().filter(|found| found.holds == wanted) {
        cx.report_finding(cx.new_finding(at, message).with_help(help));
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
    let read = |reference: u32| -> Option<(Location, &'m ValueRead<'m>)> {
        let at = Location::new(cond.origin.file, *cond.spans.get(reference as usize)?);
        let read = *reads.get_or_init(|| in_conditions(model)).get(&at)?;
        let sure =
            read.defined == ReadPresence::Always && !read.optional && read.stop.is_none() && read.undeclared.is_none();
        (sure && read.reference.is_some_and(|r| r.default.is_none())).then_some((at, read))
    };
    match part {
        ConditionExpression::And(all) => {
            all.iter().for_each(|p| parts(model, reads, cond, p, "this part of the condition has no effect", found));
        }
        ConditionExpression::Or(all) => all.iter().for_each(|p| parts(model, reads, cond, p, so, found)),
        ConditionExpression::Reference(r) => {
            let Some((at, read)) = read(*r).filter(|(_, read)| is_true(&read.schema) && is_answered(model, read))
            else {
                return;
            };
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
            let ([a, b], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { return };
            let ((ConditionExpression::Reference(r), ConditionExpression::Literal(Value::Null, _))
            | (ConditionExpression::Literal(Value::Null, _), ConditionExpression::Reference(r))) = (a, b)
            else {
                return;
            };
            let always = match comparison {
                ComparisonOperator::NotEqual => true,
                ComparisonOperator::Equal => false,
                _ => return,
            };
            let Some((at, read)) = read(*r).filter(|(_, read)| !read.schema.is_nullable() && is_answered(model, read))
            else {
                return;
            };
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

/// Whether a value is a result that is not passed on by a pipeline: the output of a pipeline is null if one of its
/// steps was skipped or left something out, which its type does not show.
fn is_answered(model: &SemanticModel<'_>, read: &ValueRead<'_>) -> bool {
    let program = model.program;
    let slots = read.source.slot_ids();
    let writes = |step: &&Step| step.out.is_some_and(|out| slots.contains(&out));
    let simple = |callee: FlowId| {
        let mut steps = model.steps_of(callee).iter().map(|(_, id)| &program.steps[*id]);
        steps.all(|s| s.when.is_none() && !matches!(s.kind, StepKind::Call(_) | StepKind::ForEach(_)))
    };
    let mut writers = model.steps_of(read.flow).iter().map(|(_, id)| &program.steps[*id]).filter(writes);
    writers.all(|step| walk::callees_of(step).into_iter().all(simple))
}

fn in_conditions<'m>(model: &'m SemanticModel<'m>) -> ConditionReads<'m> {
    let conditions = model.value_reads().iter().filter(|r| r.position == trefoil_ir::TextRole::Condition);
    let mut reads: ConditionReads<'m> = HashMap::default();
    for read in conditions {
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
    let least = |key: &str| of.keyword_limit(key).is_some_and(|n| n >= 1.0);
    let Some(kinds) = of.value_kinds() else { return false };
    !kinds.is_empty()
        && kinds.iter().all(|kind| match kind {
            ValueKind::Text => least("minLength"),
            ValueKind::List => least("minItems"),
            ValueKind::Number => {
                of.keyword_limit("minimum").is_some_and(|n| n > 0.0)
                    || of.keyword_limit("maximum").is_some_and(|n| n < 0.0)
                    || of.keyword_limit("exclusiveMinimum").is_some_and(|n| n >= 0.0)
            }
            ValueKind::Object => {
                let required = of.as_object().and_then(|object| object.required.as_ref());
                required.is_some_and(|all| !all.is_empty()) || least("minProperties")
            }
            ValueKind::Boolean | ValueKind::Null => false,
        })
}
