//! Functions of `when` (SirenSpec) and helpers (AEGIS).

use std::borrow::Cow;
use std::cmp::Ordering;

use super::compare::{numeric, python_number, python_order};
use super::{Evaluated, Evaluator, Reduced, owned, python};
use crate::expression::Function;
use crate::value::{Number, Object, Pieces, Value};

impl<'a> Evaluator<'a> {
    /// `json` and `default` are handled elsewhere, because they distinguish missing from null.
    pub(super) fn call(&self, function: Function, arguments: &[Cow<'a, Value>]) -> Evaluated<'a> {
        if let (true, Some(is_done)) = (self.is_strict(), python::call(function, arguments)) {
            self.charge(is_done.as_ref().map_or(0, |value| value.as_str().map_or(0, str::len)))?;
            return Ok(is_done.map_or_else(|| self.nothing(), owned));
        }
        let value = match (function, arguments) {
            (Function::Min, _) => self.extreme(arguments, Ordering::is_lt),
            (Function::Max, _) => self.extreme(arguments, Ordering::is_gt),
            (Function::Lookup, [container, key]) => container.get(&key.to_text()).cloned(),
            (_, [argument]) => one(function, argument),
            _ => None,
        };
        Ok(value.map_or_else(|| self.nothing(), owned))
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

fn one(function: Function, value: &Value) -> Option<Value> {
    Some(match function {
        Function::Len => match value {
            Value::Str(text) => text.chars().count().into(),
            Value::List(items) => items.len().into(),
            Value::Object(object) => object.len().into(),
            _ => return None,
        },
        Function::Length => one(Function::Len, value).unwrap_or_else(|| 0.into()),
        Function::Str => value.text(),
        Function::Bool => value.truthy()?.into(),
        Function::Int => match value {
            Value::Str(text) => Number::from_i128(python::digits(text)?.parse().ok()?).into(),
            _ => match python_number(value)? {
                Number::Float(n) if n.is_finite() && n.abs() < 1e30 => Number::from_i128(n as i128).into(),
                Number::Float(_) => return None,
                n => n.into(),
            },
        },
        Function::Float => match value {
            Value::Str(text) => python::digits(text)?.parse::<f64>().ok()?.into(),
            _ => python_number(value)?.as_f64().into(),
        },
        Function::Abs => match python_number(value)? {
            Number::Float(n) => n.abs().into(),
            n => Number::from_i128(n.stored_integer()?.abs()).into(),
        },
        Function::Number => numeric(value)?.into(),
        Function::Share => value.as_share()?.into(),
        Function::Keys => match value {
            Value::Object(object) => keys(object),
            Value::Str(json) => match Value::parse(json) {
                Ok(Value::Object(object)) => keys(&object),
                _ => Value::from(Vec::new()),
            },
            _ => Value::from(Vec::new()),
        },
        Function::Upper => plain(value)?.to_uppercase().into(),
        Function::Lower => plain(value)?.to_lowercase().into(),
        Function::Trim => plain(value)?.trim().into(),
        Function::FirstLine => plain(value)?.trim().lines().next().unwrap_or_default().trim_end().into(),
        Function::Min
        | Function::Max
        | Function::Json
        | Function::Default
        | Function::Lookup
        | Function::TrimStart
        | Function::TrimEnd
        | Function::StartsWith
        | Function::EndsWith
        | Function::Replace
        | Function::Choose => return None,
    })
}

fn keys(object: &Object) -> Value {
    object.keys().cloned().collect()
}

/// The argument of a text helper; null is empty text.
fn plain(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => Cow::Borrowed(""),
        Value::Str(text) => Cow::Borrowed(text),
        Value::Masked(_) => return None,
        other => Cow::Owned(other.to_text().to_string()),
    })
}

/// The value as compact JSON, with holes kept separate.
pub(super) fn json<'r>(value: &Value) -> Reduced<'r> {
    let mut pieces = Pieces::default();
    value.write_json(&mut pieces);
    owned(pieces.into_value())
}
