//! Arithmetic, indexing and their limits. Integers that leave 64 bits become floats.

use std::borrow::Cow;

use super::compare::python_number;
use super::{Evaluated, Evaluator, Reduced, owned};
use crate::expression::Arithmetic;
use crate::value::{Number, Value};

impl<'a> Evaluator<'a> {
    pub(super) fn arithmetic(&self, op: Arithmetic, a: &Value, b: &Value) -> Evaluated<'a> {
        if let (Some(x), Some(y)) = (python_number(a), python_number(b)) {
            return Ok(numbers(op, x, y).map_or_else(|| self.nothing(), |n| owned(n.into())));
        }
        if !self.is_strict() {
            return Ok(self.nothing());
        }
        match (op, a, b) {
            (Arithmetic::Add, Value::Str(x), Value::Str(y)) => {
                self.charge(x.len() + y.len())?;
                Ok(owned(format!("{x}{y}").into()))
            }
            (Arithmetic::Add, Value::List(x), Value::List(y)) => {
                self.charge(x.len() + y.len())?;
                Ok(owned(x.iter().chain(y.iter()).cloned().collect()))
            }
            (Arithmetic::Multiply, sequence @ (Value::Str(_) | Value::List(_)), times)
            | (Arithmetic::Multiply, times, sequence @ (Value::Str(_) | Value::List(_))) => {
                self.repeat(sequence, times)
            }
            _ => Ok(self.nothing()),
        }
    }

    fn repeat(&self, sequence: &Value, times: &Value) -> Evaluated<'a> {
        let Some(times) = python_number(times).and_then(Number::stored_integer) else { return Ok(self.nothing()) };
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        match sequence {
            Value::Str(text) => {
                self.charge(text.len().saturating_mul(times))?;
                Ok(owned(text.repeat(times).into()))
            }
            Value::List(items) => {
                self.charge(items.len().saturating_mul(times))?;
                let all = items.len().saturating_mul(times);
                Ok(owned(items.iter().cycle().take(all).cloned().collect()))
            }
            _ => Ok(self.nothing()),
        }
    }

    pub(super) fn negate(&self, value: &Value) -> Reduced<'a> {
        match python_number(value) {
            Some(Number::Float(n)) => owned((-n).into()),
            Some(n) => n.stored_integer().map_or_else(|| self.nothing(), |n| owned(Number::from_i128(-n).into())),
            None => self.nothing(),
        }
    }

    /// `a[b]`: list items by integer (in Python, negative ones count from the end), members by name, characters of
    /// text.
    pub(super) fn index(&self, container: &Cow<'a, Value>, index: &Value) -> Reduced<'a> {
        if !self.is_strict() {
            let found = container.get(&index.to_text());
            return found.map_or_else(|| self.nothing(), |v| owned(v.clone()));
        }
        let at = python_number(index).and_then(Number::stored_integer);
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
        found.map_or_else(|| self.nothing(), owned)
    }
}

fn numbers(op: Arithmetic, a: Number, b: Number) -> Option<Number> {
    let (x, y) = (a.as_f64(), b.as_f64());
    if let (Some(a), Some(b)) = (a.stored_integer(), b.stored_integer()) {
        // 64-bit operands cannot overflow 128 bits.
        match op {
            Arithmetic::Add => return Some(Number::from_i128(a + b)),
            Arithmetic::Subtract => return Some(Number::from_i128(a - b)),
            Arithmetic::Multiply => return Some(Number::from_i128(a.saturating_mul(b))),
            Arithmetic::Remainder => {
                // Python's remainder has the sign of the divisor.
                let remainder = a.checked_rem(b)?;
                let adjust = remainder != 0 && (remainder < 0) != (b < 0);
                return Some(Number::from_i128(if adjust { remainder + b } else { remainder }));
            }
            Arithmetic::Divide => {}
        }
    }
    Some(Number::Float(match op {
        Arithmetic::Add => x + y,
        Arithmetic::Subtract => x - y,
        Arithmetic::Multiply => x * y,
        Arithmetic::Divide | Arithmetic::Remainder if y == 0.0 => return None,
        Arithmetic::Divide => x / y,
        Arithmetic::Remainder => {
            let remainder = x % y;
            if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) { remainder + y } else { remainder }
        }
    }))
}
