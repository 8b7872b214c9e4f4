//! Whether a condition holds only if the value that it reads exists. Where it holds, that value and other results of
//! the same step can be read.

use trefoil_ir::solver::{ConditionTest, TestTree};
use trefoil_ir::{BoundCondition, Source};
use trefoil_template::{BuiltinFunction, ComparisonOperator, ConditionExpression};

/// Whether a condition never holds if a source, or the step's result that contains it, has no value.
pub(super) fn asks_for(cond: &BoundCondition, source: &Source) -> bool {
    let condition = &cond.condition;
    let slot = |source: &Source| match source {
        Source::Slot(slot) | Source::Member(slot, _) => Some(*slot),
        Source::Compose { parts, .. } => match parts.as_slice() {
            [part] => Some(part.slot),
            _ => None,
        },
        _ => None,
    };
    let alike = |other: &Source| other == source || slot(other).is_some_and(|other| slot(source) == Some(other));
    let of_source = |e: &ConditionExpression| match e {
        ConditionExpression::Reference(r) => condition
            .references()
            .get(*r as usize)
            .is_some_and(|r| r.default.is_none() && cond.sources.get(r.binding.source as usize).is_some_and(alike)),
        _ => false,
    };
    needs(condition.expression_tree(), &of_source)
}

/// Whether a condition never holds if these values have no value. `lost` gets the source of each, and its path.
pub(super) fn fails_without(cond: &BoundCondition, lost: &dyn Fn(&Source, &[&str]) -> bool) -> bool {
    let condition = &cond.condition;
    let value = |e: &ConditionExpression| match e {
        ConditionExpression::Reference(r) => condition.references().get(*r as usize).is_some_and(|r| {
            let path: Vec<&str> = r.path.iter().skip(usize::from(r.binding.skip)).map(|s| &*s.name).collect();
            let source = cond.sources.get(r.binding.source as usize);
            r.default.is_none() && source.is_some_and(|source| lost(source, &path))
        }),
        _ => false,
    };
    needs(condition.expression_tree(), &value)
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
        let least = least.as_f64().filter(|_| value(of));
        return match comparison {
            ComparisonOperator::Greater => least.is_some_and(|least| least >= 0.0),
            ComparisonOperator::GreaterEqual => least.is_some_and(|least| least > 0.0),
            ComparisonOperator::Equal => least.is_some_and(|least| least != 0.0),
            ComparisonOperator::NotEqual => least == Some(0.0),
            _ => false,
        };
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
