//! Which steps a template sees: those before it, in a loop all of them from the second pass on, beside it none.

use trefoil_ir::Source;
use trefoil_syntax::Severity;
use trefoil_template::{Comparison, Condition, Expression, Policy, Reference, Segment};

use super::path::walk;
use super::scope::{Answer, At, Note, Order, Purpose, Scope};
use super::shape::Shape;

/// What a path that begins with a step's name stands for; none: no step has that name.
pub fn look(scope: &Scope<'_>, reference: &Reference, at: At, purpose: Purpose) -> Option<Answer> {
    let root = reference.path.first()?;
    let hits = scope.named(&root.name);
    let here = match at {
        At::Step(i) => i,
        At::End => scope.steps.len(),
    };
    let before = hits.iter().rev().find(|i| **i < here).copied();
    let step = scope.steps.get(before.or(hits.first().copied())?)?;
    let own = hits.contains(&here);
    let note = if scope.order == Order::Parallel && at != At::End {
        Some(sibling(root, own))
    } else if before.is_none() {
        Some(not_yet(scope.order, reference, root, own))
    } else {
        skipped(scope, reference, root, hits, here)
    };
    let wanted =
        |n: &Note| n.severity == Severity::Error || (wants_doubts(reference, purpose) && !asked(scope, root, here));
    let note = match note.filter(wanted) {
        Some(error) if error.severity == Severity::Error => return Some(Answer::nothing(error)),
        other => other,
    };
    let callee = step.callee.as_deref();
    let shape = callee.filter(|_| hits.len() == 1).map_or(Shape::Any, |s| s.output.clone());
    let mut walked = walk(&reference.path, &shape, callee.map(|s| s.exports.as_slice()));
    // Where its first member is, the others are.
    if let (Some(note), Some(callee)) =
        (walked.note.as_mut().filter(|n| n.rule == "unknown-property"), callee.filter(|_| !walked.layered))
    {
        note.declared = callee.members.where_it_ends(reference.path.iter().skip(1).map(|s| &*s.name));
    }
    let source = match step.exports.filter(|_| walked.layered) {
        Some(under) => Source::Layered { top: step.slot, path: Vec::new(), under },
        None => Source::Slot(step.slot),
    };
    Some(Answer { source, skip: 1, shape: walked.shape, notes: note.into_iter().chain(walked.note).collect() })
}

/// Whether it is worth saying that a path may be undefined: not in conditions, which are there to ask, and not inside
/// an `{{#if}}`.
fn wants_doubts(reference: &Reference, purpose: Purpose) -> bool {
    !reference.guarded && !reference.beside() && purpose != Purpose::Condition
}

/// Whether the step that reads runs only where the other one has left something: its own `when` asks for it.
fn asked(scope: &Scope<'_>, root: &Segment, here: usize) -> bool {
    let Some(when) = scope.steps.get(here).and_then(|s| s.when.as_ref()) else { return false };
    let Ok(condition) = Condition::parse(when, &Policy::AGNTZ) else { return false };
    let of_root = |e: &Expression| match e {
        Expression::Reference(r) => condition
            .references()
            .get(*r as usize)
            .is_some_and(|r| r.default.is_none() && r.path.first().is_some_and(|s| s.name == root.name)),
        _ => false,
    };
    needs(condition.expression(), &of_root)
}

/// Whether a condition never holds where a value is null.
fn needs(expression: &Expression, value: &dyn Fn(&Expression) -> bool) -> bool {
    match expression {
        Expression::And(all) => all.iter().any(|e| needs(e, value)),
        Expression::Or(all) => !all.is_empty() && all.iter().all(|e| needs(e, value)),
        Expression::Compare(operands, comparisons) => match (operands.as_slice(), comparisons.as_slice()) {
            ([a, b], [comparison]) => {
                let literal = match (a, b) {
                    (a, Expression::Literal(literal)) if value(a) => literal,
                    (Expression::Literal(literal), b) if value(b) => literal,
                    _ => return false,
                };
                match comparison {
                    Comparison::NotEqual => literal.is_null(),
                    Comparison::In | Comparison::NotIn => false,
                    _ => !literal.is_null(),
                }
            }
            _ => false,
        },
        other => value(other),
    }
}

