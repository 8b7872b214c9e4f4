//! Comparisons of two values.

use std::cmp::Ordering;

use super::ExpressionEvaluator;
use crate::error::EvalError;
use crate::expression::ComparisonOperator;
use crate::value::{Value, ValueNumber};

impl ExpressionEvaluator<'_> {
    /// `None`: the comparison fails (only with Python's rules).
    pub(super) fn compare_pair(
        &self,
        comparison: ComparisonOperator,
        a: &Value,
        b: &Value,
    ) -> Result<Option<bool>, EvalError> {
        Ok(match comparison {
            ComparisonOperator::Equal => Some(self.equal(a, b)),
            ComparisonOperator::NotEqual => Some(!self.equal(a, b)),
            ComparisonOperator::In => self.contains(b, a)?,
            ComparisonOperator::NotIn => self.contains(b, a)?.map(|found| !found),
            ComparisonOperator::Less => self.compare_order(a, b, Ordering::is_lt),
            ComparisonOperator::LessEqual => self.compare_order(a, b, Ordering::is_le),
            ComparisonOperator::Greater => self.compare_order(a, b, Ordering::is_gt),
            ComparisonOperator::GreaterEqual => self.compare_order(a, b, Ordering::is_ge),
        })
    }

    fn equal(&self, a: &Value, b: &Value) -> bool {
        if self.is_strict() { python_equal(a, b) } else { a == b }
    }

    fn compare_order(&self, a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Option<bool> {
        if self.is_strict() {
            // NaN has no order, but comparing with it does not fail.
            return python_order(a, b).map(|order| order.is_some_and(holds));
        }
        let order = numeric_value(a).zip(numeric_value(b)).and_then(|(a, b)| a.compare_numeric(b));
        Some(order.is_some_and(holds))
    }

    fn contains(&self, whole: &Value, part: &Value) -> Result<Option<bool>, EvalError> {
        Ok(match (whole, part) {
            (Value::Str(text), Value::Str(part)) => {
                self.charge(text.len())?;
                Some(text.contains(&**part))
            }
            (Value::List(items), part) => {
                self.charge(items.len())?;
                Some(items.iter().any(|item| self.equal(item, part)))
            }
            (Value::Object(object), Value::Str(key)) => Some(object.contains_key(&**key)),
            (Value::Object(_), _) => Some(false),
            _ if self.is_strict() => None,
            _ => Some(false),
        })
    }
}

/// As in Python: booleans are the numbers 0 and 1, at any depth.
fn python_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| python_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|other| python_equal(v, other)))
        }
        _ => match (python_number(a), python_number(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

/// As in Python. Outer `None`: the values have no order (a failure); inner `None`: NaN.
pub(super) fn python_order(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(Some(a.cmp(b))),
        (Value::List(a), Value::List(b)) => match a.iter().zip(b.iter()).find(|(a, b)| !python_equal(a, b)) {
            Some((a, b)) => python_order(a, b),
            None => Some(Some(a.len().cmp(&b.len()))),
        },
        _ => Some(python_number(a)?.compare_numeric(python_number(b)?)),
    }
}

/// The number that a value is in Python's arithmetic.
pub(super) fn python_number(value: &Value) -> Option<ValueNumber> {
    match value {
        Value::Number(n) => Some(*n),
        Value::Bool(b) => Some(ValueNumber::Int((*b).into())),
        _ => None,
    }
}

/// A number, or text that is a number.
pub(super) fn numeric_value(value: &Value) -> Option<ValueNumber> {
    match value {
        Value::Number(n) => Some(*n),
        Value::Str(text) => read_number(text.trim()),
        _ => None,
    }
}

/// `[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`, the form of a text that is a number.
pub(crate) fn read_number(text: &str) -> Option<ValueNumber> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mantissa_end = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at_checked(mantissa_end)?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let well_formed = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            (digits(whole) && (fraction.is_empty() || digits(fraction))) || (whole.is_empty() && digits(fraction))
        }
        None => digits(mantissa),
    };
    let exponent_ok = match exponent.get(1..) {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => exponent.is_empty(),
    };
    if !well_formed || !exponent_ok {
        return None;
    }
    if let Ok(n) = text.parse::<i128>() {
        return Some(ValueNumber::from_i128(n));
    }
    text.parse().ok().map(ValueNumber::Float)
}
