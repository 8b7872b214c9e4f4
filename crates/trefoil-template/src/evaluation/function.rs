//! Functions of `when` (SirenSpec) and helpers (AEGIS).

use std::borrow::Cow;
use std::cmp::Ordering;

use super::comparison::{numeric_value, python_number, python_order};
use super::{ExpressionEvaluator, ReduceResult, ReducedExpression, python, reduced_from_value};
use crate::expression::BuiltinFunction;
use crate::value::{MaskedBuilder, Value, ValueNumber, ValueObject};

impl<'a> ExpressionEvaluator<'a> {
    /// `json` and `default` are handled elsewhere, because they distinguish missing from null.
    pub(super) fn call_function(&self, function: BuiltinFunction, arguments: &[Cow<'a, Value>]) -> ReduceResult<'a> {
        if let (true, Some(is_done)) = (self.is_strict(), python::call_python_function(function, arguments)) {
            self.charge(is_done.as_ref().map_or(0, |value| value.as_str().map_or(0, str::len)))?;
            return Ok(is_done.map_or_else(|| self.nothing(), reduced_from_value));
        }
        let value = match (function, arguments) {
            (BuiltinFunction::Min, _) => self.extreme(arguments, Ordering::is_lt),
            (BuiltinFunction::Max, _) => self.extreme(arguments, Ordering::is_gt),
            (BuiltinFunction::Lookup, [container, key]) => container.get(&key.to_text()).cloned(),
            (_, [argument]) => apply_unary(function, argument),
            _ => None,
        };
        Ok(value.map_or_else(|| self.nothing(), reduced_from_value))
    }

    fn extreme(&self, arguments: &[Cow<'a, Value>], better: fn(Ordering) -> bool) -> Option<Value> {
        let items: Vec<&Value> = match arguments {
            [list] => list.as_list()?.iter().collect(),
            many => many.iter().map(|v| &**v).collect(),
        };
        let (first, rest) = items.split_first()?;
        let mut best = *first;
        for item in rest {
            if python_order(item, best)?.is_some_and(better) {
                best = item;
            }
        }
        Some(best.clone())
    }
}

fn apply_unary(function: BuiltinFunction, value: &Value) -> Option<Value> {
    Some(match function {
        BuiltinFunction::Len => match value {
            Value::Str(text) => text.chars().count().into(),
            Value::List(items) => items.len().into(),
            Value::Object(object) => object.len().into(),
            _ => return None,
        },
        BuiltinFunction::Length => apply_unary(BuiltinFunction::Len, value).unwrap_or_else(|| 0.into()),
        BuiltinFunction::Str => value.text_value(),
        BuiltinFunction::Bool => value.truth_value()?.into(),
        BuiltinFunction::Int => match value {
            Value::Str(text) => ValueNumber::from_i128(python::normalized_digits(text)?.parse().ok()?).into(),
            _ => match python_number(value)? {
                ValueNumber::Float(n) if n.is_finite() && n.abs() < 1e30 => ValueNumber::from_i128(n as i128).into(),
                ValueNumber::Float(_) => return None,
                n => n.into(),
            },
        },
        BuiltinFunction::Float => match value {
            Value::Str(text) => python::normalized_digits(text)?.parse::<f64>().ok()?.into(),
            _ => python_number(value)?.as_f64().into(),
        },
        BuiltinFunction::Abs => match python_number(value)? {
            ValueNumber::Float(n) => n.abs().into(),
            n => ValueNumber::from_i128(n.stored_integer()?.abs()).into(),
        },
        BuiltinFunction::Number => numeric_value(value)?.into(),
        BuiltinFunction::Share => value.as_share()?.into(),
        BuiltinFunction::Keys => match value {
            Value::Object(object) => keys(object),
            Value::Str(json) => match Value::parse(json) {
                Ok(Value::Object(object)) => keys(&object),
                _ => Value::from(Vec::new()),
            },
            _ => Value::from(Vec::new()),
        },
        BuiltinFunction::Upper => argument_text(value)?.to_uppercase().into(),
        BuiltinFunction::Lower => argument_text(value)?.to_lowercase().into(),
        BuiltinFunction::Trim => argument_text(value)?.trim().into(),
        BuiltinFunction::FirstLine => argument_text(value)?.trim().lines().next().unwrap_or_default().trim_end().into(),
        BuiltinFunction::Min
        | BuiltinFunction::Max
        | BuiltinFunction::Json
        | BuiltinFunction::Default
        | BuiltinFunction::Lookup
        | BuiltinFunction::TrimStart
        | BuiltinFunction::TrimEnd
        | BuiltinFunction::StartsWith
        | BuiltinFunction::EndsWith
        | BuiltinFunction::Replace
        | BuiltinFunction::Choose => return None,
    })
}

fn keys(object: &ValueObject) -> Value {
    object.keys().cloned().collect()
}

/// The argument of a text helper; null is empty text.
fn argument_text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => Cow::Borrowed(""),
        Value::Str(text) => Cow::Borrowed(text),
        Value::Masked(_) => return None,
        other => Cow::Owned(other.to_text().to_string()),
    })
}

/// The value as compact JSON, with holes kept separate.
pub(super) fn reduce_to_json<'r>(value: &Value) -> ReducedExpression<'r> {
    let mut pieces = MaskedBuilder::default();
    value.write_json(&mut pieces);
    reduced_from_value(pieces.into_value())
}
