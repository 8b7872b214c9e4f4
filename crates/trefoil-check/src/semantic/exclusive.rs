//! Whether two conditions exclude each other for the same values. Says so only if it is certain, because worst cases
//! depend on it. Does not consider whether values change between the evaluations.

use trefoil_ir::{Cond, Source};
use trefoil_template::{Comparison, Expression, Value};

use super::cases::claim::written;

/// The logical structure of a condition.
#[derive(Debug)]
pub enum Claim {
    /// All of these.
    All(Vec<Claim>),
    /// At least one of these.
    Any(Vec<Claim>),
    /// A test, possibly negated.
    Test { test: Test, negated: bool },
    /// Something that is not analysed.
    Unknown,
}

/// A test.
#[derive(Debug, PartialEq)]
pub struct Test {
    /// The tested value as text, which is equal for equal values.
    subject: String,
    /// The comparison; `None`: tests whether it is true.
    comparison: Option<(Comparison, String)>,
    /// The literal with which it is compared, if it is one.
    literal: Option<Value>,
}

impl Claim {
    /// The claim of a condition.
    pub fn of(cond: &Cond) -> Self {
        let value = |at: u32| {
            let reference = cond.condition.references().get(at as usize)?;
            let source: &Source = cond.sources.get(reference.binding.source as usize)?;
            let rest: Vec<&str> =
                reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
            Some(format!("{source:?} {rest:?} {:?}", reference.default))
        };
        read(cond.condition.expression(), false, &value)
    }
    /// Whether this one and the other never hold for the same values.
    pub fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(all), _) => all.iter().all(|c| c.excludes(other)),
            (_, Self::Any(all)) => all.iter().all(|c| self.excludes(c)),
            (Self::All(all), _) => all.iter().any(|c| c.excludes(other)),
            (_, Self::All(all)) => all.iter().any(|c| self.excludes(c)),
            (Self::Test { test: a, negated: not_a }, Self::Test { test: b, negated: not_b }) => {
                a == b && not_a != not_b || !not_a && !not_b && a.excludes(b)
            }
            (Self::Unknown, _) | (_, Self::Unknown) => false,
        }
    }
}

impl Test {
    fn excludes(&self, other: &Self) -> bool {
        if self.subject != other.subject {
            return false;
        }
        let (Some((one, with)), Some((two, with_other))) = (&self.comparison, &other.comparison) else { return false };
        if with == with_other && *two == one.opposite() {
            return true;
        }
        let (Some(a), Some(b)) = (&self.literal, &other.literal) else { return false };
        if (*one, *two) == (Comparison::Equal, Comparison::Equal) {
            return differ(a, b);
        }
        match (range(*one, a), range(*two, b)) {
            (Some(a), Some(b)) => a.ends_before(&b) || b.ends_before(&a),
            _ => false,
        }
    }
}

fn read(expression: &Expression, negated: bool, value: &dyn Fn(u32) -> Option<String>) -> Claim {
    let each = |all: &[Expression]| all.iter().map(|e| read(e, negated, value)).collect();
    match expression {
        Expression::Not(inner) => read(inner, !negated, value),
        Expression::And(all) if negated => Claim::Any(each(all)),
        Expression::Or(all) if negated => Claim::All(each(all)),
        Expression::And(all) => Claim::All(each(all)),
        Expression::Or(all) => Claim::Any(each(all)),
        Expression::Compare(operands, comparisons) => {
            let pairs = operands.iter().zip(operands.iter().skip(1)).zip(comparisons);
            let all = pairs.map(|((a, b), c)| compared(a, *c, b, negated, value)).collect();
            if negated { Claim::Any(all) } else { Claim::All(all) }
        }
        other => match written(other, value) {
            Some(subject) => Claim::Test { test: Test { subject, comparison: None, literal: None }, negated },
            None => Claim::Unknown,
        },
    }
}

fn compared(
    a: &Expression,
    comparison: Comparison,
    b: &Expression,
    negated: bool,
    value: &dyn Fn(u32) -> Option<String>,
) -> Claim {
    if let (Comparison::In | Comparison::NotIn, Expression::List(items)) = (comparison, b) {
        let negated = negated != (comparison == Comparison::NotIn);
        let all = items.iter().map(|item| compared(a, Comparison::Equal, item, negated, value)).collect();
        return if negated { Claim::All(all) } else { Claim::Any(all) };
    }
    // `!=` is exactly the opposite of `==`; `<` and `>=` are both false for values without an order.
    let (comparison, negated) = match comparison {
        Comparison::NotEqual => (Comparison::Equal, !negated),
        Comparison::NotIn => (Comparison::In, !negated),
        other => (other, negated),
    };
    let (a, comparison, b) = match (literal(a), literal(b), comparison.turned()) {
        (Some(_), None, Some(turned)) => (b, turned, a),
        _ => (a, comparison, b),
    };
    let (Some(subject), Some(with)) = (written(a, value), written(b, value)) else { return Claim::Unknown };
    let test = Test { subject, comparison: Some((comparison, with)), literal: literal(b).cloned() };
    Claim::Test { test, negated }
}

fn literal(operand: &Expression) -> Option<&Value> {
    match operand {
        Expression::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// Whether no value equals both. In Python, `true` equals 1.
fn differ(a: &Value, b: &Value) -> bool {
    let number = |v: &Value| v.as_f64().or_else(|| v.as_bool().map(f64::from));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a != b,
        (None, None) => match (a.as_str(), b.as_str()) {
            (Some(a), Some(b)) => a != b,
            (Some(_), None) => b.is_null(),
            (None, Some(_)) => a.is_null(),
            (None, None) => false,
        },
        (Some(_), None) => b.as_str().is_some() || b.is_null(),
        (None, Some(_)) => a.as_str().is_some() || a.is_null(),
    }
}

/// A range of numbers.
struct Range {
    low: (f64, bool),
    high: (f64, bool),
}

impl Range {
    /// Whether all of it is below all of the other. `true` in a bound means that it is included.
    fn ends_before(&self, other: &Self) -> bool {
        self.high.0 < other.low.0 || self.high.0 <= other.low.0 && !(self.high.1 && other.low.1)
    }
}

/// The numbers for which a comparison with a number holds.
fn range(comparison: Comparison, with: &Value) -> Option<Range> {
    let n = with.as_f64().filter(|n| n.is_finite() && n.abs() < 1e15 && with.as_str().is_none())?;
    let (none, all) = ((f64::NEG_INFINITY, true), (f64::INFINITY, true));
    match comparison {
        Comparison::Less => Some(Range { low: none, high: (n, false) }),
        Comparison::LessEqual => Some(Range { low: none, high: (n, true) }),
        Comparison::Greater => Some(Range { low: (n, false), high: all }),
        Comparison::GreaterEqual => Some(Range { low: (n, true), high: all }),
        Comparison::Equal => Some(Range { low: (n, true), high: (n, true) }),
        _ => None,
    }
}
