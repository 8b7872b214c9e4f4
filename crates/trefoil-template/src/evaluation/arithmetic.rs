//! Arithmetic, indexing and their limits. Integers that leave 64 bits become floats.

use std::borrow::Cow;

use super::comparison::python_number;
use super::{ExpressionEvaluator, ReduceResult, ReducedExpression, reduced_from_value};
use crate::expression::ArithmeticOperator;
use crate::value::{Value, ValueNumber};

impl<'a> ExpressionEvaluator<'a> {
    pub(super) fn compute_arithmetic(&self, op: ArithmeticOperator, a: &Value, b: &Value) -> ReduceResult<'a> {
        if let (Some(x), Some(y)) = (python_number(a), python_number(b)) {
            return Ok(numbers(op, x, y).map_or_else(|| self.nothing(), |n| reduced_from_value(n.into())));
        }
        if !self.is_strict() {
            return Ok(self.nothing());
        }
        match (op, a, b) {
            (ArithmeticOperator::Add, Value::Str(x), Value::Str(y)) => {
                self.charge(x.len() + y.len())?;
                Ok(reduced_from_value(format!("{x}{y}").into()))
            }
            (ArithmeticOperator::Add, Value::List(x), Value::List(y)) => {
                self.charge(x.len() + y.len())?;
                Ok(reduced_from_value(x.iter().chain(y.iter()).cloned().collect()))
            }
            (ArithmeticOperator::Multiply, sequence @ (Value::Str(_) | Value::List(_)), times)
            | (ArithmeticOperator::Multiply, times, sequence @ (Value::Str(_) | Value::List(_))) => {
                self.repeat(sequence, times)
            }
            _ => Ok(self.nothing()),
        }
    }

    fn repeat(&self, sequence: &Value, times: &Value) -> ReduceResult<'a> {
        let Some(times) = python_number(times).and_then(ValueNumber::stored_integer) else { return Ok(self.nothing()) };
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        match sequence {
            Value::Str(text) => {
                self.charge(text.len().saturating_mul(times))?;
                Ok(reduced_from_value(text.repeat(times).into()))
            }
            Value::List(items) => {
                self.charge(items.len().saturating_mul(times))?;
                let all = items.len().saturating_mul(times);
                Ok(reduced_from_value(items.iter().cycle().take(all).cloned().collect()))
            }
            _ => Ok(self.nothing()),
        }
    }

    pub(super) fn negate_number(&self, value: &Value) -> ReducedExpression<'a> {
        match python_number(value) {
            Some(ValueNumber::Float(n)) => reduced_from_value((-n).into()),
            Some(n) => n
                .stored_integer()
                .map_or_else(|| self.nothing(), |n| reduced_from_value(ValueNumber::from_i128(-n).into())),
            None => self.nothing(),
        }
    }

    /// `a[b]`: list items by integer (in Python, negative ones count from the end), members by name, characters of
    /// text.
    pub(super) fn index_value(&self, container: &Cow<'a, Value>, index: &Value) -> ReducedExpression<'a> {
        if !self.is_strict() {
            let found = container.get(&index.to_text());
            return found.map_or_else(|| self.nothing(), |v| reduced_from_value(v.clone()));
        }
        let at = python_number(index).and_then(ValueNumber::stored_integer);
        let place = |len: usize| {
            let at = at?;
            usize::try_from(if at < 0 { at + len as i128 } else { at }).ok()
        };
        let found = match (&**container, index) {
            (Value::Object(object), Value::Str(key)) => object.get(&**key).cloned(),
            (Value::List(items), _) => place(items.len()).and_then(|at| items.get(at).cloned()),
            (Value::Str(text), _) => {
                let len = text.chars().count();
                place(len).and_then(|at| text.chars().nth(at)).map(|c| Value::from(c.to_string()))
            }
            _ => None,
        };
        found.map_or_else(|| self.nothing(), reduced_from_value)
    }
}

fn numbers(op: ArithmeticOperator, a: ValueNumber, b: ValueNumber) -> Option<ValueNumber> {
    let (x, y) = (a.as_f64(), b.as_f64());
    if let (Some(a), Some(b)) = (a.stored_integer(), b.stored_integer()) {
        // 64-bit operands cannot overflow 128 bits.
        match op {
            ArithmeticOperator::Add => return Some(ValueNumber::from_i128(a + b)),
            ArithmeticOperator::Subtract => return Some(ValueNumber::from_i128(a - b)),
            ArithmeticOperator::Multiply => return Some(ValueNumber::from_i128(a.saturating_mul(b))),
            ArithmeticOperator::Remainder => {
                // Python's remainder has the sign of the divisor.
                let remainder = a.checked_rem(b)?;
                let adjust = remainder != 0 && (remainder < 0) != (b < 0);
                return Some(ValueNumber::from_i128(if adjust { remainder + b } else { remainder }));
            }
            ArithmeticOperator::Divide => {}
        }
    }
    Some(ValueNumber::Float(match op {
        ArithmeticOperator::Add => x + y,
        ArithmeticOperator::Subtract => x - y,
        ArithmeticOperator::Multiply => x * y,
        ArithmeticOperator::Divide | ArithmeticOperator::Remainder if y == 0.0 => return None,
        ArithmeticOperator::Divide => x / y,
        ArithmeticOperator::Remainder => {
            let remainder = x % y;
            if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) { remainder + y } else { remainder }
        }
    }))
}
