//! Which step a name means in a place, and whether its output is there: those before it, in a loop all of them from the
//! second pass on, beside it none.

use trefoil_ir::Defined;
use trefoil_template::{Comparison, Condition, Expression, Value};

use super::{AgentNames, At, Order, When};
use crate::names::Doubt;

/// The step that a name means; what is known about its output there; none: no step has that name.
pub fn standing(names: &AgentNames, name: &str, at: At) -> Option<(usize, Defined, Option<Doubt>)> {
    let hits = names.named(name);
    let here = index(names, at);
    let before = hits.iter().rev().find(|i| **i < here).copied();
    let step = before.or(hits.first().copied())?;
    let own = hits.contains(&here);
    let (defined, doubt) = match before {
        _ if names.order == Order::Parallel && at != At::End => (Defined::Never, Some(beside(own))),
        None if names.order == Order::Loop => (Defined::Sometimes, Some(Doubt::FirstPass)),
        None => (Defined::Never, Some(if own { Doubt::Own } else { Doubt::Later })),
        Some(_) => skipped(names, hits, here),
    };
    Some((step, defined, doubt))
}

/// The index of the step that a place is in; after the last step, the number of steps.
pub fn index(names: &AgentNames, at: At) -> usize {
    match at {
        At::Step(i) => i,
        At::End => names.steps.len(),
    }
}

fn beside(own: bool) -> Doubt {
    if own { Doubt::Own } else { Doubt::Beside }
}

/// A step with a `when` may not have run.
fn skipped(names: &AgentNames, hits: &[usize], here: usize) -> (Defined, Option<Doubt>) {
    const THERE: (Defined, Option<Doubt>) = (Defined::Always, None);
    // Of two steps with one key the other may have left something.
    let [only] = hits else { return THERE };
    let when_of = |i: usize| names.steps.get(i).and_then(|s| s.when.as_deref());
    let Some(when) = when_of(*only) else { return THERE };
    let own = when_of(here);
    // The reader is skipped with it.
    if own.is_some_and(|own| own.text == when.text) {
        return THERE;
    }
    if when.condition.as_ref().is_some_and(|c| always(c, c.expression())) {
        return THERE;
    }
    if let Some(own) = own.filter(|own| names.order == Order::Once && exclude(names, when, own)) {
        return (Defined::Never, Some(Doubt::Excluded { when: when.text.clone(), own: own.text.clone() }));
    }
    (Defined::Sometimes, Some(Doubt::Skipped(Some(when.text.clone()))))
}

/// Whether a condition holds whatever it reads: one of its parts says the opposite of another, or something is compared
/// with itself.
fn always(condition: &Condition, expression: &Expression) -> bool {
    let same = |a: &Expression, b: &Expression| match (a, b) {
        (Expression::Literal(a, _), Expression::Literal(b, _)) => a == b,
        (Expression::Reference(a), Expression::Reference(b)) => {
            let path = |r: &u32| condition.references().get(*r as usize).map(|r| (r.dotted(), r.default.as_deref()));
            path(a).is_some() && path(a) == path(b)
        }
        _ => false,
    };
    let opposite = |a: &Expression, b: &Expression| match (a, b) {
        (Expression::Compare(left, one), Expression::Compare(right, other)) => {
            let ([a, b], [c, d]) = (left.as_slice(), right.as_slice()) else { return false };
            let opposed = matches!(
                (one.as_slice(), other.as_slice()),
                ([Comparison::Equal], [Comparison::NotEqual]) | ([Comparison::NotEqual], [Comparison::Equal])
            );
            opposed && (same(a, c) && same(b, d) || same(a, d) && same(b, c))
        }
        (Expression::Not(inner), other) | (other, Expression::Not(inner)) => same(inner, other),
        _ => false,
    };
    match expression {
        Expression::And(all) => all.iter().all(|e| always(condition, e)),
        Expression::Or(all) => {
            all.iter().any(|e| always(condition, e))
                || all.iter().enumerate().any(|(i, a)| all.iter().skip(i + 1).any(|b| opposite(a, b)))
        }
        Expression::Compare(operands, comparisons) => {
            matches!((operands.as_slice(), comparisons.as_slice()), ([a, b], [Comparison::Equal]) if same(a, b))
        }
        _ => false,
    }
}

/// Whether two conditions on an input, each one comparison with a literal, can never both hold.
fn exclude(names: &AgentNames, one: &When, other: &When) -> bool {
    let (Some((a, first, x)), Some((b, second, y))) = (compared(names, one), compared(names, other)) else {
        return false;
    };
    a == b
        && match (first, second) {
            (Comparison::Equal, Comparison::NotEqual) | (Comparison::NotEqual, Comparison::Equal) => x == y,
            (Comparison::Equal, Comparison::Equal) => x != y,
            _ => false,
        }
}

/// An input that a condition compares with a literal, and nothing else.
fn compared<'w>(names: &AgentNames, when: &'w When) -> Option<(String, Comparison, &'w Value)> {
    let condition = when.condition.as_ref()?;
    let Expression::Compare(operands, comparisons) = condition.expression() else { return None };
    let ([Expression::Reference(r), Expression::Literal(value, _)], [comparison]) =
        (operands.as_slice(), comparisons.as_slice())
    else {
        return None;
    };
    let reference = condition.references().get(*r as usize)?;
    // What a step writes may be another value by then.
    let input = names.named(&reference.path.first()?.name).is_empty();
    input.then(|| (reference.dotted(), *comparison, value))
}