/// Whether a condition holds whatever it reads: one of its parts says the opposite of another, or something is compared
/// with itself.
fn always(condition: &Condition, expression: &Expression) -> bool {
    let same = |a: &Expression, b: &Expression| match (a, b) {
        (Expression::Literal(a), Expression::Literal(b)) => a == b,
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

/// Whether two conditions on an input, each one comparison with a literal, never hold at once.
fn exclude(scope: &Scope<'_>, one: &str, other: &str) -> bool {
    let read = |text: &str| {
        let condition = Condition::parse(text, &Policy::AGNTZ).ok()?;
        let Expression::Compare(operands, comparisons) = condition.expression() else { return None };
        let ([Expression::Reference(r), Expression::Literal(value)], [comparison]) =
            (operands.as_slice(), comparisons.as_slice())
        else {
            return None;
        };
        let reference = condition.references().get(*r as usize)?;
        // What a step writes may be another value by then.
        let input = scope.named(&reference.path.first()?.name).is_empty();
        input.then(|| (reference.dotted(), *comparison, value.clone()))
    };
    let (Some((a, first, x)), Some((b, second, y))) = (read(one), read(other)) else { return false };
    a == b
        && match (first, second) {
            (Comparison::Equal, Comparison::NotEqual) | (Comparison::NotEqual, Comparison::Equal) => x == y,
            (Comparison::Equal, Comparison::Equal) => x != y,
            _ => false,
        }
}

fn skipped(scope: &Scope<'_>, reference: &Reference, root: &Segment, hits: &[usize], here: usize) -> Option<Note> {
    let [only] = hits else { return None };
    let when = scope.steps.get(*only)?.when.as_ref()?;
    if scope.steps.get(here).and_then(|s| s.when.as_ref()) == Some(when) {
        return None; // the reader is skipped with it
    }
    if Condition::parse(when, &Policy::AGNTZ).is_ok_and(|c| always(&c, c.expression())) {
        return None;
    }
    let own = scope.steps.get(here).and_then(|s| s.when.as_ref());
    if let Some(own) = own.filter(|own| scope.order == Order::Once && exclude(scope, when, own)) {
        let message =
            format!("`{}` is always null here: its step is skipped whenever this one runs", reference.dotted());
        let help = format!("its step runs only when `{when}`, and this one only when `{own}`");
        return Some(Note::new(Severity::Warning, "maybe-undefined", message, help));
    }
    let message = format!("`{}` is null when its step is skipped", reference.dotted());
    let help = format!("the step runs only when `{when}`; guard it with `{{{{#if {}}}}}`", root.name);
    Some(Note::new(Severity::Info, "maybe-undefined", message, help))
}

fn not_yet(order: Order, reference: &Reference, root: &Segment, own: bool) -> Note {
    let name = &root.name;
    if order == Order::Loop {
        let message = format!("`{}` is null on the first pass: its step has not run yet", reference.dotted());
        return Note::new(Severity::Info, "maybe-undefined", message, None);
    }
    let message = if own {
        format!("`{name}` is the output of this very step")
    } else {
        format!("`{name}` has not run yet here, so this is always null")
    };
    let help = "a step sees only the steps before it; with `until` it sees the others from the second pass on";
    Note::new(Severity::Error, "unordered-read", message, help.to_owned())
}

fn sibling(root: &Segment, own: bool) -> Note {
    let name = &root.name;
    let message = if own {
        format!("`{name}` is the output of this very branch")
    } else {
        format!("`{name}` is a branch beside this one, so this is always null")
    };
    let help = "branches run at the same time and see the state as it was before; use a sequential pipeline";
    Note::new(Severity::Error, "unordered-read", message, help.to_owned())
}
