//! The claim of a condition, so that opposite claims are recognised without trying values.

use trefoil_template::{Comparison, Expression, Function};

/// Something that a condition asserts or denies.
#[derive(Debug, PartialEq)]
pub struct Claim {
    /// The subject, which is equal for a condition and its opposite.
    pub about: String,
    /// Whether the condition asserts it.
    pub holds: bool,
}

/// The claim of an expression. `value` names the value that a reference reads. `None`: it is not a comparison.
pub fn of(expression: &Expression, value: &dyn Fn(u32) -> Option<String>) -> Option<Claim> {
    match expression {
        Expression::Not(inner) => of(inner, value).map(|c| Claim { holds: !c.holds, ..c }),
        Expression::Compare(operands, comparisons) => {
            let ([a, b], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { return None };
            let (a, b) = (written(a, value)?, written(b, value)?);
            let (about, holds) = match comparison {
                Comparison::Less => (format!("{a} < {b}"), true),
                Comparison::GreaterEqual => (format!("{a} < {b}"), false),
                Comparison::Greater => (format!("{b} < {a}"), true),
                Comparison::LessEqual => (format!("{b} < {a}"), false),
                Comparison::Equal | Comparison::NotEqual => {
                    let (first, second) = if a <= b { (a, b) } else { (b, a) };
                    (format!("{first} == {second}"), *comparison == Comparison::Equal)
                }
                Comparison::In | Comparison::NotIn => (format!("{a} in {b}"), *comparison == Comparison::In),
            };
            Some(Claim { about, holds })
        }
        other => written(other, value).map(|about| Claim { about, holds: true }),
    }
}

/// An operand as text, in which every value has one name.
pub fn written(operand: &Expression, value: &dyn Fn(u32) -> Option<String>) -> Option<String> {
    match operand {
        Expression::Literal(literal, _) => Some(format!("literal {}", literal.to_json())),
        Expression::Reference(r) => value(*r),
        // A score, which other conditions compare as it is.
        Expression::Call(Function::Share, of) => written(of.first()?, value),
        Expression::Call(function, arguments) => {
            let arguments: Option<Vec<_>> = arguments.iter().map(|a| written(a, value)).collect();
            Some(format!("{function:?}({})", arguments?.join(", ")))
        }
        Expression::List(items) => {
            let items: Option<Vec<_>> = items.iter().map(|a| written(a, value)).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        _ => None,
    }
}
