//! Whether a condition holds only if the value that it reads exists. Where it holds, that value and other results of
//! the same step can be read.

use trefoil_ir::solve::{ConditionTest, TestTree};
use trefoil_ir::{Cond, Source};
use trefoil_template::{Comparison, Expression, Function};

/// Whether a condition never holds if a source, or the step's result that contains it, has no value.
pub(super) fn asks_for(cond: &Cond, source: &Source) -> bool {
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
    let of_source = |e: &Expression| match e {
        Expression::Reference(r) => condition
            .references()
            .get(*r as usize)
            .is_some_and(|r| r.default.is_none() && cond.sources.get(r.binding.source as usize).is_some_and(alike)),
        _ => false,
    };
    needs(condition.expression(), &of_source)
}

/// Whether a condition never holds if these values have no value. `lost` gets the source of each, and its path.
pub(super) fn fails_without(cond: &Cond, lost: &dyn Fn(&Source, &[&str]) -> bool) -> bool {
    let condition = &cond.condition;
    let value = |e: &Expression| match e {
        Expression::Reference(r) => condition.references().get(*r as usize).is_some_and(|r| {
            let path: Vec<&str> = r.path.iter().skip(usize::from(r.binding.skip)).map(|s| &*s.name).collect();
            let source = cond.sources.get(r.binding.source as usize);
            r.default.is_none() && source.is_some_and(|source| lost(source, &path))
        }),
        _ => false,
    };
    needs(condition.expression(), &value)
}

/// The value whose length an operand is.
fn measured(expression: &Expression) -> Option<&Expression> {
    match expression {
        Expression::Call(Function::Len | Function::Length, of) => of.first(),
        _ => None,
    }
}

/// Whether a condition never holds if a value is null. Its length is then 0, and it is not in any order.
fn needs(expression: &Expression, value: &dyn Fn(&Expression) -> bool) -> bool {
    TestTree::of(expression, true).fails_if(&|test| test.holds && needs_one(test, value))
}

fn needs_one(test: &ConditionTest<'_>, value: &dyn Fn(&Expression) -> bool) -> bool {
    let a = test.left;
    let Some((comparison, b)) = test.compared else { return value(measured(a).unwrap_or(a)) };
    if comparison.is_ordering() && (value(a) || value(b)) {
        return true;
    }
    if let (Some(of), Expression::Literal(least, _)) = (measured(a), b) {
        let least = least.as_f64().filter(|_| value(of));
        return match comparison {
            Comparison::Greater => least.is_some_and(|least| least >= 0.0),
            Comparison::GreaterEqual => least.is_some_and(|least| least > 0.0),
            Comparison::Equal => least.is_some_and(|least| least != 0.0),
            Comparison::NotEqual => least == Some(0.0),
            _ => false,
        };
    }
    let literal = match (a, b) {
        (a, Expression::Literal(literal, _)) if value(a) => literal,
        (Expression::Literal(literal, _), b) if value(b) => literal,
        _ => return false,
    };
    match comparison {
        Comparison::NotEqual => literal.is_null(),
        Comparison::In | Comparison::NotIn => false,
        _ => !literal.is_null(),
    }
}
