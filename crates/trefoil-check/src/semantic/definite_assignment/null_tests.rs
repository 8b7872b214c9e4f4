//! Whether a condition holds only if the value that it reads exists. Where it holds, that value and other results of
//! the same step can be read.

use trefoil_ir::solver::{ConditionTest, TestTree};
use trefoil_ir::{BoundCondition, SlotId, Source};
use trefoil_template::{BuiltinFunction, ComparisonOperator, ConditionExpression, Reference};

use crate::semantic::paths::path_in_source;

/// Whether a condition never holds if a source, or the step's result that contains it, has no value.
pub(super) fn asks_for(cond: &BoundCondition, source: &Source) -> bool {
    let is_source = |operand: &ConditionExpression| match read_by(cond, operand) {
        Some((_, other)) => {
            other == source || result_slot(other).is_some() && result_slot(other) == result_slot(source)
        }
        None => false,
    };
    needs(cond.condition.expression_tree(), &is_source)
}

/// The slot of the step's result that contains a source.
fn result_slot(source: &Source) -> Option<SlotId> {
    match source {
        Source::Slot(slot) | Source::Member(slot, _) => Some(*slot),
        Source::Compose { parts, .. } => match parts.as_slice() {
            [part] => Some(part.slot),
            _ => None,
        },
        _ => None,
    }
}

/// The path without a default that an operand is, and its source.
fn read_by<'c>(cond: &'c BoundCondition, operand: &ConditionExpression) -> Option<(&'c Reference, &'c Source)> {
    let ConditionExpression::Reference(index) = operand else { return None };
    let reference = cond.condition.references().get(*index as usize)?;
    if reference.default.is_some() {
        return None;
    }
    Some((reference, cond.sources.get(reference.binding.source as usize)?))
}

/// Whether a condition never holds if these values have no value. `lost` gets the source of each, and its path.
pub(super) fn fails_without(cond: &BoundCondition, lost: &dyn Fn(&Source, &[&str]) -> bool) -> bool {
    let is_lost = |operand: &ConditionExpression| match read_by(cond, operand) {
        Some((reference, source)) => lost(source, &path_in_source(reference)),
        None => false,
    };
    needs(cond.condition.expression_tree(), &is_lost)
}

/// The value whose length an operand is.
fn measured(expression: &ConditionExpression) -> Option<&ConditionExpression> {
    match expression {
        ConditionExpression::Call(BuiltinFunction::Len | BuiltinFunction::Length, of) => of.first(),
        _ => None,
    }
}

/// Whether a condition never holds if a value is null. Its length is then 0, and it is not in any order.
fn needs(expression: &ConditionExpression, value: &dyn Fn(&ConditionExpression) -> bool) -> bool {
    TestTree::from_expression(expression, true).fails_if(&|test| test.holds && needs_one(test, value))
}

fn needs_one(test: &ConditionTest<'_>, value: &dyn Fn(&ConditionExpression) -> bool) -> bool {
    let a = test.left;
    let Some((comparison, b)) = test.compared else { return value(measured(a).unwrap_or(a)) };
    if comparison.is_ordering() && (value(a) || value(b)) {
        return true;
    }
    if let (Some(of), ConditionExpression::Literal(least, _)) = (measured(a), b) {
        let Some(least) = least.as_f64() else { return false };
        let excludes_empty = match comparison {
            ComparisonOperator::Greater => least >= 0.0,
            ComparisonOperator::GreaterEqual => least > 0.0,
            ComparisonOperator::Equal => least != 0.0,
            ComparisonOperator::NotEqual => least == 0.0,
            _ => false,
        };
        return excludes_empty && value(of);
    }
    let literal = match (a, b) {
        (a, ConditionExpression::Literal(literal, _)) if value(a) => literal,
        (ConditionExpression::Literal(literal, _), b) if value(b) => literal,
        _ => return false,
    };
    match comparison {
        ComparisonOperator::NotEqual => literal.is_null(),
        ComparisonOperator::In | ComparisonOperator::NotIn => false,
        _ => !literal.is_null(),
    }
}
